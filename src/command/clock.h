/* SPDX-License-Identifier: Apache-2.0 */
/* The time, and an alarm: a descriptor that becomes readable at an instant. */
#ifndef HF_COMMAND_CLOCK_H
#define HF_COMMAND_CLOCK_H

#include <stdint.h>

/* Return CLOCK_BOOTTIME in milliseconds.  This clock goes on while the machine
 * sleeps, as the leases of servers do. */
uint64_t hf_clock_now_ms(void);

/* Return the time of day, in milliseconds since 1970.  It is only shown to
 * people: no decision depends on it. */
uint64_t hf_clock_utc_ms(void);

/* Return ${a} + ${b}, at most HF_FOREVER. */
uint64_t hf_clock_add(uint64_t a, uint64_t b);

/* An alarm: a timerfd(2), made when it is first set, because a run without a
 * lease and without processes left behind needs none.  The timeout of poll(2)
 * cannot replace it, because it stands still while the machine sleeps. */
struct hf_alarm {
    int fd;         /* the timerfd; -1: the alarm was never set */
    uint64_t at_ms; /* instant of CLOCK_BOOTTIME; HF_FOREVER: not set */
};
#define HF_ALARM_INIT                                                          \
    {                                                                          \
        -1, UINT64_MAX                                                         \
    }

/* Make .fd readable at ${at_ms}; HF_FOREVER: never.  If .fd is readable because
 * of an earlier instant, it is not any more.  Returns 0, or -1 with errno set
 * if there is no descriptor. */
int hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms);

#endif
