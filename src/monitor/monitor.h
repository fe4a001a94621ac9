/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A monitor: one lock that is held while something is worked out, and never
 * while a thread sleeps or a callback of the user runs.  A thread that holds
 * the lock may touch the loop and everything that the owner of the monitor has.
 * The owner is the state that the lock guards; the monitor knows it only by the
 * functions of struct hf_monitor_ops.
 *
 * No thread owns the loop.  A thread that has to wait for an answer polls the
 * loop's descriptor without the lock, takes the lock to process what came, and
 * polls again.  One caller polls at a time; the other callers sleep until they
 * are answered or it is their turn to poll.  While no caller waits, a poller
 * polls: the background thread, or a loop that was borrowed from the user.  The
 * idea is the leader/followers pattern (Schmidt and others, "Pattern-Oriented
 * Software Architecture", volume 2).
 *
 * Every entry from outside has this shape:
 *
 *     if ((status = hf_monitor_enter(monitor, __func__)) != HF_OK)
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
#include "monitor/deputy.h"
#include "monitor/fork.h"
#include "monitor/log.h"
#include "monitor/loop.h"
#include "thread/descriptor_guard.h"

/* An object whose last reference was dropped while the lock was held.  Its
 * .destroy may call the user (a .drop), so it runs after the lock was
 * released. */
struct hf_deferred_free {
    void (*destroy)(struct hf_deferred_free *object); /* without the lock */
    struct hf_deferred_free *next;
};

/* A call that waits for its answer, on the stack of its caller.  Zeroed at the
 * beginning.  All fields under the monitor's lock. */
struct hf_waiter {
    bool done;  /* it was answered; .status is the answer */
    bool waits; /* its caller has begun to sleep, or to poll */
    bool polls; /* its caller is in poll(), and not on .wake */
    hf_status status;
    pthread_cond_t wake; /* initialised while it is in the list */
    struct hf_waiter *next;
    struct hf_waiter **link; /* the pointer that points to this one */
};

/* What a monitor asks of its owner.  All of them are called with the lock,
 * where nothing else is said, and none of them sleeps. */
struct hf_monitor_ops {
    /* The instant at which .run_due wants to be called next, in milliseconds of
     * hf_now_ms(); HF_FOREVER: not at all.  Work that is due before the first
     * use of the loop may wait until the lock is released. */
    uint64_t (*due_at_ms)(const void *owner);
    /* Do everything that is due by now. */
    void (*run_due)(void *owner);
    /* Is something under way that goes on, or is noticed, only if a thread
     * polls? */
    bool (*needs_poller)(const void *owner);

    /* The steps of the end, in this order.  First: begin it.  The owner calls
     * hf_monitor_closed() when it is done, at once or later. */
    void (*close)(void *owner);
    /* All other callbacks have run, and this is the last one: notify the user.
     * Releases the lock meanwhile. */
    void (*ended)(void *owner);
    /* No thread polls the loop any more: close the owner's handles on it. */
    void (*leave_loop)(void *owner);
    /* Without the lock: the last reference is gone, so free the owner. */
    void (*destroy)(void *owner);

    /* In the child of a fork: close descriptors, if they are there
     * (.guard).  Only async-signal-safe calls. */
    void (*after_fork)(void *owner);
    /* The program has closed the descriptors.  End everything, as a loss of
     * the session and a close do, but without touching a descriptor or a
     * handle on the loop.  The owner is never freed. */
    void (*abandon)(void *owner);
};

/* A state is followed by a later one only; after an open that failed, ENDED may
 * follow OPEN. */
enum hf_monitor_state {
    HF_MONITOR_OPEN,
    HF_MONITOR_CLOSING, /* the end has begun: .close or .abandon was called */
    HF_MONITOR_ENDED    /* every callback has run; .ended is called */
};

enum hf_descriptors {
    HF_DESCRIPTORS_OURS,
    HF_DESCRIPTORS_ABANDONED, /* they are gone, and the owner gives up */
    HF_DESCRIPTORS_GONE       /* they are gone, and the owner has given up */
};

/* The text of the error when the descriptors of a client are gone. */
#define HF_DESCRIPTORS_GONE_TEXT                                               \
    "the program has closed descriptors of the library, as closefrom() and "   \
    "close_range() do, and has lost what it held; open a new client"

/* All fields under the lock, where nothing else is said. */
struct hf_monitor {
    pthread_mutex_t lock;
    /* Set once by hf_monitor_init(), as .owner. */
    const struct hf_monitor_ops *ops;
    void *owner;
    /* One of the owner's handle, one of each object that keeps the monitor
     * alive, and one of the background thread. */
    unsigned references;
    /* Counts what happened to the owner.  The owner increments it; a run of the
     * loop that changed it is followed by another run. */
    uint64_t events;
    uint64_t events_run; /* .events when the loop was last run */
    /* What the thread that has the lock has done since it took it: it has run
     * all that was ready (hf_monitor_run_ready()); it has looked whether
     * .descriptors is still true.  To look costs two system calls, so it looks
     * once.  A program that closes descriptors meanwhile, on another thread, is
     * noticed when the lock is next taken (safety.md). */
    bool loop_was_run;
    bool descriptors_checked;
    /* How many calls hf_monitor_leave_later() has ended since the loop was last
     * run, and when it ended the first of them (hf_now_ms()). */
    unsigned delayed;
    uint64_t delayed_at_ms;
    /* In the registry of fork.c, from hf_monitor_init() to the end. */
    struct hf_fork_entry fork;
    /* Shows whether .descriptors is still true.  Opened before all others. */
    struct hf_descriptor_guard guard;
    enum hf_descriptors descriptors;
    /* How often in a row a thread has looked, after a sleep in which nothing
     * happened, whether they are still ours. */
    unsigned idle_checks;

    struct hf_loop loop; /* created when it is first needed; over when the
                            owner's handles are closed */
    struct hf_background background;
    struct hf_deputy deputy;
    struct hf_borrowed_loop borrowed_loop;
    struct hf_callback_queue callback_queue;
    struct hf_log log;
    struct hf_callback log_callback; /* emits the lines of .log */

    struct hf_waiter *waiters; /* callers that wait, the newest one first */
    bool polled_by_caller;     /* one of .waiters is in poll() */
    /* An eventfd that ends the poll() of that caller; -1 until the first wait.
     * It is not a handle of the loop, because another thread that runs the loop
     * would consume the event, and the caller would sleep on. */
    int interrupt_fd;
    /* How often a caller has finished a poll().  The background thread compares
     * it to learn whether callers still come. */
    uint64_t caller_poll_count;
    unsigned sleepers; /* threads in poll() on the loop's descriptor */
    /* Objects to destroy once the lock is released. */
    struct hf_deferred_free *deferred;

    enum hf_monitor_state state;
    /* A thread waits in hf_monitor_close() or hf_monitor_abandon(), and drops
     * the reference of the owner's handle itself. */
    bool close_is_awaited;
    struct hf_waiter *close_waiter; /* that thread's; NULL: none, or answered */
    struct hf_callback close_callback; /* the last callback to run */
};

/* --------------------------------------------------------- life and end -- */

/* Initialise ${monitor}, which is zeroed and part of ${owner}, with one
 * reference, that of the owner's handle.  ${runner} says where callbacks run.
 * False, with errno set, if there is no descriptor for that.  From here on a
 * fork calls .after_fork.  Without the lock. */
bool hf_monitor_init(struct hf_monitor *monitor,
                     const struct hf_monitor_ops *ops, void *owner,
                     enum hf_callback_runner runner, struct hf_on_log on_log);

/* Have ${loop}, a loop of the user's, be the poller.  With the lock, on the
 * thread that runs ${loop}.  HF_ELIMIT if it takes no more handles, or if there
 * are no descriptors for a loop of our own: the caller then still calls
 * hf_monitor_abandon(). */
hf_status hf_monitor_borrow_loop(struct hf_monitor *monitor, uv_loop_t *loop);

/* Keep the monitor, and its owner, alive.  With the lock, or before the owner
 * is known to another thread. */
void hf_monitor_reference(struct hf_monitor *monitor);
/* Drop a reference that is not the last one.  With the lock. */
void hf_monitor_dereference(struct hf_monitor *monitor);
/* Drop a reference without the lock.  The last one destroys the monitor and its
 * owner. */
void hf_monitor_release(struct hf_monitor *monitor);

/* End the monitor, wait for that, and drop the reference of the owner's handle.
 * Without the lock, and where hf_monitor_may_block() allows it.  HF_EFORKED in
 * a child. */
hf_status hf_monitor_close(struct hf_monitor *monitor);

/* Begin the end, which drops the reference of the owner's handle when it is
 * reached.  With the lock, which it releases as hf_monitor_leave() does.  There
 * must be a poller (hf_monitor_ensure_poller()). */
void hf_monitor_close_start(struct hf_monitor *monitor);

/* The owner calls this when the end that .close began is reached: nothing will
 * happen to it any more.  Within .abandon it does nothing, because the end of
 * the handle is for the user to begin.  With the lock. */
void hf_monitor_closed(struct hf_monitor *monitor);

/* Set ${error} to HF_ECLOSED and why: ${what} ("client") was closed, or its
 * descriptors were.  With the lock. */
hf_status hf_monitor_explain_closed(const struct hf_monitor *monitor,
                                    const char *what, struct hf_error *error);

/* Undo an open that failed, so that the user never got the handle: end the
 * monitor, wait for that, and drop the reference of the handle.  With the lock,
 * which it releases, and cancellation disabled, which it restores.  ${opened}:
 * the owner has something that .close must end.  Without that the end is not
 * waited for if a borrowed loop has handles of ours: it comes when the loop has
 * closed these. */
void hf_monitor_abandon(struct hf_monitor *monitor, bool opened);

/* ------------------------------------------------------ enter and leave -- */

/* Take the lock, and do first what is due, if there is a loop (.due_at_ms).  So
 * a thread that was frozen learns of a loss before it does anything else.
 * HF_EFORKED in a child: then the lock is not taken, nothing may be touched or
 * freed, and hf_last_error() has it as the failure of the public call
 * ${api_name}, as hf_fork_fail(). */
hf_status hf_monitor_enter(struct hf_monitor *monitor, const char *api_name);

/* Process what is ready, see to a poller if one is needed, release the lock,
 * and destroy what was deferred.  In a callback, and if the loop was run since
 * the lock was taken, only what was asked for and what is due is processed. */
void hf_monitor_leave(struct hf_monitor *monitor);

/* For a call whose requests may leave together with those of others: in a
 * callback that others wait behind, release the lock, do nothing else, and
 * return true.  The requests are then sent after the last of these callbacks,
 * or after an earlier one if a millisecond has passed or 16 such calls were
 * made.  False elsewhere, and nothing is done: hf_monitor_leave() has to
 * follow. */
bool hf_monitor_leave_later(struct hf_monitor *monitor);

/* Take the lock and do nothing else; release it and emit the log lines that
 * were written, if the function for them never waits.  Around a function of the
 * user they come in the other order. The caller keeps the monitor from being
 * freed. */
void hf_monitor_lock(struct hf_monitor *monitor);
void hf_monitor_unlock(struct hf_monitor *monitor);

/* Disable cancellation of the calling thread (pthread_setcancelstate()), and
 * restore what was before.  The two nest.  hf_monitor_enter() disables and
 * hf_monitor_leave() restores it, because a thread that is cancelled in
 * between, in any close() or poll(), would leave the lock locked. */
void hf_monitor_disable_cancel(void);
void hf_monitor_restore_cancel(void);

/* Process what is ready and arm the timer for what is due later.  With the
 * lock.  A thread may sleep on the loop only after this or
 * hf_monitor_run_asked(). */
void hf_monitor_run_ready(struct hf_monitor *monitor);

/* Process only what was asked for, and what is due.  Events that the kernel has
 * are left to the thread that polls next, or were processed before. */
void hf_monitor_run_asked(struct hf_monitor *monitor);

/* Have .destroy of ${object} called after the lock is released.  With the
 * lock. */
void hf_monitor_defer_free(struct hf_monitor *monitor,
                           struct hf_deferred_free *object);

/* Have ${callback} run, unless it is queued already, and wake the poller that
 * runs it.  With the lock. */
void hf_monitor_queue(struct hf_monitor *monitor, struct hf_callback *callback);

/* Run the callbacks that are queued now, on this thread, as
 * hf_callback_queue_run().  With the lock, which is released around each. */
void hf_monitor_run_callbacks(struct hf_monitor *monitor);

/* ------------------------------------------------------------- dispatch -- */

/* A descriptor that is readable while callbacks are queued, if the user
 * dispatches them; else -1, and in a child of a fork.  Without the lock. */
int hf_monitor_dispatch_fd(const struct hf_monitor *monitor);

/* Run the callbacks that are queued now, in this thread, for the call
 * ${api_name}.  Without the lock.
 *   Fails     HF_ESTATE if callbacks run elsewhere; HF_EREENTRANT in a
 *   callback; HF_EFORKED in a child. */
hf_status hf_monitor_dispatch(struct hf_monitor *monitor, const char *api_name);

/* -------------------------------------------------------------- waiting -- */

/* May the calling thread wait here?  HF_EREENTRANT, and its text, in a callback
 * and on the thread of a borrowed loop, where the call could only wait for
 * itself; HF_EFORKED as hf_fork_check(). */
hf_status hf_monitor_may_block(const struct hf_monitor *monitor,
                               struct hf_error *error);

/* Answer ${waiter} with ${status} and wake its caller.  With the lock. */
void hf_waiter_answer(struct hf_monitor *monitor, struct hf_waiter *waiter,
                      hf_status status);
/* Wait until ${waiter} is answered, and return that status.  With the lock,
 * which is released while the thread sleeps.  HF_ELIMIT, and its text in
 * ${error}, with .done false, if there is neither a descriptor to poll with nor
 * a poller.  The work that was waited for then goes on, and the caller must see
 * that nothing refers to ${waiter} any more. */
hf_status hf_monitor_wait(struct hf_monitor *monitor, struct hf_waiter *waiter,
                          struct hf_error *error);

/* Wait until no other thread runs callbacks.  With the lock, which is released
 * meanwhile. */
void hf_monitor_await_callbacks(struct hf_monitor *monitor);

/* A callback runs whose object is about to be freed: wait until the thread that
 * runs it answers ${*waiter}, which is set meanwhile.  Returns at once where
 * the call could only wait for itself.  With the lock, as hf_monitor_wait(). */
void hf_monitor_await_callback(struct hf_monitor *monitor,
                               struct hf_waiter **waiter);

/* -------------------------------------------------------------- pollers -- */

/* Would something be left undone, or unnoticed, if no caller came any more?
 * A caller that waits polls, and asks again when it leaves, but runs no
 * callbacks.  With the lock. */
bool hf_monitor_needs_poller(const struct hf_monitor *monitor);

/* Make sure that a thread polls although no caller does: start the background
 * thread, unless it runs or a loop is borrowed.  With the lock.  HF_ELIMIT, and
 * its text, if it cannot be started. */
hf_status hf_monitor_ensure_poller(struct hf_monitor *monitor,
                                   struct hf_error *error);

#endif
