/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of the monitor, and what waits for its release: log lines that were
 * written, and objects that are destroyed without it.  A thread that has it is
 * not cancelled.
 */
#include <assert.h>

#include "monitor/monitor_private.h"

/* --------------------------------------------------------- cancellation -- */

/* How many hf_monitor_disable_cancel() of this thread are open, and the state
 * before the first of them. */
static _Thread_local unsigned cancel_depth;
static _Thread_local int cancel_state_before;

void hf_monitor_disable_cancel(void)
{
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (cancel_depth++ == 0)
        cancel_state_before = state;
}

void hf_monitor_restore_cancel(void)
{
    assert(cancel_depth > 0);
    if (--cancel_depth == 0)
        pthread_setcancelstate(cancel_state_before, NULL);
}

/* ------------------------------------------------------------- the lock -- */

void hf_monitor_locked(struct hf_monitor *m)
{
    m->loop_was_run = false;
    m->descriptors_checked = false;
}

void hf_monitor_lock(struct hf_monitor *m)
{
    pthread_mutex_lock(&m->lock);
    hf_monitor_locked(m);
}

void hf_monitor_unlock(struct hf_monitor *m)
{
    struct hf_log_lines lines;
    bool any = !m->log.waits && hf_log_take(&m->log, &lines);

    pthread_mutex_unlock(&m->lock);
    if (any)
        hf_log_emit(&lines);
}

void hf_monitor_emit_log(struct hf_monitor *m)
{
    struct hf_log_lines lines;

    if (!hf_log_take(&m->log, &lines))
        return;
    pthread_mutex_unlock(&m->lock);
    hf_log_emit(&lines);
    hf_monitor_lock(m);
}

/* ------------------------------------------------------- deferred frees -- */

void hf_monitor_defer_free(struct hf_monitor *m,
                           struct hf_deferred_free *object)
{
    object->next = m->deferred;
    m->deferred = object;
}

/* Call .destroy of each object.  Without the lock.  It counts as a callback,
 * because a .drop of the user must not block. */
static void destroy_all(struct hf_deferred_free *objects)
{
    struct hf_deferred_free *next;

    assert(objects != NULL);
    hf_callback_enter();
    for (; objects != NULL; objects = next) {
        next = objects->next;
        objects->destroy(objects);
    }
    hf_callback_leave();
}

/* The list is taken first, because each object holds a reference to the monitor
 * and the last one may free it: the monitor must not be touched after the
 * release. */
void hf_monitor_unlock_and_free(struct hf_monitor *m)
{
    struct hf_deferred_free *objects = m->deferred;

    m->deferred = NULL;
    hf_monitor_unlock(m);
    if (objects != NULL)
        destroy_all(objects);
}

void hf_monitor_free_deferred(struct hf_monitor *m)
{
    hf_monitor_unlock_and_free(m);
    hf_monitor_lock(m);
}
