/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between a follower and its leader.  A follower notes the
 * sessions that it receives something from, and reports them only when the
 * leader pings it, on the same stream that it forwards writes on.  So a write
 * of a client may reach the leader long before the leader learns that the
 * session is alive. */
#include "simulator/model/zk_internal.h"

#include <assert.h>

/* -------------------------------------------------------------- follower -- */

/* Answer a ping with the sessions since the last one (Learner.ping()). */
static void report_sessions(struct zk_peer_link *link)
{
    struct zk_server *follower = link->follower;
    struct hf_sim *sim = follower->sim;
    struct zk_message *pong = zk_message_new(sim, ZK_PONG);

    for (struct zk_session *s = sim->zk->sessions; s != NULL; s = s->next) {
        struct zk_session_touch *touch;

        if (s->touched_ms[follower->index] == 0)
            continue;
        touch = sim_alloc(sim, sizeof *touch);
        touch->session = s;
        touch->timeout_ms = s->touched_ms[follower->index];
        touch->next = pong->touches;
        pong->touches = touch;
        s->touched_ms[follower->index] = 0;
    }
    zk_send_up(link, pong);
}

static void log_proposal(struct zk_peer_link *link, struct zk_txn *txn)
{
    struct zk_message *ack = zk_message_new(link->leader->sim, ZK_ACK);

    assert(txn->previous == link->follower->logged);
    link->follower->logged = txn;
    ack->txn = txn;
    zk_send_up(link, ack);
}

/* The client's request is answered when its own server has applied it. */
void zk_server_commit(struct zk_server *server, struct zk_txn *txn)
{
    struct zk_request *request = txn->request;

    assert(txn->previous == server->replica.applied);
    zk_catch_up(&server->replica, txn);
    if (txn->opcode == HF_ZK_CLOSE_SESSION)
        zk_session_closed(server, txn->session, request);
    if (request == NULL || request->server != server)
        return;
    request->txn = txn;
    request->done = true;
    zk_connection_answer_ready(request->connection);
}

/* Everything that it receives shows the follower that the leader is there. */
void zk_follower_receive(struct zk_peer_link *link, struct zk_message *message)
{
    struct zk_server *follower = link->follower;

    follower->received_us = zk_clock_us(follower);
    switch (message->kind) {
    case ZK_PING:
        report_sessions(link);
        break;
    case ZK_PROPOSAL:
        log_proposal(link, message->txn);
        break;
    case ZK_COMMIT:
        zk_server_commit(follower, message->txn);
        break;
    case ZK_SYNCED:
        message->request->done = true;
        zk_connection_answer_ready(message->request->connection);
        break;
    case ZK_REVALIDATED:
        zk_revalidated(message->connection, message->session,
                       message->timeout_ms, message->valid);
        break;
    default:
        assert(message->kind == ZK_LINK_CLOSED);
        zk_server_leave_role(follower, ZK_LOOKING);
    }
}

/* ---------------------------------------------------------------- leader -- */

/* A client resumes its session at a follower: the leader says whether it
 * lives. */
static void revalidate(struct zk_peer_link *link, struct zk_message *message)
{
    struct zk_server *leader = link->leader;

    message->kind = ZK_REVALIDATED;
    message->valid =
        zk_session_touch(leader, message->session, message->timeout_ms);
    if (message->valid)
        message->session->owner[leader->index] = link->follower;
    zk_send_down(link, message);
}

/* Everything that it receives shows the leader that the follower is there. */
void zk_leader_receive(struct zk_peer_link *link, struct zk_message *message)
{
    struct zk_server *leader = link->leader;

    link->received_us = zk_clock_us(leader);
    switch (message->kind) {
    case ZK_REQUEST:
        zk_leader_request(leader, message->request, link);
        break;
    case ZK_ACK:
        zk_leader_ack(leader, link, message->txn->zxid);
        break;
    case ZK_PONG:
        for (struct zk_session_touch *t = message->touches; t != NULL;
             t = t->next)
            zk_session_touch(leader, t->session, t->timeout_ms);
        break;
    case ZK_REVALIDATE:
        revalidate(link, message);
        break;
    default:
        assert(message->kind == ZK_LINK_CLOSED);
        link->leader_open = false;
        /* The follower may be back already, on another link. */
        if (leader->links[link->follower->index] == link)
            leader->links[link->follower->index] = NULL;
    }
}
