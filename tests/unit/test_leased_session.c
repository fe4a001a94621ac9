/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a leased client: its clocks, its renewals, and what ends it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/time_math.h"
#include "cmocka/runner.h"
#include "core/acquisition.h"
#include "core/session.h"
#include "engines/leased/store.h"
#include "leased_fixture.h"

#define SECOND_MS UINT64_C(1000)

static struct hf_store *a, *b;

static int begin(void **state)
{
    (void)state;
    model = model_new();
    a = model_open(model, NULL);
    model_run(model, 20);
    return strcmp(model_events(a), "CONNECTED 1004") == 0 ? 0 : -1;
}

static void second_client(void)
{
    b = model_open(model, NULL);
    model_run(model, 20);
    (void)model_events(b);
}

/* ---------------------------------------------------------------- policy -- */

static struct hf_store *open_with_policy(uint32_t retries)
{
    const struct hf_reconnect policy = {
        .pause_ms = SECOND_MS, .retries = retries, .elapsed_ms = HF_FOREVER};
    const struct hf_engine_host host = {.reconnect = &policy};

    return model_open(model, &host);
}

LEASED_TEST(a_policy_that_gives_up_ends_the_attempts)
{
    struct hf_store *c;

    model_refuse(model, true);
    c = open_with_policy(2);
    (void)run_until_event(c, "GAVE_UP 2", 10 * SECOND_MS);
    assert_true(hf_leased_wake_at_ms(model_leased(c)) == HF_FOREVER);
    hf_leased_connect(model_leased(c), model_now_ms(model));
    hf_leased_connect(model_leased(c), model_now_ms(model)); /* nothing */
    (void)run_until_event(c, "GAVE_UP 2", 10 * SECOND_MS);
    model_refuse(model, false);
    hf_leased_connect(model_leased(c), model_now_ms(model));
    (void)run_until_event(c, "CONNECTED", SECOND_MS);
}

LEASED_TEST(a_session_that_is_given_up_ends_in_its_time)
{
    struct hf_store *c = open_with_policy(0);

    (void)run_until_event(c, "CONNECTED", SECOND_MS);
    model_run(model, 2 * SECOND_MS);
    model_refuse(model, true);
    model_cut(c, false);
    (void)run_until_event(c, "SUSPENDED", SECOND_MS);
    (void)run_until_event(c, "GAVE_UP 0", SECOND_MS);
    (void)run_until_event(c, "LOST", 2 * MODEL_TTL_MS);
    assert_true(hf_leased_wake_at_ms(model_leased(c)) == HF_FOREVER);
    model_refuse(model, false);
    hf_leased_connect(model_leased(c), model_now_ms(model));
    (void)run_until_event(c, "CONNECTED", SECOND_MS);
}

/* -------------------------------------------------------------- renewals -- */

/* From when the renewal was sent, not from its answer. */
LEASED_TEST(a_session_is_proven_from_sending)
{
    model_run(model, 3200);
    EXPECT_EVENTS(a, "PROVED 4129"); /* 1004 + 5/16 of the ttl */
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 20);
    EXPECT_EVENTS(a, "PROVEN 4220");
}

/* A PROVE while a renewal is under way is answered by that renewal. */
LEASED_TEST(a_proof_shares_the_renewal_under_way)
{
    unsigned before = model_calls(model, HF_STORE_RENEW);

    model_run(model, 4129 - model_now_ms(model) + 1);
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 20);
    EXPECT_EVENTS(a, "PROVEN 4129");
    assert_int_equal(model_calls(model, HF_STORE_RENEW), before + 1);
}

LEASED_TEST(renewals_keep_tickets)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 100 * MODEL_TTL_MS);
    second_client();
    (void)model_ask(b, HF_REQUEST_LIST, "q", 'x');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED x: a");
    assert_null(strstr(model_events(a), "LOST"));
}

/* A renewal that is sent behind an ENQUEUE without an answer covers that
 * ticket. */
LEASED_TEST(a_ticket_under_way_is_renewed_too)
{
    model_run(model, 4128 - model_now_ms(model));
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 3);
    EXPECT_EVENTS(a, "");
    model_run(model, 20);
    EXPECT_EVENTS(a, "ENQUEUED a: a; PROVED 4129");
    model_crash(a);
    /* A ticket that was reported stays reported; it is not found gone before.
     */
    second_client();
    model_run(model, 4129 + MODEL_TTL_MS - model_now_ms(model) - 1);
    (void)model_ask(b, HF_REQUEST_LIST, "q", 'x');
    model_run(model, 2);
    assert_true(model_has(model, "q", 'a'));
    model_run(model, 10);
    (void)model_events(b);
    (void)model_ask(b, HF_REQUEST_LIST, "q", 'x');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED x:");
}

/* A renewal of a ticket that the server does not have does not make it. */
LEASED_TEST(renewal_never_resurrects)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'a');
    EXPECT_EVENTS(a, "ENQUEUED a: a; WATCHING a");
    assert_true(model_evict(model, "q", 'a'));
    model_run(model, MODEL_TTL_MS / 2);
    assert_non_null(strstr(model_events(a), "GONE a"));
    assert_false(model_has(model, "q", 'a'));
    model_run(model, MODEL_TTL_MS);
    assert_false(model_has(model, "q", 'a'));
}

/* A renewal that failed is repeated soon, and the PROVE fails. */
LEASED_TEST(a_failed_renewal_is_repeated)
{
    model_fail(model, true, HF_STORE_RENEW, HF_FAILURE_RETRY);
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 20);
    EXPECT_EVENTS(a, "FAILED PROVE - RETRY");
    model_fail(model, false, HF_STORE_RENEW, HF_FAILURE_RETRY);
    model_run(model, MODEL_TTL_MS / 16 + 20);
    EXPECT_EVENTS(a, "PROVED 1649");
}

/* ------------------------------------------------------------------ loss -- */

/* Before the server can end the lease, however long answers take. */
LEASED_TEST(fn01_a_session_is_lost_before_its_tickets_run_out)
{
    uint64_t lost_ms;

    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    model_refuse(model, true);
    model_cut(a, false);
    EXPECT_EVENTS(a, "ENQUEUED a: a; SUSPENDED");
    lost_ms = run_until_event(a, "LOST", 2 * MODEL_TTL_MS);
    assert_int_equal(lost_ms,
                     1004 + MODEL_TTL_MS - hf_margin_ms(MODEL_TTL_MS, 1));
}

/* A server does not answer: the link is given up while there is time for
 * another one, and then the session. */
LEASED_TEST(a_frozen_server_suspends_and_then_loses)
{
    uint64_t at_ms;

    model_freeze(model, true);
    at_ms = run_until_event(a, "SUSPENDED", MODEL_TTL_MS);
    assert_true(at_ms < 1004 + MODEL_TTL_MS * 2 / 3);
    at_ms = run_until_event(a, "LOST", MODEL_TTL_MS);
    assert_true(at_ms <= 1004 + MODEL_TTL_MS);
    model_freeze(model, false);
    (void)run_until_event(a, "CONNECTED", MODEL_TTL_MS);
}

/* Also with a long lease. */
LEASED_TEST(a_dead_link_is_noticed)
{
    struct hf_store *patient = model_open_with(model, NULL, 3600 * SECOND_MS);
    uint64_t at_ms;

    model_run(model, 60 * SECOND_MS);
    (void)model_events(patient);
    model_freeze(model, true);
    at_ms = model_now_ms(model);
    assert_true(run_until_event(patient, "SUSPENDED", 60 * SECOND_MS) <=
                at_ms + 41 * SECOND_MS);
}

LEASED_TEST(a_short_outage_is_ridden_out)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    (void)model_events(a);
    model_cut(a, false);
    EXPECT_EVENTS(a, "SUSPENDED");
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'x');
    EXPECT_EVENTS(a, "FAILED LIST x RETRY");
    (void)run_until_event(a, "RESUMED", 1000);
    assert_true(model_has(model, "q", 'a'));
}

/* Pending requests are answered before the end of the session is reported. */
LEASED_TEST(writes_are_unsure_and_reads_are_not)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'x');
    (void)model_ask(a, HF_REQUEST_WATCH_QUEUE, "q", 'y');
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'z');
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'w');
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_cut(a, false);
    EXPECT_EVENTS(a, "SUSPENDED; FAILED ENQUEUE a UNSURE; FAILED LIST x RETRY; "
                     "FAILED WATCH_QUEUE y RETRY; FAILED WATCH z RETRY; "
                     "FAILED REMOVE w UNSURE; FAILED PROVE - RETRY");
}

/* Answers are lost and renewals arrive.  Tickets that outlived their session
 * are removed when there is a link again. */
LEASED_TEST(what_outlives_its_session_is_taken_out)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    model_lose_answers(a, true);
    (void)run_until_event(a, "LOST", 2 * MODEL_TTL_MS);
    assert_true(model_has(model, "q", 'a'));
    model_lose_answers(a, false);
    (void)run_until_event(a, "CONNECTED", MODEL_TTL_MS);
    model_run(model, 10);
    assert_false(model_has(model, "q", 'a'));
}

/* ------------------------------------------------------------ late calls -- */

/* It waits in the buffers of a frozen server, and is refused when that goes
 * on after more than a timeout. */
LEASED_TEST(a_late_enqueue_comes_to_nothing)
{
    second_client();
    model_freeze(model, true);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    model_cut(a, true);
    EXPECT_EVENTS(a, "SUSPENDED; FAILED ENQUEUE a UNSURE");
    model_run(model, MODEL_TTL_MS + 1);
    model_freeze(model, false);
    model_run(model, 1000);
    assert_false(model_has(model, "q", 'a'));
    assert_int_equal(model_calls(model, HF_STORE_ENQUEUE), 1);
}

/* Within the timeout it may take effect. */
LEASED_TEST(a_late_enqueue_may_take_effect)
{
    model_freeze(model, true);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    model_cut(a, true);
    model_run(model, MODEL_TTL_MS / 4);
    model_freeze(model, false);
    model_run(model, 1000);
    assert_true(model_has(model, "q", 'a'));
}

/* The ENQUEUE got no answer, and a list shows the ticket later.  Its
 * safe-until is that of renewals before, so those must have covered it. */
LEASED_TEST(an_unsure_ticket_is_renewed)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 3); /* carried out, not answered */
    model_cut(a, true);
    (void)run_until_event(a, "RESUMED", 1000);
    model_run(model, MODEL_TTL_MS * 3);
    (void)model_events(a);
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(a, "LISTED a: a");
}

/* It never reached the server, as the renewal of the next link shows.  That is
 * no loss, because nobody has counted on it. */
LEASED_TEST(an_unsure_ticket_that_is_missing_is_no_loss)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_cut(a, false);
    EXPECT_EVENTS(a, "SUSPENDED; FAILED ENQUEUE a UNSURE");
    (void)run_until_event(a, "RESUMED", 1000);
    for (int i = 0; i < 2; i++) {
        (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
        model_run(model, 20);
        assert_non_null(strstr(model_events(a), "PROVEN"));
    }
    assert_int_equal(model_tickets(model, "q"), 0);
}

/* A list may show a ticket that the server can still lose.  Only a renewal
 * that was answered before shows that it is safe. */
LEASED_TEST(a_list_alone_is_no_proof_of_an_unsure_ticket)
{
    unsigned renewals = model_calls(model, HF_STORE_RENEW);

    model_fail(model, true, HF_STORE_ENQUEUE, HF_FAILURE_UNSURE);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(a, "FAILED ENQUEUE a UNSURE");
    assert_true(model_has(model, "q", 'a'));
    model_fail(model, true, HF_STORE_RENEW, HF_FAILURE_UNSURE);
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(a, "FAILED LIST a RETRY");
    assert_int_equal(model_calls(model, HF_STORE_RENEW), renewals + 1);
    /* For other tickets the list counts. */
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'x');
    model_run(model, 20);
    EXPECT_EVENTS(a, "LISTED x: a");
    model_fail(model, false, HF_STORE_RENEW, HF_FAILURE_UNSURE);
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'a');
    model_run(model, 20);
    assert_non_null(strstr(model_events(a), "; LISTED a: a"));
}

/* The owner asked for its removal and got no answer.  A new link does not
 * report that the ticket is missing: the owner asks again on that link. */
LEASED_TEST(what_was_taken_out_without_an_answer_is_no_loss)
{
    (void)model_enqueue(a, "q", 'a', HF_TICKET_MUTEX);
    model_run(model, 20);
    (void)model_events(a);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, 3); /* carried out, not answered */
    assert_false(model_has(model, "q", 'a'));
    model_cut(a, true);
    EXPECT_EVENTS(a, "SUSPENDED; FAILED REMOVE a UNSURE");
    (void)run_until_event(a, "RESUMED", 1000);
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(a, "REMOVED a");
}

/* The client follows the clock of the server with every answer, so that after
 * a long idle time its first call is not too late. */
LEASED_TEST(a_clock_that_was_set_on_is_followed)
{
    model_step_clock(model, INT64_C(3600) * 1000);
    model_run(model, MODEL_TTL_MS);
    (void)model_events(a);
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(a, "ENQUEUED a: a");
}

/* A clock that is set forward ends tickets early, as the documentation says.
 * The holder learns of it with its next renewal. */
LEASED_TEST(a_clock_that_is_set_on_ends_tickets_early)
{
    second_client();
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'a');
    EXPECT_EVENTS(a, "ENQUEUED a: a; WATCHING a");
    model_step_clock(model, (int64_t)MODEL_TTL_MS + 1);
    (void)model_ask(b, HF_REQUEST_LIST, "q", 'x');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED x:");
    EXPECT_EVENTS(a, "GONE a"); /* reported by the client that removed it */
}

/* Set back: the ticket of a dead owner stays longer by that time. */
LEASED_TEST(a_clock_that_is_set_back_keeps_tickets)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    model_crash(a);
    model_step_clock(model, -(int64_t)MODEL_TTL_MS);
    second_client();
    model_run(model, MODEL_TTL_MS + SECOND_MS);
    (void)model_events(b);
    (void)model_ask(b, HF_REQUEST_LIST, "q", 'x');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED x: a");
    model_run(model, MODEL_TTL_MS);
    (void)model_events(b);
    (void)model_ask(b, HF_REQUEST_LIST, "q", 'x');
    model_run(model, 20);
    EXPECT_EVENTS(b, "LISTED x:");
}

/* A client that holds a ticket survives the step as long as it renews. */
LEASED_TEST(a_clock_that_is_set_back_is_followed)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    model_step_clock(model, -3600 * (int64_t)SECOND_MS);
    model_run(model, 3 * MODEL_TTL_MS);
    assert_true(model_has(model, "q", 'a'));
    assert_null(strstr(model_events(a), "LOST"));
    (void)model_ask(a, HF_REQUEST_REMOVE, "q", 'a');
    model_run(model, 20);
    EXPECT_EVENTS(a, "REMOVED a found");
}

/* ---------------------------------------------------------------- close -- */

LEASED_TEST(a_close_takes_all_tickets)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "r", 'b');
    model_run(model, 20);
    (void)model_events(a);
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    model_run(model, 20);
    EXPECT_EVENTS(a, "CLOSED");
    assert_int_equal(model_tickets(model, "q") + model_tickets(model, "r"), 0);
}

/* Also tickets that may exist. */
LEASED_TEST(a_close_takes_what_is_unsure)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 3);
    model_cut(a, true);
    (void)run_until_event(a, "RESUMED", 1000);
    assert_true(model_has(model, "q", 'a'));
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    model_run(model, 20);
    EXPECT_EVENTS(a, "CLOSED");
    assert_false(model_has(model, "q", 'a'));
}

/* The close has a bound if the server does not answer. */
LEASED_TEST(a_close_is_not_waited_for_long)
{
    uint64_t at_ms;

    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'a');
    model_run(model, 20);
    model_freeze(model, true);
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'x');
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    at_ms = model_now_ms(model);
    assert_true(run_until_event(a, "FAILED LIST x RETRY; CLOSED", 2000) <=
                at_ms + 1000);
}

LEASED_TEST(an_end_without_a_link_is_reported_at_once)
{
    model_refuse(model, true);
    model_cut(a, false);
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    EXPECT_EVENTS(a, "SUSPENDED; CLOSED");
    model_run(model, 10 * MODEL_TTL_MS);
    EXPECT_EVENTS(a, "");
}

/* Asks for the end when it receives .in, and writes what it receives. */
static struct {
    struct hf_store *store; /* NULL: it has asked */
    enum hf_event_kind in;
    char received[64];
} ending;

static void on_event(void *arg, struct hf_event *event)
{
    static const char *const names[] = {
        [HF_EVENT_CONNECTED] = "+",    [HF_EVENT_SUSPENDED] = "S",
        [HF_EVENT_SESSION_LOST] = "L", [HF_EVENT_FAILED] = "F",
        [HF_EVENT_CLOSED] = "X",
    };
    struct hf_store *store = ending.store;

    (void)arg;
    if (event->kind != HF_EVENT_CONNECTION_ERROR)
        strcat(ending.received, names[event->kind]);
    if (store == NULL || event->kind != ending.in)
        return;
    ending.store = NULL;
    (void)model_ask(store, HF_REQUEST_END, NULL, '-');
}

/* The receiver may free what the events before it were about. */
LEASED_TEST(the_end_comes_after_all_events)
{
    static const struct {
        enum hf_event_kind in;
        const char *received;
    } rows[] = {{HF_EVENT_SUSPENDED, "+SFX"},
                {HF_EVENT_FAILED, "+SFX"},
                {HF_EVENT_SESSION_LOST, "+SFLX"}};
    const struct hf_engine_host host = {.host = &ending, .event = on_event};

    model_close(a);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_store *c = model_open(model, &host);

        ending.received[0] = '\0';
        ending.store = c;
        ending.in = rows[i].in;
        model_run(model, 20);
        (void)model_ask(c, HF_REQUEST_LIST, "q", 'x');
        model_refuse(model, true);
        model_cut(c, false);
        model_run(model, 2 * MODEL_TTL_MS);
        assert_string_equal(ending.received, rows[i].received);
        model_refuse(model, false);
        model_close(c);
    }
}

/* ---------------------------------------------------------------- crowds -- */

#define MANY 60

static void enqueue_many(void)
{
    for (int i = 0; i < MANY; i++)
        (void)model_enqueue(a, "one", (char)('0' + i), HF_TICKET_MUTEX);
}

static size_t count_events(const char *events, const char *words)
{
    size_t count = 0;

    while ((events = strstr(events, words)) != NULL) {
        events += strlen(words);
        count++;
    }
    return count;
}

/* Clients from now on have small pieces: six for the many. */
static void enqueue_many_in_pieces(void)
{
    model_renew_in_pieces(model, MANY / 6);
    a = model_open(model, NULL);
    model_run(model, 20);
    enqueue_many();
    model_run(model, 1000);
    assert_int_equal(model_tickets(model, "one"), MANY);
    (void)model_events(a);
}

/* A close of many tickets takes as long as the server needs, while that goes on
 * answering. */
LEASED_TEST(a_close_of_many_takes_all_at_a_slow_server)
{
    uint64_t at_ms;

    enqueue_many_in_pieces();
    model_slow_close(model, 100);
    at_ms = model_now_ms(model);
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    assert_true(run_until_event(a, "CLOSED", 60 * SECOND_MS) >=
                at_ms + UINT64_C(100) * MANY);
    assert_int_equal(model_tickets(model, "one"), 0);
}

/* It has a bound all the same if the server stops to answer. */
LEASED_TEST(a_close_of_many_is_not_waited_for_long)
{
    uint64_t at_ms;

    enqueue_many_in_pieces();
    model_slow_close(model, 100);
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    model_run(model, UINT64_C(150) * MANY / 6);
    model_freeze(model, true);
    at_ms = model_now_ms(model);
    assert_true(run_until_event(a, "CLOSED", 60 * SECOND_MS) <=
                at_ms + MODEL_TTL_MS / 3);
    assert_true(model_tickets(model, "one") > 0);
}

/* The tickets of a lost session are many, too, and the new session does not
 * lose its link while a slow server removes them. */
LEASED_TEST(many_that_outlive_their_session_are_taken_out)
{
    enqueue_many_in_pieces();
    model_lose_answers(a, true);
    (void)run_until_event(a, "LOST", 2 * MODEL_TTL_MS);
    assert_int_equal(model_tickets(model, "one"), MANY);
    model_lose_answers(a, false);
    model_slow_close(model, 100);
    (void)run_until_event(a, "CONNECTED", MODEL_TTL_MS);
    model_run(model, UINT64_C(100) * MANY + SECOND_MS);
    assert_int_equal(model_tickets(model, "one"), 0);
    assert_int_equal(count_events(model_events(a), "SUSPENDED"), 0);
    assert_true(model_calls(model, HF_STORE_CLOSE_SESSION) >= 6);
}

/* A renewal that keeps the session does not wait behind many enqueues. */
LEASED_TEST(a_renewal_goes_past_many_calls)
{
    unsigned renewals = model_calls(model, HF_STORE_RENEW);

    enqueue_many();
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, MODEL_DELAY_MS);
    assert_int_equal(model_calls(model, HF_STORE_ENQUEUE), 32);
    assert_int_equal(model_calls(model, HF_STORE_RENEW), renewals + 1);
    model_run(model, 100);
    assert_int_equal(model_calls(model, HF_STORE_ENQUEUE), MANY);
    assert_int_equal(count_events(model_events(a), "ENQUEUED"), MANY);
    assert_int_equal(model_tickets(model, "one"), MANY);
}

/* A renewal that has seen its ticket gone gives a downgrade no later
 * safe-until, although the ticket is not watched at that time. */
LEASED_TEST(a_downgrade_gives_no_safe_until_for_a_lost_ticket)
{
    const char *events;

    (void)model_enqueue(a, "q", 'a', HF_TICKET_WRITE);
    model_run(model, 20);
    EXPECT_EVENTS(a, "ENQUEUED a: a");
    model_lose_notices(model, true);
    assert_true(model_evict(model, "q", 'a'));
    enqueue_many();
    (void)model_ask(a, HF_REQUEST_DOWNGRADE, "q", 'a');
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 100);
    events = model_events(a);
    assert_non_null(strstr(events, "FAILED PROVE - RETRY"));
    assert_null(strstr(events, "PROVEN"));
    assert_non_null(strstr(events, "FAILED DOWNGRADE a FATAL"));
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    (void)run_until_event(a, "PROVEN", 20);
}

/* The PROVE of a fails. */
static void expect_no_safe_until(void)
{
    const char *events;

    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 100);
    events = model_events(a);
    assert_non_null(strstr(events, "FAILED PROVE - RETRY"));
    assert_null(strstr(events, "PROVEN"));
}

/* a learns that its ticket is gone, and its session is proven then. */
static void receive_and_prove(void)
{
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'a');
    (void)run_until_event(a, "GONE a", 20);
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    (void)run_until_event(a, "PROVEN", 20);
}

/* The owner watches its ticket some time after the enqueue. */
LEASED_TEST(safe_until_does_not_count_on_what_went_before_it_was_watched)
{
    (void)model_enqueue(a, "q", 'a', HF_TICKET_MUTEX);
    model_run(model, 20);
    EXPECT_EVENTS(a, "ENQUEUED a: a");
    assert_true(model_evict(model, "q", 'a'));
    expect_no_safe_until();
    expect_no_safe_until();
    receive_and_prove();
}

/* Another ticket of the client waits behind it and learns that it is gone.
 * The owner does not learn it by that. */
LEASED_TEST(safe_until_does_not_count_on_what_only_the_next_one_watches)
{
    struct hf_own_ticket next;

    (void)model_enqueue(a, "q", 'a', HF_TICKET_MUTEX);
    model_set_owner(a, &next);
    (void)model_enqueue(a, "q", 'b', HF_TICKET_MUTEX);
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'a');
    model_set_owner(a, NULL);
    model_run(model, 20);
    assert_true(model_evict(model, "q", 'a'));
    expect_no_safe_until();
    receive_and_prove();
}

/* A list that another ticket asked for does not report it either. */
LEASED_TEST(safe_until_does_not_count_on_what_another_list_lacks)
{
    (void)model_enqueue(a, "q", 'a', HF_TICKET_MUTEX);
    (void)model_enqueue(a, "q", 'b', HF_TICKET_MUTEX);
    model_run(model, 20);
    assert_true(model_evict(model, "q", 'a'));
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'b');
    model_run(model, 20);
    (void)model_events(a);
    expect_no_safe_until();
    receive_and_prove();
}

/* A resume is no proof either, but the owner learns of it then. */
LEASED_TEST(what_went_unseen_does_not_keep_a_session_from_resuming)
{
    const char *events;

    (void)model_enqueue(a, "q", 'a', HF_TICKET_MUTEX);
    model_run(model, 20);
    EXPECT_EVENTS(a, "ENQUEUED a: a");
    model_cut(a, false);
    assert_true(model_evict(model, "q", 'a'));
    model_run(model, 1000);
    events = model_events(a);
    assert_non_null(strstr(events, "RESUMED 1004")); /* as it CONNECTED */
    assert_null(strstr(events, "LOST"));
    receive_and_prove();
}

/* The owner knows by a list, and needs nothing more if it removes the ticket.
 */
LEASED_TEST(what_went_is_no_more_when_its_owner_knows)
{
    static const enum hf_request_kind kinds[] = {HF_REQUEST_LIST,
                                                 HF_REQUEST_REMOVE};

    for (size_t i = 0; i < 2; i++) {
        char ticket = (char)('a' + (int)i);

        (void)model_enqueue(a, "q", ticket, HF_TICKET_MUTEX);
        model_run(model, 20);
        assert_true(model_evict(model, "q", ticket));
        model_run(model, 20);
        (void)model_ask(a, kinds[i], "q", ticket);
        model_run(model, 20);
        (void)model_events(a);
        (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
        (void)run_until_event(a, "PROVEN", 20);
    }
}

/* Requests that were not sent have not taken effect. */
LEASED_TEST(many_calls_that_were_not_sent_are_sure)
{
    const char *events;

    enqueue_many();
    model_cut(a, true);
    events = model_events(a);
    assert_int_equal(count_events(events, " UNSURE"), 32);
    assert_int_equal(count_events(events, " RETRY"), MANY - 32);
    (void)run_until_event(a, "RESUMED", 1000);
    assert_int_equal(model_tickets(model, "one"), 32);
}

/* Nothing is enqueued after a close. */
LEASED_TEST(a_close_overtakes_a_long_queue)
{
    enqueue_many();
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    (void)run_until_event(a, "CLOSED", 20);
    model_run(model, 100);
    assert_int_equal(model_calls(model, HF_STORE_ENQUEUE), 32);
    assert_int_equal(model_tickets(model, "one"), 0);
}
