/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records when the servers set and clear barriers.
 */
#include "simulator/cluster/barrier.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct barrier *find_barrier(struct cluster *cluster, const char *name)
{
    for (unsigned i = 0; i < cluster->barrier_count; i++) {
        if (strcmp(cluster->barriers[i].name, name) == 0)
            return &cluster->barriers[i];
    }
    return NULL;
}

struct barrier *barrier_named(struct cluster *cluster, const char *name)
{
    struct barrier *barrier = find_barrier(cluster, name);

    if (barrier != NULL)
        return barrier;
    assert(cluster->barrier_count < CLUSTER_BARRIERS_MAX);
    barrier = &cluster->barriers[cluster->barrier_count++];
    snprintf(barrier->name, sizeof barrier->name, "%s", name);
    return barrier;
}

void barrier_changed(void *arg, const char *name, bool up)
{
    struct cluster *cluster = arg;
    struct barrier *barrier = find_barrier(cluster, name);

    if (barrier == NULL) /* it is a node above others */
        return;
    cluster_trace(cluster, "-", "server %s %s", up ? "sets" : "clears", name);
    barrier->is_set = up;
    if (up)
        barrier->set_us = hf_sim_now_us(cluster->sim);
    else
        barrier->cleared_us = hf_sim_now_us(cluster->sim);
}

bool barrier_was_clear(const struct barrier *barrier, uint64_t since_us)
{
    return !barrier->is_set || barrier->set_us >= since_us;
}

bool barrier_was_set(const struct barrier *barrier, uint64_t since_us)
{
    return barrier->is_set || barrier->cleared_us >= since_us;
}
