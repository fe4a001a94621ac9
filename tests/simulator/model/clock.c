/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of simulated clocks.  All times are integers, so that a run
 * is the same on every machine.
 */
#include "simulator/model/clock.h"

#define MILLION 1000000

static uint64_t scaled(uint64_t us, int32_t ppm)
{
    return (uint64_t)((int64_t)us + (int64_t)us * ppm / MILLION);
}

/* The inverse of scaled(): the shortest true duration in which the clock
 * advances by at least ${us}. */
static uint64_t unscaled(uint64_t us, int32_t ppm)
{
    uint64_t guess = (uint64_t)((int64_t)us * MILLION / (MILLION + ppm));

    while (guess > 0 && scaled(guess - 1, ppm) >= us)
        guess--;
    while (scaled(guess, ppm) < us)
        guess++;
    return guess;
}

uint64_t sim_clock_read_us(const struct sim_clock *clock, uint64_t now_us)
{
    if (clock->stopped)
        return clock->base_us;
    return clock->base_us + scaled(now_us - clock->since_us, clock->ppm);
}

uint64_t sim_clock_when_us(const struct sim_clock *clock, uint64_t now_us,
                           uint64_t at_us)
{
    uint64_t since_us = clock->stopped ? now_us : clock->since_us;

    if (at_us <= sim_clock_read_us(clock, now_us))
        return now_us;
    return since_us + unscaled(at_us - clock->base_us, clock->ppm);
}

void sim_clock_set_stopped(struct sim_clock *clock, uint64_t now_us,
                           bool stopped)
{
    /* Restart from the exact microsecond that it shows, because rounding could
     * move the clock back. */
    clock->base_us = sim_clock_read_us(clock, now_us);
    clock->since_us = now_us;
    clock->stopped = stopped;
}
