/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine contract (core/engine.h), as tests that know no engine.  They are
 * run unchanged on every one; an engine is done when all pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/kinds.h"
#include "conformance/others.h"
#include "conformance/suite.h"
#include "core/admission.h"

/* So often is a list asked for again, each of which gives the servers that are
 * behind some time. */
#define LINGERS 64

struct bench *bench;

int suite_begin(void **state)
{
    *state = bench;
    bench->begin(bench);
    return 0;
}

int suite_finish(void **state)
{
    (void)state;
    bench->finish(bench);
    return 0;
}

enum hf_ticket_kind bench_shown(const struct bench *of,
                                enum hf_ticket_kind kind)
{
    return of->shown == NULL ? kind : of->shown[kind];
}

struct call *take_place(struct seat *seat, const char *queue,
                        struct hf_ticket_id id)
{
    struct call *call = seat_enqueue(seat, queue, id, HF_TICKET_MUTEX, "");

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    return call;
}

uint64_t token_of(const struct call *call, struct hf_ticket_id id)
{
    const struct hf_ticket *ticket = call_find(call, id);

    assert_non_null(ticket);
    return ticket->token;
}

void leave_place(struct seat *seat, const char *queue, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, HF_REQUEST_REMOVE, queue, id);

    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_true(call->found);
}

struct call *shows(struct seat *seat, enum hf_request_kind kind,
                   const char *queue, size_t count)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *list = seat_ask(seat, kind, queue, nobody);

    for (unsigned i = 0; i < LINGERS && list->count > count; i++) {
        assert_true(bench->tickets_linger);
        assert_int_equal(list->answer, HF_EVENT_LISTED);
        list = seat_ask(seat, kind, queue, nobody);
    }
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, count);
    return list;
}

void expect_length(struct seat *seat, const char *queue, size_t count)
{
    struct call *list = seat_look(seat, queue);

    for (unsigned i = 0; i < LINGERS && list->count > count; i++) {
        assert_true(bench->tickets_linger);
        list = seat_look(seat, queue);
    }
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, count);
}

/* ----------------------------------------------------------- one's place -- */

static void enqueue_answers_with_own_ticket(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *call = take_place(a, "q", id);

    (void)state;
    assert_int_equal(call->count, 1);
    assert_true(hf_ticket_id_equal(&call->tickets[0].id, &id));
    assert_int_equal(call->tickets[0].kind,
                     bench_shown(bench, HF_TICKET_MUTEX));
    assert_string_equal(call->tickets[0].payload, "");
    seat_close(a);
}

static void enqueue_is_idempotent_by_id(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    uint64_t token = token_of(take_place(a, "q", id), id);
    struct call *again = take_place(a, "q", id);

    (void)state;
    assert_int_equal(again->count, 1);
    assert_true(token_of(again, id) == token);
    expect_length(a, "q", 1);
    leave_place(a, "q", id);
    expect_length(a, "q", 0);
    seat_close(a);
}

static void two_clients_stand_in_order(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id first = fresh_id();
    struct hf_ticket_id second = fresh_id();
    struct call *call;

    (void)state;
    (void)take_place(a, "q", first);
    call = take_place(b, "q", second);
    assert_int_equal(call->count, 2);
    assert_true(hf_ticket_id_equal(&call->tickets[0].id, &first));
    assert_true(hf_ticket_id_equal(&call->tickets[1].id, &second));
    assert_true(call->tickets[0].token < call->tickets[1].token);
    assert_true(call->tickets[0].sequence <= call->tickets[1].sequence);
    seat_close(b);
    seat_close(a);
}

/* Across clients, emptied queues and clients opened anew. */
static void fn21_tokens_rise_for_ever(void **state)
{
    uint64_t last = 0;

    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        struct seat *a = seat_open(bench);
        struct seat *b = seat_open(bench);

        for (unsigned i = 0; i < 6; i++) {
            struct seat *seat = i % 2 == 0 ? a : b;
            struct hf_ticket_id id = fresh_id();
            uint64_t token = token_of(take_place(seat, "q", id), id);

            assert_true(token > last);
            last = token;
            leave_place(seat, "q", id);
        }
        seat_close(b);
        seat_close(a);
    }
}

static void list_sees_own_writes(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();

    (void)state;
    expect_length(a, "q", 0);
    (void)take_place(a, "q", id);
    expect_length(a, "q", 1);
    leave_place(a, "q", id);
    expect_length(a, "q", 0);
    seat_close(a);
}

/* Or refused in so many words. */
static void kinds_are_kept(void **state)
{
    static const enum hf_ticket_kind kinds[] = {HF_TICKET_WRITE, HF_TICKET_READ,
                                                HF_TICKET_READ, HF_TICKET_WRITE,
                                                HF_TICKET_ELECTION};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    enum hf_ticket_kind shown[KINDS];
    size_t count = 0;
    struct call *call;

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        call = seat_enqueue(a, "q", fresh_id(), kinds[i], "");
        if (bench_shown(bench, kinds[i]) != 0) {
            assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
            shown[count++] = bench_shown(bench, kinds[i]);
            continue;
        }
        assert_int_equal(call->answer, HF_EVENT_FAILED);
        assert_int_equal(call->failure, HF_FAILURE_FATAL);
        assert_int_equal(call->status, HF_EUNSUPPORTED);
    }
    call = seat_look(b, "q");
    assert_int_equal(call->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(call->tickets[i].kind, shown[i]);
    seat_close(b);
    seat_close(a);
}

static void a_hundred_tickets_stand_in_order(void **state)
{
    struct seat *seats[4];
    struct hf_ticket_id ids[100];
    struct call *list;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        seats[i] = seat_open(bench);
    for (size_t i = 0; i < 100; i++) {
        ids[i] = fresh_id();
        (void)take_place(seats[i % 4], "q", ids[i]);
    }
    list = seat_look(seats[0], "q");
    assert_int_equal(list->count, 100);
    for (size_t i = 0; i < 100; i++)
        assert_true(hf_ticket_id_equal(&list->tickets[i].id, &ids[i]));
    for (size_t i = 0; i < 4; i++)
        seat_close(seats[i]);
}

/* ---------------------------------------------------------- what is kept -- */

static void payloads_come_back(void **state)
{
    static char longest[HF_PAYLOAD_BYTES];
    const char *payloads[] = {"host=x pid=1 command=true", "",
                              "gr\xc3\xbc\xc3\x9f dich \xf0\x9f\xa6\x84",
                              "a/b\\c\n%41\t'\"", longest};
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    const char *queues[] = {"q/0", "q/1", "q/2", "q/3", "q/4"};
    struct hf_ticket_id nobody = {{0}};
    struct call *list;

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    for (size_t i = 0; i < 5; i++) {
        struct call *call = seat_enqueue(a, queues[i], fresh_id(),
                                         HF_TICKET_MUTEX, payloads[i]);

        assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
        list = seat_ask(b, HF_REQUEST_LIST, queues[i], nobody);
        assert_int_equal(list->count, 1);
        assert_string_equal(list->tickets[0].payload, payloads[i]);
    }
    seat_close(b);
    seat_close(a);
}

/* Each name is a queue of its own, whatever an engine makes of it. */
static void odd_names_do_not_collide(void **state)
{
    static char longest[HF_NAME_BYTES + 1];
    static char cousin[HF_NAME_BYTES + 1];
    static char two_hundred[201], and_one[202];
    const char *names[] = {
        "a",         "A",     "a/b",      "a%2Fb",     "a.b",   "a%2Eb",
        "a..b",      "a b",   "%",        "%25",       "~",     "a~b",
        "-",         "_",     "\xc3\xa9", "e\xcc\x81", longest, cousin,
        "x.",        ".x",    "{a}",      "name",      ".new",  "a/b/c",
        two_hundred, and_one, "q*?[",     "a:b;c'd\"e"};
    const size_t count = sizeof(names) / sizeof(names[0]);
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id ids[64];

    (void)state;
    for (size_t i = 0; i < HF_NAME_BYTES; i++)
        longest[i] = cousin[i] = i % 250 == 249 ? '/' : 'n';
    cousin[HF_NAME_BYTES - 1] = 'o';
    memset(two_hundred, 't', 200);
    memset(and_one, 't', 201);
    for (size_t i = 0; i < count; i++) {
        ids[i] = fresh_id();
        assert_int_equal(take_place(a, names[i], ids[i])->count, 1);
    }
    for (size_t i = 0; i < count; i++) {
        struct hf_ticket_id id = fresh_id();
        struct call *call = take_place(b, names[i], id);

        assert_int_equal(call->count, 2);
        assert_non_null(call_find(call, ids[i]));
    }
    seat_close(b);
    seat_close(a);
}

/* --------------------------------------------------------------- watches -- */

static void a_withdrawal_is_told_once(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *watch;

    (void)state;
    (void)take_place(a, "q", id);
    watch = seat_ask(b, HF_REQUEST_WATCH, "q", id);
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    seat_settle(b);
    assert_int_equal(watch->gone, 0);
    leave_place(a, "q", id);
    assert_true(seat_sees_gone(b, watch));
    seat_settle(b);
    assert_int_equal(watch->gone, 1);
    expect_length(b, "q", 0);
    seat_close(b);
    seat_close(a);
}

static void a_death_is_told_once(void **state)
{
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = bench->victim_start(bench, "q", id, 0);
    struct seat *b = seat_open(bench);
    struct call *watch = seat_ask(b, HF_REQUEST_WATCH, "q", id);

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    expect_length(b, "q", 1);
    bench->victim_kill(bench, victim);
    assert_true(seat_sees_gone(b, watch));
    expect_length(b, "q", 0);
    seat_settle(b);
    assert_int_equal(watch->gone, 1);
    seat_close(b);
}

/* The ticket of a client that died before anybody looked is gone as well. */
static void fn40_a_death_before_the_watch_is_told(void **state)
{
    struct hf_ticket_id dead = fresh_id();
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = bench->victim_start(bench, "q", dead, 0);
    struct seat *b;
    struct call *call;

    (void)state;
    bench->victim_kill(bench, victim);
    b = seat_open(bench);
    call = take_place(b, "q", id);
    if (call_find(call, dead) != NULL)
        assert_true(
            seat_sees_gone(b, seat_ask(b, HF_REQUEST_WATCH, "q", dead)));
    expect_length(b, "q", 1);
    seat_close(b);
}

static void a_missing_ticket_is_gone(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();

    (void)state;
    assert_int_equal(seat_ask(a, HF_REQUEST_WATCH, "empty", id)->answer,
                     HF_EVENT_GONE);
    (void)take_place(a, "q", fresh_id());
    assert_int_equal(seat_ask(a, HF_REQUEST_WATCH, "q", id)->answer,
                     HF_EVENT_GONE);
    seat_close(a);
}

static void several_may_watch_one(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *watches[3];

    (void)state;
    (void)take_place(a, "q", id);
    watches[0] = seat_ask(b, HF_REQUEST_WATCH, "q", id);
    watches[1] = seat_ask(b, HF_REQUEST_WATCH, "q", id);
    watches[2] = seat_ask(a, HF_REQUEST_WATCH, "q", id);
    seat_forget(b, watches[0]);
    leave_place(a, "q", id);
    assert_true(seat_sees_gone(b, watches[1]));
    assert_true(seat_sees_gone(a, watches[2]));
    assert_int_equal(watches[0]->gone, 0);
    seat_close(b);
    seat_close(a);
}

static void a_forgotten_watch_is_silent(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *watch, *early, *witness;

    (void)state;
    (void)take_place(a, "q", id);
    watch = seat_ask(b, HF_REQUEST_WATCH, "q", id);
    seat_forget(b, watch);
    early = seat_ask_only(b, HF_REQUEST_WATCH, "q", id);
    seat_forget(b, early);
    witness = seat_ask(b, HF_REQUEST_WATCH, "q", id);
    leave_place(a, "q", id);
    assert_true(seat_sees_gone(b, witness));
    seat_settle(b);
    assert_int_equal(watch->gone, 0);
    assert_int_equal(early->gone, 0);
    seat_close(b);
    seat_close(a);
}

static void removal_by_force_is_told(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *call = take_place(a, "q", id);
    struct call *watch = seat_ask(a, HF_REQUEST_WATCH, "q", id);

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    seat_settle(a);
    assert_int_equal(watch->gone, 0);
    bench->evict(bench, "q", call_find(call, id));
    assert_true(seat_sees_gone(a, watch));
    call = seat_ask(a, HF_REQUEST_REMOVE, "q", id);
    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_false(call->found);
    seat_settle(a);
    assert_int_equal(watch->gone, 1);
    seat_close(a);
}

/* Also when nobody was watching at the time. */
static void an_own_ticket_that_is_gone_is_gone(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *call = take_place(a, "q", id);

    (void)state;
    bench->evict(bench, "q", call_find(call, id));
    assert_true(seat_sees_gone(a, seat_ask(a, HF_REQUEST_WATCH, "q", id)));
    expect_length(a, "q", 0);
    seat_close(a);
}

/* --------------------------------------------------------------- leaving -- */

static void withdrawing_what_is_gone_finds_nothing(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *call;

    (void)state;
    (void)take_place(a, "q", id);
    leave_place(a, "q", id);
    call = seat_ask(a, HF_REQUEST_REMOVE, "q", id);
    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_false(call->found);
    call = seat_ask(a, HF_REQUEST_REMOVE, "never", fresh_id());
    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    assert_false(call->found);
    seat_close(a);
}

/* An answer to who waits shows at least what the rule of the core needs of the
 * queue, and hides no ticket without counting it. */
static void expect_near(const struct call *call, struct call *whole,
                        struct hf_ticket_id id, enum hf_ticket_kind kind)
{
    struct hf_snapshot queue = {whole->tickets, whole->count, 0};
    struct hf_snapshot shown = {call->tickets, call->count, call->more};
    size_t ahead = hf_snapshot_find(&queue, &id);

    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_true(ahead < whole->count);
    assert_true(hf_snapshot_find(&shown, &id) + shown.more_ahead >= ahead);
    hf_admission_trim(&queue, whole->tickets, &id, kind);
    for (size_t i = 0; i < queue.count; i++)
        assert_non_null(call_find(call, queue.tickets[i].id));
    if (call->more > 0)
        assert_true(call->count < ahead + 1);
}

static void who_waits_sees_who_is_near(void **state)
{
    static const enum hf_ticket_kind kinds[] = {
        HF_TICKET_READ,  HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_READ,
        HF_TICKET_READ,  HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_WRITE,
        HF_TICKET_WRITE, HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_READ};
    static const size_t leavers[] = {0, 7, 4, 2};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    struct seat *a = seat_open(bench);
    struct hf_ticket_id ids[KINDS];
    bool gone[KINDS] = {false};
    struct call *call;

    (void)state;
    if (bench_shown(bench, HF_TICKET_READ) == 0) {
        seat_close(a);
        return;
    }
    for (size_t i = 0; i < KINDS; i++) {
        ids[i] = fresh_id();
        call = seat_enqueue(a, "q", ids[i], kinds[i], "");
        expect_near(call, seat_look(a, "q"), ids[i], kinds[i]);
    }
    for (size_t k = 0; k < sizeof leavers / sizeof leavers[0]; k++) {
        leave_place(a, "q", ids[leavers[k]]);
        gone[leavers[k]] = true;
        expect_length(a, "q", KINDS - k - 1);
        for (size_t i = 0; i < KINDS; i++) {
            if (gone[i])
                continue;
            call = seat_enqueue(a, "q", ids[i], kinds[i], "");
            expect_near(call, seat_look(a, "q"), ids[i], kinds[i]);
        }
    }
    seat_close(a);
}

static void leaving_from_the_middle_keeps_the_order(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id ids[3] = {fresh_id(), fresh_id(), fresh_id()};
    struct call *list;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        (void)take_place(a, "q", ids[i]);
    leave_place(a, "q", ids[1]);
    list = seat_look(a, "q");
    assert_int_equal(list->count, 2);
    assert_true(hf_ticket_id_equal(&list->tickets[0].id, &ids[0]));
    assert_true(hf_ticket_id_equal(&list->tickets[1].id, &ids[2]));
    seat_close(a);
}

static void the_end_takes_all_tickets(void **state)
{
    static const char *const queues[] = {"q", "r", "s"};
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct call *watches[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct hf_ticket_id id = fresh_id();

        (void)take_place(a, queues[i], id);
        watches[i] = seat_ask(b, HF_REQUEST_WATCH, queues[i], id);
        assert_int_equal(watches[i]->answer, HF_EVENT_WATCHING);
        (void)seat_ask(a, HF_REQUEST_WATCH, queues[i], id);
    }
    seat_close(a);
    for (size_t i = 0; i < 3; i++) {
        assert_true(seat_sees_gone(b, watches[i]));
        expect_length(b, queues[i], 0);
    }
    seat_close(b);
}

static void a_session_can_be_proven(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id nobody = {{0}};
    struct call *prove;

    (void)state;
    (void)take_place(a, "q", fresh_id());
    prove = seat_ask(a, HF_REQUEST_PROVE, NULL, nobody);
    /* Right after another request the answer may prove nothing, and says so. */
    assert_true(prove->answer == HF_EVENT_PROVEN ||
                prove->answer == HF_EVENT_FAILED);
    seat_close(a);
}

#define STORY_IN_LIST(name) STORY(name),

int suite_run(struct bench *of)
{
    const struct CMUnitTest tests[] = {
        STORY(enqueue_answers_with_own_ticket),
        STORY(enqueue_is_idempotent_by_id),
        STORY(two_clients_stand_in_order),
        STORY(fn21_tokens_rise_for_ever),
        STORY(list_sees_own_writes),
        STORY(kinds_are_kept),
        STORY(a_hundred_tickets_stand_in_order),
        STORY(payloads_come_back),
        STORY(odd_names_do_not_collide),
        STORY(a_withdrawal_is_told_once),
        STORY(a_death_is_told_once),
        STORY(fn40_a_death_before_the_watch_is_told),
        STORY(a_missing_ticket_is_gone),
        STORY(several_may_watch_one),
        STORY(a_forgotten_watch_is_silent),
        STORY(removal_by_force_is_told),
        STORY(an_own_ticket_that_is_gone_is_gone),
        STORY(withdrawing_what_is_gone_finds_nothing),
        STORY(who_waits_sees_who_is_near),
        STORY(leaving_from_the_middle_keeps_the_order),
        STORY(the_end_takes_all_tickets),
        STORY(a_session_can_be_proven),
        KINDS_TESTS(STORY_IN_LIST) OTHERS_TESTS(STORY_IN_LIST)};

    bench = of;
    return cmocka_run_group_tests_name(of->name, tests, NULL, NULL) +
           suite_run_semaphores(of->name) +
           (of->has_no_barriers ? 0 : suite_run_barriers(of->name)) +
           suite_run_members(of->name);
}
