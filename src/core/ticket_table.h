/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tickets of one client by their ids.  It shows which tickets of a queue
 * are the client's own, and no ticket is visited that has to do with another
 * queue.
 *
 * A ticket is in it from its ENQUEUE until it is freed, or its acquisition is
 * FORGOTTEN.
 */
#ifndef HF_CORE_TICKET_TABLE_H
#define HF_CORE_TICKET_TABLE_H

#include "core/ticket.h"
#include "core/tree.h"

struct hf_own_ticket;

struct hf_ticket_table {
    struct hf_tree ids;
};

void hf_ticket_table_init(struct hf_ticket_table *table);

/* ${ticket} is asked for, and has its id. */
void hf_ticket_table_add(struct hf_ticket_table *table,
                         struct hf_own_ticket *ticket);

/* Nothing if it is not in. */
void hf_ticket_table_remove(struct hf_ticket_table *table,
                            struct hf_own_ticket *ticket);

/* The one called ${id}, or NULL. */
struct hf_own_ticket *hf_ticket_table_find(const struct hf_ticket_table *table,
                                           const struct hf_ticket_id *id);

#endif
