/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of two acquisitions of one client that want into one queue: they
 * enter it in the order in which they were wanted, b after a. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* a and b are wanted; a asks first. */
#define BOTH(s)                                                                \
    STAGE(s, 0);                                                               \
    want(s, &s->a);                                                            \
    want(s, &s->b);                                                            \
    expect(s, "a ENQUEUE a1")

static void the_second_asks_when_the_first_has_its_answer(void **state)
{
    BOTH(s);
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a GRANTED; b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "a1 b1");
    expect(s, "b WAITING 1; b WATCH a1; b WATCH b1");
}

/* Once the queue has taken one all others ask at once. */
static void the_rest_asks_together(void **state)
{
    BOTH(s);
    want(s, &s->c);
    expect(s, "");
    enqueued(s, "a ENQUEUE a1", "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1; c ENQUEUE c1");
}

/* A failure closes the line again for those that have not asked. */
static void after_a_failure_they_go_one_by_one(void **state)
{
    BOTH(s);
    want(s, &s->c);
    expect(s, "");
    enqueued(s, "a ENQUEUE a1", "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1; c ENQUEUE c1");
    failed(s, "b ENQUEUE b1", HF_FAILURE_RETRY);
    failed(s, "c ENQUEUE c1", HF_FAILURE_RETRY);
    expect(s, "");
    ring(s);
    expect(s, "b ENQUEUE b2");
    enqueued(s, "b ENQUEUE b2", "x a1 b2");
    expect(s, "b WAITING 2; b WATCH a1; b WATCH b2");
    ring(s);
    expect(s, "c ENQUEUE c2");
}

static void other_names_do_not_wait(void **state)
{
    STAGE(s, 0);
    s->b.queue = "another";
    want(s, &s->a);
    want(s, &s->b);
    expect(s, "a ENQUEUE a1; b ENQUEUE b1");
}

/* The backoff of the first one is waited for. */
static void a_retry_keeps_its_turn(void **state)
{
    BOTH(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(s, "");
    ring(s);
    expect(s, "a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "x a2");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a2; b ENQUEUE b1");
}

static void a_search_keeps_its_turn(void **state)
{
    BOTH(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "a LIST");
    listed(s, "a LIST", "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1");
}

static void what_was_not_found_is_asked_for_again_first(void **state)
{
    BOTH(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "a LIST");
    listed(s, "a LIST", "x");
    expect(s, "");
    ring(s);
    expect(s, "a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "a2");
    expect(s, "a GRANTED; b ENQUEUE b1");
}

static void one_that_is_cancelled_waits_for_nobody(void **state)
{
    BOTH(s);
    cancel(s, &s->a);
    expect(s, "b ENQUEUE b1");
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a REMOVE a1");
}

static void one_that_is_refused_gives_its_turn_on(void **state)
{
    BOTH(s);
    failed_as(s, "a ENQUEUE a1", HF_FAILURE_FATAL, HF_EDENIED, "not you");
    expect(s, "a ENDED HF_EDENIED; a DONE; b ENQUEUE b1");
}

static void a_deadline_gives_its_turn_on(void **state)
{
    STAGE(s, 0);
    s->a.deadline_at_ms = STAGE_START_MS + 50;
    want(s, &s->a);
    want(s, &s->b);
    expect(s, "a ENQUEUE a1");
    failed(s, "a ENQUEUE a1", HF_FAILURE_RETRY);
    at(s, STAGE_START_MS + 50);
    expect(s, "a ENDED HF_ETIMEDOUT; a DONE; b ENQUEUE b1");
}

/* An acquisition that may not ask yet is passed. */
static void a_pause_holds_up_nobody(void **state)
{
    STAGE(s, 0);
    s->a.not_before_ms = STAGE_START_MS + 500;
    want(s, &s->a);
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
}

/* Its deadline says what the other one heard. */
static void who_waits_for_a_turn_is_told_why(void **state)
{
    STAGE(s, 0);
    s->b.deadline_at_ms = STAGE_START_MS + 40;
    want(s, &s->a);
    want(s, &s->b);
    expect(s, "a ENQUEUE a1");
    failed_as(s, "a ENQUEUE a1", HF_FAILURE_RETRY, HF_EUNREACHABLE,
              "the server is loading");
    at(s, STAGE_START_MS + 40);
    expect(s, "b ENDED HF_ETIMEDOUT; b DONE");
    assert_non_null(
        strstr(hf_acquisition_text(&s->b), "the server is loading"));
}

/* Whatever happens to the first one, the second one does not wait for ever. */
static void the_turn_has_an_end(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    s->core.config.retry.tries = HF_RETRY_UNLIMITED;
    connected_for(s, HF_FOREVER, s->now_ms, false);
    expect(s, "STATE CONNECTED");
    want(s, &s->a);
    want(s, &s->b);
    expect(s, "a ENQUEUE a1");
    for (unsigned i = 1; i < HF_ENQUEUE_ORDER_FAILURES; i++) {
        char name[32], next[32];

        snprintf(name, sizeof name, "a ENQUEUE a%u", i);
        snprintf(next, sizeof next, "a ENQUEUE a%u", i + 1);
        failed(s, name, HF_FAILURE_RETRY);
        expect(s, "");
        ring(s);
        expect(s, next);
    }
    failed(s, "a ENQUEUE a8", HF_FAILURE_RETRY);
    expect(s, "b ENQUEUE b1");
    ring(s);
    expect(s, "a ENQUEUE a9"); /* beside the line */
    enqueued(s, "a ENQUEUE a9", "a9");
    expect(s, "a GRANTED");
}

/* A ticket that may not be removed keeps its id; with all in use the first one
 * cannot ask, and does not hold up others meanwhile. */
static void without_an_id_the_turn_is_over(void **state)
{
    STAGE(s, 0);
    s->core.config.retry.tries = HF_RETRY_UNLIMITED;
    want(s, &s->a);
    expect(s, "a ENQUEUE a1");
    for (unsigned i = 1; i <= HF_EARLIER_TICKETS_MAX; i++) {
        char name[32];

        snprintf(name, sizeof name, "a ENQUEUE a%u", i);
        enqueued(s, name, "x");
        stage_drain(s);
        if (i == HF_EARLIER_TICKETS_MAX)
            break;
        at(s, s->now_ms + 1000);
        stage_drain(s);
    }
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
}

/* Those that lost their places get others in the old order. */
static void a_lost_session_keeps_the_order(void **state)
{
    BOTH(s);
    enqueued(s, "a ENQUEUE a1", "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "x a1 b1");
    expect(s, "b WAITING 2; b WATCH a1; b WATCH b1");
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST");
    connected(s, s->now_ms, false);
    expect(s, "STATE CONNECTED; a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "x a2");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a2; b ENQUEUE b2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_asks_when_the_first_has_its_answer),
        cmocka_unit_test(the_rest_asks_together),
        cmocka_unit_test(after_a_failure_they_go_one_by_one),
        cmocka_unit_test(other_names_do_not_wait),
        cmocka_unit_test(a_retry_keeps_its_turn),
        cmocka_unit_test(a_search_keeps_its_turn),
        cmocka_unit_test(what_was_not_found_is_asked_for_again_first),
        cmocka_unit_test(one_that_is_cancelled_waits_for_nobody),
        cmocka_unit_test(one_that_is_refused_gives_its_turn_on),
        cmocka_unit_test(a_deadline_gives_its_turn_on),
        cmocka_unit_test(a_pause_holds_up_nobody),
        cmocka_unit_test(who_waits_for_a_turn_is_told_why),
        cmocka_unit_test(the_turn_has_an_end),
        cmocka_unit_test(without_an_id_the_turn_is_over),
        cmocka_unit_test(a_lost_session_keeps_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
