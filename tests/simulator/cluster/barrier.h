/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of a cluster, as the servers have them, and when each was last set
 * and cleared. */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_BARRIER_H
#define HF_TESTS_SIMULATOR_CLUSTER_BARRIER_H

#include "simulator/cluster/cluster.h"

/* The barrier called ${name}; a new one is cleared. */
struct barrier *barrier_named(struct cluster *cluster, const char *name);

/* The observer's callback, see struct hf_sim_observer; ${cluster} is its
 * argument. */
void barrier_changed(void *cluster, const char *name, bool up);

/* Was it cleared, or set, at some time since ${since_us}? */
bool barrier_was_clear(const struct barrier *barrier, uint64_t since_us);
bool barrier_was_set(const struct barrier *barrier, uint64_t since_us);

#endif
