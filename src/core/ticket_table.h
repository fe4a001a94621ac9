/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acquisitions of one client by the ids of their tickets.  It shows which
 * tickets of a queue are the client's own, and no acquisition is visited that
 * has to do with another queue.
 *
 * An acquisition is in it from its first ENQUEUE until its FORGOTTEN, by the
 * ticket that it asked for last.  A member of a cohort has no ticket of its
 * own and is not in it; the cohort's tickets are.
 */
#ifndef HF_CORE_TICKET_TABLE_H
#define HF_CORE_TICKET_TABLE_H

#include "core/ticket.h"
#include "core/tree.h"

struct hf_acquisition;

struct hf_ticket_table {
    struct hf_tree ids;
};

void hf_ticket_table_init(struct hf_ticket_table *table);

/* ${a} asks for a ticket called ${id}, which becomes its .ticket. */
void hf_ticket_table_set(struct hf_ticket_table *table,
                         struct hf_acquisition *a,
                         const struct hf_ticket_id *id);

/* ${a} is FORGOTTEN, or asks for another.  Nothing if it is not in. */
void hf_ticket_table_remove(struct hf_ticket_table *table,
                            struct hf_acquisition *a);

/* The one whose ticket is called ${id}, or NULL. */
struct hf_acquisition *hf_ticket_table_find(const struct hf_ticket_table *table,
                                            const struct hf_ticket_id *id);

#endif
