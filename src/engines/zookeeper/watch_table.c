/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/watch_table.h"

#include <string.h>

#include "core/memory.h"
#include "engines/zookeeper/private.h"

struct key {
    enum hf_zk_watch_kind kind;
    const char *path;
    size_t bytes;
};

static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct key *key = a;
    const struct hf_zk_watch *watch =
        (const struct hf_zk_watch *)(const void *)node;

    if (key->kind != watch->kind)
        return key->kind < watch->kind ? -1 : 1;
    if (key->bytes != watch->bytes)
        return key->bytes < watch->bytes ? -1 : 1;
    return memcmp(key->path, watch->path, key->bytes);
}

void hf_zk_watches_init(struct hf_zk_watches *watches)
{
    *watches = (struct hf_zk_watches){.paths = {.compare = compare}};
}

struct hf_zk_watch *hf_zk_watch_find(const struct hf_zk_watches *watches,
                                     enum hf_zk_watch_kind kind,
                                     const char *path, size_t bytes)
{
    const struct key key = {kind, path, bytes};

    return (struct hf_zk_watch *)(void *)hf_tree_find(&watches->paths, &key);
}

static struct hf_zk_watch *add(struct hf_zk_watches *watches,
                               enum hf_zk_watch_kind kind, const char *path)
{
    const struct key key = {kind, path, strlen(path)};
    struct hf_zk_watch *watch = hf_alloc(sizeof *watch + key.bytes + 1);

    if (watch == NULL)
        return NULL;
    watch->kind = kind;
    watch->bytes = key.bytes;
    memcpy(watch->path, path, key.bytes);
    hf_tree_add(&watches->paths, &watch->by_path, &key);
    watch->next = watches->first;
    watch->link = &watches->first;
    if (watch->next != NULL)
        watch->next->link = &watch->next;
    watches->first = watch;
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
    const struct key key = {watch->kind, watch->path, watch->bytes};

    if (watch->link == NULL)
        return;
    hf_tree_remove(&watches->paths, &watch->by_path, &key);
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->link = NULL;
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
