/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lifetime of a monitor: it is referenced by the owner's handles and by
 * threads that use it, its loop is closed when no thread needs it any more, and
 * the last reference frees it.
 */
#include <assert.h>
#include <unistd.h>

#include "base/memory.h"
#include "monitor/monitor_private.h"

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
    assert(hf_loop_is_over(&m->loop));
    hf_fork_remove(&m->fork);
    hf_callback_queue_free(&m->callback_queue);
    if (m->interrupt_fd >= 0)
        close(m->interrupt_fd);
    if (m->background.started)
        hf_background_free(&m->background);
    hf_descriptor_guard_close(&m->guard);
    pthread_mutex_destroy(&m->lock);
    hf_log_free(&m->log);
    m->ops->destroy(m->owner);
}

/* Only the end of the last reference has consequences, and these come without
 * the lock.  In the child of a fork nothing is freed. */
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
    if (m->state != HF_MONITOR_ENDED || hf_loop_is_over(&m->loop) ||
        m->sleepers > 0 || m->borrowed_loop.handles > 0 ||
        (m->background.started && !m->background.finished))
        return;
    m->ops->leave_loop(m->owner);
    hf_loop_close(&m->loop);
    /* The user may keep handles, and so the monitor, for as long as he likes.
     * They need no other descriptors than these two. */
    if (m->interrupt_fd < 0 && m->callback_queue.fd < 0)
        hf_descriptor_guard_end(&m->guard);
}
