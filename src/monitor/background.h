/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The background thread: how it is started, sleeps and is woken.  What it does
 * is in poller.c.
 *
 * While callers come and go it stands by on a short timer instead of being
 * woken by each of them: a hop to another thread costs more than our whole
 * share of a lock cycle.
 */
#ifndef HF_MONITOR_BACKGROUND_H
#define HF_MONITOR_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#include <holdfast/status.h>

enum hf_background_state {
    HF_BACKGROUND_BUSY,    /* will look round before it sleeps */
    HF_BACKGROUND_POLLING, /* in poll() */
    HF_BACKGROUND_STANDBY, /* callers poll; looks again in a moment */
    HF_BACKGROUND_PARKED,  /* a caller polls for long; wants to be woken */
};

struct hf_background {
    bool started;
    bool stop;     /* it is to end */
    bool finished; /* it touches the loop no more */
    pthread_t thread;
    pthread_cond_t wake;
    int wake_fd;
    enum hf_background_state state;
};

/* All with the monitor's lock. */

/* Start it, to run ${work}(${arg}).  HF_ELIMIT if it cannot be. */
hf_status hf_background_start(struct hf_background *background,
                              void *(*work)(void *arg), void *arg);

/* Something is there for it to do. */
void hf_background_wake(struct hf_background *background);

/* A caller has stopped polling and nobody polls. */
void hf_background_unpark(struct hf_background *background);

/* Have it end. */
void hf_background_stop(struct hf_background *background);

/* In the child of a fork: close the descriptor, touch nothing else. */
void hf_background_after_fork(struct hf_background *background);

/* Without the lock, when it was started and is gone. */
void hf_background_free(struct hf_background *background);

/* By the thread itself, with ${lock}, which the first two give up. */

/* Sleep for a moment, or until it is woken. */
void hf_background_stand_by(struct hf_background *background,
                            pthread_mutex_t *lock);

/* Sleep until it is woken. */
void hf_background_park(struct hf_background *background,
                        pthread_mutex_t *lock);

/* It begins to poll(), .wake_fd too, and is done with it. */
void hf_background_begin_poll(struct hf_background *background);
void hf_background_end_poll(struct hf_background *background);

#endif
