/* SPDX-License-Identifier: Apache-2.0 */
/* Two participants of one client, and commands for the scripted engine. */
#include "double_barrier_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

struct hf_double_barrier *open_participant(struct double_barrier_fixture *f,
                                           uint32_t participants)
{
    struct hf_double_barrier *barrier;

    assert_int_equal(hf_double_barrier_open(f->fixture.client, "round",
                                            participants, &barrier),
                     HF_OK);
    return barrier;
}

/* ---------------------------------------------------------------- script -- */

void send_command(struct double_barrier_fixture *f, char command)
{
    assert_int_equal(write(f->pipe[1], &command, 1), 1);
}

bool command_is_read(void *arg)
{
    struct double_barrier_fixture *f = arg;
    int unread;

    assert_int_equal(ioctl(f->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* Later calls take the client's lock, and commands are executed under that
 * lock: when the pipe is empty, the command comes first. */
void send_command_first(struct double_barrier_fixture *f, char command)
{
    send_command(f, command);
    client_wait_until(&f->fixture, command_is_read, f);
}

static bool is_connected(void *arg)
{
    return hf_client_state(
               ((struct double_barrier_fixture *)arg)->fixture.client) ==
           HF_STATE_CONNECTED;
}

void connect_session(struct double_barrier_fixture *f)
{
    send_command(f, SCRIPTED_CONNECT);
    client_wait_until(&f->fixture, is_connected, f);
}

void double_barrier_fixture_open(struct double_barrier_fixture *f, enum way way)
{
    char url[64];

    memset(f, 0, sizeof(*f));
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", f->pipe[0]);
    client_open(&f->fixture, way, url, no_listener);
    connect_session(f);
    f->mine = open_participant(f, 2);
    f->theirs = open_participant(f, 2);
}

void double_barrier_fixture_close(struct double_barrier_fixture *f)
{
    hf_double_barrier_free(f->mine);
    hf_double_barrier_free(f->theirs);
    client_close(&f->fixture);
    double_barrier_fixture_end(f);
}

void double_barrier_fixture_end(struct double_barrier_fixture *f)
{
    close(f->pipe[0]);
    close(f->pipe[1]);
}

/* -------------------------------------------------- one call in each way -- */

static hf_status wait_for(struct client_operation *operation)
{
    switch ((enum participant_call)operation->call) {
    case PARTICIPANT_ENTERS:
        return hf_double_barrier_enter(operation->subject, operation->wait_ms);
    case PARTICIPANT_LEAVES:
        return hf_double_barrier_leave(operation->subject, operation->wait_ms);
    case PARTICIPANT_LISTS:
        break;
    }
    return hf_double_barrier_participants(
        operation->subject, operation->wait_ms, &operation->tickets);
}

static hf_status start(struct client_operation *operation, struct hf_done done)
{
    switch ((enum participant_call)operation->call) {
    case PARTICIPANT_ENTERS:
        return hf_double_barrier_enter_start(
            operation->subject, operation->wait_ms, done, &operation->op);
    case PARTICIPANT_LEAVES:
        return hf_double_barrier_leave_start(
            operation->subject, operation->wait_ms, done, &operation->op);
    case PARTICIPANT_LISTS:
        break;
    }
    return hf_double_barrier_participants_start(operation->subject,
                                                operation->wait_ms, done);
}

static const struct client_operation_calls calls = {wait_for, start};

void participant_begin(struct double_barrier_fixture *f,
                       struct client_operation *operation,
                       struct hf_double_barrier *barrier,
                       enum participant_call call, uint64_t wait_ms)
{
    *operation = (struct client_operation){.fixture = &f->fixture,
                                           .calls = &calls,
                                           .subject = barrier,
                                           .call = (int)call,
                                           .wait_ms = wait_ms};
    client_operation_begin(operation);
}

hf_status participant_run(struct double_barrier_fixture *f,
                          struct hf_double_barrier *barrier,
                          enum participant_call call, uint64_t wait_ms)
{
    struct client_operation operation;

    participant_begin(f, &operation, barrier, call, wait_ms);
    return client_operation_await(&operation);
}

/* HF_EBUSY of one that does not wait says how many are there. */
int count_participants(struct double_barrier_fixture *f)
{
    struct hf_double_barrier *other = open_participant(f, HF_PARTICIPANTS_MAX);
    struct client_operation operation;
    char *from;

    participant_begin(f, &operation, other, PARTICIPANT_ENTERS, 0);
    assert_int_equal(client_operation_await(&operation), HF_EBUSY);
    hf_double_barrier_free(other);
    from = strstr(operation.text, " of 128 participants are there");
    assert_non_null(from);
    while (from > operation.text && from[-1] >= '0' && from[-1] <= '9')
        from--;
    return atoi(from) - 1;
}

struct wanted {
    struct double_barrier_fixture *f;
    int there;
};

static bool are_there(void *arg)
{
    struct wanted *wanted = arg;

    return count_participants(wanted->f) == wanted->there;
}

void await_participants(struct double_barrier_fixture *f, int count)
{
    struct wanted wanted = {f, count};

    client_wait_until(&f->fixture, are_there, &wanted);
}

void both_participants(struct double_barrier_fixture *f,
                       enum participant_call call)
{
    struct client_operation first, second;

    participant_begin(f, &first, f->mine, call, HF_FOREVER);
    participant_begin(f, &second, f->theirs, call, HF_FOREVER);
    assert_int_equal(client_operation_await(&first), HF_OK);
    assert_int_equal(client_operation_await(&second), HF_OK);
}
