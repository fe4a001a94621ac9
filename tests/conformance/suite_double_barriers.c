/* SPDX-License-Identifier: Apache-2.0 */
/* What double barriers ask of an engine: members, and what they stamp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "conformance/suite.h"

static struct hf_ticket_id come(struct engine_client *client, const char *queue)
{
    struct hf_ticket_id id = fresh_id();
    struct client_request *request =
        client_enqueue(client, queue, id, HF_TICKET_PARTICIPANT, "me");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_non_null(client_request_find(request, id));
    return id;
}

static void go(struct engine_client *client, const char *queue,
               struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_REMOVE, queue, id);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_true(request->found);
}

/* Answered LISTED, with ${members} and, if ${stamp}, the mark of that token. */
static struct client_request *see(struct client_request *request,
                                  size_t members, uint64_t stamp)
{
    size_t count = 0;
    uint64_t seen = 0;

    assert_int_equal(request->answer, HF_EVENT_LISTED);
    for (size_t i = 0; i < request->count; i++) {
        const struct hf_ticket *ticket = &request->tickets[i];

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
    assert_int_equal(request->count, members + (stamp > 0));
    return request;
}

static struct client_request *list(struct engine_client *client,
                                   const char *queue, size_t members,
                                   uint64_t stamp)
{
    return see(
        client_double_barrier(client, HF_REQUEST_LIST, queue, fresh_id(), 0),
        members, stamp);
}

static struct client_request *look(struct engine_client *client,
                                   const char *queue, size_t members,
                                   uint64_t stamp)
{
    return see(client_double_barrier(client, HF_REQUEST_WATCH_QUEUE, queue,
                                     fresh_id(), 0),
               members, stamp);
}

/* The token of the mark, which is newer than all who are there. */
static uint64_t stamp(struct engine_client *client, const char *queue,
                      struct hf_ticket_id id, uint32_t limit)
{
    struct client_request *request = client_double_barrier(
        client, HF_REQUEST_NEW_GENERATION, queue, id, limit);
    const struct hf_ticket *last;

    assert_int_equal(request->answer, HF_EVENT_FLAG_UPDATED);
    request = client_double_barrier(client, HF_REQUEST_LIST, queue, id, 0);
    assert_int_equal(request->answer, HF_EVENT_LISTED);
    last = &request->tickets[request->count - 1];
    assert_int_equal(last->kind, HF_TICKET_READY);
    return last->token;
}

static void refuse(struct engine_client *client, const char *queue,
                   struct hf_ticket_id id, uint32_t limit)
{
    struct client_request *request = client_double_barrier(
        client, HF_REQUEST_NEW_GENERATION, queue, id, limit);

    assert_int_equal(request->answer, HF_EVENT_FAILED);
    assert_int_equal(request->failure, HF_FAILURE_RETRY);
}

static bool clear(struct engine_client *client, const char *queue)
{
    struct client_request *request = client_double_barrier(
        client, HF_REQUEST_CLEAR_FLAG, queue, fresh_id(), 0);

    assert_int_equal(request->answer, HF_EVENT_FLAG_UPDATED);
    return request->found;
}

static void participants_are_counted(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
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
    client_close(b);
    client_close(a);
}

static void enough_participants_make_a_generation(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
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
    client_close(b);
    client_close(a);
}

/* For people: what each says of himself, and no tickets among them. */
static void participants_are_shown_to_people(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id first, second;
    struct client_request *seen;
    uint64_t token;

    (void)state;
    (void)see(client_list_participants(a, "d"), 0, 0);
    first = come(a, "d");
    second = come(b, "d");
    token = stamp(a, "d", first, 2);
    seen = see(client_list_participants(b, "d"), 2, token);
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->tickets[i].kind == HF_TICKET_PARTICIPANT)
            assert_string_equal(seen->tickets[i].payload, "me");
    }
    assert_int_equal(client_detailed_list(b, "d")->count, 0);
    go(a, "d", first);
    (void)see(client_list_participants(b, "d"), 1, token);
    go(b, "d", second);
    assert_true(clear(b, "d"));
    client_close(b);
    client_close(a);
}

static void a_queue_watch_reports_every_change(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id first, second;
    struct client_request *seen;
    uint64_t token;

    (void)state;
    first = come(a, "d");
    seen = look(a, "d", 1, 0);
    client_drain(a);
    assert_int_equal(seen->gone, 0);
    second = come(b, "d");
    assert_true(client_wait_gone(a, seen));
    seen = look(a, "d", 2, 0);
    token = stamp(b, "d", second, 2);
    assert_true(client_wait_gone(a, seen));
    seen = look(a, "d", 2, token);
    go(b, "d", second);
    assert_true(client_wait_gone(a, seen));
    second = come(b, "d");
    seen = look(a, "d", 2, token);
    assert_true(stamp(b, "d", second, 2) > token); /* another than before */
    assert_true(client_wait_gone(a, seen));
    assert_int_equal(seen->gone, 1);
    go(b, "d", second);
    go(a, "d", first);
    (void)clear(a, "d");
    client_close(b);
    client_close(a);
}

static void the_flag_stays_until_nobody_is_there(void **state)
{
    struct engine_client *a = client_open(fixture);
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
    client_close(a);
}

static void the_end_takes_participants_along_but_no_flag(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id first, second;
    struct client_request *seen;
    uint64_t token;

    (void)state;
    first = come(a, "d");
    second = come(b, "d");
    token = stamp(a, "d", first, 2);
    seen = look(b, "d", 2, token);
    client_close(a);
    assert_true(client_wait_gone(b, seen));
    (void)look(b, "d", 1, token);
    go(b, "d", second);
    assert_true(clear(b, "d"));
    client_close(b);
}

static void a_participant_learns_of_its_end(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id id = come(a, "d");
    struct hf_ticket mine = {.id = id, .kind = HF_TICKET_PARTICIPANT};
    struct client_request *watch = client_watch(a, "d", &mine);

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    go(b, "d", id); /* anybody may */
    assert_true(client_wait_gone(a, watch));
    client_close(b);
    client_close(a);
}

static void
a_queue_watch_at_participants_that_is_forgotten_is_silent(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id first = come(b, "d");
    struct client_request *forgotten = look(b, "d", 1, 0);
    struct client_request *observer = look(b, "d", 1, 0);
    struct hf_ticket_id id;

    (void)state;
    client_forget(b, forgotten);
    id = come(a, "d");
    assert_true(client_wait_gone(b, observer));
    client_drain(b);
    assert_int_equal(forgotten->gone, 0);
    go(b, "d", first);
    go(a, "d", id);
    client_close(b);
    client_close(a);
}

static void participants_of_one_name_are_not_of_another(void **state)
{
    struct engine_client *a = client_open(fixture);
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
    client_close(a);
}

int suite_run_double_barriers(const char *name)
{
    const struct CMUnitTest tests[] = {
        SUITE_TEST(participants_are_counted),
        SUITE_TEST(enough_participants_make_a_generation),
        SUITE_TEST(participants_are_shown_to_people),
        SUITE_TEST(a_queue_watch_reports_every_change),
        SUITE_TEST(the_flag_stays_until_nobody_is_there),
        SUITE_TEST(the_end_takes_participants_along_but_no_flag),
        SUITE_TEST(a_participant_learns_of_its_end),
        SUITE_TEST(a_queue_watch_at_participants_that_is_forgotten_is_silent),
        SUITE_TEST(participants_of_one_name_are_not_of_another),
    };
    char whole[128];

    if (!fixture->has_double_barriers)
        return 0;
    (void)snprintf(whole, sizeof(whole), "%s: members", name);
    return cmocka_run_group_tests_name(whole, tests, NULL, NULL);
}
