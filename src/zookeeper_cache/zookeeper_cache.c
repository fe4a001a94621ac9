/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls on a cache: opening and freeing it, waiting until it is
 * current, and asking what it has.  Queries only take the monitor's lock and do
 * none of its other work, so they cost no system call.
 */
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "operation/opts_compat.h"
#include "zookeeper/op_codec.h"
#include "zookeeper_cache/cache.h"

/* ------------------------------------------------------------------ open -- */

/* May a cache of ${path} be opened? */
static hf_status check(const struct hf_zookeeper *zookeeper, const char *path,
                       struct hf_error *error)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS,
                                       .path = path};

    if (hf_zookeeper_is_closing(zookeeper))
        return hf_monitor_explain_closed(zookeeper->monitor, "handle", error);
    return hf_zk_op_check(&op, &zookeeper->context, error);
}

/* Allocate a cache and have it begin to fill. */
static hf_status open_cache(struct hf_zookeeper *zookeeper, const char *path,
                            const struct hf_zookeeper_cache_opts *opts,
                            struct hf_zookeeper_on_change on_change,
                            struct hf_zookeeper_cache **cache,
                            struct hf_error *error)
{
    struct hf_zookeeper_cache *made;
    hf_status status = check(zookeeper, path, error);

    if (status == HF_OK)
        status = hf_monitor_ensure_poller(zookeeper->monitor, error);
    if (status != HF_OK)
        return status;
    if ((made = hf_alloc(sizeof *made)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    if (!hf_cache_tree_init(&made->tree, path, opts->depth, opts->without_data,
                            on_change.fn != NULL)) {
        hf_free(made);
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    }
    made->zookeeper = zookeeper;
    made->references = 1;
    hf_zookeeper_reference(zookeeper);
    hf_cache_report_init(made, on_change);
    *cache = made;
    hf_cache_reader_start(made);
    return HF_OK;
}

hf_status hf_zookeeper_cache_open(struct hf_zookeeper *zookeeper,
                                  const char *path,
                                  const struct hf_zookeeper_cache_opts *given,
                                  struct hf_zookeeper_on_change on_change,
                                  struct hf_zookeeper_cache **cache)
{
    hf_status status =
        hf_monitor_enter(zookeeper->monitor, "hf_zookeeper_cache_open");
    struct hf_zookeeper_cache_opts opts;
    struct hf_error error;

    *cache = NULL;
    if (status == HF_OK) {
        status =
            hf_opts_copy(&hf_zookeeper_cache_opts_type, given, &opts, &error);
        if (status == HF_OK)
            status =
                open_cache(zookeeper, path, &opts, on_change, cache, &error);
        if (status != HF_OK)
            (void)hf_fail("hf_zookeeper_cache_open", &error);
        hf_monitor_leave(zookeeper->monitor);
    }
    if (status != HF_OK && on_change.drop != NULL)
        on_change.drop(on_change.arg);
    return status;
}

void hf_zookeeper_cache_free(struct hf_zookeeper_cache *cache)
{
    static const struct hf_error freed = {.status = HF_ECANCELLED,
                                          .text = "the cache was freed"};

    if (cache == NULL ||
        hf_monitor_enter(cache->zookeeper->monitor, NULL) != HF_OK)
        return; /* in the child of a fork the cache stays allocated */
    hf_cache_reader_stop(cache);
    hf_zookeeper_waits_end(&cache->waits, &freed);
    hf_cache_drop_and_leave(cache);
}

/* ----------------------------------------------------------------- waits -- */

static bool is_over(const void *object, struct hf_error *why)
{
    const struct hf_zookeeper_cache *cache = object;

    *why = (struct hf_error){.status = HF_OK};
    if (cache->state != HF_CACHE_STOPPED)
        return hf_cache_is_current(cache);
    (void)hf_error_set(why, HF_ECLOSED, "the handle was closed");
    return true;
}

static struct hf_zookeeper_wait **list_of(void *object)
{
    struct hf_zookeeper_cache *cache = object;

    return &cache->waits;
}

static void time_out(const void *object, uint64_t wait_ms, struct hf_error *why)
{
    const struct hf_zookeeper_cache *cache = object;
    const char *outage = hf_zookeeper_connection_error(cache->zookeeper);

    (void)wait_ms;
    (void)hf_error_set(
        why, HF_ETIMEDOUT,
        "the time was over before everything that has changed was "
        "read; wait longer%s%.300s",
        outage[0] != '\0' ? "; there is no connection: " : "", outage);
}

static const struct hf_zookeeper_wait_ops current_ops = {
    .is_over = is_over,
    .list = list_of,
    .time_out = time_out,
};

hf_status hf_zookeeper_cache_wait(struct hf_zookeeper_cache *cache,
                                  uint64_t wait_ms)
{
    return hf_zookeeper_wait_run(cache->zookeeper, __func__, &current_ops,
                                 cache, wait_ms);
}

hf_status hf_zookeeper_cache_wait_start(struct hf_zookeeper_cache *cache,
                                        uint64_t wait_ms, struct hf_done done)
{
    return hf_zookeeper_wait_start(cache->zookeeper, __func__, &current_ops,
                                   cache, wait_ms, done);
}

/* ------------------------------------------------------ a list of nodes -- */

/* A list is one block of memory: the struct, two arrays, and the paths.  The
 * nodes are visited twice: to count them, and to enter them. */

/* A walk over known nodes from .top down to .depth levels below it.  It is at
 * .node, which is .level levels below .top. */
struct walk {
    const struct hf_cache_tree *tree;
    struct hf_cache_node *top;
    struct hf_cache_node *node;
    uint64_t level;
    uint64_t depth;
};

/* The first known node among ${node} and its siblings behind it; NULL: none. */
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

/* --------------------------------------------------------------- queries -- */

/* The known node ${path}; NULL, with the reason in ${error}, if there is none.
 * Called with the lock. */
static struct hf_cache_node *find(const struct hf_zookeeper_cache *cache,
                                  const char *path, struct hf_error *error)
{
    struct hf_cache_node *node = NULL;

    if (!hf_cache_tree_covers(&cache->tree, path))
        (void)hf_error_set(error, HF_EINVAL,
                           "%.160s is not in the cache of %.160s; expected "
                           "that path, or one below it",
                           path, cache->tree.path);
    else if (!cache->initialised)
        (void)hf_error_set(error, HF_ESTATE,
                           "the cache is not initialised yet; wait for it "
                           "with hf_zookeeper_cache_wait(), or for "
                           "HF_ZOOKEEPER_CACHE_INITIALISED");
    else if ((node = hf_cache_tree_find(&cache->tree, path)) == NULL ||
             node->current == NULL)
        (void)hf_error_set(error, HF_EGONE, "%.160s is not in the cache", path);
    return error->status == HF_OK ? node : NULL;
}

/* Take the lock of ${cache}, unless this is a child of a fork. */
static bool lock(const struct hf_zookeeper_cache *cache)
{
    struct hf_error error;

    if (hf_fork_check(&cache->zookeeper->monitor->fork, &error) != HF_OK)
        return false;
    hf_monitor_lock(cache->zookeeper->monitor);
    return true;
}

/* Release the lock.  If ${error} has a failure, it becomes the last error, of
 * ${api_name}. */
static hf_status unlock(const struct hf_zookeeper_cache *cache,
                        const char *api_name, struct hf_error *error)
{
    hf_status status = error->status;

    if (status != HF_OK)
        (void)hf_fail(api_name, error);
    pthread_mutex_unlock(&cache->zookeeper->monitor->lock);
    return status;
}

hf_status hf_zookeeper_cache_get(struct hf_zookeeper_cache *cache,
                                 const char *path,
                                 const struct hf_zookeeper_cache_node **node)
{
    struct hf_error error = {.status = HF_OK};
    struct hf_cache_node *found;

    *node = NULL;
    if (!lock(cache))
        return hf_fork_fail("hf_zookeeper_cache_get");
    if ((found = find(cache, path, &error)) != NULL)
        *node = &hf_cache_content_reference(found->current)->node;
    return unlock(cache, "hf_zookeeper_cache_get", &error);
}

hf_status hf_zookeeper_cache_list(struct hf_zookeeper_cache *cache,
                                  const char *path, uint64_t depth,
                                  struct hf_zookeeper_cache_list **list)
{
    struct hf_error error = {.status = HF_OK};
    struct hf_cache_node *found;

    *list = NULL;
    if (!lock(cache))
        return hf_fork_fail("hf_zookeeper_cache_list");
    if ((found = find(cache, path, &error)) != NULL &&
        hf_cache_query_list(&cache->tree, found, depth, list) != HF_OK)
        (void)hf_error_set(&error, HF_ENOMEM, "out of memory");
    return unlock(cache, "hf_zookeeper_cache_list", &error);
}

size_t hf_zookeeper_cache_unreadable(const struct hf_zookeeper_cache *cache)
{
    size_t unreadable;

    if (!lock(cache))
        return 0;
    unreadable = cache->tree.unreadable;
    pthread_mutex_unlock(&cache->zookeeper->monitor->lock);
    return unreadable;
}
