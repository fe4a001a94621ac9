/* SPDX-License-Identifier: Apache-2.0 */
/* The time, and an alarm: a descriptor that becomes readable at an instant. */
#ifndef HF_COMMAND_CLOCK_H
#define HF_COMMAND_CLOCK_H

#include <stdint.h>

/* CLOCK_BOOTTIME in milliseconds.  It goes on while the machine sleeps,
 * because the leases of servers go on as well. */
uint64_t hf_clock_now_ms(void);

/* The time of day, in milliseconds since 1970.  It is for people only: no
 * decision depends on it. */
uint64_t hf_clock_utc_ms(void);

/* ${a} + ${b}, at most HF_FOREVER. */
uint64_t hf_clock_add(uint64_t a, uint64_t b);

/* A timerfd(2), made when it is first set: a run without a lease and without
 * processes left behind needs none.  The timeout of poll(2) is no replacement,
 * because it stands still while the machine sleeps. */
struct hf_alarm {
    int fd;         /* the timerfd; -1: never set */
    uint64_t at_ms; /* what it is set to, CLOCK_BOOTTIME; HF_FOREVER: not set */
};
#define HF_ALARM_INIT                                                          \
    {                                                                          \
        -1, UINT64_MAX                                                         \
    }

/* Make .fd readable at ${at_ms}; HF_FOREVER: never.  Readiness for an earlier
 * instant is cleared.  0, or -1 with errno if there is no descriptor. */
int hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms);

#endif
