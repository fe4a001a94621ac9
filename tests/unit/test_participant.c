/* SPDX-License-Identifier: Apache-2.0 */
/* A participant of a double barrier, from its start until it has left. */
#include "core_fixture.h"

#include <string.h>

#include "cmocka/runner.h"
#include "tracked_heap.h"

/* a is to be a participant of ${participants}. */
static void prepare_participant(struct core_fixture *f, uint32_t participants)
{
    core_fixture_connected(f, 0);
    f->a.kind = HF_TICKET_PARTICIPANT;
    f->a.limit = participants;
}

#define PARTICIPANT_TEST(name, participants)                                   \
    CORE_TEST_FROM(name, prepare_participant(f, participants))

/* a is there and waits for one more. */
static void wait_for_one(struct core_fixture *f)
{
    enqueue_a_in(f, "a1");
    expect(f, "a WAITING 1; a WATCH a1; a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "a1");
    expect(f, "a WAITING 1");
}

static void let_in(struct core_fixture *f)
{
    enqueue_a_in(f, "x/m a1 !/y150");
    expect(f, "a GRANTED");
    assert_int_equal(f->a.generation, 150);
}

PARTICIPANT_TEST(the_last_to_enter_makes_the_generation, 2)
{
    enqueue_a_in(f, "x/m a1");
    expect(f, "a WAITING 2; a NEW_GENERATION a1; a WATCH a1; a WATCH_QUEUE");
    assert_int_equal(f->a.tickets.current->question->limit, 2);
    generation_set(f, "a NEW_GENERATION a1");
    expect(f, "a LIST");
    listed(f, "a LIST", "x/m a1 !/y150");
    expect(f, "a GRANTED; a UNWATCH");
    assert_int_equal(f->a.generation, 150);
}

PARTICIPANT_TEST(fn66_only_a_generation_lets_in, 3)
{
    wait_for_one(f);
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "x/m a1");
    expect(f, "a WAITING 2");
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "a1 !/y100"); /* of before */
    expect(f, "a WAITING 1");
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "a1 !/y102");
    expect(f, "a GRANTED; a UNWATCH");
}

PARTICIPANT_TEST(a_generation_that_failed_is_looked_for_before_the_next, 2)
{
    wait_for_one(f);
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "x/m a1");
    expect(f, "a WAITING 2; a NEW_GENERATION a1");
    failed(f, "a NEW_GENERATION a1", HF_FAILURE_UNSURE);
    expect(f, "");
    wake(f);
    expect(f, "a LIST");
    listed(f, "a LIST", "a1"); /* the other one has gone */
    expect(f, "a WAITING 1");
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "a1 y/m");
    expect(f, "a WAITING 2; a NEW_GENERATION a1");
    assert_int_equal(f->a.tickets.current->generation_tries, 1);
    generation_set(f, "a NEW_GENERATION a1");
    /* The next failure is the first of a new series. */
    assert_int_equal(f->a.tickets.current->generation_tries, 0);
    expect(f, "a LIST");
    listed(f, "a LIST", "a1 y/m !/y150");
    expect(f, "a GRANTED; a UNWATCH");
}

/* The memory of its request is allocated when it is made. */
PARTICIPANT_TEST(a_generation_without_memory_is_made_later, 2)
{
    wait_for_one(f);
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    tracked_heap_fail(true);
    listed(f, "a WATCH_QUEUE", "x/m a1");
    tracked_heap_fail(false);
    expect(f, "a WAITING 2");
    wake(f);
    expect(f, "a LIST");
    listed(f, "a LIST", "x/m a1");
    expect(f, "a WAITING 2; a NEW_GENERATION a1");
}

PARTICIPANT_TEST(a_generation_that_may_not_be_made_ends_it, 1)
{
    enqueue_a_in(f, "a1");
    expect(f, "a WAITING 1; a NEW_GENERATION a1; a WATCH a1; a WATCH_QUEUE");
    failed_as(f, "a NEW_GENERATION a1", HF_FAILURE_FATAL, HF_EDENIED,
              "no create");
    expect(f, "a UNWATCH a1; a UNWATCH; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_EDENIED; a DONE");
}

PARTICIPANT_TEST(who_waits_in_vain_is_taken_out, 2)
{
    f->a.deadline_at_ms = CORE_START_MS + 500;
    wait_for_one(f);
    advance_to(f, CORE_START_MS + 500);
    expect(f, "a UNWATCH a1; a UNWATCH; a REMOVE a1");
    assert_non_null(strstr(hf_acquisition_text(&f->a), "1 of 2 participants"));
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ETIMEDOUT; a DONE");
}

PARTICIPANT_TEST(who_only_tries_does_not_wait, 2)
{
    f->a.only_try = true;
    enqueue_a_in(f, "a1");
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_EBUSY; a DONE");
}

/* The generation of the other session is older than the ticket of this one. */
PARTICIPANT_TEST(a_lost_session_begins_anew, 2)
{
    wait_for_one(f);
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST");
    connected(f, f->now_ms, false);
    expect(f, "STATE CONNECTED; a ENQUEUE a2");
    enqueued(f, "a ENQUEUE a2", "!/y101 a2");
    expect(f, "a WAITING 1; a WATCH a2; a WATCH_QUEUE");
}

PARTICIPANT_TEST(who_was_let_in_may_be_lost, 2)
{
    let_in(f);
    session_lost(f, HF_ELOST);
    expect(f, "a LOST; STATE LOST");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

PARTICIPANT_TEST(who_is_thrown_out_waits_again, 2)
{
    wait_for_one(f);
    gone(f, "a WATCH a1");
    expect(f, "a UNWATCH");
    wake(f);
    expect(f, "a ENQUEUE a2");
}

/* The answer is about the first ticket only. */
PARTICIPANT_TEST(a_generation_of_a_ticket_that_is_gone_ends_nothing, 1)
{
    enqueue_a_in(f, "a1");
    expect(f, "a WAITING 1; a NEW_GENERATION a1; a WATCH a1; a WATCH_QUEUE");
    gone(f, "a WATCH a1");
    expect(f, "a UNWATCH");
    wake(f);
    expect(f, "a ENQUEUE a2");
    failed_as(f, "a NEW_GENERATION a1", HF_FAILURE_FATAL, HF_EDENIED,
              "no create");
    expect(f, "");
    enqueued(f, "a ENQUEUE a2", "a2");
    expect(f, "a WAITING 1; a NEW_GENERATION a2; a WATCH a2; a WATCH_QUEUE");
}
