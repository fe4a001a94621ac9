/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random worlds of double barriers: as many parties as are waited for, each a
 * core of its own, enter and leave in rounds while links break, servers stall,
 * processes freeze and sessions end.  What must hold, under the numbers of the
 * invariants:
 *
 *   1  the mark is made when all are there; nobody goes in but by one that was
 *      made since he came; nobody goes while a member of his round is there
 *      who does not want to;
 *   4  the mark stays while somebody is there; when the faults stop, all go on
 *      from round to round;
 *   5  in the end nothing of anybody is there;
 *   7  who loses his session while he is inside is told so first.
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DOUBLE_BARRIER_H
#define HF_TESTS_SIMULATOR_RANDOM_DOUBLE_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/engine_kind.h"

/* How such a cluster ended. */
struct double_barrier_result {
    int broken;          /* number of the invariant; 0: all hold */
    const char *message; /* NULL: none */
    uint64_t rounds;     /* entered and left by a party, all of them together */
};

/* Live through the cluster of ${seed} and ${sort}, and tell ${line}, which may
 * be NULL, what happens until something does not hold.  True if all does. */
bool double_barrier_run_seed(uint64_t seed, enum engine_kind engine,
                             void (*line)(void *arg, const char *text),
                             struct double_barrier_result *end);

#endif
