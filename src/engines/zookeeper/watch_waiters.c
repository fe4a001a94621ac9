/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of this client are in the session's watch set, together with
 * those of other listeners.  They are distinguished by .user. */
#include "engines/zookeeper/watch_waiters.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "engines/zookeeper/zk_private.h"

/* The mode in which a server is asked to watch for ${kind}. */
static enum hf_zk_watch_mode mode_of(enum hf_zk_engine_watch_kind kind)
{
    return kind == HF_ZK_WATCH_QUEUE ? HF_ZK_WATCH_CHILDREN : HF_ZK_WATCH_DATA;
}

/* Other watchers at the same path may belong to another listener, or be of
 * another kind. */
struct hf_zk_engine_watch *
hf_zk_engine_watch_find(const struct hf_zk_engine *zk,
                        enum hf_zk_engine_watch_kind kind, const char *path,
                        size_t bytes)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(&zk->session.watches, mode_of(kind), path, bytes);

    while (watcher != NULL &&
           (watcher->user != zk ||
            container_of(watcher, struct hf_zk_engine_watch, watcher)->kind !=
                kind))
        watcher = watcher->next_at_path;
    return container_of_or_null(watcher, struct hf_zk_engine_watch, watcher);
}

/* Allocate a watch and add it to the session's set; NULL for lack of memory. */
static struct hf_zk_engine_watch *
add_watch(struct hf_zk_engine *zk, enum hf_zk_engine_watch_kind kind,
          const char *path,
          void (*fired)(struct hf_zk_watcher *watcher,
                        const struct hf_zk_watch_event *event))
{
    size_t bytes = strlen(path) + 1;
    struct hf_zk_engine_watch *watch = hf_alloc(sizeof *watch + bytes);

    if (watch == NULL)
        return NULL;
    memcpy(watch->path, path, bytes);
    watch->kind = kind;
    watch->watcher = (struct hf_zk_watcher){.user = zk,
                                            .fired = fired,
                                            .path = watch->path,
                                            .mode = mode_of(kind),
                                            .not_set_again = true};
    hf_zk_watch_set_add(&zk->session.watches, &watch->watcher);
    return watch;
}

struct hf_zk_engine_watch *hf_zk_engine_watch_find_or_add(
    struct hf_zk_engine *zk, enum hf_zk_engine_watch_kind kind,
    const char *path,
    void (*fired)(struct hf_zk_watcher *watcher,
                  const struct hf_zk_watch_event *event))
{
    struct hf_zk_engine_watch *watch =
        hf_zk_engine_watch_find(zk, kind, path, strlen(path));

    return watch != NULL ? watch : add_watch(zk, kind, path, fired);
}

/* The first watch of the client ${user} from ${watcher} on, skipping those of
 * other listeners of the session. */
static struct hf_zk_engine_watch *next_watch_of(const void *user,
                                                struct hf_zk_watcher *watcher)
{
    while (watcher != NULL && watcher->user != user)
        watcher = watcher->next;
    return container_of_or_null(watcher, struct hf_zk_engine_watch, watcher);
}

struct hf_zk_engine_watch *
hf_zk_engine_watch_first(const struct hf_zk_engine *zk)
{
    return next_watch_of(zk, zk->session.watches.first);
}

struct hf_zk_engine_watch *
hf_zk_engine_watch_next(const struct hf_zk_engine_watch *watch)
{
    return next_watch_of(watch->watcher.user, watch->watcher.next);
}

/* A request to forget a watch was answered, or its connection has ended. */
static void unwatched(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    (void)user;
    (void)reply;
    hf_free(call);
}

/* Ask the server to remove or lower what it watches at the path of ${watch}, as
 * ${what} says.  Without memory nothing is sent, and the server keeps a watch
 * that nobody needs, until the connection ends. */
static void ask_to_forget(struct hf_zk_engine *zk,
                          const struct hf_zk_engine_watch *watch,
                          enum hf_zk_unwatch what)
{
    struct hf_zk_call *call = hf_alloc(sizeof *call);

    if (call == NULL)
        return;
    call->answered = unwatched;
    hf_zk_send_unwatch(&zk->session, call, watch->path, what);
}

/* Does the server end what it has for ${watch} by itself?  A node that exists
 * changes or goes some day; one that is missing may never be created. */
static bool ends_by_itself(const struct hf_zk_engine_watch *watch)
{
    return watch->watcher.server_mode == HF_ZK_SERVER_ONE_SHOT &&
           watch->kind != HF_ZK_WATCH_MISSING;
}

/* A one-shot watch ends with its event, so the server need not be asked to
 * remove it, unless the node is missing and may never be created.  If a
 * persistent watch (AddWatch) serves the path, the server is asked to remove
 * it, or to lower its mode, when no other listener needs it. */
void hf_zk_engine_watch_remove(struct hf_zk_engine *zk,
                               struct hf_zk_engine_watch *watch)
{
    struct hf_zk_watch_set *set = &zk->session.watches;
    enum hf_zk_unwatch what;

    if (!hf_zk_watcher_in_set(&watch->watcher))
        return;
    if (ends_by_itself(watch) || !hf_zk_session_usable(&zk->session)) {
        hf_zk_watch_set_remove(set, &watch->watcher);
        return;
    }
    what = hf_zk_watch_set_unwatch(set, &watch->watcher);
    if (what != HF_ZK_UNWATCH_NOTHING)
        ask_to_forget(zk, watch, what);
}

void hf_zk_engine_watch_free_if_unused(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_watch *watch)
{
    if (watch->waiters != NULL || watch->reading || watch->watcher.reads > 0)
        return;
    if (hf_zk_watcher_is_armed(&watch->watcher) &&
        watch->kind != HF_ZK_WATCH_MISSING)
        return; /* the server will report the next event */
    hf_zk_engine_watch_remove(zk, watch);
    if (watch->queue != NULL)
        hf_zk_engine_queue_release(zk, watch->queue);
    assert(!hf_zk_watcher_in_set(&watch->watcher));
    hf_free(watch);
}

/* --------------------------------------------------------------- waiters -- */

struct hf_zk_engine_waiter *
hf_zk_engine_waiter_add(struct hf_zk_engine_watch *watch,
                        struct hf_request *request,
                        struct hf_zk_engine_waiter *next_of_request)
{
    struct hf_zk_engine_waiter *waiter = hf_alloc(sizeof *waiter);

    if (waiter == NULL)
        return NULL;
    assert(request != NULL);
    assert(next_of_request == NULL || next_of_request->request == request);
    waiter->request = request;
    waiter->next_of_request = waiter;
    if (next_of_request != NULL) {
        waiter->next_of_request = next_of_request->next_of_request;
        next_of_request->next_of_request = waiter;
    }
    waiter->watch = watch;
    waiter->next = watch->waiters;
    waiter->link = &watch->waiters;
    if (waiter->next != NULL)
        waiter->next->link = &waiter->next;
    watch->waiters = waiter;
    watch->watcher.not_set_again = false;
    request->engine_data = waiter;
    return waiter;
}

void hf_zk_engine_waiter_free(struct hf_zk_engine_waiter *waiter)
{
    assert(*waiter->link == waiter);
    *waiter->link = waiter->next;
    if (waiter->next != NULL)
        waiter->next->link = waiter->link;
    waiter->watch->watcher.not_set_again = waiter->watch->waiters == NULL;
    hf_free(waiter);
}

/* Each waiter leaves the ring before its watch may be freed. */
void hf_zk_engine_waiter_free_all(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_waiter *waiter)
{
    struct hf_zk_engine_waiter *next_of_request;
    struct hf_zk_engine_watch *watch;

    while ((next_of_request = waiter->next_of_request) != waiter) {
        waiter->next_of_request = next_of_request->next_of_request;
        watch = next_of_request->watch;
        hf_zk_engine_waiter_free(next_of_request);
        hf_zk_engine_watch_free_if_unused(zk, watch);
    }
    watch = waiter->watch;
    hf_zk_engine_waiter_free(waiter);
    hf_zk_engine_watch_free_if_unused(zk, watch);
}

bool hf_zk_engine_waiter_is_ready(const struct hf_zk_engine_waiter *first)
{
    const struct hf_zk_engine_waiter *waiter = first;

    do {
        if (!waiter->ready)
            return false;
        waiter = waiter->next_of_request;
    } while (waiter != first);
    return true;
}
