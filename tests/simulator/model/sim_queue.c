/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and tickets in the committed state, which all models keep.  The checks
 * compare with it what clients were notified of. */
#include "simulator/model/sim_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct sim_queue *sim_queue_lookup(struct sim_queue *view, const char *name)
{
    while (view != NULL && strcmp(view->name, name) != 0)
        view = view->next;
    return view;
}

struct sim_queue *sim_queue_find(struct hf_sim *sim, const char *name)
{
    struct sim_queue *queue = sim_queue_lookup(sim->queues, name);

    if (queue == NULL) {
        queue = sim_alloc(sim, sizeof *queue);
        queue->name = sim_strdup(sim, name);
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

/* The most tickets that a snapshot of ${queue} may have: room for the node
 * READY, and for one ticket that garbling adds. */
static size_t room_of(const struct sim_queue *queue)
{
    size_t room = 2;

    for (const struct sim_ticket *t = queue->first; t != NULL; t = t->next)
        room++;
    return room;
}

/* Write the tickets of the queue to ${tickets}, which has room_of()
 * elements. */
static struct hf_snapshot write_snapshot(const struct sim_queue *queue,
                                         bool participants,
                                         struct hf_ticket *tickets)
{
    size_t count = 0;

    for (const struct sim_ticket *t = queue->first; t != NULL; t = t->next) {
        if ((t->ticket.kind == HF_TICKET_PARTICIPANT) == participants)
            tickets[count++] = t->ticket;
    }
    if (participants && queue->ready.token != 0)
        tickets[count++] = queue->ready;
    if (participants)
        qsort(tickets, count, sizeof *tickets, hf_ticket_compare);
    for (size_t i = 0; i < count; i++)
        tickets[i].dialect = "sim";
    return (struct hf_snapshot){tickets, count, 0};
}

struct hf_snapshot sim_snapshot(struct hf_sim *sim,
                                const struct sim_queue *queue,
                                bool participants)
{
    return write_snapshot(
        queue, participants,
        sim_alloc(sim, room_of(queue) * sizeof(struct hf_ticket)));
}

/* Tickets with equal numbers keep the order in which they were added. */
struct sim_ticket *sim_ticket_add(struct hf_sim *sim, struct sim_queue *queue,
                                  const struct hf_ticket *like,
                                  const void *owner)
{
    struct sim_ticket *ticket = sim_alloc(sim, sizeof *ticket);
    struct sim_ticket **at = &queue->first;

    ticket->ticket = *like;
    ticket->queue = queue;
    ticket->owner = owner;
    while (*at != NULL &&
           hf_ticket_compare(&(*at)->ticket, &ticket->ticket) <= 0)
        at = &(*at)->next;
    ticket->next = *at;
    *at = ticket;
    queue->changed_count++;
    if (sim->observer.added != NULL)
        sim->observer.added(sim->observer.arg, queue->name, &ticket->ticket);
    return ticket;
}

void sim_ticket_unlink(struct sim_ticket *ticket)
{
    struct sim_ticket **at = &ticket->queue->first;

    while (*at != ticket) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = ticket->next;
    ticket->queue->changed_count++;
}

void sim_observe_gone(struct hf_sim *sim, const struct sim_ticket *ticket,
                      struct hf_request *const *notified, size_t count)
{
    if (sim->observer.gone != NULL)
        sim->observer.gone(sim->observer.arg, ticket->queue->name,
                           &ticket->ticket, notified, count);
}

void sim_observe_barrier(struct hf_sim *sim, const char *queue, bool up)
{
    if (sim->observer.barrier_changed != NULL)
        sim->observer.barrier_changed(sim->observer.arg, queue, up);
}

void sim_observe_success(struct hf_sim *sim, const char *queue, uint64_t token,
                         uint64_t at_us)
{
    if (sim->observer.succeeded != NULL)
        sim->observer.succeeded(sim->observer.arg, queue, token, at_us);
}

void sim_observe_deleted(struct hf_sim *sim, const char *queue)
{
    if (sim->observer.deleted != NULL)
        sim->observer.deleted(sim->observer.arg, queue);
}

/* ------------------------------------------------------- committed state -- */

/* The checks read queues at every step.  The snapshots use one buffer again and
 * again, because memory that lives as long as the run would take most of the
 * run's time and space. */
struct hf_snapshot hf_sim_queue(struct hf_sim *sim, const char *queue)
{
    const struct sim_queue *found = sim_queue_find(sim, queue);
    size_t room = room_of(found);

    if (room > sim->snapshot_room) {
        sim->snapshot_room = 2 * room;
        sim->snapshot_tickets = sim_require_memory(
            realloc(sim->snapshot_tickets,
                    sim->snapshot_room * sizeof *sim->snapshot_tickets));
    }
    return write_snapshot(found, false, sim->snapshot_tickets);
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

/* A ticket is current if its owner is the session that the client believes in
 * and no part of it was deleted. */
bool hf_sim_ticket_current(const struct hf_engine *engine,
                           const struct hf_ticket_id *ticket)
{
    for (struct sim_queue *q = engine->sim->queues; q != NULL; q = q->next) {
        const struct sim_ticket *found = sim_ticket_find(q, ticket);

        if (found != NULL)
            return !found->partly_deleted && found->owner != NULL &&
                   found->owner == engine->sim->model->owner(engine);
    }
    return false;
}

uint64_t hf_sim_lease_end_us(const struct hf_engine *engine,
                             const struct hf_ticket_id *ticket)
{
    if (!hf_sim_session_alive(engine))
        return 0;
    return engine->sim->model->lease_end_us(engine, ticket);
}

bool hf_sim_session_alive(const struct hf_engine *engine)
{
    return engine->sim->model->alive(engine);
}

bool hf_sim_connected(const struct hf_engine *engine)
{
    return engine->out_up && engine->in_up &&
           engine->sim->model->connected(engine);
}

bool hf_sim_frozen(const struct hf_engine *engine)
{
    return engine->frozen;
}

bool hf_sim_evict(struct hf_sim *sim, const char *queue,
                  const struct hf_ticket_id *ticket)
{
    struct sim_ticket *found =
        sim_ticket_find(sim_queue_find(sim, queue), ticket);

    return sim->model->evict(sim, ticket, found);
}

void hf_sim_other_client_set_barrier(struct hf_sim *sim, const char *queue,
                                     bool up)
{
    sim->model->set_barrier(sim, sim_queue_find(sim, queue), up);
}

void hf_sim_other_client_touch_barrier(struct hf_sim *sim, const char *queue)
{
    sim->model->touch_barrier(sim, sim_queue_find(sim, queue));
}

bool hf_sim_other_client_enqueue(struct hf_sim *sim, const char *queue,
                                 enum hf_ticket_kind kind,
                                 const struct hf_ticket_id *ticket,
                                 const struct hf_ticket_id *beside)
{
    struct sim_queue *found = sim_queue_find(sim, queue);
    const struct sim_ticket *beside_ticket = NULL;

    if (beside != NULL) {
        beside_ticket = sim_ticket_find(found, beside);
        if (beside_ticket == NULL)
            return false;
    }
    sim->model->other_enqueue(sim, found, kind, ticket, beside_ticket);
    return true;
}
