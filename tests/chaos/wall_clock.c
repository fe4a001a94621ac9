/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to be preloaded.  The wall clock that the program reads jumps back
 * and forth by up to four hours, every few milliseconds.  The kernel's clock is
 * not changed: a program that waits until an instant of this clock waits for
 * hours, or not at all.
 */
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 7
#define MOST_S INT64_C(14400)

static struct timespec read_clock(clockid_t clock)
{
    struct timespec now = {0};

    (void)syscall(SYS_clock_gettime, clock, &now);
    return now;
}

/* The same for all processes at one moment, and unlike that a step before. */
static int64_t shift_s(void)
{
    struct timespec now = read_clock(CLOCK_MONOTONIC);
    uint64_t step =
        ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) /
        STEP_MS;

    step = (step + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return (int64_t)(step >> 32) % (2 * MOST_S) - MOST_S;
}

static struct timespec wall_clock(clockid_t clock)
{
    struct timespec now = read_clock(clock);

    now.tv_sec += shift_s();
    return now;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        *now = wall_clock(clock);
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise = wall_clock(CLOCK_REALTIME);

    (void)zone;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    time_t seconds = wall_clock(CLOCK_REALTIME).tv_sec;

    if (now != NULL)
        *now = seconds;
    return seconds;
}
