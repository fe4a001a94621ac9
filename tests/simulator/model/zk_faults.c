/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of servers and of the links between them, see zk_faults.h; and the
 * parts of struct sim_model_ops that are about servers.
 */
#include "simulator/model/zk_faults.h"
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 2048

static struct zk_server *server_at(struct hf_sim *sim, int server)
{
    assert(server >= 0 && (unsigned)server < sim->zk->count);
    return &sim->zk->servers[server];
}

unsigned hf_sim_server_count(const struct hf_sim *sim)
{
    return sim->zk == NULL ? 0 : sim->zk->count;
}

int hf_sim_leader_index(const struct hf_sim *sim)
{
    return sim->zk->leader == NULL ? -1 : (int)sim->zk->leader->index;
}

int hf_sim_server_index_of(const struct hf_engine *engine)
{
    const struct zk_connection *connection = engine->zk->connection;

    return connection == NULL ? -1 : (int)connection->server->index;
}

/* ----------------------------------------------------------------- links -- */

static void set_link(struct zk_server *server, bool out, bool in)
{
    server->output_cut = !out;
    server->input_cut = !in;
    zk_peer_links_flush(server);
}

void hf_sim_server_link(struct hf_sim *sim, int server, bool out, bool in)
{
    set_link(server_at(sim, server), out, in);
}

/* A client's stall cuts off the server that it is connected to. */
void zk_stall(struct hf_engine *engine, bool out, bool in)
{
    struct zk_client *client = engine->zk;

    if (out && in) {
        if (client->stalled != NULL)
            set_link(client->stalled, true, true);
        client->stalled = NULL;
    } else if (client->connection != NULL && client->stalled == NULL) {
        client->stalled = client->connection->server;
        set_link(client->stalled, out, in);
    }
}

/* -------------------------------------------------------------- freezing -- */

void hf_sim_server_freeze(struct hf_sim *sim, int server, bool machine)
{
    struct zk_server *frozen = server_at(sim, server);

    if (frozen->frozen)
        return;
    frozen->frozen = true;
    if (machine)
        sim_clock_set_stopped(&frozen->clock, sim->now_us, true);
}

static void flush_clients(struct zk_server *server)
{
    struct zk_connection *next;

    for (struct zk_connection *c = server->connections; c != NULL; c = next) {
        next = c->next;
        sim_pipe_flush(&c->out);
    }
}

static void resume_timer(void *arg)
{
    struct zk_server *server = arg;

    zk_server_arm(server);
    zk_commands_push(server->sim);
}

/* Which comes first is random: what has arrived meanwhile, or what the clock
 * says. */
static void thaw(struct zk_server *server)
{
    struct hf_sim *sim = server->sim;

    if (!server->frozen)
        return;
    server->frozen = false;
    if (server->clock.stopped)
        sim_clock_set_stopped(&server->clock, sim->now_us, false);
    if (sim_random_between(sim, 0, 1) == 0)
        zk_server_arm(server);
    zk_peer_links_flush(server);
    flush_clients(server);
    hf_sim_call_at(sim, sim->now_us + sim_random_between(sim, 0, 1000), true,
                   resume_timer, server);
}

void hf_sim_server_thaw(struct hf_sim *sim, int server)
{
    thaw(server_at(sim, server));
}

/* -------------------------------------------------------- stop and start -- */

void hf_sim_server_stop(struct hf_sim *sim, int server)
{
    struct zk_server *stopped = server_at(sim, server);

    thaw(stopped);
    if (stopped->role != ZK_DOWN)
        zk_server_leave_role(stopped, ZK_DOWN);
}

static void start(struct zk_server *server)
{
    if (server->role != ZK_DOWN)
        return;
    server->role = ZK_LOOKING;
    zk_server_configure(server);
    server->election_at_us = server->looking_since_us = zk_clock_us(server);
    zk_server_arm(server);
}

void hf_sim_server_start(struct hf_sim *sim, int server)
{
    start(server_at(sim, server));
}

static void start_later(void *arg)
{
    start(arg);
}

/* All servers are killed, and start again one by one. */
void zk_restart(struct hf_sim *sim)
{
    for (unsigned i = 0; i < sim->zk->count; i++)
        hf_sim_server_stop(sim, (int)i);
    for (unsigned i = 0; i < sim->zk->count; i++)
        hf_sim_call_at(
            sim,
            sim->now_us +
                sim_random_between(sim, 0, 500 * sim->config.ensemble.tick_ms),
            false, start_later, &sim->zk->servers[i]);
}

void zk_end_faults(struct hf_sim *sim)
{
    for (unsigned i = 0; i < sim->zk->count; i++) {
        thaw(&sim->zk->servers[i]);
        set_link(&sim->zk->servers[i], true, true);
        start(&sim->zk->servers[i]);
    }
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next)
        e->zk->stalled = NULL;
}

/* The tickets leave the queues without an event, because no server knows of
 * them. */
static void forget_tickets(struct hf_sim *sim)
{
    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next)
        q->first = NULL;
}

/* Every server, every session and every command of the run is forgotten. */
void hf_sim_wipe(struct hf_sim *sim)
{
    struct zk_ensemble *zk = sim->zk;

    for (unsigned i = 0; i < zk->count; i++) {
        struct zk_server *server = &zk->servers[i];

        hf_sim_server_stop(sim, (int)i);
        server->logged = NULL;
        zk_replica_init(&server->replica, sim, server, i);
        start(server);
    }
    zk_replica_init(&zk->committed, sim, NULL, ZK_COMMITTED);
    forget_tickets(sim);
    for (struct zk_session *s = zk->sessions; s != NULL; s = s->next)
        memset(s->known, s == zk->other_session, sizeof s->known);
    for (struct zk_command *c = zk->first_command; c != NULL; c = c->next)
        c->done = true;
    zk->epoch = 0;
    zk->wiped = true;
}

bool hf_sim_wiped(const struct hf_sim *sim)
{
    return sim->zk != NULL && sim->zk->wiped;
}

void hf_sim_server_set_max_timeout(struct hf_sim *sim, int server,
                                   uint64_t timeout_ms)
{
    server_at(sim, server)->timeout_max_ms = timeout_ms;
}

/* --------------------------------------------------------- other clients -- */

void hf_sim_reset_after_event(struct hf_engine *engine)
{
    if (engine->zk->connection != NULL)
        engine->zk->connection->reset_after_event = true;
}

void hf_sim_client_use_only(struct hf_engine *engine, int server)
{
    engine->zk->only_server = server;
}

static const char *path_of(struct hf_sim *sim, const char *queue,
                           const char *name)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "/%s%s%s", queue, *name == '\0' ? "" : "/",
             name);
    return sim_strdup(sim, path);
}

/* In all replicas at once, as if the children had been created. */
void hf_sim_set_counter(struct hf_sim *sim, const char *queue, int32_t counter)
{
    const char *path = path_of(sim, queue, "");

    for (unsigned i = 0; i < ZK_REPLICAS; i++) {
        struct zk_replica *replica = i == ZK_COMMITTED
                                         ? &sim->zk->committed
                                         : &sim->zk->servers[i].replica;
        struct zk_node *node =
            replica->root == NULL ? NULL : zk_find(replica, path);

        if (node != NULL)
            node->cversion = counter;
    }
}

void hf_sim_deny_creates(struct hf_sim *sim, const char *queue)
{
    sim->zk->denied = queue == NULL ? NULL : path_of(sim, queue, "");
}

void hf_sim_other_client_create(struct hf_sim *sim, const char *queue,
                                const char *name, bool sequential)
{
    zk_other_create(sim, path_of(sim, queue, name), sequential);
}

void hf_sim_other_client_delete(struct hf_sim *sim, const char *queue,
                                const char *name)
{
    struct zk_command *command = zk_command_new(sim, HF_ZK_DELETE);

    command->path = path_of(sim, queue, name);
    zk_commands_push(sim);
}

void hf_sim_other_client_write(struct hf_sim *sim,
                               const struct hf_ticket_id *ticket)
{
    struct zk_command *command = zk_command_new(sim, HF_ZK_SET_DATA);

    command->by_ticket = true;
    command->ticket = *ticket;
    zk_commands_push(sim);
}

size_t hf_sim_watch_count(const struct hf_sim *sim)
{
    size_t count = 0;

    for (unsigned i = 0; i < sim->zk->count; i++)
        count += sim->zk->servers[i].watch_count;
    return count;
}

static size_t nodes_below(const struct zk_node *node)
{
    size_t count = 0;

    for (const struct zk_node *c = node->first; c != NULL; c = c->next)
        count += 1 + nodes_below(c);
    return count;
}

size_t hf_sim_node_count(const struct hf_sim *sim)
{
    return nodes_below(sim->zk->committed.root);
}
