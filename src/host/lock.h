/* SPDX-License-Identifier: Apache-2.0 */
/* A lock: a name that somebody may want. */
#ifndef HF_HOST_LOCK_H
#define HF_HOST_LOCK_H

#include "core/ticket.h"
#include "host/client.h"
#include "host/client_cohort.h"
#include "host/last_error.h"

struct hf_grant_item;

struct hf_lock {
    struct hf_client *client;
    unsigned references; /* the user's, and each grant; under client->lock */
    struct hf_last_error last_error;
    enum hf_ticket_kind kind; /* a LEASE: it is a semaphore */
    uint32_t permits;         /* that are taken at once ... */
    uint32_t limit;           /* ... of so many; under client->lock */
    bool limit_changed;       /* hf_lock_set_limit() was called */
    bool limit_warned;        /* the log has said that limits differ */
    /* Under client->lock, of a semaphore: what wants it, from ACQUIRE to
     * DONE, except what has yet to be notified of another limit.  Written
     * by semaphore_limit.c, as what follows. */
    struct hf_grant_item *notified_items;
    struct hf_grant_item *unnotified_items;
    uint32_t other_limit; /* by the ticket ahead of the last one that waited,
                             where it is not .limit; else 0 */
    struct hf_client_cohort *client_cohort; /* a mutex that shares its tickets
                                     within the client, or NULL */
    const char *entry_queue;                /* the queues of a semaphore */
    const char *lease_queue;
    char name[];
};

/* hf_lock_open() on behalf of the user's ${call}, which its failures name. */
hf_status hf_lock_open_for(struct hf_client *client, const char *call,
                           const char *name, const struct hf_lock_opts *opts,
                           struct hf_lock **lock);

/* From now on ${lock}, a mutex nobody has wanted yet, shares its tickets with
 * the client's others of that name that hand them on ${handoffs} times, too.
 *   Fails     HF_ENOMEM, as hf_lock_open_for(), and HF_EFORKED. */
hf_status hf_lock_join_cohort(struct hf_lock *lock, const char *call,
                              uint32_t handoffs);

/* With the client's lock, which the caller must be able to give up later: the
 * lock's own reference to the client goes too. */
void hf_lock_reference(struct hf_lock *lock);
void hf_lock_dereference(struct hf_lock *lock);

/* As hf_monitor_may_block(), and remember why not, as ${call}.  Without the
 * client's lock. */
hf_status hf_lock_may_block(struct hf_lock *lock, const char *call,
                            struct hf_error *error);

/* Remember ${error} under "call: " and return its status.  ${call} is a static
 * text, here and in what calls this. */
hf_status hf_lock_fail(struct hf_lock *lock, const char *call,
                       const struct hf_error *error);

#endif
