/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a monitor, in this order: the owner begins it (.close) and comes
 * to it (hf_monitor_closed()); every callback that is queued has run; the user
 * is notified (.ended) and the close is answered; when the last thread has left
 * the loop, what is on it (.leave_loop) and the loop go; with the last
 * reference the memory goes (.destroy).
 */
#include <assert.h>

#include "monitor/monitor_private.h"

void hf_monitor_try_close_loop(struct hf_monitor *m)
{
    if (m->loop_closed || !m->ended || m->sleepers > 0 ||
        m->borrowed_loop.handles > 0 ||
        (m->background.started && !m->background.finished))
        return;
    m->ops->leave_loop(m->owner);
    hf_loop_close(&m->loop);
    m->loop_closed = true;
}

/* Does nobody but the closing thread run callbacks? */
static bool closer_runs_callbacks(const struct hf_monitor *m)
{
    return m->callback_queue.runner == HF_RUNNER_DISPATCH ||
           (m->callback_queue.runner == HF_RUNNER_THREAD &&
            !m->background.started);
}

static void answer_close(struct hf_monitor *m)
{
    if (m->close_waiter != NULL)
        hf_waiter_answer(m, m->close_waiter, HF_OK);
    m->close_waiter = NULL;
}

void hf_monitor_closed(struct hf_monitor *m)
{
    /* Last in the queue: only what callbacks add can come after it. */
    hf_monitor_queue(m, &m->close_callback);
    if (closer_runs_callbacks(m))
        answer_close(m);
}

static void end_monitor(struct hf_monitor *m)
{
    bool somebody_waits = m->close_is_awaited;

    m->ended = true;
    m->ops->ended(m->owner);
    if (hf_fork_is_child(&m->fork))
        return;
    hf_background_stop(&m->background);
    answer_close(m);
    if (!somebody_waits)
        hf_monitor_dereference(m); /* the owner's handle */
    hf_monitor_try_close_loop(m);
}

void hf_monitor_run_close(void *arg)
{
    struct hf_monitor *m = arg;

    if (m->callback_queue.first != NULL)
        hf_monitor_queue(m, &m->close_callback);
    else if (m->borrowed_loop.handles > 0)
        hf_monitor_close_borrowed_loop(m);
    else
        end_monitor(m);
}

void hf_monitor_borrowed_loop_closed(struct hf_monitor *m)
{
    hf_callback_enter();
    end_monitor(m);
    hf_callback_leave();
}

static void begin_close(struct hf_monitor *m)
{
    assert(!m->closing);
    m->closing = true;
    m->ops->close(m->owner);
}

/* With the lock, which it gives up.  HF_EFORKED in the child of a callback that
 * forked. */
static hf_status await_end(struct hf_monitor *m, struct hf_waiter *waiter)
{
    bool join;

    (void)hf_monitor_wait(m, waiter);
    assert(waiter->done); /* an owner that needs a loop for it has one */
    if (closer_runs_callbacks(m))
        hf_callback_queue_await(&m->callback_queue,
                                &m->lock); /* a dispatch elsewhere */
    while (!m->ended && closer_runs_callbacks(m) && !hf_fork_is_child(&m->fork))
        hf_callback_queue_run(&m->callback_queue);
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

hf_status hf_monitor_close(struct hf_monitor *m)
{
    struct hf_waiter waiter = {.done = false};
    hf_status status;

    if ((status = hf_monitor_enter(m)) != HF_OK)
        return status;
    m->close_is_awaited = true;
    m->close_waiter = &waiter;
    begin_close(m);
    return await_end(m, &waiter);
}

void hf_monitor_close_start(struct hf_monitor *m)
{
    if (m->background.started)
        pthread_detach(m->background.thread);
    hf_monitor_reference(m); /* ours, while we leave */
    begin_close(m);
    hf_monitor_leave(m);
    hf_monitor_release(m);
}

void hf_monitor_abandon(struct hf_monitor *m, bool opened)
{
    struct hf_waiter waiter = {.done = false};

    m->close_is_awaited = true;
    if (opened) {
        m->close_waiter = &waiter;
        begin_close(m);
        (void)await_end(m, &waiter);
    } else if (m->borrowed_loop.handles > 0) {
        m->close_is_awaited = false; /* the loop frees it, in its own time */
        hf_monitor_close_borrowed_loop(m);
        hf_monitor_unlock(m);
        hf_monitor_restore_cancel();
    } else {
        end_monitor(m);
        hf_monitor_unlock(m);
        hf_monitor_release(m);
        hf_monitor_restore_cancel();
    }
}
