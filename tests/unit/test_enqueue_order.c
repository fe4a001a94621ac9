/* SPDX-License-Identifier: Apache-2.0 */
/* Two acquisitions of one client for one queue: they enter it in the order in
 * which they were started, b after a. */
#include "core_fixture.h"

#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "tracked_heap.h"

/* a and b have started; a enqueues first. */
static void start_both(struct core_fixture *f)
{
    core_fixture_connected(f, 0);
    want(f, &f->a);
    want(f, &f->b);
    expect(f, "a ENQUEUE a1");
}

#define BOTH_TEST(name) CORE_TEST_FROM(name, start_both(f))

BOTH_TEST(the_second_asks_when_the_first_has_its_answer)
{
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a GRANTED; b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "a1 b1");
    expect(f, "b WAITING 1; b WATCH a1; b WATCH b1");
}

/* Once the queue has one ticket, all others enqueue at once. */
BOTH_TEST(the_rest_asks_together)
{
    want(f, &f->c);
    expect(f, "");
    enqueued(f, "a ENQUEUE a1", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1; c ENQUEUE c1");
}

/* After a failure those that have not enqueued do so one by one again. */
BOTH_TEST(after_a_failure_they_go_one_by_one)
{
    want(f, &f->c);
    expect(f, "");
    enqueued(f, "a ENQUEUE a1", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1; c ENQUEUE c1");
    failed(f, "b ENQUEUE b1", HF_FAILURE_RETRY);
    failed(f, "c ENQUEUE c1", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    expect(f, "b ENQUEUE b2");
    enqueued(f, "b ENQUEUE b2", "x a1 b2");
    expect(f, "b WAITING 2; b WATCH a1; b WATCH b2");
    wake(f);
    expect(f, "c ENQUEUE c2");
}

CORE_TEST(other_names_do_not_wait, 0)
{
    f->b.queue = "another";
    want(f, &f->a);
    want(f, &f->b);
    expect(f, "a ENQUEUE a1; b ENQUEUE b1");
}

/* The others wait for the backoff of the first one. */
BOTH_TEST(a_retry_keeps_its_turn)
{
    failed(f, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    expect(f, "a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "x a2");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a2; b ENQUEUE b1");
}

BOTH_TEST(a_search_keeps_its_turn)
{
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a LIST");
    listed(f, "a LIST", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1");
}

/* The memory of a LIST is allocated when it is first requested. */
BOTH_TEST(a_search_without_memory_is_tried_again)
{
    tracked_heap_fail(true);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "");
    wake(f);
    expect(f, "");
    tracked_heap_fail(false);
    wake(f);
    expect(f, "a LIST");
    listed(f, "a LIST", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1");
}

BOTH_TEST(what_was_not_found_is_asked_for_again_first)
{
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a LIST");
    listed(f, "a LIST", "x");
    expect(f, "");
    wake(f);
    expect(f, "a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "a2");
    expect(f, "a GRANTED; b ENQUEUE b1");
}

BOTH_TEST(one_that_is_cancelled_waits_for_nobody)
{
    cancel(f, &f->a);
    expect(f, "b ENQUEUE b1");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a REMOVE a1");
}

BOTH_TEST(one_that_is_refused_gives_its_turn_on)
{
    failed_as(f, "a ENQUEUE a1", HF_FAILURE_FATAL, HF_EDENIED, "not you");
    expect(f, "a ENDED HF_EDENIED; a DONE; b ENQUEUE b1");
}

CORE_TEST(a_deadline_gives_its_turn_on, 0)
{
    f->a.deadline_at_ms = CORE_START_MS + 50;
    want(f, &f->a);
    want(f, &f->b);
    expect(f, "a ENQUEUE a1");
    failed(f, "a ENQUEUE a1", HF_FAILURE_RETRY);
    advance_to(f, CORE_START_MS + 50);
    expect(f, "a ENDED HF_ETIMEDOUT; a DONE; b ENQUEUE b1");
}

/* An acquisition that may not enqueue yet is passed. */
CORE_TEST(a_pause_holds_up_nobody, 0)
{
    f->a.not_before_ms = CORE_START_MS + 500;
    want(f, &f->a);
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
}

/* The error of the first enqueue is in the text of the deadline of the
 * second. */
CORE_TEST(a_waiter_for_its_turn_reports_why, 0)
{
    f->b.deadline_at_ms = CORE_START_MS + 40;
    want(f, &f->a);
    want(f, &f->b);
    expect(f, "a ENQUEUE a1");
    failed_as(f, "a ENQUEUE a1", HF_FAILURE_RETRY, HF_EUNREACHABLE,
              "the server is loading");
    advance_to(f, CORE_START_MS + 40);
    expect(f, "b ENDED HF_ETIMEDOUT; b DONE");
    assert_non_null(
        strstr(hf_acquisition_text(&f->b), "the server is loading"));
}

/* a and b have started, retries have no end, and no proof is ever due. */
static void begin_without_end(struct core_fixture *f)
{
    core_fixture_init(f, 0);
    f->core.config.retry.tries = HF_RETRY_UNLIMITED;
    connected_for(f, HF_FOREVER, f->now_ms, false);
    expect(f, "STATE CONNECTED");
    want(f, &f->a);
    want(f, &f->b);
    expect(f, "a ENQUEUE a1");
}

/* The second one never waits for ever, whatever happens to the first. */
TEST(the_turn_has_an_end)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    begin_without_end(f);
    for (unsigned i = 1; i < HF_ENQUEUE_ORDER_FAILURES; i++) {
        char name[32], next[32];

        snprintf(name, sizeof name, "a ENQUEUE a%u", i);
        snprintf(next, sizeof next, "a ENQUEUE a%u", i + 1);
        failed(f, name, HF_FAILURE_RETRY);
        expect(f, "");
        wake(f);
        expect(f, next);
    }
    failed(f, "a ENQUEUE a8", HF_FAILURE_RETRY);
    expect(f, "b ENQUEUE b1");
    wake(f);
    expect(f, "a ENQUEUE a9"); /* beside the line */
    enqueued(f, "a ENQUEUE a9", "a9");
    expect(f, "a GRANTED");
}

/* Nor if the search for a ticket whose ENQUEUE got no answer goes on failing.
 */
TEST(a_search_that_fails_has_an_end)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    begin_without_end(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a LIST");
    for (unsigned i = 1; i < HF_ENQUEUE_ORDER_FAILURES; i++) {
        failed(f, "a LIST", HF_FAILURE_RETRY);
        expect(f, "");
        wake(f);
        expect(f, "a LIST");
    }
    failed(f, "a LIST", HF_FAILURE_RETRY);
    expect(f, "b ENQUEUE b1");
    wake(f);
    expect(f, "a LIST"); /* beside the line */
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

/* A ticket that may not be removed keeps its id.  With all ids in use the
 * first one cannot enqueue, and does not delay others. */
CORE_TEST(without_an_id_the_turn_is_over, 0)
{
    f->core.config.retry.tries = HF_RETRY_UNLIMITED;
    want(f, &f->a);
    expect(f, "a ENQUEUE a1");
    for (unsigned i = 1; i <= HF_EARLIER_TICKETS_MAX; i++) {
        char name[32];

        snprintf(name, sizeof name, "a ENQUEUE a%u", i);
        enqueued(f, name, "x");
        core_fixture_drain(f);
        if (i == HF_EARLIER_TICKETS_MAX)
            break;
        advance_to(f, f->now_ms + 1000);
        core_fixture_drain(f);
    }
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
}

/* Those that lost their tickets enqueue again in the old order. */
BOTH_TEST(a_lost_session_keeps_the_order)
{
    enqueued(f, "a ENQUEUE a1", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1; b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "x a1 b1");
    expect(f, "b WAITING 2; b WATCH a1; b WATCH b1");
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST");
    connected(f, f->now_ms, false);
    expect(f, "STATE CONNECTED; a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "x a2");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a2; b ENQUEUE b2");
}

/* The queue's node may be deleted in an outage.  So after it the first one
 * shows again that the queue takes tickets, before the others follow: a create
 * that finds no node is sent again, behind those that followed it. */
BOTH_TEST(after_an_outage_the_first_goes_alone)
{
    want(f, &f->c);
    expect(f, "");
    suspended(f);
    expect(f, "STATE SUSPENDED");
    enqueued(f, "a ENQUEUE a1", "x a1");
    expect(f, "a WAITING 1");
    connected(f, f->now_ms, true);
    expect(f, "STATE CONNECTED; a LIST; a WATCH x; a WATCH a1; b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "x a1 b1");
    expect(f, "b WAITING 2; b WATCH a1; b WATCH b1; c ENQUEUE c1");
}
