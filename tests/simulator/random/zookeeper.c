/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a run, and its faults. */
#include "simulator/random/zookeeper.h"

#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/reconnect.h"
#include "simulator/model/sim_internal.h"
#include "simulator/model/zk_faults.h"
#include "simulator/random/decision.h"
#include "simulator/random/zookeeper_private.h"

#define FAULTS_MS 8000
#define FAULTLESS_MS 4000
#define DRAIN_MS 2000
#define DRAINS_MAX 30
#define FAULT_EVERY_US 300000
#define STEP_EVERY_US 40000

struct zookeeper_run zookeeper;

uint64_t zookeeper_below(uint64_t bound)
{
    return hf_random_below(zookeeper.random, bound);
}

void zookeeper_later(uint64_t us, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(zookeeper.sim, hf_sim_now_us(zookeeper.sim) + us, true, fn,
                   arg);
}

void *zookeeper_alloc(size_t bytes)
{
    return sim_alloc(zookeeper.sim, bytes);
}

bool zookeeper_runs(const struct zookeeper_process *process)
{
    return !process->closing && !process->gone &&
           !hf_sim_frozen(process->engine);
}

/* ------------------------------------------------------------- processes -- */

void zookeeper_take_handle(struct zookeeper_process *process,
                           struct zk_handle *handle)
{
    handle->user = process;
    handle->callbacks = &zookeeper_callbacks;
    process->handles[process->handle_count++] = handle;
    if (zookeeper.two_handles && zookeeper_below(3) == 0)
        process->handles[process->handle_count++] = zk_handle_another(handle);
}

/* The client ${arg} starts, or comes back. */
static void start_process(void *arg)
{
    unsigned client = (unsigned)(uintptr_t)arg;
    struct zookeeper_process *process = zookeeper_alloc(sizeof *process);
    struct hf_engine_host host = {.host = process};
    struct zk_handle *handle;
    int32_t ppm = (int32_t)zookeeper_below(SLEW_PPM);

    process->number = ++zookeeper.process_count;
    process->client = client;
    process->next = zookeeper.processes;
    zookeeper.processes = process;
    zookeeper.clients[client] = process;
    process->engine = hf_sim_engine_new(zookeeper.sim, &host);
    handle = zk_handle_of(process->engine);
    handle->credential = zookeeper_access_choose(process);
    handle->accepts_readers = zookeeper.servers_read && zookeeper_below(3) != 0;
    hf_sim_client_set_clock(process->engine, 1000 + zookeeper_below(1000000),
                            decisions_without_drift() ? 0 : ppm);
    zookeeper_take_handle(process, handle);
    zookeeper_trace(process, "starts");
    zookeeper_access_begin(process);
}

static void restart_later(struct zookeeper_process *process)
{
    zookeeper.clients[process->client] = NULL;
    zookeeper_later(zookeeper_below(1000000), start_process,
                    (void *)(uintptr_t)process->client);
}

/* The kernel closes its connection. */
static void crash(struct zookeeper_process *process)
{
    zookeeper_trace(process, "crashes");
    process->gone = true;
    hf_sim_crash(process->engine);
}

/* What the user has is freed before, or not. */
static void close_process(struct zookeeper_process *process)
{
    zookeeper_trace(process, "closes");
    process->closing = true;
    zk_handle_close(process->handles[0]);
}

/* ---------------------------------------------------------------- faults -- */

static uint64_t fault_us(void)
{
    return 1000 * zookeeper_below(2 * zookeeper.timeout_ms);
}

static void thaw(void *arg)
{
    struct zookeeper_process *process = arg;

    zookeeper_trace(process, "thaws");
    if (!process->gone) {
        hf_sim_set_frozen(process->engine, false);
        hf_sim_set_paused(process->engine, false);
    }
}

static void restore_link(void *arg)
{
    struct zookeeper_process *process = arg;

    zookeeper_trace(process, "link is restored");
    if (!process->gone)
        hf_sim_set_link(process->engine, true, true);
}

static void unstall(void *arg)
{
    struct zookeeper_process *process = arg;

    if (!process->gone)
        hf_sim_set_stalled(process->engine, true, true);
}

static void cut(struct zookeeper_process *process)
{
    bool out = zookeeper_below(3) == 0, in = !out && zookeeper_below(2) == 0;

    zookeeper_trace(process, "link cut%s%s", out ? "" : " out",
                    in ? "" : " in");
    hf_sim_set_link(process->engine, out, in);
    zookeeper_later(fault_us(), restore_link, process);
}

static void freeze(struct zookeeper_process *process)
{
    bool machine = zookeeper_below(2) == 0;

    zookeeper_trace(process, machine ? "is paused" : "freezes");
    if (machine)
        hf_sim_set_paused(process->engine, true);
    else
        hf_sim_set_frozen(process->engine, true);
    zookeeper_later(fault_us(), thaw, process);
}

static void end_process(struct zookeeper_process *process)
{
    if (zookeeper_below(2) == 0)
        crash(process);
    else
        close_process(process);
    restart_later(process);
}

static void process_fault(struct zookeeper_process *process)
{
    if (process == NULL || !zookeeper_runs(process))
        return;
    switch (zookeeper_below(9)) {
    case 0:
    case 1:
        zookeeper_trace(process, "link breaks");
        hf_sim_reset_connection(process->engine);
        break;
    case 2:
        zookeeper_trace(process, "link breaks after the next event");
        hf_sim_reset_after_event(process->engine);
        break;
    case 3:
        zookeeper_trace(process, "session killed");
        hf_sim_kill_session(process->engine);
        break;
    case 4:
        zookeeper_trace(process, "its server is cut off");
        hf_sim_set_stalled(process->engine, false, false);
        zookeeper_later(fault_us(), unstall, process);
        break;
    case 5:
    case 6:
        cut(process);
        break;
    case 7:
        freeze(process);
        break;
    default:
        if (zookeeper_below(3) == 0)
            end_process(process);
    }
}

static void start_server(void *arg)
{
    hf_sim_server_start(zookeeper.sim, (int)(uintptr_t)arg);
}

static void thaw_server(void *arg)
{
    hf_sim_server_thaw(zookeeper.sim, (int)(uintptr_t)arg);
}

static void restore_server(void *arg)
{
    hf_sim_server_link(zookeeper.sim, (int)(uintptr_t)arg, true, true);
}

static void break_after_events(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < zookeeper.count; i++) {
        struct zookeeper_process *process = zookeeper.clients[i];

        if (process != NULL && zookeeper_runs(process))
            hf_sim_reset_after_event(process->engine);
    }
}

/* The machine of the leader is paused until the others have another one, and
 * goes on as a leader that does not know it, because its links are cut.  For
 * that long it resumes sessions and shows old nodes, also to clients that have
 * had events of the new leader, whose links break behind these. */
static void depose_leader(void)
{
    const struct hf_sim_ensemble *ensemble = &zookeeper.sim->config.ensemble;
    int leader = hf_sim_leader_index(zookeeper.sim);
    uint64_t tick_us = 1000 * ensemble->tick_ms;
    uint64_t limit_us = ensemble->sync_limit * tick_us;
    void *arg = (void *)(uintptr_t)leader;

    if (leader < 0)
        return;
    zookeeper_trace(NULL, "s%d is paused and cut off", leader + 1);
    hf_sim_server_freeze(zookeeper.sim, leader, true);
    hf_sim_server_link(zookeeper.sim, leader, false, false);
    zookeeper_later(limit_us, thaw_server, arg);
    zookeeper_later(3 * limit_us, restore_server, arg);
    for (uint64_t us = limit_us; us < 2 * limit_us; us += tick_us / 8)
        zookeeper_later(us, break_after_events, NULL);
}

static void server_fault(void)
{
    struct hf_sim *sim = zookeeper.sim;
    int server = (int)zookeeper_below(hf_sim_server_count(sim));
    void *arg = (void *)(uintptr_t)server;

    switch (zookeeper_below(5)) {
    case 0:
        zookeeper_trace(NULL, "s%d is killed", server + 1);
        hf_sim_server_stop(sim, server);
        zookeeper_later(fault_us(), start_server, arg);
        break;
    case 1:
        zookeeper_trace(NULL, "s%d freezes", server + 1);
        hf_sim_server_freeze(sim, server, zookeeper_below(2) == 0);
        zookeeper_later(fault_us(), thaw_server, arg);
        break;
    case 2:
        zookeeper_trace(NULL, "s%d is cut off", server + 1);
        hf_sim_server_link(sim, server, zookeeper_below(3) == 0, false);
        zookeeper_later(fault_us(), restore_server, arg);
        break;
    case 3:
        depose_leader();
        break;
    default:
        if (zookeeper_below(3) != 0)
            break;
        zookeeper_trace(NULL, "servers restart");
        hf_sim_restart_servers(sim);
    }
}

/* Again and again until the faults are over. */
static void fault(void *arg)
{
    uint64_t us;

    if (zookeeper.faults_over)
        return;
    if (decision_taken(DECISION_FAULT, 0)) {
        if (zookeeper_below(4) == 0)
            server_fault();
        else
            process_fault(zookeeper.clients[zookeeper_below(zookeeper.count)]);
    }
    us = decision_delay_us(DECISION_FAULT, 0,
                           1 + zookeeper_below(UINT64_C(2) * FAULT_EVERY_US));
    zookeeper_later(us, fault, arg);
}

static void end_faults(void)
{
    zookeeper_trace(NULL, "all faults are over");
    zookeeper.faults_over = true;
    hf_sim_end_faults(zookeeper.sim);
    for (struct zookeeper_process *p = zookeeper.processes; p != NULL;
         p = p->next) {
        if (p->gone)
            continue;
        hf_sim_set_frozen(p->engine, false);
        hf_sim_set_paused(p->engine, false);
        hf_sim_set_link(p->engine, true, true);
    }
}

/* --------------------------------------------------------- configuration -- */

static void choose_ensemble(struct hf_sim_ensemble *ensemble)
{
    ensemble->handles = true;
    ensemble->servers = 1 + 2 * (unsigned)zookeeper_below(3);
    ensemble->tick_ms = 100 + zookeeper_below(200);
    ensemble->sync_limit = 2 + (unsigned)zookeeper_below(4);
    ensemble->lag_max_us =
        1 + (uint32_t)zookeeper_below(zookeeper_below(3) == 0 ? 100000 : 3000);
    ensemble->container_check_ms =
        ensemble->tick_ms * (2 + zookeeper_below(10));
    ensemble->splits_bytes = zookeeper_below(2) == 0;
    ensemble->answers_moved = zookeeper_below(2) == 0;
    ensemble->event_zxid = zookeeper_below(2) == 0;
    ensemble->lacks_containers = zookeeper_below(4) == 0;
    ensemble->checks_readers = zookeeper_below(2) == 0;
    ensemble->serves_readers = zookeeper_below(3) == 0;
    zookeeper.checks_readers = ensemble->checks_readers;
    zookeeper.servers_read = ensemble->serves_readers;
    ensemble->window = (unsigned)zookeeper_below(4);
}

static void begin(uint64_t seed, struct zookeeper_result *end,
                  void (*line)(void *arg, const char *text))
{
    struct hf_sim_config config = hf_sim_config_zookeeper(seed);
    struct hf_sim_observer observer;

    memset(&zookeeper, 0, sizeof zookeeper);
    zookeeper.end = end;
    zookeeper.line = line;
    zookeeper.random = &zookeeper.own_random;
    zookeeper.user_decision = DECISION_USER;
    zookeeper.step_every_us = STEP_EVERY_US;
    hf_random_seed(zookeeper.random, seed);
    zookeeper.count = 2 + (unsigned)zookeeper_below(ZOOKEEPER_CLIENTS_MAX - 1);
    zookeeper.path_count = 1 + (unsigned)zookeeper_below(ZOOKEEPER_PATHS_MAX);
    zookeeper.user_count = (unsigned)zookeeper_below(ZOOKEEPER_USERS_MAX + 1);
    zookeeper.two_handles = true;
    choose_ensemble(&config.ensemble);
    config.timeout_ms = config.least_timeout_ms =
        config.ensemble.tick_ms * (200 + zookeeper_below(400)) / 100;
    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + zookeeper_below(5000));
    config.refuse_chance =
        (uint32_t)zookeeper_below(zookeeper_below(4) == 0 ? 200000 : 20000);
    if (zookeeper.user_count == 0)
        config.deny_chance = (uint32_t)zookeeper_below(20000);
    config.lose_chance = (uint32_t)zookeeper_below(10000);
    config.slow_chance = (uint32_t)zookeeper_below(10000);
    config.late_chance = (uint32_t)zookeeper_below(500000);
    decisions_drop_chances(&config);
    zookeeper.timeout_ms = config.timeout_ms;
    zookeeper.sim = hf_sim_new(&config);
    decisions_start(zookeeper.random, zookeeper.sim);
    observer = zookeeper_observer();
    hf_sim_observe(zookeeper.sim, &observer);
}

/* ------------------------------------------------------------------- end -- */

/* The first client without a connection, or zookeeper.count.  A server that
 * does not know an operation closes the connection even without faults. */
static unsigned find_disconnected(void)
{
    unsigned i = 0;

    while (i < zookeeper.count && zookeeper.clients[i] != NULL &&
           hf_sim_connected(zookeeper.clients[i]->engine))
        i++;
    return i;
}

/* 4: every client is connected. */
static void check_connected(void)
{
    unsigned found = find_disconnected();

    zookeeper_check(found == zookeeper.count, 4,
                    "a client is not connected again", "%c", 'a' + (int)found);
}

/* 5: all watches are freed, and then the servers have none. */
static void check_watches_end(void)
{
    for (unsigned i = 0; i < zookeeper.count; i++) {
        for (struct zookeeper_watch *w = zookeeper.clients[i]->watches;
             w != NULL; w = w->next) {
            if (!w->freed)
                zookeeper_user_free_watch(w);
        }
    }
    hf_sim_run_ms(zookeeper.sim, DRAIN_MS);
    for (unsigned i = 0; i < zookeeper.count; i++) {
        const struct zookeeper_process *process = zookeeper.clients[i];
        const struct zk_handle *handle = process->handles[0];
        const char *path = zk_handle_watched_path(handle);
        bool keeps = handle->keeps_watches ||
                     (handle->next != NULL && handle->next->keeps_watches);

        zookeeper_check(keeps || path == NULL ||
                            zookeeper_was_kept_back(process, path),
                        5, "a server keeps a watch that nobody wants", "%c: %s",
                        'a' + (int)i, path == NULL ? "" : path);
    }
}

/* Run until every operation has ended, or for a time in which it should
 * have. */
static void drain(void)
{
    for (unsigned i = 0;
         i < DRAINS_MAX &&
         (zookeeper_is_busy() || find_disconnected() < zookeeper.count);
         i++)
        hf_sim_run_ms(zookeeper.sim, DRAIN_MS);
}

/* Without faults users go on for a while, then all that was started ends. */
static void run_to_end(void)
{
    hf_sim_run_ms(zookeeper.sim, FAULTLESS_MS);
    zookeeper.stopping = true;
    drain();
    check_connected();
    zookeeper_check_processes();
    if (zookeeper.end->broken == 0)
        check_watches_end();
}

bool zookeeper_run_seed(uint64_t seed,
                        void (*line)(void *arg, const char *text),
                        struct zookeeper_result *end)
{
    *end = (struct zookeeper_result){0};
    begin(seed, end, line);
    for (unsigned i = 0; i < zookeeper.count; i++) {
        if (!decision_taken(DECISION_OPEN, i))
            continue;
        start_process((void *)(uintptr_t)i);
        zookeeper_user_start(i);
    }
    zookeeper_later(FAULT_EVERY_US, fault, NULL);
    hf_sim_run_ms(zookeeper.sim, FAULTS_MS);
    end_faults();
    if (end->broken == 0)
        run_to_end();
    for (struct zookeeper_process *p = zookeeper.processes; p != NULL;
         p = p->next)
        p->gone = true;
    hf_sim_free(zookeeper.sim);
    free(zookeeper.history);
    return end->broken == 0;
}
