/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of nodes that are embedded in what they stand for: the least key comes
 * first, the least number among equal keys.  It allocates nothing and cannot
 * fail.  A pairing heap (Fredman, Sedgewick, Sleator and Tarjan, "The pairing
 * heap", Algorithmica 1986): to put one in takes constant time, to take one out
 * the logarithm of their number in the long run.
 */
#ifndef HF_CORE_HEAP_H
#define HF_CORE_HEAP_H

#include <stdint.h>

struct hf_heap;

/* Zeroed: in no heap. */
struct hf_heap_node {
    uint64_t key;
    uint64_t number;
    struct hf_heap *heap; /* that it is in, or NULL */
    struct hf_heap_node *child;
    struct hf_heap_node *next;     /* sibling */
    struct hf_heap_node *previous; /* sibling, or the parent of the first */
};

/* Zeroed: empty. */
struct hf_heap {
    struct hf_heap_node *first;
};

/* Put in ${node}, which is in no heap. */
void hf_heap_add(struct hf_heap *heap, struct hf_heap_node *node, uint64_t key,
                 uint64_t number);

/* Take ${node} out of the heap that it is in, if any. */
void hf_heap_remove(struct hf_heap_node *node);

#endif
