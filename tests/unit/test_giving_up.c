/* SPDX-License-Identifier: Apache-2.0 */
/* The core after the reconnect policy has given up: what ends, and what waits
 * for a session. */
#include "core_fixture.h"

#include <string.h>

#include "cmocka/runner.h"

TEST(giving_up_ends_the_wait_for_the_first_connection)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    want(f, &f->a);
    report_connection_error(f, HF_EUNREACHABLE, "here: connection refused");
    gave_up(f, 3, 15000);
    expect(f, "a ENDED HF_EUNREACHABLE; a DONE");
    assert_non_null(
        strstr(hf_acquisition_text(&f->a), "gave up after 3 retries in 15s"));
    assert_non_null(
        strstr(hf_acquisition_text(&f->a), ": here: connection refused"));
}

TEST(a_refusal_keeps_its_status_and_text)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    want(f, &f->a);
    report_final_error(f, HF_EDENIED, "here: wrong password");
    gave_up(f, 0, 0);
    expect(f, "a ENDED HF_EDENIED; a DONE");
    assert_non_null(
        strstr(hf_acquisition_text(&f->a), ": here: wrong password"));
    assert_null(strstr(hf_acquisition_text(&f->a), "gave up"));
}

TEST(the_next_acquire_begins_again)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    report_final_error(f, HF_EDENIED, "here: wrong password");
    gave_up(f, 0, 0);
    expect(f, "");
    want(f, &f->a);
    expect(f, "CONNECT");
    /* The earlier error is not in the text of this try. */
    advance_to(f, f->now_ms + 1);
    expect(f, "");
    want(f, &f->b);
    expect(f, "");
    connected(f, f->now_ms, false);
    expect(f, "STATE CONNECTED; a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a GRANTED; b ENQUEUE b1");
}

CORE_TEST(giving_up_ends_waits_and_spares_holders, 0)
{
    hold_a(f);
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "a1 b1");
    expect(f, "b WAITING 1; b WATCH a1; b WATCH b1");
    suspended(f);
    expect(f, "STATE SUSPENDED");
    gave_up(f, 1, 1000);
    expect(f, "b UNWATCH a1; b UNWATCH b1");
    assert_int_equal(hf_core_safe_until_ms(&f->core, &f->a), CORE_SAFE_MS);
    /* Its ticket may still exist, so it ends a second later and says so. */
    wake(f);
    expect(f, "b ENDED HF_EUNREACHABLE");
    assert_non_null(
        strstr(hf_acquisition_text(&f->b), "gave up after 1 retry"));
    advance_to(f, CORE_SAFE_MS);
    expect(f, "a LOST");
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST; b DONE");
}

/* What refused us before the first connection is no reason any more. */
TEST(an_error_before_the_connection_is_forgotten)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    report_final_error(f, HF_EDENIED, "here: wrong password");
    connected(f, f->now_ms, false);
    expect(f, "STATE CONNECTED");
    want(f, &f->a);
    expect(f, "a ENQUEUE a1");
    suspended(f);
    expect(f, "STATE SUSPENDED");
    gave_up(f, 1, 1000);
    wake(f);
    assert_int_equal(f->a.status, HF_EUNREACHABLE);
    assert_non_null(
        strstr(hf_acquisition_text(&f->a), "gave up after 1 retry"));
}

CORE_TEST(a_release_begins_again, 0)
{
    hold_a(f);
    suspended(f);
    gave_up(f, 0, 0);
    expect(f, "STATE SUSPENDED");
    release(f, &f->a);
    expect(f, "CONNECT");
    connected(f, f->now_ms, true);
    expect(f, "STATE CONNECTED; a REMOVE a1");
}

/* A handle on the session has an operation to send. */
CORE_TEST(another_user_of_the_session_begins_again, 0)
{
    suspended(f);
    gave_up(f, 0, 0);
    expect(f, "STATE SUSPENDED");
    connected(f, f->now_ms, true);
    expect(f, "STATE CONNECTED");
    want(f, &f->a);
    expect(f, "a ENQUEUE a1");
}

CORE_TEST(a_close_does_not, 0)
{
    suspended(f);
    gave_up(f, 0, 0);
    expect(f, "STATE SUSPENDED");
    close_core(f);
    expect(f, "END");
    closed(f);
    expect(f, "STATE CLOSED");
}
