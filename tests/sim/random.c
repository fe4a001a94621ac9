/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from a seed: which world it is, what its users want and what goes
 * wrong, until a moment from which on nothing does; then everything has to
 * come to its end.
 */
#include <string.h>

#include "chaos.h"
#include "core/time_math.h"
#include "engines/leased/leased.h"
#include "engines/zookeeper/zk_machine.h"
#include "gate.h"
#include "question.h"
#include "turn.h"
#include "user.h"
#include "zookeeper/proof.h"

#define LOOK_EVERY_US (50 * MS_US)
/* Steps of the calendar; a healthy run takes some thousands. */
#define STEPS_MAX 400000

static void look(void *arg)
{
    (void)arg;
    check_wakeups(plan.world);
    check_texts(plan.world);
    check_lazy(plan.world);
    for (unsigned i = 0; i < plan.world->client_count; i++)
        question_check(&plan.world->clients[i]);
    hf_sim_call_at(plan.world->sim, now_us() + LOOK_EVERY_US, true, look, NULL);
}

/* ---------------------------------------------------------------- worlds -- */

static uint32_t some_chance(struct hf_random *random, uint32_t most)
{
    return hf_random_below(random, 2) == 0
               ? 0
               : (uint32_t)hf_random_below(random, most);
}

static void troubled(struct hf_sim_config *config, struct hf_random *random)
{
    plan.faults = (unsigned)(hf_random_next(random) & hf_random_next(random)) |
                  (unsigned)(hf_random_next(random) & hf_random_next(random) &
                             hf_random_next(random));
    if (hf_random_below(random, 2) == 0)
        config->least_timeout_ms = config->timeout_ms * 2 / 3;
    config->server_ppm = (int32_t)hf_random_below(random, 9001) - 4500;
    config->refuse_chance = some_chance(random, 100000);
    config->lose_chance = some_chance(random, 20000);
    config->slow_chance = some_chance(random, 100000);
    config->late_chance = some_chance(random, 1000000);
    if (hf_random_below(random, 8) == 0)
        config->deny_chance = 20000;
    if (hf_random_below(random, 10) == 0)
        config->garble_chance = 50000;
}

/* Which world: a tenth calm, a tenth without a network, the rest troubled. */
static struct hf_sim_config choose(uint64_t seed, struct hf_random *random)
{
    struct hf_sim_config config = hf_sim_config_calm(seed);
    uint64_t sort = hf_random_below(random, 10);

    config.traits = 0;
    if (hf_random_below(random, 4) != 0)
        config.traits |= HF_ENGINE_GONE_ADMITS;
    if (hf_random_below(random, 2) == 0)
        config.traits |= HF_ENGINE_WATCHES_TWO;
    config.timeout_ms = 300 + hf_random_below(random, 1200);
    config.least_timeout_ms = config.timeout_ms;
    config.notices_apart = hf_random_below(random, 3) == 0;
    config.partial = seed % 2 == 0;
    config.delay_least_us = 100;
    config.delay_most_us = (uint32_t)(200 + hf_random_below(random, 3000));
    plan.faults = 0;
    if (sort >= 2) {
        troubled(&config, random);
    } else if (sort == 1) {
        config.timeout_ms = config.least_timeout_ms = HF_FOREVER;
        config.delay_least_us = config.delay_most_us = 0;
        plan.faults = 1u << FAULT_FREEZE | 1u << FAULT_KILL |
                      1u << FAULT_EVICT | 1u << FAULT_CRASH | 1u << FAULT_CLOSE;
        config.refuse_chance = some_chance(random, 100000);
    }
    return config;
}

/* How long the leader may stop at most, so that it asks its followers for a
 * sign of life within the spacing that clients keep: what they rely on. */
static uint64_t leader_freeze_most_us(const struct hf_sim_config *config)
{
    uint64_t tick_ms = config->ensemble.tick_ms;
    uint64_t spacing_ms = hf_zk_proof_spacing_ms(
        config->least_timeout_ms, config->ensemble.tick_known ? tick_ms : 0);
    uint64_t used_ms =
        tick_ms / 2 + 4 * config->ensemble.lag_most_us / 1000 + 10;

    return spacing_ms > used_ms ? 1000 * (spacing_ms - used_ms) : 1;
}

/* The scale of real ensembles, or down to a tenth of it. */
static void choose_ensemble(struct hf_sim_config *config,
                            struct hf_random *random)
{
    struct hf_sim_ensemble *ensemble = &config->ensemble;

    ensemble->servers = 1 + 2 * (unsigned)hf_random_below(random, 3);
    if (hf_random_below(random, 3) != 0)
        ensemble->tick_ms = 200 + hf_random_below(random, 800);
    config->timeout_ms =
        ensemble->tick_ms * (200 + hf_random_below(random, 400)) / 100;
    ensemble->lag_most_us =
        (uint32_t)hf_random_below(random, hf_random_below(random, 4) == 0
                                              ? 60 * ensemble->tick_ms
                                              : 1000) +
        1;
    ensemble->container_ms =
        ensemble->tick_ms * (2 + hf_random_below(random, 10));
    ensemble->tick_known = hf_random_below(random, 2) == 0;
    ensemble->strict_proof = hf_random_below(random, 4) == 0;
    ensemble->old = hf_random_below(random, 8) == 0;
    ensemble->split = hf_random_below(random, 2) == 0;
    ensemble->tells_moved = hf_random_below(random, 2) == 0;
    if (hf_random_below(random, 4) == 0)
        ensemble->layout = HF_ZK_KAZOO;
    config->traits = HF_ZK_TRAITS;
    config->notices_apart = false;
}

/* In a third of the worlds servers have different limits of a timeout, which
 * change when they are started again.  None is below two ticks. */
static void choose_limits(struct hf_sim_config *config,
                          struct hf_random *random)
{
    struct hf_sim_ensemble *ensemble = &config->ensemble;
    uint64_t least_ms = config->timeout_ms;

    if (hf_random_below(random, 3) == 0)
        least_ms = hf_max_ms(2 * ensemble->tick_ms, config->timeout_ms / 2);
    config->least_timeout_ms = least_ms;
    if (least_ms < config->timeout_ms)
        ensemble->timeout_floor_ms = least_ms;
    ensemble->tells_zxid = hf_random_below(random, 2) == 0;
    /* Where the spacing takes up more of the lease, what it leaves is not
     * enough to live on. */
    ensemble->strict_proof &=
        hf_zk_proof_spacing_ms(least_ms,
                               ensemble->tick_known ? ensemble->tick_ms : 0) ==
        least_ms / 4;
}

/* In half of the worlds clients have few calls under way.  From numbers of
 * its own: with a wide window a seed is the world it always was. */
static void choose_window(struct hf_sim_config *config, uint64_t seed)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x77696e646f77);
    if (hf_random_below(&random, 2) == 0)
        config->ensemble.window = 1 + (unsigned)hf_random_below(&random, 4);
}

/* Half of the worlds that are not strict prove only what is wanted; from
 * numbers of its own, likewise. */
static void choose_proof(struct hf_sim_config *config, uint64_t seed)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x70726f6f66);
    config->ensemble.lazy_proof =
        !config->ensemble.strict_proof && hf_random_below(&random, 3) != 0;
}

/* A tenth of the ensembles are calm. */
static struct hf_sim_config choose_zookeeper(uint64_t seed,
                                             struct hf_random *random)
{
    struct hf_sim_config config = hf_sim_config_ensemble(seed);

    choose_ensemble(&config, random);
    config.delay_least_us = 100;
    config.delay_most_us = (uint32_t)(200 + hf_random_below(random, 3000));
    plan.faults = 0;
    if (hf_random_below(random, 10) != 0)
        troubled(&config, random);
    choose_limits(&config, random);
    choose_window(&config, seed);
    choose_proof(&config, seed);
    plan.fault_count = FAULT_COUNT_ENSEMBLE;
    plan.leader_freeze_most_us = leader_freeze_most_us(&config);
    return config;
}

/* Half of the leasing servers want renewals in pieces of so many tickets. */
static unsigned pieces_of(uint64_t seed)
{
    return seed / 2 % 2 == 0 ? 0 : (unsigned)(1 + seed / 4 % 3);
}

/* A tenth of the leasing servers are calm, in another the clock is set or data
 * is lost, but not both: then tokens may go back, as is documented. */
static struct hf_sim_config choose_leased(uint64_t seed,
                                          struct hf_random *random)
{
    struct hf_sim_config config = hf_sim_config_leased(seed);
    uint64_t sort = hf_random_below(random, 10);
    unsigned own = 1u << FAULT_STORE_STEP | 1u << FAULT_STORE_WIPE;

    config.timeout_ms = config.least_timeout_ms =
        HF_LEASED_TTL_MIN_MS + hf_random_below(random, 2000);
    config.partial = seed % 2 == 0;
    config.leases.renewal_most = pieces_of(seed);
    config.delay_least_us = 100;
    config.delay_most_us = (uint32_t)(200 + hf_random_below(random, 3000));
    plan.faults = 0;
    plan.fault_count = FAULT_COUNT_LEASED;
    if (sort == 0)
        return config;
    troubled(&config, random);
    config.least_timeout_ms = config.timeout_ms;
    config.garble_chance = 0;
    config.leases.notice_lost_chance = some_chance(random, 300000);
    config.leases.notice_twice_chance = some_chance(random, 300000);
    config.leases.notice_late_chance = some_chance(random, 300000);
    /* A session is no more at the server than what it has there. */
    plan.faults &= ~(own | 1u << FAULT_KILL);
    /* Nor is data lost and the clock set, see above. */
    if (sort != 1)
        config.leases.commit_chance = some_chance(random, 100000);
    if (sort == 1)
        plan.faults |=
            1u << (hf_random_below(random, 2) == 0 ? FAULT_STORE_STEP
                                                   : FAULT_STORE_WIPE);
    return config;
}

static struct hf_sim_config choose_any(enum world_sort sort, uint64_t seed,
                                       struct hf_random *random)
{
    switch (sort) {
    case WORLD_ZOOKEEPER:
        return choose_zookeeper(seed, random);
    case WORLD_LEASED:
        return choose_leased(seed, random);
    default:
        return choose(seed, random);
    }
}

static bool is_calm(const struct hf_sim_config *config)
{
    const struct hf_sim_leases *leases = &config->leases;

    return plan.faults == 0 && config->refuse_chance == 0 &&
           config->lose_chance == 0 && config->slow_chance == 0 &&
           config->late_chance == 0 && config->deny_chance == 0 &&
           config->garble_chance == 0 && leases->notice_lost_chance == 0 &&
           leases->notice_twice_chance == 0 &&
           leases->notice_late_chance == 0 && leases->commit_chance == 0;
}

/* From numbers of its own: without cohorts a seed is the world it always was.
 */
static void choose_cohorts(uint64_t seed, enum world_sort sort)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x636f686f727473);
    plan.cohorts = hf_random_below(&random, 3) == 0;
    plan.crowded = plan.cohorts && sort != WORLD_ZOOKEEPER &&
                   plan.world->place_count == 1 &&
                   !plan.world->places[0].read_write &&
                   hf_random_below(&random, 2) == 0;
    if (plan.crowded)
        plan.want_every_us /= 20;
    if (hf_random_below(&random, 2) == 0)
        plan.world->handoffs = 1 + (uint32_t)hf_random_below(&random, 4);
}

/* Likewise: in a quarter of the worlds losses are told at SUSPENDED. */
static enum hf_loss_at choose_loss_at(uint64_t seed)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x6c696e6b);
    return hf_random_below(&random, 4) == 0 ? HF_LOSS_AT_SUSPENDED
                                            : HF_LOSS_AT_LOST;
}

/* In a fifth of the worlds of a network clients give up soon.  From numbers of
 * its own as well. */
static void choose_policy(struct hf_sim_config *config, uint64_t seed,
                          enum world_sort sort)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x726574727920);
    if (sort == WORLD_PLAIN || hf_random_below(&random, 5) != 0)
        return;
    plan.reconnect.pause_ms = 1 + hf_random_below(&random, 1000);
    plan.reconnect.retries = (uint32_t)hf_random_below(&random, 4);
    plan.reconnect.elapsed_ms = HF_FOREVER;
    if (hf_random_below(&random, 2) == 0)
        plan.reconnect.pause_max_ms = 2000;
    if (hf_random_below(&random, 4) == 0)
        plan.reconnect.elapsed_ms = hf_random_below(&random, 3000);
    config->reconnect = &plan.reconnect;
}

static void begin(struct world *world, uint64_t seed, enum world_sort sort)
{
    struct hf_random random;
    struct hf_sim_config config;
    bool read_write, calm;
    uint64_t scale;

    hf_random_seed(&random, seed);
    memset(&plan, 0, sizeof plan);
    plan.fault_count = FAULT_COUNT;
    config = choose_any(sort, seed, &random);
    choose_policy(&config, seed, sort);
    calm = is_calm(&config);
    turns_still(&config);
    plan.scale_ms = sort == WORLD_PLAIN ? hf_min_ms(config.timeout_ms, 1000)
                                        : config.timeout_ms;
    scale = sort == WORLD_PLAIN ? 1 : 1 + config.timeout_ms / 1000;
    world_init(world, &config);
    turns_begin(&world->random, world->sim);
    plan.world = world;
    plan.fault_every_us = scale * (20 + below(300)) * MS_US;
    plan.want_every_us = scale * (20 + below(300)) * MS_US;
    plan.hold_most_us = scale * (10 + below(one_in(2) ? 1500 : 150)) * MS_US;
    plan.until_us = scale * (2000 + below(6000)) * MS_US;
    world->calm = calm;
    world->lied_to = config.garble_chance > 0;
    world->denied = config.deny_chance > 0;
    world->tokens_alone =
        sort == WORLD_LEASED &&
        plan.faults & (1u << FAULT_STORE_STEP | 1u << FAULT_STORE_WIPE);
    world->patience_us = world->calm
                             ? 20 * (uint64_t)config.delay_most_us + 5 * MS_US
                             : 3000 * plan.scale_ms + 1000 * MS_US;
    if (sort ==
        WORLD_ZOOKEEPER) /* an election, and what is rounded up to a tick */
        world->patience_us +=
            1000 * config.ensemble.tick_ms * (4 + config.ensemble.sync_limit);
    if (!world->calm && one_in(4)) /* a machine with too much to do */
        world->late_us = below(20 * MS_US);
    world->client_count = 2 + (unsigned)below(4);
    read_write = one_in(2);
    world_place(world, "one", read_write)->election = seed % 3 == 0;
    if (one_in(3))
        world_place(world, "two", one_in(2));
    if (one_in(8))
        world_place(world, "three", one_in(2));
    plan.bundles = one_in(2);
    if (plan.bundles && one_in(2))
        world_semaphore(world, "zero", 1 + (uint32_t)below(4));
    choose_cohorts(seed, sort);
    world->loss_at = choose_loss_at(seed);
    if (one_in(2))
        users_gate(gate_called(world, "gates/one"));
    world->shared_kinds = one_in(20);
    if (read_write && one_in(3) && !world->shared_kinds && sort != WORLD_LEASED)
        users_foreign(&world->places[0]);
}

/* ------------------------------------------------------------------- end -- */

static void run_until(struct world *world, uint64_t until_us,
                      bool (*done)(struct world *world))
{
    while (world->broken == 0 && hf_sim_now_us(world->sim) < until_us &&
           (done == NULL || !done(world))) {
        if (++world->run_steps > STEPS_MAX) {
            world_broken(world, 4, "the run takes more than %d steps",
                         STEPS_MAX);
            return;
        }
        hf_sim_next(world->sim);
    }
}

static void close_all(struct world *world)
{
    plan.closing = true;
    for (unsigned i = 0; i < world->client_count; i++) {
        if (world->clients[i].alive && !world->clients[i].closing)
            world_close(&world->clients[i]);
    }
}

static bool all_closed(struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        if (world->clients[i].alive && !world->clients[i].closed)
            return false;
    }
    return true;
}

bool random_run(struct world *world, uint64_t seed, enum world_sort sort,
                void (*line)(void *arg, const char *text), bool brief)
{
    uint64_t lease_us;

    begin(world, seed, sort);
    world->line = line;
    world->brief = brief;
    lease_us = 1000 * plan.scale_ms;
    chaos_begin();
    look(NULL);
    run_until(world, plan.until_us, NULL);
    if (world->broken == 0)
        chaos_end();
    /* Holders come one after the other. */
    run_until(world, now_us() + 60 * lease_us + 64 * plan.hold_most_us,
              check_quiet);
    check_end(world);
    /* Nothing may come back, and a goodbye is answered.  What a crashed client
     * had under way on a cut link may take effect once more, late, and its
     * session then lives for another timeout. */
    run_until(world, now_us() + 4 * lease_us, NULL);
    check_end(world);
    if (world->broken == 0)
        close_all(world);
    run_until(world, now_us() + lease_us, all_closed);
    if (!all_closed(world))
        world_broken(world, 8, "a client is never CLOSED");
    return world->broken == 0;
}
