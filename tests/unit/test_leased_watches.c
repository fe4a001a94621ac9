/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of a leased client on tickets of others, also when notices are
 * lost. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/leased/store.h"
#include "leased_fixture.h"

static struct hf_store *a, *b;

/* Two clients; a holds with ticket a, b waits with ticket b. */
static int begin(void **state)
{
    (void)state;
    model = model_new();
    a = model_open(model, NULL);
    b = model_open(model, NULL);
    model_run(model, 20);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    (void)model_ask(b, HF_REQUEST_ENQUEUE, "q", 'b');
    (void)model_events(a);
    (void)model_events(b);
    model_run(model, 20);
    return strcmp(model_events(b), "ENQUEUED b: a b") == 0 ? 0 : -1;
}

static void b_watches_a(void)
{
    (void)model_ask(b, HF_REQUEST_WATCH, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(b, "WATCHING a");
}

/* After one way to the server and one way back. */
LEASED_TEST(a_release_is_reported_without_asking)
{
    unsigned probes;

    b_watches_a();
    probes = model_calls(model, HF_STORE_EXISTS);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, 2 * MODEL_DELAY_MS);
    EXPECT_EVENTS(b, "GONE a");
    assert_int_equal(model_calls(model, HF_STORE_EXISTS), probes);
}

/* The ticket is probed when its lease ends, and then every watch of it is
 * notified. */
LEASED_TEST(a_dead_owner_is_found_when_its_ticket_runs_out)
{
    uint64_t died_ms = model_now_ms(model);
    uint64_t reported_ms;

    b_watches_a();
    model_crash(a);
    reported_ms = run_until_event(b, "GONE a", 2 * MODEL_TTL_MS);
    assert_true(reported_ms >= 1000 + MODEL_TTL_MS);
    assert_true(reported_ms <= died_ms + MODEL_TTL_MS + 50);
}

LEASED_TEST(fn51_a_lost_notice_is_made_good)
{
    uint64_t gone_ms;

    b_watches_a();
    model_lose_notices(model, true);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    gone_ms = model_now_ms(model);
    assert_true(run_until_event(b, "GONE a", MODEL_TTL_MS) <=
                gone_ms + MODEL_TTL_MS / 2 + 20);
}

/* Also what happened while there was no link. */
LEASED_TEST(a_release_during_an_outage_is_reported)
{
    b_watches_a();
    model_cut(b, false);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, 1000);
    assert_non_null(strstr(model_events(b), "; GONE a"));
    assert_false(model_has(model, "q", 'a'));
}

LEASED_TEST(a_watch_survives_an_outage)
{
    b_watches_a();
    model_cut(b, false);
    (void)run_until_event(b, "RESUMED", 1000);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    (void)run_until_event(b, "GONE a", 10);
}

/* It comes before the answer to the watch. */
LEASED_TEST(a_notice_may_overtake_the_watch)
{
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, 1);
    (void)model_ask(b, HF_REQUEST_WATCH, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(b, "GONE a");
}

LEASED_TEST(a_session_that_is_lost_ends_watches_in_silence)
{
    b_watches_a();
    (void)model_ask(b, HF_REQUEST_WATCH_QUEUE, "q", 'l');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED l: a b");
    model_refuse(model, true);
    model_cut(b, false);
    model_run(model, 2 * MODEL_TTL_MS);
    EXPECT_EVENTS(b, "SUSPENDED; LOST");
    model_refuse(model, false);
    (void)run_until_event(b, "CONNECTED", 2000);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, MODEL_TTL_MS);
    assert_null(strstr(model_events(b), "GONE"));
}

/* -------------------------------------------------------- queue watches -- */

LEASED_TEST(a_queue_watch_learns_of_a_lost_notice)
{
    (void)model_ask(b, HF_REQUEST_WATCH_QUEUE, "q", 'l');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED l: a b");
    model_lose_notices(model, true);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    (void)run_until_event(b, "QUEUE_CHANGED l", MODEL_TTL_MS);
    model_run(model, MODEL_TTL_MS);
    assert_null(strstr(model_events(b), "QUEUE_CHANGED"));
}

/* A probe that was sent before the list does not have what the list has. */
LEASED_TEST(a_probe_of_before_says_nothing_of_a_look)
{
    b_watches_a();
    (void)model_ask(b, HF_REQUEST_WATCH_QUEUE, "q", 'l');
    (void)model_ask(b, HF_REQUEST_WATCH, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED l: a b; WATCHING a");
}

LEASED_TEST(a_look_goes_on_for_longer_than_a_lease)
{
    (void)model_ask(b, HF_REQUEST_WATCH_QUEUE, "q", 'l');
    model_run(model, 5 * MODEL_TTL_MS);
    assert_null(strstr(model_events(b), "QUEUE_CHANGED"));
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    (void)run_until_event(b, "QUEUE_CHANGED l", 10);
}

/* A queue watch of b, which lists ${expected}. */
static void b_looks_at(const char *queue, const char *expected)
{
    (void)model_ask(b, HF_REQUEST_WATCH_QUEUE, queue, 'l');
    model_run(model, 2 * MODEL_DELAY_MS);
    EXPECT_EVENTS(b, expected);
}

/* What a did was reported after one way to the server and one way back. */
static void expect_change_at_once(void)
{
    unsigned lists = model_calls(model, HF_STORE_LIST);

    model_run(model, 2 * MODEL_DELAY_MS);
    EXPECT_EVENTS(b, "QUEUE_CHANGED l");
    assert_int_equal(model_calls(model, HF_STORE_LIST), lists);
}

LEASED_TEST(what_comes_is_reported_without_asking)
{
    b_looks_at("q", "LISTED l: a b");
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'c');
    expect_change_at_once();
    b_looks_at("empty", "LISTED l:");
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "empty", 'd');
    expect_change_at_once();
}

LEASED_TEST(a_downgrade_is_reported_without_asking)
{
    (void)model_enqueue(a, "r", 'w', HF_TICKET_WRITE);
    model_run(model, 20);
    b_looks_at("r", "LISTED l: w");
    (void)model_ask(a, HF_REQUEST_DOWNGRADE, "r", 'w');
    expect_change_at_once();
}

LEASED_TEST(a_ticket_that_is_there_does_not_come_again)
{
    b_looks_at("q", "LISTED l: a b");
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, MODEL_TTL_MS);
    assert_null(strstr(model_events(b), "QUEUE_CHANGED"));
}

LEASED_TEST(a_lost_notice_of_what_comes_is_made_good)
{
    uint64_t since_ms;

    b_looks_at("q", "LISTED l: a b");
    model_lose_notices(model, true);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'c');
    since_ms = model_now_ms(model);
    assert_true(run_until_event(b, "QUEUE_CHANGED l", MODEL_TTL_MS) <=
                since_ms + MODEL_TTL_MS / 2 + 20);
}

LEASED_TEST(a_lost_notice_of_a_downgrade_is_made_good)
{
    (void)model_enqueue(a, "r", 'w', HF_TICKET_WRITE);
    model_run(model, 20);
    b_looks_at("r", "LISTED l: w");
    model_lose_notices(model, true);
    (void)model_ask(a, HF_REQUEST_DOWNGRADE, "r", 'w');
    (void)run_until_event(b, "QUEUE_CHANGED l", MODEL_TTL_MS);
}

LEASED_TEST(an_empty_queue_is_listed_once_in_a_ttl)
{
    enum { TTLS = 5 };
    unsigned lists;

    b_looks_at("empty", "LISTED l:");
    lists = model_calls(model, HF_STORE_LIST);
    model_run(model, TTLS * MODEL_TTL_MS + 20);
    assert_int_equal(model_calls(model, HF_STORE_LIST), lists + TTLS);
    assert_int_equal(model_calls(model, HF_STORE_EXISTS), 0);
    model_lose_notices(model, true);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "empty", 'c');
    (void)run_until_event(b, "QUEUE_CHANGED l", MODEL_TTL_MS + 20);
}

LEASED_TEST(what_came_during_an_outage_is_reported)
{
    b_looks_at("empty", "LISTED l:");
    model_refuse(model, true);
    model_cut(b, false);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "empty", 'c');
    model_run(model, 20);
    model_refuse(model, false);
    model_run(model, 1000);
    assert_non_null(strstr(model_events(b), "; QUEUE_CHANGED l"));
}

/* ------------------------------------------------------------ revocation -- */

LEASED_TEST(a_lost_revocation_comes_with_the_renewal)
{
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'a');
    model_lose_notices(model, true);
    (void)model_ask(b, HF_REQUEST_REVOKE, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(b, "REVOKE_SENT a found");
    EXPECT_EVENTS(a, "WATCHING a");
    (void)run_until_event(a, "REVOKED a", MODEL_TTL_MS / 2);
    model_run(model, MODEL_TTL_MS);
    assert_null(strstr(model_events(a), "REVOKED")); /* once */
}

LEASED_TEST(a_ticket_that_is_evicted_is_not_renewed)
{
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'a');
    (void)model_ask(b, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(a, "WATCHING a; GONE a");
    EXPECT_EVENTS(b, "REMOVED a found");
}

/* -------------------------------------------------------------- constant -- */

/* With fifty waiters a release costs the server as much as with two. */
LEASED_TEST(a_release_wakes_one)
{
    enum { WAITERS = 50 };
    struct hf_store *waiters[WAITERS];
    unsigned calls;

    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = model_open(model, NULL);
        model_run(model, 20);
        (void)model_ask(waiters[i], HF_REQUEST_ENQUEUE, "r", (char)('0' + i));
        model_run(model, 20);
        if (i > 0)
            (void)model_ask(waiters[i], HF_REQUEST_WATCH, "r",
                            (char)('0' + i - 1));
        model_run(model, 20);
        (void)model_events(waiters[i]);
    }
    calls =
        model_calls(model, HF_STORE_LIST) + model_calls(model, HF_STORE_REMOVE);
    (void)model_ask(waiters[0], HF_REQUEST_REMOVE, "r", '0');
    model_run(model, 2 * MODEL_DELAY_MS);
    assert_int_equal(model_calls(model, HF_STORE_LIST) +
                         model_calls(model, HF_STORE_REMOVE),
                     calls + 1);
    assert_non_null(strstr(model_events(waiters[1]), "GONE 0"));
    for (int i = 2; i < WAITERS; i++)
        assert_null(strstr(model_events(waiters[i]), "GONE"));
}
