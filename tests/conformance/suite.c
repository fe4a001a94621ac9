/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: the contract of core/engine.h as tests that know no
 * engine.  The same tests run on every engine, and an engine is complete when
 * all pass.  This file has queues and watches of tickets; the other suite_*.c
 * and kinds.c have the rest.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"
#include "conformance/kinds.h"
#include "conformance/suite.h"
#include "conformance/suite_admin.h"
#include "core/admission.h"

/* How often a list is asked for again.  Each one gives servers that are
 * behind some time. */
#define LINGERS 64

struct conformance_fixture *fixture;

int suite_begin(void **state)
{
    *state = fixture;
    fixture->begin(fixture);
    return 0;
}

int suite_finish(void **state)
{
    (void)state;
    fixture->finish(fixture);
    return 0;
}

enum hf_ticket_kind conformance_shown(const struct conformance_fixture *of,
                                      enum hf_ticket_kind kind)
{
    return of->shown == NULL ? kind : of->shown[kind];
}

struct client_request *enqueue_mutex(struct engine_client *client,
                                     const char *queue, struct hf_ticket_id id)
{
    struct client_request *request =
        client_enqueue(client, queue, id, HF_TICKET_MUTEX, "");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    return request;
}

uint64_t token_of(const struct client_request *request, struct hf_ticket_id id)
{
    const struct hf_ticket *ticket = client_request_find(request, id);

    assert_non_null(ticket);
    return ticket->token;
}

void remove_mutex(struct engine_client *client, const char *queue,
                  struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_REMOVE, queue, id);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_true(request->found);
}

struct client_request *list_showing(struct engine_client *client,
                                    enum hf_request_kind kind,
                                    const char *queue, size_t count)
{
    struct hf_ticket_id nobody = {{0}};
    struct client_request *list = client_ask(client, kind, queue, nobody);

    for (unsigned i = 0; i < LINGERS && list->count > count; i++) {
        assert_true(fixture->tickets_linger);
        assert_int_equal(list->answer, HF_EVENT_LISTED);
        list = client_ask(client, kind, queue, nobody);
    }
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, count);
    return list;
}

void expect_length(struct engine_client *client, const char *queue,
                   size_t count)
{
    struct client_request *list = client_detailed_list(client, queue);

    for (unsigned i = 0; i < LINGERS && list->count > count; i++) {
        assert_true(fixture->tickets_linger);
        list = client_detailed_list(client, queue);
    }
    assert_int_equal(list->answer, HF_EVENT_LISTED);
    assert_int_equal(list->count, count);
}

/* ----------------------------------------------------------- one's place -- */

static void enqueue_answers_with_own_ticket(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = enqueue_mutex(a, "q", id);

    (void)state;
    assert_int_equal(request->count, 1);
    assert_true(hf_ticket_id_equal(&request->tickets[0].id, &id));
    assert_int_equal(request->tickets[0].kind,
                     conformance_shown(fixture, HF_TICKET_MUTEX));
    assert_string_equal(request->tickets[0].payload, "");
}

static void enqueue_is_idempotent_by_id(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    uint64_t token = token_of(enqueue_mutex(a, "q", id), id);
    struct client_request *again = enqueue_mutex(a, "q", id);

    (void)state;
    assert_int_equal(again->count, 1);
    assert_true(token_of(again, id) == token);
    expect_length(a, "q", 1);
    remove_mutex(a, "q", id);
    expect_length(a, "q", 0);
}

static void two_clients_stand_in_order(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id first = fresh_id();
    struct hf_ticket_id second = fresh_id();
    struct client_request *request;

    (void)state;
    (void)enqueue_mutex(a, "q", first);
    request = enqueue_mutex(b, "q", second);
    assert_int_equal(request->count, 2);
    assert_true(hf_ticket_id_equal(&request->tickets[0].id, &first));
    assert_true(hf_ticket_id_equal(&request->tickets[1].id, &second));
    assert_true(request->tickets[0].token < request->tickets[1].token);
    assert_true(request->tickets[0].sequence <= request->tickets[1].sequence);
}

/* Across clients, also after the queue was empty. */
static void fn21_tokens_rise_for_ever(void **state)
{
    uint64_t last = 0;

    (void)state;
    for (unsigned iteration = 0; iteration < 5; iteration++) {
        struct engine_client *a = client_open(fixture);
        struct engine_client *b = client_open(fixture);

        for (unsigned i = 0; i < 6; i++) {
            struct engine_client *client = i % 2 == 0 ? a : b;
            struct hf_ticket_id id = fresh_id();
            uint64_t token = token_of(enqueue_mutex(client, "q", id), id);

            assert_true(token > last);
            last = token;
            remove_mutex(client, "q", id);
        }
        client_close(b);
        client_close(a);
    }
}

static void list_sees_own_writes(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();

    (void)state;
    expect_length(a, "q", 0);
    (void)enqueue_mutex(a, "q", id);
    expect_length(a, "q", 1);
    remove_mutex(a, "q", id);
    expect_length(a, "q", 0);
}

/* An engine may refuse a kind that it does not have, with a text. */
static void kinds_are_kept(void **state)
{
    static const enum hf_ticket_kind kinds[] = {HF_TICKET_WRITE, HF_TICKET_READ,
                                                HF_TICKET_READ, HF_TICKET_WRITE,
                                                HF_TICKET_ELECTION};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    enum hf_ticket_kind shown[KINDS];
    size_t count = 0;
    struct client_request *request;

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        request = client_enqueue(a, "q", fresh_id(), kinds[i], "");
        if (conformance_shown(fixture, kinds[i]) != 0) {
            assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
            shown[count++] = conformance_shown(fixture, kinds[i]);
            continue;
        }
        assert_int_equal(request->answer, HF_EVENT_FAILED);
        assert_int_equal(request->failure, HF_FAILURE_FATAL);
        assert_int_equal(request->status, HF_EUNSUPPORTED);
    }
    request = client_detailed_list(b, "q");
    assert_int_equal(request->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(request->tickets[i].kind, shown[i]);
}

static void a_hundred_tickets_stand_in_order(void **state)
{
    struct engine_client *clients[4];
    struct hf_ticket_id ids[100];
    struct client_request *list;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        clients[i] = client_open(fixture);
    for (size_t i = 0; i < 100; i++) {
        ids[i] = fresh_id();
        (void)enqueue_mutex(clients[i % 4], "q", ids[i]);
    }
    list = client_detailed_list(clients[0], "q");
    assert_int_equal(list->count, 100);
    for (size_t i = 0; i < 100; i++)
        assert_true(hf_ticket_id_equal(&list->tickets[i].id, &ids[i]));
    for (size_t i = 0; i < 4; i++)
        client_close(clients[i]);
}

/* ---------------------------------------------------------- what is kept -- */

static void payloads_come_back(void **state)
{
    static char longest[HF_PAYLOAD_BYTES];
    const char *payloads[] = {"host=x pid=1 command=true", "",
                              "gr\xc3\xbc\xc3\x9f dich \xf0\x9f\xa6\x84",
                              "a/b\\c\n%41\t'\"", longest};
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    const char *queues[] = {"q/0", "q/1", "q/2", "q/3", "q/4"};
    struct hf_ticket_id nobody = {{0}};
    struct client_request *list;

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    for (size_t i = 0; i < 5; i++) {
        struct client_request *request = client_enqueue(
            a, queues[i], fresh_id(), HF_TICKET_MUTEX, payloads[i]);

        assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
        list = client_ask(b, HF_REQUEST_LIST, queues[i], nobody);
        assert_int_equal(list->count, 1);
        assert_string_equal(list->tickets[0].payload, payloads[i]);
    }
}

/* Each name is a queue of its own, whatever path or key an engine makes of
 * it. */
static void odd_names_do_not_collide(void **state)
{
    static char longest[HF_NAME_BYTES + 1];
    static char almost_longest[HF_NAME_BYTES + 1];
    static char two_hundred[201], and_one[202];
    const char *names[] = {
        "a",         "A",     "a/b",      "a%2Fb",     "a.b",   "a%2Eb",
        "a..b",      "a b",   "%",        "%25",       "~",     "a~b",
        "-",         "_",     "\xc3\xa9", "e\xcc\x81", longest, almost_longest,
        "x.",        ".x",    "{a}",      "name",      ".new",  "a/b/c",
        two_hundred, and_one, "q*?[",     "a:b;c'd\"e"};
    const size_t count = sizeof(names) / sizeof(names[0]);
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id ids[64];

    (void)state;
    for (size_t i = 0; i < HF_NAME_BYTES; i++)
        longest[i] = almost_longest[i] = i % 250 == 249 ? '/' : 'n';
    almost_longest[HF_NAME_BYTES - 1] = 'o';
    memset(two_hundred, 't', 200);
    memset(and_one, 't', 201);
    for (size_t i = 0; i < count; i++) {
        ids[i] = fresh_id();
        assert_int_equal(enqueue_mutex(a, names[i], ids[i])->count, 1);
    }
    for (size_t i = 0; i < count; i++) {
        struct hf_ticket_id id = fresh_id();
        struct client_request *request = enqueue_mutex(b, names[i], id);

        assert_int_equal(request->count, 2);
        assert_non_null(client_request_find(request, ids[i]));
    }
}

/* --------------------------------------------------------------- watches -- */

static void a_removal_is_reported_once(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *watch;

    (void)state;
    (void)enqueue_mutex(a, "q", id);
    watch = client_ask(b, HF_REQUEST_WATCH, "q", id);
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    client_drain(b);
    assert_int_equal(watch->gone, 0);
    remove_mutex(a, "q", id);
    assert_true(client_wait_gone(b, watch));
    client_drain(b);
    assert_int_equal(watch->gone, 1);
    expect_length(b, "q", 0);
}

static void a_death_is_reported_once(void **state)
{
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = fixture->victim_start(fixture, "q", id, 0);
    OPEN_CLIENT(b, fixture);
    struct client_request *watch = client_ask(b, HF_REQUEST_WATCH, "q", id);

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    expect_length(b, "q", 1);
    fixture->victim_kill(fixture, victim);
    assert_true(client_wait_gone(b, watch));
    expect_length(b, "q", 0);
    client_drain(b);
    assert_int_equal(watch->gone, 1);
}

/* The ticket of a client that died before the watch was set is gone as well. */
static void fn40_a_death_before_the_watch_is_reported(void **state)
{
    struct hf_ticket_id dead = fresh_id();
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = fixture->victim_start(fixture, "q", dead, 0);
    struct engine_client *b;
    struct client_request *request;

    (void)state;
    fixture->victim_kill(fixture, victim);
    b = client_open(fixture);
    request = enqueue_mutex(b, "q", id);
    if (client_request_find(request, dead) != NULL)
        assert_true(
            client_wait_gone(b, client_ask(b, HF_REQUEST_WATCH, "q", dead)));
    expect_length(b, "q", 1);
    client_close(b);
}

static void a_missing_ticket_is_gone(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();

    (void)state;
    assert_int_equal(client_ask(a, HF_REQUEST_WATCH, "empty", id)->answer,
                     HF_EVENT_GONE);
    (void)enqueue_mutex(a, "q", fresh_id());
    assert_int_equal(client_ask(a, HF_REQUEST_WATCH, "q", id)->answer,
                     HF_EVENT_GONE);
}

static void several_may_watch_one(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *watches[3];

    (void)state;
    (void)enqueue_mutex(a, "q", id);
    watches[0] = client_ask(b, HF_REQUEST_WATCH, "q", id);
    watches[1] = client_ask(b, HF_REQUEST_WATCH, "q", id);
    watches[2] = client_ask(a, HF_REQUEST_WATCH, "q", id);
    client_forget(b, watches[0]);
    remove_mutex(a, "q", id);
    assert_true(client_wait_gone(b, watches[1]));
    assert_true(client_wait_gone(a, watches[2]));
    assert_int_equal(watches[0]->gone, 0);
}

static void a_forgotten_watch_is_silent(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *watch, *early, *observer;

    (void)state;
    (void)enqueue_mutex(a, "q", id);
    watch = client_ask(b, HF_REQUEST_WATCH, "q", id);
    client_forget(b, watch);
    early = client_start(b, HF_REQUEST_WATCH, "q", id);
    client_forget(b, early);
    observer = client_ask(b, HF_REQUEST_WATCH, "q", id);
    remove_mutex(a, "q", id);
    assert_true(client_wait_gone(b, observer));
    client_drain(b);
    assert_int_equal(watch->gone, 0);
    assert_int_equal(early->gone, 0);
}

static void removal_by_force_is_reported(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = enqueue_mutex(a, "q", id);
    struct client_request *watch = client_ask(a, HF_REQUEST_WATCH, "q", id);

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    client_drain(a);
    assert_int_equal(watch->gone, 0);
    fixture->evict(fixture, "q", client_request_find(request, id));
    assert_true(client_wait_gone(a, watch));
    request = client_ask(a, HF_REQUEST_REMOVE, "q", id);
    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_false(request->found);
    client_drain(a);
    assert_int_equal(watch->gone, 1);
}

/* Also when no client was watching at that time. */
static void an_own_ticket_that_is_gone_is_gone(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = enqueue_mutex(a, "q", id);

    (void)state;
    fixture->evict(fixture, "q", client_request_find(request, id));
    assert_true(client_wait_gone(a, client_ask(a, HF_REQUEST_WATCH, "q", id)));
    expect_length(a, "q", 0);
}

/* --------------------------------------------------------------- leaving -- */

static void removing_what_is_gone_finds_nothing(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request;

    (void)state;
    (void)enqueue_mutex(a, "q", id);
    remove_mutex(a, "q", id);
    request = client_ask(a, HF_REQUEST_REMOVE, "q", id);
    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_false(request->found);
    request = client_ask(a, HF_REQUEST_REMOVE, "never", fresh_id());
    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_false(request->found);
}

/* The answer to a waiter shows at least what the admission rule needs of the
 * queue, and counts every ticket that it hides. */
static void expect_near(const struct client_request *request,
                        struct client_request *whole, struct hf_ticket_id id,
                        enum hf_ticket_kind kind)
{
    struct hf_snapshot queue = {whole->tickets, whole->count, 0};
    struct hf_snapshot shown = {request->tickets, request->count,
                                request->more};
    size_t ahead = hf_snapshot_find(&queue, &id);

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_true(ahead < whole->count);
    assert_true(hf_snapshot_find(&shown, &id) + shown.more_ahead >= ahead);
    hf_admission_trim(&queue, whole->tickets, &id, kind);
    for (size_t i = 0; i < queue.count; i++)
        assert_non_null(client_request_find(request, queue.tickets[i].id));
    if (request->more > 0)
        assert_true(request->count < ahead + 1);
}

static void who_waits_sees_who_is_near(void **state)
{
    static const enum hf_ticket_kind kinds[] = {
        HF_TICKET_READ,  HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_READ,
        HF_TICKET_READ,  HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_WRITE,
        HF_TICKET_WRITE, HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_READ};
    static const size_t leavers[] = {0, 7, 4, 2};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    struct engine_client *a = client_open(fixture);
    struct hf_ticket_id ids[KINDS];
    bool gone[KINDS] = {false};
    struct client_request *request;

    (void)state;
    if (conformance_shown(fixture, HF_TICKET_READ) == 0) {
        client_close(a);
        return;
    }
    for (size_t i = 0; i < KINDS; i++) {
        ids[i] = fresh_id();
        request = client_enqueue(a, "q", ids[i], kinds[i], "");
        expect_near(request, client_detailed_list(a, "q"), ids[i], kinds[i]);
    }
    for (size_t k = 0; k < sizeof leavers / sizeof leavers[0]; k++) {
        remove_mutex(a, "q", ids[leavers[k]]);
        gone[leavers[k]] = true;
        expect_length(a, "q", KINDS - k - 1);
        for (size_t i = 0; i < KINDS; i++) {
            if (gone[i])
                continue;
            request = client_enqueue(a, "q", ids[i], kinds[i], "");
            expect_near(request, client_detailed_list(a, "q"), ids[i],
                        kinds[i]);
        }
    }
    client_close(a);
}

static void leaving_from_the_middle_keeps_the_order(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id ids[3] = {fresh_id(), fresh_id(), fresh_id()};
    struct client_request *list;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        (void)enqueue_mutex(a, "q", ids[i]);
    remove_mutex(a, "q", ids[1]);
    list = client_detailed_list(a, "q");
    assert_int_equal(list->count, 2);
    assert_true(hf_ticket_id_equal(&list->tickets[0].id, &ids[0]));
    assert_true(hf_ticket_id_equal(&list->tickets[1].id, &ids[2]));
}

static void the_end_takes_all_tickets(void **state)
{
    static const char *const queues[] = {"q", "r", "s"};
    struct engine_client *a = client_open(fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *watches[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct hf_ticket_id id = fresh_id();

        (void)enqueue_mutex(a, queues[i], id);
        watches[i] = client_ask(b, HF_REQUEST_WATCH, queues[i], id);
        assert_int_equal(watches[i]->answer, HF_EVENT_WATCHING);
        (void)client_ask(a, HF_REQUEST_WATCH, queues[i], id);
    }
    client_close(a);
    for (size_t i = 0; i < 3; i++) {
        assert_true(client_wait_gone(b, watches[i]));
        expect_length(b, queues[i], 0);
    }
}

static void a_session_can_be_proven(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id nobody = {{0}};
    struct client_request *prove;

    (void)state;
    (void)enqueue_mutex(a, "q", fresh_id());
    prove = client_ask(a, HF_REQUEST_PROVE, NULL, nobody);
    /* Right after another request the answer may prove nothing; it is FAILED
     * then. */
    assert_true(prove->answer == HF_EVENT_PROVEN ||
                prove->answer == HF_EVENT_FAILED);
}

#define TEST_IN_LIST(name) SUITE_TEST(name),

int suite_run(struct conformance_fixture *of)
{
    const struct CMUnitTest tests[] = {
        SUITE_TEST(enqueue_answers_with_own_ticket),
        SUITE_TEST(enqueue_is_idempotent_by_id),
        SUITE_TEST(two_clients_stand_in_order),
        SUITE_TEST(fn21_tokens_rise_for_ever),
        SUITE_TEST(list_sees_own_writes),
        SUITE_TEST(kinds_are_kept),
        SUITE_TEST(a_hundred_tickets_stand_in_order),
        SUITE_TEST(payloads_come_back),
        SUITE_TEST(odd_names_do_not_collide),
        SUITE_TEST(a_removal_is_reported_once),
        SUITE_TEST(a_death_is_reported_once),
        SUITE_TEST(fn40_a_death_before_the_watch_is_reported),
        SUITE_TEST(a_missing_ticket_is_gone),
        SUITE_TEST(several_may_watch_one),
        SUITE_TEST(a_forgotten_watch_is_silent),
        SUITE_TEST(removal_by_force_is_reported),
        SUITE_TEST(an_own_ticket_that_is_gone_is_gone),
        SUITE_TEST(removing_what_is_gone_finds_nothing),
        SUITE_TEST(who_waits_sees_who_is_near),
        SUITE_TEST(leaving_from_the_middle_keeps_the_order),
        SUITE_TEST(the_end_takes_all_tickets),
        SUITE_TEST(a_session_can_be_proven),
        KINDS_TESTS(TEST_IN_LIST) ADMIN_TESTS(TEST_IN_LIST)};

    fixture = of;
    return RUN_SUITE(of->name, tests) + suite_run_queue_watches(of->name) +
           suite_run_semaphores(of->name) +
           (of->has_no_barriers ? 0 : suite_run_barriers(of->name)) +
           suite_run_double_barriers(of->name) + suite_run_success(of->name);
}
