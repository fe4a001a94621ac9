/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutex and the read/write lock: locks that are counted per owner.
 */
#ifndef HOLDFAST_MUTEX_H
#define HOLDFAST_MUTEX_H

#include <holdfast/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_mutex;
struct hf_rwlock;

/* -------------------------------------------------------------- mutex -- */

struct hf_mutex_opts {
    size_t size; /* set by HF_MUTEX_OPTS_INIT; 0 is an error */
    /* Who the caller is, for programs whose tasks are not threads (fibres,
     * coroutines); called on each operation.  NULL: the calling thread. */
    uint64_t (*owner)(void *arg);
    void *owner_arg;
};
#define HF_MUTEX_OPTS_INIT                                                     \
    {                                                                          \
        sizeof(struct hf_mutex_opts), NULL, NULL                               \
    }

/**
 * hf_mutex_open(client, name, opts, mutex):
 * Set ${mutex} to the lock called ${name}, counted per owner: an owner that
 * locks it again counts up, without traffic.
 *
 * Owners that want one name through one client, by this handle or another,
 * queue here, in order, and one ticket stands for all of them.  It passes from
 * one to the next without traffic, at most 16 times; then, or once somebody has
 * asked for it to be released, it is given back and another is taken at the
 * tail of the queue, so that whoever waits elsewhere gets a turn.  What a
 * ticket says of its owner is about the one that was first in line when it was
 * made.
 *   Ownership as hf_lock_open(); ${mutex} wants hf_mutex_free().
 *   Fails     as hf_lock_open().
 */
HF_API hf_status hf_mutex_open(struct hf_client *client, const char *name,
                               const struct hf_mutex_opts *opts,
                               struct hf_mutex **mutex)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_mutex_free(mutex):
 * Free ${mutex} (NULL is fine); what is still locked is released.
 *   Thread    no other thread may be in a call on ${mutex}.
 */
HF_API void hf_mutex_free(struct hf_mutex *mutex);

/**
 * hf_mutex_lock(mutex), hf_mutex_trylock(mutex),
 * hf_mutex_timedlock(mutex, wait_ms):
 * Become the owner, or count up if the caller is it already.  A count belongs
 * to a ticket: when that was lost this answers HF_ELOST until the owner has
 * unlocked as often as it locked.
 *   Time      for ever; one answer of the engine, and none while another owner
 *             of this client has it or waits for it; ${wait_ms}.
 *   Fails     as hf_lock_acquire(), and HF_ELOST.
 */
HF_API hf_status hf_mutex_lock(struct hf_mutex *mutex)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_mutex_trylock(struct hf_mutex *mutex)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_mutex_timedlock(struct hf_mutex *mutex, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_mutex_unlock(mutex):
 * Count down; at zero, release, or pass it on to the owner that is next here.
 * A mutex that is passed on keeps its ticket, so nothing is asked of the
 * engine: HF_OK then means that no loss was known.
 *   Fails     HF_EOWNER if the caller is not the owner; HF_ELOST, having
 *             counted down, if the grant was lost or as hf_grant_release();
 *             HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_mutex_unlock(struct hf_mutex *mutex) HF_NONNULL(1);

/**
 * hf_mutex_token(mutex):
 * The fencing token of the caller's grant; 0 if the caller is not the owner.
 * Owners of one client to whom one ticket was passed on have the same: let the
 * resource accept an equal one.  Between them there is nothing to fence off:
 * each has it until it unlocks.
 */
HF_API uint64_t hf_mutex_token(struct hf_mutex *mutex) HF_NONNULL(1);

/* ------------------------------------------------------ read/write lock -- */

struct hf_rwlock_opts {
    size_t size; /* set by HF_RWLOCK_OPTS_INIT; 0 is an error */
    /* As in struct hf_mutex_opts. */
    uint64_t (*owner)(void *arg);
    void *owner_arg;
};
#define HF_RWLOCK_OPTS_INIT                                                    \
    {                                                                          \
        sizeof(struct hf_rwlock_opts), NULL, NULL                              \
    }

/**
 * hf_rwlock_open(client, name, opts, rwlock):
 * Set ${rwlock} to the read/write lock called ${name}, counted per owner.  An
 * owner that writes may also read: that counts, without traffic.
 *   Ownership as hf_lock_open(); ${rwlock} wants hf_rwlock_free().
 *   Fails     as hf_lock_open().
 */
HF_API hf_status hf_rwlock_open(struct hf_client *client, const char *name,
                                const struct hf_rwlock_opts *opts,
                                struct hf_rwlock **rwlock)
    HF_NONNULL(1, 2, 4) HF_MUST_CHECK;

/**
 * hf_rwlock_free(rwlock):
 * Free ${rwlock} (NULL is fine); what is still locked is released.
 *   Thread    no other thread may be in a call on ${rwlock}.
 */
HF_API void hf_rwlock_free(struct hf_rwlock *rwlock);

/**
 * hf_rwlock_rdlock(rwlock), hf_rwlock_tryrdlock(rwlock),
 * hf_rwlock_timedrdlock(rwlock, wait_ms):
 * Become a reader, or count up if the caller reads or writes already.  A count
 * belongs to a ticket: when that was lost this answers HF_ELOST until the owner
 * has unlocked as often as it locked.
 *   Time      for ever; one answer of the engine; ${wait_ms}.
 *   Fails     as hf_lock_acquire(), and HF_ELOST.
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
 *             wait for itself; unlock the read first.  As hf_lock_acquire(),
 * and HF_ELOST as hf_rwlock_rdlock().
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
 * Take back one read, or one write.  With the last of both the lock is
 * released; with the last write, while reads remain, the grant is downgraded:
 * the caller goes on reading, with the same token, and nobody wrote in between.
 *   Time      one answer of the engine where it releases or downgrades.
 *   Fails     HF_EOWNER if the caller has none of that sort; HF_ELOST, having
 *             counted down, if the grant was lost; what hf_grant_downgrade()
 *             fails with, having counted down: others then wait on, until all
 *             is unlocked; HF_EREENTRANT HF_EFORKED.
 */
HF_API hf_status hf_rwlock_rdunlock(struct hf_rwlock *rwlock) HF_NONNULL(1);
HF_API hf_status hf_rwlock_wrunlock(struct hf_rwlock *rwlock) HF_NONNULL(1);

/**
 * hf_rwlock_token(rwlock):
 * The fencing token of the caller's grant; 0 if the caller has none.
 */
HF_API uint64_t hf_rwlock_token(struct hf_rwlock *rwlock) HF_NONNULL(1);

#ifdef __cplusplus
}
#endif

#endif
