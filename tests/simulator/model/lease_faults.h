/* SPDX-License-Identifier: Apache-2.0 */
/* What may go wrong with the model's server that leases tickets. */
#ifndef HF_TESTS_SIMULATOR_MODEL_LEASE_FAULTS_H
#define HF_TESTS_SIMULATOR_MODEL_LEASE_FAULTS_H

#include "simulator/model/sim.h"

/* Is it the model of such a server? */
bool hf_sim_is_leased(const struct hf_sim *sim);

/* It is stopped, or goes on: what comes to it meanwhile waits there.  Tickets
 * run out nonetheless, unless it is the ${machine} that stops, whose clock then
 * stands still and does not know it later. */
void hf_sim_lease_server_freeze(struct hf_sim *sim, bool machine);
void hf_sim_lease_server_thaw(struct hf_sim *sim);

/* It is killed, and started again with what it had, or (${wiped}) without. */
void hf_sim_lease_server_stop(struct hf_sim *sim);
void hf_sim_lease_server_start(struct hf_sim *sim, bool wiped);

/* Its wall clock is set on by so many milliseconds, or back. */
void hf_sim_lease_server_step_clock(struct hf_sim *sim, int64_t ms);

/* No notice arrives, or they do again. */
void hf_sim_lease_server_lose_notices(struct hf_sim *sim, bool lost);

#endif
