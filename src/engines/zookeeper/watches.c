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

/* A request that waits.  Its .engine_data. */
struct watcher {
    struct hf_request *request;
    bool told;  /* WATCHING */
    bool asked; /* REVOKED is to be told */
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
                                const char *path, size_t bytes)
{
    struct hf_zk_watch *watch = watches->buckets[bucket_of(path, bytes)];

    while (watch != NULL &&
           (watch->bytes != bytes || memcmp(watch->path, path, bytes) != 0))
        watch = watch->next;
    return watch;
}

static struct hf_zk_watch *add(struct hf_zk_watches *watches, const char *path)
{
    size_t bytes = strlen(path);
    struct hf_zk_watch **bucket = &watches->buckets[bucket_of(path, bytes)];
    struct hf_zk_watch *watch = hf_alloc(sizeof *watch + bytes + 1);

    if (watch == NULL)
        return NULL;
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

static void drop_watcher(struct watcher *watcher)
{
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
    hf_free(watcher);
}

/* Free a watch that nobody waits for, unless an answer is to come for it. */
static void settle(struct hf_zk_watches *watches, struct hf_zk_watch *watch)
{
    if (watch->watchers != NULL || watch->asking)
        return;
    if (watch->armed && watch->link != NULL)
        return; /* the server will tell of it */
    take_out(watches, watch);
    hf_free(watch);
}

/* --------------------------------------------------------------- answers -- */

/* Take the first watcher off and tell it. */
static void tell_gone(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_request *request = watch->watchers->request;
    struct hf_event event = {.kind = HF_EVENT_GONE};

    drop_watcher(watch->watchers);
    event.as.answer.request = request;
    hf_zk_tell(zk, &event);
}

/* Taken out first: whoever is told may want to watch the path again.  And as
 * if an answer were to come, since they may forget the other watchers. */
static void all_gone(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    bool asking = watch->asking;

    hf_zk_own_gone(zk, watch->path);
    take_out(&zk->watches, watch);
    watch->asking = true;
    while (watch->watchers != NULL)
        tell_gone(zk, watch);
    watch->asking = asking;
    settle(&zk->watches, watch);
}

static struct watcher *first_untold(const struct hf_zk_watch *watch)
{
    struct watcher *watcher = watch->watchers;

    while (watcher != NULL && watcher->told)
        watcher = watcher->next;
    return watcher;
}

/* The data of a node whose owner is asked to let go: Revoker of Curator. */
static bool says_revoke(struct hf_jute_piece data)
{
    return data.count == strlen(HF_ZK_REVOKE) &&
           memcmp(data.bytes, HF_ZK_REVOKE, data.count) == 0;
}

static void tell_revoked(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKED};

    event.as.answer.request = request;
    hf_zk_tell(zk, &event);
}

/* Tell those who are marked; any of them may forget any. */
static void tell_asked(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct watcher *watcher = watch->watchers;

    while (watcher != NULL) {
        if (watcher->asked) {
            watcher->asked = false;
            tell_revoked(zk, watcher->request);
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

/* Those who hear of it for the first time hear what came before, too. */
static void all_watching(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_event event = {.kind = HF_EVENT_WATCHING};
    struct watcher *watcher;

    while ((watcher = first_untold(watch)) != NULL) {
        watcher->told = true;
        watcher->asked = watch->revoked;
        event.as.answer.request = watcher->request;
        hf_zk_tell(zk, &event);
    }
    tell_asked(zk, watch);
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
        drop_watcher(watcher);
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
        all_watching(zk, watch);
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
    settle(&zk->watches, watch);
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

/* -------------------------------------------------------------- requests -- */

void hf_zk_watches_add(struct hf_zk *zk, struct hf_request *request,
                       const char *path)
{
    struct hf_zk_watch *watch = find(&zk->watches, path, strlen(path));
    struct watcher *watcher = hf_alloc(sizeof *watcher);

    if (watcher != NULL && watch == NULL)
        watch = add(&zk->watches, path);
    if (watcher == NULL || watch == NULL) {
        hf_free(watcher);
        hf_zk_fail_memory(zk, request);
        return;
    }
    watcher->request = request;
    watcher->watch = watch;
    watcher->next = watch->watchers;
    watcher->link = &watch->watchers;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    watch->watchers = watcher;
    request->engine_data = watcher;
    if (watch->armed)
        all_watching(zk, watch);
    else if (!watch->asking)
        ask(zk, watch);
}

void hf_zk_watches_forget(struct hf_zk *zk, struct hf_request *request)
{
    struct watcher *watcher = request->engine_data;
    struct hf_zk_watch *watch = watcher->watch;

    drop_watcher(watcher);
    settle(&zk->watches, watch);
}

void hf_zk_watches_note(struct hf_zk *zk, const char *path,
                        struct hf_jute_piece data)
{
    struct hf_zk_watch *watch = find(&zk->watches, path, strlen(path));

    if (watch == NULL)
        watch = add(&zk->watches, path);
    if (watch == NULL)
        return; /* without memory it is set once more: harmless */
    watch->armed = true;
    watch->revoked = says_revoke(data);
}

void hf_zk_watches_fired(struct hf_zk *zk, enum hf_zk_event_type type,
                         const char *path, size_t bytes)
{
    struct hf_zk_watch *watch = find(&zk->watches, path, bytes);

    if (watch == NULL)
        return;
    if (type == HF_ZK_NODE_DELETED || HF_PLANTED(ZK_ANY_EVENT_GONE)) {
        all_gone(zk, watch);
        return;
    }
    watch->armed = false;
    if (watch->watchers == NULL)
        settle(&zk->watches, watch);
    else if (!watch->asking && hf_zk_session_usable(&zk->session) &&
             !HF_PLANTED(ZK_NOT_ARMED_AGAIN))
        ask(zk, watch); /* not behind a goodbye */
}

/* ---------------------------------------------------------------- resume -- */

/* Watches without anybody who waits need not be set again. */
static void drop_unwatched(struct hf_zk_watches *watches)
{
    struct hf_zk_watch *watch, *next;

    for (size_t i = 0; i < HF_ZK_WATCH_BUCKETS; i++) {
        for (watch = watches->buckets[i]; watch != NULL; watch = next) {
            next = watch->next;
            assert(!watch->asking);
            watch->armed = watch->watchers != NULL;
            settle(watches, watch);
        }
    }
}

/* A packet under way. */
struct packet {
    struct hf_zk *zk;
    size_t begin;
    size_t count_at;
    int32_t count;
};

static void begin_packet(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->wire.out;

    packet->begin = hf_jute_begin_frame(out);
    hf_jute_put_int(out, HF_ZK_XID_SET_WATCHES);
    hf_jute_put_int(out, HF_ZK_SET_WATCHES);
    hf_jute_put_long(out, packet->zk->session.zxid);
    packet->count_at = hf_jute_begin_frame(out);
    packet->count = 0;
}

static void end_packet(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->wire.out;

    hf_jute_set_int(out, packet->count_at, packet->count);
    hf_jute_put_int(out, 0); /* exists watches */
    hf_jute_put_int(out, 0); /* child watches */
    hf_jute_end_frame(out, packet->begin);
}

void hf_zk_watches_resume(struct hf_zk *zk)
{
    struct packet packet = {.zk = zk};
    struct hf_zk_watch *watch;

    drop_unwatched(&zk->watches);
    if (HF_PLANTED(ZK_NOT_RESUMED))
        return;
    for (size_t i = 0; i < HF_ZK_WATCH_BUCKETS; i++) {
        for (watch = zk->watches.buckets[i]; watch != NULL;
             watch = watch->next) {
            if (packet.count == 0)
                begin_packet(&packet);
            hf_jute_put_buffer(&zk->wire.out, watch->path, watch->bytes);
            packet.count++;
            if (zk->wire.out.used - packet.begin < RESUME_BYTES)
                continue;
            end_packet(&packet);
            packet.count = 0;
        }
    }
    if (packet.count > 0)
        end_packet(&packet);
}

void hf_zk_watches_clear(struct hf_zk_watches *watches)
{
    struct hf_zk_watch *watch, *next;

    for (size_t i = 0; i < HF_ZK_WATCH_BUCKETS; i++) {
        for (watch = watches->buckets[i]; watch != NULL; watch = next) {
            next = watch->next;
            assert(!watch->asking);
            while (watch->watchers != NULL)
                drop_watcher(watch->watchers);
            watch->armed = false;
            settle(watches, watch);
        }
    }
    assert(watches->count == 0);
}
