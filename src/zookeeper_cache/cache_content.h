/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a node at one time: its Stat and its data.  A content never
 * changes, so users, events and the cache can share it, each with a reference.
 * If only the Stat of a node has changed, the new content shares the data of
 * the old one.
 */
#ifndef HF_ZOOKEEPER_CACHE_CACHE_CONTENT_H
#define HF_ZOOKEEPER_CACHE_CACHE_CONTENT_H

#include <holdfast/zookeeper_cache.h>

struct hf_cache_content {
    struct hf_zookeeper_cache_node node; /* what users see */
    _Atomic unsigned references;
    struct hf_cache_content *owner; /* the content that has the data; NULL: they
                                       are in .data here */
    unsigned char data[];
};

/* Make a content with one reference.  ${data} are copied.  NULL: no memory. */
struct hf_cache_content *
hf_cache_content_new(const struct hf_zookeeper_stat *stat, const void *data,
                     size_t bytes);

/* Make a content with ${stat} that shares the data of ${content}.  NULL: no
 * memory. */
struct hf_cache_content *
hf_cache_content_with_stat(struct hf_cache_content *content,
                           const struct hf_zookeeper_stat *stat);

/* Add a reference.  Returns ${content}, which may be NULL. */
struct hf_cache_content *
hf_cache_content_reference(struct hf_cache_content *content);

/* Drop a reference; the last one frees ${content}, which may be NULL.  May be
 * called on any thread. */
void hf_cache_content_release(struct hf_cache_content *content);

#endif
