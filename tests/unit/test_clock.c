/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the library: what it is corrected by while the clocks of the
 * machine are slewed. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "base/time_math.h"
#include "cmocka/runner.h"
#include "monitor/clock.h"

#define NS_PER_MS INT64_C(1000000)

/* Readings of a machine: .slew_ns is what the clocks have lost. */
struct machine {
    struct hf_clock_correction corrected;
    struct hf_random random;
    int64_t slew_ns;
};

static void begin(struct machine *machine, int64_t slew_ns)
{
    *machine = (struct machine){.corrected = HF_CLOCK_CORRECTION_INIT,
                                .slew_ns = slew_ns};
    hf_random_seed(&machine->random, 1);
}

/* Read exactly to ${noise_ns}, either way. */
static uint64_t corrected_ms(struct machine *machine, uint64_t noise_ns)
{
    struct hf_slew slew = {machine->slew_ns, machine->slew_ns};

    if (noise_ns > 0) {
        slew.least_ns -= (int64_t)hf_random_below(&machine->random, noise_ns);
        slew.most_ns += (int64_t)hf_random_below(&machine->random, noise_ns);
    }
    return hf_clock_correct(&machine->corrected, &slew);
}

TEST(what_the_clocks_had_lost_before_is_no_matter)
{
    static const int64_t begins_ns[] = {0, -17 * NS_PER_MS, 900 * NS_PER_MS};
    struct machine machine;

    for (size_t i = 0; i < sizeof begins_ns / sizeof *begins_ns; i++) {
        begin(&machine, begins_ns[i]);
        assert_int_equal(corrected_ms(&machine, 0), 0);
        assert_int_equal(corrected_ms(&machine, 0), 0);
    }
}

TEST(clocks_that_become_slow_are_made_good)
{
    struct machine machine;

    begin(&machine, -5 * NS_PER_MS);
    assert_int_equal(corrected_ms(&machine, 0), 0);
    machine.slew_ns += 83 * NS_PER_MS;
    assert_int_equal(corrected_ms(&machine, 0), 83);
    machine.slew_ns += 1;
    assert_int_equal(corrected_ms(&machine, 0), 84);
}

/* What was lost counts, however much was won back before or after. */
TEST(clocks_that_become_fast_count_as_they_are)
{
    struct machine machine;

    begin(&machine, 0);
    assert_int_equal(corrected_ms(&machine, 0), 0);
    machine.slew_ns -= 83 * NS_PER_MS;
    assert_int_equal(corrected_ms(&machine, 0), 0);
    machine.slew_ns += 20 * NS_PER_MS;
    assert_int_equal(corrected_ms(&machine, 0), 20);
    machine.slew_ns -= 20 * NS_PER_MS;
    assert_int_equal(corrected_ms(&machine, 0), 20);
    machine.slew_ns += 83 * NS_PER_MS;
    assert_int_equal(corrected_ms(&machine, 0), 103);
}

/* A thread that loses its processor between two readings corrects nothing that
 * did not happen. */
TEST(noise_does_not_add_up)
{
    struct machine machine;

    begin(&machine, 0);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(
            corrected_ms(&machine, i % 100 == 0 ? 50 * NS_PER_MS : 2000), 0);
}

/* Between any two readings the clock goes on by at least the time that has
 * passed, and by at least CLOCK_BOOTTIME. */
TEST(the_clock_is_never_slower_than_time)
{
    enum { READINGS = 400 };
    int64_t now_ns[READINGS], real_ns[READINGS], kernel_ns[READINGS];
    int64_t real = 0, kernel = 0, ppm = 0;
    struct machine machine;

    begin(&machine, 12345);
    for (int i = 0; i < READINGS; i++) {
        int64_t step_ns =
            (int64_t)hf_random_below(&machine.random, 40 * NS_PER_MS);

        if (i % 16 == 0)
            ppm = (int64_t)hf_random_below(&machine.random, 200000) - 100000;
        real += step_ns;
        kernel += step_ns + step_ns / 1000000 * ppm;
        machine.slew_ns = real - kernel;
        real_ns[i] = real;
        kernel_ns[i] = kernel;
        now_ns[i] = kernel + (int64_t)corrected_ms(&machine, 0) * NS_PER_MS;
        for (int k = 0; k < i; k++) {
            int64_t gone_ns = now_ns[i] - now_ns[k];

            assert_true(gone_ns >= kernel_ns[i] - kernel_ns[k]);
            assert_true(gone_ns + NS_PER_MS >= real_ns[i] - real_ns[k]);
        }
    }
}

/* This machine's own clocks. */
TEST(an_instant_is_converted_there_and_back)
{
    uint64_t before_ms = hf_boottime_ms();
    uint64_t now_ms = hf_boottime_of_ms(hf_now_ms());
    uint64_t after_ms = hf_boottime_ms();

    /* It may have been corrected in between. */
    assert_in_range(now_ms + 1, before_ms, after_ms + 1);
    assert_int_equal(hf_boottime_of_ms(0), 0);
    assert_true(hf_boottime_of_ms(HF_FOREVER) == HF_FOREVER);
}

TEST(a_reading_of_the_slew_is_close)
{
    struct hf_slew slew = hf_slew_read();

    assert_true(slew.least_ns <= slew.most_ns);
}

/* A few wake-ups, however long it is. */
TEST(a_wake_up_for_a_loss_comes_before_it)
{
    uint64_t now_ms = 1000, at_ms = 3601000;
    unsigned wakes = 0;

    while (now_ms < at_ms) {
        uint64_t wake_ms = hf_wake_before_ms(now_ms, at_ms);
        /* The timer comes as late as a clock makes it that is a twelfth slow,
         * and the library's clock shows it. */
        uint64_t slept_ms = (wake_ms - now_ms) * 12 / 11;

        assert_true(wake_ms > now_ms);
        now_ms += slept_ms > 0 ? slept_ms : 1;
        wakes++;
    }
    assert_true(now_ms <= at_ms + 1);
    assert_true(wakes < 20);
    assert_int_equal(hf_wake_before_ms(5, 5), 5);
    assert_int_equal(hf_wake_before_ms(6, 5), 5);
    assert_true(hf_wake_before_ms(5, HF_FOREVER) == HF_FOREVER);
}

/* Within a second, too. */
TEST(an_instant_is_not_before_that_of_the_system)
{
    struct timespec now;

    for (int i = 0; i < 3; i++) {
        uint64_t before_us, us;

        assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
        before_us =
            (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
        us = hf_boottime_us();
        assert_true(us >= before_us);
        assert_true(hf_boottime_ms() >= us / 1000);
        assert_true(hf_now_ms() >= us / 1000);
    }
}
