/* SPDX-License-Identifier: Apache-2.0 */
/* The leader of the plain model: sessions, the watches of their clients,
 * barriers, and copies of the queues for followers that are cut off. */
#include "simulator/model/sim_internal.h"

#include <assert.h>

#define WATCHES_MAX 256

/* --------------------------------------------------------------- watches -- */

/* Fire ${watch} if it is a watch of the ticket ${gone} or of its queue, and its
 * follower is not cut off. */
static bool fire(struct plain_pending *watch, const struct sim_ticket *gone)
{
    bool matches = watch->of_barrier || watch->of_participants ? false
                   : watch->watches_queue
                       ? watch->queue == gone->queue->name
                       : hf_ticket_id_equal(&watch->ticket, &gone->ticket.id);

    if (!watch->is_set || watch->connection->stalled || !matches)
        return false;
    watch->is_set = false;
    plain_send_notice(watch);
    return true;
}

/* Fire all watches of the ticket, and notify the observer which these are. */
static void notify_watches(struct hf_sim *sim, const struct sim_ticket *gone)
{
    struct hf_request *notified[WATCHES_MAX];
    size_t count = 0;

    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        for (struct plain_pending *p = e->first; p != NULL; p = p->next) {
            if (fire(p, gone) && p->request != NULL && count < WATCHES_MAX)
                notified[count++] = p->request;
        }
    }
    sim_observe_gone(sim, gone, notified, count);
}

/* The owner learns of it through the watch of its own ticket. */
void plain_ticket_revoke(struct hf_sim *sim, struct sim_ticket *ticket)
{
    ticket->revocations++;
    sim->transaction++;
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        for (struct plain_pending *p = e->first; p != NULL; p = p->next) {
            if (p->is_set && !p->connection->stalled &&
                hf_ticket_id_equal(&p->ticket, &ticket->ticket.id))
                plain_send_revoke(p, ticket);
        }
    }
}

void plain_ticket_remove(struct hf_sim *sim, struct sim_ticket *ticket)
{
    sim_ticket_unlink(ticket);
    sim->transaction++;
    notify_watches(sim, ticket);
    if (ticket->ticket.kind == HF_TICKET_PARTICIPANT)
        plain_participants_changed(sim, ticket->queue);
}

void plain_ticket_downgrade(struct hf_sim *sim, struct sim_ticket *ticket)
{
    struct sim_ticket before = *ticket;

    ticket->ticket.kind = HF_TICKET_READ;
    ticket->queue->changed_count++;
    sim->transaction++;
    notify_watches(sim, &before);
}

/* What a queue watch is of: BARRIER, PARTICIPANT, or 0 for tickets. */
static enum hf_ticket_kind watched_kind(const struct plain_pending *watch)
{
    assert(watch->watches_queue);
    if (watch->of_barrier)
        return HF_TICKET_BARRIER;
    return watch->of_participants ? HF_TICKET_PARTICIPANT : 0;
}

/* A follower that is cut off notifies nobody; plain_connection_unstall() makes
 * up for it. */
void plain_notify_queue_watches(struct hf_sim *sim,
                                const struct sim_queue *queue,
                                enum hf_ticket_kind of)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        for (struct plain_pending *p = e->first; p != NULL; p = p->next) {
            if (!p->watches_queue || watched_kind(p) != of || !p->is_set ||
                p->connection->stalled || p->queue != queue->name)
                continue;
            p->is_set = false;
            plain_send_notice(p);
        }
    }
}

/* -------------------------------------------------------------- barriers -- */

bool plain_barrier_set(struct hf_sim *sim, struct sim_queue *queue,
                       const struct hf_ticket_id *id)
{
    if (queue->barrier.token != 0)
        return true;
    queue->barrier = (struct hf_ticket){.id = *id,
                                        .token = ++sim->transaction,
                                        .kind = HF_TICKET_BARRIER,
                                        .weight = 1,
                                        .payload = ""};
    sim_observe_barrier(sim, queue->name, true);
    return false;
}

bool plain_barrier_clear(struct hf_sim *sim, struct sim_queue *queue)
{
    if (queue->barrier.token == 0)
        return false;
    sim->transaction++;
    queue->barrier.token = 0;
    sim_observe_barrier(sim, queue->name, false);
    plain_notify_queue_watches(sim, queue, HF_TICKET_BARRIER);
    return true;
}

void plain_barrier_touch(struct hf_sim *sim, struct sim_queue *queue)
{
    plain_notify_queue_watches(sim, queue, HF_TICKET_BARRIER);
    plain_notify_queue_watches(sim, queue, HF_TICKET_PARTICIPANT);
}

/* -------------------------------------------------------------- sessions -- */

/* A timer for each live session.  The deadline may have moved since it was
 * set. */
static void check_deadline(void *arg)
{
    struct plain_session *session = arg;
    struct hf_sim *sim = session->engine->sim;

    if (!session->alive)
        return;
    if (sim_server_us(sim) < session->deadline_us) {
        hf_sim_call_at(sim, sim_server_at_us(sim, session->deadline_us), true,
                       check_deadline, session);
        return;
    }
    sim_trace(sim, session->engine, "server session expires");
    plain_session_end(sim, session);
}

/* The first timer of its deadline is set, unless sessions never end. */
struct plain_session *plain_session_new(struct hf_engine *engine,
                                        uint64_t timeout_ms)
{
    struct hf_sim *sim = engine->sim;
    struct plain_session *session = sim_alloc(sim, sizeof *session);

    session->engine = engine;
    session->alive = true;
    session->timeout_ms = timeout_ms;
    session->next = sim->sessions;
    sim->sessions = session;
    sim->transaction++;
    plain_session_touch(sim, session);
    if (!sim_has_no_leases(sim))
        hf_sim_call_at(sim, sim_server_at_us(sim, session->deadline_us), true,
                       check_deadline, session);
    return session;
}

void plain_session_touch(struct hf_sim *sim, struct plain_session *session)
{
    if (!sim_has_no_leases(sim))
        session->deadline_us = sim_server_us(sim) + 1000 * session->timeout_ms;
}

void plain_session_resume(struct hf_sim *sim, struct plain_session *session,
                          uint64_t timeout_ms)
{
    bool shorter = timeout_ms < session->timeout_ms;

    session->timeout_ms = timeout_ms;
    plain_session_touch(sim, session);
    if (shorter) /* the timer may be set to a time after the deadline */
        check_deadline(session);
}

/* Its tickets go one by one, in one instant. */
void plain_session_end(struct hf_sim *sim, struct plain_session *session)
{
    session->alive = false;
    for (struct plain_pending *p = session->engine->first; p != NULL;
         p = p->next)
        p->is_set &= p->connection != session->connection;
    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        struct sim_ticket *next;

        for (struct sim_ticket *t = q->first; t != NULL; t = next) {
            next = t->next;
            if (t->owner == session)
                plain_ticket_remove(sim, t);
        }
    }
    if (session->connection != NULL && !session->connection->stalled)
        plain_send_expired(session->connection);
}

/* ------------------------------------------------------ copies of queues -- */

/* A copy of what a LIST and a WATCH_QUEUE show. */
static struct sim_queue *copy_queue(struct hf_sim *sim,
                                    const struct sim_queue *queue)
{
    struct sim_queue *copy = sim_alloc(sim, sizeof *copy);
    struct sim_ticket **end = &copy->first;

    copy->name = queue->name;
    copy->changed_count = queue->changed_count;
    copy->barrier = queue->barrier;
    copy->ready = queue->ready;
    copy->participant_changes = queue->participant_changes;
    for (struct sim_ticket *t = queue->first; t != NULL; t = t->next) {
        *end = sim_alloc(sim, sizeof **end);
        (*end)->ticket = t->ticket;
        end = &(*end)->next;
    }
    return copy;
}

struct sim_queue *plain_copy_queues(struct hf_sim *sim)
{
    struct sim_queue *copies = NULL;

    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        struct sim_queue *copy = copy_queue(sim, q);

        copy->next = copies;
        copies = copy;
    }
    return copies;
}
