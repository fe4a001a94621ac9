/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of acquisitions whose requests fail, or get no answer. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shelf.h"

/* --------------------------------------------------------------- enqueue -- */

static void an_enqueue_that_failed_is_tried_with_a_fresh_id(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(s, "");
    ring(s);
    assert_in_range(s->now_ms, STAGE_START_MS + 50, STAGE_START_MS + 100);
    expect(s, "a ENQUEUE a2");
    assert_false(hf_ticket_id_equal(&s->mine[0][0], &s->mine[0][1]));
}

static void no_retry_left_ends_with_the_engines_story(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_RETRY);
    ring(s);
    expect(s, "a ENQUEUE a2");
    failed(s, "a ENQUEUE a2", HF_FAILURE_RETRY);
    ring(s);
    expect(s, "a ENQUEUE a3");
    failed(s, "a ENQUEUE a3", HF_FAILURE_RETRY);
    ring(s);
    expect(s, "a ENQUEUE a4");
    failed_as(s, "a ENQUEUE a4", HF_FAILURE_RETRY, HF_EFULL, "disk is full");
    expect(s, "a ENDED HF_EFULL; a DONE");
    assert_string_equal(hf_acquisition_text(&s->a), "disk is full");
}

static void a_success_counts_tries_from_the_start(void **state)
{
    STAGE(s, 0);
    for (int round = 0; round < 5; round++) {
        char name[] = "a ENQUEUE a?";

        name[11] = (char)('1' + round);
        if (round == 0)
            enqueue_a(s);
        failed(s, name, HF_FAILURE_RETRY);
        ring(s);
        name[11]++;
        expect(s, name);
        if (round == 1) { /* in, and evicted */
            enqueued(s, name, "x a3");
            expect(s, "a WAITING 1; a WATCH x; a WATCH a3");
            gone(s, "a WATCH a3");
            expect(s, "a UNWATCH x");
            ring(s);
            expect(s, "a ENQUEUE a4");
            round++;
        }
    }
}

static void a_fatal_enqueue_ends_at_once(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    failed_as(s, "a ENQUEUE a1", HF_FAILURE_FATAL, HF_EDENIED, "no entry");
    expect(s, "a ENDED HF_EDENIED; a DONE");
    assert_string_equal(hf_acquisition_text(&s->a), "no entry");
}

static void a_dropped_link_uses_up_no_retry(void **state)
{
    char next[] = "STATE CONNECTED; a ENQUEUE a1";
    const char *enqueue = strstr(next, "a ENQUEUE");

    STAGE(s, 0);
    enqueue_a(s);
    for (int round = 0; round < 8; round++) {
        suspended(s);
        failed(s, enqueue, HF_FAILURE_RETRY);
        expect(s, "STATE SUSPENDED");
        next[sizeof next - 2]++;
        connected(s, 1000, true);
        expect(s, next);
    }
}

/* Each outage takes the answer of another enqueue with it.  None of them is a
 * failure of the engine, however many there are. */
static void outages_use_up_no_retry(void **state)
{
    static const char *const enqueues[] = {"a ENQUEUE a1", "a ENQUEUE a2",
                                           "a ENQUEUE a3", "a ENQUEUE a4"};

    STAGE(s, 0);
    enqueue_a(s);
    for (size_t round = 0; round < 4; round++) {
        if (round > 0) {
            ring(s);
            expect(s, enqueues[round]);
        }
        suspended(s);
        failed(s, enqueues[round], HF_FAILURE_UNSURE);
        expect(s, "STATE SUSPENDED");
        connected(s, s->now_ms, true);
        expect(s, "STATE CONNECTED; a LIST");
        listed(s, "a LIST", "x");
        expect(s, "");
    }
    assert_true(hf_acquisition_is_waiting(&s->a));
}

static void a_ticket_gone_at_once_is_enqueued_again(void **state)
{
    STAGE(s, 0);
    enqueue_a_in(s, "x");
    expect(s, "a REMOVE a1"); /* should the list be wrong */
    withdrawn(s, "a REMOVE a1", false);
    ring(s);
    expect(s, "a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "");
    ring(s);
    expect(s, "a REMOVE a2; a ENQUEUE a3");
    enqueued(s, "a ENQUEUE a3", "");
    ring(s);
    expect(s, "a REMOVE a3; a ENQUEUE a4");
    enqueued(s, "a ENQUEUE a4", "");
    expect(s, "a REMOVE a4");
    withdrawn(s, "a REMOVE a2", true);
    withdrawn(s, "a REMOVE a3", false);
    withdrawn(s, "a REMOVE a4", false);
    expect(s, "a ENDED HF_EPROTOCOL; a DONE");
}

/* ---------------------------------------------------------------- unsure -- */

static void a_ticket_in_doubt_is_looked_for_and_found(void **state)
{
    STAGE(s, 0);
    doubt_a1(s);
    listed(s, "a LIST", "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
}

static void it_is_looked_for_as_soon_as_connected(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    suspended(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "STATE SUSPENDED");
    connected(s, 1000, true);
    expect(s, "STATE CONNECTED; a LIST");
    failed(s, "a LIST", HF_FAILURE_RETRY);
    expect(s, "");
    ring(s);
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
}

static void a_new_session_ends_all_doubt(void **state)
{
    STAGE(s, 0);
    doubt_a1(s);
    failed(s, "a LIST", HF_FAILURE_RETRY);
    session_lost(s, HF_ELOST);
    connected(s, 1000, false);
    expect(s, "STATE LOST; STATE CONNECTED; a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "a2");
    expect(s, "a GRANTED");
    at(s, 1005);
    expect(s, "a WATCH a2");
    release(s, &s->a);
    expect(s, "a UNWATCH a2; a REMOVE a2");
    withdrawn(s, "a REMOVE a2", true);
    expect(s, "a RELEASED HF_OK; a DONE");
}

static void what_was_not_found_may_show_up_late(void **state)
{
    STAGE(s, 0);
    abandon_a1(s);
    enqueued(s, "a ENQUEUE a2", "x a2");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a2");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "a1 a2"); /* ahead of its successor */
    expect(s, "a REMOVE a1; a WAITING 1; a WATCH a1");
    withdrawn(s, "a REMOVE a1", true);
    gone(s, "a WATCH a1");
    expect(s, "a LIST");
    listed(s, "a LIST", "a2");
    expect(s, "a GRANTED");
    release(s, &s->a);
    expect(s, "a UNWATCH a2; a REMOVE a2");
    withdrawn(s, "a REMOVE a2", true);
    expect(s, "a RELEASED HF_OK; a DONE");
}

/* a has a second chance to see it in a list of b's. */
static void any_list_of_the_queue_shows_it(void **state)
{
    STAGE(s, 0);
    abandon_a1(s);
    want(s, &s->b);
    enqueued(s, "a ENQUEUE a2", "a2");
    expect(s, "a GRANTED; b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "a2 a1 b1");
    expect(s, "a REMOVE a1; b WAITING 2; b WATCH a1; b WATCH b1");
}

static void what_never_showed_is_withdrawn_when_its_time_is_over(void **state)
{
    STAGE(s, 0);
    abandon_a1(s);
    enqueued(s, "a ENQUEUE a2", "a2");
    expect(s, "a GRANTED");
    release(s, &s->a);
    expect(s, "a REMOVE a2");
    withdrawn(s, "a REMOVE a2", true);
    expect(s, "a RELEASED HF_OK"); /* and not forgotten */
    outlast_a1(s);
    failed(s, "a REMOVE a1", HF_FAILURE_UNSURE);
    ring(s);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a DONE");
}

/* A withdraw that found nothing says nothing of what comes after it. */
static void it_is_withdrawn_again_until_it_was_seen_or_is_late(void **state)
{
    STAGE(s, 0);
    doubt_a1(s);
    cancel(s, &s->a);
    expect(s, "a REMOVE a1");
    listed(s, "a LIST", "x");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a ENDED HF_ECANCELLED");
    assert_true(s->a.may_remain);
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "x a1 b1");
    expect(s, "a REMOVE a1; b WAITING 2; b WATCH a1; b WATCH b1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a DONE");
}

static void with_all_slots_in_use_the_next_attempt_waits(void **state)
{
    STAGE(s, 0);
    s->core.config.retry.tries = HF_RETRY_UNLIMITED;
    enqueue_a(s);
    for (int i = 1; i <= HF_EARLIER_TICKETS_MAX; i++) {
        char name[] = "a ENQUEUE a?";

        name[11] = (char)('0' + i);
        failed(s, name, HF_FAILURE_UNSURE);
        expect(s, "a LIST");
        listed(s, "a LIST", "");
        expect(s, "");
        if (i < HF_EARLIER_TICKETS_MAX) {
            ring(s);
            name[11]++;
            expect(s, name);
        }
    }
    outlast_a1(s);
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "PROVE; a ENQUEUE a5");
}

static void without_memory_an_end_says_so_and_what_may_remain(void **state)
{
    STAGE(s, 0);
    doubt_a1(s);
    shelf_refuse(true);
    cancel(s, &s->a);
    expect(s, "a REMOVE a1");
    listed(s, "a LIST", "x");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a ENDED HF_ECANCELLED");
    shelf_refuse(false);
    assert_true(s->a.may_remain);
    assert_string_equal(hf_acquisition_text(&s->a),
                        "there is no memory to say why; its ticket may stay in "
                        "the queue until the session ends");
}

/* Without a lease the first answer after the failure settles it. */
static void without_a_lease_one_look_is_enough(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    connected_for(s, HF_FOREVER, 990, false);
    expect(s, "STATE CONNECTED");
    doubt_a1(s);
    listed(s, "a LIST", "");
    ring(s);
    expect(s, "a ENQUEUE a2");
    failed(s, "a ENQUEUE a2", HF_FAILURE_UNSURE);
    expect(s, "a LIST");
    cancel(s, &s->a);
    expect(s, "a REMOVE a2");
    withdrawn(s, "a REMOVE a2", false);
    listed(s, "a LIST", "");
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

static void fn27_no_retry_left_in_doubt_tells_of_the_doubt(void **state)
{
    STAGE(s, 0);
    s->core.config.retry.tries = 0;
    enqueue_a(s);
    failed_as(s, "a ENQUEUE a1", HF_FAILURE_UNSURE, HF_EUNSURE, "no answer");
    expect(s, "a LIST");
    listed(s, "a LIST", "");
    expect(s, "a ENDED HF_EUNSURE");
    assert_string_equal(hf_acquisition_text(&s->a),
                        "no answer; its ticket may stay in the "
                        "queue until the session ends");
    at(s, STAGE_START_MS + STAGE_TIMEOUT_MS);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a DONE");
}

/* ------------------------------------------------- giving up an enqueue -- */

static void a_cancel_waits_for_the_answer_of_the_enqueue(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    cancel(s, &s->a);
    expect(s, "");
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

static void but_not_for_ever(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    cancel(s, &s->a);
    ring(s);
    assert_int_equal(s->now_ms, STAGE_START_MS + HF_REMOVAL_WAIT_MS);
    expect(s, "a ENDED HF_ECANCELLED");
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a DONE");
}

static void a_cancelled_enqueue_that_failed_left_nothing(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    cancel(s, &s->a);
    failed(s, "a ENQUEUE a1", HF_FAILURE_RETRY);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

static void fn47_a_cancelled_enqueue_in_doubt_is_abandoned(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    cancel(s, &s->a);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a ENDED HF_ECANCELLED");
    assert_non_null(
        strstr(hf_acquisition_text(&s->a), "its ticket may stay in the queue"));
    outlast_a1(s);
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a DONE");
}

/* -------------------------------------------------------- other requests -- */

static void a_wait_survives_lists_that_fail(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    for (int i = 0; i < 10; i++) { /* more often than an enqueue would be */
        failed(s, "a LIST", i % 2 ? HF_FAILURE_RETRY : HF_FAILURE_UNSURE);
        expect(s, "");
        at(s, s->now_ms + 1000);
        expect(s, i % 3 == 2 ? "a LIST; PROVE" : "a LIST");
        if (is_pending(s, "PROVE"))
            proven(s, s->now_ms);
    }
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
}

static void a_wait_survives_watches_that_fail(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    failed(s, "a WATCH x", HF_FAILURE_UNSURE);
    failed(s, "a WATCH a1", HF_FAILURE_RETRY);
    expect(s, "");
    ring(s);
    expect(s, "a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
}

static void a_fatal_list_ends_the_wait(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    failed_as(s, "a LIST", HF_FAILURE_FATAL, HF_EDENIED, "read refused");
    expect(s, "a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_EDENIED; a DONE");
}

static void a_fatal_watch_ends_the_wait(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    failed_as(s, "a WATCH x", HF_FAILURE_FATAL, HF_ELIMIT, "no descriptor");
    expect(s, "a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ELIMIT; a DONE");
}

static void a_holder_goes_on_without_a_watch(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    at(s, 1005);
    expect(s, "a WATCH a1");
    failed(s, "a WATCH a1", HF_FAILURE_FATAL);
    expect(s, "");
    ring(s);
    expect(s, "a WATCH a1");
}

static void fn28_a_withdraw_is_repeated_whatever_it_says(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    for (int i = 0; i < 20; i++) {
        expect(s, "a REMOVE a1");
        failed(s, "a REMOVE a1", (enum hf_failure)(i % 3));
        expect(s, "");
        at(s, s->now_ms + 1000); /* no backoff is longer */
    }
    expect(s, "a REMOVE a1");
    /* One of those may have removed it, or somebody else has. */
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void a_repeated_withdraw_that_finds_the_ticket_confirms(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    failed(s, "a REMOVE a1", HF_FAILURE_UNSURE);
    ring(s);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_OK; a DONE");
}

static void a_withdraw_that_did_not_happen_hides_nothing(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    failed(s, "a REMOVE a1", HF_FAILURE_RETRY);
    ring(s);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_enqueue_that_failed_is_tried_with_a_fresh_id),
        cmocka_unit_test(no_retry_left_ends_with_the_engines_story),
        cmocka_unit_test(a_success_counts_tries_from_the_start),
        cmocka_unit_test(a_fatal_enqueue_ends_at_once),
        cmocka_unit_test(a_dropped_link_uses_up_no_retry),
        cmocka_unit_test(outages_use_up_no_retry),
        cmocka_unit_test(a_ticket_gone_at_once_is_enqueued_again),
        cmocka_unit_test(a_ticket_in_doubt_is_looked_for_and_found),
        cmocka_unit_test(it_is_looked_for_as_soon_as_connected),
        cmocka_unit_test(a_new_session_ends_all_doubt),
        cmocka_unit_test(what_was_not_found_may_show_up_late),
        cmocka_unit_test(any_list_of_the_queue_shows_it),
        cmocka_unit_test(what_never_showed_is_withdrawn_when_its_time_is_over),
        cmocka_unit_test(it_is_withdrawn_again_until_it_was_seen_or_is_late),
        cmocka_unit_test(with_all_slots_in_use_the_next_attempt_waits),
        cmocka_unit_test(without_memory_an_end_says_so_and_what_may_remain),
        cmocka_unit_test(without_a_lease_one_look_is_enough),
        cmocka_unit_test(fn27_no_retry_left_in_doubt_tells_of_the_doubt),
        cmocka_unit_test(a_cancel_waits_for_the_answer_of_the_enqueue),
        cmocka_unit_test(but_not_for_ever),
        cmocka_unit_test(a_cancelled_enqueue_that_failed_left_nothing),
        cmocka_unit_test(fn47_a_cancelled_enqueue_in_doubt_is_abandoned),
        cmocka_unit_test(a_wait_survives_lists_that_fail),
        cmocka_unit_test(a_wait_survives_watches_that_fail),
        cmocka_unit_test(a_fatal_list_ends_the_wait),
        cmocka_unit_test(a_fatal_watch_ends_the_wait),
        cmocka_unit_test(a_holder_goes_on_without_a_watch),
        cmocka_unit_test(fn28_a_withdraw_is_repeated_whatever_it_says),
        cmocka_unit_test(a_repeated_withdraw_that_finds_the_ticket_confirms),
        cmocka_unit_test(a_withdraw_that_did_not_happen_hides_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
