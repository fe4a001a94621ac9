/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that closes our descriptors.  Once that is noticed, nothing touches
 * their numbers, which may be those of other files by now, and the monitor is
 * as one that was closed: the owner ends everything that is under way,
 * callbacks run, and calls are refused.  The handles on the loop stay in memory
 * until the process ends, because other threads may still refer to them.
 *
 * It is noticed by the next call, and by a thread that sleeps in poll(), which
 * the end of the guard wakes.  A thread that was just about to sleep notices it
 * when it next looks by itself (ready.c): after 10 s, or after up to 3 h if
 * nothing had happened for long.
 */
#include <assert.h>
#include <pthread.h>

#include "base/error.h"
#include "monitor/monitor_private.h"

/* Callbacks that ran on a borrowed loop, which has descriptors, too, are left
 * to the thread that closes. */
static void abandon_borrowed_loop(struct hf_monitor *m)
{
    if (m->callback_queue.runner != HF_RUNNER_BORROWED_LOOP)
        return;
    m->callback_queue.runner = HF_RUNNER_DISPATCH;
    hf_borrowed_loop_abandon(&m->borrowed_loop);
}

/* The reference is never dropped: see above. */
static void abandon(struct hf_monitor *m)
{
    hf_monitor_reference(m);
    assert(m->descriptors == HF_DESCRIPTORS_OURS);
    if (m->state == HF_MONITOR_OPEN) {
        m->state = HF_MONITOR_CLOSING;
        m->descriptors = HF_DESCRIPTORS_ABANDONED;
    } else {
        m->descriptors = HF_DESCRIPTORS_GONE; /* the owner ends already */
    }
    /* What follows wakes threads, some of which still sleep in poll(). */
    m->interrupt_fd = -1;
    m->callback_queue.fd = -1;
    hf_background_abandon(&m->background);
    /* If the guard is still there, other descriptors are gone.  Its end wakes
     * threads in poll(). */
    hf_descriptor_guard_close(&m->guard);
    hf_loop_abandon(&m->loop);
    hf_deputy_abandon(&m->deputy);
    abandon_borrowed_loop(m);
    hf_log_write(&m->log, HF_LOG_ERROR,
                 "the program has closed descriptors of the library; all that "
                 "it had is lost");
    m->ops->abandon(m->owner);
    m->descriptors = HF_DESCRIPTORS_GONE;
}

bool hf_monitor_has_descriptors(struct hf_monitor *m)
{
    if (m->descriptors != HF_DESCRIPTORS_OURS || hf_fork_is_child(&m->fork))
        return m->descriptors == HF_DESCRIPTORS_OURS;
    if (m->descriptors_checked)
        return true;
    m->descriptors_checked = true;
    if (hf_descriptor_guard_is_intact(&m->guard) && hf_loop_is_intact(&m->loop))
        return true;
    abandon(m);
    return false;
}

hf_status hf_monitor_explain_closed(const struct hf_monitor *m,
                                    const char *what, struct hf_error *error)
{
    if (m->descriptors == HF_DESCRIPTORS_OURS)
        return hf_error_set(error, HF_ECLOSED, "the %s was closed", what);
    return hf_error_set(error, HF_ECLOSED, "%s", HF_DESCRIPTORS_GONE_TEXT);
}
