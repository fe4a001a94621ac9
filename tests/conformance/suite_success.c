/* SPDX-License-Identifier: Apache-2.0 */
/* The success of a queue: who may write it, who reads it, and how long it
 * stays. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"
#include "conformance/suite.h"

/* More than a test takes on a slow machine. */
#define AGE_MAX_MS 120000

/* A mutex of ${client} in ${queue}, which holds it; its token. */
static uint64_t hold(struct engine_client *client, const char *queue,
                     struct hf_ticket_id id)
{
    return token_of(enqueue_mutex(client, queue, id), id);
}

static void write_it(struct engine_client *client, const char *queue,
                     struct hf_ticket_id id, uint64_t token, bool written)
{
    struct client_request *request =
        client_write_success(client, queue, id, token);

    assert_int_equal(request->answer, HF_EVENT_SUCCESS_WRITTEN);
    assert_int_equal(request->found, written);
}

/* The success of ${queue} has ${token} and is young, for a holder and for
 * others. */
static void expect_success(struct engine_client *client, const char *queue,
                           struct hf_ticket_id id, uint64_t token)
{
    struct client_request *request = client_read_success(client, queue, id);

    assert_int_equal(request->answer, HF_EVENT_SUCCESS_READ);
    assert_true(request->success.token == token);
    if (token == 0)
        return;
    assert_true(request->success.at_utc_ms > 0);
    if (hf_ticket_id_equal(&id, &NOBODY) &&
        request->success.age_ms == HF_SUCCESS_AGE_UNKNOWN)
        return;
    assert_in_range(request->success.age_ms, 0, AGE_MAX_MS);
}

static void a_queue_has_no_success_at_first(void **state)
{
    struct hf_ticket_id id = fresh_id();
    OPEN_CLIENT(a, fixture);

    (void)state;
    expect_success(a, "q", NOBODY, 0);
    (void)hold(a, "q", id);
    expect_success(a, "q", id, 0);
    expect_success(a, "q", NOBODY, 0);
    remove_mutex(a, "q", id);
}

static void a_success_is_written_and_read(void **state)
{
    struct hf_ticket_id id = fresh_id();
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    uint64_t token;

    (void)state;
    token = hold(a, "q", id);
    write_it(a, "q", id, token, true);
    expect_success(a, "q", id, token);
    expect_success(b, "q", NOBODY, token);
    expect_success(b, "r", NOBODY, 0);
    write_it(a, "q", id, token, true); /* it may be repeated */
    expect_success(a, "q", id, token);
    remove_mutex(a, "q", id);
}

static void a_success_outlives_who_wrote_it(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct hf_ticket_id first = fresh_id(), second = fresh_id();
    uint64_t tokens[2];

    (void)state;
    tokens[0] = hold(a, "q", first);
    write_it(a, "q", first, tokens[0], true);
    remove_mutex(a, "q", first);
    client_close(a);
    a = client_open(fixture);
    expect_success(a, "q", NOBODY, tokens[0]);
    tokens[1] = hold(a, "q", second);
    expect_success(a, "q", second, tokens[0]);
    write_it(a, "q", second, tokens[1], true);
    expect_success(a, "q", second, tokens[1]);
    remove_mutex(a, "q", second);
    client_close(a);
}

static void without_a_ticket_nothing_is_written(void **state)
{
    struct hf_ticket_id held = fresh_id(), gone = fresh_id();
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    uint64_t token;

    (void)state;
    write_it(a, "q", fresh_id(), 7, false);
    token = hold(a, "q", gone);
    remove_mutex(a, "q", gone);
    write_it(a, "q", gone, token, false);
    token = hold(a, "q", held);
    write_it(b, "q", held, token, false); /* it is another client's */
    expect_success(a, "q", held, 0);
    remove_mutex(a, "q", held);
}

/* The next holder does not find what an evicted one says after that. */
static void an_evicted_holder_writes_nothing(void **state)
{
    struct hf_ticket_id evicted = fresh_id(), next = fresh_id();
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *request;
    uint64_t token;

    (void)state;
    request = enqueue_mutex(a, "q", evicted);
    token = token_of(request, evicted);
    fixture->evict(fixture, "q", client_request_find(request, evicted));
    (void)hold(b, "q", next);
    write_it(a, "q", evicted, token, false);
    expect_success(b, "q", next, 0);
    remove_mutex(b, "q", next);
}

static void a_lower_token_is_not_written(void **state)
{
    struct hf_ticket_id id = fresh_id();
    OPEN_CLIENT(a, fixture);
    uint64_t token;

    (void)state;
    token = hold(a, "q", id);
    write_it(a, "q", id, token, true);
    write_it(a, "q", id, token - 1, false);
    expect_success(a, "q", id, token);
    remove_mutex(a, "q", id);
}

/* The holder is the one that is admitted; who waits behind it does not see a
 * ticket in the success. */
static void a_success_is_no_ticket(void **state)
{
    struct hf_ticket_id id = fresh_id(), waiting = fresh_id();
    OPEN_CLIENT(a, fixture);
    struct client_request *list;
    uint64_t token;

    (void)state;
    token = hold(a, "above/q", id);
    write_it(a, "above/q", id, token, true);
    list = enqueue_mutex(a, "above/q", waiting);
    assert_int_equal(list->count, 2);
    remove_mutex(a, "above/q", waiting);
    remove_mutex(a, "above/q", id);
    list = client_detailed_list(a, "above/q");
    assert_int_equal(list->count, 0);
    assert_int_equal(list->foreign, 0);
}

static void odd_names_of_successes_do_not_collide(void **state)
{
    static char longest[2][HF_NAME_BYTES + 1];
    static const char odd[] = "with space%2F\xc3\xa9{x}";
    struct hf_ticket_id ids[] = {fresh_id(), fresh_id(), fresh_id()};
    OPEN_CLIENT(a, fixture);
    uint64_t tokens[3];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        memset(longest[i], 'n', HF_NAME_BYTES);
        for (size_t at = 200; at < HF_NAME_BYTES; at += 200)
            longest[i][at] = '/';
        longest[i][HF_NAME_BYTES - 1] = (char)('1' + i);
        tokens[i] = hold(a, longest[i], ids[i]);
    }
    tokens[2] = hold(a, odd, ids[2]);
    write_it(a, longest[0], ids[0], tokens[0], true);
    expect_success(a, longest[1], ids[1], 0);
    write_it(a, longest[1], ids[1], tokens[1], true);
    write_it(a, odd, ids[2], tokens[2], true);
    expect_success(a, longest[0], ids[0], tokens[0]);
    expect_success(a, longest[1], ids[1], tokens[1]);
    expect_success(a, odd, ids[2], tokens[2]);
    for (size_t i = 0; i < 2; i++)
        remove_mutex(a, longest[i], ids[i]);
    remove_mutex(a, odd, ids[2]);
}

static void a_success_survives_the_link(void **state)
{
    struct hf_ticket_id id = fresh_id();
    OPEN_CLIENT(a, fixture);
    uint64_t token;

    (void)state;
    token = hold(a, "q", id);
    write_it(a, "q", id, token, true);
    fixture->cut(fixture);
    client_wait_suspended(a);
    client_wait_connected(a);
    expect_success(a, "q", id, token);
    write_it(a, "q", id, token, true);
    (void)client_ask_until_done(a, HF_REQUEST_REMOVE, "q", id);
}

/* It says so of a holder, of nobody, and of both requests. */
static void an_engine_without_a_clock_says_so(void **state)
{
    struct hf_ticket_id id = fresh_id();
    OPEN_CLIENT(a, fixture);
    struct client_request *answers[3];

    (void)hold(a, "q", id);
    answers[0] = client_ask(a, HF_REQUEST_READ_SUCCESS, "q", NOBODY);
    answers[1] = client_ask(a, HF_REQUEST_READ_SUCCESS, "q", id);
    answers[2] = client_ask(a, HF_REQUEST_WRITE_SUCCESS, "q", id);
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        assert_int_equal(answers[i]->answer, HF_EVENT_FAILED);
        assert_int_equal(answers[i]->failure, HF_FAILURE_FATAL);
        assert_int_equal(answers[i]->status, HF_EUNSUPPORTED);
    }
    remove_mutex(a, "q", id);
}

int suite_run_success(const char *name)
{
    const struct CMUnitTest unsupported[] = {
        SUITE_TEST(an_engine_without_a_clock_says_so)};
    const struct CMUnitTest tests[] = {
        SUITE_TEST(a_queue_has_no_success_at_first),
        SUITE_TEST(a_success_is_written_and_read),
        SUITE_TEST(a_success_outlives_who_wrote_it),
        SUITE_TEST(without_a_ticket_nothing_is_written),
        SUITE_TEST(an_evicted_holder_writes_nothing),
        SUITE_TEST(a_lower_token_is_not_written),
        SUITE_TEST(a_success_is_no_ticket),
        SUITE_TEST(odd_names_of_successes_do_not_collide),
        /* The last one, for engines with connections that can be cut. */
        SUITE_TEST(a_success_survives_the_link),
    };
    size_t count = sizeof(tests) / sizeof(tests[0]);
    char whole[128];

    (void)snprintf(whole, sizeof(whole), "%s: success", name);
    if (fixture->has_no_success)
        return RUN_SUITE(whole, unsupported);
    return test_run(whole, tests, fixture->cut != NULL ? count : count - 1,
                    NULL, NULL);
}
