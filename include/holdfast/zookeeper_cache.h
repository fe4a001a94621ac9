/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a node of ZooKeeper, of a node and its children, or of a whole
 * tree, which follows what the servers have.
 *
 *     struct hf_zookeeper_cache *cache;
 *     const struct hf_zookeeper_cache_node *node;
 *
 *     if (hf_zookeeper_cache_open(zookeeper, "/config", NULL, on_change,
 *                                 &cache) != HF_OK)
 *         return;
 *     hf_zookeeper_cache_wait(cache, 5000);
 *     if (hf_zookeeper_cache_get(cache, "/config/a", &node) == HF_OK)
 *         use_config(node->data, node->bytes);
 *     hf_zookeeper_cache_node_free(node);
 *     hf_zookeeper_cache_free(cache);
 *
 * docs/zookeeper.md says how it works and what it costs.  What
 * <holdfast/zookeeper.h> says holds here, too.  Besides that:
 *
 * Filling    The nodes are read with HF_ZOOKEEPER_BULK, a few of them at a
 *            time, so that other operations of the handle go first.
 * Following  A persistent or recursive watch says which nodes have changed, and
 *            these are read again.  Servers before 3.6 do not have such
 *            watches; there each node has one-shot watches.  A node never goes
 *            back to an older state.
 * Outages    Meanwhile the cache has what it had.  After a new connection it
 *            asks for the Stat of each node, and reads those that have changed.
 *            If nothing has changed, no data are transferred and nothing is
 *            reported but HF_ZOOKEEPER_CACHE_RESYNCED.
 * The root   need not be there: the cache is empty then.  When the node is
 *            created, also after it was deleted, the cache is filled.
 * Unreadable nodes, such as those without the permission to read, or those
 *            whose read fails at the server again and again, are not in the
 *            cache, and what is below them is not either.  They are
 *            counted (hf_zookeeper_cache_unreadable()), and read again after
 *            the next event of the node and on each new connection.
 * Stats      follow changes of data and of children.  Servers do not report
 *            changes of access lists, so .aversion may be old.  On the last
 *            level of .depth .pzxid, .cversion and .children may be old, too.
 */
#ifndef HOLDFAST_ZOOKEEPER_CACHE_H
#define HOLDFAST_ZOOKEEPER_CACHE_H

#include <holdfast/zookeeper.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: a copy that is kept. */
struct hf_zookeeper_cache;

/* A node as the cache had it when it was asked.  It does not change. */
struct hf_zookeeper_cache_node {
    struct hf_zookeeper_stat stat;
    const void *data; /* NULL: null, or not kept (.without_data) */
    size_t bytes;
};

enum hf_zookeeper_cache_event_kind {
    HF_ZOOKEEPER_CACHE_ADDED = 1,
    HF_ZOOKEEPER_CACHE_CHANGED = 2, /* its data were set */
    HF_ZOOKEEPER_CACHE_REMOVED = 3, /* deleted, or not readable any more */
    /* Once: everything is in the cache that was there when it was read. */
    HF_ZOOKEEPER_CACHE_INITIALISED = 4,
    /* Once after each later connection: everything that had changed meanwhile
     * is in the cache. */
    HF_ZOOKEEPER_CACHE_RESYNCED = 5
};

/* A change of the cache.  Changes of a node for which no callback has run yet
 * become one: it leads from what was reported last to what there is now.  A
 * node that was deleted and created again is another one (.czxid), which is
 * reported as REMOVED and ADDED.  A change of the Stat alone is not reported.
 *
 * The events of a node are in order.  A node is ADDED after the one above it
 * and REMOVED before it, unless one of the two was deleted and created again
 * before that was reported. */
struct hf_zookeeper_cache_event {
    enum hf_zookeeper_cache_event_kind kind;
    const char *path; /* of the node; of the last two kinds that of the cache */
    const struct hf_zookeeper_cache_node *before; /* CHANGED, REMOVED */
    const struct hf_zookeeper_cache_node *after;  /* ADDED, CHANGED */
};

/* Called for each event, one at a time.  ${event}, with all that it points to,
 * is valid until it returns.  .fn may be NULL.  .drop is called when the cache
 * was freed, or not opened. */
struct hf_zookeeper_on_change {
    void (*fn)(void *arg, const struct hf_zookeeper_cache_event *event);
    void *arg;
    void (*drop)(void *arg);
};

/* As .depth: all nodes below the path. */
#define HF_ZOOKEEPER_CACHE_TREE UINT64_MAX

struct hf_zookeeper_cache_opts {
    size_t size; /* set by HF_ZOOKEEPER_CACHE_OPTS_INIT */
    /* How many levels below the path are kept.  0: the node alone; 1: its
     * children, too; and so on. */
    uint64_t depth;
    bool without_data; /* keep the Stats alone */
};
#define HF_ZOOKEEPER_CACHE_OPTS_INIT                                           \
    {                                                                          \
        sizeof(struct hf_zookeeper_cache_opts), HF_ZOOKEEPER_CACHE_TREE, false \
    }

/**
 * hf_zookeeper_cache_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_ZOOKEEPER_CACHE_OPTS_INIT.
 *   Thread    any.
 */
HF_API void hf_zookeeper_cache_opts_init(struct hf_zookeeper_cache_opts *opts,
                                         size_t size) HF_NONNULL(1);

/**
 * hf_zookeeper_cache_open(zookeeper, path, opts, on_change, cache):
 * Set ${cache} to a copy of ${path} and of what is below it, as ${opts} say
 * (NULL: the whole tree with data).  It begins to fill and is not waited for.
 *   Ownership ${path} is copied.  ${cache} must be freed with
 *             hf_zookeeper_cache_free().
 *   Callback  ${on_change}, from then on: perhaps before this returns and
 *             ${cache} is set.  It may ask ${cache} what it has.
 *   Fails     HF_EINVAL HF_EUNSUPPORTED HF_ELIMIT HF_ECLOSED HF_ENOMEM
 *             HF_EFORKED; ${cache} is then NULL.
 */
HF_API hf_status hf_zookeeper_cache_open(
    struct hf_zookeeper *zookeeper, const char *path,
    const struct hf_zookeeper_cache_opts *opts,
    struct hf_zookeeper_on_change on_change, struct hf_zookeeper_cache **cache)
    HF_NONNULL(1, 2, 5) HF_MUST_CHECK;

/**
 * hf_zookeeper_cache_get(cache, path, node):
 * Set ${node} to the node ${path} as the cache has it.
 *   Time      no round trip.
 *   Ownership ${node} stays as it is, whatever happens to the cache and the
 *             handle, and must be freed with hf_zookeeper_cache_node_free().
 *   Fails     HF_EGONE if it is not in the cache; HF_ESTATE if the cache is not
 *             initialised yet; HF_EINVAL if ${path} is neither that of the
 *             cache nor below it; HF_EFORKED.  ${node} is then NULL.
 */
HF_API hf_status hf_zookeeper_cache_get(
    struct hf_zookeeper_cache *cache, const char *path,
    const struct hf_zookeeper_cache_node **node) HF_NONNULL(1, 2, 3);

/**
 * hf_zookeeper_cache_node_free(node):
 * Free ${node} (NULL is fine).
 *   Thread    any.
 */
HF_API void
hf_zookeeper_cache_node_free(const struct hf_zookeeper_cache_node *node);

/* Nodes as the cache had them at one instant. */
struct hf_zookeeper_cache_list {
    size_t count;
    const char *const *paths;
    const struct hf_zookeeper_cache_node *const *nodes; /* one for each path */
};

/**
 * hf_zookeeper_cache_list(cache, path, depth, list):
 * Set ${list} to the node ${path} and those up to ${depth} levels below it, all
 * as the cache had them at one instant: 0 is the node alone, 1 the node and its
 * children, and HF_ZOOKEEPER_CACHE_TREE all.  Each node comes before those
 * below it, and children in the order of the bytes of their names.
 *   Time      no round trip.
 *   Ownership ${list} stays as it is, whatever happens to the cache and the
 *             handle, and must be freed with hf_zookeeper_cache_list_free().
 *   Fails     as hf_zookeeper_cache_get(), and HF_ENOMEM.
 */
HF_API hf_status hf_zookeeper_cache_list(struct hf_zookeeper_cache *cache,
                                         const char *path, uint64_t depth,
                                         struct hf_zookeeper_cache_list **list)
    HF_NONNULL(1, 2, 4);

/**
 * hf_zookeeper_cache_list_free(list):
 * Free ${list} (NULL is fine), with all that it points to.
 *   Thread    any.
 */
HF_API void hf_zookeeper_cache_list_free(struct hf_zookeeper_cache_list *list);

/**
 * hf_zookeeper_cache_unreadable(cache):
 * How many nodes are not in the cache, although they are there, because they
 * could not be read: reads ended with HF_EDENIED, HF_ELIMIT or the like.
 *   Thread    any.  0 in a child of a fork.
 */
HF_API size_t hf_zookeeper_cache_unreadable(
    const struct hf_zookeeper_cache *cache) HF_NONNULL(1);

/**
 * hf_zookeeper_cache_wait(cache, wait_ms),
 * hf_zookeeper_cache_wait_start(cache, wait_ms, done):
 * Wait until the cache is connected and initialised, and has read every node of
 * which it knows that it has changed.  After a write, or a sync, of the same
 * handle this means that the cache has what was written, or what was there
 * before the sync.  A tree that changes without a pause may keep it waiting.
 * It is waited for at most ${wait_ms} milliseconds, or HF_FOREVER; 0: this only
 * looks.
 *   Callback  ${done}, once.
 *   Fails     HF_ETIMEDOUT; HF_EUNREACHABLE, or the status of a refusal, if
 *             the client gives up to connect meanwhile (retry= of the URL);
 *             HF_ECLOSED if the handle was closed; HF_ECANCELLED if ${cache}
 *             was freed meanwhile; HF_ELIMIT HF_EREENTRANT HF_EFORKED; the call
 *             with _start HF_ENOMEM.
 */
HF_API hf_status hf_zookeeper_cache_wait(struct hf_zookeeper_cache *cache,
                                         uint64_t wait_ms) HF_NONNULL(1);
HF_API hf_status hf_zookeeper_cache_wait_start(struct hf_zookeeper_cache *cache,
                                               uint64_t wait_ms,
                                               struct hf_done done)
    HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_zookeeper_cache_free(cache):
 * Free ${cache} (NULL is fine).  None of its events comes after this, and .drop
 * has been called, as with hf_zookeeper_watch_free().  It may be freed in its
 * own callback, and before or after the handle is closed.
 *   Time      until a call of ${cache} that runs on another thread has
 *             returned.
 */
HF_API void hf_zookeeper_cache_free(struct hf_zookeeper_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
