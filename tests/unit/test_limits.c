/* SPDX-License-Identifier: Apache-2.0 */
/* Acquisitions that must not or cannot wait any longer: deadlines, retries,
 * try. */
#include "core_fixture.h"

#include <string.h>

#include "cmocka/runner.h"

/* ----------------------------------------------------------------- tries -- */

CORE_TEST(a_try_enters_an_empty_queue, 0)
{
    f->a.only_try = true;
    f->a.deadline_at_ms = 0; /* not looked at */
    hold_a(f);
}

CORE_TEST(a_try_does_not_wait, 0)
{
    f->a.only_try = true;
    enqueue_a_in(f, "x a1");
    expect(f, "a REMOVE a1");
    assert_string_equal(hf_acquisition_text(&f->a),
                        "held by \"another client\"");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_EBUSY; a DONE");
}

CORE_TEST(a_try_gets_an_answer_in_time_or_ends, 0)
{
    f->a.only_try = true;
    set_time(f, 2000);
    enqueue_a(f);
    suspended(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(f, "STATE SUSPENDED");
    advance_to(f, 2000 + CORE_CONNECT_MS - 1);
    expect(f, "");
    wake(f);
    expect(f, "a ENDED HF_EUNREACHABLE; a DONE");
}

/* ---------------------------------------------------------------- limits -- */

/* What is known of the queue is old then. */
CORE_TEST(a_deadline_in_an_outage_says_so, 0)
{
    f->a.deadline_at_ms = 5000;
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a1");
    report_connection_error(f, HF_EUNREACHABLE, "zk1: connection refused");
    suspended(f);
    expect(f, "STATE SUSPENDED");
    advance_to(f, 4999);
    expect(f, "");
    wake(f);
    assert_string_equal(hf_acquisition_text(&f->a),
                        "waited 4s; ahead: 2, held by \"another client\"; the "
                        "session is SUSPENDED: zk1: connection refused");
}

CORE_TEST(fn31_fn69_a_deadline_in_the_queue_removes_then_reports, 0)
{
    f->a.deadline_at_ms = 5000;
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a1");
    advance_to(f, 4999);
    expect(f, "");
    wake(f);
    expect(f, "a UNWATCH y; a UNWATCH a1; a REMOVE a1");
    assert_string_equal(hf_acquisition_text(&f->a),
                        "waited 4s; ahead: 2, held by \"another client\"");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ETIMEDOUT; a DONE");
}

/* A waiter that lists the queue again has the rest of its time, not all of it
 * again. */
CORE_TEST(fn64_those_who_leave_in_front_put_no_deadline_off, 0)
{
    f->a.deadline_at_ms = 1900;
    enqueue_a_in(f, "w x y z a1");
    expect(f, "a WAITING 4; a WATCH z; a WATCH a1");
    advance_to(f, 1300);
    gone(f, "a WATCH z");
    expect(f, "a LIST");
    listed(f, "a LIST", "w x y a1");
    expect(f, "a WAITING 3; a WATCH y");
    advance_to(f, 1800);
    gone(f, "a WATCH y");
    expect(f, "a LIST");
    listed(f, "a LIST", "w x a1");
    expect(f, "a WAITING 2; a WATCH x");
    advance_to(f, 1899);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    wake(f);
    assert_int_equal(f->now_ms, 1900);
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ETIMEDOUT"); /* a list is under way */
}

/* Without a link the removal cannot be asked for.  The owner gets its answer
 * after HF_REMOVAL_WAIT_MS, and learns that a ticket may remain. */
CORE_TEST(a_deadline_does_not_wait_for_a_link, 0)
{
    f->a.deadline_at_ms = 5000;
    queue_a_behind_x(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    wake(f);
    assert_int_equal(f->now_ms, 5000);
    expect(f, "a UNWATCH x; a UNWATCH a1");
    wake(f);
    assert_int_equal(f->now_ms, 5000 + HF_REMOVAL_WAIT_MS);
    expect(f, "a ENDED HF_ETIMEDOUT");
    assert_true(f->a.may_remain);
    assert_non_null(
        strstr(hf_acquisition_text(&f->a), "its ticket may stay in the queue"));
    advance_to(f, 6100);
    connected(f, 6100, true);
    expect(f, "STATE CONNECTED; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a DONE");
}

TEST(the_first_connection_is_waited_for_until_its_limit)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    want(f, &f->a);
    advance_to(f, CORE_START_MS + CORE_CONNECT_MS - 1);
    expect(f, "");
    wake(f);
    expect(f, "a ENDED HF_EUNREACHABLE; a DONE");
    want(f, &f->b); /* it has a limit of its own */
    wake(f);
    assert_int_equal(f->now_ms, CORE_START_MS + 2 * CORE_CONNECT_MS);
    expect(f, "b ENDED HF_EUNREACHABLE; b DONE");
}

TEST(a_deadline_without_any_connection_says_so)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    f->a.deadline_at_ms = 1500;
    want(f, &f->a);
    wake(f);
    assert_int_equal(f->now_ms, 1500);
    expect(f, "a ENDED HF_EUNREACHABLE; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&f->a), "within 500ms"));
}

CORE_TEST(a_deadline_before_the_queue_says_what_was_in_the_way, 0)
{
    f->a.deadline_at_ms = 3000;
    set_time(f, 2000);
    enqueue_a(f);
    failed_as(f, "a ENQUEUE a1", HF_FAILURE_RETRY, HF_EUNREACHABLE,
              "a row is locked");
    advance_to(f, 2900);
    expect(f, "a ENQUEUE a2");
    wake(f);
    assert_int_equal(f->now_ms, 3000);
    assert_non_null(strstr(hf_acquisition_text(&f->a), "a row is locked"));
    advance_to(f, 3000 + HF_REMOVAL_WAIT_MS);
    expect(f, "a ENDED HF_ETIMEDOUT");
    core_fixture_drain(f);
}

CORE_TEST(a_lost_session_is_not_the_first_connection, 0)
{
    f->a.deadline_at_ms = 90000;
    session_lost(f, HF_ELOST);
    want(f, &f->a);
    expect(f, "STATE LOST");
    wake(f);
    assert_int_equal(f->now_ms, 90000);
    expect(f, "a ENDED HF_ETIMEDOUT; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&f->a), "LOST"));
}

CORE_TEST(first_but_never_proven_is_what_it_says, 0)
{
    advance_to(f, 50000);
    f->a.deadline_at_ms = 50100;
    want(f, &f->a);
    expect(f, "PROVE; a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a WAITING 0; a WATCH a1");
    wake(f);
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ETIMEDOUT; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&f->a), "not confirmed"));
}

/* ------------------------------------------------------------ late ticks -- */

/* A request that was due is made although another event came before the TICK.
 */
CORE_TEST(a_watch_that_is_due_is_asked_for_after_another_event, 0)
{
    hold_a(f);
    set_time(f, CORE_START_MS + HF_OWN_WATCH_AFTER_MS + 1);
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
    wake(f);
    expect(f, "a WATCH a1");
    assert_int_equal(f->now_ms, CORE_START_MS + HF_OWN_WATCH_AFTER_MS + 1);
}

CORE_TEST(an_enqueue_that_is_due_is_asked_for_after_another_event, 0)
{
    enqueue_a(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(f, "");
    set_time(f, hf_core_wake_at_ms(&f->core) + 1);
    f->b.queue = "another";
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
    wake(f);
    expect(f, "a ENQUEUE a2");
}
