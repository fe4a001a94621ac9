/* SPDX-License-Identifier: Apache-2.0 */
/* A tree by ticket id. */
#include "core/ticket_table.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/own_ticket.h"

/* The ticket that ${node} is part of; NULL for NULL. */
static struct hf_own_ticket *of_node(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_own_ticket, by_id);

    if (node == NULL)
        return NULL;
    return (struct hf_own_ticket *)(void *)((char *)node - offset);
}

static int compare(const void *id, const struct hf_tree_node *node)
{
    return memcmp(id, &of_node(node)->id, sizeof(struct hf_ticket_id));
}

void hf_ticket_table_init(struct hf_ticket_table *table)
{
    *table = (struct hf_ticket_table){.ids = {.compare = compare}};
}

void hf_ticket_table_add(struct hf_ticket_table *table,
                         struct hf_own_ticket *ticket)
{
    hf_tree_add(&table->ids, &ticket->by_id, &ticket->id);
}

void hf_ticket_table_remove(struct hf_ticket_table *table,
                            struct hf_own_ticket *ticket)
{
    if (hf_tree_has(&ticket->by_id))
        hf_tree_remove(&table->ids, &ticket->by_id, &ticket->id);
}

struct hf_own_ticket *hf_ticket_table_find(const struct hf_ticket_table *table,
                                           const struct hf_ticket_id *id)
{
    return of_node(hf_tree_find(&table->ids, id));
}
