/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random worlds of clients on several servers: nobody has it together with
 * somebody else, tokens rise, and everybody gets it again when the faults are
 * over.  And each deliberate fault of the code is found by some world.
 *
 * HF_QUORUM_SEEDS is how many worlds of each kind there are.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engines/quorum/plant.h"
#include "quorum_world.h"

#define SEEDS 40
#define PLANT_SEEDS 1000
#define WORLD_MS 30000

static uint64_t seeds(void)
{
    const char *text = getenv("HF_QUORUM_SEEDS");

    return text == NULL ? SEEDS : strtoull(text, NULL, 10);
}

static void run_all(const struct world_config *config, const char *what)
{
    unsigned grants = 0, losses = 0;

    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        struct world_result result = world_run(config, seed, WORLD_MS);

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

static void quiet_servers(void **state)
{
    const struct world_config config = {.servers = 3, .clients = 4};

    (void)state;
    run_all(&config, "three quiet servers");
}

static void faulty_servers(void **state)
{
    const struct world_config config = {
        .servers = 3, .clients = 4, .faults = true};

    (void)state;
    run_all(&config, "three servers with faults");
}

static void faulty_readers(void **state)
{
    const struct world_config config = {
        .servers = 3, .clients = 4, .faults = true, .readers = true};

    (void)state;
    run_all(&config, "readers and writers on three servers with faults");
}

static void five_servers(void **state)
{
    const struct world_config config = {
        .servers = 5, .clients = 3, .faults = true};

    (void)state;
    run_all(&config, "five servers with faults");
}

/* Whoever shares the servers out among contenders, and refuses the later ones,
 * has worlds in which nobody gets a majority. */
static void fn14_all_at_once(void **state)
{
    const struct world_config config = {
        .servers = 3, .clients = 3, .at_once = true};

    (void)state;
    run_all(&config, "three contenders at one instant, again and again");
}

static void fn52_one_is_never_there(void **state)
{
    const struct world_config config = {
        .servers = 3, .clients = 3, .one_down = true};

    (void)state;
    run_all(&config, "one of three servers down from the start");
}

/* ---------------------------------------------------------------- plants -- */

static const struct {
    const char *name;
    int invariant;
    const char *what;
} plants[] = {[HF_QUORUM_PLANT_NONE] = {"", 0, ""},
#define PLANT_ROW(name, invariant, what)                                       \
    [HF_QUORUM_##name] = {"QUORUM_" #name, invariant, what},
              HF_QUORUM_PLANT_TABLE(PLANT_ROW)
#undef PLANT_ROW
};

/* What it prints of one is read by tests/sim/mutate.py. */
static bool is_found(enum hf_quorum_plant plant)
{
    const struct world_config config = {
        .servers = 3, .clients = 4, .faults = true};

    for (uint64_t seed = 1; seed <= PLANT_SEEDS; seed++) {
        struct world_result result = world_run(&config, seed, WORLD_MS);

        if (result.broken == NULL)
            continue;
        print_message("%s %d %s: seed %" PRIu64 ", %s\n", plants[plant].name,
                      plants[plant].invariant, plants[plant].what, seed,
                      result.broken);
        return true;
    }
    return false;
}

static void each_deliberate_fault_is_found(void **state)
{
    (void)state;
    for (unsigned i = 1; i < HF_QUORUM_PLANTS; i++) {
        hf_quorum_plant = (enum hf_quorum_plant)i;
        if (!is_found(hf_quorum_plant))
            fail_msg("%s is not found", plants[i].name);
        hf_quorum_plant = HF_QUORUM_PLANT_NONE;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_servers),
        cmocka_unit_test(faulty_servers),
        cmocka_unit_test(faulty_readers),
        cmocka_unit_test(five_servers),
        cmocka_unit_test(fn14_all_at_once),
        cmocka_unit_test(fn52_one_is_never_there),
        cmocka_unit_test(each_deliberate_fault_is_found),
    };

    return cmocka_run_group_tests_name("quorum worlds", tests, NULL, NULL);
}
