/* SPDX-License-Identifier: Apache-2.0 */
/* Acquisitions without memory.  What an acquisition needs for its release,
 * its loss and its end is allocated before the enqueue.  Anything else waits
 * until there is memory again. */
#include "core_fixture.h"

#include "cmocka/runner.h"
#include "tracked_heap.h"

CORE_TEST(a_ticket_waits_for_memory, 0)
{
    tracked_heap_fail(true);
    want(f, &f->a);
    expect(f, "");
    tracked_heap_fail(false);
    wake(f);
    assert_in_range(f->now_ms, CORE_START_MS + 50, CORE_START_MS + 100);
    expect(f, "a ENQUEUE a1");
}

CORE_TEST(but_not_for_ever, 0)
{
    tracked_heap_fail(true);
    want(f, &f->a);
    for (int tries = 0; tries < 3; tries++) {
        expect(f, "");
        wake(f);
    }
    tracked_heap_fail(false);
    expect(f, "a ENDED HF_ENOMEM; a DONE");
}

/* So that the queue has no ticket whose removal would have to wait. */
CORE_TEST(so_does_one_that_follows_a_lost_answer, 0)
{
    enqueue_a(f);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(f, "a LIST");
    listed(f, "a LIST", "");
    tracked_heap_fail(true);
    wake(f);
    expect(f, "");
    tracked_heap_fail(false);
    wake(f);
    expect(f, "a ENQUEUE a2");
}

CORE_TEST(a_semaphore_looks_when_there_is_memory, 0)
{
    f->a.kind = HF_TICKET_LEASE;
    f->a.weight = 1;
    f->a.limit = 2;
    tracked_heap_fail(true);
    want(f, &f->a);
    expect(f, "");
    tracked_heap_fail(false);
    wake(f);
    expect(f, "a WATCH_QUEUE");
}

CORE_TEST(a_watch_waits_for_memory, 0)
{
    hold_a(f);
    tracked_heap_fail(true);
    advance_to(f, 1005);
    expect(f, "");
    wake(f);
    expect(f, "");
    tracked_heap_fail(false);
    wake(f);
    expect(f, "a WATCH a1");
}

CORE_TEST(a_wait_ends_without_memory, 0)
{
    queue_a_behind_x(f);
    tracked_heap_fail(true);
    cancel(f, &f->a);
    expect(f, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
    tracked_heap_fail(false);
}

CORE_TEST(a_release_needs_no_memory, 0)
{
    hold_a(f);
    tracked_heap_fail(true);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
    tracked_heap_fail(false);
}

CORE_TEST(nor_does_what_a_lost_answer_leaves, 0)
{
    enqueue_a(f);
    tracked_heap_fail(true);
    failed(f, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    cancel(f, &f->a);
    expect(f, "a REMOVE a1");
    tracked_heap_fail(false);
}
