/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on instants and durations in milliseconds.  It saturates:
 * HF_FOREVER plus anything is HF_FOREVER, and nothing is before zero. */
#ifndef HF_BASE_TIME_MATH_H
#define HF_BASE_TIME_MATH_H

#include <stdint.h>

#include <holdfast/client.h>

/* The instant ${ms} after ${at_ms}. */
static inline uint64_t hf_after_ms(uint64_t at_ms, uint64_t ms)
{
    return ms > HF_FOREVER - at_ms ? HF_FOREVER : at_ms + ms;
}

/* When a wait of ${wait_ms} that begins at ${now_ms} is over.  One more,
 * because ${now_ms} was rounded down. */
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

/* When a timer that is set at ${now_ms} has to fire, so that ${at_ms} is not
 * missed by more than a millisecond or so: after ten elevenths of the time.
 * Then it is set again for the rest, a few times in all.  The timer runs by the
 * kernel's clock, which may be slewed to be slow meanwhile; then the library's
 * clock is the faster one (monitor/clock.h).  Used for the instants at which
 * somebody must have been notified of a loss; other timers may be late by that.
 */
static inline uint64_t hf_wake_before_ms(uint64_t now_ms, uint64_t at_ms)
{
    if (at_ms == HF_FOREVER || at_ms <= now_ms)
        return at_ms;
    return at_ms - (at_ms - now_ms) / 11;
}

/* By how many percent clocks of different machines may run faster or slower
 * than time does: the URL option clock_drift=.  chrony slews by up to 83333 ppm
 * (its default maxslewrate), 8.3 %; ntpd by 0.05 %; quartz is specified to
 * 0.01 % at worst. */
#define HF_CLOCK_DRIFT 9
#define HF_CLOCK_DRIFT_MIN 1
#define HF_CLOCK_DRIFT_MAX 50

/* ${ms} * ${numerator} / ${denominator}, rounded up.  Both are small. */
static inline uint64_t hf_scaled_ms(uint64_t ms, uint64_t numerator,
                                    uint64_t denominator)
{
    uint64_t times = ms / denominator, rest = ms % denominator;

    if (times > HF_FOREVER / numerator - 1)
        return HF_FOREVER;
    return times * numerator +
           (rest * numerator + denominator - 1) / denominator;
}

/* How much of a lease of ${timeout_ms} is kept back, because the clock that
 * ends it may be fast by ${drift} percent: it counts the lease in
 * 100 / (100 + drift) of the time.  At least 2 ms, for rounding. */
static inline uint64_t hf_margin_ms(uint64_t timeout_ms, uint64_t drift)
{
    return hf_max_ms(hf_scaled_ms(timeout_ms, drift, 100 + drift), 2);
}

/* How long to wait until ${ms} have passed for certain, by a clock that may be
 * fast by ${drift} percent. */
static inline uint64_t hf_stretched_ms(uint64_t ms, uint64_t drift)
{
    return hf_scaled_ms(ms, 100 + drift, 100);
}

/* How long to wait until a server has counted ${ms} for certain: its clock may
 * be slow by ${drift} percent, and ours fast. */
static inline uint64_t hf_outlasting_ms(uint64_t ms, uint64_t drift)
{
    return ms == HF_FOREVER ? HF_FOREVER
                            : hf_scaled_ms(ms, 100 + drift, 100 - drift);
}

#endif
