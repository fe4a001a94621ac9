/* SPDX-License-Identifier: Apache-2.0 */
#include "timers.h"

#include <sys/types.h>
#include <uv.h>

#include "core/random.h"
#include "core/time_math.h"
#include "fuzz.h"

#define TIMERS_MAX 8

struct timer {
    uv_timer_t *handle; /* NULL: spare */
    uv_timer_cb ring;
    uint64_t at_ms;
};

static struct {
    struct timer timers[TIMERS_MAX];
    const uint64_t *now_ms;
    struct hf_random random;
} all;

int __real_uv_is_active(const uv_handle_t *handle);
void __real_uv_close(uv_handle_t *handle, uv_close_cb closed);
int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb ring,
                          uint64_t timeout_ms, uint64_t repeat_ms);
int __wrap_uv_timer_stop(uv_timer_t *handle);
int __wrap_uv_is_active(const uv_handle_t *handle);
void __wrap_uv_close(uv_handle_t *handle, uv_close_cb closed);
ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags);

void timers_begin(const uint64_t *now_ms)
{
    for (size_t i = 0; i < TIMERS_MAX; i++)
        all.timers[i].handle = NULL;
    all.now_ms = now_ms;
    hf_random_seed(&all.random, 1);
}

static struct timer *find(const uv_timer_t *handle)
{
    for (size_t i = 0; i < TIMERS_MAX; i++)
        if (all.timers[i].handle == handle)
            return &all.timers[i];
    return NULL;
}

int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb ring,
                          uint64_t timeout_ms, uint64_t repeat_ms)
{
    struct timer *timer = find(handle);

    if (timer == NULL)
        timer = find(NULL);
    MUST(timer != NULL && repeat_ms == 0);
    *timer = (struct timer){handle, ring, hf_after_ms(*all.now_ms, timeout_ms)};
    return 0;
}

int __wrap_uv_timer_stop(uv_timer_t *handle)
{
    struct timer *timer = find(handle);

    if (timer != NULL)
        timer->handle = NULL;
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
        if (all.timers[i].handle != NULL)
            at_ms = hf_min_ms(at_ms, all.timers[i].at_ms);
    return at_ms;
}

/* Each once: one that is set again meanwhile rings the next time. */
void timers_ring(uint64_t now_ms)
{
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        struct timer timer = all.timers[i];

        if (timer.handle == NULL || timer.at_ms > now_ms)
            continue;
        all.timers[i].handle = NULL;
        timer.ring(timer.handle);
    }
}

ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags)
{
    uint8_t *to = buffer;

    (void)flags;
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)hf_random_below(&all.random, 256);
    return (ssize_t)bytes;
}
