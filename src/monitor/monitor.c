/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering and leaving the monitor, processing what is ready, and its lifetime.
 * The shape is that of a monitor lock with two additions: leaving processes
 * what became ready meanwhile, and it destroys objects after the lock was
 * released.
 */
#include <assert.h>
#include <poll.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "monitor/monitor_private.h"

/* How often the loop is run before other threads get the lock.  What is left
 * wakes the next sleep at once. */
#define LOOP_RUNS_MAX 16

/* The same while callbacks wait for this thread: enough runs to tell the kernel
 * what was asked for.  With more, answers that keep coming would delay the
 * first callback until the last of many answers. */
#define LOOP_RUNS_WITH_CALLBACKS 2

/* -------------------------------------------------------- what is ready -- */

/* How often the loop may be run now. */
static int max_runs(const struct hf_monitor *m)
{
    bool waiting = m->callback_queue.runner == HF_RUNNER_THREAD &&
                   m->callback_queue.first != NULL;

    return waiting ? LOOP_RUNS_WITH_CALLBACKS : LOOP_RUNS_MAX;
}

/* Run the loop, if it is created, until nothing is left or it was run often
 * enough. */
static void run_loop(struct hf_monitor *m)
{
    int runs = 0;

    if (!m->loop.made)
        return;
    while (hf_loop_run(&m->loop, &m->events) && ++runs < max_runs(m))
        ;
}

/* Let the owner do what is due.  True if anything was due. */
static bool run_due(struct hf_monitor *m)
{
    bool due = m->ops->due_at_ms(m->owner) <= hf_now_ms();

    if (due)
        m->ops->run_due(m->owner);
    return due;
}

/* What is due is done after the loop was run, because an answer that has
 * arrived may make it needless. */
void hf_monitor_run_ready(struct hf_monitor *m)
{
    if (m->loop_closed)
        return;
    run_loop(m);
    if (run_due(m))
        run_loop(m); /* send what .run_due asked for */
    hf_loop_arm(&m->loop, m->ops->due_at_ms(m->owner));
}

/* The only place where a thread sleeps on the loop.  It reads the timeout of
 * the loop first, because uv_backend_timeout() needs the lock. */
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
    /* EINTR and ENOMEM need no care: the caller checks its state in any
     * case. */
    (void)poll(fds, 2, timeout_ms);
    hf_monitor_lock(m);
    m->sleepers--;
}

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

    hf_callback_enter();
    for (; objects != NULL; objects = next) {
        next = objects->next;
        objects->destroy(objects);
    }
    hf_callback_leave();
}

/* Release the lock, then destroy the deferred objects.  The list is taken
 * first, because each object holds a reference to the monitor and the last one
 * may free it: the monitor must not be touched after the release. */
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

/* ------------------------------------------------------ enter and leave -- */

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
    /* See .due_at_ms: without a loop what is due can wait, and often this call
     * makes it needless. */
    if (m->loop.made)
        (void)run_due(m);
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

/* ------------------------------------------------------------- lifetime -- */

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
