/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A registration: an ephemeral node that the library creates, and creates again
 * after each lost session, until the user frees the registration.
 *
 * It works in steps.  A step is at most one write and, sent together with it,
 * an EXISTS that sets a watch.  A server carries out the operations of a
 * session in order.  So the EXISTS shows the result of the write, even if the
 * answer to the write was lost, and the watch reports every later change.  The
 * next step depends on what the EXISTS shows, not on what was intended.
 *
 *   CREATING    no node of this session is known.  The node, or a node above
 *               it, is being created; or the next attempt waits for its time or
 *               for a connection
 *   BLOCKED     there is a node of somebody else: wait for the watch
 *   CHECKING    a node of this session was seen.  Its data are being set, or
 *               it is being looked at again; or the next attempt waits
 *   REGISTERED  a node of this session has the data: wait for the watch
 *   FAILED      the registration has failed for good.  Events of the node are
 *               ignored, so nothing is known of the node
 *   REMOVING    the user has freed it: a node of this session is to be deleted
 *   CLOSED      the handle is closed, and the user has not freed it yet
 *   ENDED       the removal has ended, or the open has failed
 *
 * A node is ours if its ephemeralOwner is the id of this session.  If an
 * earlier session of this handle made the node, the registration waits until it
 * is gone, as for anybody's node, and does not delete it.  Between an EXISTS
 * and a delete that node may go and somebody else may create the node.  A
 * delete would then delete the new node, because a server compares only the
 * version of the data.
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
    HF_REGISTRATION_CHECK,  /* no write */
    HF_REGISTRATION_CREATE, /* the node */
    HF_REGISTRATION_SET,    /* its data */
    HF_REGISTRATION_SYNC,
    HF_REGISTRATION_PARENT, /* create a node above the node; without an
                               EXISTS */
    HF_REGISTRATION_DELETE, /* the node; without an EXISTS */
};

/* The step under way, or the last one. */
struct hf_registration_step {
    enum hf_registration_step_kind kind;
    unsigned under_way; /* operations of the step that have not ended */
    struct hf_zookeeper_operation *write_operation; /* the write; NULL: it has
                                                       ended, or there is
                                                       none */
    struct hf_zookeeper_operation *exists_operation;
    struct hf_error write; /* how the write and the EXISTS ended */
    struct hf_error exists;
    struct hf_zookeeper_stat stat; /* the Stat in the answer to the EXISTS */
    uint64_t data_number;          /* .data_number of the data that the write
                                      has sent */
};

/* How far the creation of the nodes above the node has come. */
enum hf_registration_parents {
    HF_REGISTRATION_PARENTS_NONE, /* no create was tried */
    /* Creates are tried from the parent of the node upwards, until one succeeds
     * or the node exists. */
    HF_REGISTRATION_PARENTS_UP,
    /* One of them exists: those below it are created one after the other. */
    HF_REGISTRATION_PARENTS_DOWN,
    HF_REGISTRATION_PARENTS_MADE, /* all exist, and the CREATE of the node was
                                     sent */
};

/* State-specific data.  Each struct is valid in its state only; the functions
 * hf_registration_creating() and _removing() assert that. */
struct hf_registration_creating {
    enum hf_registration_parents parents;
    size_t parent_bytes; /* the node that is being created is this prefix of
                            .path */
};

struct hf_registration_removing {
    bool seen; /* the last EXISTS has shown a node of this session, whose Stat
                  is .stat, and no write has been sent since */
    struct hf_zookeeper_wait *wait; /* the wait of
                                       hf_zookeeper_registration_close(); NULL:
                                       none */
};

/* An event that is still to be reported, even if the state that caused it is
 * over. */
enum hf_registration_pending {
    HF_REGISTRATION_NOTHING_PENDING,
    HF_REGISTRATION_BLOCKED_PENDING,
    HF_REGISTRATION_FAILED_PENDING,
};

/* Instead of a czxid: there is no node. */
#define HF_REGISTRATION_NO_NODE (-1)

/* What the user was notified of, and what is to be reported.  Events are not
 * queued: when the callback runs, it compares the node that is registered now
 * with the node that was reported last. */
struct hf_registration_report {
    struct hf_zookeeper_on_registration on_event;
    struct hf_callback callback; /* one for all events */
    /* The czxid of the node that was last reported as REGISTERED.
     * HF_REGISTRATION_NO_NODE: no REGISTERED was reported, or UNREGISTERED was
     * reported since. */
    int64_t reported_czxid;
    struct hf_error loss;    /* why the reported node is gone */
    struct hf_error blocked; /* the reason of the last BLOCKED since the node
                                was registered; HF_OK: none */
    enum hf_registration_pending pending;
    struct hf_user_callback user; /* guards the calls of .on_event.fn */
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_registration {
    struct hf_zookeeper *zookeeper;
    unsigned references; /* see the top of this file */
    /* Links in .registrations of the handle.  .link is NULL when the
     * registration is ENDED or the handle is closed. */
    struct hf_zookeeper_registration *next;
    struct hf_zookeeper_registration **link;

    /* What the user wants. */
    void *data; /* NULL: null */
    size_t bytes;
    uint64_t data_number;          /* which data these are: 1 at first, one more
                                      with each set */
    struct hf_zookeeper_acl *acls; /* one block of memory; NULL: the access list
                                      that the URL says */
    size_t acl_count;

    unsigned state; /* enum hf_registration_state, by hf_registration_move() */
    union {
        struct hf_registration_creating creating;
        struct hf_registration_removing removing;
    } in;
    struct hf_error why; /* why it is not registered; HF_OK: it is registered */

    /* The watch of .path, and the node as the last EXISTS has shown it. */
    struct hf_zookeeper_watch *watch; /* NULL: ENDED */
    struct hf_zookeeper_stat stat; /* of our node, or of the node that blocks */
    /* The czxid of our node, if it has had the data, so that it counts as
     * registered for the user.  HF_REGISTRATION_NO_NODE: there is no such
     * node. */
    int64_t registered_czxid;
    uint64_t written; /* .data_number of the data that our node has; 0: not
                         known to have any */
    /* The id of the session whose node may exist, or may still be created; 0:
     * none.  It is set to the current session from the beginning, because an
     * earlier registration of the path, or the user, may have created a node in
     * it.  Only an EXISTS behind a sync shows that there is none. */
    int64_t session;
    /* The id of an earlier session, which has ended: its node may exist until
     * the servers notice the end.  0: none. */
    int64_t created_in_session;

    struct hf_registration_step step;
    struct hf_retry_state retry;
    struct hf_zookeeper_timer retry_timer;
    /* Called when the last operation of a step has ended. */
    void (*step_ended)(struct hf_zookeeper_registration *registration);
    enum hf_zookeeper_mode parent_mode; /* of the nodes above the node:
                                           CONTAINER, or PERSISTENT for old
                                           servers */
    char *parent; /* room for the path of a node above the node, as long as
                     .path */

    struct hf_registration_report report;
    struct hf_zookeeper_wait *waits;
    char path[];
};

/* ------------------------------------------------- _state, with the lock -- */

/* Allocate a registration of ${path} in the state CREATING.  It has no watch
 * and is in no list.  NULL: no memory. */
struct hf_zookeeper_registration *
hf_registration_alloc(struct hf_zookeeper *zookeeper, const char *path);

void hf_registration_reference(struct hf_zookeeper_registration *r);
void hf_registration_dereference(struct hf_zookeeper_registration *r);

/* Change the state, as the table in zookeeper_registration_state.c allows. */
void hf_registration_move(struct hf_zookeeper_registration *r,
                          enum hf_registration_state state);

/* Return the data of the state after which the function is named; ${r} must be
 * in that state. */
struct hf_registration_creating *
hf_registration_creating(struct hf_zookeeper_registration *r);
struct hf_registration_removing *
hf_registration_removing(struct hf_zookeeper_registration *r);

/* Was a node of this session seen, which is not known to be gone?  False in the
 * state FAILED, because events of the node are ignored then. */
bool hf_registration_has_node(const struct hf_zookeeper_registration *r);

/* Take ${r} out of the list of its handle, unless it is in none. */
void hf_registration_unlink(struct hf_zookeeper_registration *r);

/* Assert the invariants of ${r}. */
void hf_registration_check_invariants(
    const struct hf_zookeeper_registration *r);

/* If there is something that the user was not notified of yet, queue the
 * callback. */
void hf_registration_notify(struct hf_zookeeper_registration *r);

/* Report no more events to the user. */
void hf_registration_discard_events(struct hf_zookeeper_registration *r);

/* -------------------------------------------------- _step, with the lock -- */

/* Begin a step of ${kind}.  No step may be under way.  The step may end before
 * this returns. */
void hf_registration_begin(struct hf_zookeeper_registration *r,
                           enum hf_registration_step_kind kind);

/* Set the timer for the next attempt, after a pause that grows with each. */
void hf_registration_retry(struct hf_zookeeper_registration *r);

/* Cancel the operations of the step that were not sent yet. */
void hf_registration_cancel_unsent(struct hf_zookeeper_registration *r);

/* Does the EXISTS of the step show a node of this session? */
bool hf_registration_sees_own(const struct hf_zookeeper_registration *r);

/* ----------------------------------------------- _removal, with the lock -- */

/* To be called when the user has freed ${r}: delete the node.  ${wait}, if not
 * NULL, is ended when that is done. */
void hf_registration_remove(struct hf_zookeeper_registration *r,
                            struct hf_zookeeper_wait *wait);

/* Begin the next step of the removal, or end the removal.  No step may be under
 * way. */
void hf_registration_removal_next(struct hf_zookeeper_registration *r);

/* To be called when a step has ended in the state REMOVING: decide how the
 * removal goes on. */
void hf_registration_removal_step_ended(struct hf_zookeeper_registration *r);

/* End the removal with ${status} and ${text}: stop the watch and the timer, and
 * end its wait. */
void hf_registration_removal_end(struct hf_zookeeper_registration *r,
                                 hf_status status, const char *text);

/* --------------------------------------------------------- with the lock -- */

/* Make a registration of ${path} with its watch, and add it to the list of
 * ${zookeeper}.  NULL: no memory. */
struct hf_zookeeper_registration *
hf_registration_new(struct hf_zookeeper *zookeeper, const char *path);

/* Begin the next step, unless a step is under way or there is nothing to do. */
void hf_registration_resume(struct hf_zookeeper_registration *r);

/* Notify all registrations of the handle: of a connection, that the reconnect
 * policy has given up, that the session is lost, that the handle is closed. */
void hf_zookeeper_registrations_up(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_gave_up(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_lost(struct hf_zookeeper *zookeeper);
void hf_zookeeper_registrations_closed(struct hf_zookeeper *zookeeper);

#endif
