/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/own_ticket.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "engines/zookeeper/children.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/private.h"

static int compare_id(const void *id, const struct hf_tree_node *node)
{
    const struct hf_zk_own *own = (const struct hf_zk_own *)(const void *)node;

    return memcmp(id, &own->id, sizeof own->id);
}

struct hf_zk_own *hf_zk_own_find(const struct hf_zk *zk,
                                 const struct hf_ticket_id *id)
{
    return (struct hf_zk_own *)(void *)hf_tree_find(&zk->own.ids, id);
}

static void link_last(struct hf_zk_own_tickets *tickets, struct hf_zk_own *own)
{
    if (tickets->end == NULL)
        tickets->end = &tickets->first;
    own->next = NULL;
    own->link = tickets->end;
    *own->link = own;
    tickets->end = &own->next;
}

static void unlink_own(struct hf_zk_own_tickets *tickets, struct hf_zk_own *own)
{
    *own->link = own->next;
    if (own->next != NULL)
        own->next->link = own->link;
    else
        tickets->end = own->link;
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
        hf_zk_queue_leave(zk, queue);
        hf_free(own);
        return NULL;
    }
    hf_tree_add(&zk->own.ids, &own->by_id, &own->id);
    link_last(&zk->own, own);
    return own;
}

/* What was listed of it goes with it: nothing of it is left. */
static void strike_out(const struct hf_zk_own *own)
{
    struct hf_zk_queue *queue = own->queue;
    size_t place = hf_zk_children_numbered(queue, own->sequence, &own->id);

    if (own->kind == HF_TICKET_LEASE || own->kind == HF_TICKET_PARTICIPANT)
        queue->kept = 0;
    else if (place < queue->count)
        hf_zk_children_strike(queue, place);
}

void hf_zk_own_drop(struct hf_zk *zk, struct hf_zk_own *own)
{
    strike_out(own);
    hf_tree_remove(&zk->own.ids, &own->by_id, &own->id);
    unlink_own(&zk->own, own);
    hf_zk_queue_leave(zk, own->queue);
    hf_free(own);
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
    unlink_own(&zk->own, own);
    link_last(&zk->own, own);
}

void hf_zk_own_init(struct hf_zk_own_tickets *tickets)
{
    *tickets = (struct hf_zk_own_tickets){.ids = {.compare = compare_id}};
}

void hf_zk_own_clear(struct hf_zk *zk)
{
    while (zk->own.first != NULL)
        hf_zk_own_drop(zk, zk->own.first);
}
