/* SPDX-License-Identifier: Apache-2.0 */
/* A moment of the plain model, to go back to: everything stays at its address,
 * so pointers into the model that were good then are good again. */
#ifndef HF_ENGINES_SIM_MOMENT_H
#define HF_ENGINES_SIM_MOMENT_H

#include "engines/sim/sim.h"

struct hf_sim_moment;

/* Keep how ${sim} is now; to be freed. */
struct hf_sim_moment *hf_sim_moment_new(const struct hf_sim *sim);

/* Have ${sim}, which is the one it was taken of, as it was.  May be done again;
 * moments taken since are of no use any more and can only be freed. */
void hf_sim_moment_return(const struct hf_sim_moment *moment,
                          struct hf_sim *sim);

void hf_sim_moment_free(struct hf_sim_moment *moment);

#endif
