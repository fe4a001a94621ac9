/* SPDX-License-Identifier: Apache-2.0 */
/* The plain model as one of the two, and what may go wrong with it. */
#include "engines/sim/model.h"

static void pump(struct hf_engine *engine)
{
    if (engine->connection == NULL)
        return;
    if (engine->out_up)
        sim_pump(engine->connection, SIM_OUT);
    if (!engine->in_up)
        return;
    sim_pump(engine->connection, SIM_IN);
    sim_pump(engine->connection, SIM_ASIDE);
}

static void reset(struct hf_engine *engine)
{
    if (engine->connection != NULL)
        sim_connection_end(engine->connection);
}

static void kill_session(struct hf_engine *engine)
{
    if (engine->session != NULL && engine->session->alive)
        sim_session_end(engine->sim, engine->session);
}

static void crash(struct hf_engine *engine)
{
    reset(engine);
    if (sim_leaseless(engine->sim))
        kill_session(engine);
}

static void restart(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next)
        reset(e);
}

/* The follower is one piece: cut off in one direction, it is cut off. */
static void stall(struct hf_engine *engine, bool out, bool in)
{
    struct sim_connection *connection = engine->connection;
    bool stalled = !out || !in;

    if (connection == NULL || connection->stalled == stalled)
        return;
    if (stalled) {
        connection->view = sim_view(engine->sim);
        connection->stalled = true;
    } else {
        sim_connection_unstall(connection);
    }
}

static void calm(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next)
        stall(e, true, true);
}

static void mark(struct hf_sim *sim, struct sim_queue *queue, bool up)
{
    struct hf_ticket_id id;

    if (up) {
        id = hf_ticket_id_random(&sim->random);
        (void)sim_mark_raise(sim, queue, &id);
    } else {
        (void)sim_mark_lower(sim, queue);
    }
}

static void foreign(struct hf_sim *sim, struct sim_queue *queue,
                    enum hf_ticket_kind kind, const struct hf_ticket_id *ticket,
                    const struct sim_ticket *beside)
{
    struct hf_ticket like = {
        .id = *ticket,
        .kind = kind,
        .weight = 1,
        .payload = "foreign",
        .token = ++sim->transaction,
        .sequence =
            beside == NULL ? ++queue->sequence : beside->ticket.sequence,
    };

    sim_ticket_add(sim, queue, &like, NULL);
}

static bool evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                  struct sim_ticket *found)
{
    (void)ticket;
    if (found == NULL)
        return false;
    sim_ticket_remove(sim, found);
    return true;
}

static const void *owner(const struct hf_engine *engine)
{
    return engine->session;
}

static bool alive(const struct hf_engine *engine)
{
    return engine->session != NULL && engine->session->alive;
}

static bool connected(const struct hf_engine *engine)
{
    return engine->phase == SIM_UP && !engine->connection->stalled &&
           engine->connection->open;
}

static uint64_t lease_end_us(const struct hf_engine *engine,
                             const struct hf_ticket_id *ticket)
{
    (void)ticket;
    if (sim_leaseless(engine->sim))
        return UINT64_MAX;
    return sim_server_at_us(engine->sim, engine->session->deadline_us);
}

static void end(struct hf_sim *sim)
{
    (void)sim;
}

const struct sim_model sim_plain = {
    .begin = sim_client_init,
    .request = sim_client_request,
    .forget = sim_client_forget,
    .free = sim_client_free,
    .thaw = sim_client_thaw,
    .pump = pump,
    .reset = reset,
    .crash = crash,
    .kill = kill_session,
    .stall = stall,
    .restart = restart,
    .calm = calm,
    .evict = evict,
    .foreign = foreign,
    .mark = mark,
    .touch = sim_mark_touch,
    .owner = owner,
    .alive = alive,
    .connected = connected,
    .lease_end_us = lease_end_us,
    .end = end,
};
