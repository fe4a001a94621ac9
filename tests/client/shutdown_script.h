/* SPDX-License-Identifier: Apache-2.0 */
/* What the scripts of the shutdown sweep are made of.  A script is a row of
 * one of the tables below; a new one needs no other change. */
#ifndef HF_TESTS_SHUTDOWN_SCRIPT_H
#define HF_TESTS_SHUTDOWN_SCRIPT_H

#include "shutdown_case.h"

/* Open a handle for a queue of this run, whose name ends in ${what}. */
struct hf_lock *script_lock(struct script_run *run, const char *what,
                            enum hf_kind kind, uint32_t permits,
                            uint32_t limit);

/* The name of such a queue. */
const char *script_queue(struct script_run *run, const char *what,
                         enum hf_kind kind);

/* Take the operation under test, with the wait of the case; script_begin()
 * starts it too. */
struct shutdown_operation *script_operation(struct script_run *run,
                                            const struct operation_calls *calls,
                                            int which, struct hf_grant *grant);
void script_begin(struct script_run *run, const struct operation_calls *calls,
                  int which, struct hf_grant *grant);

/* Let another owner acquire ${lock}. */
void script_rival(struct script_run *run, struct hf_lock *lock);

/* Let another owner release its grant; false: nobody has one. */
bool script_rival_releases(struct script_run *run);

#define SCRIPTS_OF(name)                                                       \
    extern const struct shutdown_script name[];                                \
    extern const int name##_count;
SCRIPTS_OF(scripts_locks)
SCRIPTS_OF(scripts_mutexes)
SCRIPTS_OF(scripts_barriers_elections)
SCRIPTS_OF(scripts_queues)

#endif
