/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/queue.h"

#include <assert.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/leased/watches.h"

static int compare(const void *name, const struct hf_tree_node *node)
{
    const struct hf_leased_queue *queue =
        (const struct hf_leased_queue *)(const void *)node;

    return strcmp(name, queue->name);
}

void hf_leased_queues_init(struct hf_leased_queues *queues)
{
    *queues = (struct hf_leased_queues){.names = {.compare = compare},
                                        .probe_at_ms = HF_FOREVER};
}

struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queues *queues, const char *name)
{
    return (struct hf_leased_queue *)(void *)hf_tree_find(&queues->names, name);
}

static struct hf_leased_queue *queue_new(const char *name)
{
    struct hf_leased_queue *queue = hf_alloc(sizeof *queue);

    if (queue == NULL)
        return NULL;
    queue->probe_at_ms = HF_FOREVER;
    hf_leased_watched_init(&queue->watched);
    queue->name = hf_strdup(name);
    if (queue->name == NULL) {
        hf_free(queue);
        return NULL;
    }
    return queue;
}

static void add(struct hf_leased_queues *queues, struct hf_leased_queue *queue)
{
    hf_tree_add(&queues->names, &queue->by_name, queue->name);
    queue->next = queues->first;
    queue->link = &queues->first;
    if (queue->next != NULL)
        queue->next->link = &queue->next;
    queues->first = queue;
}

struct hf_leased_queue *hf_leased_queue_use(struct hf_leased_queues *queues,
                                            const char *name)
{
    struct hf_leased_queue *queue = hf_leased_queue_find(queues, name);

    if (queue == NULL) {
        if ((queue = queue_new(name)) == NULL)
            return NULL;
        add(queues, queue);
    }
    queue->users++;
    return queue;
}

void hf_leased_queue_leave(struct hf_leased_queues *queues,
                           struct hf_leased_queue *queue)
{
    assert(queue->users > 0);
    if (--queue->users > 0)
        return;
    assert(queue->owns == NULL && queue->watches == NULL &&
           queue->looks == NULL);
    hf_tree_remove(&queues->names, &queue->by_name, queue->name);
    *queue->link = queue->next;
    if (queue->next != NULL)
        queue->next->link = queue->link;
    hf_free(queue->name);
    hf_free(queue);
}

void hf_leased_queue_probe_by(struct hf_leased_queues *queues,
                              struct hf_leased_queue *queue, uint64_t at_ms)
{
    queue->probe_at_ms = hf_min_ms(queue->probe_at_ms, at_ms);
    queues->probe_at_ms = hf_min_ms(queues->probe_at_ms, at_ms);
}

struct hf_leased_queue *
hf_leased_queue_first(const struct hf_leased_queues *queues)
{
    return queues->first;
}

struct hf_leased_queue *
hf_leased_queue_after(const struct hf_leased_queue *queue)
{
    return queue->next;
}
