/* SPDX-License-Identifier: Apache-2.0 */
/* A search tree of queues by name, and a list of all for iteration. */
#include "engines/leased/queue_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "base/memory.h"
#include "base/time_math.h"

static int compare(const void *name, const struct hf_tree_node *node)
{
    const struct hf_leased_queue *queue =
        (const struct hf_leased_queue *)(const void *)node;

    return strcmp(name, queue->name);
}

void hf_leased_queue_table_init(struct hf_leased_queue_table *table,
                                hf_tree_compare *compare_watches)
{
    *table = (struct hf_leased_queue_table){.names = {.compare = compare},
                                            .compare_watches = compare_watches,
                                            .poll_at_ms = HF_FOREVER};
}

struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queue_table *table,
                     const char *name)
{
    return (struct hf_leased_queue *)(void *)hf_tree_find(&table->names, name);
}

/* A queue without references; NULL if memory runs out. */
static struct hf_leased_queue *
queue_new(const struct hf_leased_queue_table *table, const char *name)
{
    struct hf_leased_queue *queue = hf_alloc(sizeof *queue);

    if (queue == NULL)
        return NULL;
    queue->poll_at_ms = HF_FOREVER;
    queue->watch_tree.compare = table->compare_watches;
    queue->name = hf_strdup(name);
    if (queue->name == NULL) {
        hf_free(queue);
        return NULL;
    }
    return queue;
}

static void add(struct hf_leased_queue_table *table,
                struct hf_leased_queue *queue)
{
    hf_tree_add(&table->names, &queue->by_name, queue->name);
    queue->next = table->first;
    queue->previous_next = &table->first;
    if (queue->next != NULL)
        queue->next->previous_next = &queue->next;
    table->first = queue;
}

struct hf_leased_queue *hf_leased_queue_ref(struct hf_leased_queue_table *table,
                                            const char *name)
{
    struct hf_leased_queue *queue = hf_leased_queue_find(table, name);

    if (queue == NULL) {
        if ((queue = queue_new(table, name)) == NULL)
            return NULL;
        add(table, queue);
    }
    queue->references++;
    return queue;
}

void hf_leased_queue_unref(struct hf_leased_queue_table *table,
                           struct hf_leased_queue *queue)
{
    assert(queue->references > 0);
    if (--queue->references > 0)
        return;
    assert(queue->tickets == NULL && queue->watches == NULL &&
           queue->queue_watches == NULL);
    hf_tree_remove(&table->names, &queue->by_name, queue->name);
    *queue->previous_next = queue->next;
    if (queue->next != NULL)
        queue->next->previous_next = queue->previous_next;
    hf_free(queue->name);
    hf_free(queue);
}

void hf_leased_queue_poll_by(struct hf_leased_queue_table *table,
                             struct hf_leased_queue *queue, uint64_t at_ms)
{
    queue->poll_at_ms = hf_min_ms(queue->poll_at_ms, at_ms);
    table->poll_at_ms = hf_min_ms(table->poll_at_ms, at_ms);
}

struct hf_leased_queue *
hf_leased_queue_first(const struct hf_leased_queue_table *table)
{
    return table->first;
}

struct hf_leased_queue *
hf_leased_queue_next(const struct hf_leased_queue *queue)
{
    return queue->next;
}

const char *hf_leased_queue_of(const struct hf_request *request,
                               char flag_queue[HF_LEASED_FLAG_QUEUE_BYTES])
{
    bool of_flags = (request->kind == HF_REQUEST_SET_FLAG ||
                     request->kind == HF_REQUEST_CLEAR_FLAG ||
                     request->kind == HF_REQUEST_WATCH_QUEUE) &&
                    request->ticket_kind == HF_TICKET_BARRIER;

    if (!of_flags)
        return request->queue;
    (void)snprintf(flag_queue, HF_LEASED_FLAG_QUEUE_BYTES, "%s/",
                   request->queue);
    return flag_queue;
}
