/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant, from the moment it is asked for: one object is the operation, the
 * acquisition in the core and then the grant, so that nothing has to be
 * allocated once the ticket is under way.
 *
 * It is kept alive by the core until DONE, by the user's operation handle,
 * by the user's grant or the completion that will bring it, and by callbacks
 * of it that are queued.
 */
#ifndef HF_HOST_GRANT_H
#define HF_HOST_GRANT_H

#include "core/acquisition.h"
#include "host/client.h"
#include "host/grant_items.h"
#include "host/lock.h"
#include "host/op_handle.h"
#include "monitor/callback_queue.h"

struct hf_downgrade;

/* What its user wants to be notified of besides its end. */
struct hf_grant_callbacks {
    struct hf_on_wait on_wait;
    struct hf_on_loss on_loss;
    struct hf_on_revoke on_revoke;
    uint32_t displaced; /* as the last on_wait said */
    struct hf_callback wait;
    struct hf_callback loss;
    struct hf_callback revoke;
};

struct hf_grant {
    struct hf_acquisition acquisition; /* of several tickets: a multi-lock */
    struct hf_client *client;
    struct hf_lock *lock;        /* the first that was asked for */
    uint64_t owner;              /* whose it is; 0: nobody said */
    struct hf_grant *held_next;  /* while it is held, of the same bucket of */
    struct hf_grant **held_link; /* the client's holdings; NULL: not there */
    struct hf_grant_item *items;
    size_t item_count;
    struct hf_op op;
    unsigned references; /* under the client's lock */
    bool pending;        /* the core has work to do on it */
    bool granted;
    bool lost;
    bool released;                   /* a release was called */
    struct hf_last_error last_error; /* its loss, or the last one */
    const struct hf_lock *lost_lock; /* of several the one that was lost */
    int loss_fd;                     /* -1 until asked for; then in the
                                        client's list of these */
    struct hf_grant *next_loss_fd;
    struct hf_grant **loss_fd_link; /* what points here */
    struct hf_waiter *waiter; /* who waits for the acquire or the release */

    struct hf_done done; /* of the acquire, then of the release */
    hf_status done_status;
    struct hf_callback done_callback;
    struct hf_grant_callbacks *callbacks; /* behind the grant; NULL: none */

    struct hf_downgrade *downgrade; /* until its end is notified; else NULL */
    struct hf_election *election;   /* of which it is a candidacy, or NULL */

    struct hf_deferred_free deferred;
    /* What its tickets say: behind .items, or, where that is too short for
     * what its owner holds, of the heap. */
    char *payload;
    size_t payload_bytes; /* of what is the same in all its tickets */
    size_t payload_size;  /* what it has room for, with the NUL */
    char *payload_larger; /* or NULL */
};

/* A call that waits for its grant, on its caller's stack. */
struct hf_grant_waiter {
    uint64_t owner;
    struct hf_grant *grant;
    struct hf_grant_waiter *next;
};

/* Below: with the client's lock, where nothing else is said. */

/* ----------------------------------------------------------- the object -- */

void hf_grant_reference(struct hf_grant *grant);
void hf_grant_dereference(struct hf_grant *grant);

/* Queue a callback of it, unless it is queued. */
void hf_grant_queue_callback(struct hf_grant *grant,
                             struct hf_callback *callback);

/* Note whether the core has work to do on it. */
void hf_grant_set_pending(struct hf_grant *grant, bool pending);

/* End the wait for it, if that has not ended. */
void hf_grant_cancel(struct hf_grant *grant);

/* The id of its ticket of ${lock}, which must be one of its locks. */
const struct hf_ticket_id *hf_grant_ticket_id(const struct hf_grant *grant,
                                              const struct hf_lock *lock);

/* ---------------------------------------------------------- grant_new.c -- */

/* A new one of the ${count} ${locks}, with one reference, the user's; NULL if
 * out of memory.  Its tickets say ${fixed_payload}, or, if that is NULL, what
 * there is to say of their owner. */
struct hf_grant *hf_grant_new(struct hf_lock *const *locks, size_t count,
                              const struct hf_acquire_opts *opts,
                              const char *fixed_payload, struct hf_done done);

/* ------------------------------------------------------------ grant_acquire.c
 * -- */

/* Without the lock: hf_lock_acquire() and hf_lock_acquire_start() on behalf of
 * the user's ${call}.  On failure ${error} says why. */
hf_status hf_acquire_for(struct hf_lock *lock, const char *call,
                         uint64_t wait_ms, struct hf_grant **grant,
                         struct hf_error *error);
hf_status hf_acquire_start_for(struct hf_lock *lock, const char *call,
                               uint64_t wait_ms, struct hf_done done,
                               struct hf_op **op);

/* hf_acquire_for(), as ${opts} say and for ${owner}.  While it waits it is one
 * of ${waiters}, which the client's lock guards. */
hf_status hf_acquire_for_owner(struct hf_lock *lock, const char *call,
                               const struct hf_acquire_opts *opts,
                               uint64_t owner, struct hf_grant_waiter **waiters,
                               struct hf_grant **grant, struct hf_error *error);

/* ----------------------------------------- grant_release.c, grant_downgrade.c
 * -- */

/* Without the lock: hf_grant_downgrade() and hf_grant_release() on behalf of a
 * handle of another sort, which says why itself: ${error} is filled on failure.
 */
hf_status hf_grant_downgrade_for(struct hf_grant *grant,
                                 struct hf_error *error);
hf_status hf_grant_release_for(struct hf_grant *grant, struct hf_error *error);

/* Begin a release, or end a wait, whose end nobody is notified of but its
 * election. */
void hf_grant_release_or_cancel(struct hf_grant *grant);

/* Its downgrade has ended. */
void hf_grant_downgraded(struct hf_grant *grant);

/* -------------------------------------------------------- grant_error.c -- */

/* Remember ${error} under "call: ", at the lock too, because a grant may be
 * released next; return its status.  Without the client's lock. */
hf_status hf_grant_fail(struct hf_grant *grant, const char *call,
                        const struct hf_error *error);

/* Of several locks the one that was lost; of all of them, which go with the
 * session, the first.  To be asked when it is lost. */
const struct hf_lock *hf_grant_find_lost(const struct hf_grant *grant);

/* Say that it was lost, and why. */
hf_status hf_grant_explain_loss(const struct hf_grant *grant,
                                struct hf_error *error);

/* Say why a release was answered with ${status}. */
void hf_grant_explain_release(const struct hf_grant *grant, hf_status status,
                              struct hf_error *error);

/* ---------------------------------------------------- grant_callbacks.c -- */

/* Is there a function of the user's in ${opts} that grants call? */
bool hf_grant_has_callbacks(const struct hf_acquire_opts *opts);

/* Set those of ${grant}: ${done}, and, if it has room for them, those of
 * ${opts}. */
void hf_grant_set_callbacks(struct hf_grant *grant, struct hf_done done,
                            const struct hf_acquire_opts *opts);

/* Queue one of them if its user wants it, or take it back. */
void hf_grant_queue_wait(struct hf_grant *grant);
void hf_grant_unqueue_wait(struct hf_grant *grant);
void hf_grant_queue_loss(struct hf_grant *grant);
void hf_grant_unqueue_loss(struct hf_grant *grant);
void hf_grant_queue_revoke(struct hf_grant *grant);
void hf_grant_unqueue_revoke(struct hf_grant *grant);

/* Granted, or ended: has its place changed since its user was last notified of
 * it? */
bool hf_grant_has_unreported_wait(const struct hf_grant *grant);

/* None is wanted any more, nor is dropped. */
void hf_grant_clear_callbacks(struct hf_grant *grant);

/* Drop what the user gave.  Without the lock. */
void hf_grant_drop_callbacks(struct hf_grant *grant);

/* ---------------------------------------------------------- grant_fds.c -- */

/* It was lost: make its loss descriptor readable, if it has one. */
void hf_grant_signal_loss_fd(const struct hf_grant *grant);
void hf_grant_close_loss_fd(struct hf_grant *grant);

/* In the child of a fork: close the loss descriptors of all grants. */
void hf_grant_after_fork(struct hf_client *client);

/* ------------------------------------------------------ grant_payload.c -- */

/* Write what ${ticket}, which is being enqueued, says of its owner, if the
 * owner is a grant and not a cohort.  The text of the ticket before is
 * overwritten: a grant has at most one ENQUEUE under way. */
void hf_grant_write_payload(struct hf_own_ticket *ticket);

/* Add asked= to the description of ${ticket}, which is about to be written, if
 * that text is ours. */
void hf_grant_add_asked(struct hf_own_ticket *ticket);

#endif
