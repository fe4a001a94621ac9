/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a connection by itself: its states, the instants at which
 * something is due, and the error that says why there is no connection. */
#include <string.h>

#include "cmocka/runner.h"

#include <holdfast/holdfast.h>

#include "base/connectivity.h"

#define START_MS 5000
#define SESSION_MS 12000

struct connectivity_fixture {
    struct hf_connectivity connectivity;
    struct hf_random random;
    uint64_t now_ms;
};

static void begin_shared(struct connectivity_fixture *fixture,
                         const struct hf_reconnect *policy, size_t servers,
                         size_t share_servers)
{
    const struct hf_connectivity_config config = {.policy = policy,
                                                  .servers = servers,
                                                  .session_ms = SESSION_MS,
                                                  .share_servers =
                                                      share_servers};

    memset(fixture, 0, sizeof *fixture);
    hf_random_seed(&fixture->random, 1);
    fixture->now_ms = START_MS;
    hf_connectivity_init(&fixture->connectivity, &config);
}

static void begin(struct connectivity_fixture *fixture,
                  const struct hf_reconnect *policy, size_t servers)
{
    begin_shared(fixture, policy, servers, servers);
}

static enum hf_connectivity_action
due(const struct connectivity_fixture *fixture)
{
    return hf_connectivity_due(&fixture->connectivity, fixture->now_ms);
}

static uint64_t wake_in_ms(const struct connectivity_fixture *fixture)
{
    uint64_t at_ms = hf_connectivity_wake_at_ms(&fixture->connectivity);

    return at_ms == HF_FOREVER       ? HF_FOREVER
           : at_ms > fixture->now_ms ? at_ms - fixture->now_ms
                                     : 0;
}

/* Let the time pass until something is due. */
static void sleep_until_due(struct connectivity_fixture *fixture)
{
    fixture->now_ms += wake_in_ms(fixture);
}

static void connecting(struct connectivity_fixture *fixture)
{
    assert_int_equal(due(fixture), HF_CONNECTIVITY_CONNECT);
    hf_connectivity_connecting(&fixture->connectivity, fixture->now_ms);
    assert_int_equal(due(fixture), HF_CONNECTIVITY_NOTHING);
}

static void up(struct connectivity_fixture *fixture)
{
    hf_connectivity_handshaking(&fixture->connectivity);
    hf_connectivity_up(&fixture->connectivity, fixture->now_ms);
}

static void disconnected(struct connectivity_fixture *fixture, hf_status status)
{
    hf_connectivity_disconnected(&fixture->connectivity, status,
                                 fixture->now_ms, &fixture->random);
}

TEST(an_attempt_is_due_at_once)
{
    struct connectivity_fixture fixture;

    begin(&fixture, NULL, 1);
    assert_false(hf_connectivity_has_connection(&fixture.connectivity));
    assert_int_equal(wake_in_ms(&fixture), 0);
    connecting(&fixture);
    assert_true(hf_connectivity_has_connection(&fixture.connectivity));
    assert_false(hf_connectivity_is_up(&fixture.connectivity));
}

TEST(nothing_is_due_while_it_is_up)
{
    struct connectivity_fixture fixture;

    begin(&fixture, NULL, 1);
    connecting(&fixture);
    up(&fixture);
    assert_true(hf_connectivity_is_up(&fixture.connectivity));
    fixture.now_ms += 1000000;
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_NOTHING);
    assert_true(wake_in_ms(&fixture) == HF_FOREVER);
}

TEST(a_silent_attempt_is_given_up)
{
    struct connectivity_fixture fixture;

    begin(&fixture, NULL, 1);
    connecting(&fixture);
    assert_int_equal(wake_in_ms(&fixture), 2000);
    fixture.now_ms += 1500;
    hf_connectivity_handshaking(&fixture.connectivity); /* no new timeout */
    assert_int_equal(wake_in_ms(&fixture), 500);
    fixture.now_ms += 499;
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_NOTHING);
    fixture.now_ms++;
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_GIVE_UP);
    assert_int_equal(hf_connectivity_timed_out(&fixture.connectivity), 2000);
    disconnected(&fixture, HF_EUNREACHABLE);
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_NOTHING);
    assert_in_range(wake_in_ms(&fixture), 25, 50);
}

TEST(an_attempt_has_its_time_again_with_each_answer)
{
    struct connectivity_fixture fixture;
    uint64_t timeout_ms;

    begin(&fixture, NULL, 1);
    connecting(&fixture);
    timeout_ms = wake_in_ms(&fixture);
    for (int i = 0; i < HF_CONNECTIVITY_ANSWERS_MAX; i++) {
        fixture.now_ms += timeout_ms - 1;
        hf_connectivity_answered(&fixture.connectivity, fixture.now_ms);
        assert_true(wake_in_ms(&fixture) == timeout_ms);
    }
    /* A server that answers for ever does not keep it for ever. */
    fixture.now_ms += timeout_ms - 1;
    hf_connectivity_answered(&fixture.connectivity, fixture.now_ms);
    assert_true(wake_in_ms(&fixture) == 1);
    sleep_until_due(&fixture);
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_GIVE_UP);
    (void)hf_connectivity_timed_out(&fixture.connectivity);
    hf_connectivity_disconnected(&fixture.connectivity, HF_EUNREACHABLE,
                                 fixture.now_ms, &fixture.random);
    sleep_until_due(&fixture);
    connecting(&fixture);
    timeout_ms = wake_in_ms(&fixture);
    fixture.now_ms += 1;
    hf_connectivity_answered(&fixture.connectivity, fixture.now_ms);
    assert_true(wake_in_ms(&fixture) == timeout_ms);
}

/* Each server gets a part of the session, and silent rounds get twice as much
 * as the round before, up to that part. */
TEST(silent_attempts_make_the_next_longer)
{
    static const uint64_t expected[] = {2000, 4000, 6000, 6000};
    struct connectivity_fixture fixture;

    begin_shared(&fixture, NULL, 3, 1);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        sleep_until_due(&fixture);
        connecting(&fixture);
        assert_int_equal(wake_in_ms(&fixture), expected[i]);
        sleep_until_due(&fixture);
        assert_int_equal(hf_connectivity_timed_out(&fixture.connectivity),
                         expected[i]);
        disconnected(&fixture, HF_EUNREACHABLE);
    }
    sleep_until_due(&fixture);
    connecting(&fixture);
    up(&fixture);
    disconnected(&fixture, HF_EUNREACHABLE);
    sleep_until_due(&fixture);
    connecting(&fixture);
    assert_int_equal(wake_in_ms(&fixture), 2000); /* it was not silent */

    begin(&fixture, NULL, 20);
    connecting(&fixture);
    assert_int_equal(wake_in_ms(&fixture), 500); /* and not 300 */
}

TEST(a_steady_connection_resets_the_backoff)
{
    const struct hf_reconnect policy = {700, 0, 1, HF_FOREVER, NULL, NULL};
    struct connectivity_fixture fixture;

    begin(&fixture, &policy, 1);
    for (int i = 0; i < 3; i++) {
        sleep_until_due(&fixture);
        connecting(&fixture);
        up(&fixture);
        fixture.now_ms += HF_CONNECTIVITY_STEADY_MS;
        disconnected(&fixture, HF_EUNREACHABLE);
        assert_in_range(wake_in_ms(&fixture), 25, 50);
    }
    /* One that ends too soon is a failed attempt. */
    sleep_until_due(&fixture);
    connecting(&fixture);
    up(&fixture);
    fixture.now_ms += HF_CONNECTIVITY_STEADY_MS - 1;
    disconnected(&fixture, HF_EUNREACHABLE);
    assert_int_equal(wake_in_ms(&fixture), 700);
}

TEST(it_is_idle_when_the_policy_gave_up)
{
    const struct hf_reconnect policy = {700, 0, 1, HF_FOREVER, NULL, NULL};
    struct connectivity_fixture fixture;
    uint64_t elapsed_ms;
    uint32_t retries;

    begin(&fixture, &policy, 1);
    assert_false(hf_connectivity_resume(&fixture.connectivity, fixture.now_ms));
    for (int i = 0; i < 2; i++) {
        sleep_until_due(&fixture);
        connecting(&fixture);
        disconnected(&fixture, HF_EUNREACHABLE);
    }
    assert_int_equal(fixture.connectivity.state, HF_CONNECTIVITY_IDLE);
    assert_true(wake_in_ms(&fixture) == HF_FOREVER);
    hf_connectivity_gave_up_after(&fixture.connectivity, fixture.now_ms,
                                  &retries, &elapsed_ms);
    assert_int_equal(retries, 1);
    assert_int_equal(elapsed_ms, 700);
    assert_true(hf_connectivity_resume(&fixture.connectivity, fixture.now_ms));
    connecting(&fixture);
    disconnected(&fixture, HF_EUNREACHABLE);
    assert_int_equal(wake_in_ms(&fixture), 700); /* the policy begins anew */
}

TEST(a_restart_is_no_failed_attempt)
{
    const struct hf_reconnect policy = {700, 0, 0, HF_FOREVER, NULL, NULL};
    struct connectivity_fixture fixture;

    begin(&fixture, &policy, 1);
    for (int i = 0; i < 3; i++) {
        connecting(&fixture);
        up(&fixture);
        hf_connectivity_restart(&fixture.connectivity, fixture.now_ms);
    }
    connecting(&fixture);
    hf_connectivity_restart(&fixture.connectivity, fixture.now_ms);
    connecting(&fixture);
    disconnected(&fixture, HF_EUNREACHABLE);
    assert_int_equal(fixture.connectivity.state, HF_CONNECTIVITY_IDLE);
}

/* What the old ones have answered, and how often, counts no more. */
TEST(other_servers_are_counted_anew)
{
    struct connectivity_fixture fixture;

    begin(&fixture, NULL, 1);
    connecting(&fixture);
    disconnected(&fixture, HF_EURL);
    assert_true(hf_connectivity_is_final(&fixture.connectivity));
    assert_true(hf_connectivity_set_error(&fixture.connectivity, 0, "refused"));
    hf_connectivity_set_servers(&fixture.connectivity, 2);
    assert_false(hf_connectivity_is_final(&fixture.connectivity));
    sleep_until_due(&fixture);
    connecting(&fixture);
    assert_int_equal(wake_in_ms(&fixture), 2000);
    fixture.connectivity.session_ms = 4000; /* two rounds, two servers */
    disconnected(&fixture, HF_EURL);
    assert_int_equal(wake_in_ms(&fixture), 0); /* the second of the round */
    connecting(&fixture);
    assert_int_equal(wake_in_ms(&fixture), 1000);
    assert_true(hf_connectivity_set_error(&fixture.connectivity, 0, "refused"));
}

TEST(a_close_takes_no_longer_than_its_timeout)
{
    struct connectivity_fixture fixture;

    begin(&fixture, NULL, 1);
    connecting(&fixture);
    up(&fixture);
    hf_connectivity_closing(&fixture.connectivity, fixture.now_ms,
                            HF_CLOSE_TIMEOUT_MS);
    assert_true(hf_connectivity_has_connection(&fixture.connectivity));
    assert_int_equal(wake_in_ms(&fixture), HF_CLOSE_TIMEOUT_MS);
    sleep_until_due(&fixture);
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_GIVE_UP);
    hf_connectivity_closed(&fixture.connectivity);
    assert_false(hf_connectivity_has_connection(&fixture.connectivity));
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_NOTHING);
    assert_true(wake_in_ms(&fixture) == HF_FOREVER);
    hf_connectivity_closed(&fixture.connectivity); /* again, by a free */
}

TEST(the_same_error_of_a_server_is_logged_once)
{
    struct connectivity_fixture fixture;
    struct hf_connectivity *connectivity = &fixture.connectivity;

    begin(&fixture, NULL, 2);
    assert_string_equal(connectivity->error, "");
    assert_true(hf_connectivity_set_error(connectivity, 0, "a: refused"));
    assert_true(hf_connectivity_set_error(connectivity, 1, "b: refused"));
    assert_false(hf_connectivity_set_error(connectivity, 0, "a: refused"));
    assert_false(hf_connectivity_set_error(connectivity, 1, "b: refused"));
    assert_string_equal(connectivity->error, "b: refused");
    assert_true(hf_connectivity_set_error(connectivity, 0, "a: no answer"));
    connecting(&fixture);
    up(&fixture);
    assert_string_equal(connectivity->error, "");
    assert_true(hf_connectivity_set_error(connectivity, 0, "a: no answer"));
}

TEST(a_final_error_is_logged_at_a_lower_level)
{
    struct connectivity_fixture fixture;
    struct hf_connectivity *connectivity = &fixture.connectivity;

    begin(&fixture, NULL, 2);
    for (int i = 0; i < 2; i++) {
        assert_false(hf_connectivity_is_final(connectivity));
        assert_int_equal(hf_connectivity_error_level(connectivity),
                         HF_LOG_WARNING);
        sleep_until_due(&fixture);
        connecting(&fixture);
        disconnected(&fixture, HF_EDENIED);
    }
    assert_true(hf_connectivity_is_final(connectivity));
    assert_int_equal(hf_connectivity_status(connectivity), HF_EDENIED);
    assert_int_equal(hf_connectivity_error_level(connectivity), HF_LOG_INFO);
}

/* A refusal counts even if the connection was up for long, unlike one that was
 * lost; nothing from before that time counts. */
TEST(no_attempt_follows_the_refusal_of_all_servers)
{
    struct connectivity_fixture fixture;
    struct hf_connectivity *connectivity = &fixture.connectivity;

    begin(&fixture, NULL, 2);
    connecting(&fixture);
    disconnected(&fixture, HF_EDENIED);
    for (int i = 0; i < 2; i++) {
        assert_false(hf_connectivity_is_final(connectivity));
        sleep_until_due(&fixture);
        connecting(&fixture);
        up(&fixture);
        fixture.now_ms += i == 0 ? HF_CONNECTIVITY_STEADY_MS : 1;
        hf_connectivity_refused(connectivity, HF_EDENIED, fixture.now_ms,
                                &fixture.random);
    }
    assert_true(hf_connectivity_is_final(connectivity));
    assert_true(wake_in_ms(&fixture) == HF_FOREVER);
    assert_false(hf_connectivity_has_connection(connectivity));
    assert_true(hf_connectivity_resume(connectivity, fixture.now_ms));
    assert_false(hf_connectivity_is_final(connectivity));
    assert_int_equal(due(&fixture), HF_CONNECTIVITY_CONNECT);
}

TEST(instants_do_not_overflow)
{
    struct connectivity_fixture fixture;

    begin(&fixture, NULL, 1);
    fixture.now_ms = HF_FOREVER - 10;
    connecting(&fixture);
    assert_true(wake_in_ms(&fixture) == HF_FOREVER);
}
