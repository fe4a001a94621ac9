/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processing what is ready: the loop is run, and the owner does what is due.
 * And the only place where a thread sleeps on the loop.
 */
#include <assert.h>
#include <poll.h>

#include "base/time_math.h"
#include "monitor/monitor_private.h"

/* How often the loop is run before other threads get the lock.  If something is
 * left, the next sleep ends at once. */
#define LOOP_RUNS_MAX 16

/* The same while callbacks wait for the background thread: enough runs to pass
 * the kernel what was asked for.  With more, answers that keep coming would
 * delay the first callback until the last of many answers. */
#define LOOP_RUNS_WITH_CALLBACKS 2

/* Calls in callbacks leave their requests to a later run of the loop, which
 * sends them in one write: at most this many calls. */
#define DELAYED_MAX 16

/* A thread that sleeps looks whether the descriptors are still ours after this
 * long, and then after twice as long each time.  If the program closes them
 * just before poll(2), and has others with their numbers by then, nothing else
 * wakes it.  An idle thread is woken by this some 20 times on the first day. */
#define DESCRIPTORS_CHECK_MS 10000
#define DESCRIPTORS_CHECK_DOUBLINGS 10

/* How often the loop may be run now. */
static int max_runs(const struct hf_monitor *m)
{
    bool waiting = m->callback_queue.runner == HF_RUNNER_THREAD &&
                   m->callback_queue.first != NULL;

    return waiting ? LOOP_RUNS_WITH_CALLBACKS : LOOP_RUNS_MAX;
}

/* Run the loop, if it is created, until nothing is left or it was run often
 * enough.  It sends what calls have delayed. */
static void run_loop(struct hf_monitor *m)
{
    int runs = 0;

    m->delayed = 0;
    if (!hf_loop_is_there(&m->loop) || !hf_monitor_has_descriptors(m))
        return;
    while (hf_loop_run(&m->loop, &m->events) && ++runs < max_runs(m))
        ;
    m->events_run = m->events;
}

/* Work that is due is done after the loop was run, because an answer that has
 * arrived may make it needless. */
static void run_due_and_arm(struct hf_monitor *m)
{
    uint64_t due_at_ms;

    /* The run before may have found that the descriptors are gone. */
    if (hf_loop_is_over(&m->loop))
        return;
    due_at_ms = m->ops->due_at_ms(m->owner);
    if (due_at_ms <= hf_now_ms()) {
        m->ops->run_due(m->owner);
        run_loop(m); /* send what .run_due asked for */
        due_at_ms = m->ops->due_at_ms(m->owner);
    }
    hf_loop_arm(&m->loop, due_at_ms);
}

void hf_monitor_run_ready(struct hf_monitor *m)
{
    if (hf_loop_is_over(&m->loop))
        return;
    run_loop(m);
    m->loop_was_run = true;
    run_due_and_arm(m);
}

void hf_monitor_run_asked(struct hf_monitor *m)
{
    /* Is there something to do that no descriptor shows? */
    if (hf_loop_is_there(&m->loop) &&
        (m->events != m->events_run || hf_loop_is_asked(&m->loop)))
        run_loop(m);
    run_due_and_arm(m);
}

/* A callback has returned: send what the calls in callbacks have delayed, if
 * they are enough or it is time. */
static void end_delay(void *arg)
{
    struct hf_monitor *m = arg;

    if (m->delayed >= DELAYED_MAX ||
        (m->delayed > 0 && hf_now_ms() > m->delayed_at_ms))
        hf_monitor_run_ready(m);
}

/* Only the first callback in the queue needs a wake-up, because the thread that
 * is woken runs all of them. */
void hf_monitor_queue(struct hf_monitor *m, struct hf_callback *callback)
{
    if (!hf_callback_queue_add(&m->callback_queue, callback))
        return;
    if (m->callback_queue.runner == HF_RUNNER_BORROWED_LOOP)
        hf_borrowed_loop_wake(&m->borrowed_loop);
    else if (m->callback_queue.runner == HF_RUNNER_THREAD)
        hf_background_wake(&m->background);
}

void hf_monitor_run_callbacks(struct hf_monitor *m)
{
    hf_callback_queue_run(&m->callback_queue, end_delay, m);
}

/* The only place where a thread sleeps on the loop.  It reads the timeout of
 * the loop first, because uv_backend_timeout() needs the lock. */
void hf_monitor_sleep(struct hf_monitor *m, int fd)
{
    struct pollfd fds[3] = {
        {.fd = uv_backend_fd(&m->loop.uv), .events = POLLIN},
        {.fd = fd, .events = POLLIN},
        {.fd = m->guard.ends[0], .events = POLLIN},
    };
    int timeout_ms = uv_backend_timeout(&m->loop.uv);
    int check_ms = DESCRIPTORS_CHECK_MS << m->idle_checks;
    bool came;

    assert(hf_loop_is_there(&m->loop));
    if (timeout_ms < 0 || timeout_ms > check_ms)
        timeout_ms = check_ms;
    m->sleepers++;
    hf_monitor_unlock(m);
    /* EINTR and ENOMEM need no care: the caller checks its state in any
     * case. */
    came = poll(fds, 3, timeout_ms) != 0;
    hf_monitor_lock(m);
    m->sleepers--;
    if (came)
        m->idle_checks = 0;
    else if (timeout_ms == check_ms &&
             m->idle_checks < DESCRIPTORS_CHECK_DOUBLINGS)
        m->idle_checks++;
    (void)hf_monitor_has_descriptors(m);
}
