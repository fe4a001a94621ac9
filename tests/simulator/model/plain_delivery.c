/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the pipes of the plain model's connections and delivers from one of
 * them.
 */
#include "simulator/model/plain_delivery.h"

#include <assert.h>

#include "simulator/model/sim_internal.h"

static enum hf_sim_direction
direction_of(const struct plain_connection *connection,
             enum plain_direction direction)
{
    if (direction == PLAIN_TO_CLIENT)
        return HF_SIM_TO_CLIENT;
    if (direction == PLAIN_NOTICES)
        return HF_SIM_NOTICE;
    return connection->open ? HF_SIM_TO_SERVER : HF_SIM_LATE_TO_SERVER;
}

/* Describe the first message of the pipe. */
static struct hf_sim_delivery delivery_of(struct plain_connection *connection,
                                          enum plain_direction direction)
{
    struct sim_pipe *pipe = &connection->pipes[direction];
    const struct plain_message *message =
        (const struct plain_message *)pipe->first;
    struct hf_sim_delivery delivery = {
        .engine = connection->engine,
        .direction = direction_of(connection, direction),
        .pipe = pipe,
        .is_request = message->kind == PLAIN_REQUEST,
    };

    if (delivery.is_request) {
        delivery.request = message->request;
        delivery.ticket = message->pending->ticket;
    }
    return delivery;
}

/* On a connection that has ended, only what the client had sent can arrive,
 * while its session lives. */
static bool is_deliverable(const struct plain_connection *connection,
                           enum plain_direction direction)
{
    const struct plain_session *session = connection->session;

    if (!sim_pipe_ready(&connection->pipes[direction]))
        return false;
    return connection->open ||
           (direction == PLAIN_TO_SERVER && connection->lingers &&
            (session == NULL || session->alive));
}

size_t hf_sim_deliverable(const struct hf_engine *engine,
                          struct hf_sim_delivery *deliveries, size_t max)
{
    size_t count = 0;

    for (struct plain_connection *c = engine->sim->connections; c != NULL;
         c = c->next) {
        for (unsigned d = 0; c->engine == engine && d < PLAIN_DIRECTIONS; d++) {
            if (!is_deliverable(c, (enum plain_direction)d))
                continue;
            assert(count < max);
            deliveries[count++] = delivery_of(c, (enum plain_direction)d);
        }
    }
    return count;
}

void hf_sim_deliver(const struct hf_sim_delivery *delivery)
{
    sim_pipe_deliver(delivery->pipe);
}

void hf_sim_drop_late_messages(const struct hf_sim_delivery *delivery)
{
    assert(delivery->direction == HF_SIM_LATE_TO_SERVER);
    while (sim_pipe_take(delivery->pipe) != NULL)
        continue;
}

uint64_t hf_sim_wake_at_us(const struct hf_engine *engine)
{
    if (engine->gone || engine->frozen || engine->phase == PLAIN_CLOSED)
        return UINT64_MAX;
    return engine->armed_us;
}
