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
    enum hf_ticket_kind kind;
    struct hf_admission place; /* .before and .beyond point into .call */
    struct call *call;
    struct call *watch; /* of the one it waits for, or NULL */
};

static void judge(struct stand *stand, struct call *call)
{
    struct hf_snapshot snapshot = {call->tickets, call->count, call->more};

    stand->call = call;
    stand->place = hf_admission_decide(&snapshot, &stand->id, stand->kind);
}

/* Some layouts have names for mutexes only. */
static bool has_readers(const struct bench *bench)
{
    return bench_shown(bench, HF_TICKET_READ) != 0;
}

static struct stand enqueue(struct bench *bench, enum hf_ticket_kind kind)
{
    struct stand stand = {
        .seat = seat_open(bench), .id = fresh_id(), .kind = kind};
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
    assert_true(hf_ticket_id_equal(&stand->place.nearest->id, &before->id));
}

/* Watch the one before, as a waiter does. */
static void watch(struct stand *stand)
{
    stand->watch = seat_watch(stand->seat, "q", stand->place.nearest);
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
        seat_ask(stand->seat, HF_REQUEST_REMOVE, "q", stand->id);

    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_true(call->found);
}

static void close_all(struct stand *stands, size_t count)
{
    for (size_t i = count; i-- > 0;)
        seat_close(stands[i].seat);
}

/* ---------------------------------------------------------------------- */

static void story_readers_share(void **state)
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

static void story_a_writer_waits_for_all_ahead(void **state)
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

static void story_a_reader_waits_for_the_nearest_writer(void **state)
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

static void story_a_release_wakes_whom_it_concerns(void **state)
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

static void story_readers_do_not_starve_a_writer(void **state)
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

static void story_another_family_is_refused(void **state)
{
    static const enum hf_ticket_kind rows[][2] = {
        {HF_TICKET_MUTEX, HF_TICKET_READ},
        {HF_TICKET_MUTEX, HF_TICKET_WRITE},
        {HF_TICKET_READ, HF_TICKET_MUTEX},
        {HF_TICKET_WRITE, HF_TICKET_MUTEX},
        {HF_TICKET_ELECTION, HF_TICKET_MUTEX},
        {HF_TICKET_MUTEX, HF_TICKET_ELECTION},
        {HF_TICKET_READ, HF_TICKET_ELECTION},
        {HF_TICKET_ELECTION, HF_TICKET_WRITE}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stand s[2] = {enqueue(*state, rows[i][0]),
                             enqueue(*state, rows[i][1])};

        /* One that may be of either kind is waited for. */
        if (bench_shown(*state, rows[i][0]) == HF_TICKET_EXCLUSIVE)
            assert_waits_for(&s[1], &s[0], 1);
        else
            assert_int_equal(s[1].place.answer, HF_WRONG_KIND);
        look_again(&s[0]);
        assert_admitted(&s[0]);
        close_all(s, 2);
    }
}

static void story_an_election_is_won_in_queue_order(void **state)
{
    struct stand s[4];

    for (size_t i = 0; i < 4; i++)
        s[i] = enqueue(*state, HF_TICKET_ELECTION);
    assert_admitted(&s[0]);
    for (size_t i = 1; i < 4; i++) {
        assert_waits_for(&s[i], &s[i - 1], i);
        watch(&s[i]);
    }
    leave(&s[1]); /* who resigns while he waits */
    assert_asleep(&s[3]);
    assert_woken(&s[2]);
    assert_waits_for(&s[2], &s[0], 1);
    watch(&s[2]);
    leave(&s[0]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    assert_asleep(&s[3]);
    close_all(s, 4);
}

/* ------------------------------------------------------------- downgrade -- */

static struct call *downgrade(struct stand *stand)
{
    return seat_ask(stand->seat, HF_REQUEST_DOWNGRADE, "q", stand->id);
}

static void assert_downgraded(struct stand *stand)
{
    const struct hf_ticket before = *call_find(stand->call, stand->id);
    const struct hf_ticket *after;

    assert_int_equal(downgrade(stand)->answer, HF_EVENT_DOWNGRADED);
    look_again(stand);
    after = call_find(stand->call, stand->id);
    assert_non_null(after);
    assert_int_equal(after->kind, HF_TICKET_READ);
    assert_true(after->sequence == before.sequence);
    assert_true(after->token == before.token);
    assert_admitted(stand);
}

static void story_fn04_a_downgraded_writer_keeps_its_place(void **state)
{
    struct stand s[3] = {enqueue(*state, HF_TICKET_WRITE),
                         enqueue(*state, HF_TICKET_WRITE),
                         enqueue(*state, HF_TICKET_READ)};

    watch(&s[1]);
    watch(&s[2]);
    assert_downgraded(&s[0]);
    assert_woken(&s[1]);
    assert_waits_for(&s[1], &s[0], 1);
    assert_int_equal(s[1].place.nearest->kind, HF_TICKET_READ);
    watch(&s[1]);
    assert_asleep(&s[1]);
    assert_asleep(&s[2]);
    leave(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    assert_asleep(&s[2]);
    close_all(s, 3);
}

static void story_a_downgrade_lets_readers_in(void **state)
{
    struct stand s[4] = {
        enqueue(*state, HF_TICKET_WRITE), enqueue(*state, HF_TICKET_READ),
        enqueue(*state, HF_TICKET_READ), enqueue(*state, HF_TICKET_WRITE)};
    struct stand late;

    watch(&s[1]);
    watch(&s[2]);
    watch(&s[3]);
    assert_downgraded(&s[0]);
    assert_woken(&s[1]);
    assert_admitted(&s[1]);
    assert_woken(&s[2]);
    assert_admitted(&s[2]);
    assert_asleep(&s[3]);
    late = enqueue(*state, HF_TICKET_READ);
    assert_waits_for(&late, &s[3], 1);
    seat_close(late.seat);
    close_all(s, 4);
}

/* Others who wait in the same session. */
static void story_a_downgrade_wakes_its_own_session(void **state)
{
    struct stand writer = enqueue(*state, HF_TICKET_WRITE);
    struct stand reader = {
        .seat = writer.seat, .id = fresh_id(), .kind = HF_TICKET_READ};

    judge(&reader,
          seat_enqueue(reader.seat, "q", reader.id, HF_TICKET_READ, ""));
    assert_waits_for(&reader, &writer, 1);
    watch(&reader);
    assert_downgraded(&writer);
    assert_woken(&reader);
    assert_admitted(&reader);
    leave(&writer);
    leave(&reader);
    seat_close(writer.seat);
}

static void story_a_downgrade_is_idempotent(void **state)
{
    struct stand s = {
        .seat = seat_open(*state), .id = fresh_id(), .kind = HF_TICKET_WRITE};
    struct seat *other = seat_open(*state);
    struct call *list;

    judge(&s, seat_enqueue(s.seat, "q", s.id, HF_TICKET_WRITE, "it is me"));
    assert_downgraded(&s);
    assert_downgraded(&s);
    list = seat_ask(other, HF_REQUEST_LIST, "q", fresh_id());
    assert_int_equal(list->count, 1);
    assert_int_equal(list->tickets[0].kind, HF_TICKET_READ);
    assert_true(hf_ticket_id_equal(&list->tickets[0].id, &s.id));
    assert_string_equal(list->tickets[0].payload, "it is me");
    seat_close(s.seat);
    assert_int_equal(seat_ask(other, HF_REQUEST_LIST, "q", fresh_id())->count,
                     0);
    seat_close(other);
}

static void story_what_is_gone_cannot_be_downgraded(void **state)
{
    struct bench *bench = *state;
    struct stand s = enqueue(bench, HF_TICKET_WRITE);
    struct call *call;

    bench->evict(bench, "q", call_find(s.call, s.id));
    assert_true(seat_sees_gone(
        s.seat, seat_watch(s.seat, "q", call_find(s.call, s.id))));
    for (int i = 0; i < 2; i++) {
        call = downgrade(&s);
        assert_int_equal(call->answer, HF_EVENT_FAILED);
        assert_int_equal(call->failure, HF_FAILURE_FATAL);
        assert_int_equal(call->status, HF_ELOST);
        s.id = fresh_id();
    }
    assert_int_equal(seat_ask(s.seat, HF_REQUEST_LIST, "q", s.id)->count, 0);
    seat_close(s.seat);
}

/* Under what it is called now, and not under what it was. */
static void story_a_downgraded_ticket_is_watched_anew(void **state)
{
    struct bench *bench = *state;
    struct stand s = enqueue(bench, HF_TICKET_WRITE);
    struct seat *other = seat_open(bench);
    struct hf_ticket writer = *call_find(s.call, s.id);
    struct hf_ticket reader;
    struct call *own, *others;

    assert_downgraded(&s);
    reader = *call_find(s.call, s.id);
    assert_int_equal(seat_watch(s.seat, "q", &writer)->answer, HF_EVENT_GONE);
    assert_int_equal(seat_watch(other, "q", &writer)->answer, HF_EVENT_GONE);
    own = seat_watch(s.seat, "q", &reader);
    others = seat_watch(other, "q", &reader);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    assert_int_equal(others->answer, HF_EVENT_WATCHING);
    seat_settle(s.seat);
    seat_settle(other);
    assert_int_equal(own->gone + others->gone, 0);
    /* The change itself is nobody's request to let go. */
    assert_int_equal(own->revoked, 0);
    assert_true(seat_insist(other, HF_REQUEST_REVOKE, "q", s.id)->found);
    assert_true(seat_sees_revoked(s.seat, own, 0));
    bench->evict(bench, "q", &reader);
    assert_true(seat_sees_gone(s.seat, own));
    /* For the others it may be gone no sooner than its owner has let go. */
    assert_false(seat_ask(s.seat, HF_REQUEST_REMOVE, "q", s.id)->found);
    assert_true(seat_sees_gone(other, others));
    seat_close(other);
    seat_close(s.seat);
}

/* Under its new name. */
static bool hears_of_a_request(struct stand *s)
{
    struct hf_ticket reader = *call_find(s->call, s->id);
    struct call *own;

    reader.kind = HF_TICKET_READ;
    own = seat_watch(s->seat, "q", &reader);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    return seat_sees_revoked(s->seat, own, 0);
}

/* The core takes back its watch before it asks for the downgrade.  A request
 * that comes in between is told by the watch that is set afterwards. */
static void story_a_downgrade_keeps_a_request_to_let_go(void **state)
{
    struct stand s = enqueue(*state, HF_TICKET_WRITE);
    struct seat *other = seat_open(*state);
    struct call *own = seat_watch(s.seat, "q", call_find(s.call, s.id));

    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    seat_settle(s.seat);
    seat_forget(s.seat, own);
    assert_true(seat_insist(other, HF_REQUEST_REVOKE, "q", s.id)->found);
    assert_int_equal(own->revoked, 0);
    assert_downgraded(&s);
    assert_true(hears_of_a_request(&s));
    seat_close(other);
    seat_close(s.seat);
}

enum { BESIDE_ROUNDS = 20 }; /* in every second the other one is first */

/* What ${kind}, from ${other}, was answered beside a downgrade, and that. */
static struct call *beside_a_downgrade(struct stand *s, struct seat *other,
                                       enum hf_request_kind kind, bool first,
                                       struct call **change)
{
    struct call *call = NULL;

    if (first)
        call = seat_ask_only(other, kind, "q", s->id);
    *change = seat_ask_only(s->seat, HF_REQUEST_DOWNGRADE, "q", s->id);
    if (!first)
        call = seat_ask_only(other, kind, "q", s->id);
    (void)seat_wait(other, call);
    (void)seat_wait(s->seat, *change);
    assert_true(call->found); /* the ticket was there all the time */
    return call;
}

static void story_a_request_to_let_go_finds_what_is_downgraded(void **state)
{
    struct call *change;

    for (int i = 0; i < BESIDE_ROUNDS; i++) {
        struct stand s = enqueue(*state, HF_TICKET_WRITE);
        struct seat *other = seat_open(*state);
        struct call *ask = beside_a_downgrade(&s, other, HF_REQUEST_REVOKE,
                                              i % 2 == 0, &change);

        assert_int_equal(ask->answer, HF_EVENT_REVOKE_SENT);
        assert_int_equal(change->answer, HF_EVENT_DOWNGRADED);
        assert_true(hears_of_a_request(&s));
        seat_close(other);
        seat_close(s.seat);
    }
}

static void story_an_eviction_finds_what_is_downgraded(void **state)
{
    struct call *change;

    for (int i = 0; i < BESIDE_ROUNDS; i++) {
        struct stand s = enqueue(*state, HF_TICKET_WRITE);
        struct seat *other = seat_open(*state);
        struct call *take = beside_a_downgrade(&s, other, HF_REQUEST_REMOVE,
                                               i % 2 == 0, &change);

        assert_int_equal(take->answer, HF_EVENT_REMOVED);
        if (change->answer == HF_EVENT_FAILED)
            assert_int_equal(change->status, HF_ELOST);
        assert_int_equal(seat_ask(other, HF_REQUEST_LIST, "q", s.id)->count, 0);
        seat_close(other);
        seat_close(s.seat);
    }
}

static void story_a_downgrade_and_a_withdrawal_leave_nothing(void **state)
{
    struct stand s = enqueue(*state, HF_TICKET_WRITE);
    struct call *downgrade_ =
        seat_ask_only(s.seat, HF_REQUEST_DOWNGRADE, "q", s.id);
    struct call *withdraw = seat_ask_only(s.seat, HF_REQUEST_REMOVE, "q", s.id);

    assert_int_equal(seat_wait(s.seat, withdraw)->answer, HF_EVENT_REMOVED);
    assert_true(withdraw->found);
    (void)seat_wait(s.seat, downgrade_);
    assert_int_equal(seat_ask(s.seat, HF_REQUEST_LIST, "q", s.id)->count, 0);
    seat_close(s.seat);
}

/* What it is called has changed; what it says may change on. */
static void story_a_downgraded_writer_describes_itself(void **state)
{
    struct stand s = enqueue(*state, HF_TICKET_WRITE);
    struct hf_ticket reader;

    assert_downgraded(&s);
    reader = *call_find(s.call, s.id);
    assert_int_equal(seat_watch(s.seat, "q", &reader)->answer,
                     HF_EVENT_WATCHING);
    assert_true(seat_describe(s.seat, "q", &reader, "host=x asked=1")->found);
    assert_true(seat_sees_text(s.seat, "q", s.id, "host=x asked=1"));
    seat_close(s.seat);
}

#define WHERE_THERE_ARE_READERS(name)                                          \
    void name(void **state)                                                    \
    {                                                                          \
        if (has_readers(*state))                                               \
            story_##name(state);                                               \
    }
KINDS_TESTS(WHERE_THERE_ARE_READERS)
