/* SPDX-License-Identifier: Apache-2.0 */
/* Acquisitions whose requests fail or get no answer. */
#include "core_fixture.h"

#include <string.h>

#include "cmocka/runner.h"
#include "tracked_heap.h"

/* --------------------------------------------------------------- enqueue -- */

CORE_TEST(an_enqueue_that_failed_is_tried_with_a_fresh_id, 0)
{
    enqueue_a(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    assert_in_range(f->now_ms, CORE_START_MS + 50, CORE_START_MS + 100);
    expect(f, "a ENQUEUE a2");
    assert_false(hf_ticket_id_equal(&f->own_ids[0][0], &f->own_ids[0][1]));
}

CORE_TEST(no_retry_left_ends_with_the_engines_message, 0)
{
    enqueue_a(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_RETRY);
    wake(f);
    expect(f, "a ENQUEUE a2");
    failed(f, "a ENQUEUE a2", HF_FAILURE_RETRY);
    wake(f);
    expect(f, "a ENQUEUE a3");
    failed(f, "a ENQUEUE a3", HF_FAILURE_RETRY);
    wake(f);
    expect(f, "a ENQUEUE a4");
    failed_as(f, "a ENQUEUE a4", HF_FAILURE_RETRY, HF_EFULL, "disk is full");
    expect(f, "a ENDED HF_EFULL; a DONE");
    assert_string_equal(hf_acquisition_text(&f->a), "disk is full");
}

CORE_TEST(a_success_counts_tries_from_the_start, 0)
{
    for (int iteration = 0; iteration < 5; iteration++) {
        char name[] = "a ENQUEUE a?";

        name[11] = (char)('1' + iteration);
        if (iteration == 0)
            enqueue_a(f);
        failed(f, name, HF_FAILURE_RETRY);
        wake(f);
        name[11]++;
        expect(f, name);
        if (iteration == 1) { /* in, and evicted */
            enqueued(f, name, "x a3");
            expect(f, "a WAITING 1; a WATCH x; a WATCH a3");
            gone(f, "a WATCH a3");
            expect(f, "a UNWATCH x");
            wake(f);
            expect(f, "a ENQUEUE a4");
            iteration++;
        }
    }
}

CORE_TEST(a_fatal_enqueue_ends_at_once, 0)
{
    enqueue_a(f);
    failed_as(f, "a ENQUEUE a1", HF_FAILURE_FATAL, HF_EDENIED, "no entry");
    expect(f, "a ENDED HF_EDENIED; a DONE");
    assert_string_equal(hf_acquisition_text(&f->a), "no entry");
}

CORE_TEST(a_dropped_link_uses_up_no_retry, 0)
{
    char next[] = "STATE CONNECTED; a ENQUEUE a1";
    const char *enqueue = strstr(next, "a ENQUEUE");

    enqueue_a(f);
    for (int iteration = 0; iteration < 8; iteration++) {
        suspended(f);
        failed(f, enqueue, HF_FAILURE_RETRY);
        expect(f, "STATE SUSPENDED");
        next[sizeof next - 2]++;
        connected(f, 1000, true);
        expect(f, next);
    }
}

/* Each outage loses the answer of another enqueue.  None of them counts as a
 * failure of the engine. */
CORE_TEST(outages_use_up_no_retry, 0)
{
    static const char *const enqueues[] = {"a ENQUEUE a1", "a ENQUEUE a2",
                                           "a ENQUEUE a3", "a ENQUEUE a4"};

    enqueue_a(f);
    for (size_t iteration = 0; iteration < 4; iteration++) {
        if (iteration > 0) {
            wake(f);
            expect(f, enqueues[iteration]);
        }
        suspended(f);
        failed(f, enqueues[iteration], HF_FAILURE_UNSURE);
        expect(f, "STATE SUSPENDED");
        connected(f, f->now_ms, true);
        expect(f, "STATE CONNECTED; a LIST");
        listed(f, "a LIST", "x");
        expect(f, "");
    }
    assert_int_equal(f->a.state, HF_ACQUISITION_WAITING);
}

CORE_TEST(a_ticket_gone_at_once_is_enqueued_again, 0)
{
    enqueue_a_in(f, "x");
    expect(f, "a REMOVE a1"); /* should the list be wrong */
    removed(f, "a REMOVE a1", false);
    wake(f);
    expect(f, "a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "");
    wake(f);
    expect(f, "a REMOVE a2; a ENQUEUE a3");
    enqueued(f, "a ENQUEUE a3", "");
    wake(f);
    expect(f, "a REMOVE a3; a ENQUEUE a4");
    enqueued(f, "a ENQUEUE a4", "");
    expect(f, "a REMOVE a4");
    removed(f, "a REMOVE a2", true);
    removed(f, "a REMOVE a3", false);
    removed(f, "a REMOVE a4", false);
    expect(f, "a ENDED HF_EPROTOCOL; a DONE");
}

/* ---------------------------------------------------------------- unsure -- */

CORE_TEST(a_ticket_in_doubt_is_looked_for_and_found, 0)
{
    lose_answer_of_a1(f);
    listed(f, "a LIST", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

CORE_TEST(it_is_looked_for_as_soon_as_connected, 0)
{
    enqueue_a(f);
    suspended(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "STATE SUSPENDED");
    connected(f, 1000, true);
    expect(f, "STATE CONNECTED; a LIST");
    failed(f, "a LIST", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

CORE_TEST(a_new_session_ends_all_doubt, 0)
{
    lose_answer_of_a1(f);
    failed(f, "a LIST", HF_FAILURE_RETRY);
    session_lost(f, HF_ELOST);
    connected(f, 1000, false);
    expect(f, "STATE LOST; STATE CONNECTED; a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "a2");
    expect(f, "a GRANTED");
    advance_to(f, 1005);
    expect(f, "a WATCH a2");
    release(f, &f->a);
    expect(f, "a UNWATCH a2; a REMOVE a2");
    removed(f, "a REMOVE a2", true);
    expect(f, "a RELEASED HF_OK; a DONE");
}

CORE_TEST(what_was_not_found_may_show_up_late, 0)
{
    replace_a1(f);
    enqueued(f, "a ENQUEUE a2", "x a2");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a2");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "a1 a2"); /* ahead of its successor */
    expect(f, "a REMOVE a1; a WAITING 1; a WATCH a1");
    removed(f, "a REMOVE a1", true);
    gone(f, "a WATCH a1");
    expect(f, "a LIST");
    listed(f, "a LIST", "a2");
    expect(f, "a GRANTED");
    release(f, &f->a);
    expect(f, "a UNWATCH a2; a REMOVE a2");
    removed(f, "a REMOVE a2", true);
    expect(f, "a RELEASED HF_OK; a DONE");
}

/* A list that b asked for shows a1 too. */
CORE_TEST(any_list_of_the_queue_shows_it, 0)
{
    replace_a1(f);
    want(f, &f->b);
    enqueued(f, "a ENQUEUE a2", "a2");
    expect(f, "a GRANTED; b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "a2 a1 b1");
    expect(f, "a REMOVE a1; b WAITING 2; b WATCH a1; b WATCH b1");
}

CORE_TEST(what_never_showed_is_removed_when_its_time_is_over, 0)
{
    replace_a1(f);
    enqueued(f, "a ENQUEUE a2", "a2");
    expect(f, "a GRANTED");
    release(f, &f->a);
    expect(f, "a REMOVE a2");
    removed(f, "a REMOVE a2", true);
    expect(f, "a RELEASED HF_OK"); /* and not forgotten */
    pass_window_of_a1(f);
    failed(f, "a REMOVE a1", HF_FAILURE_UNSURE);
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    expect(f, "a DONE");
}

/* A removal that found nothing does not show that the ticket will not appear
 * later. */
CORE_TEST(it_is_removed_again_until_it_was_seen_or_is_late, 0)
{
    lose_answer_of_a1(f);
    cancel(f, &f->a);
    expect(f, "a REMOVE a1");
    listed(f, "a LIST", "x");
    removed(f, "a REMOVE a1", false);
    expect(f, "a ENDED HF_ECANCELLED");
    assert_true(f->a.may_remain);
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "x a1 b1");
    expect(f, "a REMOVE a1; b WAITING 2; b WATCH a1; b WATCH b1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a DONE");
}

CORE_TEST(with_all_slots_in_use_the_next_attempt_waits, 0)
{
    f->core.config.retry.tries = HF_RETRY_UNLIMITED;
    enqueue_a(f);
    for (int i = 1; i <= HF_EARLIER_TICKETS_MAX; i++) {
        char name[] = "a ENQUEUE a?";

        name[11] = (char)('0' + i);
        failed(f, name, HF_FAILURE_UNSURE);
        expect(f, "a LIST");
        listed(f, "a LIST", "");
        expect(f, "");
        if (i < HF_EARLIER_TICKETS_MAX) {
            wake(f);
            name[11]++;
            expect(f, name);
        }
    }
    pass_window_of_a1(f);
    removed(f, "a REMOVE a1", false);
    expect(f, "PROVE; a ENQUEUE a5");
}

CORE_TEST(without_memory_an_end_says_so_and_what_may_remain, 0)
{
    lose_answer_of_a1(f);
    tracked_heap_fail(true);
    cancel(f, &f->a);
    expect(f, "a REMOVE a1");
    listed(f, "a LIST", "x");
    removed(f, "a REMOVE a1", false);
    expect(f, "a ENDED HF_ECANCELLED");
    tracked_heap_fail(false);
    assert_true(f->a.may_remain);
    assert_string_equal(hf_acquisition_text(&f->a),
                        "there is no memory to say why; its ticket may stay in "
                        "the queue until the session ends");
}

/* Without a lease the first answer after the failure shows whether the ticket
 * exists. */
TEST(without_a_lease_one_look_is_enough)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    connected_for(f, HF_FOREVER, 990, false);
    expect(f, "STATE CONNECTED");
    lose_answer_of_a1(f);
    listed(f, "a LIST", "");
    wake(f);
    expect(f, "a ENQUEUE a2");
    failed(f, "a ENQUEUE a2", HF_FAILURE_UNSURE);
    expect(f, "a LIST");
    cancel(f, &f->a);
    expect(f, "a REMOVE a2");
    removed(f, "a REMOVE a2", false);
    listed(f, "a LIST", "");
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

CORE_TEST(fn27_no_retry_left_in_doubt_reports_the_doubt, 0)
{
    f->core.config.retry.tries = 0;
    enqueue_a(f);
    failed_as(f, "a ENQUEUE a1", HF_FAILURE_UNSURE, HF_EUNSURE, "no answer");
    expect(f, "a LIST");
    listed(f, "a LIST", "");
    expect(f, "a ENDED HF_EUNSURE");
    assert_string_equal(hf_acquisition_text(&f->a),
                        "no answer; its ticket may stay in the "
                        "queue until the session ends");
    advance_to(f, CORE_START_MS + CORE_LATE_MS);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    expect(f, "a DONE");
}

/* ------------------------------------------------- giving up an enqueue -- */

CORE_TEST(a_cancel_waits_for_the_answer_of_the_enqueue, 0)
{
    enqueue_a(f);
    cancel(f, &f->a);
    expect(f, "");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

CORE_TEST(but_not_for_ever, 0)
{
    enqueue_a(f);
    cancel(f, &f->a);
    wake(f);
    assert_int_equal(f->now_ms, CORE_START_MS + HF_REMOVAL_WAIT_MS);
    expect(f, "a ENDED HF_ECANCELLED");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a DONE");
}

CORE_TEST(a_cancelled_enqueue_that_failed_left_nothing, 0)
{
    enqueue_a(f);
    cancel(f, &f->a);
    failed(f, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

CORE_TEST(fn47_a_cancelled_enqueue_in_doubt_is_abandoned, 0)
{
    enqueue_a(f);
    cancel(f, &f->a);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    expect(f, "a ENDED HF_ECANCELLED");
    assert_non_null(
        strstr(hf_acquisition_text(&f->a), "its ticket may stay in the queue"));
    pass_window_of_a1(f);
    removed(f, "a REMOVE a1", false);
    expect(f, "a DONE");
}

/* -------------------------------------------------------- other requests -- */

CORE_TEST(a_wait_survives_lists_that_fail, 0)
{
    queue_a_behind_x(f);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    for (int i = 0; i < 10; i++) { /* more often than an enqueue would be */
        failed(f, "a LIST", i % 2 ? HF_FAILURE_RETRY : HF_FAILURE_UNSURE);
        expect(f, "");
        advance_to(f, f->now_ms + 1000);
        expect(f, i % 3 == 2 ? "a LIST; PROVE" : "a LIST");
        if (is_pending(f, "PROVE"))
            proven(f, f->now_ms);
    }
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

/* The failure was of the old connection, so its backoff does not count. */
CORE_TEST(a_new_connection_ends_the_backoff_of_a_list, 0)
{
    queue_a_behind_x(f);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    failed(f, "a LIST", HF_FAILURE_RETRY);
    expect(f, "");
    suspended(f);
    connected(f, f->now_ms, true);
    expect(f, "STATE CONNECTED; a LIST");
}

CORE_TEST(a_wait_survives_watches_that_fail, 0)
{
    queue_a_behind_x(f);
    failed(f, "a WATCH x", HF_FAILURE_UNSURE);
    failed(f, "a WATCH a1", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    expect(f, "a WATCH x; a WATCH a1");
    assert_in_range(f->a.tickets.current->watch_tries, 1, 2);
    watching(f, "a WATCH x");
    /* The next failure is the first of a new series. */
    assert_int_equal(f->a.tickets.current->watch_tries, 0);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
}

CORE_TEST(a_fatal_list_ends_the_wait, 0)
{
    queue_a_behind_x(f);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    failed_as(f, "a LIST", HF_FAILURE_FATAL, HF_EDENIED, "read refused");
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_EDENIED; a DONE");
}

CORE_TEST(a_fatal_watch_ends_the_wait, 0)
{
    queue_a_behind_x(f);
    failed_as(f, "a WATCH x", HF_FAILURE_FATAL, HF_ELIMIT, "no descriptor");
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ELIMIT; a DONE");
}

CORE_TEST(a_holder_goes_on_without_a_watch, 0)
{
    hold_a(f);
    advance_to(f, 1005);
    expect(f, "a WATCH a1");
    failed(f, "a WATCH a1", HF_FAILURE_FATAL);
    expect(f, "");
    wake(f);
    expect(f, "a WATCH a1");
}

CORE_TEST(fn28_a_removal_is_repeated_whatever_it_says, 0)
{
    hold_a(f);
    release(f, &f->a);
    for (int i = 0; i < 20; i++) {
        expect(f, "a REMOVE a1");
        failed(f, "a REMOVE a1", (enum hf_failure)(i % 3));
        expect(f, "");
        advance_to(f, f->now_ms + 1000); /* no backoff is longer */
    }
    expect(f, "a REMOVE a1");
    /* an earlier removal may have found it */
    removed(f, "a REMOVE a1", false);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST(a_repeated_removal_that_finds_the_ticket_confirms, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    failed(f, "a REMOVE a1", HF_FAILURE_UNSURE);
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
}

CORE_TEST(a_removal_that_did_not_happen_hides_nothing, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    failed(f, "a REMOVE a1", HF_FAILURE_RETRY);
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}
