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

void hf_monitor_wind_up(struct hf_monitor *m)
{
    if (m->wound_up || !m->ended || m->sleepers > 0 ||
        m->borrowed.handles > 0 ||
        (m->background.started && !m->background.gone))
        return;
    m->ops->leave_loop(m->owner);
    hf_loop_close(&m->loop);
    m->wound_up = true;
}

/* Does nobody but the closing thread run callbacks? */
static bool runs_here(const struct hf_monitor *m)
{
    return m->delivery.place == HF_PLACE_DISPATCH ||
           (m->delivery.place == HF_PLACE_THREAD && !m->background.started);
}

static void answer(struct hf_monitor *m)
{
    if (m->close_waiter != NULL)
        hf_waiter_answer(m, m->close_waiter, HF_OK);
    m->close_waiter = NULL;
}

void hf_monitor_closed(struct hf_monitor *m)
{
    /* Last in the queue: only what callbacks add can come after it. */
    hf_monitor_queue(m, &m->close_callback);
    if (runs_here(m))
        answer(m);
}

static void end(struct hf_monitor *m)
{
    bool somebody_waits = m->close_waits;

    m->ended = true;
    m->ops->ended(m->owner);
    if (hf_fork_parted(&m->fork))
        return;
    hf_background_stop(&m->background);
    answer(m);
    if (!somebody_waits)
        hf_monitor_dereference(m); /* the owner's handle */
    hf_monitor_wind_up(m);
}

void hf_monitor_run_close(void *arg)
{
    struct hf_monitor *m = arg;

    if (m->delivery.first != NULL)
        hf_monitor_queue(m, &m->close_callback);
    else if (m->borrowed.handles > 0)
        hf_monitor_leave_borrowed(m);
    else
        end(m);
}

void hf_monitor_borrowed_gone(struct hf_monitor *m)
{
    hf_delivery_begin();
    end(m);
    hf_delivery_end();
}

static void begin(struct hf_monitor *m)
{
    assert(!m->closing);
    m->closing = true;
    m->ops->close(m->owner);
}

/* With the lock, which it gives up.  HF_EFORKED in the child of a callback that
 * forked. */
static hf_status finish_here(struct hf_monitor *m, struct hf_waiter *waiter)
{
    bool join;

    (void)hf_monitor_wait(m, waiter);
    assert(waiter->done); /* an owner that needs a loop for it has one */
    if (runs_here(m))
        hf_delivery_await(&m->delivery, &m->lock); /* a dispatch elsewhere */
    while (!m->ended && runs_here(m) && !hf_fork_parted(&m->fork))
        hf_delivery_run(&m->delivery);
    if (hf_fork_parted(&m->fork)) {
        hf_monitor_leave(m);
        return HF_EFORKED;
    }
    join = m->background.started;
    hf_monitor_shield();
    hf_monitor_leave(m);
    if (join)
        pthread_join(m->background.thread, NULL);
    hf_monitor_release(m);
    hf_monitor_unshield();
    return HF_OK;
}

hf_status hf_monitor_close(struct hf_monitor *m)
{
    struct hf_waiter waiter = {.done = false};
    hf_status status;

    if ((status = hf_monitor_enter(m)) != HF_OK)
        return status;
    m->close_waits = true;
    m->close_waiter = &waiter;
    begin(m);
    return finish_here(m, &waiter);
}

void hf_monitor_close_start(struct hf_monitor *m)
{
    if (m->background.started)
        pthread_detach(m->background.thread);
    hf_monitor_reference(m); /* ours, while we leave */
    begin(m);
    hf_monitor_leave(m);
    hf_monitor_release(m);
}

void hf_monitor_abandon(struct hf_monitor *m, bool opened)
{
    struct hf_waiter waiter = {.done = false};

    m->close_waits = true;
    if (opened) {
        m->close_waiter = &waiter;
        begin(m);
        (void)finish_here(m, &waiter);
    } else if (m->borrowed.handles > 0) {
        m->close_waits = false; /* the loop frees it, in its own time */
        hf_monitor_leave_borrowed(m);
        hf_monitor_unlock(m);
        hf_monitor_unshield();
    } else {
        end(m);
        hf_monitor_unlock(m);
        hf_monitor_release(m);
        hf_monitor_unshield();
    }
}
