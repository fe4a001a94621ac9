/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a random cluster fail, for a while: see chaos.h. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SERVER_FAULTS_H
#define HF_TESTS_SIMULATOR_RANDOM_SERVER_FAULTS_H

#include "simulator/random/fault_injector.h"

/* The follower of ${client} hears nothing of its leader, or the leader nothing
 * of it. */
void inject_follower_cut(struct client *client);

/* One of those behind FAULT_COUNT: of an ensemble, or of a leasing server. */
void inject_server_fault(enum fault fault);

#endif
