/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: leases of several permits. */
#include <stdint.h>
#include <stdio.h>

#include "cmocka/runner.h"
#include "conformance/suite.h"

/* Both queues of a semaphore, and a lock of either name: ids distinguish them,
 * and lists show the ids as they were given. */
static void ids_keep_their_roles(void **state)
{
    struct hf_ticket_id ids[] = {fresh_id(), fresh_id()};
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct client_request *seen;

    (void)state;
    hf_ticket_id_set_role(&ids[0], HF_ROLE_ENTRY);
    (void)client_enqueue(a, "n/locks", ids[0], HF_TICKET_MUTEX, "");
    (void)enqueue_mutex(a, "n", ids[1]); /* another queue */
    seen = list_showing(b, HF_REQUEST_WATCH_QUEUE, "n/locks", 1);
    assert_int_equal(hf_ticket_id_role(&seen->tickets[0].id), HF_ROLE_ENTRY);
    remove_mutex(a, "n", ids[1]);
    remove_mutex(a, "n/locks", ids[0]);
}

static struct client_request *take_lease(struct engine_client *client,
                                         struct hf_ticket_id id,
                                         uint32_t weight)
{
    struct client_request *request =
        client_lease(client, "s/leases", id, weight);

    assert_string_equal(request->text, "");
    assert_int_equal(request->answer, HF_EVENT_ENQUEUED);
    assert_non_null(client_request_find(request, id));
    assert_int_equal(client_request_find(request, id)->weight, weight);
    assert_int_equal(client_request_find(request, id)->kind, HF_TICKET_LEASE);
    return request;
}

static void leases_are_tickets_with_a_weight(void **state)
{
    static const uint32_t weights[] = {1, 3, HF_WEIGHT_MAX, 1};
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id ids[4];
    uint64_t token = 0;
    struct client_request *list;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        ids[i] = fresh_id();
        list = take_lease(i % 2 == 0 ? a : b, ids[i], weights[i]);
        assert_true(token_of(list, ids[i]) > token);
        token = token_of(list, ids[i]);
    }
    list = client_detailed_list(b, "s/leases");
    assert_int_equal(list->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct hf_ticket *lease = client_request_find(list, ids[i]);

        assert_non_null(lease);
        assert_true(lease == &list->tickets[i] ||
                    fixture->leases_have_no_order);
        assert_int_equal(lease->weight, weights[i]);
        assert_int_equal(lease->kind, HF_TICKET_LEASE);
    }
    remove_mutex(a, "s/leases", ids[2]);
    remove_mutex(b, "s/leases", ids[1]);
    list = list_showing(a, HF_REQUEST_WATCH_QUEUE, "s/leases", 2);
    assert_int_equal(list->tickets[0].weight + list->tickets[1].weight, 2);
}

static void a_lease_is_found_again(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    uint64_t token = token_of(take_lease(a, id, 3), id);
    struct client_request *again = take_lease(a, id, 3);
    struct hf_ticket_id nobody = {{0}};

    (void)state;
    assert_int_equal(again->count, 1);
    assert_true(token_of(again, id) == token);
    again = client_ask(a, HF_REQUEST_PROVE, NULL, nobody);
    assert_true(again->answer == HF_EVENT_PROVEN ||
                again->answer == HF_EVENT_FAILED);
    remove_mutex(a, "s/leases", id);
    expect_length(a, "s/leases", 0);
    again = client_ask(a, HF_REQUEST_REMOVE, "s/leases", id);
    assert_int_equal(again->answer, HF_EVENT_REMOVED);
    assert_false(again->found);
}

static void a_lease_goes_as_one(void **state)
{
    OPEN_CLIENT(a, fixture);
    OPEN_CLIENT(b, fixture);
    struct hf_ticket_id id = fresh_id();
    const struct hf_ticket *lease;
    struct client_request *own, *other, *seen, *forgotten;

    (void)state;
    lease = client_request_find(take_lease(a, id, 3), id);
    own = client_watch(a, "s/leases", lease);
    other = client_watch(b, "s/leases", lease);
    forgotten = client_watch(b, "s/leases", lease);
    client_forget(b, forgotten);
    seen = list_showing(b, HF_REQUEST_WATCH_QUEUE, "s/leases", 1);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    assert_int_equal(other->answer, HF_EVENT_WATCHING);
    remove_mutex(a, "s/leases", id);
    assert_true(client_wait_gone(a, own));
    assert_true(client_wait_gone(b, other));
    assert_true(client_wait_gone(b, seen));
    expect_length(b, "s/leases", 0);
    client_drain(a);
    client_drain(b);
    assert_int_equal(own->gone + other->gone + seen->gone, 3);
    assert_int_equal(forgotten->gone, 0);
}

static void a_dead_owner_leaves_no_lease(void **state)
{
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = fixture->victim_start(fixture, "s/leases", id, 3);
    OPEN_CLIENT(b, fixture);
    struct client_request *seen =
        list_showing(b, HF_REQUEST_WATCH_QUEUE, "s/leases", 1);
    struct client_request *watch =
        client_watch(b, "s/leases", client_request_find(seen, id));

    (void)state;
    assert_int_equal(seen->tickets[0].weight, 3);
    fixture->victim_kill(fixture, victim);
    assert_true(client_wait_gone(b, watch));
    assert_true(client_wait_gone(b, seen));
    expect_length(b, "s/leases", 0);
}

/* One of its nodes may be left, which its owner removes. */
static void a_lease_taken_by_force_is_gone(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = take_lease(a, id, 3);
    struct client_request *watch =
        client_watch(a, "s/leases", client_request_find(request, id));

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    fixture->evict(fixture, "s/leases", client_request_find(request, id));
    assert_true(client_wait_gone(a, watch));
    request = client_ask(a, HF_REQUEST_REMOVE, "s/leases", id);
    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    expect_length(a, "s/leases", 0);
    client_drain(a);
    assert_int_equal(watch->gone, 1);
}

/* Also when no client was watching: a list does not show it to its owner. */
static void a_lease_that_was_taken_is_not_listed(void **state)
{
    OPEN_CLIENT(a, fixture);
    struct hf_ticket_id id = fresh_id();
    struct client_request *request = take_lease(a, id, 3);

    (void)state;
    fixture->evict(fixture, "s/leases", client_request_find(request, id));
    for (unsigned i = 0; i < 3; i++)
        client_drain(a);
    request = client_ask(a, HF_REQUEST_LIST, "s/leases", id);
    assert_int_equal(request->answer, HF_EVENT_LISTED);
    assert_null(client_request_find(request, id));
    request = client_ask(a, HF_REQUEST_REMOVE, "s/leases", id);
    assert_int_equal(request->answer, HF_EVENT_REMOVED);
    expect_length(a, "s/leases", 0);
}

int suite_run_semaphores(const char *name)
{
    const struct CMUnitTest tests[] = {
        SUITE_TEST(ids_keep_their_roles),
        SUITE_TEST(leases_are_tickets_with_a_weight),
        SUITE_TEST(a_lease_is_found_again),
        SUITE_TEST(a_lease_goes_as_one),
        SUITE_TEST(a_dead_owner_leaves_no_lease),
        SUITE_TEST(a_lease_taken_by_force_is_gone),
        SUITE_TEST(a_lease_that_was_taken_is_not_listed),
    };
    char whole[128];

    (void)snprintf(whole, sizeof(whole), "%s: semaphores", name);
    return RUN_SUITE(whole, tests);
}
