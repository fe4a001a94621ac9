/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a monitor, and entering and leaving it.  The shape is that of a
 * monitor lock with two additions: leaving processes what became ready
 * meanwhile, and it destroys objects after the lock was released.
 */
#include <unistd.h>

#include "monitor/log_default.h"
#include "monitor/monitor_private.h"

/* ----------------------------------------------------------- making one -- */

/* In the child of a fork: close every descriptor of the monitor and of its
 * owner, unless the program has closed them. */
static void after_fork(void *arg)
{
    struct hf_monitor *m = arg;
    bool is_intact = hf_descriptor_guard_is_intact(&m->guard);

    m->ops->after_fork(m->owner);
    hf_callback_queue_after_fork(&m->callback_queue, is_intact);
    if (!is_intact)
        return;
    hf_background_after_fork(&m->background);
    hf_deputy_after_fork(&m->deputy);
    if (m->interrupt_fd >= 0)
        close(m->interrupt_fd);
    hf_loop_after_fork(&m->loop);
    hf_descriptor_guard_close(&m->guard);
}

/* The callback that emits log lines.  With the lock, which it releases
 * meanwhile. */
static void run_log(void *arg)
{
    struct hf_monitor *m = arg;

    hf_monitor_emit_log(m);
}

static void queue_log(void *arg)
{
    struct hf_monitor *m = arg;

    if (m->state != HF_MONITOR_ENDED)
        hf_monitor_queue(m, &m->log_callback);
}

/* Log lines go to the user, or else to where HOLDFAST_LOG says. */
static void init_log(struct hf_monitor *m, struct hf_on_log on_log)
{
    bool is_users = on_log.fn != NULL;

    m->log_callback = (struct hf_callback){.run = run_log, .arg = m};
    hf_log_init(&m->log, hf_log_choose(on_log), is_users, queue_log, m);
}

/* The fork entry is registered last: a fork may call after_fork() from then
 * on. */
bool hf_monitor_init(struct hf_monitor *m, const struct hf_monitor_ops *ops,
                     void *owner, enum hf_callback_runner runner,
                     struct hf_on_log on_log)
{
    if (!hf_descriptor_guard_open(&m->guard))
        return false;
    if (!hf_callback_queue_init(&m->callback_queue, runner)) {
        hf_descriptor_guard_close(&m->guard);
        return false;
    }
    m->loop.guard = &m->guard;
    pthread_mutex_init(&m->lock, NULL);
    m->ops = ops;
    m->owner = owner;
    m->references = 1;
    m->interrupt_fd = -1;
    init_log(m, on_log);
    m->fork.lock = &m->lock;
    m->fork.in_child = after_fork;
    m->fork.arg = m;
    hf_fork_add(&m->fork);
    return true;
}

/* ------------------------------------------------------ enter and leave -- */

hf_status hf_monitor_enter(struct hf_monitor *m, const char *api_name)
{
    if (hf_fork_is_child(&m->fork))
        return hf_fork_fail(api_name);
    hf_monitor_disable_cancel();
    hf_monitor_lock(m);
    /* See .due_at_ms: without a loop the work that is due can wait, and often
     * this call makes it needless. */
    if (hf_monitor_has_descriptors(m) && hf_loop_is_there(&m->loop) &&
        m->ops->due_at_ms(m->owner) <= hf_now_ms())
        m->ops->run_due(m->owner);
    return HF_OK;
}

/* In the child of a fork it releases the lock and does nothing else. */
void hf_monitor_leave(struct hf_monitor *m)
{
    struct hf_error unstarted;

    if (hf_fork_is_child(&m->fork)) {
        pthread_mutex_unlock(&m->lock);
        hf_monitor_restore_cancel();
        return;
    }
    /* A thread that sleeps on the loop is woken by what becomes ready. */
    if (m->loop_was_run || m->sleepers > 0 ||
        hf_callback_queue_runs_here(&m->callback_queue))
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
