/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on instants and durations in milliseconds.  It saturates:
 * HF_FOREVER plus anything is HF_FOREVER, and nothing is before zero. */
#ifndef HF_CORE_TIME_MATH_H
#define HF_CORE_TIME_MATH_H

#include <stdint.h>

#include <holdfast/holdfast.h>

/* The instant ${ms} after ${at_ms}. */
static inline uint64_t hf_after_ms(uint64_t at_ms, uint64_t ms)
{
    return ms > HF_FOREVER - at_ms ? HF_FOREVER : at_ms + ms;
}

/* When a wait of ${wait_ms} that begins at ${now_ms} is over.  One more,
 * because
 * ${now_ms} was rounded down. */
static inline uint64_t hf_deadline_ms(uint64_t now_ms, uint64_t wait_ms)
{
    return hf_after_ms(now_ms, hf_after_ms(wait_ms, 1));
}

/* The instant ${ms} before ${at_ms}; of HF_FOREVER it is HF_FOREVER. */
static inline uint64_t hf_before_ms(uint64_t at_ms, uint64_t ms)
{
    if (at_ms == HF_FOREVER)
        return HF_FOREVER;
    return ms > at_ms ? 0 : at_ms - ms;
}

/* The earlier instant, or the shorter duration. */
static inline uint64_t hf_min_ms(uint64_t a_ms, uint64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* The later instant, or the longer duration. */
static inline uint64_t hf_max_ms(uint64_t a_ms, uint64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

/* How much of a lease is kept back for clocks that run at different rates:
 * timeout/100, at least 2 ms.  Quartz is specified to 100 ppm at worst, NTP
 * slews by up to 500 ppm (RFC 5905: maximum frequency tolerance); 1 % covers
 * both ends with room for rounding to milliseconds. */
static inline uint64_t hf_margin_ms(uint64_t timeout_ms)
{
    /* Rounded up, else a short timeout would keep back less than 1 %. */
    return hf_max_ms(timeout_ms / 100 + (timeout_ms % 100 != 0), 2);
}

#endif
