/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/others.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/seat.h"

static uint64_t take_place(struct seat *seat, struct hf_ticket_id id,
                           enum hf_ticket_kind kind, const char *payload)
{
    struct call *call = seat_enqueue(seat, "q", id, kind, payload);

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_non_null(call_find(call, id));
    return call_find(call, id)->token;
}

static struct call *watch(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_WATCH, "q", id);

    assert_int_equal(call->answer, HF_EVENT_WATCHING);
    return call;
}

/* ---------------------------------------------------------------- lists -- */

void whole_lists_know_everything(void **state)
{
    static const char *const payloads[] = {"host=x pid=1", "",
                                           "gr\xc3\xbc\xc3\x9f dich"};
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id ids[3];
    uint64_t tokens[3];
    struct call *list;

    for (size_t i = 0; i < 3; i++) {
        ids[i] = fresh_id();
        tokens[i] =
            take_place(i == 1 ? b : a, ids[i], HF_TICKET_MUTEX, payloads[i]);
    }
    list = seat_look(b, "q");
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, 3);
    assert_int_equal(list->foreign, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_true(hf_ticket_id_equal(&list->tickets[i].id, &ids[i]));
        assert_int_equal(list->tickets[i].kind,
                         bench_shown(bench, HF_TICKET_MUTEX));
        assert_true(list->tickets[i].token == tokens[i]);
        assert_string_equal(list->tickets[i].payload, payloads[i]);
        assert_non_null(list->tickets[i].dialect);
        assert_true(list->tickets[i].dialect[0] != '\0');
    }
    seat_close(b);
    seat_close(a);
}

void whole_lists_of_nobody_are_empty(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();

    assert_int_equal(seat_look(a, "never")->answer, HF_EVENT_LISTED);
    assert_int_equal(seat_look(a, "never")->count, 0);
    (void)take_place(a, id, HF_TICKET_MUTEX, "");
    assert_true(seat_ask(a, HF_REQUEST_REMOVE, "q", id)->found);
    assert_int_equal(seat_look(a, "q")->count, 0);
    seat_close(a);
}

void whole_lists_have_no_dead(void **state)
{
    struct bench *bench = *state;
    struct hf_ticket_id dead = fresh_id();
    struct victim *victim = bench->victim_start(bench, "q", dead, 0);
    struct seat *b = seat_open(bench);
    struct call *list = seat_look(b, "q");
    struct call *gone;

    assert_int_equal(list->count, 1);
    assert_string_equal(list->tickets[0].payload, "victim");
    gone = seat_ask(b, HF_REQUEST_WATCH, "q", dead);
    bench->victim_kill(bench, victim);
    assert_true(seat_sees_gone(b, gone)); /* a session may have to end first */
    assert_int_equal(seat_look(b, "q")->count, 0);
    seat_close(b);
}

/* More than is asked for at once. */
void whole_lists_are_as_long_as_the_queue(void **state)
{
    struct bench *bench = *state;
    enum { MANY = 120 };
    struct seat *a = seat_open(bench);
    struct hf_ticket_id ids[MANY];
    uint64_t tokens[MANY];
    char payload[16];
    struct call *list;

    for (size_t i = 0; i < MANY; i++) {
        ids[i] = fresh_id();
        (void)snprintf(payload, sizeof payload, "%zu", i);
        tokens[i] = take_place(a, ids[i], HF_TICKET_MUTEX, payload);
    }
    list = seat_look(a, "q");
    assert_int_equal(list->count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(payload, sizeof payload, "%zu", i);
        assert_true(hf_ticket_id_equal(&list->tickets[i].id, &ids[i]));
        assert_true(list->tickets[i].token == tokens[i]);
        assert_string_equal(list->tickets[i].payload, payload);
    }
    seat_close(a);
}

/* ------------------------------------------------------------- eviction -- */

static struct call *evict(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_REMOVE, "q", id);

    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    return call;
}

/* The holder hears, and so does who waits behind it. */
void holders_can_be_evicted(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct seat *c = seat_open(bench);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();
    struct call *own, *before;

    (void)take_place(a, held, HF_TICKET_MUTEX, "");
    own = watch(a, held);
    (void)take_place(b, waits, HF_TICKET_MUTEX, "");
    before = watch(b, held);
    (void)watch(b, waits);
    assert_true(evict(c, held)->found);
    assert_true(seat_sees_gone(b, before));
    assert_true(seat_sees_gone(a, own));
    assert_int_equal(seat_look(b, "q")->count, 1);
    assert_false(evict(a, held)->found);
    seat_close(c);
    seat_close(b);
    seat_close(a);
}

void waiters_can_be_evicted(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();
    struct hf_ticket_id last = fresh_id();
    struct call *before, *own;

    (void)take_place(a, held, HF_TICKET_MUTEX, "");
    (void)take_place(b, waits, HF_TICKET_MUTEX, "");
    (void)take_place(a, last, HF_TICKET_MUTEX, "");
    own = watch(b, waits);
    before = watch(a, waits);
    assert_true(evict(a, waits)->found);
    assert_true(seat_sees_gone(a, before));
    assert_true(seat_sees_gone(b, own));
    assert_int_equal(seat_look(b, "q")->count, 2);
    seat_close(b);
    seat_close(a);
}

void what_is_gone_cannot_be_evicted(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();

    assert_false(evict(b, id)->found);
    (void)take_place(a, id, HF_TICKET_MUTEX, "");
    assert_true(evict(b, id)->found);
    assert_false(evict(b, id)->found);
    seat_close(b);
    seat_close(a);
}

/* ----------------------------------------------------------- revocation -- */

static struct call *ask(struct seat *seat, struct hf_ticket_id id)
{
    struct call *call = seat_insist(seat, HF_REQUEST_REVOKE, "q", id);

    assert_int_equal(call->answer, HF_EVENT_REVOKE_SENT);
    return call;
}

/* Each time, and the watch goes on. */
void owners_hear_that_they_are_asked(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *own;

    (void)take_place(a, id, HF_TICKET_MUTEX, "");
    own = watch(a, id);
    seat_settle(a);
    assert_int_equal(own->revoked, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(ask(b, id)->found);
        assert_true(seat_sees_revoked(a, own, i));
        seat_settle(a);
        assert_int_equal(own->revoked, i + 1);
    }
    assert_int_equal(own->gone, 0);
    assert_true(evict(b, id)->found);
    assert_true(seat_sees_gone(a, own));
    seat_close(b);
    seat_close(a);
}

/* Before they watched their ticket. */
void owners_hear_that_they_were_asked(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();

    (void)take_place(a, held, HF_TICKET_MUTEX, "");
    (void)take_place(a, waits, HF_TICKET_MUTEX, "");
    (void)watch(a, held); /* also of the one before, of the same client */
    assert_true(ask(b, held)->found);
    assert_true(seat_sees_revoked(a, watch(a, held), 0));
    assert_true(ask(b, waits)->found);
    assert_true(seat_sees_revoked(a, watch(a, waits), 0));
    seat_close(b);
    seat_close(a);
}

void nobody_asks_what_is_gone(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();

    assert_false(ask(b, id)->found);
    (void)take_place(a, id, HF_TICKET_MUTEX, "");
    assert_true(evict(a, id)->found);
    assert_false(ask(b, id)->found);
    seat_close(b);
    seat_close(a);
}

void one_may_ask_oneself(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *own;

    (void)take_place(a, id, HF_TICKET_MUTEX, "");
    own = watch(a, id);
    assert_true(ask(a, id)->found);
    assert_true(seat_sees_revoked(a, own, 0));
    seat_close(a);
}

/* ---------------------------------------------------------- description -- */

/* A request that comes after it is heard as the one before was; it itself is
 * none. */
void owners_write_their_texts_again(void **state)
{
    static const char *const said[] = {"host=x asked=1", "host=x asked=2"};
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket before;
    struct call *own;

    (void)take_place(a, id, HF_TICKET_MUTEX, "host=x");
    before = *call_find(seat_look(b, "q"), id);
    own = watch(a, id);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(ask(b, id)->found);
        assert_true(seat_sees_revoked(a, own, i));
        assert_true(seat_describe(a, "q", &before, said[i])->found);
        assert_true(seat_sees_text(b, "q", id, said[i]));
        seat_settle(a);
        assert_int_equal(own->revoked, i + 1);
    }
    assert_int_equal(own->gone, 0);
    assert_true(call_find(seat_look(b, "q"), id)->token == before.token);
    assert_true(call_find(seat_look(b, "q"), id)->sequence == before.sequence);
    seat_close(b);
    seat_close(a);
}

void texts_of_waiters_are_written_again(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id held = fresh_id();
    struct hf_ticket_id waits = fresh_id();
    struct hf_ticket ticket;
    struct call *own;

    (void)take_place(a, held, HF_TICKET_MUTEX, "first");
    (void)take_place(b, waits, HF_TICKET_MUTEX, "second");
    ticket = *call_find(seat_look(b, "q"), waits);
    own = watch(b, waits);
    assert_true(ask(a, waits)->found);
    assert_true(seat_sees_revoked(b, own, 0));
    assert_true(seat_describe(b, "q", &ticket, "second asked=1")->found);
    assert_true(seat_sees_text(a, "q", waits, "second asked=1"));
    assert_true(seat_sees_text(a, "q", held, "first"));
    assert_int_equal(own->gone, 0);
    seat_close(b);
    seat_close(a);
}

void nothing_is_said_of_what_is_gone(void **state)
{
    struct bench *bench = *state;
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket ticket;
    struct call *own;

    (void)take_place(a, id, HF_TICKET_MUTEX, "host=x");
    ticket = *call_find(seat_look(a, "q"), id);
    own = watch(a, id);
    assert_true(evict(b, id)->found);
    assert_true(seat_sees_gone(a, own));
    assert_false(seat_describe(a, "q", &ticket, "host=x asked=1")->found);
    assert_int_equal(seat_look(b, "q")->count, 0);
    seat_close(b);
    seat_close(a);
}
