/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on instants and durations in milliseconds.  It saturates, so that
 * HF_FOREVER plus anything is HF_FOREVER and nothing is before zero. */
#ifndef HF_CORE_INSTANT_H
#define HF_CORE_INSTANT_H

#include <stdint.h>

#include <holdfast/holdfast.h>

/* The instant ${ms} after ${at_ms}. */
static inline uint64_t hf_after_ms(uint64_t at_ms, uint64_t ms)
{
    return ms > HF_FOREVER - at_ms ? HF_FOREVER : at_ms + ms;
}

/* The instant ${ms} before ${at_ms}; that of HF_FOREVER is HF_FOREVER. */
static inline uint64_t hf_before_ms(uint64_t at_ms, uint64_t ms)
{
    if (at_ms == HF_FOREVER)
        return HF_FOREVER;
    return ms > at_ms ? 0 : at_ms - ms;
}

static inline uint64_t hf_earlier_ms(uint64_t a_ms, uint64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

static inline uint64_t hf_later_ms(uint64_t a_ms, uint64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

#endif
