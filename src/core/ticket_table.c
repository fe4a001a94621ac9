/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ticket_table.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/acquisition.h"

static struct hf_acquisition *of_node(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_acquisition, by_ticket);

    if (node == NULL)
        return NULL;
    return (struct hf_acquisition *)(void *)((char *)node - offset);
}

static int compare(const void *id, const struct hf_tree_node *node)
{
    return memcmp(id, &of_node(node)->ticket, sizeof(struct hf_ticket_id));
}

void hf_ticket_table_init(struct hf_ticket_table *table)
{
    *table = (struct hf_ticket_table){.ids = {.compare = compare}};
}

void hf_ticket_table_set(struct hf_ticket_table *table,
                         struct hf_acquisition *a,
                         const struct hf_ticket_id *id)
{
    assert(a->cohort == NULL);
    hf_ticket_table_remove(table, a);
    a->ticket = *id;
    hf_tree_add(&table->ids, &a->by_ticket, &a->ticket);
}

void hf_ticket_table_remove(struct hf_ticket_table *table,
                            struct hf_acquisition *a)
{
    if (a->cohort == NULL && hf_tree_has(&a->by_ticket))
        hf_tree_remove(&table->ids, &a->by_ticket, &a->ticket);
}

struct hf_acquisition *hf_ticket_table_find(const struct hf_ticket_table *table,
                                            const struct hf_ticket_id *id)
{
    return of_node(hf_tree_find(&table->ids, id));
}
