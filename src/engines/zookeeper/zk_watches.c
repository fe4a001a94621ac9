/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of the core may add, cancel and free anything.  So each loop over
 * waiters starts again after a callback, and .reading is set meanwhile to keep
 * the watch from being freed. */
#include "engines/zookeeper/zk_watches.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "engines/zookeeper/children.h"
#include "engines/zookeeper/watch_waiters.h"
#include "engines/zookeeper/zk_own_ticket.h"
#include "engines/zookeeper/zk_request.h"

static void fired(struct hf_zk_watcher *watcher,
                  const struct hf_zk_watch_event *event);

/* The watch of ${path}, made if necessary; NULL for lack of memory. */
static struct hf_zk_engine_watch *find_or_add(struct hf_zk_engine *zk,
                                              enum hf_zk_engine_watch_kind kind,
                                              const char *path)
{
    return hf_zk_engine_watch_find_or_add(zk, kind, path, fired);
}

/* Report an event of ${kind} for ${request}. */
static void notify(struct hf_zk_engine *zk, struct hf_request *request,
                   enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = request;
    hf_zk_engine_notify(zk, &event);
}

/* ----------------------------------------------------------------- nodes -- */

/* The node is gone: report HF_EVENT_GONE to all waiting requests.  .reading
 * keeps the watch, because a callback may cancel other requests. */
static void node_gone(struct hf_zk_engine *zk, struct hf_zk_engine_watch *watch)
{
    struct hf_request *request;
    bool was_reading = watch->reading;

    assert(watch->kind == HF_ZK_WATCH_NODE);
    hf_zk_engine_eviction_read(zk, watch->path);
    hf_zk_engine_own_ticket_node_gone(zk, watch->path);
    if (watch->waiters != NULL)
        hf_zk_engine_children_node_gone(zk, watch->waiters->request->queue,
                                        watch->path);
    /* First, because a callback may watch the same path again. */
    hf_zk_engine_watch_remove(zk, watch);
    watch->reading = true;
    while (watch->waiters != NULL) {
        request = watch->waiters->request;
        hf_zk_engine_waiter_free_all(zk, watch->waiters);
        notify(zk, request, HF_EVENT_GONE);
    }
    watch->reading = was_reading;
    hf_zk_engine_watch_free_if_unused(zk, watch);
}

/* HF_ZK_REVOKE is what Curator's Revoker writes. */
bool hf_zk_engine_is_revoke_data(struct hf_jute_piece data)
{
    return data.count == strlen(HF_ZK_REVOKE) &&
           memcmp(data.bytes, HF_ZK_REVOKE, data.count) == 0;
}

/* Report HF_EVENT_REVOKED to those waiters to which it is due. */
static void notify_revoked(struct hf_zk_engine *zk,
                           struct hf_zk_engine_watch *watch)
{
    struct hf_zk_engine_waiter *waiter = watch->waiters;

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

/* The data ask the owner to release: report that to all requests to which
 * WATCHING has been reported. */
static void notify_all_revoked(struct hf_zk_engine *zk,
                               struct hf_zk_engine_watch *watch)
{
    for (struct hf_zk_engine_waiter *w = watch->waiters; w != NULL; w = w->next)
        w->revoke_due = w->notified;
    notify_revoked(zk, watch);
}

/* Report HF_EVENT_WATCHING to the request of ${first}.  If one of its nodes
 * had already asked for release, HF_EVENT_REVOKED becomes due to it; the
 * caller must call notify_revoked() next. */
static void notify_watching(struct hf_zk_engine *zk,
                            struct hf_zk_engine_waiter *first)
{
    struct hf_zk_engine_waiter *waiter = first;

    assert(first->request->kind == HF_REQUEST_WATCH);
    do {
        waiter->notified = true;
        first->revoke_due |= waiter->watch->revoked;
        waiter = waiter->next_of_request;
    } while (waiter != first);
    notify(zk, first->request, HF_EVENT_WATCHING);
}

/* The first waiter that is not .ready, because the server was not known to
 * watch its node; or NULL. */
static struct hf_zk_engine_waiter *
first_unready(const struct hf_zk_engine_watch *watch)
{
    struct hf_zk_engine_waiter *waiter = watch->waiters;

    while (waiter != NULL && waiter->ready)
        waiter = waiter->next;
    return waiter;
}

/* The node is watched now: report WATCHING to the requests whose other nodes
 * are watched already. */
static void notify_armed(struct hf_zk_engine *zk,
                         struct hf_zk_engine_watch *watch)
{
    struct hf_zk_engine_waiter *waiter;

    while ((waiter = first_unready(watch)) != NULL) {
        waiter->ready = true;
        if (hf_zk_engine_waiter_is_ready(waiter))
            notify_watching(zk, waiter);
    }
    notify_revoked(zk, watch);
}

/* The first waiter to which WATCHING has not been reported. */
static struct hf_zk_engine_waiter *
first_unnotified(const struct hf_zk_engine_watch *watch)
{
    struct hf_zk_engine_waiter *waiter = watch->waiters;

    while (waiter != NULL && waiter->notified)
        waiter = waiter->next;
    return waiter;
}

/* Fail the requests to which WATCHING has not been reported.  For the others
 * the watch goes on, because the end of a connection does not end it. */
static void fail_unnotified(struct hf_zk_engine *zk,
                            struct hf_zk_engine_watch *watch,
                            enum hf_zk_error error)
{
    struct hf_request *request;
    struct hf_zk_engine_waiter *waiter;

    while ((waiter = first_unnotified(watch)) != NULL) {
        request = waiter->request;
        hf_zk_engine_waiter_free_all(zk, waiter);
        hf_zk_engine_fail_with_error(zk, request, error, "watch", watch->path);
    }
}

/* The answer to the getData that sets a watch on a ticket's node: report
 * WATCHING, REVOKED or GONE to the requests that wait. */
static void data_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_watch *watch = call->owner;
    struct hf_jute_reader body = reply->body;
    bool renew = false;

    /* Keeps the watch while callbacks change its list. */
    assert(watch->reading);
    hf_zk_watcher_read_answered(&watch->watcher, reply->error == HF_ZK_OK
                                                     ? HF_ZK_READ_FOUND_NODE
                                                     : HF_ZK_READ_SET_NOTHING);
    if (reply->error == HF_ZK_OK) {
        watch->revoked = hf_zk_engine_is_revoke_data(hf_jute_get_buffer(&body));
        watch->version = hf_zk_get_stat(&body).version;
        if (watch->revoked)
            notify_all_revoked(zk, watch);
        notify_armed(zk, watch);
    } else if (reply->error == HF_ZK_NO_NODE) {
        node_gone(zk, watch);
    } else {
        fail_unnotified(zk, watch, reply->error);
        /* Requests to which WATCHING has been reported would wait for ever, so
         * a new connection must set the watch again. */
        renew = watch->waiters != NULL && reply->error != HF_ZK_DISCONNECTED &&
                hf_zk_session_usable(&zk->session);
    }
    watch->reading = false;
    hf_zk_engine_watch_free_if_unused(zk, watch);
    if (renew) /* last, because this may close everything */
        hf_zk_session_disconnect(&zk->session,
                                 "a watch could not be renewed (%d)",
                                 (int)reply->error);
}

bool hf_zk_engine_watches_flag(struct hf_zk_engine *zk,
                               struct hf_zk_engine_watch *watch)
{
    return hf_zk_watch_set_begin_read(&zk->session.watches, &watch->watcher);
}

/* Read the node's data and set the watch, in one call. */
static void read_node(struct hf_zk_engine *zk, struct hf_zk_engine_watch *watch)
{
    assert(!hf_zk_watcher_is_armed(&watch->watcher));
    watch->reading = true;
    watch->call.answered = data_read;
    watch->call.user = zk;
    watch->call.owner = watch;
    hf_zk_send_get_data(&zk->session, &watch->call, watch->path,
                        hf_zk_engine_watches_flag(zk, watch));
}

/* Make ${request} wait for the node at ${path} too.  For lack of memory the
 * request is failed, and it waits for none of its nodes any more. */
bool hf_zk_engine_watches_join(struct hf_zk_engine *zk,
                               struct hf_request *request, const char *path)
{
    struct hf_zk_engine_watch *watch = find_or_add(zk, HF_ZK_WATCH_NODE, path);
    struct hf_zk_engine_waiter *next_of_request = request->engine_data;

    if (watch != NULL &&
        hf_zk_engine_waiter_add(watch, request, next_of_request) != NULL)
        return true;
    if (watch != NULL)
        hf_zk_engine_watch_free_if_unused(zk, watch);
    if (next_of_request != NULL)
        hf_zk_engine_waiter_free_all(zk, next_of_request);
    request->engine_data = NULL;
    hf_zk_engine_fail_memory(zk, request);
    return false;
}

/* Report WATCHING for a request whose watches are all set already.  .reading
 * keeps the watch, because the callback may cancel the request. */
static void notify_started(struct hf_zk_engine *zk,
                           struct hf_zk_engine_waiter *first)
{
    struct hf_zk_engine_watch *watch = first->watch;
    bool was_reading = watch->reading;

    watch->reading = true;
    notify_watching(zk, first);
    notify_revoked(zk, watch);
    watch->reading = was_reading;
    hf_zk_engine_watch_free_if_unused(zk, watch);
}

/* Read the nodes that are not watched yet; report WATCHING at once if all are.
 */
void hf_zk_engine_watches_start(struct hf_zk_engine *zk,
                                struct hf_request *request)
{
    struct hf_zk_engine_waiter *last = request->engine_data,
                               *first = last->next_of_request;
    struct hf_zk_engine_waiter *waiter = first;

    do {
        waiter->ready = hf_zk_watcher_is_armed(&waiter->watch->watcher);
        if (!waiter->ready && !waiter->watch->reading)
            read_node(zk, waiter->watch);
        waiter = waiter->next_of_request;
    } while (waiter != first);
    if (hf_zk_engine_waiter_is_ready(first))
        notify_started(zk, first);
}

void hf_zk_engine_watches_cancel(struct hf_zk_engine *zk,
                                 struct hf_request *request)
{
    hf_zk_engine_waiter_free_all(zk, request->engine_data);
}

bool hf_zk_engine_watches_version(const struct hf_zk_engine *zk,
                                  const char *path, int32_t *version)
{
    const struct hf_zk_engine_watch *watch =
        hf_zk_engine_watch_find(zk, HF_ZK_WATCH_NODE, path, strlen(path));

    if (watch == NULL || !hf_zk_watcher_is_armed(&watch->watcher) ||
        watch->waiters == NULL)
        return false;
    *version = watch->version;
    return true;
}

bool hf_zk_engine_watches_data(const struct hf_zk_engine *zk, const char *path,
                               bool *revoked, int32_t *version)
{
    const struct hf_zk_engine_watch *watch =
        hf_zk_engine_watch_find(zk, HF_ZK_WATCH_NODE, path, strlen(path));

    if (watch == NULL || !hf_zk_watcher_is_armed(&watch->watcher))
        return false;
    *revoked = watch->revoked;
    *version = watch->version;
    return true;
}

struct hf_zk_engine_watch *
hf_zk_engine_watches_ask_node(struct hf_zk_engine *zk, const char *path)
{
    return find_or_add(zk, HF_ZK_WATCH_NODE, path);
}

void hf_zk_engine_watches_read(struct hf_zk_engine *zk,
                               struct hf_zk_engine_watch *watch, bool exists)
{
    hf_zk_watcher_read_answered(&watch->watcher, exists
                                                     ? HF_ZK_READ_FOUND_NODE
                                                     : HF_ZK_READ_SET_NOTHING);
    hf_zk_engine_watch_free_if_unused(zk, watch);
}

void hf_zk_engine_watches_read_node(struct hf_zk_engine *zk,
                                    struct hf_zk_engine_watch *watch,
                                    struct hf_jute_piece data, int32_t version)
{
    watch->revoked = hf_zk_engine_is_revoke_data(data);
    watch->version = version;
    hf_zk_engine_watches_read(zk, watch, true);
}

/* An event of a ticket's node.  A change of the data sets the watch again. */
static void node_fired(struct hf_zk_engine *zk, enum hf_zk_event_type type,
                       struct hf_zk_engine_watch *watch)
{
    if (type == HF_ZK_NODE_DELETED) {
        node_gone(zk, watch);
        return;
    }
    if (watch->waiters == NULL)
        hf_zk_engine_watch_free_if_unused(zk, watch);
    else if (!watch->reading && hf_zk_session_usable(&zk->session))
        read_node(zk, watch); /* not while closing */
}

/* ---------------------------------------------------------------- queues -- */

/* The kind of watch for ${request}, an HF_REQUEST_WATCH_QUEUE. */
static enum hf_zk_engine_watch_kind kind_of(const struct hf_request *request)
{
    return request->ticket_kind == HF_TICKET_BARRIER ? HF_ZK_WATCH_BARRIER
                                                     : HF_ZK_WATCH_QUEUE;
}

/* Find or make the watch of ${kind} for ${queue}.  The watch keeps the queue in
 * memory, because the payload of its first ticket will be useful again. */
static struct hf_zk_engine_watch *ask(struct hf_zk_engine *zk,
                                      enum hf_zk_engine_watch_kind kind,
                                      struct hf_zk_engine_queue *queue)
{
    struct hf_zk_engine_watch *watch = find_or_add(zk, kind, queue->path);

    if (watch != NULL && watch->queue == NULL) {
        watch->queue = queue;
        queue->users++;
    }
    return watch;
}

struct hf_zk_engine_watch *
hf_zk_engine_watches_ask_queue(struct hf_zk_engine *zk,
                               const struct hf_request *request,
                               struct hf_zk_engine_queue *queue)
{
    return ask(zk, kind_of(request), queue);
}

struct hf_zk_engine_request *hf_zk_engine_watches_begin(
    struct hf_zk_engine *zk, struct hf_request *request,
    void (*then)(struct hf_zk_engine *zk, struct hf_zk_engine_request *req))
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);
    struct hf_zk_engine_watch *watch;

    assert(request->kind == HF_REQUEST_WATCH_QUEUE);
    if (req == NULL)
        return NULL;
    watch = hf_zk_engine_watches_ask_queue(zk, request, req->queue);
    if (watch == NULL) {
        hf_zk_engine_request_fail(zk, req, HF_ZK_OUT_OF_MEMORY, "look at",
                                  req->queue->path);
        return NULL;
    }
    hf_zk_engine_request_enter(req, HF_ZK_LISTING);
    hf_zk_engine_request_listing(req)->watch = watch;
    hf_zk_engine_request_allow_cancel(zk, req);
    hf_zk_engine_request_step(req, then);
    return req;
}

/* The waiter is not notified until hf_zk_engine_watches_listed() has reported
 * the list.  A barrier node that is missing is not watched, because a flag that
 * is clear cannot be cleared: the request waits until it is cancelled. */
bool hf_zk_engine_watches_join_queue(struct hf_zk_engine_watch *watch,
                                     struct hf_request *request)
{
    return hf_zk_engine_waiter_add(watch, request, NULL) != NULL;
}

bool hf_zk_engine_watches_join_missing(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_queue *queue,
                                       struct hf_request *request)
{
    struct hf_zk_engine_watch *watch = ask(zk, HF_ZK_WATCH_MISSING, queue);
    bool joined =
        watch != NULL && hf_zk_engine_waiter_add(watch, request, NULL) != NULL;

    if (watch != NULL)
        hf_zk_engine_watch_free_if_unused(zk, watch);
    return joined;
}

/* The first waiter to which a change must be reported. */
static struct hf_zk_engine_waiter *
first_changed(const struct hf_zk_engine_watch *watch)
{
    struct hf_zk_engine_waiter *waiter = watch->waiters;

    while (waiter != NULL && !(waiter->notified && waiter->changed))
        waiter = waiter->next;
    return waiter;
}

/* Report HF_EVENT_QUEUE_CHANGED to all requests to which it is due.  The event
 * ends them. */
static void notify_changed(struct hf_zk_engine *zk,
                           struct hf_zk_engine_watch *watch)
{
    struct hf_request *request;
    struct hf_zk_engine_waiter *waiter;
    bool was_reading = watch->reading;

    assert(watch->kind != HF_ZK_WATCH_NODE);
    watch->reading = true;
    while ((waiter = first_changed(watch)) != NULL) {
        request = waiter->request;
        hf_zk_engine_waiter_free(waiter);
        notify(zk, request, HF_EVENT_QUEUE_CHANGED);
    }
    watch->reading = was_reading;
    hf_zk_engine_watch_free_if_unused(zk, watch);
}

/* The queue has changed: report that to the requests that have received the
 * list, and to the others later, after their list. */
static void queue_changed(struct hf_zk_engine *zk,
                          struct hf_zk_engine_watch *watch)
{
    for (struct hf_zk_engine_waiter *w = watch->waiters; w != NULL; w = w->next)
        w->changed = true;
    notify_changed(zk, watch);
}

/* The answer to the exists that watches for the creation of a queue's node.  If
 * the node is there, something may be in it that no list has shown.  If the
 * exists failed, a change is reported, too, because the core then lists again
 * and gets the error.  If the connection ended, the exists is sent again on the
 * next connection. */
static void existence_read(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_watch *watch = call->owner;
    enum hf_zk_read_answer answer = HF_ZK_READ_SET_NOTHING;

    assert(watch->reading);
    if (reply->error == HF_ZK_OK)
        answer = HF_ZK_READ_FOUND_NODE;
    else if (reply->error == HF_ZK_NO_NODE)
        answer = HF_ZK_READ_FOUND_NONE;
    hf_zk_watcher_read_answered(&watch->watcher, answer);
    if (reply->error != HF_ZK_NO_NODE && reply->error != HF_ZK_DISCONNECTED)
        queue_changed(zk, watch);
    watch->reading = false;
    hf_zk_engine_watch_free_if_unused(zk, watch);
}

/* Watch for the creation of the queue's node, unless that is under way, or the
 * session is closing. */
static void watch_creation(struct hf_zk_engine *zk,
                           struct hf_zk_engine_watch *watch)
{
    if (watch->reading || hf_zk_watcher_is_armed(&watch->watcher) ||
        !hf_zk_session_usable(&zk->session))
        return;
    watch->reading = true;
    watch->call.answered = existence_read;
    watch->call.user = zk;
    watch->call.owner = watch;
    hf_zk_send_exists(&zk->session, &watch->call, watch->path,
                      hf_zk_engine_watches_flag(zk, watch));
}

/* The watch is searched for again after the callback, because the callback may
 * have freed it.  The watch for the creation of a queue's node is set after the
 * callback, because the core may have cancelled the request in it. */
void hf_zk_engine_watches_listed(struct hf_zk_engine *zk,
                                 const struct hf_zk_engine_queue *queue,
                                 struct hf_event *listed)
{
    struct hf_zk_engine_waiter *waiter = listed->as.answer.request->engine_data;
    enum hf_zk_engine_watch_kind kind = waiter->watch->kind;
    struct hf_zk_engine_watch *watch;

    assert(waiter->request == listed->as.answer.request);
    assert(kind != HF_ZK_WATCH_NODE);
    waiter->notified = true;
    hf_zk_engine_notify(zk, listed);
    watch = hf_zk_engine_watch_find(zk, kind, queue->path, strlen(queue->path));
    if (watch == NULL)
        return;
    if (kind == HF_ZK_WATCH_MISSING && watch->waiters != NULL &&
        first_changed(watch) == NULL)
        watch_creation(zk, watch);
    else
        notify_changed(zk, watch);
}

/* ---------------------------------------------------------------- events -- */

/* The session's callback for an event. */
static void fired(struct hf_zk_watcher *watcher,
                  const struct hf_zk_watch_event *event)
{
    struct hf_zk_engine_watch *watch =
        container_of(watcher, struct hf_zk_engine_watch, watcher);

    if (watch->kind == HF_ZK_WATCH_NODE)
        node_fired(watcher->user, event->type, watch);
    else
        queue_changed(watcher->user, watch);
}

/* ---------------------------------------------------------------- resume -- */

/* Free the watches for which no request waits, because the new connection has
 * not set them again. */
static void free_idle(struct hf_zk_engine *zk)
{
    struct hf_zk_engine_watch *watch, *next;

    for (watch = hf_zk_engine_watch_first(zk); watch != NULL; watch = next) {
        next = hf_zk_engine_watch_next(watch);
        assert(!watch->reading);
        hf_zk_engine_watch_free_if_unused(zk, watch);
    }
}

/* Send the reads again that had not been answered when the connection ended: of
 * nodes whose watch had fired, and of queues without a node.  SetWatches would
 * not fire for them, because other answers may have moved .zxid of the session
 * past the transaction of that event. */
static void read_again(struct hf_zk_engine *zk)
{
    struct hf_zk_engine_watch *watch;

    for (watch = hf_zk_engine_watch_first(zk); watch != NULL;
         watch = hf_zk_engine_watch_next(watch)) {
        if (hf_zk_watcher_is_armed(&watch->watcher))
            continue;
        if (watch->kind == HF_ZK_WATCH_NODE)
            read_node(zk, watch);
        else if (watch->kind == HF_ZK_WATCH_MISSING)
            watch_creation(zk, watch);
    }
}

void hf_zk_engine_watches_resumed(struct hf_zk_engine *zk)
{
    free_idle(zk);
    read_again(zk);
}

/* ------------------------------------------------------------------- end -- */

/* The server drops its watches with the session or the connection. */
void hf_zk_engine_watches_clear(struct hf_zk_engine *zk)
{
    struct hf_zk_engine_watch *watch, *next;

    for (watch = hf_zk_engine_watch_first(zk); watch != NULL; watch = next) {
        next = hf_zk_engine_watch_next(watch);
        assert(!watch->reading);
        while (watch->waiters != NULL)
            hf_zk_engine_waiter_free(watch->waiters);
        hf_zk_engine_watch_remove(zk, watch);
        hf_zk_engine_watch_free_if_unused(zk, watch);
    }
    assert(hf_zk_engine_watch_first(zk) == NULL);
}
