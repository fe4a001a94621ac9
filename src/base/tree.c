/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include <assert.h>

/* The level of an empty subtree is 0. */
static unsigned level_of(const struct hf_tree_node *node)
{
    return node != NULL ? node->level : 0;
}

static unsigned count_of(const struct hf_tree_node *node)
{
    return node != NULL ? node->count : 0;
}

/* The subtrees of ${node} have changed: count its nodes again. */
static void recount(struct hf_tree_node *node)
{
    node->count = count_of(node->left) + 1 + count_of(node->right);
}

/* Rotate right, so that no left child is on the level of its parent. */
static struct hf_tree_node *skew(struct hf_tree_node *node)
{
    struct hf_tree_node *left;

    if (node == NULL || level_of(node->left) != node->level)
        return node;
    left = node->left;
    node->left = left->right;
    left->right = node;
    recount(node);
    recount(left);
    return left;
}

/* Rotate left, so that no right grandchild is on the level of its grandparent.
 */
static struct hf_tree_node *split(struct hf_tree_node *node)
{
    struct hf_tree_node *right;

    if (node == NULL || node->right == NULL ||
        level_of(node->right->right) != node->level)
        return node;
    right = node->right;
    node->right = right->left;
    right->left = node;
    right->level++;
    recount(node);
    recount(right);
    return right;
}

/* Does the invariant of an AA tree hold at ${node}?  Few removals break it, so
 * this test is quick work in most cases. */
static bool is_balanced(const struct hf_tree_node *node)
{
    unsigned left = level_of(node->left), right = level_of(node->right);

    return left + 1 == node->level &&
           (right == left ||
            (right == node->level && level_of(node->right->right) == left));
}

/* A node below ${node} was removed: restore the invariant. */
static struct hf_tree_node *balance(struct hf_tree_node *node)
{
    unsigned left = level_of(node->left), right = level_of(node->right);
    unsigned level = (left < right ? left : right) + 1;

    recount(node);
    if (is_balanced(node))
        return node;
    if (level < node->level) {
        node->level = level;
        if (level < right)
            node->right->level = level;
    }
    node = skew(node);
    node->right = skew(node->right);
    if (node->right != NULL)
        node->right->right = skew(node->right->right);
    node = split(node);
    node->right = split(node->right);
    return node;
}

struct hf_tree_node *hf_tree_find(const struct hf_tree *tree, const void *key)
{
    struct hf_tree_node *node = tree->root;
    int order;

    while (node != NULL && (order = tree->compare(key, node)) != 0)
        node = order < 0 ? node->left : node->right;
    return node;
}

struct hf_tree_node *hf_tree_after(const struct hf_tree *tree, const void *key)
{
    struct hf_tree_node *node = tree->root, *after = NULL;

    while (node != NULL) {
        if (tree->compare(key, node) < 0) {
            after = node;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return after;
}

size_t hf_tree_rank(const struct hf_tree *tree, const void *key)
{
    const struct hf_tree_node *node = tree->root;
    size_t rank = 0;
    int order;

    while (node != NULL) {
        order = tree->compare(key, node);
        if (order >= 0)
            rank += count_of(node->left) + (order > 0 ? 1 : 0);
        if (order == 0)
            return rank;
        node = order < 0 ? node->left : node->right;
    }
    return rank;
}

/* Add ${node} to the subtree ${root}, and return its new root. */
static struct hf_tree_node *add(const struct hf_tree *tree,
                                struct hf_tree_node *root,
                                struct hf_tree_node *node, const void *key)
{
    int order;

    if (root == NULL)
        return node;
    order = tree->compare(key, root);
    assert(order != 0);
    if (order < 0)
        root->left = add(tree, root->left, node, key);
    else
        root->right = add(tree, root->right, node, key);
    recount(root);
    return split(skew(root));
}

void hf_tree_add(struct hf_tree *tree, struct hf_tree_node *node,
                 const void *key)
{
    *node = (struct hf_tree_node){.level = 1, .count = 1};
    tree->root = add(tree, tree->root, node, key);
}

/* Remove the first node of the subtree ${root}: set ${first} to it and return
 * the new root. */
static struct hf_tree_node *remove_first(struct hf_tree_node *root,
                                         struct hf_tree_node **first)
{
    if (root->left == NULL) {
        *first = root;
        return root->right;
    }
    root->left = remove_first(root->left, first);
    return balance(root);
}

/* Remove ${node} from the subtree ${root}, and return the new root. */
static struct hf_tree_node *remove_node(const struct hf_tree *tree,
                                        struct hf_tree_node *root,
                                        const struct hf_tree_node *node,
                                        const void *key)
{
    struct hf_tree_node *next, *right;

    assert(root != NULL);
    if (root != node) {
        if (tree->compare(key, root) < 0)
            root->left = remove_node(tree, root->left, node, key);
        else
            root->right = remove_node(tree, root->right, node, key);
        return balance(root);
    }
    if (root->left == NULL || root->right == NULL)
        return root->left != NULL ? root->left : root->right;
    right = remove_first(root->right, &next);
    *next = (struct hf_tree_node){
        .left = root->left, .right = right, .level = root->level};
    return balance(next);
}

void hf_tree_remove(struct hf_tree *tree, struct hf_tree_node *node,
                    const void *key)
{
    tree->root = remove_node(tree, tree->root, node, key);
    *node = (struct hf_tree_node){0};
}
