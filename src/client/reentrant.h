/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reentrant lock: what a mutex and a read/write lock are.  It has a record
 * for each owner, with the grant of the owner and how often it was locked, as
 * the hold counts of java.util.concurrent's ReentrantReadWriteLock.  A mutex is
 * one that nobody locks to read.  Two owners of a mutex can be on record at
 * once, because a grant that was lost stays until its owner unlocks it.
 *
 * All without the client's lock.  Errors name ${api_name}.
 */
#ifndef HF_CLIENT_REENTRANT_H
#define HF_CLIENT_REENTRANT_H

#include <pthread.h>

#include <holdfast/mutex.h>
#include <holdfast/tickets.h>

#include "client/lock.h"
#include "client/ticket_list.h"
#include "operation/user_callback.h"

/* What it can be locked to do. */
enum hf_access {
    HF_ACCESS_WRITE, /* the only one of a mutex */
    HF_ACCESS_READ,
};
#define HF_ACCESS_COUNT 2

struct hf_hold;
struct hf_reentrant;

/* What both kinds of handle are opened with. */
struct hf_reentrant_opts {
    uint64_t (*owner)(void *arg); /* who calls; NULL: the thread */
    void *owner_arg;
    const char *text;     /* of the tickets, or NULL */
    bool detect_deadlock; /* of every acquire */
    bool has_readers;     /* a read/write lock */
    uint32_t handoffs;    /* as in struct hf_mutex_opts; with readers, 0 */
    uint64_t keep_ms;     /* likewise */
    /* The callback of the user for requests to release, and its .drop. */
    union {
        struct hf_on_mutex_revoke mutex;
        struct hf_on_rwlock_revoke rwlock; /* with readers */
    } on_revoke;
    struct hf_user_drop drop;
    /* Somebody asks ${owner} to release: calls .on_revoke.  NULL: the user has
     * no such callback. */
    void (*revoked)(struct hf_reentrant *reentrant, uint64_t owner);
};

struct hf_reentrant {
    /* The options; .text points to the array below.  Set once. */
    struct hf_reentrant_opts opts;
    struct hf_client *client;
    /* One for each kind of ticket; without readers that of READ is NULL. */
    struct hf_lock *locks[HF_ACCESS_COUNT];

    /* Guards .first; not held while waiting. */
    pthread_mutex_t guard;
    struct hf_hold *first;
    /* Calls that wait; under the client's lock. */
    struct hf_grant_waiter *waiters;
    /* One of the user's handle, and one of each grant that may call
     * .revoked. */
    _Atomic unsigned references;
    char text[HF_OWNER_TEXT_BYTES + 1];
};

/* The handles of users, which are nothing else. */
struct hf_mutex {
    struct hf_reentrant reentrant;
};
struct hf_rwlock {
    struct hf_reentrant reentrant;
};
_Static_assert(sizeof(struct hf_mutex) == sizeof(struct hf_reentrant) &&
                   sizeof(struct hf_rwlock) == sizeof(struct hf_reentrant),
               "one is allocated and freed as the other");

/* Open the lock called ${name} with a copy of ${opts}, .text included.
 * ${status} says how reading the user's options went; a failure is returned,
 * and nothing is opened.  After any failure .drop of ${opts} was called. */
hf_status hf_reentrant_open(struct hf_client *client, hf_status status,
                            const char *api_name, const char *name,
                            const struct hf_reentrant_opts *opts,
                            struct hf_reentrant **reentrant);

/* Release what is still held.  The handle is freed when no callback of the user
 * can come for it any more.  Does nothing in a child of a fork. */
void hf_reentrant_free(struct hf_reentrant *reentrant);

/* Lock for the caller: count, or acquire if it holds nothing.
 *   Fails     as hf_lock_acquire(); HF_ELOST if its grant was lost; and
 *             HF_EREENTRANT if it only reads and wants to write. */
hf_status hf_reentrant_lock(struct hf_reentrant *reentrant,
                            const char *api_name, enum hf_access access,
                            uint64_t wait_ms);

/* Unlock once for the caller: release with the last one, and downgrade with the
 * last write of one that reads too.
 *   Fails     HF_EOWNER if it has not locked so; as hf_grant_release() and
 *             hf_grant_downgrade(). */
hf_status hf_reentrant_unlock(struct hf_reentrant *reentrant,
                              const char *api_name, enum hf_access access);

/* The token of the caller's grant; 0 without one. */
uint64_t hf_reentrant_token(struct hf_reentrant *reentrant);

/* End the waits of ${owner}, or of all owners if that is 0.
 *   Fails     HF_EGONE if none waits; HF_EFORKED. */
hf_status hf_reentrant_cancel(struct hf_reentrant *reentrant,
                              const char *api_name, uint64_t owner);

/* As hf_lock_tickets() of the lock. */
hf_status hf_reentrant_list(struct hf_reentrant *reentrant,
                            const char *api_name, enum hf_tickets_which which,
                            uint64_t wait_ms, struct hf_tickets **tickets);

#endif
