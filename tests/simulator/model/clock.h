/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated clock: what a machine shows at a true time.  It may run faster or
 * slower than true time and may stop, as those of real machines do. */
#ifndef HF_TESTS_SIMULATOR_MODEL_CLOCK_H
#define HF_TESTS_SIMULATOR_MODEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sim_clock {
    uint64_t base_us;  /* it showed this ... */
    uint64_t since_us; /* ... at this true time */
    int32_t ppm;       /* parts per million that it is faster than true time */
    bool stopped;      /* its machine is paused */
};

/* What it shows at ${now_us}, which is the true time now. */
uint64_t sim_clock_read_us(const struct sim_clock *clock, uint64_t now_us);

/* The true time at which it will first show ${at_us}; ${now_us} if it already
 * does.  A stopped clock counts as if it continued now. */
uint64_t sim_clock_when_us(const struct sim_clock *clock, uint64_t now_us,
                           uint64_t at_us);

/* Stop the clock, or let it continue, from ${now_us} on. */
void sim_clock_set_stopped(struct sim_clock *clock, uint64_t now_us,
                           bool stopped);

#endif
