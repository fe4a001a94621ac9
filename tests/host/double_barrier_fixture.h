/* SPDX-License-Identifier: Apache-2.0 */
/* A round for stories of double barriers: two parties of one client, on an
 * engine that obeys, and strangers. */
#ifndef HF_TESTS_DOUBLE_BARRIER_FIXTURE_H
#define HF_TESTS_DOUBLE_BARRIER_FIXTURE_H

#include "host_operation.h"
#include "scripted_engine.h"

#define REPEATS 20

struct double_barrier_fixture {
    struct host_fixture host;
    int pipe[2];
    struct hf_double_barrier *mine; /* each of two */
    struct hf_double_barrier *theirs;
};

/* Connected, and nobody is there. */
void double_barrier_fixture_open(struct double_barrier_fixture *f,
                                 enum way way);
void double_barrier_fixture_close(struct double_barrier_fixture *f);

/* After its client was closed and its parties freed: what else there is. */
void double_barrier_fixture_end(struct double_barrier_fixture *f);

/* One more party, to be freed. */
struct hf_double_barrier *open_participant(struct double_barrier_fixture *f,
                                           uint32_t parties);

/* Command the engine; the second is obeyed before anything that follows. */
void send_command(struct double_barrier_fixture *f, char command);
void send_command_first(struct double_barrier_fixture *f, char command);
bool command_is_read(void *arg);
void connect_session(struct double_barrier_fixture *f);

enum participant_call {
    PARTICIPANT_ENTERS,
    PARTICIPANT_LEAVES,
    PARTICIPANT_LISTS
};

/* One call in each way: begun, for host_operation_await(); and the same to its
 * end. */
void participant_begin(struct double_barrier_fixture *f,
                       struct host_operation *operation,
                       struct hf_double_barrier *barrier,
                       enum participant_call call, uint64_t wait_ms);
hf_status participant_run(struct double_barrier_fixture *f,
                          struct hf_double_barrier *barrier,
                          enum participant_call call, uint64_t wait_ms);

/* Both parties at once, well. */
void both_participants(struct double_barrier_fixture *f,
                       enum participant_call call);

/* So many members there are, as somebody else is told who comes and goes; and
 * until there are. */
int count_participants(struct double_barrier_fixture *f);
void await_participants(struct double_barrier_fixture *f, int count);

#endif
