/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of one session: calls to the server, answers and notices to
 * the client.  Notices may overtake answers and be overtaken, come twice, or
 * never.  What a client has sent before it closed the connection may arrive
 * much later, out of the buffers of the network or of a server that was
 * stopped. */
#include "simulator/model/lease_internal.h"

#include <assert.h>
#include <string.h>

/* What was left on a link arrives up to 3 leases later: microseconds for each
 * millisecond of a lease. */
#define LATE_LEASES_US UINT64_C(3000)

/* -------------------------------------------------------------- messages -- */

static uint64_t delay_us(struct hf_sim *sim)
{
    uint64_t delay = sim_random_between(sim, sim->config.delay_min_us,
                                        sim->config.delay_max_us);

    if (sim_happens(sim, sim->config.slow_chance))
        delay += sim_random_between(sim, 0, 1000 * sim->config.timeout_ms / 3);
    return delay;
}

static struct lease_message *message_new(struct hf_sim *sim,
                                         enum lease_message_kind kind)
{
    struct lease_message *message = sim_alloc(sim, sizeof *message);

    message->kind = kind;
    return message;
}

/* Free what the message owns; the message itself is in the model's memory. */
static void message_empty(struct lease_message *message)
{
    lease_call_free(&message->copy);
    lease_answer_free(&message->answer);
    memset(&message->copy, 0, sizeof message->copy);
    memset(&message->answer, 0, sizeof message->answer);
}

static void put(struct sim_pipe *pipe, struct lease_message *message)
{
    sim_pipe_send(pipe, &message->item, delay_us(pipe->sim));
}

static void drop_all(struct sim_pipe *pipe)
{
    struct sim_pipe_item *item;

    while ((item = sim_pipe_take(pipe)) != NULL)
        message_empty((struct lease_message *)item);
}

/* The connection ends in the place of an answer whose commit ended so. */
static bool is_cut(struct lease_link *link, const struct lease_message *message)
{
    if (message->commit != LEASE_FAILED_AND_CUT &&
        message->commit != LEASE_COMMITTED_AND_CUT)
        return false;
    sim_trace(link->engine->sim, link->engine, "link breaks at a commit");
    lease_link_reset(link);
    return true;
}

/* Draw whether this message is lost, which resets the connection. */
static bool is_lost(struct lease_link *link)
{
    struct hf_sim *sim = link->engine->sim;

    if (!link->client_open || !sim_happens(sim, sim->config.lose_chance))
        return false;
    sim_trace(sim, link->engine, "link loses a message and breaks");
    lease_link_reset(link);
    return true;
}

/* ---------------------------------------------------------------- server -- */

static void answer(struct lease_link *link, struct lease_message *message)
{
    if (link->server_open && link->client_open)
        put(&link->in, message);
    else
        message_empty(message);
}

static void accept_connect(struct lease_link *link)
{
    struct hf_sim *sim = link->engine->sim;
    struct lease_message *up = message_new(sim, LEASE_CONNECTED);

    link->server_open = true;
    up->server_ms = lease_clock_ms(sim);
    answer(link, up);
}

/* Renew half of the tickets and then fail, as a server that is killed in
 * between. */
static void renew_in_part(struct lease_state *leases, uint64_t clock_ms,
                          struct lease_call *copy, struct lease_answer *answer)
{
    size_t count = copy->call.ticket_set_count;

    copy->call.ticket_set_count /= 2;
    lease_server_execute(leases->server, clock_ms, copy, answer);
    copy->call.ticket_set_count = count;
    lease_answer_free(answer);
    memset(answer, 0, sizeof *answer);
}

/* Draw whether the call fails: with no effect, or (UNSURE) with an effect that
 * nobody knows.  A renewal that fails may have been done in part. */
static bool fails(struct hf_sim *sim, struct lease_call *copy,
                  struct lease_answer *failed)
{
    uint64_t clock_ms = lease_clock_ms(sim);
    bool unsure;

    if (copy->call.kind == HF_STORE_ENQUEUE &&
        sim_happens(sim, sim->config.deny_chance)) {
        lease_answer_fail(failed, HF_FAILURE_FATAL, HF_EDENIED,
                          "the server refused to add a ticket", clock_ms);
        return true;
    }
    if (copy->call.kind == HF_STORE_CLOSE_SESSION ||
        !sim_happens(sim, sim->config.refuse_chance))
        return false;
    unsure = sim_happens(sim, 500000);
    if (copy->call.kind == HF_STORE_RENEW) {
        renew_in_part(sim->leases, clock_ms, copy, failed);
    } else if (unsure && sim_happens(sim, 500000)) {
        lease_server_execute(sim->leases->server, clock_ms, copy, failed);
        lease_answer_free(failed);
        memset(failed, 0, sizeof *failed);
    }
    lease_answer_fail(failed, unsure ? HF_FAILURE_UNSURE : HF_FAILURE_RETRY,
                      HF_EUNREACHABLE, "the server is busy", clock_ms);
    return true;
}

/* The client gets the result and, later, how the commit ended. */
static void execute(struct lease_link *link, struct lease_message *call_message)
{
    struct hf_sim *sim = link->engine->sim;
    struct lease_message *executed = message_new(sim, LEASE_EXECUTED);
    struct lease_message *message = message_new(sim, LEASE_ANSWER);

    executed->call = message->call = call_message->call;
    if (!fails(sim, &call_message->copy, &executed->answer))
        message->commit = lease_execute_and_commit(sim, &call_message->copy,
                                                   &executed->answer);
    answer(link, executed);
    answer(link, message);
}

/* A notice may be delayed by up to one lease. */
static void send_notice(struct lease_link *link,
                        const struct hf_store_notice *notice)
{
    struct hf_sim *sim = link->engine->sim;
    struct lease_message *message = message_new(sim, LEASE_NOTICE);
    uint64_t us = delay_us(sim);

    if (sim_happens(sim, sim->config.leases.notice_late_chance))
        us += sim_random_between(sim, 0, 1000 * sim->config.timeout_ms);
    message->notice = *notice;
    message->notice.queue = sim_strdup(sim, notice->queue);
    sim_pipe_send(&link->notices, &message->item, us);
}

/* Send a notice to all links of its session that are open. */
void lease_notify(struct hf_sim *sim, const struct lease_notice *notice)
{
    const struct hf_sim_leases *config = &sim->config.leases;

    for (struct lease_link *l = sim->leases->links; l != NULL; l = l->next) {
        if (!l->server_open || !l->client_open ||
            strcmp(l->session->name, notice->session) != 0 ||
            sim->leases->loses_notices ||
            sim_happens(sim, config->notice_lost_chance))
            continue;
        send_notice(l, &notice->notice);
        if (sim_happens(sim, config->notice_twice_chance))
            send_notice(l, &notice->notice);
    }
}

/* ----------------------------------------------------------------- pipes -- */

static bool blocked_out(const struct sim_pipe *pipe)
{
    const struct lease_link *link = pipe->owner;

    if (pipe->sim->leases->frozen > 0)
        return true;
    return link->lingers ? pipe->sim->now_us < link->held_until_us
                         : !link->engine->out_up;
}

static bool blocked_in(const struct sim_pipe *pipe)
{
    const struct lease_link *link = pipe->owner;

    return !link->engine->in_up || link->engine->frozen;
}

/* A message has arrived at the server. */
static void deliver_out(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct lease_link *link = pipe->owner;
    struct lease_message *message = (struct lease_message *)item;

    if (pipe->sim->leases->down) {
        message_empty(message);
        lease_link_reset(link);
        return;
    }
    if (is_lost(link))
        drop_all(&link->out); /* a server receives nothing behind a gap */
    else if (message->kind == LEASE_CONNECT)
        accept_connect(link);
    else
        execute(link, message);
    message_empty(message);
}

/* A message has arrived at the client. */
static void deliver_in(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct lease_link *link = pipe->owner;
    struct lease_message *message = (struct lease_message *)item;
    bool loses = message->kind != LEASE_CLOSED && message->kind != LEASE_NOTICE;

    if (link->client_open && !(loses && is_lost(link)) &&
        !is_cut(link, message))
        lease_client_receive(link->engine->lease, link, message);
    message_empty(message);
}

static const struct sim_pipe_ops out_ops = {blocked_out, deliver_out};
static const struct sim_pipe_ops in_ops = {blocked_in, deliver_in};

void lease_link_flush(struct lease_link *link)
{
    sim_pipe_flush(&link->out);
    sim_pipe_flush(&link->in);
    sim_pipe_flush(&link->notices);
}

/* ---------------------------------------------------------------- client -- */

struct lease_link *lease_link_new(struct hf_engine *engine, const char *session)
{
    struct hf_sim *sim = engine->sim;
    struct lease_link *link = sim_alloc(sim, sizeof *link);

    link->engine = engine;
    link->session = lease_session_named(sim, session);
    link->client_open = true;
    sim_pipe_init(&link->out, sim, link, &out_ops);
    sim_pipe_init(&link->in, sim, link, &in_ops);
    sim_pipe_init(&link->notices, sim, link, &in_ops);
    link->next = sim->leases->links;
    sim->leases->links = link;
    put(&link->out, message_new(sim, LEASE_CONNECT));
    return link;
}

void lease_link_call(struct lease_link *link, struct hf_store_call *call)
{
    struct lease_message *message = message_new(link->engine->sim, LEASE_CALL);

    message->call = call;
    message->item.background =
        call->kind == HF_STORE_RENEW || call->kind == HF_STORE_EXISTS;
    if (link->ended)
        return; /* the client will learn that the link has ended */
    lease_call_copy(&message->copy, call);
    put(&link->out, message);
}

static void deliver_late(void *arg)
{
    struct lease_link *link = arg;

    sim_pipe_flush(&link->out);
}

/* The link has ended for this end.  What was sent is lost, or it stays in
 * buffers and arrives when the client has long given up. */
static void abandon(struct lease_link *link)
{
    struct hf_sim *sim = link->engine->sim;

    link->server_open = false;
    link->ended = true;
    drop_all(&link->in);
    drop_all(&link->notices);
    link->lingers =
        sim->leases->frozen > 0 || sim_happens(sim, sim->config.late_chance);
    if (!link->lingers) {
        drop_all(&link->out);
        return;
    }
    link->held_until_us =
        sim->now_us +
        sim_random_between(sim, 0, LATE_LEASES_US * sim->config.timeout_ms);
    hf_sim_call_at(sim, link->held_until_us, false, deliver_late, link);
}

void lease_link_close(struct lease_link *link)
{
    if (!link->client_open)
        return;
    link->client_open = false;
    abandon(link);
}

void lease_link_reset(struct lease_link *link)
{
    if (link->ended)
        return;
    abandon(link);
    if (link->client_open)
        put(&link->in, message_new(link->engine->sim, LEASE_CLOSED));
}

void lease_link_kill(struct lease_link *link)
{
    lease_link_reset(link);
    drop_all(&link->out);
}

void lease_links_free(struct hf_sim *sim)
{
    for (struct lease_link *l = sim->leases->links; l != NULL; l = l->next) {
        drop_all(&l->out);
        drop_all(&l->in);
        drop_all(&l->notices);
    }
}
