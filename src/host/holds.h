/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds what of a mutex or a read/write lock: for each owner a grant, and
 * how often it was locked.  Two owners of a mutex can be on record at once, one
 * of them with a grant that was lost and that it has not unlocked yet.
 */
#ifndef HF_HOST_HOLDS_H
#define HF_HOST_HOLDS_H

#include <pthread.h>

#include "host/lock.h"

struct hf_hold {
    uint64_t owner;
    uint64_t writes; /* of a mutex: all */
    uint64_t reads;
    struct hf_grant *grant;
    struct hf_hold *next;
};

struct hf_holds {
    pthread_mutex_t guard; /* of .first; never held while waiting */
    struct hf_hold *first;
    uint64_t (*owner)(void *arg); /* NULL: the calling thread */
    void *owner_arg;
};

void hf_holds_init(struct hf_holds *holds, uint64_t (*owner)(void *arg),
                   void *owner_arg);

/* Release what is still held, and free the rest. */
void hf_holds_free(struct hf_holds *holds);

/* The caller's, or NULL.  It is only ever taken away by its owner, so it stays
 * valid. */
struct hf_hold *hf_holds_own(struct hf_holds *holds);

/* Acquire ${lock} for the caller, who has none: counts are 0.
 *   Fails     as hf_lock_acquire(). */
hf_status hf_holds_take(struct hf_holds *holds, struct hf_lock *lock,
                        uint64_t wait_ms, struct hf_hold **hold);

/* Release the grant and forget ${hold}, unless that could not be begun. */
hf_status hf_holds_give(struct hf_holds *holds, struct hf_hold *hold);

#endif
