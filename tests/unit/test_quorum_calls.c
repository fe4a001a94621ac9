/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the quorum engine to its servers, one by one, and what it
 * makes of answers that come in any order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/quorum/quorum.h"
#include "tracked_heap.h"

#define SERVERS 3
#define CALLS_MAX 64
#define LONG_MS UINT64_C(1000000)
#define GRACE_IS_OVER_MS 400

static struct hf_quorum *quorum;
static uint64_t now_ms;
static struct {
    struct hf_store_call *call;
    size_t server;
} calls[CALLS_MAX];
static size_t call_count;
static unsigned disconnects;

/* What the user of the quorum was called with last. */
static struct {
    unsigned ups, downs, answers, notices;
    bool ok, found;
    enum hf_failure failure;
    hf_status status;
    size_t count;
    struct hf_ticket first;
    struct hf_store_lease lease;
} events;

/* If it is set, the next answer makes the user send this call, for which there
 * is no memory. */
static struct hf_store_call *call_without_memory;

/* ----------------------------------------------------------------- seams -- */

static void op_connect(void *servers, size_t server, const char *session)
{
    (void)servers;
    (void)server;
    assert_string_equal(session, "5e55");
}

static void op_disconnect(void *servers, size_t server)
{
    (void)servers;
    (void)server;
    disconnects++;
}

static void op_call(void *servers, size_t server, struct hf_store_call *call)
{
    (void)servers;
    assert_true(call_count < CALLS_MAX);
    calls[call_count].call = call;
    calls[call_count++].server = server;
}

static void on_up(void *arg, uint64_t server_ms, uint64_t at_ms)
{
    (void)arg;
    assert_int_equal(server_ms, at_ms);
    events.ups++;
}

static void on_down(void *arg, hf_status status, const char *why,
                    uint64_t at_ms)
{
    (void)arg;
    (void)at_ms;
    assert_true(why[0] != '\0');
    events.status = status;
    events.downs++;
}

static void on_answered(void *arg, struct hf_store_call *call,
                        const struct hf_store_answer *answer, uint64_t at_ms)
{
    (void)arg;
    (void)call;
    events.answers++;
    events.ok = answer->ok;
    events.found = answer->found;
    events.failure = answer->failure;
    events.status = answer->status;
    events.count = answer->count;
    if (answer->count > 0) {
        events.first = answer->tickets[0];
        events.lease = answer->leases[0];
    }
    if (call_without_memory != NULL) {
        tracked_heap_fail(true);
        hf_quorum_call(quorum, call_without_memory, at_ms);
        tracked_heap_fail(false);
        call_without_memory = NULL;
    }
}

static void on_notice(void *arg, const struct hf_store_notice *notice,
                      uint64_t at_ms)
{
    (void)arg;
    (void)notice;
    (void)at_ms;
    events.notices++;
}

static int begin(void **state)
{
    const struct hf_quorum_config config = {.servers = SERVERS,
                                            .clock_drift = 1,
                                            .ttl_ms = 10000,
                                            .rejoin_ms = 10000,
                                            .random = {{1, 2, 3, 4}}};
    const struct hf_quorum_ops ops = {op_connect, op_disconnect, op_call, NULL};
    const struct hf_quorum_listener listener = {on_up, on_down, on_answered,
                                                on_notice, NULL};

    (void)state;
    tracked_heap_install();
    memset(&events, 0, sizeof events);
    call_count = disconnects = 0;
    call_without_memory = NULL;
    now_ms = 1000;
    quorum = hf_quorum_new(&config, &ops, NULL, &listener);
    assert_non_null(quorum);
    hf_quorum_connect(quorum, "5e55", now_ms);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    if (events.downs == 0)
        hf_quorum_disconnect(quorum);
    hf_quorum_free(quorum);
    return 0;
}

static void all_up(void)
{
    for (size_t i = 0; i < SERVERS; i++)
        hf_quorum_server_up(quorum, i, 5000 * (i + 1), LONG_MS, now_ms);
    assert_int_equal(events.ups, 1);
}

/* --------------------------------------------------------------- answers -- */

static const struct hf_ticket_id mine = {{1}};
static const struct hf_ticket_id other = {{2}};

static struct hf_store_call a_call(enum hf_store_call_kind kind)
{
    return (struct hf_store_call){.kind = kind,
                                  .session = "5e55",
                                  .queue = "q",
                                  .ticket = mine,
                                  .ticket_kind = HF_TICKET_MUTEX,
                                  .weight = 1,
                                  .payload = "",
                                  .ttl_ms = 10000};
}

/* Take the oldest call that ${server} has not answered. */
static struct hf_store_call *take(size_t server)
{
    for (size_t i = 0; i < call_count; i++) {
        struct hf_store_call *call = calls[i].call;

        if (calls[i].server != server)
            continue;
        call_count--;
        memmove(&calls[i], &calls[i + 1], (call_count - i) * sizeof calls[0]);
        return call;
    }
    fail_msg("server %zu was asked nothing", server);
    return NULL;
}

/* A ticket of ${kind}; an id of zeros is none. */
static void answer_lease(size_t server, struct hf_ticket_id id, uint64_t number,
                         enum hf_ticket_kind kind,
                         const struct hf_store_lease *lease)
{
    const struct hf_ticket ticket = {
        .id = id, .sequence = number, .kind = kind, .weight = 1, .payload = ""};
    const struct hf_store_answer whole = {.ok = true,
                                          .found = true,
                                          .server_ms = 5000,
                                          .tickets = &ticket,
                                          .leases = lease,
                                          .count = id.bytes[0] > 0 ? 1 : 0};

    hf_quorum_server_answered(quorum, take(server), &whole, now_ms);
}

static void answer_kind(size_t server, struct hf_ticket_id id, uint64_t number,
                        bool proposed, enum hf_ticket_kind kind)
{
    const struct hf_store_lease lease = {.proposed = proposed,
                                         .missing = number == 0};

    answer_lease(server, id, number, kind, &lease);
}

static void answer(size_t server, struct hf_ticket_id id, uint64_t number,
                   bool proposed)
{
    answer_kind(server, id, number, proposed, HF_TICKET_MUTEX);
}

static const struct hf_ticket_id nobody;

static void enqueue_mine(struct hf_store_call *call)
{
    hf_quorum_call(quorum, call, now_ms);
    assert_true(hf_quorum_wake_at_ms(quorum) > now_ms);
    answer(0, mine, 70, true);
    answer(1, mine, 90, true);
    /* The greatest number of a majority. */
    answer(2, mine, 60, true);
    for (size_t i = 0; i < SERVERS; i++) {
        assert_int_equal(calls[i].call->quorum->step, HF_STORE_COMMIT);
        assert_int_equal(calls[i].call->quorum->number, 90);
    }
    answer(0, mine, 90, false);
    assert_int_equal(events.answers, 0);
    answer(1, mine, 90, false);
    assert_int_equal(events.answers, 1);
    assert_true(events.ok);
    assert_int_equal(events.first.token, 90);
    answer(2, mine, 90, false);
    assert_int_equal(call_count, 0);
}

#define FIXTURE_TEST(name) TEST_WITH(name, begin, finish)

/* ----------------------------------------------------------------- tests -- */

FIXTURE_TEST(every_list_sends_our_number_to_the_servers)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    enqueue_mine(&enqueue);
    hf_quorum_call(quorum, &list, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        assert_int_equal(calls[i].call->quorum->number, 90);
    for (size_t i = 0; i < SERVERS; i++)
        answer(i, mine, 90, false);
    list.queue = "another";
    hf_quorum_call(quorum, &list, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        assert_int_equal(calls[i].call->quorum->number, 0);
}

FIXTURE_TEST(not_after_is_of_each_servers_own_clock)
{
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    now_ms += 100;
    hf_quorum_call(quorum, &list, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        assert_int_equal(calls[i].call->not_after_ms,
                         5000 * (i + 1) + 100 + 10000);
}

/* The least number that it may still get. */
FIXTURE_TEST(what_is_only_proposed_stands_with_its_least_number)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    enqueue_mine(&enqueue);
    hf_quorum_call(quorum, &list, now_ms);
    answer(0, other, 500, true);
    answer(1, other, 80, true);
    assert_int_equal(events.answers, 2);
    assert_true(hf_ticket_id_equal(&events.first.id, &other));
    assert_int_equal(events.first.sequence, 80);
}

/* The server that answers first has not got the downgrade yet, or the last one
 * has not. */
FIXTURE_TEST(a_ticket_that_one_server_knows_as_a_reader_is_one)
{
    static const enum hf_ticket_kind kinds[][2] = {
        {HF_TICKET_WRITE, HF_TICKET_READ}, {HF_TICKET_READ, HF_TICKET_WRITE}};
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    enqueue_mine(&enqueue);
    for (size_t i = 0; i < 2; i++) {
        hf_quorum_call(quorum, &list, now_ms);
        answer_kind(0, other, 80, false, kinds[i][0]);
        answer_kind(1, other, 80, false, kinds[i][1]);
        assert_int_equal(events.answers, 2 + i);
        assert_true(hf_ticket_id_equal(&events.first.id, &other));
        assert_int_equal(events.first.kind, HF_TICKET_READ);
        answer_kind(2, other, 80, false, HF_TICKET_READ);
    }
}

/* Servers are reached one after the other, and some not at all. */
FIXTURE_TEST(what_servers_say_of_a_lease_is_merged)
{
    static const struct hf_store_lease leases[][2] = {
        {{.expires_in_ms = 100, .revoked = 2}, {.expires_in_ms = 300}},
        {{.expires_in_ms = 300}, {.expires_in_ms = 100, .revoked = 2}}};
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    for (size_t i = 0; i < 2; i++) {
        list.detailed = i > 0;
        hf_quorum_call(quorum, &list, now_ms);
        answer_lease(0, other, 80, HF_TICKET_MUTEX, &leases[i][0]);
        answer_lease(1, other, 80, HF_TICKET_MUTEX, &leases[i][1]);
        assert_int_equal(events.answers, 1 + i);
        assert_int_equal(events.lease.expires_in_ms, 300);
        assert_int_equal(events.lease.revoked, 2);
        /* Only people are shown the token of another one: it has to count as
         * ahead of ours, whatever number that gets. */
        assert_int_equal(events.first.token, i > 0 ? 80 : 0);
        answer(2, other, 80, false);
    }
}

/* ${server} lists a proposed ticket of ${kind}, and ours behind it. */
static void answer_behind(size_t server, enum hf_ticket_kind kind)
{
    const struct hf_ticket tickets[] = {
        {.id = other, .sequence = 80, .kind = kind, .weight = 1, .payload = ""},
        {.id = mine,
         .sequence = 90,
         .kind = HF_TICKET_READ,
         .weight = 1,
         .payload = ""}};
    const struct hf_store_lease leases[] = {{.proposed = true},
                                            {.proposed = false}};
    const struct hf_store_answer whole = {.ok = true,
                                          .server_ms = 5000,
                                          .tickets = tickets,
                                          .leases = leases,
                                          .count = 2};

    hf_quorum_server_answered(quorum, take(server), &whole, now_ms);
}

/* The ticket that there is no memory for is ahead. */
FIXTURE_TEST(a_list_that_is_not_merged_in_full_is_not_answered)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    enqueue_mine(&enqueue);
    hf_quorum_call(quorum, &list, now_ms);
    tracked_heap_fail(true);
    answer(0, other, 80, false);
    tracked_heap_fail(false);
    answer(1, nobody, 90, false);
    answer(2, nobody, 90, false);
    assert_int_equal(events.answers, 1);
    assert_true(hf_quorum_wake_at_ms(quorum) <= now_ms);
    hf_quorum_tick(quorum, now_ms);
    assert_int_equal(events.downs, 1);
    assert_int_equal(events.answers, 1);
}

/* The answer that was due is not given for ever again: the tick ends. */
FIXTURE_TEST(a_list_that_is_due_without_memory_ends_the_link)
{
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    hf_quorum_call(quorum, &list, now_ms);
    answer(0, other, 80, false);
    answer(1, nobody, 80, false);
    assert_int_equal(events.answers, 0);
    now_ms = hf_quorum_wake_at_ms(quorum);
    tracked_heap_fail(true);
    hf_quorum_tick(quorum, now_ms);
    tracked_heap_fail(false);
    assert_int_equal(events.answers, 0);
    assert_true(hf_quorum_wake_at_ms(quorum) <= now_ms);
    hf_quorum_tick(quorum, now_ms);
    assert_int_equal(events.downs, 1);
    assert_int_equal(events.answers, 0);
}

/* An answer makes the user send a call that there is no memory for, while
 * another request is due. */
FIXTURE_TEST(a_call_without_memory_inside_an_answer_ends_the_link)
{
    struct hf_store_call first = a_call(HF_STORE_SET_FLAG);
    struct hf_store_call second = a_call(HF_STORE_LIST);
    struct hf_store_call third = a_call(HF_STORE_LIST);

    all_up();
    hf_quorum_call(quorum, &first, now_ms);
    hf_quorum_call(quorum, &second, now_ms);
    answer(0, other, 80, false);
    answer(1, nobody, 80, false);
    now_ms += GRACE_IS_OVER_MS;
    call_without_memory = &third;
    hf_quorum_tick(quorum, now_ms);
    assert_int_equal(events.answers, 1);
    hf_quorum_tick(quorum, now_ms);
    assert_int_equal(events.downs, 1);
    assert_int_equal(events.answers, 1);
}

/* A reader lists again soon if a writer ahead is only proposed, and at longer
 * and longer intervals, up to a quarter of a lease. */
FIXTURE_TEST(a_reader_looks_again_for_a_writer)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call list = a_call(HF_STORE_LIST);
    uint64_t interval_ms = 20;

    all_up();
    enqueue.ticket_kind = list.ticket_kind = HF_TICKET_READ;
    enqueue_mine(&enqueue);
    hf_quorum_call(quorum, &list, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        answer_behind(i, HF_TICKET_READ);
    assert_true(hf_quorum_wake_at_ms(quorum) > now_ms + 10000);
    for (int n = 0; n < 12; n++) {
        hf_quorum_call(quorum, &list, now_ms);
        for (size_t i = 0; i < SERVERS; i++)
            answer_behind(i, HF_TICKET_WRITE);
        assert_int_equal(hf_quorum_wake_at_ms(quorum), now_ms + interval_ms);
        interval_ms = interval_ms < 1250 ? 2 * interval_ms : 2500;
    }
}

FIXTURE_TEST(one_number_is_not_given_to_two)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);

    all_up();
    hf_quorum_call(quorum, &enqueue, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        answer(i, mine, 70, true);
    answer(0, mine, 70, false);
    answer(1, mine, 70, true); /* another has it there */
    answer(2, mine, 70, true);
    assert_int_equal(events.answers, 0);
    for (size_t i = 0; i < SERVERS; i++)
        assert_true(calls[i].call->quorum->number > 70);
}

static void send_gone(size_t server)
{
    const struct hf_store_notice notice = {
        .kind = HF_STORE_GONE, .queue = "q", .ticket = mine};

    hf_quorum_server_notice(quorum, server, &notice, now_ms);
}

FIXTURE_TEST(ours_is_gone_when_no_majority_can_have_it)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);

    all_up();
    enqueue_mine(&enqueue);
    send_gone(2);
    assert_int_equal(events.notices, 0);
    send_gone(0);
    assert_int_equal(events.notices, 1);
}

static void begin_renewal_of(const struct hf_ticket_id *id,
                             struct hf_store_call *renew,
                             struct hf_store_ticket_set *ticket_set)
{
    *ticket_set = (struct hf_store_ticket_set){"q", id, 1, false};
    *renew = a_call(HF_STORE_RENEW);
    renew->ticket_sets = ticket_set;
    renew->ticket_set_count = 1;
    hf_quorum_call(quorum, renew, now_ms);
}

static void begin_renewal(struct hf_store_call *renew,
                          struct hf_store_ticket_set *ticket_set)
{
    begin_renewal_of(&mine, renew, ticket_set);
}

/* A ticket that a server misses is enqueued there again. */
FIXTURE_TEST(a_renewal_takes_a_majority_for_each_ticket)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call renew;
    struct hf_store_ticket_set ticket_set;

    all_up();
    enqueue_mine(&enqueue);
    begin_renewal(&renew, &ticket_set);
    answer(0, mine, 0, false);
    answer(1, nobody, 0, false);
    assert_int_equal(events.answers, 1); /* one has it, one has not */
    answer(2, nobody, 0, false);
    assert_int_equal(events.answers, 2);
    assert_true(events.ok);
    assert_int_equal(events.count, 0);
    assert_int_equal(call_count, 1);
    assert_int_equal(calls[0].server, 0);
    assert_int_equal(calls[0].call->quorum->step, HF_STORE_REPAIR);
    assert_int_equal(calls[0].call->quorum->number, 90);
}

/* The leases of the other tickets may have ended meanwhile.  So a piece of a
 * renewal does not enqueue again what it has not renewed, and what was
 * missing stays missing. */
FIXTURE_TEST(a_piece_of_a_renewal_says_nothing_of_the_rest)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call first, second, next;
    struct hf_store_ticket_set ticket_sets[3];

    all_up();
    enqueue_mine(&enqueue);
    begin_renewal(&first, &ticket_sets[0]);
    answer(0, nobody, 0, false);
    answer(1, nobody, 0, false);
    answer(2, mine, 0, false); /* when the renewal had been answered */
    begin_renewal_of(&other, &second, &ticket_sets[1]);
    for (size_t i = 0; i < SERVERS; i++)
        answer(i, nobody, 0, false);
    assert_int_equal(call_count, 0);
    begin_renewal(&next, &ticket_sets[2]);
    answer(0, nobody, 0, false);
    answer(1, nobody, 0, false);
    (void)take(2);
    assert_int_equal(call_count, 1);
    assert_int_equal(calls[0].server, 2);
    assert_int_equal(calls[0].call->quorum->step, HF_STORE_REPAIR);
}

FIXTURE_TEST(what_two_of_three_miss_is_missing)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call renew;
    struct hf_store_ticket_set ticket_set;

    all_up();
    enqueue_mine(&enqueue);
    begin_renewal(&renew, &ticket_set);
    answer(0, mine, 0, false);
    answer(1, mine, 0, false);
    assert_int_equal(events.answers, 2);
    assert_true(events.ok && events.lease.missing);
}

FIXTURE_TEST(what_cannot_be_known_is_not_renewed)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call renew;
    struct hf_store_ticket_set ticket_set;

    all_up();
    enqueue_mine(&enqueue);
    begin_renewal(&renew, &ticket_set);
    answer(0, mine, 0, false);
    answer(1, nobody, 0, false);
    hf_quorum_server_down(quorum, 2, HF_EUNREACHABLE, "cut", now_ms);
    assert_int_equal(events.answers, 2);
    assert_false(events.ok);
    assert_int_equal(events.failure, HF_FAILURE_RETRY);
}

FIXTURE_TEST(half_an_enqueue_is_unsure)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    const struct hf_store_answer full = {.failure = HF_FAILURE_FATAL,
                                         .status = HF_EFULL,
                                         .text = "out of memory"};

    all_up();
    hf_quorum_call(quorum, &enqueue, now_ms);
    answer(0, mine, 70, true);
    hf_quorum_server_answered(quorum, take(1), &full, now_ms);
    hf_quorum_server_answered(quorum, take(2), &full, now_ms);
    assert_int_equal(events.answers, 1);
    assert_int_equal(events.failure, HF_FAILURE_UNSURE);
    assert_int_equal(events.status, HF_EFULL);
}

FIXTURE_TEST(what_all_refuse_is_refused)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    const struct hf_store_answer full = {.failure = HF_FAILURE_FATAL,
                                         .status = HF_EFULL,
                                         .text = "out of memory"};

    all_up();
    hf_quorum_call(quorum, &enqueue, now_ms);
    hf_quorum_server_answered(quorum, take(1), &full, now_ms);
    hf_quorum_server_answered(quorum, take(2), &full, now_ms);
    assert_int_equal(events.answers, 1);
    assert_int_equal(events.failure, HF_FAILURE_FATAL);
}

static void refused_at_the_next_tick(struct hf_store_call call)
{
    unsigned before = events.answers;

    hf_quorum_call(quorum, &call, now_ms);
    assert_int_equal(events.answers, before);
    assert_true(hf_quorum_wake_at_ms(quorum) <= now_ms);
    hf_quorum_tick(quorum, now_ms);
    assert_int_equal(events.answers, before + 1);
    assert_int_equal(events.failure, HF_FAILURE_FATAL);
    assert_int_equal(events.status, HF_EUNSUPPORTED);
    assert_int_equal(call_count, 0);
}

FIXTURE_TEST(barriers_are_refused)
{
    struct hf_store_call look = a_call(HF_STORE_LIST);
    struct hf_store_call participant = a_call(HF_STORE_ENQUEUE);

    all_up();
    look.queue = "q/";
    look.watches_queue = true;
    participant.ticket_kind = HF_TICKET_PARTICIPANT;
    refused_at_the_next_tick(a_call(HF_STORE_SET_FLAG));
    refused_at_the_next_tick(a_call(HF_STORE_CLEAR_FLAG));
    refused_at_the_next_tick(look);
    refused_at_the_next_tick(participant);
}

FIXTURE_TEST(a_majority_is_up_a_little_later)
{
    hf_quorum_server_up(quorum, 0, 5000, LONG_MS, now_ms);
    hf_quorum_server_up(quorum, 1, 5000, LONG_MS, now_ms);
    assert_int_equal(events.ups, 0);
    now_ms = hf_quorum_wake_at_ms(quorum);
    assert_true(now_ms <= 1100);
    hf_quorum_tick(quorum, now_ms);
    assert_int_equal(events.ups, 1);
}

FIXTURE_TEST(who_was_started_lately_does_not_count)
{
    hf_quorum_server_up(quorum, 0, 5000, LONG_MS, now_ms);
    hf_quorum_server_up(quorum, 1, 5000, 10000, now_ms);
    hf_quorum_server_down(quorum, 2, HF_EDENIED, "no", now_ms);
    assert_int_equal(events.ups, 0);
    assert_int_equal(events.downs, 1);
    assert_int_equal(events.status, HF_EUNREACHABLE); /* it passes */
}

FIXTURE_TEST(what_a_majority_refuses_is_no_matter_of_time)
{
    hf_quorum_server_up(quorum, 0, 5000, LONG_MS, now_ms);
    hf_quorum_server_down(quorum, 1, HF_EDENIED, "no", now_ms);
    hf_quorum_server_down(quorum, 2, HF_EDENIED, "no", now_ms);
    assert_int_equal(events.downs, 1);
    assert_int_equal(events.status, HF_EDENIED);
}

FIXTURE_TEST(what_a_majority_refuses_is_said_whoever_was_first)
{
    hf_quorum_server_down(quorum, 0, HF_EUNREACHABLE, "refused", now_ms);
    hf_quorum_server_down(quorum, 1, HF_EDENIED, "no", now_ms);
    hf_quorum_server_down(quorum, 2, HF_EDENIED, "no", now_ms);
    assert_int_equal(events.downs, 1);
    assert_int_equal(events.status, HF_EDENIED);
}

/* The call goes on at the others. */
FIXTURE_TEST(a_server_that_lies_is_hung_up_on)
{
    struct hf_store_call list = a_call(HF_STORE_LIST);

    all_up();
    hf_quorum_call(quorum, &list, now_ms);
    answer(0, other, UINT64_C(1) << 53, false);
    assert_int_equal(disconnects, 1);
    assert_int_equal(events.answers, 0);
    assert_int_equal(events.downs, 0);
    answer(1, other, 80, false);
    answer(2, other, 80, false);
    assert_int_equal(events.answers, 1);
    assert_true(events.ok);
    assert_int_equal(events.first.sequence, 80);
}

/* An answer to a call that a majority has answered may show what is gone. */
FIXTURE_TEST(what_comes_late_is_not_held_against_its_call)
{
    struct hf_store_call *list = malloc(sizeof *list);

    assert_non_null(list);
    *list = a_call(HF_STORE_LIST);
    all_up();
    hf_quorum_call(quorum, list, now_ms);
    answer(1, other, 80, false);
    answer(2, other, 80, false);
    assert_int_equal(events.answers, 1);
    free(list);
    answer(0, other, UINT64_C(1) << 53, false);
    assert_int_equal(disconnects, 0);
}

FIXTURE_TEST(a_ticket_that_is_removed_while_it_is_placed)
{
    struct hf_store_call enqueue = a_call(HF_STORE_ENQUEUE);
    struct hf_store_call remove_ticket = a_call(HF_STORE_REMOVE);
    struct hf_store_call *placing[SERVERS];
    const struct hf_store_answer lacking = {.ok = true, .server_ms = 5000};

    all_up();
    hf_quorum_call(quorum, &enqueue, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        placing[i] = take(i);
    hf_quorum_call(quorum, &remove_ticket, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        answer(i, nobody, 0, false);
    assert_int_equal(events.answers, 1);
    for (size_t i = 0; i < SERVERS; i++)
        hf_quorum_server_answered(quorum, placing[i], &lacking, now_ms);
    assert_int_equal(events.answers, 2);
    assert_false(events.ok);
    assert_int_equal(events.failure, HF_FAILURE_UNSURE);
}

static void send_found(size_t server, bool found)
{
    const struct hf_store_answer answer_sent = {
        .ok = true, .found = found, .server_ms = 5000};

    hf_quorum_server_answered(quorum, take(server), &answer_sent, now_ms);
}

static const enum hf_store_call_kind changes[] = {HF_STORE_REMOVE,
                                                  HF_STORE_DESCRIBE};

/* A removal by another client has reached servers 0 and 2, and 1 not yet. */
FIXTURE_TEST(a_ticket_at_a_minority_is_not_found)
{
    all_up();
    for (unsigned i = 0; i < 2; i++) {
        struct hf_store_call call = a_call(changes[i]);

        hf_quorum_call(quorum, &call, now_ms);
        send_found(1, true);
        send_found(0, false);
        assert_int_equal(events.answers, i);
        send_found(2, false);
        assert_int_equal(events.answers, i + 1);
        assert_true(events.ok);
        assert_false(events.found);
    }
}

/* A server that does not answer may be one of a majority that has the ticket.
 */
FIXTURE_TEST(a_ticket_in_doubt_is_found_after_a_moment)
{
    struct hf_store_call call = a_call(HF_STORE_REMOVE);

    all_up();
    hf_quorum_call(quorum, &call, now_ms);
    send_found(0, true);
    send_found(1, false);
    assert_int_equal(events.answers, 0);
    now_ms = hf_quorum_wake_at_ms(quorum);
    assert_true(now_ms <= 1000 + 200);
    hf_quorum_tick(quorum, now_ms);
    assert_int_equal(events.answers, 1);
    assert_true(events.found);
    send_found(2, false);
}

/* The two rounds count alike: here the ticket is removed between them. */
FIXTURE_TEST(a_request_to_a_ticket_that_goes_is_not_found)
{
    struct hf_store_call call = a_call(HF_STORE_REVOKE);

    all_up();
    hf_quorum_call(quorum, &call, now_ms);
    for (size_t i = 0; i < SERVERS; i++)
        answer(i, mine, 90, false);
    send_found(1, true);
    send_found(0, false);
    send_found(2, false);
    assert_int_equal(events.answers, 1);
    assert_true(events.ok);
    assert_false(events.found);
}
