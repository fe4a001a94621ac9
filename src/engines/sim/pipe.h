/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of a connection in the model: first in, first out, like TCP,
 * and as late as each thing on it is told to be. */
#ifndef HF_ENGINES_SIM_PIPE_H
#define HF_ENGINES_SIM_PIPE_H

#include <stdbool.h>
#include <stdint.h>

struct hf_sim;
struct sim_pipe;

/* The first member of whatever is sent. */
struct sim_item {
    struct sim_item *next;
    uint64_t arrives_us;
    bool background; /* does not keep hf_sim_settle() waiting */
};

struct sim_pipe_ops {
    /* May nothing come out now? */
    bool (*blocked)(const struct sim_pipe *pipe);
    /* ${item} has come out, and belongs to the callee. */
    void (*deliver)(struct sim_pipe *pipe, struct sim_item *item);
};

struct sim_pipe {
    struct hf_sim *sim;
    void *owner;
    const struct sim_pipe_ops *ops;
    struct sim_item *first;
    struct sim_item **end;
    uint64_t last_us; /* arrival of the last one */
    bool due;         /* in the calendar */
    bool by_hand;     /* nothing comes out of itself */
};

void sim_pipe_init(struct sim_pipe *pipe, struct hf_sim *sim, void *owner,
                   const struct sim_pipe_ops *ops);

/* Send ${item}, to arrive in ${delay_us}, though not before those ahead. */
void sim_pipe_put(struct sim_pipe *pipe, struct sim_item *item,
                  uint64_t delay_us);

/* Let what was held up move again, if it is not blocked any more. */
void sim_pipe_pump(struct sim_pipe *pipe);

/* Take the first out, whenever it would arrive; NULL if there is none. */
struct sim_item *sim_pipe_take(struct sim_pipe *pipe);

/* May something come out now?  Then let the first, whenever it would. */
bool sim_pipe_ready(const struct sim_pipe *pipe);
void sim_pipe_move(struct sim_pipe *pipe);

#endif
