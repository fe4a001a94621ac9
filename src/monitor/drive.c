/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drivers: the background thread and a borrowed loop poll while no caller does,
 * so that nothing depends on callers, and run callbacks.  The background thread
 * is started when it is first needed: an uncontended lock on the file engine
 * starts none.
 */
#include <assert.h>

#include "core/error.h"
#include "monitor/monitor_private.h"

bool hf_monitor_must_be_driven(const struct hf_monitor *m)
{
    if (m->ended || m->waiters != NULL)
        return false;
    return (m->delivery.first != NULL &&
            m->delivery.place != HF_PLACE_DISPATCH) ||
           m->ops->needs_driver(m->owner);
}

void hf_monitor_queue(struct hf_monitor *m, struct hf_callback *callback)
{
    if (!hf_delivery_add(&m->delivery, callback))
        return;
    if (m->delivery.place == HF_PLACE_BORROWED)
        hf_borrowed_wake(&m->borrowed);
    else if (m->delivery.place == HF_PLACE_THREAD)
        hf_background_wake(&m->background);
}

/* ------------------------------------------------ the background thread -- */

/* What only this thread does. */
static bool has_callbacks(const struct hf_monitor *m)
{
    return m->delivery.place == HF_PLACE_THREAD &&
           !hf_delivery_empty(&m->delivery);
}

static bool has_work(const struct hf_monitor *m)
{
    return m->background.stop || m->deferred != NULL || has_callbacks(m);
}

/* Leave polling to callers as long as there are any. */
static void let_callers_poll(struct hf_monitor *m)
{
    uint64_t turns = m->caller_turns;

    hf_background_stand_by(&m->background, &m->lock);
    if (m->polled_by_caller && m->caller_turns == turns && !has_work(m))
        hf_background_park(&m->background, &m->lock);
}

static void poll_once(struct hf_monitor *m)
{
    hf_background_begin_poll(&m->background);
    hf_monitor_sleep(m, m->background.wake_fd);
    hf_background_end_poll(&m->background);
}

static void do_work(struct hf_monitor *m)
{
    if (has_callbacks(m))
        hf_delivery_run(&m->delivery);
    if (m->deferred != NULL && !hf_fork_parted(&m->fork))
        hf_monitor_free_deferred(m);
}

/* Until it is to stop; or until it is the child of a callback that forked. */
static void drive(struct hf_monitor *m)
{
    uint64_t turns = m->caller_turns;

    while (!m->background.stop) {
        hf_monitor_run_ready(m);
        if (has_work(m)) {
            do_work(m);
            if (hf_fork_parted(&m->fork))
                return;
        } else if (m->polled_by_caller || m->caller_turns != turns) {
            turns = m->caller_turns;
            let_callers_poll(m);
        } else {
            poll_once(m);
        }
    }
}

static void *background_main(void *arg)
{
    struct hf_monitor *m = arg;

    hf_monitor_lock(m);
    drive(m);
    if (hf_fork_parted(&m->fork)) {
        pthread_mutex_unlock(&m->lock);
        return NULL; /* the child's only thread: it ends with exit(0) */
    }
    m->background.gone = true;
    hf_monitor_wind_up(m);
    hf_monitor_unlock(m);
    hf_monitor_release(m);
    return NULL;
}

static hf_status start_background(struct hf_monitor *m)
{
    hf_status status;

    if (m->background.started)
        return HF_OK;
    if (hf_loop_get(&m->loop) == NULL)
        return HF_ELIMIT;
    hf_monitor_reference(m); /* the thread's */
    status = hf_background_start(&m->background, background_main, m);
    if (status != HF_OK)
        hf_monitor_dereference(m);
    return status;
}

hf_status hf_monitor_ensure_driver(struct hf_monitor *m, struct hf_error *error)
{
    hf_status status;

    if (m->borrowed.loop != NULL || m->ended)
        return HF_OK;
    if ((status = start_background(m)) != HF_OK)
        hf_error_set(error, status,
                     "no thread for callbacks could be started; raise the "
                     "limits on open files and processes");
    return status;
}

/* ------------------------------------------------------- a borrowed loop -- */

static void serve(void *arg)
{
    struct hf_monitor *m = arg;

    if (hf_monitor_enter(m) != HF_OK)
        return;
    hf_monitor_reference(m);
    hf_monitor_run_ready(m);
    /* A user's callback may run the loop; what is queued is for the outer
     * turn then. */
    if (!m->delivery.running)
        hf_delivery_run(&m->delivery);
    /* Added by a callback while others waited: that woke nobody. */
    if (m->delivery.first != NULL && !hf_fork_parted(&m->fork))
        hf_borrowed_wake(&m->borrowed);
    hf_monitor_leave(m);
    hf_monitor_release(m);
}

/* The reference is that of hf_monitor_leave_borrowed(). */
static void gone(void *arg)
{
    struct hf_monitor *m = arg;

    hf_monitor_lock(m);
    hf_monitor_borrowed_gone(m);
    hf_monitor_unlock(m);
    hf_monitor_release(m);
}

hf_status hf_monitor_borrow(struct hf_monitor *m, uv_loop_t *loop)
{
    uv_loop_t *own = hf_loop_get(&m->loop);

    if (own == NULL)
        return HF_ELIMIT;
    m->borrowed.ready = serve;
    m->borrowed.gone = gone;
    m->borrowed.arg = m;
    return hf_borrowed_open(&m->borrowed, loop, uv_backend_fd(own));
}

void hf_monitor_leave_borrowed(struct hf_monitor *m)
{
    hf_monitor_reference(m);
    hf_borrowed_close(&m->borrowed);
}
