/* SPDX-License-Identifier: Apache-2.0 */
/* A random cluster that breaks, made small: with as few turns and chances as
 * still break it, see turn.h. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SHRINK_H
#define HF_TESTS_SIMULATOR_RANDOM_SHRINK_H

#include <stdint.h>

#include "simulator/random/seeds.h"

/* Find the smallest that breaks as the cluster of ${seed} does, and print what
 * happens in it, and how to see that again. */
void shrink_seed(struct seeds_kind kind, uint64_t seed);

/* Live through the cluster of ${seed} with those turns alone whose numbers are
 * in
 * ${only}, "3,17-19", and without the chances in ${without}, "lose,drift", or
 * NULL; print what happens, with ${trace} also each request.  An exit code. */
int shrink_replay(struct seeds_kind kind, uint64_t seed, const char *only,
                  const char *without, bool trace);

#endif
