/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a cache, and which changes of them the user has not been
 * notified of.  Each node has its name only, and its children in a tree by
 * name, so that paths are not stored.  No function calls itself, because a path
 * may have very many levels.
 */
#include "zookeeper_cache/cache_tree.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"

/* ----------------------------------------------------------------- lists -- */

static void link_init(struct hf_cache_link *list)
{
    list->next = list->previous = list;
}

void hf_cache_link_append(struct hf_cache_link *list,
                          struct hf_cache_link *link)
{
    link->next = list;
    link->previous = list->previous;
    list->previous->next = link;
    list->previous = link;
}

void hf_cache_link_remove(struct hf_cache_link *link)
{
    if (link->next == NULL)
        return;
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link->next = link->previous = NULL;
}

/* -------------------------------------------------------------- children -- */

/* The key of a tree of children. */
struct name {
    const char *text;
    size_t bytes;
};

/* The node that ${by_name} is embedded in; NULL for NULL. */
static struct hf_cache_node *of_tree(const struct hf_tree_node *by_name)
{
    return container_of_or_null(by_name, struct hf_cache_node, by_name);
}

/* The order of the bytes of names. */
static int compare(const void *key, const struct hf_tree_node *by_name)
{
    const struct hf_cache_node *node = of_tree(by_name);
    const struct name *name = key;
    size_t shorter = name->bytes < node->bytes ? name->bytes : node->bytes;
    int order = memcmp(name->text, node->name, shorter);

    if (order != 0 || name->bytes == node->bytes)
        return order;
    return name->bytes < node->bytes ? -1 : 1;
}

struct hf_cache_node *hf_cache_tree_named(const struct hf_cache_node *parent,
                                          const char *name, size_t bytes)
{
    const struct hf_tree children = {parent->children, compare};
    const struct name key = {name, bytes};

    return of_tree(hf_tree_find(&children, &key));
}

struct hf_cache_node *hf_cache_tree_child(const struct hf_cache_node *node)
{
    struct hf_tree_node *first = node->children;

    while (first != NULL && first->left != NULL)
        first = first->left;
    return of_tree(first);
}

struct hf_cache_node *hf_cache_tree_sibling(const struct hf_cache_node *node)
{
    struct name key = {node->name, node->bytes};
    struct hf_tree siblings = {NULL, compare};

    if (node->parent == NULL)
        return NULL;
    siblings.root = node->parent->children;
    return of_tree(hf_tree_after(&siblings, &key));
}

/* A node that is in no tree.  NULL: no memory. */
static struct hf_cache_node *new_node(struct hf_cache_node *parent,
                                      const char *name, size_t bytes)
{
    struct hf_cache_node *node = hf_alloc(sizeof *node + bytes);

    if (node == NULL)
        return NULL;
    node->parent = parent;
    node->children_zxid = -1;
    node->bytes = (uint32_t)bytes;
    memcpy(node->name, name, bytes);
    return node;
}

struct hf_cache_node *hf_cache_tree_add(struct hf_cache_node *parent,
                                        const char *name, size_t bytes)
{
    struct hf_cache_node *node = hf_cache_tree_named(parent, name, bytes);
    struct hf_tree children = {parent->children, compare};
    const struct name key = {name, bytes};

    if (node != NULL || (node = new_node(parent, name, bytes)) == NULL)
        return node;
    hf_tree_add(&children, &node->by_name, &key);
    parent->children = children.root;
    return node;
}

/* ------------------------------------------------------------------- end -- */

/* Free ${node}, which has no children. */
static void free_node(struct hf_cache_tree *tree, struct hf_cache_node *node)
{
    struct hf_cache_node *parent = node->parent;
    struct hf_tree siblings = {NULL, compare};
    const struct name key = {node->name, node->bytes};

    assert(node->children == NULL && node->asked == 0);
    if (parent != NULL) {
        siblings.root = parent->children;
        hf_tree_remove(&siblings, &node->by_name, &key);
        parent->children = siblings.root;
    }
    if (tree->release != NULL)
        tree->release(node);
    hf_cache_link_remove(&node->to_read);
    hf_cache_link_remove(&node->to_report);
    hf_cache_content_release(node->current);
    hf_cache_content_release(node->reported);
    hf_free(node);
}

/* Must ${node} be kept?  See struct hf_cache_node. */
static bool is_used(const struct hf_cache_node *node)
{
    return node->parent == NULL || node->children != NULL ||
           node->current != NULL || node->reported != NULL ||
           node->wanted != 0 || node->asked != 0 || node->unreadable;
}

bool hf_cache_tree_trim_one(struct hf_cache_tree *tree,
                            struct hf_cache_node *node)
{
    if (is_used(node))
        return false;
    free_node(tree, node);
    return true;
}

void hf_cache_tree_trim(struct hf_cache_tree *tree, struct hf_cache_node *node)
{
    struct hf_cache_node *parent;

    do
        parent = node->parent;
    while (hf_cache_tree_trim_one(tree, node) && (node = parent) != NULL);
}

struct hf_cache_node *hf_cache_tree_first_leaf(struct hf_cache_node *top)
{
    struct hf_cache_node *child;

    while ((child = hf_cache_tree_child(top)) != NULL)
        top = child;
    return top;
}

struct hf_cache_node *hf_cache_tree_after(const struct hf_cache_node *top,
                                          const struct hf_cache_node *node)
{
    struct hf_cache_node *sibling;

    if (node == top)
        return NULL;
    sibling = hf_cache_tree_sibling(node);
    return sibling != NULL ? hf_cache_tree_first_leaf(sibling) : node->parent;
}

bool hf_cache_tree_init(struct hf_cache_tree *tree, const char *path,
                        uint64_t depth, bool without_data, bool reports)
{
    *tree = (struct hf_cache_tree){
        .depth = depth, .without_data = without_data, .reports = reports};
    link_init(&tree->to_read);
    link_init(&tree->to_report);
    tree->path = hf_strdup(path);
    tree->root = new_node(NULL, "", 0);
    if (tree->path != NULL && tree->root != NULL)
        return true;
    hf_free(tree->path);
    hf_free(tree->root);
    return false;
}

void hf_cache_tree_free(struct hf_cache_tree *tree)
{
    struct hf_cache_node *node = hf_cache_tree_first_leaf(tree->root), *next;

    assert(tree->reading == 0);
    for (; node != NULL; node = next) {
        next = hf_cache_tree_after(tree->root, node);
        free_node(tree, node);
    }
    hf_free(tree->path);
}

/* ----------------------------------------------------------------- paths -- */

/* How many bytes of .path come before the "/" and the name of a child. */
static size_t prefix_bytes(const struct hf_cache_tree *tree)
{
    size_t bytes = strlen(tree->path);

    return bytes == 1 ? 0 : bytes; /* "/" */
}

bool hf_cache_tree_covers(const struct hf_cache_tree *tree, const char *path)
{
    size_t prefix = prefix_bytes(tree);

    if (strcmp(path, tree->path) == 0)
        return true;
    return strncmp(path, tree->path, prefix) == 0 && path[prefix] == '/';
}

struct hf_cache_node *hf_cache_tree_find(const struct hf_cache_tree *tree,
                                         const char *path)
{
    struct hf_cache_node *node = tree->root;
    const char *name = path + prefix_bytes(tree);
    size_t bytes;

    if (strcmp(path, tree->path) == 0)
        return node;
    while (node != NULL && *name == '/') {
        name++;
        bytes = strcspn(name, "/");
        node = hf_cache_tree_named(node, name, bytes);
        name += bytes;
    }
    return node;
}

size_t hf_cache_tree_path_bytes(const struct hf_cache_tree *tree,
                                const struct hf_cache_node *node)
{
    size_t bytes = prefix_bytes(tree);

    if (node->parent == NULL)
        return strlen(tree->path);
    for (; node->parent != NULL; node = node->parent)
        bytes += 1 + node->bytes;
    return bytes;
}

/* The path is written from its end to its beginning. */
void hf_cache_tree_put_path(const struct hf_cache_tree *tree,
                            const struct hf_cache_node *node, char *path)
{
    char *end = path + hf_cache_tree_path_bytes(tree, node);

    if (node->parent == NULL) {
        memcpy(path, tree->path, strlen(tree->path));
        return;
    }
    for (; node->parent != NULL; node = node->parent) {
        end -= node->bytes;
        memcpy(end, node->name, node->bytes);
        *--end = '/';
    }
    memcpy(path, tree->path, prefix_bytes(tree));
}

/* -------------------------------------------------------- to be reported -- */

/* The order of reports: a node that changes again keeps its position, so that
 * it is reported before the nodes that were found below it.  Only a removal
 * moves to the end, behind the removals of the nodes below. */

/* Does the user have to be notified that ${before} has become ${after}? */
static bool differ(const struct hf_cache_content *before,
                   const struct hf_cache_content *after)
{
    if (before == NULL || after == NULL)
        return before != after;
    return before->node.stat.czxid != after->node.stat.czxid ||
           before->node.stat.mzxid != after->node.stat.mzxid;
}

/* There is nothing to report about ${node}.  If only fields of its Stat have
 * changed, the new content counts as reported. */
static void report_nothing(struct hf_cache_node *node)
{
    hf_cache_link_remove(&node->to_report);
    if (node->reported == node->current)
        return;
    hf_cache_content_release(node->reported);
    node->reported = hf_cache_content_reference(node->current);
}

void hf_cache_tree_changed(struct hf_cache_tree *tree,
                           struct hf_cache_node *node)
{
    if (!tree->reports)
        return;
    if (!differ(node->reported, node->current)) {
        report_nothing(node);
        return;
    }
    if (node->current == NULL)
        hf_cache_link_remove(&node->to_report);
    if (node->to_report.next == NULL)
        hf_cache_link_append(&tree->to_report, &node->to_report);
}

void hf_cache_tree_mark(struct hf_cache_tree *tree)
{
    if (tree->marker.next == NULL)
        hf_cache_link_append(&tree->to_report, &tree->marker);
}

struct hf_cache_node *hf_cache_tree_next_change(struct hf_cache_tree *tree,
                                                bool *marked)
{
    struct hf_cache_link *first = tree->to_report.next;

    *marked = first == &tree->marker;
    if (*marked)
        hf_cache_link_remove(first);
    return *marked || first == &tree->to_report
               ? NULL
               : container_of(first, struct hf_cache_node, to_report);
}

void hf_cache_tree_take_change(struct hf_cache_tree *tree,
                               struct hf_cache_node *node,
                               struct hf_cache_content **before,
                               struct hf_cache_content **after)
{
    assert(node->to_report.next != NULL);
    *before = node->reported;
    *after = hf_cache_content_reference(node->current);
    node->reported = hf_cache_content_reference(node->current);
    hf_cache_link_remove(&node->to_report);
    hf_cache_tree_trim(tree, node);
}
