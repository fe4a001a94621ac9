/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/watches.h"

#include <assert.h>
#include <string.h>

#include "engines/zookeeper/private.h"
#include "engines/zookeeper/watch_table.h"

static void tell(struct hf_zk *zk, struct hf_request *request,
                 enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = request;
    hf_zk_tell(zk, &event);
}

/* ----------------------------------------------------------------- nodes -- */

/* As if an answer were to come, since those who are told may forget others. */
static void all_gone(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request;
    bool asking = watch->asking;

    hf_zk_own_gone(zk, watch->path);
    if (watch->watchers != NULL)
        hf_zk_kept_node_gone(zk, watch->watchers->request->queue, watch->path);
    /* First: whoever is told may want to watch the path again. */
    hf_zk_watch_take_out(&zk->watches, watch);
    watch->asking = true;
    while (watch->watchers != NULL) {
        request = watch->watchers->request;
        hf_zk_watcher_drop_ring(zk, watch->watchers);
        tell(zk, request, HF_EVENT_GONE);
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

/* Tell those who are marked; any of them may forget any. */
static void tell_asked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_zk_watcher *watcher = watch->watchers;

    while (watcher != NULL) {
        if (watcher->asked) {
            watcher->asked = false;
            tell(zk, watcher->request, HF_EVENT_REVOKED);
            watcher = watch->watchers;
        } else {
            watcher = watcher->next;
        }
    }
}

static void all_revoked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    for (struct hf_zk_watcher *w = watch->watchers; w != NULL; w = w->next)
        w->asked = w->told;
    tell_asked(zk, watch);
}

/* Who hears of it for the first time hears what came before, too: ${first} is
 * marked, and those at its node are to be told next. */
static void tell_watching(struct hf_zk *zk, struct hf_zk_watcher *first)
{
    struct hf_zk_watcher *watcher = first;

    do {
        watcher->told = true;
        first->asked |= watcher->watch->revoked;
        watcher = watcher->beside;
    } while (watcher != first);
    tell(zk, first->request, HF_EVENT_WATCHING);
}

static struct hf_zk_watcher *first_unready(const struct hf_zk_watch *watch)
{
    struct hf_zk_watcher *watcher = watch->watchers;

    while (watcher != NULL && watcher->ready)
        watcher = watcher->next;
    return watcher;
}

static void all_ready(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_zk_watcher *watcher;

    while ((watcher = first_unready(watch)) != NULL) {
        watcher->ready = true;
        if (hf_zk_watcher_is_ready(watcher))
            tell_watching(zk, watcher);
    }
    tell_asked(zk, watch);
}

static struct hf_zk_watcher *first_untold(const struct hf_zk_watch *watch)
{
    struct hf_zk_watcher *watcher = watch->watchers;

    while (watcher != NULL && watcher->told)
        watcher = watcher->next;
    return watcher;
}

/* Those who were told WATCHING may still be: a connection that ended ends no
 * watch. */
static void untold_failed(struct hf_zk *zk, struct hf_zk_watch *watch,
                          enum hf_zk_error error)
{
    struct hf_request *request;
    struct hf_zk_watcher *watcher;

    while ((watcher = first_untold(watch)) != NULL) {
        request = watcher->request;
        hf_zk_watcher_drop_ring(zk, watcher);
        hf_zk_fail_as(zk, request, error, "watch", watch->path);
    }
}

static void asked(void *user, struct hf_zk_call *call,
                  const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_watch *watch = call->owner;
    struct hf_jute_reader body = reply->body;
    bool renew = false;

    /* Kept from being freed while those who are told change the list. */
    assert(watch->asking);
    if (reply->error == HF_ZK_OK) {
        watch->armed = true;
        watch->revoked = hf_zk_says_revoke(hf_jute_get_buffer(&body));
        watch->version = hf_zk_get_stat(&body).version;
        if (watch->revoked)
            all_revoked(zk, watch);
        all_ready(zk, watch);
    } else if (reply->error == HF_ZK_NO_NODE) {
        all_gone(zk, watch);
    } else {
        untold_failed(zk, watch, reply->error);
        /* Those who were told WATCHING would wait for ever: a new connection
         * has its watches set again. */
        renew = watch->watchers != NULL && reply->error != HF_ZK_CUT &&
                hf_zk_session_usable(&zk->session);
    }
    watch->asking = false;
    hf_zk_watch_settle(zk, watch);
    if (renew) /* last: it may end everything */
        hf_zk_session_drop(&zk->session, "a watch could not be renewed (%d)",
                           (int)reply->error);
}

void hf_zk_watch_read(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    watch->asking = true;
    watch->armed = false;
    watch->call.answered = asked;
    watch->call.owner = watch;
    hf_zk_send_get_data(&zk->session, &watch->call, watch->path, true);
}

bool hf_zk_watches_join(struct hf_zk *zk, struct hf_request *request,
                        const char *path)
{
    struct hf_zk_watch *watch =
        hf_zk_watch_find_or_add(&zk->watches, HF_ZK_WATCH_NODE, path);
    struct hf_zk_watcher *beside = request->engine_data;

    if (watch != NULL && hf_zk_watcher_add(watch, request, beside) != NULL)
        return true;
    if (watch != NULL)
        hf_zk_watch_settle(zk, watch);
    if (beside != NULL)
        hf_zk_watcher_drop_ring(zk, beside);
    request->engine_data = NULL;
    hf_zk_fail_memory(zk, request);
    return false;
}

/* As if an answer were to come, since who is told may forget it. */
static void start_told(struct hf_zk *zk, struct hf_zk_watcher *first)
{
    struct hf_zk_watch *watch = first->watch;
    bool asking = watch->asking;

    watch->asking = true;
    tell_watching(zk, first);
    tell_asked(zk, watch);
    watch->asking = asking;
    hf_zk_watch_settle(zk, watch);
}

void hf_zk_watches_start(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_watcher *last = request->engine_data, *first = last->beside;
    struct hf_zk_watcher *watcher = first;

    do {
        watcher->ready = watcher->watch->armed;
        if (!watcher->ready && !watcher->watch->asking)
            hf_zk_watch_read(zk, watcher->watch);
        watcher = watcher->beside;
    } while (watcher != first);
    if (hf_zk_watcher_is_ready(first))
        start_told(zk, first);
}

void hf_zk_watches_forget(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_watcher_drop_ring(zk, request->engine_data);
}

void hf_zk_watches_note(struct hf_zk *zk, const char *path,
                        struct hf_jute_piece data, int32_t version)
{
    struct hf_zk_watch *watch =
        hf_zk_watch_find_or_add(&zk->watches, HF_ZK_WATCH_NODE, path);

    if (watch == NULL)
        return; /* without memory it is set once more: harmless */
    watch->armed = true;
    watch->revoked = hf_zk_says_revoke(data);
    watch->version = version;
}

bool hf_zk_watches_version(const struct hf_zk *zk, const char *path,
                           int32_t *version)
{
    const struct hf_zk_watch *watch =
        hf_zk_watch_find(&zk->watches, HF_ZK_WATCH_NODE, path, strlen(path));

    if (watch == NULL || !watch->armed || watch->watchers == NULL)
        return false;
    *version = watch->version;
    return true;
}

bool hf_zk_watches_data(const struct hf_zk *zk, const char *path, bool *revoked,
                        int32_t *version)
{
    const struct hf_zk_watch *watch =
        hf_zk_watch_find(&zk->watches, HF_ZK_WATCH_NODE, path, strlen(path));

    if (watch == NULL || !watch->armed)
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
    watch->armed = false;
    if (watch->watchers == NULL)
        hf_zk_watch_settle(zk, watch);
    else if (!watch->asking && hf_zk_session_usable(&zk->session))
        hf_zk_watch_read(zk, watch); /* not behind a goodbye */
}

/* ---------------------------------------------------------------- queues -- */

static enum hf_zk_watch_kind kind_of(const struct hf_request *look)
{
    return look->ticket_kind == HF_TICKET_BARRIER ? HF_ZK_WATCH_MARK
                                                  : HF_ZK_WATCH_CHILDREN;
}

bool hf_zk_watches_look(struct hf_zk *zk, struct hf_request *request,
                        struct hf_zk_queue *queue, bool there)
{
    struct hf_zk_watch *watch =
        hf_zk_watch_find_or_add(&zk->watches, kind_of(request), queue->path);

    if (watch == NULL)
        return false;
    /* What it knows of its head serves the next one who looks. */
    if (watch->queue == NULL) {
        watch->queue = queue;
        queue->users++;
    }
    /* Where there is no node there is nothing to watch, and nobody who could go
     * from there: such a LOOK waits for its FORGET. */
    watch->armed |= there;
    if (hf_zk_watcher_add(watch, request, NULL) != NULL)
        return true;
    hf_zk_watch_settle(zk, watch);
    return false;
}

static struct hf_zk_watcher *first_to_tell(const struct hf_zk_watch *watch)
{
    struct hf_zk_watcher *watcher = watch->watchers;

    while (watcher != NULL && !(watcher->told && watcher->news))
        watcher = watcher->next;
    return watcher;
}

static void tell_news(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request;
    struct hf_zk_watcher *watcher;
    bool asking = watch->asking;

    watch->asking = true;
    while ((watcher = first_to_tell(watch)) != NULL) {
        request = watcher->request;
        hf_zk_watcher_drop(watcher);
        tell(zk, request, HF_EVENT_CHANGED);
    }
    watch->asking = asking;
    hf_zk_watch_settle(zk, watch);
}

void hf_zk_watches_listed(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_event *listed)
{
    struct hf_zk_watcher *watcher = listed->as.answer.request->engine_data;
    enum hf_zk_watch_kind kind = watcher->watch->kind;
    struct hf_zk_watch *watch;

    watcher->told = true;
    hf_zk_tell(zk, listed);
    watch =
        hf_zk_watch_find(&zk->watches, kind, queue->path, strlen(queue->path));
    if (watch != NULL)
        tell_news(zk, watch);
}

static void look_fired(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    watch->armed = false;
    for (struct hf_zk_watcher *w = watch->watchers; w != NULL; w = w->next)
        w->news = true;
    tell_news(zk, watch);
}

/* ---------------------------------------------------------------- events -- */

void hf_zk_watches_fired(struct hf_zk *zk, enum hf_zk_event_type type,
                         const char *path, size_t bytes)
{
    struct hf_zk_watch *node =
        hf_zk_watch_find(&zk->watches, HF_ZK_WATCH_NODE, path, bytes);
    struct hf_zk_watch *mark, *queue;

    if (node != NULL)
        node_fired(zk, type, node);
    mark = hf_zk_watch_find(&zk->watches, HF_ZK_WATCH_MARK, path, bytes);
    if (mark != NULL && type != HF_ZK_NODE_CHILDREN_CHANGED)
        look_fired(zk, mark);
    queue = hf_zk_watch_find(&zk->watches, HF_ZK_WATCH_CHILDREN, path, bytes);
    if (queue != NULL &&
        (type == HF_ZK_NODE_CHILDREN_CHANGED || type == HF_ZK_NODE_DELETED))
        look_fired(zk, queue);
}

/* ------------------------------------------------------------------- end -- */

void hf_zk_watches_clear(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (watch = zk->watches.first; watch != NULL; watch = next) {
        next = watch->next;
        assert(!watch->asking);
        while (watch->watchers != NULL)
            hf_zk_watcher_drop(watch->watchers);
        watch->armed = false;
        hf_zk_watch_settle(zk, watch);
    }
    assert(zk->watches.first == NULL);
}
