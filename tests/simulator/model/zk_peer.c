/* SPDX-License-Identifier: Apache-2.0 */
/* The links between servers: a stream in each direction, each of which can be
 * held up on its own. */
#include "simulator/model/zk_internal.h"

#include <assert.h>

static const struct sim_pipe_ops up_ops;
static const struct sim_pipe_ops down_ops;

bool zk_can_communicate(const struct zk_server *a, const struct zk_server *b)
{
    return !a->output_cut && !a->input_cut && !b->output_cut && !b->input_cut;
}

struct zk_peer_link *zk_peer_link_new(struct zk_server *leader,
                                      struct zk_server *follower)
{
    struct zk_peer_link *link = sim_alloc(leader->sim, sizeof *link);

    link->leader = leader;
    link->follower = follower;
    link->leader_open = link->follower_open = true;
    sim_pipe_init(&link->up, leader->sim, link, &up_ops);
    sim_pipe_init(&link->down, leader->sim, link, &down_ops);
    return link;
}

struct zk_message *zk_message_new(struct hf_sim *sim, enum zk_message_kind kind)
{
    struct zk_message *message = sim_alloc(sim, sizeof *message);

    message->kind = kind;
    return message;
}

static void put(struct sim_pipe *pipe, struct zk_message *message)
{
    struct hf_sim *sim = pipe->sim;

    message->item.background =
        message->kind == ZK_PING || message->kind == ZK_PONG;
    sim_pipe_send(pipe, &message->item,
                  sim_random_between(sim, 1, sim->config.ensemble.lag_max_us));
}

void zk_send_up(struct zk_peer_link *link, struct zk_message *message)
{
    put(&link->up, message);
}

void zk_send_down(struct zk_peer_link *link, struct zk_message *message)
{
    put(&link->down, message);
}

/* The kernel takes in what comes for an end that is closed, even if the process
 * is stopped. */
static bool blocked(const struct zk_server *from, const struct zk_server *to,
                    bool open)
{
    return from->output_cut || to->input_cut || (open && to->frozen);
}

static bool blocked_up(const struct sim_pipe *pipe)
{
    const struct zk_peer_link *link = pipe->owner;

    return blocked(link->follower, link->leader, link->leader_open);
}

static bool blocked_down(const struct sim_pipe *pipe)
{
    const struct zk_peer_link *link = pipe->owner;

    return blocked(link->leader, link->follower, link->follower_open);
}

static void deliver_up(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct zk_peer_link *link = pipe->owner;

    if (link->leader_open)
        zk_leader_receive(link, (struct zk_message *)item);
}

static void deliver_down(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct zk_peer_link *link = pipe->owner;

    if (link->follower_open)
        zk_follower_receive(link, (struct zk_message *)item);
}

static const struct sim_pipe_ops up_ops = {blocked_up, deliver_up};
static const struct sim_pipe_ops down_ops = {blocked_down, deliver_down};

static void flush(struct zk_peer_link *link)
{
    if (link == NULL)
        return;
    sim_pipe_flush(&link->up);
    sim_pipe_flush(&link->down);
}

/* Links to and from the server, also those of its last role. */
void zk_peer_links_flush(struct zk_server *server)
{
    struct zk_ensemble *zk = server->sim->zk;

    flush(server->upstream);
    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        flush(server->links[i]);
        flush(zk->servers[i].links[server->index]);
        if (zk->servers[i].upstream != NULL &&
            zk->servers[i].upstream->leader == server)
            flush(zk->servers[i].upstream);
    }
}
