/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of watches (v3rpc/watch.go, mvcc/watchable_store.go).  Events of one
 * watcher come in the order of their revisions.  A watcher that starts in the
 * past, or whose client was slow, catches up by a timer: so between two
 * watchers of one stream there is no order. */
#include "simulator/model/etcd_internal.h"

/* syncWatchersLoop() runs this often. */
#define CATCH_UP_US 100000
#define INVALID_ID INT64_C(-1)

static struct etcd_member *member_of(const struct etcd_watch_stream *stream)
{
    return stream->call->member;
}

static void respond(struct etcd_call *call, const struct etcd_writer *fields)
{
    struct etcd_writer out = {0};

    etcd_put_header(call, &out, call->member->applied->revision,
                    etcd_applied_term(call->member));
    etcd_put_raw(&out, etcd_written(fields));
    etcd_call_message(call, etcd_written(&out));
    etcd_writer_free(&out);
}

/* ---------------------------------------------------------------- events -- */

static bool shows(const struct etcd_watcher *watcher,
                  const struct etcd_version *version)
{
    return etcd_in_range(version->key->name, watcher->create.key,
                         watcher->create.end);
}

/* An Event.  Of a deletion the key and its revision are given, no more. */
static void put_event(struct etcd_writer *out, const struct etcd_version *v,
                      bool with_previous)
{
    struct etcd_writer event = {0};

    etcd_put_integer(&event, 1, v->deleted);
    etcd_put_key_value(&event, 2, v, false);
    if (with_previous && v->previous != NULL && !v->previous->deleted)
        etcd_put_key_value(&event, 3, v->previous, false);
    etcd_put_message(out, 11, &event);
    etcd_writer_free(&event);
}

/* Send what has happened from .next_revision up to ${revision}. */
static void send_events(struct etcd_watcher *watcher, int64_t revision)
{
    struct etcd_call *call = watcher->stream->call;
    const struct etcd_store *store = &call->member->sim->etcd->store;
    struct etcd_writer out = {0};
    bool any = false;

    etcd_put_integer(&out, 2, (uint64_t)watcher->id);
    for (; watcher->next_revision <= revision; watcher->next_revision++) {
        for (const struct etcd_version *v =
                 store->changes[watcher->next_revision];
             v != NULL; v = v->next) {
            if (!shows(watcher, v))
                continue;
            any = true;
            put_event(&out, v, watcher->create.previous);
        }
    }
    if (any)
        respond(call, &out);
    etcd_writer_free(&out);
}

/* -------------------------------------------------------------- catching -- */

static void remove_watcher(struct etcd_watcher *watcher)
{
    struct etcd_watcher **at = &watcher->stream->watchers;

    while (*at != watcher)
        at = &(*at)->next;
    *at = watcher->next;
}

static void cancel_compacted(struct etcd_watcher *watcher, int64_t compacted)
{
    struct etcd_writer out = {0};

    remove_watcher(watcher);
    etcd_put_integer(&out, 2, (uint64_t)watcher->id);
    etcd_put_integer(&out, 4, true);
    etcd_put_integer(&out, 5, (uint64_t)compacted);
    respond(watcher->stream->call, &out);
    etcd_writer_free(&out);
}

static void catch_up(void *arg)
{
    struct etcd_watch_stream *stream = arg;
    struct etcd_member *member = member_of(stream);
    struct etcd_watcher *next;

    stream->armed = false;
    if (!etcd_call_lives(stream->call))
        return;
    for (struct etcd_watcher *w = stream->watchers; w != NULL; w = next) {
        next = w->next;
        if (!w->lags)
            continue;
        w->lags = false;
        if (w->next_revision < member->applied->compacted)
            cancel_compacted(w, member->applied->compacted);
        else
            send_events(w, member->applied->revision);
    }
}

static void lag(struct etcd_watcher *watcher)
{
    watcher->lags = true;
    if (watcher->stream->armed)
        return;
    watcher->stream->armed = true;
    etcd_member_later(member_of(watcher->stream), CATCH_UP_US, catch_up,
                      watcher->stream);
}

/* ---------------------------------------------------------------- notify -- */

static void notify_stream(struct etcd_watch_stream *stream)
{
    struct etcd_member *member = member_of(stream);
    struct hf_sim *sim = member->sim;

    for (struct etcd_watcher *w = stream->watchers; w != NULL; w = w->next) {
        if (w->lags || w->next_revision > member->applied->revision)
            continue;
        if (sim_happens(sim, sim->config.etcd.lag_chance))
            lag(w);
        else
            send_events(w, member->applied->revision);
    }
}

void etcd_watches_notify(struct etcd_member *member)
{
    for (struct etcd_connection *c = member->connections; c != NULL;
         c = c->next) {
        for (struct etcd_call *call = c->calls; call != NULL; call = call->next)
            if (call->watches != NULL && etcd_call_lives(call))
                notify_stream(call->watches);
    }
}

/* -------------------------------------------------------------- requests -- */

static struct etcd_watcher *find(const struct etcd_watch_stream *stream,
                                 int64_t id)
{
    struct etcd_watcher *watcher = stream->watchers;

    while (watcher != NULL && watcher->id != id)
        watcher = watcher->next;
    return watcher;
}

static void refuse(struct etcd_call *call, const char *reason)
{
    struct etcd_writer out = {0};

    etcd_put_integer(&out, 2, (uint64_t)INVALID_ID);
    etcd_put_integer(&out, 3, true);
    etcd_put_integer(&out, 4, true);
    etcd_put_bytes(&out, 6, etcd_text(reason));
    respond(call, &out);
    etcd_writer_free(&out);
}

static bool draw_id(struct etcd_watch_stream *stream, int64_t *id)
{
    if (*id != 0)
        return find(stream, *id) == NULL;
    while (find(stream, stream->next_id) != NULL)
        stream->next_id++;
    *id = stream->next_id++;
    return true;
}

/* .bytes of the request live as long as the run. */
static void create(struct etcd_call *call,
                   const struct etcd_watch_create *request)
{
    struct etcd_watch_stream *stream = call->watches;
    struct hf_sim *sim = call->member->sim;
    int64_t revision = call->member->applied->revision;
    struct etcd_watcher *watcher = sim_alloc(sim, sizeof *watcher);
    struct etcd_writer out = {0};

    watcher->create = *request;
    watcher->id = request->id;
    watcher->stream = stream;
    if (!draw_id(stream, &watcher->id)) {
        refuse(call, "mvcc: duplicate watch ID provided on the WatchStream");
        return;
    }
    watcher->next_revision =
        request->start == 0 ? revision + 1 : request->start;
    watcher->next = stream->watchers;
    stream->watchers = watcher;
    etcd_put_integer(&out, 2, (uint64_t)watcher->id);
    etcd_put_integer(&out, 3, true);
    respond(call, &out);
    etcd_writer_free(&out);
    /* A write between the look-up of what "now" is and this makes it one of
     * the past, and the answer does not show that. */
    if (watcher->next_revision <= revision ||
        sim_happens(sim, sim->config.etcd.lag_chance))
        lag(watcher);
}

static void cancel(struct etcd_call *call, int64_t id)
{
    struct etcd_watcher *watcher = find(call->watches, id);
    struct etcd_writer out = {0};

    if (watcher == NULL)
        return;
    remove_watcher(watcher);
    etcd_put_integer(&out, 2, (uint64_t)id);
    etcd_put_integer(&out, 4, true);
    respond(call, &out);
    etcd_writer_free(&out);
}

static void create_if_allowed(struct etcd_call *call, struct etcd_bytes message)
{
    struct etcd_watch_create request;
    int64_t revision;
    enum etcd_error error = etcd_auth_check(call, &revision);

    if (!etcd_read_watch_create(message, &request))
        etcd_call_end(call, ETCD_MALFORMED);
    else if (error != ETCD_DONE)
        refuse(call, etcd_errors[error].text);
    else
        create(call, &request);
}

void etcd_watch_request(struct etcd_call *call, struct etcd_bytes message)
{
    struct etcd_field field;
    struct etcd_pair pair;

    if (call->watches == NULL) {
        call->watches = sim_alloc(call->member->sim, sizeof *call->watches);
        call->watches->call = call;
    }
    while (etcd_next_field(&message, &field)) {
        if (field.number == 1)
            create_if_allowed(call, field.bytes);
        else if (field.number == 2 && etcd_read_pair(field.bytes, &pair))
            cancel(call, pair.first);
    }
}
