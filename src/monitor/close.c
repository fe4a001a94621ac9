/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a monitor, in this order:
 *
 * - The owner begins it (.close) and reports when it is reached
 *   (hf_monitor_closed()).
 * - Every callback that is queued runs.
 * - Our handles are taken off a borrowed loop.
 * - The user is notified (.ended), and the call that waits for the end is
 *   answered.  (If no poller runs callbacks, that call was answered when the
 *   owner reached its end, and has run the callbacks itself.)
 * - When the last thread has left the loop, the owner's handles on it
 *   (.leave_loop) and the loop are closed.
 * - With the last reference the memory is freed (.destroy).
 */
#include <assert.h>

#include "monitor/monitor_private.h"

/* Is there no poller that runs callbacks?  Then the thread that closes runs
 * them. */
static bool closer_runs_callbacks(const struct hf_monitor *m)
{
    return m->callback_queue.runner == HF_RUNNER_DISPATCH ||
           (m->callback_queue.runner == HF_RUNNER_THREAD &&
            !m->background.started);
}

/* Answer the thread that waits in await_end(), if there is one. */
static void answer_close(struct hf_monitor *m)
{
    if (m->close_waiter != NULL)
        hf_waiter_answer(m, m->close_waiter, HF_OK);
    m->close_waiter = NULL;
}

/* Emit the log lines whose callback has not run, because the monitor was never
 * opened, or they were written since the last callback. */
static void emit_last_lines(struct hf_monitor *m)
{
    hf_callback_queue_remove(&m->callback_queue, &m->log_callback);
    if (m->log.waits)
        hf_monitor_emit_log(m);
}

/* All callbacks have run: notify the user, stop the background thread, and
 * answer the thread that waits; without one, drop the reference of the owner's
 * handle. */
static void end_monitor(struct hf_monitor *m)
{
    bool somebody_waits = m->close_is_awaited;

    assert(m->state != HF_MONITOR_ENDED);
    m->state = HF_MONITOR_ENDED;
    emit_last_lines(m);
    m->ops->ended(m->owner);
    if (hf_fork_is_child(&m->fork))
        return;
    hf_background_stop(&m->background);
    answer_close(m);
    if (!somebody_waits)
        hf_monitor_dereference(m); /* the owner's handle */
    hf_monitor_try_close_loop(m);
}

/* Begin to take our handles off the borrowed loop, on the thread that runs it.
 * hf_monitor_borrowed_loop_closed() ends it, and its caller drops the
 * reference. */
static void close_borrowed_loop(struct hf_monitor *m)
{
    hf_monitor_reference(m);
    hf_borrowed_loop_close(&m->borrowed_loop);
}

/* Callbacks that earlier callbacks have added run first. */
static void run_close(void *arg)
{
    struct hf_monitor *m = arg;

    if (m->callback_queue.first != NULL)
        hf_monitor_queue(m, &m->close_callback);
    else if (m->borrowed_loop.handles > 0)
        close_borrowed_loop(m);
    else
        end_monitor(m);
}

void hf_monitor_closed(struct hf_monitor *m)
{
    if (m->descriptors == HF_DESCRIPTORS_ABANDONED)
        return;
    m->close_callback.run = run_close;
    m->close_callback.arg = m;
    /* Behind all callbacks that are queued; only what they add comes after
     * it. */
    hf_monitor_queue(m, &m->close_callback);
    if (closer_runs_callbacks(m))
        answer_close(m);
}

void hf_monitor_borrowed_loop_closed(struct hf_monitor *m)
{
    hf_callback_enter();
    end_monitor(m);
    hf_callback_leave();
}

/* Begin the end. */
static void begin_close(struct hf_monitor *m)
{
    if (m->descriptors == HF_DESCRIPTORS_GONE) {
        hf_monitor_closed(m); /* the owner has ended */
        return;
    }
    assert(m->state == HF_MONITOR_OPEN);
    m->state = HF_MONITOR_CLOSING;
    m->ops->close(m->owner);
}

/* The second part of a close that blocks; the first is the same as in one that
 * is started.  It does more than wait, because no other thread does the rest:
 * wait for the end, run the callbacks if no poller does, join the background
 * thread, and drop the reference of the owner's handle.  With the lock, which
 * it releases.  HF_EFORKED in the child of a callback that forked. */
static hf_status await_end(struct hf_monitor *m, struct hf_waiter *waiter)
{
    struct hf_error ignored;
    bool join;

    (void)hf_monitor_wait(m, waiter, &ignored);
    /* hf_monitor_wait() cannot fail: an owner that needs a loop for it has
     * one. */
    assert(waiter->done);
    if (closer_runs_callbacks(m))
        hf_monitor_await_callbacks(m); /* a dispatch on another thread */
    while (m->state != HF_MONITOR_ENDED && closer_runs_callbacks(m) &&
           !hf_fork_is_child(&m->fork))
        hf_monitor_run_callbacks(m);
    if (hf_fork_is_child(&m->fork)) {
        hf_monitor_leave(m);
        return HF_EFORKED;
    }
    join = m->background.started;
    hf_monitor_disable_cancel();
    hf_monitor_leave(m);
    if (join)
        pthread_join(m->background.thread, NULL);
    hf_monitor_release(m);
    hf_monitor_restore_cancel();
    return HF_OK;
}

/* .close_waiter is set first, because the owner may reach its end inside
 * begin_close(). */
hf_status hf_monitor_close(struct hf_monitor *m)
{
    struct hf_waiter waiter = {.done = false};
    hf_status status;

    if ((status = hf_monitor_enter(m, NULL)) != HF_OK)
        return status;
    m->close_is_awaited = true;
    m->close_waiter = &waiter;
    begin_close(m);
    return await_end(m, &waiter);
}

/* No thread joins the background thread, because the last callback may run on
 * it. */
void hf_monitor_close_start(struct hf_monitor *m)
{
    if (m->background.started)
        pthread_detach(m->background.thread);
    hf_monitor_reference(m); /* the end may drop all others while we leave */
    begin_close(m);
    hf_monitor_leave(m);
    hf_monitor_release(m);
}

/* Three cases: the owner has something to close; only the borrowed loop has our
 * handles; or there is nothing yet. */
void hf_monitor_abandon(struct hf_monitor *m, bool opened)
{
    struct hf_waiter waiter = {.done = false};

    m->close_is_awaited = true;
    if (opened) {
        m->close_waiter = &waiter;
        begin_close(m);
        (void)await_end(m, &waiter);
    } else if (m->borrowed_loop.handles > 0) {
        /* Freed when the loop has closed the handles. */
        m->close_is_awaited = false;
        close_borrowed_loop(m);
        hf_monitor_unlock(m);
        hf_monitor_restore_cancel();
    } else {
        end_monitor(m);
        hf_monitor_unlock(m);
        hf_monitor_release(m);
        hf_monitor_restore_cancel();
    }
}
