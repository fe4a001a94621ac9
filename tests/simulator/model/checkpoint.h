/* SPDX-License-Identifier: Apache-2.0 */
/* A moment of the plain model, to go back to: everything stays at its address,
 * so pointers into the model that were good then are good again. */
#ifndef HF_TESTS_SIMULATOR_MODEL_CHECKPOINT_H
#define HF_TESTS_SIMULATOR_MODEL_CHECKPOINT_H

#include "simulator/model/sim.h"

struct hf_sim_checkpoint;

/* Keep how ${sim} is now; to be freed. */
struct hf_sim_checkpoint *hf_sim_checkpoint_new(const struct hf_sim *sim);

/* Have ${sim}, which is the one it was taken of, as it was.  May be done again;
 * moments taken since are of no use any more and can only be freed. */
void hf_sim_checkpoint_restore(const struct hf_sim_checkpoint *checkpoint,
                               struct hf_sim *sim);

void hf_sim_checkpoint_free(struct hf_sim_checkpoint *checkpoint);

#endif
