/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of nodes of a cache, in one block of memory: the struct, two arrays,
 * and the paths.  The nodes are visited twice: to count them, and to enter
 * them.
 */
#include "zookeeper_cache/cache_query.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

/* Where a walk is: a node, and how many levels below .top. */
struct walk {
    const struct hf_cache_tree *tree;
    struct hf_cache_node *top;
    struct hf_cache_node *node;
    uint64_t level;
    uint64_t depth;
};

/* ${node}, or the first of its siblings behind it, that is known. */
static struct hf_cache_node *known(struct hf_cache_node *node)
{
    while (node != NULL && node->current == NULL)
        node = hf_cache_tree_sibling(node);
    return node;
}

/* Go to the next node, a parent before its children.  False: there is none. */
static bool go_on(struct walk *walk)
{
    struct hf_cache_node *next = NULL;

    if (walk->level < walk->depth)
        next = known(hf_cache_tree_child(walk->node));
    if (next != NULL) {
        walk->level++;
        walk->node = next;
        return true;
    }
    while (walk->node != walk->top &&
           (next = known(hf_cache_tree_sibling(walk->node))) == NULL) {
        walk->node = walk->node->parent;
        walk->level--;
    }
    if (next != NULL)
        walk->node = next;
    return next != NULL;
}

/* Count the nodes, and the bytes of their paths with a NUL each. */
static void count(struct walk walk, size_t *nodes, size_t *bytes)
{
    *nodes = *bytes = 0;
    do {
        ++*nodes;
        *bytes += hf_cache_tree_path_bytes(walk.tree, walk.node) + 1;
    } while (go_on(&walk));
}

hf_status hf_cache_query_list(const struct hf_cache_tree *tree,
                              struct hf_cache_node *top, uint64_t depth,
                              struct hf_zookeeper_cache_list **list)
{
    struct walk walk = {tree, top, top, 0, depth};
    const struct hf_zookeeper_cache_node **nodes;
    struct hf_zookeeper_cache_list *made;
    size_t counted, bytes, i = 0;
    const char **paths;
    char *text;

    count(walk, &counted, &bytes);
    made = hf_alloc(sizeof *made + counted * 2 * sizeof(void *) + bytes);
    if (made == NULL)
        return HF_ENOMEM;
    paths = (const char **)(void *)(made + 1);
    nodes = (const struct hf_zookeeper_cache_node **)(void *)(paths + counted);
    text = (char *)(void *)(nodes + counted);
    do {
        paths[i] = text;
        nodes[i++] = &hf_cache_content_reference(walk.node->current)->node;
        hf_cache_tree_put_path(tree, walk.node, text);
        text += hf_cache_tree_path_bytes(tree, walk.node) + 1;
    } while (go_on(&walk));
    *made = (struct hf_zookeeper_cache_list){counted, paths, nodes};
    *list = made;
    return HF_OK;
}

void hf_zookeeper_cache_list_free(struct hf_zookeeper_cache_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        hf_zookeeper_cache_node_free(list->nodes[i]);
    hf_free(list);
}
