/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The background thread: how it is started, sleeps and is woken.  Its work is
 * in poller.c.
 *
 * While callers come and go it stands by on a short timer, and they do not wake
 * it, because a hop to another thread costs more than our whole share of a lock
 * cycle.
 */
#ifndef HF_MONITOR_BACKGROUND_H
#define HF_MONITOR_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#include <holdfast/status.h>

/* What the thread does now, which decides how it is woken. */
enum hf_background_state {
    HF_BACKGROUND_BUSY, /* it works, and checks everything before it sleeps */
    HF_BACKGROUND_POLLING, /* in poll(): wake it by .wake_fd */
    HF_BACKGROUND_STANDBY, /* callers poll; it checks again in a moment */
    HF_BACKGROUND_PARKED,  /* one caller polls for long, or the descriptors are
                              gone; wake it by .wake */
};

/* All fields under the monitor's lock. */
struct hf_background {
    bool started;  /* the thread exists, or has existed */
    bool stop;     /* it is to end */
    bool finished; /* it does not touch the loop any more */
    pthread_t thread;
    pthread_cond_t wake;
    int wake_fd; /* an eventfd, which ends its poll() */
    enum hf_background_state state;
};

/* All with the monitor's lock. */

/* Start the thread, which runs ${work}(${arg}).  HF_ELIMIT if there is no
 * descriptor or no thread for it. */
hf_status hf_background_start(struct hf_background *background,
                              void *(*work)(void *arg), void *arg);

/* There is something for the thread to do.  Nothing happens if it was not
 * started, or is busy. */
void hf_background_wake(struct hf_background *background);

/* A caller has stopped polling, and none polls now: wake the thread if it is
 * parked. */
void hf_background_unpark(struct hf_background *background);

/* Have the thread end. */
void hf_background_stop(struct hf_background *background);

/* The descriptor is gone: sleep without it. */
void hf_background_abandon(struct hf_background *background);

/* In the child of a fork: close the descriptor, touch nothing else. */
void hf_background_after_fork(struct hf_background *background);

/* Free what hf_background_start() made.  Without the lock, after .finished. */
void hf_background_free(struct hf_background *background);

/* By the thread itself, with ${lock}, which the first two release meanwhile. */

/* Sleep for a moment, or until it is woken. */
void hf_background_stand_by(struct hf_background *background,
                            pthread_mutex_t *lock);

/* Sleep until it is woken. */
void hf_background_park(struct hf_background *background,
                        pthread_mutex_t *lock);

/* The thread is about to poll() .wake_fd besides the loop. _end_poll(): it has
 * returned from poll(), and consumes the wake-up. */
void hf_background_begin_poll(struct hf_background *background);
void hf_background_end_poll(struct hf_background *background);

#endif
