/* SPDX-License-Identifier: Apache-2.0 */
/* The links between members: for each pair and direction one stream of raft's
 * messages and one of what members ask each other by HTTP.  A cut holds up what
 * is sent, as TCP does. */
#include "simulator/model/etcd_internal.h"

/* Messages that a link keeps while it is cut; those behind are dropped, as by
 * etcd's rafthttp. */
#define HELD_UP_MAX 4096

static const struct sim_pipe_ops raft_ops;
static const struct sim_pipe_ops forward_ops;

void etcd_peers_init(struct etcd_cluster *cluster)
{
    for (unsigned i = 0; i < cluster->count; i++) {
        for (unsigned j = 0; j < cluster->count; j++) {
            struct etcd_peer_link *link = &cluster->links[i][j];

            link->from = &cluster->members[i];
            link->to = &cluster->members[j];
            sim_pipe_init(&link->raft, cluster->sim, link, &raft_ops);
            sim_pipe_init(&link->forwards, cluster->sim, link, &forward_ops);
        }
    }
}

/* Messages are used again, because a run sends a hundred thousand of them. */
struct etcd_message *etcd_message_new(struct hf_sim *sim,
                                      enum etcd_message_kind kind)
{
    struct etcd_message *message = sim->etcd->spare_messages;

    if (message == NULL)
        message = sim_alloc(sim, sizeof *message);
    else
        sim->etcd->spare_messages = message->next;
    *message = (struct etcd_message){.kind = kind};
    return message;
}

static void free_message(struct hf_sim *sim, struct etcd_message *message)
{
    message->next = sim->etcd->spare_messages;
    sim->etcd->spare_messages = message;
}

static void put(struct sim_pipe *pipe, struct etcd_message *message)
{
    struct hf_sim *sim = pipe->sim;

    sim_pipe_send(pipe, &message->item,
                  sim_random_between(sim, 1, sim->config.etcd.lag_max_us));
}

static size_t held_up(const struct sim_pipe *pipe)
{
    size_t count = 0;

    if (!pipe->ops->blocked(pipe))
        return 0;
    for (const struct sim_pipe_item *i = pipe->first; i != NULL; i = i->next)
        count++;
    return count;
}

void etcd_peer_send(struct etcd_member *from, struct etcd_message *message)
{
    struct sim_pipe *pipe =
        &from->sim->etcd->links[from->index][message->to->index].raft;

    if (message->to->down ||
        (pipe->first != NULL && held_up(pipe) > HELD_UP_MAX))
        free_message(from->sim, message);
    else
        put(pipe, message);
}

/* The kernel of a member that is down refuses the connection. */
void etcd_peer_forward(struct etcd_member *from, struct etcd_member *to,
                       struct etcd_message *message)
{
    struct etcd_cluster *cluster = from->sim->etcd;

    message->to = to;
    if (message->kind == ETCD_RENEW && to->down) {
        message->kind = ETCD_RENEW_FAILED;
        message->to = from;
        put(&cluster->links[to->index][from->index].forwards, message);
    } else {
        put(&cluster->links[from->index][to->index].forwards, message);
    }
}

/* -------------------------------------------------------------- delivery -- */

static bool stopped(const struct etcd_member *member)
{
    return member->frozen || member->links_at_us > member->sim->now_us;
}

static bool blocked_raft(const struct sim_pipe *pipe)
{
    const struct etcd_peer_link *link = pipe->owner;

    return link->from->output_cut || link->to->input_cut || stopped(link->to);
}

static bool blocked_forward(const struct sim_pipe *pipe)
{
    const struct etcd_peer_link *link = pipe->owner;

    return (link->from->output_cut && link->from->forwards_too) ||
           (link->to->input_cut && link->to->forwards_too) || stopped(link->to);
}

static void deliver_raft(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct etcd_peer_link *link = pipe->owner;
    struct etcd_message *message = (struct etcd_message *)item;

    if (!link->to->down)
        etcd_raft_receive(link->to, link->from, message);
    free_message(pipe->sim, message);
}

static void deliver_forward(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct etcd_peer_link *link = pipe->owner;
    struct etcd_message *message = (struct etcd_message *)item;

    if (!link->to->down)
        etcd_renewal_receive(link->to, link->from, message);
    free_message(pipe->sim, message);
}

static const struct sim_pipe_ops raft_ops = {blocked_raft, deliver_raft};
static const struct sim_pipe_ops forward_ops = {blocked_forward,
                                                deliver_forward};

void etcd_peers_flush(struct etcd_member *member)
{
    struct etcd_cluster *cluster = member->sim->etcd;

    for (unsigned i = 0; i < cluster->count; i++) {
        sim_pipe_flush(&cluster->links[i][member->index].raft);
        sim_pipe_flush(&cluster->links[i][member->index].forwards);
        sim_pipe_flush(&cluster->links[member->index][i].raft);
        sim_pipe_flush(&cluster->links[member->index][i].forwards);
    }
}

static void drop_all(struct sim_pipe *pipe)
{
    struct sim_pipe_item *item;

    while ((item = sim_pipe_take(pipe)) != NULL)
        free_message(pipe->sim, (struct etcd_message *)item);
}

/* Who waits for an answer of the member notices that it is gone. */
static void fail_renewals(struct sim_pipe *pipe, struct etcd_member *gone)
{
    struct sim_pipe_item *item;

    while ((item = sim_pipe_take(pipe)) != NULL) {
        struct etcd_message *message = (struct etcd_message *)item;

        if (message->kind == ETCD_RENEW)
            etcd_peer_forward(((struct etcd_peer_link *)pipe->owner)->from,
                              gone, message);
        else
            free_message(pipe->sim, message);
    }
}

void etcd_peers_drop(struct etcd_member *member)
{
    struct etcd_cluster *cluster = member->sim->etcd;

    for (unsigned i = 0; i < cluster->count; i++) {
        drop_all(&cluster->links[i][member->index].raft);
        drop_all(&cluster->links[member->index][i].raft);
        drop_all(&cluster->links[member->index][i].forwards);
        fail_renewals(&cluster->links[i][member->index].forwards, member);
    }
}
