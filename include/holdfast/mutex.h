/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutex and the read/write lock: locks that are counted per owner.
 */
#ifndef HOLDFAST_MUTEX_H
#define HOLDFAST_MUTEX_H

#include <holdfast/tickets.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_mutex;
struct hf_rwlock;

/**
 * hf_owner_self():
 * The number of the calling thread as an owner, where .owner of the options is
 * NULL: from 1; no other thread of this process has, or ever had, the same.
 *   Thread    any.
 */
HF_API uint64_t hf_owner_self(void);

/* ---------------------------------------------------------------- mutex -- */

/* Called each time another program asks for the grant of ${owner} to be
 * released, as struct hf_on_revoke, and right after a grant whose release was
 * asked for while it waited, perhaps before the call that locks has returned.
 * The callback passes the request on, because only the owner can unlock.  It is
 * not called for an owner that has unlocked; a callback that runs meanwhile, on
 * another thread, goes on. */
struct hf_on_mutex_revoke {
    void (*fn)(void *arg, struct hf_mutex *mutex, uint64_t owner);
    void *arg;
    void (*drop)(void *arg);
};

/* With 16, a client whose owners always wait makes little more than a sixteenth
 * of the requests that it makes with a ticket for each owner.  Another client
 * waits for at most 17 of their critical sections; with a ticket for each owner
 * it would wait for all owners ahead of it. */
#define HF_MUTEX_HANDOFFS 16

struct hf_mutex_opts {
    size_t size; /* set by HF_MUTEX_OPTS_INIT */
    /* Returns the number of the caller, not 0, for programs whose tasks are not
     * threads (fibres, coroutines); called on each operation.  NULL: the
     * calling thread, as hf_owner_self().  All handles of a client share these
     * numbers: see .owner of struct hf_acquire_opts. */
    uint64_t (*owner)(void *arg);
    void *owner_arg;
    /* How often a ticket passes from one owner of this client to the next
     * before it is removed. 0: it never does, and each owner has a ticket of
     * its own, unless it is kept. */
    uint32_t handoffs;
    const char *text; /* as in struct hf_acquire_opts, of every ticket */
    struct hf_on_mutex_revoke on_revoke;
    /* As in struct hf_acquire_opts.  Each owner then has a ticket of its own,
     * as with .handoffs of 0, and none is kept. */
    bool detect_deadlock;
    /* How long, in milliseconds, a ticket that nobody of this client needs is
     * kept at most; 0: it is not kept. */
    uint64_t keep_ms;
};
#define HF_MUTEX_OPTS_INIT                                                     \
    {                                                                          \
        sizeof(struct hf_mutex_opts), NULL, NULL, HF_MUTEX_HANDOFFS, NULL,     \
            {NULL, NULL, NULL}, false, 0                                       \
    }

/**
 * hf_mutex_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_MUTEX_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_mutex_opts_init(struct hf_mutex_opts *opts, size_t size)
    HF_NONNULL(1);

/**
 * hf_mutex_open(client, name, opts, mutex):
 * Set ${mutex} to the lock called ${name}, counted per owner: an owner that
 * locks it again counts up, without traffic.
 *
 * Owners of one client that want the same name wait in a queue of the client,
 * in order, and one ticket stands for all of them.  The ticket passes from one
 * owner to the next without traffic, at most .handoffs times, ahead of other
 * clients that wait.  Then, or once its release was asked for, it is removed
 * and another one is made at the tail of the queue, so that other clients get a
 * turn.  What a ticket says of its owner is about the one that was first in
 * line when it was made.
 *
 * With .handoffs of 0, and .keep_ms of 0, each owner has a ticket of its own:
 * all owners of all clients are admitted in the order in which their tickets
 * were made, and none is overtaken.  Handles of one name share tickets if their
 * .handoffs and .keep_ms are equal; handles with different ones queue as two
 * clients do.
 *
 * With .keep_ms the last unlock does not remove the ticket, unless that had to
 * wait for others.  An owner of this client that locks meanwhile has it at
 * once, with the same token, and without traffic if the connection was not away
 * since and the session is proven.  It goes when .keep_ms are over or when its
 * release is asked for, and as soon as another ticket is seen in the queue: at
 * once while it is kept, else with the next unlock.  So others wait for one
 * critical section and one notice; if that is lost, some seconds longer
 * (engine-redis.md).  As long as no other ticket was seen since it was first
 * kept, owners of this client pass it on without the bound of .handoffs.
 *
 * While a ticket is kept lists show it as held, the session is proven as for
 * one that is held, and a process that is killed, frozen or stopped delays
 * others as one that holds does.  Nobody relies on the ticket: if it is lost,
 * nobody is notified, and the next owner has another one.  What others try
 * (hf_mutex_trylock()) fails with HF_EBUSY; a later try finds it gone.  It
 * stays although the handle is freed; hf_client_close() ends it.  Nothing is
 * kept where others wait without a ticket (layout=redis-py).
 *   Ownership as hf_lock_open(); ${opts} (NULL: all defaults) are copied, .text
 *             included.  ${mutex} must be freed with hf_mutex_free().
 *   Fails     as hf_lock_open(); with .keep_ms HF_ELIMIT if no thread can be
 *             started that notices who waits.
 */
HF_API hf_status hf_mutex_open(struct hf_client *client, const char *name,
                               const struct hf_mutex_opts *opts,
                               struct hf_mutex **mutex)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_mutex_free(mutex):
 * Free ${mutex} (NULL is fine); what is still locked is released.  A callback
 * that runs meanwhile, on another thread, goes on; .drop comes after it.
 *   Thread    no other thread may be in a call on ${mutex}.
 */
HF_API void hf_mutex_free(struct hf_mutex *mutex);

/**
 * hf_mutex_lock(mutex), hf_mutex_trylock(mutex),
 * hf_mutex_timedlock(mutex, wait_ms):
 * Become the owner, or count up if the caller is it already.  A count belongs
 * to a ticket: after that was lost this fails with HF_ELOST until the owner has
 * unlocked as often as it locked.
 *   Time      for ever; one answer of the engine, and none while an owner that
 *             shares tickets with the caller has it or waits for it;
 *             ${wait_ms}.
 *   Fails     as hf_lock_acquire(), and HF_ELOST; HF_ECANCELLED after
 *             hf_mutex_cancel().
 */
HF_API hf_status hf_mutex_lock(struct hf_mutex *mutex)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_mutex_trylock(struct hf_mutex *mutex)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_mutex_timedlock(struct hf_mutex *mutex, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_mutex_unlock(mutex):
 * Count down; at zero, release, or pass it on to the owner that is next in this
 * client.  A mutex that is passed on keeps its ticket, so no request is made:
 * HF_OK then means that no loss was known.  The first time after an outage the
 * next owner is admitted once the ticket was seen in its queue.  All of this
 * holds for a ticket that is kept, too (.keep_ms).
 *   Fails     HF_EOWNER if the caller is not the owner; HF_ELOST, having
 *             counted down, if the grant was lost or as hf_grant_release();
 *             HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_mutex_unlock(struct hf_mutex *mutex) HF_NONNULL(1);

/**
 * hf_mutex_token(mutex):
 * The fencing token of the caller's grant; 0 if the caller is not the owner.
 * Owners of one client to which one ticket was passed on have the same token:
 * let the resource accept an equal one.  Nothing needs fencing between them,
 * because each has the mutex until it unlocks.
 */
HF_API uint64_t hf_mutex_token(struct hf_mutex *mutex) HF_NONNULL(1);

/**
 * hf_mutex_cancel(mutex, owner):
 * End the wait of ${owner} in a call that locks ${mutex}, or of each owner if
 * ${owner} is 0.  Such a wait ends without a grant, with HF_ECANCELLED unless
 * it was about to end otherwise.  It concerns neither an owner that holds
 * ${mutex} nor one that begins to wait later.
 *   Time      does not wait for these ends.
 *   Thread    any, also in a callback.
 *   Fails     HF_EGONE if no such owner waits through this handle; HF_EFORKED.
 */
HF_API hf_status hf_mutex_cancel(struct hf_mutex *mutex, uint64_t owner)
    HF_NONNULL(1);

/**
 * hf_mutex_tickets(mutex, which, wait_ms, tickets):
 * As hf_lock_tickets(), with the owners of this client that wait for the ticket
 * that they share: right behind that ticket, or last if it is yet to be made,
 * in the order in which they will have it.  They have no ticket, so .id and
 * .layout are "" and .token is 0; .own is true.  .owner of the shared ticket is
 * about the owner that it is for now.
 *   Time, Ownership, Fails  as hf_lock_tickets().
 */
HF_API hf_status hf_mutex_tickets(struct hf_mutex *mutex,
                                  enum hf_tickets_which which, uint64_t wait_ms,
                                  struct hf_tickets **tickets)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

/* ------------------------------------------- read/write lock: hf_rwlock -- */

/* As struct hf_on_mutex_revoke. */
struct hf_on_rwlock_revoke {
    void (*fn)(void *arg, struct hf_rwlock *rwlock, uint64_t owner);
    void *arg;
    void (*drop)(void *arg);
};

struct hf_rwlock_opts {
    size_t size; /* set by HF_RWLOCK_OPTS_INIT */
    /* As in struct hf_mutex_opts. */
    uint64_t (*owner)(void *arg);
    void *owner_arg;
    const char *text;
    struct hf_on_rwlock_revoke on_revoke;
    bool detect_deadlock;
};
#define HF_RWLOCK_OPTS_INIT                                                    \
    {                                                                          \
        sizeof(struct hf_rwlock_opts), NULL, NULL, NULL, {NULL, NULL, NULL},   \
            false                                                              \
    }

/**
 * hf_rwlock_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_RWLOCK_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_rwlock_opts_init(struct hf_rwlock_opts *opts, size_t size)
    HF_NONNULL(1);

/**
 * hf_rwlock_open(client, name, opts, rwlock):
 * Set ${rwlock} to the read/write lock called ${name}, counted per owner.  An
 * owner that writes may also read: that counts, without traffic.  Each owner
 * has a ticket of its own, in strict order: there is no .handoffs here.
 *   Ownership as hf_lock_open(); ${opts} as in hf_mutex_open().  ${rwlock} must
 *             be freed with hf_rwlock_free().
 *   Fails     as hf_lock_open().
 */
HF_API hf_status hf_rwlock_open(struct hf_client *client, const char *name,
                                const struct hf_rwlock_opts *opts,
                                struct hf_rwlock **rwlock)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_rwlock_free(rwlock):
 * Free ${rwlock} (NULL is fine), as hf_mutex_free() does.
 *   Thread    no other thread may be in a call on ${rwlock}.
 */
HF_API void hf_rwlock_free(struct hf_rwlock *rwlock);

/**
 * hf_rwlock_rdlock(rwlock), hf_rwlock_tryrdlock(rwlock),
 * hf_rwlock_timedrdlock(rwlock, wait_ms):
 * Become a reader, or count up if the caller reads or writes already.  A count
 * belongs to a ticket: after that was lost this fails with HF_ELOST until the
 * owner has unlocked as often as it locked.
 *   Time      for ever; one answer of the engine; ${wait_ms}.
 *   Fails     as hf_lock_acquire(), and HF_ELOST; HF_ECANCELLED after
 *             hf_rwlock_cancel().
 */
HF_API hf_status hf_rwlock_rdlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_tryrdlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_timedrdlock(struct hf_rwlock *rwlock,
                                       uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_rwlock_wrlock(rwlock), hf_rwlock_trywrlock(rwlock),
 * hf_rwlock_timedwrlock(rwlock, wait_ms):
 * Become the writer, or count up if the caller is it already.
 *   Time      for ever; one answer of the engine; ${wait_ms}.
 *   Fails     HF_EREENTRANT, at once, if the caller only reads: it could only
 *             wait for itself; unlock the read first.  As
 *             hf_rwlock_rdlock().
 */
HF_API hf_status hf_rwlock_wrlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_trywrlock(struct hf_rwlock *rwlock)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_rwlock_timedwrlock(struct hf_rwlock *rwlock,
                                       uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_rwlock_rdunlock(rwlock), hf_rwlock_wrunlock(rwlock):
 * Count one read, or one write, down.  With the last of both the lock is
 * released; with the last write, while reads remain, the grant is downgraded:
 * the caller goes on reading, with the same token, and no other writer wrote in
 * between.
 *   Time      one answer of the engine where it releases or downgrades.
 *   Fails     HF_EOWNER if the caller has none of that sort; HF_ELOST, having
 *             counted down, if the grant was lost; a status that
 *             hf_grant_downgrade() fails with, having counted down: others then
 *             may wait on, until all is unlocked; HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_rwlock_rdunlock(struct hf_rwlock *rwlock) HF_NONNULL(1);
HF_API hf_status hf_rwlock_wrunlock(struct hf_rwlock *rwlock) HF_NONNULL(1);

/**
 * hf_rwlock_token(rwlock):
 * The fencing token of the caller's grant; 0 if the caller has none.
 */
HF_API uint64_t hf_rwlock_token(struct hf_rwlock *rwlock) HF_NONNULL(1);

/**
 * hf_rwlock_cancel(rwlock, owner):
 * End waits to read or to write, as hf_mutex_cancel().
 */
HF_API hf_status hf_rwlock_cancel(struct hf_rwlock *rwlock, uint64_t owner)
    HF_NONNULL(1);

/**
 * hf_rwlock_tickets(rwlock, which, wait_ms, tickets):
 * As hf_lock_tickets(): each owner has a ticket of its own.
 */
HF_API hf_status hf_rwlock_tickets(struct hf_rwlock *rwlock,
                                   enum hf_tickets_which which,
                                   uint64_t wait_ms,
                                   struct hf_tickets **tickets)
    HF_NONNULL(1, 4) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
