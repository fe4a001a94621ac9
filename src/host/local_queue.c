/* SPDX-License-Identifier: Apache-2.0 */
#include "host/local_queue.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "host/client.h"

struct key {
    const char *name;
    uint32_t handoffs;
};

static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct key *key = a;
    const struct hf_local_queue *queue =
        (const struct hf_local_queue *)(const void *)node;

    if (key->handoffs != queue->cohort.handoffs)
        return key->handoffs < queue->cohort.handoffs ? -1 : 1;
    return strcmp(key->name, queue->name);
}

static struct hf_local_queue *make(struct hf_client *client,
                                   const struct key *key)
{
    size_t bytes = strlen(key->name) + 1;
    struct hf_local_queue *queue = hf_alloc(sizeof(*queue) + bytes);

    if (queue == NULL)
        return NULL;
    memcpy(queue->name, key->name, bytes);
    hf_cohort_init(&queue->cohort, queue->name, key->handoffs);
    queue->references = 0;
    hf_tree_add(&client->local_queues, &queue->node, key);
    return queue;
}

struct hf_local_queue *hf_local_queue_get(struct hf_client *client,
                                          const char *name, uint32_t handoffs)
{
    const struct key key = {name, handoffs};
    struct hf_local_queue *queue;

    client->local_queues.compare = compare;
    queue = (struct hf_local_queue *)(void *)hf_tree_find(&client->local_queues,
                                                          &key);
    if (queue == NULL && (queue = make(client, &key)) == NULL)
        return NULL;
    queue->references++;
    return queue;
}

void hf_local_queue_put(struct hf_client *client, struct hf_local_queue *queue)
{
    const struct key key = {queue->name, queue->cohort.handoffs};

    assert(queue->references > 0);
    if (--queue->references > 0)
        return;
    assert(hf_cohort_is_idle(&queue->cohort));
    hf_cohort_free(&client->core, &queue->cohort);
    hf_tree_remove(&client->local_queues, &queue->node, &key);
    hf_free(queue);
}
