/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a server.  It looks for a leader or becomes one, follows or
 * leads, and when it has lost the others it closes all connections of clients
 * and looks again. */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <string.h>

#define FIRST_SESSION INT64_C(0x100000000000000)

/* -------------------------------------------------------------- sessions -- */

struct zk_session *zk_session_find(struct hf_sim *sim, int64_t id)
{
    struct zk_session *session = sim->zk->sessions;

    while (session != NULL && session->id != id)
        session = session->next;
    return session;
}

/* The password is a function of the id, which is enough for a model. */
struct zk_session *zk_session_new(struct hf_sim *sim, struct hf_engine *engine,
                                  uint64_t timeout_ms)
{
    struct zk_session *session = sim_alloc(sim, sizeof *session);

    session->id = FIRST_SESSION + sim->zk->session_count++;
    for (size_t i = 0; i < sizeof session->password; i++)
        session->password[i] =
            (uint8_t)((uint64_t)session->id >> 8 * (i % 8)) ^ 0x5a;
    session->timeout_ms = timeout_ms;
    session->engine = engine;
    session->next = sim->zk->sessions;
    sim->zk->sessions = session;
    return session;
}

/* ----------------------------------------------------------------- clock -- */

uint64_t zk_clock_us(const struct zk_server *server)
{
    return sim_clock_read_us(&server->clock, server->sim->now_us);
}

static uint64_t tick_us(const struct zk_server *server)
{
    return 1000 * server->sim->config.ensemble.tick_ms;
}

static uint64_t sync_limit_us(const struct zk_server *server)
{
    return server->sim->config.ensemble.sync_limit * tick_us(server);
}

/* The next deadline of its role, on its clock. */
static uint64_t next_us(const struct zk_server *server)
{
    switch (server->role) {
    case ZK_LEADING:
        return zk_leader_next_us(server);
    case ZK_FOLLOWING:
        return server->received_us + sync_limit_us(server);
    case ZK_LOOKING:
        return server->election_at_us;
    case ZK_DOWN:
        break;
    }
    return UINT64_MAX;
}

static void look_for_leader(struct zk_server *server);

/* The next deadline of the server's role has come. */
static void on_timer(void *arg)
{
    struct zk_server *server = arg;
    uint64_t now_us = zk_clock_us(server);

    if (server->armed_us > server->sim->now_us)
        return; /* another timer was set */
    server->armed_us = UINT64_MAX;
    if (server->frozen)
        return;
    if (server->role == ZK_LEADING) {
        zk_leader_tick(server);
    } else if (server->role == ZK_FOLLOWING && now_us >= next_us(server)) {
        sim_trace(server->sim, NULL, "s%u receives nothing from its leader",
                  server->index + 1);
        zk_server_leave_role(server, ZK_LOOKING);
    } else if (server->role == ZK_LOOKING && now_us >= server->election_at_us) {
        look_for_leader(server);
    }
    zk_server_arm(server);
}

void zk_server_arm(struct zk_server *server)
{
    uint64_t at_us = next_us(server);
    uint64_t true_us;

    if (at_us == UINT64_MAX || server->frozen)
        return;
    true_us = sim_clock_when_us(&server->clock, server->sim->now_us, at_us);
    if (true_us >= server->armed_us)
        return;
    server->armed_us = true_us;
    hf_sim_call_at(server->sim, true_us, true, on_timer, server);
}

/* ----------------------------------------------------------------- roles -- */

bool zk_serves(const struct zk_server *server)
{
    return server->role == ZK_FOLLOWING || server->role == ZK_LEADING;
}

/* ReadOnlyZooKeeperServer. */
bool zk_serves_readers(const struct zk_server *server)
{
    return server->sim->config.ensemble.serves_readers &&
           server->role == ZK_LOOKING &&
           zk_clock_us(server) >= server->looking_since_us + tick_us(server);
}

void zk_server_stop_reading(struct zk_server *server)
{
    while (server->connections != NULL)
        zk_connection_close_server(server->connections);
}

static void stop_following(struct zk_server *server)
{
    struct zk_peer_link *link = server->upstream;

    server->upstream = NULL;
    link->follower_open = false;
    zk_send_up(link, zk_message_new(server->sim, ZK_LINK_CLOSED));
}

/* The next try to find a leader is after a random time, so that servers do not
 * try at the same instant. */
void zk_server_leave_role(struct zk_server *server, enum zk_role role)
{
    enum zk_role was = server->role;
    struct hf_sim *sim = server->sim;

    assert(role == ZK_DOWN || role == ZK_LOOKING);
    server->role = role;
    while (server->connections != NULL)
        zk_connection_close_server(server->connections);
    if (was == ZK_FOLLOWING)
        stop_following(server);
    if (was == ZK_LEADING)
        zk_leader_stop(server);
    for (struct zk_session *s = sim->zk->sessions; s != NULL; s = s->next)
        s->touched_ms[server->index] = 0;
    server->looking_since_us = zk_clock_us(server);
    server->election_at_us =
        zk_clock_us(server) +
        sim_random_between(sim, tick_us(server) / 10, tick_us(server) / 2);
    zk_server_arm(server);
}

/* ------------------------------------------------------------- elections -- */

static bool can_vote(const struct zk_server *server)
{
    return server->role == ZK_LOOKING && !server->frozen &&
           !server->input_cut && !server->output_cut;
}

static int64_t last_zxid(const struct zk_server *server)
{
    return server->logged == NULL ? 0 : server->logged->zxid;
}

/* Is the log of ${a} newer than that of ${b}, or the same?  The epoch counts
 * first: what an earlier leader has proposed alone may have a greater zxid than
 * the log of those who have had another leader since
 * (FastLeaderElection.totalOrderPredicate()). */
static bool is_newer(const struct zk_server *a, const struct zk_server *b)
{
    if (a->epoch != b->epoch)
        return a->epoch > b->epoch;
    return last_zxid(a) >= last_zxid(b);
}

/* If a majority of servers is looking for a leader and can communicate, the one
 * with the newest log leads.  This takes no time, because clients do not
 * see how long an election takes. */
static void elect(struct hf_sim *sim)
{
    struct zk_ensemble *zk = sim->zk;
    struct zk_server *best = NULL;
    unsigned count = 0;

    for (unsigned i = 0; i < zk->count; i++) {
        struct zk_server *server = &zk->servers[i];

        if (!can_vote(server))
            continue;
        count++;
        if (best == NULL || is_newer(server, best))
            best = server;
    }
    if (count <= zk->count / 2)
        return;
    zk_become_leader(best);
    for (unsigned i = 0; i < zk->count; i++) {
        if (can_vote(&zk->servers[i]))
            zk_leader_join(best, &zk->servers[i]);
    }
    zk_commands_push(sim);
}

/* Follow the leader if there is one, else try to elect one. */
static void look_for_leader(struct zk_server *server)
{
    struct hf_sim *sim = server->sim;
    struct zk_server *leader = sim->zk->leader;

    if (leader != NULL && !leader->frozen && zk_can_communicate(leader, server))
        zk_leader_join(leader, server);
    else
        elect(sim);
    server->election_at_us =
        zk_clock_us(server) +
        sim_random_between(sim, tick_us(server) / 4, tick_us(server) / 2);
}

/* --------------------------------------------------------- can it commit -- */

static bool link_healthy(const struct zk_peer_link *link)
{
    return link != NULL && link->leader_open && link->follower_open &&
           zk_can_communicate(link->leader, link->follower) &&
           !link->follower->frozen;
}

/* Used by the checks alone: would a write of a client of ${server} be committed
 * now? */
bool zk_can_commit(const struct zk_server *server)
{
    const struct zk_ensemble *zk = server->sim->zk;
    const struct zk_server *leader = zk->leader;
    unsigned count = 1;

    if (leader == NULL || leader->frozen || leader->role != ZK_LEADING)
        return false;
    for (unsigned i = 0; i < zk->count; i++)
        count += link_healthy(leader->links[i]);
    if (count <= zk->count / 2)
        return false;
    return server == leader || link_healthy(leader->links[server->index]);
}

/* ------------------------------------------------------------ life cycle -- */

void zk_server_configure(struct zk_server *server)
{
    const struct hf_sim_config *config = &server->sim->config;

    server->timeout_max_ms = sim_random_between(
        server->sim, config->least_timeout_ms, config->timeout_ms);
}

/* A server's clock starts anywhere. */
static void server_init(struct zk_server *server, struct hf_sim *sim,
                        unsigned index)
{
    const struct hf_sim_config *config = &sim->config;

    server->sim = sim;
    server->index = index;
    server->role = ZK_LOOKING;
    server->clock.ppm = config->server_ppm;
    server->clock.base_us = 1000 * (1000 + sim_random_between(sim, 0, 1000000));
    zk_server_configure(server);
    server->armed_us = UINT64_MAX;
    zk_replica_init(&server->replica, sim, server, index);
}

/* All servers start at once and elect a leader. */
struct zk_ensemble *zk_ensemble_new(struct hf_sim *sim)
{
    struct zk_ensemble *zk = sim_alloc(sim, sizeof *zk);
    const struct hf_sim_ensemble *config = &sim->config.ensemble;

    assert(config->servers > 0 && config->servers <= ZK_SERVERS_MAX);
    assert(config->lag_max_us > 0 && config->container_check_ms > 0);
    sim->zk = zk;
    zk->count = config->servers;
    zk_replica_init(&zk->committed, sim, NULL, ZK_COMMITTED);
    for (unsigned i = 0; i < zk->count; i++)
        server_init(&zk->servers[i], sim, i);
    zk->other_session = zk_session_new(sim, NULL, 0);
    for (unsigned i = 0; i < ZK_REPLICAS; i++)
        zk->other_session->known[i] = true;
    elect(sim);
    return zk;
}
