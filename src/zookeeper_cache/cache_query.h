/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries of the tree of a cache.  Each shows the tree at one instant.
 */
#ifndef HF_ZOOKEEPER_CACHE_CACHE_QUERY_H
#define HF_ZOOKEEPER_CACHE_CACHE_QUERY_H

#include "zookeeper_cache/cache_tree.h"

/* Set ${list} to ${top}, which is known, and what is known up to ${depth}
 * levels below it.  HF_ENOMEM. */
hf_status hf_cache_query_list(const struct hf_cache_tree *tree,
                              struct hf_cache_node *top, uint64_t depth,
                              struct hf_zookeeper_cache_list **list);

#endif
