/* SPDX-License-Identifier: Apache-2.0 */
/* The leader: it numbers each transaction, proposes it to its followers, and
 * commits it, in order, as soon as a majority has it in its log (ZAB:
 * Junqueira, Reed, Serafini 2011).  Twice a tick it pings the followers; their
 * answers name the sessions that they have received something from. */
#include "simulator/model/zk_internal.h"

#include <assert.h>

static uint64_t tick_us(const struct zk_server *server)
{
    return 1000 * server->sim->config.ensemble.tick_ms;
}

static struct zk_ensemble *ensemble_of(const struct zk_server *server)
{
    return server->sim->zk;
}

/* --------------------------------------------------------------- commits -- */

/* The leader's own log counts as one. */
static bool has_majority(const struct zk_server *leader, int64_t zxid)
{
    unsigned count = 1;

    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        const struct zk_peer_link *link = leader->links[i];

        count += link != NULL && link->leader_open && link->acked >= zxid;
    }
    return count > ensemble_of(leader)->count / 2;
}

/* The sync is done: answer it here, or let its follower answer. */
static void send_synced(struct zk_server *leader, struct zk_peer_link *link,
                        struct zk_request *request)
{
    struct zk_message *message;

    if (link == NULL) {
        request->done = true;
        zk_connection_answer_ready(request->connection);
        return;
    }
    message = zk_message_new(leader->sim, ZK_SYNCED);
    message->request = request;
    zk_send_down(link, message);
}

/* The committed replica applies the transaction now: from here on it is final,
 * whether or not any follower learns of it. */
static void commit_first(struct zk_server *leader)
{
    struct zk_proposal *proposal = leader->first_proposal;

    leader->first_proposal = proposal->next;
    if (leader->first_proposal == NULL)
        leader->last_proposal = NULL;
    /* A leader that has been deposed may learn last that a majority has the
     * transaction.  The next leader has committed it already. */
    if (proposal->txn->zxid > zk_replica_zxid(&ensemble_of(leader)->committed))
        zk_catch_up(&ensemble_of(leader)->committed, proposal->txn);
    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        struct zk_message *message;

        if (leader->links[i] == NULL || !leader->links[i]->leader_open)
            continue;
        message = zk_message_new(leader->sim, ZK_COMMIT);
        message->txn = proposal->txn;
        zk_send_down(leader->links[i], message);
    }
    zk_server_commit(leader, proposal->txn);
    zk_change_records_drop(leader, proposal->txn->zxid);
    for (struct zk_sync *s = proposal->first_sync; s != NULL; s = s->next)
        send_synced(leader, s->link, s->request);
}

static void commit_what_can_be(struct zk_server *leader)
{
    while (leader->role == ZK_LEADING && leader->first_proposal != NULL &&
           has_majority(leader, leader->first_proposal->txn->zxid))
        commit_first(leader);
}

void zk_leader_ack(struct zk_server *leader, struct zk_peer_link *link,
                   int64_t zxid)
{
    assert(zxid > link->acked);
    link->acked = zxid;
    commit_what_can_be(leader);
}

/* ------------------------------------------------------------- proposals -- */

/* The leader's own log has it at once. */
static void propose(struct zk_server *leader, struct zk_txn *txn)
{
    struct zk_proposal *proposal = sim_alloc(leader->sim, sizeof *proposal);

    proposal->txn = txn;
    if (leader->last_proposal != NULL)
        leader->last_proposal->next = proposal;
    else
        leader->first_proposal = proposal;
    leader->last_proposal = proposal;
    txn->previous = leader->logged;
    leader->logged = txn;
    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        struct zk_message *message;

        if (leader->links[i] == NULL || !leader->links[i]->leader_open)
            continue;
        message = zk_message_new(leader->sim, ZK_PROPOSAL);
        message->txn = txn;
        zk_send_down(leader->links[i], message);
    }
    commit_what_can_be(leader);
}

/* A sync is answered when all proposals before it are committed.  The leader
 * does not ask a majority whether it still leads, as in ZooKeeper. */
static void answer_sync(struct zk_server *leader, struct zk_request *request,
                        struct zk_peer_link *link)
{
    struct zk_sync *kept;
    struct zk_sync **end;

    if (leader->last_proposal == NULL) {
        send_synced(leader, link, request);
        return;
    }
    kept = sim_alloc(leader->sim, sizeof *kept);
    kept->request = request;
    kept->link = link;
    end = &leader->last_proposal->first_sync;
    while (*end != NULL)
        end = &(*end)->next;
    *end = kept;
}

void zk_leader_request(struct zk_server *leader, struct zk_request *request,
                       struct zk_peer_link *link)
{
    const struct zk_server *from = link == NULL ? leader : link->follower;

    if (request->opcode == HF_ZK_SYNC)
        answer_sync(leader, request, link);
    else
        propose(leader, zk_prepare(leader, request, from, ++leader->zxid));
}

void zk_leader_end_session(struct zk_server *leader, struct zk_session *session)
{
    /* Not in the list of commands: another leader decides anew. */
    struct zk_command *command = sim_alloc(leader->sim, sizeof *command);

    command->opcode = HF_ZK_CLOSE_SESSION;
    command->session = session;
    propose(leader, zk_prepare_command(leader, command, ++leader->zxid));
}

/* -------------------------------------------------------------- commands -- */

struct zk_command *zk_command_new(struct hf_sim *sim, int32_t opcode)
{
    struct zk_command *command = sim_alloc(sim, sizeof *command);

    command->opcode = opcode;
    if (sim->zk->last_command != NULL)
        sim->zk->last_command->next = command;
    else
        sim->zk->first_command = command;
    sim->zk->last_command = command;
    return command;
}

/* A frozen leader proposes nothing. */
void zk_commands_push(struct hf_sim *sim)
{
    struct zk_server *leader = sim->zk->leader;

    if (leader == NULL || leader->frozen)
        return;
    for (struct zk_command *c = sim->zk->first_command; c != NULL;
         c = c->next) {
        if (c->done || c->proposed)
            continue;
        c->proposed = true;
        propose(leader, zk_prepare_command(leader, c, ++leader->zxid));
    }
}

/* --------------------------------------------------------------- leading -- */

/* Everything in the log of a new leader is committed, because a majority
 * elected it (elect() takes the newest log). */
void zk_become_leader(struct zk_server *leader)
{
    struct zk_ensemble *zk = ensemble_of(leader);

    assert(leader->role == ZK_LOOKING);
    zk_server_stop_reading(leader);
    leader->role = ZK_LEADING;
    zk->leader = leader;
    leader->epoch = ++zk->epoch;
    leader->zxid = leader->epoch << 32;
    if (leader->logged != NULL && leader->logged != zk->committed.applied)
        zk_catch_up(&zk->committed, leader->logged);
    if (leader->logged != NULL)
        zk_catch_up(&leader->replica, leader->logged);
    zk_tracker_start(leader);
    leader->ping_at_us = zk_clock_us(leader) + tick_us(leader) / 2;
    leader->containers_at_us =
        zk_clock_us(leader) +
        1000 * leader->sim->config.ensemble.container_check_ms;
    for (struct zk_command *c = zk->first_command; c != NULL; c = c->next)
        c->proposed = false;
    sim_trace(leader->sim, NULL, "s%u leads", leader->index + 1);
    zk_server_arm(leader);
}

static void close_link(struct zk_server *leader, struct zk_peer_link *link)
{
    link->leader_open = false;
    leader->links[link->follower->index] = NULL;
    zk_send_down(link, zk_message_new(leader->sim, ZK_LINK_CLOSED));
}

/* The follower got all proposals with the snapshot and logs them at once.
 * Without this acknowledgement they would stay uncommitted until the next
 * write. */
static void ack_outstanding(struct zk_peer_link *link)
{
    struct zk_message *ack;

    if (link->leader->first_proposal == NULL)
        return;
    ack = zk_message_new(link->leader->sim, ZK_ACK);
    ack->txn = link->leader->logged;
    zk_send_up(link, ack);
}

/* The follower starts with the leader's log and its committed state. */
void zk_leader_join(struct zk_server *leader, struct zk_server *follower)
{
    struct zk_peer_link *link = zk_peer_link_new(leader, follower);

    if (leader->links[follower->index] != NULL)
        close_link(leader, leader->links[follower->index]);
    zk_server_stop_reading(follower);
    follower->role = ZK_FOLLOWING;
    follower->upstream = link;
    follower->received_us = zk_clock_us(follower);
    follower->logged = leader->logged;
    follower->epoch = leader->epoch;
    if (leader->replica.applied != NULL)
        zk_catch_up(&follower->replica, leader->replica.applied);
    leader->links[follower->index] = link;
    link->received_us = zk_clock_us(leader);
    link->acked = zk_replica_zxid(&leader->replica);
    ack_outstanding(link);
    sim_trace(leader->sim, NULL, "s%u follows s%u", follower->index + 1,
              leader->index + 1);
    zk_server_arm(follower);
}

/* Proposals that have no majority are forgotten; followers may still have them
 * in their logs. */
void zk_leader_stop(struct zk_server *leader)
{
    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        if (leader->links[i] != NULL)
            close_link(leader, leader->links[i]);
    }
    leader->first_proposal = leader->last_proposal = NULL;
    leader->changes = NULL;
    if (ensemble_of(leader)->leader == leader)
        ensemble_of(leader)->leader = NULL;
}

/* ----------------------------------------------------------------- clock -- */

/* Close the links to followers that were silent for syncLimit ticks, and count
 * the rest. */
static unsigned count_followers(struct zk_server *leader)
{
    uint64_t limit_us =
        leader->sim->config.ensemble.sync_limit * tick_us(leader);
    unsigned count = 0;

    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        struct zk_peer_link *link = leader->links[i];

        if (link == NULL)
            continue;
        if (zk_clock_us(leader) > link->received_us + limit_us)
            close_link(leader, link);
        else
            count++;
    }
    return count;
}

static void ping_all(struct zk_server *leader)
{
    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        if (leader->links[i] != NULL)
            zk_send_down(leader->links[i],
                         zk_message_new(leader->sim, ZK_PING));
    }
}

/* Once a tick the leader gives up if it has no majority of followers; twice a
 * tick it pings them. */
static void half_tick_passed(struct zk_server *leader)
{
    uint64_t now_us = zk_clock_us(leader);
    unsigned followers = count_followers(leader);

    leader->half_tick = !leader->half_tick;
    if (!leader->half_tick && followers < ensemble_of(leader)->count / 2) {
        sim_trace(leader->sim, NULL, "s%u has too few followers",
                  leader->index + 1);
        zk_server_leave_role(leader, ZK_LOOKING);
        return;
    }
    ping_all(leader);
    leader->ping_at_us = now_us + tick_us(leader) / 2;
}

/* As ContainerManager of ZooKeeper does. */
static void remove_containers(struct zk_server *leader,
                              const struct zk_node *node)
{
    for (const struct zk_node *c = node->first; c != NULL; c = c->next) {
        struct zk_command *command;

        remove_containers(leader, c);
        /* A container that never had a child stays. */
        if (!c->container || c->children > 0 || c->cversion <= 0)
            continue;
        command = zk_command_new(leader->sim, ZK_DELETE_CONTAINER);
        command->path = c->path;
    }
}

/* Everything that the leader does at a time: pings, ends of sessions,
 * containers. */
void zk_leader_tick(struct zk_server *leader)
{
    if (zk_clock_us(leader) >= leader->ping_at_us)
        half_tick_passed(leader);
    if (leader->role == ZK_LEADING)
        zk_tracker_expire(leader);
    if (leader->role == ZK_LEADING &&
        zk_clock_us(leader) >= leader->containers_at_us) {
        remove_containers(leader, leader->replica.root);
        leader->containers_at_us =
            zk_clock_us(leader) +
            1000 * leader->sim->config.ensemble.container_check_ms;
        zk_commands_push(leader->sim);
    }
}

/* The next instant in which the leader has something to do. */
uint64_t zk_leader_next_us(const struct zk_server *leader)
{
    uint64_t next_us = zk_tracker_next_us(leader);

    if (leader->ping_at_us < next_us)
        next_us = leader->ping_at_us;
    if (leader->containers_at_us < next_us)
        next_us = leader->containers_at_us;
    return next_us;
}
