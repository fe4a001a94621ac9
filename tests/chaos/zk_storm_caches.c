/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caches of the storm.
 *
 * The thread of a handle that makes calls opens, asks and frees its caches.
 * Their callbacks ask them, too.  The line of an event is written before
 * anything else, and a query has a line before it and one after it, so that the
 * lines of a process show which events a query has to know.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "zk_storm.h"
#include "zookeeper_client/zookeeper_handle.h"

/* One cache that a handle may have. */
struct cache_plan {
    const char *path;
    uint64_t depth;
    bool without_data;
    unsigned chance; /* that a handle has it, in percent */
};

static const struct cache_plan plans[CACHES] = {
    {"/", HF_ZOOKEEPER_CACHE_TREE, false, 30},
    {"/d", HF_ZOOKEEPER_CACHE_TREE, false, 40},
    {"/d", 1, true, 20},
    {"/r0", 0, false, 30},
    {"/p", HF_ZOOKEEPER_CACHE_TREE, false, 20},
};

/* ----------------------------------------------------------------- lines -- */

/* A node as words of a line. */
struct node_words {
    char text[DATA_BYTES + 64];
};

/* ${node} may be NULL, and may have no data. */
static struct node_words words_of(const struct hf_zookeeper_cache_node *node)
{
    struct node_words words = {"0 0 0 -"};

    if (node != NULL)
        (void)snprintf(words.text, sizeof words.text,
                       "%" PRId64 " %" PRId64 " %d %.*s", node->stat.czxid,
                       node->stat.mzxid, (int)node->stat.version,
                       node->data != NULL ? (int)node->bytes : 1,
                       node->data != NULL ? (const char *)node->data : "-");
    return words;
}

static const char *kind_name(enum hf_zookeeper_cache_event_kind kind)
{
    static const char *const names[] = {
        [HF_ZOOKEEPER_CACHE_ADDED] = "added",
        [HF_ZOOKEEPER_CACHE_CHANGED] = "changed",
        [HF_ZOOKEEPER_CACHE_REMOVED] = "removed",
        [HF_ZOOKEEPER_CACHE_INITIALISED] = "initialised",
        [HF_ZOOKEEPER_CACHE_RESYNCED] = "resynced",
    };

    return names[kind];
}

/* --------------------------------------------------------------- queries -- */

/* Ask for ${path}, which has at least ${mzxid}. */
static void ask(struct storm_cache *cache, const char *path, int64_t mzxid)
{
    unsigned number = atomic_fetch_add(&cache->handle->next, 1);
    const struct hf_zookeeper_cache_node *node;
    hf_status status;

    write_line("Q %u %u %u %" PRId64 " %s", cache->handle->number,
               cache->number, number, mzxid, path);
    status = hf_zookeeper_cache_get(atomic_load(&cache->cache), path, &node);
    write_line("A %u %u %u %s %s", cache->handle->number, cache->number, number,
               hf_status_name(status), words_of(node).text);
    hf_zookeeper_cache_node_free(node);
}

/* A path that the cache of ${plan} may have. */
static const char *draw_path(size_t plan, uint64_t *random)
{
    static const char *const in_all[] = {"/r0", "/r1",   "/r2",   "/r3",
                                         "/d",  "/d/n0", "/d/n1", "/c0"};
    static const char *const in_d[] = {"/d", "/d/n0", "/d/n1", "/d/n2"};

    if (plan == 0)
        return in_all[draw(random, sizeof in_all / sizeof in_all[0])];
    if (plan < 3)
        return in_d[draw(random, sizeof in_d / sizeof in_d[0])];
    return plans[plan].path;
}

static void cache_changed(void *arg,
                          const struct hf_zookeeper_cache_event *event)
{
    struct storm_cache *cache = arg;

    write_line("j %u %u %s %s %s %s", cache->handle->number, cache->number,
               kind_name(event->kind), event->path,
               words_of(event->before).text, words_of(event->after).text);
    if (atomic_load(&cache->cache) != NULL && chance(&cache->random, 10))
        ask(cache, event->path, 0);
}

/* -------------------------------------------------------- open and free -- */

static void open_cache(struct storm_handle *handle, size_t plan)
{
    struct hf_zookeeper_cache_opts opts = HF_ZOOKEEPER_CACHE_OPTS_INIT;
    struct storm_cache *cache = alloc_or_fail(sizeof *cache);
    const struct hf_zookeeper_on_change on_change = {cache_changed, cache,
                                                     free};
    struct hf_zookeeper_cache *opened;

    *cache = (struct storm_cache){.handle = handle,
                                  .number = ++handle->next_cache,
                                  .random = handle->caller_random + plan};
    opts.depth = plans[plan].depth;
    opts.without_data = plans[plan].without_data;
    write_line("k %u %u %s %lld %d %s", handle->number, cache->number,
               handle->one_shot ? "one-shot" : "recursive",
               opts.depth == HF_ZOOKEEPER_CACHE_TREE ? -1LL
                                                     : (long long)opts.depth,
               (int)opts.without_data, plans[plan].path);
    if (hf_zookeeper_cache_open(handle->zookeeper, plans[plan].path, &opts,
                                on_change, &opened) != HF_OK)
        fail("a cache cannot be opened");
    atomic_store(&cache->cache, opened);
    handle->caches[plan] = cache;
}

/* Its memory goes with .drop, in the free. */
static void free_cache(struct storm_handle *handle, size_t plan)
{
    struct storm_cache *cache = handle->caches[plan];
    unsigned number;

    if (cache == NULL)
        return;
    handle->caches[plan] = NULL;
    number = cache->number;
    hf_zookeeper_cache_free(atomic_load(&cache->cache));
    write_line("z %u %u", handle->number, number);
}

/* Have ${handle} take all servers for ones that do not know AddWatch, so that
 * its caches use one-shot watches. */
static void have_no_recursive_watches(struct storm_handle *handle)
{
    struct hf_zookeeper *zookeeper = handle->zookeeper;

    hf_monitor_lock(zookeeper->monitor);
    for (size_t i = 0; i <= HF_ZK_SERVERS_MAX; i++)
        hf_zk_op_support_note(&zookeeper->queue.support, i, HF_ZK_ADD_WATCH,
                              HF_ZK_UNIMPLEMENTED);
    hf_monitor_unlock(zookeeper->monitor);
}

void open_caches(struct storm_handle *handle)
{
    if (handle->one_shot)
        have_no_recursive_watches(handle);
    for (size_t plan = 0; plan < CACHES; plan++)
        if (chance(&handle->random, plans[plan].chance))
            open_cache(handle, plan);
}

void free_caches(struct storm_handle *handle, size_t first, size_t step)
{
    for (size_t plan = first; plan < CACHES; plan += step)
        free_cache(handle, plan);
}

/* ------------------------------------------------------------------- use -- */

void use_caches(struct storm_handle *handle)
{
    size_t plan = draw(&handle->caller_random, CACHES);

    if (handle->caches[plan] == NULL)
        return;
    if (chance(&handle->caller_random, 4)) {
        free_cache(handle, plan);
        open_cache(handle, plan);
    }
    ask(handle->caches[plan], draw_path(plan, &handle->caller_random), 0);
}

void await_in_caches(struct storm_handle *handle, const char *path,
                     int64_t mzxid)
{
    size_t plan = path[1] == 'd'   ? draw(&handle->caller_random, 3)
                  : path[2] == '0' ? 3 * draw(&handle->caller_random, 2)
                                   : 0;
    struct storm_cache *cache = handle->caches[plan];

    if (cache != NULL &&
        hf_zookeeper_cache_wait(atomic_load(&cache->cache), 2000) == HF_OK)
        ask(cache, path, mzxid);
}

void await_caches(struct storm_handle *handle)
{
    struct storm_cache *cache;

    for (size_t plan = 0; plan < CACHES; plan++)
        if ((cache = handle->caches[plan]) != NULL)
            cache->waited = hf_zookeeper_cache_wait(atomic_load(&cache->cache),
                                                    LAST_WAIT_MS);
}

/* Write down all that the cache of ${plan} has. */
static void list_cache(struct storm_cache *cache, size_t plan)
{
    struct hf_zookeeper_cache *opened = atomic_load(&cache->cache);
    struct hf_zookeeper_cache_list *list = NULL;
    hf_status status = cache->waited;

    if (status == HF_OK)
        status = hf_zookeeper_cache_list(opened, plans[plan].path,
                                         HF_ZOOKEEPER_CACHE_TREE, &list);
    write_line("K %u %u %s %zu", cache->handle->number, cache->number,
               hf_status_name(status), hf_zookeeper_cache_unreadable(opened));
    for (size_t i = 0; list != NULL && i < list->count; i++)
        write_line("i %u %u %s %s", cache->handle->number, cache->number,
                   list->paths[i], words_of(list->nodes[i]).text);
    hf_zookeeper_cache_list_free(list);
}

void list_caches(struct storm_handle *handle)
{
    for (size_t plan = 0; plan < CACHES; plan++)
        if (handle->caches[plan] != NULL)
            list_cache(handle->caches[plan], plan);
}
