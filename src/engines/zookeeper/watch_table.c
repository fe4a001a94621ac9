/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/watch_table.h"

#include <string.h>

#include "core/memory.h"
#include "engines/zookeeper/private.h"

static size_t bucket_of(const char *path, size_t bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)path[i]) * 16777619u;
    return hash % HF_ZK_WATCH_BUCKETS;
}

struct hf_zk_watch *hf_zk_watch_find(const struct hf_zk_watches *watches,
                                     enum hf_zk_watch_kind kind,
                                     const char *path, size_t bytes)
{
    struct hf_zk_watch *watch = watches->buckets[bucket_of(path, bytes)];

    while (watch != NULL && (watch->kind != kind || watch->bytes != bytes ||
                             memcmp(watch->path, path, bytes) != 0))
        watch = watch->next;
    return watch;
}

static struct hf_zk_watch *add(struct hf_zk_watches *watches,
                               enum hf_zk_watch_kind kind, const char *path)
{
    size_t bytes = strlen(path);
    struct hf_zk_watch **bucket = &watches->buckets[bucket_of(path, bytes)];
    struct hf_zk_watch *watch = hf_alloc(sizeof *watch + bytes + 1);

    if (watch == NULL)
        return NULL;
    watch->kind = kind;
    watch->bytes = bytes;
    memcpy(watch->path, path, bytes);
    watch->next = *bucket;
    watch->link = bucket;
    if (watch->next != NULL)
        watch->next->link = &watch->next;
    *bucket = watch;
    watches->count++;
    return watch;
}

struct hf_zk_watch *hf_zk_watch_find_or_add(struct hf_zk_watches *watches,
                                            enum hf_zk_watch_kind kind,
                                            const char *path)
{
    struct hf_zk_watch *watch =
        hf_zk_watch_find(watches, kind, path, strlen(path));

    return watch != NULL ? watch : add(watches, kind, path);
}

void hf_zk_watch_take_out(struct hf_zk_watches *watches,
                          struct hf_zk_watch *watch)
{
    if (watch->link == NULL)
        return;
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->link = NULL;
    watches->count--;
}

void hf_zk_watch_settle(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    if (watch->watchers != NULL || watch->asking)
        return;
    if (watch->armed && watch->link != NULL)
        return; /* the server will tell of it */
    hf_zk_watch_take_out(&zk->watches, watch);
    if (watch->queue != NULL)
        hf_zk_queue_leave(zk, watch->queue);
    hf_free(watch);
}

/* -------------------------------------------------------------- watchers -- */

struct hf_zk_watcher *hf_zk_watcher_add(struct hf_zk_watch *watch,
                                        struct hf_request *request,
                                        struct hf_zk_watcher *beside)
{
    struct hf_zk_watcher *watcher = hf_alloc(sizeof *watcher);

    if (watcher == NULL)
        return NULL;
    watcher->request = request;
    watcher->beside = watcher;
    if (beside != NULL) {
        watcher->beside = beside->beside;
        beside->beside = watcher;
    }
    watcher->watch = watch;
    watcher->next = watch->watchers;
    watcher->link = &watch->watchers;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    watch->watchers = watcher;
    request->engine_data = watcher;
    return watcher;
}

void hf_zk_watcher_drop(struct hf_zk_watcher *watcher)
{
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
    hf_free(watcher);
}

void hf_zk_watcher_drop_ring(struct hf_zk *zk, struct hf_zk_watcher *watcher)
{
    struct hf_zk_watcher *beside;
    struct hf_zk_watch *watch;

    while ((beside = watcher->beside) != watcher) {
        watcher->beside = beside->beside;
        watch = beside->watch;
        hf_zk_watcher_drop(beside);
        hf_zk_watch_settle(zk, watch);
    }
    watch = watcher->watch;
    hf_zk_watcher_drop(watcher);
    hf_zk_watch_settle(zk, watch);
}

bool hf_zk_watcher_is_ready(const struct hf_zk_watcher *first)
{
    const struct hf_zk_watcher *watcher = first;

    do {
        if (!watcher->ready)
            return false;
        watcher = watcher->beside;
    } while (watcher != first);
    return true;
}
