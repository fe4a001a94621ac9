/* SPDX-License-Identifier: Apache-2.0 */
/* See zk_handle.h.  The functions for watches follow those of
 * zookeeper_client/zookeeper_watch.c, which cannot be linked here, because a
 * monitor with threads is part of it. */
#include "simulator/model/zk_handle.h"
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_math.h"
#include "zookeeper/watch_resume.h"
#include "zookeeper/zk_op.h"

#define REQUEST_BYTES_MAX 1047552 /* the default of the public client */

/* A request to take a watch back. */
struct unwatch {
    struct hf_zk_op zk_op;
    struct zk_handle *handle;
};

struct zk_handle *zk_handle_of(const struct hf_engine *engine)
{
    return engine->zk->handle;
}

uint64_t zk_handle_now_ms(const struct zk_handle *handle)
{
    return hf_sim_client_now_ms(handle->engine);
}

void zk_handle_begin(struct zk_handle *handle)
{
    assert(!handle->engine->frozen && !handle->engine->gone);
    zk_drive_begin(handle->client);
}

void zk_handle_end(struct zk_handle *handle)
{
    zk_drive_end(handle->client);
}

/* ------------------------------------------------- events of the session -- */

static void set_watches_again(struct zk_handle *handle);

static void up(void *user, bool resumed)
{
    struct zk_handle *handle = user;

    handle->keeps_watches = false;
    if (handle->callbacks != NULL)
        handle->callbacks->up(handle->user, resumed);
    set_watches_again(handle);
}

static void suspended(void *user)
{
    struct zk_handle *handle = user;

    if (handle->callbacks != NULL)
        handle->callbacks->suspended(handle->user);
}

static void lost(void *user, const char *why)
{
    struct zk_handle *handle = user;

    (void)why;
    if (handle->callbacks != NULL)
        handle->callbacks->lost(handle->user);
    hf_zk_watch_set_session_lost(&handle->session->watches);
}

static void closed(void *user)
{
    struct zk_handle *handle = user;

    if (handle->callbacks != NULL)
        handle->callbacks->closed(handle->user);
}

/* What the model has to know of a session that is the handle's own; the client
 * of locks does that for its own. */
static void own_up(void *user, bool resumed)
{
    struct zk_handle *handle = user;
    struct zk_client *client = handle->client;

    client->client_session = client->connection->session;
    client->connection->client_accepted = true;
    sim_trace(handle->engine->sim, handle->engine, "%s to s%u",
              resumed ? "resumed" : "connected",
              client->connection->server->index + 1);
    up(user, resumed);
}

static void own_suspended(void *user)
{
    struct zk_handle *handle = user;

    sim_trace(handle->engine->sim, handle->engine, "suspended");
    suspended(user);
}

static void own_lost(void *user, const char *why)
{
    struct zk_handle *handle = user;

    sim_trace(handle->engine->sim, handle->engine, "session lost: %s", why);
    handle->client->client_session = NULL;
    lost(user, why);
}

static void own_closed(void *user)
{
    struct zk_handle *handle = user;

    sim_trace(handle->engine->sim, handle->engine, "closed");
    handle->client->client_session = NULL;
    closed(user);
}

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    (void)format;
}

/* --------------------------------------------------------------- watches -- */

static struct zk_handle_watch *of_set_again(struct hf_zk_op *op)
{
    size_t offset = offsetof(struct zk_handle_watch, set_again);

    return (struct zk_handle_watch *)(void *)((char *)op - offset);
}

/* Where it could not be set again, the next connection tries once more. */
static void set_again_ended(struct hf_zk_op *op, hf_status status,
                            struct hf_zookeeper_result *result)
{
    (void)op;
    (void)status;
    (void)result;
}

static void set_again_released(struct hf_zk_op *op)
{
    of_set_again(op)->setting_again = false;
    hf_jute_free(&op->record);
}

static const struct hf_zk_op_callbacks set_again_callbacks = {
    .ended = set_again_ended,
    .released = set_again_released,
};

/* Send AddWatch in a new session. */
static void set_again(struct zk_handle_watch *watch)
{
    struct zk_handle *handle = watch->handle;
    struct hf_zk_op *op = &watch->set_again;
    struct hf_error error;

    if (watch->setting_again)
        return;
    *op = (struct hf_zk_op){.callbacks = &set_again_callbacks,
                            .kind = HF_ZOOKEEPER_ADD_WATCH,
                            .opcode = HF_ZK_ADD_WATCH,
                            .path = watch->watcher.path,
                            .deadline_at_ms = HF_FOREVER,
                            .connect_by_ms = HF_FOREVER,
                            .watcher = &watch->watcher,
                            .keeps_record = true};
    hf_jute_put_string(&op->record, watch->watcher.path);
    hf_jute_put_int(&op->record, 0);
    watch->setting_again = true;
    if (hf_zk_op_queue_add(&handle->queue, op, zk_handle_now_ms(handle),
                           &error) != HF_OK)
        set_again_released(op);
}

static void set_watches_again(struct zk_handle *handle)
{
    const struct hf_zk_watch_set *set = &handle->session->watches;
    struct hf_zk_watcher *watcher = NULL;

    while ((watcher = hf_zk_watch_set_next_lost(set, watcher)) != NULL) {
        struct zk_handle_watch *watch = watcher->user;

        if (watch->handle == handle)
            set_again(watch);
    }
}

/* The .fired of every watcher. */
static void fired(struct hf_zk_watcher *watcher,
                  const struct hf_zk_watch_event *event)
{
    struct zk_handle_watch *watch = watcher->user;

    if (event->type != HF_ZK_RESYNC)
        hf_zk_op_queue_event(&watch->handle->queue);
    watch->fired(watch, event);
}

void zk_handle_watch_open(struct zk_handle_watch *watch,
                          struct zk_handle *handle, const char *path,
                          enum hf_zk_watch_mode mode)
{
    watch->handle = handle;
    watch->watcher = (struct hf_zk_watcher){
        .user = watch, .fired = fired, .path = path, .mode = mode};
}

static void unwatch_ended(struct hf_zk_op *op, hf_status status,
                          struct hf_zookeeper_result *result)
{
    struct zk_handle *handle = ((struct unwatch *)op)->handle;

    if (status != HF_OK && result->error != HF_ZK_NO_WATCHER)
        handle->keeps_watches = true;
    hf_zookeeper_result_free(result);
}

static void unwatch_released(struct hf_zk_op *op)
{
    (void)op;
}

static const struct hf_zk_op_callbacks unwatch_callbacks = {
    .ended = unwatch_ended,
    .released = unwatch_released,
};

/* Ask the server for ${what} at the path of ${watch}. */
static void ask_to_forget(struct zk_handle_watch *watch,
                          enum hf_zk_unwatch what)
{
    struct zk_handle *handle = watch->handle;
    struct unwatch *unwatch = sim_alloc(handle->engine->sim, sizeof *unwatch);
    bool lowers = what == HF_ZK_UNWATCH_LOWER;

    unwatch->handle = handle;
    unwatch->zk_op = (struct hf_zk_op){
        .callbacks = &unwatch_callbacks,
        .kind = HF_ZOOKEEPER_SYNC, /* the answer brings nothing */
        .opcode = lowers ? HF_ZK_ADD_WATCH : HF_ZK_REMOVE_WATCHES,
        .path = "",
        .only_try = true,
        .reserved = hf_zk_op_reserve(),
        .deadline_at_ms = HF_FOREVER};
    hf_jute_put_string(&unwatch->zk_op.record, watch->watcher.path);
    hf_jute_put_int(&unwatch->zk_op.record, lowers ? 0 : (int32_t)what);
    hf_zk_op_queue_send(&handle->queue, &unwatch->zk_op,
                        zk_handle_now_ms(handle));
}

void zk_handle_watch_free(struct zk_handle_watch *watch)
{
    struct hf_zk_session *session = watch->handle->session;
    enum hf_zk_unwatch what;

    if (watch->setting_again)
        hf_zk_op_queue_cancel(&watch->handle->queue, &watch->set_again,
                              zk_handle_now_ms(watch->handle));
    if (!hf_zk_watcher_in_set(&watch->watcher))
        return;
    if (!hf_zk_session_usable(session)) {
        hf_zk_watch_set_remove(&session->watches, &watch->watcher);
        return;
    }
    what = hf_zk_watch_set_unwatch(&session->watches, &watch->watcher);
    if (what != HF_ZK_UNWATCH_NOTHING)
        ask_to_forget(watch, what);
}

/* ----------------------------------------------------------------- model -- */

static uint64_t due_at_ms(const struct zk_client *client)
{
    uint64_t at_ms = HF_FOREVER;

    for (struct zk_handle *h = client->handle; h != NULL; h = h->next)
        at_ms = hf_min_ms(at_ms, hf_zk_op_queue_wake_at_ms(&h->queue));
    return at_ms;
}

static void run_due(struct zk_client *client, uint64_t now_ms)
{
    for (struct zk_handle *h = client->handle; h != NULL; h = h->next)
        hf_zk_op_queue_tick(&h->queue, now_ms);
}

/* Begin to use the session, as ${listener} says. */
static void use_session(struct zk_handle *handle,
                        const struct hf_zk_listener *listener)
{
    handle->context = (struct hf_zk_op_context){
        .chroot = "", .max_request_bytes = REQUEST_BYTES_MAX};
    hf_zk_op_queue_init(&handle->queue, handle->session, &handle->context);
    handle->listener = *listener;
    handle->listener.user = handle;
    hf_zk_listeners_add(&handle->session->listeners, &handle->listener);
}

static void begin_session(struct zk_handle *handle)
{
    static const struct hf_zk_listener listener = {.up = own_up,
                                                   .suspended = own_suspended,
                                                   .lost = own_lost,
                                                   .closed = own_closed};
    const struct hf_zk_log log = {handle, on_log};

    handle->session = &handle->own_session;
    hf_zk_session_begin(handle->session, &handle->config.session, &log,
                        zk_handle_now_ms(handle));
    use_session(handle, &listener);
}

static const struct hf_zk_listener listener_of_user = {
    .up = up, .suspended = suspended, .lost = lost, .closed = closed};

struct zk_handle *zk_handle_another(struct zk_handle *first)
{
    struct zk_handle *handle = sim_alloc(first->engine->sim, sizeof *handle);

    assert(first->next == NULL);
    handle->engine = first->engine;
    handle->client = first->client;
    handle->session = first->session;
    first->next = handle;
    use_session(handle, &listener_of_user);
    return handle;
}

struct zk_handle *zk_handle_share(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;
    struct zk_handle *handle = sim_alloc(engine->sim, sizeof *handle);

    assert(client->zk != NULL && client->handle == NULL);
    handle->engine = engine;
    handle->client = client;
    handle->session = client->session;
    client->handle = handle;
    client->due_at_ms = due_at_ms;
    client->run_due = run_due;
    use_session(handle, &listener_of_user);
    return handle;
}

/* Start the process, or start it anew because its clock was set. */
static void start(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;
    struct zk_handle *handle;

    if (client == NULL) {
        client = sim_alloc(engine->sim, sizeof *client);
        handle = sim_alloc(engine->sim, sizeof *handle);
        *client = (struct zk_client){.engine = engine,
                                     .session = &handle->own_session,
                                     .handle = handle,
                                     .due_at_ms = due_at_ms,
                                     .run_due = run_due,
                                     .only_server = -1};
        handle->engine = engine;
        handle->client = client;
        engine->zk = client;
    } else {
        handle = client->handle;
        zk_drive_close(client);
        hf_zk_session_free(handle->session);
        client->number = 0;
    }
    zk_drive_configure(engine->sim, &handle->config);
    handle->config.session.read_only = handle->accepts_readers;
    if (handle->credential != NULL)
        snprintf(handle->config.session.auth,
                 sizeof handle->config.session.auth, "%s", handle->credential);
    engine->armed_us = UINT64_MAX;
    begin_session(handle);
    zk_drive_begin(client);
    zk_drive_end(client);
}

/* Close the queues of ${handle} and those behind it. */
static void close_queues(struct zk_handle *handle)
{
    for (struct zk_handle *h = handle; h != NULL; h = h->next)
        hf_zk_op_queue_close(&h->queue, zk_handle_now_ms(h));
}

void zk_handle_close(struct zk_handle *handle)
{
    zk_handle_begin(handle);
    close_queues(handle);
    hf_zk_session_close(handle->session);
    zk_handle_end(handle);
}

void zk_handle_stop(struct zk_handle *handle)
{
    zk_handle_begin(handle);
    close_queues(handle);
    zk_handle_end(handle);
}

/* The process is gone.  What its operations have in memory is freed with
 * them. */
static void crash(struct hf_engine *engine)
{
    struct zk_handle *handle = engine->zk->handle;

    engine->gone = true;
    zk_drive_close(engine->zk);
    close_queues(handle);
    hf_zk_session_free(handle->session);
}

static void free_memory(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        if (!e->gone)
            crash(e);
    }
    for (struct zk_connection *c = sim->zk->connections; c != NULL;
         c = c->next_ever)
        hf_jute_free(&c->received);
}

/* There are no tickets, so what is about them is never called. */
const struct sim_model_ops sim_model_zk_handle = {
    .start = start,
    .free = crash,
    .thaw = zk_drive_thaw,
    .flush = zk_drive_flush,
    .reset = zk_drive_reset,
    .crash = crash,
    .kill_session = zk_drive_kill_session,
    .stall = zk_stall,
    .restart = zk_restart,
    .end_faults = zk_end_faults,
    .owner = zk_drive_owner,
    .alive = zk_drive_alive,
    .connected = zk_drive_connected,
    .free_memory = free_memory,
};

/* ------------------------------------------------- what the servers know -- */

const struct zk_sent_event *zk_handle_events(const struct zk_handle *handle)
{
    const struct zk_connection *connection = handle->client->connection;

    return connection == NULL ? NULL : connection->first_event;
}

const struct zk_sent_event *
zk_handle_next_event(const struct zk_sent_event *event)
{
    return event->next;
}

int32_t zk_handle_event_type(const struct zk_sent_event *event)
{
    return event->type;
}

const char *zk_handle_event_path(const struct zk_sent_event *event)
{
    return event->path;
}

int64_t zk_handle_event_zxid(const struct zk_sent_event *event)
{
    return event->zxid;
}

bool zk_handle_was_synced(const struct zk_handle *handle)
{
    const struct zk_connection *connection = handle->client->connection;

    return connection != NULL && connection->synced;
}

const char *zk_handle_watched_path(const struct zk_handle *handle)
{
    const struct zk_connection *connection = handle->client->connection;
    const struct zk_watch *watch =
        connection == NULL ? NULL : connection->server->watches;

    while (watch != NULL && watch->connection != connection)
        watch = watch->next;
    return watch == NULL ? NULL : watch->path;
}
