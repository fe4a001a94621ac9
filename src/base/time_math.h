/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on instants and durations in milliseconds.  It saturates:
 * HF_FOREVER plus anything is HF_FOREVER, and no instant is before zero. */
#ifndef HF_BASE_TIME_MATH_H
#define HF_BASE_TIME_MATH_H

#include <stdint.h>

#include <holdfast/client.h>

/* The instant ${ms} after ${at_ms}. */
static inline uint64_t hf_after_ms(uint64_t at_ms, uint64_t ms)
{
    return ms > HF_FOREVER - at_ms ? HF_FOREVER : at_ms + ms;
}

/* Return when a wait of ${wait_ms} that begins at ${now_ms} is over.  A
 * millisecond is added, because ${now_ms} was rounded down. */
static inline uint64_t hf_deadline_ms(uint64_t now_ms, uint64_t wait_ms)
{
    return hf_after_ms(now_ms, hf_after_ms(wait_ms, 1));
}

/* The instant ${ms} before ${at_ms}.  HF_FOREVER stays HF_FOREVER. */
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

/* Return when a timer that is set at ${now_ms} must fire, so that ${at_ms} is
 * missed by about a millisecond at most: after ten elevenths of the time.  The
 * timer is then set again for the rest, a few times in all.  The reason: the
 * timer runs by the kernel's clock.  If the kernel slews that clock to be slow,
 * the library's clock is faster (monitor/clock.h).  Used for instants at which
 * the user must have been notified of a loss; other timers may be late. */
static inline uint64_t hf_wake_before_ms(uint64_t now_ms, uint64_t at_ms)
{
    if (at_ms == HF_FOREVER || at_ms <= now_ms)
        return at_ms;
    return at_ms - (at_ms - now_ms) / 11;
}

/* By how many percent the clocks of different machines may run faster or slower
 * than time: the default and the range of the URL option clock_drift=.  chrony
 * slews by up to 83333 ppm (its default maxslewrate), 8.3 %; ntpd by 0.05 %;
 * quartz is specified to 0.01 % at worst. */
#define HF_CLOCK_DRIFT 9
#define HF_CLOCK_DRIFT_MIN 1
#define HF_CLOCK_DRIFT_MAX 50

/* Return ${ms} * ${numerator} / ${denominator}, rounded up.  ${numerator} and
 * ${denominator} are small. */
static inline uint64_t hf_scaled_ms(uint64_t ms, uint64_t numerator,
                                    uint64_t denominator)
{
    uint64_t times = ms / denominator, rest = ms % denominator;

    if (times > HF_FOREVER / numerator - 1)
        return HF_FOREVER;
    return times * numerator +
           (rest * numerator + denominator - 1) / denominator;
}

/* Return how much of a lease of ${timeout_ms} we must not use.  The clock that
 * ends the lease may be fast by ${drift} percent; then the lease lasts only 100
 * / (100 + drift) of ${timeout_ms}.  At least 2 ms, because times are rounded.
 */
static inline uint64_t hf_margin_ms(uint64_t timeout_ms, uint64_t drift)
{
    return hf_max_ms(hf_scaled_ms(timeout_ms, drift, 100 + drift), 2);
}

/* Return how long to wait, by a clock that may be fast by ${drift} percent,
 * until ${ms} have passed for certain. */
static inline uint64_t hf_stretched_ms(uint64_t ms, uint64_t drift)
{
    return hf_scaled_ms(ms, 100 + drift, 100);
}

/* Return how long to wait until a server has counted ${ms} for certain: the
 * server's clock may be slow by ${drift} percent, and ours fast. */
static inline uint64_t hf_outlasting_ms(uint64_t ms, uint64_t drift)
{
    return ms == HF_FOREVER ? HF_FOREVER
                            : hf_scaled_ms(ms, 100 + drift, 100 - drift);
}

#endif
