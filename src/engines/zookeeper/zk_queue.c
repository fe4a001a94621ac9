/* SPDX-License-Identifier: Apache-2.0 */
/* Queues are in a tree by name and count their users: requests, own tickets
 * and watches. */
#include "engines/zookeeper/zk_queue.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/zk_private.h"

/* Order of the tree: by name. */
static int compare_name(const void *name, const struct hf_tree_node *node)
{
    return strcmp(name, ((const struct hf_zk_queue *)(const void *)node)->name);
}

struct hf_zk_queue *hf_zk_queue_find(const struct hf_zk *zk, const char *name)
{
    return (struct hf_zk_queue *)(void *)hf_tree_find(&zk->queues.names, name);
}

/* Allocate a queue and add it to the tree; NULL for lack of memory. */
static struct hf_zk_queue *add_queue(struct hf_zk *zk, const char *name)
{
    char path[HF_ZK_QUEUE_PATH_BYTES];
    bool permits =
        hf_zk_queue_path(zk->config.layout, zk->config.url.chroot, name, path);
    size_t path_bytes = strlen(path) + 1;
    size_t name_bytes = strlen(name) + 1;
    struct hf_zk_queue *queue =
        hf_alloc(sizeof *queue + path_bytes + name_bytes);

    if (queue == NULL)
        return NULL;
    queue->permits = permits;
    queue->name = memcpy(queue->path + path_bytes, name, name_bytes);
    memcpy(queue->path, path, path_bytes);
    hf_tree_add(&zk->queues.names, &queue->by_name, queue->name);
    return queue;
}

struct hf_zk_queue *hf_zk_queue_use(struct hf_zk *zk, const char *name)
{
    struct hf_zk_queue *queue = hf_zk_queue_find(zk, name);

    if (queue == NULL)
        queue = add_queue(zk, name);
    if (queue != NULL)
        queue->users++;
    return queue;
}

/* Free a queue that is in no tree. */
static void free_queue(struct hf_zk_queue *queue)
{
    hf_free(queue->children);
    hf_free(queue->names);
    hf_free(queue);
}

void hf_zk_queue_release(struct hf_zk *zk, struct hf_zk_queue *queue)
{
    assert(queue->users > 0);
    if (--queue->users > 0)
        return;
    hf_tree_remove(&zk->queues.names, &queue->by_name, queue->name);
    free_queue(queue);
}

const char *hf_zk_child_path(struct hf_zk *zk, const struct hf_zk_queue *queue,
                             const char *name)
{
    int bytes = snprintf(zk->path, sizeof zk->path, "%s/%s", queue->path, name);

    /* Chroot and name have a maximum length, and longer children are no
     * tickets. */
    assert(bytes > 0 && (size_t)bytes < sizeof zk->path);
    return zk->path;
}

bool hf_zk_queue_parse(const struct hf_zk_queue *queue, const char *name,
                       size_t bytes, struct hf_zk_node *node)
{
    return (queue->permits && hf_zk_permit_parse(name, bytes, node)) ||
           hf_zk_participant_parse(name, bytes, node) ||
           hf_zk_node_parse(name, bytes, node);
}

void hf_zk_queues_init(struct hf_zk_queues *queues)
{
    *queues = (struct hf_zk_queues){.names = {.compare = compare_name}};
}

void hf_zk_queues_free(struct hf_zk_queues *queues)
{
    /* No queue is left, because no request is in flight and no ticket is ours.
     */
    assert(queues->names.root == NULL);
    hf_free(queues->snapshot);
}
