/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/watches.h"

#include <assert.h>
#include <string.h>

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/private.h"
#include "engines/zookeeper/waits.h"

static void fired(struct hf_zk_watcher *watcher, enum hf_zk_event_type type);

/* NULL for lack of memory. */
static struct hf_zk_watch *
use_watch(struct hf_zk *zk, enum hf_zk_watch_kind kind, const char *path)
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
static void all_gone(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request;
    bool asking = watch->asking;

    hf_zk_own_gone(zk, watch->path);
    if (watch->waits != NULL)
        hf_zk_children_node_gone(zk, watch->waits->request->queue, watch->path);
    /* First, because a client that is notified may watch the path again. */
    hf_zk_watch_take_out(zk, watch);
    watch->asking = true;
    while (watch->waits != NULL) {
        request = watch->waits->request;
        hf_zk_wait_drop_ring(zk, watch->waits);
        notify(zk, request, HF_EVENT_GONE);
    }
    watch->asking = asking;
    hf_zk_watch_settle(zk, watch);
}

/* The data of a node whose owner is asked to let go: Revoker of Curator. */
bool hf_zk_says_revoke(struct hf_jute_piece data)
{
    return data.count == strlen(HF_ZK_REVOKE) &&
           memcmp(data.bytes, HF_ZK_REVOKE, data.count) == 0;
}

/* Notify those to whom it is due; any of them may forget any. */
static void notify_revoked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_zk_wait *wait = watch->waits;

    while (wait != NULL) {
        if (wait->revoke_due) {
            wait->revoke_due = false;
            notify(zk, wait->request, HF_EVENT_REVOKED);
            wait = watch->waits;
        } else {
            wait = wait->next;
        }
    }
}

static void all_revoked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    for (struct hf_zk_wait *w = watch->waits; w != NULL; w = w->next)
        w->revoke_due = w->notified;
    notify_revoked(zk, watch);
}

/* The first notice of a watch is followed by what came before it: that becomes
 * due to ${first}, and those at its node are to be notified next. */
static void notify_watching(struct hf_zk *zk, struct hf_zk_wait *first)
{
    struct hf_zk_wait *wait = first;

    do {
        wait->notified = true;
        first->revoke_due |= wait->watch->revoked;
        wait = wait->beside;
    } while (wait != first);
    notify(zk, first->request, HF_EVENT_WATCHING);
}

static struct hf_zk_wait *first_unready(const struct hf_zk_watch *watch)
{
    struct hf_zk_wait *wait = watch->waits;

    while (wait != NULL && wait->ready)
        wait = wait->next;
    return wait;
}

static void all_ready(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_zk_wait *wait;

    while ((wait = first_unready(watch)) != NULL) {
        wait->ready = true;
        if (hf_zk_wait_is_ready(wait))
            notify_watching(zk, wait);
    }
    notify_revoked(zk, watch);
}

static struct hf_zk_wait *first_unnotified(const struct hf_zk_watch *watch)
{
    struct hf_zk_wait *wait = watch->waits;

    while (wait != NULL && wait->notified)
        wait = wait->next;
    return wait;
}

/* Those that were notified of WATCHING may still be watching: a connection that
 * ends does not end a watch. */
static void fail_unnotified(struct hf_zk *zk, struct hf_zk_watch *watch,
                            enum hf_zk_error error)
{
    struct hf_request *request;
    struct hf_zk_wait *wait;

    while ((wait = first_unnotified(watch)) != NULL) {
        request = wait->request;
        hf_zk_wait_drop_ring(zk, wait);
        hf_zk_fail_as(zk, request, error, "watch", watch->path);
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
    assert(watch->asking);
    if (reply->error == HF_ZK_OK) {
        watch->watcher.armed = true;
        watch->revoked = hf_zk_says_revoke(hf_jute_get_buffer(&body));
        watch->version = hf_zk_get_stat(&body).version;
        if (watch->revoked)
            all_revoked(zk, watch);
        all_ready(zk, watch);
    } else if (reply->error == HF_ZK_NO_NODE) {
        all_gone(zk, watch);
    } else {
        fail_unnotified(zk, watch, reply->error);
        /* Those that were notified of WATCHING would wait for ever.  A new
         * connection has its watches set again. */
        renew = watch->waits != NULL && reply->error != HF_ZK_CUT &&
                hf_zk_session_usable(&zk->session);
    }
    watch->asking = false;
    hf_zk_watch_settle(zk, watch);
    if (renew) /* last: it may end everything */
        hf_zk_session_drop(&zk->session, "a watch could not be renewed (%d)",
                           (int)reply->error);
}

static void read_node(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    watch->asking = true;
    watch->watcher.armed = false;
    watch->call.answered = data_read;
    watch->call.user = zk;
    watch->call.owner = watch;
    hf_zk_send_get_data(&zk->session, &watch->call, watch->path, true);
}

bool hf_zk_watches_join(struct hf_zk *zk, struct hf_request *request,
                        const char *path)
{
    struct hf_zk_watch *watch = use_watch(zk, HF_ZK_WATCH_NODE, path);
    struct hf_zk_wait *beside = request->engine_data;

    if (watch != NULL && hf_zk_wait_add(watch, request, beside) != NULL)
        return true;
    if (watch != NULL)
        hf_zk_watch_settle(zk, watch);
    if (beside != NULL)
        hf_zk_wait_drop_ring(zk, beside);
    request->engine_data = NULL;
    hf_zk_fail_memory(zk, request);
    return false;
}

/* As if an answer were to come, because the one that is notified may forget
 * it. */
static void start_notified(struct hf_zk *zk, struct hf_zk_wait *first)
{
    struct hf_zk_watch *watch = first->watch;
    bool asking = watch->asking;

    watch->asking = true;
    notify_watching(zk, first);
    notify_revoked(zk, watch);
    watch->asking = asking;
    hf_zk_watch_settle(zk, watch);
}

void hf_zk_watches_start(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_wait *last = request->engine_data, *first = last->beside;
    struct hf_zk_wait *wait = first;

    do {
        wait->ready = wait->watch->watcher.armed;
        if (!wait->ready && !wait->watch->asking)
            read_node(zk, wait->watch);
        wait = wait->beside;
    } while (wait != first);
    if (hf_zk_wait_is_ready(first))
        start_notified(zk, first);
}

void hf_zk_watches_forget(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_wait_drop_ring(zk, request->engine_data);
}

void hf_zk_watches_note(struct hf_zk *zk, const char *path,
                        struct hf_jute_piece data, int32_t version)
{
    struct hf_zk_watch *watch = use_watch(zk, HF_ZK_WATCH_NODE, path);

    if (watch == NULL)
        return; /* without memory it is set once more: harmless */
    watch->watcher.armed = true;
    watch->revoked = hf_zk_says_revoke(data);
    watch->version = version;
}

bool hf_zk_watches_version(const struct hf_zk *zk, const char *path,
                           int32_t *version)
{
    const struct hf_zk_watch *watch =
        hf_zk_watch_find(zk, HF_ZK_WATCH_NODE, path, strlen(path));

    if (watch == NULL || !watch->watcher.armed || watch->waits == NULL)
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
        all_gone(zk, watch);
        return;
    }
    if (watch->waits == NULL)
        hf_zk_watch_settle(zk, watch);
    else if (!watch->asking && hf_zk_session_usable(&zk->session))
        read_node(zk, watch); /* not behind a goodbye */
}

/* ---------------------------------------------------------------- queues -- */

static enum hf_zk_watch_kind kind_of(const struct hf_request *look)
{
    return look->ticket_kind == HF_TICKET_BARRIER ? HF_ZK_WATCH_BARRIER
                                                  : HF_ZK_WATCH_QUEUE;
}

bool hf_zk_watches_look(struct hf_zk *zk, struct hf_request *request,
                        struct hf_zk_queue *queue, bool there)
{
    struct hf_zk_watch *watch = use_watch(zk, kind_of(request), queue->path);

    if (watch == NULL)
        return false;
    /* What it knows of its head serves the next one who looks. */
    if (watch->queue == NULL) {
        watch->queue = queue;
        queue->users++;
    }
    /* Where there is no node there is nothing to watch, and nobody who could go
     * from there: such a WATCH_QUEUE waits for its UNWATCH. */
    watch->watcher.armed |= there;
    if (hf_zk_wait_add(watch, request, NULL) != NULL)
        return true;
    hf_zk_watch_settle(zk, watch);
    return false;
}

static struct hf_zk_wait *first_changed(const struct hf_zk_watch *watch)
{
    struct hf_zk_wait *wait = watch->waits;

    while (wait != NULL && !(wait->notified && wait->changed))
        wait = wait->next;
    return wait;
}

static void notify_changed(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request;
    struct hf_zk_wait *wait;
    bool asking = watch->asking;

    watch->asking = true;
    while ((wait = first_changed(watch)) != NULL) {
        request = wait->request;
        hf_zk_wait_drop(wait);
        notify(zk, request, HF_EVENT_QUEUE_CHANGED);
    }
    watch->asking = asking;
    hf_zk_watch_settle(zk, watch);
}

void hf_zk_watches_listed(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_event *listed)
{
    struct hf_zk_wait *wait = listed->as.answer.request->engine_data;
    enum hf_zk_watch_kind kind = wait->watch->kind;
    struct hf_zk_watch *watch;

    wait->notified = true;
    hf_zk_notify(zk, listed);
    watch = hf_zk_watch_find(zk, kind, queue->path, strlen(queue->path));
    if (watch != NULL)
        notify_changed(zk, watch);
}

static void look_fired(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    for (struct hf_zk_wait *w = watch->waits; w != NULL; w = w->next)
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
        look_fired(watcher->user, watch);
}

/* ---------------------------------------------------------------- resume -- */

/* Watches without anybody who waits were not set again. */
static void drop_idle(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (watch = hf_zk_watch_first(zk); watch != NULL; watch = next) {
        next = hf_zk_watch_next(watch);
        assert(!watch->asking);
        hf_zk_watch_settle(zk, watch);
    }
}

/* Watches that had fired and whose data were still being read when the
 * connection ended: other answers may have named the transaction already, so a
 * SetWatches would not fire them again. */
static void read_unread(struct hf_zk *zk)
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
    drop_idle(zk);
    read_unread(zk);
}

/* ------------------------------------------------------------------- end -- */

void hf_zk_watches_clear(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (watch = hf_zk_watch_first(zk); watch != NULL; watch = next) {
        next = hf_zk_watch_next(watch);
        assert(!watch->asking);
        while (watch->waits != NULL)
            hf_zk_wait_drop(watch->waits);
        watch->watcher.armed = false;
        hf_zk_watch_settle(zk, watch);
    }
    assert(hf_zk_watch_first(zk) == NULL);
}
