/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/sim/arrival.h"

#include <assert.h>

#include "engines/sim/model.h"

static enum hf_sim_way way_of(const struct sim_connection *connection,
                              enum sim_direction direction)
{
    if (direction == SIM_IN)
        return HF_SIM_IN;
    if (direction == SIM_ASIDE)
        return HF_SIM_ASIDE;
    return connection->open ? HF_SIM_OUT : HF_SIM_LATE;
}

static struct hf_sim_arrival arrival_of(struct sim_connection *connection,
                                        enum sim_direction direction)
{
    struct sim_pipe *pipe = &connection->pipes[direction];
    const struct sim_message *message = (const struct sim_message *)pipe->first;
    struct hf_sim_arrival arrival = {
        .engine = connection->engine,
        .way = way_of(connection, direction),
        .pipe = pipe,
        .asks = message->kind == SIM_REQUEST,
    };

    if (arrival.asks) {
        arrival.request = message->request;
        arrival.ticket = message->pending->ticket;
    }
    return arrival;
}

/* On a connection that has ended only what was sent can arrive, as long as the
 * session is there to be heard. */
static bool moves(const struct sim_connection *connection,
                  enum sim_direction direction)
{
    const struct sim_session *session = connection->session;

    if (!sim_pipe_ready(&connection->pipes[direction]))
        return false;
    return connection->open || (direction == SIM_OUT && connection->lingers &&
                                (session == NULL || session->alive));
}

size_t hf_sim_arrivals(const struct hf_engine *engine,
                       struct hf_sim_arrival *arrivals, size_t most)
{
    size_t count = 0;

    for (struct sim_connection *c = engine->sim->connections; c != NULL;
         c = c->next) {
        for (unsigned d = 0; c->engine == engine && d < SIM_DIRECTIONS; d++) {
            if (!moves(c, (enum sim_direction)d))
                continue;
            assert(count < most);
            arrivals[count++] = arrival_of(c, (enum sim_direction)d);
        }
    }
    return count;
}

void hf_sim_arrive(const struct hf_sim_arrival *arrival)
{
    sim_pipe_move(arrival->pipe);
}

void hf_sim_lose(const struct hf_sim_arrival *arrival)
{
    assert(arrival->way == HF_SIM_LATE);
    while (sim_pipe_take(arrival->pipe) != NULL)
        continue;
}

uint64_t hf_sim_wake_at_us(const struct hf_engine *engine)
{
    if (engine->gone || engine->frozen || engine->phase == SIM_CLOSED)
        return UINT64_MAX;
    return engine->armed_us;
}
