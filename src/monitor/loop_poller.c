/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A borrowed loop as a poller: it runs what is ready, and callbacks, also while
 * a caller polls.
 */
#include "monitor/monitor_private.h"

/* What the borrowed loop runs when our loop has something or a callback was
 * queued. */
static void run_on_borrowed_loop(void *arg)
{
    struct hf_monitor *m = arg;

    if (hf_monitor_enter(m, NULL) != HF_OK)
        return;
    hf_monitor_reference(m);
    hf_monitor_run_ready(m);
    /* A callback may run the borrowed loop itself.  The callbacks are then left
     * to the outer call, so that they run one after the other. */
    if (!m->callback_queue.running)
        hf_monitor_run_callbacks(m);
    /* A callback that was queued while others waited in the queue woke no
     * thread. */
    if (m->callback_queue.first != NULL && !hf_fork_is_child(&m->fork))
        hf_borrowed_loop_wake(&m->borrowed_loop);
    hf_monitor_leave(m);
    hf_monitor_release(m);
}

/* Our handles are off the borrowed loop.  Drops the reference that
 * close_borrowed_loop() of close.c took. */
static void borrowed_loop_closed(void *arg)
{
    struct hf_monitor *m = arg;

    hf_monitor_lock(m);
    hf_monitor_borrowed_loop_closed(m);
    hf_monitor_unlock(m);
    hf_monitor_release(m);
}

hf_status hf_monitor_borrow_loop(struct hf_monitor *m, uv_loop_t *loop)
{
    uv_loop_t *own = hf_loop_get(&m->loop);

    if (own == NULL)
        return HF_ELIMIT;
    m->borrowed_loop.ready = run_on_borrowed_loop;
    m->borrowed_loop.closed = borrowed_loop_closed;
    m->borrowed_loop.arg = m;
    return hf_borrowed_loop_open(&m->borrowed_loop, loop, uv_backend_fd(own));
}
