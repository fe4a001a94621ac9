/* SPDX-License-Identifier: Apache-2.0 */
/* Drives a session of src/zookeeper as the real transport does, on simulated
 * connections; its owner makes the calls.  Each call into the session is
 * between zk_drive_begin() and zk_drive_end(), because events may come from
 * inside a call. */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reconnect.h"
#include "base/time_math.h"

uint64_t zk_drive_now_ms(const struct zk_client *client)
{
    return hf_sim_client_now_ms(client->engine);
}

/* ------------------------------------------------- calls into the client -- */

void zk_drive_close(struct zk_client *client)
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
        hf_zk_session_wanted_server(client->session, &number);

    if (server != NULL && number == client->number)
        return;
    zk_drive_close(client);
    if (server == NULL)
        return;
    client->number = number;
    client->connection = zk_connection_new(
        client->engine, server_called(client->engine->sim, server));
}

/* A server is asked whether it has a quorum, on a second connection, which is
 * not simulated but for the time that it takes. */
struct question {
    struct zk_client *client;
    const struct zk_server *server;
    uint64_t number;
};

/* What the server answers to "isro", if anything comes. */
static const char *answer_of(const struct zk_server *server)
{
    if (zk_serves(server))
        return "rw";
    return zk_serves_readers(server) ? "ro" : "null";
}

static void answer_question(void *arg)
{
    const struct question *question = arg;
    struct zk_client *client = question->client;
    const struct hf_engine *engine = client->engine;
    const char *answer = answer_of(question->server);
    uint64_t now_ms;

    if (engine->gone || engine->frozen || !engine->in_up || !engine->out_up ||
        question->server->frozen)
        return;
    now_ms = zk_drive_now_ms(client);
    zk_drive_begin(client);
    if (question->server->role != ZK_DOWN)
        hf_zk_session_rw_probe_received(client->session, question->number,
                                        now_ms, answer, strlen(answer));
    hf_zk_session_rw_probe_down(client->session, question->number, now_ms);
    zk_drive_end(client);
}

/* Ask the server that the client wants to know about, once. */
static void follow_search(struct zk_client *client)
{
    struct hf_sim *sim = client->engine->sim;
    struct question *question;
    uint64_t number;
    const struct hf_zk_server *server =
        hf_zk_session_rw_probe_server(client->session, &number);

    if (server == NULL || number == client->asked)
        return;
    client->asked = number;
    question = sim_alloc(sim, sizeof *question);
    *question = (struct question){client, server_called(sim, server), number};
    hf_sim_call_at(sim,
                   sim->now_us +
                       4 * sim_random_between(sim, sim->config.delay_min_us,
                                              sim->config.delay_max_us),
                   true, answer_question, question);
}

/* Move the client's output into the connection. */
static void write_out(struct zk_client *client)
{
    const void *bytes;
    size_t count;

    if (client->connection == NULL || !client->connection->client_open)
        return;
    bytes = hf_zk_session_output(client->session, &count);
    if (count == 0)
        return;
    zk_connection_write(client->connection, bytes, count);
    hf_zk_session_written(client->session, count);
}

static void tick(void *arg);

/* The session's next deadline, or that of its owner. */
static uint64_t wake_at_ms(const struct zk_client *client)
{
    uint64_t at_ms = hf_zk_session_wake_at_ms(client->session);

    if (client->due_at_ms == NULL)
        return at_ms;
    return hf_min_ms(at_ms, client->due_at_ms(client));
}

/* Set the timer to when the client wants it.  An earlier timer that is set
 * serves as well. */
static void arm(struct zk_client *client)
{
    struct hf_engine *engine = client->engine;
    uint64_t at_us = hf_sim_client_at_us(engine, wake_at_ms(client));
    bool connected = client->connection != NULL;

    if (at_us == UINT64_MAX || engine->frozen || at_us >= engine->armed_us)
        return;
    engine->armed_us = at_us;
    hf_sim_call_at(engine->sim, at_us,
                   connected || at_us > engine->sim->now_us + 1000000, tick,
                   client);
}

void zk_drive_begin(struct zk_client *client)
{
    client->call_depth++;
}

/* After the outermost call: connect, write and set the timer as the client
 * asks. */
void zk_drive_end(struct zk_client *client)
{
    if (--client->call_depth > 0 || client->engine->gone)
        return;
    follow_link(client);
    follow_search(client);
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
    zk_drive_begin(client);
    hf_zk_session_tick(client->session, zk_drive_now_ms(client));
    if (client->run_due != NULL)
        client->run_due(client, zk_drive_now_ms(client));
    zk_drive_end(client);
}

static bool refused(const struct zk_client *client,
                    const struct zk_connection *connection)
{
    return client->only_server >= 0 &&
           (unsigned)client->only_server != connection->server->index;
}

/* Something has come out of the connection: its acceptance, bytes, or its
 * end. */
void zk_drive_receive(struct zk_client *client,
                      struct zk_connection *connection,
                      const struct zk_chunk *chunk)
{
    uint64_t now = zk_drive_now_ms(client);

    assert(client->connection == connection && client->call_depth == 0);
    zk_drive_begin(client);
    if (chunk->kind == ZK_BYTES) {
        hf_zk_session_receive(client->session, client->number, now,
                              chunk->bytes, chunk->count);
    } else if (chunk->kind == ZK_ACCEPTED && !refused(client, connection)) {
        hf_zk_session_connection_up(client->session, client->number, now);
    } else {
        zk_connection_close_client(connection);
        hf_zk_session_connection_down(
            client->session, client->number, now, HF_EUNREACHABLE,
            chunk->kind == ZK_END ? "closed by the server"
                                  : "connection refused");
    }
    zk_drive_end(client);
}

/* -------------------------------------------------------- configuration -- */

/* The options of the client that this run has drawn. */
void zk_drive_configure(struct hf_sim *sim, struct hf_zk_url_config *config)
{
    const struct hf_sim_ensemble *ensemble = &sim->config.ensemble;

    memset(config, 0, sizeof *config);
    config->session.server_count = sim->zk->count;
    for (unsigned i = 0; i < sim->zk->count; i++) {
        snprintf(config->session.servers[i].host,
                 sizeof config->session.servers[i].host, "s%u", i + 1);
        config->session.servers[i].port = HF_ZK_PORT;
    }
    config->session.timeout_ms = sim->config.timeout_ms;
    config->session.clock_drift = sim->config.clock_drift;
    config->session.reconnect = hf_reconnect_default;
    if (sim->config.reconnect != NULL)
        config->session.reconnect = *sim->config.reconnect;
    config->session.timeout_floor_ms = ensemble->timeout_floor_ms;
    config->session.tick_ms = ensemble->tick_known ? ensemble->tick_ms : 0;
    config->session.proof = ensemble->lazy_proof     ? HF_ZK_PROOF_LAZY
                            : ensemble->strict_proof ? HF_ZK_PROOF_STRICT
                                                     : HF_ZK_PROOF_EAGER;
    config->session.window = ensemble->window;
    hf_random_seed(&config->session.random, hf_random_next(&sim->random));
    hf_zk_url_shuffle(&config->session);
}

/* ------------------------------------------------ process and link -- */

void zk_drive_thaw(struct hf_engine *engine)
{
    struct zk_client *client = engine->zk;

    if (client->connection != NULL)
        sim_pipe_flush(&client->connection->in);
    engine->armed_us = engine->sim->now_us;
    hf_sim_call_at(engine->sim, engine->sim->now_us, false, tick, client);
}

void zk_drive_flush(struct hf_engine *engine)
{
    struct zk_connection *connection = engine->zk->connection;

    if (connection == NULL)
        return;
    sim_pipe_flush(&connection->out);
    sim_pipe_flush(&connection->in);
}

void zk_drive_reset(struct hf_engine *engine)
{
    if (engine->zk->connection != NULL)
        zk_connection_reset(engine->zk->connection);
}

/* An administrator closes the session at the servers. */
void zk_drive_kill_session(struct hf_engine *engine)
{
    struct zk_command *command;

    if (engine->zk->client_session == NULL)
        return;
    command = zk_command_new(engine->sim, HF_ZK_CLOSE_SESSION);
    command->session = engine->zk->client_session;
    zk_commands_push(engine->sim);
}

const void *zk_drive_owner(const struct hf_engine *engine)
{
    return engine->zk->client_session;
}

bool zk_drive_alive(const struct hf_engine *engine)
{
    const struct zk_session *session = engine->zk->client_session;

    return session != NULL && session->known[ZK_COMMITTED];
}

bool zk_drive_connected(const struct hf_engine *engine)
{
    const struct zk_connection *connection = engine->zk->connection;

    return connection != NULL && connection->client_open &&
           connection->accepted && connection->server_open &&
           engine->zk->client_session == connection->session &&
           zk_can_commit(connection->server);
}
