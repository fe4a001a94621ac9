/* SPDX-License-Identifier: Apache-2.0 */
/* The children are an array sorted by hf_zk_engine_child_order(), so a child is
 * found by binary search for its sequence number. */
#include "engines/zookeeper/children.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engines/zookeeper/zk_private.h"
#include "engines/zookeeper/zk_queue.h"

/* ----------------------------------------------------------------- order -- */

/* Is a node like ${node} ordered by its number? */
static bool has_number(const struct hf_zk_engine_node *node)
{
    return node->kind != HF_TICKET_PARTICIPANT &&
           !hf_zk_engine_node_is_permit(node);
}

uint64_t hf_zk_engine_child_order(const struct hf_zk_engine_child *child)
{
    return has_number(&child->node)
               ? hf_zk_engine_node_order(child->node.sequence)
               : (uint64_t)child->czxid;
}

/* Keep the permits of one ticket next to each other. */
static int compare_permits(const struct hf_zk_engine_node *x,
                           const struct hf_zk_engine_node *y)
{
    int order = memcmp(x->id.bytes, y->id.bytes, sizeof x->id.bytes);

    if (!hf_zk_engine_node_is_permit(x) || !hf_zk_engine_node_is_permit(y))
        return 0;
    return order != 0 ? order : x->sequence - y->sequence;
}

/* Order of children for qsort(): by sequence, then by creation. */
static int compare(const void *a, const void *b)
{
    const struct hf_zk_engine_child *x = a, *y = b;
    uint64_t left = hf_zk_engine_child_order(x),
             right = hf_zk_engine_child_order(y);

    if (left != right)
        return left < right ? -1 : 1;
    if (x->czxid != y->czxid)
        return x->czxid < y->czxid ? -1 : 1;
    return compare_permits(&x->node, &y->node);
}

static void sort(struct hf_zk_engine_queue *queue)
{
    if (queue->count > 0)
        qsort(queue->children, queue->count, sizeof *queue->children, compare);
    queue->unsorted = false;
}

/* The index of the first child whose order is at least ${order}, by binary
 * search. */
static size_t lower_bound(const struct hf_zk_engine_queue *queue,
                          uint64_t order)
{
    size_t low = 0, high = queue->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (hf_zk_engine_child_order(&queue->children[middle]) < order)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The index of ${id} among the children with the same order that begin at
 * ${index}; .count if it is not there. */
static size_t index_among_equal(const struct hf_zk_engine_queue *queue,
                                size_t index, const struct hf_ticket_id *id)
{
    const struct hf_zk_engine_child *children = queue->children;

    for (size_t i = index; i < queue->count; i++) {
        if (hf_zk_engine_child_order(&children[i]) !=
            hf_zk_engine_child_order(&children[index]))
            break;
        if (hf_ticket_id_equal(&children[i].node.id, id))
            return i;
    }
    return queue->count;
}

size_t hf_zk_engine_children_find(const struct hf_zk_engine_queue *queue,
                                  int32_t sequence,
                                  const struct hf_ticket_id *id)
{
    return index_among_equal(
        queue, lower_bound(queue, hf_zk_engine_node_order(sequence)), id);
}

/* Keep each name once.  A permit that is counted twice would block its owner
 * for ever.  Sets .unsorted if two children have the same number, because a
 * list does not show which came first. */
static void drop_duplicates(struct hf_zk_engine_queue *queue)
{
    struct hf_zk_engine_child *children = queue->children;
    size_t kept = 0;

    for (size_t i = 0; i < queue->count; i++) {
        if (kept > 0 && strcmp(children[i].name, children[kept - 1].name) == 0)
            continue;
        /* Two children have one number: their czxids have still to be asked
         * for. */
        if (kept > 0 && hf_zk_engine_child_order(&children[i]) ==
                            hf_zk_engine_child_order(&children[kept - 1]))
            queue->unsorted = true;
        children[kept++] = children[i];
    }
    queue->count = kept;
}

void hf_zk_engine_children_set(struct hf_zk_engine_queue *queue,
                               struct hf_zk_engine_child *children,
                               size_t count, char *names)
{
    hf_free(queue->children);
    hf_free(queue->names);
    queue->children = children;
    queue->count = count;
    queue->names = names;
    sort(queue);
    drop_duplicates(queue);
}

size_t hf_zk_engine_children_count_id(const struct hf_zk_engine_queue *queue,
                                      const struct hf_ticket_id *id)
{
    size_t nodes = 0;

    for (size_t i = 0; i < queue->count; i++)
        nodes += hf_ticket_id_equal(&queue->children[i].node.id, id);
    return nodes;
}

/* The nodes of a lease stand next to each other with consecutive numbers. */
uint32_t hf_zk_engine_children_weight(const struct hf_zk_engine_queue *queue,
                                      size_t index)
{
    size_t next = index;
    const struct hf_zk_engine_node *first;
    const struct hf_zk_engine_node *node;

    if (index == queue->count)
        return 0;
    first = &queue->children[index].node;
    do {
        next++;
        node = &queue->children[next].node;
    } while (next < queue->count && first->kind == HF_TICKET_LEASE &&
             node->kind == HF_TICKET_LEASE &&
             hf_ticket_id_equal(&node->id, &first->id) &&
             (uint32_t)node->sequence ==
                 (uint32_t)first->sequence + (uint32_t)(next - index));
    return (uint32_t)(next - index);
}

/* The new id differs only in the version of the UUID, which becomes 8. */
void hf_zk_engine_children_change_id(struct hf_zk_engine_queue *queue,
                                     const struct hf_ticket_id *id)
{
    struct hf_ticket_id other = *id;

    /* No program makes such an id, see node_name.c. */
    other.bytes[6] = (uint8_t)((other.bytes[6] & 0x0f) | 0x80);
    for (size_t i = 0; i < queue->count; i++) {
        if (!hf_ticket_id_equal(&queue->children[i].node.id, id))
            continue;
        queue->children[i].node.id = other;
        if (has_number(&queue->children[i].node))
            queue->children[i].czxid = 0; /* it was the czxid of our ticket */
    }
}

/* ------------------------------------------------------------------ gone -- */

/* Set .nearest_other of every child.  None may have gone. */
static void link_nearest_others(struct hf_zk_engine_queue *queue)
{
    size_t other = 0;

    for (size_t i = 0; i < queue->count; i++) {
        queue->children[i].nearest_other = other;
        if (!queue->children[i].ours)
            other = i + 1;
    }
    queue->first_live = 0;
    queue->gone_count = 0;
}

void hf_zk_engine_children_compact(struct hf_zk_engine_queue *queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < queue->count; i++) {
        if (!queue->children[i].gone)
            queue->children[kept++] = queue->children[i];
    }
    queue->count = kept;
    link_nearest_others(queue);
}

void hf_zk_engine_children_sort(struct hf_zk_engine_queue *queue)
{
    sort(queue);
    hf_zk_engine_children_compact(queue);
}

/* Set .gone of one child and count it. */
static void count_gone(struct hf_zk_engine_queue *queue, size_t index)
{
    queue->gone_count += !queue->children[index].gone;
    queue->children[index].gone = true;
}

void hf_zk_engine_children_mark_gone(struct hf_zk_engine_queue *queue,
                                     size_t index)
{
    assert(index < queue->count);
    count_gone(queue, index);
    for (; queue->first_live < queue->count &&
           queue->children[queue->first_live].gone;
         queue->first_live++)
        queue->gone_count--;
}

/* Has a ticket of ${kind} only one node, which no other node replaces when it
 * goes? */
static bool goes_for_good(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_MUTEX || kind == HF_TICKET_READ ||
           kind == HF_TICKET_ELECTION;
}

/* The whole name is compared, because a number may have been used twice. */
void hf_zk_engine_children_node_gone(struct hf_zk_engine *zk, const char *name,
                                     const char *path)
{
    struct hf_zk_engine_queue *queue = hf_zk_engine_queue_find(zk, name);
    const char *child = strrchr(path, '/') + 1;
    struct hf_zk_engine_node node;
    size_t index;

    if (queue == NULL ||
        !hf_zk_engine_queue_parse(queue, child, strlen(child), &node))
        return;
    index = hf_zk_engine_children_find(queue, node.sequence, &node.id);
    if (index == queue->count || queue->children[index].gone ||
        strcmp(queue->children[index].name, child) != 0)
        return;
    if (goes_for_good(node.kind))
        hf_zk_engine_children_mark_gone(queue, index);
    else
        queue->listed_on = 0;
}
