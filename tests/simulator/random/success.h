/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random runs of a job that is to succeed once in a period.  Some processes,
 * whose clocks are up to an hour apart, take a lock again and again.  A holder
 * reads when the last one succeeded: too early, it releases; else it is due,
 * works for a while, and succeeds or fails.  Meanwhile links break, servers
 * stall, restart and fail over, their wall clock is set back, processes freeze
 * and die, sessions end and tickets are deleted.  What must hold:
 *
 *   1  within the period after a success was recorded, no holder finds that
 *      it is due, and no other success is recorded;
 *   4  after the last fault the job goes on succeeding;
 *   9  a failure of a read or a write has a cause;
 *  10  and a message;
 *  11  a success that was confirmed stays.
 *
 * A failover may undo a write that was not confirmed.  The success is then the
 * earlier one again, with the time that it had, or there is none.
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SUCCESS_H
#define HF_TESTS_SIMULATOR_RANDOM_SUCCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/engine_kind.h"

/* How a run ended. */
struct success_result {
    int broken;          /* number of the invariant; 0: all hold */
    const char *message; /* NULL: none */
    uint64_t recorded;   /* successes */
    uint64_t early;      /* holders that came too early */
};

/* Run ${seed} with ${engine} until an invariant breaks.  ${line} receives the
 * trace, or is NULL.  True if all invariants held. */
bool success_run_seed(uint64_t seed, enum engine_kind engine,
                      void (*line)(void *arg, const char *text),
                      struct success_result *end);

#endif
