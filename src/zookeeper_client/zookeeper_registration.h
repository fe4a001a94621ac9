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
 *   CREATING    no node of this session is known.  It, or a node above it, is
 *               being created; or the next attempt waits for its time or a
 *               connection
 *   BLOCKED     there is a node of somebody else: wait for the watch
 *   CHECKING    a node of this session was seen.  Its data are being set, or
 *               it is being looked at again; or the next attempt waits
 *   REGISTERED  a node of this session has the data: wait for the watch
 *   FAILED      for good.  Nothing is known of the node any more, because
 *               nobody looks at it
 *   REMOVING    the user has freed it: a node of this session is to be deleted
 *   CLOSED      the handle is closed, and the user has not freed it yet
 *   ENDED       the removal has ended, or the open has failed
 *
 * A node is ours if its ephemeralOwner is the id of this session.  One that an
 * earlier session of this handle has made is waited for like any other,
 * although it could be deleted: between an EXISTS and a delete it may go, and
 * somebody else may make the node.  A delete would hit that, because a server
 * compares nothing but the version of the data.
 *
 * Five files have the rest: zookeeper_registration.c decides what comes next,
 * _state has the states and the memory, and reports to the user, _step carries
 * out steps, _removal deletes the node when the user has freed the handle, and
 * _calls has the public calls.
 *
 * A registration is kept alive by the user's handle, by its removal, by each
 * operation under way, and by its callback while that is queued.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_REGISTRATION_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_REGISTRATION_H

#include <holdfast/zookeeper_registration.h>

#include "base/retry.h"
#include "operation/user_callback.h"
#include "zookeeper_client/zookeeper_wait.h"
#include "zookeeper_client/zookeeper_watch.h"

enum hf_registration_state {
    HF_REGISTRATION_CREATING,
    HF_REGISTRATION_BLOCKED,
    HF_REGISTRATION_CHECKING,
    HF_REGISTRATION_REGISTERED,
    HF_REGISTRATION_FAILED,
    HF_REGISTRATION_REMOVING,
    HF_REGISTRATION_CLOSED,
    HF_REGISTRATION_ENDED
};

/* The write of a step, which comes before its EXISTS. */
enum hf_registration_step_kind {
    HF_REGISTRATION_CHECK,  /* nothing */
    HF_REGISTRATION_CREATE, /* the node */
    HF_REGISTRATION_SET,    /* its data */
    HF_REGISTRATION_SYNC,
    HF_REGISTRATION_PARENT, /* create a node above it; without an EXISTS */
    HF_REGISTRATION_DELETE, /* the node; without an EXISTS */
};

/* The step under way, or the last one. */
struct hf_registration_step {
    enum hf_registration_step_kind kind;
    unsigned under_way; /* operations of it that have not ended */
    struct hf_zookeeper_operation *write_operation; /* NULL: ended, or none */
    struct hf_zookeeper_operation *exists_operation;
    struct hf_error write; /* how the two operations ended */
    struct hf_error exists;
    struct hf_zookeeper_stat stat; /* that the EXISTS brought */
    uint64_t data_number;          /* of the data that were sent */
};

/* How far the creation of the nodes above the node has come. */
enum hf_registration_parents {
    HF_REGISTRATION_PARENTS_NONE, /* none was tried */
    /* They are created from the deepest one up, until one is there or was
     * created. */
    HF_REGISTRATION_PARENTS_UP,
    /* One is there: the ones below it are created in turn. */
    HF_REGISTRATION_PARENTS_DOWN,
    HF_REGISTRATION_PARENTS_MADE, /* all are there: the CREATE of the node is
                                     sent */
};

/* State-specific data.  Each struct is valid in its state only; the functions
 * hf_registration_creating() and _removing() assert that. */
struct hf_registration_creating {
    enum hf_registration_parents parents;
    size_t parent_bytes; /* of .path: the node that is created */
};

struct hf_registration_removing {
    bool seen; /* the last EXISTS has shown the node of this session, .stat, and
                  nothing has happened since */
    struct hf_zookeeper_wait *wait; /* of _close(); NULL: none */
};

/* An event that is reported even if its state is over. */
enum hf_registration_pending {
    HF_REGISTRATION_NOTHING_PENDING,
    HF_REGISTRATION_BLOCKED_PENDING,
    HF_REGISTRATION_FAILED_PENDING,
};

/* In place of the czxid of a node. */
#define HF_REGISTRATION_NO_NODE (-1)

/* The events that the user gets.  They need no queue: the
 * callback compares the node that is registered with the one that was reported
 * last. */
struct hf_registration_report {
    struct hf_zookeeper_on_registration on_event;
    struct hf_callback callback; /* one for all events */
    /* The node of the last REGISTERED that was reported;
     * HF_REGISTRATION_NO_NODE: none, or UNREGISTERED was reported since. */
    int64_t reported_czxid;
    struct hf_error loss;    /* why that node is not there any more */
    struct hf_error blocked; /* the last BLOCKED in a row; HF_OK: none */
    enum hf_registration_pending pending;
    struct hf_user_callback user; /* around .on_event.fn */
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_registration {
    struct hf_zookeeper *zookeeper;
    unsigned references; /* see above */
    /* In .registrations of the handle, until it is ENDED or the handle is
     * closed; .link is NULL then. */
    struct hf_zookeeper_registration *next;
    struct hf_zookeeper_registration **link;

    /* What the user wants. */
    void *data; /* NULL: null */
    size_t bytes;
    uint64_t data_number;          /* counts the data, from 1 */
    struct hf_zookeeper_acl *acls; /* one block of memory; NULL: of the URL */
    size_t acl_count;

    unsigned state; /* enum hf_registration_state, by hf_registration_move() */
    union {
        struct hf_registration_creating creating;
        struct hf_registration_removing removing;
    } in;
    struct hf_error why; /* it is not registered; HF_OK: it is */

    /* The node of .path, as the last EXISTS behind a write or an event has
     * shown it. */
    struct hf_zookeeper_watch *watch; /* NULL: ENDED */
    struct hf_zookeeper_stat stat; /* of our node, or of the node that blocks */
    /* .czxid of our node once it had the data, so that the user may know of it;
     * HF_REGISTRATION_NO_NODE: there is no such node. */
    int64_t registered_czxid;
    uint64_t written; /* .data_number of the data that our node has; 0: of
                         none */
    /* The session whose node may be there or come yet; 0: none.  It is the
     * current session from the beginning, because another registration of the
     * path, or the user, may have made the node: only an EXISTS behind a sync
     * says that there is none. */
    int64_t session;
    /* The same of an earlier session, which has ended: its node may be there
     * until the servers notice; 0: none. */
    int64_t created_in_session;

    struct hf_registration_step step;
    struct hf_retry_state retry;
    struct hf_zookeeper_timer retry_timer;
    /* Called when a step has ended, from its last operation. */
    void (*step_ended)(struct hf_zookeeper_registration *registration);
    enum hf_zookeeper_mode parent_mode; /* of nodes above it: CONTAINER, or
                                           PERSISTENT for old servers */
    char *parent; /* room for the path of such a node, as long as .path */

    struct hf_registration_report report;
    struct hf_zookeeper_wait *waits;
    char path[];
};

/* ------------------------------------------------- _state, with the lock -- */

/* A registration of ${path} in CREATING, without its watch and in no list.
 * NULL: no memory. */
struct hf_zookeeper_registration *
hf_registration_alloc(struct hf_zookeeper *zookeeper, const char *path);

void hf_registration_reference(struct hf_zookeeper_registration *r);
void hf_registration_dereference(struct hf_zookeeper_registration *r);

/* Change the state, as the table in zookeeper_registration_state.c allows. */
void hf_registration_move(struct hf_zookeeper_registration *r,
                          enum hf_registration_state state);

/* The data of the state; ${r} must be in that state. */
struct hf_registration_creating *
hf_registration_creating(struct hf_zookeeper_registration *r);
struct hf_registration_removing *
hf_registration_removing(struct hf_zookeeper_registration *r);

/* Was a node of this session seen that is not known to be gone?  False in
 * FAILED, where nobody looks at the node. */
bool hf_registration_has_node(const struct hf_zookeeper_registration *r);

/* Take ${r} out of the list of its handle, unless it is in none. */
void hf_registration_unlink(struct hf_zookeeper_registration *r);

/* Assert the invariants of ${r}. */
void hf_registration_check_invariants(
    const struct hf_zookeeper_registration *r);

/* Something has changed: have what the user does not know yet reported. */
void hf_registration_notify(struct hf_zookeeper_registration *r);

/* Report nothing any more. */
void hf_registration_discard_events(struct hf_zookeeper_registration *r);

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

/* The user has freed ${r}: delete the node.  ${wait} (NULL: none) is ended when
 * that is done. */
void hf_registration_remove(struct hf_zookeeper_registration *r,
                            struct hf_zookeeper_wait *wait);

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

/* For all registrations of the handle: it has a connection, it has given up to
 * connect, its session has ended, it is closed. */
void hf_zookeeper_registrations_up(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_gave_up(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_lost(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_closed(struct hf_zookeeper *zookeeper);

#endif
