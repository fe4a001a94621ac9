/* SPDX-License-Identifier: Apache-2.0 */
#include "host/local_queue.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "host/client.h"

static struct hf_local_queue *make(struct hf_client *client, const char *name,
                                   uint32_t handoffs)
{
    size_t bytes = strlen(name) + 1;
    struct hf_local_queue *queue = hf_alloc(sizeof(*queue) + bytes);

    if (queue == NULL)
        return NULL;
    memcpy(queue->name, name, bytes);
    hf_cohort_init(&queue->cohort, queue->name, handoffs);
    queue->references = 0;
    queue->link = &client->local_queues;
    queue->next = client->local_queues;
    if (queue->next != NULL)
        queue->next->link = &queue->next;
    client->local_queues = queue;
    return queue;
}

struct hf_local_queue *hf_local_queue_get(struct hf_client *client,
                                          const char *name, uint32_t handoffs)
{
    struct hf_local_queue *queue = client->local_queues;

    while (queue != NULL && (queue->cohort.handoffs != handoffs ||
                             strcmp(queue->name, name) != 0))
        queue = queue->next;
    if (queue == NULL && (queue = make(client, name, handoffs)) == NULL)
        return NULL;
    queue->references++;
    return queue;
}

void hf_local_queue_put(struct hf_local_queue *queue)
{
    assert(queue->references > 0);
    if (--queue->references > 0)
        return;
    assert(hf_cohort_is_idle(&queue->cohort));
    *queue->link = queue->next;
    if (queue->next != NULL)
        queue->next->link = queue->link;
    hf_free(queue);
}
