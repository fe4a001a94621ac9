/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/own.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "engines/leased/private.h"

static int compare(const void *id, const struct hf_tree_node *node)
{
    const struct hf_leased_own *own =
        (const struct hf_leased_own *)(const void *)node;

    return memcmp(id, &own->id, sizeof own->id);
}

void hf_leased_owns_init(struct hf_leased_owns *owns)
{
    owns->ids = (struct hf_tree){.compare = compare};
}

struct hf_leased_own *hf_leased_own_find(const struct hf_leased *leased,
                                         const struct hf_ticket_id *id)
{
    return (struct hf_leased_own *)(void *)hf_tree_find(&leased->owns.ids, id);
}

struct hf_leased_own *hf_leased_own_add(struct hf_leased *leased,
                                        struct hf_leased_queue *queue,
                                        const struct hf_ticket_id *id)
{
    struct hf_leased_own *own = hf_alloc(sizeof *own);

    assert(hf_leased_own_find(leased, id) == NULL);
    if (own == NULL)
        return NULL;
    own->id = *id;
    own->queue = queue;
    hf_tree_add(&leased->owns.ids, &own->by_id, id);
    own->from_in_queue = &queue->owns;
    own->next_in_queue = queue->owns;
    if (own->next_in_queue != NULL)
        own->next_in_queue->from_in_queue = &own->next_in_queue;
    queue->owns = own;
    queue->users++;
    leased->queues.own_count++;
    return own;
}

void hf_leased_own_drop(struct hf_leased *leased, struct hf_leased_own *own)
{
    hf_tree_remove(&leased->owns.ids, &own->by_id, &own->id);
    *own->from_in_queue = own->next_in_queue;
    if (own->next_in_queue != NULL)
        own->next_in_queue->from_in_queue = own->from_in_queue;
    leased->queues.own_count--;
    hf_leased_queue_leave(&leased->queues, own->queue);
    hf_free(own);
}

void hf_leased_owns_clear(struct hf_leased *leased)
{
    struct hf_tree_node *node;

    while ((node = leased->owns.ids.root) != NULL)
        hf_leased_own_drop(leased, (struct hf_leased_own *)(void *)node);
}
