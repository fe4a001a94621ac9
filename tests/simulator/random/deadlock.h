/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random runs of owners that hold several locks and look for deadlocks.  The
 * kind of a run follows from its seed:
 *
 *   circle     2 to 6 owners hold a lock each and then wait for each other in a
 *              circle; others use other locks
 *   ordered    owners take locks in one order, so that there is no deadlock;
 *              waits time out, and in half of the runs there are faults
 *   permits    an owner waits for one of two permits, and only one is held in a
 *              circle
 *   lost       two owners wait for each other, but one has lost its lock to a
 *              third one
 *   by turns   the waits of a circle are there one after the other, but never
 *              at once
 *
 * What must hold:
 *
 *   1  an acquire fails with HF_EDEADLK only in a run with a circle;
 *   2  there exactly one does, it is one that looks, and all others are
 *      granted.
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DEADLOCK_H
#define HF_TESTS_SIMULATOR_RANDOM_DEADLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/engine_kind.h"

/* How a run ended. */
struct deadlock_result {
    int broken;          /* number of the invariant; 0: all hold */
    const char *message; /* NULL: none */
    uint64_t grants;
    uint64_t found; /* deadlocks */
};

/* Run ${seed} with ${engine}.  ${line} receives the trace, or is NULL.  True if
 * all invariants held. */
bool deadlock_run_seed(uint64_t seed, enum engine_kind engine,
                       void (*line)(void *arg, const char *text),
                       struct deadlock_result *end);

#endif
