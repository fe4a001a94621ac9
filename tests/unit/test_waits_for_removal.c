/* SPDX-License-Identifier: Apache-2.0 */
/* Acquisitions that wait for the removal of their tickets: when the owner
 * gets the end, no ticket is in the queue and none can appear there. */
#include "core_fixture.h"

#include <string.h>

#include "cmocka/runner.h"

/* a is to end only when its ticket is gone. */
static void prepare_waiting(struct core_fixture *f)
{
    core_fixture_connected(f, 0);
    f->a.user.waits_for_removal = true;
}

#define WAITS_TEST(name) CORE_TEST_FROM(name, prepare_waiting(f))

/* a1 got no answer and was not found, and a2 waits in the queue. */
static void queue_a2(struct core_fixture *f)
{
    replace_a1(f);
    enqueued(f, "a ENQUEUE a2", "x a2");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a2");
}

WAITS_TEST(a_cancelled_wait_ends_when_the_ticket_is_gone)
{
    queue_a_behind_x(f);
    cancel(f, &f->a);
    expect(f, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    failed(f, "a REMOVE a1", HF_FAILURE_UNSURE);
    expect(f, "");
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

/* For any time; no TICK is due meanwhile. */
WAITS_TEST(it_waits_for_the_answer_of_its_enqueue)
{
    enqueue_a(f);
    cancel(f, &f->a);
    expect(f, "");
    advance_to(f, CORE_START_MS + 2 * HF_REMOVAL_WAIT_MS);
    expect(f, "");
    assert_true(hf_core_wake_at_ms(&f->core) > f->now_ms);
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

WAITS_TEST(what_may_yet_appear_is_waited_for)
{
    enqueue_a(f);
    cancel(f, &f->a);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    pass_window_of_a1(f);
    removed(f, "a REMOVE a1", false);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

WAITS_TEST(a_release_waits_for_it_too)
{
    queue_a2(f);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "a2");
    expect(f, "a GRANTED");
    release(f, &f->a);
    expect(f, "a UNWATCH a2; a REMOVE a2");
    removed(f, "a REMOVE a2", true);
    expect(f, "");
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "a1 b1");
    expect(f, "a REMOVE a1; b WAITING 1; b WATCH a1; b WATCH b1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
}

WAITS_TEST(the_end_of_the_session_ends_it)
{
    queue_a_behind_x(f);
    cancel(f, &f->a);
    expect(f, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    suspended(f);
    expect(f, "STATE SUSPENDED");
    failed(f, "a REMOVE a1", HF_FAILURE_UNSURE);
    expect(f, "");
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST; a ENDED HF_ECANCELLED; a DONE");
}

WAITS_TEST(what_may_not_be_taken_out_is_reported)
{
    queue_a_behind_x(f);
    cancel(f, &f->a);
    expect(f, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    failed_as(f, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "no delete");
    expect(f, "a ENDED HF_EDENIED");
    assert_string_equal(hf_acquisition_text(&f->a),
                        "no delete; its ticket may stay in the queue "
                        "until the session ends");
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a DONE");
}

WAITS_TEST(nor_what_appeared_late)
{
    enqueue_a(f);
    cancel(f, &f->a);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a REMOVE a1");
    failed_as(f, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "no delete");
    expect(f, "a ENDED HF_EDENIED");
}

WAITS_TEST(a_close_ends_it)
{
    queue_a_behind_x(f);
    close_core(f);
    core_fixture_drain(f);
    closed(f);
    expect(f, "a ENDED HF_ECLOSED; a DONE; STATE CLOSED");
}

/* ---------------------------------------------------------------------- */

WAITS_TEST(no_ticket_is_taken_too_early)
{
    f->a.not_before_ms = CORE_START_MS + 70;
    want(f, &f->a);
    expect(f, "");
    wake(f);
    assert_int_equal(f->now_ms, CORE_START_MS + 70);
    expect(f, "a ENQUEUE a1");
}
