/* SPDX-License-Identifier: Apache-2.0 */
/* How entering and leaving a double barrier end early: cancel, free, a lost
 * session, and what the other participants see.  The same at every step is
 * in test_shutdown.c. */
#include <string.h>

#include "cmocka/runner.h"
#include "double_barrier_fixture.h"
#include "in_each_way.h"

/* ---------------------------------------------------------------- cancel -- */

TEST_WITH_CALLBACKS(an_enter_can_be_cancelled)
{
    struct client_operation first, second;
    FIXTURE(f, way);
    participant_begin(&f, &first, f.mine, PARTICIPANT_ENTERS, HF_FOREVER);
    assert_int_equal(count_participants(&f), 1);
    hf_op_cancel(first.op);
    hf_op_cancel(first.op);
    assert_int_equal(client_operation_await(&first), HF_ECANCELLED);
    assert_int_equal(count_participants(&f), 0);
    participant_begin(&f, &second, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER);
    assert_int_equal(count_participants(&f), 1); /* alone */
    assert_int_equal(atomic_load(&second.ended), 0);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&second), HF_OK);
    both_participants(&f, PARTICIPANT_LEAVES);
}

/* The other one enters before the ticket of the cancelled one is removed: it
 * is inside with one that is not, and does not wait for that one when it
 * leaves. */
TEST_WITH_CALLBACKS(a_cancel_may_cross_the_last_enter)
{
    struct client_operation first, second;
    FIXTURE(f, way);
    participant_begin(&f, &first, f.mine, PARTICIPANT_ENTERS, HF_FOREVER);
    assert_int_equal(count_participants(&f), 1);
    send_command_first(&f, SCRIPTED_MUTE);
    participant_begin(&f, &second, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER);
    hf_op_cancel(first.op);
    send_command(&f, SCRIPTED_ANSWER);
    assert_int_equal(client_operation_await(&first), HF_ECANCELLED);
    assert_int_equal(client_operation_await(&second), HF_OK);
    assert_int_equal(participant_run(&f, f.theirs, PARTICIPANT_LEAVES, 0),
                     HF_OK);
    assert_int_equal(count_participants(&f), 0);
}

/* With and without its callback having run. */
TEST_WITH_CALLBACKS(a_cancel_after_the_enter_changes_nothing)
{
    struct client_operation first;
    FIXTURE(f, way);
    send_command_first(&f, SCRIPTED_LAST_ENTERS);
    participant_begin(&f, &first, f.mine, PARTICIPANT_ENTERS,
                      HF_FOREVER); /* answered at once */
    hf_op_cancel(first.op);
    client_wait_until(&f.fixture, command_is_read, &f);
    hf_op_cancel(first.op);
    assert_int_equal(client_operation_await(&first), HF_OK);
    assert_int_equal(count_participants(&f), 2);
    send_command_first(&f, SCRIPTED_LAST_LEAVES);
    assert_int_equal(participant_run(&f, f.mine, PARTICIPANT_LEAVES, 0), HF_OK);
}

TEST_WITH_CALLBACKS(a_leave_can_be_cancelled)
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
        hf_op_cancel(operation.op);
        hf_op_cancel(operation.op);
        assert_int_equal(client_operation_await(&operation), HF_ECANCELLED);
        assert_int_equal(count_participants(&f), 1); /* it is outside */
        send_command_first(&f, goes[keeps]);
    }
}

/* ------------------------------------------------------------------ free -- */

TEST_IN_EACH_WAY(free_removes_a_participant_that_is_inside)
{
    FIXTURE(f, way);
    both_participants(&f, PARTICIPANT_ENTERS);
    hf_double_barrier_free(f.mine);
    await_participants(&f, 1);
    assert_int_equal(participant_run(&f, f.theirs, PARTICIPANT_LEAVES, 0),
                     HF_OK);
    f.mine = open_participant(&f, 2);
}

TEST_WITH_CALLBACKS(free_during_an_enter_removes_the_ticket)
{
    struct client_operation cancelled, let_in;
    FIXTURE(f, way);
    participant_begin(&f, &cancelled, f.mine, PARTICIPANT_ENTERS, HF_FOREVER);
    hf_double_barrier_free(f.mine);
    assert_int_equal(count_participants(&f), 1);
    hf_op_cancel(cancelled.op);
    assert_int_equal(client_operation_await(&cancelled), HF_ECANCELLED);
    f.mine = open_participant(&f, 2);
    participant_begin(&f, &let_in, f.mine, PARTICIPANT_ENTERS, HF_FOREVER);
    hf_double_barrier_free(f.mine);
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&let_in), HF_OK);
    await_participants(&f, 1);
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_LEAVES, HF_FOREVER), HF_OK);
    f.mine = NULL;
}

TEST_WITH_CALLBACKS(free_during_a_leave_leaves)
{
    struct client_operation operation;
    FIXTURE(f, way);
    both_participants(&f, PARTICIPANT_ENTERS);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES, HF_FOREVER);
    hf_double_barrier_free(f.mine);
    f.mine = NULL;
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_LEAVES, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&operation), HF_OK);
    assert_int_equal(count_participants(&f), 0);
}

/* ------------------------------------------------------------------ loss -- */

TEST_IN_EACH_WAY(an_enter_starts_again_after_a_lost_session)
{
    struct client_operation operation;
    FIXTURE(f, way);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_ENTERS, HF_FOREVER);
    await_participants(&f, 1);
    send_command_first(&f, SCRIPTED_LOSE);
    connect_session(&f);
    await_participants(&f, 1);
    assert_int_equal(atomic_load(&operation.ended), 0);
    assert_int_equal(
        participant_run(&f, f.theirs, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    assert_int_equal(client_operation_await(&operation), HF_OK);
    both_participants(&f, PARTICIPANT_LEAVES);
}

TEST_IN_EACH_WAY(a_loss_inside_is_reported_by_the_leave)
{
    struct client_operation operation;
    FIXTURE(f, way);
    both_participants(&f, PARTICIPANT_ENTERS);
    send_command_first(&f, SCRIPTED_LOSE);
    connect_session(&f);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES, HF_FOREVER);
    assert_int_equal(client_operation_await(&operation), HF_ELOST);
    assert_non_null(strstr(operation.text, "was lost: the session is over"));
    assert_int_equal(participant_run(&f, f.theirs, PARTICIPANT_LEAVES, 0),
                     HF_ELOST);
    both_participants(&f, PARTICIPANT_ENTERS); /* and is outside */
    both_participants(&f, PARTICIPANT_LEAVES);
}

TEST_IN_EACH_WAY(a_loss_during_a_leave_is_reported)
{
    struct client_operation operation;
    FIXTURE(f, way);
    send_command_first(&f, SCRIPTED_LAST_ENTERS);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES, HF_FOREVER);
    await_participants(&f, 2);
    send_command_first(&f, SCRIPTED_LOSE);
    connect_session(&f);
    assert_int_equal(client_operation_await(&operation), HF_ELOST);
    both_participants(&f, PARTICIPANT_ENTERS);
    both_participants(&f, PARTICIPANT_LEAVES);
}

/* Its ticket is removed already, so nothing can be lost. */
TEST_IN_EACH_WAY(a_leave_without_ticket_survives_a_lost_session)
{
    struct client_operation operation;
    FIXTURE(f, way);
    send_command_first(&f, SCRIPTED_FIRST_ENTERS);
    assert_int_equal(
        participant_run(&f, f.mine, PARTICIPANT_ENTERS, HF_FOREVER), HF_OK);
    participant_begin(&f, &operation, f.mine, PARTICIPANT_LEAVES, HF_FOREVER);
    await_participants(&f, 1);
    send_command_first(&f, SCRIPTED_SUSPEND);
    connect_session(&f);
    await_participants(&f, 1);
    assert_int_equal(atomic_load(&operation.ended), 0);
    send_command_first(&f, SCRIPTED_LOSE);
    connect_session(&f);
    assert_int_equal(client_operation_await(&operation), HF_OK);
}
