/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with proof=lazy: proven when a check asks for it or a waiter is to
 * be admitted.  Grants last until the session is known to have ended. */
#include "core_fixture.h"

#include "base/time_math.h"
#include "cmocka/runner.h"

static void connect_lazily(struct core_fixture *f, unsigned traits)
{
    core_fixture_init(f, traits);
    f->lazy = true;
    connected(f, CORE_START_MS - 10, false);
    expect(f, "STATE CONNECTED");
}

#define LAZY_TEST(name, traits) CORE_TEST_FROM(name, connect_lazily(f, traits))

#define LONG_MS (UINT64_C(10) * CORE_TIMEOUT_MS)

static uint64_t safe_until(const struct core_fixture *f)
{
    return hf_core_safe_until_ms(&f->core, &f->a);
}

/* a holds its ticket and watches it for so long that nothing is proven any
 * more. */
static void hold_a_for_long(struct core_fixture *f)
{
    hold_a(f);
    wake(f);
    expect(f, "a WATCH a1");
    watching(f, "a WATCH a1");
    advance_to(f, LONG_MS);
    expect(f, "");
}

LAZY_TEST(a_grant_outlasts_its_safe_until, 0)
{
    hold_a_for_long(f);
    assert_int_equal(safe_until(f), CORE_SAFE_MS);
    assert_true(hf_core_wake_at_ms(&f->core) == HF_FOREVER);
    session_lost(f, HF_ELOST);
    expect(f, "a LOST; STATE LOST");
    assert_int_equal(safe_until(f), 0);
}

LAZY_TEST(a_check_has_the_session_proven, 0)
{
    hold_a_for_long(f);
    check(f);
    expect(f, "PROVE");
    check(f); /* one for all */
    expect(f, "");
    proven(f, LONG_MS - 4000);
    expect(f, "PROVEN");
    assert_int_equal(safe_until(f), LONG_MS - 4000 + 10000 - 100);
    assert_true(hf_core_wake_at_ms(&f->core) == HF_FOREVER);
}

LAZY_TEST(what_was_proven_just_now_is_not_asked_for, 0)
{
    hold_a_for_long(f);
    check(f);
    expect(f, "PROVE");
    proven(f, LONG_MS - 10);
    expect(f, "PROVEN");
    set_time(f, LONG_MS + CORE_TIMEOUT_MS / 4 - 1);
    check(f);
    expect(f, "");
    assert_false(f->core.session.check_pending);
    set_time(f, LONG_MS + CORE_TIMEOUT_MS / 4);
    check(f);
    expect(f, "PROVE");
}

LAZY_TEST(without_a_grant_there_is_nothing_to_check, 0)
{
    advance_to(f, LONG_MS);
    check(f);
    expect(f, "");
    assert_false(f->core.session.check_pending);
}

/* An answer that is too late proves nothing.  The proof is asked for again at
 * once, and then after a sixteenth of the timeout. */
LAZY_TEST(a_proof_that_is_over_is_no_answer, 0)
{
    hold_a_for_long(f);
    check(f);
    expect(f, "PROVE");
    proven(f, LONG_MS - CORE_TIMEOUT_MS);
    expect(f, "PROVE");
    proven(f, LONG_MS - CORE_TIMEOUT_MS);
    expect(f, "");
    wake(f);
    assert_int_equal(f->now_ms, LONG_MS + CORE_TIMEOUT_MS / 16);
    expect(f, "PROVE");
    failed(f, "PROVE", HF_FAILURE_RETRY);
    wake(f);
    expect(f, "PROVE");
    proven(f, LONG_MS);
    expect(f, "PROVEN");
}

LAZY_TEST(a_check_outlasts_a_link, 0)
{
    hold_a_for_long(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    check(f);
    expect(f, "");
    resuming(f, LONG_MS, 10000);
    connected(f, 990, true);
    expect(f, "STATE CONNECTED; PROVE");
    proven(f, LONG_MS);
    expect(f, "PROVEN");
}

LAZY_TEST(a_check_ends_with_the_session, 0)
{
    hold_a_for_long(f);
    check(f);
    expect(f, "PROVE");
    session_lost(f, HF_ELOST);
    expect(f, "a LOST; STATE LOST");
    assert_false(f->core.session.check_pending);
}

/* The server that accepted it may follow a leader that is none any more. */
LAZY_TEST(a_resume_is_proven_for_those_who_hold, 0)
{
    hold_a_for_long(f);
    suspended(f);
    resuming(f, LONG_MS, 10000);
    connected(f, 990, true);
    expect(f, "STATE CONNECTED; PROVE");
    proven(f, LONG_MS);
    expect(f, "");
    assert_int_equal(safe_until(f), LONG_MS + 10000 - 100);
    advance_to(f, 2 * LONG_MS);
    expect(f, "");
}

LAZY_TEST(a_resume_that_is_not_proven_is_a_loss, 0)
{
    hold_a_for_long(f);
    suspended(f);
    resuming(f, LONG_MS, 10000);
    connected(f, 990, true);
    expect(f, "STATE CONNECTED; PROVE");
    assert_int_equal(hf_core_wake_at_ms(&f->core),
                     hf_wake_before_ms(f->core.now_ms, LONG_MS + 10000 - 100));
    advance_to(f, LONG_MS + 10000 - 101);
    expect(f, "");
    advance_to(f, LONG_MS + 10000 - 100);
    expect(f, "a LOST; a UNWATCH a1; a REMOVE a1");
}

LAZY_TEST(an_idle_session_that_is_resumed_is_not_proven, 0)
{
    advance_to(f, LONG_MS);
    suspended(f);
    resuming(f, LONG_MS, 10000);
    connected(f, 990, true);
    expect(f, "STATE CONNECTED");
    assert_true(hf_core_wake_at_ms(&f->core) == HF_FOREVER);
}

/* Its turn comes after safe-until, so the session must be proven before it is
 * admitted. */
LAZY_TEST(the_next_in_line_is_proven_when_its_turn_comes, HF_ENGINE_GONE_ADMITS)
{
    queue_a_behind_x(f);
    watching(f, "a WATCH x");
    watching(f, "a WATCH a1");
    advance_to(f, LONG_MS);
    expect(f, "");
    gone(f, "a WATCH x");
    expect(f, "PROVE; a LIST");
    proven(f, LONG_MS - 10);
    expect(f, "a GRANTED");
    advance_to(f, 2 * LONG_MS);
    expect(f, "");
}
