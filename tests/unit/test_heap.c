/* SPDX-License-Identifier: Apache-2.0 */
/* The binary heap of embedded nodes (base/heap.h), compared with a list that
 * is searched. */
#include "base/heap.h"

#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "cmocka/runner.h"

#define NODES 64
#define TURNS 20000

/* The least of those in the list; NULL if it is empty. */
static const struct hf_heap_node *least(const struct hf_heap_node *nodes)
{
    const struct hf_heap_node *first = NULL;

    for (size_t i = 0; i < NODES; i++) {
        const struct hf_heap_node *node = &nodes[i];

        if (node->heap == NULL)
            continue;
        if (first == NULL || node->key < first->key ||
            (node->key == first->key && node->number < first->number))
            first = node;
    }
    return first;
}

TEST(the_least_comes_first_whatever_goes_in_and_out)
{
    struct hf_heap_node nodes[NODES] = {0};
    struct hf_heap heap = {0};
    struct hf_random random;

    hf_random_seed(&random, 1);
    for (size_t i = 0; i < TURNS; i++) {
        size_t at = (size_t)hf_random_below(&random, NODES);

        if (nodes[at].heap == NULL)
            hf_heap_add(&heap, &nodes[at], hf_random_below(&random, 16), at);
        else
            hf_heap_remove(&nodes[at]);
        assert_ptr_equal(heap.first, least(nodes));
    }
}

/* A node that is in no heap can be removed; nothing happens. */
TEST(to_remove_twice_is_nothing)
{
    struct hf_heap_node node = {0};
    struct hf_heap heap = {0};

    hf_heap_add(&heap, &node, 1, 1);
    hf_heap_remove(&node);
    hf_heap_remove(&node);
    assert_null(heap.first);
}
