/* SPDX-License-Identifier: Apache-2.0 */
/* Its life, and how the lock is taken and given up. */
#include <assert.h>
#include <poll.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "monitor/monitor_private.h"

/* How often the loop is run before others get the lock.  What is left is seen
 * at once by the next sleep. */
#define LOOP_RUNS_MAX 16

/* And how often while callbacks wait for this thread: as often as it takes to
 * have the kernel know what was asked for.  Where answers keep coming, the
 * first of them would otherwise be delivered only with the last of many. */
#define LOOP_RUNS_WITH_CALLBACKS 2

/* ---------------------------------------------------------- what is ready --
 */

static int max_runs(const struct hf_monitor *m)
{
    bool waiting = m->callback_queue.runner == HF_RUNNER_THREAD &&
                   m->callback_queue.first != NULL;

    return waiting ? LOOP_RUNS_WITH_CALLBACKS : LOOP_RUNS_MAX;
}

static void run_loop(struct hf_monitor *m)
{
    int runs = 0;

    if (!m->loop.made)
        return;
    while (hf_loop_run(&m->loop, &m->events) && ++runs < max_runs(m))
        ;
}

/* Whether anything was. */
static bool run_due(struct hf_monitor *m)
{
    bool due = m->ops->due_at_ms(m->owner) <= hf_now_ms();

    if (due)
        m->ops->run_due(m->owner);
    return due;
}

void hf_monitor_run_ready(struct hf_monitor *m)
{
    if (m->loop_closed)
        return;
    run_loop(m);
    if (run_due(m))
        run_loop(m); /* what was asked for leaves */
    hf_loop_arm(&m->loop, m->ops->due_at_ms(m->owner));
}

void hf_monitor_sleep(struct hf_monitor *m, int fd)
{
    struct pollfd fds[2] = {
        {.fd = uv_backend_fd(&m->loop.uv), .events = POLLIN},
        {.fd = fd, .events = POLLIN},
    };
    int timeout_ms = uv_backend_timeout(&m->loop.uv);

    assert(m->loop.made);
    m->sleepers++;
    hf_monitor_unlock(m);
    /* Interrupted or out of memory: the caller looks again in any case. */
    (void)poll(fds, 2, timeout_ms);
    hf_monitor_lock(m);
    m->sleepers--;
}

/* ---------------------------------------------------------------- shields --
 */

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

/* ---------------------------------------------------------- deferred frees --
 */

void hf_monitor_defer_free(struct hf_monitor *m,
                           struct hf_deferred_free *object)
{
    object->next = m->deferred;
    m->deferred = object;
}

/* Without the lock. */
static void destroy_all(struct hf_deferred_free *objects)
{
    struct hf_deferred_free *next;

    hf_callback_enter();
    for (; objects != NULL; objects = next) {
        next = objects->next;
        objects->destroy(objects);
    }
    hf_callback_leave();
}

/* Give the lock up and destroy what is deferred: each object holds a reference,
 * and the last one may take the monitor along. */
static void unlock_and_free(struct hf_monitor *m)
{
    struct hf_deferred_free *objects = m->deferred;

    m->deferred = NULL;
    hf_monitor_unlock(m);
    destroy_all(objects);
}

void hf_monitor_free_deferred(struct hf_monitor *m)
{
    unlock_and_free(m);
    hf_monitor_lock(m);
}

/* -------------------------------------------------------- enter and leave --
 */

void hf_monitor_lock(struct hf_monitor *m)
{
    pthread_mutex_lock(&m->lock);
}

void hf_monitor_unlock(struct hf_monitor *m)
{
    struct hf_log lines;
    bool any = hf_log_take(&m->log, &lines);

    pthread_mutex_unlock(&m->lock);
    if (any)
        hf_log_emit(&lines);
}

hf_status hf_monitor_enter(struct hf_monitor *m)
{
    if (hf_fork_is_child(&m->fork))
        return HF_EFORKED;
    hf_monitor_disable_cancel();
    hf_monitor_lock(m);
    /* See .due_at_ms: without a loop what is due can wait, and what this call
     * is about to do often makes it needless. */
    if (m->loop.made)
        (void)run_due(m);
    return HF_OK;
}

static void leave_locked(struct hf_monitor *m)
{
    struct hf_error unstarted;

    if (hf_fork_is_child(&m->fork)) {
        pthread_mutex_unlock(&m->lock);
        return;
    }
    hf_monitor_run_ready(m);
    if (hf_monitor_needs_poller(m) &&
        hf_monitor_ensure_poller(m, &unstarted) != HF_OK)
        hf_log_write(&m->log, HF_LOG_ERROR,
                     "no thread could be started; what is under way goes on "
                     "when the client is next used");
    hf_monitor_try_close_loop(m);
    unlock_and_free(m);
}

void hf_monitor_leave(struct hf_monitor *m)
{
    leave_locked(m);
    hf_monitor_restore_cancel();
}

/* --------------------------------------------------------------- lifetime --
 */

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
    m->log.on_log = on_log;
    m->close_callback =
        (struct hf_callback){.run = hf_monitor_run_close, .arg = m};
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
