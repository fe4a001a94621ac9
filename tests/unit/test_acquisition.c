/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of acquisitions while the engine answers: waiting, entering, leaving,
 * giving up.  Those where it does not are in test_unanswered.c, those about
 * time in test_limits.c. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ALL_TRAITS (HF_ENGINE_GONE_ADMITS | HF_ENGINE_WATCHES_TWO)

/* ------------------------------------------------------------- the path -- */

static void one_answer_is_enough_for_an_empty_queue(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    assert_int_equal(s->a.token, 101);
    assert_true(hf_ticket_id_equal(&s->a.ticket_id, &s->mine[0][0]));
    assert_int_equal(hf_core_safe_until_ms(&s->core, &s->a), STAGE_SAFE_MS);
    release(s, &s->a);
    assert_int_equal(hf_core_safe_until_ms(&s->core, &s->a), 0);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_OK; a DONE");
    assert_null(s->core.first);
}

static void a_want_waits_for_the_connection(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    want(s, &s->a);
    expect(s, "");
    connected(s, 1000, false);
    expect(s, "STATE CONNECTED; a ENQUEUE a1");
}

static void a_wrong_password_is_not_waited_out(void **state)
{
    static const hf_status finals[] = {HF_EDENIED, HF_EURL};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct stage stage;
        struct stage *s = &stage;

        stage_init(s, 0);
        want(s, &s->a);
        trouble(s, HF_EUNREACHABLE, "refused");
        ring(s);
        assert_int_equal(s->now_ms, STAGE_START_MS + STAGE_CONNECT_MS);
        expect(s, "a ENDED HF_EUNREACHABLE; a DONE");

        stage_init(s, 0);
        want(s, &s->a);
        trouble(s, finals[i], "one of two: wrong password");
        at(s, s->now_ms + 1);
        expect(s, "");
        trouble_for_good(s, finals[i], "here: wrong password");
        ring(s);
        assert_int_equal(s->now_ms, STAGE_START_MS + 1);
        assert_int_equal(s->a.status, finals[i]);
        assert_non_null(
            strstr(hf_acquisition_text(&s->a), ": here: wrong password"));
    }
}

/* Whoever was let in once, is let in again. */
static void a_refusal_after_a_connection_is_waited_out(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    trouble_for_good(s, HF_EDENIED, "the passwords are just being changed");
    at(s, s->now_ms + 1);
    expect(s, "");
    connected(s, s->now_ms, true);
    assert_true(hf_session_usable(&s->core.session));
}

static void a_longer_hold_watches_its_own_ticket(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    at(s, STAGE_START_MS + HF_OWN_WATCH_AFTER_MS - 1);
    expect(s, "");
    ring(s);
    assert_int_equal(s->now_ms, STAGE_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(s, "a WATCH a1");
    watching(s, "a WATCH a1");
    release(s, &s->a);
    expect(s, "a UNWATCH a1; a REMOVE a1");
}

static void fn59_the_one_before_is_watched_and_nobody_else(void **state)
{
    STAGE(s, 0);
    enqueue_a_in(s, "x y z a1");
    expect(s, "a WAITING 3; a WATCH z; a WATCH a1");
    assert_string_equal(hf_shared_text_get(s->a.holder), "a stranger");
}

static void a_list_decides_after_the_one_before_went(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
    at(s, 2000); /* its own watch has been there all along */
    expect(s, "");
}

static void where_nobody_can_come_ahead_no_list_is_needed(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    queue_a(s);
    watching(s, "a WATCH x");
    gone(s, "a WATCH x");
    expect(s, "a GRANTED");
}

static void one_of_two_that_goes_does_not_admit(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    enqueue_a_in(s, "x y a1");
    expect(s, "a WAITING 2; a WATCH y; a WATCH a1");
    gone(s, "a WATCH y");
    expect(s, "a LIST");
    listed(s, "a LIST", "x a1");
    expect(s, "a WAITING 1; a WATCH x");
    gone(s, "a WATCH x");
    expect(s, "a GRANTED");
}

static void a_watch_may_be_answered_gone(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "x a1"); /* it is still going */
    expect(s, "a WAITING 1; a WATCH x");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
}

/* ------------------------------------------------------------ look-ahead -- */

static void the_last_step_needs_no_list_in_a_deep_queue(void **state)
{
    STAGE(s, ALL_TRAITS);
    enqueue_a_in(s, "v w x y a1");
    expect(s, "a WAITING 4; a WATCH y; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "y a1");
    expect(s, "a WAITING 1");
    gone(s, "a WATCH y");
    expect(s, "a GRANTED");
}

static void both_may_go_while_the_list_is_under_way(void **state)
{
    STAGE(s, ALL_TRAITS);
    enqueue_a_in(s, "x y a1");
    expect(s, "a WAITING 2; a WATCH y; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    gone(s, "a WATCH y");
    expect(s, "a GRANTED");
    listed(s, "a LIST", "a1");
    expect(s, "");
    release(s, &s->a);
    expect(s, "a UNWATCH a1; a REMOVE a1");
}

static void a_list_that_may_be_out_of_date_is_asked_again(void **state)
{
    STAGE(s, HF_ENGINE_WATCHES_TWO);
    enqueue_a_in(s, "x y a1");
    expect(s, "a WAITING 2; a WATCH y; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    gone(s, "a WATCH y");
    expect(s, "");
    listed(s, "a LIST", "y a1"); /* taken before y went */
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
}

static void right_watches_are_kept_and_the_others_taken_back(void **state)
{
    STAGE(s, ALL_TRAITS);
    enqueue_a_in(s, "w x y a1");
    expect(s, "a WAITING 3; a WATCH y; a WATCH x; a WATCH a1");
    gone(s, "a WATCH y");
    expect(s, "a LIST");
    listed(s, "a LIST", "w a1"); /* x has gone, its GONE is on the way */
    expect(s, "a WAITING 1; a UNWATCH x; a WATCH w");
    gone(s, "a WATCH w");
    expect(s, "a GRANTED");
}

/* GONE overtakes the UNWATCH that is still on its way. */
static void the_end_of_a_watch_taken_back_means_nothing(void **state)
{
    STAGE(s, ALL_TRAITS);
    enqueue_a_in(s, "w x y a1");
    expect(s, "a WAITING 3; a WATCH y; a WATCH x; a WATCH a1");
    gone(s, "a WATCH y");
    expect(s, "a LIST");
    listed(s, "a LIST", "w a1");
    gone(s, "a WATCH x");
    expect(s, "a WAITING 1; a WATCH w");
}

static void the_place_is_reported_as_often_as_asked(void **state)
{
    STAGE(s, 0);
    s->a.report_every_ms = 300;
    enqueue_a_in(s, "x y a1");
    expect(s, "a WAITING 2; a WATCH y; a WATCH a1");
    ring(s);
    assert_int_equal(s->now_ms, STAGE_START_MS + 300);
    expect(s, "a LIST");
    listed(s, "a LIST", "x y a1");
    expect(s, "a WAITING 2");
    ring(s);
    expect(s, "a LIST");
    /* Slower answers than reports put nothing off. */
    at(s, s->now_ms + 300);
    at(s, s->now_ms + 300);
    expect(s, "");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED; a UNWATCH y");
}

/* ----------------------------------------------------------------- kinds -- */

static void readers_enter_together(void **state)
{
    STAGE(s, ALL_TRAITS);
    s->a.kind = HF_TICKET_READ;
    enqueue_a_in(s, "x/r y/r a1");
    expect(s, "a GRANTED");
}

static void a_reader_behind_a_writer_enters_when_it_goes(void **state)
{
    STAGE(s, ALL_TRAITS);
    s->a.kind = HF_TICKET_READ;
    enqueue_a_in(s, "x/w y/r a1");
    expect(s, "a WAITING 2; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a GRANTED");
}

static void a_writer_behind_a_writer_always_lists(void **state)
{
    STAGE(s, ALL_TRAITS);
    s->a.kind = HF_TICKET_WRITE;
    enqueue_a_in(s, "x/w a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "y/r a1"); /* x was downgraded */
    expect(s, "a WAITING 1; a WATCH y");
    gone(s, "a WATCH y");
    expect(s, "a GRANTED");
}

/* As kazoo's names show them, one's own included. */
static void kinds_that_are_not_told_exclude_each_other(void **state)
{
    static const enum hf_ticket_kind kinds[] = {HF_TICKET_MUTEX,
                                                HF_TICKET_WRITE};

    for (size_t i = 0; i < 2; i++) {
        STAGE(s, ALL_TRAITS);
        s->a.kind = kinds[i];
        enqueue_a_in(s, "x/x a1/x");
        expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
        gone(s, "a WATCH x");
        expect(s, "a LIST");
        listed(s, "a LIST", "a1/x");
        expect(s, "a GRANTED");
    }
}

static void a_reader_passes_no_ticket_of_a_kind_not_told(void **state)
{
    STAGE(s, ALL_TRAITS);
    s->a.kind = HF_TICKET_READ;
    enqueue_a_in(s, "x/x y/r a1");
    expect(s, "a WAITING 2; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a GRANTED");
}

/* It was a writer, that reads now. */
static void a_mutex_behind_a_downgrade_hears_whose_name_it_is(void **state)
{
    STAGE(s, ALL_TRAITS);
    enqueue_a_in(s, "x/x a1/x");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "y/r a1/x");
    expect(s, "a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_EKIND; a DONE");
}

static void another_kind_ahead_ends_it(void **state)
{
    STAGE(s, ALL_TRAITS);
    enqueue_a_in(s, "x/w a1");
    expect(s, "a REMOVE a1");
    assert_non_null(strstr(hf_acquisition_text(&s->a), "read/write"));
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_EKIND; a DONE");
}

static void what_the_name_is_in_use_for_is_told(void **state)
{
    static const struct {
        enum hf_ticket_kind wanted;
        const char *queue, *text;
    } rows[] = {
        {HF_TICKET_MUTEX, "x/r a1",
         "a read/write lock (by \"a stranger\"), and "
         "this is a mutex;"},
        {HF_TICKET_MUTEX, "x/l2 a1",
         "a semaphore (by \"a stranger\"), and "
         "this is a mutex;"},
        {HF_TICKET_READ, "x/l1 a1",
         "a semaphore (by \"a stranger\"), and "
         "this is a read/write lock;"},
        {HF_TICKET_WRITE, "x a1",
         "a mutex (by \"a stranger\"), and "
         "this is a read/write lock;"},
        {HF_TICKET_ELECTION, "x a1",
         "a mutex (by \"a stranger\"), and "
         "this is an election;"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        STAGE(s, ALL_TRAITS);
        s->a.kind = rows[i].wanted;
        enqueue_a_in(s, rows[i].queue);
        expect(s, "a REMOVE a1");
        withdrawn(s, "a REMOVE a1", true);
        expect(s, "a ENDED HF_EKIND; a DONE");
        assert_non_null(strstr(hf_acquisition_text(&s->a), rows[i].text));
    }
}

/* ---------------------------------------------------------------- cancel -- */

static void fn09_a_cancelled_wait_ends_when_its_ticket_is_gone(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    cancel(s, &s->a);
    cancel(s, &s->a);
    expect(s, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

static void requests_nobody_has_seen_are_not_made(void **state)
{
    STAGE(s, 0);
    want(s, &s->a);
    cancel(s, &s->a);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

static void a_cancel_that_comes_late_changes_nothing(void **state)
{
    STAGE(s, 0);
    enqueue_a_in(s, "a1");
    cancel(s, &s->a);
    expect(s, "a GRANTED");
    cancel(s, &s->a);
    expect(s, "");
    release(s, &s->a);
    cancel(s, &s->a);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    cancel(s, &s->a);
    expect(s, "a RELEASED HF_OK; a DONE");
}

static void a_list_under_way_does_not_hold_up_a_cancel(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    cancel(s, &s->a);
    expect(s, "a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ECANCELLED");
    listed(s, "a LIST", "x a1");
    expect(s, "a DONE");
}

/* -------------------------------------------------------------- eviction -- */

static void an_evicted_holder_hears_of_it(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    at(s, 1005);
    expect(s, "a WATCH a1");
    gone(s, "a WATCH a1");
    assert_int_equal(hf_core_safe_until_ms(&s->core, &s->a), 0);
    expect(s, "a LOST");
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void a_release_before_the_loss_was_heard_tells_once(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    at(s, 1005);
    expect(s, "a WATCH a1");
    gone(s, "a WATCH a1");
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void fn11_a_release_finds_that_somebody_was_faster(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

/* Only the end of the session takes it out: nobody can wait for that. */
static void a_release_that_is_denied_says_so_and_is_tried_on(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    failed_as(s, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "not yours");
    expect(s, "a RELEASED HF_EDENIED");
    assert_string_equal(hf_acquisition_text(&s->a), "not yours");
    ring(s);
    expect(s, "a REMOVE a1");
    failed_as(s, "a REMOVE a1", HF_FAILURE_FATAL, HF_EDENIED, "not yours");
    expect(s, "");
    ring(s);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a DONE");
}

/* What may pass is waited for. */
static void a_release_that_fails_otherwise_is_tried_on_in_silence(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    failed_as(s, "a REMOVE a1", HF_FAILURE_FATAL, HF_ELIMIT, "no thread");
    expect(s, "");
    ring(s);
    expect(s, "a REMOVE a1");
    failed_as(s, "a REMOVE a1", HF_FAILURE_RETRY, HF_EDENIED, "not now");
    expect(s, "");
    ring(s);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_OK; a DONE");
}

static void fn06_fn36_an_evicted_waiter_goes_to_the_tail(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    gone(s, "a WATCH a1");
    expect(s, "a UNWATCH x");
    assert_int_equal(s->a.displaced, 0); /* it has no other place yet */
    ring(s);
    expect(s, "a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "x y a2");
    expect(s, "a WAITING 2; a WATCH y; a WATCH a2");
    assert_int_equal(s->a.displaced, 1);
    gone(s, "a WATCH y");
    expect(s, "a LIST");
    listed(s, "a LIST", "x"); /* purged, unless the list is wrong */
    expect(s, "a UNWATCH a2; a REMOVE a2");
    withdrawn(s, "a REMOVE a2", false);
    ring(s);
    expect(s, "a ENQUEUE a3");
    enqueued(s, "a ENQUEUE a3", "a3");
    expect(s, "a GRANTED");
    assert_int_equal(s->a.token, 103);
    assert_int_equal(s->a.displaced, 2);
}

static void a_late_list_shows_a_holder_its_eviction(void **state)
{
    STAGE(s, ALL_TRAITS);
    enqueue_a_in(s, "x y a1");
    expect(s, "a WAITING 2; a WATCH y; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    gone(s, "a WATCH y");
    expect(s, "a GRANTED");
    listed(s, "a LIST", "z");
    expect(s, "a LOST; a UNWATCH a1; a REMOVE a1");
}

/* ----------------------------------------------------------- the session -- */

static void a_waiter_rides_out_a_suspension(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    queue_a(s);
    suspended(s);
    at(s, 9000);
    expect(s, "STATE SUSPENDED");
    connected(s, 9000, true);
    expect(s, "STATE CONNECTED; a LIST");
    gone(s, "a WATCH x"); /* no admission on what was known before */
    expect(s, "");
    listed(s, "a LIST", "x a1");
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
}

static void a_watch_may_end_while_the_link_is_down(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    queue_a(s);
    suspended(s);
    gone(s, "a WATCH x");
    expect(s, "STATE SUSPENDED");
    connected(s, 1000, true);
    expect(s, "STATE CONNECTED; a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
}

static void a_waiter_starts_again_in_a_new_session(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST");
    connected(s, 1000, false);
    expect(s, "STATE CONNECTED; a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "a2");
    expect(s, "a GRANTED");
    assert_int_equal(s->a.token, 102);
}

static void a_session_refused_for_good_ends_the_wait(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    want(s, &s->a);
    session_lost(s, HF_EDENIED);
    expect(s, "a ENDED HF_EDENIED; a DONE");
}

static void a_release_waits_for_the_link_or_the_end(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    release(s, &s->a);
    expect(s, "STATE SUSPENDED");
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST; a RELEASED HF_ELOST; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&s->a), "did not confirm"));
}

/* Somebody else ended the session, and another client was admitted before this
 * one released. */
static void a_session_that_ends_confirms_no_release(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    failed(s, "a REMOVE a1", HF_FAILURE_UNSURE);
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST; a RELEASED HF_ELOST; a DONE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_answer_is_enough_for_an_empty_queue),
        cmocka_unit_test(a_want_waits_for_the_connection),
        cmocka_unit_test(a_wrong_password_is_not_waited_out),
        cmocka_unit_test(a_refusal_after_a_connection_is_waited_out),
        cmocka_unit_test(a_longer_hold_watches_its_own_ticket),
        cmocka_unit_test(fn59_the_one_before_is_watched_and_nobody_else),
        cmocka_unit_test(a_list_decides_after_the_one_before_went),
        cmocka_unit_test(where_nobody_can_come_ahead_no_list_is_needed),
        cmocka_unit_test(one_of_two_that_goes_does_not_admit),
        cmocka_unit_test(a_watch_may_be_answered_gone),
        cmocka_unit_test(the_last_step_needs_no_list_in_a_deep_queue),
        cmocka_unit_test(both_may_go_while_the_list_is_under_way),
        cmocka_unit_test(a_list_that_may_be_out_of_date_is_asked_again),
        cmocka_unit_test(right_watches_are_kept_and_the_others_taken_back),
        cmocka_unit_test(the_end_of_a_watch_taken_back_means_nothing),
        cmocka_unit_test(the_place_is_reported_as_often_as_asked),
        cmocka_unit_test(readers_enter_together),
        cmocka_unit_test(a_reader_behind_a_writer_enters_when_it_goes),
        cmocka_unit_test(a_writer_behind_a_writer_always_lists),
        cmocka_unit_test(kinds_that_are_not_told_exclude_each_other),
        cmocka_unit_test(a_reader_passes_no_ticket_of_a_kind_not_told),
        cmocka_unit_test(a_mutex_behind_a_downgrade_hears_whose_name_it_is),
        cmocka_unit_test(another_kind_ahead_ends_it),
        cmocka_unit_test(what_the_name_is_in_use_for_is_told),
        cmocka_unit_test(fn09_a_cancelled_wait_ends_when_its_ticket_is_gone),
        cmocka_unit_test(requests_nobody_has_seen_are_not_made),
        cmocka_unit_test(a_cancel_that_comes_late_changes_nothing),
        cmocka_unit_test(a_list_under_way_does_not_hold_up_a_cancel),
        cmocka_unit_test(an_evicted_holder_hears_of_it),
        cmocka_unit_test(a_release_before_the_loss_was_heard_tells_once),
        cmocka_unit_test(fn11_a_release_finds_that_somebody_was_faster),
        cmocka_unit_test(a_release_that_is_denied_says_so_and_is_tried_on),
        cmocka_unit_test(a_release_that_fails_otherwise_is_tried_on_in_silence),
        cmocka_unit_test(fn06_fn36_an_evicted_waiter_goes_to_the_tail),
        cmocka_unit_test(a_late_list_shows_a_holder_its_eviction),
        cmocka_unit_test(a_waiter_rides_out_a_suspension),
        cmocka_unit_test(a_watch_may_end_while_the_link_is_down),
        cmocka_unit_test(a_waiter_starts_again_in_a_new_session),
        cmocka_unit_test(a_session_refused_for_good_ends_the_wait),
        cmocka_unit_test(a_release_waits_for_the_link_or_the_end),
        cmocka_unit_test(a_session_that_ends_confirms_no_release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
