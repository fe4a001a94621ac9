/* SPDX-License-Identifier: Apache-2.0 */
/* A lazy session: proven when somebody asks or is to be admitted, and held in
 * for as long as it is not known to be over. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LAZY(s, traits)                                                        \
    struct stage stage_;                                                       \
    struct stage *s = &stage_;                                                 \
    (void)state;                                                               \
    stage_init(s, traits);                                                     \
    s->lazy = true;                                                            \
    connected(s, STAGE_START_MS - 10, false);                                  \
    expect(s, "STATE CONNECTED")

#define LONG_MS (UINT64_C(10) * STAGE_TIMEOUT_MS)

static uint64_t promise(const struct stage *s)
{
    return hf_core_safe_until_ms(&s->core, &s->a);
}

/* a holds its ticket, and watches it, for so long that nothing is proven. */
static void hold_a_for_long(struct stage *s)
{
    hold_a(s);
    ring(s);
    expect(s, "a WATCH a1");
    watching(s, "a WATCH a1");
    at(s, LONG_MS);
    expect(s, "");
}

static void a_grant_outlasts_its_promise(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    assert_int_equal(promise(s), STAGE_SAFE_MS);
    assert_true(hf_core_wake_at_ms(&s->core) == HF_FOREVER);
    session_lost(s, HF_ELOST);
    expect(s, "a LOST; STATE LOST");
    assert_int_equal(promise(s), 0);
}

static void a_check_has_the_session_proven(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    check(s);
    expect(s, "PROVE");
    check(s); /* one for all */
    expect(s, "");
    proven(s, LONG_MS - 4000);
    expect(s, "PROVEN");
    assert_int_equal(promise(s), LONG_MS - 4000 + 10000 - 100);
    assert_true(hf_core_wake_at_ms(&s->core) == HF_FOREVER);
}

static void what_was_proven_just_now_is_not_asked_for(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    check(s);
    expect(s, "PROVE");
    proven(s, LONG_MS - 10);
    expect(s, "PROVEN");
    later(s, LONG_MS + STAGE_TIMEOUT_MS / 4 - 1);
    check(s);
    expect(s, "");
    assert_false(s->core.session.check_pending);
    later(s, LONG_MS + STAGE_TIMEOUT_MS / 4);
    check(s);
    expect(s, "PROVE");
}

static void without_a_grant_there_is_nothing_to_check(void **state)
{
    LAZY(s, 0);
    at(s, LONG_MS);
    check(s);
    expect(s, "");
    assert_false(s->core.session.check_pending);
}

/* Of an answer that came too late nothing is left: it is asked for again, at
 * once and then after a sixteenth. */
static void a_proof_that_is_over_is_no_answer(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    check(s);
    expect(s, "PROVE");
    proven(s, LONG_MS - STAGE_TIMEOUT_MS);
    expect(s, "PROVE");
    proven(s, LONG_MS - STAGE_TIMEOUT_MS);
    expect(s, "");
    ring(s);
    assert_int_equal(s->now_ms, LONG_MS + STAGE_TIMEOUT_MS / 16);
    expect(s, "PROVE");
    failed(s, "PROVE", HF_FAILURE_RETRY);
    ring(s);
    expect(s, "PROVE");
    proven(s, LONG_MS);
    expect(s, "PROVEN");
}

static void a_check_outlasts_a_link(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    check(s);
    expect(s, "");
    resuming(s, LONG_MS, 10000);
    connected(s, 990, true);
    expect(s, "STATE CONNECTED; PROVE");
    proven(s, LONG_MS);
    expect(s, "PROVEN");
}

static void a_check_ends_with_the_session(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    check(s);
    expect(s, "PROVE");
    session_lost(s, HF_ELOST);
    expect(s, "a LOST; STATE LOST");
    assert_false(s->core.session.check_pending);
}

/* It may have been accepted by a leader that is none any more. */
static void a_resume_is_proven_for_those_who_hold(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    suspended(s);
    resuming(s, LONG_MS, 10000);
    connected(s, 990, true);
    expect(s, "STATE CONNECTED; PROVE");
    proven(s, LONG_MS);
    expect(s, "");
    assert_int_equal(promise(s), LONG_MS + 10000 - 100);
    at(s, 2 * LONG_MS);
    expect(s, "");
}

static void a_resume_that_is_not_proven_is_a_loss(void **state)
{
    LAZY(s, 0);
    hold_a_for_long(s);
    suspended(s);
    resuming(s, LONG_MS, 10000);
    connected(s, 990, true);
    expect(s, "STATE CONNECTED; PROVE");
    assert_int_equal(hf_core_wake_at_ms(&s->core), LONG_MS + 10000 - 100);
    at(s, LONG_MS + 10000 - 100);
    expect(s, "a LOST; a UNWATCH a1; a REMOVE a1");
}

static void an_idle_session_that_is_resumed_is_not_proven(void **state)
{
    LAZY(s, 0);
    at(s, LONG_MS);
    suspended(s);
    resuming(s, LONG_MS, 10000);
    connected(s, 990, true);
    expect(s, "STATE CONNECTED");
    assert_true(hf_core_wake_at_ms(&s->core) == HF_FOREVER);
}

/* Its turn comes after safe-until: nobody is admitted on what has passed. */
static void the_next_in_line_is_proven_when_its_turn_comes(void **state)
{
    LAZY(s, HF_ENGINE_GONE_ADMITS);
    queue_a(s);
    watching(s, "a WATCH x");
    watching(s, "a WATCH a1");
    at(s, LONG_MS);
    expect(s, "");
    gone(s, "a WATCH x");
    expect(s, "PROVE; a LIST");
    proven(s, LONG_MS - 10);
    expect(s, "a GRANTED");
    at(s, 2 * LONG_MS);
    expect(s, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_outlasts_its_promise),
        cmocka_unit_test(a_check_has_the_session_proven),
        cmocka_unit_test(what_was_proven_just_now_is_not_asked_for),
        cmocka_unit_test(without_a_grant_there_is_nothing_to_check),
        cmocka_unit_test(a_proof_that_is_over_is_no_answer),
        cmocka_unit_test(a_check_outlasts_a_link),
        cmocka_unit_test(a_check_ends_with_the_session),
        cmocka_unit_test(a_resume_is_proven_for_those_who_hold),
        cmocka_unit_test(a_resume_that_is_not_proven_is_a_loss),
        cmocka_unit_test(an_idle_session_that_is_resumed_is_not_proven),
        cmocka_unit_test(the_next_in_line_is_proven_when_its_turn_comes),
    };

    return cmocka_run_group_tests_name("lazy", tests, NULL, NULL);
}
