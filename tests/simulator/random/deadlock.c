/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of runs of owners that look for deadlocks, what is in them, and
 * their faults.
 */
#include "simulator/random/deadlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random/deadlock_private.h"

#define RUN_MS 60000
/* A look may come a minute after the one before. */
#define END_MS 70000
/* Of this many seeds the last one has hundreds of owners, which costs as much
 * as some forty others. */
#define MANY_OF 64
/* In the end deadlocks may be behind each other. */
#define ENDS_MAX 10

struct deadlock_run deadlock_run;

/* -------------------------------------------------------------- helpers -- */

uint64_t deadlock_below(uint64_t bound)
{
    return hf_random_below(&deadlock_run.random, bound);
}

void deadlock_check(bool holds, int invariant, const char *message)
{
    if (holds || deadlock_run.end->broken != 0)
        return;
    deadlock_run.end->broken = invariant;
    deadlock_run.end->message = message;
    if (deadlock_run.line != NULL)
        deadlock_run.line(NULL, message);
}

void deadlock_later_us(uint64_t us, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(deadlock_run.sim, hf_sim_now_us(deadlock_run.sim) + us, true,
                   fn, arg);
}

/* ------------------------------------------------- what is for each kind -- */

/* Is a deadlock made, or something that is as large? */
static bool has_cycle(void)
{
    return deadlock_run.kind == DEADLOCK_CYCLE ||
           deadlock_run.kind == DEADLOCK_MANY;
}

static bool is_workload(void)
{
    return deadlock_run.kind == DEADLOCK_ORDERED ||
           deadlock_run.kind == DEADLOCK_UNORDERED;
}

void deadlock_continue(struct deadlock_owner *owner, struct deadlock_want *want,
                       hf_status status)
{
    if (deadlock_run.kind == DEADLOCK_CYCLE)
        deadlock_cycle_continue(owner, want, status);
    else if (deadlock_run.kind == DEADLOCK_MANY)
        deadlock_many_continue(owner, want, status);
    else if (deadlock_number(owner) >= deadlock_run.cycle)
        deadlock_workload_continue(owner, want, status);
    else
        deadlock_near_continue(owner, want, status);
}

/* Those in a cycle do not release before they are granted. */
void deadlock_revoked(struct deadlock_owner *owner)
{
    if (is_workload() && deadlock_below(2) == 0)
        deadlock_workload_leave(owner);
}

static void start(uint64_t seed)
{
    if (deadlock_run.kind == DEADLOCK_CYCLE)
        deadlock_cycle_start(seed);
    else if (deadlock_run.kind == DEADLOCK_MANY)
        deadlock_many_start(seed);
    else if (is_workload())
        deadlock_workload_start(seed);
    else
        deadlock_near_start(seed);
}

static void check_end(void)
{
    if (deadlock_run.kind == DEADLOCK_CYCLE)
        deadlock_cycle_check_end();
    else if (deadlock_run.kind == DEADLOCK_MANY)
        deadlock_many_check_end();
    else if (is_workload())
        deadlock_workload_check_end();
    else
        deadlock_near_check_end();
    if (deadlock_run.kind == DEADLOCK_ORDERED)
        deadlock_walk_check_end();
}

/* ---------------------------------------------------------------- faults -- */

static void thaw(void *arg)
{
    deadlock_client_thaw(arg);
}

static void connect_server(void *arg)
{
    struct deadlock_client *client = arg;

    hf_sim_set_stalled(client->engine, true, true);
}

static void connect_link(void *arg)
{
    struct deadlock_client *client = arg;

    hf_sim_set_link(client->engine, true, true);
}

/* One fault of a random client or owner, and the next one later.  A cycle is
 * to stay, so it has only faults that end no session by themselves. */
static void fault(void *arg)
{
    struct deadlock_client *client =
        &deadlock_run.clients[deadlock_below(deadlock_run.client_count)];
    bool keeps_sessions = has_cycle();

    (void)arg;
    if (deadlock_run.stopping)
        return;
    deadlock_later_us(1000 * deadlock_below(1000), fault, NULL);
    if (hf_sim_frozen(client->engine))
        return;
    switch (deadlock_below(keeps_sessions ? 4 : 6)) {
    case 0:
        hf_sim_reset_connection(client->engine);
        break;
    case 1:
        hf_sim_set_frozen(client->engine, true);
        deadlock_later_us(1000 * deadlock_below(1500), thaw, client);
        break;
    case 2:
        hf_sim_set_stalled(client->engine, deadlock_below(2) == 0, false);
        deadlock_later_us(1000 * deadlock_below(1500), connect_server, client);
        break;
    case 3:
        hf_sim_set_link(client->engine, deadlock_below(2) == 0, false);
        deadlock_later_us(1000 * deadlock_below(keeps_sessions ? 1500 : 5000),
                          connect_link, client);
        break;
    case 4:
        hf_sim_kill_session(client->engine);
        break;
    default:
        deadlock_evict_some(
            &deadlock_run.owners[deadlock_below(deadlock_run.count)]);
    }
}

/* -------------------------------------------------------- other programs -- */

/* A program of another make waits for a lock, or leaves it; its tickets do not
 * say anything. */
static void use_other_program(void *arg)
{
    struct deadlock_other *other = arg;
    const struct deadlock_lock *lock = &deadlock_run.locks[other->lock];

    if (other->queued) {
        (void)hf_sim_evict(deadlock_run.sim, lock->name, &other->ticket);
        other->queued = false;
    } else if (!deadlock_run.stopping && lock->limit == 0) {
        other->ticket = hf_ticket_id_random(&deadlock_run.random);
        other->queued = hf_sim_other_client_enqueue(
            deadlock_run.sim, lock->name,
            !lock->read_write        ? HF_TICKET_MUTEX
            : deadlock_below(2) == 0 ? HF_TICKET_READ
                                     : HF_TICKET_WRITE,
            &other->ticket, NULL);
    }
    if (!other->queued && deadlock_run.stopping)
        return;
    deadlock_later_us(1000 * deadlock_below(3000), use_other_program, other);
}

/* In a third of the runs there are some. */
static void start_other_programs(void)
{
    if (deadlock_below(3) > 0)
        return;
    for (size_t i = 0; i < DEADLOCK_OTHERS; i++) {
        deadlock_run.others[i].lock =
            (size_t)deadlock_below(deadlock_run.lock_count);
        deadlock_later_us(1000 * deadlock_below(3000), use_other_program,
                          &deadlock_run.others[i]);
    }
}

/* ------------------------------------------------------------------- run -- */

static struct hf_sim_config choose_config(uint64_t seed,
                                          enum engine_kind engine)
{
    struct hf_sim_config config =
        engine == ENGINE_ZOOKEEPER ? hf_sim_config_zookeeper(seed)
        : engine == ENGINE_LEASED  ? hf_sim_config_leased(seed)
        : engine == ENGINE_ETCD    ? hf_sim_config_etcd(seed)
                                   : hf_sim_config_plain(seed);

    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + deadlock_below(3000));
    if (engine == ENGINE_ZOOKEEPER)
        config.ensemble.lag_max_us =
            (uint32_t)(1 +
                       deadlock_below(deadlock_below(2) == 0 ? 500 : 80000));
    if (deadlock_run.faults && !has_cycle() && engine == ENGINE_PLAIN)
        config.timeout_ms = config.least_timeout_ms =
            1000 + deadlock_below(3000);
    if (deadlock_run.faults && deadlock_below(3) == 0)
        config.refuse_chance = (uint32_t)deadlock_below(200000);
    return config;
}

static void choose_kind(uint64_t seed)
{
    static const enum deadlock_kind kinds[] = {
        DEADLOCK_ORDERED,   DEADLOCK_ORDERED, DEADLOCK_UNORDERED,
        DEADLOCK_UNORDERED, DEADLOCK_PERMITS, DEADLOCK_LOST,
        DEADLOCK_BY_TURNS,  DEADLOCK_ORDERED};

    deadlock_run.kind = seed % MANY_OF == MANY_OF - 1 ? DEADLOCK_MANY
                        : seed % 2 == 1               ? DEADLOCK_CYCLE
                                                      : kinds[seed / 2 % 8];
    deadlock_run.owner_room = DEADLOCK_OWNERS_MAX;
    deadlock_run.lock_room = DEADLOCK_LOCKS;
    if (deadlock_run.kind == DEADLOCK_MANY) {
        deadlock_many_choose();
        deadlock_run.owner_room = deadlock_run.lock_room =
            deadlock_run.cycle + deadlock_run.waiters;
        deadlock_run.lock_count = deadlock_run.cycle;
        deadlock_run.faults = deadlock_below(4) == 0;
        return;
    }
    deadlock_run.faults =
        (is_workload() && seed / 2 % 2 == 0) ||
        (deadlock_run.kind == DEADLOCK_CYCLE && seed / 2 % 4 == 0);
    deadlock_run.cycle =
        deadlock_run.kind == DEADLOCK_CYCLE
            ? 2 + (size_t)deadlock_below(DEADLOCK_CYCLE_MAX - 1)
        : is_workload() ? 0
                        : 3;
    deadlock_run.lock_count = 3 + (size_t)deadlock_below(5);
}

static void choose_locks(void)
{
    for (size_t i = 0; i < deadlock_run.lock_room; i++) {
        struct deadlock_lock *lock = &deadlock_run.locks[i];
        uint64_t kind = has_cycle() || is_workload() ? deadlock_below(4) : 3;

        (void)snprintf(lock->name, sizeof lock->name, "n%zu", i);
        (void)snprintf(lock->entry, sizeof lock->entry, "n%zu/locks", i);
        (void)snprintf(lock->leases, sizeof lock->leases, "n%zu/leases", i);
        lock->read_write =
            kind == 1 || (deadlock_run.kind == DEADLOCK_PERMITS && i == 2);
        lock->limit =
            kind == 0 ? 1 + (uint32_t)deadlock_below(DEADLOCK_PERMITS_MAX) : 0;
        if (deadlock_run.kind == DEADLOCK_PERMITS && i == 0)
            lock->limit = 2;
    }
}

static void allocate(void)
{
    deadlock_run.clients =
        calloc(deadlock_run.owner_room, sizeof *deadlock_run.clients);
    deadlock_run.owners =
        calloc(deadlock_run.owner_room, sizeof *deadlock_run.owners);
    deadlock_run.locks =
        calloc(deadlock_run.lock_room, sizeof *deadlock_run.locks);
    if (deadlock_run.clients == NULL || deadlock_run.owners == NULL ||
        deadlock_run.locks == NULL)
        abort();
}

static void begin(uint64_t seed, enum engine_kind engine)
{
    struct hf_sim_config config;

    hf_random_seed(&deadlock_run.random, seed);
    choose_kind(seed);
    allocate();
    choose_locks();
    config = choose_config(seed, engine);
    deadlock_run.sim = hf_sim_new(&config);
    start(seed);
    if (deadlock_run.kind == DEADLOCK_ORDERED)
        deadlock_walk_start(seed);
    if (deadlock_run.faults)
        deadlock_later_us(1000000, fault, NULL);
    if (is_workload() || has_cycle())
        start_other_programs();
}

/* Run for ${ms}.  In an unordered run it is noted who waits for whom. */
static void run_ms(uint64_t ms)
{
    uint64_t end_us = hf_sim_now_us(deadlock_run.sim) + 1000 * ms;

    if (deadlock_run.kind != DEADLOCK_UNORDERED) {
        hf_sim_run_ms(deadlock_run.sim, ms);
        return;
    }
    while (hf_sim_now_us(deadlock_run.sim) < end_us &&
           hf_sim_run_next(deadlock_run.sim))
        deadlock_truth_note();
}

/* Nobody begins to wait, and there are no faults any more. */
static void stop(void)
{
    deadlock_run.stopping = true;
    hf_sim_end_faults(deadlock_run.sim);
    for (size_t i = 0; i < deadlock_run.client_count; i++) {
        if (hf_sim_frozen(deadlock_run.clients[i].engine))
            deadlock_client_thaw(&deadlock_run.clients[i]);
    }
    if (is_workload())
        deadlock_workload_stop();
}

static bool somebody_waits(void)
{
    for (size_t i = 0; i < deadlock_run.count; i++) {
        if (deadlock_run.owners[i].waiting != NULL)
            return true;
    }
    return false;
}

bool deadlock_run_seed(uint64_t seed, enum engine_kind engine,
                       void (*line)(void *arg, const char *text),
                       struct deadlock_result *end)
{
    *end = (struct deadlock_result){0};
    memset(&deadlock_run, 0, sizeof deadlock_run);
    deadlock_run.end = end;
    deadlock_run.line = line;
    begin(seed, engine);
    run_ms(RUN_MS);
    stop();
    for (int i = 0; i < ENDS_MAX && deadlock_run.kind != DEADLOCK_BY_TURNS &&
                    (i == 0 || somebody_waits());
         i++)
        run_ms(END_MS);
    if (end->broken == 0)
        check_end();
    hf_sim_free(deadlock_run.sim);
    deadlock_free_clients();
    free(deadlock_run.clients);
    free(deadlock_run.owners);
    free(deadlock_run.locks);
    return end->broken == 0;
}
