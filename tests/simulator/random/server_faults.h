/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of servers in random runs, see fault_injector.h. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SERVER_FAULTS_H
#define HF_TESTS_SIMULATOR_RANDOM_SERVER_FAULTS_H

#include "simulator/random/fault_injector.h"

/* Cut the server of ${client} off from its leader, in one direction or both. */
void inject_follower_cut(struct client *client);

/* A fault of the members of the etcd model. */
void inject_etcd_fault(enum fault fault);

/* A fault of those from FAULT_COUNT on, of the model of this run. */
void inject_server_fault(enum fault fault);

#endif
