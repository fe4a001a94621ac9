/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes of the tree are to be read, and what the tree learns from
 * answers.  cache_reader.c makes the calls.
 */
#include "zookeeper_cache/cache_tree.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"

/* ----------------------------------------------------------- to be read -- */

void hf_cache_tree_want(struct hf_cache_tree *tree, struct hf_cache_node *node,
                        unsigned wanted)
{
    node->wanted |= (uint8_t)wanted;
    if (node->asked == 0 && node->to_read.next == NULL && wanted != 0)
        hf_cache_link_append(&tree->to_read, &node->to_read);
}

bool hf_cache_tree_idle(const struct hf_cache_tree *tree)
{
    return tree->to_read.next == &tree->to_read && tree->reading == 0;
}

/* Are the children of ${node} in the cache? */
static bool has_children(const struct hf_cache_tree *tree,
                         const struct hf_cache_node *node)
{
    uint64_t level = 0;

    if (tree->depth == HF_ZOOKEEPER_CACHE_TREE)
        return true;
    for (; level < tree->depth && node->parent != NULL; level++)
        node = node->parent;
    return level < tree->depth;
}

/* Known nodes are compared.  The root, and nodes that could not be read, are
 * read again.  All other nodes are marked already, or are found when their
 * parent is listed. */
void hf_cache_tree_compare_all(struct hf_cache_tree *tree)
{
    struct hf_cache_node *node = hf_cache_tree_first_leaf(tree->root);

    for (; node != NULL; node = hf_cache_tree_after(tree->root, node)) {
        if (node->current != NULL)
            hf_cache_tree_want(tree, node, HF_CACHE_STAT | HF_CACHE_COMPARE);
        else if (node->parent == NULL || node->unreadable)
            hf_cache_tree_want(tree, node, HF_CACHE_DATA | HF_CACHE_COMPARE);
    }
}

/* ---------------------------------------------------------------- events -- */

/* Mark what must be read after an event of ${node} itself. */
static void event_of(struct hf_cache_tree *tree, struct hf_cache_node *node,
                     enum hf_zookeeper_event_kind kind)
{
    bool moves = kind == HF_ZOOKEEPER_CREATED || kind == HF_ZOOKEEPER_DELETED;

    if (kind != HF_ZOOKEEPER_CHILDREN_CHANGED)
        hf_cache_tree_want(tree, node, HF_CACHE_DATA);
    else if (has_children(tree, node))
        hf_cache_tree_want(tree, node, HF_CACHE_CHILDREN);
    else
        hf_cache_tree_want(tree, node, HF_CACHE_STAT);
    if (moves && tree->recursive && node->parent != NULL)
        hf_cache_tree_want(tree, node->parent, HF_CACHE_STAT);
}

/* The event is about the child ${name} of ${parent}, or about a node below that
 * child, and there is no such child in the tree.  ${gone}: it was deleted. */
static void event_of_unknown(struct hf_cache_tree *tree,
                             struct hf_cache_node *parent, const char *name,
                             size_t bytes, bool gone)
{
    struct hf_cache_node *node;

    if (gone) {
        hf_cache_tree_want(tree, parent, HF_CACHE_STAT);
        return;
    }
    node = hf_cache_tree_add(parent, name, bytes);
    hf_cache_tree_want(tree, parent,
                       node != NULL ? HF_CACHE_STAT : HF_CACHE_CHILDREN);
    if (node != NULL)
        hf_cache_tree_want(tree, node, HF_CACHE_DATA);
}

/* The length of the first name in the ${bytes} of ${path}. */
static size_t name_bytes(const char *path, size_t bytes)
{
    const char *end = memchr(path, '/', bytes);

    return end != NULL ? (size_t)(end - path) : bytes;
}

/* Follow the path down to the node of the event.  If a node on the way is not
 * known, that node is marked to be read and listed, even if it is being read
 * now, because the answer may be older than the event. */
void hf_cache_tree_event(struct hf_cache_tree *tree,
                         enum hf_zookeeper_event_kind kind, const char *path,
                         size_t bytes)
{
    struct hf_cache_node *node = tree->root, *child;
    size_t at = strlen(tree->path), name;

    for (at -= at == 1; at < bytes - (bytes == 1); at += name) {
        if (!has_children(tree, node))
            return;
        if (node->current == NULL) {
            hf_cache_tree_want(tree, node, HF_CACHE_DATA | HF_CACHE_CHILDREN);
            return;
        }
        at++;
        name = name_bytes(path + at, bytes - at);
        child = hf_cache_tree_named(node, path + at, name);
        if (child == NULL) {
            event_of_unknown(tree, node, path + at, name,
                             kind == HF_ZOOKEEPER_DELETED &&
                                 at + name == bytes);
            return;
        }
        node = child;
    }
    event_of(tree, node, kind);
}

/* ----------------------------------------------------------- one answer -- */

/* There was no memory for the answer to a read of ${asked}: mark that again, to
 * be read later. */
static void starve(struct hf_cache_tree *tree, struct hf_cache_node *node,
                   unsigned asked)
{
    tree->starved = true;
    node->wanted |= (uint8_t)asked;
}

/* ${node} can be read. */
static void set_readable(struct hf_cache_tree *tree, struct hf_cache_node *node)
{
    tree->unreadable -= node->unreadable;
    node->unreadable = false;
}

/* Set .current of ${node} to ${content}, which belongs to the tree from now
 * on. */
static void set_current(struct hf_cache_tree *tree, struct hf_cache_node *node,
                        struct hf_cache_content *content)
{
    hf_cache_content_release(node->current);
    node->current = content;
    hf_cache_tree_changed(tree, node);
}

/* May the data of a node with ${stat} differ from what is known of ${node}? */
static bool has_moved(const struct hf_cache_node *node,
                      const struct hf_zookeeper_stat *stat)
{
    const struct hf_cache_content *current = node->current;

    return current == NULL || current->node.stat.czxid != stat->czxid ||
           current->node.stat.mzxid != stat->mzxid;
}

/* The data of ${node} have not changed: do other fields of its Stat differ from
 * ${stat}? */
static bool has_other_stat(const struct hf_cache_node *node,
                           const struct hf_zookeeper_stat *stat)
{
    const struct hf_zookeeper_stat *known = &node->current->node.stat;

    return known->pzxid != stat->pzxid || known->cversion != stat->cversion ||
           known->aversion != stat->aversion ||
           known->children != stat->children;
}

/* Set .current of ${node} from ${result}.  Data that have not changed are
 * shared with the old content. */
static void set_content(struct hf_cache_tree *tree, struct hf_cache_node *node,
                        const struct hf_zookeeper_result *result,
                        unsigned asked)
{
    struct hf_cache_content *content;

    if (!has_moved(node, &result->stat))
        content = has_other_stat(node, &result->stat)
                      ? hf_cache_content_with_stat(node->current, &result->stat)
                      : hf_cache_content_reference(node->current);
    else if (tree->without_data)
        content = hf_cache_content_new(&result->stat, NULL, 0);
    else
        content =
            hf_cache_content_new(&result->stat, result->data, result->bytes);
    if (content != NULL)
        set_current(tree, node, content);
    else
        starve(tree, node, asked);
}

/* Decide by ${stat} whether the children of ${node} must be listed.  With a
 * recursive watch they need not be listed again: the events of all children up
 * to this Stat came before the answer.  But if events may have been missed,
 * they must be listed if pzxid has changed. */
static void look_for_children(const struct hf_cache_tree *tree,
                              struct hf_cache_node *node,
                              const struct hf_zookeeper_stat *stat,
                              unsigned asked)
{
    bool compares = ((asked | node->wanted) & HF_CACHE_COMPARE) != 0;
    bool lists;

    if (!has_children(tree, node))
        return;
    if (node->children_zxid < 0)
        lists = !tree->recursive || stat->children > 0;
    else
        lists = (!tree->recursive || compares) &&
                node->children_zxid != stat->pzxid;
    if (lists)
        node->wanted |= HF_CACHE_CHILDREN;
    else
        node->children_zxid = stat->pzxid;
}

/* A child that is missing in the list may be gone, or was created after the
 * list was made.  So it is read itself. */
static void compare_listed(struct hf_cache_tree *tree,
                           struct hf_cache_node *node)
{
    struct hf_cache_node *child = hf_cache_tree_child(node);

    for (; child != NULL; child = hf_cache_tree_sibling(child)) {
        if (!child->listed && (child->current != NULL || child->unreadable))
            hf_cache_tree_want(tree, child, HF_CACHE_STAT);
        child->listed = false;
    }
}

/* Add the listed children to the tree, and mark new ones to be read.  A child
 * that could not be read is also read again, because it had no one-shot watch
 * and may be another node by now. */
static void set_children(struct hf_cache_tree *tree, struct hf_cache_node *node,
                         const struct hf_zookeeper_result *result)
{
    struct hf_cache_node *child;

    node->children_zxid = result->stat.pzxid;
    for (size_t i = 0; i < result->child_count; i++) {
        child = hf_cache_tree_add(node, result->children[i],
                                  strlen(result->children[i]));
        if (child == NULL) {
            starve(tree, node, HF_CACHE_CHILDREN);
            break;
        }
        child->listed = true;
        if (child->current == NULL && (!child->unreadable || !tree->recursive))
            hf_cache_tree_want(tree, child, HF_CACHE_DATA);
    }
    compare_listed(tree, node);
}

/* The answer shows that the node exists: take in its Stat, data or children. */
static void found(struct hf_cache_tree *tree, struct hf_cache_node *node,
                  const struct hf_zookeeper_result *result, unsigned asked)
{
    bool has_data = (asked & HF_CACHE_DATA) != 0 || tree->without_data;

    set_readable(tree, node);
    if (has_moved(node, &result->stat) && !has_data)
        node->wanted |= HF_CACHE_DATA | (asked & HF_CACHE_COMPARE);
    else
        set_content(tree, node, result, asked);
    if (node->current == NULL)
        return;
    if ((asked & HF_CACHE_CHILDREN) != 0)
        set_children(tree, node, result);
    else
        look_for_children(tree, node, &result->stat, asked);
}

/* ${top} does not exist, or cannot be read: forget it and all nodes below
 * it. */
static void forget(struct hf_cache_tree *tree, struct hf_cache_node *top)
{
    struct hf_cache_node *node = hf_cache_tree_first_leaf(top), *next;

    for (; node != NULL; node = next) {
        next = hf_cache_tree_after(top, node);
        set_readable(tree, node);
        set_current(tree, node, NULL);
        node->children_zxid = -1;
        node->wanted &= node == top ? HF_CACHE_DATA : 0;
        hf_cache_link_remove(&node->to_read);
        if (node != top)
            hf_cache_tree_trim_one(tree, node);
    }
}

/* Is the answer older than what is known?  That can be so because the server of
 * a new session may be behind the server of the last one. */
static bool is_old(const struct hf_cache_node *node,
                   const struct hf_zookeeper_result *result)
{
    const struct hf_zookeeper_stat *stat;

    if (node->current == NULL)
        return false;
    stat = &node->current->node.stat;
    return result->zxid < stat->czxid || result->zxid < stat->mzxid;
}

/* The read of ${node} has ended.  Returns what was asked, enum
 * hf_cache_want. */
static unsigned end_read(struct hf_cache_tree *tree, struct hf_cache_node *node)
{
    unsigned asked = node->asked;

    assert(asked != 0 && tree->reading > 0);
    node->asked = 0;
    tree->reading--;
    return asked;
}

/* Queue ${node} to be read again if something of it is wanted; else free it if
 * it is not needed any more. */
static void go_on(struct hf_cache_tree *tree, struct hf_cache_node *node)
{
    if (node->wanted != 0)
        hf_cache_tree_want(tree, node, node->wanted);
    else
        hf_cache_tree_trim(tree, node);
}

void hf_cache_tree_answered(struct hf_cache_tree *tree,
                            struct hf_cache_node *node,
                            const struct hf_zookeeper_result *result)
{
    unsigned asked = end_read(tree, node);
    bool has_parent = node->parent == NULL || node->parent->current != NULL;

    node->failures = 0;
    if (!has_parent) {
        node->wanted = 0;
    } else if (is_old(node, result)) {
        /* Keep what is known. */
    } else if (result->status == HF_OK) {
        found(tree, node, result, asked);
    } else {
        forget(tree, node);
        node->unreadable = result->status != HF_EGONE;
        tree->unreadable += node->unreadable;
        /* If the root does not exist, a GET has set no watch.  So an EXISTS
         * must set one, so that the creation is reported. */
        if (!tree->recursive && node->parent == NULL && !result->watching &&
            result->status == HF_EGONE)
            node->wanted |= HF_CACHE_STAT;
    }
    go_on(tree, node);
}

void hf_cache_tree_unanswered(struct hf_cache_tree *tree,
                              struct hf_cache_node *node)
{
    unsigned asked = end_read(tree, node);

    hf_cache_tree_want(tree, node, asked);
}

bool hf_cache_tree_failed(struct hf_cache_tree *tree,
                          struct hf_cache_node *node)
{
    if (node->failures == HF_CACHE_FAILURES_MAX)
        return false;
    node->failures++;
    hf_cache_tree_unanswered(tree, node);
    return true;
}

/* ----------------------------------------------------------------- begin -- */

/* Which part of .wanted of ${node} is read next. */
static unsigned next_part(const struct hf_cache_node *node)
{
    if ((node->wanted & HF_CACHE_DATA) != 0)
        return HF_CACHE_DATA | HF_CACHE_STAT | HF_CACHE_COMPARE;
    if ((node->wanted & HF_CACHE_STAT) != 0)
        return HF_CACHE_STAT | HF_CACHE_COMPARE;
    return HF_CACHE_CHILDREN | HF_CACHE_COMPARE;
}

struct hf_cache_node *hf_cache_tree_begin(struct hf_cache_tree *tree,
                                          enum hf_zookeeper_op_kind *kind)
{
    struct hf_cache_link *first = tree->to_read.next;
    struct hf_cache_node *node;

    if (first == &tree->to_read)
        return NULL;
    node = container_of(first, struct hf_cache_node, to_read);
    hf_cache_link_remove(first);
    node->asked = (uint8_t)(node->wanted & next_part(node));
    node->wanted &= (uint8_t)~node->asked;
    tree->reading++;
    assert(node->asked != 0);
    if ((node->asked & HF_CACHE_CHILDREN) != 0)
        *kind = HF_ZOOKEEPER_CHILDREN;
    else if ((node->asked & HF_CACHE_DATA) != 0 && !tree->without_data)
        *kind = HF_ZOOKEEPER_GET;
    else
        *kind = HF_ZOOKEEPER_EXISTS;
    return node;
}
