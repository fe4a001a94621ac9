/* SPDX-License-Identifier: Apache-2.0 */
/* A cohort that keeps its ticket when the last waiter has left.  See
 * cohort_fixture.h for the notation. */
#include <stdio.h>

#include "cmocka/runner.h"
#include "cohort_fixture.h"
#include "core/cohort.h"
#include "tracked_heap.h"

#define KEEP_MS 5000

/* w1 holds the lock, and its ticket is to be kept. */
static void held(struct cohort_fixture *f, size_t count)
{
    cohort_fixture_held(f, count);
    f->cohort.keep_ms = KEEP_MS;
}

/* w1 has left, the ticket is kept, and no other is in the queue. */
static void kept(struct cohort_fixture *f)
{
    held(f, 1);
    cohort_release(f, 1);
    expect(f, "WATCH queue; w1 RELEASED HF_OK; w1 DONE");
    cohort_answer(f, HF_EVENT_LISTED, "WATCH queue", "t1");
    expect(f, "");
}

#define KEPT_TEST(name) TEST_OF(name, cohort_fixture, kept(f), )

/* Nothing of the ticket is left. */
static void assert_removed(struct cohort_fixture *f)
{
    expect(f, "UNWATCH queue; REMOVE t1");
    cohort_removed(f, "REMOVE t1");
    expect(f, "");
    assert_true(hf_cohort_is_idle(&f->cohort));
    assert_null(f->core.cohorts.first);
}

KEPT_TEST(the_next_one_has_it_without_a_request)
{
    assert_false(hf_cohort_is_idle(&f->cohort));
    for (size_t i = 2; i <= COHORT_WAITERS; i++) {
        char text[64];

        cohort_want(f, i);
        snprintf(text, sizeof text, "w%zu GRANTED", i);
        expect(f, text);
        assert_int_equal(f->w[i].token, 101);
        assert_int_equal(safe_until_of(f, i), COHORT_SAFE_MS);
        cohort_release(f, i);
        assert_int_equal(safe_until_of(f, i), 0);
        snprintf(text, sizeof text, "w%zu RELEASED HF_OK; w%zu DONE", i, i);
        expect(f, text);
    }
    assert_int_equal(f->t_count, 1);
}

KEPT_TEST(a_try_has_it_too)
{
    f->w[2].only_try = true;
    cohort_want(f, 2);
    expect(f, "w2 GRANTED");
}

KEPT_TEST(it_goes_when_its_time_is_over)
{
    cohort_tick(f, COHORT_START_MS + KEEP_MS - 1);
    expect(f, "WATCH t1; PROVE");
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH t1", NULL);
    cohort_answer(f, HF_EVENT_PROVEN, "PROVE", NULL);
    expect(f, "");
    cohort_tick(f, COHORT_START_MS + KEEP_MS);
    expect(f, "UNWATCH t1; UNWATCH queue; REMOVE t1");
    cohort_removed(f, "REMOVE t1");
    expect(f, "");
    assert_true(hf_cohort_is_idle(&f->cohort));
}

/* Each release begins that time anew. */
KEPT_TEST(its_time_begins_with_the_last_release)
{
    f->now_ms += KEEP_MS / 2;
    cohort_want(f, 2);
    expect(f, "w2 GRANTED");
    cohort_release(f, 2);
    expect(f, "WATCH t1; w2 RELEASED HF_OK; w2 DONE");
    assert_int_equal(f->cohort.kept_until_ms, f->now_ms + KEEP_MS);
    cohort_want(f, 3);
    assert_int_equal(f->cohort.kept_until_ms, 0);
}

KEPT_TEST(it_goes_at_once_when_another_comes)
{
    cohort_answer(f, HF_EVENT_QUEUE_CHANGED, "WATCH queue", NULL);
    expect(f, "REMOVE t1");
    cohort_removed(f, "REMOVE t1");
    expect(f, "");
    assert_true(hf_cohort_is_idle(&f->cohort));
}

TEST(it_goes_at_once_when_another_is_there)
{
    struct cohort_fixture fixture, *f = &fixture;

    held(f, 1);
    cohort_release(f, 1);
    expect(f, "WATCH queue; w1 RELEASED HF_OK; w1 DONE");
    cohort_answer(f, HF_EVENT_LISTED, "WATCH queue", "t1 x");
    assert_removed(f);
}

/* At the end of the use; owners of this client that wait go to the tail. */
KEPT_TEST(while_it_is_used_it_goes_at_the_end_of_that)
{
    cohort_want(f, 2);
    expect(f, "w2 GRANTED");
    cohort_answer(f, HF_EVENT_QUEUE_CHANGED, "WATCH queue", NULL);
    cohort_want(f, 3);
    expect(f, "");
    cohort_release(f, 2);
    expect(f, "REMOVE t1; ENQUEUE t2");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w2 RELEASED HF_OK; w2 DONE");
    cohort_enqueued(f, "ENQUEUE t2", "x t2");
    expect(f, "WATCH x; WATCH t2");
}

KEPT_TEST(it_goes_when_its_release_is_asked_for)
{
    cohort_tick(f, COHORT_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(f, "WATCH t1");
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH t1", NULL);
    cohort_answer(f, HF_EVENT_REVOKED, "WATCH t1", NULL);
    expect(f, "UNWATCH t1; UNWATCH queue; REMOVE t1");
}

KEPT_TEST(nobody_is_notified_when_it_is_taken)
{
    cohort_tick(f, COHORT_START_MS + HF_OWN_WATCH_AFTER_MS);
    expect(f, "WATCH t1");
    cohort_answer(f, HF_EVENT_WATCHING, "WATCH t1", NULL);
    cohort_gone(f, "WATCH t1");
    expect(f, "UNWATCH queue");
    assert_true(hf_cohort_is_idle(&f->cohort));
    cohort_want(f, 2);
    expect(f, "ENQUEUE t2");
}

/* Somebody may have removed it meanwhile. */
KEPT_TEST(after_an_outage_it_is_listed_before_it_is_granted)
{
    cohort_session(f, HF_EVENT_SUSPENDED);
    expect(f, "SUSPENDED");
    cohort_want(f, 2);
    expect(f, "");
    cohort_connected(f, true);
    expect(f, "CONNECTED; LIST");
    cohort_answer(f, HF_EVENT_LISTED, "LIST", "t1");
    expect(f, "w2 GRANTED");
}

KEPT_TEST(it_is_not_granted_after_safe_until)
{
    cohort_session(f, HF_EVENT_SUSPENDED);
    expect(f, "SUSPENDED");
    f->now_ms = COHORT_SAFE_MS;
    cohort_want(f, 2);
    expect(f, "UNWATCH queue");
    assert_int_equal(f->w[2].state, HF_ACQUISITION_WAITING);
}

KEPT_TEST(the_end_of_the_session_ends_it)
{
    cohort_session(f, HF_EVENT_SESSION_LOST);
    expect(f, "LOST");
    assert_true(hf_cohort_is_idle(&f->cohort));
    assert_null(f->core.cohorts.first);
}

KEPT_TEST(the_close_ends_it)
{
    cohort_session(f, HF_EVENT_CLOSE);
    expect(f, "END; UNWATCH queue");
    cohort_session(f, HF_EVENT_CLOSED);
    expect(f, "CLOSED");
    assert_true(hf_cohort_is_idle(&f->cohort));
}

/* Those that were ahead of it are likely to come again. */
TEST(a_ticket_that_had_to_wait_is_not_kept)
{
    struct cohort_fixture fixture, *f = &fixture;

    cohort_fixture_init(f);
    f->cohort.keep_ms = KEEP_MS;
    cohort_want(f, 1);
    expect(f, "ENQUEUE t1");
    cohort_enqueued(f, "ENQUEUE t1", "x t1");
    expect(f, "WATCH x; WATCH t1");
    cohort_gone(f, "WATCH x");
    expect(f, "w1 GRANTED");
    cohort_release(f, 1);
    expect(f, "UNWATCH t1; REMOVE t1");
}

/* Nobody would know of those that come. */
TEST(without_a_watch_nothing_is_kept)
{
    struct cohort_fixture fixture, *f = &fixture;

    held(f, 1);
    cohort_release(f, 1);
    expect(f, "WATCH queue; w1 RELEASED HF_OK; w1 DONE");
    cohort_failed(f, "WATCH queue", HF_FAILURE_RETRY, HF_EUNREACHABLE);
    expect(f, "REMOVE t1");
}

TEST(without_memory_for_the_watch_nothing_is_kept)
{
    struct cohort_fixture fixture, *f = &fixture;

    held(f, 1);
    tracked_heap_fail(true);
    cohort_release(f, 1);
    tracked_heap_fail(false);
    expect(f, "REMOVE t1");
    cohort_removed(f, "REMOVE t1");
    expect(f, "w1 RELEASED HF_OK; w1 DONE");
    assert_true(hf_cohort_is_idle(&f->cohort));
}

/* Before the ticket was kept for the first time nobody knows who waits. */
TEST(a_ticket_that_was_never_kept_has_the_bound_of_handoffs)
{
    struct cohort_fixture fixture, *f = &fixture;

    held(f, COHORT_HANDOFFS + 2);
    for (size_t i = 1; i <= COHORT_HANDOFFS; i++) {
        char text[64];

        cohort_release(f, i);
        snprintf(text, sizeof text,
                 "w%zu GRANTED; w%zu RELEASED HF_OK; w%zu DONE", i + 1, i, i);
        expect(f, text);
    }
    cohort_release(f, COHORT_HANDOFFS + 1);
    expect(f, "REMOVE t1; ENQUEUE t2");
}
