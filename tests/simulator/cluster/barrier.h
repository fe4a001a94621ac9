/* SPDX-License-Identifier: Apache-2.0 */
/* The barriers of a cluster, as they are in truth. */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_BARRIER_H
#define HF_TESTS_SIMULATOR_CLUSTER_BARRIER_H

#include "simulator/cluster/cluster.h"

/* The one called ${name}, which is down when it is first heard of. */
struct barrier *barrier_named(struct cluster *cluster, const char *name);

/* What a cluster's observer is told. */
void barrier_changed(void *cluster, const char *name, bool up);

/* Was it down, or up, at some moment since ${since_us}? */
bool barrier_was_clear(const struct barrier *barrier, uint64_t since_us);
bool barrier_was_set(const struct barrier *barrier, uint64_t since_us);

#endif
