/* SPDX-License-Identifier: Apache-2.0 */
/* How entering and leaving a double barrier end before their time, and where
 * that leaves the others.  Each of it at every stage is in test_shutdown.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "round.h"

/* ---------------------------------------------------------------- cancel -- */

static void who_waits_to_go_in_can_be_called_back(enum way way)
{
    struct errand first, second;
    struct round w;

    if (way == WAY_BLOCKING)
        return; /* there is no handle */
    round_open(&w, way);
    round_begin(&w, &first, w.mine, ROUND_ENTER, HF_FOREVER);
    assert_int_equal(round_there(&w), 1);
    hf_op_cancel(first.op);
    hf_op_cancel(first.op);
    assert_int_equal(errand_end(&first), HF_ECANCELLED);
    assert_int_equal(round_there(&w), 0);
    round_begin(&w, &second, w.theirs, ROUND_ENTER, HF_FOREVER);
    assert_int_equal(round_there(&w), 1); /* alone */
    assert_int_equal(atomic_load(&second.ended), 0);
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&second), HF_OK);
    round_both(&w, ROUND_LEAVE);
    round_close(&w);
}

/* The other one comes and is answered before the ticket is out: he is in with
 * one who is not, and does not wait for that one in the end. */
static void a_cancel_may_cross_the_last_to_come(enum way way)
{
    struct errand first, second;
    struct round w;

    if (way == WAY_BLOCKING)
        return;
    round_open(&w, way);
    round_begin(&w, &first, w.mine, ROUND_ENTER, HF_FOREVER);
    assert_int_equal(round_there(&w), 1);
    round_say_first(&w, SCRIPTED_MUTE);
    round_begin(&w, &second, w.theirs, ROUND_ENTER, HF_FOREVER);
    hf_op_cancel(first.op);
    round_say(&w, SCRIPTED_SPEAK);
    assert_int_equal(errand_end(&first), HF_ECANCELLED);
    assert_int_equal(errand_end(&second), HF_OK);
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, 0), HF_OK);
    assert_int_equal(round_there(&w), 0);
    round_close(&w);
}

/* Whether he has been told of it or not. */
static void it_is_too_late_to_call_back_who_is_in(enum way way)
{
    struct errand first;
    struct round w;

    if (way == WAY_BLOCKING)
        return;
    round_open(&w, way);
    round_say_first(&w, SCRIPTED_LAST_COMES);
    round_begin(&w, &first, w.mine, ROUND_ENTER,
                HF_FOREVER); /* answered at once */
    hf_op_cancel(first.op);
    front_until(&w.front, round_is_obeyed, &w);
    hf_op_cancel(first.op);
    assert_int_equal(errand_end(&first), HF_OK);
    assert_int_equal(round_there(&w), 2);
    round_say_first(&w, SCRIPTED_LAST_GOES);
    assert_int_equal(round_run(&w, w.mine, ROUND_LEAVE, 0), HF_OK);
    round_close(&w);
}

static void who_waits_to_leave_can_be_called_back(enum way way)
{
    static const char comes[] = {SCRIPTED_FIRST_COMES, SCRIPTED_LAST_COMES};
    static const char goes[] = {SCRIPTED_FIRST_GOES, SCRIPTED_LAST_GOES};
    struct errand e;
    struct round w;

    if (way == WAY_BLOCKING)
        return;
    round_open(&w, way);
    for (int keeps = 0; keeps < 2; keeps++) {
        round_say_first(&w, comes[keeps]);
        assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
        round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
        round_until_there(&w, 1 + keeps);
        hf_op_cancel(e.op);
        hf_op_cancel(e.op);
        assert_int_equal(errand_end(&e), HF_ECANCELLED);
        assert_int_equal(round_there(&w), 1); /* it is outside */
        round_say_first(&w, goes[keeps]);
    }
    round_close(&w);
}

/* ------------------------------------------------------------------ free -- */

static void who_is_inside_is_taken_out_by_free(enum way way)
{
    struct round w;

    round_open(&w, way);
    round_both(&w, ROUND_ENTER);
    hf_double_barrier_free(w.mine);
    round_until_there(&w, 1);
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, 0), HF_OK);
    w.mine = round_party(&w, 2);
    round_close(&w);
}

static void who_is_freed_while_entering_is_not_inside(enum way way)
{
    struct errand cancelled, let_in;
    struct round w;

    if (way == WAY_BLOCKING)
        return;
    round_open(&w, way);
    round_begin(&w, &cancelled, w.mine, ROUND_ENTER, HF_FOREVER);
    hf_double_barrier_free(w.mine);
    assert_int_equal(round_there(&w), 1);
    hf_op_cancel(cancelled.op);
    assert_int_equal(errand_end(&cancelled), HF_ECANCELLED);
    w.mine = round_party(&w, 2);
    round_begin(&w, &let_in, w.mine, ROUND_ENTER, HF_FOREVER);
    hf_double_barrier_free(w.mine);
    assert_int_equal(round_run(&w, w.theirs, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&let_in), HF_OK);
    round_until_there(&w, 1);
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, HF_FOREVER), HF_OK);
    w.mine = NULL;
    round_close(&w);
}

static void who_is_freed_while_leaving_leaves(enum way way)
{
    struct errand e;
    struct round w;

    if (way == WAY_BLOCKING)
        return;
    round_open(&w, way);
    round_both(&w, ROUND_ENTER);
    round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
    hf_double_barrier_free(w.mine);
    w.mine = NULL;
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&e), HF_OK);
    assert_int_equal(round_there(&w), 0);
    round_close(&w);
}

/* ------------------------------------------------------------------ loss -- */

static void who_waits_to_go_in_comes_anew_after_a_loss(enum way way)
{
    struct errand e;
    struct round w;

    round_open(&w, way);
    round_begin(&w, &e, w.mine, ROUND_ENTER, HF_FOREVER);
    round_until_there(&w, 1);
    round_say_first(&w, SCRIPTED_LOSE);
    round_connect(&w);
    round_until_there(&w, 1);
    assert_int_equal(atomic_load(&e.ended), 0);
    assert_int_equal(round_run(&w, w.theirs, ROUND_ENTER, HF_FOREVER), HF_OK);
    assert_int_equal(errand_end(&e), HF_OK);
    round_both(&w, ROUND_LEAVE);
    round_close(&w);
}

static void who_was_lost_inside_is_told_when_he_leaves(enum way way)
{
    struct errand e;
    struct round w;

    round_open(&w, way);
    round_both(&w, ROUND_ENTER);
    round_say_first(&w, SCRIPTED_LOSE);
    round_connect(&w);
    round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
    assert_int_equal(errand_end(&e), HF_ELOST);
    assert_non_null(strstr(e.text, "was lost: the session is over"));
    assert_int_equal(round_run(&w, w.theirs, ROUND_LEAVE, 0), HF_ELOST);
    round_both(&w, ROUND_ENTER); /* and is outside */
    round_both(&w, ROUND_LEAVE);
    round_close(&w);
}

static void who_is_lost_while_he_leaves_is_told(enum way way)
{
    struct errand e;
    struct round w;

    round_open(&w, way);
    round_say_first(&w, SCRIPTED_LAST_COMES);
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
    round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
    round_until_there(&w, 2);
    round_say_first(&w, SCRIPTED_LOSE);
    round_connect(&w);
    assert_int_equal(errand_end(&e), HF_ELOST);
    round_both(&w, ROUND_ENTER);
    round_both(&w, ROUND_LEAVE);
    round_close(&w);
}

/* His ticket is out, so there is nothing to lose. */
static void who_waits_outside_rides_out_a_loss(enum way way)
{
    struct errand e;
    struct round w;

    round_open(&w, way);
    round_say_first(&w, SCRIPTED_FIRST_COMES);
    assert_int_equal(round_run(&w, w.mine, ROUND_ENTER, HF_FOREVER), HF_OK);
    round_begin(&w, &e, w.mine, ROUND_LEAVE, HF_FOREVER);
    round_until_there(&w, 1);
    round_say_first(&w, SCRIPTED_SUSPEND);
    round_connect(&w);
    round_until_there(&w, 1);
    assert_int_equal(atomic_load(&e.ended), 0);
    round_say_first(&w, SCRIPTED_LOSE);
    round_connect(&w);
    assert_int_equal(errand_end(&e), HF_OK);
    round_close(&w);
}

#define STORIES(X)                                                             \
    X(who_waits_to_go_in_can_be_called_back)                                   \
    X(a_cancel_may_cross_the_last_to_come)                                     \
    X(it_is_too_late_to_call_back_who_is_in)                                   \
    X(who_waits_to_leave_can_be_called_back)                                   \
    X(who_is_inside_is_taken_out_by_free)                                      \
    X(who_is_freed_while_entering_is_not_inside)                               \
    X(who_is_freed_while_leaving_leaves)                                       \
    X(who_waits_to_go_in_comes_anew_after_a_loss)                              \
    X(who_was_lost_inside_is_told_when_he_leaves)                              \
    X(who_is_lost_while_he_leaves_is_told)                                     \
    X(who_waits_outside_rides_out_a_loss)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {STORIES(STORY_TESTS)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
