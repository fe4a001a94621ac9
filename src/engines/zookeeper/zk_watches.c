/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/zk_watches.h"

#include <assert.h>
#include <string.h>

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/watch_waiters.h"
#include "engines/zookeeper/zk_private.h"

static void fired(struct hf_zk_watcher *watcher, enum hf_zk_event_type type);

/* NULL for lack of memory. */
static struct hf_zk_watch *
find_or_add(struct hf_zk *zk, enum hf_zk_watch_kind kind, const char *path)
{
    return hf_zk_watch_find_or_add(zk, kind, path, fired);
}

static void notify(struct hf_zk *zk, struct hf_request *request,
                   enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = request;
    hf_zk_notify(zk, &event);
}

/* ----------------------------------------------------------------- nodes -- */

/* As if an answer were to come, since those that are notified may forget
 * others. */
static void node_gone(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request;
    bool asking = watch->reading;

    hf_zk_own_ticket_node_gone(zk, watch->path);
    if (watch->waiters != NULL)
        hf_zk_children_node_gone(zk, watch->waiters->request->queue,
                                 watch->path);
    /* First, because a client that is notified may watch the path again. */
    hf_zk_watch_remove(zk, watch);
    watch->reading = true;
    while (watch->waiters != NULL) {
        request = watch->waiters->request;
        hf_zk_waiter_drop_all(zk, watch->waiters);
        notify(zk, request, HF_EVENT_GONE);
    }
    watch->reading = asking;
    hf_zk_watch_free_if_unused(zk, watch);
}

/* The data of a node whose owner is asked to let go: Revoker of Curator. */
bool hf_zk_is_revoke_data(struct hf_jute_piece data)
{
    return data.count == strlen(HF_ZK_REVOKE) &&
           memcmp(data.bytes, HF_ZK_REVOKE, data.count) == 0;
}

/* Notify those to whom it is due; any of them may forget any. */
static void notify_revoked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_zk_waiter *waiter = watch->waiters;

    while (waiter != NULL) {
        if (waiter->revoke_due) {
            waiter->revoke_due = false;
            notify(zk, waiter->request, HF_EVENT_REVOKED);
            waiter = watch->waiters;
        } else {
            waiter = waiter->next;
        }
    }
}

static void notify_all_revoked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    for (struct hf_zk_waiter *w = watch->waiters; w != NULL; w = w->next)
        w->revoke_due = w->notified;
    notify_revoked(zk, watch);
}

/* The first notice of a watch is followed by what came before it: that becomes
 * due to ${first}, and those at its node are to be notified next. */
static void notify_watching(struct hf_zk *zk, struct hf_zk_waiter *first)
{
    struct hf_zk_waiter *waiter = first;

    do {
        waiter->notified = true;
        first->revoke_due |= waiter->watch->revoked;
        waiter = waiter->next_of_request;
    } while (waiter != first);
    notify(zk, first->request, HF_EVENT_WATCHING);
}

static struct hf_zk_waiter *first_unready(const struct hf_zk_watch *watch)
{
    struct hf_zk_waiter *waiter = watch->waiters;

    while (waiter != NULL && waiter->ready)
        waiter = waiter->next;
    return waiter;
}

static void notify_armed(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_zk_waiter *waiter;

    while ((waiter = first_unready(watch)) != NULL) {
        waiter->ready = true;
        if (hf_zk_waiter_is_ready(waiter))
            notify_watching(zk, waiter);
    }
    notify_revoked(zk, watch);
}

static struct hf_zk_waiter *first_unnotified(const struct hf_zk_watch *watch)
{
    struct hf_zk_waiter *waiter = watch->waiters;

    while (waiter != NULL && waiter->notified)
        waiter = waiter->next;
    return waiter;
}

/* Those that were notified of WATCHING may still be watching: a connection that
 * ends does not end a watch. */
static void fail_unnotified(struct hf_zk *zk, struct hf_zk_watch *watch,
                            enum hf_zk_error error)
{
    struct hf_request *request;
    struct hf_zk_waiter *waiter;

    while ((waiter = first_unnotified(watch)) != NULL) {
        request = waiter->request;
        hf_zk_waiter_drop_all(zk, waiter);
        hf_zk_fail_with_error(zk, request, error, "watch", watch->path);
    }
}

static void data_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_watch *watch = call->owner;
    struct hf_jute_reader body = reply->body;
    bool renew = false;

    /* It is not freed while those that are notified change the list. */
    assert(watch->reading);
    if (reply->error == HF_ZK_OK) {
        watch->watcher.armed = true;
        watch->revoked = hf_zk_is_revoke_data(hf_jute_get_buffer(&body));
        watch->version = hf_zk_get_stat(&body).version;
        if (watch->revoked)
            notify_all_revoked(zk, watch);
        notify_armed(zk, watch);
    } else if (reply->error == HF_ZK_NO_NODE) {
        node_gone(zk, watch);
    } else {
        fail_unnotified(zk, watch, reply->error);
        /* Those that were notified of WATCHING would wait for ever.  A new
         * connection has its watches set again. */
        renew = watch->waiters != NULL && reply->error != HF_ZK_DISCONNECTED &&
                hf_zk_session_usable(&zk->session);
    }
    watch->reading = false;
    hf_zk_watch_free_if_unused(zk, watch);
    if (renew) /* last: it may end everything */
        hf_zk_session_drop(&zk->session, "a watch could not be renewed (%d)",
                           (int)reply->error);
}

static void read_node(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    watch->reading = true;
    watch->watcher.armed = false;
    watch->call.answered = data_read;
    watch->call.user = zk;
    watch->call.owner = watch;
    hf_zk_send_get_data(&zk->session, &watch->call, watch->path, true);
}

bool hf_zk_watches_join(struct hf_zk *zk, struct hf_request *request,
                        const char *path)
{
    struct hf_zk_watch *watch = find_or_add(zk, HF_ZK_WATCH_NODE, path);
    struct hf_zk_waiter *next_of_request = request->engine_data;

    if (watch != NULL &&
        hf_zk_waiter_add(watch, request, next_of_request) != NULL)
        return true;
    if (watch != NULL)
        hf_zk_watch_free_if_unused(zk, watch);
    if (next_of_request != NULL)
        hf_zk_waiter_drop_all(zk, next_of_request);
    request->engine_data = NULL;
    hf_zk_fail_memory(zk, request);
    return false;
}

/* As if an answer were to come, because the one that is notified may forget
 * it. */
static void notify_started(struct hf_zk *zk, struct hf_zk_waiter *first)
{
    struct hf_zk_watch *watch = first->watch;
    bool asking = watch->reading;

    watch->reading = true;
    notify_watching(zk, first);
    notify_revoked(zk, watch);
    watch->reading = asking;
    hf_zk_watch_free_if_unused(zk, watch);
}

void hf_zk_watches_start(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_waiter *last = request->engine_data,
                        *first = last->next_of_request;
    struct hf_zk_waiter *waiter = first;

    do {
        waiter->ready = waiter->watch->watcher.armed;
        if (!waiter->ready && !waiter->watch->reading)
            read_node(zk, waiter->watch);
        waiter = waiter->next_of_request;
    } while (waiter != first);
    if (hf_zk_waiter_is_ready(first))
        notify_started(zk, first);
}

void hf_zk_watches_forget(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_waiter_drop_all(zk, request->engine_data);
}

void hf_zk_watches_add_armed(struct hf_zk *zk, const char *path,
                             struct hf_jute_piece data, int32_t version)
{
    struct hf_zk_watch *watch = find_or_add(zk, HF_ZK_WATCH_NODE, path);

    if (watch == NULL)
        return; /* without memory it is set once more: harmless */
    watch->watcher.armed = true;
    watch->revoked = hf_zk_is_revoke_data(data);
    watch->version = version;
}

bool hf_zk_watches_version(const struct hf_zk *zk, const char *path,
                           int32_t *version)
{
    const struct hf_zk_watch *watch =
        hf_zk_watch_find(zk, HF_ZK_WATCH_NODE, path, strlen(path));

    if (watch == NULL || !watch->watcher.armed || watch->waiters == NULL)
        return false;
    *version = watch->version;
    return true;
}

bool hf_zk_watches_data(const struct hf_zk *zk, const char *path, bool *revoked,
                        int32_t *version)
{
    const struct hf_zk_watch *watch =
        hf_zk_watch_find(zk, HF_ZK_WATCH_NODE, path, strlen(path));

    if (watch == NULL || !watch->watcher.armed)
        return false;
    *revoked = watch->revoked;
    *version = watch->version;
    return true;
}

static void node_fired(struct hf_zk *zk, enum hf_zk_event_type type,
                       struct hf_zk_watch *watch)
{
    if (type == HF_ZK_NODE_DELETED) {
        node_gone(zk, watch);
        return;
    }
    if (watch->waiters == NULL)
        hf_zk_watch_free_if_unused(zk, watch);
    else if (!watch->reading && hf_zk_session_usable(&zk->session))
        read_node(zk, watch); /* not behind a goodbye */
}

/* ---------------------------------------------------------------- queues -- */

static enum hf_zk_watch_kind kind_of(const struct hf_request *request)
{
    return request->ticket_kind == HF_TICKET_BARRIER ? HF_ZK_WATCH_BARRIER
                                                     : HF_ZK_WATCH_QUEUE;
}

bool hf_zk_watches_join_queue(struct hf_zk *zk, struct hf_request *request,
                              struct hf_zk_queue *queue, bool exists)
{
    struct hf_zk_watch *watch = find_or_add(zk, kind_of(request), queue->path);

    if (watch == NULL)
        return false;
    /* What it knows of its head serves the next one who looks. */
    if (watch->queue == NULL) {
        watch->queue = queue;
        queue->users++;
    }
    /* Where there is no node there is nothing to watch, and nobody who could go
     * from there: such a WATCH_QUEUE waits for its UNWATCH. */
    watch->watcher.armed |= exists;
    if (hf_zk_waiter_add(watch, request, NULL) != NULL)
        return true;
    hf_zk_watch_free_if_unused(zk, watch);
    return false;
}

static struct hf_zk_waiter *first_changed(const struct hf_zk_watch *watch)
{
    struct hf_zk_waiter *waiter = watch->waiters;

    while (waiter != NULL && !(waiter->notified && waiter->changed))
        waiter = waiter->next;
    return waiter;
}

static void notify_changed(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request;
    struct hf_zk_waiter *waiter;
    bool asking = watch->reading;

    watch->reading = true;
    while ((waiter = first_changed(watch)) != NULL) {
        request = waiter->request;
        hf_zk_waiter_drop(waiter);
        notify(zk, request, HF_EVENT_QUEUE_CHANGED);
    }
    watch->reading = asking;
    hf_zk_watch_free_if_unused(zk, watch);
}

void hf_zk_watches_listed(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_event *listed)
{
    struct hf_zk_waiter *waiter = listed->as.answer.request->engine_data;
    enum hf_zk_watch_kind kind = waiter->watch->kind;
    struct hf_zk_watch *watch;

    waiter->notified = true;
    hf_zk_notify(zk, listed);
    watch = hf_zk_watch_find(zk, kind, queue->path, strlen(queue->path));
    if (watch != NULL)
        notify_changed(zk, watch);
}

static void queue_fired(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    for (struct hf_zk_waiter *w = watch->waiters; w != NULL; w = w->next)
        w->changed = true;
    notify_changed(zk, watch);
}

/* ---------------------------------------------------------------- events -- */

static void fired(struct hf_zk_watcher *watcher, enum hf_zk_event_type type)
{
    struct hf_zk_watch *watch = (struct hf_zk_watch *)(void *)watcher;

    if (watch->kind == HF_ZK_WATCH_NODE)
        node_fired(watcher->user, type, watch);
    else
        queue_fired(watcher->user, watch);
}

/* ---------------------------------------------------------------- resume -- */

/* Watches without anybody who waits were not set again. */
static void free_idle(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (watch = hf_zk_watch_first(zk); watch != NULL; watch = next) {
        next = hf_zk_watch_next(watch);
        assert(!watch->reading);
        hf_zk_watch_free_if_unused(zk, watch);
    }
}

/* Watches that had fired and whose data were still being read when the
 * connection ended: other answers may have named the transaction already, so a
 * SetWatches would not fire them again. */
static void reread_fired(struct hf_zk *zk)
{
    struct hf_zk_watch *watch;

    for (watch = hf_zk_watch_first(zk); watch != NULL;
         watch = hf_zk_watch_next(watch)) {
        if (watch->kind == HF_ZK_WATCH_NODE && !watch->watcher.armed)
            read_node(zk, watch);
    }
}

void hf_zk_watches_resumed(struct hf_zk *zk)
{
    free_idle(zk);
    reread_fired(zk);
}

/* ------------------------------------------------------------------- end -- */

void hf_zk_watches_clear(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (watch = hf_zk_watch_first(zk); watch != NULL; watch = next) {
        next = hf_zk_watch_next(watch);
        assert(!watch->reading);
        while (watch->waiters != NULL)
            hf_zk_waiter_drop(watch->waiters);
        watch->watcher.armed = false;
        hf_zk_watch_free_if_unused(zk, watch);
    }
    assert(hf_zk_watch_first(zk) == NULL);
}
