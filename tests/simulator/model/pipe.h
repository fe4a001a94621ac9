/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of a connection: a first-in-first-out queue of items, like a
 * TCP stream.  The sender gives each item a delay; a model says whether the
 * pipe is blocked, and gets the items that come out. */
#ifndef HF_TESTS_SIMULATOR_MODEL_PIPE_H
#define HF_TESTS_SIMULATOR_MODEL_PIPE_H

#include <stdbool.h>
#include <stdint.h>

struct hf_sim;
struct sim_pipe;

/* The first member of the structs that are sent. */
struct sim_pipe_item {
    struct sim_pipe_item *next;
    uint64_t arrives_us;
    bool background; /* hf_sim_run_until_idle() does not wait for it */
};

struct sim_pipe_ops {
    /* May nothing come out now?  Asked before each item. */
    bool (*blocked)(const struct sim_pipe *pipe);
    /* ${item} has come out.  It belongs to the callee. */
    void (*deliver)(struct sim_pipe *pipe, struct sim_pipe_item *item);
};

struct sim_pipe {
    struct hf_sim *sim;
    void *owner;
    const struct sim_pipe_ops *ops;
    struct sim_pipe_item *first;
    struct sim_pipe_item **end;
    /* When the last item arrives: later ones do not overtake it. */
    uint64_t last_us;
    bool scheduled;       /* a timer is set for the first item */
    bool manual_delivery; /* items come out by sim_pipe_deliver() alone */
};

/* ${owner} is for the functions of ${ops}, which is borrowed. */
void sim_pipe_init(struct sim_pipe *pipe, struct hf_sim *sim, void *owner,
                   const struct sim_pipe_ops *ops);

/* Send ${item}.  It arrives in ${delay_us} of true time, or with the item
 * before it if that is later. */
void sim_pipe_send(struct sim_pipe *pipe, struct sim_pipe_item *item,
                   uint64_t delay_us);

/* Go on delivering after the pipe was blocked.  Does nothing while it still
 * is. */
void sim_pipe_flush(struct sim_pipe *pipe);

/* Remove the first item, even before its time.  NULL if there is none. */
struct sim_pipe_item *sim_pipe_take(struct sim_pipe *pipe);

/* Is there an item, and is the pipe not blocked?  If so, the second function
 * delivers the first item, even before its time. */
bool sim_pipe_ready(const struct sim_pipe *pipe);
void sim_pipe_deliver(struct sim_pipe *pipe);

#endif
