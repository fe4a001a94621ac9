/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/seat.h"
#include "core/admission.h"

/* One ticket, of a client of its own, and where it stands. */
struct stand {
    struct seat *seat;
    struct hf_ticket_id id;
    struct hf_admission place; /* .before and .beyond point into .call */
    struct call *call;
    struct call *watch; /* of the one it waits for, or NULL */
};

static void judge(struct stand *stand, struct call *call)
{
    struct hf_snapshot snapshot = {call->tickets, call->count};

    stand->call = call;
    stand->place = hf_admission_decide(&snapshot, &stand->id);
}

static struct stand enqueue(struct bench *bench, enum hf_ticket_kind kind)
{
    struct stand stand = {.seat = seat_open(bench), .id = fresh_id()};
    struct call *call = seat_enqueue(stand.seat, "q", stand.id, kind, "");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    judge(&stand, call);
    return stand;
}

static void look_again(struct stand *stand)
{
    struct call *list = seat_ask(stand->seat, HF_REQUEST_LIST, "q", stand->id);

    assert_int_equal(list->answer, HF_EVENT_LISTED);
    judge(stand, list);
}

static void assert_admitted(const struct stand *stand)
{
    assert_int_equal(stand->place.answer, HF_ADMITTED);
}

static void assert_waits_for(const struct stand *stand,
                             const struct stand *before, size_t blocking)
{
    assert_int_equal(stand->place.answer, HF_WAIT_FOR);
    assert_int_equal(stand->place.blocking, blocking);
    assert_true(hf_ticket_id_equal(&stand->place.before->id, &before->id));
}

/* Watch the one before, as a waiter does. */
static void watch(struct stand *stand)
{
    stand->watch =
        seat_ask(stand->seat, HF_REQUEST_WATCH, "q", stand->place.before->id);
    assert_int_equal(stand->watch->answer, HF_EVENT_WATCHING);
}

static void assert_woken(struct stand *stand)
{
    assert_true(seat_sees_gone(stand->seat, stand->watch));
    look_again(stand);
}

static void assert_asleep(struct stand *stand)
{
    seat_settle(stand->seat);
    assert_int_equal(stand->watch->gone, 0);
}

static void leave(struct stand *stand)
{
    struct call *call =
        seat_ask(stand->seat, HF_REQUEST_WITHDRAW, "q", stand->id);

    assert_int_equal(call->answer, HF_EVENT_WITHDRAWN);
    assert_true(call->found);
}

static void close_all(struct stand *stands, size_t count)
{
    for (size_t i = count; i-- > 0;)
        seat_close(stands[i].seat);
}

/* ---------------------------------------------------------------------- */

void readers_share(void **state)
{
    struct stand r[3];

    for (size_t i = 0; i < 3; i++) {
        r[i] = enqueue(*state, HF_TICKET_READ);
        assert_admitted(&r[i]);
        assert_int_equal(r[i].place.ahead, i);
    }
    leave(&r[1]);
    look_again(&r[2]);
    assert_admitted(&r[2]);
    close_all(r, 3);
}

void a_writer_waits_for_all_ahead(void **state)
{
    struct stand s[3] = {enqueue(*state, HF_TICKET_READ),
                         enqueue(*state, HF_TICKET_READ),
                         enqueue(*state, HF_TICKET_WRITE)};

    assert_waits_for(&s[2], &s[1], 2);
    watch(&s[2]);
    leave(&s[1]);
    assert_woken(&s[2]);
    assert_waits_for(&s[2], &s[0], 1);
    watch(&s[2]);
    leave(&s[0]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    close_all(s, 3);
}

void a_reader_waits_for_the_nearest_writer(void **state)
{
    struct stand s[4] = {
        enqueue(*state, HF_TICKET_WRITE), enqueue(*state, HF_TICKET_WRITE),
        enqueue(*state, HF_TICKET_READ), enqueue(*state, HF_TICKET_WRITE)};

    assert_waits_for(&s[2], &s[1], 2);
    watch(&s[2]);
    leave(&s[0]);
    assert_asleep(&s[2]);
    leave(&s[1]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]); /* the writer behind it is nothing to it */
    close_all(s, 4);
}

void a_release_wakes_whom_it_concerns(void **state)
{
    struct stand s[5] = {
        enqueue(*state, HF_TICKET_WRITE), enqueue(*state, HF_TICKET_READ),
        enqueue(*state, HF_TICKET_READ), enqueue(*state, HF_TICKET_WRITE),
        enqueue(*state, HF_TICKET_READ)};

    for (size_t i = 1; i < 5; i++)
        watch(&s[i]);
    leave(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    assert_asleep(&s[3]);
    leave(&s[1]);
    assert_asleep(&s[3]);
    assert_asleep(&s[4]);
    leave(&s[2]);
    assert_woken(&s[3]);
    assert_admitted(&s[3]);
    assert_asleep(&s[4]);
    leave(&s[3]);
    assert_woken(&s[4]);
    assert_admitted(&s[4]);
    close_all(s, 5);
}

void readers_do_not_starve_a_writer(void **state)
{
    enum { STREAM = 10 };
    struct stand s[2] = {enqueue(*state, HF_TICKET_READ),
                         enqueue(*state, HF_TICKET_WRITE)};
    struct stand stream[STREAM];

    assert_waits_for(&s[1], &s[0], 1);
    watch(&s[1]);
    for (size_t i = 0; i < STREAM; i++) {
        stream[i] = enqueue(*state, HF_TICKET_READ);
        assert_waits_for(&stream[i], &s[1], 1);
    }
    leave(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    close_all(stream, STREAM);
    close_all(s, 2);
}

void another_family_is_refused(void **state)
{
    static const enum hf_ticket_kind rows[][2] = {
        {HF_TICKET_MUTEX, HF_TICKET_READ},
        {HF_TICKET_MUTEX, HF_TICKET_WRITE},
        {HF_TICKET_READ, HF_TICKET_MUTEX},
        {HF_TICKET_WRITE, HF_TICKET_MUTEX}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stand s[2] = {enqueue(*state, rows[i][0]),
                             enqueue(*state, rows[i][1])};

        assert_int_equal(s[1].place.answer, HF_WRONG_KIND);
        assert_int_equal(s[1].place.before->kind, rows[i][0]);
        look_again(&s[0]);
        assert_admitted(&s[0]);
        close_all(s, 2);
    }
}
