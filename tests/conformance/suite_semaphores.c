/* SPDX-License-Identifier: Apache-2.0 */
/* What semaphores ask of an engine: to look at a queue, and leases in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "conformance/suite.h"

/* -------------------------------------------------------------- looking -- */

static struct call *look(struct seat *seat, const char *queue, size_t expected)
{
    return shows(seat, HF_REQUEST_WATCH_QUEUE, queue, expected);
}

static void a_look_is_told_of_a_ticket_that_goes(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id ids[2] = {fresh_id(), fresh_id()};
    struct call *seen;

    (void)state;
    (void)seat_enqueue(a, "q", ids[0], HF_TICKET_MUTEX, "first");
    (void)take_place(a, "q", ids[1]);
    seen = look(b, "q", 2);
    assert_non_null(call_find(seen, ids[1]));
    assert_true(hf_ticket_id_equal(&seen->tickets[0].id, &ids[0]));
    assert_string_equal(seen->tickets[0].payload, "first");
    assert_int_equal(seen->tickets[0].weight, 1);
    seat_settle(b);
    assert_int_equal(seen->gone, 0);
    leave_place(a, "q", ids[1]); /* not the first: any will do */
    assert_true(seat_sees_gone(b, seen));
    seen = look(b, "q", 1);
    leave_place(a, "q", ids[0]);
    assert_true(seat_sees_gone(b, seen));
    (void)look(b, "q", 0);
    seat_close(b);
    seat_close(a);
}

/* Both queues of a semaphore and a lock of either name: the ids tell them
 * apart, and come back as they were given. */
static void ids_keep_their_roles(void **state)
{
    struct hf_ticket_id ids[] = {fresh_id(), fresh_id()};
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct call *seen;

    (void)state;
    hf_ticket_id_set_role(&ids[0], HF_ROLE_ENTRY);
    (void)seat_enqueue(a, "n/locks", ids[0], HF_TICKET_MUTEX, "");
    (void)take_place(a, "n", ids[1]); /* another queue */
    seen = look(b, "n/locks", 1);
    assert_int_equal(hf_ticket_id_role(&seen->tickets[0].id), HF_ROLE_ENTRY);
    leave_place(a, "n", ids[1]);
    leave_place(a, "n/locks", ids[0]);
    seat_close(b);
    seat_close(a);
}

static void a_look_is_told_of_a_death(void **state)
{
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = bench->victim_start(bench, "q", id, 0);
    struct seat *b = seat_open(bench);
    struct call *seen = look(b, "q", 1);

    (void)state;
    bench->victim_kill(bench, victim);
    assert_true(seat_sees_gone(b, seen));
    (void)look(b, "q", 0);
    seat_close(b);
}

static void each_look_is_told_once(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *looks[3];

    (void)state;
    (void)take_place(a, "q", id);
    looks[0] = look(a, "q", 1); /* one of them is the owner */
    looks[1] = look(b, "q", 1);
    looks[2] = look(b, "q", 1);
    leave_place(a, "q", id);
    assert_true(seat_sees_gone(a, looks[0]));
    assert_true(seat_sees_gone(b, looks[1]));
    assert_true(seat_sees_gone(b, looks[2]));
    (void)take_place(b, "q", fresh_id());
    seat_settle(a);
    seat_settle(b);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(looks[i]->gone, 1);
    seat_close(b);
    seat_close(a);
}

static void a_look_beside_a_watch(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *seen, *watch;

    (void)state;
    (void)take_place(a, "q", id);
    seen = look(b, "q", 1);
    watch = seat_ask(b, HF_REQUEST_WATCH, "q", id);
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    leave_place(a, "q", id);
    assert_true(seat_sees_gone(b, seen));
    assert_true(seat_sees_gone(b, watch));
    seat_close(b);
    seat_close(a);
}

static void a_forgotten_look_is_silent(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct hf_ticket_id nobody = {{0}};
    struct call *late, *early, *witness;

    (void)state;
    (void)take_place(a, "q", id);
    late = look(b, "q", 1);
    seat_forget(b, late);
    early = seat_ask_only(b, HF_REQUEST_WATCH_QUEUE, "q", nobody);
    seat_forget(b, early);
    witness = look(b, "q", 1);
    leave_place(a, "q", id);
    assert_true(seat_sees_gone(b, witness));
    seat_settle(b);
    assert_int_equal(late->gone, 0);
    assert_int_equal(early->gone, 0);
    seat_close(b);
    seat_close(a);
}

/* Of nobody nobody can go. */
static void an_empty_queue_is_looked_at(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct call *forgotten, *left;
    struct hf_ticket_id id = fresh_id();

    (void)state;
    forgotten = look(b, "never", 0);
    left = look(b, "never", 0);
    seat_settle(b);
    assert_int_equal(forgotten->gone + left->gone, 0);
    seat_forget(b, forgotten);
    (void)take_place(a, "never", id);
    (void)look(b, "never", 1);
    seat_close(b);
    seat_close(a);
}

static void looks_and_watches_survive_the_link(void **state)
{
    struct seat *a, *b;
    struct hf_ticket_id ids[2] = {fresh_id(), fresh_id()};
    struct call *looks[2], *watch;

    (void)state;
    if (bench->cut == NULL)
        skip();
    a = seat_open(bench);
    b = seat_open(bench);
    (void)take_place(a, "q", ids[0]);
    (void)seat_lease(a, "r/leases", ids[1], 2);
    looks[0] = look(b, "q", 1);
    looks[1] = look(b, "r/leases", 1);
    watch = seat_watch(b, "r/leases", call_find(looks[1], ids[1]));
    bench->cut(bench);
    seat_wait_suspended(a);
    seat_wait_suspended(b);
    seat_wait_connected(a);
    seat_wait_connected(b);
    seat_settle(b);
    assert_int_equal(looks[0]->gone + looks[1]->gone + watch->gone, 0);
    leave_place(a, "r/leases", ids[1]);
    assert_true(seat_sees_gone(b, looks[1]));
    assert_true(seat_sees_gone(b, watch));
    leave_place(a, "q", ids[0]);
    assert_true(seat_sees_gone(b, looks[0]));
    seat_close(b);
    seat_close(a);
}

/* --------------------------------------------------------------- leases -- */

static struct call *take_lease(struct seat *seat, struct hf_ticket_id id,
                               uint32_t weight)
{
    struct call *call = seat_lease(seat, "s/leases", id, weight);

    assert_string_equal(call->text, "");
    assert_int_equal(call->answer, HF_EVENT_ENQUEUED);
    assert_non_null(call_find(call, id));
    assert_int_equal(call_find(call, id)->weight, weight);
    assert_int_equal(call_find(call, id)->kind, HF_TICKET_LEASE);
    return call;
}

static void leases_are_tickets_with_a_weight(void **state)
{
    static const uint32_t weights[] = {1, 3, HF_WEIGHT_MAX, 1};
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id ids[4];
    uint64_t token = 0;
    struct call *list;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        ids[i] = fresh_id();
        list = take_lease(i % 2 == 0 ? a : b, ids[i], weights[i]);
        assert_true(token_of(list, ids[i]) > token);
        token = token_of(list, ids[i]);
    }
    list = seat_look(b, "s/leases");
    assert_int_equal(list->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct hf_ticket *lease = call_find(list, ids[i]);

        assert_non_null(lease);
        assert_true(lease == &list->tickets[i] || bench->leases_have_no_order);
        assert_int_equal(lease->weight, weights[i]);
        assert_int_equal(lease->kind, HF_TICKET_LEASE);
    }
    leave_place(a, "s/leases", ids[2]);
    leave_place(b, "s/leases", ids[1]);
    list = look(a, "s/leases", 2);
    assert_int_equal(list->tickets[0].weight + list->tickets[1].weight, 2);
    seat_close(b);
    seat_close(a);
}

static void a_lease_is_found_again(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    uint64_t token = token_of(take_lease(a, id, 3), id);
    struct call *again = take_lease(a, id, 3);
    struct hf_ticket_id nobody = {{0}};

    (void)state;
    assert_int_equal(again->count, 1);
    assert_true(token_of(again, id) == token);
    again = seat_ask(a, HF_REQUEST_PROVE, NULL, nobody);
    assert_true(again->answer == HF_EVENT_PROVEN ||
                again->answer == HF_EVENT_FAILED);
    leave_place(a, "s/leases", id);
    expect_length(a, "s/leases", 0);
    again = seat_ask(a, HF_REQUEST_REMOVE, "s/leases", id);
    assert_int_equal(again->answer, HF_EVENT_REMOVED);
    assert_false(again->found);
    seat_close(a);
}

static void a_lease_goes_as_one(void **state)
{
    struct seat *a = seat_open(bench);
    struct seat *b = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    const struct hf_ticket *lease;
    struct call *own, *other, *seen, *forgotten;

    (void)state;
    lease = call_find(take_lease(a, id, 3), id);
    own = seat_watch(a, "s/leases", lease);
    other = seat_watch(b, "s/leases", lease);
    forgotten = seat_watch(b, "s/leases", lease);
    seat_forget(b, forgotten);
    seen = look(b, "s/leases", 1);
    assert_int_equal(own->answer, HF_EVENT_WATCHING);
    assert_int_equal(other->answer, HF_EVENT_WATCHING);
    leave_place(a, "s/leases", id);
    assert_true(seat_sees_gone(a, own));
    assert_true(seat_sees_gone(b, other));
    assert_true(seat_sees_gone(b, seen));
    expect_length(b, "s/leases", 0);
    seat_settle(a);
    seat_settle(b);
    assert_int_equal(own->gone + other->gone + seen->gone, 3);
    assert_int_equal(forgotten->gone, 0);
    seat_close(b);
    seat_close(a);
}

static void a_dead_owner_leaves_no_lease(void **state)
{
    struct hf_ticket_id id = fresh_id();
    struct victim *victim = bench->victim_start(bench, "s/leases", id, 3);
    struct seat *b = seat_open(bench);
    struct call *seen = look(b, "s/leases", 1);
    struct call *watch = seat_watch(b, "s/leases", call_find(seen, id));

    (void)state;
    assert_int_equal(seen->tickets[0].weight, 3);
    bench->victim_kill(bench, victim);
    assert_true(seat_sees_gone(b, watch));
    assert_true(seat_sees_gone(b, seen));
    expect_length(b, "s/leases", 0);
    seat_close(b);
}

/* A part of it may be left, which its owner takes out. */
static void a_lease_taken_by_force_is_gone(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *call = take_lease(a, id, 3);
    struct call *watch = seat_watch(a, "s/leases", call_find(call, id));

    (void)state;
    assert_int_equal(watch->answer, HF_EVENT_WATCHING);
    bench->evict(bench, "s/leases", call_find(call, id));
    assert_true(seat_sees_gone(a, watch));
    call = seat_ask(a, HF_REQUEST_REMOVE, "s/leases", id);
    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    expect_length(a, "s/leases", 0);
    seat_settle(a);
    assert_int_equal(watch->gone, 1);
    seat_close(a);
}

/* Also when nobody was watching: its owner does not find it in a list. */
static void a_lease_that_was_taken_is_not_listed(void **state)
{
    struct seat *a = seat_open(bench);
    struct hf_ticket_id id = fresh_id();
    struct call *call = take_lease(a, id, 3);

    (void)state;
    bench->evict(bench, "s/leases", call_find(call, id));
    for (unsigned i = 0; i < 3; i++)
        seat_settle(a);
    call = seat_ask(a, HF_REQUEST_LIST, "s/leases", id);
    assert_int_equal(call->answer, HF_EVENT_LISTED);
    assert_null(call_find(call, id));
    call = seat_ask(a, HF_REQUEST_REMOVE, "s/leases", id);
    assert_int_equal(call->answer, HF_EVENT_REMOVED);
    expect_length(a, "s/leases", 0);
    seat_close(a);
}

int suite_run_semaphores(const char *name)
{
    const struct CMUnitTest tests[] = {
        STORY(a_look_is_told_of_a_ticket_that_goes),
        STORY(ids_keep_their_roles),
        STORY(a_look_is_told_of_a_death),
        STORY(each_look_is_told_once),
        STORY(a_look_beside_a_watch),
        STORY(a_forgotten_look_is_silent),
        STORY(an_empty_queue_is_looked_at),
        STORY(looks_and_watches_survive_the_link),
        STORY(leases_are_tickets_with_a_weight),
        STORY(a_lease_is_found_again),
        STORY(a_lease_goes_as_one),
        STORY(a_dead_owner_leaves_no_lease),
        STORY(a_lease_taken_by_force_is_gone),
        STORY(a_lease_that_was_taken_is_not_listed),
    };
    char whole[128];

    (void)snprintf(whole, sizeof(whole), "%s: semaphores", name);
    return cmocka_run_group_tests_name(whole, tests, NULL, NULL);
}
