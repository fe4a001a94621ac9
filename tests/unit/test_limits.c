/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of acquisitions that must not, or cannot, wait any longer. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ----------------------------------------------------------------- tries -- */

static void a_try_enters_an_empty_queue(void **state)
{
    STAGE(s, 0);
    s->a.only_try = true;
    s->a.deadline_at_ms = 0; /* not looked at */
    hold_a(s);
}

static void a_try_does_not_wait(void **state)
{
    STAGE(s, 0);
    s->a.only_try = true;
    enqueue_a_in(s, "x a1");
    expect(s, "a REMOVE a1");
    assert_string_equal(hf_acquisition_text(&s->a), "held by \"a stranger\"");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_EBUSY; a DONE");
}

static void a_try_gets_an_answer_in_time_or_ends(void **state)
{
    STAGE(s, 0);
    s->a.only_try = true;
    later(s, 2000);
    enqueue_a(s);
    suspended(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(s, "STATE SUSPENDED");
    at(s, 2000 + STAGE_CONNECT_MS - 1);
    expect(s, "");
    ring(s);
    expect(s, "a ENDED HF_EUNREACHABLE; a DONE");
}

/* ---------------------------------------------------------------- limits -- */

static void fn31_fn69_a_deadline_in_the_queue_withdraws_then_tells(void **state)
{
    STAGE(s, 0);
    s->a.deadline_at_ms = 5000;
    enqueue_a_in(s, "x y a1");
    expect(s, "a WAITING 2; a WATCH y; a WATCH a1");
    at(s, 4999);
    expect(s, "");
    ring(s);
    expect(s, "a UNWATCH y; a UNWATCH a1; a REMOVE a1");
    assert_string_equal(hf_acquisition_text(&s->a),
                        "waited 4000 ms; ahead: 2, held by \"a stranger\"");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ETIMEDOUT; a DONE");
}

/* Whoever is told of something in the queue, and lists again, waits for what is
 * left of its time and not for all of it again. */
static void fn64_those_who_leave_in_front_put_no_deadline_off(void **state)
{
    STAGE(s, 0);
    s->a.deadline_at_ms = 1900;
    enqueue_a_in(s, "w x y z a1");
    expect(s, "a WAITING 4; a WATCH z; a WATCH a1");
    at(s, 1300);
    gone(s, "a WATCH z");
    expect(s, "a LIST");
    listed(s, "a LIST", "w x y a1");
    expect(s, "a WAITING 3; a WATCH y");
    at(s, 1800);
    gone(s, "a WATCH y");
    expect(s, "a LIST");
    listed(s, "a LIST", "w x a1");
    expect(s, "a WAITING 2; a WATCH x");
    at(s, 1899);
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    ring(s);
    assert_int_equal(s->now_ms, 1900);
    expect(s, "a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ETIMEDOUT"); /* a list is under way */
}

/* The link is down and the removal cannot be asked for: the owner hears after
 * HF_REMOVAL_WAIT_MS, and that a ticket may remain. */
static void a_deadline_does_not_wait_for_a_link(void **state)
{
    STAGE(s, 0);
    s->a.deadline_at_ms = 5000;
    queue_a(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    ring(s);
    assert_int_equal(s->now_ms, 5000);
    expect(s, "a UNWATCH x; a UNWATCH a1");
    ring(s);
    assert_int_equal(s->now_ms, 5000 + HF_REMOVAL_WAIT_MS);
    expect(s, "a ENDED HF_ETIMEDOUT");
    assert_true(s->a.may_remain);
    assert_non_null(
        strstr(hf_acquisition_text(&s->a), "its ticket may stay in the queue"));
    at(s, 6100);
    connected(s, 6100, true);
    expect(s, "STATE CONNECTED; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a DONE");
}

static void the_first_connection_is_waited_for_until_its_limit(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    want(s, &s->a);
    at(s, STAGE_START_MS + STAGE_CONNECT_MS - 1);
    expect(s, "");
    ring(s);
    expect(s, "a ENDED HF_EUNREACHABLE; a DONE");
    want(s, &s->b); /* it has a limit of its own */
    ring(s);
    assert_int_equal(s->now_ms, STAGE_START_MS + 2 * STAGE_CONNECT_MS);
    expect(s, "b ENDED HF_EUNREACHABLE; b DONE");
}

static void a_deadline_without_any_connection_says_so(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    s->a.deadline_at_ms = 1500;
    want(s, &s->a);
    ring(s);
    assert_int_equal(s->now_ms, 1500);
    expect(s, "a ENDED HF_EUNREACHABLE; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&s->a), "within 500 ms"));
}

static void a_deadline_before_the_queue_says_what_was_in_the_way(void **state)
{
    STAGE(s, 0);
    s->a.deadline_at_ms = 3000;
    later(s, 2000);
    enqueue_a(s);
    failed_as(s, "a ENQUEUE a1", HF_FAILURE_RETRY, HF_EUNREACHABLE,
              "a row is locked");
    at(s, 2900);
    expect(s, "a ENQUEUE a2");
    ring(s);
    assert_int_equal(s->now_ms, 3000);
    assert_non_null(strstr(hf_acquisition_text(&s->a), "a row is locked"));
    at(s, 3000 + HF_REMOVAL_WAIT_MS);
    expect(s, "a ENDED HF_ETIMEDOUT");
    stage_drain(s);
}

static void a_lost_session_is_not_the_first_connection(void **state)
{
    STAGE(s, 0);
    s->a.deadline_at_ms = 90000;
    session_lost(s, HF_ELOST);
    want(s, &s->a);
    expect(s, "STATE LOST");
    ring(s);
    assert_int_equal(s->now_ms, 90000);
    expect(s, "a ENDED HF_ETIMEDOUT; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&s->a), "LOST"));
}

static void first_but_never_proven_is_what_it_says(void **state)
{
    STAGE(s, 0);
    at(s, 50000);
    s->a.deadline_at_ms = 50100;
    want(s, &s->a);
    expect(s, "PROVE; a ENQUEUE a1");
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a WAITING 0; a WATCH a1");
    ring(s);
    expect(s, "a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ETIMEDOUT; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&s->a), "not confirmed"));
}

/* ------------------------------------------------------------ late ticks -- */

/* What was due is not forgotten when another's event comes before the tick. */
static void a_watch_that_is_due_is_asked_for_after_another_event(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    later(s, STAGE_START_MS + HF_OWN_WATCH_AFTER_MS + 1);
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
    ring(s);
    expect(s, "a WATCH a1");
    assert_int_equal(s->now_ms, STAGE_START_MS + HF_OWN_WATCH_AFTER_MS + 1);
}

static void
an_enqueue_that_is_due_is_asked_for_after_another_event(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(s, "");
    later(s, hf_core_wake_at_ms(&s->core) + 1);
    s->b.queue = "another";
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
    ring(s);
    expect(s, "a ENQUEUE a2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_try_enters_an_empty_queue),
        cmocka_unit_test(a_try_does_not_wait),
        cmocka_unit_test(a_try_gets_an_answer_in_time_or_ends),
        cmocka_unit_test(
            fn31_fn69_a_deadline_in_the_queue_withdraws_then_tells),
        cmocka_unit_test(fn64_those_who_leave_in_front_put_no_deadline_off),
        cmocka_unit_test(a_deadline_does_not_wait_for_a_link),
        cmocka_unit_test(the_first_connection_is_waited_for_until_its_limit),
        cmocka_unit_test(a_deadline_without_any_connection_says_so),
        cmocka_unit_test(a_deadline_before_the_queue_says_what_was_in_the_way),
        cmocka_unit_test(a_lost_session_is_not_the_first_connection),
        cmocka_unit_test(first_but_never_proven_is_what_it_says),
        cmocka_unit_test(a_watch_that_is_due_is_asked_for_after_another_event),
        cmocka_unit_test(
            an_enqueue_that_is_due_is_asked_for_after_another_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
