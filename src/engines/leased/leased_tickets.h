/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of this session that are at the server, or may be.  Each renewal
 * covers them, and CLOSE_SESSION removes them.  A ticket counts from the moment
 * its ENQUEUE is sent, because a renewal that is sent behind the ENQUEUE must
 * cover it. */
#ifndef HF_ENGINES_LEASED_LEASED_TICKETS_H
#define HF_ENGINES_LEASED_LEASED_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ticket.h"
#include "engines/leased/queue_table.h"

/* What is known of a ticket of ours. */
enum hf_leased_ticket_state {
    HF_LEASED_TICKET_ENQUEUING, /* its ENQUEUE is under way */
    HF_LEASED_TICKET_PRESENT,   /* its ENQUEUE was answered */
    /* Its ENQUEUE got no answer: the ticket is there, or may yet appear, or
     * never will.  Renewals name it, and a renewal that finds it makes it
     * PRESENT.  A list does not, because the server may show a ticket that is
     * not durable yet. */
    HF_LEASED_TICKET_UNSURE,
};

struct hf_own_ticket;

/* A ticket of ours. */
struct hf_leased_ticket {
    struct hf_tree_node by_id; /* the first member */
    struct hf_ticket_id id;
    enum hf_leased_ticket_state state;
    /* PRESENT, but the server has lost it, and its owner does not know yet */
    bool loss_unreported;
    char *why; /* .loss_unreported: its reason; NULL: not known */
    /* the owner no longer relies on it: it asked for the removal, or got the
     * answer that the ticket is not the write ticket that it expected */
    bool abandoned;
    enum hf_ticket_kind kind;
    const struct hf_own_ticket *owner; /* only compared; the core's */
    uint32_t revoked;   /* how often its owner was asked to release it */
    uint64_t last_list; /* number of the last LIST call that had it; 0: none */
    struct hf_leased_queue *queue;
    struct hf_leased_ticket *next_in_queue;
    struct hf_leased_ticket **previous_next_in_queue; /* for unlinking */
};

struct hf_leased_tickets {
    struct hf_tree ids;
};

struct hf_leased;

void hf_leased_tickets_init(struct hf_leased_tickets *tickets);

/* Returns our ticket ${id}, or NULL. */
struct hf_leased_ticket *hf_leased_ticket_find(const struct hf_leased *leased,
                                               const struct hf_ticket_id *id);

/* Add a ticket of ours in ${queue}; ${id} must be new.  NULL if memory runs
 * out. */
struct hf_leased_ticket *hf_leased_ticket_add(struct hf_leased *leased,
                                              struct hf_leased_queue *queue,
                                              const struct hf_ticket_id *id);

/* Forget the ticket.  Frees ${ticket}. */
void hf_leased_ticket_remove(struct hf_leased *leased,
                             struct hf_leased_ticket *ticket);

/* Forget all tickets. */
void hf_leased_tickets_clear(struct hf_leased *leased);

#endif
