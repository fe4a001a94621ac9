/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong, as the world asks for it. */
#include "engines/sim/model.h"

#include <assert.h>

void hf_sim_kill_session(struct hf_engine *engine)
{
    if (engine->session != NULL && engine->session->alive)
        sim_session_end(engine->sim, engine->session);
}

void hf_sim_set_link(struct hf_engine *engine, bool out, bool in)
{
    engine->out_up = out;
    engine->in_up = in;
    if (engine->connection == NULL)
        return;
    if (out)
        sim_pump(engine->connection, SIM_OUT);
    if (!in)
        return;
    sim_pump(engine->connection, SIM_IN);
    sim_pump(engine->connection, SIM_ASIDE);
}

void hf_sim_break(struct hf_engine *engine)
{
    if (engine->connection != NULL)
        sim_connection_end(engine->connection);
}

void hf_sim_restart(struct hf_sim *sim)
{
    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next)
        hf_sim_break(e);
}

void hf_sim_set_stalled(struct hf_engine *engine, bool stalled)
{
    struct sim_connection *connection = engine->connection;

    if (connection == NULL || connection->stalled == stalled)
        return;
    if (stalled) {
        connection->view = sim_view(engine->sim);
        connection->stalled = true;
    } else {
        sim_connection_unstall(connection);
    }
}

/* It reads what has come in meanwhile, and looks at the clock. */
static void thaw(struct hf_engine *engine)
{
    engine->frozen = false;
    if (engine->gone)
        return;
    if (engine->reset_unread) {
        engine->reset_unread = false;
        sim_client_reset(engine);
    } else if (engine->connection != NULL) {
        sim_pump(engine->connection, SIM_IN);
        sim_pump(engine->connection, SIM_ASIDE);
    }
    engine->armed_us = engine->sim->now_us;
    hf_sim_call_at(engine->sim, engine->sim->now_us, false, sim_client_tick,
                   engine);
}

void hf_sim_set_frozen(struct hf_engine *engine, bool frozen)
{
    if (engine->paused || engine->frozen == frozen)
        return;
    if (frozen)
        engine->frozen = true;
    else
        thaw(engine);
}

void hf_sim_set_paused(struct hf_engine *engine, bool paused)
{
    if (engine->paused == paused || (paused && engine->frozen))
        return;
    if (paused) {
        uint64_t now_us = engine->sim->now_us;

        /* To the microsecond, lest a pause move the clock back. */
        engine->clock_base_us +=
            (uint64_t)((int64_t)(now_us - engine->clock_since_us) +
                       (int64_t)(now_us - engine->clock_since_us) *
                           engine->clock_ppm / 1000000);
        engine->paused = true;
        engine->frozen = true;
    } else {
        engine->clock_since_us = engine->sim->now_us;
        engine->paused = false;
        thaw(engine);
    }
}

void hf_sim_crash(struct hf_engine *engine)
{
    engine->gone = true;
    if (engine->connection != NULL)
        sim_connection_end(engine->connection);
    if (sim_leaseless(engine->sim))
        hf_sim_kill_session(engine);
}

void hf_sim_calm(struct hf_sim *sim)
{
    sim->config.refuse_chance = 0;
    sim->config.lose_chance = 0;
    sim->config.slow_chance = 0;
    sim->config.late_chance = 0;
    sim->config.deny_chance = 0;
    sim->config.garble_chance = 0;
}

bool hf_sim_session_alive(const struct hf_engine *engine)
{
    return engine->session != NULL && engine->session->alive;
}

bool hf_sim_connected(const struct hf_engine *engine)
{
    return engine->phase == SIM_UP && engine->out_up && engine->in_up &&
           !engine->connection->stalled && engine->connection->open;
}

bool hf_sim_frozen(const struct hf_engine *engine)
{
    return engine->frozen;
}
