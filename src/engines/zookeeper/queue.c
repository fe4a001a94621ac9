/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/plant.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "engines/zookeeper/members.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/private.h"

/* A string of no byte is as short as an element of a list gets. */
#define CHILD_LEAST_BYTES 4

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

/* ----------------------------------------------------------------- lists -- */

bool hf_zk_queue_parse(const struct hf_zk_queue *queue, const char *name,
                       size_t bytes, struct hf_zk_node *node)
{
    return (queue->permits && hf_zk_permit_parse(name, bytes, node)) ||
           hf_zk_member_parse(name, bytes, node) ||
           hf_zk_node_parse(name, bytes, node);
}

/* The place of a child; of a permit its czxid, if that is known, and others are
 * taken for older. */
static uint64_t order_of(const struct hf_zk_child *child)
{
    return hf_zk_node_is_permit(&child->node) ||
                   child->node.kind == HF_TICKET_MEMBER
               ? (uint64_t)child->czxid
               : hf_zk_node_order(child->node.sequence);
}

/* Permits of one ticket stand together. */
static int compare_permits(const struct hf_zk_node *x,
                           const struct hf_zk_node *y)
{
    int order = memcmp(x->id.bytes, y->id.bytes, sizeof x->id.bytes);

    if (!hf_zk_node_is_permit(x) || !hf_zk_node_is_permit(y))
        return 0;
    return order != 0 ? order : x->sequence - y->sequence;
}

static int compare(const void *a, const void *b)
{
    const struct hf_zk_child *x = a, *y = b;
    uint64_t left = order_of(x), right = order_of(y);

    if (HF_PLANTED(ZK_ORDER_BY_NAME))
        return strcmp(x->name, y->name);
    if (left != right)
        return left < right ? -1 : 1;
    if (x->czxid != y->czxid)
        return x->czxid < y->czxid ? -1 : 1;
    return compare_permits(&x->node, &y->node);
}

/* What orders permits of ours; of others nobody has to know. */
static int64_t known_czxid(const struct hf_zk *zk,
                           const struct hf_zk_queue *queue,
                           const struct hf_zk_node *node)
{
    const struct hf_zk_own *own;

    if (node->kind == HF_TICKET_MEMBER)
        return hf_zk_member_known(zk, queue, node);
    own = hf_zk_node_is_permit(node) ? hf_zk_own_find(zk, &node->id) : NULL;
    return own == NULL ? 0 : own->czxid;
}

/* Children that are tickets, their names put to ${names}. */
static size_t take_children(struct hf_zk *zk, struct hf_zk_queue *queue,
                            struct hf_jute_reader *body, size_t count,
                            struct hf_zk_child *children, char *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct hf_jute_piece name = hf_jute_get_buffer(body);

        if (name.bytes == NULL ||
            !hf_zk_queue_parse(queue, name.bytes, name.count,
                               &children[kept].node)) {
            hf_zk_stranger_ignored(zk, queue, name);
            continue;
        }
        hf_zk_stranger_check(zk, queue, name, &children[kept].node);
        memcpy(names, name.bytes, name.count);
        names[name.count] = '\0';
        children[kept].name = names;
        children[kept].czxid = known_czxid(zk, queue, &children[kept].node);
        names += name.count + 1;
        kept++;
    }
    return kept;
}

static void replace(struct hf_zk_queue *queue, struct hf_zk_child *children,
                    size_t count, char *names)
{
    hf_free(queue->children);
    hf_free(queue->names);
    queue->children = children;
    queue->count = count;
    queue->names = names;
}

/* A list that shows a ticket of ours as a reader has the answer to a downgrade
 * that got none. */
static void note_downgraded(struct hf_zk *zk, const struct hf_zk_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_node *node = &queue->children[i].node;
        struct hf_zk_own *own =
            node->kind == HF_TICKET_READ ? hf_zk_own_find(zk, &node->id) : NULL;

        if (own != NULL && own->downgrading && own->sequence == node->sequence)
            hf_zk_own_downgraded(zk, own);
    }
}

static void sort(struct hf_zk_queue *queue)
{
    if (queue->count > 0)
        qsort(queue->children, queue->count, sizeof *queue->children, compare);
}

/* A name that is listed twice is there once: counted twice, a permit would
 * stand in its owner's way for good. */
static void drop_doubles(struct hf_zk_queue *queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < queue->count; i++) {
        if (kept == 0 || strcmp(queue->children[i].name,
                                queue->children[kept - 1].name) != 0)
            queue->children[kept++] = queue->children[i];
    }
    queue->count = kept;
}

bool hf_zk_queue_update(struct hf_zk *zk, struct hf_zk_queue *queue,
                        struct hf_jute_reader *body)
{
    size_t bytes = body->left;
    size_t count = hf_jute_get_count(body, CHILD_LEAST_BYTES);
    struct hf_zk_child *children = hf_alloc((count + 1) * sizeof *children);
    char *names = hf_alloc(bytes + 1);

    if (children == NULL || names == NULL)
        goto keep;
    count = take_children(zk, queue, body, count, children, names);
    if (body->failed)
        goto keep;
    replace(queue, children, count, names);
    sort(queue);
    drop_doubles(queue);
    note_downgraded(zk, queue);
    return true;
keep:
    hf_free(children);
    hf_free(names);
    return false;
}

void hf_zk_queue_empty(struct hf_zk_queue *queue)
{
    replace(queue, NULL, 0, NULL);
}

/* By what the snapshot says of our tickets: two may have one number, where a
 * server says so or somebody else has made a node. */
static void learn_own(const struct hf_zk *zk, struct hf_zk_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_zk_child *child = &queue->children[i];
        const struct hf_zk_own *own = child->node.kind == HF_TICKET_MEMBER
                                          ? NULL
                                          : hf_zk_own_find(zk, &child->node.id);

        if (own != NULL)
            child->czxid = own->czxid;
    }
}

void hf_zk_queue_sort(const struct hf_zk *zk, struct hf_zk_queue *queue)
{
    learn_own(zk, queue);
    sort(queue);
}

size_t hf_zk_queue_place(const struct hf_zk_queue *queue,
                         const struct hf_ticket_id *id)
{
    size_t i = 0;

    while (i < queue->count &&
           !hf_ticket_id_equal(&queue->children[i].node.id, id))
        i++;
    return i;
}

uint32_t hf_zk_queue_weight(const struct hf_zk_queue *queue,
                            const struct hf_ticket_id *id)
{
    size_t place = hf_zk_queue_place(queue, id), next = place;
    const struct hf_zk_node *first;
    const struct hf_zk_node *node;

    if (place == queue->count)
        return 0;
    first = &queue->children[place].node;
    do {
        next++;
        node = &queue->children[next].node;
    } while (next < queue->count && first->kind == HF_TICKET_LEASE &&
             node->kind == HF_TICKET_LEASE &&
             hf_ticket_id_equal(&node->id, id) &&
             (uint32_t)node->sequence ==
                 (uint32_t)first->sequence + (uint32_t)(next - place));
    return (uint32_t)(next - place);
}

size_t hf_zk_queue_nodes(const struct hf_zk_queue *queue,
                         const struct hf_ticket_id *id)
{
    size_t nodes = 0;

    for (size_t i = 0; i < queue->count; i++)
        nodes += hf_ticket_id_equal(&queue->children[i].node.id, id);
    return nodes;
}

void hf_zk_queue_disown(struct hf_zk_queue *queue,
                        const struct hf_ticket_id *id)
{
    struct hf_ticket_id other = *id;

    /* No id that anybody makes: see node.c. */
    other.bytes[6] = (uint8_t)((other.bytes[6] & 0x0f) | 0x80);
    for (size_t i = 0; i < queue->count; i++) {
        if (hf_ticket_id_equal(&queue->children[i].node.id, id))
            queue->children[i].node.id = other;
    }
}

/* What others wrote is anything; a payload is valid UTF-8 without NUL. */
size_t hf_zk_payload_copy(char payload[HF_PAYLOAD_BYTES],
                          struct hf_jute_piece data)
{
    size_t bytes = data.count;

    if (bytes >= HF_PAYLOAD_BYTES)
        bytes = HF_PAYLOAD_BYTES - 1;
    if (bytes > 0)
        memcpy(payload, data.bytes, bytes);
    payload[bytes] = '\0';
    if (strlen(payload) != bytes || !hf_utf8_valid(payload, bytes)) {
        struct hf_quoted quoted = hf_quote(data.bytes, data.count);

        memcpy(payload, quoted.text, strlen(quoted.text) + 1);
    }
    return strlen(payload);
}

void hf_zk_queue_learn_head(struct hf_zk_queue *queue,
                            const struct hf_ticket_id *id,
                            struct hf_jute_piece payload)
{
    queue->head = *id;
    queue->head_known = true;
    (void)hf_zk_payload_copy(queue->head_payload, payload);
}

static void fill_ticket(const struct hf_zk *zk, const struct hf_zk_queue *queue,
                        const struct hf_zk_child *child,
                        struct hf_ticket *ticket)
{
    const struct hf_zk_own *own = hf_zk_own_find(zk, &child->node.id);
    int64_t czxid = own != NULL ? own->czxid : child->czxid;

    ticket->id = child->node.id;
    ticket->sequence = order_of(child);
    ticket->token = czxid > 0 ? (uint64_t)czxid + zk->config.token_floor : 0;
    ticket->kind = child->node.kind;
    ticket->weight = 1;
    ticket->payload = "";
    if (queue->head_known && hf_ticket_id_equal(&queue->head, &ticket->id))
        ticket->payload = queue->head_payload;
}

/* Is it one permit more of ${ticket}?  Such nodes are made at once, so that
 * nobody's is between them. */
static bool belongs_to(const struct hf_zk_child *child,
                       const struct hf_ticket *ticket)
{
    return child->node.kind == HF_TICKET_LEASE &&
           ticket->kind == HF_TICKET_LEASE &&
           hf_ticket_id_equal(&child->node.id, &ticket->id);
}

bool hf_zk_queue_snapshot(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_snapshot *snapshot)
{
    struct hf_zk_queues *queues = &zk->queues;
    size_t size = queues->snapshot_size;
    struct hf_ticket *tickets = queues->snapshot;

    if (queue->count > size) {
        size = 2 * queue->count;
        tickets = hf_realloc(tickets, size * sizeof *tickets);
        if (tickets == NULL)
            return false;
        queues->snapshot = tickets;
        queues->snapshot_size = size;
    }
    snapshot->tickets = tickets;
    snapshot->count = 0;
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_child *child = &queue->children[i];

        if (child->node.kind == HF_TICKET_MEMBER)
            continue; /* see members.c */
        if (snapshot->count > 0 &&
            belongs_to(child, &tickets[snapshot->count - 1]))
            tickets[snapshot->count - 1].weight++;
        else
            fill_ticket(zk, queue, child, &tickets[snapshot->count++]);
    }
    return true;
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
    if (own->kind == HF_TICKET_MEMBER)
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
    if (!hf_zk_node_is_permit(&node) && node.kind != HF_TICKET_MEMBER)
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
        hf_zk_send_delete(zk, call, hf_zk_own_path(zk, own, 0));
        return;
    }
    begin = hf_zk_call_begin(zk, call, HF_ZK_MULTI);
    for (uint32_t i = 0; i < own->weight; i++)
        hf_zk_multi_delete(zk, hf_zk_own_path(zk, own, i), HF_ZK_ANY_VERSION);
    hf_zk_multi_end(zk, begin);
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
