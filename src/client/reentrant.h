/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mutex and a read/write lock share: reentrancy.  It has a record for
 * each owner, with the grant of the owner and how often it was locked, as the
 * hold counts of java.util.concurrent's ReentrantReadWriteLock.  Two owners of
 * a mutex can be on record at once, because a grant that was lost stays until
 * its owner unlocks it.
 *
 * All without the client's lock.
 */
#ifndef HF_CLIENT_REENTRANT_H
#define HF_CLIENT_REENTRANT_H

#include <pthread.h>

#include "client/lock.h"
#include "client/ticket_list.h"

/* The record of one owner.  .owner is set once; only the owner reads and writes
 * the rest, until the handle is freed. */
struct hf_hold {
    uint64_t owner;
    uint64_t writes; /* how often it was locked to write; of a mutex: in all */
    uint64_t reads;  /* how often it was locked to read */
    struct hf_grant *grant;
    struct hf_hold *next; /* in the list; under .guard */
};

/* A part of the handle of the user. */
struct hf_reentrant {
    uint64_t (*owner)(void *arg); /* who calls; NULL: the thread */
    void *owner_arg;
    bool detect_deadlock; /* of every acquire */
    /* Somebody asks ${owner} to release: calls the user.  NULL: the user has no
     * callback for that. */
    void (*revoked)(struct hf_reentrant *reentrant, uint64_t owner);
    void (*destroy)(/* free the handle that this is a part of */
                    struct hf_reentrant
                        *reentrant); /* the handle it is part of */

    /* Guards .first, .last_error and .texts; not held while waiting. */
    pthread_mutex_t guard;
    struct hf_hold *first;
    struct hf_last_error last_error; /* the last error of the handle */
    struct hf_shared_texts texts;    /* where its text is kept */
    /* Calls that wait; under the client's lock. */
    struct hf_grant_waiter *waiters;
    /* One of the user's handle, and one of each grant that may call
     * .revoked. */
    _Atomic unsigned references;
    char text[HF_OWNER_TEXT_BYTES + 1]; /* of the tickets; "": none */
};

/* ${text} was checked, and is copied; NULL: none. */
void hf_reentrant_init(struct hf_reentrant *reentrant, const char *text);

/* Release what is still held.  Destroys the handle when no callback of the user
 * can come for it any more. */
void hf_reentrant_free(struct hf_reentrant *reentrant);

/* The record of the caller, or NULL.  It stays valid, because only its owner
 * removes it. */
struct hf_hold *hf_reentrant_find(struct hf_reentrant *reentrant);

/* Acquire ${lock} for the caller, which has no record: the counts of the new
 * ${hold} are 0.
 *   Fails     as hf_lock_acquire(); ${error} is set. */
hf_status hf_reentrant_acquire(struct hf_reentrant *reentrant,
                               struct hf_lock *lock, const char *call,
                               uint64_t wait_ms, struct hf_hold **hold,
                               struct hf_error *error);

/* End the waits of ${owner}, or of all owners if that is 0.  Errors name
 * ${call}.
 *   Fails     HF_EGONE if none waits; HF_EFORKED. */
hf_status hf_reentrant_cancel(struct hf_reentrant *reentrant,
                              struct hf_client *client, const char *call,
                              uint64_t owner);

/* hf_lock_tickets() of ${lock} for ${call}, which errors name. */
hf_status hf_reentrant_list(struct hf_reentrant *reentrant,
                            struct hf_lock *lock, const char *call,
                            enum hf_tickets_which which, uint64_t wait_ms,
                            struct hf_tickets **tickets);

/* Release the grant and remove ${hold}, unless the release could not be begun.
 *   Fails     as hf_grant_release(); ${error} is set. */
hf_status hf_reentrant_release(struct hf_reentrant *reentrant,
                               struct hf_hold *hold, struct hf_error *error);

/* Remember that ${call} failed because the caller has no ${what} to unlock;
 * HF_EOWNER. */
hf_status hf_reentrant_fail_not_owner(struct hf_reentrant *reentrant,
                                      const char *call, const char *what);

/* Remember ${error} as "${call}: ...", and return its status. */
hf_status hf_reentrant_fail(struct hf_reentrant *reentrant, const char *call,
                            const struct hf_error *error);

/* Copy the last error.  Not in a child of a fork. */
void hf_reentrant_error(struct hf_reentrant *reentrant, struct hf_error *error);

#endif
