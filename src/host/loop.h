/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's own uv loop, made when the first engine or waiter asks for it:
 * an uncontended lock on the file engine never does.  It is only ever run
 * without sleeping, under the client's lock; sleeping is a poll() of its
 * descriptor.
 *
 * Deadlines are on one timerfd of CLOCK_BOOTTIME, because uv timers stop while
 * a machine is suspended, and because they do not show on the descriptor.
 */
#ifndef HF_HOST_LOOP_H
#define HF_HOST_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct hf_client;

struct hf_loop {
    bool made;
    bool unfinished; /* the last turn left something to do */
    uv_loop_t uv;
    int timer_fd;
    uv_poll_t timer;
    uint64_t armed_at_ms; /* HF_FOREVER: not armed */
};

/* All with the client's lock. */

/* Make it if it is not made.  NULL if there are no descriptors left. */
uv_loop_t *hf_loop_get(struct hf_client *client);

/* Run everything that is ready, without sleeping, until nothing is. */
void hf_loop_turn(struct hf_client *client);

/* Have the descriptor become readable at ${at_ms} at the latest; when a uv
 * timer of an engine is due if that is earlier, because those who only wait for
 * the descriptor do not know of it; at once if the loop has something left to
 * do. It may be early: what an acquire put off, its release seldom waits for,
 * and a timer that fires in vain now and then is cheaper than one that is set
 * twice for each. */
void hf_loop_arm(struct hf_client *client, uint64_t at_ms);

/* Give the lock up, sleep until the loop or ${fd} has something, take the lock
 * again. */
void hf_loop_sleep(struct hf_client *client, int fd);

/* Close it.  The engine has been freed. */
void hf_loop_close(struct hf_client *client);

/* In the child of a fork: close descriptors, touch nothing else. */
void hf_loop_after_fork(struct hf_loop *loop);

#endif
