/* SPDX-License-Identifier: Apache-2.0 */
/* See engine_loop.h.  A timerfd, which the loop polls, and an idle handle. */
#include "engine_loop/engine_loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"
#include "thread/high_descriptor.h"

/* Set the timer to ${at_ms} of the host's clock.  If it is set to an earlier
 * time, it stays, which saves a system call; a timer that is early does no
 * harm. */
static void arm_timer(struct hf_engine_loop *loop, uint64_t at_ms)
{
    const struct hf_engine_host *host = loop->user.host;
    struct itimerspec when = {{0, 0}, {0, 0}};
    int rc;

    if (host->boottime_of_ms != NULL)
        at_ms = host->boottime_of_ms(host->host, at_ms);
    if (loop->armed_at_ms <= at_ms)
        return;
    loop->armed_at_ms = at_ms;
    when.it_value.tv_sec = (time_t)(at_ms / 1000);
    /* one nanosecond more, because zero would disarm the timer */
    when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000L + 1;
    rc = timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(rc == 0);
    (void)rc;
}

/* Run the engine, and set the timer to when it wants to be woken.  .run is
 * drive() of zookeeper_io/zk_io.c or of etcd_io/etcd_io.c, or end_turn() of
 * engines/leased/leased_engine.c. */
static void run(struct hf_engine_loop *loop)
{
    (void)uv_idle_stop(&loop->idle);
    arm_timer(loop, loop->user.run(loop->user.arg));
}

void hf_engine_loop_enter(struct hf_engine_loop *loop)
{
    loop->callbacks++;
}

void hf_engine_loop_leave(struct hf_engine_loop *loop)
{
    run(loop);
    loop->callbacks--;
}

/* Requests were made outside of a callback: run the engine. */
static void on_idle(uv_idle_t *idle)
{
    struct hf_engine_loop *loop = idle->data;

    hf_engine_loop_enter(loop);
    hf_engine_loop_leave(loop);
}

void hf_engine_loop_run_soon(struct hf_engine_loop *loop)
{
    if (loop->callbacks == 0)
        (void)uv_idle_start(&loop->idle, on_idle);
}

void hf_engine_loop_run_now(struct hf_engine_loop *loop)
{
    if (uv_is_active((const uv_handle_t *)&loop->idle))
        on_idle(&loop->idle);
}

/* The timer has expired. */
static void on_timer(uv_poll_t *timer, int status, int events)
{
    struct hf_engine_loop *loop = timer->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    /* the timer may have been set again since the loop polled it */
    if (read(loop->timer_fd, &expirations, sizeof expirations) < 0)
        return;
    loop->armed_at_ms = HF_FOREVER;
    hf_engine_loop_enter(loop);
    loop->user.timer_due(loop->user.arg);
    hf_engine_loop_leave(loop);
}

/* ----------------------------------------------------------------- life -- */

void hf_engine_loop_init(struct hf_engine_loop *loop,
                         const struct hf_engine_loop_ops *user)
{
    *loop = (struct hf_engine_loop){
        .user = *user, .timer_fd = -1, .armed_at_ms = HF_FOREVER};
}

hf_status hf_engine_loop_open(struct hf_engine_loop *loop, uv_loop_t *uv_loop,
                              struct hf_error *error)
{
    int rc;

    loop->timer_fd = hf_high_descriptor(
        timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    if (loop->timer_fd < 0)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptor for a timer: %s; raise the limit on "
                            "open files",
                            hf_errno_text(errno));
    rc = uv_poll_init(uv_loop, &loop->timer, loop->timer_fd);
    if (rc != 0)
        return hf_error_set(error, HF_ELIMIT, "the loop takes no timer: %s",
                            uv_strerror(rc));
    loop->timer.data = loop;
    (void)uv_idle_init(uv_loop, &loop->idle);
    loop->idle.data = loop;
    loop->handles = 2;
    return HF_OK;
}

void hf_engine_loop_start(struct hf_engine_loop *loop)
{
    (void)uv_poll_start(&loop->timer, UV_READABLE, on_timer);
    run(loop);
}

/* When the last handle is closed, call .closed. */
static void on_closed(uv_handle_t *handle)
{
    struct hf_engine_loop *loop = handle->data;

    assert(loop->handles > 0);
    if (--loop->handles == 0)
        loop->user.closed(loop->user.arg);
}

void hf_engine_loop_close(struct hf_engine_loop *loop)
{
    if (loop->handles > 0) {
        uv_close((uv_handle_t *)&loop->idle, on_closed);
        uv_close((uv_handle_t *)&loop->timer, on_closed);
    }
    if (loop->timer_fd >= 0)
        (void)close(loop->timer_fd);
    loop->timer_fd = -1;
    if (loop->handles == 0)
        loop->user.closed(loop->user.arg);
}

void hf_engine_loop_after_fork(struct hf_engine_loop *loop)
{
    if (loop->timer_fd >= 0)
        (void)close(loop->timer_fd);
}
