/* SPDX-License-Identifier: Apache-2.0 */
/* A tree by ticket id. */
#include "core/ticket_table.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "core/own_ticket.h"

static int compare(const void *id, const struct hf_tree_node *node)
{
    const struct hf_own_ticket *ticket =
        container_of(node, const struct hf_own_ticket, by_id);

    return memcmp(id, &ticket->id, sizeof ticket->id);
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
    return container_of_or_null(hf_tree_find(&table->ids, id),
                                struct hf_own_ticket, by_id);
}
