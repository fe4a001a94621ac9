/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the whole state of the plain model, to go back to.  A restore puts
 * every object at its old address, so pointers into the model that were valid
 * then are valid again. */
#ifndef HF_TESTS_SIMULATOR_MODEL_PLAIN_CHECKPOINT_H
#define HF_TESTS_SIMULATOR_MODEL_PLAIN_CHECKPOINT_H

#include "simulator/model/sim.h"

struct hf_sim_checkpoint;

/* A copy of the state of ${sim}; to be freed with hf_sim_checkpoint_free(). */
struct hf_sim_checkpoint *hf_sim_checkpoint_new(const struct hf_sim *sim);

/* Put ${sim}, which ${checkpoint} was taken of, into that state.  May be done
 * any number of times.  Checkpoints that were taken later can only be freed
 * after that. */
void hf_sim_checkpoint_restore(const struct hf_sim_checkpoint *checkpoint,
                               struct hf_sim *sim);

void hf_sim_checkpoint_free(struct hf_sim_checkpoint *checkpoint);

#endif
