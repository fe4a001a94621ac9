/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor's own uv loop, created when it is first needed: an uncontended
 * lock on the file engine never needs it.  It is only ever run without
 * sleeping, under the monitor's lock; a thread sleeps in poll() on its
 * descriptor.
 *
 * Deadlines are on one timerfd of CLOCK_BOOTTIME.  Timers of uv would stop
 * while the machine is suspended, and they do not make the descriptor readable.
 */
#ifndef HF_MONITOR_LOOP_H
#define HF_MONITOR_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "thread/descriptor_guard.h"

enum hf_loop_state {
    HF_LOOP_NONE,     /* not needed yet */
    HF_LOOP_MADE,     /* .uv and .timer are there */
    HF_LOOP_WATCHED,  /* it was run, so the kernel watches .timer_fd for it */
    HF_LOOP_CLOSED,   /* for good, whether it was there or not */
    HF_LOOP_ABANDONED /* its descriptors are gone: nothing touches it */
};

/* All fields under the monitor's lock. */
struct hf_loop {
    enum hf_loop_state state;
    /* Shows other threads whether its descriptors are there.  Set once. */
    struct hf_descriptor_guard *guard;
    bool unfinished; /* the last run left something to do */
    uv_loop_t uv;
    int timer_fd; /* the timerfd, which .timer polls */
    uv_poll_t timer;
    uint64_t armed_at_ms; /* when it fires, by CLOCK_BOOTTIME itself;
                             HF_FOREVER: not armed */
};

/* All with the monitor's lock. */

/* The loop, which is created if it is not there.  NULL if there are no
 * descriptors left, or it is over. */
uv_loop_t *hf_loop_get(struct hf_loop *loop);

static inline bool hf_loop_is_there(const struct hf_loop *loop)
{
    return loop->state == HF_LOOP_MADE || loop->state == HF_LOOP_WATCHED;
}

/* Is it over: will there be no loop any more? */
static inline bool hf_loop_is_over(const struct hf_loop *loop)
{
    return loop->state == HF_LOOP_CLOSED || loop->state == HF_LOOP_ABANDONED;
}

/* Are its descriptors, if it is there, still those of the loop? */
bool hf_loop_is_intact(const struct hf_loop *loop);

/* The descriptors are gone: never touch the loop again.  The handles on it stay
 * in memory. */
void hf_loop_abandon(struct hf_loop *loop);

/* Run once what is ready, without sleeping.  True if something may be left:
 * ${*events}, which counts what the run caused, has risen, or a handle is due
 * at once.  The loop must be there. */
bool hf_loop_run(struct hf_loop *loop, const uint64_t *events);

/* Is something to be done at once, which the descriptor does not show?  The
 * loop must be there. */
bool hf_loop_is_asked(const struct hf_loop *loop);

/* Have the descriptor become readable at ${at_ms} of hf_now_ms() at the latest,
 * and later only by what the clock is corrected meanwhile.  It becomes
 * readable earlier when a uv timer is due, because a thread that only waits for
 * the descriptor does not know of it, and at once if the loop has something
 * left to do.  It may be early without need: a timer that sometimes fires in
 * vain is cheaper than one that is set twice for each acquire and release. */
void hf_loop_arm(struct hf_loop *loop, uint64_t at_ms);

/* Close the loop, if it is there.  All handles that others had on it are closed
 * or being closed. */
void hf_loop_close(struct hf_loop *loop);

/* In the child of a fork: close descriptors, touch nothing else. */
void hf_loop_after_fork(struct hf_loop *loop);

#endif
