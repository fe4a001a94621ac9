/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/queue.h"

#include <assert.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "core/instant.h"
#include "core/memory.h"

/* FNV-1a. */
static size_t bucket_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return (size_t)(hash % HF_LEASED_QUEUE_BUCKETS);
}

void hf_leased_queues_init(struct hf_leased_queues *queues)
{
    *queues = (struct hf_leased_queues){.probe_at_ms = HF_FOREVER};
}

struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queues *queues, const char *name)
{
    struct hf_leased_queue *queue = queues->buckets[bucket_of(name)];

    while (queue != NULL && strcmp(queue->name, name) != 0)
        queue = queue->next;
    return queue;
}

static struct hf_leased_queue *queue_new(const char *name)
{
    struct hf_leased_queue *queue = hf_alloc(sizeof *queue);

    if (queue == NULL)
        return NULL;
    queue->probe_at_ms = HF_FOREVER;
    queue->name = hf_strdup(name);
    if (queue->name == NULL) {
        hf_free(queue);
        return NULL;
    }
    return queue;
}

struct hf_leased_queue *hf_leased_queue_use(struct hf_leased_queues *queues,
                                            const char *name)
{
    struct hf_leased_queue *queue = hf_leased_queue_find(queues, name);
    size_t bucket = bucket_of(name);

    if (queue == NULL) {
        if ((queue = queue_new(name)) == NULL)
            return NULL;
        queue->next = queues->buckets[bucket];
        queues->buckets[bucket] = queue;
    }
    queue->users++;
    return queue;
}

void hf_leased_queue_leave(struct hf_leased_queues *queues,
                           struct hf_leased_queue *queue)
{
    struct hf_leased_queue **at = &queues->buckets[bucket_of(queue->name)];

    assert(queue->users > 0);
    if (--queue->users > 0)
        return;
    assert(queue->owns == NULL && queue->watches == NULL &&
           queue->looks == NULL);
    while (*at != queue)
        at = &(*at)->next;
    *at = queue->next;
    hf_free(queue->name);
    hf_free(queue);
}

void hf_leased_queue_probe_by(struct hf_leased_queues *queues,
                              struct hf_leased_queue *queue, uint64_t at_ms)
{
    queue->probe_at_ms = hf_earlier_ms(queue->probe_at_ms, at_ms);
    queues->probe_at_ms = hf_earlier_ms(queues->probe_at_ms, at_ms);
}

static struct hf_leased_queue *first_from(const struct hf_leased_queues *queues,
                                          size_t bucket)
{
    for (; bucket < HF_LEASED_QUEUE_BUCKETS; bucket++) {
        if (queues->buckets[bucket] != NULL)
            return queues->buckets[bucket];
    }
    return NULL;
}

struct hf_leased_queue *
hf_leased_queue_first(const struct hf_leased_queues *queues)
{
    return first_from(queues, 0);
}

struct hf_leased_queue *
hf_leased_queue_after(const struct hf_leased_queues *queues,
                      const struct hf_leased_queue *queue)
{
    if (queue->next != NULL)
        return queue->next;
    return first_from(queues, bucket_of(queue->name) + 1);
}
