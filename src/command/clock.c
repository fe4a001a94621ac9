/* SPDX-License-Identifier: Apache-2.0 */
/* See clock.h. */
#include "command/clock.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <time.h>

#include <holdfast/holdfast.h>

uint64_t hf_clock_now_ms(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(!failed);
    (void)failed;
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t hf_clock_utc_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec < 0
               ? 0
               : (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t hf_clock_add(uint64_t a, uint64_t b)
{
    return a > HF_FOREVER - b ? HF_FOREVER : a + b;
}

int hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms)
{
    struct itimerspec when = {0};

    if (at_ms == HF_FOREVER && alarm->at_ms == HF_FOREVER)
        return 0;
    if (alarm->fd < 0)
        alarm->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (alarm->fd < 0)
        return -1;
    if (at_ms != HF_FOREVER) {
        when.it_value.tv_sec = (time_t)(at_ms / 1000);
        when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000;
        if (at_ms == 0)
            when.it_value.tv_nsec = 1; /* zero would disarm it */
    }
    if (timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return -1;
    alarm->at_ms = at_ms;
    return 0;
}
