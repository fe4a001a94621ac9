/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/watches.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "core/plant.h"
#include "engines/zookeeper/private.h"

/* A SetWatches ends when it has so many bytes: servers refuse packets of a
 * megabyte (jute.maxbuffer), and ours are no longer than this and one path. */
#define RESUME_BYTES (128 << 10)

enum kind {
    NODE,     /* its end */
    CHILDREN, /* of a queue */
};

/* A request that waits, at one of the nodes that it waits for.  Its
 * .engine_data, any of them if there are more. */
struct watcher {
    struct hf_request *request;
    struct watcher *beside; /* at another node, in a ring */
    bool ready;             /* this node is watched */
    bool told;              /* WATCHING, LISTED */
    bool news;              /* for who is not told yet */
    bool asked;             /* REVOKED is to be told */
    struct watcher *next;
    struct watcher **link;
    struct hf_zk_watch *watch;
};

struct hf_zk_watch {
    struct hf_zk_watch *next;
    struct hf_zk_watch **link;
    struct watcher *watchers;
    bool asking;  /* a getData is under way */
    bool armed;   /* the server has it */
    bool revoked; /* the data asked to let go when it was last seen */
    struct hf_zk_call call;
    struct hf_zk_queue *queue; /* of CHILDREN, in use by this */
    enum kind kind;
    size_t bytes;
    char path[];
};

static size_t bucket_of(const char *path, size_t bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)path[i]) * 16777619u;
    return hash % HF_ZK_WATCH_BUCKETS;
}

static struct hf_zk_watch *find(const struct hf_zk_watches *watches,
                                enum kind kind, const char *path, size_t bytes)
{
    struct hf_zk_watch *watch = watches->buckets[bucket_of(path, bytes)];

    while (watch != NULL && (watch->kind != kind || watch->bytes != bytes ||
                             memcmp(watch->path, path, bytes) != 0))
        watch = watch->next;
    return watch;
}

static struct hf_zk_watch *add(struct hf_zk_watches *watches, enum kind kind,
                               const char *path)
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

static struct hf_zk_watch *find_or_add(struct hf_zk_watches *watches,
                                       enum kind kind, const char *path)
{
    struct hf_zk_watch *watch = find(watches, kind, path, strlen(path));

    return watch != NULL ? watch : add(watches, kind, path);
}

/* Nobody can find it any more. */
static void take_out(struct hf_zk_watches *watches, struct hf_zk_watch *watch)
{
    if (watch->link == NULL)
        return;
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->link = NULL;
    watches->count--;
}

/* Free a watch that nobody waits for, unless an answer is to come for it. */
static void settle(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    if (watch->watchers != NULL || watch->asking)
        return;
    if (watch->armed && watch->link != NULL)
        return; /* the server will tell of it */
    take_out(&zk->watches, watch);
    if (watch->queue != NULL)
        hf_zk_queue_leave(zk, watch->queue);
    hf_free(watch);
}

/* -------------------------------------------------------------- watchers -- */

/* ${beside}: of the same request, or NULL. */
static struct watcher *add_watcher(struct hf_zk_watch *watch,
                                   struct hf_request *request,
                                   struct watcher *beside)
{
    struct watcher *watcher = hf_alloc(sizeof *watcher);

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

static void drop_watcher(struct watcher *watcher)
{
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
    hf_free(watcher);
}

/* Drop ${watcher} and those beside it. */
static void drop_ring(struct hf_zk *zk, struct watcher *watcher)
{
    struct watcher *beside;
    struct hf_zk_watch *watch;

    while ((beside = watcher->beside) != watcher) {
        watcher->beside = beside->beside;
        watch = beside->watch;
        drop_watcher(beside);
        settle(zk, watch);
    }
    watch = watcher->watch;
    drop_watcher(watcher);
    settle(zk, watch);
}

static bool ring_is_ready(const struct watcher *first)
{
    const struct watcher *watcher = first;

    do {
        if (!watcher->ready)
            return false;
        watcher = watcher->beside;
    } while (watcher != first);
    return true;
}

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
    /* First: whoever is told may want to watch the path again. */
    take_out(&zk->watches, watch);
    watch->asking = true;
    while (watch->watchers != NULL) {
        request = watch->watchers->request;
        drop_ring(zk, watch->watchers);
        tell(zk, request, HF_EVENT_GONE);
    }
    watch->asking = asking;
    settle(zk, watch);
}

/* The data of a node whose owner is asked to let go: Revoker of Curator. */
static bool says_revoke(struct hf_jute_piece data)
{
    return data.count == strlen(HF_ZK_REVOKE) &&
           memcmp(data.bytes, HF_ZK_REVOKE, data.count) == 0;
}

/* Tell those who are marked; any of them may forget any. */
static void tell_asked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct watcher *watcher = watch->watchers;

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
    for (struct watcher *w = watch->watchers; w != NULL; w = w->next)
        w->asked = w->told;
    tell_asked(zk, watch);
}

/* Who hears of it for the first time hears what came before, too: ${first} is
 * marked, and those at its node are to be told next. */
static void tell_watching(struct hf_zk *zk, struct watcher *first)
{
    struct watcher *watcher = first;

    do {
        watcher->told = true;
        first->asked |= watcher->watch->revoked;
        watcher = watcher->beside;
    } while (watcher != first);
    tell(zk, first->request, HF_EVENT_WATCHING);
}

static struct watcher *first_unready(const struct hf_zk_watch *watch)
{
    struct watcher *watcher = watch->watchers;

    while (watcher != NULL && watcher->ready)
        watcher = watcher->next;
    return watcher;
}

static void all_ready(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct watcher *watcher;

    while ((watcher = first_unready(watch)) != NULL) {
        watcher->ready = true;
        if (ring_is_ready(watcher))
            tell_watching(zk, watcher);
    }
    tell_asked(zk, watch);
}

static struct watcher *first_untold(const struct hf_zk_watch *watch)
{
    struct watcher *watcher = watch->watchers;

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
    struct watcher *watcher;

    while ((watcher = first_untold(watch)) != NULL) {
        request = watcher->request;
        drop_ring(zk, watcher);
        hf_zk_fail_as(zk, request, error, "watch", watch->path);
    }
}

static void asked(struct hf_zk *zk, struct hf_zk_call *call,
                  const struct hf_zk_reply *reply)
{
    struct hf_zk_watch *watch = call->owner;
    struct hf_jute_reader body = reply->body;
    bool renew = false;

    /* Kept from being freed while those who are told change the list. */
    assert(watch->asking);
    if (reply->error == HF_ZK_OK) {
        watch->armed = true;
        watch->revoked = says_revoke(hf_jute_get_buffer(&body));
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
    settle(zk, watch);
    if (renew) /* last: it may end everything */
        hf_zk_session_drop(zk, "a watch could not be renewed (%d)",
                           (int)reply->error);
}

static void ask(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    watch->asking = true;
    watch->armed = false;
    watch->call.answered = asked;
    watch->call.owner = watch;
    hf_zk_send_get_data(zk, &watch->call, watch->path, true);
}

bool hf_zk_watches_join(struct hf_zk *zk, struct hf_request *request,
                        const char *path)
{
    struct hf_zk_watch *watch = find_or_add(&zk->watches, NODE, path);
    struct watcher *beside = request->engine_data;

    if (watch != NULL && add_watcher(watch, request, beside) != NULL)
        return true;
    if (watch != NULL)
        settle(zk, watch);
    if (beside != NULL)
        drop_ring(zk, beside);
    request->engine_data = NULL;
    hf_zk_fail_memory(zk, request);
    return false;
}

/* As if an answer were to come, since who is told may forget it. */
static void start_told(struct hf_zk *zk, struct watcher *first)
{
    struct hf_zk_watch *watch = first->watch;
    bool asking = watch->asking;

    watch->asking = true;
    tell_watching(zk, first);
    tell_asked(zk, watch);
    watch->asking = asking;
    settle(zk, watch);
}

void hf_zk_watches_start(struct hf_zk *zk, struct hf_request *request)
{
    struct watcher *last = request->engine_data, *first = last->beside;
    struct watcher *watcher = first;

    do {
        watcher->ready = watcher->watch->armed;
        if (!watcher->ready && !watcher->watch->asking)
            ask(zk, watcher->watch);
        watcher = watcher->beside;
    } while (watcher != first);
    if (ring_is_ready(first))
        start_told(zk, first);
}

void hf_zk_watches_forget(struct hf_zk *zk, struct hf_request *request)
{
    drop_ring(zk, request->engine_data);
}

void hf_zk_watches_note(struct hf_zk *zk, const char *path,
                        struct hf_jute_piece data)
{
    struct hf_zk_watch *watch = find_or_add(&zk->watches, NODE, path);

    if (watch == NULL)
        return; /* without memory it is set once more: harmless */
    watch->armed = true;
    watch->revoked = says_revoke(data);
}

static void node_fired(struct hf_zk *zk, enum hf_zk_event_type type,
                       struct hf_zk_watch *watch)
{
    if (type == HF_ZK_NODE_DELETED || HF_PLANTED(ZK_ANY_EVENT_GONE)) {
        all_gone(zk, watch);
        return;
    }
    watch->armed = false;
    if (watch->watchers == NULL)
        settle(zk, watch);
    else if (!watch->asking && hf_zk_session_usable(&zk->session) &&
             !HF_PLANTED(ZK_NOT_ARMED_AGAIN))
        ask(zk, watch); /* not behind a goodbye */
}

/* ---------------------------------------------------------------- queues -- */

bool hf_zk_watches_look(struct hf_zk *zk, struct hf_request *request,
                        struct hf_zk_queue *queue, bool there)
{
    struct hf_zk_watch *watch =
        find_or_add(&zk->watches, CHILDREN, queue->path);

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
    if (add_watcher(watch, request, NULL) != NULL)
        return true;
    settle(zk, watch);
    return false;
}

static struct watcher *first_to_tell(const struct hf_zk_watch *watch)
{
    struct watcher *watcher = watch->watchers;

    while (watcher != NULL && !(watcher->told && watcher->news))
        watcher = watcher->next;
    return watcher;
}

static void tell_news(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request;
    struct watcher *watcher;
    bool asking = watch->asking;

    watch->asking = true;
    while ((watcher = first_to_tell(watch)) != NULL) {
        request = watcher->request;
        drop_watcher(watcher);
        tell(zk, request, HF_EVENT_CHANGED);
    }
    watch->asking = asking;
    settle(zk, watch);
}

void hf_zk_watches_listed(struct hf_zk *zk, const struct hf_zk_queue *queue,
                          struct hf_event *listed)
{
    struct watcher *watcher = listed->as.answer.request->engine_data;
    struct hf_zk_watch *watch;

    watcher->told = true;
    hf_zk_tell(zk, listed);
    watch = find(&zk->watches, CHILDREN, queue->path, strlen(queue->path));
    if (watch != NULL)
        tell_news(zk, watch);
}

static void children_fired(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    watch->armed = false;
    for (struct watcher *w = watch->watchers; w != NULL; w = w->next)
        w->news = true;
    tell_news(zk, watch);
}

/* ---------------------------------------------------------------- events -- */

void hf_zk_watches_fired(struct hf_zk *zk, enum hf_zk_event_type type,
                         const char *path, size_t bytes)
{
    struct hf_zk_watch *node = find(&zk->watches, NODE, path, bytes);
    struct hf_zk_watch *queue;

    if (node != NULL)
        node_fired(zk, type, node);
    queue = find(&zk->watches, CHILDREN, path, bytes);
    if (queue != NULL &&
        (type == HF_ZK_NODE_CHILDREN_CHANGED || type == HF_ZK_NODE_DELETED))
        children_fired(zk, queue);
}

/* ---------------------------------------------------------------- resume -- */

/* Watches without anybody who waits need not be set again. */
static void drop_unwatched(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (size_t i = 0; i < HF_ZK_WATCH_BUCKETS; i++) {
        for (watch = zk->watches.buckets[i]; watch != NULL; watch = next) {
            next = watch->next;
            assert(!watch->asking);
            if (watch->watchers == NULL)
                watch->armed = false;
            else if (watch->kind == NODE) /* was about to be renewed */
                watch->armed = true;
            settle(zk, watch);
        }
    }
}

/* A packet under way: lists of data, exists and child watches. */
struct packet {
    struct hf_zk *zk;
    enum kind kind; /* of the list that is being written */
    bool open;
    size_t begin;
    size_t count_at;
    int32_t count;
};

static void begin_list(struct packet *packet, enum kind kind)
{
    packet->kind = kind;
    packet->count_at = hf_jute_begin_frame(&packet->zk->wire.out);
    packet->count = 0;
}

static void begin_packet(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->wire.out;

    packet->begin = hf_jute_begin_frame(out);
    hf_jute_put_int(out, HF_ZK_XID_SET_WATCHES);
    hf_jute_put_int(out, HF_ZK_SET_WATCHES);
    hf_jute_put_long(out, packet->zk->session.zxid);
    begin_list(packet, NODE);
    packet->open = true;
}

static void go_on_with_children(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->wire.out;

    hf_jute_set_int(out, packet->count_at, packet->count);
    hf_jute_put_int(out, 0); /* exists watches */
    begin_list(packet, CHILDREN);
}

static void end_packet(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->wire.out;

    if (packet->kind == NODE)
        go_on_with_children(packet);
    hf_jute_set_int(out, packet->count_at, packet->count);
    hf_jute_end_frame(out, packet->begin);
    packet->open = false;
}

static void put_watch(struct packet *packet, const struct hf_zk_watch *watch)
{
    struct hf_jute_writer *out = &packet->zk->wire.out;

    if (!packet->open)
        begin_packet(packet);
    if (packet->kind != watch->kind)
        go_on_with_children(packet);
    hf_jute_put_buffer(out, watch->path, watch->bytes);
    packet->count++;
    if (out->used - packet->begin >= RESUME_BYTES)
        end_packet(packet);
}

void hf_zk_watches_resume(struct hf_zk *zk)
{
    struct packet packet = {.zk = zk};
    const struct hf_zk_watch *watch;

    drop_unwatched(zk);
    if (HF_PLANTED(ZK_NOT_RESUMED))
        return;
    for (enum kind kind = NODE; kind <= CHILDREN; kind++) {
        for (size_t i = 0; i < HF_ZK_WATCH_BUCKETS; i++) {
            for (watch = zk->watches.buckets[i]; watch != NULL;
                 watch = watch->next) {
                if (watch->kind == kind && watch->armed)
                    put_watch(&packet, watch);
            }
        }
    }
    if (packet.open)
        end_packet(&packet);
}

void hf_zk_watches_clear(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (size_t i = 0; i < HF_ZK_WATCH_BUCKETS; i++) {
        for (watch = zk->watches.buckets[i]; watch != NULL; watch = next) {
            next = watch->next;
            assert(!watch->asking);
            while (watch->watchers != NULL)
                drop_watcher(watch->watchers);
            watch->armed = false;
            settle(zk, watch);
        }
    }
    assert(zk->watches.count == 0);
}
