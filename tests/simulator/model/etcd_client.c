/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of the etcd model: the real client of locks (src/engines/etcd),
 * whose session is driven as the real transport does it, on simulated
 * connections.  Each call into the engine is between begin_call() and
 * end_call(), because events may come from inside a call. */
#include "simulator/model/etcd_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/reconnect.h"
#include "engines/etcd/etcd_engine.h"
#include "simulator/model/etcd_client.h"

static uint64_t now_ms(const struct etcd_client *client)
{
    return hf_sim_client_now_ms(client->engine);
}

/* ------------------------------------------------------------ connection -- */

static void close_connection(struct etcd_client *client)
{
    struct etcd_connection *connection = client->connection;

    client->connection = NULL;
    if (connection != NULL && connection->client_open)
        etcd_connection_close_client(connection);
}

static void receive(void *user, struct etcd_connection *connection,
                    const struct etcd_chunk *chunk);

static const struct etcd_connection_ops connection_ops = {.receive = receive};

/* The hosts are called m1, m2 and so on. */
static struct etcd_member *member_called(struct hf_sim *sim,
                                         const struct hf_etcd_server *server)
{
    unsigned index = (unsigned)strtoul(server->host + 1, NULL, 10) - 1;

    assert(index < sim->etcd->count);
    return &sim->etcd->members[index];
}

/* Connect to the server that the client asks for now. */
static void follow_link(struct etcd_client *client)
{
    struct hf_sim *sim = client->engine->sim;
    uint64_t number;
    const struct hf_etcd_server *server =
        hf_etcd_session_wanted_server(client->session, &number);

    if (server != NULL && number == client->number)
        return;
    close_connection(client);
    if (server == NULL)
        return;
    client->number = number;
    client->connection =
        etcd_connection_new(sim, client->engine, member_called(sim, server),
                            &connection_ops, client);
}

/* Move the client's output into the connection. */
static void write_out(struct etcd_client *client)
{
    const void *bytes;
    size_t count;

    for (;;) {
        bytes = hf_etcd_session_output(client->session, &count);
        if (count == 0 || client->connection == NULL ||
            !client->connection->client_open)
            return;
        etcd_connection_write(client->connection, bytes, count);
        hf_etcd_session_written(client->session, count);
    }
}

/* ------------------------------------------------- calls into the client -- */

static void tick(void *arg);

/* Set the timer to when the client wants it.  An earlier timer that is set
 * serves as well. */
static void arm(struct etcd_client *client)
{
    struct hf_engine *engine = client->engine;
    uint64_t at_us = hf_sim_client_at_us(
        engine, hf_etcd_session_wake_at_ms(client->session));

    if (at_us == UINT64_MAX || engine->frozen || at_us >= engine->armed_us)
        return;
    engine->armed_us = at_us;
    hf_sim_call_at(engine->sim, at_us,
                   client->connection != NULL ||
                       at_us > engine->sim->now_us + 1000000,
                   tick, client);
}

static void begin_call(struct etcd_client *client)
{
    client->call_depth++;
    client->called = true;
}

/* After the outermost call: connect, write and set the timer as the client
 * asks.  Events from within that may bring more calls. */
static void end_call(struct etcd_client *client)
{
    while (client->call_depth == 1 && client->called && !client->engine->gone) {
        client->called = false;
        hf_etcd_engine_flush(client->etcd, now_ms(client));
        follow_link(client);
        write_out(client);
        follow_link(client);
    }
    if (--client->call_depth == 0 && !client->engine->gone)
        arm(client);
}

/* The client's timer. */
static void tick(void *arg)
{
    struct etcd_client *client = arg;
    struct hf_engine *engine = client->engine;

    if (engine->gone || engine->frozen ||
        engine->armed_us > engine->sim->now_us)
        return;
    engine->armed_us = UINT64_MAX;
    begin_call(client);
    hf_etcd_session_tick(client->session, now_ms(client));
    end_call(client);
}

/* Something has come out of the connection: its acceptance, bytes, or its
 * end. */
static void receive(void *user, struct etcd_connection *connection,
                    const struct etcd_chunk *chunk)
{
    struct etcd_client *client = user;
    uint64_t now = now_ms(client);

    assert(client->connection == connection && client->call_depth == 0);
    begin_call(client);
    if (chunk->kind == ETCD_SOME_BYTES) {
        hf_etcd_session_receive(client->session, client->number, now,
                                chunk->bytes, chunk->count);
    } else if (chunk->kind == ETCD_ACCEPTED) {
        hf_etcd_session_connection_up(client->session, client->number, now);
    } else {
        etcd_connection_close_client(connection);
        client->connection = NULL;
        hf_etcd_session_connection_down(
            client->session, client->number, now, HF_EUNREACHABLE,
            chunk->kind == ETCD_END ? NULL : "connection refused");
    }
    end_call(client);
}

/* --------------------------------------------------------------- watches -- */

static struct etcd_watch_request **watch_of(struct etcd_client *client,
                                            const struct hf_request *request)
{
    struct etcd_watch_request **at = &client->watches;

    while (*at != NULL && (*at)->request != request)
        at = &(*at)->next;
    return at;
}

static void watch_end(struct etcd_client *client,
                      const struct hf_request *request)
{
    struct etcd_watch_request **at = watch_of(client, request);

    if (*at != NULL)
        *at = (*at)->next;
}

/* The model notes which requests wait for a watch, so that it can notify the
 * observer what a change of the queue fires. */
static void note_watch(struct etcd_client *client, const struct hf_event *event)
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

static void forget_session(struct etcd_client *client)
{
    client->lease = NULL;
    client->watches = NULL;
}

/* Keep the client's lease and watches up to date, and trace. */
static void observe_event(struct etcd_client *client,
                          const struct hf_event *event)
{
    struct hf_sim *sim = client->engine->sim;

    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        client->lease = sim->etcd->leases;
        while (client->lease != NULL &&
               client->lease->id != client->session->lease)
            client->lease = client->lease->next;
        sim_trace(sim, client->engine, "engine %s to m%u",
                  event->as.connected.resumed ? "resumed" : "connected",
                  client->connection == NULL
                      ? 0
                      : client->connection->member->index + 1);
        break;
    case HF_EVENT_SUSPENDED:
        sim_trace(sim, client->engine, "engine suspended");
        break;
    case HF_EVENT_SESSION_LOST:
        sim_trace(sim, client->engine, "engine session lost");
        forget_session(client);
        break;
    case HF_EVENT_CLOSED:
        forget_session(client);
        break;
    case HF_EVENT_LISTED:
    case HF_EVENT_QUEUE_CHANGED:
    case HF_EVENT_WATCHING:
    case HF_EVENT_GONE:
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
    struct etcd_client *client = host;
    struct hf_engine *engine = client->engine;

    assert(!engine->frozen && !engine->gone);
    event->now_ms = now_ms(client);
    observe_event(client, event);
    engine->host.event(engine->host.host, event);
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    const struct hf_engine *engine = ((struct etcd_client *)host)->engine;
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (engine->host.log != NULL)
        engine->host.log(engine->host.host, level, "%s", text);
}

/* ----------------------------------------------------------------- model -- */

/* The options of the client that this run has drawn. */
static void configure(struct hf_sim *sim, struct hf_etcd_url_config *config)
{
    struct hf_etcd_session_config *session = &config->session;

    memset(config, 0, sizeof *config);
    session->server_count = sim->etcd->count;
    for (unsigned i = 0; i < sim->etcd->count; i++) {
        snprintf(session->servers[i].host, sizeof session->servers[i].host,
                 "m%u", i + 1);
        session->servers[i].port = HF_ETCD_PORT;
    }
    if (sim->config.etcd.auth) {
        snprintf(session->user, sizeof session->user, "user");
        snprintf(session->password, sizeof session->password, "password");
    }
    snprintf(session->prefix, sizeof session->prefix, ETCD_PREFIX);
    session->reconnect = sim->config.reconnect == NULL ? hf_reconnect_default
                                                       : *sim->config.reconnect;
    session->ttl_ms = sim->config.timeout_ms;
    session->clock_drift = sim->config.clock_drift;
    session->proof =
        sim->config.etcd.lazy_proof ? HF_ETCD_PROOF_LAZY : HF_ETCD_PROOF_EAGER;
    hf_random_seed(&session->random, hf_random_next(&sim->random));
    hf_etcd_url_shuffle(session);
}

/* Start the process, or start it anew because its clock was set. */
static void begin(struct hf_engine *engine)
{
    struct hf_sim *sim = engine->sim;
    struct etcd_client *client = engine->etcd;
    struct hf_engine_host host = {.event = on_event, .log = on_log};
    struct hf_etcd_url_config config;

    if (client == NULL) {
        client = sim_alloc(sim, sizeof *client);
        client->engine = engine;
        engine->etcd = client;
    } else { /* the clock was set once more */
        close_connection(client);
        hf_etcd_engine_free(client->etcd);
        client->number = 0;
    }
    host.host = client;
    configure(sim, &config);
    engine->armed_us = UINT64_MAX;
    client->etcd = hf_etcd_engine_new(&config, &host, now_ms(client));
    if (client->etcd == NULL)
        abort(); /* tests cannot go on without memory */
    client->session = hf_etcd_engine_session(client->etcd);
    begin_call(client);
    end_call(client);
}

static void request(struct hf_engine *engine, struct hf_request *core_request)
{
    struct etcd_client *client = engine->etcd;

    assert(!engine->frozen && !engine->gone);
    if (core_request->kind == HF_REQUEST_WATCH ||
        core_request->kind == HF_REQUEST_WATCH_QUEUE) {
        struct etcd_watch_request *watch =
            sim_alloc(engine->sim, sizeof *watch);

        watch->request = core_request;
        watch->next = client->watches;
        client->watches = watch;
    }
    begin_call(client);
    hf_etcd_engine_submit(client->etcd, core_request, now_ms(client));
    end_call(client);
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    struct etcd_client *client = engine->etcd;

    watch_end(client, watch);
    begin_call(client);
    hf_etcd_engine_unwatch(client->etcd, watch);
    end_call(client);
}

static void connect_again(struct hf_engine *engine)
{
    struct etcd_client *client = engine->etcd;

    begin_call(client);
    hf_etcd_session_reconnect(client->session, now_ms(client));
    end_call(client);
}

/* The process is gone; the kernel closes its connection. */
static void crash(struct hf_engine *engine)
{
    struct etcd_client *client = engine->etcd;

    engine->gone = true;
    close_connection(client);
    hf_etcd_engine_free(client->etcd);
    client->etcd = NULL;
    forget_session(client);
}

static void thaw(struct hf_engine *engine)
{
    struct etcd_client *client = engine->etcd;

    if (client->connection != NULL)
        etcd_connection_flush(client->connection);
    engine->armed_us = engine->sim->now_us;
    hf_sim_call_at(engine->sim, engine->sim->now_us, false, tick, client);
}

static void flush(struct hf_engine *engine)
{
    if (engine->etcd->connection != NULL)
        etcd_connection_flush(engine->etcd->connection);
}

static void reset(struct hf_engine *engine)
{
    if (engine->etcd->connection != NULL)
        etcd_connection_reset(engine->etcd->connection);
}

const struct etcd_lease *etcd_client_lease(const struct hf_engine *engine)
{
    const struct etcd_lease *lease = engine->etcd->lease;

    return lease != NULL && lease->ended_index == 0 ? lease : NULL;
}

static const void *owner(const struct hf_engine *engine)
{
    return engine->etcd->lease;
}

static bool alive(const struct hf_engine *engine)
{
    return etcd_client_lease(engine) != NULL;
}

static bool connected(const struct hf_engine *engine)
{
    const struct etcd_connection *connection = engine->etcd->connection;

    return connection != NULL && connection->client_open &&
           connection->server_open && engine->etcd->lease != NULL &&
           hf_etcd_session_is_usable(engine->etcd->session) &&
           !hf_grpc_going_away(engine->etcd->session->grpc) &&
           etcd_can_commit(connection->member);
}

static void free_memory(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        if (!e->gone)
            crash(e);
    }
    etcd_cluster_free(sim->etcd);
}

const struct sim_model_ops sim_model_etcd = {
    .start = begin,
    .request = request,
    .unwatch = unwatch,
    .connect = connect_again,
    .free = crash, /* After CLOSED there is nothing left to send. */
    .thaw = thaw,
    .flush = flush,
    .reset = reset,
    .crash = crash,
    .kill_session = etcd_kill_session,
    .stall = etcd_stall,
    .restart = etcd_restart,
    .end_faults = etcd_end_faults,
    .evict = etcd_evict,
    .other_enqueue = etcd_other_enqueue,
    .set_barrier = etcd_set_barrier,
    .touch_barrier = etcd_touch_barrier,
    .owner = owner,
    .alive = alive,
    .connected = connected,
    .lease_end_us = etcd_lease_end_us,
    .free_memory = free_memory,
};
