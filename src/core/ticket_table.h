/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tickets of one client, by their ids.  It shows which tickets of a list
 * are the client's own without a walk over tickets of other queues.
 *
 * A ticket is in it from its ENQUEUE until it is freed, or until its
 * acquisition is DONE.
 */
#ifndef HF_CORE_TICKET_TABLE_H
#define HF_CORE_TICKET_TABLE_H

#include "base/tree.h"
#include "core/ticket.h"

struct hf_own_ticket;

struct hf_ticket_table {
    struct hf_tree ids;
};

/* Make ${table} empty. */
void hf_ticket_table_init(struct hf_ticket_table *table);

/* Add ${ticket}, which has its id. */
void hf_ticket_table_add(struct hf_ticket_table *table,
                         struct hf_own_ticket *ticket);

/* Remove ${ticket}; nothing if it is not in. */
void hf_ticket_table_remove(struct hf_ticket_table *table,
                            struct hf_own_ticket *ticket);

/* The ticket with the id ${id}, or NULL. */
struct hf_own_ticket *hf_ticket_table_find(const struct hf_ticket_table *table,
                                           const struct hf_ticket_id *id);

#endif
