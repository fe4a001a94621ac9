/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At most one timer is set for each pipe, that of its first item.  A pipe that
 * is blocked when the timer runs waits for sim_pipe_flush().
 */
#include "simulator/model/pipe.h"

#include "simulator/model/sim.h"

void sim_pipe_init(struct sim_pipe *pipe, struct hf_sim *sim, void *owner,
                   const struct sim_pipe_ops *ops)
{
    pipe->sim = sim;
    pipe->owner = owner;
    pipe->ops = ops;
    pipe->first = NULL;
    pipe->end = &pipe->first;
}

struct sim_pipe_item *sim_pipe_take(struct sim_pipe *pipe)
{
    struct sim_pipe_item *item = pipe->first;

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

void sim_pipe_deliver(struct sim_pipe *pipe)
{
    pipe->ops->deliver(pipe, sim_pipe_take(pipe));
}

/* The timer of the first item. */
static void on_arrival(void *arg)
{
    struct sim_pipe *pipe = arg;

    pipe->scheduled = false;
    if (!sim_pipe_ready(pipe))
        return;
    sim_pipe_deliver(pipe);
    sim_pipe_flush(pipe);
}

void sim_pipe_flush(struct sim_pipe *pipe)
{
    if (pipe->manual_delivery || pipe->scheduled || !sim_pipe_ready(pipe))
        return;
    pipe->scheduled = true;
    hf_sim_call_at(pipe->sim, pipe->first->arrives_us, pipe->first->background,
                   on_arrival, pipe);
}

void sim_pipe_send(struct sim_pipe *pipe, struct sim_pipe_item *item,
                   uint64_t delay_us)
{
    item->arrives_us = hf_sim_now_us(pipe->sim) + delay_us;
    if (item->arrives_us < pipe->last_us)
        item->arrives_us = pipe->last_us;
    pipe->last_us = item->arrives_us;
    item->next = NULL;
    *pipe->end = item;
    pipe->end = &item->next;
    sim_pipe_flush(pipe);
}
