/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery: callbacks of the user wait in one queue and run, in order and with
 * no lock held, where the user wants them.  Each is embedded in what it tells
 * of, so that queueing one cannot fail.
 *
 * A callback that is embedded in an object coalesces: it stays where it is when
 * the object changes again, and looks at what there is when it runs.  What must
 * be notified one by one is a record with a callback of its own, allocated with
 * the request or the event that it is about, and freed by its .run.
 */
#ifndef HF_MONITOR_CALLBACK_QUEUE_H
#define HF_MONITOR_CALLBACK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

struct hf_callback {
    /* Called with the lock; gives it up around the user's function, and takes
     * it again also in a child that the user's function forked. */
    void (*run)(void *arg);
    void *arg;
    bool queued;
    struct hf_callback *next;
};

enum hf_callback_runner {
    HF_RUNNER_THREAD,        /* a thread of ours */
    HF_RUNNER_DISPATCH,      /* a call of the user's */
    HF_RUNNER_BORROWED_LOOP, /* the user's loop */
};

struct hf_callback_queue {
    enum hf_callback_runner runner;
    struct hf_callback *first;
    struct hf_callback **end;
    struct hf_callback *
        *run_end;               /* running: those behind it are for the next */
    bool running;               /* one at a time, so that they come in order */
    pthread_cond_t not_running; /* running no more */
    int fd;                     /* HF_RUNNER_DISPATCH: an eventfd; else -1 */
};

/* False, with errno set, if the descriptor cannot be made. */
bool hf_callback_queue_init(struct hf_callback_queue *queue,
                            enum hf_callback_runner runner);
void hf_callback_queue_free(struct hf_callback_queue *queue);

/* All with the lock. */

/* Queue ${callback} unless it is queued already.  True if it is the first: then
 * the caller wakes the driver that runs them. */
bool hf_callback_queue_add(struct hf_callback_queue *queue,
                           struct hf_callback *callback);
void hf_callback_queue_remove(struct hf_callback_queue *queue,
                              struct hf_callback *callback);

/* Is none queued, and none running? */
bool hf_callback_queue_empty(const struct hf_callback_queue *queue);

/* Run what is queued now, here, and nothing that is added meanwhile.  In the
 * child of a callback that forked it returns at once. */
void hf_callback_queue_run(struct hf_callback_queue *queue);

/* Wait, giving up ${lock}, for another thread that runs some to be done with
 * them. */
void hf_callback_queue_await(struct hf_callback_queue *queue,
                             pthread_mutex_t *lock);

/* In the child of a fork: close the descriptor; this thread is inside no
 * callback any more. */
void hf_callback_queue_after_fork(struct hf_callback_queue *queue);

/* The three that follow are about the calling thread, and take no lock. */

/* The thread begins to call functions of the user's that are not queued, and is
 * done with them. */
void hf_callback_enter(void);
void hf_callback_leave(void);

/* Is the thread inside a callback of this library? */
bool hf_callback_inside(void);

#endif
