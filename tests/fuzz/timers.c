/* SPDX-License-Identifier: Apache-2.0 */
/* A table of timers in place of those of libuv. */
#include "timers.h"

#include <sys/types.h>
#include <uv.h>

#include "base/random.h"
#include "base/time_math.h"
#include "fuzz.h"

#define TIMERS_MAX 8

struct fake_timer {
    uv_timer_t *handle; /* NULL: unused */
    uv_timer_cb fire;
    uint64_t at_ms;
};

static struct {
    struct fake_timer timers[TIMERS_MAX];
    const uint64_t *now_ms;
    struct hf_random random;
} state;

int __real_uv_is_active(const uv_handle_t *handle);
void __real_uv_close(uv_handle_t *handle, uv_close_cb closed);
int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb fire,
                          uint64_t timeout_ms, uint64_t repeat_ms);
int __wrap_uv_timer_stop(uv_timer_t *handle);
int __wrap_uv_is_active(const uv_handle_t *handle);
void __wrap_uv_close(uv_handle_t *handle, uv_close_cb closed);
ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags);

void timers_begin(const uint64_t *now_ms)
{
    for (size_t i = 0; i < TIMERS_MAX; i++)
        state.timers[i].handle = NULL;
    state.now_ms = now_ms;
    hf_random_seed(&state.random, 1);
}

static struct fake_timer *find(const uv_timer_t *handle)
{
    for (size_t i = 0; i < TIMERS_MAX; i++)
        if (state.timers[i].handle == handle)
            return &state.timers[i];
    return NULL;
}

int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb fire,
                          uint64_t timeout_ms, uint64_t repeat_ms)
{
    struct fake_timer *fake_timer = find(handle);

    if (fake_timer == NULL)
        fake_timer = find(NULL);
    MUST(fake_timer != NULL && repeat_ms == 0);
    *fake_timer = (struct fake_timer){handle, fire,
                                      hf_after_ms(*state.now_ms, timeout_ms)};
    return 0;
}

int __wrap_uv_timer_stop(uv_timer_t *handle)
{
    struct fake_timer *fake_timer = find(handle);

    if (fake_timer != NULL)
        fake_timer->handle = NULL;
    return 0;
}

int __wrap_uv_is_active(const uv_handle_t *handle)
{
    if (handle->type == UV_TIMER)
        return find((const uv_timer_t *)handle) != NULL;
    return __real_uv_is_active(handle);
}

void __wrap_uv_close(uv_handle_t *handle, uv_close_cb closed)
{
    if (handle->type == UV_TIMER)
        (void)__wrap_uv_timer_stop((uv_timer_t *)handle);
    __real_uv_close(handle, closed);
}

uint64_t timers_next_ms(void)
{
    uint64_t at_ms = HF_FOREVER;

    for (size_t i = 0; i < TIMERS_MAX; i++)
        if (state.timers[i].handle != NULL)
            at_ms = hf_min_ms(at_ms, state.timers[i].at_ms);
    return at_ms;
}

/* Each once: a timer that is started again meanwhile fires the next time. */
void timers_fire(uint64_t now_ms)
{
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        struct fake_timer fake_timer = state.timers[i];

        if (fake_timer.handle == NULL || fake_timer.at_ms > now_ms)
            continue;
        state.timers[i].handle = NULL;
        fake_timer.fire(fake_timer.handle);
    }
}

ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags)
{
    uint8_t *to = buffer;

    (void)flags;
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)hf_random_below(&state.random, 256);
    return (ssize_t)bytes;
}
