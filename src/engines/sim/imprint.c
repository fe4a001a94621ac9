/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/sim/imprint.h"

#include <assert.h>

#include "engines/sim/model.h"

/* --------------------------------------------------------------- letters -- */

void hf_imprint_number(struct hf_imprint *imprint, uint64_t number)
{
    assert(number <= UINT8_MAX && imprint->used < HF_IMPRINT_BYTES);
    imprint->bytes[imprint->used++] = (uint8_t)number;
}

void hf_imprint_ticket(struct hf_imprint *imprint,
                       const struct hf_ticket_id *ticket)
{
    size_t i = 0;

    while (i < imprint->ticket_count &&
           !hf_ticket_id_equal(&imprint->tickets[i], ticket))
        i++;
    if (i == imprint->ticket_count) {
        assert(i < HF_IMPRINT_TICKETS);
        imprint->tickets[imprint->ticket_count++] = *ticket;
    }
    hf_imprint_number(imprint, i);
}

void hf_imprint_object(struct hf_imprint *imprint, const void *object)
{
    size_t i = 0;

    while (i < imprint->object_count && imprint->objects[i] != object)
        i++;
    if (i == imprint->object_count) {
        assert(i < HF_IMPRINT_OBJECTS);
        imprint->objects[imprint->object_count++] = object;
    }
    hf_imprint_number(imprint, i);
}

void hf_imprint_instant(struct hf_imprint *imprint, uint64_t at, uint64_t now)
{
    uint64_t left = at <= now ? 0 : at - now;

    if (at == HF_FOREVER)
        left = HF_IMPRINT_SOON_MS + 2;
    else if (left > HF_IMPRINT_SOON_MS)
        left = HF_IMPRINT_SOON_MS + 1;
    hf_imprint_number(imprint, left >> 8);
    hf_imprint_number(imprint, left & 255);
}

void hf_imprint_request(struct hf_imprint *imprint,
                        const struct hf_request *request)
{
    if (request == NULL) {
        hf_imprint_number(imprint, 255);
        return;
    }
    hf_imprint_number(imprint, request->kind);
    if (request->own_ticket == NULL)
        return;
    hf_imprint_object(imprint, request->own_ticket);
    hf_imprint_ticket(imprint, &request->ticket);
    hf_imprint_number(imprint, request->ticket_kind);
}

/* ----------------------------------------------------------------- queue -- */

void hf_sim_imprint_queue(struct hf_imprint *imprint, struct hf_sim *sim,
                          const char *queue)
{
    const struct sim_ticket *ticket = sim_queue_find(sim, queue)->first;

    for (; ticket != NULL; ticket = ticket->next) {
        hf_imprint_ticket(imprint, &ticket->ticket.id);
        hf_imprint_object(imprint, ticket->owner);
        hf_imprint_number(imprint, ticket->ticket.kind);
        hf_imprint_number(imprint, ticket->ticket.weight);
    }
    hf_imprint_number(imprint, 255);
}

/* -------------------------------------------------------------- messages -- */

static void put_pending(struct hf_imprint *imprint,
                        const struct sim_pending *pending)
{
    hf_imprint_ticket(imprint, &pending->ticket);
    hf_imprint_number(imprint, pending->withdrawn);
    if (pending->withdrawn) /* its answer means nothing any more */
        return;
    hf_imprint_request(imprint, pending->request);
    hf_imprint_number(imprint, pending->watching);
    hf_imprint_number(imprint, pending->placed);
    hf_imprint_number(imprint, pending->kind);
    hf_imprint_number(imprint, pending->looks);
    if (pending->looks && pending->watching) /* has it missed any that went? */
        hf_imprint_number(
            imprint,
            pending->seen !=
                sim_queue_find(pending->engine->sim, pending->queue)->gone);
}

static void put_answer(struct hf_imprint *imprint, const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    hf_imprint_number(imprint, event->kind);
    hf_imprint_number(imprint, event->as.answer.found);
    hf_imprint_number(imprint, event->as.answer.failure);
    hf_imprint_number(imprint, snapshot->count);
    hf_imprint_number(imprint, snapshot->more_ahead);
    for (size_t i = 0; i < snapshot->count; i++) {
        hf_imprint_ticket(imprint, &snapshot->tickets[i].id);
        hf_imprint_number(imprint, snapshot->tickets[i].kind);
        hf_imprint_number(imprint, snapshot->tickets[i].weight);
    }
}

static void put_message(struct hf_imprint *imprint,
                        const struct sim_message *message)
{
    hf_imprint_number(imprint, message->kind);
    if (message->pending != NULL)
        put_pending(imprint, message->pending);
    if (message->kind == SIM_CONNECT || message->kind == SIM_ACCEPT)
        hf_imprint_object(imprint, message->session);
    hf_imprint_number(imprint, message->resumed);
    hf_imprint_number(imprint, message->request);
    hf_imprint_number(imprint, message->ticket_kind);
    hf_imprint_number(imprint, message->weight);
    hf_imprint_number(imprint, message->whole);
    hf_imprint_number(imprint, message->sync);
    if (message->kind == SIM_ANSWER)
        put_answer(imprint, &message->answer);
}

static void put_pipe(struct hf_imprint *imprint, const struct sim_pipe *pipe)
{
    for (const struct sim_item *i = pipe->first; i != NULL; i = i->next)
        put_message(imprint, (const struct sim_message *)i);
    hf_imprint_number(imprint, 255);
}

/* ---------------------------------------------------------------- engine -- */

static void put_connection(struct hf_imprint *imprint,
                           const struct sim_connection *connection)
{
    assert(!connection->stalled && connection->parked == NULL);
    hf_imprint_number(imprint, connection->open);
    hf_imprint_object(imprint, connection->session);
    if (connection->open) {
        put_pipe(imprint, &connection->pipes[SIM_IN]);
        put_pipe(imprint, &connection->pipes[SIM_ASIDE]);
    }
    put_pipe(imprint, &connection->pipes[SIM_OUT]);
}

static bool matters(const struct sim_connection *connection)
{
    return connection->open ||
           (connection->lingers && connection->pipes[SIM_OUT].first != NULL &&
            (connection->session == NULL || connection->session->alive));
}

static void put_machine(struct hf_imprint *imprint,
                        const struct hf_engine *engine)
{
    uint64_t now_ms = hf_sim_client_now_ms(engine);

    assert(!engine->frozen && engine->out_up && engine->in_up);
    hf_imprint_number(imprint, engine->phase);
    hf_imprint_number(imprint, engine->must_sync);
    hf_imprint_number(imprint, engine->connection != NULL);
    hf_imprint_instant(imprint,
                       engine->phase == SIM_APART ? engine->connect_at_ms
                                                  : HF_FOREVER,
                       now_ms);
    for (const struct sim_pending *p = engine->first; p != NULL; p = p->next)
        put_pending(imprint, p);
    hf_imprint_number(imprint, 255);
}

void hf_sim_imprint_engine(struct hf_imprint *imprint,
                           const struct hf_engine *engine)
{
    hf_imprint_object(imprint, engine->session);
    hf_imprint_number(imprint,
                      engine->session != NULL && engine->session->alive);
    hf_imprint_number(imprint, engine->gone);
    if (!engine->gone)
        put_machine(imprint, engine);
    for (const struct sim_connection *c = engine->sim->connections; c != NULL;
         c = c->next) {
        if (c->engine == engine && matters(c))
            put_connection(imprint, c);
    }
    hf_imprint_number(imprint, 254);
}
