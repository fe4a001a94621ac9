/* SPDX-License-Identifier: Apache-2.0 */
/* How often and how long a request is tried again (base/retry.h). */

#include "cmocka/runner.h"

#include <holdfast/holdfast.h>

#include "base/retry.h"
#include "base/time_math.h"

static struct hf_random seeded(uint64_t seed)
{
    struct hf_random random;

    hf_random_seed(&random, seed);
    return random;
}

TEST(delays_double_up_to_the_cap)
{
    static const uint64_t longest[] = {100, 200, 400, 800, 1000, 1000, 1000};
    struct hf_retry_policy policy = {100, 1000, HF_RETRY_UNLIMITED, HF_FOREVER};

    for (uint64_t seed = 0; seed < 200; seed++) {
        struct hf_random random = seeded(seed);
        struct hf_retry_state retry = {0};

        for (size_t k = 0; k < sizeof longest / sizeof longest[0]; k++) {
            uint64_t at_ms = hf_retry_next(&policy, &retry, 5000, &random);

            assert_in_range(at_ms, 5000 + longest[k] / 2, 5000 + longest[k]);
        }
    }
}

TEST(the_whole_upper_half_is_drawn)
{
    struct hf_retry_policy policy = {10, 10, HF_RETRY_UNLIMITED, HF_FOREVER};
    struct hf_random random = seeded(3);
    struct hf_retry_state retry = {0};
    unsigned seen[11] = {0};

    for (int i = 0; i < 1000; i++)
        seen[hf_retry_next(&policy, &retry, 0, &random)]++;
    for (size_t delay = 0; delay <= 10; delay++)
        assert_int_equal(seen[delay] > 0, delay >= 5);
}

TEST(it_ends_after_so_many_tries)
{
    struct hf_retry_policy policy = {1, 1, 3, HF_FOREVER};
    struct hf_random random = seeded(1);
    struct hf_retry_state retry = {0};

    for (int i = 0; i < 3; i++)
        assert_true(hf_retry_next(&policy, &retry, 0, &random) != HF_FOREVER);
    for (int i = 0; i < 3; i++)
        assert_true(hf_retry_next(&policy, &retry, 0, &random) == HF_FOREVER);
}

TEST(no_tries_is_once_without_a_retry)
{
    struct hf_retry_policy policy = {1, 1, 0, HF_FOREVER};
    struct hf_random random = seeded(1);
    struct hf_retry_state retry = {0};

    assert_true(hf_retry_next(&policy, &retry, 9, &random) == HF_FOREVER);
}

TEST(time_counts_from_the_first_failure)
{
    struct hf_retry_policy policy = {100, 100, HF_RETRY_UNLIMITED, 1000};
    struct hf_random random = seeded(1);
    struct hf_retry_state retry = {0};

    assert_true(hf_retry_next(&policy, &retry, 5000, &random) != HF_FOREVER);
    assert_true(hf_retry_next(&policy, &retry, 5900, &random) != HF_FOREVER);
    /* A retry at 5951 or later would still start in time, at 6001 not. */
    assert_true(hf_retry_next(&policy, &retry, 5951, &random) == HF_FOREVER);
    retry = (struct hf_retry_state){0};
    assert_true(hf_retry_next(&policy, &retry, 5951, &random) != HF_FOREVER);
}

TEST(nothing_overflows)
{
    struct hf_retry_policy policy = {UINT64_MAX, UINT64_MAX, HF_RETRY_UNLIMITED,
                                     HF_FOREVER};
    struct hf_random random = seeded(1);
    struct hf_retry_state retry = {.tries = UINT32_MAX - 1};

    assert_true(hf_retry_next(&policy, &retry, UINT64_MAX - 1, &random) ==
                HF_FOREVER);
    policy.base_ms = 1;
    policy.cap_ms = 1000;
    for (int i = 0; i < 3; i++)
        assert_in_range(hf_retry_next(&policy, &retry, 0, &random), 500, 1000);
    policy.base_ms = 0;
    assert_int_equal(hf_retry_next(&policy, &retry, 77, &random), 77);
}

TEST(a_base_above_the_cap_is_cut)
{
    struct hf_retry_policy policy = {5000, 10, HF_RETRY_UNLIMITED, HF_FOREVER};
    struct hf_random random = seeded(1);
    struct hf_retry_state retry = {0};

    assert_in_range(hf_retry_next(&policy, &retry, 0, &random), 5, 10);
}

TEST(instants_saturate)
{
    assert_true(hf_after_ms(5, HF_FOREVER) == HF_FOREVER);
    assert_true(hf_after_ms(HF_FOREVER, 1) == HF_FOREVER);
    assert_true(hf_after_ms(5, 6) == 11);
    assert_true(hf_before_ms(5, 6) == 0);
    assert_true(hf_before_ms(6, 5) == 1);
    assert_true(hf_before_ms(HF_FOREVER, 5) == HF_FOREVER);
}
