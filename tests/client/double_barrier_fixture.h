/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixture for double barriers: one client with two handles, on the scripted
 * engine, which can add other participants.
 *
 * The scripted engine answers when a command says so, so a test decides in
 * which order participants enter and leave.
 */
#ifndef HF_TESTS_DOUBLE_BARRIER_FIXTURE_H
#define HF_TESTS_DOUBLE_BARRIER_FIXTURE_H

#include "client_operation.h"
#include "cmocka/runner.h"
#include "scripted_engine.h"

#define REPEATS 20

struct double_barrier_fixture {
    struct client_fixture fixture;
    int pipe[2];
    struct hf_double_barrier
        *mine; /* two handles of one barrier for two participants */
    struct hf_double_barrier *theirs;
};

/* Open a client that is connected, and its two handles.  Nobody is inside. */
void double_barrier_fixture_open(struct double_barrier_fixture *f,
                                 enum way way);
void double_barrier_fixture_close(struct double_barrier_fixture *f);

/* Such a client ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(double_barrier_fixture_close) struct double_barrier_fixture f;   \
    double_barrier_fixture_open(&f, way)

/* Close what double_barrier_fixture_close() would, when the test has closed
 * the client and freed the handles itself. */
void double_barrier_fixture_end(struct double_barrier_fixture *f);

/* One more handle for the same barrier, to be freed by the caller. */
struct hf_double_barrier *open_participant(struct double_barrier_fixture *f,
                                           uint32_t participants);

/* Send a command of scripted_engine.h to the engine.  With
 * send_command_first() the command is executed before any later call on the
 * client. */
void send_command(struct double_barrier_fixture *f, char command);
void send_command_first(struct double_barrier_fixture *f, char command);
bool command_is_read(void *arg);
void connect_session(struct double_barrier_fixture *f);

enum participant_call {
    PARTICIPANT_ENTERS,
    PARTICIPANT_LEAVES,
    PARTICIPANT_LISTS
};

/* Make one call on ${barrier} in the way of the client.  participant_begin()
 * starts it, and client_operation_await() waits for its end; participant_run()
 * does both. */
void participant_begin(struct double_barrier_fixture *f,
                       struct client_operation *operation,
                       struct hf_double_barrier *barrier,
                       enum participant_call call, uint64_t wait_ms);
hf_status participant_run(struct double_barrier_fixture *f,
                          struct hf_double_barrier *barrier,
                          enum participant_call call, uint64_t wait_ms);

/* Make ${call} on both handles at once; both must succeed. */
void both_participants(struct double_barrier_fixture *f,
                       enum participant_call call);

/* The number of participants, as the error text of another participant
 * reports it; and wait until there are ${count}. */
int count_participants(struct double_barrier_fixture *f);
void await_participants(struct double_barrier_fixture *f, int count);

#endif
