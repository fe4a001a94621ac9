/* SPDX-License-Identifier: Apache-2.0 */
/* The committed state of the lease model: the queues as the server has them,
 * without the tickets that have expired by its clock, even if no call has
 * removed these yet. */
#include "simulator/model/lease_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WATCHES_MAX 256
#define NAME_BYTES 2048

/* ---------------------------------------------------------------- clocks -- */

uint64_t lease_clock_ms(const struct hf_sim *sim)
{
    return sim_server_us(sim) / 1000;
}

/* The true time at which the server's clock shows ${server_ms}. */
static uint64_t at_us(const struct hf_sim *sim, uint64_t server_ms)
{
    if (server_ms >= UINT64_MAX / 1000)
        return UINT64_MAX;
    return sim_server_at_us(sim, 1000 * server_ms);
}

static uint64_t expires_ms(const struct hf_sim *sim,
                           const struct sim_ticket *ticket)
{
    return lease_server_expires_ms(sim->leases->server, ticket->queue->name,
                                   &ticket->ticket.id);
}

/* -------------------------------------------------------------- sessions -- */

const struct lease_session *lease_session_named(struct hf_sim *sim,
                                                const char *name)
{
    struct lease_session *session = sim->leases->sessions;

    while (session != NULL && strcmp(session->name, name) != 0)
        session = session->next;
    if (session != NULL)
        return session;
    session = sim_alloc(sim, sizeof *session);
    (void)snprintf(session->name, sizeof session->name, "%s", name);
    session->next = sim->leases->sessions;
    sim->leases->sessions = session;
    return session;
}

static const struct hf_engine *engine_of(const struct hf_sim *sim,
                                         const void *session)
{
    const struct hf_engine *engine = sim->engines;

    while (engine != NULL &&
           (engine->gone || engine->lease->client_session != session))
        engine = engine->next;
    return session == NULL ? NULL : engine;
}

/* ---------------------------------------------------------------- queues -- */

/* The requests of clients that will be answered GONE or CHANGED at some
 * time. */
static size_t find_watches(struct hf_sim *sim, const struct sim_ticket *ticket,
                           struct hf_request *notified[WATCHES_MAX])
{
    size_t count = 0;

    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        if (e->gone)
            continue;
        for (struct lease_watch_request *w = e->lease->watches; w != NULL;
             w = w->next) {
            if (w->watching && count < WATCHES_MAX &&
                strcmp(w->request->queue, ticket->queue->name) == 0 &&
                ((w->request->kind == HF_REQUEST_WATCH_QUEUE &&
                  w->request->ticket_kind != HF_TICKET_BARRIER) ||
                 hf_ticket_id_equal(&w->request->ticket, &ticket->ticket.id)))
                notified[count++] = w->request;
        }
    }
    return count;
}

static bool is_there(const struct sim_ticket *ticket)
{
    return sim_ticket_find(ticket->queue, &ticket->ticket.id) == ticket;
}

/* The server sends no notice when a ticket merely expires. */
static void expire_if_due(struct hf_sim *sim, struct sim_ticket *ticket)
{
    if (expires_ms(sim, ticket) > lease_clock_ms(sim))
        return;
    sim_trace(sim, engine_of(sim, ticket->owner), "ticket expires in %s",
              ticket->queue->name);
    sim_ticket_unlink(ticket);
    sim_observe_gone(sim, ticket, NULL, 0);
}

/* A timer; the ticket may have been renewed since it was set. */
static void on_expiry(void *arg)
{
    struct sim_ticket *ticket = arg;
    struct hf_sim *sim = ticket->data;

    if (!is_there(ticket))
        return;
    expire_if_due(sim, ticket);
    if (is_there(ticket))
        hf_sim_call_at(sim, at_us(sim, expires_ms(sim, ticket)), true,
                       on_expiry, ticket);
}

void lease_expire_all(struct hf_sim *sim)
{
    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        struct sim_ticket *next;

        for (struct sim_ticket *t = q->first; t != NULL; t = next) {
            next = t->next;
            expire_if_due(sim, t);
        }
    }
}

void lease_forget_tickets(struct hf_sim *sim)
{
    for (struct sim_queue *q = sim->queues; q != NULL; q = q->next)
        q->first = NULL;
}

/* ----------------------------------------------- callbacks of the server -- */

static bool is_barrier_queue(const char *queue)
{
    return queue[strlen(queue) - 1] == '/';
}

/* Notify the observer of a barrier flag or READY.  False: ${ticket} is neither.
 * A barrier's name is that of its queue without the slash at the end. */
static bool observe_barrier(struct hf_sim *sim, const char *queue,
                            const struct hf_ticket *ticket, bool up)
{
    char name[NAME_BYTES];

    if (ticket->kind == HF_TICKET_READY) {
        (void)snprintf(name, sizeof name, "%s/ready", queue);
    } else if (is_barrier_queue(queue)) {
        (void)snprintf(name, sizeof name, "%.*s", (int)strlen(queue) - 1,
                       queue);
    } else {
        return false;
    }
    sim_observe_barrier(sim, name, up);
    return true;
}

/* The observer of the server: update the committed queues. */
static void on_added(void *arg, const char *queue, const char *session,
                     const struct hf_ticket *ticket)
{
    struct hf_sim *sim = arg;
    struct hf_ticket like = *ticket;
    struct sim_ticket *added;
    const void *owner =
        *session == '\0' ? NULL : lease_session_named(sim, session);

    if (observe_barrier(sim, queue, ticket, true))
        return;
    like.payload = sim_strdup(sim, ticket->payload);
    sim_trace(sim, engine_of(sim, owner), "server adds a ticket to %s", queue);
    added = sim_ticket_add(sim, sim_queue_find(sim, queue), &like, owner);
    added->data = sim;
    /* The server sets the expiry after this callback. */
    hf_sim_call_at(sim, sim->now_us, true, on_expiry, added);
}

/* A ticket that has left the server's queue may have expired here before. */
static void on_removed(void *arg, const char *queue,
                       const struct hf_ticket *ticket)
{
    struct hf_sim *sim = arg;
    struct hf_request *notified[WATCHES_MAX];
    struct sim_ticket *gone;

    if (observe_barrier(sim, queue, ticket, false))
        return;
    gone = sim_ticket_find(sim_queue_find(sim, queue), &ticket->id);
    if (gone == NULL)
        return; /* it had expired */
    sim_trace(sim, engine_of(sim, gone->owner), "server removes a ticket of %s",
              queue);
    sim_ticket_unlink(gone);
    sim_observe_gone(sim, gone, notified, find_watches(sim, gone, notified));
}

static void on_changed(void *arg, const char *queue,
                       const struct hf_ticket *ticket)
{
    struct hf_sim *sim = arg;
    struct sim_ticket *found =
        sim_ticket_find(sim_queue_find(sim, queue), &ticket->id);

    if (found == NULL)
        return;
    found->ticket.kind = ticket->kind;
    found->ticket.payload = sim_strdup(sim, ticket->payload);
}

static void on_succeeded(void *arg, const char *queue, uint64_t token,
                         uint64_t written_us)
{
    sim_observe_success(arg, queue, token, written_us);
}

static uint64_t true_us(void *arg)
{
    return ((struct hf_sim *)arg)->now_us;
}

static void on_notice(void *arg, const struct lease_notice *notice)
{
    lease_notify(arg, notice);
}

/* ---------------------------------------------------------------- leases -- */

/* Each ticket has a lease of its own. */
uint64_t lease_end_us(const struct hf_engine *engine,
                      const struct hf_ticket_id *ticket)
{
    const struct hf_sim *sim = engine->sim;

    for (const struct sim_queue *q = sim->queues; q != NULL; q = q->next) {
        const struct sim_ticket *found = sim_ticket_find(q, ticket);

        if (found != NULL && found->owner == engine->lease->client_session)
            return at_us(sim, expires_ms(sim, found));
    }
    return 0;
}

struct lease_state *lease_state_new(struct hf_sim *sim)
{
    struct lease_state *state = sim_alloc(sim, sizeof *state);
    struct lease_observer observer = {.notice = on_notice,
                                      .added = on_added,
                                      .removed = on_removed,
                                      .changed = on_changed,
                                      .succeeded = on_succeeded,
                                      .true_us = true_us,
                                      .arg = sim};

    state->server = lease_server_new(&observer);
    if (sim->config.partial)
        lease_server_set_partial(state->server);
    if (sim->config.leases.names_first)
        lease_server_set_names_first(state->server);
    sim->clock.base_us = LEASE_EPOCH_US;
    return state;
}
