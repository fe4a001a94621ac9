/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers: a flag that belongs to no session is set, cleared and watched. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"
#include "conformance/suite.h"

static void find_flag(struct engine_client *client, enum hf_request_kind kind,
                      const char *queue, bool found)
{
    struct client_request *request = client_barrier(client, kind, queue);

    assert_int_equal(request->answer, HF_EVENT_FLAG_UPDATED);
    assert_int_equal(request->found, found);
}

static void set_it(struct engine_client *client, const char *queue)
{
    find_flag(client, HF_REQUEST_SET_FLAG, queue, false);
}

static void clear_it(struct engine_client *client, const char *queue)
{
    find_flag(client, HF_REQUEST_CLEAR_FLAG, queue, true);
}

static struct client_request *look(struct engine_client *client,
                                   const char *queue, bool up)
{
    struct client_request *request =
        client_barrier(client, HF_REQUEST_WATCH_QUEUE, queue);

    assert_int_equal(request->answer, HF_EVENT_LISTED);
    assert_int_equal(request->count, up ? 1 : 0);
    if (up)
        assert_int_equal(request->tickets[0].kind, HF_TICKET_BARRIER);
    return request;
}

static void a_barrier_is_down_at_first(void **state)
{
    OPEN_CLIENT(a, fixture);

    (void)state;
    (void)look(a, "b", false);
    find_flag(a, HF_REQUEST_CLEAR_FLAG, "b", false);
}

static void setting_and_clearing_may_be_repeated(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);

    (void)state;
    set_it(a, "b");
    find_flag(a, HF_REQUEST_SET_FLAG, "b", true);
    find_flag(b, HF_REQUEST_SET_FLAG, "b", true);
    (void)look(b, "b", true);
    clear_it(b, "b"); /* anybody may */
    find_flag(a, HF_REQUEST_CLEAR_FLAG, "b", false);
    (void)look(a, "b", false);
}

static void a_queue_watch_reports_when_it_is_cleared(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *looks[3];

    (void)state;
    set_it(a, "b");
    looks[0] = look(a, "b", true); /* one of them clears it */
    looks[1] = look(b, "b", true);
    looks[2] = look(b, "b", true);
    client_drain(b);
    assert_int_equal(looks[1]->gone, 0);
    clear_it(a, "b");
    assert_true(client_wait_gone(a, looks[0]));
    assert_true(client_wait_gone(b, looks[1]));
    assert_true(client_wait_gone(b, looks[2]));
    set_it(a, "b");
    clear_it(a, "b");
    client_drain(a);
    client_drain(b);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(looks[i]->gone, 1);
}

/* A flag that is set right after another one was cleared is not taken for
 * that one. */
static void each_setting_is_another(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket first, second;
    struct client_request *seen;

    (void)state;
    set_it(a, "b");
    seen = look(b, "b", true);
    first = seen->tickets[0];
    second = look(a, "b", true)->tickets[0];
    assert_true(hf_ticket_id_equal(&first.id, &second.id));
    assert_int_equal(first.token, second.token);
    clear_it(a, "b");
    set_it(a, "b");
    assert_true(client_wait_gone(b, seen));
    second = look(b, "b", true)->tickets[0];
    assert_true(!hf_ticket_id_equal(&first.id, &second.id) ||
                first.token != second.token);
    clear_it(b, "b");
}

/* What a client asks for without waiting for answers is done in order. */
static void requests_of_a_barrier_keep_their_order(void **state)
{
    static const struct {
        enum hf_request_kind kind;
        bool found; /* of a watch: it is set */
    } steps[] = {
        {HF_REQUEST_WATCH_QUEUE, false}, {HF_REQUEST_SET_FLAG, false},
        {HF_REQUEST_SET_FLAG, true},     {HF_REQUEST_CLEAR_FLAG, true},
        {HF_REQUEST_CLEAR_FLAG, false},  {HF_REQUEST_WATCH_QUEUE, false},
        {HF_REQUEST_SET_FLAG, false},    {HF_REQUEST_WATCH_QUEUE, true},
        {HF_REQUEST_SET_FLAG, true},     {HF_REQUEST_WATCH_QUEUE, true},
    };
    struct client_request *requests[sizeof steps / sizeof steps[0]];
    OPEN_CLIENT(a, fixture);

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        requests[i] = client_start_barrier(a, steps[i].kind, "b");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        (void)client_wait(a, requests[i]);
        if (steps[i].kind == HF_REQUEST_WATCH_QUEUE)
            assert_int_equal(requests[i]->count, steps[i].found ? 1 : 0);
        else
            assert_int_equal(requests[i]->found, steps[i].found);
    }
    clear_it(a, "b");
    assert_true(client_wait_gone(a, requests[7]));
    assert_true(client_wait_gone(a, requests[9]));
}

/* Those that are asked for together are answered when the first of them is not
 * wanted any more. */
static void a_forgotten_look_leaves_the_others(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct client_request *looks[4];

    (void)state;
    set_it(a, "b");
    for (size_t i = 0; i < 4; i++)
        looks[i] = client_start_barrier(a, HF_REQUEST_WATCH_QUEUE, "b");
    client_forget(a, looks[0]);
    client_forget(a, looks[2]);
    assert_int_equal(client_wait(a, looks[1])->count, 1);
    assert_int_equal(client_wait(a, looks[3])->count, 1);
    clear_it(a, "b");
    assert_true(client_wait_gone(a, looks[1]));
    assert_true(client_wait_gone(a, looks[3]));
    client_drain(a);
    assert_int_equal(looks[0]->gone + looks[2]->gone, 0);
}

static void a_barrier_outlives_who_set_it(void **state)
{
    struct engine_client *a = client_open(fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *seen;

    (void)state;
    set_it(a, "b");
    seen = look(b, "b", true);
    client_close(a);
    client_drain(b);
    assert_int_equal(seen->gone, 0);
    a = client_open(fixture);
    (void)look(a, "b", true);
    clear_it(a, "b");
    assert_true(client_wait_gone(b, seen));
    client_close(a);
}

static void a_forgotten_look_at_a_barrier_is_silent(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *late, *early, *down, *observer;

    (void)state;
    down = look(b, "b", false);
    client_forget(b, down);
    set_it(a, "b");
    late = look(b, "b", true);
    client_forget(b, late);
    early = client_start_barrier(b, HF_REQUEST_WATCH_QUEUE, "b");
    client_forget(b, early);
    observer = look(b, "b", true);
    clear_it(a, "b");
    assert_true(client_wait_gone(b, observer));
    client_drain(b);
    assert_int_equal(down->gone + late->gone + early->gone, 0);
}

static void the_end_takes_looks_at_barriers_along(void **state)
{
    struct engine_client *a = client_open(fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *seen;

    (void)state;
    set_it(a, "b");
    (void)look(a, "b", true);
    seen = look(b, "b", true);
    client_close(a);
    clear_it(b, "b");
    assert_true(client_wait_gone(b, seen));
}

/* A lock of the name does not block at the barrier, and a waiter at the
 * barrier holds no lock. */
static void barriers_are_no_queues(void **state)
{
    struct hf_ticket_id id = fresh_id();
    OPEN_CLIENT(a, fixture);
    struct client_request *seen;

    (void)state;
    set_it(a, "beside/b");
    seen = look(a, "beside/b", true);
    (void)enqueue_mutex(a, "beside/q", id);
    remove_mutex(a, "beside/q", id);
    client_drain(a);
    assert_int_equal(seen->gone, 0);
    clear_it(a, "beside/b");
    assert_true(client_wait_gone(a, seen));
}

static void odd_names_of_barriers_do_not_collide(void **state)
{
    static char longest[2][HF_NAME_BYTES + 1];
    OPEN_CLIENT(a, fixture);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        memset(longest[i], 'n', HF_NAME_BYTES);
        for (size_t at = 200; at < HF_NAME_BYTES; at += 200)
            longest[i][at] = '/';
        longest[i][HF_NAME_BYTES - 1] = (char)('1' + i);
    }
    set_it(a, longest[0]);
    (void)look(a, longest[1], false);
    set_it(a, longest[1]);
    clear_it(a, longest[0]);
    (void)look(a, longest[0], false);
    (void)look(a, longest[1], true);
    clear_it(a, longest[1]);
    set_it(a, "with space%2F\xc3\xa9");
    (void)look(a, "with space%2F\xc3\xa9", true);
    clear_it(a, "with space%2F\xc3\xa9");
}

static void a_barrier_survives_the_link(void **state)
{
    struct engine_client *a, *b;
    struct client_request *seen, *request;

    (void)state;
    a = client_open(fixture);
    b = client_open(fixture);
    set_it(a, "b");
    seen = look(b, "b", true);
    fixture->cut(fixture);
    client_wait_suspended(b);
    client_wait_connected(b);
    do { /* the other one may not have noticed yet */
        client_wait_connected(a);
        request = client_barrier(a, HF_REQUEST_CLEAR_FLAG, "b");
    } while (request->answer == HF_EVENT_FAILED);
    assert_true(client_wait_gone(b, seen));
    client_close(b);
    client_close(a);
}

int suite_run_barriers(const char *name)
{
    const struct CMUnitTest tests[] = {
        SUITE_TEST(a_barrier_is_down_at_first),
        SUITE_TEST(setting_and_clearing_may_be_repeated),
        SUITE_TEST(a_queue_watch_reports_when_it_is_cleared),
        SUITE_TEST(each_setting_is_another),
        SUITE_TEST(requests_of_a_barrier_keep_their_order),
        SUITE_TEST(a_forgotten_look_leaves_the_others),
        SUITE_TEST(a_barrier_outlives_who_set_it),
        SUITE_TEST(a_forgotten_look_at_a_barrier_is_silent),
        SUITE_TEST(the_end_takes_looks_at_barriers_along),
        SUITE_TEST(barriers_are_no_queues),
        SUITE_TEST(odd_names_of_barriers_do_not_collide),
        /* The last one, for engines with connections that can be cut. */
        SUITE_TEST(a_barrier_survives_the_link),
    };
    size_t count = sizeof(tests) / sizeof(tests[0]);
    char whole[128];

    (void)snprintf(whole, sizeof(whole), "%s: barriers", name);
    return test_run(whole, tests, fixture->cut != NULL ? count : count - 1,
                    NULL, NULL);
}
