/* SPDX-License-Identifier: Apache-2.0 */
#include "turns/turns.h"

#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/errno_text.h"
#include "core/error.h"

/* A timer that is early does no harm and saves system calls. */
static void arm(struct hf_turns *turns, uint64_t at_ms)
{
    struct itimerspec when = {{0, 0}, {0, 0}};
    int rest;

    if (turns->armed_at_ms <= at_ms)
        return;
    turns->armed_at_ms = at_ms;
    when.it_value.tv_sec = (time_t)(at_ms / 1000);
    /* Zero would disarm it. */
    when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000L + 1;
    rest = timerfd_settime(turns->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(rest == 0);
    (void)rest;
}

static void end(struct hf_turns *turns)
{
    (void)uv_idle_stop(&turns->idle);
    arm(turns, turns->user.end(turns->user.arg));
}

void hf_turns_enter(struct hf_turns *turns)
{
    turns->callbacks++;
}

void hf_turns_leave(struct hf_turns *turns)
{
    end(turns);
    turns->callbacks--;
}

static void on_idle(uv_idle_t *idle)
{
    struct hf_turns *turns = idle->data;

    hf_turns_enter(turns);
    hf_turns_leave(turns);
}

void hf_turns_end_later(struct hf_turns *turns)
{
    if (turns->callbacks == 0)
        (void)uv_idle_start(&turns->idle, on_idle);
}

static void on_timer(uv_poll_t *timer, int status, int events)
{
    struct hf_turns *turns = timer->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    /* It may have been armed anew since the loop was told. */
    if (read(turns->timer_fd, &expirations, sizeof expirations) < 0)
        return;
    turns->armed_at_ms = HF_FOREVER;
    hf_turns_enter(turns);
    turns->user.due(turns->user.arg);
    hf_turns_leave(turns);
}

/* ------------------------------------------------------------------ life -- */

void hf_turns_init(struct hf_turns *turns, const struct hf_turns_user *user)
{
    *turns = (struct hf_turns){
        .user = *user, .timer_fd = -1, .armed_at_ms = HF_FOREVER};
}

hf_status hf_turns_open(struct hf_turns *turns, uv_loop_t *loop,
                        struct hf_error *error)
{
    int rest;

    turns->timer_fd =
        timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (turns->timer_fd < 0)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptor for a timer: %s; raise the limit on "
                            "open files",
                            hf_errno_text(errno));
    rest = uv_poll_init(loop, &turns->timer, turns->timer_fd);
    if (rest != 0)
        return hf_error_set(error, HF_ELIMIT, "the loop takes no timer: %s",
                            uv_strerror(rest));
    turns->timer.data = turns;
    (void)uv_idle_init(loop, &turns->idle);
    turns->idle.data = turns;
    turns->handles = 2;
    return HF_OK;
}

void hf_turns_begin(struct hf_turns *turns)
{
    (void)uv_poll_start(&turns->timer, UV_READABLE, on_timer);
    end(turns);
}

static void on_closed(uv_handle_t *handle)
{
    struct hf_turns *turns = handle->data;

    assert(turns->handles > 0);
    if (--turns->handles == 0)
        turns->user.closed(turns->user.arg);
}

void hf_turns_close(struct hf_turns *turns)
{
    if (turns->handles > 0) {
        uv_close((uv_handle_t *)&turns->idle, on_closed);
        uv_close((uv_handle_t *)&turns->timer, on_closed);
    }
    if (turns->timer_fd >= 0)
        (void)close(turns->timer_fd);
    turns->timer_fd = -1;
    if (turns->handles == 0)
        turns->user.closed(turns->user.arg);
}

void hf_turns_after_fork(struct hf_turns *turns)
{
    if (turns->timer_fd >= 0)
        (void)close(turns->timer_fd);
}
