/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks of the user wait in one queue.  They run in order, without a lock,
 * where the user wants them (enum hf_callback_runner).  Each is embedded in the
 * object that it is about, so that queueing one needs no memory and cannot
 * fail.
 *
 * A callback that is embedded in an object coalesces: it keeps its place in the
 * queue when the object changes again, and reads the object when it runs.  An
 * event that must be delivered one by one has a callback of its own, allocated
 * with the request or the event that it is about, and freed by its .run.
 */
#ifndef HF_MONITOR_CALLBACK_QUEUE_H
#define HF_MONITOR_CALLBACK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

/* One callback, embedded in its object. */
struct hf_callback {
    /* Called with the lock, which it releases around the function of the user
     * and takes again, also in a child that the function of the user forked. */
    void (*run)(void *arg);
    void *arg;
    bool queued;
    struct hf_callback *next; /* in the queue */
};

/* Where callbacks run. */
enum hf_callback_runner {
    HF_RUNNER_THREAD,   /* on the background thread */
    HF_RUNNER_DISPATCH, /* in hf_monitor_dispatch(), which the user calls */
    HF_RUNNER_BORROWED_LOOP, /* on a loop of the user's */
};

/* All fields under the monitor's lock. */
struct hf_callback_queue {
    /* Set once; HF_RUNNER_DISPATCH after a borrowed loop was abandoned. */
    enum hf_callback_runner runner;
    struct hf_callback *first;
    struct hf_callback **end; /* where the next one is linked */
    /* While .running: the end of what this run runs.  Callbacks behind it wait
     * for the next run. */
    struct hf_callback **run_end;
    /* A thread runs callbacks.  Only one does at a time, so that they come in
     * order. */
    bool running;
    pthread_t thread;           /* the one that does, while .running */
    pthread_cond_t not_running; /* signalled when .running becomes false */
    /* HF_RUNNER_DISPATCH: an eventfd that is readable while something is
     * queued; else -1. */
    int fd;
};

/* False, with errno set, if the descriptor cannot be made.  Without the lock,
 * as hf_callback_queue_free(). */
bool hf_callback_queue_init(struct hf_callback_queue *queue,
                            enum hf_callback_runner runner);
void hf_callback_queue_free(struct hf_callback_queue *queue);

/* All with the lock. */

/* Queue ${callback} unless it is queued already.  True if it is the first in
 * the queue: the caller then wakes the poller that runs callbacks. */
bool hf_callback_queue_add(struct hf_callback_queue *queue,
                           struct hf_callback *callback);
/* Take ${callback} out, if it is queued. */
void hf_callback_queue_remove(struct hf_callback_queue *queue,
                              struct hf_callback *callback);

/* Is none queued, and none running? */
bool hf_callback_queue_empty(const struct hf_callback_queue *queue);

/* Run what is queued now, on this thread, and nothing that is added meanwhile,
 * and call ${after} after each.  No other thread may run callbacks.  In the
 * child of a callback that forked it returns at once. */
void hf_callback_queue_run(struct hf_callback_queue *queue,
                           void (*after)(void *arg), void *arg);

/* Does the calling thread run the callbacks of this queue? */
bool hf_callback_queue_runs_here(const struct hf_callback_queue *queue);
/* A callback runs: do others of the same run wait behind it? */
bool hf_callback_queue_has_more(const struct hf_callback_queue *queue);

/* Wait until no other thread runs callbacks.  Releases ${lock} meanwhile. */
void hf_callback_queue_await(struct hf_callback_queue *queue,
                             pthread_mutex_t *lock);

/* In the child of a fork: close the descriptor, unless it is not ours any more
 * (${is_intact}).  This thread then is in no callback any more. */
void hf_callback_queue_after_fork(struct hf_callback_queue *queue,
                                  bool is_intact);

/* The three that follow are about the calling thread and take no lock. */

/* The thread is about to call functions of the user that are not in the queue,
 * such as a .drop; it has returned from them.  The two nest. */
void hf_callback_enter(void);
void hf_callback_leave(void);

/* Is the thread inside a callback of this library?  Then no call may block. */
bool hf_callback_inside(void);

#endif
