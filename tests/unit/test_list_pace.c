/* SPDX-License-Identifier: Apache-2.0 */
/* When a queue that is watched is listed (src/client/list_pace.h). */
#include <stdint.h>

#include "base/time_math.h"
#include "client/list_pace.h"
#include "cmocka/runner.h"

#define NOW_MS 1000000

/* A list at ${at_ms} that takes ${took_ms}.  Returns whether it is late. */
static bool list(struct hf_list_pace *pace, uint64_t at_ms, uint64_t took_ms)
{
    assert_true(at_ms >= hf_list_pace_next_at_ms(pace));
    hf_list_pace_begin(pace, at_ms);
    return hf_list_pace_end(pace, at_ms + took_ms);
}

TEST(a_list_is_put_off_and_never_made_earlier)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_begin(&pace, NOW_MS);
    hf_list_pace_postpone(&pace, NOW_MS + 1000);
    hf_list_pace_postpone(&pace, NOW_MS + 500);
    assert_false(hf_list_pace_end(&pace, NOW_MS + 1));
    assert_int_equal(hf_list_pace_next_at_ms(&pace), NOW_MS + 1000);
    assert_false(list(&pace, NOW_MS + 1000, 1));
    assert_int_equal(hf_list_pace_next_at_ms(&pace),
                     NOW_MS + 1000 + HF_LIST_PACE_MS);
}

/* A change that the list under way shows leads to no other one, but that list
 * may be late. */
TEST(a_change_that_is_shown_counts_for_the_list_under_way)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_begin(&pace, NOW_MS);
    hf_list_pace_changed(&pace, NOW_MS + 1, true);
    hf_list_pace_changed(&pace, NOW_MS + 50, true);
    assert_false(pace.changed);
    assert_true(hf_list_pace_end(&pace, NOW_MS + 2 + HF_LIST_PACE_LATE_MS));
    assert_false(list(&pace, NOW_MS + 1000, 100)); /* and not for others */
}

TEST(the_first_change_is_listed_at_once)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_changed(&pace, NOW_MS, false);
    assert_true(hf_list_pace_next_at_ms(&pace) <= NOW_MS);
    assert_false(list(&pace, NOW_MS, 1));
}

TEST(a_change_during_a_list_leads_to_another_one)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_changed(&pace, NOW_MS, false);
    hf_list_pace_begin(&pace, NOW_MS);
    hf_list_pace_changed(&pace, NOW_MS + 1, false);
    assert_false(hf_list_pace_end(&pace, NOW_MS + 2));
    assert_int_equal(hf_list_pace_next_at_ms(&pace), NOW_MS + HF_LIST_PACE_MS);
}

/* Every change is followed by the next one at once. */
TEST(short_lists_have_a_pause_of_their_own)
{
    struct hf_list_pace pace = {0};
    uint64_t at_ms = NOW_MS;

    for (int i = 0; i < 100; i++) {
        hf_list_pace_changed(&pace, at_ms, false);
        at_ms = hf_max_ms(at_ms, hf_list_pace_next_at_ms(&pace));
        assert_int_equal(at_ms, NOW_MS + i * HF_LIST_PACE_MS);
        assert_false(list(&pace, at_ms, 1));
    }
}

TEST(lists_take_a_tenth_of_the_time)
{
    static const uint64_t took_ms[] = {3, 50, 700, HF_LIST_PACE_TOOK_MS};

    for (size_t i = 0; i < sizeof took_ms / sizeof *took_ms; i++) {
        struct hf_list_pace pace = {0};
        uint64_t at_ms = NOW_MS, lists_ms = 0;

        while (at_ms < NOW_MS + 1000000) {
            hf_list_pace_changed(&pace, at_ms, false);
            at_ms = hf_max_ms(at_ms, hf_list_pace_next_at_ms(&pace));
            (void)list(&pace, at_ms, took_ms[i]);
            lists_ms += took_ms[i];
            at_ms += took_ms[i];
        }
        /* And what was saved up before, once, and the last list. */
        assert_true(lists_ms <= (at_ms - NOW_MS + HF_LIST_PACE_SAVED_MS) /
                                        HF_LIST_PACE_SHARE +
                                    2 * took_ms[i]);
    }
}

/* The server did not answer for an hour. */
TEST(a_list_that_hangs_has_a_short_pause_behind_it)
{
    struct hf_list_pace pace = {0};
    uint64_t end_ms = NOW_MS + UINT64_C(3600000);

    hf_list_pace_changed(&pace, NOW_MS, false);
    (void)list(&pace, NOW_MS, end_ms - NOW_MS);
    assert_true(hf_list_pace_next_at_ms(&pace) <=
                end_ms +
                    UINT64_C(1) * HF_LIST_PACE_TOOK_MS * HF_LIST_PACE_SHARE);
}

TEST(one_slow_list_has_no_pause_behind_it)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_changed(&pace, NOW_MS, false);
    (void)list(&pace, NOW_MS, 60);
    hf_list_pace_changed(&pace, NOW_MS + 61, false);
    assert_true(hf_list_pace_next_at_ms(&pace) <= NOW_MS + 61);
}

TEST(a_list_of_a_long_queue_has_a_long_one)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_changed(&pace, NOW_MS, false);
    assert_true(list(&pace, NOW_MS, 2000)); /* more may have happened */
    hf_list_pace_changed(&pace, NOW_MS + 2000, false);
    assert_int_equal(hf_list_pace_next_at_ms(&pace),
                     NOW_MS + 2000 - HF_LIST_PACE_SAVED_MS + 20000);
}

TEST(a_list_that_comes_late_is_late)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_changed(&pace, NOW_MS, false);
    assert_false(list(&pace, NOW_MS + HF_LIST_PACE_LATE_MS - 1, 1));
    hf_list_pace_changed(&pace, NOW_MS + 1000, false);
    hf_list_pace_changed(&pace, NOW_MS + 1100,
                         false); /* the first one counts */
    assert_true(list(&pace, NOW_MS + 1001 + HF_LIST_PACE_LATE_MS, 1));
}

TEST(a_list_that_nothing_has_led_to_is_not)
{
    struct hf_list_pace pace = {0};

    assert_false(list(&pace, NOW_MS, 5000));
}

TEST(an_outage_is_no_time_of_the_list)
{
    struct hf_list_pace pace = {0};

    hf_list_pace_begin(&pace, NOW_MS);
    hf_list_pace_connected(&pace, NOW_MS + 60000);
    (void)hf_list_pace_end(&pace, NOW_MS + 60010);
    assert_true(hf_list_pace_next_at_ms(&pace) <= NOW_MS + 60020);
}
