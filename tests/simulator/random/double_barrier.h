/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random runs of double barriers.  As many participants as the barrier waits
 * for, each with a core of its own, enter and leave again and again, while
 * links break, servers stall, processes freeze and sessions end.  What must
 * hold, by the numbers of the invariants:
 *
 *   1  READY is set when all participants are there; a participant enters
 *      only by a READY that was set after it came; it leaves only after all
 *      participants of its generation want to leave;
 *   4  READY stays while a participant is there; after the last fault all
 *      participants go on entering and leaving;
 *   5  at the end no ticket is left;
 *   7  a participant inside that loses its session is notified of that first.
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DOUBLE_BARRIER_H
#define HF_TESTS_SIMULATOR_RANDOM_DOUBLE_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/engine_kind.h"

/* How a run ended. */
struct double_barrier_result {
    int broken;          /* number of the invariant; 0: all hold */
    const char *message; /* NULL: none */
    /* Number of times that a participant has entered and left. */
    uint64_t generations;
};

/* Run ${seed} with ${engine} until an invariant breaks.  ${line} receives the
 * trace, or is NULL.  True if all invariants held. */
bool double_barrier_run_seed(uint64_t seed, enum engine_kind engine,
                             void (*line)(void *arg, const char *text),
                             struct double_barrier_result *end);

#endif
