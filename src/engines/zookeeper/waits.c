/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/waits.h"

#include <string.h>

#include "core/memory.h"
#include "engines/zookeeper/private.h"

static struct hf_zk_watch *of_watcher(struct hf_zk_watcher *watcher)
{
    return (struct hf_zk_watch *)(void *)watcher;
}

static enum hf_zk_watch_mode mode_of(enum hf_zk_watch_kind kind)
{
    return kind == HF_ZK_WATCH_QUEUE ? HF_ZK_WATCH_CHILDREN : HF_ZK_WATCH_DATA;
}

struct hf_zk_watch *hf_zk_watch_find(const struct hf_zk *zk,
                                     enum hf_zk_watch_kind kind,
                                     const char *path, size_t bytes)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(&zk->session.watches, mode_of(kind), path, bytes);

    while (watcher != NULL &&
           (watcher->user != zk || of_watcher(watcher)->kind != kind))
        watcher = watcher->beside;
    return of_watcher(watcher);
}

static struct hf_zk_watch *
add(struct hf_zk *zk, enum hf_zk_watch_kind kind, const char *path,
    void (*fired)(struct hf_zk_watcher *watcher, enum hf_zk_event_type type))
{
    size_t bytes = strlen(path) + 1;
    struct hf_zk_watch *watch = hf_alloc(sizeof *watch + bytes);

    if (watch == NULL)
        return NULL;
    memcpy(watch->path, path, bytes);
    watch->kind = kind;
    watch->watcher = (struct hf_zk_watcher){.user = zk,
                                            .fired = fired,
                                            .path = watch->path,
                                            .mode = mode_of(kind),
                                            .idle = true};
    hf_zk_watch_set_add(&zk->session.watches, &watch->watcher);
    return watch;
}

struct hf_zk_watch *hf_zk_watch_find_or_add(
    struct hf_zk *zk, enum hf_zk_watch_kind kind, const char *path,
    void (*fired)(struct hf_zk_watcher *watcher, enum hf_zk_event_type type))
{
    struct hf_zk_watch *watch = hf_zk_watch_find(zk, kind, path, strlen(path));

    return watch != NULL ? watch : add(zk, kind, path, fired);
}

/* Of one client's, among those of others who listen to the session. */
static struct hf_zk_watch *next_of(const void *user,
                                   struct hf_zk_watcher *watcher)
{
    while (watcher != NULL && watcher->user != user)
        watcher = watcher->next;
    return of_watcher(watcher);
}

struct hf_zk_watch *hf_zk_watch_first(const struct hf_zk *zk)
{
    return next_of(zk, zk->session.watches.first);
}

struct hf_zk_watch *hf_zk_watch_next(const struct hf_zk_watch *watch)
{
    return next_of(watch->watcher.user, watch->watcher.next);
}

void hf_zk_watch_take_out(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    hf_zk_watch_set_remove(&zk->session.watches, &watch->watcher);
}

void hf_zk_watch_settle(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    if (watch->waits != NULL || watch->asking)
        return;
    if (watch->watcher.armed && watch->watcher.in_set)
        return; /* the server will tell of it */
    hf_zk_watch_take_out(zk, watch);
    if (watch->queue != NULL)
        hf_zk_queue_leave(zk, watch->queue);
    hf_free(watch);
}

/* ----------------------------------------------------------------- waits -- */

struct hf_zk_wait *hf_zk_wait_add(struct hf_zk_watch *watch,
                                  struct hf_request *request,
                                  struct hf_zk_wait *beside)
{
    struct hf_zk_wait *wait = hf_alloc(sizeof *wait);

    if (wait == NULL)
        return NULL;
    wait->request = request;
    wait->beside = wait;
    if (beside != NULL) {
        wait->beside = beside->beside;
        beside->beside = wait;
    }
    wait->watch = watch;
    wait->next = watch->waits;
    wait->link = &watch->waits;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    watch->waits = wait;
    watch->watcher.idle = false;
    request->engine_data = wait;
    return wait;
}

void hf_zk_wait_drop(struct hf_zk_wait *wait)
{
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    wait->watch->watcher.idle = wait->watch->waits == NULL;
    hf_free(wait);
}

void hf_zk_wait_drop_ring(struct hf_zk *zk, struct hf_zk_wait *wait)
{
    struct hf_zk_wait *beside;
    struct hf_zk_watch *watch;

    while ((beside = wait->beside) != wait) {
        wait->beside = beside->beside;
        watch = beside->watch;
        hf_zk_wait_drop(beside);
        hf_zk_watch_settle(zk, watch);
    }
    watch = wait->watch;
    hf_zk_wait_drop(wait);
    hf_zk_watch_settle(zk, watch);
}

bool hf_zk_wait_is_ready(const struct hf_zk_wait *first)
{
    const struct hf_zk_wait *wait = first;

    do {
        if (!wait->ready)
            return false;
        wait = wait->beside;
    } while (wait != first);
    return true;
}
