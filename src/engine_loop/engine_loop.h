/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of an engine on a libuv loop, and a timer of CLOCK_BOOTTIME: those
 * of uv stop in suspend.
 *
 * Whatever was asked of an engine is followed by a turn's end, in which it
 * carries that out and says for when it wants to be woken.  Within a callback
 * of the loop that is once, at its end:
 *
 *     hf_engine_loop_enter(turns);
 *     ... tell the machine something
 *     hf_engine_loop_leave(turns);
 *
 * Requests from elsewhere leave it to an idle handle, which the loop runs in
 * its next turn and before anybody sleeps.  So what is asked in one turn leaves
 * together.
 *
 * All of it is used with the client's lock held, by whichever thread calls into
 * the engine or runs its loop.
 */
#ifndef HF_ENGINE_LOOP_ENGINE_LOOP_H
#define HF_ENGINE_LOOP_ENGINE_LOOP_H

#include <holdfast/holdfast.h>
#include <uv.h>

struct hf_engine_loop_ops {
    /* Carry out what there is to do; when there is more, in ms on
     * CLOCK_BOOTTIME, or HF_FOREVER. */
    uint64_t (*run)(void *arg);
    /* That time has come, or nearly; .end() follows. */
    void (*timer_due)(void *arg);
    /* The loop uses none of it any more: its memory may go. */
    void (*closed)(void *arg);
    void *arg;
};

struct hf_engine_loop {
    struct hf_engine_loop_ops user;
    unsigned callbacks; /* of the loop that are running */
    uv_idle_t idle;     /* active while a turn is to be ended */
    int timer_fd;       /* -1: none */
    uv_poll_t timer;
    uint64_t armed_at_ms; /* HF_FOREVER: not armed */
    unsigned handles;     /* open or closing */
};

/* Nothing yet; wants hf_engine_loop_close(). */
void hf_engine_loop_init(struct hf_engine_loop *loop,
                         const struct hf_engine_loop_ops *user);

/* Be part of ${loop}.  Fails with HF_ELIMIT. */
hf_status hf_engine_loop_open(struct hf_engine_loop *loop, uv_loop_t *uv_loop,
                              struct hf_error *error);

/* The first turn ends now, and the others when they do. */
void hf_engine_loop_start(struct hf_engine_loop *loop);

/* .closed() comes when the loop has closed what was opened; at once, if that is
 * nothing. */
void hf_engine_loop_close(struct hf_engine_loop *loop);

/* In a child, which has the parent's descriptor and must leave its timer be. */
void hf_engine_loop_after_fork(struct hf_engine_loop *loop);

/* A callback of the loop begins, and ends. */
void hf_engine_loop_enter(struct hf_engine_loop *loop);
void hf_engine_loop_leave(struct hf_engine_loop *loop);

/* From outside: have the turn ended before anybody sleeps. */
void hf_engine_loop_run_soon(struct hf_engine_loop *loop);

#endif
