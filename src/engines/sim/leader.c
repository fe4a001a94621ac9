/* SPDX-License-Identifier: Apache-2.0 */
/* The plain model: sessions, and what they watch. */
#include "engines/sim/model.h"

#define WATCHES_MAX 256

/* -------------------------------------------------------------- watches -- */

/* Have ${watch} fire, if its ticket is the one and its server knows. */
static bool fire(struct sim_pending *watch, const struct sim_ticket *gone)
{
    bool meant = watch->of_mark || watch->of_members ? false
                 : watch->looks
                     ? watch->queue == gone->queue->name
                     : hf_ticket_id_equal(&watch->ticket, &gone->ticket.id);

    if (!watch->placed || watch->connection->stalled || !meant)
        return false;
    watch->placed = false;
    sim_send_notice(watch);
    return true;
}

static void tell_watchers(struct hf_sim *sim, const struct sim_ticket *gone)
{
    struct hf_request *told[WATCHES_MAX];
    size_t count = 0;

    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        for (struct sim_pending *p = e->first; p != NULL; p = p->next) {
            if (fire(p, gone) && p->request != NULL && count < WATCHES_MAX)
                told[count++] = p->request;
        }
    }
    sim_ticket_tell(sim, gone, told, count);
}

void sim_ticket_revoke(struct hf_sim *sim, struct sim_ticket *ticket)
{
    ticket->asked++;
    sim->transaction++;
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        for (struct sim_pending *p = e->first; p != NULL; p = p->next) {
            if (p->placed && !p->connection->stalled &&
                hf_ticket_id_equal(&p->ticket, &ticket->ticket.id))
                sim_send_revoke(p, ticket);
        }
    }
}

void sim_ticket_remove(struct hf_sim *sim, struct sim_ticket *ticket)
{
    sim_ticket_take(ticket);
    sim->transaction++;
    tell_watchers(sim, ticket);
    if (ticket->ticket.kind == HF_TICKET_PARTICIPANT)
        sim_members_changed(sim, ticket->queue);
}

void sim_ticket_downgrade(struct hf_sim *sim, struct sim_ticket *ticket)
{
    struct sim_ticket before = *ticket;

    ticket->ticket.kind = HF_TICKET_READ;
    sim->transaction++;
    tell_watchers(sim, &before);
}

/* ---------------------------------------------------------------- marks -- */

/* It has changed: tell who looks, if his server knows. */
void sim_tell_lookers(struct hf_sim *sim, const struct sim_queue *queue,
                      bool of_mark)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        for (struct sim_pending *p = e->first; p != NULL; p = p->next) {
            if (!(of_mark ? p->of_mark : p->of_members) || !p->placed ||
                p->connection->stalled || p->queue != queue->name)
                continue;
            p->placed = false;
            sim_send_notice(p);
        }
    }
}

bool sim_mark_raise(struct hf_sim *sim, struct sim_queue *queue,
                    const struct hf_ticket_id *id)
{
    if (queue->mark.token != 0)
        return true;
    queue->mark = (struct hf_ticket){.id = *id,
                                     .token = ++sim->transaction,
                                     .kind = HF_TICKET_BARRIER,
                                     .weight = 1,
                                     .payload = ""};
    sim_mark_tell(sim, queue->name, true);
    return false;
}

bool sim_mark_lower(struct hf_sim *sim, struct sim_queue *queue)
{
    if (queue->mark.token == 0)
        return false;
    sim->transaction++;
    queue->mark.token = 0;
    sim_mark_tell(sim, queue->name, false);
    sim_tell_lookers(sim, queue, true);
    return true;
}

void sim_mark_touch(struct hf_sim *sim, struct sim_queue *queue)
{
    sim_tell_lookers(sim, queue, true);
    sim_tell_lookers(sim, queue, false);
}

/* ------------------------------------------------------------- sessions -- */

/* In the calendar for each session alive. */
static void look_at_deadline(void *arg)
{
    struct sim_session *session = arg;
    struct hf_sim *sim = session->engine->sim;

    if (!session->alive)
        return;
    if (sim_server_us(sim) < session->deadline_us) {
        hf_sim_call_at(sim, sim_server_at_us(sim, session->deadline_us), true,
                       look_at_deadline, session);
        return;
    }
    sim_line(sim, session->engine, "server session expires");
    sim_session_end(sim, session);
}

struct sim_session *sim_session_new(struct hf_engine *engine,
                                    uint64_t timeout_ms)
{
    struct hf_sim *sim = engine->sim;
    struct sim_session *session = sim_alloc(sim, sizeof *session);

    session->engine = engine;
    session->alive = true;
    session->timeout_ms = timeout_ms;
    session->next = sim->sessions;
    sim->sessions = session;
    sim->transaction++;
    sim_session_touch(sim, session);
    if (!sim_leaseless(sim))
        hf_sim_call_at(sim, sim_server_at_us(sim, session->deadline_us), true,
                       look_at_deadline, session);
    return session;
}

void sim_session_touch(struct hf_sim *sim, struct sim_session *session)
{
    if (!sim_leaseless(sim))
        session->deadline_us = sim_server_us(sim) + 1000 * session->timeout_ms;
}

void sim_session_resume(struct hf_sim *sim, struct sim_session *session,
                        uint64_t timeout_ms)
{
    bool shorter = timeout_ms < session->timeout_ms;

    session->timeout_ms = timeout_ms;
    sim_session_touch(sim, session);
    if (shorter) /* the deadline in the calendar may be too late */
        look_at_deadline(session);
}

void sim_session_end(struct hf_sim *sim, struct sim_session *session)
{
    session->alive = false;
    for (struct sim_pending *p = session->engine->first; p != NULL; p = p->next)
        p->placed &= p->connection != session->connection;
    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        struct sim_ticket *next;

        for (struct sim_ticket *t = q->first; t != NULL; t = next) {
            next = t->next;
            if (t->owner == session)
                sim_ticket_remove(sim, t);
        }
    }
    if (session->connection != NULL && !session->connection->stalled)
        sim_tell_expired(session->connection);
}

/* ---------------------------------------------------------------- views -- */

static struct sim_queue *copy_queue(struct hf_sim *sim,
                                    const struct sim_queue *queue)
{
    struct sim_queue *copy = sim_alloc(sim, sizeof *copy);
    struct sim_ticket **end = &copy->first;

    copy->name = queue->name;
    copy->gone = queue->gone;
    copy->mark = queue->mark;
    copy->ready = queue->ready;
    copy->news = queue->news;
    for (struct sim_ticket *t = queue->first; t != NULL; t = t->next) {
        *end = sim_alloc(sim, sizeof **end);
        (*end)->ticket = t->ticket;
        end = &(*end)->next;
    }
    return copy;
}

struct sim_queue *sim_view(struct hf_sim *sim)
{
    struct sim_queue *view = NULL;

    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        struct sim_queue *copy = copy_queue(sim, q);

        copy->next = view;
        view = copy;
    }
    return view;
}
