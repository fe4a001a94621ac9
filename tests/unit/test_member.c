/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of members of a double barrier, from wanting to go in to having
 * gone. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MEMBER(s, parties)                                                     \
    STAGE(s, 0);                                                               \
    s->a.kind = HF_TICKET_PARTICIPANT;                                         \
    s->a.limit = parties

/* a is there and waits for one more. */
static void wait_for_one(struct stage *s)
{
    enqueue_a_in(s, "a1");
    expect(s, "a WAITING 1; a WATCH a1; a WATCH_QUEUE");
    listed(s, "a WATCH_QUEUE", "a1");
    expect(s, "a WAITING 1");
}

static void let_in(struct stage *s)
{
    enqueue_a_in(s, "x/m a1 !/y150");
    expect(s, "a GRANTED");
    assert_int_equal(s->a.generation, 150);
}

static void the_last_to_come_stamps(void **state)
{
    MEMBER(s, 2);
    enqueue_a_in(s, "x/m a1");
    expect(s, "a WAITING 2; a NEW_GENERATION a1; a WATCH a1; a WATCH_QUEUE");
    assert_int_equal(s->a.tickets.current->request.limit, 2);
    stamped(s, "a NEW_GENERATION a1");
    expect(s, "a LIST");
    listed(s, "a LIST", "x/m a1 !/y150");
    expect(s, "a GRANTED; a UNWATCH");
    assert_int_equal(s->a.generation, 150);
}

static void fn66_no_news_but_a_stamp_lets_in(void **state)
{
    MEMBER(s, 3);
    wait_for_one(s);
    changed(s, "a WATCH_QUEUE");
    expect(s, "a WATCH_QUEUE");
    listed(s, "a WATCH_QUEUE", "x/m a1");
    expect(s, "a WAITING 2");
    changed(s, "a WATCH_QUEUE");
    expect(s, "a WATCH_QUEUE");
    listed(s, "a WATCH_QUEUE", "a1 !/y100"); /* of before */
    expect(s, "a WAITING 1");
    changed(s, "a WATCH_QUEUE");
    expect(s, "a WATCH_QUEUE");
    listed(s, "a WATCH_QUEUE", "a1 !/y102");
    expect(s, "a GRANTED; a UNWATCH");
}

static void a_stamp_that_failed_is_looked_for_before_the_next(void **state)
{
    MEMBER(s, 2);
    wait_for_one(s);
    changed(s, "a WATCH_QUEUE");
    expect(s, "a WATCH_QUEUE");
    listed(s, "a WATCH_QUEUE", "x/m a1");
    expect(s, "a WAITING 2; a NEW_GENERATION a1");
    failed(s, "a NEW_GENERATION a1", HF_FAILURE_UNSURE);
    expect(s, "");
    ring(s);
    expect(s, "a LIST");
    listed(s, "a LIST", "a1"); /* the other one has gone */
    expect(s, "a WAITING 1");
    changed(s, "a WATCH_QUEUE");
    expect(s, "a WATCH_QUEUE");
    listed(s, "a WATCH_QUEUE", "a1 y/m");
    expect(s, "a WAITING 2; a NEW_GENERATION a1");
    stamped(s, "a NEW_GENERATION a1");
    expect(s, "a LIST");
    listed(s, "a LIST", "a1 y/m !/y150");
    expect(s, "a GRANTED; a UNWATCH");
}

static void a_stamp_that_may_not_be_made_ends_it(void **state)
{
    MEMBER(s, 1);
    enqueue_a_in(s, "a1");
    expect(s, "a WAITING 1; a NEW_GENERATION a1; a WATCH a1; a WATCH_QUEUE");
    failed_as(s, "a NEW_GENERATION a1", HF_FAILURE_FATAL, HF_EDENIED,
              "no create");
    expect(s, "a UNWATCH a1; a UNWATCH; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_EDENIED; a DONE");
}

static void who_waits_in_vain_is_taken_out(void **state)
{
    MEMBER(s, 2);
    s->a.deadline_at_ms = STAGE_START_MS + 500;
    wait_for_one(s);
    at(s, STAGE_START_MS + 500);
    expect(s, "a UNWATCH a1; a UNWATCH; a REMOVE a1");
    assert_non_null(strstr(hf_acquisition_text(&s->a), "1 of 2 parties"));
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ETIMEDOUT; a DONE");
}

static void who_only_tries_does_not_wait(void **state)
{
    MEMBER(s, 2);
    s->a.only_try = true;
    enqueue_a_in(s, "a1");
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_EBUSY; a DONE");
}

/* The stamp of the other session is older than the ticket of this one. */
static void a_lost_session_begins_anew(void **state)
{
    MEMBER(s, 2);
    wait_for_one(s);
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST");
    connected(s, s->now_ms, false);
    expect(s, "STATE CONNECTED; a ENQUEUE a2");
    enqueued(s, "a ENQUEUE a2", "!/y101 a2");
    expect(s, "a WAITING 1; a WATCH a2; a WATCH_QUEUE");
}

static void who_was_let_in_may_be_lost(void **state)
{
    MEMBER(s, 2);
    let_in(s);
    session_lost(s, HF_ELOST);
    expect(s, "a LOST; STATE LOST");
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void who_is_thrown_out_waits_again(void **state)
{
    MEMBER(s, 2);
    wait_for_one(s);
    gone(s, "a WATCH a1");
    expect(s, "a UNWATCH");
    ring(s);
    expect(s, "a ENQUEUE a2");
}

/* It says something of the first ticket only. */
static void a_stamp_of_a_ticket_that_is_gone_ends_nothing(void **state)
{
    MEMBER(s, 1);
    enqueue_a_in(s, "a1");
    expect(s, "a WAITING 1; a NEW_GENERATION a1; a WATCH a1; a WATCH_QUEUE");
    gone(s, "a WATCH a1");
    expect(s, "a UNWATCH");
    ring(s);
    expect(s, "a ENQUEUE a2");
    failed_as(s, "a NEW_GENERATION a1", HF_FAILURE_FATAL, HF_EDENIED,
              "no create");
    expect(s, "");
    enqueued(s, "a ENQUEUE a2", "a2");
    expect(s, "a WAITING 1; a NEW_GENERATION a2; a WATCH a2; a WATCH_QUEUE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_to_come_stamps),
        cmocka_unit_test(fn66_no_news_but_a_stamp_lets_in),
        cmocka_unit_test(a_stamp_that_failed_is_looked_for_before_the_next),
        cmocka_unit_test(a_stamp_that_may_not_be_made_ends_it),
        cmocka_unit_test(who_waits_in_vain_is_taken_out),
        cmocka_unit_test(who_only_tries_does_not_wait),
        cmocka_unit_test(a_lost_session_begins_anew),
        cmocka_unit_test(who_was_let_in_may_be_lost),
        cmocka_unit_test(who_is_thrown_out_waits_again),
        cmocka_unit_test(a_stamp_of_a_ticket_that_is_gone_ends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
