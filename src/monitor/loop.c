/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The uv loop and its timer.
 */
#include "monitor/loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/time_math.h"
#include "monitor/clock.h"
#include "thread/high_descriptor.h"

/* How often the loop is run at most until the last of its handles is closed. */
#define CLOSING_RUNS_MAX 16

/* The descriptors that a loop needs: epoll, two pipes of signals, a wake-up,
 * and our timer. */
#define LOOP_DESCRIPTORS 7

/* The timer has fired: it is not armed any more. */
static void on_timer(uv_poll_t *timer, int status, int events)
{
    struct hf_loop *loop = timer->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    /* It may have been armed again since it fired; the read then fails. */
    if (read(loop->timer_fd, &expirations, sizeof(expirations)) < 0 &&
        errno == EAGAIN)
        return;
    loop->armed_at_ms = HF_FOREVER;
}

/* Create the timerfd and poll it.  False if there is no descriptor for it. */
static bool make_timer(struct hf_loop *loop)
{
    loop->armed_at_ms = HF_FOREVER;
    loop->timer_fd = hf_high_descriptor(
        timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    if (loop->timer_fd < 0)
        return false;
    if (uv_poll_init(&loop->uv, &loop->timer, loop->timer_fd) != 0) {
        close(loop->timer_fd);
        return false;
    }
    loop->timer.data = loop;
    (void)uv_poll_start(&loop->timer, UV_READABLE, on_timer);
    return true;
}

/* Are there descriptors for a loop? libuv ends the process if the pipes of its
 * first loop cannot be made, so try with eventfds first.  Another thread may
 * still take them in between. */
static bool has_descriptors(void)
{
    int fds[LOOP_DESCRIPTORS];
    int count = 0;
    bool enough;

    while (count < LOOP_DESCRIPTORS &&
           (fds[count] = eventfd(0, EFD_CLOEXEC)) >= 0)
        count++;
    enough = count == LOOP_DESCRIPTORS;
    while (count > 0)
        close(fds[--count]);
    return enough;
}

/* All descriptors that libuv opens are opened here: those of the loop and, with
 * the first one, those of its signals. */
static bool init_uv(uv_loop_t *uv)
{
    struct hf_low_descriptors reserved;
    int rc;

    hf_low_descriptors_reserve(&reserved);
    rc = uv_loop_init(uv);
    hf_low_descriptors_release(&reserved);
    return rc == 0;
}

uv_loop_t *hf_loop_get(struct hf_loop *loop)
{
    int rc;

    if (hf_loop_is_there(loop))
        return &loop->uv;
    if (hf_loop_is_over(loop) || !has_descriptors() || !init_uv(&loop->uv))
        return NULL;
    if (!make_timer(loop)) {
        rc = uv_loop_close(&loop->uv);
        assert(rc == 0);
        return NULL;
    }
    loop->uv.data = loop->guard;
    loop->state = HF_LOOP_MADE;
    return &loop->uv;
}

/* One question about two descriptors: can the timer be added to the set that
 * the loop watches?  If both are still ours it cannot, because it is in the
 * set.  Failures that are not those of a wrong descriptor say nothing. */
bool hf_loop_is_intact(const struct hf_loop *loop)
{
    struct epoll_event event = {.events = 0};
    int set;

    if (loop->state != HF_LOOP_WATCHED)
        return true;
    set = uv_backend_fd(&loop->uv);
    if (epoll_ctl(set, EPOLL_CTL_ADD, loop->timer_fd, &event) < 0)
        return errno != EBADF && errno != EINVAL && errno != EPERM;
    (void)epoll_ctl(set, EPOLL_CTL_DEL, loop->timer_fd, NULL);
    return false;
}

void hf_loop_abandon(struct hf_loop *loop)
{
    loop->state = HF_LOOP_ABANDONED;
    loop->timer_fd = -1;
}

/* UV_RUN_NOWAIT runs what is ready and does not sleep. */
bool hf_loop_run(struct hf_loop *loop, const uint64_t *events)
{
    uint64_t before = *events;

    assert(hf_loop_is_there(loop));
    loop->unfinished = true;
    (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    loop->state = HF_LOOP_WATCHED;
    /* A handle that a callback has started is known to the kernel only after
     * the next run. */
    loop->unfinished = *events != before || uv_backend_timeout(&loop->uv) == 0;
    return loop->unfinished;
}

bool hf_loop_is_asked(const struct hf_loop *loop)
{
    return loop->unfinished || uv_backend_timeout(&loop->uv) == 0;
}

/* When the next uv timer is due, which the descriptor does not show. */
static uint64_t next_timer_ms(const struct hf_loop *loop)
{
    int timeout_ms = uv_backend_timeout(&loop->uv);

    return timeout_ms < 0 ? HF_FOREVER
                          : hf_after_ms(hf_now_ms(), (uint64_t)timeout_ms);
}

/* The timer is only ever set to an earlier time, and not cancelled, because
 * setting it is a system call. */
void hf_loop_arm(struct hf_loop *loop, uint64_t at_ms)
{
    struct itimerspec when = {{0, 0}, {0, 0}};
    int rc;

    if (!hf_loop_is_there(loop))
        return;
    /* Work that the last run left must wake threads that sleep already. */
    if (hf_loop_is_asked(loop))
        at_ms = 0;
    at_ms = hf_boottime_of_ms(hf_min_ms(at_ms, next_timer_ms(loop)));
    if (loop->armed_at_ms <= at_ms)
        return;
    loop->armed_at_ms = at_ms;
    when.it_value.tv_sec = (time_t)(at_ms / 1000);
    /* Zero would disarm it. */
    when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000L + 1;
    rc = timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    /* Unless the program closes descriptors just now. */
    assert(rc == 0 || !hf_loop_is_intact(loop));
    (void)rc;
}

/* uv_loop_close() refuses until the close callback of each handle has run. */
static void close_uv(struct hf_loop *loop)
{
    int rc;
    int i;

    uv_close((uv_handle_t *)&loop->timer, NULL);
    for (i = 0; (rc = uv_loop_close(&loop->uv)) == UV_EBUSY; i++) {
        assert(i < CLOSING_RUNS_MAX);
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    assert(rc == 0);
    close(loop->timer_fd);
}

void hf_loop_close(struct hf_loop *loop)
{
    assert(!hf_loop_is_over(loop));
    if (hf_loop_is_there(loop))
        close_uv(loop);
    loop->state = HF_LOOP_CLOSED;
}

void hf_loop_after_fork(struct hf_loop *loop)
{
    if (!hf_loop_is_there(loop))
        return;
    close(uv_backend_fd(&loop->uv));
    close(loop->timer_fd);
}
