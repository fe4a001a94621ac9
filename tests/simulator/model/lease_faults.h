/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the server of the lease model. */
#ifndef HF_TESTS_SIMULATOR_MODEL_LEASE_FAULTS_H
#define HF_TESTS_SIMULATOR_MODEL_LEASE_FAULTS_H

#include "simulator/model/sim.h"

/* Is this the lease model? */
bool hf_sim_is_leased(const struct hf_sim *sim);

/* Stop the server's process, or continue it.  What arrives meanwhile waits.
 * Tickets expire nonetheless, unless the whole ${machine} stops: then the clock
 * stops, and is behind afterwards. */
void hf_sim_lease_server_freeze(struct hf_sim *sim, bool machine);
void hf_sim_lease_server_thaw(struct hf_sim *sim);

/* Kill the server; start it again with its data, or (${wiped}) without. */
void hf_sim_lease_server_stop(struct hf_sim *sim);
void hf_sim_lease_server_start(struct hf_sim *sim, bool wiped);

/* Set its wall clock forward by ${ms}, or back. */
void hf_sim_lease_server_step_clock(struct hf_sim *sim, int64_t ms);

/* Lose all notices from now on, or deliver them again. */
void hf_sim_lease_server_lose_notices(struct hf_sim *sim, bool lost);

#endif
