/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A balanced tree of nodes that are embedded in other objects.  It finds an
 * object by a key and counts the objects before a key.  It allocates nothing,
 * so it cannot fail.  Its depth is at most twice the logarithm of the number of
 * nodes, whatever keys users choose.  An AA tree (Andersson, "Balanced Search
 * Trees Made Simple", WADS 1993).
 */
#ifndef HF_BASE_TREE_H
#define HF_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>

/* A node.  All bytes zero: it is in no tree. */
struct hf_tree_node {
    struct hf_tree_node *left;
    struct hf_tree_node *right;
    unsigned level;
    unsigned count; /* nodes of the subtree that begins here; 0: in no tree */
};

/* Returns < 0, 0 or > 0: ${key} is before, equal to or behind that of ${node}.
 */
typedef int hf_tree_compare(const void *key, const struct hf_tree_node *node);

struct hf_tree {
    struct hf_tree_node *root;
    hf_tree_compare *compare;
};

/* The node with ${key}, or NULL. */
struct hf_tree_node *hf_tree_find(const struct hf_tree *tree, const void *key);

/* Return the first node behind ${key}, or NULL.  ${key} need not be in the
 * tree. */
struct hf_tree_node *hf_tree_after(const struct hf_tree *tree, const void *key);

/* Return the number of nodes before ${key}, in the time of a search. */
size_t hf_tree_rank(const struct hf_tree *tree, const void *key);

/* Add ${node} with ${key}, which no node of the tree may have; or remove
 * ${node}, whose key is ${key}. */
void hf_tree_add(struct hf_tree *tree, struct hf_tree_node *node,
                 const void *key);
void hf_tree_remove(struct hf_tree *tree, struct hf_tree_node *node,
                    const void *key);

/* Is ${node} in a tree?  It must have been zeroed, or have been in a tree. */
static inline bool hf_tree_has(const struct hf_tree_node *node)
{
    return node->count > 0;
}

#endif
