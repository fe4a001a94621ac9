/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of the ZooKeeper model: the real client (src/engines/zookeeper,
 * src/zookeeper), driven as its transport drives it, on simulated connections.
 * Each call into the client is between begin_call() and end_call(), because
 * events may come from inside a call. */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/reconnect_policy.h"
#include "core/time_math.h"

static uint64_t now_ms(const struct zk_client *client)
{
    return hf_sim_client_now_ms(client->engine);
}

/* ------------------------------------------------- calls into the client -- */

static void close_connection(struct zk_client *client)
{
    struct zk_connection *connection = client->connection;

    client->connection = NULL;
    if (connection != NULL && connection->client_open)
        zk_connection_close_client(connection);
}

/* The hosts are called s1, s2 and so on. */
static struct zk_server *server_called(struct hf_sim *sim,
                                       const struct hf_zk_server *server)
{
    unsigned index = (unsigned)strtoul(server->host + 1, NULL, 10) - 1;

    assert(index < sim->zk->count);
    return &sim->zk->servers[index];
}

/* Connect to the server that the client asks for now. */
static void follow_link(struct zk_client *client)
{
    uint64_t number;
    const struct hf_zk_server *server =
        hf_zk_session_wanted_server(hf_zk_session(client->zk), &number);

    if (server != NULL && number == client->number)
        return;
    close_connection(client);
    if (server == NULL)
        return;
    client->number = number;
    client->connection = zk_connection_new(
        client->engine, server_called(client->engine->sim, server));
}

/* Move the client's output into the connection. */
static void write_out(struct zk_client *client)
{
    const void *bytes;
    size_t count;

    if (client->connection == NULL || !client->connection->client_open)
        return;
    bytes = hf_zk_session_output(hf_zk_session(client->zk), &count);
    if (count == 0)
        return;
    zk_connection_write(client->connection, bytes, count);
    hf_zk_session_written(hf_zk_session(client->zk), count);
}

static void tick(void *arg);

/* Set the timer to when the client wants it.  An earlier timer that is set
 * serves as well. */
static void arm(struct zk_client *client)
{
    struct hf_engine *engine = client->engine;
    uint64_t at_us = hf_sim_client_at_us(
        engine, hf_zk_session_wake_at_ms(hf_zk_session(client->zk)));
    bool connected = client->connection != NULL;

    if (at_us == UINT64_MAX || engine->frozen || at_us >= engine->armed_us)
        return;
    engine->armed_us = at_us;
    hf_sim_call_at(engine->sim, at_us,
                   connected || at_us > engine->sim->now_us + 1000000, tick,
                   client);
}

static void begin_call(struct zk_client *client)
{
    client->call_depth++;
}

/* After the outermost call: connect, write and set the timer as the client
 * asks. */
static void end_call(struct zk_client *client)
{
    if (--client->call_depth > 0 || client->engine->gone)
        return;
    follow_link(client);
    write_out(client);
    arm(client);
}

/* The client's timer. */
static void tick(void *arg)
{
    struct zk_client *client = arg;
    struct hf_engine *engine = client->engine;

    if (engine->gone || engine->frozen ||
        engine->armed_us > engine->sim->now_us)
        return;
    engine->armed_us = UINT64_MAX;
    begin_call(client);
    hf_zk_session_tick(hf_zk_session(client->zk), now_ms(client));
    end_call(client);
}

static bool refused(const struct zk_client *client,
                    const struct zk_connection *connection)
{
    return client->only_server >= 0 &&
           (unsigned)client->only_server != connection->server->index;
}

/* Something has come out of the connection: its acceptance, bytes, or its
 * end. */
void zk_client_receive(struct zk_client *client,
                       struct zk_connection *connection,
                       const struct zk_chunk *chunk)
{
    uint64_t now = now_ms(client);

    assert(client->connection == connection && client->call_depth == 0);
    begin_call(client);
    if (chunk->kind == ZK_BYTES) {
        hf_zk_session_receive(hf_zk_session(client->zk), client->number, now,
                              chunk->bytes, chunk->count);
    } else if (chunk->kind == ZK_ACCEPTED && !refused(client, connection)) {
        hf_zk_session_connection_up(hf_zk_session(client->zk), client->number,
                                    now);
    } else {
        zk_connection_close_client(connection);
        hf_zk_session_connection_down(
            hf_zk_session(client->zk), client->number, now, HF_EUNREACHABLE,
            chunk->kind == ZK_END ? "closed by the server"
                                  : "connection refused");
    }
    end_call(client);
}

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

    assert(!engine->frozen && !engine->gone);
    event->now_ms = now_ms(client);
    observe_event(client, event);
    engine->host.event(engine->host.host, event);
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

/* ----------------------------------------------------------------- model -- */

/* The options of the client that this run has drawn. */
static void configure(struct hf_sim *sim, struct hf_zk_config *config)
{
    const struct hf_sim_ensemble *ensemble = &sim->config.ensemble;

    memset(config, 0, sizeof *config);
    config->url.session.server_count = sim->zk->count;
    for (unsigned i = 0; i < sim->zk->count; i++) {
        snprintf(config->url.session.servers[i].host,
                 sizeof config->url.session.servers[i].host, "s%u", i + 1);
        config->url.session.servers[i].port = HF_ZK_PORT;
    }
    config->url.session.timeout_ms = sim->config.timeout_ms;
    config->url.session.reconnect = hf_reconnect_default;
    if (sim->config.reconnect != NULL)
        config->url.session.reconnect = *sim->config.reconnect;
    config->url.session.timeout_floor_ms = ensemble->timeout_floor_ms;
    config->url.session.tick_ms = ensemble->tick_known ? ensemble->tick_ms : 0;
    config->url.session.lazy_proof = ensemble->lazy_proof;
    config->url.session.strict_proof = ensemble->strict_proof;
    config->layout = ensemble->layout;
    config->url.session.window = ensemble->window;
    hf_random_seed(&config->url.session.random, hf_random_next(&sim->random));
    hf_zk_url_shuffle(&config->url);
}

/* Start the process, or start it anew because its clock was set. */
static void begin(struct hf_engine *engine)
{
    struct hf_sim *sim = engine->sim;
    struct zk_client *client = engine->zk;
    struct hf_engine_host host = {.event = on_event, .log = on_log};
    struct hf_zk_config config;

    if (client == NULL) {
        client = sim_alloc(sim, sizeof *client);
        client->engine = engine;
        client->only_server = -1;
        engine->zk = client;
    } else { /* the clock was set once more */
        close_connection(client);
        hf_zk_free(client->zk);
        client->number = 0;
    }
    host.host = client;
    configure(sim, &config);
    engine->armed_us = UINT64_MAX;
    client->zk = hf_zk_new(&config, &host, now_ms(client));
    if (client->zk == NULL)
        abort(); /* tests cannot go on without memory */
    begin_call(client);
    end_call(client);
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
    begin_call(client);
    hf_zk_submit(client->zk, core_request, now_ms(client));
    end_call(client);
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    struct zk_client *client = engine->zk;

    watch_end(client, watch);
    begin_call(client);
    hf_zk_forget(client->zk, watch);
    end_call(client);
}

static void connect_again(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;

    begin_call(client);
    hf_zk_session_reconnect(hf_zk_session(client->zk), now_ms(client));
    end_call(client);
}

/* The process is gone; the kernel closes its connection. */
static void crash(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;

    engine->gone = true;
    close_connection(client);
    hf_zk_free(client->zk);
    client->zk = NULL;
    client->watches = NULL;
}

static void thaw(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;

    if (client->connection != NULL)
        sim_pipe_flush(&client->connection->in);
    engine->armed_us = engine->sim->now_us;
    hf_sim_call_at(engine->sim, engine->sim->now_us, false, tick, client);
}

static void flush(struct hf_engine *engine)
{
    struct zk_connection *connection = engine->zk->connection;

    if (connection == NULL)
        return;
    sim_pipe_flush(&connection->out);
    sim_pipe_flush(&connection->in);
}

static void reset(struct hf_engine *engine)
{
    if (engine->zk->connection != NULL)
        zk_connection_reset(engine->zk->connection);
}

/* An administrator closes the session at the servers. */
static void kill_session(struct hf_engine *engine)
{
    struct zk_command *command;

    if (engine->zk->client_session == NULL)
        return;
    command = zk_command_new(engine->sim, HF_ZK_CLOSE_SESSION);
    command->session = engine->zk->client_session;
    zk_commands_push(engine->sim);
}

static const void *owner(const struct hf_engine *engine)
{
    return engine->zk->client_session;
}

static bool alive(const struct hf_engine *engine)
{
    const struct zk_session *session = engine->zk->client_session;

    return session != NULL && session->known[ZK_COMMITTED];
}

static bool connected(const struct hf_engine *engine)
{
    const struct zk_connection *connection = engine->zk->connection;

    return connection != NULL && connection->client_open &&
           connection->accepted && connection->server_open &&
           engine->zk->client_session == connection->session &&
           zk_can_commit(connection->server);
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
    .thaw = thaw,
    .flush = flush,
    .reset = reset,
    .crash = crash,
    .kill_session = kill_session,
    .stall = zk_stall,
    .restart = zk_restart,
    .end_faults = zk_end_faults,
    .evict = zk_evict,
    .other_enqueue = zk_other_enqueue,
    .set_barrier = zk_set_barrier,
    .touch_barrier = zk_touch_barrier,
    .owner = owner,
    .alive = alive,
    .connected = connected,
    .lease_end_us = zk_lease_end_us,
    .free_memory = free_memory,
};
