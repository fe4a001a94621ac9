/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering and leaving the monitor.  The shape is that of a monitor lock with
 * two additions: leaving processes what became ready meanwhile, and it destroys
 * objects after the lock was released.
 */
#include "monitor/monitor_private.h"

hf_status hf_monitor_enter(struct hf_monitor *m)
{
    if (hf_fork_is_child(&m->fork))
        return HF_EFORKED;
    hf_monitor_disable_cancel();
    hf_monitor_lock(m);
    /* See .due_at_ms: without a loop what is due can wait, and often this call
     * makes it needless. */
    if (m->loop.made)
        (void)hf_monitor_run_due(m);
    return HF_OK;
}

/* What hf_monitor_leave() does with the lock, and the release of it.  In the
 * child of a fork it releases the lock and does nothing else. */
static void leave_locked(struct hf_monitor *m)
{
    struct hf_error unstarted;

    if (hf_fork_is_child(&m->fork)) {
        pthread_mutex_unlock(&m->lock);
        return;
    }
    if (m->loop_was_run || hf_callback_queue_runs_here(&m->callback_queue))
        hf_monitor_run_asked(m);
    else
        hf_monitor_run_ready(m);
    if (hf_monitor_needs_poller(m) &&
        hf_monitor_ensure_poller(m, &unstarted) != HF_OK)
        hf_log_write(&m->log, HF_LOG_ERROR,
                     "no thread could be started; what is under way goes on "
                     "when the client is next used");
    hf_monitor_try_close_loop(m);
    hf_monitor_unlock_and_free(m);
}

void hf_monitor_leave(struct hf_monitor *m)
{
    leave_locked(m);
    hf_monitor_restore_cancel();
}

bool hf_monitor_leave_later(struct hf_monitor *m)
{
    if (!hf_callback_queue_runs_here(&m->callback_queue) ||
        !hf_callback_queue_has_more(&m->callback_queue))
        return false;
    if (m->delayed++ == 0)
        m->delayed_at_ms = hf_now_ms();
    hf_monitor_unlock(m);
    hf_monitor_restore_cancel();
    return true;
}
