/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant, from the moment it is asked for.  One object is the operation, then
 * the acquisition in the core, then the grant of the user, and the operation
 * that releases it.  So nothing has to be allocated once the ticket is
 * requested, and the end of an acquire and of a release needs no memory.
 *
 * A grant is kept alive by the references of its operation: those of the core
 * until it is done with the acquisition, of the user's operation handle, of the
 * user's grant, of the completion that will report its end, of its downgrade,
 * and of its callbacks that are queued.
 */
#ifndef HF_CLIENT_GRANT_H
#define HF_CLIENT_GRANT_H

#include "client/client.h"
#include "client/lock.h"
#include "core/acquisition.h"
#include "monitor/callback_queue.h"
#include "operation/user_op.h"

struct hf_downgrade;

/* What the user wants to be notified of besides the end of the operation, and
 * the callbacks that do it. */
struct hf_grant_callbacks {
    struct hf_on_wait on_wait;
    struct hf_on_loss on_loss;
    struct hf_on_revoke on_revoke;
    uint32_t displaced; /* as the last call of .on_wait reported it */
    struct hf_callback wait;
    struct hf_callback loss;
    struct hf_callback revoke;
};

/* What the metrics know of a grant, if its client counts or reports events; in
 * microseconds of hf_boottime_us(). */
struct hf_grant_metrics {
    uint64_t begun_us;
    uint64_t granted_us; /* 0: it is not held */
    uint64_t gone_us; /* when the ticket ahead was reported gone; 0: not known,
                         or another one is ahead */
    bool waited;
};

/* One lock of a grant.  Several are sorted by name, because all processes must
 * take them in the same order to avoid a deadlock.  Under the client's lock. */
struct hf_grant_item {
    struct hf_lock *lock;
    struct hf_acquisition *acquisition; /* the one that has its ticket */
    /* In one of the two lists of a semaphore (lock.h); .link is NULL: in
     * none. */
    struct hf_grant_item *next;
    struct hf_grant_item **link;
};

enum hf_grant_state {
    HF_GRANT_REQUESTED, /* also after a wait that ended without a grant */
    HF_GRANT_HELD,      /* it was granted; perhaps it was lost since */
    HF_GRANT_RELEASED,  /* a release was called */
};

/* All fields under the client's lock, where nothing else is said. */
struct hf_grant {
    /* A multi-lock if there are several tickets. */
    struct hf_acquisition acquisition;
    struct hf_client *client;
    struct hf_lock *lock; /* the one that the user named first */
    uint64_t owner;       /* whose it is; 0: not known */
    /* The next grant in the same bucket of the client's grants by owner. */
    struct hf_grant *held_next;
    /* The pointer to this grant in its bucket; NULL: in no bucket. */
    struct hf_grant **held_link;
    struct hf_grant_item *items; /* the locks, .item_count of them */
    size_t item_count;
    struct hf_user_op user_op; /* the acquire, and then the release */
    enum hf_grant_state state;
    bool pending; /* the core has work to do on it */
    /* The lock that was lost; if several were, as with the session, the first
     * of them by name.  NULL: none. */
    const struct hf_lock *lost_lock;
    /* An eventfd, readable once the grant is lost; -1 until the user asks for
     * it. */
    int loss_fd;
    struct hf_grant *next_loss_fd;  /* in the client's list of these */
    struct hf_grant **loss_fd_link; /* what points here */
    /* In the same allocation; NULL: none. */
    struct hf_grant_callbacks *callbacks;
    /* The downgrade, until its end is reported; NULL: there is none. */
    struct hf_downgrade *downgrade;
    /* The election whose candidacy it is, or NULL. */
    struct hf_election *election;

    struct hf_grant_metrics metrics;
    struct hf_deferred_free deferred;
    /* The payload of its tickets: in the same allocation or, if what its owner
     * holds needs more room, .payload_larger. */
    char *payload;
    size_t payload_bytes; /* the part that all its tickets have in common */
    size_t payload_size;  /* the room for it, with the NUL */
    char *payload_larger; /* allocated, or NULL */
    struct hf_grant_text *texts; /* freed with the grant */
};

/* A text that lives as long as its grant. */
struct hf_grant_text {
    struct hf_grant_text *next;
    char text[];
};

/* A call that waits for its grant and that its owner can cancel.  It is on the
 * stack of the caller.  Under the client's lock. */
struct hf_grant_waiter {
    uint64_t owner;
    struct hf_grant *grant;
    struct hf_grant_waiter *next;
};

/* A call that waits until the session is proven or .grant is lost.  It is on
 * the stack of its caller.  hf_grant_check() has no call with _start, so this
 * is no operation: one proof answers all checks of a client. */
struct hf_grant_check {
    struct hf_waiter waiter;
    const struct hf_grant *grant;
    struct hf_grant_check *next;
};

/* All functions with the client's lock, where nothing else is said. */

/* -------------------------------------------------------------- grant.c -- */

/* A new grant of the ${count} ${locks}, with one reference, the caller's; NULL
 * if out of memory.  Its tickets have the payload ${fixed_payload} or, if that
 * is NULL, the usual one, which describes their owner.  When its last reference
 * is dropped it is destroyed after the lock was released, because a .drop of
 * the user may be called. */
struct hf_grant *hf_grant_new(struct hf_lock *const *locks, size_t count,
                              const struct hf_acquire_opts *opts,
                              const char *fixed_payload);

/* Hand its acquisition to the core.  Its effects may come before this
 * returns. */
void hf_grant_start(struct hf_grant *grant);

/* Record whether the core has work to do on ${grant}; the client counts the
 * grants for which it has. */
void hf_grant_set_pending(struct hf_grant *grant, bool pending);

/* End the wait for ${grant}, unless it has ended. */
void hf_grant_cancel(struct hf_grant *grant);

/* A copy of ${text} that lives as long as the grant.  The same text is copied
 * once.  NULL: no memory. */
const char *hf_grant_keep_text(struct hf_grant *grant, const char *text);

/* -------------------------------------------------------- grant_locks.c -- */

/* May the ${count} ${locks} be acquired together?  HF_EINVAL if there are none
 * or too many, if they are of two clients, or if one is given twice. */
hf_status hf_grant_items_check(struct hf_lock *const *locks, size_t count,
                               struct hf_error *error);

/* How many tickets ${locks} need together. */
size_t hf_grant_items_tickets(struct hf_lock *const *locks, size_t count);

/* Have ${grant} ask for ${locks}.  Everything else in its acquisition is set
 * already.  If several tickets are needed it becomes a multi-lock with a child
 * for each of them. */
void hf_grant_items_set(struct hf_grant *grant, struct hf_lock *const *locks);

/* The id of its ticket for ${lock}, which must be one of its locks. */
const struct hf_ticket_id *hf_grant_ticket_id(const struct hf_grant *grant,
                                              const struct hf_lock *lock);

/* The acquisition of ${grant} that has the ticket for ${lock}, or NULL. */
struct hf_acquisition *hf_grant_items_find(const struct hf_grant *grant,
                                           const struct hf_lock *lock);

/* Which of the locks of ${grant} it waits for or has failed to get, because
 * they are taken one after the other.  If all are granted: the one that the
 * user named first. */
const struct hf_lock *hf_grant_awaited_lock(const struct hf_grant *grant);

/* Which of the locks of ${grant} somebody has asked for last; the first one
 * that the user named, if nobody has. */
const struct hf_lock *hf_grant_asked_lock(const struct hf_grant *grant);

/* The name of that lock, which lives as long as the lock.  For callbacks,
 * without the client's lock. */
const char *hf_grant_asked_name(struct hf_grant *grant);

/* ${grant} was lost: remember which lock it was. */
void hf_grant_set_lost(struct hf_grant *grant);

/* Set ${error} to HF_ELOST and why the grant was lost. */
hf_status hf_grant_explain_loss(const struct hf_grant *grant,
                                struct hf_error *error);

/* Set ${error} to why the release ended with ${status}. */
void hf_grant_explain_release(const struct hf_grant *grant, hf_status status,
                              struct hf_error *error);

/* ---------------------------------------------------- grant_callbacks.c -- */

/* Does ${opts} have any of these callbacks, or a .drop? */
bool hf_grant_callbacks_wanted(const struct hf_acquire_opts *opts);

/* Set those of ${grant}, which has memory for them, as ${opts} say. */
void hf_grant_set_callbacks(struct hf_grant *grant,
                            const struct hf_acquire_opts *opts);

/* Call the .drop of each that was set, when the grant is destroyed.  Without
 * the lock. */
void hf_grant_drop_callbacks(struct hf_grant *grant);

/* Queue one of these callbacks if the user wants it, or take it out of the
 * queue. */
void hf_grant_queue_wait(struct hf_grant *grant);
void hf_grant_unqueue_wait(struct hf_grant *grant);
void hf_grant_queue_loss(struct hf_grant *grant);
void hf_grant_unqueue_loss(struct hf_grant *grant);
void hf_grant_queue_revoke(struct hf_grant *grant);
void hf_grant_unqueue_revoke(struct hf_grant *grant);

/* Was it displaced since its .on_wait was last called?  Asked when the wait
 * ends. */
bool hf_grant_has_unreported_wait(const struct hf_grant *grant);

/* Forget the callbacks without calling their .drop. */
void hf_grant_clear_callbacks(struct hf_grant *grant);

/* ------------------------------------------------------ grant_acquire.c -- */

/* Do hf_lock_acquire() and hf_lock_acquire_start() inside another public call,
 * ${api_name}: that name is in the errors.  Without the lock. */
hf_status hf_acquire_for(struct hf_lock *lock, const char *api_name,
                         uint64_t wait_ms, struct hf_grant **grant);
hf_status hf_acquire_start_for(struct hf_lock *lock, const char *api_name,
                               uint64_t wait_ms, struct hf_done done,
                               struct hf_op **op);

/* hf_acquire_for() with the options ${opts}, for ${owner}.  While it waits it
 * is in the list ${waiters}, which the client's lock guards, so that the owner
 * can cancel it. */
hf_status hf_acquire_for_owner(struct hf_lock *lock, const char *api_name,
                               const struct hf_acquire_opts *opts,
                               uint64_t owner, struct hf_grant_waiter **waiters,
                               struct hf_grant **grant);

/* ------------------------------------------------------ grant_release.c -- */

/* Do hf_grant_downgrade() and hf_grant_release() inside another public call,
 * ${api_name}: that name is in the errors.  Without the lock. */
hf_status hf_grant_downgrade_for(struct hf_grant *grant, const char *api_name);
hf_status hf_grant_release_for(struct hf_grant *grant, const char *api_name);

/* Begin the release as a step of another operation: ${done}.fn is called at its
 * end, with the lock, perhaps before this returns.  The reference of the user's
 * grant is dropped, so ${grant} may be gone when this returns. */
void hf_grant_release_step(struct hf_grant *grant, struct hf_done done);

/* Begin the release if it is granted, or else end the wait.  Only its election
 * receives the end. */
void hf_grant_release_or_cancel(struct hf_grant *grant);

/* The core reports that the downgrade has ended: answer it. */
void hf_grant_downgraded(struct hf_grant *grant);

/* -------------------------------------------------------- grant_check.c -- */

/* Is ${grant} ours as far as is known: was no loss reported and, unless the
 * session is lazy, has safe-until not passed?  With the client's lock. */
bool hf_grant_is_valid(const struct hf_grant *grant);

/* The same, after what the engine has sent by now was processed: HF_OK,
 * HF_ELOST or HF_EFORKED.  Does not wait.  Without the lock. */
hf_status hf_grant_check_now(struct hf_grant *grant, struct hf_error *error);

/* In a lazy session request a proof, unless the last one is fresh.  Returns
 * when the next one is due (CLOCK_BOOTTIME in ms); a caller that keeps the
 * session proven must call again by then.  HF_FOREVER: the session proves
 * itself, or it is not connected.  Does not wait.  Without the lock. */
uint64_t hf_grant_request_proof(struct hf_grant *grant);

/* The session was proven; or, if ${grant} is not NULL, that grant was lost:
 * answer the checks that wait for it.  With the lock. */
void hf_grant_checks_answer(struct hf_client *client,
                            const struct hf_grant *grant);

/* -------------------------------------------------- grant_descriptors.c -- */

/* The path of its ticket for ${lock}, in ZooKeeper and with the path of the
 * URL, valid until the next call of the engine; or NULL and why in ${error}:
 * HF_EUNSUPPORTED HF_ELOST; HF_ESTATE while it is being downgraded, after a
 * downgrade that got no answer, and when its loss is about to be reported.
 * Everything that the engine has sent by now is processed first. */
const char *hf_grant_ticket_path(struct hf_grant *grant,
                                 const struct hf_lock *lock,
                                 struct hf_error *error);

/* The grant was lost: make its loss descriptor readable, if it has one. */
void hf_grant_signal_loss_fd(const struct hf_grant *grant);
void hf_grant_close_loss_fd(struct hf_grant *grant);

/* In the child of a fork: close the loss descriptors of all grants. */
void hf_grant_after_fork(struct hf_client *client);

/* The program has closed the loss descriptors: forget their numbers, which may
 * be those of other files by now. */
void hf_grant_forget_loss_fds(struct hf_client *client);

/* ------------------------------------------------------ grant_payload.c -- */

/* Write the payload of ${ticket}, which is about to be enqueued, if its owner
 * is a grant and not a cohort.  It overwrites the payload of the grant's ticket
 * before.  That is not needed any more, because a grant has at most one ENQUEUE
 * under way. */
void hf_grant_write_payload(struct hf_own_ticket *ticket);

/* The grant that ${ticket} belongs to, alone or as one of several tickets.
 * NULL: the grants of a cohort share it. */
struct hf_grant *hf_grant_of_ticket(const struct hf_own_ticket *ticket);

/* The text of ${ticket} is about to be written again: set it to what is true
 * now.  asked= is added if somebody has asked for the release and the text is
 * one of ours. */
void hf_grant_update_text(struct hf_own_ticket *ticket);

/* The locks that the owner of the acquire ${op} inherits have changed
 * (hf_owner_grants_inherit()): if ${op} waits, have its ticket say that.
 * Without the lock. */
void hf_grant_describe_again(struct hf_op *op);

/* ------------------------------------------------------ grant_metrics.c -- */

/* What a client counts of its grants, and the events that its user gets of
 * them.  Nothing happens if the client does neither, or if the grant is that of
 * a participant of a double barrier. */

/* It is asked for. */
void hf_grant_metrics_begun(struct hf_grant *grant);
/* It was granted; the acquire ended without a grant, with
 * .acquisition.status. */
void hf_grant_metrics_granted(struct hf_grant *grant);
void hf_grant_metrics_ended(struct hf_grant *grant);
/* A call releases a grant that is held; it was lost before any call released
 * it. */
void hf_grant_metrics_released(struct hf_grant *grant);
void hf_grant_metrics_lost(struct hf_grant *grant);
/* The release has ended, with .acquisition.status. */
void hf_grant_metrics_release_ended(struct hf_grant *grant);
/* Somebody asks for its release. */
void hf_grant_metrics_revoked(struct hf_grant *grant);

/* The engine of a client that counts has sent ${event}, and the core has not
 * seen it yet: note when the ticket ahead of ours was reported gone, and forget
 * that if another one is ahead. */
void hf_grant_metrics_event(const struct hf_event *event);

#endif
