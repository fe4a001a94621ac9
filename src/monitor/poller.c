/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The background thread as a poller.  A poller polls while no caller does, so
 * that nothing depends on callers, and it runs callbacks.  The background
 * thread is started when it is first needed; an uncontended lock on the file
 * engine starts none.
 */
#include <assert.h>

#include "base/error.h"
#include "monitor/monitor_private.h"

bool hf_monitor_needs_poller(const struct hf_monitor *m)
{
    if (m->state == HF_MONITOR_ENDED)
        return false;
    return (m->callback_queue.first != NULL &&
            m->callback_queue.runner != HF_RUNNER_DISPATCH) ||
           (m->waiters == NULL && m->ops->needs_poller(m->owner));
}

/* ------------------------------------------------ the background thread -- */

/* Are there callbacks that the background thread has to run?  No caller runs
 * them. */
static bool has_callbacks(const struct hf_monitor *m)
{
    return m->callback_queue.runner == HF_RUNNER_THREAD &&
           !hf_callback_queue_empty(&m->callback_queue);
}

/* Is there anything to do besides polling? */
static bool has_work(const struct hf_monitor *m)
{
    return m->background.stop || m->deferred != NULL || has_callbacks(m);
}

/* Leave polling to callers: stand by for a moment, and park if one caller has
 * been in the same poll() all that time, because it wakes this thread when it
 * stops. */
static void let_callers_poll(struct hf_monitor *m)
{
    uint64_t polls_before = m->caller_poll_count;

    hf_background_stand_by(&m->background, &m->lock);
    hf_monitor_locked(m);
    if (m->polled_by_caller && m->caller_poll_count == polls_before &&
        !has_work(m)) {
        hf_background_park(&m->background, &m->lock);
        hf_monitor_locked(m);
    }
}

/* Poll until the loop has something or the thread is woken. */
static void poll_once(struct hf_monitor *m)
{
    hf_background_begin_poll(&m->background);
    hf_monitor_sleep(m, m->background.wake_fd);
    hf_background_end_poll(&m->background);
}

/* The work of the deputy: poll while the background thread is inside of
 * functions of the user. */
static void *deputy_main(void *arg)
{
    struct hf_monitor *m = arg;

    hf_monitor_lock(m);
    while (m->deputy.state != HF_DEPUTY_STOPS &&
           hf_monitor_has_descriptors(m)) {
        if (m->deputy.state == HF_DEPUTY_POLLS) {
            hf_monitor_run_ready(m);
            if (hf_monitor_has_descriptors(m))
                hf_monitor_sleep(m, m->deputy.timer);
        } else {
            hf_deputy_sleep(&m->deputy, m->guard.ends[0], &m->lock);
            hf_monitor_locked(m);
        }
        if (hf_monitor_has_descriptors(m))
            hf_deputy_wake(&m->deputy);
    }
    hf_monitor_unlock(m);
    return NULL;
}

/* Functions of the user are about to be called, which may take long. */
static void watch_over_user(struct hf_monitor *m)
{
    if (hf_deputy_start(&m->deputy, deputy_main, m)) {
        hf_deputy_watch(&m->deputy);
    } else if (m->deputy.state == HF_DEPUTY_NONE) {
        m->deputy.state = HF_DEPUTY_FAILED;
        hf_log_write(&m->log, HF_LOG_ERROR,
                     "no second thread could be started; while a callback "
                     "runs, no lease is renewed and no loss is noticed; raise "
                     "the limits on open files and processes");
    }
}

/* Run the callbacks, and destroy what was deferred.  Either releases the lock
 * meanwhile. */
static void do_work(struct hf_monitor *m)
{
    if (m->descriptors == HF_DESCRIPTORS_OURS)
        watch_over_user(m);
    if (has_callbacks(m))
        hf_monitor_run_callbacks(m);
    if (m->deferred != NULL && !hf_fork_is_child(&m->fork))
        hf_monitor_free_deferred(m);
    if (!hf_fork_is_child(&m->fork))
        hf_deputy_end_poll(&m->deputy);
}

/* Process what came.  If a caller polls, it does that itself: it is awake as
 * soon as this thread is, and waits for the lock that this thread has. */
static void process(struct hf_monitor *m)
{
    if (m->polled_by_caller)
        hf_monitor_run_asked(m);
    else
        hf_monitor_run_ready(m);
}

/* The work of the background thread.  Returns when it is to stop, and in the
 * child of a fork that a callback made. */
static void poll_until_stopped(struct hf_monitor *m)
{
    uint64_t polls_before = m->caller_poll_count;

    while (!m->background.stop) {
        process(m);
        if (has_work(m)) {
            do_work(m);
            if (hf_fork_is_child(&m->fork))
                return;
            continue;
        }
        hf_deputy_rest(&m->deputy);
        if (!hf_monitor_has_descriptors(m)) {
            hf_background_park(&m->background, &m->lock);
            hf_monitor_locked(m);
        } else if (m->polled_by_caller ||
                   m->caller_poll_count != polls_before) {
            polls_before = m->caller_poll_count;
            let_callers_poll(m);
        } else {
            poll_once(m);
        }
    }
}

/* The background thread.  With its end it drops its reference. */
static void *background_main(void *arg)
{
    struct hf_monitor *m = arg;

    hf_monitor_lock(m);
    poll_until_stopped(m);
    if (hf_fork_is_child(&m->fork)) {
        pthread_mutex_unlock(&m->lock);
        return NULL; /* the only thread of the child: it ends with exit(0) */
    }
    if (hf_monitor_has_descriptors(m))
        hf_deputy_stop(&m->deputy, &m->lock);
    m->background.finished = true;
    hf_monitor_try_close_loop(m);
    hf_monitor_unlock(m);
    hf_monitor_release(m);
    return NULL;
}

/* Start the background thread, and create the loop for it. */
static hf_status start_background(struct hf_monitor *m)
{
    hf_status status;

    if (m->background.started)
        return HF_OK;
    if (m->descriptors == HF_DESCRIPTORS_OURS && hf_loop_get(&m->loop) == NULL)
        return HF_ELIMIT;
    hf_monitor_reference(m); /* the thread's */
    status = hf_background_start(&m->background, background_main, m);
    if (status != HF_OK)
        hf_monitor_dereference(m);
    return status;
}

hf_status hf_monitor_ensure_poller(struct hf_monitor *m, struct hf_error *error)
{
    hf_status status;

    if (m->borrowed_loop.loop != NULL || m->state == HF_MONITOR_ENDED)
        return HF_OK;
    if ((status = start_background(m)) != HF_OK)
        hf_error_set(error, status,
                     "no thread for callbacks could be started; raise the "
                     "limits on open files and processes");
    return status;
}
