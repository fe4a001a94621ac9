/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of a cache.  One callback is queued while there are changes.
 * It reports some of them and queues itself again, so that other callbacks need
 * not wait long.
 */
#include "zookeeper_cache/cache.h"

#include <assert.h>

#include "base/memory.h"
#include "base/time_math.h"

/* At most this many changes are reported by one run of the callback. */
#define CHANGES_IN_A_ROW 64

/* The pause after a lack of memory, until the next attempt to report. */
#define REPORT_PAUSE_MS 100

const char *hf_cache_path_of(struct hf_cache_path *path,
                             const struct hf_cache_tree *tree,
                             const struct hf_cache_node *node)
{
    size_t bytes = hf_cache_tree_path_bytes(tree, node);
    char *text;

    if (path->room <= bytes) {
        if ((text = hf_realloc(path->text, 2 * bytes + 64)) == NULL)
            return NULL;
        path->text = text;
        path->room = 2 * bytes + 64;
    }
    hf_cache_tree_put_path(tree, node, path->text);
    path->text[bytes] = '\0';
    return path->text;
}

/* -------------------------------------------------------------- lifetime -- */

/* Free a cache that no other thread knows and that has no reader.  Without the
 * lock. */
static void destroy(struct hf_zookeeper_cache *cache)
{
    struct hf_zookeeper *zookeeper = cache->zookeeper;

    assert(cache->user.state == HF_USER_CALLBACK_RETIRED);
    hf_cache_tree_free(&cache->tree);
    hf_free(cache->read_path.text);
    hf_free(cache->report_path.text);
    hf_free(cache);
    hf_zookeeper_release(zookeeper);
}

/* Drop a reference.  True if it was the last one: the caller then destroys
 * ${cache} without the lock. */
static bool dereference(struct hf_zookeeper_cache *cache)
{
    assert(cache->references > 0);
    return --cache->references == 0;
}

/* Drop the reference of the callback, which runs with the lock. */
static void dereference_in_callback(struct hf_zookeeper_cache *cache)
{
    struct hf_monitor *monitor = cache->zookeeper->monitor;

    if (!dereference(cache))
        return;
    hf_monitor_reference(monitor);
    hf_monitor_unlock(monitor);
    destroy(cache);
    hf_monitor_lock(monitor);
    hf_monitor_dereference(monitor);
}

/* No callback follows this call, so .drop is called here, although a queued
 * callback may keep the memory of the cache for a while. */
void hf_cache_drop_and_leave(struct hf_zookeeper_cache *cache)
{
    struct hf_monitor *monitor = cache->zookeeper->monitor;
    struct hf_user_drop drop;
    bool last;

    hf_user_callback_retire(&cache->user);
    hf_zookeeper_timer_stop(&cache->report_timer);
    drop = hf_user_callback_await(&cache->user, monitor);
    last = dereference(cache);
    hf_monitor_leave(monitor);
    hf_user_drop_call(&drop);
    if (last)
        destroy(cache);
}

/* --------------------------------------------------------------- changes -- */

/* Call .fn of ${cache}, unless it was freed.  Releases the lock meanwhile. */
static void notify(struct hf_zookeeper_cache *cache,
                   enum hf_zookeeper_cache_event_kind kind, const char *path,
                   const struct hf_cache_content *before,
                   const struct hf_cache_content *after)
{
    struct hf_monitor *monitor = cache->zookeeper->monitor;
    const struct hf_zookeeper_cache_event event = {
        kind, path, before != NULL ? &before->node : NULL,
        after != NULL ? &after->node : NULL};

    if (!hf_user_callback_enter(&cache->user, monitor))
        return;
    cache->on_change.fn(cache->on_change.arg, &event);
    (void)hf_user_callback_leave(&cache->user, monitor);
}

/* Report that ${before} has become ${after}, either of which may be NULL. */
static void report_change(struct hf_zookeeper_cache *cache, const char *path,
                          const struct hf_cache_content *before,
                          const struct hf_cache_content *after)
{
    const struct hf_monitor *monitor = cache->zookeeper->monitor;

    if (before != NULL && after != NULL &&
        before->node.stat.czxid == after->node.stat.czxid) {
        notify(cache, HF_ZOOKEEPER_CACHE_CHANGED, path, before, after);
        return;
    }
    if (before != NULL)
        notify(cache, HF_ZOOKEEPER_CACHE_REMOVED, path, before, NULL);
    if (after != NULL && !hf_fork_is_child(&monitor->fork))
        notify(cache, HF_ZOOKEEPER_CACHE_ADDED, path, NULL, after);
}

/* Report the change of ${node}.  False if there is no memory for its path. */
static bool report_node(struct hf_zookeeper_cache *cache,
                        struct hf_cache_node *node)
{
    struct hf_cache_content *before, *after;
    const char *path =
        hf_cache_path_of(&cache->report_path, &cache->tree, node);

    if (path == NULL) {
        hf_zookeeper_timer_set(cache->zookeeper, &cache->report_timer,
                               hf_after_ms(hf_now_ms(), REPORT_PAUSE_MS));
        return false;
    }
    hf_cache_tree_take_change(&cache->tree, node, &before, &after);
    report_change(cache, path, before, after);
    hf_cache_content_release(before);
    hf_cache_content_release(after);
    return true;
}

/* Report that everything is read. */
static void report_marker(struct hf_zookeeper_cache *cache)
{
    enum hf_zookeeper_cache_event_kind kind =
        cache->initialised_reported ? HF_ZOOKEEPER_CACHE_RESYNCED
                                    : HF_ZOOKEEPER_CACHE_INITIALISED;

    cache->initialised_reported = true;
    notify(cache, kind, cache->tree.path, NULL, NULL);
}

/* Report one change.  False if there is none, or if none may or can be reported
 * now. */
static bool report_next(struct hf_zookeeper_cache *cache)
{
    const struct hf_monitor *monitor = cache->zookeeper->monitor;
    struct hf_cache_node *node;
    bool marked;

    if (hf_user_callback_is_retired(&cache->user) ||
        hf_zookeeper_is_closing(cache->zookeeper) ||
        hf_fork_is_child(&monitor->fork))
        return false;
    node = hf_cache_tree_next_change(&cache->tree, &marked);
    if (marked)
        report_marker(cache);
    else if (node != NULL)
        return report_node(cache, node);
    return marked;
}

/* The .run of the callback. */
static void run_changes(void *arg)
{
    struct hf_zookeeper_cache *cache = arg;
    struct hf_monitor *monitor = cache->zookeeper->monitor;
    int reported = 0;

    while (reported < CHANGES_IN_A_ROW && report_next(cache))
        reported++;
    if (hf_fork_is_child(&monitor->fork))
        return;
    if (reported == CHANGES_IN_A_ROW)
        hf_cache_report(cache);
    dereference_in_callback(cache);
}

/* The .fn of the timer. */
static void report_again(void *arg)
{
    hf_cache_report(arg);
}

void hf_cache_report_init(struct hf_zookeeper_cache *cache,
                          struct hf_zookeeper_on_change on_change)
{
    cache->on_change = on_change;
    cache->user.drop = (struct hf_user_drop){on_change.drop, on_change.arg};
    cache->callback = (struct hf_callback){.run = run_changes, .arg = cache};
    cache->report_timer.fn = report_again;
    cache->report_timer.arg = cache;
}

void hf_cache_report(struct hf_zookeeper_cache *cache)
{
    const struct hf_cache_link *changes = &cache->tree.to_report;

    if (changes->next == changes || cache->callback.queued ||
        hf_user_callback_is_retired(&cache->user))
        return;
    cache->references++;
    hf_monitor_queue(cache->zookeeper->monitor, &cache->callback);
}
