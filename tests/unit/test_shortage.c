/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of acquisitions without memory: what they may need once a ticket is
 * under way is there before that is asked for, and what else they ask for waits
 * until there is memory again. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shelf.h"

static void a_ticket_waits_for_memory(void **state)
{
    STAGE(s, 0);
    shelf_refuse(true);
    want(s, &s->a);
    expect(s, "");
    shelf_refuse(false);
    ring(s);
    assert_in_range(s->now_ms, STAGE_START_MS + 50, STAGE_START_MS + 100);
    expect(s, "a ENQUEUE a1");
}

static void but_not_for_ever(void **state)
{
    STAGE(s, 0);
    shelf_refuse(true);
    want(s, &s->a);
    for (int tries = 0; tries < 3; tries++) {
        expect(s, "");
        ring(s);
    }
    shelf_refuse(false);
    expect(s, "a ENDED HF_ENOMEM; a DONE");
}

/* So that none is in the queue whose removal would have to wait. */
static void so_does_one_that_follows_a_lost_answer(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    expect(s, "a LIST");
    listed(s, "a LIST", "");
    shelf_refuse(true);
    ring(s);
    expect(s, "");
    shelf_refuse(false);
    ring(s);
    expect(s, "a ENQUEUE a2");
}

static void a_semaphore_looks_when_there_is_memory(void **state)
{
    STAGE(s, 0);
    s->a.kind = HF_TICKET_LEASE;
    s->a.weight = 1;
    s->a.limit = 2;
    shelf_refuse(true);
    want(s, &s->a);
    expect(s, "");
    shelf_refuse(false);
    ring(s);
    expect(s, "a WATCH_QUEUE");
}

static void a_watch_waits_for_memory(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    shelf_refuse(true);
    at(s, 1005);
    expect(s, "");
    ring(s);
    expect(s, "");
    shelf_refuse(false);
    ring(s);
    expect(s, "a WATCH a1");
}

static void a_wait_ends_without_memory(void **state)
{
    STAGE(s, 0);
    queue_a(s);
    shelf_refuse(true);
    cancel(s, &s->a);
    expect(s, "a UNWATCH x; a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
    shelf_refuse(false);
}

static void a_release_needs_no_memory(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    shelf_refuse(true);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_OK; a DONE");
    shelf_refuse(false);
}

static void nor_does_what_a_lost_answer_leaves(void **state)
{
    STAGE(s, 0);
    enqueue_a(s);
    shelf_refuse(true);
    failed(s, "a ENQUEUE a1", HF_FAILURE_UNSURE);
    cancel(s, &s->a);
    expect(s, "a REMOVE a1");
    shelf_refuse(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_waits_for_memory),
        cmocka_unit_test(but_not_for_ever),
        cmocka_unit_test(so_does_one_that_follows_a_lost_answer),
        cmocka_unit_test(a_semaphore_looks_when_there_is_memory),
        cmocka_unit_test(a_watch_waits_for_memory),
        cmocka_unit_test(a_wait_ends_without_memory),
        cmocka_unit_test(a_release_needs_no_memory),
        cmocka_unit_test(nor_does_what_a_lost_answer_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
