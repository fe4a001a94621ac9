/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A monitor: one lock, held while something is worked out and never while
 * a thread sleeps or a callback of the user runs.  A thread that holds it may
 * touch the loop and all that the owner of the monitor has: the owner is the
 * state that the lock guards, and is known here by a few functions only.
 *
 * Nobody owns the loop.  A thread that has to wait for an answer polls the
 * loop's descriptor without the lock, takes it to work off what came, and polls
 * again.  One caller polls at a time; others sleep until their answer is there
 * or until it is their turn to poll.  When no caller waits, a driver polls: the
 * background thread, or a borrowed loop.
 *
 * Every entry from outside has this shape:
 *
 *     if ((status = hf_monitor_enter(monitor)) != HF_OK)
 *         return status;
 *     ... change the owner's state, look at the outcome ...
 *     hf_monitor_leave(monitor);
 */
#ifndef HF_MONITOR_MONITOR_H
#define HF_MONITOR_MONITOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <holdfast/status.h>

#include "monitor/background.h"
#include "monitor/borrowed_loop.h"
#include "monitor/callback_queue.h"
#include "monitor/clock.h"
#include "monitor/fork.h"
#include "monitor/log.h"
#include "monitor/loop.h"

/* An object whose last reference was given up.  What frees it may call the
 * user, so it is freed once the lock has been given up. */
struct hf_deferred_free {
    void (*destroy)(struct hf_deferred_free *object); /* without the lock */
    struct hf_deferred_free *next;
};

/* A call that waits for its answer, on its caller's stack. */
struct hf_waiter {
    bool done;
    bool waits; /* its caller sleeps */
    bool polls; /* in poll(), not on .wake */
    hf_status status;
    pthread_cond_t wake;
    struct hf_waiter *next;
    struct hf_waiter **link; /* what points here */
};

/* What a monitor asks of its owner.  With the lock, where nothing else is said;
 * none of them sleeps. */
struct hf_monitor_ops {
    /* When .run_due wants to be called next, HF_FOREVER for not at all.  What
     * is due before anybody asked for the loop can wait until the lock is given
     * up. */
    uint64_t (*due_at_ms)(const void *owner);
    /* Do what is due. */
    void (*run_due)(void *owner);
    /* Is something under way that goes on, or would be noticed, only if
     * somebody polls? */
    bool (*needs_poller)(const void *owner);

    /* The end, in this order.  Begin it: hf_monitor_closed() follows, at once
     * or later. */
    void (*close)(void *owner);
    /* All callbacks have run, and it is the last of them: notify the user,
     * giving the lock up meanwhile. */
    void (*ended)(void *owner);
    /* Nobody polls the loop any more: take off what is on it. */
    void (*leave_loop)(void *owner);
    /* Without the lock: nobody refers to the monitor any more; free it. */
    void (*destroy)(void *owner);

    /* In the child of a fork: close descriptors.  Only calls that are
     * async-signal-safe. */
    void (*after_fork)(void *owner);
};

/* All fields under the lock, where nothing else is said. */
struct hf_monitor {
    pthread_mutex_t lock;
    const struct hf_monitor_ops *ops; /* set once, as the owner */
    void *owner;
    /* The owner's handle, each object that keeps the monitor, and the
     * background thread. */
    unsigned references;
    uint64_t events; /* counts what happened to the owner, which adds to it */
    struct hf_fork_entry fork;

    struct hf_loop loop;
    struct hf_background background;
    struct hf_borrowed_loop borrowed_loop;
    struct hf_callback_queue callback_queue;
    struct hf_log log;

    struct hf_waiter *waiters; /* callers that wait, the last one first */
    bool polled_by_caller;
    /* Interrupts that caller.  Not a handle of the loop: another thread that
     * runs the loop would take the event, and the caller would sleep on. */
    int interrupt_fd;                  /* -1 until somebody waits */
    uint64_t caller_poll_count;        /* counts callers that stopped polling */
    unsigned sleepers;                 /* threads in poll() on the loop */
    struct hf_deferred_free *deferred; /* freed once the lock is given up */

    bool closing;          /* the end has begun */
    bool ended;            /* and every callback has run */
    bool loop_closed;      /* and the loop is gone */
    bool close_is_awaited; /* somebody waits for it, and gives up the handle */
    struct hf_waiter *close_waiter;
    struct hf_callback close_callback; /* the last one */
};

/* --------------------------------------------------------- life and end -- */

/* Make ${monitor}, which is zeroed, with one reference, the owner's handle;
 * callbacks run in ${place}.  False, with errno set, if there is no descriptor
 * for that.  From here on forks call .after_fork. */
bool hf_monitor_init(struct hf_monitor *monitor,
                     const struct hf_monitor_ops *ops, void *owner,
                     enum hf_callback_runner runner, struct hf_on_log on_log);

/* With the lock, on the thread of ${loop}: let that be the driver.  HF_ELIMIT,
 * and then there is still hf_monitor_abandon(). */
hf_status hf_monitor_borrow(struct hf_monitor *monitor, uv_loop_t *loop);

void hf_monitor_reference(struct hf_monitor *monitor);
/* With the lock, and never the last one. */
void hf_monitor_dereference(struct hf_monitor *monitor);
/* Without the lock; destroys the owner with the last one. */
void hf_monitor_release(struct hf_monitor *monitor);

/* Without the lock: end it, wait for that, and give up the handle.  The caller
 * may block.  HF_EFORKED in a child. */
hf_status hf_monitor_close(struct hf_monitor *monitor);

/* With the lock, which it gives up, and with a driver: begin the end.  The
 * handle is given up when that is reached. */
void hf_monitor_close_start(struct hf_monitor *monitor);

/* The owner has come to the end that .close began: nothing will happen to it
 * any more.  With the lock. */
void hf_monitor_closed(struct hf_monitor *monitor);

/* Undo one whose handle nobody got: ends it, waits for that, and gives up the
 * handle.  With the lock, which it gives up as hf_monitor_leave() does.
 * ${opened}: the owner has something that .close ends. */
void hf_monitor_abandon(struct hf_monitor *monitor, bool opened);

/* -------------------------------------------------------- enter and leave --
 */

/* Take the lock and let what is due happen first, so that a thread that was
 * frozen learns of a loss before it does anything else.  HF_EFORKED in a child,
 * without the lock. */
hf_status hf_monitor_enter(struct hf_monitor *monitor);

/* Run what is ready, give the lock up, and do what must be done without it. */
void hf_monitor_leave(struct hf_monitor *monitor);

/* Take the lock, and nothing else; give it up, and emit the log lines that were
 * written.  Around a function of the user's they come the other way round.  The
 * caller keeps the monitor from being freed. */
void hf_monitor_lock(struct hf_monitor *monitor);
void hf_monitor_unlock(struct hf_monitor *monitor);

/* Keep the calling thread from being cancelled, once more and once less.
 * hf_monitor_enter() does, hf_monitor_leave() undoes it: a thread that was
 * cancelled in between, in any close() or poll(), would take the lock along. */
void hf_monitor_disable_cancel(void);
void hf_monitor_restore_cancel(void);

/* With the lock: work off everything that is ready and arm the timer for what
 * is not.  Nobody may sleep on the loop without it. */
void hf_monitor_run_ready(struct hf_monitor *monitor);

/* With the lock: have ${object} destroyed. */
void hf_monitor_defer_free(struct hf_monitor *monitor,
                           struct hf_deferred_free *object);

/* With the lock: have ${callback} run, unless it is queued already. */
void hf_monitor_queue(struct hf_monitor *monitor, struct hf_callback *callback);

/* ---------------------------------------------------------------- waiting --
 */

/* HF_EREENTRANT, and its text, where a call that waits could only wait for
 * itself; or as hf_fork_check(). */
hf_status hf_monitor_may_block(const struct hf_monitor *monitor,
                               struct hf_error *error);

/* Answer a waiter, and wait to be answered.  Both with the lock, which the wait
 * gives up while it sleeps.  HF_ELIMIT, without an answer, if there is no loop
 * to wait on. */
void hf_waiter_answer(struct hf_monitor *monitor, struct hf_waiter *waiter,
                      hf_status status);
hf_status hf_monitor_wait(struct hf_monitor *monitor, struct hf_waiter *waiter);

/* A callback that is to be freed runs: wait until the thread that runs it has
 * answered ${*waiter}, which is set meanwhile; do not wait where that could
 * only wait for itself.  With the lock, as those. */
void hf_monitor_await_callback(struct hf_monitor *monitor,
                               struct hf_waiter **waiter);

/* ---------------------------------------------------------------- drivers --
 */

/* With the lock: would something be left undone, or unnoticed, if no caller
 * came any more? */
bool hf_monitor_needs_poller(const struct hf_monitor *monitor);

/* With the lock: make sure that something polls although no caller does.
 * HF_ELIMIT, and its text. */
hf_status hf_monitor_ensure_poller(struct hf_monitor *monitor,
                                   struct hf_error *error);

#endif
