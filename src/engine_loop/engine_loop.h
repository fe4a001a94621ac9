/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of an engine that runs on a libuv loop: calls the engine when it has
 * work, and has a timer of CLOCK_BOOTTIME, because libuv's timers stop while
 * the machine is suspended.
 *
 * An engine notes what it is asked to do, and does all of it in one call of
 * .run, which also returns when it wants to be woken.  In a callback of the
 * loop, .run is called once, at the end:
 *
 *      hf_engine_loop_enter(loop);
 *      ...                             pass something to the engine
 *      hf_engine_loop_leave(loop);
 *
 * After a request from outside of a callback, an idle handle calls .run in the
 * next iteration of the loop, before the loop sleeps.  So the requests of one
 * iteration are sent together.
 *
 * All functions are called with the client's lock held, by the thread that
 * calls into the engine or runs its loop.
 */
#ifndef HF_ENGINE_LOOP_ENGINE_LOOP_H
#define HF_ENGINE_LOOP_ENGINE_LOOP_H

#include <holdfast/status.h>
#include <uv.h>

#include "base/engine_host.h"

/* The functions of an engine. */
struct hf_engine_loop_ops {
    /* Do all work that there is.  Returns when there may be more, by the
     * client's clock in milliseconds; HF_FOREVER: never. */
    uint64_t (*run)(void *arg);
    /* Called when the timer expires, which may be early.  .run is called
     * afterwards. */
    void (*timer_due)(void *arg);
    /* The uv loop has closed the handles: the memory can be freed. */
    void (*closed)(void *arg);
    void *arg;
    /* its clock sets the timer; borrowed */
    const struct hf_engine_host *host;
};

/* The state, embedded in the engine. */
struct hf_engine_loop {
    struct hf_engine_loop_ops user;
    unsigned callbacks; /* number of callbacks of the loop that are running */
    uv_idle_t idle;     /* active while .run is due */
    int timer_fd;       /* -1: none */
    uv_poll_t timer;
    uint64_t armed_at_ms; /* CLOCK_BOOTTIME; HF_FOREVER: not armed */
    unsigned handles;     /* number of handles that are open or closing */
};

/* Initialise ${loop} without handles.  ${user} is copied.
 * hf_engine_loop_close() may be called from now on. */
void hf_engine_loop_init(struct hf_engine_loop *loop,
                         const struct hf_engine_loop_ops *user);

/* Create the timer and the handles on ${uv_loop}.  Returns HF_ELIMIT if there
 * is no descriptor, or if the loop refuses a handle.  Even after a failure
 * hf_engine_loop_close() must be called. */
hf_status hf_engine_loop_open(struct hf_engine_loop *loop, uv_loop_t *uv_loop,
                              struct hf_error *error);

/* Run the engine for the first time, and let the timer wake it from now on. */
void hf_engine_loop_start(struct hf_engine_loop *loop);

/* Close the handles; .closed follows when the loop has closed them, or at once
 * if there are none. */
void hf_engine_loop_close(struct hf_engine_loop *loop);

/* In the child of a fork: close the descriptor, which the child shares with its
 * parent, without a change to the timer. */
void hf_engine_loop_after_fork(struct hf_engine_loop *loop);

/* Call these at the beginning and end of a callback of the loop. */
void hf_engine_loop_enter(struct hf_engine_loop *loop);
void hf_engine_loop_leave(struct hf_engine_loop *loop);

/* Have .run called before the loop sleeps.  For use outside of callbacks. */
void hf_engine_loop_run_soon(struct hf_engine_loop *loop);

/* Run the engine now, if hf_engine_loop_run_soon() asked for it; this saves the
 * loop an iteration.  Call it outside of all callbacks, and be prepared for all
 * that the engine may do. */
void hf_engine_loop_run_now(struct hf_engine_loop *loop);

#endif
