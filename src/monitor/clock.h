/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the library.  It is CLOCK_BOOTTIME plus a correction, which
 * grows while NTP slews the clocks of this machine to be slow.  So it is never
 * slower than CLOCK_BOOTTIME, nor than time itself: CLOCK_MONOTONIC_RAW, which
 * is not slewed, and the time of suspends.  A lease that is measured with it
 * ends no later than the lease that another machine counts, unless the clock of
 * that machine is fast.
 *
 * Its instants compare within this process alone, because each process corrects
 * by what it has seen.  Instants that others read, and those of timers, are
 * converted to CLOCK_BOOTTIME.
 *
 * Any thread; async-signal-safe.
 */
#ifndef HF_MONITOR_CLOCK_H
#define HF_MONITOR_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

/* Milliseconds of the library's clock.  All instants of the core and of its
 * engines are of this clock, where they say CLOCK_BOOTTIME, too. */
uint64_t hf_now_ms(void);

/* The instant of CLOCK_BOOTTIME in milliseconds at which the library's clock
 * shows ${at_ms}, if the correction stays as it is; while it grows, the instant
 * comes nearer.  HF_FOREVER stays what it is. */
uint64_t hf_boottime_of_ms(uint64_t at_ms);

/* CLOCK_BOOTTIME, for what is measured or shown to others; nothing is decided
 * by it. */
uint64_t hf_boottime_ms(void);
uint64_t hf_boottime_us(void);

/* How far CLOCK_MONOTONIC_RAW is ahead of CLOCK_MONOTONIC, in nanoseconds, at
 * least and at most: the two clocks are not read at once.  Its rise is what
 * CLOCK_BOOTTIME has lost by slewing. */
struct hf_slew {
    int64_t least_ns;
    int64_t most_ns;
};
struct hf_slew hf_slew_read(void);

/* ------------------------------------------------------- the correction -- */

struct hf_clock_correction {
    _Atomic int64_t total_ns; /* the sum of all rises of the slew */
    _Atomic int64_t base_ns;  /* the most that the total was above the slew:
                                 the total is at least this plus the slew */
};
#define HF_CLOCK_CORRECTION_INIT                                               \
    {                                                                          \
        0, INT64_MIN                                                           \
    }

/* Take in ${slew}, and return the correction in milliseconds, rounded up.
 * Since any earlier reading it has grown at least as much as the slew has
 * risen, less the inexactness of the two readings.  A fall of the slew changes
 * nothing: CLOCK_BOOTTIME is then fast by itself. */
uint64_t hf_clock_correct(struct hf_clock_correction *corrected,
                          const struct hf_slew *slew);

#endif
