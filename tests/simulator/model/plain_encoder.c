/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See plain_encoder.h.  Everything that a later step of the model reads must
 * be encoded; what is missing makes the explorer skip states that it has not
 * seen.
 */
#include "simulator/model/plain_encoder.h"

#include <assert.h>

#include <holdfast/holdfast.h>

#include "simulator/model/sim_internal.h"

/* ---------------------------------------------------------------- values -- */

void hf_encode_number(struct hf_state_encoder *encoder, uint64_t number)
{
    assert(number <= UINT8_MAX && encoder->used < HF_STATE_BYTES);
    encoder->bytes[encoder->used++] = (uint8_t)number;
}

/* The number of the ticket: which of the tickets in this encoding it is. */
void hf_encode_ticket(struct hf_state_encoder *encoder,
                      const struct hf_ticket_id *ticket)
{
    size_t i = 0;

    while (i < encoder->ticket_count &&
           !hf_ticket_id_equal(&encoder->tickets[i], ticket))
        i++;
    if (i == encoder->ticket_count) {
        assert(i < HF_STATE_TICKETS);
        encoder->tickets[encoder->ticket_count++] = *ticket;
    }
    hf_encode_number(encoder, i);
}

/* The number of the object, likewise. */
void hf_encode_object(struct hf_state_encoder *encoder, const void *object)
{
    size_t i = 0;

    while (i < encoder->object_count && encoder->objects[i] != object)
        i++;
    if (i == encoder->object_count) {
        assert(i < HF_STATE_OBJECTS);
        encoder->objects[encoder->object_count++] = object;
    }
    hf_encode_number(encoder, i);
}

/* The time that is left, exact up to HF_STATE_SOON_MS; later times are all
 * alike, and never is one more value. */
void hf_encode_instant(struct hf_state_encoder *encoder, uint64_t at,
                       uint64_t now)
{
    uint64_t left = at <= now ? 0 : at - now;

    if (at == HF_FOREVER)
        left = HF_STATE_SOON_MS + 2;
    else if (left > HF_STATE_SOON_MS)
        left = HF_STATE_SOON_MS + 1;
    hf_encode_number(encoder, left >> 8);
    hf_encode_number(encoder, left & 255);
}

/* The kind and the ticket distinguish the requests of one acquisition. */
void hf_encode_request(struct hf_state_encoder *encoder,
                       const struct hf_request *request)
{
    if (request == NULL) {
        hf_encode_number(encoder, 255);
        return;
    }
    hf_encode_number(encoder, request->kind);
    if (request->own_ticket == NULL)
        return;
    hf_encode_object(encoder, request->own_ticket);
    hf_encode_ticket(encoder, &request->ticket);
    hf_encode_number(encoder, request->ticket_kind);
}

/* ----------------------------------------------------------------- queue -- */

void hf_sim_encode_queue(struct hf_state_encoder *encoder, struct hf_sim *sim,
                         const char *queue)
{
    const struct sim_ticket *ticket = sim_queue_find(sim, queue)->first;

    for (; ticket != NULL; ticket = ticket->next) {
        hf_encode_ticket(encoder, &ticket->ticket.id);
        hf_encode_object(encoder, ticket->owner);
        hf_encode_number(encoder, ticket->ticket.kind);
        hf_encode_number(encoder, ticket->ticket.weight);
    }
    hf_encode_number(encoder, 255);
}

/* -------------------------------------------------------------- messages -- */

/* A request that the core has dropped has no effect any more but that of its
 * message. */
static void encode_pending(struct hf_state_encoder *encoder,
                           const struct plain_pending *pending)
{
    hf_encode_ticket(encoder, &pending->ticket);
    hf_encode_number(encoder, pending->unlinked);
    if (pending->unlinked) /* its answer is ignored */
        return;
    hf_encode_request(encoder, pending->request);
    hf_encode_number(encoder, pending->watching);
    hf_encode_number(encoder, pending->is_set);
    hf_encode_number(encoder, pending->kind);
    hf_encode_number(encoder, pending->watches_queue);
    if (pending->watches_queue &&
        pending->watching) /* has it changed since it read? */
        hf_encode_number(
            encoder, pending->seen_version !=
                         sim_queue_find(pending->engine->sim, pending->queue)
                             ->changed_count);
}

/* Only the parts that a core reads. */
static void encode_answer(struct hf_state_encoder *encoder,
                          const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    hf_encode_number(encoder, event->kind);
    hf_encode_number(encoder, event->as.answer.found);
    hf_encode_number(encoder, event->as.answer.failure);
    hf_encode_number(encoder, snapshot->count);
    hf_encode_number(encoder, snapshot->more_ahead);
    for (size_t i = 0; i < snapshot->count; i++) {
        hf_encode_ticket(encoder, &snapshot->tickets[i].id);
        hf_encode_number(encoder, snapshot->tickets[i].kind);
        hf_encode_number(encoder, snapshot->tickets[i].weight);
    }
}

static void encode_message(struct hf_state_encoder *encoder,
                           const struct plain_message *message)
{
    hf_encode_number(encoder, message->kind);
    if (message->pending != NULL)
        encode_pending(encoder, message->pending);
    if (message->kind == PLAIN_CONNECT || message->kind == PLAIN_ACCEPT)
        hf_encode_object(encoder, message->session);
    hf_encode_number(encoder, message->resumed);
    hf_encode_number(encoder, message->request);
    hf_encode_number(encoder, message->ticket_kind);
    hf_encode_number(encoder, message->weight);
    hf_encode_number(encoder, message->whole);
    hf_encode_number(encoder, message->sync);
    if (message->kind == PLAIN_ANSWER)
        encode_answer(encoder, &message->answer);
}

static void encode_pipe(struct hf_state_encoder *encoder,
                        const struct sim_pipe *pipe)
{
    for (const struct sim_pipe_item *i = pipe->first; i != NULL; i = i->next)
        encode_message(encoder, (const struct plain_message *)i);
    hf_encode_number(encoder, 255);
}

/* ---------------------------------------------------------------- engine -- */

static void encode_connection(struct hf_state_encoder *encoder,
                              const struct plain_connection *connection)
{
    assert(!connection->stalled && connection->waiting == NULL);
    hf_encode_number(encoder, connection->open);
    hf_encode_object(encoder, connection->session);
    if (connection->open) {
        encode_pipe(encoder, &connection->pipes[PLAIN_TO_CLIENT]);
        encode_pipe(encoder, &connection->pipes[PLAIN_NOTICES]);
    }
    encode_pipe(encoder, &connection->pipes[PLAIN_TO_SERVER]);
}

/* Can anything that is on this connection still arrive? */
static bool can_matter(const struct plain_connection *connection)
{
    return connection->open ||
           (connection->lingers &&
            connection->pipes[PLAIN_TO_SERVER].first != NULL &&
            (connection->session == NULL || connection->session->alive));
}

/* The process of the client: its phase and the requests under way. */
static void encode_machine(struct hf_state_encoder *encoder,
                           const struct hf_engine *engine)
{
    uint64_t now_ms = hf_sim_client_now_ms(engine);

    assert(!engine->frozen && engine->out_up && engine->in_up);
    hf_encode_number(encoder, engine->phase);
    hf_encode_number(encoder, engine->must_sync);
    hf_encode_number(encoder, engine->connection != NULL);
    hf_encode_instant(encoder,
                      engine->phase == PLAIN_DISCONNECTED
                          ? engine->connect_at_ms
                          : HF_FOREVER,
                      now_ms);
    for (const struct plain_pending *p = engine->first; p != NULL; p = p->next)
        encode_pending(encoder, p);
    hf_encode_number(encoder, 255);
}

void hf_sim_encode_engine(struct hf_state_encoder *encoder,
                          const struct hf_engine *engine)
{
    hf_encode_object(encoder, engine->session);
    hf_encode_number(encoder,
                     engine->session != NULL && engine->session->alive);
    hf_encode_number(encoder, engine->gone);
    if (!engine->gone)
        encode_machine(encoder, engine);
    for (const struct plain_connection *c = engine->sim->connections; c != NULL;
         c = c->next) {
        if (c->engine == engine && can_matter(c))
            encode_connection(encoder, c);
    }
    hf_encode_number(encoder, 254);
}
