/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the library.
 *
 * The correction is two words that only grow, each by a loop of compare and
 * exchange that ends when another thread has made the word great enough; so no
 * thread waits for another one, and a signal handler not for the thread that it
 * interrupts.  Words of different readings can mix if a thread is held up
 * between its reading and its stores.  Then the correction is too great by what
 * the clocks were slewed meanwhile, and never too small.
 */
#include "monitor/clock.h"

#include <assert.h>
#include <time.h>

#include "base/time_math.h"

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/* A thread that lost its processor between two readings knows too little: it
 * reads again, up to READINGS times in all. */
#define READINGS 4
#define CLOSE_NS INT64_C(20000)

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    int rc = clock_gettime(clock, &now);

    assert(rc == 0);
    (void)rc;
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

uint64_t hf_boottime_ms(void)
{
    return (uint64_t)(read_ns(CLOCK_BOOTTIME) / NS_PER_MS);
}

uint64_t hf_boottime_us(void)
{
    return (uint64_t)(read_ns(CLOCK_BOOTTIME) / 1000);
}

struct hf_slew hf_slew_read(void)
{
    struct hf_slew slew = {INT64_MIN, INT64_MAX};

    for (int i = 0; i < READINGS; i++) {
        int64_t before_ns = read_ns(CLOCK_MONOTONIC);
        int64_t raw_ns = read_ns(CLOCK_MONOTONIC_RAW);
        int64_t after_ns = read_ns(CLOCK_MONOTONIC);

        slew = (struct hf_slew){raw_ns - after_ns, raw_ns - before_ns};
        if (after_ns - before_ns <= CLOSE_NS)
            break;
    }
    return slew;
}

/* ------------------------------------------------------- the correction -- */

/* Make ${*word} at least ${ns}, and return what it is now. */
static int64_t raise_to(_Atomic int64_t *word, int64_t ns)
{
    int64_t old_ns = atomic_load(word);

    while (old_ns < ns) {
        if (atomic_compare_exchange_weak(word, &old_ns, ns))
            return ns;
    }
    return old_ns;
}

static uint64_t rounded_up_ms(int64_t ns)
{
    return (uint64_t)((ns + NS_PER_MS - 1) / NS_PER_MS);
}

uint64_t hf_clock_correct(struct hf_clock_correction *corrected,
                          const struct hf_slew *slew)
{
    int64_t base_ns = atomic_load(&corrected->base_ns);
    int64_t total_ns = 0;

    if (base_ns != INT64_MIN)
        total_ns = base_ns + slew->least_ns;
    total_ns = raise_to(&corrected->total_ns, total_ns);
    (void)raise_to(&corrected->base_ns, total_ns - slew->most_ns);
    return rounded_up_ms(total_ns);
}

static struct hf_clock_correction correction = HF_CLOCK_CORRECTION_INIT;

/* What hf_boottime_ms() was when .correction was last brought up to date. */
static _Atomic uint64_t corrected_at_ms;

/* The correction when CLOCK_BOOTTIME shows ${boottime_ms}.  Once in a
 * millisecond is enough: in that time a clock that is slewed loses at most a
 * tenth of a millisecond. */
static uint64_t correction_ms(uint64_t boottime_ms)
{
    uint64_t ms;
    struct hf_slew slew;

    if (atomic_load(&corrected_at_ms) == boottime_ms)
        return rounded_up_ms(atomic_load(&correction.total_ns));
    slew = hf_slew_read();
    ms = hf_clock_correct(&correction, &slew);
    atomic_store(&corrected_at_ms, boottime_ms);
    return ms;
}

uint64_t hf_now_ms(void)
{
    uint64_t boottime_ms = hf_boottime_ms();

    return boottime_ms + correction_ms(boottime_ms);
}

uint64_t hf_boottime_of_ms(uint64_t at_ms)
{
    return hf_before_ms(at_ms, correction_ms(hf_boottime_ms()));
}
