/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A registration: an ephemeral node that is to be there while its handle is.
 *
 * It goes on step by step.  A step is at most one write, and behind it, sent
 * together, an EXISTS that sets a watch.  A server carries out the operations
 * of a session in order, so the EXISTS shows what the write has left, also
 * where the answer to the write was lost; and no change after it is missed.
 * What is done next depends on what the EXISTS shows and not on what was
 * intended.
 *
 *   there is no node                   create it
 *   a node of this session, old data   set the data
 *   a node of this session             registered: wait for the watch
 *   a node of anybody else             blocked: wait for the watch
 *   the step has failed                try again after a delay, once there is a
 *                                      connection; or fail for good
 *
 * A node is ours if its ephemeralOwner is the id of this session.  One that an
 * earlier session of this handle has made is waited for like any other,
 * although it could be deleted: between a look and a delete it may go, and
 * somebody else may make the node.  A delete would hit that, because a server
 * compares nothing but the version of the data.
 *
 * Four files have the rest: _events reports to the user and has the waits,
 * _step carries out steps, _removal deletes the node when the user has freed
 * the handle, and _calls has the public calls.
 *
 * A registration is kept alive by the user's handle, by its removal, by each
 * operation under way, and by its callback while that is queued.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_REGISTRATION_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_REGISTRATION_H

#include <holdfast/zookeeper_registration.h>

#include "base/retry.h"
#include "zookeeper_client/zookeeper_timer.h"
#include "zookeeper_client/zookeeper_watch.h"

/* What a step does before it looks. */
enum hf_registration_step_kind {
    HF_REGISTRATION_LOOK,   /* nothing */
    HF_REGISTRATION_CREATE, /* the node */
    HF_REGISTRATION_SET,    /* its data */
    HF_REGISTRATION_SYNC,
    HF_REGISTRATION_PARENT, /* create a node above it; does not look */
    HF_REGISTRATION_DELETE, /* the node; does not look */
};

/* The step under way, or the last one. */
struct hf_registration_step {
    enum hf_registration_step_kind kind;
    unsigned under_way; /* operations of it that have not ended */
    struct hf_zookeeper_operation *write_operation; /* NULL: ended, or none */
    struct hf_zookeeper_operation *look_operation;
    struct hf_error write; /* how these ended */
    struct hf_error look;
    struct hf_zookeeper_stat stat; /* that .look brought */
    uint64_t data_number;          /* of the data that were sent */
};

/* A call that waits for a registration, on the stack of its caller, or one that
 * was started, in memory of its own. */
struct hf_registration_wait {
    struct hf_zookeeper *zookeeper; /* of a started one a reference, too */
    struct hf_zookeeper_registration *registration; /* until it has ended */
    uint64_t wait_ms;
    struct hf_zookeeper_timer deadline;
    bool ended;
    struct hf_error outcome; /* then; HF_OK: it was registered */
    struct hf_waiter waiter; /* of the caller */
    bool started;            /* there is none, but these: */
    struct hf_done done;
    struct hf_callback callback;
    /* In .waits; .link is NULL if it is not, or not any more. */
    struct hf_registration_wait *next;
    struct hf_registration_wait **link;
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_registration {
    struct hf_zookeeper *zookeeper;
    unsigned references; /* see above */
    /* In .registrations of the handle, until it is .finished or the handle is
     * closed; .link is NULL then. */
    struct hf_zookeeper_registration *next;
    struct hf_zookeeper_registration **link;

    /* What the user wants. */
    void *data; /* NULL: null */
    size_t bytes;
    uint64_t data_number;          /* counts the data, from 1 */
    struct hf_zookeeper_acl *acls; /* one block of memory; NULL: of the URL */
    size_t acl_count;

    /* Its node, as the last look behind a write or an event has shown it. */
    struct hf_zookeeper_watch *watch;
    bool is_made;    /* there is a node of this session, */
    bool registered; /* which had the data, and the user may know it */
    struct hf_zookeeper_stat stat; /* of that node; or of that which blocks */
    uint64_t written; /* .data_number of the data that it has; 0: of
                         none */
    int64_t made_in;  /* the session of the last node of ours */
    /* A node of this session may be there or come yet.  This is so in each
     * session from the beginning, because another registration of the path or
     * the user may have made the node: only a look behind a sync says that
     * there is none. */
    bool may_exist;
    /* The same of .made_in, which has ended: the servers may not have noticed
     * yet. */
    bool may_be_left;
    bool at_rest;        /* nothing is to be done until the watch fires */
    bool failed;         /* for good; .why has the reason */
    bool removing;       /* freed: the node is to be deleted */
    bool finished;       /* that is done, or cannot be any more */
    bool closed;         /* the handle is */
    struct hf_error why; /* it is not registered */

    struct hf_registration_step step;
    struct hf_retry_state retry;
    struct hf_zookeeper_timer retry_timer;
    /* Called when a step has ended, from its last operation. */
    void (*step_ended)(struct hf_zookeeper_registration *registration);
    /* Nodes above it: the one that is made is the first bytes of .path. */
    size_t parent_bytes;
    bool parents_descend; /* the one above was there, or was made */
    bool parents_made;    /* all of them, before this CREATE */
    bool no_containers;   /* the servers do not know them */
    char *parent;         /* for that path, as long as .path */

    /* What is reported. */
    struct hf_zookeeper_on_registration on_event;
    struct hf_callback event_callback; /* one for all events */
    bool reported;                     /* the last event was REGISTERED, */
    int64_t reported_czxid;            /* of this node */
    struct hf_error loss;              /* why that is not there any more */
    struct hf_error blocked; /* the last BLOCKED in a row; HF_OK: none */
    bool blocked_pending;    /* to be reported */
    bool failed_pending;
    bool notifying;                /* .on_event.fn runs */
    bool freed;                    /* by the user */
    struct hf_waiter *free_waiter; /* the free that waits until .fn returned */
    struct hf_registration_wait *waits;
    struct hf_registration_wait *removal_wait; /* of _close(); NULL: none */
    char path[];
};

/* ------------------------------------------------ _events, with the lock -- */

void hf_registration_reference(struct hf_zookeeper_registration *r);
void hf_registration_dereference(struct hf_zookeeper_registration *r);

/* Set up the callback. */
void hf_registration_events_init(struct hf_zookeeper_registration *r);

/* Something has changed: have what the user does not know yet reported. */
void hf_registration_notify(struct hf_zookeeper_registration *r);

/* Report nothing any more.  A callback that runs now calls .drop when it has
 * returned; otherwise the caller does. */
void hf_registration_discard_events(struct hf_zookeeper_registration *r);

/* Begin ${wait}, which is zeroed, until it is ended or ${wait_ms} are over:
 * then it ends with HF_ETIMEDOUT, and a text for those in .waits. */
void hf_registration_wait_begin(struct hf_zookeeper_registration *r,
                                struct hf_registration_wait *wait,
                                uint64_t wait_ms);
/* Put ${wait} into .waits. */
void hf_registration_wait_add(struct hf_registration_wait *wait);
/* The caller does not wait any more, whether ${wait} has ended or not. */
void hf_registration_wait_leave(struct hf_registration_wait *wait);
/* End ${wait} with ${why}, unless it has ended: answer its caller, or have
 * .done called. */
void hf_registration_wait_end(struct hf_registration_wait *wait,
                              const struct hf_error *why);
/* End all in .waits. */
void hf_registration_waits_end(struct hf_zookeeper_registration *r,
                               const struct hf_error *why);

/* -------------------------------------------------- _step, with the lock -- */

/* Begin a step; none is under way.  It may end at once. */
void hf_registration_begin(struct hf_zookeeper_registration *r,
                           enum hf_registration_step_kind kind);

/* Have the timer of the next attempt run. */
void hf_registration_retry(struct hf_zookeeper_registration *r);

/* End what has not been sent of the step. */
void hf_registration_cancel_unsent(struct hf_zookeeper_registration *r);

/* Does the EXISTS of the step show a node of this session? */
bool hf_registration_sees_own(const struct hf_zookeeper_registration *r);

/* ----------------------------------------------- _removal, with the lock -- */

/* The user has freed it: delete the node. */
void hf_registration_remove(struct hf_zookeeper_registration *r);

/* No step is under way: begin the next one of the removal. */
void hf_registration_removal_next(struct hf_zookeeper_registration *r);

/* A step of the removal has ended. */
void hf_registration_removal_step_ended(struct hf_zookeeper_registration *r);

/* The removal has ended with ${status}. */
void hf_registration_removal_end(struct hf_zookeeper_registration *r,
                                 hf_status status, const char *text);

/* --------------------------------------------------------- with the lock -- */

/* A registration of ${path}, which has references to ${zookeeper} and is in its
 * list.  NULL: no memory. */
struct hf_zookeeper_registration *
hf_registration_new(struct hf_zookeeper *zookeeper, const char *path);

/* Go on, unless a step is under way or there is nothing to do. */
void hf_registration_resume(struct hf_zookeeper_registration *r);

/* The handle has a connection; its session has ended; it is closed. */
void hf_zookeeper_registrations_up(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_lost(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_closed(struct hf_zookeeper *zookeeper);

#endif
