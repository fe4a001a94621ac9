/* SPDX-License-Identifier: Apache-2.0 */
/* Acquisitions whose requests the engine answers: wait, grant, release, and
 * the ends of a wait.  Requests that fail are in test_unanswered.c, deadlines
 * and retries in test_limits.c. */
#include "core_fixture.h"

#include <string.h>

#include "cmocka/runner.h"

#define ALL_TRAITS (HF_ENGINE_GONE_ADMITS | HF_ENGINE_WATCHES_TWO)

/* ------------------------------------------------------------- the path -- */

CORE_TEST(one_answer_is_enough_for_an_empty_queue, 0)
{
    hold_a(f);
    assert_int_equal(f->a.token, 101);
    assert_true(hf_ticket_id_equal(&f->a.ticket_id, &f->own_ids[0][0]));
    assert_int_equal(hf_core_safe_until_ms(&f->core, &f->a), CORE_SAFE_MS);
    release(f, &f->a);
    assert_int_equal(hf_core_safe_until_ms(&f->core, &f->a), 0);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
    assert_null(f->core.acquisitions.first);
}

TEST(a_want_waits_for_the_connection)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    want(f, &f->a);
    expect(f, "");
    connected(f, 1000, false);
    expect(f, "STATE CONNECTED; a ENQUEUE a1");
}

TEST(a_wrong_password_is_not_waited_out)
{
    static const hf_status finals[] = {HF_EDENIED, HF_EURL};

    for (size_t i = 0; i < 2; i++) {
        struct core_fixture core_fixture;
        struct core_fixture *f = &core_fixture;

        core_fixture_init(f, 0);
        want(f, &f->a);
        report_connection_error(f, HF_EUNREACHABLE, "refused");
        wake(f);
        assert_int_equal(f->now_ms, CORE_START_MS + CORE_CONNECT_MS);
        expect(f, "a ENDED HF_EUNREACHABLE; a DONE");

        core_fixture_init(f, 0);
        want(f, &f->a);
        report_connection_error(f, finals[i], "one of two: wrong password");
        advance_to(f, f->now_ms + 1);
        expect(f, "");
        report_final_error(f, finals[i], "here: wrong password");
        wake(f);
        assert_int_equal(f->now_ms, CORE_START_MS + 1);
        assert_int_equal(f->a.status, finals[i]);
        assert_non_null(
            strstr(hf_acquisition_text(&f->a), ": here: wrong password"));
    }
}

/* A session that was accepted once and is then refused will be accepted
 * again, so the wait goes on. */
CORE_TEST(a_refusal_after_a_connection_is_waited_out, 0)
{
    queue_a_behind_x(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    report_final_error(f, HF_EDENIED, "the passwords are just being changed");
    advance_to(f, f->now_ms + 1);
    expect(f, "");
    connected(f, f->now_ms, true);
    assert_true(hf_session_usable(&f->core.session));
}

CORE_TEST(a_longer_hold_watches_its_own_ticket, 0)
{
    hold_a(f);
    advance_to(f, CORE_START_MS + HF_OWN_WATCH_AFTER_MS - 1);
    expect(f, "");
    wake(f);
    assert_int_equal(f->now_ms, CORE_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(f, "a WATCH a1");
    watching(f, "a WATCH a1");
    release(f, &f->a);
    expect(f, "a UNWATCH a1; a REMOVE a1");
}

CORE_TEST(fn59_the_one_before_is_watched_and_nobody_else, 0)
{
    enqueue_a_in(f, "x y z a1");
    expect(f, "a WAITING 3; a WATCH z; a WATCH a1");
    assert_string_equal(hf_shared_text_get(f->a.holder), "another client");
}

CORE_TEST(a_list_decides_after_the_one_before_went, 0)
{
    queue_a_behind_x(f);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
    advance_to(f, 2000); /* its own watch has been there all along */
    expect(f, "");
}

CORE_TEST(where_nobody_can_come_ahead_no_list_is_needed, HF_ENGINE_GONE_ADMITS)
{
    queue_a_behind_x(f);
    watching(f, "a WATCH x");
    gone(f, "a WATCH x");
    expect(f, "a GRANTED");
}

CORE_TEST(one_of_two_that_goes_does_not_admit, HF_ENGINE_GONE_ADMITS)
{
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a1");
    gone(f, "a WATCH y");
    expect(f, "a LIST");
    listed(f, "a LIST", "x a1");
    expect(f, "a WAITING 1; a WATCH x");
    gone(f, "a WATCH x");
    expect(f, "a GRANTED");
}

CORE_TEST(the_first_one_enters_without_a_list, 0)
{
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a1");
    gone_before(f, "a WATCH y", "a1");
    expect(f, "a GRANTED");
}

CORE_TEST(another_one_that_is_the_first_admits_nobody, 0)
{
    queue_a_behind_x(f);
    gone_before(f, "a WATCH x", "z");
    expect(f, "a LIST");
}

CORE_TEST(the_first_one_waits_for_a_proof, 0)
{
    advance_to(f, 100000);
    want(f, &f->a);
    expect(f, "PROVE; a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a1");
    watching(f, "a WATCH a1");
    gone_before(f, "a WATCH y", "a1");
    expect(f, "a LIST");
    proven(f, f->now_ms);
    expect(f, "a GRANTED");
}

CORE_TEST(a_watch_may_be_answered_gone, 0)
{
    queue_a_behind_x(f);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "x a1"); /* it is still going */
    expect(f, "a WAITING 1; a WATCH x");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
}

/* ----------------------------------- watches of the second ticket ahead -- */

CORE_TEST(the_last_step_needs_no_list_in_a_deep_queue, ALL_TRAITS)
{
    enqueue_a_in(f, "v w x y a1");
    expect(f, "a WAITING 4; a WATCH y; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "y a1");
    expect(f, "a WAITING 1");
    gone(f, "a WATCH y");
    expect(f, "a GRANTED");
}

CORE_TEST(both_may_go_while_the_list_is_under_way, ALL_TRAITS)
{
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    gone(f, "a WATCH y");
    expect(f, "a GRANTED");
    listed(f, "a LIST", "a1");
    expect(f, "");
    release(f, &f->a);
    expect(f, "a UNWATCH a1; a REMOVE a1");
}

CORE_TEST(a_list_that_may_be_out_of_date_is_asked_again, HF_ENGINE_WATCHES_TWO)
{
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    gone(f, "a WATCH y");
    expect(f, "");
    listed(f, "a LIST", "y a1"); /* taken before y went */
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

CORE_TEST(right_watches_are_kept_and_the_others_taken_back, ALL_TRAITS)
{
    enqueue_a_in(f, "w x y a1");
    expect(f, "a WAITING 3; a WATCH y; a WATCH x; a WATCH a1");
    gone(f, "a WATCH y");
    expect(f, "a LIST");
    listed(f, "a LIST", "w a1"); /* x has gone, its GONE is on the way */
    expect(f, "a WAITING 1; a UNWATCH x; a WATCH w");
    gone(f, "a WATCH w");
    expect(f, "a GRANTED");
}

/* GONE and the UNWATCH cross: the watch ends without an effect. */
CORE_TEST(the_end_of_a_watch_taken_back_means_nothing, ALL_TRAITS)
{
    enqueue_a_in(f, "w x y a1");
    expect(f, "a WAITING 3; a WATCH y; a WATCH x; a WATCH a1");
    gone(f, "a WATCH y");
    expect(f, "a LIST");
    listed(f, "a LIST", "w a1");
    gone(f, "a WATCH x");
    expect(f, "a WAITING 1; a WATCH w");
}

CORE_TEST(the_place_is_reported_as_often_as_asked, 0)
{
    f->a.report_every_ms = 300;
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a1");
    wake(f);
    assert_int_equal(f->now_ms, CORE_START_MS + 300);
    expect(f, "a LIST");
    listed(f, "a LIST", "x y a1");
    expect(f, "a WAITING 2");
    wake(f);
    expect(f, "a LIST");
    /* Answers that are slower than the interval of reports delay nothing. */
    advance_to(f, f->now_ms + 300);
    advance_to(f, f->now_ms + 300);
    expect(f, "");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED; a UNWATCH y");
}

/* ----------------------------------------------------------------- kinds -- */

CORE_TEST(readers_enter_together, ALL_TRAITS)
{
    f->a.kind = HF_TICKET_READ;
    enqueue_a_in(f, "x/r y/r a1");
    expect(f, "a GRANTED");
}

CORE_TEST(a_reader_behind_a_writer_enters_when_it_goes, ALL_TRAITS)
{
    f->a.kind = HF_TICKET_READ;
    enqueue_a_in(f, "x/w y/r a1");
    expect(f, "a WAITING 2; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a GRANTED");
}

CORE_TEST(a_writer_behind_a_writer_always_lists, ALL_TRAITS)
{
    f->a.kind = HF_TICKET_WRITE;
    enqueue_a_in(f, "x/w a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "y/r a1"); /* x was downgraded */
    expect(f, "a WAITING 1; a WATCH y");
    gone(f, "a WATCH y");
    expect(f, "a GRANTED");
}

/* As kazoo's names show tickets, our own included. */
TEST(unknown_kinds_exclude_each_other)
{
    static const enum hf_ticket_kind kinds[] = {HF_TICKET_MUTEX,
                                                HF_TICKET_WRITE};

    for (size_t i = 0; i < 2; i++) {
        struct core_fixture fixture, *f = &fixture;

        core_fixture_connected(f, ALL_TRAITS);
        f->a.kind = kinds[i];
        enqueue_a_in(f, "x/x a1/x");
        expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
        gone(f, "a WATCH x");
        expect(f, "a LIST");
        listed(f, "a LIST", "a1/x");
        expect(f, "a GRANTED");
    }
}

CORE_TEST(a_reader_passes_no_ticket_of_an_unknown_kind, ALL_TRAITS)
{
    f->a.kind = HF_TICKET_READ;
    enqueue_a_in(f, "x/x y/r a1");
    expect(f, "a WAITING 2; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a GRANTED");
}

/* It was a writer and is a reader now. */
CORE_TEST(a_mutex_behind_a_downgrade_learns_whose_name_it_is, ALL_TRAITS)
{
    enqueue_a_in(f, "x/x a1/x");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "y/r a1/x");
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_EKIND; a DONE");
}

CORE_TEST(another_kind_ahead_ends_it, ALL_TRAITS)
{
    enqueue_a_in(f, "x/w a1");
    expect(f, "a REMOVE a1");
    assert_non_null(strstr(hf_acquisition_text(&f->a), "read/write"));
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_EKIND; a DONE");
}

TEST(what_the_name_is_in_use_for_is_reported)
{
    static const struct {
        enum hf_ticket_kind wanted;
        const char *queue, *text;
    } rows[] = {
        {HF_TICKET_MUTEX, "x/r a1",
         "a read/write lock (by \"another client\"), and "
         "this is a mutex;"},
        {HF_TICKET_MUTEX, "x/l2 a1",
         "a semaphore (by \"another client\"), and "
         "this is a mutex;"},
        {HF_TICKET_READ, "x/l1 a1",
         "a semaphore (by \"another client\"), and "
         "this is a read/write lock;"},
        {HF_TICKET_WRITE, "x a1",
         "a mutex (by \"another client\"), and "
         "this is a read/write lock;"},
        {HF_TICKET_ELECTION, "x a1",
         "a mutex (by \"another client\"), and "
         "this is an election;"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct core_fixture fixture, *f = &fixture;

        core_fixture_connected(f, ALL_TRAITS);
        f->a.kind = rows[i].wanted;
        enqueue_a_in(f, rows[i].queue);
        expect(f, "a REMOVE a1");
        removed(f, "a REMOVE a1", true);
        expect(f, "a ENDED HF_EKIND; a DONE");
        assert_non_null(strstr(hf_acquisition_text(&f->a), rows[i].text));
    }
}

/* ---------------------------------------------------------------- cancel -- */

CORE_TEST(fn09_a_cancelled_wait_ends_when_its_ticket_is_gone, 0)
{
    queue_a_behind_x(f);
    cancel(f, &f->a);
    cancel(f, &f->a);
    expect(f, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

CORE_TEST(requests_nobody_has_seen_are_not_made, 0)
{
    want(f, &f->a);
    cancel(f, &f->a);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

CORE_TEST(a_cancel_that_comes_late_changes_nothing, 0)
{
    enqueue_a_in(f, "a1");
    cancel(f, &f->a);
    expect(f, "a GRANTED");
    cancel(f, &f->a);
    expect(f, "");
    release(f, &f->a);
    cancel(f, &f->a);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    cancel(f, &f->a);
    expect(f, "a RELEASED HF_OK; a DONE");
}

CORE_TEST(a_list_under_way_does_not_hold_up_a_cancel, 0)
{
    queue_a_behind_x(f);
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    cancel(f, &f->a);
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ECANCELLED");
    listed(f, "a LIST", "x a1");
    expect(f, "a DONE");
}

/* -------------------------------------------------------------- eviction -- */

CORE_TEST(an_evicted_holder_learns_of_it, 0)
{
    hold_a(f);
    advance_to(f, 1005);
    expect(f, "a WATCH a1");
    gone(f, "a WATCH a1");
    assert_int_equal(hf_core_safe_until_ms(&f->core, &f->a), 0);
    expect(f, "a LOST");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST(a_release_before_the_loss_was_received_reports_once, 0)
{
    hold_a(f);
    advance_to(f, 1005);
    expect(f, "a WATCH a1");
    gone(f, "a WATCH a1");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

/* Its owner is notified of the loss, and not of the request before it. */
CORE_TEST(a_loss_takes_the_place_of_a_request_to_release, 0)
{
    hold_a(f);
    advance_to(f, 1005);
    expect(f, "a WATCH a1");
    revoked(f, "a WATCH a1");
    gone(f, "a WATCH a1");
    expect(f, "a LOST");
}

/* People see in the queue that the release was asked for. */
CORE_TEST(a_text_that_could_not_be_written_is_written_later, 0)
{
    hold_a(f);
    advance_to(f, 1005);
    expect(f, "a WATCH a1");
    revoked(f, "a WATCH a1");
    expect(f, "a REVOKED; a DESCRIBE a1");
    failed(f, "a DESCRIBE a1", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    expect(f, "a DESCRIBE a1");
}

CORE_TEST(a_release_takes_the_place_of_a_request_for_it, 0)
{
    hold_a(f);
    advance_to(f, 1005);
    expect(f, "a WATCH a1");
    revoked(f, "a WATCH a1");
    release(f, &f->a);
    expect(f, "a UNWATCH a1; a REMOVE a1");
}

CORE_TEST(fn11_a_release_finds_that_somebody_was_faster, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

/* Only the end of the session removes the ticket, and no release waits for
 * that. */
CORE_TEST(a_release_that_is_denied_says_so_and_is_tried_on, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    failed_as(f, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "not yours");
    expect(f, "a RELEASED HF_EDENIED");
    assert_string_equal(hf_acquisition_text(&f->a), "not yours");
    wake(f);
    expect(f, "a REMOVE a1");
    failed_as(f, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "not yours");
    expect(f, "");
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a DONE");
}

/* An error that may pass is tried again. */
CORE_TEST(a_release_that_fails_otherwise_is_tried_on_in_silence, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    failed_as(f, "a REMOVE a1", HF_FAILURE_FATAL, HF_ELIMIT, "no thread");
    expect(f, "");
    wake(f);
    expect(f, "a REMOVE a1");
    failed_as(f, "a REMOVE a1", HF_FAILURE_RETRY, HF_EDENIED, "not now");
    expect(f, "");
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
}

CORE_TEST(fn06_fn36_an_evicted_waiter_goes_to_the_tail, 0)
{
    queue_a_behind_x(f);
    gone(f, "a WATCH a1");
    expect(f, "a UNWATCH x");
    assert_int_equal(f->a.displaced, 0); /* it has no other place yet */
    wake(f);
    expect(f, "a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "x y a2");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a2");
    assert_int_equal(f->a.displaced, 1);
    gone(f, "a WATCH y");
    expect(f, "a LIST");
    listed(f, "a LIST", "x"); /* purged, unless the list is wrong */
    expect(f, "a UNWATCH a2; a REMOVE a2");
    removed(f, "a REMOVE a2", false);
    wake(f);
    expect(f, "a ENQUEUE a3");
    enqueued(f, "a ENQUEUE a3", "a3");
    expect(f, "a GRANTED");
    assert_int_equal(f->a.token, 103);
    assert_int_equal(f->a.displaced, 2);
}

CORE_TEST(a_late_list_shows_a_holder_its_eviction, ALL_TRAITS)
{
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    gone(f, "a WATCH y");
    expect(f, "a GRANTED");
    listed(f, "a LIST", "z");
    expect(f, "a LOST; a UNWATCH a1; a REMOVE a1");
}

/* ----------------------------------------------------------- the session -- */

CORE_TEST(a_waiter_rides_out_a_suspension, HF_ENGINE_GONE_ADMITS)
{
    queue_a_behind_x(f);
    suspended(f);
    advance_to(f, 9000);
    expect(f, "STATE SUSPENDED");
    connected(f, 9000, true);
    expect(f, "STATE CONNECTED; a LIST");
    gone(f, "a WATCH x"); /* no admission on what was known before */
    expect(f, "");
    listed(f, "a LIST", "x a1");
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

CORE_TEST(the_first_one_lists_all_the_same_after_an_outage, 0)
{
    queue_a_behind_x(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    connected(f, 1000, true);
    expect(f, "STATE CONNECTED; a LIST");
    gone_before(f, "a WATCH x", "a1");
    expect(f, "");
    listed(f, "a LIST", "y a1"); /* it is out of date */
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

CORE_TEST(a_watch_may_end_while_the_link_is_down, HF_ENGINE_GONE_ADMITS)
{
    queue_a_behind_x(f);
    suspended(f);
    gone(f, "a WATCH x");
    expect(f, "STATE SUSPENDED");
    connected(f, 1000, true);
    expect(f, "STATE CONNECTED; a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

CORE_TEST(a_waiter_starts_again_in_a_new_session, 0)
{
    queue_a_behind_x(f);
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST");
    connected(f, 1000, false);
    expect(f, "STATE CONNECTED; a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "a2");
    expect(f, "a GRANTED");
    assert_int_equal(f->a.token, 102);
}

TEST(a_session_refused_for_good_ends_the_wait)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    want(f, &f->a);
    session_lost(f, HF_EDENIED);
    expect(f, "a ENDED HF_EDENIED; a DONE");
}

CORE_TEST(a_release_waits_for_the_link_or_the_end, 0)
{
    hold_a(f);
    suspended(f);
    release(f, &f->a);
    expect(f, "STATE SUSPENDED");
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST; a RELEASED HF_ELOST; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&f->a), "did not confirm"));
}

/* The session was ended at the server, and another client was admitted before
 * this one released. */
CORE_TEST(a_session_that_ends_confirms_no_release, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    failed(f, "a REMOVE a1", HF_FAILURE_UNSURE);
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST; a RELEASED HF_ELOST; a DONE");
}
