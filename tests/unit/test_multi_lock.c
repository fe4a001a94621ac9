/* SPDX-License-Identifier: Apache-2.0 */
/* A multi-lock by itself: a is the parent, b and c are its children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/multi_lock.h"
#include "stage.h"

/* a holds the first lock by b, and waits for the second one behind x, by c. */
static void take_first(struct stage *s, struct hf_multi_lock *multi_lock)
{
    stage_connected(s, HF_ENGINE_GONE_ADMITS);
    s->b.queue = "one";
    s->c.queue = "two";
    *multi_lock = (struct hf_multi_lock){.children = &s->b, .count = 2};
    hf_acquisition_use_multi_lock(&s->a, multi_lock);
    want(s, &s->a);
    expect(s, "b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "b1");
    expect(s, "c ENQUEUE c1");
    enqueued(s, "c ENQUEUE c1", "x c1");
    expect(s, "a WAITING 1; c WATCH x; c WATCH c1");
    watching(s, "c WATCH x");
    watching(s, "c WATCH c1");
    ring(s);
    expect(s, "b WATCH b1");
    watching(s, "b WATCH b1");
}

#define TAKEN(s)                                                               \
    struct hf_multi_lock multi_lock_;                                          \
    struct stage stage_;                                                       \
    struct stage *s = &stage_;                                                 \
    (void)state;                                                               \
    take_first(s, &multi_lock_)

static void a_lost_child_has_all_of_them_taken_again(void **state)
{
    TAKEN(s);
    gone(s, "b WATCH b1");
    expect(s, "c UNWATCH x; c UNWATCH c1; c REMOVE c1");
    assert_true(hf_acquisition_is_waiting(&s->a));
    withdrawn(s, "c REMOVE c1", true);
    expect(s, "b ENQUEUE b2");
    enqueued(s, "b ENQUEUE b2", "b2");
    expect(s, "c ENQUEUE c2");
    enqueued(s, "c ENQUEUE c2", "c2");
    expect(s, "a GRANTED");
    assert_int_equal(s->a.displaced, 1);
}

/* It stays in the queue until the session is over, and there is no end to wait
 * for. */
static void a_ticket_that_may_not_be_taken_out_ends_the_wait(void **state)
{
    TAKEN(s);
    gone(s, "b WATCH b1");
    expect(s, "c UNWATCH x; c UNWATCH c1; c REMOVE c1");
    failed_as(s, "c REMOVE c1", HF_FAILURE_FATAL, HF_EDENIED, "no deletes");
    expect(s, "");
    at(s, s->now_ms + HF_REMOVAL_WAIT_MS); /* it is tried on meanwhile */
    expect(s, "c REMOVE c1; a ENDED HF_EDENIED");
    assert_non_null(strstr(hf_acquisition_text(&s->a), "no deletes"));
    assert_non_null(strstr(hf_acquisition_text(&s->a), "may stay"));
}

static void a_cancel_ends_a_roll_back(void **state)
{
    TAKEN(s);
    gone(s, "b WATCH b1");
    expect(s, "c UNWATCH x; c UNWATCH c1; c REMOVE c1");
    cancel(s, &s->a);
    expect(s, "");
    withdrawn(s, "c REMOVE c1", true);
    expect(s, "a ENDED HF_ECANCELLED; a DONE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_child_has_all_of_them_taken_again),
        cmocka_unit_test(a_ticket_that_may_not_be_taken_out_ends_the_wait),
        cmocka_unit_test(a_cancel_ends_a_roll_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
