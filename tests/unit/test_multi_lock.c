/* SPDX-License-Identifier: Apache-2.0 */
/* A multi-lock (core/multi_lock.h) by itself: a is the parent, b and c are
 * its children. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "core/multi_lock.h"
#include "core_fixture.h"

/* a holds the first lock by b, and waits for the second one behind x by c. */
static void take_first(struct core_fixture *f, struct hf_multi_lock *multi_lock)
{
    core_fixture_connected(f, HF_ENGINE_GONE_ADMITS);
    f->b.queue = "one";
    f->c.queue = "two";
    *multi_lock = (struct hf_multi_lock){.children = &f->b, .count = 2};
    hf_acquisition_use_multi_lock(&f->a, multi_lock);
    want(f, &f->a);
    expect(f, "b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "b1");
    expect(f, "c ENQUEUE c1");
    enqueued(f, "c ENQUEUE c1", "x c1");
    expect(f, "a WAITING 1; c WATCH x; c WATCH c1");
    watching(f, "c WATCH x");
    watching(f, "c WATCH c1");
    wake(f);
    expect(f, "b WATCH b1");
    watching(f, "b WATCH b1");
}

#define TAKEN_TEST(name)                                                       \
    CORE_TEST_FROM(name, take_first(f, &(struct hf_multi_lock){.count = 0}))

TAKEN_TEST(a_lost_child_has_all_of_them_taken_again)
{
    gone(f, "b WATCH b1");
    expect(f, "c UNWATCH x; c UNWATCH c1; c REMOVE c1");
    assert_int_equal(f->a.state, HF_ACQUISITION_WAITING);
    removed(f, "c REMOVE c1", true);
    expect(f, "b ENQUEUE b2");
    enqueued(f, "b ENQUEUE b2", "b2");
    expect(f, "c ENQUEUE c2");
    enqueued(f, "c ENQUEUE c2", "c2");
    expect(f, "a GRANTED");
    assert_int_equal(f->a.displaced, 1);
}

/* The ticket stays until the session ends, and no release waits for that. */
TAKEN_TEST(a_ticket_that_may_not_be_taken_out_ends_the_wait)
{
    gone(f, "b WATCH b1");
    expect(f, "c UNWATCH x; c UNWATCH c1; c REMOVE c1");
    failed_as(f, "c REMOVE c1", HF_FAILURE_FATAL, HF_EDENIED, "no deletes");
    expect(f, "");
    advance_to(f,
               f->now_ms + HF_REMOVAL_WAIT_MS); /* it is tried on meanwhile */
    expect(f, "c REMOVE c1; a ENDED HF_EDENIED");
    assert_non_null(strstr(hf_acquisition_text(&f->a), "no deletes"));
    assert_non_null(strstr(hf_acquisition_text(&f->a), "may stay"));
}

TAKEN_TEST(a_cancel_ends_a_roll_back)
{
    gone(f, "b WATCH b1");
    expect(f, "c UNWATCH x; c UNWATCH c1; c REMOVE c1");
    cancel(f, &f->a);
    expect(f, "");
    removed(f, "c REMOVE c1", true);
    expect(f, "a ENDED HF_ECANCELLED; a DONE");
}
