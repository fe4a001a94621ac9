/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A balanced tree of nodes that are embedded in what they stand for, to find
 * these by a key and to count those before one.  It allocates nothing, so that
 * it cannot fail and never has to be made larger; and its keys, which others
 * may choose, decide neither its shape nor what a search costs: twice the
 * logarithm of their number at most. An AA tree (Andersson, "Balanced Search
 * Trees Made Simple", WADS 1993).
 */
#ifndef HF_CORE_TREE_H
#define HF_CORE_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct hf_tree_node {
    struct hf_tree_node *left;
    struct hf_tree_node *right;
    unsigned level;
    unsigned count; /* of nodes: this one and those below it; 0: in no tree */
};

/* Is ${key} before (< 0), at or behind ${node}? */
typedef int hf_tree_compare(const void *key, const struct hf_tree_node *node);

struct hf_tree {
    struct hf_tree_node *root;
    hf_tree_compare *compare;
};

/* The node of ${key}, or NULL. */
struct hf_tree_node *hf_tree_find(const struct hf_tree *tree, const void *key);

/* The first node behind ${key}, which need not be in it, or NULL. */
struct hf_tree_node *hf_tree_after(const struct hf_tree *tree, const void *key);

/* How many nodes come before ${key}.  As quick as a search. */
size_t hf_tree_rank(const struct hf_tree *tree, const void *key);

/* Put in ${node}, whose ${key} no other has; take it out. */
void hf_tree_add(struct hf_tree *tree, struct hf_tree_node *node,
                 const void *key);
void hf_tree_remove(struct hf_tree *tree, struct hf_tree_node *node,
                    const void *key);

/* Is ${node}, which was zeroed or was in a tree, in one now? */
static inline bool hf_tree_has(const struct hf_tree_node *node)
{
    return node->count > 0;
}

#endif
