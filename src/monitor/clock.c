/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the library.
 */
#include "monitor/clock.h"

#include <assert.h>
#include <time.h>

static struct timespec read_clock(void)
{
    struct timespec now;
    int rc = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(rc == 0);
    return now;
}

uint64_t hf_now_ms(void)
{
    struct timespec now = read_clock();

    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t hf_now_us(void)
{
    struct timespec now = read_clock();

    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
