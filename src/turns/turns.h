/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of an engine on a libuv loop, and a timer of CLOCK_BOOTTIME: those
 * of uv stop in suspend.
 *
 * Whatever was asked of an engine is followed by a turn's end, in which it
 * carries that out and says for when it wants to be woken.  Within a callback
 * of the loop that is once, at its end:
 *
 *     hf_turns_enter(turns);
 *     ... tell the machine something
 *     hf_turns_leave(turns);
 *
 * Requests from elsewhere leave it to an idle handle, which the loop runs in
 * its next turn and before anybody sleeps.  So what is asked in one turn leaves
 * together.
 *
 * All of it is used with the client's lock held, by whichever thread calls into
 * the engine or runs its loop.
 */
#ifndef HF_TURNS_TURNS_H
#define HF_TURNS_TURNS_H

#include <holdfast/holdfast.h>
#include <uv.h>

struct hf_turns_user {
    /* Carry out what there is to do; when there is more, in ms on
     * CLOCK_BOOTTIME, or HF_FOREVER. */
    uint64_t (*end)(void *arg);
    /* That time has come, or nearly; .end() follows. */
    void (*due)(void *arg);
    /* The loop uses none of it any more: its memory may go. */
    void (*closed)(void *arg);
    void *arg;
};

struct hf_turns {
    struct hf_turns_user user;
    unsigned callbacks; /* of the loop that are running */
    uv_idle_t idle;     /* active while a turn is to be ended */
    int timer_fd;       /* -1: none */
    uv_poll_t timer;
    uint64_t armed_at_ms; /* HF_FOREVER: not armed */
    unsigned handles;     /* open or closing */
};

/* Nothing yet; wants hf_turns_close(). */
void hf_turns_init(struct hf_turns *turns, const struct hf_turns_user *user);

/* Be part of ${loop}.  Fails with HF_ELIMIT. */
hf_status hf_turns_open(struct hf_turns *turns, uv_loop_t *loop,
                        struct hf_error *error);

/* The first turn ends now, and the others when they do. */
void hf_turns_begin(struct hf_turns *turns);

/* .closed() comes when the loop has closed what was opened; at once, if that is
 * nothing. */
void hf_turns_close(struct hf_turns *turns);

/* In a child, which has the parent's descriptor and must leave its timer be. */
void hf_turns_after_fork(struct hf_turns *turns);

/* A callback of the loop begins, and ends. */
void hf_turns_enter(struct hf_turns *turns);
void hf_turns_leave(struct hf_turns *turns);

/* From outside: have the turn ended before anybody sleeps. */
void hf_turns_end_later(struct hf_turns *turns);

#endif
