/* SPDX-License-Identifier: Apache-2.0 */
/* A cohort: acquisitions of one client for one lock, which hand one ticket
 * on.  See cohort_fixture.h for the notation. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "cohort_fixture.h"
#include "core/cohort.h"
#include "tracked_heap.h"

/* --------------------------------------------------------------- handing -- */

HELD_TEST(one_alone_is_as_any_other, 1)
{
    assert_int_equal(safe_until_of(f, 1), COHORT_SAFE_MS);
    assert_int_equal(f->w[1].token, 101);
    assert_string_equal(f->t_payloads[1], "w1");
    cohort_release(f, 1);
    assert_int_equal(safe_until_of(f, 1), 0);
    expect(f, "REMOVE t1");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w1 RELEASED HF_OK; w1 DONE");
    assert_true(hf_cohort_is_idle(&f->cohort));
    assert_null(f->core.cohorts.first);
}

HELD_TEST(a_release_hands_on_without_a_request, 3)
{
    cohort_release(f, 1);
    assert_int_equal(safe_until_of(f, 1), 0);
    assert_int_equal(safe_until_of(f, 2), COHORT_SAFE_MS);
    expect(f, "w2 GRANTED; w1 RELEASED HF_OK; w1 DONE");
    assert_int_equal(f->w[2].token, 101);
    assert_true(hf_ticket_id_equal(&f->w[2].ticket_id, &f->t[1]));
    cohort_want(f, 4);
    cohort_release(f, 2);
    expect(f, "w3 GRANTED; w2 RELEASED HF_OK; w2 DONE");
    cohort_release(f, 3);
    expect(f, "w4 GRANTED; w3 RELEASED HF_OK; w3 DONE");
    cohort_release(f, 4);
    expect(f, "REMOVE t1");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w4 RELEASED HF_OK; w4 DONE");
    assert_true(hf_cohort_is_idle(&f->cohort));
}

/* After the last handoff that is allowed another ticket is enqueued, and the
 * old one is removed first. */
HELD_TEST(after_so_many_another_ticket_is_taken, COHORT_HANDOFFS + 2)
{
    for (size_t i = 1; i <= COHORT_HANDOFFS; i++) {
        char text[80];

        cohort_release(f, i);
        snprintf(text, sizeof text,
                 "w%zu GRANTED; w%zu RELEASED HF_OK; w%zu DONE", i + 1, i, i);
        expect(f, text);
    }
    cohort_release(f, COHORT_HANDOFFS + 1);
    expect(f, "REMOVE t1; ENQUEUE t2");
    assert_string_equal(f->t_payloads[2], "w18");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w17 RELEASED HF_OK; w17 DONE");
    cohort_enqueued(f, "ENQUEUE t2", "x t2");
    expect(f, "WATCH x; WATCH t2");
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH x", NULL);
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH t2", NULL);
    cohort_gone(f, "WATCH x");
    expect(f, "w18 GRANTED");
    assert_int_equal(f->w[18].token, 102);
}

/* A third ticket is enqueued only when one of the two is gone. */
HELD_TEST(no_more_than_two_tickets_at_once, 1)
{
    cohort_release(f, 1);
    expect(f, "REMOVE t1");
    cohort_want(f, 2);
    expect(f, "ENQUEUE t2");
    cohort_cancel(f, 2);
    cohort_want(f, 3);
    expect(f, "");
    cohort_enqueued(f, "ENQUEUE t2", "t1 t2");
    expect(f, "REMOVE t2");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w1 RELEASED HF_OK; w1 DONE; ENQUEUE t3");
    cohort_removed(f, "REMOVE t2");
    expect(f, "w2 ENDED HF_ECANCELLED; w2 DONE");
    cohort_enqueued(f, "ENQUEUE t3", "t3");
    expect(f, "w3 GRANTED");
}

HELD_TEST(one_who_joins_while_the_last_leaves_gets_another, 1)
{
    cohort_release(f, 1);
    expect(f, "REMOVE t1");
    cohort_want(f, 2);
    expect(f, "ENQUEUE t2");
    cohort_enqueued(f, "ENQUEUE t2", "t1 t2"); /* the removal is late */
    expect(f, "WATCH t1; WATCH t2");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w1 RELEASED HF_OK; w1 DONE");
    cohort_gone(f, "WATCH t1");
    expect(f, "w2 GRANTED");
}

/* ---------------------------------------------------------------- limits -- */

HELD_TEST(a_try_is_busy_at_once_while_another_holds, 1)
{
    f->w[2].only_try = true;
    cohort_want(f, 2);
    expect(f, "w2 ENDED HF_EBUSY; w2 DONE");
    assert_string_equal(hf_acquisition_text(&f->w[2]), "held by \"w1\"");
}

TEST(a_try_is_busy_when_its_ticket_is_behind)
{
    struct cohort_fixture cohort_fixture;

    cohort_fixture_init(&cohort_fixture);
    cohort_fixture.w[1].only_try = true;
    cohort_want(&cohort_fixture, 1);
    expect(&cohort_fixture, "ENQUEUE t1");
    cohort_enqueued(&cohort_fixture, "ENQUEUE t1", "x t1");
    expect(&cohort_fixture, "REMOVE t1");
    cohort_removed(&cohort_fixture, "REMOVE t1");
    expect(&cohort_fixture, "w1 ENDED HF_EBUSY; w1 DONE");
    assert_string_equal(hf_acquisition_text(&cohort_fixture.w[1]),
                        "held by \"another client\"");
}

/* An acquisition that joined meanwhile waits on behind the ticket. */
TEST(a_try_that_is_busy_leaves_its_ticket_to_the_next)
{
    struct cohort_fixture cohort_fixture;

    cohort_fixture_init(&cohort_fixture);
    cohort_fixture.w[1].only_try = true;
    cohort_want(&cohort_fixture, 1);
    cohort_want(&cohort_fixture, 2);
    expect(&cohort_fixture, "ENQUEUE t1");
    cohort_enqueued(&cohort_fixture, "ENQUEUE t1", "x t1");
    expect(&cohort_fixture, "WATCH x; WATCH t1; w1 ENDED HF_EBUSY; w1 DONE");
    cohort_gone(&cohort_fixture, "WATCH x");
    expect(&cohort_fixture, "w2 GRANTED");
}

HELD_TEST(a_limit_ends_only_the_one, 1)
{
    f->w[2].deadline_at_ms = 3000;
    f->w[3].deadline_at_ms = 2000;
    cohort_want(f, 2);
    cohort_want(f, 3);
    cohort_want(f, 4);
    expect(f, "");
    cohort_tick(f, 1999);
    expect(f, "WATCH t1");
    assert_int_equal(hf_core_wake_at_ms(&f->core), 2000);
    cohort_tick(f, 2000);
    expect(f, "w3 ENDED HF_ETIMEDOUT; w3 DONE");
    assert_string_equal(hf_acquisition_text(&f->w[3]),
                        "waited 1s; ahead: 2, held by \"w1\"");
    assert_int_equal(hf_core_wake_at_ms(&f->core), 3000);
    cohort_release(f, 1);
    expect(f, "w2 GRANTED; w1 RELEASED HF_OK; w1 DONE");
    cohort_tick(f, 3000);
    expect(f, "");
    cohort_release(f, 2);
    expect(f, "w4 GRANTED; w2 RELEASED HF_OK; w2 DONE");
}

TEST(one_who_waits_behind_the_ticket_too_knows_its_place)
{
    struct cohort_fixture cohort_fixture;

    cohort_fixture_init(&cohort_fixture);
    cohort_want(&cohort_fixture, 1);
    cohort_fixture.w[2].deadline_at_ms = 2000;
    cohort_want(&cohort_fixture, 2);
    expect(&cohort_fixture, "ENQUEUE t1");
    cohort_enqueued(&cohort_fixture, "ENQUEUE t1", "x y t1");
    expect(&cohort_fixture, "WATCH y; WATCH t1");
    cohort_tick(&cohort_fixture, 2000);
    expect(&cohort_fixture, "w2 ENDED HF_ETIMEDOUT; w2 DONE");
    assert_string_equal(hf_acquisition_text(&cohort_fixture.w[2]),
                        "waited 1s; ahead: 3, held by \"another client\"");
}

/* The last waiter ends when the removal of the ticket was asked for.  The
 * others end at once. */
TEST(the_ticket_goes_with_the_last_who_waits)
{
    struct cohort_fixture cohort_fixture;

    cohort_fixture_init(&cohort_fixture);
    for (size_t i = 1; i <= 3; i++)
        cohort_want(&cohort_fixture, i);
    expect(&cohort_fixture, "ENQUEUE t1");
    cohort_enqueued(&cohort_fixture, "ENQUEUE t1", "x t1");
    expect(&cohort_fixture, "WATCH x; WATCH t1");
    cohort_cancel(&cohort_fixture, 2);
    expect(&cohort_fixture, "w2 ENDED HF_ECANCELLED; w2 DONE");
    cohort_cancel(&cohort_fixture, 1);
    expect(&cohort_fixture, "w1 ENDED HF_ECANCELLED; w1 DONE");
    cohort_cancel(&cohort_fixture, 3);
    expect(&cohort_fixture, "UNWATCH x; UNWATCH t1; REMOVE t1");
    cohort_removed(&cohort_fixture, "REMOVE t1");
    expect(&cohort_fixture, "w3 ENDED HF_ECANCELLED; w3 DONE");
    assert_true(hf_cohort_is_idle(&cohort_fixture.cohort));
}

/* ---------------------------------------------------------------- losses -- */

HELD_TEST(who_waits_goes_on_behind_another_ticket, 2)
{
    cohort_tick(f, COHORT_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(f, "WATCH t1");
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH t1", NULL);
    cohort_gone(f, "WATCH t1"); /* evicted */
    assert_int_equal(safe_until_of(f, 1), 0);
    expect(f, "w1 LOST; ENQUEUE t2");
    cohort_enqueued(f, "ENQUEUE t2", "t2");
    expect(f, "w2 GRANTED");
    assert_int_equal(f->w[2].token, 102);
    cohort_release(f, 1);
    expect(f, "w1 RELEASED HF_ELOST; w1 DONE");
    cohort_release(f, 2);
    expect(f, "REMOVE t2");
    cohort_removed(f, "REMOVE t2");
    expect(f, "w2 RELEASED HF_OK; w2 DONE");
}

HELD_TEST(safe_until_ends_the_grant_of_the_waiter, 2)
{
    cohort_session(f, HF_EVENT_SUSPENDED);
    expect(f, "SUSPENDED");
    cohort_tick(f, COHORT_SAFE_MS);
    expect(f, "w1 LOST");
    assert_int_equal(safe_until_of(f, 1), 0);
    cohort_session(f, HF_EVENT_SESSION_LOST);
    expect(f, "LOST");
    cohort_connected(f, false);
    expect(f, "CONNECTED; ENQUEUE t2");
    cohort_enqueued(f, "ENQUEUE t2", "t2");
    expect(f, "w2 GRANTED");
}

/* w1 releases without a connection: once there is one, the ticket is listed
 * before w2 is granted. */
static void hand_on_in_an_outage(struct cohort_fixture *f)
{
    cohort_session(f, HF_EVENT_SUSPENDED);
    expect(f, "SUSPENDED");
    cohort_release(f, 1);
    expect(f, "w1 RELEASED HF_OK; w1 DONE");
    f->now_ms += 100;
    cohort_connected(f, true);
    expect(f, "CONNECTED; WATCH t1; LIST");
}

/* The session may exist and be proven again; the handoff happens then. */
HELD_TEST(nobody_is_granted_while_suspended, 2)
{
    hand_on_in_an_outage(f);
    cohort_answer(f, HF_EVENT_LISTED, "LIST", "t1");
    expect(f, "w2 GRANTED");
    assert_int_equal(f->w[2].token, 101);
}

/* The ticket was not visible for a while, so the next one in the queue may
 * hold the lock now. */
HELD_TEST(a_ticket_that_was_evicted_meanwhile_is_not_handed_on, 2)
{
    hand_on_in_an_outage(f);
    cohort_answer(f, HF_EVENT_LISTED, "LIST", "x");
    expect(f, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
}

/* Nothing shows that the ticket is there.  The next ticket reports why. */
HELD_TEST(a_ticket_that_may_not_be_looked_for_is_not_handed_on, 2)
{
    hand_on_in_an_outage(f);
    cohort_failed(f, "LIST", HF_FAILURE_FATAL, HF_EDENIED);
    expect(f, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
    cohort_failed(f, "ENQUEUE t2", HF_FAILURE_FATAL, HF_EDENIED);
    expect(f, "w2 ENDED HF_EDENIED");
}

/* A list that was made before an outage does not show what was removed during
 * it. */
HELD_TEST(a_list_of_before_an_outage_confirms_nothing, 2)
{
    hand_on_in_an_outage(f);
    cohort_session(f, HF_EVENT_SUSPENDED);
    expect(f, "SUSPENDED");
    cohort_connected(f, true);
    expect(f, "CONNECTED");
    cohort_answer(f, HF_EVENT_LISTED, "LIST", "t1");
    expect(f, "LIST");
    cohort_answer(f, HF_EVENT_LISTED, "LIST", "t1");
    expect(f, "w2 GRANTED");
}

/* A list that fails is made again.  Once the ticket was seen, later handoffs
 * do not wait. */
HELD_TEST(a_ticket_is_looked_for_once_a_connection, 3)
{
    hand_on_in_an_outage(f);
    cohort_failed(f, "LIST", HF_FAILURE_RETRY, HF_EPROTOCOL);
    expect(f, "");
    cohort_tick(f, hf_core_wake_at_ms(&f->core));
    expect(f, "LIST");
    cohort_answer(f, HF_EVENT_LISTED, "LIST", "t1");
    expect(f, "w2 GRANTED");
    cohort_release(f, 2);
    expect(f, "w3 GRANTED; w2 RELEASED HF_OK; w2 DONE");
}

HELD_TEST(the_last_waiter_waits_for_the_removal_within_a_bound, 2)
{
    cohort_session(f, HF_EVENT_SUSPENDED);
    cohort_release(f, 1);
    expect(f, "SUSPENDED; w1 RELEASED HF_OK; w1 DONE");
    cohort_cancel(f, 2);
    expect(f, "");
    assert_int_equal(hf_core_wake_at_ms(&f->core),
                     f->now_ms + HF_REMOVAL_WAIT_MS);
    f->now_ms += HF_REMOVAL_WAIT_MS;
    cohort_session(f, HF_EVENT_TICK);
    expect(f, "w2 ENDED HF_ECANCELLED");
    assert_non_null(strstr(hf_acquisition_text(&f->w[2]),
                           "its ticket may stay in the queue"));
    cohort_connected(f, true);
    expect(f, "CONNECTED; REMOVE t1");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w2 DONE");
}

HELD_TEST(a_proof_moves_the_safe_until_of_the_one_that_holds, 2)
{
    struct hf_event proven = {.kind = HF_EVENT_PROVEN};

    f->now_ms = 3000;
    proven.as.answer.anchor_ms = 2500;
    cohort_step(f, proven);
    assert_int_equal(safe_until_of(f, 1), COHORT_SAFE_MS - 990 + 2500);
    assert_int_equal(safe_until_of(f, 2), 0);
    cohort_release(f, 1);
    assert_int_equal(safe_until_of(f, 1), 0);
    assert_int_equal(safe_until_of(f, 2), COHORT_SAFE_MS - 990 + 2500);
}

/* -------------------------------------------------------------- revoking -- */

HELD_TEST(the_one_that_holds_is_asked_and_the_ticket_goes, 2)
{
    cohort_tick(f, COHORT_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(f, "WATCH t1");
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH t1", NULL);
    cohort_answer(f, HF_EVENT_REVOKED, "WATCH t1", NULL);
    expect(f, "w1 REVOKED; DESCRIBE t1");
    cohort_release(f, 1);
    expect(f, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w1 RELEASED HF_OK; w1 DONE");
    cohort_answer(f, HF_EVENT_DESCRIBED, "DESCRIBE t1", NULL);
    cohort_enqueued(f, "ENQUEUE t2", "t2");
    expect(f, "w2 GRANTED"); /* and no request for it is made */
}

TEST(a_ticket_asked_for_in_time_serves_one)
{
    struct cohort_fixture cohort_fixture;

    cohort_fixture_init(&cohort_fixture);
    cohort_want(&cohort_fixture, 1);
    cohort_want(&cohort_fixture, 2);
    expect(&cohort_fixture, "ENQUEUE t1");
    cohort_enqueued(&cohort_fixture, "ENQUEUE t1", "x t1");
    expect(&cohort_fixture, "WATCH x; WATCH t1");
    cohort_answer(&cohort_fixture, HF_EVENT_WATCHING, "WATCH t1", NULL);
    cohort_answer(&cohort_fixture, HF_EVENT_REVOKED, "WATCH t1", NULL);
    expect(&cohort_fixture, "DESCRIBE t1");
    cohort_answer(&cohort_fixture, HF_EVENT_DESCRIBED, "DESCRIBE t1", NULL);
    expect(&cohort_fixture, "");
    cohort_gone(&cohort_fixture, "WATCH x");
    expect(&cohort_fixture, "w1 GRANTED; w1 REVOKED");
    cohort_release(&cohort_fixture, 1);
    expect(&cohort_fixture, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
    cohort_removed(&cohort_fixture, "REMOVE t1");
    expect(&cohort_fixture, "w1 RELEASED HF_OK; w1 DONE");
}

/* ------------------------------------------------------------------ ends -- */

TEST(an_error_of_the_ticket_is_everybodys)
{
    struct cohort_fixture cohort_fixture;

    cohort_fixture_init(&cohort_fixture);
    cohort_want(&cohort_fixture, 1);
    cohort_want(&cohort_fixture, 2);
    expect(&cohort_fixture, "ENQUEUE t1");
    cohort_failed(&cohort_fixture, "ENQUEUE t1", HF_FAILURE_FATAL, HF_EDENIED);
    expect(&cohort_fixture,
           "w1 ENDED HF_EDENIED; w1 DONE; w2 ENDED HF_EDENIED; "
           "w2 DONE");
    assert_string_equal(hf_acquisition_text(&cohort_fixture.w[1]),
                        "said the engine");
    assert_string_equal(hf_acquisition_text(&cohort_fixture.w[2]),
                        "said the engine");
    assert_true(hf_cohort_is_idle(&cohort_fixture.cohort));
}

HELD_TEST(a_release_that_is_denied_says_so, 1)
{
    cohort_release(f, 1);
    expect(f, "REMOVE t1");
    cohort_failed(f, "REMOVE t1", HF_FAILURE_FATAL, HF_EDENIED);
    expect(f, "w1 RELEASED HF_EDENIED");
    assert_string_equal(hf_acquisition_text(&f->w[1]), "said the engine");
}

HELD_TEST(a_ticket_that_was_removed_is_a_grant_that_was_lost, 1)
{
    struct hf_event event = {.kind = HF_EVENT_REMOVED};

    cohort_release(f, 1);
    expect(f, "REMOVE t1");
    event.as.answer.request = cohort_pending(f, "REMOVE t1", true);
    cohort_step(f, event);
    expect(f, "w1 RELEASED HF_ELOST; w1 DONE");
}

HELD_TEST(closing_ends_all_who_wait, 3)
{
    cohort_session(f, HF_EVENT_CLOSE);
    expect(f, "w1 LOST; END; w2 ENDED HF_ECLOSED; w3 ENDED HF_ECLOSED");
    cohort_want(f, 4);
    expect(f, "w4 ENDED HF_ECLOSED");
    (void)cohort_pending(f, "END", true);
    cohort_session(f, HF_EVENT_CLOSED);
    expect(f, "CLOSED; w2 DONE; w3 DONE; w4 DONE");
    cohort_release(f, 1);
    expect(f, "w1 RELEASED HF_ELOST; w1 DONE");
    assert_true(hf_cohort_is_idle(&f->cohort));
}

/* The list failed on the old connection, so its backoff does not count. */
HELD_TEST(a_ticket_is_looked_for_at_once_after_an_outage, 2)
{
    hand_on_in_an_outage(f);
    cohort_failed(f, "LIST", HF_FAILURE_RETRY, HF_EPROTOCOL);
    cohort_session(f, HF_EVENT_SUSPENDED);
    expect(f, "SUSPENDED");
    cohort_connected(f, true);
    expect(f, "CONNECTED; LIST");
}

HELD_TEST(giving_up_spares_the_one_that_holds, 3)
{
    cohort_session(f, HF_EVENT_SUSPENDED);
    expect(f, "SUSPENDED");
    cohort_session(f, HF_EVENT_GAVE_UP);
    expect(f, "w2 ENDED HF_EUNREACHABLE; w2 DONE; "
              "w3 ENDED HF_EUNREACHABLE; w3 DONE");
    assert_int_equal(safe_until_of(f, 1), COHORT_SAFE_MS);
}

/* ---------------------------------------------------------------- memory -- */

/* Of the first turn stays what the core keeps for all of its life. */
HELD_TEST(a_turn_leaves_no_memory, 1)
{
    size_t blocks = 0;

    for (size_t i = 1; i <= 3; i++) {
        char removal[16], enqueue[16], queue[8], text[64];

        snprintf(removal, sizeof removal, "REMOVE t%zu", i);
        snprintf(enqueue, sizeof enqueue, "ENQUEUE t%zu", i + 1);
        snprintf(queue, sizeof queue, "t%zu", i + 1);
        cohort_release(f, i);
        expect(f, removal);
        cohort_removed(f, removal);
        snprintf(text, sizeof text, "w%zu RELEASED HF_OK; w%zu DONE", i, i);
        expect(f, text);
        hf_acquisition_free(&f->core, &f->w[i]);
        if (i == 1)
            blocks = tracked_heap_blocks();
        assert_int_equal(tracked_heap_blocks(), blocks);
        cohort_want(f, i + 1);
        expect(f, enqueue);
        cohort_enqueued(f, enqueue, queue);
        snprintf(text, sizeof text, "w%zu GRANTED", i + 1);
        expect(f, text);
    }
}

TEST(without_memory_the_first_waiter_ends)
{
    struct cohort_fixture cohort_fixture;

    cohort_fixture_init(&cohort_fixture);
    tracked_heap_fail(true);
    cohort_want(&cohort_fixture, 1);
    tracked_heap_fail(false);
    expect(&cohort_fixture, "w1 ENDED HF_ENOMEM; w1 DONE");
    assert_true(hf_cohort_is_idle(&cohort_fixture.cohort));
    cohort_want(&cohort_fixture, 2);
    expect(&cohort_fixture, "ENQUEUE t1");
}

HELD_TEST(without_memory_the_next_ticket_waits_for_the_one_before, 2)
{
    cohort_tick(f, COHORT_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(f, "WATCH t1");
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH t1", NULL);
    cohort_answer(f, HF_EVENT_REVOKED, "WATCH t1", NULL);
    expect(f, "w1 REVOKED; DESCRIBE t1");
    cohort_answer(f, HF_EVENT_DESCRIBED, "DESCRIBE t1", NULL);
    tracked_heap_fail(true);
    cohort_release(f, 1);
    expect(f, "UNWATCH t1; REMOVE t1");
    tracked_heap_fail(false);
    cohort_removed(f, "REMOVE t1");
    expect(f, "w1 RELEASED HF_OK; w1 DONE; ENQUEUE t2");
}
