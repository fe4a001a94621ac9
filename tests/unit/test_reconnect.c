/* SPDX-License-Identifier: Apache-2.0 */
/* The reconnect policy: how URLs say it, and what it decides after failed
 * attempts. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"

#include <holdfast/holdfast.h>

#include "base/reconnect.h"

#define START_MS 5000

/* ------------------------------------------------------------------ URLs -- */

static hf_status choose(const char *retry, struct hf_reconnect *policy,
                        struct hf_error *error)
{
    char text[256];
    struct hf_url url;
    hf_status status;

    (void)snprintf(text, sizeof text, "zk://h?retry=%s", retry);
    assert_int_equal(hf_url_parse(text, &url, error), HF_OK);
    status = hf_reconnect_choose(&url, NULL, policy, error);
    hf_url_free(&url);
    return status;
}

TEST(a_url_says_a_policy)
{
    static const uint32_t without_end = HF_RECONNECT_UNLIMITED;
    static const struct {
        const char *text;
        struct hf_reconnect policy;
    } rows[] = {
        {"forever", {50, 1000, without_end, HF_FOREVER, NULL, NULL}},
        {"never", {50, 1000, 0, HF_FOREVER, NULL, NULL}},
        {"once", {1000, 1000, 1, HF_FOREVER, NULL, NULL}},
        {"5s", {5000, 0, without_end, HF_FOREVER, NULL, NULL}},
        {"3x5s", {5000, 0, 3, HF_FOREVER, NULL, NULL}},
        {"50ms..1s", {50, 1000, without_end, HF_FOREVER, NULL, NULL}},
        {"10x50ms..1s", {50, 1000, 10, HF_FOREVER, NULL, NULL}},
        {"1s/2m", {1000, 0, without_end, 120000, NULL, NULL}},
        {"9x10ms..2s/1h", {10, 2000, 9, 3600000, NULL, NULL}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_reconnect policy;
        struct hf_error error;

        assert_int_equal(choose(rows[i].text, &policy, &error), HF_OK);
        assert_int_equal(policy.pause_ms, rows[i].policy.pause_ms);
        assert_int_equal(policy.pause_max_ms, rows[i].policy.pause_max_ms);
        assert_int_equal(policy.retries, rows[i].policy.retries);
        assert_true(policy.elapsed_ms == rows[i].policy.elapsed_ms);
        assert_null(policy.fn);
    }
}

TEST(what_is_no_policy_is_refused)
{
    static const char *const bad[] = {
        "",      "always",        "3",          "3x",         "x5s",     "0x5s",
        "-1x5s", "3x0s",          "0ms",        "5s..1s",     "1s..",    "..1s",
        "1s/",   "1s/0s",         "/1m",        "3x5s/1m/1m", "1s...2s", "5 s",
        "3xx5s", "4294967295x1s", "5s..6s..7s", "Once",       "once/1m"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct hf_reconnect policy;
        struct hf_error error;

        assert_int_equal(choose(bad[i], &policy, &error), HF_EURL);
        assert_non_null(strstr(error.text, "retry="));
        assert_non_null(strstr(error.text, "expected forever, never, once"));
    }
}

TEST(a_policy_of_any_length_is_refused)
{
    char text[200] = "";
    struct hf_reconnect policy;
    struct hf_error error;

    for (size_t i = 0; i < sizeof text - 1; i++) {
        text[i] = '1';
        text[i + 1] = '\0';
        assert_int_equal(choose(text, &policy, &error), HF_EURL);
    }
}

TEST(a_url_overrides_what_was_given)
{
    const struct hf_reconnect given = {7, 8, 9, 10, NULL, NULL};
    struct hf_reconnect policy;
    struct hf_error error;
    struct hf_url url;

    assert_int_equal(hf_url_parse("zk://h", &url, &error), HF_OK);
    assert_int_equal(hf_reconnect_choose(&url, &given, &policy, &error), HF_OK);
    assert_int_equal(policy.retries, 9);
    assert_int_equal(hf_reconnect_choose(&url, NULL, &policy, &error), HF_OK);
    assert_int_equal(policy.pause_ms, 50);
    hf_url_free(&url);
    assert_int_equal(hf_url_parse("zk://h?retry=once", &url, &error), HF_OK);
    assert_int_equal(hf_reconnect_choose(&url, &given, &policy, &error), HF_OK);
    assert_int_equal(policy.retries, 1);
    hf_url_free(&url);
}

/* -------------------------------------------------------------- attempts -- */

struct reconnect_fixture {
    struct hf_reconnect_backoff attempts;
    struct hf_random random;
    uint64_t now_ms;
};

static void begin(struct reconnect_fixture *fixture,
                  const struct hf_reconnect *policy, size_t servers)
{
    memset(fixture, 0, sizeof *fixture);
    hf_random_seed(&fixture->random, 1);
    fixture->now_ms = START_MS;
    hf_reconnect_backoff_init(&fixture->attempts, policy, servers);
}

/* One more attempt fails.  Returns the pause that follows; HF_FOREVER: none
 * does, because the policy gives up. */
static uint64_t lose_as(struct reconnect_fixture *fixture, hf_status status)
{
    uint64_t at_ms = hf_reconnect_backoff_failed(
        &fixture->attempts, status, fixture->now_ms, &fixture->random);

    if (at_ms == HF_FOREVER)
        return HF_FOREVER;
    assert_true(at_ms >= fixture->now_ms);
    at_ms -= fixture->now_ms;
    fixture->now_ms += at_ms;
    return at_ms;
}

static uint64_t lose(struct reconnect_fixture *fixture)
{
    return lose_as(fixture, HF_EUNREACHABLE);
}

TEST(without_a_policy_it_goes_on_for_ever)
{
    static const uint64_t longest[] = {50, 100, 200, 400, 800, 1000, 1000};
    struct reconnect_fixture fixture;

    begin(&fixture, NULL, 1);
    for (size_t i = 0; i < sizeof longest / sizeof longest[0]; i++)
        assert_in_range(lose(&fixture), longest[i] / 2, longest[i]);
    for (size_t i = 0; i < 10000; i++)
        assert_in_range(lose(&fixture), 500, 1000);
}

TEST(n_times_is_n_retries_with_one_pause)
{
    const struct hf_reconnect policy = {5000, 0, 3, HF_FOREVER, NULL, NULL};
    struct reconnect_fixture fixture;

    begin(&fixture, &policy, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lose(&fixture), 5000);
    for (int i = 0; i < 3; i++)
        assert_true(lose(&fixture) == HF_FOREVER);
    assert_int_equal(fixture.attempts.retries, 3);
    hf_reconnect_backoff_reset(&fixture.attempts);
    assert_int_equal(lose(&fixture), 5000);
}

TEST(a_try_goes_through_all_servers)
{
    const struct hf_reconnect policy = {100, 0, 1, HF_FOREVER, NULL, NULL};
    struct reconnect_fixture fixture;

    begin(&fixture, &policy, 3);
    assert_int_equal(lose(&fixture), 0);
    assert_int_equal(lose(&fixture), 0);
    assert_int_equal(lose(&fixture), 100);
    assert_int_equal(lose(&fixture), 0);
    assert_int_equal(lose(&fixture), 0);
    assert_true(lose(&fixture) == HF_FOREVER);
}

TEST(a_connection_that_was_lost_is_no_failed_try)
{
    const struct hf_reconnect policy = {7000, 0, 1, HF_FOREVER, NULL, NULL};
    struct reconnect_fixture fixture;
    uint64_t at_ms;

    begin(&fixture, &policy, 1);
    at_ms = hf_reconnect_backoff_lost(&fixture.attempts, fixture.now_ms,
                                      &fixture.random);
    assert_in_range(at_ms, fixture.now_ms + 25, fixture.now_ms + 50);
    assert_int_equal(lose(&fixture), 7000);
    assert_true(lose(&fixture) == HF_FOREVER);
    assert_int_equal(fixture.attempts.retries, 1);

    begin(&fixture, &policy, 2);
    at_ms = hf_reconnect_backoff_lost(&fixture.attempts, fixture.now_ms,
                                      &fixture.random);
    assert_true(at_ms == fixture.now_ms); /* at the other server */
    assert_int_equal(lose(&fixture), 7000);
    assert_int_equal(lose(&fixture), 0);
    assert_true(lose(&fixture) == HF_FOREVER);
}

TEST(the_pauses_after_a_loss_double_as_well)
{
    struct reconnect_fixture fixture;

    begin(&fixture, NULL, 1);
    (void)hf_reconnect_backoff_lost(&fixture.attempts, fixture.now_ms,
                                    &fixture.random);
    assert_in_range(lose(&fixture), 50, 100);
    assert_in_range(lose(&fixture), 100, 200);
}

TEST(time_ends_it_as_well)
{
    const struct hf_reconnect policy = {400,  0,    HF_RECONNECT_UNLIMITED,
                                        1000, NULL, NULL};
    struct reconnect_fixture fixture;

    begin(&fixture, &policy, 1);
    assert_int_equal(lose(&fixture), 400);
    assert_int_equal(lose(&fixture), 400);
    assert_true(lose(&fixture) == HF_FOREVER); /* it would be at 1200 */
}

TEST(a_pause_of_nothing_is_one_millisecond)
{
    const struct hf_reconnect policy = {0, 0, 2, HF_FOREVER, NULL, NULL};
    struct reconnect_fixture fixture;

    begin(&fixture, &policy, 1);
    assert_int_equal(lose(&fixture), 1);
    assert_int_equal(lose(&fixture), 1);
    assert_true(lose(&fixture) == HF_FOREVER);
}

struct callback_calls {
    uint32_t times;
    uint32_t retries;
    uint64_t elapsed_ms;
};

static bool twice_and_longer_each_time(void *arg, uint32_t retries,
                                       uint64_t elapsed_ms, uint64_t *pause_ms)
{
    struct callback_calls *callback_calls = arg;

    callback_calls->times++;
    callback_calls->retries = retries;
    callback_calls->elapsed_ms = elapsed_ms;
    assert_int_equal(*pause_ms, 30);
    *pause_ms = 100 * (retries + UINT64_C(1));
    return retries < 2;
}

TEST(a_callback_decides)
{
    struct callback_calls callback_calls = {0};
    const struct hf_reconnect policy = {
        30, 40, 0, HF_FOREVER, twice_and_longer_each_time, &callback_calls};
    struct reconnect_fixture fixture;

    begin(&fixture, &policy, 1);
    assert_int_equal(lose(&fixture), 100);
    assert_int_equal(callback_calls.elapsed_ms, 0);
    assert_int_equal(lose(&fixture), 200);
    assert_int_equal(callback_calls.elapsed_ms, 100);
    assert_true(lose(&fixture) == HF_FOREVER);
    assert_int_equal(callback_calls.times, 3);
    assert_int_equal(callback_calls.retries, 2);
    assert_int_equal(callback_calls.elapsed_ms, 300);
}

TEST(nothing_overflows)
{
    const struct hf_reconnect policy = {
        HF_FOREVER, 0, HF_RECONNECT_UNLIMITED, HF_FOREVER, NULL, NULL};
    struct reconnect_fixture fixture;

    begin(&fixture, &policy, 1);
    assert_true(lose(&fixture) == HF_FOREVER);
    fixture.attempts.retries = UINT32_MAX;
    fixture.attempts.policy.pause_ms = 10;
    assert_int_equal(lose(&fixture), 10);
    assert_int_equal(fixture.attempts.retries, UINT32_MAX);
}

/* ----------------------------------------------------------------- final -- */

TEST(what_all_servers_say_is_final)
{
    static const hf_status finals[] = {HF_EDENIED, HF_EURL, HF_EUNSUPPORTED};

    for (size_t i = 0; i < sizeof finals / sizeof finals[0]; i++) {
        struct reconnect_fixture fixture;

        begin(&fixture, NULL, 2);
        (void)lose_as(&fixture, finals[i]);
        assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
        (void)lose_as(&fixture, HF_EUNREACHABLE);
        assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
        (void)lose_as(&fixture, finals[i]);
        assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
        (void)lose_as(&fixture, finals[i]);
        assert_true(hf_reconnect_backoff_is_final(&fixture.attempts));
        hf_reconnect_backoff_reset(&fixture.attempts);
        (void)lose_as(&fixture, finals[i]);
        assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
    }
}

/* Neither server takes us, each for a reason of its own. */
TEST(refusals_for_different_reasons_are_final)
{
    struct reconnect_fixture fixture;

    begin(&fixture, NULL, 2);
    (void)lose_as(&fixture, HF_EDENIED);
    (void)lose_as(&fixture, HF_EUNSUPPORTED);
    assert_true(hf_reconnect_backoff_is_final(&fixture.attempts));
    assert_int_equal(hf_reconnect_backoff_status(&fixture.attempts),
                     HF_EUNSUPPORTED);
    (void)lose_as(&fixture, HF_EUNREACHABLE);
    assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
    assert_int_equal(hf_reconnect_backoff_status(&fixture.attempts),
                     HF_EUNREACHABLE);
}

TEST(nonsense_is_final_when_it_stays)
{
    struct reconnect_fixture fixture;

    begin(&fixture, NULL, 2);
    for (int i = 0; i < 2 * HF_RECONNECT_PROTOCOL_ROUNDS; i++) {
        assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
        (void)lose_as(&fixture, HF_EPROTOCOL);
    }
    assert_true(hf_reconnect_backoff_is_final(&fixture.attempts));
    (void)lose(&fixture);
    assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
}

TEST(what_may_pass_is_never_final)
{
    struct reconnect_fixture fixture;

    begin(&fixture, NULL, 1);
    for (int i = 0; i < 100; i++) {
        (void)lose(&fixture);
        assert_false(hf_reconnect_backoff_is_final(&fixture.attempts));
    }
}
