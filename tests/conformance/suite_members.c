/* SPDX-License-Identifier: Apache-2.0 */
/* What double barriers ask of an engine: members, and what they stamp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "conformance/suite.h"

static struct hf_ticket_id come(struct seat *seat, const char *queue)
{
    struct hf_ticket_id id = fresh_id();
    struct call *call =
        seat_enqueue(seat, queue, id, HF_TICKET_PARTICIPANT, "me");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_non_null(call_find(call, id));
    return id;
}

static void go(struct seat *seat, const char *queue, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_REMOVE, queue, id);

    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_true(call->found);
}

/* Answered LISTED, with ${members} and, if ${stamp}, the mark of that token. */
static struct call *see(struct call *call, size_t members, uint64_t stamp)
{
    size_t count = 0;
    uint64_t seen = 0;

    assert_int_equal(call->answer, HF_EVENT_LISTED);
    for (size_t i = 0; i < call->count; i++) {
        const struct hf_ticket *ticket = &call->tickets[i];

        assert_true(ticket->token > 0);
        assert_true(i == 0 || hf_ticket_compare(ticket - 1, ticket) < 0);
        if (ticket->kind == HF_TICKET_READY)
            seen = ticket->token;
        else
            assert_int_equal(ticket->kind, HF_TICKET_PARTICIPANT);
        count += ticket->kind == HF_TICKET_PARTICIPANT;
    }
    assert_int_equal(count, members);
    assert_int_equal(seen, stamp);
    assert_int_equal(call->count, members + (stamp > 0));
    return call;
}

static struct call *list(struct seat *seat, const char *queue, size_t members,
                         uint64_t stamp)
{
    return see(seat_members(seat, HF_REQUEST_LIST, queue, fresh_id(), 0),
               members, stamp);
}

static struct call *look(struct seat *seat, const char *queue, size_t members,
                         uint64_t stamp)
{
    return see(seat_members(seat, HF_REQUEST_WATCH_QUEUE, queue, fresh_id(), 0),
               members, stamp);
}

/* The token of the mark, which is newer than all who are there. */
static uint64_t stamp(struct seat *seat, const char *queue,
                      struct hf_ticket_id id, uint32_t limit)
{
    struct call *call =
        seat_members(seat, HF_REQUEST_NEW_GENERATION, queue, id, limit);
    const struct hf_ticket *last;

    assert_int_equal(call->answer, HF_EVENT_FLAG_UPDATED);
    call = seat_members(seat, HF_REQUEST_LIST, queue, id, 0);
    assert_int_equal(call->answer, HF_EVENT_LISTED);
    last = &call->tickets[call->count - 1];
    assert_int_equal(last->kind, HF_TICKET_READY);
    return last->token;
}

static void refuse(struct seat *seat, const char *queue, struct hf_ticket_id id,
                   uint32_t limit)
{
    struct call *call =
        seat_members(seat, HF_REQUEST_NEW_GENERATION, queue, id, limit);

    assert_int_equal(call->answer, HF_EVENT_FAILED);
    assert_int_equal(call->failure, HF_FAILURE_RETRY);
}

static bool clear(struct seat *seat, const char *queue)
{
    struct call *call =
        seat_members(seat, HF_REQUEST_CLEAR_FLAG, queue, fresh_id(), 0);

    assert_int_equal(call->answer, HF_EVENT_FLAG_UPDATED);
    return call->found;
}

static void members_are_counted(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id first, second;

    (void)state;
    (void)list(a, "d", 0, 0);
    first = come(a, "d");
    second = come(b, "d");
    (void)list(a, "d", 2, 0);
    expect_length(a, "d", 0); /* nobody stands in line */
    go(a, "d", first);
    (void)list(b, "d", 1, 0);
    go(b, "d", second);
    (void)list(b, "d", 0, 0);
    seat_close(b);
    seat_close(a);
}

static void enough_members_stamp(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id first, second;
    uint64_t token, next;

    (void)state;
    first = come(a, "d");
    refuse(a, "d", first, 2);
    (void)list(a, "d", 1, 0);
    second = come(b, "d");
    token = stamp(b, "d", second, 2);
    (void)list(a, "d", 2, token);
    next = stamp(a, "d", first, 2);
    assert_true(next >= token);
    go(b, "d", second);
    refuse(a, "d", first, 2);
    refuse(b, "d", second, 1); /* it is not there */
    (void)list(a, "d", 1, next);
    second = come(b, "d");
    assert_true(stamp(b, "d", second, 2) > next);
    go(a, "d", first);
    go(b, "d", second);
    assert_true(clear(a, "d"));
    seat_close(b);
    seat_close(a);
}

/* For people: what each says of himself, and no tickets among them. */
static void members_are_shown_to_people(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id first, second;
    struct call *seen;
    uint64_t token;

    (void)state;
    (void)see(seat_look_at_members(a, "d"), 0, 0);
    first = come(a, "d");
    second = come(b, "d");
    token = stamp(a, "d", first, 2);
    seen = see(seat_look_at_members(b, "d"), 2, token);
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->tickets[i].kind == HF_TICKET_PARTICIPANT)
            assert_string_equal(seen->tickets[i].payload, "me");
    }
    assert_int_equal(seat_look(b, "d")->count, 0);
    go(a, "d", first);
    (void)see(seat_look_at_members(b, "d"), 1, token);
    go(b, "d", second);
    assert_true(clear(b, "d"));
    seat_close(b);
    seat_close(a);
}

static void who_looks_is_told_of_every_change(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id first, second;
    struct call *seen;
    uint64_t token;

    (void)state;
    first = come(a, "d");
    seen = look(a, "d", 1, 0);
    seat_settle(a);
    assert_int_equal(seen->gone, 0);
    second = come(b, "d");
    assert_true(seat_sees_gone(a, seen));
    seen = look(a, "d", 2, 0);
    token = stamp(b, "d", second, 2);
    assert_true(seat_sees_gone(a, seen));
    seen = look(a, "d", 2, token);
    go(b, "d", second);
    assert_true(seat_sees_gone(a, seen));
    second = come(b, "d");
    seen = look(a, "d", 2, token);
    assert_true(stamp(b, "d", second, 2) > token); /* another than before */
    assert_true(seat_sees_gone(a, seen));
    assert_int_equal(seen->gone, 1);
    go(b, "d", second);
    go(a, "d", first);
    (void)clear(a, "d");
    seat_close(b);
    seat_close(a);
}

static void the_mark_stays_until_nobody_is_there(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id first;
    uint64_t token;

    (void)state;
    assert_false(clear(a, "d"));
    first = come(a, "d");
    token = stamp(a, "d", first, 1);
    assert_false(clear(a, "d"));
    go(a, "d", first);
    (void)list(a, "d", 0, token);
    assert_true(clear(a, "d"));
    assert_false(clear(a, "d"));
    (void)list(a, "d", 0, 0);
    first = come(a, "d");
    assert_true(stamp(a, "d", first, 1) > token);
    go(a, "d", first);
    assert_true(clear(a, "d"));
    seat_close(a);
}

static void the_end_takes_members_along_but_no_mark(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id first, second;
    struct call *seen;
    uint64_t token;

    (void)state;
    first = come(a, "d");
    second = come(b, "d");
    token = stamp(a, "d", first, 2);
    seen = look(b, "d", 2, token);
    seat_close(a);
    assert_true(seat_sees_gone(b, seen));
    (void)look(b, "d", 1, token);
    go(b, "d", second);
    assert_true(clear(b, "d"));
    seat_close(b);
}

static void a_member_hears_of_its_end(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = come(a, "d");
    struct hf_ticket mine = {.id = id, .kind = HF_TICKET_PARTICIPANT};
    struct call *watch = seat_watch(a, "d", &mine);

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    go(b, "d", id); /* anybody may */
    assert_true(seat_sees_gone(a, watch));
    seat_close(b);
    seat_close(a);
}

static void a_look_at_members_that_is_forgotten_is_silent(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id first = come(b, "d");
    struct call *forgotten = look(b, "d", 1, 0);
    struct call *witness = look(b, "d", 1, 0);
    struct hf_ticket_id id;

    (void)state;
    seat_forget(b, forgotten);
    id = come(a, "d");
    assert_true(seat_sees_gone(b, witness));
    seat_settle(b);
    assert_int_equal(forgotten->gone, 0);
    go(b, "d", first);
    go(a, "d", id);
    seat_close(b);
    seat_close(a);
}

static void members_of_one_name_are_not_of_another(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id first = come(a, "beside/d");
    struct hf_ticket_id second = come(a, "beside/e");
    uint64_t token;

    (void)state;
    refuse(a, "beside/d", first, 2);
    token = stamp(a, "beside/e", second, 1);
    (void)list(a, "beside/d", 1, 0);
    (void)list(a, "beside/e", 1, token);
    go(a, "beside/d", first);
    go(a, "beside/e", second);
    assert_true(clear(a, "beside/e"));
    seat_close(a);
}

int suite_run_members(const char *name)
{
    const struct CMUnitTest tests[] = {
        STORY(members_are_counted),
        STORY(enough_members_stamp),
        STORY(members_are_shown_to_people),
        STORY(who_looks_is_told_of_every_change),
        STORY(the_mark_stays_until_nobody_is_there),
        STORY(the_end_takes_members_along_but_no_mark),
        STORY(a_member_hears_of_its_end),
        STORY(a_look_at_members_that_is_forgotten_is_silent),
        STORY(members_of_one_name_are_not_of_another),
    };
    char whole[128];

    if (!bench->has_members)
        return 0;
    (void)snprintf(whole, sizeof(whole), "%s: members", name);
    return cmocka_run_group_tests_name(whole, tests, NULL, NULL);
}
