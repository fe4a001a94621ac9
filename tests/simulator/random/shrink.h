/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a run that breaks an invariant small: with as few decisions and kinds
 * of chance as still break it, see decision.h. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SHRINK_H
#define HF_TESTS_SIMULATOR_RANDOM_SHRINK_H

#include <stdint.h>

#include "simulator/random/seeds.h"

/* Find the smallest run that breaks as that of ${seed} does, and print its
 * trace and the command that replays it. */
void shrink_seed(struct seeds_kind kind, uint64_t seed);

/* Run ${seed} with only those decisions whose numbers are in ${only}
 * ("3,17-19"), and without the chances in ${without} ("lose,drift", or NULL).
 * Prints the trace, with ${trace} also each request.  Returns an exit code. */
int shrink_replay(struct seeds_kind kind, uint64_t seed, const char *only,
                  const char *without, bool trace);

#endif
