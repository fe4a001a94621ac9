/* SPDX-License-Identifier: Apache-2.0 */
/* A wait at a barrier: what ends it and what does not. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "operation_fixture.h"

static void begin(struct operation_fixture *s, uint64_t wait_ms)
{
    operation_fixture_init(s, HF_REQUEST_WATCH_QUEUE, "b", wait_ms);
    s->operation.only_try = wait_ms == 0;
    operation_fixture_connect(s, false);
    operation_fixture_start(s);
}

static struct hf_event listed(struct operation_fixture *s,
                              const struct hf_ticket *flag)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    assert_non_null(s->request);
    assert_int_equal(s->request->ticket_kind, HF_TICKET_BARRIER);
    event.as.answer.request = s->request;
    event.as.answer.snapshot =
        (struct hf_snapshot){flag, flag != NULL ? 1 : 0, 0};
    return event;
}

/* Answer with the flag, which was set for the ${nth} time; 0: it is cleared. */
static void seen(struct operation_fixture *s, uint64_t nth)
{
    struct hf_ticket flag = {.kind = HF_TICKET_BARRIER, .token = nth};

    operation_fixture_step(s, listed(s, nth == 0 ? NULL : &flag));
}

static void recall(struct operation_fixture *s)
{
    operation_fixture_step(s,
                           (struct hf_event){.kind = HF_EVENT_CANCEL_OPERATION,
                                             .as.operation = &s->operation});
}

/* ---------------------------------------------------------------------- */

TEST(a_barrier_that_is_down_is_passed)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    seen(&s, 0);
    assert_int_equal(s.forgets, 1); /* the queue watch goes on until then */
    operation_fixture_expect_end(&s, HF_OK);
}

TEST(fn66_a_wake_up_is_no_passage)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    for (unsigned i = 1; i <= 20; i++) {
        seen(&s, 7);
        assert_int_equal(s.requests, i);
        assert_int_equal(s.answered, 0);
        operation_fixture_changed(&s);
        assert_int_equal(s.requests, i + 1); /* it is asked at once */
    }
    seen(&s, 0);
    operation_fixture_expect_end(&s, HF_OK);
}

/* A loop of requests would run without events; each request needs one. */
TEST(fn66_nothing_is_asked_without_an_event)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    seen(&s, 7);
    assert_true(hf_core_wake_at_ms(&s.core) == HF_FOREVER);
    operation_fixture_tick(&s, OPERATION_START_MS + 1000000);
    assert_int_equal(s.requests, 1);
    assert_int_equal(s.answered, 0);
}

TEST(a_barrier_set_anew_was_clear)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    seen(&s, 7);
    operation_fixture_changed(&s);
    seen(&s, 8);
    operation_fixture_expect_end(&s, HF_OK);
}

TEST(an_event_may_overtake_the_list)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    operation_fixture_changed(&s);
    assert_int_equal(s.answered, 0);
    assert_int_equal(s.requests, 2);
    seen(&s, 7);
    assert_int_equal(s.answered, 0);
}

TEST(a_try_does_not_wait)
{
    struct operation_fixture s;

    begin(&s, 0);
    seen(&s, 7);
    assert_int_equal(s.forgets, 1);
    operation_fixture_expect_end(&s, HF_EBUSY);
    begin(&s, 0);
    seen(&s, 0);
    operation_fixture_expect_end(&s, HF_OK);
    begin(&s, 0);
    operation_fixture_tick(&s, OPERATION_START_MS + OPERATION_CONNECT_MS);
    operation_fixture_expect_end(&s, HF_ETIMEDOUT);
}

TEST(a_wait_that_ends_in_an_outage_says_so)
{
    struct operation_fixture s;

    begin(&s, 500);
    seen(&s, 7);
    operation_fixture_step(
        &s, (struct hf_event){
                .kind = HF_EVENT_CONNECTION_ERROR,
                .as.connection_error = {.text = "zk1: connection refused",
                                        .status = HF_EUNREACHABLE}});
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
    operation_fixture_tick(&s, OPERATION_START_MS + 500);
    operation_fixture_expect_end(&s, HF_ETIMEDOUT);
    assert_non_null(strstr(s.operation.text,
                           "; the session is SUSPENDED: zk1: connection "
                           "refused"));
}

TEST(a_wait_ends_in_time)
{
    struct operation_fixture s;

    begin(&s, 500);
    seen(&s, 7);
    assert_int_equal(hf_core_wake_at_ms(&s.core), OPERATION_START_MS + 500);
    operation_fixture_tick(&s, OPERATION_START_MS + 500);
    assert_int_equal(s.forgets, 1);
    operation_fixture_expect_end(&s, HF_ETIMEDOUT);
    assert_non_null(strstr(s.operation.text, "still up"));
}

/* The engine has a request that is not answered, and gets the request to drop
 * it. */
TEST(a_wait_can_be_cancelled_at_any_time)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    recall(&s);
    assert_int_equal(s.forgets, 1);
    operation_fixture_expect_end(&s, HF_ECANCELLED);
    begin(&s, HF_FOREVER);
    seen(&s, 7);
    recall(&s);
    assert_int_equal(s.forgets, 1);
    operation_fixture_expect_end(&s, HF_ECANCELLED);
}

TEST(the_engine_does_not_learn_of_what_was_over_before)
{
    struct hf_event start = {.kind = HF_EVENT_START_OPERATION};
    struct hf_event event = {.kind = HF_EVENT_CANCEL_OPERATION};
    struct operation_fixture s;

    operation_fixture_init(&s, HF_REQUEST_WATCH_QUEUE, "q", HF_FOREVER);
    operation_fixture_connect(&s, false);
    start.as.operation = event.as.operation = &s.operation;
    operation_fixture_step_only(&s, start);
    operation_fixture_step_only(&s, event);
    operation_fixture_take(&s);
    assert_int_equal(s.requests, 0);
    assert_int_equal(s.forgets, 0);
    operation_fixture_expect_end(&s, HF_ECANCELLED);
}

/* Answers that the engine gave before it learned of the end are ignored. */
TEST(answers_cross_the_end)
{
    struct hf_ticket flag = {.kind = HF_TICKET_BARRIER, .token = 7};
    struct hf_event event = {.kind = HF_EVENT_CANCEL_OPERATION};
    struct operation_fixture s;

    event.as.operation = &s.operation;
    begin(&s, HF_FOREVER);
    operation_fixture_step_only(&s, event);
    operation_fixture_step_only(
        &s, listed(&s, &flag)); /* it goes on: to be forgotten */
    operation_fixture_take(&s);
    assert_int_equal(s.forgets, 1);
    operation_fixture_expect_end(&s, HF_ECANCELLED);

    begin(&s, HF_FOREVER);
    operation_fixture_step_only(&s, event);
    operation_fixture_step_only(
        &s, (struct hf_event){.kind = HF_EVENT_QUEUE_CHANGED,
                              .as.answer.request = s.request});
    operation_fixture_take(&s);
    assert_int_equal(s.forgets, 0);
    operation_fixture_expect_end(&s, HF_ECANCELLED);
}

TEST(a_wait_rides_out_a_lost_link)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    seen(&s, 7);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
    operation_fixture_connect(&s, true);
    assert_int_equal(s.requests, 1); /* the engine still watches */
    operation_fixture_changed(&s);
    seen(&s, 0);
    operation_fixture_expect_end(&s, HF_OK);
}

/* The flag was cleared and set again while there was no session: its token
 * shows that. */
TEST(a_wait_rides_out_a_lost_session)
{
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    seen(&s, 7);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                                                 .as.answer.status = HF_ELOST});
    assert_int_equal(s.answered, 0);
    operation_fixture_connect(&s, false);
    assert_int_equal(s.requests, 2);
    seen(&s, 7);
    assert_int_equal(s.answered, 0);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                                                 .as.answer.status = HF_ELOST});
    operation_fixture_connect(&s, false);
    seen(&s, 9);
    operation_fixture_expect_end(&s, HF_OK);
}

TEST(a_close_ends_a_wait)
{
    struct hf_effect *end;
    struct operation_fixture s;

    begin(&s, HF_FOREVER);
    seen(&s, 7);
    operation_fixture_step_only(&s, (struct hf_event){.kind = HF_EVENT_CLOSE});
    end = hf_core_next_effect(&s.core);
    assert_int_equal(end->request->kind, HF_REQUEST_END);
    operation_fixture_step_only(
        &s, (struct hf_event){.kind = HF_EVENT_CLOSED,
                              .as.answer.request = end->request});
    operation_fixture_take(&s);
    assert_int_equal(s.forgets, 0); /* a closed engine watches nothing */
    operation_fixture_expect_end(&s, HF_ECLOSED);
}

TEST(a_failed_look_is_repeated)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};
    struct operation_fixture s;

    event.as.answer.status = HF_EUNREACHABLE;
    event.as.answer.text = "for a reason";
    begin(&s, HF_FOREVER);
    event.as.answer.request = s.request;
    operation_fixture_step(&s, event);
    operation_fixture_tick(&s, hf_core_wake_at_ms(&s.core));
    assert_int_equal(s.requests, 2);
    event.as.answer.failure = HF_FAILURE_FATAL;
    event.as.answer.status = HF_EDENIED;
    event.as.answer.request = s.request;
    operation_fixture_step(&s, event);
    operation_fixture_expect_end(&s, HF_EDENIED);
}
