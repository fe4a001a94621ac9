/* SPDX-License-Identifier: Apache-2.0 */
/* A lease of a semaphore by itself: it waits until enough permits are free,
 * and loses some or all of its nodes. tests/sim has the mutex in front of it
 * too. */
#include <stdint.h>

#include "cmocka/runner.h"
#include "core/multi_lock.h"
#include "core_fixture.h"

/* a wants ${weight} of 3 permits and waits for room. */
static void look(struct core_fixture *f, uint32_t weight)
{
    core_fixture_connected(f, HF_ENGINE_GONE_ADMITS);
    f->a.kind = HF_TICKET_LEASE;
    f->a.weight = weight;
    f->a.limit = 3;
    want(f, &f->a);
    expect(f, "a WATCH_QUEUE");
}

/* The same, and it holds them and watches its ticket. */
static void hold(struct core_fixture *f, uint32_t weight)
{
    look(f, weight);
    listed(f, "a WATCH_QUEUE", "");
    expect(f, "a ENQUEUE a1; a UNWATCH");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a GRANTED");
    wake(f);
    expect(f, "a WATCH a1");
    watching(f, "a WATCH a1");
}

CORE_TEST_FROM(it_waits_for_room_before_it_enters, look(f, 2))
{
    listed(f, "a WATCH_QUEUE", "x/l2");
    expect(f, "a WAITING 1");
    assert_string_equal(hf_shared_text_get(f->a.holder), "another client");
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "y/l1");
    expect(f, "a ENQUEUE a1; a UNWATCH");
    enqueued(f, "a ENQUEUE a1", "y/l1 a1");
    expect(f, "a GRANTED");
    assert_int_equal(f->a.token, 101);
}

/* The next failure after a list is the first of a new series. */
CORE_TEST_FROM(a_list_ends_the_backoff_of_a_watch, look(f, 2))
{
    failed(f, "a WATCH_QUEUE", HF_FAILURE_RETRY);
    wake(f);
    expect(f, "a WATCH_QUEUE");
    assert_int_equal(f->a.tickets.current->queue_watch->tries, 1);
    listed(f, "a WATCH_QUEUE", "x/l2");
    expect(f, "a WAITING 1");
    assert_int_equal(f->a.tickets.current->queue_watch->tries, 0);
}

/* A waiter in the other queue counts as ahead as well. */
CORE_TEST_FROM(whoever_is_ahead_counts, look(f, 2))
{
    listed(f, "a WATCH_QUEUE", "");
    expect(f, "a ENQUEUE a1; a UNWATCH");
    enqueued(f, "a ENQUEUE a1", "x/l2 a1");
    expect(f, "a WAITING 1; a WATCH a1; a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "x/l1 a1");
    expect(f, "a GRANTED; a UNWATCH");
}

/* The ticket that came first decides the kind of the queue, so a mutex that is
 * tried in the queue of the leases is refused itself. */
CORE_TEST_FROM(another_kind_that_comes_later_ends_no_wait, look(f, 2))
{
    listed(f, "a WATCH_QUEUE", "x/l2");
    expect(f, "a WAITING 1");
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "x/l2 y");
    expect(f, "a WAITING 2");
    changed(f, "a WATCH_QUEUE");
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "");
    expect(f, "a ENQUEUE a1; a UNWATCH");
}

CORE_TEST_FROM(another_kind_that_is_there_ends_the_wait, look(f, 2))
{
    listed(f, "a WATCH_QUEUE", "y");
    expect(f, "a UNWATCH; a ENDED HF_EKIND; a DONE");
}

CORE_TEST_FROM(fn33_another_limit_is_looked_at, look(f, 2))
{
    struct hf_event limit = {.kind = HF_EVENT_SET_LIMIT,
                             .now_ms = CORE_START_MS};

    listed(f, "a WATCH_QUEUE", "x/l2");
    expect(f, "a WAITING 1");
    limit.as.limit.acquisition = &f->a;
    limit.as.limit.permits = 4;
    hf_core_step(&f->core, &limit);
    expect(f, "a UNWATCH; a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "x/l2");
    expect(f, "a ENQUEUE a1; a UNWATCH");
    /* An engine may write it beside the ticket. */
    assert_int_equal(f->a.tickets.current->request.limit, 4);
}

/* One of its two nodes was removed.  The other counts for nobody and must be
 * removed. */
CORE_TEST_FROM(fn32_what_is_left_of_it_is_removed, hold(f, 2))
{
    gone(f, "a WATCH a1");
    assert_int_equal(hf_core_safe_until_ms(&f->core, &f->a), 0);
    expect(f, "a LOST; a REMOVE a1"); /* in this order */
    failed(f, "a REMOVE a1", HF_FAILURE_UNSURE);
    release(f, &f->a);
    expect(f, "");
    wake(f);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST_FROM(of_one_permit_nothing_is_left, hold(f, 1))
{
    gone(f, "a WATCH a1");
    expect(f, "a LOST");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

/* A waiting lease goes to the tail, and removes what is left of it first. */
CORE_TEST_FROM(what_is_left_of_a_waiting_one_is_removed, look(f, 2))
{
    listed(f, "a WATCH_QUEUE", "");
    expect(f, "a ENQUEUE a1; a UNWATCH");
    enqueued(f, "a ENQUEUE a1", "x/l2 a1");
    expect(f, "a WAITING 1; a WATCH a1; a WATCH_QUEUE");
    gone(f, "a WATCH a1");
    expect(f, "a UNWATCH; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "");
    wake(f);
    expect(f, "a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "");
    expect(f, "a ENQUEUE a2; a UNWATCH");
}

/* A semaphore: a is the mutex in front of the leases, and b the lease. */
struct semaphore {
    struct hf_acquisition whole;
    struct hf_multi_lock multi_lock;
};

/* a is held and watches its ticket, and b looks for room for 2 of 3 permits. */
static void have_entry_mutex(struct core_fixture *f, struct semaphore *s)
{
    s->whole = (struct hf_acquisition){.queue = "pool",
                                       .payload = "owner",
                                       .kind = HF_TICKET_MUTEX,
                                       .deadline_at_ms = HF_FOREVER};
    s->multi_lock =
        (struct hf_multi_lock){.children = &f->a, .count = 2, .token_child = 1};
    hf_acquisition_use_multi_lock(&s->whole, &s->multi_lock);
    f->a.entry_mutex = true;
    f->b.kind = HF_TICKET_LEASE;
    f->b.weight = 2;
    f->b.limit = 3;
    want(f, &s->whole);
    expect(f, "a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "b WATCH_QUEUE");
    wake(f);
    expect(f, "a WATCH a1");
}

/* The mutex is lost, so both are given up.  The end of the queue watch of b
 * crosses its UNWATCH, which then has nothing to take back. */
CORE_TEST(what_crosses_its_forget_is_reported_too, HF_ENGINE_GONE_ADMITS)
{
    struct semaphore s;

    have_entry_mutex(f, &s);
    gone(f, "a WATCH a1");
    failed(f, "b WATCH_QUEUE", HF_FAILURE_RETRY);
    expect(f, "a ENQUEUE a2");
}

CORE_TEST(a_lease_says_what_its_entry_mutex_is, HF_ENGINE_GONE_ADMITS)
{
    struct semaphore s;

    have_entry_mutex(f, &s);
    listed(f, "b WATCH_QUEUE", "");
    expect(f, "b ENQUEUE b1; b UNWATCH");
    assert_true(hf_ticket_id_equal(&f->b.tickets.current->request.entry_mutex,
                                   &f->a.tickets.current->id));
}

/* The end of the session comes, seen from here, between the two. */
CORE_TEST(a_lost_entry_mutex_has_no_lease_enqueued, HF_ENGINE_GONE_ADMITS)
{
    struct semaphore s;

    have_entry_mutex(f, &s);
    set_time(f, f->core.session.safe_until_ms + 1);
    listed(f, "b WATCH_QUEUE", "");
    expect(f, "a UNWATCH a1; a REMOVE a1; b UNWATCH");
}

CORE_TEST(a_look_that_nobody_has_seen_is_not_made, HF_ENGINE_GONE_ADMITS)
{
    f->a.kind = HF_TICKET_LEASE;
    f->a.weight = 1;
    f->a.limit = 3;
    want(f, &f->a);
    cancel(f, &f->a);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}

/* There was room while the end of the wait was on its way. */
CORE_TEST_FROM(an_answer_that_crosses_the_end_is_of_no_account, look(f, 2))
{
    cancel(f, &f->a);
    listed(f, "a WATCH_QUEUE", "");
    expect(f, "a UNWATCH; a ENDED HF_ECANCELLED; a DONE");
}

/* A lease that waits again makes a new queue watch as soon as the last one
 * was taken back, whatever event comes next. */
CORE_TEST_FROM(a_look_waits_for_the_last_one_to_be_taken_back, look(f, 2))
{
    listed(f, "a WATCH_QUEUE", "");
    core_fixture_expect_one(f, "a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "x/l2 a1");
    core_fixture_expect_one(f, "a UNWATCH");
    f->b.queue = "q";
    want(f, &f->b);
    expect(f, "a WAITING 1; a WATCH a1; b ENQUEUE b1; a WATCH_QUEUE");
    listed(f, "a WATCH_QUEUE", "x/l1 a1");
    expect(f, "a GRANTED; a UNWATCH");
}
