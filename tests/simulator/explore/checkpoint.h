/* SPDX-License-Identifier: Apache-2.0 */
/* A moment of a cluster on the plain model, to go back to. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_CHECKPOINT_H
#define HF_TESTS_SIMULATOR_EXPLORE_CHECKPOINT_H

#include "simulator/cluster/cluster.h"

struct checkpoint;

/* Keep how ${cluster} is, between two steps; to be freed.  The library has its
 * memory in the arena. */
struct checkpoint *checkpoint_new(const struct cluster *cluster);

/* Have ${cluster} as it was.  May be done again; moments taken since can only
 * be freed. */
void checkpoint_restore(const struct checkpoint *checkpoint,
                        struct cluster *cluster);

void checkpoint_free(struct checkpoint *checkpoint);

#endif
