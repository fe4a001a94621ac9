/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/sim/pipe.h"

#include "engines/sim/sim.h"

void sim_pipe_init(struct sim_pipe *pipe, struct hf_sim *sim, void *owner,
                   const struct sim_pipe_ops *ops)
{
    pipe->sim = sim;
    pipe->owner = owner;
    pipe->ops = ops;
    pipe->first = NULL;
    pipe->end = &pipe->first;
}

struct sim_item *sim_pipe_take(struct sim_pipe *pipe)
{
    struct sim_item *item = pipe->first;

    if (item == NULL)
        return NULL;
    pipe->first = item->next;
    if (pipe->first == NULL)
        pipe->end = &pipe->first;
    return item;
}

bool sim_pipe_ready(const struct sim_pipe *pipe)
{
    return pipe->first != NULL && !pipe->ops->blocked(pipe);
}

void sim_pipe_move(struct sim_pipe *pipe)
{
    pipe->ops->deliver(pipe, sim_pipe_take(pipe));
}

static void arrive(void *arg)
{
    struct sim_pipe *pipe = arg;

    pipe->due = false;
    if (!sim_pipe_ready(pipe))
        return;
    sim_pipe_move(pipe);
    sim_pipe_pump(pipe);
}

void sim_pipe_pump(struct sim_pipe *pipe)
{
    if (pipe->by_hand || pipe->due || !sim_pipe_ready(pipe))
        return;
    pipe->due = true;
    hf_sim_call_at(pipe->sim, pipe->first->arrives_us, pipe->first->background,
                   arrive, pipe);
}

void sim_pipe_put(struct sim_pipe *pipe, struct sim_item *item,
                  uint64_t delay_us)
{
    item->arrives_us = hf_sim_now_us(pipe->sim) + delay_us;
    if (item->arrives_us < pipe->last_us)
        item->arrives_us = pipe->last_us;
    pipe->last_us = item->arrives_us;
    item->next = NULL;
    *pipe->end = item;
    pipe->end = &item->next;
    sim_pipe_pump(pipe);
}
