/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of acquisitions that are thorough: when their owner hears of the end,
 * nothing of them is in the queue or can appear there. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define THOROUGH(s)                                                            \
    STAGE(s, 0);                                                               \
    s->a.user.waits_for_removal = true

/* a1 got no answer, was not found, and a2 waits in its place. */
static void queue_a2(struct stage *s)
{
    abandon_a1(s);
    enqueued(s, "a ENQUEUE a2", "x a2");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a2");
}

static void a_cancelled_wait_ends_when_the_ticket_is_gone(void **state)
{
    THOROUGH(s);
    queue_a(s);
    cancel(s, &s->a);
    expect(s, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    failed(s, "a REMOVE a1", HF_FAILURE_UNSURE);
    expect(s, "");
    ring(s);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

/* However long that takes; and nothing is due meanwhile. */
static void it_waits_for_the_answer_of_its_enqueue(void **state)
{
    THOROUGH(s);
    enqueue_a(s);
    cancel(s, &s->a);
    expect(s, "");
    at(s, STAGE_START_MS + 2 * HF_REMOVAL_WAIT_MS);
    expect(s, "");
    assert_true(hf_core_wake_at_ms(&s->core) > s->now_ms);
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

static void what_may_yet_appear_is_waited_for(void **state)
{
    THOROUGH(s);
    enqueue_a(s);
    cancel(s, &s->a);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    outlast_a1(s);
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

static void a_release_waits_for_it_too(void **state)
{
    THOROUGH(s);
    queue_a2(s);
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "a2");
    expect(s, "a GRANTED");
    release(s, &s->a);
    expect(s, "a UNWATCH a2; a REMOVE a2");
    withdrawn(s, "a REMOVE a2", true);
    expect(s, "");
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "a1 b1");
    expect(s, "a REMOVE a1; b WAITING 1; b WATCH a1; b WATCH b1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_OK; a DONE");
}

static void the_end_of_the_session_ends_it(void **state)
{
    THOROUGH(s);
    queue_a(s);
    cancel(s, &s->a);
    expect(s, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    suspended(s);
    expect(s, "STATE SUSPENDED");
    failed(s, "a REMOVE a1", HF_FAILURE_UNSURE);
    expect(s, "");
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST; a ENDED HF_ECANCELLED; a DONE");
}

static void what_may_not_be_taken_out_is_told(void **state)
{
    THOROUGH(s);
    queue_a(s);
    cancel(s, &s->a);
    expect(s, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    failed_as(s, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "no delete");
    expect(s, "a ENDED HF_EDENIED");
    assert_string_equal(hf_acquisition_text(&s->a),
                        "no delete; its ticket may stay in the queue "
                        "until the session ends");
    ring(s);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a DONE");
}

static void nor_what_appeared_late(void **state)
{
    THOROUGH(s);
    enqueue_a(s);
    cancel(s, &s->a);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "a REMOVE a1");
    failed_as(s, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "no delete");
    expect(s, "a ENDED HF_EDENIED");
}

static void a_close_ends_it(void **state)
{
    THOROUGH(s);
    queue_a(s);
    close_core(s);
    stage_drain(s);
    closed(s);
    expect(s, "a ENDED HF_ECLOSED; a DONE; STATE CLOSED");
}

/* ---------------------------------------------------------------------- */

static void no_ticket_is_taken_too_early(void **state)
{
    THOROUGH(s);
    s->a.not_before_ms = STAGE_START_MS + 70;
    want(s, &s->a);
    expect(s, "");
    ring(s);
    assert_int_equal(s->now_ms, STAGE_START_MS + 70);
    expect(s, "a ENQUEUE a1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_wait_ends_when_the_ticket_is_gone),
        cmocka_unit_test(it_waits_for_the_answer_of_its_enqueue),
        cmocka_unit_test(what_may_yet_appear_is_waited_for),
        cmocka_unit_test(a_release_waits_for_it_too),
        cmocka_unit_test(the_end_of_the_session_ends_it),
        cmocka_unit_test(what_may_not_be_taken_out_is_told),
        cmocka_unit_test(nor_what_appeared_late),
        cmocka_unit_test(a_close_ends_it),
        cmocka_unit_test(no_ticket_is_taken_too_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
