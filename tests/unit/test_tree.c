/* SPDX-License-Identifier: Apache-2.0 */
/* The balanced tree of embedded nodes (base/tree.h). */
#include "base/tree.h"

#include <stdbool.h>
#include <string.h>

#include "base/random.h"
#include "cmocka/runner.h"

#define ENTRIES 4096
#define TURNS 50000

struct tree_entry {
    struct hf_tree_node node; /* first */
    unsigned key;
    bool in;
};

static unsigned compared;

static int compare(const void *key, const struct hf_tree_node *node)
{
    unsigned a = *(const unsigned *)key;
    unsigned b = ((const struct tree_entry *)(const void *)node)->key;

    compared++;
    return (a > b) - (a < b);
}

static struct tree_entry entries[ENTRIES];

static void put(struct hf_tree *tree, unsigned key)
{
    hf_tree_add(tree, &entries[key].node, &key);
    entries[key].in = true;
}

static void take_out(struct hf_tree *tree, unsigned key)
{
    hf_tree_remove(tree, &entries[key].node, &key);
    entries[key].in = false;
}

static void must_have(const struct hf_tree *tree, unsigned key)
{
    const struct hf_tree_node *found = hf_tree_find(tree, &key);

    assert_int_equal(hf_tree_has(&entries[key].node), entries[key].in);
    if (entries[key].in)
        assert_ptr_equal(found, &entries[key].node);
    else
        assert_null(found);
}

/* For each key, check how many nodes are before it and which one follows. */
static void must_stand_in_order(const struct hf_tree *tree, unsigned keys)
{
    size_t before = 0;
    unsigned after = 0;

    for (unsigned key = 0; key < keys; key++) {
        assert_int_equal(hf_tree_rank(tree, &key), before);
        before += entries[key].in ? 1 : 0;
        for (after = key + 1; after < keys && !entries[after].in;)
            after++;
        assert_ptr_equal(hf_tree_after(tree, &key),
                         after < keys ? &entries[after].node : NULL);
    }
}

static struct hf_tree empty(void)
{
    memset(entries, 0, sizeof(entries));
    for (unsigned i = 0; i < ENTRIES; i++)
        entries[i].key = i;
    return (struct hf_tree){NULL, compare};
}

TEST(it_has_what_went_in_and_not_out)
{
    struct hf_tree tree = empty();
    struct hf_random random;

    hf_random_seed(&random, 1);
    for (unsigned i = 0; i < TURNS; i++) {
        unsigned key = (unsigned)hf_random_below(&random, 256);

        if (entries[key].in)
            take_out(&tree, key);
        else
            put(&tree, key);
        must_have(&tree, (unsigned)hf_random_below(&random, 256));
        if (i % 100 == 0)
            must_stand_in_order(&tree, 256);
    }
    for (unsigned key = 0; key < 256; key++)
        must_have(&tree, key);
}

/* 4096 nodes have at most 12 levels, and a search visits at most two nodes on
 * each. */
TEST(a_search_is_short_whatever_the_order)
{
    struct hf_tree tree = empty();

    for (unsigned key = 0; key < ENTRIES; key++)
        put(&tree, key);
    for (unsigned key = 0; key < ENTRIES; key += 2)
        take_out(&tree, key);
    for (unsigned key = 0; key < ENTRIES; key++) {
        compared = 0;
        must_have(&tree, key);
        assert_true(compared <= 24);
    }
}
