/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the whole state of a cluster on the plain model, to go back to. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_CHECKPOINT_H
#define HF_TESTS_SIMULATOR_EXPLORE_CHECKPOINT_H

#include "simulator/cluster/cluster.h"

struct checkpoint;

/* A copy of the state between two actions, to be freed.  The library must
 * allocate in the arena. */
struct checkpoint *checkpoint_new(const struct cluster *cluster);

/* Put ${cluster} into that state.  May be done any number of times.
 * Checkpoints that were taken later can only be freed after that. */
void checkpoint_restore(const struct checkpoint *checkpoint,
                        struct cluster *cluster);

void checkpoint_free(struct checkpoint *checkpoint);

#endif
