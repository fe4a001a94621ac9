/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock: the handle of a name that the user may acquire, with a kind.
 * Mutexes, elections and barriers each have one of these inside.
 */
#ifndef HF_CLIENT_LOCK_H
#define HF_CLIENT_LOCK_H

#include "base/tree.h"
#include "client/client.h"
#include "core/cohort.h"
#include "core/ticket.h"

struct hf_grant_item;

/* The kind of the tickets of a lock of ${kind}; the kind of lock that a user
 * sees ${ticket} as. */
enum hf_ticket_kind hf_kind_to_ticket(enum hf_kind kind);
enum hf_kind hf_kind_of_ticket(enum hf_ticket_kind ticket);

/* The cohort (core/cohort.h) of all mutexes of a client that have the same
 * name, hand the ticket on equally often and keep it for the same time.  The
 * client has its cohorts in a tree, from the first such mutex until there is
 * none and no ticket is kept. */
struct hf_client_cohort {
    struct hf_tree_node node; /* in the client's tree */
    struct hf_cohort cohort;
    unsigned references; /* of locks, which their grants keep alive */
    bool is_unused;      /* in the client's list of those without a lock */
    struct hf_client_cohort *next;
    struct hf_client_cohort *previous;
    char name[]; /* the name of the mutexes */
};

/* Free the cohorts that have no lock any more.  ${client} is about to be freed.
 */
void hf_client_cohorts_free(struct hf_client *client);

/* Set once, where nothing else is said. */
struct hf_lock {
    struct hf_client *client;
    /* One of the user's handle, and one of each grant and of each operation on
     * the queue; under the client's lock. */
    unsigned references;
    enum hf_ticket_kind kind; /* of its tickets; a LEASE: it is a semaphore */
    uint32_t permits;         /* a semaphore: how many an acquire takes */
    /* A semaphore: how many there are; under the client's lock. */
    uint32_t limit;
    /* hf_lock_set_limit() was called; the log has said that limits differ.
     * Under the client's lock. */
    bool limit_changed;
    bool limit_warned;
    /* A semaphore: the items that ask for it, from the request to the end of
     * the acquisition.  The core knows the current limit for the first list,
     * and not yet for the second.  Written by semaphore_limit.c under the
     * client's lock, as .other_limit. */
    struct hf_grant_item *notified_items;
    struct hf_grant_item *unnotified_items;
    /* The limit at the last ticket ahead that was seen, if it is not .limit;
     * else 0. */
    uint32_t other_limit;
    /* Of a mutex that shares its tickets within the client, or NULL. */
    struct hf_client_cohort *client_cohort;
    const char *entry_queue; /* a semaphore: the queue of its entry mutex */
    const char *lease_queue; /* a semaphore: the queue of its leases */
    /* The canonical name.  The names of the queues are behind it and, if the
     * client counts, its name in metrics (hf_lock_metrics_name()). */
    char name[];
};

/* The name in metrics of ${lock}, whose client counts.  With the client's
 * lock. */
struct hf_metrics_name_ref *hf_lock_metrics_name(struct hf_lock *lock);

/* hf_lock_open() for another call of the user, ${api_name}, which errors name.
 * Without the client's lock. */
hf_status hf_lock_open_for(struct hf_client *client, const char *api_name,
                           const char *name, const struct hf_lock_opts *opts,
                           struct hf_lock **lock);

/* A lock with one reference for ${name}, which is canonical, with ${opts},
 * which were checked.  In metrics it counts among the others.  NULL if out of
 * memory.  With the client's lock. */
struct hf_lock *hf_lock_new(struct hf_client *client, const char *name,
                            const struct hf_lock_opts *opts);

/* From now on ${lock} shares its tickets with the client's other mutexes of
 * that name that hand a ticket on ${handoffs} times and keep it for ${keep_ms}.
 * It is a mutex that was never acquired.  Without the client's lock.
 *   Fails     HF_ENOMEM and HF_EFORKED, as hf_lock_open_for(); with ${keep_ms}
 *             HF_ELIMIT if there is no thread that would notice who waits. */
hf_status hf_lock_join_cohort(struct hf_lock *lock, const char *api_name,
                              uint32_t handoffs, uint64_t keep_ms);

/* Keep it alive, and drop a reference.  With the client's lock.  The last one
 * also drops the lock's reference to the client, so the caller must keep the
 * client alive until the client's lock is released. */
void hf_lock_reference(struct hf_lock *lock);
void hf_lock_dereference(struct hf_lock *lock);

#endif
