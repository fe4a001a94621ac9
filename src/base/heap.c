/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* Does ${a} come before ${b}? */
static bool is_before(const struct hf_heap_node *a,
                      const struct hf_heap_node *b)
{
    return a->key < b->key || (a->key == b->key && a->number < b->number);
}

/* Make one heap of the two with the roots ${a} and ${b}, and return its root.
 * Either may be NULL.  A root has no siblings. */
static struct hf_heap_node *meld(struct hf_heap_node *a, struct hf_heap_node *b)
{
    struct hf_heap_node *root, *child;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    root = is_before(b, a) ? b : a;
    child = root == a ? b : a;
    child->previous = root;
    child->next = root->child;
    if (child->next != NULL)
        child->next->previous = child;
    root->child = child;
    return root;
}

/* Take ${node} off its siblings, and return the next one. */
static struct hf_heap_node *cut(struct hf_heap_node *node)
{
    struct hf_heap_node *next = node->next;

    node->next = node->previous = NULL;
    return next;
}

/* Meld siblings in pairs from the left, then the pairs from the right. */
static struct hf_heap_node *meld_siblings(struct hf_heap_node *first)
{
    struct hf_heap_node *pairs = NULL, *root = NULL, *pair, *second;

    while (first != NULL) {
        second = cut(first);
        pair = first;
        first = second != NULL ? cut(second) : NULL;
        pair = meld(pair, second);
        pair->next = pairs;
        pairs = pair;
    }
    while (pairs != NULL) {
        pair = pairs;
        pairs = cut(pair);
        root = meld(root, pair);
    }
    return root;
}

uint64_t hf_heap_first_key(const struct hf_heap *heap)
{
    return heap->first != NULL ? heap->first->key : UINT64_MAX;
}

void hf_heap_add(struct hf_heap *heap, struct hf_heap_node *node, uint64_t key,
                 uint64_t number)
{
    assert(node->heap == NULL);
    *node = (struct hf_heap_node){.key = key, .number = number, .heap = heap};
    heap->first = meld(heap->first, node);
}

void hf_heap_remove(struct hf_heap_node *node)
{
    struct hf_heap *heap = node->heap;
    struct hf_heap_node *children;

    if (heap == NULL)
        return;
    children = meld_siblings(node->child);
    if (heap->first == node) {
        heap->first = children;
    } else {
        if (node->previous->child == node)
            node->previous->child = node->next;
        else
            node->previous->next = node->next;
        if (node->next != NULL)
            node->next->previous = node->previous;
        heap->first = meld(heap->first, children);
    }
    *node = (struct hf_heap_node){0};
}
