/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of nodes, counted by reference.
 */
#include "zookeeper_cache/cache_content.h"

#include <stdatomic.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"

struct hf_cache_content *
hf_cache_content_new(const struct hf_zookeeper_stat *stat, const void *data,
                     size_t bytes)
{
    struct hf_cache_content *content = hf_alloc(sizeof *content + bytes);

    if (content == NULL)
        return NULL;
    content->node.stat = *stat;
    content->node.bytes = bytes;
    atomic_init(&content->references, 1);
    if (data != NULL)
        content->node.data = content->data;
    if (bytes > 0)
        memcpy(content->data, data, bytes);
    return content;
}

struct hf_cache_content *
hf_cache_content_with_stat(struct hf_cache_content *content,
                           const struct hf_zookeeper_stat *stat)
{
    struct hf_cache_content *owner =
        content->owner != NULL ? content->owner : content;
    struct hf_cache_content *made = hf_cache_content_new(stat, NULL, 0);

    if (made == NULL)
        return NULL;
    made->node.data = content->node.data;
    made->node.bytes = content->node.bytes;
    if (made->node.data != NULL)
        made->owner = hf_cache_content_reference(owner);
    return made;
}

struct hf_cache_content *
hf_cache_content_reference(struct hf_cache_content *content)
{
    if (content != NULL)
        atomic_fetch_add_explicit(&content->references, 1,
                                  memory_order_relaxed);
    return content;
}

/* The owner of data has no owner itself, so there are at most two
 * iterations. */
void hf_cache_content_release(struct hf_cache_content *content)
{
    struct hf_cache_content *owner;

    while (content != NULL &&
           atomic_fetch_sub_explicit(&content->references, 1,
                                     memory_order_acq_rel) == 1) {
        owner = content->owner;
        hf_free(content);
        content = owner;
    }
}

void hf_zookeeper_cache_node_free(const struct hf_zookeeper_cache_node *node)
{
    hf_cache_content_release(
        container_of_or_null(node, struct hf_cache_content, node));
}
