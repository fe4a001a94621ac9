/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of a cohort: many who want one lock behind one ticket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hall.h"
#include "shelf.h"

/* --------------------------------------------------------------- handing -- */

static void one_alone_is_as_any_other(void **state)
{
    HELD(h, 1);
    assert_int_equal(promise(h, 1), HALL_SAFE_MS);
    assert_int_equal(h->m[1].token, 101);
    assert_string_equal(h->t_payloads[1], "m1");
    release(h, 1);
    assert_int_equal(promise(h, 1), 0);
    expect(h, "REMOVE t1");
    withdrawn(h, "REMOVE t1");
    expect(h, "m1 RELEASED HF_OK; m1 DONE");
    assert_true(hf_cohort_is_idle(&h->cohort));
    assert_null(h->core.first_cohort);
}

static void a_release_hands_on_without_a_request(void **state)
{
    HELD(h, 3);
    release(h, 1);
    assert_int_equal(promise(h, 1), 0);
    assert_int_equal(promise(h, 2), HALL_SAFE_MS);
    expect(h, "m2 GRANTED; m1 RELEASED HF_OK; m1 DONE");
    assert_int_equal(h->m[2].token, 101);
    assert_true(hf_ticket_id_equal(&h->m[2].ticket_id, &h->t[1]));
    want(h, 4);
    release(h, 2);
    expect(h, "m3 GRANTED; m2 RELEASED HF_OK; m2 DONE");
    release(h, 3);
    expect(h, "m4 GRANTED; m3 RELEASED HF_OK; m3 DONE");
    release(h, 4);
    expect(h, "REMOVE t1");
    withdrawn(h, "REMOVE t1");
    expect(h, "m4 RELEASED HF_OK; m4 DONE");
    assert_true(hf_cohort_is_idle(&h->cohort));
}

/* One more than it may be handed on, and another ticket is taken behind it:
 * the old one is withdrawn first. */
static void after_so_many_another_ticket_is_taken(void **state)
{
    HELD(h, HALL_HANDOFFS + 2);
    for (size_t i = 1; i <= HALL_HANDOFFS; i++) {
        char text[80];

        release(h, i);
        snprintf(text, sizeof text,
                 "m%zu GRANTED; m%zu RELEASED HF_OK; m%zu DONE", i + 1, i, i);
        expect(h, text);
    }
    release(h, HALL_HANDOFFS + 1);
    expect(h, "REMOVE t1; ENQUEUE t2");
    assert_string_equal(h->t_payloads[2], "m18");
    withdrawn(h, "REMOVE t1");
    expect(h, "m17 RELEASED HF_OK; m17 DONE");
    enqueued(h, "ENQUEUE t2", "x t2");
    expect(h, "WATCH x; WATCH t2");
    answer(h, HF_EVENT_WATCHING, "WATCH x", NULL);
    answer(h, HF_EVENT_WATCHING, "WATCH t2", NULL);
    gone(h, "WATCH x");
    expect(h, "m18 GRANTED");
    assert_int_equal(h->m[18].token, 102);
}

/* The third ticket waits until one of two is gone. */
static void no_more_than_two_tickets_at_once(void **state)
{
    HELD(h, 1);
    release(h, 1);
    expect(h, "REMOVE t1");
    want(h, 2);
    expect(h, "ENQUEUE t2");
    cancel(h, 2);
    want(h, 3);
    expect(h, "");
    enqueued(h, "ENQUEUE t2", "t1 t2");
    expect(h, "REMOVE t2");
    withdrawn(h, "REMOVE t1");
    expect(h, "m1 RELEASED HF_OK; m1 DONE; ENQUEUE t3");
    withdrawn(h, "REMOVE t2");
    expect(h, "m2 ENDED HF_ECANCELLED; m2 DONE");
    enqueued(h, "ENQUEUE t3", "t3");
    expect(h, "m3 GRANTED");
}

static void one_who_joins_while_the_last_leaves_gets_another(void **state)
{
    HELD(h, 1);
    release(h, 1);
    expect(h, "REMOVE t1");
    want(h, 2);
    expect(h, "ENQUEUE t2");
    enqueued(h, "ENQUEUE t2", "t1 t2"); /* the withdrawal is late */
    expect(h, "WATCH t1; WATCH t2");
    withdrawn(h, "REMOVE t1");
    expect(h, "m1 RELEASED HF_OK; m1 DONE");
    gone(h, "WATCH t1");
    expect(h, "m2 GRANTED");
}

/* ---------------------------------------------------------------- limits -- */

static void a_try_is_busy_at_once_while_another_holds(void **state)
{
    HELD(h, 1);
    h->m[2].only_try = true;
    want(h, 2);
    expect(h, "m2 ENDED HF_EBUSY; m2 DONE");
    assert_string_equal(hf_acquisition_text(&h->m[2]), "held by \"m1\"");
}

static void a_try_is_busy_when_its_ticket_is_behind(void **state)
{
    struct hall hall;

    (void)state;
    hall_init(&hall);
    hall.m[1].only_try = true;
    want(&hall, 1);
    expect(&hall, "ENQUEUE t1");
    enqueued(&hall, "ENQUEUE t1", "x t1");
    expect(&hall, "REMOVE t1");
    withdrawn(&hall, "REMOVE t1");
    expect(&hall, "m1 ENDED HF_EBUSY; m1 DONE");
    assert_string_equal(hf_acquisition_text(&hall.m[1]),
                        "held by \"a stranger\"");
}

/* One who joined it waits on behind the ticket. */
static void a_try_that_is_busy_leaves_its_ticket_to_the_next(void **state)
{
    struct hall hall;

    (void)state;
    hall_init(&hall);
    hall.m[1].only_try = true;
    want(&hall, 1);
    want(&hall, 2);
    expect(&hall, "ENQUEUE t1");
    enqueued(&hall, "ENQUEUE t1", "x t1");
    expect(&hall, "WATCH x; WATCH t1; m1 ENDED HF_EBUSY; m1 DONE");
    gone(&hall, "WATCH x");
    expect(&hall, "m2 GRANTED");
}

static void a_limit_ends_only_the_one(void **state)
{
    HELD(h, 1);
    h->m[2].deadline_at_ms = 3000;
    h->m[3].deadline_at_ms = 2000;
    want(h, 2);
    want(h, 3);
    want(h, 4);
    expect(h, "");
    tick(h, 1999);
    expect(h, "WATCH t1");
    assert_int_equal(hf_core_wake_at_ms(&h->core), 2000);
    tick(h, 2000);
    expect(h, "m3 ENDED HF_ETIMEDOUT; m3 DONE");
    assert_string_equal(hf_acquisition_text(&h->m[3]),
                        "waited 1000 ms; ahead: 2, held by \"m1\"");
    assert_int_equal(hf_core_wake_at_ms(&h->core), 3000);
    release(h, 1);
    expect(h, "m2 GRANTED; m1 RELEASED HF_OK; m1 DONE");
    tick(h, 3000);
    expect(h, "");
    release(h, 2);
    expect(h, "m4 GRANTED; m2 RELEASED HF_OK; m2 DONE");
}

static void one_who_waits_behind_the_ticket_too_knows_its_place(void **state)
{
    struct hall hall;

    (void)state;
    hall_init(&hall);
    want(&hall, 1);
    hall.m[2].deadline_at_ms = 2000;
    want(&hall, 2);
    expect(&hall, "ENQUEUE t1");
    enqueued(&hall, "ENQUEUE t1", "x y t1");
    expect(&hall, "WATCH y; WATCH t1");
    tick(&hall, 2000);
    expect(&hall, "m2 ENDED HF_ETIMEDOUT; m2 DONE");
    assert_string_equal(hf_acquisition_text(&hall.m[2]),
                        "waited 1000 ms; ahead: 3, held by \"a stranger\"");
}

/* The last one's end is told when the ticket was asked to go; that of others,
 * and of those in the middle, at once. */
static void the_ticket_goes_with_the_last_who_waits(void **state)
{
    struct hall hall;

    (void)state;
    hall_init(&hall);
    for (size_t i = 1; i <= 3; i++)
        want(&hall, i);
    expect(&hall, "ENQUEUE t1");
    enqueued(&hall, "ENQUEUE t1", "x t1");
    expect(&hall, "WATCH x; WATCH t1");
    cancel(&hall, 2);
    expect(&hall, "m2 ENDED HF_ECANCELLED; m2 DONE");
    cancel(&hall, 1);
    expect(&hall, "m1 ENDED HF_ECANCELLED; m1 DONE");
    cancel(&hall, 3);
    expect(&hall, "UNWATCH x; UNWATCH t1; REMOVE t1");
    withdrawn(&hall, "REMOVE t1");
    expect(&hall, "m3 ENDED HF_ECANCELLED; m3 DONE");
    assert_true(hf_cohort_is_idle(&hall.cohort));
}

/* ---------------------------------------------------------------- losses -- */

static void who_waits_goes_on_behind_another_ticket(void **state)
{
    HELD(h, 2);
    tick(h, HALL_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(h, "WATCH t1");
    answer(h, HF_EVENT_WATCHING, "WATCH t1", NULL);
    gone(h, "WATCH t1"); /* evicted */
    assert_int_equal(promise(h, 1), 0);
    expect(h, "m1 LOST; ENQUEUE t2");
    enqueued(h, "ENQUEUE t2", "t2");
    expect(h, "m2 GRANTED");
    assert_int_equal(h->m[2].token, 102);
    release(h, 1);
    expect(h, "m1 RELEASED HF_ELOST; m1 DONE");
    release(h, 2);
    expect(h, "REMOVE t2");
    withdrawn(h, "REMOVE t2");
    expect(h, "m2 RELEASED HF_OK; m2 DONE");
}

static void safe_until_ends_the_grant_of_the_member(void **state)
{
    HELD(h, 2);
    tell(h, HF_EVENT_SUSPENDED);
    expect(h, "SUSPENDED");
    tick(h, HALL_SAFE_MS);
    expect(h, "m1 LOST");
    assert_int_equal(promise(h, 1), 0);
    tell(h, HF_EVENT_SESSION_LOST);
    expect(h, "LOST");
    connected(h, false);
    expect(h, "CONNECTED; ENQUEUE t2");
    enqueued(h, "ENQUEUE t2", "t2");
    expect(h, "m2 GRANTED");
}

/* m1 releases without a connection: the ticket is looked for when there is one
 * again, before m2 is granted on it. */
static void hand_on_in_an_outage(struct hall *h)
{
    tell(h, HF_EVENT_SUSPENDED);
    expect(h, "SUSPENDED");
    release(h, 1);
    expect(h, "m1 RELEASED HF_OK; m1 DONE");
    h->now_ms += 100;
    connected(h, true);
    expect(h, "CONNECTED; WATCH t1; LIST");
}

/* The ticket may live, and be proven again: it is handed on then. */
static void nobody_is_granted_while_suspended(void **state)
{
    HELD(h, 2);
    hand_on_in_an_outage(h);
    answer(h, HF_EVENT_LISTED, "LIST", "t1");
    expect(h, "m2 GRANTED");
    assert_int_equal(h->m[2].token, 101);
}

/* While nobody could see it: whoever came next in the queue may hold it now. */
static void a_ticket_that_was_evicted_meanwhile_is_not_handed_on(void **state)
{
    HELD(h, 2);
    hand_on_in_an_outage(h);
    answer(h, HF_EVENT_LISTED, "LIST", "x");
    expect(h, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
}

/* Nothing says that it is there: the next ticket tells why. */
static void a_ticket_that_may_not_be_looked_for_is_not_handed_on(void **state)
{
    HELD(h, 2);
    hand_on_in_an_outage(h);
    failed(h, "LIST", HF_FAILURE_FATAL, HF_EDENIED);
    expect(h, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
    failed(h, "ENQUEUE t2", HF_FAILURE_FATAL, HF_EDENIED);
    expect(h, "m2 ENDED HF_EDENIED");
}

/* The list of before an outage says nothing of what was deleted in it. */
static void a_list_of_before_an_outage_confirms_nothing(void **state)
{
    HELD(h, 2);
    hand_on_in_an_outage(h);
    tell(h, HF_EVENT_SUSPENDED);
    expect(h, "SUSPENDED");
    connected(h, true);
    expect(h, "CONNECTED");
    answer(h, HF_EVENT_LISTED, "LIST", "t1");
    expect(h, "LIST");
    answer(h, HF_EVENT_LISTED, "LIST", "t1");
    expect(h, "m2 GRANTED");
}

/* A list that fails is asked for again, and once it was seen nothing is in the
 * way of those that follow. */
static void a_ticket_is_looked_for_once_a_connection(void **state)
{
    HELD(h, 3);
    hand_on_in_an_outage(h);
    failed(h, "LIST", HF_FAILURE_RETRY, HF_EPROTOCOL);
    expect(h, "");
    tick(h, hf_core_wake_at_ms(&h->core));
    expect(h, "LIST");
    answer(h, HF_EVENT_LISTED, "LIST", "t1");
    expect(h, "m2 GRANTED");
    release(h, 2);
    expect(h, "m3 GRANTED; m2 RELEASED HF_OK; m2 DONE");
}

static void the_last_member_waits_for_the_removal_within_a_bound(void **state)
{
    HELD(h, 2);
    tell(h, HF_EVENT_SUSPENDED);
    release(h, 1);
    expect(h, "SUSPENDED; m1 RELEASED HF_OK; m1 DONE");
    cancel(h, 2);
    expect(h, "");
    assert_int_equal(hf_core_wake_at_ms(&h->core),
                     h->now_ms + HF_REMOVAL_WAIT_MS);
    h->now_ms += HF_REMOVAL_WAIT_MS;
    tell(h, HF_EVENT_TICK);
    expect(h, "m2 ENDED HF_ECANCELLED");
    assert_non_null(strstr(hf_acquisition_text(&h->m[2]),
                           "its ticket may stay in the queue"));
    connected(h, true);
    expect(h, "CONNECTED; REMOVE t1");
    withdrawn(h, "REMOVE t1");
    expect(h, "m2 DONE");
}

static void a_proof_moves_the_promise_of_the_one_that_holds(void **state)
{
    struct hf_event proven = {.kind = HF_EVENT_PROVEN};

    HELD(h, 2);
    h->now_ms = 3000;
    proven.as.answer.anchor_ms = 2500;
    step(h, proven);
    assert_int_equal(promise(h, 1), HALL_SAFE_MS - 990 + 2500);
    assert_int_equal(promise(h, 2), 0);
    release(h, 1);
    assert_int_equal(promise(h, 1), 0);
    assert_int_equal(promise(h, 2), HALL_SAFE_MS - 990 + 2500);
}

/* -------------------------------------------------------------- revoking -- */

static void the_one_that_holds_is_asked_and_the_ticket_goes(void **state)
{
    HELD(h, 2);
    tick(h, HALL_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(h, "WATCH t1");
    answer(h, HF_EVENT_WATCHING, "WATCH t1", NULL);
    answer(h, HF_EVENT_REVOKED, "WATCH t1", NULL);
    expect(h, "m1 REVOKED; DESCRIBE t1");
    release(h, 1);
    expect(h, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
    withdrawn(h, "REMOVE t1");
    expect(h, "m1 RELEASED HF_OK; m1 DONE");
    answer(h, HF_EVENT_DESCRIBED, "DESCRIBE t1", NULL);
    enqueued(h, "ENQUEUE t2", "t2");
    expect(h, "m2 GRANTED"); /* and nobody asks it */
}

static void a_ticket_asked_for_in_time_serves_one(void **state)
{
    struct hall hall;

    (void)state;
    hall_init(&hall);
    want(&hall, 1);
    want(&hall, 2);
    expect(&hall, "ENQUEUE t1");
    enqueued(&hall, "ENQUEUE t1", "x t1");
    expect(&hall, "WATCH x; WATCH t1");
    answer(&hall, HF_EVENT_WATCHING, "WATCH t1", NULL);
    answer(&hall, HF_EVENT_REVOKED, "WATCH t1", NULL);
    expect(&hall, "DESCRIBE t1");
    answer(&hall, HF_EVENT_DESCRIBED, "DESCRIBE t1", NULL);
    expect(&hall, "");
    gone(&hall, "WATCH x");
    expect(&hall, "m1 GRANTED; m1 REVOKED");
    release(&hall, 1);
    expect(&hall, "UNWATCH t1; REMOVE t1; ENQUEUE t2");
    withdrawn(&hall, "REMOVE t1");
    expect(&hall, "m1 RELEASED HF_OK; m1 DONE");
}

/* ------------------------------------------------------------------ ends -- */

static void an_error_of_the_ticket_is_everybodys(void **state)
{
    struct hall hall;

    (void)state;
    hall_init(&hall);
    want(&hall, 1);
    want(&hall, 2);
    expect(&hall, "ENQUEUE t1");
    failed(&hall, "ENQUEUE t1", HF_FAILURE_FATAL, HF_EDENIED);
    expect(&hall, "m1 ENDED HF_EDENIED; m1 DONE; m2 ENDED HF_EDENIED; "
                  "m2 DONE");
    assert_string_equal(hf_acquisition_text(&hall.m[1]), "said the engine");
    assert_string_equal(hf_acquisition_text(&hall.m[2]), "said the engine");
    assert_true(hf_cohort_is_idle(&hall.cohort));
}

static void a_release_that_is_denied_says_so(void **state)
{
    HELD(h, 1);
    release(h, 1);
    expect(h, "REMOVE t1");
    failed(h, "REMOVE t1", HF_FAILURE_FATAL, HF_EDENIED);
    expect(h, "m1 RELEASED HF_EDENIED");
    assert_string_equal(hf_acquisition_text(&h->m[1]), "said the engine");
}

static void a_ticket_that_was_removed_is_a_grant_that_was_lost(void **state)
{
    struct hf_event event = {.kind = HF_EVENT_REMOVED};

    HELD(h, 1);
    release(h, 1);
    expect(h, "REMOVE t1");
    event.as.answer.request = answering(h, "REMOVE t1", true);
    step(h, event);
    expect(h, "m1 RELEASED HF_ELOST; m1 DONE");
}

static void closing_ends_all_who_wait(void **state)
{
    HELD(h, 3);
    tell(h, HF_EVENT_CLOSE);
    expect(h, "m1 LOST; END; m2 ENDED HF_ECLOSED; m3 ENDED HF_ECLOSED");
    want(h, 4);
    expect(h, "m4 ENDED HF_ECLOSED");
    (void)answering(h, "END", true);
    tell(h, HF_EVENT_CLOSED);
    expect(h, "CLOSED; m2 DONE; m3 DONE; m4 DONE");
    release(h, 1);
    expect(h, "m1 RELEASED HF_ELOST; m1 DONE");
    assert_true(hf_cohort_is_idle(&h->cohort));
}

/* ---------------------------------------------------------------- memory -- */

static void without_memory_the_first_member_ends(void **state)
{
    struct hall hall;

    (void)state;
    hall_init(&hall);
    shelf_refuse(true);
    want(&hall, 1);
    shelf_refuse(false);
    expect(&hall, "m1 ENDED HF_ENOMEM; m1 DONE");
    assert_true(hf_cohort_is_idle(&hall.cohort));
    want(&hall, 2);
    expect(&hall, "ENQUEUE t1");
}

static void
without_memory_the_next_ticket_waits_for_the_one_before(void **state)
{
    HELD(h, 2);
    tick(h, HALL_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(h, "WATCH t1");
    answer(h, HF_EVENT_WATCHING, "WATCH t1", NULL);
    answer(h, HF_EVENT_REVOKED, "WATCH t1", NULL);
    expect(h, "m1 REVOKED; DESCRIBE t1");
    answer(h, HF_EVENT_DESCRIBED, "DESCRIBE t1", NULL);
    shelf_refuse(true);
    release(h, 1);
    expect(h, "UNWATCH t1; REMOVE t1");
    shelf_refuse(false);
    withdrawn(h, "REMOVE t1");
    expect(h, "m1 RELEASED HF_OK; m1 DONE; ENQUEUE t2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alone_is_as_any_other),
        cmocka_unit_test(a_release_hands_on_without_a_request),
        cmocka_unit_test(after_so_many_another_ticket_is_taken),
        cmocka_unit_test(no_more_than_two_tickets_at_once),
        cmocka_unit_test(one_who_joins_while_the_last_leaves_gets_another),
        cmocka_unit_test(a_try_is_busy_at_once_while_another_holds),
        cmocka_unit_test(a_try_is_busy_when_its_ticket_is_behind),
        cmocka_unit_test(a_try_that_is_busy_leaves_its_ticket_to_the_next),
        cmocka_unit_test(a_limit_ends_only_the_one),
        cmocka_unit_test(one_who_waits_behind_the_ticket_too_knows_its_place),
        cmocka_unit_test(the_ticket_goes_with_the_last_who_waits),
        cmocka_unit_test(who_waits_goes_on_behind_another_ticket),
        cmocka_unit_test(safe_until_ends_the_grant_of_the_member),
        cmocka_unit_test(nobody_is_granted_while_suspended),
        cmocka_unit_test(a_ticket_that_was_evicted_meanwhile_is_not_handed_on),
        cmocka_unit_test(a_ticket_that_may_not_be_looked_for_is_not_handed_on),
        cmocka_unit_test(a_list_of_before_an_outage_confirms_nothing),
        cmocka_unit_test(a_ticket_is_looked_for_once_a_connection),
        cmocka_unit_test(the_last_member_waits_for_the_removal_within_a_bound),
        cmocka_unit_test(a_proof_moves_the_promise_of_the_one_that_holds),
        cmocka_unit_test(the_one_that_holds_is_asked_and_the_ticket_goes),
        cmocka_unit_test(a_ticket_asked_for_in_time_serves_one),
        cmocka_unit_test(an_error_of_the_ticket_is_everybodys),
        cmocka_unit_test(a_release_that_is_denied_says_so),
        cmocka_unit_test(a_ticket_that_was_removed_is_a_grant_that_was_lost),
        cmocka_unit_test(closing_ends_all_who_wait),
        cmocka_unit_test(without_memory_the_first_member_ends),
        cmocka_unit_test(
            without_memory_the_next_ticket_waits_for_the_one_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
