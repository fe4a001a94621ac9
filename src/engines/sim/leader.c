/* SPDX-License-Identifier: Apache-2.0 */
/* What is so, whatever anybody believes. */
#include "engines/sim/model.h"

#include <assert.h>
#include <string.h>

#define WATCHES_MAX 256

/* --------------------------------------------------------------- queues -- */

struct sim_queue *sim_view_find(struct sim_queue *view, const char *name)
{
    while (view != NULL && strcmp(view->name, name) != 0)
        view = view->next;
    return view;
}

struct sim_queue *sim_queue_find(struct hf_sim *sim, const char *name)
{
    struct sim_queue *queue = sim_view_find(sim->queues, name);

    if (queue == NULL) {
        queue = sim_alloc(sim, sizeof *queue);
        queue->name = sim_text(sim, name);
        queue->next = sim->queues;
        sim->queues = queue;
    }
    return queue;
}

struct sim_ticket *sim_ticket_find(const struct sim_queue *queue,
                                   const struct hf_ticket_id *id)
{
    struct sim_ticket *ticket = queue->first;

    while (ticket != NULL && !hf_ticket_id_equal(&ticket->ticket.id, id))
        ticket = ticket->next;
    return ticket;
}

struct hf_snapshot sim_snapshot(struct hf_sim *sim,
                                const struct sim_queue *queue)
{
    struct hf_ticket *tickets;
    size_t count = 0;

    for (struct sim_ticket *t = queue->first; t != NULL; t = t->next)
        count++;
    /* One place more, so that garbling can add a ticket. */
    tickets = sim_alloc(sim, (count + 1) * sizeof *tickets);
    count = 0;
    for (struct sim_ticket *t = queue->first; t != NULL; t = t->next)
        tickets[count++] = t->ticket;
    return (struct hf_snapshot){tickets, count};
}

struct sim_ticket *sim_ticket_add(struct hf_sim *sim, struct sim_queue *queue,
                                  const struct hf_ticket *like,
                                  struct sim_session *session)
{
    struct sim_ticket *ticket = sim_alloc(sim, sizeof *ticket);
    struct sim_ticket **place = &queue->first;

    ticket->ticket = *like;
    ticket->ticket.token = ++sim->transaction;
    ticket->queue = queue;
    ticket->session = session;
    while (*place != NULL &&
           hf_ticket_compare(&(*place)->ticket, &ticket->ticket) <= 0)
        place = &(*place)->next;
    ticket->next = *place;
    *place = ticket;
    if (sim->observer.added != NULL)
        sim->observer.added(sim->observer.arg, queue->name, &ticket->ticket);
    return ticket;
}

/* -------------------------------------------------------------- watches -- */

/* Have ${watch} fire, if its ticket is the one and its server knows. */
static bool fire(struct sim_pending *watch, const struct hf_ticket_id *ticket)
{
    if (!watch->placed || watch->connection->stalled ||
        !hf_ticket_id_equal(&watch->ticket, ticket))
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
            if (fire(p, &gone->ticket.id) && p->request != NULL &&
                count < WATCHES_MAX)
                told[count++] = p->request;
        }
    }
    if (sim->observer.gone != NULL)
        sim->observer.gone(sim->observer.arg, gone->queue->name, &gone->ticket,
                           told, count);
}

void sim_ticket_remove(struct hf_sim *sim, struct sim_ticket *ticket)
{
    struct sim_ticket **place = &ticket->queue->first;

    while (*place != ticket) {
        assert(*place != NULL);
        place = &(*place)->next;
    }
    *place = ticket->next;
    sim->transaction++;
    tell_watchers(sim, ticket);
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
            if (t->session == session)
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

/* ---------------------------------------------------------------- truth -- */

struct hf_snapshot hf_sim_queue(struct hf_sim *sim, const char *queue)
{
    return sim_snapshot(sim, sim_queue_find(sim, queue));
}

bool hf_sim_ticket_exists(const struct hf_sim *sim,
                          const struct hf_ticket_id *ticket)
{
    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        if (sim_ticket_find(q, ticket) != NULL)
            return true;
    }
    return false;
}

bool hf_sim_ticket_current(const struct hf_engine *engine,
                           const struct hf_ticket_id *ticket)
{
    for (struct sim_queue *q = engine->sim->queues; q != NULL; q = q->next) {
        const struct sim_ticket *found = sim_ticket_find(q, ticket);

        if (found != NULL)
            return found->session != NULL && found->session == engine->session;
    }
    return false;
}

uint64_t hf_sim_lease_end_us(const struct hf_engine *engine)
{
    if (!hf_sim_session_alive(engine))
        return 0;
    if (sim_leaseless(engine->sim))
        return UINT64_MAX;
    return sim_server_at_us(engine->sim, engine->session->deadline_us);
}

bool hf_sim_evict(struct hf_sim *sim, const char *queue,
                  const struct hf_ticket_id *ticket)
{
    struct sim_ticket *found =
        sim_ticket_find(sim_queue_find(sim, queue), ticket);

    if (found == NULL)
        return false;
    sim_ticket_remove(sim, found);
    return true;
}

bool hf_sim_foreign_enqueue(struct hf_sim *sim, const char *queue,
                            enum hf_ticket_kind kind,
                            const struct hf_ticket_id *ticket,
                            const struct hf_ticket_id *beside)
{
    struct sim_queue *found = sim_queue_find(sim, queue);
    struct hf_ticket like = {.id = *ticket, .kind = kind, .payload = "foreign"};

    if (beside == NULL) {
        like.sequence = ++found->sequence;
    } else {
        struct sim_ticket *held = sim_ticket_find(found, beside);

        if (held == NULL)
            return false;
        like.sequence = held->ticket.sequence;
    }
    sim_ticket_add(sim, found, &like, NULL);
    return true;
}
