/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A balanced tree of nodes that are embedded in other objects, to find an
 * object by a key and to count those before it.  It allocates nothing, so it
 * cannot fail and never has to grow.  Keys, which users may choose, do not
 * affect its depth, which is at most twice the logarithm of the number of
 * nodes.  An AA tree (Andersson, "Balanced Search Trees Made Simple", WADS
 * 1993).
 */
#ifndef HF_BASE_TREE_H
#define HF_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: in no tree. */
struct hf_tree_node {
    struct hf_tree_node *left;
    struct hf_tree_node *right;
    unsigned level;
    unsigned count; /* of nodes: this one and those below it; 0: in no tree */
};

/* Is ${key} before (< 0), equal to or behind ${node}? */
typedef int hf_tree_compare(const void *key, const struct hf_tree_node *node);

struct hf_tree {
    struct hf_tree_node *root;
    hf_tree_compare *compare;
};

/* The node with ${key}, or NULL. */
struct hf_tree_node *hf_tree_find(const struct hf_tree *tree, const void *key);

/* The first node behind ${key}, which need not be in the tree; NULL: there is
 * none. */
struct hf_tree_node *hf_tree_after(const struct hf_tree *tree, const void *key);

/* The number of nodes before ${key}.  As fast as a search. */
size_t hf_tree_rank(const struct hf_tree *tree, const void *key);

/* Add ${node} with ${key}, which no other node has; remove ${node}, which has
 * ${key}. */
void hf_tree_add(struct hf_tree *tree, struct hf_tree_node *node,
                 const void *key);
void hf_tree_remove(struct hf_tree *tree, struct hf_tree_node *node,
                    const void *key);

/* Is ${node}, which was zeroed or was in a tree, in a tree now? */
static inline bool hf_tree_has(const struct hf_tree_node *node)
{
    return node->count > 0;
}

#endif
