/* SPDX-License-Identifier: Apache-2.0 */
/* What barriers ask of an engine: marks that belong to nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/suite.h"

static void mark(struct seat *seat, enum hf_request_kind kind,
                 const char *queue, bool found)
{
    struct call *call = seat_mark(seat, kind, queue);

    assert_int_equal(call->answer, HF_EVENT_FLAG_UPDATED);
    assert_int_equal(call->found, found);
}

static void raise_it(struct seat *seat, const char *queue)
{
    mark(seat, HF_REQUEST_SET_FLAG, queue, false);
}

static void lower_it(struct seat *seat, const char *queue)
{
    mark(seat, HF_REQUEST_CLEAR_FLAG, queue, true);
}

static struct call *look(struct seat *seat, const char *queue, bool up)
{
    struct call *call = seat_mark(seat, HF_REQUEST_WATCH_QUEUE, queue);

    assert_int_equal(call->answer, HF_EVENT_LISTED);
    assert_int_equal(call->count, up ? 1 : 0);
    if (up)
        assert_int_equal(call->tickets[0].kind, HF_TICKET_BARRIER);
    return call;
}

static void a_barrier_is_down_at_first(void **state)
{
    struct seat *a = seat_open(bench);

    (void)state;
    (void)look(a, "b", false);
    mark(a, HF_REQUEST_CLEAR_FLAG, "b", false);
    seat_close(a);
}

static void raising_and_lowering_may_be_repeated(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);

    (void)state;
    raise_it(a, "b");
    mark(a, HF_REQUEST_SET_FLAG, "b", true);
    mark(b, HF_REQUEST_SET_FLAG, "b", true);
    (void)look(b, "b", true);
    lower_it(b, "b"); /* anybody may */
    mark(a, HF_REQUEST_CLEAR_FLAG, "b", false);
    (void)look(a, "b", false);
    seat_close(b);
    seat_close(a);
}

static void who_looks_is_told_when_it_is_lowered(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct call *looks[3];

    (void)state;
    raise_it(a, "b");
    looks[0] = look(a, "b", true); /* one of them lowers it */
    looks[1] = look(b, "b", true);
    looks[2] = look(b, "b", true);
    seat_settle(b);
    assert_int_equal(looks[1]->gone, 0);
    lower_it(a, "b");
    assert_true(seat_sees_gone(a, looks[0]));
    assert_true(seat_sees_gone(b, looks[1]));
    assert_true(seat_sees_gone(b, looks[2]));
    raise_it(a, "b");
    lower_it(a, "b");
    seat_settle(a);
    seat_settle(b);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(looks[i]->gone, 1);
    seat_close(b);
    seat_close(a);
}

/* A mark that comes right behind another one is not taken for it. */
static void each_raising_is_another(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket first, second;
    struct call *seen;

    (void)state;
    raise_it(a, "b");
    seen = look(b, "b", true);
    first = seen->tickets[0];
    second = look(a, "b", true)->tickets[0];
    assert_true(hf_ticket_id_equal(&first.id, &second.id));
    assert_int_equal(first.token, second.token);
    lower_it(a, "b");
    raise_it(a, "b");
    assert_true(seat_sees_gone(b, seen));
    second = look(b, "b", true)->tickets[0];
    assert_true(!hf_ticket_id_equal(&first.id, &second.id) ||
                first.token != second.token);
    lower_it(b, "b");
    seat_close(b);
    seat_close(a);
}

static void a_barrier_outlives_who_raised_it(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct call *seen;

    (void)state;
    raise_it(a, "b");
    seen = look(b, "b", true);
    seat_close(a);
    seat_settle(b);
    assert_int_equal(seen->gone, 0);
    a = seat_open(bench);
    (void)look(a, "b", true);
    lower_it(a, "b");
    assert_true(seat_sees_gone(b, seen));
    seat_close(b);
    seat_close(a);
}

static void a_forgotten_look_at_a_barrier_is_silent(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct call *late, *early, *down, *witness;

    (void)state;
    down = look(b, "b", false);
    seat_forget(b, down);
    raise_it(a, "b");
    late = look(b, "b", true);
    seat_forget(b, late);
    early = seat_mark_only(b, HF_REQUEST_WATCH_QUEUE, "b");
    seat_forget(b, early);
    witness = look(b, "b", true);
    lower_it(a, "b");
    assert_true(seat_sees_gone(b, witness));
    seat_settle(b);
    assert_int_equal(down->gone + late->gone + early->gone, 0);
    seat_close(b);
    seat_close(a);
}

static void the_end_takes_looks_at_barriers_along(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct call *seen;

    (void)state;
    raise_it(a, "b");
    (void)look(a, "b", true);
    seen = look(b, "b", true);
    seat_close(a);
    lower_it(b, "b");
    assert_true(seat_sees_gone(b, seen));
    seat_close(b);
}

/* Who holds a lock does not hold up, and who is held up holds no lock. */
static void barriers_are_no_queues(void **state)
{
    struct hf_ticket_id id = fresh_id();
    struct seat *a = seat_open(bench);
    struct call *seen;

    (void)state;
    raise_it(a, "beside/b");
    seen = look(a, "beside/b", true);
    (void)take_place(a, "beside/q", id);
    leave_place(a, "beside/q", id);
    seat_settle(a);
    assert_int_equal(seen->gone, 0);
    lower_it(a, "beside/b");
    assert_true(seat_sees_gone(a, seen));
    seat_close(a);
}

static void odd_names_of_barriers_do_not_collide(void **state)
{
    static char longest[2][HF_NAME_BYTES + 1];
    struct seat *a = seat_open(bench);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        memset(longest[i], 'n', HF_NAME_BYTES);
        for (size_t at = 200; at < HF_NAME_BYTES; at += 200)
            longest[i][at] = '/';
        longest[i][HF_NAME_BYTES - 1] = (char)('1' + i);
    }
    raise_it(a, longest[0]);
    (void)look(a, longest[1], false);
    raise_it(a, longest[1]);
    lower_it(a, longest[0]);
    (void)look(a, longest[0], false);
    (void)look(a, longest[1], true);
    lower_it(a, longest[1]);
    raise_it(a, "with space%2F\xc3\xa9");
    (void)look(a, "with space%2F\xc3\xa9", true);
    lower_it(a, "with space%2F\xc3\xa9");
    seat_close(a);
}

static void a_barrier_survives_the_link(void **state)
{
    struct seat *a, *b;
    struct call *seen, *call;

    (void)state;
    if (bench->cut == NULL)
        return;
    a = seat_open(bench);
    b = seat_open(bench);
    raise_it(a, "b");
    seen = look(b, "b", true);
    bench->cut(bench);
    seat_wait_suspended(b);
    seat_wait_connected(b);
    do { /* the other one may not have noticed yet */
        seat_wait_connected(a);
        call = seat_mark(a, HF_REQUEST_CLEAR_FLAG, "b");
    } while (call->answer == HF_EVENT_FAILED);
    assert_true(seat_sees_gone(b, seen));
    seat_close(b);
    seat_close(a);
}

int suite_run_barriers(const char *name)
{
    const struct CMUnitTest tests[] = {
        STORY(a_barrier_is_down_at_first),
        STORY(raising_and_lowering_may_be_repeated),
        STORY(who_looks_is_told_when_it_is_lowered),
        STORY(each_raising_is_another),
        STORY(a_barrier_outlives_who_raised_it),
        STORY(a_forgotten_look_at_a_barrier_is_silent),
        STORY(the_end_takes_looks_at_barriers_along),
        STORY(barriers_are_no_queues),
        STORY(odd_names_of_barriers_do_not_collide),
        STORY(a_barrier_survives_the_link),
    };
    char whole[128];

    (void)snprintf(whole, sizeof(whole), "%s: barriers", name);
    return cmocka_run_group_tests_name(whole, tests, NULL, NULL);
}
