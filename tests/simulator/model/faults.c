/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of clients and their links, which are the same for every model; the
 * rest goes to the operations of the model. */
#include "simulator/model/sim_internal.h"

void hf_sim_kill_session(struct hf_engine *engine)
{
    engine->sim->model->kill_session(engine);
}

void hf_sim_set_link(struct hf_engine *engine, bool out, bool in)
{
    engine->out_up = out;
    engine->in_up = in;
    engine->sim->model->flush(engine);
}

void hf_sim_reset_connection(struct hf_engine *engine)
{
    engine->sim->model->reset(engine);
}

void hf_sim_restart_servers(struct hf_sim *sim)
{
    sim->model->restart(sim);
}

void hf_sim_set_stalled(struct hf_engine *engine, bool out, bool in)
{
    engine->sim->model->stall(engine, out, in);
}

static void thaw(struct hf_engine *engine)
{
    engine->frozen = false;
    if (!engine->gone)
        engine->sim->model->thaw(engine);
}

void hf_sim_set_frozen(struct hf_engine *engine, bool frozen)
{
    if (engine->clock.stopped || engine->frozen == frozen)
        return;
    if (frozen)
        engine->frozen = true;
    else
        thaw(engine);
}

/* A paused machine is also a frozen process; a process that is frozen already
 * is not paused on top of that. */
void hf_sim_set_paused(struct hf_engine *engine, bool paused)
{
    if (engine->clock.stopped == paused || (paused && engine->frozen))
        return;
    sim_clock_set_stopped(&engine->clock, engine->sim->now_us, paused);
    if (paused)
        engine->frozen = true;
    else
        thaw(engine);
}

void hf_sim_crash(struct hf_engine *engine)
{
    engine->gone = true;
    engine->sim->model->crash(engine);
}

void hf_sim_end_faults(struct hf_sim *sim)
{
    sim->config.refuse_chance = 0;
    sim->config.lose_chance = 0;
    sim->config.slow_chance = 0;
    sim->config.late_chance = 0;
    sim->config.deny_chance = 0;
    sim->config.garble_chance = 0;
    sim->model->end_faults(sim);
}
