/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the three files of a tree of a cache share: cache_tree.c has its nodes,
 * cache_changes.c what is to be reported, and cache_reads.c what is to be read.
 */
#ifndef HF_ZOOKEEPER_CACHE_CACHE_TREE_PRIVATE_H
#define HF_ZOOKEEPER_CACHE_CACHE_TREE_PRIVATE_H

#include "zookeeper_cache/cache_tree.h"

/* A link in a circular list, of which ${list} is the head. */
void hf_cache_link_init(struct hf_cache_link *list);
void hf_cache_link_append(struct hf_cache_link *list,
                          struct hf_cache_link *link);
/* Nothing if it is in no list. */
void hf_cache_link_remove(struct hf_cache_link *link);

/* The node that a link of one of the two lists is embedded in. */
struct hf_cache_node *hf_cache_node_to_read(struct hf_cache_link *link);
struct hf_cache_node *hf_cache_node_to_report(struct hf_cache_link *link);

/* The child of ${parent} with the ${bytes} of ${name}; NULL: none. */
struct hf_cache_node *hf_cache_tree_named(const struct hf_cache_node *parent,
                                          const char *name, size_t bytes);

/* The same, added if it is not there.  NULL: no memory. */
struct hf_cache_node *hf_cache_tree_add(struct hf_cache_node *parent,
                                        const char *name, size_t bytes);

/* Free ${node}, unless it is still needed.  True if it was freed. */
bool hf_cache_tree_trim_one(struct hf_cache_tree *tree,
                            struct hf_cache_node *node);

/* The same, and then those above it that are not needed any more. */
void hf_cache_tree_trim(struct hf_cache_tree *tree, struct hf_cache_node *node);

/* .current of ${node} has changed: it is to be reported, or not any more. */
void hf_cache_tree_changed(struct hf_cache_tree *tree,
                           struct hf_cache_node *node);

#endif
