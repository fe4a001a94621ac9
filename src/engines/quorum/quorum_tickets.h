/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of this session: the number that each was committed with, and the
 * servers where it is missing.  A hash table by id. */
#ifndef HF_ENGINES_QUORUM_QUORUM_TICKETS_H
#define HF_ENGINES_QUORUM_QUORUM_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

#define HF_QUORUM_TICKET_BUCKETS 64

/* A ticket of this session, with all that a repair needs to put it in again. */
struct hf_quorum_ticket {
    struct hf_ticket_id id;
    char *queue;
    enum hf_ticket_kind kind;
    uint32_t weight;
    char *payload;
    uint64_t number; /* that it was committed with; 0: not yet */
    /* Its ENQUEUE failed or has an unknown outcome, so it gets no number
     * unless it is enqueued again.  Until then no list shows it. */
    bool enqueue_failed;
    bool removing;       /* its REMOVE has begun */
    uint32_t missing_at; /* bit set of the servers that do not have it */
    /* serial number of the last RENEW that named it; 0: none */
    uint64_t renewal;
    /* The ticket ahead of it when we last saw the queue, if that was only
     * proposed and may be committed behind this one.  When .recheck_at_ms has
     * come, the watch of the ticket ahead receives GONE, so that the core
     * lists again.  A server sends that GONE as well, but the link to it may
     * be down. */
    struct hf_ticket_id ticket_ahead;
    uint64_t recheck_at_ms; /* HF_FOREVER: no recheck is planned */
    /* doubled each time, up to a quarter of a ttl */
    uint64_t recheck_interval_ms;
    struct hf_quorum_ticket *next;
};

/* The hash table. */
struct hf_quorum_tickets {
    struct hf_quorum_ticket *buckets[HF_QUORUM_TICKET_BUCKETS];
};

/* Returns our ticket ${id}, or NULL. */
struct hf_quorum_ticket *
hf_quorum_ticket_find(const struct hf_quorum_tickets *tickets,
                      const struct hf_ticket_id *id);

/* Returns the ticket of ${call}, an ENQUEUE, added if it is not there.  NULL if
 * memory runs out. */
struct hf_quorum_ticket *hf_quorum_ticket_get(struct hf_quorum_tickets *tickets,
                                              const struct hf_store_call *call);

/* Replace the payload of ${ticket}, which a repair uses.  It stays the same if
 * memory runs out. */
void hf_quorum_ticket_describe(struct hf_quorum_ticket *ticket,
                               const char *payload);

/* Forget the ticket.  Frees ${ticket}. */
void hf_quorum_ticket_remove(struct hf_quorum_tickets *tickets,
                             struct hf_quorum_ticket *ticket);
/* Forget all tickets. */
void hf_quorum_tickets_clear(struct hf_quorum_tickets *tickets);

/* Iterate over all tickets; NULL at the end. */
struct hf_quorum_ticket *
hf_quorum_ticket_first(const struct hf_quorum_tickets *tickets);
struct hf_quorum_ticket *
hf_quorum_ticket_next(const struct hf_quorum_tickets *tickets,
                      const struct hf_quorum_ticket *ticket);

/* The greatest number of our tickets in ${queue}; 0: there is none. */
uint64_t hf_quorum_tickets_max_number(const struct hf_quorum_tickets *tickets,
                                      const char *queue);

#endif
