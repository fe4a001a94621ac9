/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of the ZooKeeper model: the real client of locks
 * (src/engines/zookeeper), whose session zk_drive.c drives. */
#include "base/engine_host.h"
#include "simulator/model/zk_handle.h"
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------- watches -- */

static struct zk_watch_request **watch_of(struct zk_client *client,
                                          const struct hf_request *request)
{
    struct zk_watch_request **at = &client->watches;

    while (*at != NULL && (*at)->request != request)
        at = &(*at)->next;
    return at;
}

static void watch_end(struct zk_client *client,
                      const struct hf_request *request)
{
    struct zk_watch_request **at = watch_of(client, request);

    if (*at != NULL)
        *at = (*at)->next;
}

/* The model notes which requests wait for a watch, so that it can notify the
 * observer what a change of the queue fires. */
static void note_watch(struct zk_client *client, const struct hf_event *event)
{
    const struct hf_request *request = event->as.answer.request;

    if (request == NULL || (request->kind != HF_REQUEST_WATCH &&
                            request->kind != HF_REQUEST_WATCH_QUEUE))
        return;
    if (event->kind == HF_EVENT_WATCHING || event->kind == HF_EVENT_LISTED)
        (*watch_of(client, request))->watching = true;
    else
        watch_end(client, request);
}

/* ---------------------------------------------------------------- events -- */

/* Keep the client's session and watches up to date, and trace. */
static void observe_event(struct zk_client *client,
                          const struct hf_event *event)
{
    struct hf_sim *sim = client->engine->sim;

    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        client->client_session = client->connection->session;
        client->connection->client_accepted = true;
        sim_trace(sim, client->engine, "engine %s to s%u",
                  event->as.connected.resumed ? "resumed" : "connected",
                  client->connection->server->index + 1);
        break;
    case HF_EVENT_SUSPENDED:
        sim_trace(sim, client->engine, "engine suspended");
        break;
    case HF_EVENT_SESSION_LOST:
        sim_trace(sim, client->engine, "engine session lost");
        client->client_session = NULL;
        client->watches = NULL;
        break;
    case HF_EVENT_CLOSED:
        client->client_session = NULL;
        client->watches = NULL;
        break;
    case HF_EVENT_ENQUEUED:
    case HF_EVENT_LISTED:
    case HF_EVENT_QUEUE_CHANGED:
    case HF_EVENT_WATCHING:
    case HF_EVENT_GONE:
    case HF_EVENT_REMOVED:
    case HF_EVENT_FAILED:
        note_watch(client, event);
        break;
    default:
        break;
    }
}

/* The client's events go to the core, and the model notes them. */
static void on_event(void *host, struct hf_event *event)
{
    struct zk_client *client = host;
    struct hf_engine *engine = client->engine;

    /* A handle of a process that is gone may leave room to a request. */
    if (engine->gone && client->handle != NULL)
        return;
    assert(!engine->frozen && !engine->gone);
    event->now_ms = zk_drive_now_ms(client);
    observe_event(client, event);
    engine->host.event(engine->host.host, event);
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    const struct hf_engine *engine = ((struct zk_client *)host)->engine;
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (engine->host.log != NULL)
        engine->host.log(engine->host.host, level, "%s", text);
}

/* ----------------------------------------------------------------- model -- */

/* Start the process, or start it anew because its clock was set. */
static void begin(struct hf_engine *engine)
{
    struct hf_sim *sim = engine->sim;
    struct zk_client *client = engine->zk;
    struct hf_engine_host host = {.event = on_event, .log = on_log};
    struct hf_zk_engine_config config;

    if (client == NULL) {
        client = sim_alloc(sim, sizeof *client);
        client->engine = engine;
        client->only_server = -1;
        engine->zk = client;
    } else { /* the clock was set once more */
        zk_drive_close(client);
        hf_zk_engine_free(client->zk);
        client->number = 0;
    }
    host.host = client;
    memset(&config, 0, sizeof config);
    zk_drive_configure(sim, &config.url);
    config.layout = sim->config.ensemble.layout;
    engine->armed_us = UINT64_MAX;
    client->zk = hf_zk_engine_new(&config, &host, zk_drive_now_ms(client));
    if (client->zk == NULL)
        abort(); /* tests cannot go on without memory */
    client->session = hf_zk_engine_session(client->zk);
    zk_drive_begin(client);
    zk_drive_end(client);
}

static void request(struct hf_engine *engine, struct hf_request *core_request)
{
    struct zk_client *client = engine->zk;

    assert(!engine->frozen && !engine->gone);
    if (core_request->kind == HF_REQUEST_WATCH ||
        core_request->kind == HF_REQUEST_WATCH_QUEUE) {
        struct zk_watch_request *watch = sim_alloc(engine->sim, sizeof *watch);

        watch->request = core_request;
        watch->next = client->watches;
        client->watches = watch;
    }
    zk_drive_begin(client);
    hf_zk_engine_submit(client->zk, core_request, zk_drive_now_ms(client));
    zk_drive_end(client);
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    struct zk_client *client = engine->zk;

    watch_end(client, watch);
    zk_drive_begin(client);
    hf_zk_engine_forget(client->zk, watch);
    zk_drive_end(client);
}

static void connect_again(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;

    zk_drive_begin(client);
    hf_zk_session_reconnect(client->session, zk_drive_now_ms(client));
    zk_drive_end(client);
}

/* The process is gone; the kernel closes its connection. */
static void crash(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;

    engine->gone = true;
    zk_drive_close(client);
    for (struct zk_handle *h = client->handle; h != NULL; h = h->next)
        hf_zk_op_queue_close(&h->queue, zk_drive_now_ms(client));
    hf_zk_engine_free(client->zk);
    client->zk = NULL;
    client->watches = NULL;
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

const struct sim_model_ops sim_model_zk = {
    .start = begin,
    .request = request,
    .unwatch = unwatch,
    .connect = connect_again,
    .free = crash, /* After CLOSED there is nothing left to send. */
    .thaw = zk_drive_thaw,
    .flush = zk_drive_flush,
    .reset = zk_drive_reset,
    .crash = crash,
    .kill_session = zk_drive_kill_session,
    .stall = zk_stall,
    .restart = zk_restart,
    .end_faults = zk_end_faults,
    .evict = zk_evict,
    .other_enqueue = zk_other_enqueue,
    .set_barrier = zk_set_barrier,
    .touch_barrier = zk_touch_barrier,
    .owner = zk_drive_owner,
    .alive = zk_drive_alive,
    .connected = zk_drive_connected,
    .lease_end_us = zk_lease_end_us,
    .free_memory = free_memory,
};
