/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from a seed: the configuration of the cluster, its users and its
 * faults, up to a time after which there are no faults; then everything has to
 * end.
 *
 * Options that were added later draw from random generators of their own, so
 * that a seed without the option is the run that it was before.
 */
#include <string.h>

#include "base/time_math.h"
#include "engines/leased/leased.h"
#include "engines/zookeeper/zk_engine.h"
#include "etcd/etcd_url.h"
#include "simulator/cluster/barrier.h"
#include "simulator/cluster/operation.h"
#include "simulator/random/decision.h"
#include "simulator/random/fault_injector.h"
#include "simulator/random/shared_session.h"
#include "simulator/random/users.h"
#include "zookeeper/proof.h"

#define CHECK_EVERY_US (50 * MS_US)
/* Timers of the model; a run needs some thousands, and more if members of etcd
 * send each other heartbeats. */
#define STEPS_MAX 4000000

/* The checks that do not belong to one step, every 50 ms. */
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

/* --------------------------------------------------------- configuration -- */

static uint32_t some_chance(struct hf_random *random, uint32_t most)
{
    return hf_random_below(random, 2) == 0
               ? 0
               : (uint32_t)hf_random_below(random, most);
}

/* Which faults happen, and the chances of those that happen to messages. */
static void choose_faults(struct hf_sim_config *config,
                          struct hf_random *random)
{
    plan.faults = (unsigned)(hf_random_next(random) & hf_random_next(random)) |
                  (unsigned)(hf_random_next(random) & hf_random_next(random) &
                             hf_random_next(random));
    if (hf_random_below(random, 2) == 0)
        config->least_timeout_ms = config->timeout_ms * 2 / 3;
    config->clock_drift = HF_CLOCK_DRIFT;
    config->server_ppm =
        (int32_t)hf_random_below(random, 2 * SLEW_PPM + 1) - SLEW_PPM;
    config->refuse_chance = some_chance(random, 100000);
    config->lose_chance = some_chance(random, 20000);
    config->slow_chance = some_chance(random, 100000);
    config->late_chance = some_chance(random, 1000000);
    if (hf_random_below(random, 8) == 0)
        config->deny_chance = 20000;
    if (hf_random_below(random, 10) == 0)
        config->garble_chance = 50000;
}

/* A tenth of the plain runs have no faults, a tenth no network, the rest
 * faults. */
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

/* How long ${us} of a clock that is ${ppm} too fast take. */
static uint64_t true_us(uint64_t us, int32_t ppm)
{
    return (uint64_t)((int64_t)us * 1000000 / (1000000 + ppm));
}

/* How long the leader may be stopped so that its ping loop still runs once
 * within 7/8 of the spacing that clients rely on (zookeeper/proof.h), by the
 * fastest clock of a client and by the clock of the servers. */
static uint64_t leader_freeze_max_us(const struct hf_sim_config *config)
{
    const struct hf_sim_ensemble *ensemble = &config->ensemble;
    uint64_t spacing_ms = hf_zk_proof_spacing_ms(
        config->least_timeout_ms, ensemble->tick_known ? ensemble->tick_ms : 0);
    uint64_t pinged_us =
        true_us(1000 * (spacing_ms - spacing_ms / 8), SLEW_PPM);
    uint64_t period_us = true_us(500 * ensemble->tick_ms, config->server_ppm);
    uint64_t used_us = period_us + 4 * (uint64_t)ensemble->lag_max_us + 10000;

    return pinged_us > used_us ? pinged_us - used_us : 1;
}

/* Ticks of real servers, or shorter ones. */
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

/* In a third of the runs servers grant different timeouts, which change at a
 * restart.  None is shorter than two ticks. */
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
    /* If the spacing takes more of a lease than a quarter, too little is left
     * for grants. */
    ensemble->strict_proof &=
        hf_zk_proof_spacing_ms(least_ms,
                               ensemble->tick_known ? ensemble->tick_ms : 0) ==
        least_ms / 4;
}

/* In half of the runs clients may have few calls under way. */
static void choose_window(struct hf_sim_config *config, uint64_t seed)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x77696e646f77);
    if (hf_random_below(&random, 2) == 0)
        config->ensemble.window = 1 + (unsigned)hf_random_below(&random, 4);
}

/* Two thirds of the runs without proof=strict have proof=lazy. */
static void choose_proof(struct hf_sim_config *config, uint64_t seed)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x70726f6f66);
    config->ensemble.lazy_proof =
        !config->ensemble.strict_proof && hf_random_below(&random, 3) != 0;
}

/* A tenth of the ensembles have no faults. */
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

/* Answers that are garbled would make the handles' reads wrong. */
static struct hf_sim_config choose_shared(uint64_t seed,
                                          struct hf_random *random)
{
    struct hf_sim_config config = choose_zookeeper(seed, random);

    config.garble_chance = 0;
    plan.shared = true;
    return config;
}

/* In half of the runs leases are renewed in pieces of this many tickets. */
static unsigned pieces_of(uint64_t seed)
{
    return seed / 2 % 2 == 0 ? 0 : (unsigned)(1 + seed / 4 % 3);
}

/* A tenth of the leasing servers have no faults.  In another tenth the clock is
 * set or data is lost, but not both, because then tokens may go back, as the
 * documents say. */
static struct hf_sim_config choose_leased(uint64_t seed,
                                          struct hf_random *random)
{
    struct hf_sim_config config = hf_sim_config_leased(seed);
    uint64_t tenth = hf_random_below(random, 10);
    unsigned lease_faults = 1u << FAULT_STORE_STEP | 1u << FAULT_STORE_WIPE;

    config.timeout_ms = config.least_timeout_ms =
        HF_LEASED_TTL_MIN_MS + hf_random_below(random, 2000);
    config.partial = seed % 2 == 0;
    config.leases.names_first = seed / 4 % 2 == 1;
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
    /* The server has no sessions, so none can be killed. */
    plan.faults &= ~(lease_faults | 1u << FAULT_KILL);
    /* A commit that is lost and a clock that is set may make tokens go back,
     * see above. */
    if (tenth != 1)
        config.leases.commit_chance = some_chance(random, 100000);
    if (tenth == 1)
        plan.faults |=
            1u << (hf_random_below(random, 2) == 0 ? FAULT_STORE_STEP
                                                   : FAULT_STORE_WIPE);
    return config;
}

/* Elections of real members, or shorter ones. */
static void choose_members(struct hf_sim_config *config,
                           struct hf_random *random)
{
    struct hf_sim_etcd *etcd = &config->etcd;

    etcd->members = 1 + 2 * (unsigned)hf_random_below(random, 3);
    if (hf_random_below(random, 3) != 0)
        etcd->election_ms = 200 + hf_random_below(random, 800);
    config->timeout_ms = config->least_timeout_ms =
        HF_ETCD_TTL_MIN_MS + 1000 * hf_random_below(random, 4);
    etcd->lag_max_us =
        (uint32_t)hf_random_below(random, hf_random_below(random, 4) == 0
                                              ? 20 * etcd->election_ms
                                              : 1000) +
        1;
    etcd->apply_max_us = (uint32_t)hf_random_below(
        random, hf_random_below(random, 4) == 0 ? 200000 : 1000);
    etcd->reorder_max_us = (uint32_t)hf_random_below(
        random, hf_random_below(random, 4) == 0 ? 50000 : 3000);
    etcd->lag_chance = some_chance(random, 200000);
    etcd->splits_bytes = hf_random_below(random, 2) == 0;
    etcd->lazy_proof = hf_random_below(random, 2) == 0;
    etcd->auth = hf_random_below(random, 3) == 0;
    etcd->token_ttl_ms = 1000 + hf_random_below(random, 4000);
    etcd->stale_renewals = hf_random_below(random, 4) != 0;
    etcd->stale_reads = hf_random_below(random, 2) == 0;
}

/* A tenth of the clusters have no faults.  None breaks the assumption of
 * docs/engine-etcd.md. */
static struct hf_sim_config choose_etcd(uint64_t seed, struct hf_random *random)
{
    struct hf_sim_config config = hf_sim_config_etcd(seed);

    choose_members(&config, random);
    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + hf_random_below(random, 3000));
    plan.faults = 0;
    plan.fault_count = FAULT_COUNT_ETCD;
    if (hf_random_below(random, 10) == 0)
        return config;
    choose_faults(&config, random);
    config.least_timeout_ms = config.timeout_ms;
    config.garble_chance = 0;
    return config;
}

static struct hf_sim_config choose_any(enum engine_kind engine, uint64_t seed,
                                       struct hf_random *random)
{
    switch (engine) {
    case ENGINE_ZOOKEEPER:
        return choose_zookeeper(seed, random);
    case ENGINE_ZOOKEEPER_SHARED:
        return choose_shared(seed, random);
    case ENGINE_LEASED:
        return choose_leased(seed, random);
    case ENGINE_ETCD:
        return choose_etcd(seed, random);
    default:
        return choose(seed, random);
    }
}

static bool has_ensemble(enum engine_kind engine)
{
    return engine == ENGINE_ZOOKEEPER || engine == ENGINE_ZOOKEEPER_SHARED;
}

/* Has the run no faults at all? */
static bool is_without_faults(const struct hf_sim_config *config)
{
    const struct hf_sim_leases *leases = &config->leases;

    return plan.faults == 0 && config->refuse_chance == 0 &&
           config->lose_chance == 0 && config->slow_chance == 0 &&
           config->late_chance == 0 && config->deny_chance == 0 &&
           config->garble_chance == 0 && leases->notice_lost_chance == 0 &&
           leases->notice_twice_chance == 0 &&
           leases->notice_late_chance == 0 && leases->commit_chance == 0;
}

/* In a third of the runs users share tickets. */
static void choose_cohorts(uint64_t seed, enum engine_kind engine)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x636f686f727473);
    plan.cohorts = hf_random_below(&random, 3) == 0;
    plan.crowded = plan.cohorts && !has_ensemble(engine) &&
                   plan.cluster->lock_count == 1 &&
                   !plan.cluster->locks[0].read_write &&
                   hf_random_below(&random, 2) == 0;
    if (plan.crowded)
        plan.want_every_us /= 20;
    if (hf_random_below(&random, 2) == 0)
        plan.cluster->handoffs = 1 + (uint32_t)hf_random_below(&random, 4);
    if (plan.cohorts && hf_random_below(&random, 3) == 0)
        plan.cluster->keep_ms = 1 + hf_random_below(&random, 8000);
}

/* In a quarter of the runs losses are at SUSPENDED. */
static enum hf_loss_at choose_loss_at(uint64_t seed)
{
    struct hf_random random;

    hf_random_seed(&random, seed ^ 0x6c696e6b);
    return hf_random_below(&random, 4) == 0 ? HF_LOSS_AT_SUSPENDED
                                            : HF_LOSS_AT_LOST;
}

/* In a fifth of the runs with a network clients give up reconnecting soon. */
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

/* Draw the whole plan of the run. */
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
    calm = is_without_faults(&config);
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
    cluster->no_faults = calm;
    cluster->answers_garbled = config.garble_chance > 0;
    cluster->denied = config.deny_chance > 0;
    cluster->tokens_only =
        engine == ENGINE_LEASED &&
        plan.faults & (1u << FAULT_STORE_STEP | 1u << FAULT_STORE_WIPE);
    cluster->grant_limit_us =
        cluster->no_faults ? 20 * (uint64_t)config.delay_max_us + 5 * MS_US
                           : 3000 * plan.scale_ms + 1000 * MS_US;
    if (has_ensemble(engine)) /* An election, and deadlines that are rounded up
                                 to a tick, take longer. */
        cluster->grant_limit_us +=
            1000 * config.ensemble.tick_ms * (4 + config.ensemble.sync_limit);
    if (!cluster->no_faults && one_in(4)) /* a machine under load */
        cluster->tick_delay_us = below(20 * MS_US);
    if (engine == ENGINE_ETCD) /* Likewise, and calls that hang. */
        cluster->grant_limit_us += 1000 * (8000 + 10 * config.etcd.election_ms);
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
        users_add_barrier(barrier_named(cluster, "block/one"));
    cluster->mixed_kinds = one_in(20);
    if (read_write && one_in(3) && !cluster->mixed_kinds &&
        engine != ENGINE_LEASED)
        users_add_other_client(&cluster->locks[0]);
}

/* ------------------------------------------------------------------- end -- */

/* Run timers until a time, a violation, or ${done}. */
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
        struct client *client = &cluster->clients[i];

        if (!client->alive || client->closing)
            continue;
        if (plan.shared)
            shared_session_close(client);
        cluster_close(client);
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

/* Users of handles go on for a while without faults.  The waiters that are left
 * must be granted meanwhile or later. */
static void run_handles(struct cluster *cluster, uint64_t lease_us)
{
    shared_sessions_end_faults();
    run_until(cluster, now_us() + 4 * lease_us, NULL);
    shared_sessions_stop();
}

static bool all_quiet(struct cluster *cluster)
{
    return check_quiet(cluster) && !shared_sessions_busy();
}

/* Faults and new attempts for a while, then time for everything to end, then
 * all clients close. */
bool random_run(struct cluster *cluster, uint64_t seed, enum engine_kind engine,
                void (*line)(void *arg, const char *text), bool brief)
{
    uint64_t lease_us;

    begin(cluster, seed, engine);
    cluster->line = line;
    cluster->brief = brief;
    lease_us = 1000 * plan.scale_ms;
    if (plan.shared)
        shared_sessions_begin();
    fault_injector_start();
    check_all(NULL);
    run_until(cluster, plan.until_us, NULL);
    if (cluster->broken == 0)
        fault_injector_stop();
    if (plan.shared)
        run_handles(cluster, lease_us);
    /* Holders come one after another. */
    run_until(cluster, now_us() + 60 * lease_us + 64 * plan.hold_max_us,
              plan.shared ? all_quiet : check_quiet);
    check_end(cluster);
    if (plan.shared)
        shared_sessions_check_end();
    /* Nothing may come back.  What a crashed client had under way on a cut link
     * may take effect late, and its session then lives for one more timeout. */
    run_until(cluster, now_us() + 4 * lease_us, NULL);
    check_end(cluster);
    if (cluster->broken == 0)
        close_all(cluster);
    run_until(cluster, now_us() + lease_us, all_closed);
    if (!all_closed(cluster))
        cluster_broken(cluster, 8, "a client is never CLOSED");
    if (plan.shared)
        shared_sessions_end();
    return cluster->broken == 0;
}
