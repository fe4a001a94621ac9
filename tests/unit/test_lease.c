/* SPDX-License-Identifier: Apache-2.0 */
/* A lease by itself: it looks for room, enters, and is taken from its owner in
 * part or whole.  What stands before it in a semaphore is in tests/sim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/multi_lock.h"
#include "stage.h"

/* a wants ${weight} of 3 permits, and is looking for room. */
static void look(struct stage *s, uint32_t weight)
{
    stage_connected(s, HF_ENGINE_GONE_ADMITS);
    s->a.kind = HF_TICKET_LEASE;
    s->a.weight = weight;
    s->a.limit = 3;
    want(s, &s->a);
    expect(s, "a WATCH_QUEUE");
}

/* And holds them, and watches its ticket. */
static void hold(struct stage *s, uint32_t weight)
{
    look(s, weight);
    listed(s, "a WATCH_QUEUE", "");
    expect(s, "a ENQUEUE a1; a UNWATCH");
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a GRANTED");
    ring(s);
    expect(s, "a WATCH a1");
    watching(s, "a WATCH a1");
}

static void it_waits_for_room_before_it_enters(void **state)
{
    struct stage s;

    (void)state;
    look(&s, 2);
    listed(&s, "a WATCH_QUEUE", "x/l2");
    expect(&s, "a WAITING 1");
    assert_string_equal(hf_shared_text_get(s.a.holder), "a stranger");
    changed(&s, "a WATCH_QUEUE");
    expect(&s, "a WATCH_QUEUE");
    listed(&s, "a WATCH_QUEUE", "y/l1");
    expect(&s, "a ENQUEUE a1; a UNWATCH");
    enqueued(&s, "a ENQUEUE a1", "y/l1 a1");
    expect(&s, "a GRANTED");
    assert_int_equal(s.a.token, 101);
}

/* Somebody had been at the head of the other queue as well. */
static void whoever_is_ahead_counts(void **state)
{
    struct stage s;

    (void)state;
    look(&s, 2);
    listed(&s, "a WATCH_QUEUE", "");
    expect(&s, "a ENQUEUE a1; a UNWATCH");
    enqueued(&s, "a ENQUEUE a1", "x/l2 a1");
    expect(&s, "a WAITING 1; a WATCH a1; a WATCH_QUEUE");
    listed(&s, "a WATCH_QUEUE", "x/l1 a1");
    expect(&s, "a GRANTED; a UNWATCH");
}

static void fn33_another_limit_is_looked_at(void **state)
{
    struct hf_event limit = {.kind = HF_EVENT_SET_LIMIT,
                             .now_ms = STAGE_START_MS};
    struct stage s;

    (void)state;
    look(&s, 2);
    listed(&s, "a WATCH_QUEUE", "x/l2");
    expect(&s, "a WAITING 1");
    limit.as.limit.acquisition = &s.a;
    limit.as.limit.permits = 4;
    hf_core_step(&s.core, &limit);
    expect(&s, "a UNWATCH; a WATCH_QUEUE");
    listed(&s, "a WATCH_QUEUE", "x/l2");
    expect(&s, "a ENQUEUE a1; a UNWATCH");
}

/* Somebody took one of the two: the other is nobody's, and must not stay. */
static void fn32_what_is_left_of_it_is_withdrawn(void **state)
{
    struct stage s;

    (void)state;
    hold(&s, 2);
    gone(&s, "a WATCH a1");
    assert_int_equal(hf_core_safe_until_ms(&s.core, &s.a), 0);
    expect(&s, "a LOST; a REMOVE a1"); /* in this order */
    failed(&s, "a REMOVE a1", HF_FAILURE_UNSURE);
    release(&s, &s.a);
    expect(&s, "");
    ring(&s);
    expect(&s, "a REMOVE a1");
    withdrawn(&s, "a REMOVE a1", true);
    expect(&s, "a RELEASED HF_ELOST; a DONE");
}

static void of_one_permit_nothing_is_left(void **state)
{
    struct stage s;

    (void)state;
    hold(&s, 1);
    gone(&s, "a WATCH a1");
    expect(&s, "a LOST");
    release(&s, &s.a);
    expect(&s, "a RELEASED HF_ELOST; a DONE");
}

/* One who waits goes to the tail, and takes what is left with it. */
static void what_is_left_of_a_waiting_one_is_withdrawn(void **state)
{
    struct stage s;

    (void)state;
    look(&s, 2);
    listed(&s, "a WATCH_QUEUE", "");
    expect(&s, "a ENQUEUE a1; a UNWATCH");
    enqueued(&s, "a ENQUEUE a1", "x/l2 a1");
    expect(&s, "a WAITING 1; a WATCH a1; a WATCH_QUEUE");
    gone(&s, "a WATCH a1");
    expect(&s, "a UNWATCH; a REMOVE a1");
    withdrawn(&s, "a REMOVE a1", true);
    expect(&s, "");
    ring(&s);
    expect(&s, "a WATCH_QUEUE");
    listed(&s, "a WATCH_QUEUE", "");
    expect(&s, "a ENQUEUE a2; a UNWATCH");
}

/* a is the mutex in front of the leases and b the lease of one semaphore.  The
 * mutex is lost, so all is given back; the end of b's look crosses the UNWATCH
 * of it, which then is none any more. */
static void what_crosses_its_forget_is_heard_of_too(void **state)
{
    struct hf_acquisition whole = {.queue = "pool",
                                   .payload = "owner",
                                   .kind = HF_TICKET_MUTEX,
                                   .deadline_at_ms = HF_FOREVER};
    struct hf_multi_lock bundle = {.count = 2, .token_child = 1};
    struct stage s;

    (void)state;
    stage_connected(&s, HF_ENGINE_GONE_ADMITS);
    bundle.children = &s.a;
    hf_acquisition_use_multi_lock(&whole, &bundle);
    s.a.entry_mutex = true;
    s.b.kind = HF_TICKET_LEASE;
    s.b.weight = 2;
    s.b.limit = 3;
    want(&s, &whole);
    expect(&s, "a ENQUEUE a1");
    enqueued(&s, "a ENQUEUE a1", "a1");
    expect(&s, "b WATCH_QUEUE");
    ring(&s);
    expect(&s, "a WATCH a1");
    gone(&s, "a WATCH a1");
    failed(&s, "b WATCH_QUEUE", HF_FAILURE_RETRY);
    expect(&s, "a ENQUEUE a2");
}

static void a_look_that_nobody_has_seen_is_not_made(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s, HF_ENGINE_GONE_ADMITS);
    s.a.kind = HF_TICKET_LEASE;
    s.a.weight = 1;
    s.a.limit = 3;
    want(&s, &s.a);
    cancel(&s, &s.a);
    expect(&s, "a ENDED HF_ECANCELLED; a DONE");
}

/* The room was found while the end of the wait was on its way. */
static void an_answer_that_crosses_the_end_is_of_no_account(void **state)
{
    struct stage s;

    (void)state;
    look(&s, 2);
    cancel(&s, &s.a);
    listed(&s, "a WATCH_QUEUE", "");
    expect(&s, "a UNWATCH; a ENDED HF_ECANCELLED; a DONE");
}

/* Whoever waits for room again is let look as soon as the last look has been
 * taken back, whatever it is that happens next. */
static void a_look_waits_for_the_last_one_to_be_taken_back(void **state)
{
    struct stage s;

    (void)state;
    look(&s, 2);
    listed(&s, "a WATCH_QUEUE", "");
    stage_expect_one(&s, "a ENQUEUE a1");
    enqueued(&s, "a ENQUEUE a1", "x/l2 a1");
    stage_expect_one(&s, "a UNWATCH");
    s.b.queue = "q";
    want(&s, &s.b);
    expect(&s, "a WAITING 1; a WATCH a1; b ENQUEUE b1; a WATCH_QUEUE");
    listed(&s, "a WATCH_QUEUE", "x/l1 a1");
    expect(&s, "a GRANTED; a UNWATCH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_for_room_before_it_enters),
        cmocka_unit_test(whoever_is_ahead_counts),
        cmocka_unit_test(fn33_another_limit_is_looked_at),
        cmocka_unit_test(fn32_what_is_left_of_it_is_withdrawn),
        cmocka_unit_test(of_one_permit_nothing_is_left),
        cmocka_unit_test(what_is_left_of_a_waiting_one_is_withdrawn),
        cmocka_unit_test(what_crosses_its_forget_is_heard_of_too),
        cmocka_unit_test(a_look_that_nobody_has_seen_is_not_made),
        cmocka_unit_test(an_answer_that_crosses_the_end_is_of_no_account),
        cmocka_unit_test(a_look_waits_for_the_last_one_to_be_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
