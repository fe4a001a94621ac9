/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "engines/zookeeper/members.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/private.h"

/* ---------------------------------------------------------------- queues -- */

static int compare_name(const void *name, const struct hf_tree_node *node)
{
    return strcmp(name, ((const struct hf_zk_queue *)(const void *)node)->name);
}

struct hf_zk_queue *hf_zk_queue_find(const struct hf_zk *zk, const char *name)
{
    return (struct hf_zk_queue *)(void *)hf_tree_find(&zk->queues.names, name);
}

static struct hf_zk_queue *make(struct hf_zk *zk, const char *name)
{
    char path[HF_ZK_QUEUE_PATH_BYTES];
    bool permits =
        hf_zk_queue_path(zk->config.layout, zk->config.chroot, name, path);
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
        queue = make(zk, name);
    if (queue != NULL)
        queue->users++;
    return queue;
}

static void free_queue(struct hf_zk_queue *queue)
{
    hf_free(queue->children);
    hf_free(queue->names);
    hf_free(queue);
}

static void leave(struct hf_zk_queues *queues, struct hf_zk_queue *queue)
{
    assert(queue->users > 0);
    if (--queue->users > 0)
        return;
    hf_tree_remove(&queues->names, &queue->by_name, queue->name);
    free_queue(queue);
}

void hf_zk_queue_leave(struct hf_zk *zk, struct hf_zk_queue *queue)
{
    leave(&zk->queues, queue);
}

const char *hf_zk_child_path(struct hf_zk *zk, const struct hf_zk_queue *queue,
                             const char *name)
{
    int bytes = snprintf(zk->path, sizeof zk->path, "%s/%s", queue->path, name);

    /* Chroot and name are bounded, and what is longer is no ticket. */
    assert(bytes > 0 && (size_t)bytes < sizeof zk->path);
    return zk->path;
}

/* ----------------------------------------------------------- own tickets -- */

static int compare_id(const void *id, const struct hf_tree_node *node)
{
    const struct hf_zk_own *own = (const struct hf_zk_own *)(const void *)node;

    return memcmp(id, &own->id, sizeof own->id);
}

void hf_zk_queues_init(struct hf_zk_queues *queues)
{
    *queues = (struct hf_zk_queues){.names = {.compare = compare_name},
                                    .ids = {.compare = compare_id}};
}

struct hf_zk_own *hf_zk_own_find(const struct hf_zk *zk,
                                 const struct hf_ticket_id *id)
{
    return (struct hf_zk_own *)(void *)hf_tree_find(&zk->queues.ids, id);
}

static void link_last(struct hf_zk_queues *queues, struct hf_zk_own *own)
{
    if (queues->own_end == NULL)
        queues->own_end = &queues->own;
    own->next = NULL;
    own->link = queues->own_end;
    *own->link = own;
    queues->own_end = &own->next;
}

static void unlink_own(struct hf_zk_queues *queues, struct hf_zk_own *own)
{
    *own->link = own->next;
    if (own->next != NULL)
        own->next->link = own->link;
    else
        queues->own_end = own->link;
}

/* Of its ${nth} node. */
static void own_name(const struct hf_zk_own *own, uint32_t nth,
                     char name[HF_ZK_NODE_BYTES])
{
    if (own->kind == HF_TICKET_PARTICIPANT)
        hf_ticket_id_format(&own->id, name);
    else if (own->prefix_bytes == 0)
        hf_zk_permit_name(&own->id, nth, name);
    else /* as the server counts on */
        hf_zk_node_number(own->prefix, (int32_t)((uint32_t)own->sequence + nth),
                          name);
}

struct hf_zk_own *hf_zk_own_add(struct hf_zk *zk, struct hf_zk_queue *queue,
                                const char *name, size_t bytes, uint32_t weight,
                                int64_t czxid)
{
    char again[HF_ZK_NODE_BYTES];
    struct hf_zk_node node;
    struct hf_zk_own *own;

    if (bytes >= sizeof own->prefix ||
        !hf_zk_queue_parse(queue, name, bytes, &node))
        return NULL;
    assert(hf_zk_own_find(zk, &node.id) == NULL);
    if ((own = hf_alloc(sizeof *own)) == NULL)
        return NULL;
    own->queue = queue;
    queue->users++;
    own->id = node.id;
    own->kind = node.kind;
    own->sequence = node.sequence;
    own->weight = weight;
    own->czxid = czxid;
    if (!hf_zk_node_is_permit(&node) && node.kind != HF_TICKET_PARTICIPANT)
        own->prefix_bytes = bytes - hf_zk_node_digits(node.sequence);
    memcpy(own->prefix, name, own->prefix_bytes);
    own_name(own, 0, again);
    if (memcmp(again, name, bytes) != 0) { /* no server writes numbers so */
        leave(&zk->queues, queue);
        hf_free(own);
        return NULL;
    }
    hf_tree_add(&zk->queues.ids, &own->by_id, &own->id);
    link_last(&zk->queues, own);
    return own;
}

static void drop_own(struct hf_zk_queues *queues, struct hf_zk_own *own)
{
    hf_zk_kept_own_gone(own);
    hf_tree_remove(&queues->ids, &own->by_id, &own->id);
    unlink_own(queues, own);
    leave(queues, own->queue);
    hf_free(own);
}

void hf_zk_own_drop(struct hf_zk *zk, struct hf_zk_own *own)
{
    drop_own(&zk->queues, own);
}

static void read_prefix(const struct hf_zk *zk, const struct hf_zk_own *own,
                        char prefix[HF_ZK_PREFIX_BYTES])
{
    bool named =
        hf_zk_node_prefix(zk->config.layout, &own->id, HF_TICKET_READ, prefix);

    assert(named); /* as its write ticket was */
    (void)named;
}

void hf_zk_own_read_name(const struct hf_zk *zk, const struct hf_zk_own *own,
                         char name[HF_ZK_NODE_BYTES])
{
    char prefix[HF_ZK_PREFIX_BYTES];

    read_prefix(zk, own, prefix);
    hf_zk_node_number(prefix, own->sequence, name);
}

void hf_zk_own_downgraded(const struct hf_zk *zk, struct hf_zk_own *own)
{
    read_prefix(zk, own, own->prefix);
    own->prefix_bytes = strlen(own->prefix);
    own->kind = HF_TICKET_READ;
    own->downgrading = false;
    own->queue->kept = 0; /* it shows a write ticket */
}

/* The old name of one that is being downgraded goes with that. */
void hf_zk_own_gone(struct hf_zk *zk, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct hf_zk_node node;
    struct hf_zk_own *own;

    if (!hf_zk_node_parse(name, strlen(name), &node) &&
        !hf_zk_member_parse(name, strlen(name), &node) &&
        !hf_zk_permit_parse(name, strlen(name), &node))
        return;
    own = hf_zk_own_find(zk, &node.id);
    if (own != NULL && !own->downgrading &&
        strncmp(own->prefix, name, own->prefix_bytes) == 0 &&
        (uint32_t)node.sequence - (uint32_t)own->sequence < own->weight)
        hf_zk_own_drop(zk, own);
}

const char *hf_zk_own_path(struct hf_zk *zk, const struct hf_zk_own *own,
                           uint32_t nth)
{
    char name[HF_ZK_NODE_BYTES];

    own_name(own, nth, name);
    return hf_zk_child_path(zk, own->queue, name);
}

void hf_zk_own_delete(struct hf_zk *zk, const struct hf_zk_own *own,
                      struct hf_zk_call *call)
{
    size_t begin;

    if (own->weight == 1) {
        hf_zk_send_delete(&zk->session, call, hf_zk_own_path(zk, own, 0));
        return;
    }
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    for (uint32_t i = 0; i < own->weight; i++)
        hf_zk_multi_delete(&zk->session, hf_zk_own_path(zk, own, i),
                           HF_ZK_ANY_VERSION);
    hf_zk_multi_end(&zk->session, begin);
}

void hf_zk_own_rotate(struct hf_zk *zk, struct hf_zk_own *own)
{
    unlink_own(&zk->queues, own);
    link_last(&zk->queues, own);
}

void hf_zk_queues_clear(struct hf_zk_queues *queues)
{
    while (queues->own != NULL)
        drop_own(queues, queues->own);
}

void hf_zk_queues_free(struct hf_zk_queues *queues)
{
    hf_zk_queues_clear(queues);
    /* Nobody uses one: nothing is under way. */
    assert(queues->names.root == NULL);
    hf_free(queues->snapshot);
}
