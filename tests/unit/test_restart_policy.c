/* SPDX-License-Identifier: Apache-2.0 */
/* When a leader starts its command again, and when it resigns. */
#include <stdint.h>

#include "cli/restart_policy.h"
#include "cmocka/runner.h"

/* A command that ends quickly; one that ran well. */
#define QUICK_MS (HF_RESTART_WELL_MS - 1)
#define WELL_MS HF_RESTART_WELL_MS

static const struct hf_restart_policy always_5 = {HF_RESTART_ALWAYS, 5};

/* It is started again after ${delay_ms}. */
static void assert_again(const struct hf_restart_policy *policy,
                         struct hf_restart_state *state, uint64_t ran_ms,
                         int exit_code, uint64_t delay_ms)
{
    uint64_t found_ms = 0;

    assert_int_equal(
        hf_restart_decide(policy, state, ran_ms, exit_code, &found_ms),
        HF_RESTART_AGAIN);
    assert_int_equal(found_ms, delay_ms);
}

/* It fails once too often, and campaigns again after ${delay_ms}. */
static void assert_resigns(const struct hf_restart_policy *policy,
                           struct hf_restart_state *state, uint64_t delay_ms)
{
    uint64_t found_ms = 0;

    assert_int_equal(hf_restart_decide(policy, state, QUICK_MS, 1, &found_ms),
                     HF_RESTART_RESIGN);
    assert_int_equal(found_ms, delay_ms);
}

static void assert_ends(enum hf_restart_when when, int exit_code)
{
    const struct hf_restart_policy policy = {when, 5};
    struct hf_restart_state state = {0};
    uint64_t delay_ms;

    assert_int_equal(
        hf_restart_decide(&policy, &state, WELL_MS, exit_code, &delay_ms),
        HF_RESTART_END);
}

TEST(a_leader_that_cannot_begin_waits_longer_each_time)
{
    struct hf_restart_state begins = {.quick_ends = 2, .quick_failures = 2};

    assert_int_equal(hf_restart_resign(&begins), HF_RESIGNED_DELAY_MIN_MS);
    assert_int_equal(begins.quick_ends, 0);
    assert_int_equal(begins.quick_failures, 0);
    assert_int_equal(hf_restart_resign(&begins), 2 * HF_RESIGNED_DELAY_MIN_MS);
    for (int i = 0; i < 10; i++)
        (void)hf_restart_resign(&begins);
    assert_int_equal(hf_restart_resign(&begins), HF_RESIGNED_DELAY_MAX_MS);
}

TEST(the_status_decides_whether_it_goes_on)
{
    const struct hf_restart_policy on_failure = {HF_RESTART_ON_FAILURE, 5};
    struct hf_restart_state fresh = {0};

    assert_ends(HF_RESTART_NEVER, 0);
    assert_ends(HF_RESTART_NEVER, 1);
    assert_ends(HF_RESTART_ON_FAILURE, 0);
    assert_again(&on_failure, &fresh, QUICK_MS, 1, 100);
    assert_again(&always_5, &fresh, WELL_MS, 0, 100);
}

TEST(quick_ends_double_the_delay_up_to_a_bound)
{
    struct hf_restart_state fresh = {0};
    uint64_t delay_ms = 100;

    for (int i = 0; i < 100; i++) {
        assert_again(&always_5, &fresh, QUICK_MS, 0, delay_ms);
        delay_ms = delay_ms < 5000 ? 2 * delay_ms : 10000;
    }
    assert_again(&always_5, &fresh, WELL_MS, 0, 100);
    assert_again(&always_5, &fresh, QUICK_MS, 0, 100);
    assert_again(&always_5, &fresh, QUICK_MS, 0, 200);
}

/* Fail as often as it is allowed. */
static void fail_4_times(struct hf_restart_state *state)
{
    assert_again(&always_5, state, QUICK_MS, 1, 100);
    assert_again(&always_5, state, 0, 127, 200);
    assert_again(&always_5, state, QUICK_MS, 1, 400);
    assert_again(&always_5, state, QUICK_MS, 137, 800);
}

TEST(quick_failures_in_a_row_are_a_reason_to_resign)
{
    static const uint64_t delays_ms[] = {5000,  10000, 20000,
                                         40000, 60000, 60000};
    struct hf_restart_state fresh = {0};

    for (size_t i = 0; i < sizeof delays_ms / sizeof *delays_ms; i++) {
        fail_4_times(&fresh);
        assert_resigns(&always_5, &fresh, delays_ms[i]);
    }
    /* It ran well: all counts begin anew. */
    assert_again(&always_5, &fresh, WELL_MS, 1, 100);
    fail_4_times(&fresh);
    assert_resigns(&always_5, &fresh, 5000);
}

TEST(a_success_in_between_is_no_failure_in_a_row)
{
    struct hf_restart_state fresh = {0};

    fail_4_times(&fresh);
    assert_again(&always_5, &fresh, QUICK_MS, 0, 1600);
    assert_again(&always_5, &fresh, QUICK_MS, 1, 3200);
}

/* This machine can run it, so the next resignation is the first again. */
TEST(a_success_after_a_resignation_counts)
{
    struct hf_restart_state fresh = {0};

    fail_4_times(&fresh);
    assert_resigns(&always_5, &fresh, 5000);
    assert_again(&always_5, &fresh, QUICK_MS, 0, 100);
    for (uint64_t delay_ms = 200; delay_ms <= 1600; delay_ms *= 2)
        assert_again(&always_5, &fresh, QUICK_MS, 1, delay_ms);
    assert_resigns(&always_5, &fresh, 5000);
}

TEST(a_burst_of_0_never_resigns)
{
    const struct hf_restart_policy patient = {HF_RESTART_ALWAYS, 0};
    struct hf_restart_state fresh = {0};
    uint64_t delay_ms;

    for (int i = 0; i < 1000; i++)
        assert_int_equal(hf_restart_decide(&patient, &fresh, 0, 1, &delay_ms),
                         HF_RESTART_AGAIN);
    assert_int_equal(delay_ms, HF_RESTART_DELAY_MAX_MS);
}
