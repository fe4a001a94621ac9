/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor's own uv loop, made when somebody first asks for it: an
 * uncontended lock on the file engine never does.  It is only ever run without
 * sleeping, under the monitor's lock; sleeping is a poll() of its descriptor.
 *
 * Deadlines are on one timerfd of CLOCK_BOOTTIME, because uv timers stop while
 * a machine is suspended, and because they do not show on the descriptor.
 */
#ifndef HF_MONITOR_LOOP_H
#define HF_MONITOR_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct hf_loop {
    bool made;
    bool unfinished; /* the last run left something to do */
    uv_loop_t uv;
    int timer_fd;
    uv_poll_t timer;
    uint64_t armed_at_ms; /* HF_FOREVER: not armed */
};

/* All with the monitor's lock. */

/* Make it if it is not made.  NULL if there are no descriptors left. */
uv_loop_t *hf_loop_get(struct hf_loop *loop);

/* Run what is ready once, without sleeping.  True if something may be left:
 * ${*events}, which counts what came of it, has risen, or a handle is due at
 * once.  It must be made. */
bool hf_loop_run(struct hf_loop *loop, const uint64_t *events);

/* Have the descriptor become readable at ${at_ms} at the latest; when a uv
 * timer is due if that is earlier, because a thread that only waits for
 * the descriptor does not know of it; at once if the loop has something left to
 * do. It may be early: a timer that fires in vain now and then is cheaper than
 * one that is set twice for each acquire and release. */
void hf_loop_arm(struct hf_loop *loop, uint64_t at_ms);

/* Close it, if it is made.  All that others had on it is closed, or is
 * being closed. */
void hf_loop_close(struct hf_loop *loop);

/* In the child of a fork: close descriptors, touch nothing else. */
void hf_loop_after_fork(struct hf_loop *loop);

#endif
