/* SPDX-License-Identifier: Apache-2.0 */
/* Double barriers: participants of a queue, and the generation that they make
 * once enough of them are there. */
#include <stdint.h>
#include <stdio.h>

#include "cmocka/runner.h"
#include "conformance/suite.h"

static struct hf_ticket_id enter(struct engine_client *client,
                                 const char *queue)
{
    struct hf_ticket_id id = fresh_id();
    struct client_request *request =
        client_enqueue(client, queue, id, HF_TICKET_PARTICIPANT, "me");

    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_non_null(client_request_find(request, id));
    return id;
}

static void leave(struct engine_client *client, const char *queue,
                  struct hf_ticket_id id)
{
    struct client_request *request =
        client_ask(client, HF_REQUEST_REMOVE, queue, id);

    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    assert_true(request->found);
}

/* The answer must be LISTED, with ${participants} and, if ${make_generation} is
 * not 0, the generation of that token. */
static struct client_request *
expect_participants(struct client_request *request, size_t participants,
                    uint64_t make_generation)
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
    assert_int_equal(count, participants);
    assert_int_equal(seen, make_generation);
    assert_int_equal(request->count, participants + (make_generation > 0));
    return request;
}

static struct client_request *list(struct engine_client *client,
                                   const char *queue, size_t participants,
                                   uint64_t make_generation)
{
    return expect_participants(
        client_double_barrier(client, HF_REQUEST_LIST, queue, fresh_id(), 0),
        participants, make_generation);
}

static struct client_request *look(struct engine_client *client,
                                   const char *queue, size_t participants,
                                   uint64_t make_generation)
{
    return expect_participants(client_double_barrier(client,
                                                     HF_REQUEST_WATCH_QUEUE,
                                                     queue, fresh_id(), 0),
                               participants, make_generation);
}

/* The token of the new generation, which is greater than those of all
 * participants. */
static uint64_t make_generation(struct engine_client *client, const char *queue,
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

static bool clear_flag(struct engine_client *client, const char *queue)
{
    struct client_request *request = client_double_barrier(
        client, HF_REQUEST_CLEAR_FLAG, queue, fresh_id(), 0);

    assert_int_equal(request->answer, HF_EVENT_FLAG_UPDATED);
    return request->found;
}

static void participants_are_counted(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id first, second;

    (void)state;
    (void)list(a, "d", 0, 0);
    first = enter(a, "d");
    second = enter(b, "d");
    (void)list(a, "d", 2, 0);
    expect_length(a, "d", 0); /* participants are in no order */
    leave(a, "d", first);
    (void)list(b, "d", 1, 0);
    leave(b, "d", second);
    (void)list(b, "d", 0, 0);
}

static void enough_participants_make_a_generation(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id first, second;
    uint64_t token, next;

    (void)state;
    first = enter(a, "d");
    refuse(a, "d", first, 2);
    (void)list(a, "d", 1, 0);
    second = enter(b, "d");
    token = make_generation(b, "d", second, 2);
    (void)list(a, "d", 2, token);
    next = make_generation(a, "d", first, 2);
    assert_true(next >= token);
    leave(b, "d", second);
    refuse(a, "d", first, 2);
    refuse(b, "d", second, 1); /* it is not there */
    (void)list(a, "d", 1, next);
    second = enter(b, "d");
    assert_true(make_generation(b, "d", second, 2) > next);
    leave(a, "d", first);
    leave(b, "d", second);
    assert_true(clear_flag(a, "d"));
}

/* A detailed list has the description of each participant, and no tickets. */
static void participants_are_shown_to_people(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id first, second;
    struct client_request *seen;
    uint64_t token;

    (void)state;
    (void)expect_participants(client_list_participants(a, "d"), 0, 0);
    first = enter(a, "d");
    second = enter(b, "d");
    token = make_generation(a, "d", first, 2);
    seen = expect_participants(client_list_participants(b, "d"), 2, token);
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->tickets[i].kind == HF_TICKET_PARTICIPANT)
            assert_string_equal(seen->tickets[i].payload, "me");
    }
    assert_int_equal(client_detailed_list(b, "d")->count, 0);
    leave(a, "d", first);
    (void)expect_participants(client_list_participants(b, "d"), 1, token);
    leave(b, "d", second);
    assert_true(clear_flag(b, "d"));
}

static void a_queue_watch_reports_every_change(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id first, second;
    struct client_request *seen;
    uint64_t token;

    (void)state;
    first = enter(a, "d");
    seen = look(a, "d", 1, 0);
    client_drain(a);
    assert_int_equal(seen->gone, 0);
    second = enter(b, "d");
    assert_true(client_wait_gone(a, seen));
    seen = look(a, "d", 2, 0);
    token = make_generation(b, "d", second, 2);
    assert_true(client_wait_gone(a, seen));
    seen = look(a, "d", 2, token);
    leave(b, "d", second);
    assert_true(client_wait_gone(a, seen));
    second = enter(b, "d");
    seen = look(a, "d", 2, token);
    assert_true(make_generation(b, "d", second, 2) >
                token); /* another than before */
    assert_true(client_wait_gone(a, seen));
    assert_int_equal(seen->gone, 1);
    leave(b, "d", second);
    leave(a, "d", first);
    (void)clear_flag(a, "d");
}

static void the_flag_stays_until_nobody_is_there(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id first;
    uint64_t token;

    (void)state;
    assert_false(clear_flag(a, "d"));
    first = enter(a, "d");
    token = make_generation(a, "d", first, 1);
    assert_false(clear_flag(a, "d"));
    leave(a, "d", first);
    (void)list(a, "d", 0, token);
    assert_true(clear_flag(a, "d"));
    assert_false(clear_flag(a, "d"));
    (void)list(a, "d", 0, 0);
    first = enter(a, "d");
    assert_true(make_generation(a, "d", first, 1) > token);
    leave(a, "d", first);
    assert_true(clear_flag(a, "d"));
}

static void the_end_takes_participants_along_but_no_flag(void **state)
{
    struct engine_client *a = client_open(fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id first, second;
    struct client_request *seen;
    uint64_t token;

    (void)state;
    first = enter(a, "d");
    second = enter(b, "d");
    token = make_generation(a, "d", first, 2);
    seen = look(b, "d", 2, token);
    client_close(a);
    assert_true(client_wait_gone(b, seen));
    (void)look(b, "d", 1, token);
    leave(b, "d", second);
    assert_true(clear_flag(b, "d"));
}

static void a_participant_learns_of_its_end(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = enter(a, "d");
    struct hf_ticket mine = {.id = id, .kind = HF_TICKET_PARTICIPANT};
    struct client_request *watch = client_watch(a, "d", &mine);

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    leave(b, "d", id); /* anybody may */
    assert_true(client_wait_gone(a, watch));
}

static void
a_queue_watch_at_participants_that_is_forgotten_is_silent(void **state)
{
    struct engine_client *a = client_open(fixture);
    struct engine_client *b = client_open(fixture);
    struct hf_ticket_id first = enter(b, "d");
    struct client_request *forgotten = look(b, "d", 1, 0);
    struct client_request *observer = look(b, "d", 1, 0);
    struct hf_ticket_id id;

    (void)state;
    client_forget(b, forgotten);
    id = enter(a, "d");
    assert_true(client_wait_gone(b, observer));
    client_drain(b);
    assert_int_equal(forgotten->gone, 0);
    leave(b, "d", first);
    leave(a, "d", id);
    client_close(b);
    client_close(a);
}

static void participants_of_one_name_are_not_of_another(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id first = enter(a, "beside/d");
    struct hf_ticket_id second = enter(a, "beside/e");
    uint64_t token;

    (void)state;
    refuse(a, "beside/d", first, 2);
    token = make_generation(a, "beside/e", second, 1);
    (void)list(a, "beside/d", 1, 0);
    (void)list(a, "beside/e", 1, token);
    leave(a, "beside/d", first);
    leave(a, "beside/e", second);
    assert_true(clear_flag(a, "beside/e"));
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
    (void)snprintf(whole, sizeof(whole), "%s: double barriers", name);
    return RUN_SUITE(whole, tests);
}
