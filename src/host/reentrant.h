/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds what of a mutex or a read/write lock: for each owner a grant, and
 * how often it was locked.  Two owners of a mutex can be on record at once, one
 * of them with a grant that was lost and that it has not unlocked yet.
 */
#ifndef HF_HOST_REENTRANT_H
#define HF_HOST_REENTRANT_H

#include <pthread.h>

#include "host/lock.h"
#include "host/ticket_list.h"

struct hf_hold {
    uint64_t owner;
    uint64_t writes; /* of a mutex: all */
    uint64_t reads;
    struct hf_grant *grant;
    struct hf_hold *next;
};

struct hf_reentrant {
    /* Set by who makes it. */
    uint64_t (*owner)(void *arg); /* NULL: the calling thread */
    void *owner_arg;
    /* Somebody asks ${owner} to release.  A callback of the user's; NULL: none
     * is wanted. */
    void (*revoked)(struct hf_reentrant *reentrant, uint64_t owner);
    void (*destroy)(
        struct hf_reentrant *reentrant); /* the handle it is part of */

    pthread_mutex_t guard; /* of .first; never held while waiting */
    struct hf_hold *first;
    struct hf_last_error last_error; /* the last one; under .guard, as .texts */
    struct hf_shared_texts texts;
    struct hf_grant_waiter *waiters; /* under the client's lock */
    /* The user's, and that of each grant that may call .revoked. */
    _Atomic unsigned references;
    char text[HF_OWNER_TEXT_BYTES + 1]; /* of the tickets; "": none */
};

/* ${text}, which was checked, is copied; NULL: none. */
void hf_reentrant_init(struct hf_reentrant *reentrant, const char *text);

/* Release what is still held, and destroy ${reentrant} once nothing of the
 * user's runs on its behalf. */
void hf_reentrant_free(struct hf_reentrant *reentrant);

/* The caller's, or NULL.  It is only ever taken away by its owner, so it stays
 * valid. */
struct hf_hold *hf_reentrant_find(struct hf_reentrant *reentrant);

/* Acquire ${lock} for the caller, who has none: counts are 0.
 *   Fails     as hf_lock_acquire(); ${error} says why. */
hf_status hf_reentrant_acquire(struct hf_reentrant *reentrant,
                               struct hf_lock *lock, const char *call,
                               uint64_t wait_ms, struct hf_hold **hold,
                               struct hf_error *error);

/* End the waits of ${owner}, or of all owners if that is 0, as ${call}.
 *   Fails     HF_EGONE if none waits; HF_EFORKED. */
hf_status hf_reentrant_cancel(struct hf_reentrant *reentrant,
                              struct hf_client *client, const char *call,
                              uint64_t owner);

/* hf_lock_tickets() of ${lock}, as ${call}. */
hf_status hf_reentrant_list(struct hf_reentrant *reentrant,
                            struct hf_lock *lock, const char *call,
                            enum hf_tickets_which which, uint64_t wait_ms,
                            struct hf_tickets **tickets);

/* Release the grant and forget ${hold}, unless that could not be begun.
 *   Fails     as hf_grant_release(); ${error} says why. */
hf_status hf_reentrant_release(struct hf_reentrant *reentrant,
                               struct hf_hold *hold, struct hf_error *error);

/* Say that the caller has no ${what} to give back, as ${call}.  HF_EOWNER. */
hf_status hf_reentrant_fail_not_owner(struct hf_reentrant *reentrant,
                                      const char *call, const char *what);

/* Remember ${error} under "call: " and return its status. */
hf_status hf_reentrant_fail(struct hf_reentrant *reentrant, const char *call,
                            const struct hf_error *error);

/* Copy what was remembered last.  Not in a child of a fork. */
void hf_reentrant_error(struct hf_reentrant *reentrant, struct hf_error *error);

#endif
