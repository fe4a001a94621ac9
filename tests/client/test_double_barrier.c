/* SPDX-License-Identifier: Apache-2.0 */
/* Double barriers, in each way to use a client: entering and leaving again
 * and again, threads, processes, wrong calls (src/client/double_barrier.c). */
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "double_barrier_fixture.h"
#include "in_each_way.h"

/* ------------------------------------------------------- enter and leave -- */

TEST_IN_EACH_WAY(all_enter_and_all_leave)
{
    struct client_operation first;
    FIXTURE(f, way);
    for (int i = 0; i < REPEATS; i++) {
        participant_begin(&f, &first, f.mine, PARTICIPANT_ENTERS, HF_FOREVER);
        await_participants(&f, 1);
        assert_int_equal(atomic_load(&first.ended), 0);
        assert_int_equal(
            participant_run(&f, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER),
            HF_OK);
        assert_int_equal(client_operation_await(&first), HF_OK);
        participant_begin(&f, &first, i % 2 == 0 ? f.mine : f.theirs,
                          PARTICIPANT_LEAVES, HF_FOREVER);
        assert_int_equal(atomic_load(&first.ended), 0);
        assert_int_equal(participant_run(&f, i % 2 == 0 ? f.theirs : f.mine,
                                         PARTICIPANT_LEAVES, HF_FOREVER),
                         HF_OK);
        assert_int_equal(client_operation_await(&first), HF_OK);
        assert_int_equal(count_participants(&f), 0);
    }
}

TEST_IN_EACH_WAY(one_alone_is_enough_for_one)
{
    struct hf_double_barrier *alone;
    FIXTURE(f, way);
    alone = open_participant(&f, 1);
    assert_int_equal(participant_run(&f, alone, PARTICIPANT_ENTERS, 0), HF_OK);
    assert_int_equal(participant_run(&f, alone, PARTICIPANT_LEAVES, 0), HF_OK);
    assert_int_equal(participant_run(&f, alone, PARTICIPANT_ENTERS, HF_FOREVER),
                     HF_OK);
    assert_int_equal(participant_run(&f, alone, PARTICIPANT_LEAVES, HF_FOREVER),
                     HF_OK);
    hf_double_barrier_free(alone);
}

TEST_IN_EACH_WAY(the_largest_number_of_participants_is_accepted)
{
    struct hf_double_barrier *all[HF_PARTICIPANTS_MAX];
    struct hf_done nobody = {NULL, NULL, NULL};
    FIXTURE(f, way);
    for (size_t i = 0; i < HF_PARTICIPANTS_MAX; i++)
        all[i] = open_participant(&f, 60);
    for (size_t i = 0; i < 59; i++)
        assert_int_equal(
            hf_double_barrier_enter_start(all[i], HF_FOREVER, nobody, NULL),
            HF_OK);
    assert_int_equal(count_participants(&f), 59);
    assert_int_equal(
        participant_run(&f, all[59], PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    for (size_t i = 0; i < HF_PARTICIPANTS_MAX; i++)
        hf_double_barrier_free(all[i]);
    await_participants(&f, 0); /* each once it has entered */
}

/* A participant with a smaller number of participants lets in everybody who is
 * there. */
TEST_IN_EACH_WAY(the_smaller_number_is_enough)
{
    struct hf_double_barrier *three;
    struct client_operation first;
    FIXTURE(f, way);
    three = open_participant(&f, 3);
    participant_begin(&f, &first, three, PARTICIPANT_ENTERS, HF_FOREVER);
    await_participants(&f, 1);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&first), HF_OK);
    participant_begin(&f, &first, three, PARTICIPANT_LEAVES, HF_FOREVER);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_LEAVES, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&first), HF_OK);
    hf_double_barrier_free(three);
}

TEST_IN_EACH_WAY(a_wait_ends_at_its_deadline)
{
    struct client_operation operation;
    FIXTURE(f, way);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_ENTERS, 0);
    assert_int_equal(client_operation_await(&operation), HF_EBUSY);
    assert_non_null(strstr(operation.text, "1 of 2 participants are there"));
    assert_int_equal(participant_run(&f, f.mine, PARTICIPANT_ENTERS, 20),
                     HF_ETIMEDOUT);
    assert_int_equal(count_participants(&f), 0);
    both_participants(&f, PARTICIPANT_ENTERS);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES, 0);
    assert_int_equal(client_operation_await(&operation), HF_EBUSY);
    assert_non_null(strstr(operation.text, "others of the round are there"));
    assert_int_equal(count_participants(&f), 1); /* it is outside */
    assert_int_equal(participant_run(&f, f.theirs, PARTICIPANT_LEAVES, 0),
                     HF_OK);
    both_participants(&f, PARTICIPANT_ENTERS);
    participant_begin(&f, &operation, f.theirs, PARTICIPANT_LEAVES, 20);
    assert_int_equal(client_operation_await(&operation), HF_ETIMEDOUT);
    assert_non_null(
        strstr(operation.text, "others of the round were still there"));
    assert_int_equal(participant_run(&f, f.mine, PARTICIPANT_LEAVES, 0), HF_OK);
    assert_int_equal(count_participants(&f), 0);
}

/* The participant with the lowest id keeps its ticket until it is alone, the
 * others remove theirs before they wait.  The caller sees no difference. */
TEST_IN_EACH_WAY(it_waits_with_its_ticket_or_without)
{
    static const char comes[] = {SCRIPTED_FIRST_ENTERS, SCRIPTED_LAST_ENTERS};
    static const char goes[] = {SCRIPTED_FIRST_LEAVES, SCRIPTED_LAST_LEAVES};
    struct client_operation operation;
    FIXTURE(f, way);
    for (int keeps = 0; keeps < 2; keeps++) {
        send_command_first(&f, comes[keeps]);
        assert_int_equal(
            participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
        participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES,
                          HF_FOREVER);
        await_participants(&f, 1 + keeps);
        assert_int_equal(atomic_load(&operation.ended), 0);
        send_command(&f, goes[keeps]);
        assert_int_equal(client_operation_await(&operation), HF_OK);
        assert_int_equal(count_participants(&f), 0);
    }
}

/* What an earlier list showed is no failure. */
TEST_IN_EACH_WAY(a_leave_that_succeeds_has_no_error_text)
{
    struct client_operation operation;
    FIXTURE(f, way);
    send_command_first(&f, SCRIPTED_FIRST_ENTERS);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES, HF_FOREVER);
    await_participants(&f, 1);
    send_command(&f, SCRIPTED_FIRST_LEAVES);
    assert_int_equal(client_operation_await(&operation), HF_OK);
    assert_string_equal(operation.text, "");
}

/* "w" for each that waits and "i" for each inside, in order. */
static void assert_seen(struct double_barrier_fixture *f, const char *expected)
{
    const struct hf_ticket_view *view;
    char seen[8] = "";
    struct client_operation operation;

    participant_begin(f, &operation, f->mine, PARTICIPANT_LISTS, HF_FOREVER);
    assert_int_equal(client_operation_await(&operation), HF_OK);
    assert_in_range(hf_tickets_count(operation.tickets), 0, sizeof(seen) - 1);
    for (size_t i = 0; (view = hf_tickets_at(operation.tickets, i)) != NULL;
         i++) {
        assert_int_equal(view->kind, HF_KIND_PARTICIPANT);
        assert_true(view->own || strcmp(view->owner, "other") == 0);
        seen[i] = view->holds ? 'i' : 'w';
    }
    hf_tickets_free(operation.tickets);
    assert_string_equal(seen, expected);
}

TEST_IN_EACH_WAY(participants_are_listed)
{
    struct client_operation first;
    FIXTURE(f, way);
    assert_seen(&f, "");
    participant_begin(&f, &first, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER);
    await_participants(&f, 1);
    assert_seen(&f, "w");
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&first), HF_OK);
    assert_seen(&f, "ii");
    send_command_first(&f, SCRIPTED_LAST_ENTERS);
    assert_seen(&f, "iiw");
    both_participants(&f, PARTICIPANT_LEAVES);
    assert_seen(&f, "w");
}

/* Without a callback: it is inside once the callback would have run, perhaps
 * on another thread. */
static bool leaves(void *arg)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct double_barrier_fixture *f = arg;
    hf_status status =
        hf_double_barrier_leave_start(f->mine, HF_FOREVER, nobody, NULL);

    assert_true(status == HF_OK || status == HF_ESTATE);
    return status == HF_OK;
}

/* A caller that passes no callback is not notified. */
TEST_IN_EACH_WAY(the_end_needs_no_callback)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    FIXTURE(f, way);
    assert_int_equal(
        hf_double_barrier_enter_start(f.mine, HF_FOREVER, nobody, NULL), HF_OK);
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(participant_run(&f, f.theirs, PARTICIPANT_LEAVES, 20),
                     HF_ETIMEDOUT);
    await_participants(&f, 1);
    client_wait_until(&f.fixture, leaves, &f);
    await_participants(&f, 0);
}

/* ------------------------------------------------------- from a callback -- */

struct leave_chain {
    struct double_barrier_fixture *f;
    struct hf_op *op;
    _Atomic int left;
    hf_status in_callback;
    hf_status status;
};

static void on_left(void *arg, const struct hf_result *result)
{
    struct leave_chain *leave_chain = arg;

    leave_chain->status = result->status;
    atomic_store(&leave_chain->left, 1);
}

static void on_entered(void *arg, const struct hf_result *result)
{
    struct leave_chain *leave_chain = arg;
    struct hf_done done = {on_left, leave_chain, NULL};

    assert_int_equal(result->status, HF_OK);
    leave_chain->in_callback = hf_double_barrier_leave(leave_chain->f->mine, 0);
    assert_int_equal(hf_double_barrier_leave_start(leave_chain->f->mine,
                                                   HF_FOREVER, done, NULL),
                     HF_OK);
}

static bool has_left(void *arg)
{
    return atomic_load(&((struct leave_chain *)arg)->left) > 0;
}

/* From the callback on it is inside and may leave in the callback; a call
 * that waits is refused there, because it would wait for itself. */
TEST_WITH_CALLBACKS(it_can_be_left_in_its_callback)
{
    struct double_barrier_fixture f;
    struct leave_chain leave_chain = {.f = &f, .in_callback = HF_OK};
    struct hf_done done = {on_entered, &leave_chain, NULL};

    double_barrier_fixture_open(&f, way);
    assert_int_equal(hf_double_barrier_enter_start(f.mine, HF_FOREVER, done,
                                                   &leave_chain.op),
                     HF_OK);
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_LEAVES, HF_FOREVER), HF_OK);
    client_wait_until(&f.fixture, has_left, &leave_chain);
    assert_int_equal(leave_chain.in_callback, HF_EREENTRANT);
    assert_int_equal(leave_chain.status, HF_OK);
    hf_op_free(leave_chain.op);
    double_barrier_fixture_close(&f);
}

/* ------------------------------------------------- threads and processes -- */

static void *enter_and_leave(void *arg)
{
    for (int i = 0; i < 10 * REPEATS; i++) {
        assert_int_equal(hf_double_barrier_enter(arg, HF_FOREVER), HF_OK);
        assert_int_equal(hf_double_barrier_leave(arg, HF_FOREVER), HF_OK);
    }
    return NULL;
}

TEST(two_threads_enter_and_leave)
{
    pthread_t thread;
    FIXTURE(f, WAY_BLOCKING);
    thread = start_thread(enter_and_leave, f.theirs);
    (void)enter_and_leave(f.mine);
    pthread_join(thread, NULL);
}

static void *push_in(void *arg)
{
    int *got_in = calloc(1, sizeof(*got_in));

    assert_non_null(got_in);
    for (int i = 0; i < 10 * REPEATS; i++) {
        hf_status status = hf_double_barrier_enter(arg, HF_FOREVER);

        assert_true(status == HF_OK || status == HF_ESTATE);
        if (status == HF_OK)
            assert_int_equal(hf_double_barrier_leave(arg, HF_FOREVER), HF_OK);
        *got_in += status == HF_OK;
    }
    return got_in;
}

/* One handle is one participant, whichever thread calls. */
TEST(two_threads_are_not_one_participant_twice)
{
    struct hf_double_barrier *alone;
    pthread_t thread;
    int *got_in[2];
    void *theirs;
    FIXTURE(f, WAY_BLOCKING);
    alone = open_participant(&f, 1);
    thread = start_thread(push_in, alone);
    got_in[0] = push_in(alone);
    pthread_join(thread, &theirs);
    got_in[1] = theirs;
    /* One thread is refused as often as it calls while the other is inside. */
    assert_true(*got_in[0] + *got_in[1] > 0);
    free(got_in[0]);
    free(got_in[1]);
    hf_double_barrier_free(alone);
}

static int use_parents(void *arg)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct double_barrier_fixture *f = arg;
    struct hf_double_barrier *other;
    struct hf_tickets *tickets;
    struct hf_op *op;

    CHILD_CHECK(hf_double_barrier_open(f->fixture.client, "round", 2, &other) ==
                HF_EFORKED);
    CHILD_CHECK(hf_double_barrier_open(f->fixture.client, "round", 0, &other) ==
                HF_EFORKED);
    CHILD_CHECK(hf_double_barrier_participants(f->mine, 0, &tickets) ==
                HF_EFORKED);
    CHILD_CHECK(tickets == NULL);
    CHILD_CHECK(hf_double_barrier_leave(f->mine, 0) == HF_EFORKED);
    CHILD_CHECK(hf_double_barrier_leave_start(f->mine, 0, nobody, &op) ==
                HF_EFORKED);
    CHILD_CHECK(op == NULL);
    CHILD_CHECK(hf_double_barrier_enter(f->theirs, 0) == HF_EFORKED);
    CHILD_CHECK(hf_double_barrier_enter_start(f->theirs, 0, nobody, &op) ==
                HF_EFORKED);
    CHILD_CHECK(op == NULL);
    CHILD_CHECK(hf_last_error()->status == HF_EFORKED);
    hf_double_barrier_free(f->mine);
    hf_double_barrier_free(f->theirs);
    return 0;
}

TEST(a_child_leaves_it_alone)
{
    FIXTURE(f, WAY_BLOCKING);
    send_command_first(&f, SCRIPTED_LAST_ENTERS);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    run_in_child(use_parents, &f);
    assert_int_equal(count_participants(&f), 2);
    send_command_first(&f, SCRIPTED_LAST_LEAVES);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_LEAVES, HF_FOREVER), HF_OK);
}

/* ---------------------------------------------------------------- misuse -- */

static void refuse(struct double_barrier_fixture *f, const char *name,
                   uint32_t participants, hf_status expected)
{
    struct hf_double_barrier *barrier = f->mine;

    assert_int_equal(
        hf_double_barrier_open(f->fixture.client, name, participants, &barrier),
        expected);
    assert_null(barrier);
    assert_int_equal(hf_last_error()->status, expected);
    assert_non_null(strstr(hf_last_error()->text, "hf_double_barrier_open: "));
}

TEST(wrong_arguments_of_open_are_refused)
{
    struct hf_double_barrier *most;
    FIXTURE(f, WAY_BLOCKING);
    refuse(&f, "round", 0, HF_EINVAL);
    refuse(&f, "round", HF_PARTICIPANTS_MAX + 1, HF_EINVAL);
    refuse(&f, "round", UINT32_MAX, HF_EINVAL);
    refuse(&f, "a//b", 2, HF_ENAME);
    hf_double_barrier_free(NULL);
    most = open_participant(&f, HF_PARTICIPANTS_MAX);
    hf_double_barrier_free(most);
}

TEST(calls_out_of_order_are_refused)
{
    struct client_operation operation = {.ended = 0};
    struct hf_op *op;
    FIXTURE(f, WAY_THREAD);
    assert_int_equal(hf_double_barrier_leave(f.mine, 0), HF_ESTATE);
    assert_string_equal(hf_last_error()->text,
                        "hf_double_barrier_leave: it is not inside; enter "
                        "first");
    assert_int_equal(hf_double_barrier_leave_start(
                         f.mine, 0, client_operation_done(&operation), &op),
                     HF_ESTATE);
    assert_null(op);
    assert_int_equal(atomic_load(&operation.dropped), 1);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_ENTERS, HF_FOREVER);
    assert_int_equal(hf_double_barrier_enter(f.mine, 0), HF_ESTATE);
    assert_string_equal(hf_last_error()->text,
                        "hf_double_barrier_enter: it is entering; wait for "
                        "the end");
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&operation), HF_OK);
    assert_int_equal(hf_double_barrier_enter(f.mine, 0), HF_ESTATE);
    assert_string_equal(hf_last_error()->text,
                        "hf_double_barrier_enter: it is inside already; leave "
                        "first");
    participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES, HF_FOREVER);
    assert_int_equal(hf_double_barrier_leave_start(
                         f.mine, 0, client_operation_done(&operation), &op),
                     HF_ESTATE);
    assert_string_equal(hf_last_error()->text,
                        "hf_double_barrier_leave_start: it is leaving; wait "
                        "for the end");
    assert_int_equal(atomic_exchange(&operation.dropped, 0), 1);
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_LEAVES, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&operation), HF_OK);
}

TEST(calls_after_close_are_refused)
{
    struct client_operation operation = {.ended = 0};
    struct hf_op *op;
    struct double_barrier_fixture f;

    double_barrier_fixture_open(&f, WAY_THREAD);
    both_participants(&f, PARTICIPANT_ENTERS);
    assert_int_equal(hf_double_barrier_leave(f.theirs, 0), HF_EBUSY);
    client_close(&f.fixture);
    assert_int_equal(hf_double_barrier_enter(f.theirs, 0), HF_ECLOSED);
    assert_int_equal(hf_double_barrier_enter_start(
                         f.theirs, 0, client_operation_done(&operation), &op),
                     HF_ECLOSED);
    assert_null(op);
    assert_int_equal(hf_double_barrier_leave_start(
                         f.mine, 0, client_operation_done(&operation), &op),
                     HF_ECLOSED);
    assert_null(op);
    assert_int_equal(atomic_load(&operation.dropped), 2);
    assert_int_equal(atomic_load(&operation.ended), 0);
    assert_int_equal(hf_double_barrier_leave(f.mine, 0), HF_ESTATE);
    hf_double_barrier_free(f.mine);
    hf_double_barrier_free(f.theirs);
    double_barrier_fixture_end(&f);
}
