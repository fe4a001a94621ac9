/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lifetime of a monitor: it is made, it is referenced by the owner's
 * handles and by threads that use it, its loop is closed when no thread needs
 * it any more, and the last reference frees it.
 */
#include <assert.h>
#include <unistd.h>

#include "core/memory.h"
#include "monitor/log_default.h"
#include "monitor/monitor_private.h"

/* In the child of a fork: close every descriptor of the monitor and of its
 * owner. */
static void after_fork(void *arg)
{
    struct hf_monitor *m = arg;

    m->ops->after_fork(m->owner);
    hf_background_after_fork(&m->background);
    hf_callback_queue_after_fork(&m->callback_queue);
    if (m->interrupt_fd >= 0)
        close(m->interrupt_fd);
    hf_loop_after_fork(&m->loop);
}

/* The fork entry is registered last: a fork may call after_fork() from then
 * on. */
bool hf_monitor_init(struct hf_monitor *m, const struct hf_monitor_ops *ops,
                     void *owner, enum hf_callback_runner runner,
                     struct hf_on_log on_log)
{
    if (!hf_callback_queue_init(&m->callback_queue, runner))
        return false;
    pthread_mutex_init(&m->lock, NULL);
    m->ops = ops;
    m->owner = owner;
    m->references = 1;
    m->interrupt_fd = -1;
    m->log.on_log = hf_log_choose(on_log);
    m->fork.lock = &m->lock;
    m->fork.in_child = after_fork;
    m->fork.arg = m;
    hf_fork_add(&m->fork);
    return true;
}

void hf_monitor_reference(struct hf_monitor *m)
{
    m->references++;
}

void hf_monitor_dereference(struct hf_monitor *m)
{
    assert(m->references > 1);
    m->references--;
}

/* Free everything, with the last reference.  Without the lock. */
static void destroy_monitor(struct hf_monitor *m)
{
    assert(m->loop_closed);
    hf_fork_remove(&m->fork);
    hf_callback_queue_free(&m->callback_queue);
    if (m->interrupt_fd >= 0)
        close(m->interrupt_fd);
    if (m->background.started)
        hf_background_free(&m->background);
    pthread_mutex_destroy(&m->lock);
    hf_log_free(&m->log);
    m->ops->destroy(m->owner);
}

/* Only the last reference makes anything happen, and that without the lock. */
void hf_monitor_release(struct hf_monitor *m)
{
    bool last;

    if (hf_fork_is_child(&m->fork))
        return;
    pthread_mutex_lock(&m->lock);
    assert(m->references > 0);
    last = --m->references == 0;
    pthread_mutex_unlock(&m->lock);
    if (last)
        destroy_monitor(m);
}

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
