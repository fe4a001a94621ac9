/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that contend for one lock on several servers that know nothing of
 * each other, in virtual time: links with delays, which are cut; servers that
 * freeze, are killed and forget what they had, or the last second of it, or
 * keep it; whose clocks are up to an hour apart and run at different rates.
 * Everything comes from a seed.
 *
 * Of every grant it is checked that nobody else has one with which it conflicts
 * and that its token is greater than that of every conflicting one before.
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
    bool readers;  /* half of them, at random, and downgrades */
    bool faults;   /* in the first part of its time */
    bool at_once;  /* all begin to contend at one instant, again and again */
    bool one_down; /* one server is never there */
};

struct quorum_cluster_result {
    const char *broken; /* what was, or NULL */
    uint64_t at_ms;
    unsigned grants;
    unsigned losses;
    unsigned least_grants; /* of a client, after the faults */
};

struct quorum_cluster_result
quorum_cluster_run(const struct quorum_cluster_config *config, uint64_t seed,
                   uint64_t ms);

#endif
