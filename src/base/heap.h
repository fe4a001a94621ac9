/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of nodes that are embedded in other objects: the least key comes
 * first, and among equal keys the least number.  It allocates nothing and
 * cannot fail.  A pairing heap (Fredman, Sedgewick, Sleator and Tarjan, "The
 * pairing heap", Algorithmica 1986): to add a node takes constant time, to
 * remove one amortized logarithmic time.
 */
#ifndef HF_BASE_HEAP_H
#define HF_BASE_HEAP_H

#include <stdint.h>

struct hf_heap;

/* A node.  All bytes zero: it is in no heap. */
struct hf_heap_node {
    uint64_t key;
    uint64_t number;
    struct hf_heap *heap; /* the heap that has this node, or NULL */
    struct hf_heap_node *child;
    struct hf_heap_node *next;     /* the next sibling */
    struct hf_heap_node *previous; /* the previous sibling; of the first one:
                                      the parent */
};

/* A heap.  All bytes zero: it is empty. */
struct hf_heap {
    struct hf_heap_node *first;
};

/* Return the least key; UINT64_MAX (HF_FOREVER) if the heap is empty. */
uint64_t hf_heap_first_key(const struct hf_heap *heap);

/* Add ${node}, which is in no heap. */
void hf_heap_add(struct hf_heap *heap, struct hf_heap_node *node, uint64_t key,
                 uint64_t number);

/* Remove ${node} from its heap; do nothing if it is in none. */
void hf_heap_remove(struct hf_heap_node *node);

#endif
