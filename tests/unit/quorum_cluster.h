/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster for the quorum engine (docs/engine-quorum.md): clients that contend
 * for one lock, and several servers that do not know each other, in virtual
 * time.  Everything that is random comes from one seed, so a run that fails can
 * be repeated.
 *
 * Faults are: links that break, with or without the calls that are on their
 * way; servers that freeze; servers that are killed and start again with all
 * they had, with what was on their disk, or with nothing.  The clocks of
 * servers are up to an hour apart and run at different rates.
 *
 * Each grant is checked: no other client holds a grant that conflicts with it,
 * and its token is greater than the tokens of all conflicting grants before.
 */
#ifndef HF_TESTS_UNIT_QUORUM_CLUSTER_H
#define HF_TESTS_UNIT_QUORUM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_CLIENTS_MAX 6

struct quorum_cluster_config {
    size_t servers;
    size_t clients;
    bool readers;  /* half of the acquires, at random; writers may downgrade */
    bool faults;   /* in the first two thirds of the time */
    bool at_once;  /* the next acquire of all clients starts at one instant */
    bool one_down; /* one server never starts */
};

struct quorum_cluster_result {
    const char *broken;    /* the first check that failed, or NULL */
    uint64_t at_ms;        /* when that was */
    unsigned grants;       /* of all clients, */
    unsigned losses;       /* and how many ended with their session */
    unsigned least_grants; /* after the faults, of the client with the fewest */
};

/* Run a cluster for ${ms} of virtual time, or until a check fails. */
struct quorum_cluster_result
quorum_cluster_run(const struct quorum_cluster_config *config, uint64_t seed,
                   uint64_t ms);

#endif
