/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of a connection in the model: first in, first out, like TCP,
 * and as late as each thing on it is told to be. */
#ifndef HF_TESTS_SIMULATOR_MODEL_PIPE_H
#define HF_TESTS_SIMULATOR_MODEL_PIPE_H

#include <stdbool.h>
#include <stdint.h>

struct hf_sim;
struct sim_pipe;

/* The first member of whatever is sent. */
struct sim_pipe_item {
    struct sim_pipe_item *next;
    uint64_t arrives_us;
    bool background; /* does not keep hf_sim_run_until_idle() waiting */
};

struct sim_pipe_ops {
    /* May nothing come out now? */
    bool (*blocked)(const struct sim_pipe *pipe);
    /* ${item} has come out, and belongs to the callee. */
    void (*deliver)(struct sim_pipe *pipe, struct sim_pipe_item *item);
};

struct sim_pipe {
    struct hf_sim *sim;
    void *owner;
    const struct sim_pipe_ops *ops;
    struct sim_pipe_item *first;
    struct sim_pipe_item **end;
    uint64_t last_us;     /* arrival of the last one */
    bool scheduled;       /* in the calendar */
    bool manual_delivery; /* nothing comes out of itself */
};

void sim_pipe_init(struct sim_pipe *pipe, struct hf_sim *sim, void *owner,
                   const struct sim_pipe_ops *ops);

/* Send ${item}, to arrive in ${delay_us}, though not before those ahead. */
void sim_pipe_send(struct sim_pipe *pipe, struct sim_pipe_item *item,
                   uint64_t delay_us);

/* Let what was held up move again, if it is not blocked any more. */
void sim_pipe_flush(struct sim_pipe *pipe);

/* Take the first out, whenever it would arrive; NULL if there is none. */
struct sim_pipe_item *sim_pipe_take(struct sim_pipe *pipe);

/* May something come out now?  Then let the first, whenever it would. */
bool sim_pipe_ready(const struct sim_pipe *pipe);
void sim_pipe_deliver(struct sim_pipe *pipe);

#endif
