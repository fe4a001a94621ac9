/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from a seed: which cluster it is, what its users want and what goes
 * wrong, until a moment from which on nothing does; then everything has to
 * come to its end.
 */
#include <string.h>

#include "core/time_math.h"
#include "engines/leased/leased.h"
#include "engines/zookeeper/zk_machine.h"
#include "simulator/cluster/barrier.h"
#include "simulator/cluster/operation.h"
#include "simulator/random/decision.h"
#include "simulator/random/fault_injector.h"
#include "simulator/random/users.h"
#include "zookeeper/proof.h"

#define CHECK_EVERY_US (50 * MS_US)
/* Steps of the calendar; a healthy run takes some thousands. */
#define STEPS_MAX 400000

static void check_all(void *arg)
{
    (void)arg;
    check_wakeups(plan.cluster);
    check_payloads(plan.cluster);
    check_lazy(plan.cluster);
    for (unsigned i = 0; i < plan.cluster->client_count; i++)
        operation_check(&plan.cluster->clients[i]);
    hf_sim_call_at(plan.cluster->sim, now_us() + CHECK_EVERY_US, true,
                   check_all, NULL);
}

/* ---------------------------------------------------------------- worlds -- */

static uint32_t some_chance(struct hf_random *random, uint32_t most)
{
    return hf_random_below(random, 2) == 0
               ? 0
               : (uint32_t)hf_random_below(random, most);
}

static void choose_faults(struct hf_sim_config *config,
                          struct hf_random *random)
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

/* Which cluster: a tenth calm, a tenth without a network, the rest troubled. */
static struct hf_sim_config choose(uint64_t seed, struct hf_random *random)
{
    struct hf_sim_config config = hf_sim_config_plain(seed);
    uint64_t tenth = hf_random_below(random, 10);

    config.traits = 0;
    if (hf_random_below(random, 4) != 0)
        config.traits |= HF_ENGINE_GONE_ADMITS;
    if (hf_random_below(random, 2) == 0)
        config.traits |= HF_ENGINE_WATCHES_TWO;
    config.timeout_ms = 300 + hf_random_below(random, 1200);
    config.least_timeout_ms = config.timeout_ms;
    config.separate_notices = hf_random_below(random, 3) == 0;
    config.partial = seed % 2 == 0;
    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + hf_random_below(random, 3000));
    plan.faults = 0;
    if (tenth >= 2) {
        choose_faults(&config, random);
    } else if (tenth == 1) {
        config.timeout_ms = config.least_timeout_ms = HF_FOREVER;
        config.delay_min_us = config.delay_max_us = 0;
        plan.faults = 1u << FAULT_FREEZE | 1u << FAULT_KILL |
                      1u << FAULT_EVICT | 1u << FAULT_CRASH | 1u << FAULT_CLOSE;
        config.refuse_chance = some_chance(random, 100000);
    }
    return config;
}

/* How long the leader may stop at most, so that it asks its followers for a
 * sign of life within the spacing that clients keep: what they rely on. */
static uint64_t leader_freeze_max_us(const struct hf_sim_config *config)
{
    uint64_t tick_ms = config->ensemble.tick_ms;
    uint64_t spacing_ms = hf_zk_proof_spacing_ms(
        config->least_timeout_ms, config->ensemble.tick_known ? tick_ms : 0);
    uint64_t used_ms =
        tick_ms / 2 + 4 * config->ensemble.lag_max_us / 1000 + 10;

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
    ensemble->lag_max_us =
        (uint32_t)hf_random_below(random, hf_random_below(random, 4) == 0
                                              ? 60 * ensemble->tick_ms
                                              : 1000) +
        1;
    ensemble->container_check_ms =
        ensemble->tick_ms * (2 + hf_random_below(random, 10));
    ensemble->tick_known = hf_random_below(random, 2) == 0;
    ensemble->strict_proof = hf_random_below(random, 4) == 0;
    ensemble->lacks_containers = hf_random_below(random, 8) == 0;
    ensemble->splits_bytes = hf_random_below(random, 2) == 0;
    ensemble->answers_moved = hf_random_below(random, 2) == 0;
    if (hf_random_below(random, 4) == 0)
        ensemble->layout = HF_ZK_KAZOO;
    config->traits = HF_ZK_TRAITS;
    config->separate_notices = false;
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
    ensemble->event_zxid = hf_random_below(random, 2) == 0;
    /* Where the spacing takes up more of the lease, what it leaves is not
     * enough to live on. */
    ensemble->strict_proof &=
        hf_zk_proof_spacing_ms(least_ms,
                               ensemble->tick_known ? ensemble->tick_ms : 0) ==
        least_ms / 4;
}

/* In half of the worlds clients have few calls under way.  From numbers of
 * its own: with a wide window a seed is the cluster it always was. */
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
    struct hf_sim_config config = hf_sim_config_zookeeper(seed);

    choose_ensemble(&config, random);
    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + hf_random_below(random, 3000));
    plan.faults = 0;
    if (hf_random_below(random, 10) != 0)
        choose_faults(&config, random);
    choose_limits(&config, random);
    choose_window(&config, seed);
    choose_proof(&config, seed);
    plan.fault_count = FAULT_COUNT_ENSEMBLE;
    plan.leader_freeze_max_us = leader_freeze_max_us(&config);
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
    uint64_t tenth = hf_random_below(random, 10);
    unsigned lease_faults = 1u << FAULT_STORE_STEP | 1u << FAULT_STORE_WIPE;

    config.timeout_ms = config.least_timeout_ms =
        HF_LEASED_TTL_MIN_MS + hf_random_below(random, 2000);
    config.partial = seed % 2 == 0;
    config.leases.renewal_piece_max = pieces_of(seed);
    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + hf_random_below(random, 3000));
    plan.faults = 0;
    plan.fault_count = FAULT_COUNT_LEASED;
    if (tenth == 0)
        return config;
    choose_faults(&config, random);
    config.least_timeout_ms = config.timeout_ms;
    config.garble_chance = 0;
    config.leases.notice_lost_chance = some_chance(random, 300000);
    config.leases.notice_twice_chance = some_chance(random, 300000);
    config.leases.notice_late_chance = some_chance(random, 300000);
    /* A session is no more at the server than what it has there. */
    plan.faults &= ~(lease_faults | 1u << FAULT_KILL);
    /* Nor is data lost and the clock set, see above. */
    if (tenth != 1)
        config.leases.commit_chance = some_chance(random, 100000);
    if (tenth == 1)
        plan.faults |=
            1u << (hf_random_below(random, 2) == 0 ? FAULT_STORE_STEP
                                                   : FAULT_STORE_WIPE);
    return config;
}

static struct hf_sim_config choose_any(enum engine_kind engine, uint64_t seed,
                                       struct hf_random *random)
{
    switch (engine) {
    case ENGINE_ZOOKEEPER:
        return choose_zookeeper(seed, random);
    case ENGINE_LEASED:
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

/* From numbers of its own: without cohorts a seed is the cluster it always was.
 */
static void choose_cohorts(uint64_t seed, enum engine_kind engine)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x636f686f727473);
    plan.cohorts = hf_random_below(&random, 3) == 0;
    plan.crowded = plan.cohorts && engine != ENGINE_ZOOKEEPER &&
                   plan.cluster->lock_count == 1 &&
                   !plan.cluster->locks[0].read_write &&
                   hf_random_below(&random, 2) == 0;
    if (plan.crowded)
        plan.want_every_us /= 20;
    if (hf_random_below(&random, 2) == 0)
        plan.cluster->handoffs = 1 + (uint32_t)hf_random_below(&random, 4);
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
                          enum engine_kind engine)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x726574727920);
    if (engine == ENGINE_PLAIN || hf_random_below(&random, 5) != 0)
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

static void begin(struct cluster *cluster, uint64_t seed,
                  enum engine_kind engine)
{
    struct hf_random random;
    struct hf_sim_config config;
    bool read_write, calm;
    uint64_t scale;

    hf_random_seed(&random, seed);
    memset(&plan, 0, sizeof plan);
    plan.fault_count = FAULT_COUNT;
    config = choose_any(engine, seed, &random);
    choose_policy(&config, seed, engine);
    calm = is_calm(&config);
    decisions_drop_chances(&config);
    plan.scale_ms = engine == ENGINE_PLAIN ? hf_min_ms(config.timeout_ms, 1000)
                                           : config.timeout_ms;
    scale = engine == ENGINE_PLAIN ? 1 : 1 + config.timeout_ms / 1000;
    cluster_init(cluster, &config);
    decisions_start(&cluster->random, cluster->sim);
    plan.cluster = cluster;
    plan.fault_every_us = scale * (20 + below(300)) * MS_US;
    plan.want_every_us = scale * (20 + below(300)) * MS_US;
    plan.hold_max_us = scale * (10 + below(one_in(2) ? 1500 : 150)) * MS_US;
    plan.until_us = scale * (2000 + below(6000)) * MS_US;
    cluster->calm = calm;
    cluster->answers_garbled = config.garble_chance > 0;
    cluster->denied = config.deny_chance > 0;
    cluster->tokens_only =
        engine == ENGINE_LEASED &&
        plan.faults & (1u << FAULT_STORE_STEP | 1u << FAULT_STORE_WIPE);
    cluster->grant_limit_us =
        cluster->calm ? 20 * (uint64_t)config.delay_max_us + 5 * MS_US
                      : 3000 * plan.scale_ms + 1000 * MS_US;
    if (engine ==
        ENGINE_ZOOKEEPER) /* an election, and what is rounded up to a tick */
        cluster->grant_limit_us +=
            1000 * config.ensemble.tick_ms * (4 + config.ensemble.sync_limit);
    if (!cluster->calm && one_in(4)) /* a machine with too much to do */
        cluster->tick_delay_us = below(20 * MS_US);
    cluster->client_count = 2 + (unsigned)below(4);
    read_write = one_in(2);
    cluster_lock(cluster, "one", read_write)->election = seed % 3 == 0;
    if (one_in(3))
        cluster_lock(cluster, "two", one_in(2));
    if (one_in(8))
        cluster_lock(cluster, "three", one_in(2));
    plan.multi_locks = one_in(2);
    if (plan.multi_locks && one_in(2))
        cluster_semaphore(cluster, "zero", 1 + (uint32_t)below(4));
    choose_cohorts(seed, engine);
    cluster->loss_at = choose_loss_at(seed);
    if (one_in(2))
        users_add_barrier(barrier_named(cluster, "gates/one"));
    cluster->mixed_kinds = one_in(20);
    if (read_write && one_in(3) && !cluster->mixed_kinds &&
        engine != ENGINE_LEASED)
        users_add_other_client(&cluster->locks[0]);
}

/* ------------------------------------------------------------------- end -- */

static void run_until(struct cluster *cluster, uint64_t until_us,
                      bool (*done)(struct cluster *cluster))
{
    while (cluster->broken == 0 && hf_sim_now_us(cluster->sim) < until_us &&
           (done == NULL || !done(cluster))) {
        if (++cluster->run_steps > STEPS_MAX) {
            cluster_broken(cluster, 4, "the run takes more than %d steps",
                           STEPS_MAX);
            return;
        }
        hf_sim_run_next(cluster->sim);
    }
}

static void close_all(struct cluster *cluster)
{
    plan.closing = true;
    for (unsigned i = 0; i < cluster->client_count; i++) {
        if (cluster->clients[i].alive && !cluster->clients[i].closing)
            cluster_close(&cluster->clients[i]);
    }
}

static bool all_closed(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->client_count; i++) {
        if (cluster->clients[i].alive && !cluster->clients[i].closed)
            return false;
    }
    return true;
}

bool random_run(struct cluster *cluster, uint64_t seed, enum engine_kind engine,
                void (*line)(void *arg, const char *text), bool brief)
{
    uint64_t lease_us;

    begin(cluster, seed, engine);
    cluster->line = line;
    cluster->brief = brief;
    lease_us = 1000 * plan.scale_ms;
    fault_injector_start();
    check_all(NULL);
    run_until(cluster, plan.until_us, NULL);
    if (cluster->broken == 0)
        fault_injector_stop();
    /* Holders come one after the other. */
    run_until(cluster, now_us() + 60 * lease_us + 64 * plan.hold_max_us,
              check_quiet);
    check_end(cluster);
    /* Nothing may come back, and a goodbye is answered.  What a crashed client
     * had under way on a cut link may take effect once more, late, and its
     * session then lives for another timeout. */
    run_until(cluster, now_us() + 4 * lease_us, NULL);
    check_end(cluster);
    if (cluster->broken == 0)
        close_all(cluster);
    run_until(cluster, now_us() + lease_us, all_closed);
    if (!all_closed(cluster))
        cluster_broken(cluster, 8, "a client is never CLOSED");
    return cluster->broken == 0;
}
