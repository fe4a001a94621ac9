/* SPDX-License-Identifier: Apache-2.0 */
/* The time, and a descriptor that tells when an instant has come. */
#ifndef HF_CLI_CLOCK_H
#define HF_CLI_CLOCK_H

#include <stdint.h>

/* CLOCK_BOOTTIME in milliseconds: it goes on while the machine sleeps, as the
 * leases of others do. */
uint64_t hf_clock_now_ms(void);

/* ${a} + ${b}, at most HF_FOREVER. */
uint64_t hf_clock_add(uint64_t a, uint64_t b);

/* A timerfd, made by the first instant that is asked for: a run without a
 * lease and without anything to sweep needs none.  poll()'s own timeout would
 * stand still while the machine sleeps. */
struct hf_alarm {
    int fd; /* -1: never set */
    uint64_t at_ms;
};
#define HF_ALARM_INIT                                                          \
    {                                                                          \
        -1, UINT64_MAX                                                         \
    }

/* Have .fd become readable at ${at_ms}; HF_FOREVER: never.  Readiness for an
 * earlier instant is cleared.  0, or -1 with errno when there is no
 * descriptor to be had. */
int hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms);

#endif
