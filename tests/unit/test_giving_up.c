/* SPDX-License-Identifier: Apache-2.0 */
/* Stories about the core when the policy of reconnecting has given up. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void giving_up_ends_the_wait_for_the_first_connection(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    want(s, &s->a);
    trouble(s, HF_EUNREACHABLE, "here: connection refused");
    gave_up(s, 3, 15000);
    expect(s, "a ENDED HF_EUNREACHABLE; a DONE");
    assert_non_null(strstr(hf_acquisition_text(&s->a),
                           "gave up after 3 retries in 15000 ms"));
    assert_non_null(
        strstr(hf_acquisition_text(&s->a), ": here: connection refused"));
}

static void a_refusal_keeps_its_status_and_text(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    want(s, &s->a);
    trouble_for_good(s, HF_EDENIED, "here: wrong password");
    gave_up(s, 0, 0);
    expect(s, "a ENDED HF_EDENIED; a DONE");
    assert_non_null(
        strstr(hf_acquisition_text(&s->a), ": here: wrong password"));
    assert_null(strstr(hf_acquisition_text(&s->a), "gave up"));
}

static void the_next_acquire_begins_again(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    trouble_for_good(s, HF_EDENIED, "here: wrong password");
    gave_up(s, 0, 0);
    expect(s, "");
    want(s, &s->a);
    expect(s, "CONNECT");
    /* What was said before says nothing of this try. */
    at(s, s->now_ms + 1);
    expect(s, "");
    want(s, &s->b);
    expect(s, "");
    connected(s, s->now_ms, false);
    expect(s, "STATE CONNECTED; a ENQUEUE a1");
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a GRANTED; b ENQUEUE b1");
}

static void giving_up_ends_waits_and_spares_holders(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "a1 b1");
    expect(s, "b WAITING 1; b WATCH a1; b WATCH b1");
    suspended(s);
    expect(s, "STATE SUSPENDED");
    gave_up(s, 1, 1000);
    expect(s, "b UNWATCH a1; b UNWATCH b1");
    assert_int_equal(hf_core_safe_until_ms(&s->core, &s->a), STAGE_SAFE_MS);
    /* Its ticket may still be there, so it says so a second later. */
    ring(s);
    expect(s, "b ENDED HF_EUNREACHABLE");
    assert_non_null(
        strstr(hf_acquisition_text(&s->b), "gave up after 1 retry"));
    at(s, STAGE_SAFE_MS);
    expect(s, "a LOST");
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST; b DONE");
}

static void a_release_begins_again(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    gave_up(s, 0, 0);
    expect(s, "STATE SUSPENDED");
    release(s, &s->a);
    expect(s, "CONNECT");
    connected(s, s->now_ms, true);
    expect(s, "STATE CONNECTED; a REMOVE a1");
}

static void a_close_does_not(void **state)
{
    STAGE(s, 0);
    suspended(s);
    gave_up(s, 0, 0);
    expect(s, "STATE SUSPENDED");
    close_core(s);
    expect(s, "END");
    closed(s);
    expect(s, "STATE CLOSED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(giving_up_ends_the_wait_for_the_first_connection),
        cmocka_unit_test(a_refusal_keeps_its_status_and_text),
        cmocka_unit_test(the_next_acquire_begins_again),
        cmocka_unit_test(giving_up_ends_waits_and_spares_holders),
        cmocka_unit_test(a_release_begins_again),
        cmocka_unit_test(a_close_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
