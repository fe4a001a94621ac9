/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random clusters of clients and servers: grants that conflict never overlap,
 * tokens rise, and after the faults each client is granted the lock again.
 *
 * The environment variable HF_QUORUM_SEEDS is how many clusters of each kind
 * run, HF_QUORUM_FIRST the seed of the first.  tests/simulator/mutate.py runs
 * this with mutations in the engine, and reads the message of the test that
 * fails.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmocka/runner.h"
#include "quorum_cluster.h"

#define SEEDS 40
#define CLUSTER_MS 30000

static uint64_t number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* Run a cluster for each seed; ${what} names the kind in messages. */
static void run_all(const struct quorum_cluster_config *config,
                    const char *what)
{
    uint64_t first = number("HF_QUORUM_FIRST", 1);
    uint64_t end = first + number("HF_QUORUM_SEEDS", SEEDS);
    unsigned grants = 0, losses = 0;

    for (uint64_t seed = first; seed < end; seed++) {
        struct quorum_cluster_result result =
            quorum_cluster_run(config, seed, CLUSTER_MS);

        if (result.broken != NULL)
            fail_msg("%s, seed %" PRIu64 ", at %" PRIu64 " ms: %s", what, seed,
                     result.at_ms, result.broken);
        if (result.least_grants == 0)
            fail_msg("%s, seed %" PRIu64 ": one never got it", what, seed);
        grants += result.grants;
        losses += result.losses;
    }
    print_message("%s: %u grants, %u losses\n", what, grants, losses);
}

TEST(quiet_servers)
{
    const struct quorum_cluster_config config = {.servers = 3, .clients = 4};

    run_all(&config, "three quiet servers");
}

TEST(faulty_servers)
{
    const struct quorum_cluster_config config = {
        .servers = 3, .clients = 4, .faults = true};

    run_all(&config, "three servers with faults");
}

TEST(faulty_readers)
{
    const struct quorum_cluster_config config = {
        .servers = 3, .clients = 4, .faults = true, .readers = true};

    run_all(&config, "readers and writers on three servers with faults");
}

TEST(five_servers)
{
    const struct quorum_cluster_config config = {
        .servers = 5, .clients = 3, .faults = true};

    run_all(&config, "five servers with faults");
}

/* If each server took the first contender and refused the others, contenders
 * that start together would share the servers and none would have a majority.
 */
TEST(fn14_all_at_once)
{
    const struct quorum_cluster_config config = {
        .servers = 3, .clients = 3, .at_once = true};

    run_all(&config, "three contenders at one instant, again and again");
}

TEST(fn52_one_is_never_there)
{
    const struct quorum_cluster_config config = {
        .servers = 3, .clients = 3, .one_down = true};

    run_all(&config, "one of three servers down from the start");
}
