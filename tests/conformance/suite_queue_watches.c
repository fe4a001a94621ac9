/* SPDX-License-Identifier: Apache-2.0 */
/* Queue watches: a list, and one event when the queue is not what was
 * listed. */
#include <stdio.h>

#include "cmocka/runner.h"
#include "conformance/suite.h"

static struct client_request *look(struct engine_client *client,
                                   const char *queue, size_t expected)
{
    return list_showing(client, HF_REQUEST_WATCH_QUEUE, queue, expected);
}

/* Look until nothing is listed.  An event may come for nothing: a notice may
 * come twice, and end the next watch as well. */
static void wait_until_empty(struct engine_client *client, const char *queue)
{
    struct hf_ticket_id nobody = {{0}};
    struct client_request *seen;

    for (;;) {
        seen = client_ask(client, HF_REQUEST_WATCH_QUEUE, queue, nobody);
        assert_int_equal(seen->answer, HF_EVENT_LISTED);
        if (seen->count == 0)
            return;
        assert_true(client_wait_gone(client, seen));
    }
}

static void a_queue_watch_reports_a_ticket_that_goes(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id ids[2] = {fresh_id(), fresh_id()};
    struct client_request *seen;

    (void)state;
    (void)client_enqueue(a, "q", ids[0], HF_TICKET_MUTEX, "first");
    (void)enqueue_mutex(a, "q", ids[1]);
    seen = look(b, "q", 2);
    assert_non_null(client_request_find(seen, ids[1]));
    assert_true(hf_ticket_id_equal(&seen->tickets[0].id, &ids[0]));
    assert_string_equal(seen->tickets[0].payload, "first");
    assert_int_equal(seen->tickets[0].weight, 1);
    client_drain(b);
    assert_int_equal(seen->gone, 0);
    remove_mutex(a, "q", ids[1]); /* not the first: any will do */
    assert_true(client_wait_gone(b, seen));
    seen = look(b, "q", 1);
    remove_mutex(a, "q", ids[0]);
    assert_true(client_wait_gone(b, seen));
    (void)look(b, "q", 0);
}

static void a_queue_watch_reports_a_death(void **state)
{
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = fixture->victim_start(fixture, "q", id, 0);
    OPEN_CLIENT(b, fixture);
    struct client_request *seen = look(b, "q", 1);

    (void)state;
    fixture->victim_kill(fixture, victim);
    assert_true(client_wait_gone(b, seen));
    (void)look(b, "q", 0);
}

static void each_queue_watch_is_reported_once(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *looks[3];

    (void)state;
    (void)enqueue_mutex(a, "q", id);
    looks[0] = look(a, "q", 1); /* one of them is the owner */
    looks[1] = look(b, "q", 1);
    looks[2] = look(b, "q", 1);
    remove_mutex(a, "q", id);
    assert_true(client_wait_gone(a, looks[0]));
    assert_true(client_wait_gone(b, looks[1]));
    assert_true(client_wait_gone(b, looks[2]));
    (void)enqueue_mutex(b, "q", fresh_id());
    client_drain(a);
    client_drain(b);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(looks[i]->gone, 1);
}

static void a_look_beside_a_watch(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *seen, *watch;

    (void)state;
    (void)enqueue_mutex(a, "q", id);
    seen = look(b, "q", 1);
    watch = client_ask(b, HF_REQUEST_WATCH, "q", id);
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    remove_mutex(a, "q", id);
    assert_true(client_wait_gone(b, seen));
    assert_true(client_wait_gone(b, watch));
}

static void a_forgotten_look_is_silent(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket_id nobody = {{0}};
    struct client_request *late, *early, *observer;

    (void)state;
    (void)enqueue_mutex(a, "q", id);
    late = look(b, "q", 1);
    client_forget(b, late);
    early = client_start(b, HF_REQUEST_WATCH_QUEUE, "q", nobody);
    client_forget(b, early);
    observer = look(b, "q", 1);
    remove_mutex(a, "q", id);
    assert_true(client_wait_gone(b, observer));
    client_drain(b);
    assert_int_equal(late->gone, 0);
    assert_int_equal(early->gone, 0);
}

/* It need not exist; and the name may have several parts. */
static void a_queue_watch_of_an_empty_queue_reports_who_comes(void **state)
{
    static const char *const queues[] = {"never", "deep/er/never"};
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *forgotten, *left;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        forgotten = look(b, queues[i], 0);
        left = look(b, queues[i], 0);
        client_drain(b);
        assert_int_equal(forgotten->gone + left->gone, 0);
        client_forget(b, forgotten);
        (void)enqueue_mutex(a, queues[i], fresh_id());
        assert_true(client_wait_gone(b, left));
        (void)look(b, queues[i], 1);
        client_drain(b);
        assert_int_equal(forgotten->gone, 0);
    }
}

/* Behind tickets of another client, and of its own; also when the queue was
 * not always empty. */
static void a_queue_watch_reports_a_ticket_that_comes(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id ids[3] = {fresh_id(), fresh_id(), fresh_id()};
    struct client_request *seen;

    (void)state;
    (void)enqueue_mutex(a, "q", ids[0]);
    seen = look(b, "q", 1);
    client_drain(b);
    assert_int_equal(seen->gone, 0);
    (void)enqueue_mutex(a, "q", ids[1]);
    assert_true(client_wait_gone(b, seen));
    seen = look(b, "q", 2);
    (void)enqueue_mutex(b, "q", ids[2]);
    assert_true(client_wait_gone(b, seen));
    remove_mutex(a, "q", ids[0]);
    remove_mutex(a, "q", ids[1]);
    seen = look(b, "q", 1);
    remove_mutex(b, "q", ids[2]);
    assert_true(client_wait_gone(b, seen));
    seen = look(b, "q", 0);
    (void)enqueue_mutex(b, "q", fresh_id());
    assert_true(client_wait_gone(b, seen));
}

static void a_queue_watch_reports_the_ticket_of_a_new_client(void **state)
{
    OPEN_CLIENT(b, fixture);
    struct client_request *seen = look(b, "q", 0);
    struct victim *victim = fixture->victim_start(fixture, "q", fresh_id(), 0);

    (void)state;
    assert_true(client_wait_gone(b, seen));
    (void)look(b, "q", 1);
    fixture->victim_kill(fixture, victim);
    wait_until_empty(b, "q");
}

static void a_queue_watch_reports_a_downgrade(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *seen;

    (void)state;
    if (conformance_shown(fixture, HF_TICKET_WRITE) == 0)
        return;
    (void)client_enqueue(a, "q", id, HF_TICKET_WRITE, "");
    seen = look(b, "q", 1);
    client_drain(b);
    assert_int_equal(seen->gone, 0);
    assert_int_equal(client_ask(a, HF_REQUEST_DOWNGRADE, "q", id)->answer,
                     HF_EVENT_DOWNGRADED);
    assert_true(client_wait_gone(b, seen));
    seen = look(b, "q", 1);
    assert_int_equal(seen->tickets[0].kind, HF_TICKET_READ);
}

/* The text of a ticket is for people, and a request to release it is for its
 * owner: neither changes the queue, not even that of a read ticket.  Each kind
 * has its own queue: a late notice of the kind before must not be seen. */
static void a_queue_watch_reports_no_text(void **state)
{
    static const enum hf_ticket_kind kinds[] = {HF_TICKET_MUTEX,
                                                HF_TICKET_READ};
    static const char *const queues[] = {"q", "r"};
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *seen, *own;
    struct hf_ticket_id id;
    struct hf_ticket ticket;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (conformance_shown(fixture, kinds[i]) == 0)
            continue;
        id = fresh_id();
        (void)client_enqueue(a, queues[i], id, kinds[i], "first");
        seen = look(b, queues[i], 1);
        ticket = seen->tickets[0];
        ticket.kind = kinds[i];
        own = client_watch(a, queues[i], &ticket);
        assert_true(client_describe(a, queues[i], &ticket, "second")->found);
        assert_true(client_ask(b, HF_REQUEST_REVOKE, queues[i], id)->found);
        assert_true(client_wait_revoked(a, own, 0));
        client_drain(b);
        assert_int_equal(seen->gone, 0);
        remove_mutex(a, queues[i], id);
        assert_true(client_wait_gone(b, seen));
    }
}

/* Nothing is missed while the connection is away. */
static void a_queue_watch_reports_what_came_without_the_link(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *seen = look(b, "q", 0);

    (void)state;
    fixture->cut(fixture);
    client_wait_suspended(a);
    client_wait_suspended(b);
    client_wait_connected(a);
    (void)enqueue_mutex(a, "q", fresh_id());
    assert_true(client_wait_gone(b, seen));
    client_wait_connected(b);
    (void)look(b, "q", 1);
}

static void looks_and_watches_survive_the_link(void **state)
{
    struct engine_client *a, *b;
    struct hf_ticket_id ids[2] = {fresh_id(), fresh_id()};
    struct client_request *looks[2], *watch;

    (void)state;
    a = client_open(fixture);
    b = client_open(fixture);
    (void)enqueue_mutex(a, "q", ids[0]);
    (void)client_lease(a, "r/leases", ids[1], 2);
    looks[0] = look(b, "q", 1);
    looks[1] = look(b, "r/leases", 1);
    watch = client_watch(b, "r/leases", client_request_find(looks[1], ids[1]));
    fixture->cut(fixture);
    client_wait_suspended(a);
    client_wait_suspended(b);
    client_wait_connected(a);
    client_wait_connected(b);
    client_drain(b);
    assert_int_equal(looks[0]->gone + looks[1]->gone + watch->gone, 0);
    remove_mutex(a, "r/leases", ids[1]);
    assert_true(client_wait_gone(b, looks[1]));
    assert_true(client_wait_gone(b, watch));
    remove_mutex(a, "q", ids[0]);
    assert_true(client_wait_gone(b, looks[0]));
    client_close(b);
    client_close(a);
}

int suite_run_queue_watches(const char *name)
{
    const struct CMUnitTest tests[] = {
        SUITE_TEST(a_queue_watch_reports_a_ticket_that_goes),
        SUITE_TEST(a_queue_watch_reports_a_death),
        SUITE_TEST(each_queue_watch_is_reported_once),
        SUITE_TEST(a_look_beside_a_watch),
        SUITE_TEST(a_forgotten_look_is_silent),
        SUITE_TEST(a_queue_watch_of_an_empty_queue_reports_who_comes),
        SUITE_TEST(a_queue_watch_reports_a_ticket_that_comes),
        SUITE_TEST(a_queue_watch_reports_the_ticket_of_a_new_client),
        SUITE_TEST(a_queue_watch_reports_a_downgrade),
        SUITE_TEST(a_queue_watch_reports_no_text),
        /* The last ones, for engines with connections that can be cut. */
        SUITE_TEST(a_queue_watch_reports_what_came_without_the_link),
        SUITE_TEST(looks_and_watches_survive_the_link),
    };
    size_t count = sizeof(tests) / sizeof(tests[0]);
    char whole[128];

    (void)snprintf(whole, sizeof(whole), "%s: queue watches", name);
    return test_run(whole, tests, fixture->cut != NULL ? count : count - 2,
                    NULL, NULL);
}
