/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of this session in a hash table by id: the number with which each
 * was committed, and the servers that lack it. */
#ifndef HF_ENGINES_QUORUM_QUORUM_TICKETS_H
#define HF_ENGINES_QUORUM_QUORUM_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

#define HF_QUORUM_TICKET_BUCKETS 64

/* A ticket of this session, with all that is needed to add it again at a
 * server. */
struct hf_quorum_ticket {
    struct hf_ticket_id id;
    char *queue;
    enum hf_ticket_kind kind;
    uint32_t weight;
    char *payload;
    /* number with which it was committed; 0: it is not committed */
    uint64_t number;
    /* Its ENQUEUE failed, or it is not known whether it was done.  The ticket
     * gets no number and no list shows it, unless it is enqueued again. */
    bool enqueue_failed;
    bool removing;       /* its REMOVE has begun */
    uint32_t missing_at; /* bit set of the servers that lack it */
    /* serial number of the last RENEW that named it; 0: none */
    uint64_t renewal;
    /* The ticket ahead of this one in the last list, if it was only proposed
     * and so may be committed behind this one.  At .recheck_at_ms the watch of
     * that ticket gets GONE, so that the core lists again.  A server sends this
     * GONE, too, but the link to it may be down. */
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

/* Returns the ticket of ${call}, an ENQUEUE; it is added if it is new.  Returns
 * NULL if memory runs out. */
struct hf_quorum_ticket *hf_quorum_ticket_get(struct hf_quorum_tickets *tickets,
                                              const struct hf_store_call *call);

/* Replace the payload of ${ticket}, which repairs use.  If memory runs out, it
 * stays as it is. */
void hf_quorum_ticket_describe(struct hf_quorum_ticket *ticket,
                               const char *payload);

/* Forget the ticket.  Frees ${ticket}. */
void hf_quorum_ticket_remove(struct hf_quorum_tickets *tickets,
                             struct hf_quorum_ticket *ticket);
/* Forget all tickets. */
void hf_quorum_tickets_clear(struct hf_quorum_tickets *tickets);

/* Return the first ticket, and the one after ${ticket}; NULL at the end. */
struct hf_quorum_ticket *
hf_quorum_ticket_first(const struct hf_quorum_tickets *tickets);
struct hf_quorum_ticket *
hf_quorum_ticket_next(const struct hf_quorum_tickets *tickets,
                      const struct hf_quorum_ticket *ticket);

/* Returns the greatest number of our tickets in ${queue}; 0: there are none. */
uint64_t hf_quorum_tickets_max_number(const struct hf_quorum_tickets *tickets,
                                      const char *queue);

#endif
