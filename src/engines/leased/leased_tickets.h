/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets of a session that are at the server, or may be: what is to be
 * renewed, and what is taken along at the end. */
#ifndef HF_ENGINES_LEASED_LEASED_TICKETS_H
#define HF_ENGINES_LEASED_LEASED_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ticket.h"
#include "engines/leased/queue_table.h"

enum hf_leased_ticket_state {
    HF_LEASED_TICKET_ENQUEUING, /* its ENQUEUE is under way */
    HF_LEASED_TICKET_PRESENT,
    /* Its ENQUEUE got no answer: it is there, or may yet appear, or not.  It is
     * renewed as well, and a renewal that finds it makes it THERE.  A list does
     * not: the server may not have written down yet what it shows. */
    HF_LEASED_TICKET_UNSURE,
};

struct hf_own_ticket;

struct hf_leased_ticket {
    struct hf_tree_node by_id; /* first */
    struct hf_ticket_id id;
    enum hf_leased_ticket_state state;
    bool loss_unreported; /* THERE it is no more, and its owner has yet to hear
                             of it */
    bool abandoned; /* its owner relies on it no more: he has asked for it to be
                      taken out, or heard that it is not what he thought */
    enum hf_ticket_kind kind;
    const struct hf_own_ticket *owner; /* who asked for it; only compared */
    uint32_t revoked;   /* how often its owner was asked to let go */
    uint64_t last_list; /* number of the LIST that showed it last, or 0 */
    struct hf_leased_queue *queue;
    struct hf_leased_ticket *next_in_queue;
    struct hf_leased_ticket *
        *previous_next_in_queue; /* what points to it there */
};

struct hf_leased_tickets {
    struct hf_tree ids;
};

struct hf_leased;

void hf_leased_tickets_init(struct hf_leased_tickets *tickets);

/* The ticket called ${id}, or NULL. */
struct hf_leased_ticket *hf_leased_ticket_find(const struct hf_leased *leased,
                                               const struct hf_ticket_id *id);

/* One more, which is not there yet, in ${queue}.  NULL for lack of memory. */
struct hf_leased_ticket *hf_leased_ticket_add(struct hf_leased *leased,
                                              struct hf_leased_queue *queue,
                                              const struct hf_ticket_id *id);

void hf_leased_ticket_remove(struct hf_leased *leased,
                             struct hf_leased_ticket *ticket);

/* Drop all. */
void hf_leased_tickets_clear(struct hf_leased *leased);

#endif
