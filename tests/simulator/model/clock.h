/* SPDX-License-Identifier: Apache-2.0 */
/* A clock in the model: what a machine believes of true time. */
#ifndef HF_TESTS_SIMULATOR_MODEL_CLOCK_H
#define HF_TESTS_SIMULATOR_MODEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sim_clock {
    uint64_t base_us;  /* what it showed ... */
    uint64_t since_us; /* ... at this true time */
    int32_t ppm;       /* it runs so much faster than true time */
    bool stopped;      /* its machine is paused, and will not know */
};

/* What it shows at the true time ${now_us}, which is now. */
uint64_t sim_clock_read_us(const struct sim_clock *clock, uint64_t now_us);

/* The true time at which it will first show ${at_us}; ${now_us} if that is
 * past.  Of a clock that stands: if it went on at once. */
uint64_t sim_clock_when_us(const struct sim_clock *clock, uint64_t now_us,
                           uint64_t at_us);

/* Have it stand still, or go on, from now on. */
void sim_clock_set_stopped(struct sim_clock *clock, uint64_t now_us,
                           bool stopped);

#endif
