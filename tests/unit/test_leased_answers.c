/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong answers of a server: each ends the link, its request is UNSURE if it
 * may have taken effect, and the text says what was wrong. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/memory.h"
#include "cmocka/runner.h"
#include "engines/leased/leased.h"
#include "engines/leased/store.h"

enum { ROWS = 4 };

struct hf_store {
    struct hf_leased *leased;
    struct hf_store_call *call; /* the last one */
    bool linked;
    /* What the client has reported. */
    unsigned answers;
    enum hf_event_kind kind;
    enum hf_failure failure;
    hf_status status;
    size_t more;
    char connection_error[HF_ERROR_TEXT_BYTES];
};

static struct hf_store store;
static struct hf_request request;

static void connect(struct hf_store *to, const char *session)
{
    (void)session;
    to->linked = true;
}

static void disconnect(struct hf_store *to)
{
    assert_true(to->linked);
    to->linked = false;
}

static void call(struct hf_store *to, struct hf_store_call *made)
{
    to->call = made;
}

static const struct hf_store_ops ops = {
    .connect = connect, .disconnect = disconnect, .call = call};

static void on_event(void *host, struct hf_event *event)
{
    struct hf_store *to = host;

    if (event->kind == HF_EVENT_CONNECTION_ERROR)
        (void)snprintf(to->connection_error, sizeof to->connection_error, "%s",
                       event->as.connection_error.text);
    if (event->kind < HF_EVENT_ENQUEUED)
        return;
    to->answers++;
    to->kind = event->kind;
    to->failure = event->as.answer.failure;
    to->status = event->as.answer.status;
    to->more = event->as.answer.snapshot.more_ahead;
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

/* An answer whose rows a test makes wrong. */
struct bad_answer {
    struct hf_ticket tickets[ROWS];
    struct hf_store_lease leases[ROWS];
    struct hf_store_answer answer;
};

static struct bad_answer truth(size_t count)
{
    struct bad_answer bad_answer = {.answer = {.ok = true, .server_ms = 1000}};

    for (size_t i = 0; i < ROWS; i++) {
        bad_answer.tickets[i] = (struct hf_ticket){.sequence = 10 + i,
                                                   .token = 10 + i,
                                                   .kind = HF_TICKET_MUTEX,
                                                   .weight = 1,
                                                   .payload = ""};
        memset(bad_answer.tickets[i].id.bytes, 'a' + (int)i,
               HF_TICKET_ID_BYTES);
        bad_answer.leases[i].expires_in_ms = 1000;
    }
    bad_answer.answer.count = count;
    return bad_answer;
}

static void send_answer(struct bad_answer *bad_answer)
{
    bad_answer->answer.tickets = bad_answer->tickets;
    bad_answer->answer.leases = bad_answer->leases;
    hf_leased_answered(store.leased, store.call, &bad_answer->answer, 2);
}

static int begin(void **state)
{
    struct hf_leased_config config = {.ttl_ms = HF_LEASED_TTL_MIN_MS,
                                      .clock_drift = 1,
                                      .server_address = "here"};
    struct hf_engine_host host = {
        .event = on_event, .log = on_log, .host = &store};
    struct bad_answer nothing = truth(0);

    (void)state;
    memset(&store, 0, sizeof store);
    hf_random_seed(&config.random, 1);
    store.leased = hf_leased_new(&config, &host, &ops, &store, 1);
    hf_leased_up(store.leased, 1000, 1);
    send_answer(&nothing); /* to the first RENEW */
    store.call = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    hf_leased_free(store.leased);
    return 0;
}

/* Make a request of the ticket "cccc", the third of the rows. */
static void ask(enum hf_request_kind kind)
{
    request = (struct hf_request){.kind = kind,
                                  .queue = "q",
                                  .ticket_kind = HF_TICKET_MUTEX,
                                  .weight = 1,
                                  .payload = ""};
    memset(request.ticket.bytes, 'c', HF_TICKET_ID_BYTES);
    hf_leased_request(store.leased, &request, 2);
    assert_non_null(store.call);
}

static void enqueue_gets(struct bad_answer bad_answer, const char *text)
{
    if (store.leased != NULL)
        hf_leased_free(store.leased);
    (void)begin(NULL);
    ask(HF_REQUEST_ENQUEUE);
    send_answer(&bad_answer);
    assert_int_equal(store.answers, 1);
    assert_int_equal(store.kind, HF_EVENT_FAILED);
    assert_int_equal(store.failure, HF_FAILURE_UNSURE);
    assert_false(store.linked);
    assert_non_null(strstr(store.connection_error, "protocol: the server "));
    assert_non_null(strstr(store.connection_error, text));
    assert_non_null(strstr(store.connection_error, "; expected "));
}

#define FIXTURE_TEST(name) TEST_WITH(name, begin, end)

/* ------------------------------------------------------------------ lies -- */

FIXTURE_TEST(an_honest_queue_is_taken)
{
    struct bad_answer bad_answer = truth(ROWS);

    ask(HF_REQUEST_ENQUEUE);
    send_answer(&bad_answer);
    assert_int_equal(store.kind, HF_EVENT_ENQUEUED);
    assert_true(store.linked);
}

FIXTURE_TEST(a_queue_out_of_order_ends_the_link)
{
    struct bad_answer bad_answer = truth(ROWS);

    bad_answer.tickets[1].sequence = bad_answer.tickets[1].token = 9;
    enqueue_gets(bad_answer, "out of order");
    bad_answer = truth(ROWS);
    bad_answer.tickets[3].sequence = 12;
    bad_answer.tickets[3].token = 11;
    enqueue_gets(bad_answer, "out of order");
}

FIXTURE_TEST(a_ticket_listed_twice_ends_the_link)
{
    struct bad_answer bad_answer = truth(ROWS);

    bad_answer.tickets[3].id = bad_answer.tickets[0].id;
    enqueue_gets(bad_answer, "twice");
    bad_answer = truth(ROWS);
    bad_answer.tickets[3].id = bad_answer.tickets[2].id;
    enqueue_gets(bad_answer, "twice");
}

FIXTURE_TEST(our_own_ticket_has_to_be_there)
{
    struct bad_answer bad_answer = truth(2);

    enqueue_gets(bad_answer, "does not list the ticket that it put in");
    enqueue_gets(truth(0), "does not list the ticket that it put in");
    bad_answer = truth(ROWS);
    bad_answer.tickets[2].kind = HF_TICKET_READ;
    enqueue_gets(bad_answer, "as one of another kind");
}

FIXTURE_TEST(numbers_have_a_range)
{
    static const uint64_t numbers[] = {UINT64_C(1) << 53, UINT64_C(1) << 63,
                                       UINT64_MAX};
    struct bad_answer bad_answer;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        bad_answer = truth(ROWS);
        bad_answer.tickets[3].sequence = numbers[i];
        enqueue_gets(bad_answer, "2^53");
        bad_answer = truth(ROWS);
        bad_answer.tickets[3].token = numbers[i];
        enqueue_gets(bad_answer, "2^53");
        bad_answer = truth(ROWS);
        bad_answer.answer.server_ms = numbers[i];
        enqueue_gets(bad_answer, "clock");
    }
    bad_answer = truth(ROWS);
    bad_answer.tickets[2].token = 0;
    enqueue_gets(bad_answer, "token 0");
}

FIXTURE_TEST(kinds_and_permits_have_a_range)
{
    static const enum hf_ticket_kind kinds[] = {
        0, HF_TICKET_BARRIER, HF_TICKET_PARTICIPANT, HF_TICKET_READY, 10};
    static const uint32_t weights[] = {0, HF_WEIGHT_MAX + 1, UINT32_MAX};
    struct bad_answer bad_answer;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bad_answer = truth(ROWS);
        bad_answer.tickets[0].kind = kinds[i];
        enqueue_gets(bad_answer, "does not belong");
    }
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        bad_answer = truth(ROWS);
        bad_answer.tickets[1].weight = weights[i];
        enqueue_gets(bad_answer, "permits");
    }
}

/* Our ticket is the third, so an answer with two of those ahead is too short
 * if there are more. */
FIXTURE_TEST(a_part_shows_the_nearest)
{
    struct bad_answer bad_answer = truth(ROWS);

    bad_answer.answer.partial = true;
    bad_answer.answer.more_ahead = 1;
    enqueue_gets(bad_answer, "hides the tickets that are nearest");
    bad_answer.answer.more_ahead = HF_STORE_TICKETS_MAX + 1;
    enqueue_gets(bad_answer, "counts too many tickets");
    bad_answer.answer.partial = false;
    bad_answer.answer.more_ahead = 1;
    enqueue_gets(bad_answer, "shows a part of a queue");
}

FIXTURE_TEST(a_part_is_reported_with_what_it_leaves_out)
{
    struct bad_answer bad_answer = truth(ROWS);

    memset(bad_answer.tickets[2].id.bytes, 'x', HF_TICKET_ID_BYTES);
    memset(bad_answer.tickets[3].id.bytes, 'c', HF_TICKET_ID_BYTES);
    bad_answer.answer.partial = true;
    bad_answer.answer.more_ahead = 7;
    ask(HF_REQUEST_ENQUEUE);
    send_answer(&bad_answer);
    assert_int_equal(store.kind, HF_EVENT_ENQUEUED);
    assert_int_equal(store.more, 7);
}

FIXTURE_TEST(who_looks_gets_the_whole_queue)
{
    struct bad_answer bad_answer = truth(ROWS);

    bad_answer.answer.partial = true;
    ask(HF_REQUEST_WATCH_QUEUE);
    send_answer(&bad_answer);
    assert_int_equal(store.kind, HF_EVENT_FAILED);
    assert_false(store.linked);
    assert_non_null(strstr(store.connection_error, "shows a part of a queue"));
}

/* The client reads no tickets beyond the bound. */
FIXTURE_TEST(a_queue_has_a_bound)
{
    struct bad_answer bad_answer = truth(0);

    bad_answer.answer.count = HF_STORE_TICKETS_MAX + 1;
    enqueue_gets(bad_answer, "65537 tickets");
    bad_answer = truth(ROWS);
    bad_answer.answer.unknown_count = HF_STORE_TICKETS_MAX + 1;
    enqueue_gets(bad_answer, "65537 other things");
}

/* The server decides about times; however far away they are, time goes on. */
FIXTURE_TEST(leases_of_years_are_taken)
{
    struct bad_answer bad_answer = truth(ROWS);

    bad_answer.leases[0].expires_in_ms = UINT64_MAX;
    bad_answer.leases[1].expires_in_ms = UINT64_C(1) << 63;
    bad_answer.leases[2].expires_in_ms = 0;
    ask(HF_REQUEST_WATCH_QUEUE);
    send_answer(&bad_answer);
    assert_int_equal(store.kind, HF_EVENT_LISTED);
    assert_true(hf_leased_wake_at_ms(store.leased) < 10000);
}

FIXTURE_TEST(a_list_is_asked_for_again)
{
    struct bad_answer bad_answer = truth(ROWS);

    ask(HF_REQUEST_LIST);
    bad_answer.tickets[1].sequence = 1;
    send_answer(&bad_answer);
    assert_int_equal(store.kind, HF_EVENT_FAILED);
    assert_int_equal(store.failure, HF_FAILURE_RETRY);
    assert_false(store.linked);
}

FIXTURE_TEST(more_than_was_asked_for_ends_the_link)
{
    struct bad_answer bad_answer = truth(2);

    ask(HF_REQUEST_WATCH);
    send_answer(&bad_answer);
    assert_int_equal(store.kind, HF_EVENT_FAILED);
    assert_false(store.linked);
    assert_non_null(strstr(store.connection_error, "lists 2 tickets"));
}

/* A server may have tickets of our session that the client has dropped. */
FIXTURE_TEST(a_renewal_may_report_more_than_we_know)
{
    struct bad_answer bad_answer = truth(1);

    request = (struct hf_request){.kind = HF_REQUEST_PROVE};
    hf_leased_request(store.leased, &request, 2);
    bad_answer.leases[0].revoked = 1;
    send_answer(&bad_answer);
    assert_int_equal(store.kind, HF_EVENT_PROVEN);
    assert_true(store.linked);
}

FIXTURE_TEST(payloads_are_text)
{
    char longest[HF_PAYLOAD_BYTES + 1];

    memset(longest, 'x', sizeof longest);
    longest[HF_PAYLOAD_BYTES] = '\0';
    assert_string_equal(hf_store_payload("me", 2), "me");
    assert_string_equal(hf_store_payload(longest, HF_PAYLOAD_BYTES), "");
    assert_string_equal(hf_store_payload("\xff", 1), "");
    assert_string_equal(hf_store_payload("a\0b", 3), "");
}
