/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which changes of a cache the user has not been notified of, in the order in
 * which they are reported.
 *
 * A node that changes again keeps its position, so that it is reported before
 * those that were found below it.  Only a removal moves to the end, behind the
 * removals of what was below.
 */
#include "zookeeper_cache/cache_tree_private.h"

#include <assert.h>

/* Does the user have to be notified that ${before} has become ${after}? */
static bool differ(const struct hf_cache_content *before,
                   const struct hf_cache_content *after)
{
    if (before == NULL || after == NULL)
        return before != after;
    return before->node.stat.czxid != after->node.stat.czxid ||
           before->node.stat.mzxid != after->node.stat.mzxid;
}

/* There is nothing to report of ${node}, perhaps but for another Stat. */
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
               : hf_cache_node_to_report(first);
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
