/* SPDX-License-Identifier: Apache-2.0 */
/* What acts are made of. */
#ifndef HF_TESTS_SHUTDOWN_SCRIPT_H
#define HF_TESTS_SHUTDOWN_SCRIPT_H

#include "shutdown_case.h"

/* A handle for a queue of the play's own, called ${what}. */
struct hf_lock *script_lock(struct script_run *run, const char *what,
                            enum hf_kind kind, uint32_t permits,
                            uint32_t limit);

/* The name of such a queue. */
const char *script_queue(struct script_run *run, const char *what,
                         enum hf_kind kind);

/* The play's own deed, which waits for so long as its cell has it wait; to be
 * filled in and started, and the same begun. */
struct shutdown_operation *script_operation(struct script_run *run,
                                            const struct operation_calls *calls,
                                            int which, struct hf_grant *grant);
void script_begin(struct script_run *run, const struct operation_calls *calls,
                  int which, struct hf_grant *grant);

/* Another one takes ${lock} for itself. */
void script_rival(struct script_run *run, struct hf_lock *lock);

/* Another one who has a grant releases it; false: nobody has. */
bool script_rival_releases(struct script_run *run);

#define SCRIPTS_OF(name)                                                       \
    extern const struct shutdown_script name[];                                \
    extern const int name##_count;
SCRIPTS_OF(scripts_locks)
SCRIPTS_OF(scripts_mutexes)
SCRIPTS_OF(scripts_barriers_elections)
SCRIPTS_OF(scripts_queues)

#endif
