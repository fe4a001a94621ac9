/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that run a job once in a period, each a core on an engine of
 * the model, and the faults of the run.  The steps are those of holdfast run
 * with
 * --once-per: acquire, read the success, work, write it, release.
 */

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/time_math.h"
#include "core/core.h"
#include "engines/leased/leased.h"
#include "simulator/model/lease_faults.h"
#include "simulator/model/sim.h"
#include "simulator/random/decision.h"
#include "simulator/random/success_private.h"

#define FAULTS_MS 60000
#define FAULTLESS_MS 30000
#define DRAIN_MS 8000
#define SUCCESSES_MIN 3 /* in FAULTLESS_MS */
#define HOUR_MS UINT64_C(3600000)
#define CLOCK_BACK_MAX_MS 3000

struct success_run success_run;

static uint64_t below(uint64_t bound)
{
    return hf_random_below(&success_run.random, bound);
}

static void later(uint64_t ms, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(success_run.sim, hf_sim_now_us(success_run.sim) + 1000 * ms,
                   true, fn, arg);
}

/* Memory that a core has for a while.  What it still has at the end of the run
 * is freed then. */
static void *lend(size_t bytes, struct runner *owner)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL || success_run.lent_count == LENT_MAX)
        abort();
    success_run.lent[success_run.lent_count++] =
        (struct lent_memory){memory, owner};
    return memory;
}

/* The core has forgotten it. */
static void take_back(void *memory)
{
    unsigned i = 0;

    while (i < success_run.lent_count && success_run.lent[i].memory != memory)
        i++;
    assert(i < success_run.lent_count);
    if (success_run.lent[i].owner != NULL)
        hf_acquisition_free(&success_run.lent[i].owner->core, memory);
    success_run.lent[i] = success_run.lent[--success_run.lent_count];
    free(memory);
}

/* --------------------------------------------------------------- runners -- */

static void drain(struct runner *runner);
static void run(void *arg);
static void evict(struct runner *runner);
static void start_runner(void *slot);

static void step(struct runner *runner, struct hf_event event)
{
    event.now_ms = hf_sim_client_now_ms(runner->engine);
    hf_core_step(&runner->core, &event);
    hf_core_check(&runner->core);
    drain(runner);
}

static void on_event(void *host, struct hf_event *event)
{
    step(host, *event);
}

static uint64_t now_ms(void *host)
{
    return hf_sim_client_now_ms(((struct runner *)host)->engine);
}

/* Call ${fn} in up to ${most_ms}, or when the process goes on after that. */
static void runner_later(struct runner *runner, uint64_t most_ms,
                         void (*fn)(void *arg))
{
    later(below(most_ms), fn, runner);
}

/* May ${runner} do something now?  A frozen process does it later. */
static bool may_go_on(struct runner *runner, void (*fn)(void *arg))
{
    if (runner->dead)
        return false;
    if (!hf_sim_frozen(runner->engine))
        return true;
    later(10, fn, runner);
    return false;
}

/* Start the read or write of the success. */
static void start_operation(struct runner *runner, enum hf_request_kind kind)
{
    struct hf_operation *operation = lend(sizeof *operation, NULL);

    operation->kind = kind;
    operation->queue = QUEUE;
    operation->ticket = runner->acquisition->ticket_id;
    if (kind == HF_REQUEST_WRITE_SUCCESS)
        operation->token = runner->acquisition->token;
    operation->deadline_at_ms = HF_FOREVER;
    if (!success_run.faults_over && below(8) == 0)
        operation->deadline_at_ms = now_ms(runner) + below(2000);
    step(runner, (struct hf_event){.kind = HF_EVENT_START_OPERATION,
                                   .as.operation = operation});
}

static void release(struct runner *runner)
{
    runner->phase = RELEASING;
    step(runner, (struct hf_event){.kind = HF_EVENT_RELEASE,
                                   .as.acquisition = runner->acquisition});
}

static void run_later(struct runner *runner)
{
    runner->phase = OUTSIDE;
    runner->acquisition = NULL;
    runner_later(runner, 800, run);
}

/* Acquire the lock. */
static void run(void *arg)
{
    struct runner *runner = arg;
    struct hf_acquisition *acquisition;

    if (success_run.stopping || runner->phase != OUTSIDE ||
        !may_go_on(runner, run))
        return;
    runner->phase = WAITING;
    runner->lost = false;
    runner->acquisition = acquisition = lend(sizeof *acquisition, runner);
    acquisition->queue = QUEUE;
    acquisition->payload = "";
    acquisition->kind = HF_TICKET_MUTEX;
    acquisition->deadline_at_ms = HF_FOREVER;
    if (below(4) == 0)
        acquisition->deadline_at_ms = now_ms(runner) + below(3000);
    step(runner, (struct hf_event){.kind = HF_EVENT_ACQUIRE,
                                   .as.acquisition = acquisition});
}

/* The work is done: it has succeeded or failed.  Who has lost the lock
 * meanwhile does not say that it has succeeded. */
static void work_done(void *arg)
{
    struct runner *runner = arg;

    if (runner->phase != WORKING || !may_go_on(runner, work_done))
        return;
    if (runner->lost || below(4) == 0) {
        success_trace(runner, "has failed");
        release(runner);
        return;
    }
    runner->phase = WRITING;
    success_trace(runner, "has succeeded");
    if (!success_run.faults_over && below(20) == 0)
        evict(runner); /* and nobody has notified it yet */
    start_operation(runner, HF_REQUEST_WRITE_SUCCESS);
}

/* The read was answered: too early, or due? */
static void success_known(struct runner *runner,
                          const struct hf_success *success)
{
    if (success->token != 0 && success->age_ms < PERIOD_MS) {
        success_trace(runner, "is too early, by %" PRId64 " ms",
                      PERIOD_MS - success->age_ms);
        success_run.end->early++;
        release(runner);
        return;
    }
    success_trace(runner, "is due");
    success_check_due(runner);
    runner->phase = WORKING;
    runner_later(runner, 300, work_done);
}

/* A read that was not answered says nothing about whether it is due.  One that
 * found a success of the future has written it again. */
static void answered(struct runner *runner,
                     const struct hf_operation *operation)
{
    if (operation->status != HF_OK)
        success_check_failure(runner, operation);
    else if (operation->request.kind == HF_REQUEST_WRITE_SUCCESS)
        success_check_confirmed(runner, operation->request.success_token);
    if (operation->kind == HF_REQUEST_READ_SUCCESS &&
        operation->status == HF_OK && !runner->lost)
        success_known(runner, &operation->success);
    else
        release(runner);
}

/* One effect of the core. */
static void carry_out(struct runner *runner, const struct hf_effect *effect)
{
    const struct hf_engine_ops *ops = hf_sim_ops(success_run.sim);

    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        if (effect->request->kind == HF_REQUEST_WRITE_SUCCESS)
            runner->write_sent_us = hf_sim_now_us(success_run.sim);
        ops->request(runner->engine, effect->request);
        break;
    case HF_EFFECT_UNWATCH:
        ops->unwatch(runner->engine, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        ops->connect(runner->engine);
        break;
    case HF_EFFECT_GRANTED:
        success_trace(runner, "HOLDS");
        runner->phase = READING;
        start_operation(runner, HF_REQUEST_READ_SUCCESS);
        break;
    case HF_EFFECT_LOST:
        success_trace(runner, "LOST");
        runner->lost = true;
        break;
    case HF_EFFECT_ENDED:
    case HF_EFFECT_RELEASED:
        run_later(runner);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        take_back(effect->acquisition);
        break;
    case HF_EFFECT_OPERATION_ANSWERED:
        answered(runner, effect->operation);
        break;
    case HF_EFFECT_OPERATION_DONE:
        take_back(effect->operation);
        break;
    default:
        break;
    }
}

static void tick(void *arg)
{
    struct runner *runner = arg;

    if (runner->dead || hf_sim_frozen(runner->engine) ||
        hf_sim_now_us(success_run.sim) < runner->tick_us)
        return;
    runner->tick_us = UINT64_MAX;
    step(runner, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void arm(struct runner *runner)
{
    uint64_t wake_ms = hf_core_wake_at_ms(&runner->core);
    uint64_t at_us;

    if (wake_ms == HF_FOREVER || hf_sim_frozen(runner->engine))
        return;
    at_us = hf_sim_client_at_us(runner->engine, wake_ms);
    if (at_us == UINT64_MAX || at_us == runner->tick_us)
        return;
    runner->tick_us = at_us;
    hf_sim_call_at(success_run.sim, at_us, true, tick, runner);
}

/* An event inside an effect leads here again; the outermost call carries out
 * all effects. */
static void drain(struct runner *runner)
{
    struct hf_effect *effect;

    if (runner->draining)
        return;
    runner->draining = true;
    while ((effect = hf_core_next_effect(&runner->core)) != NULL) {
        struct hf_effect taken = *effect;

        carry_out(runner, &taken);
    }
    runner->draining = false;
    arm(runner);
}

/* ---------------------------------------------------------------- faults -- */

static void thaw(void *arg)
{
    struct runner *runner = arg;

    if (runner->dead)
        return;
    success_trace(runner, "thaws");
    hf_sim_set_frozen(runner->engine, false);
    runner->tick_us = UINT64_MAX;
    step(runner, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void unstall(void *arg)
{
    if (!((struct runner *)arg)->dead)
        hf_sim_set_stalled(((struct runner *)arg)->engine, true, true);
}

static void restore_link(void *arg)
{
    if (!((struct runner *)arg)->dead)
        hf_sim_set_link(((struct runner *)arg)->engine, true, true);
}

static void cut(struct runner *runner)
{
    bool out = below(2) == 0, in = below(2) == 0;

    success_trace(runner, "link cut%s%s", out ? "" : " out", in ? "" : " in");
    hf_sim_set_link(runner->engine, out, in);
    later(below(2500), restore_link, runner);
}

/* The process is killed, and another one takes its place. */
static void kill_runner(struct runner *runner)
{
    unsigned i = 0;

    while (success_run.alive[i] != runner)
        i++;
    success_trace(runner, "is killed");
    runner->dead = true;
    hf_sim_crash(runner->engine);
    success_run.alive[i] = NULL;
    later(below(1000), start_runner, &success_run.alive[i]);
}

static void evict(struct runner *runner)
{
    if (runner->acquisition != NULL &&
        hf_sim_evict(success_run.sim, QUEUE, &runner->acquisition->ticket_id))
        success_trace(runner, "is evicted");
}

/* One fault of a process. */
static void fault_of(struct runner *runner)
{
    switch (below(8)) {
    case 0:
        success_trace(runner, "link breaks");
        hf_sim_reset_connection(runner->engine);
        break;
    case 1:
        success_trace(runner, "session killed");
        hf_sim_kill_session(runner->engine);
        break;
    case 2:
        success_trace(runner, "its server is cut off");
        hf_sim_set_stalled(runner->engine, false, false);
        later(below(2500), unstall, runner);
        break;
    case 3:
        cut(runner);
        break;
    case 4:
    case 5:
        evict(runner);
        break;
    case 6:
        if (success_run.process_count < PROCESSES_MAX)
            kill_runner(runner);
        break;
    default:
        success_trace(runner, "freezes");
        hf_sim_set_frozen(runner->engine, true);
        later(below(2500), thaw, runner);
    }
}

/* One fault of the servers: they restart, or their clock is set back. */
static void fault_of_servers(void)
{
    if (below(2) == 0) {
        success_trace(NULL, "the servers restart");
        hf_sim_restart_servers(success_run.sim);
    } else {
        success_trace(NULL, "the clock is set back");
        hf_sim_set_wall_clock_back(success_run.sim, below(CLOCK_BACK_MAX_MS));
    }
}

static void fault_once(void)
{
    struct runner *runner = success_run.alive[below(success_run.count)];

    if (below(16) == 0)
        fault_of_servers();
    else if (runner != NULL && !hf_sim_frozen(runner->engine))
        fault_of(runner);
}

static void fault(void *arg)
{
    uint64_t us;

    if (success_run.faults_over || success_run.stopping)
        return;
    if (decision_taken(DECISION_FAULT, 0))
        fault_once();
    us = decision_delay_us(DECISION_FAULT, 0, 1000 * below(700));
    hf_sim_call_at(success_run.sim, hf_sim_now_us(success_run.sim) + us, true,
                   fault, arg);
}

/* --------------------------------------------------------- configuration -- */

/* Longer timeouts, because the real client and several servers take longer. */
static void choose_ensemble(struct hf_sim_config *config)
{
    struct hf_sim_ensemble *ensemble = &config->ensemble;

    ensemble->servers = 1 + 2 * (unsigned)below(2);
    ensemble->tick_ms = 200 + below(400);
    ensemble->lag_max_us = 1 + (uint32_t)below(1000);
    ensemble->container_check_ms = ensemble->tick_ms * (2 + below(10));
    ensemble->splits_bytes = below(2) == 0;
    config->timeout_ms = ensemble->tick_ms * (200 + below(400)) / 100;
    config->least_timeout_ms = config->timeout_ms;
    config->separate_notices = false;
    ensemble->lazy_proof = config->seed % 8 >= 4;
}

static struct hf_sim_config config_without_faults(uint64_t seed,
                                                  enum engine_kind engine)
{
    switch (engine) {
    case ENGINE_ZOOKEEPER:
        return hf_sim_config_zookeeper(seed);
    case ENGINE_LEASED:
        return hf_sim_config_leased(seed);
    default:
        return hf_sim_config_plain(seed);
    }
}

/* The faults that only the lease model has. */
static void choose_lease_faults(struct hf_sim_config *config)
{
    config->timeout_ms += HF_LEASED_TTL_MIN_MS;
    config->least_timeout_ms = config->timeout_ms;
    config->leases.notice_lost_chance = (uint32_t)below(200000);
    config->leases.notice_twice_chance = (uint32_t)below(200000);
    config->leases.notice_late_chance = (uint32_t)below(200000);
    config->leases.commit_chance = (uint32_t)below(50000);
}

static void begin(struct success_result *end, uint64_t seed,
                  enum engine_kind engine)
{
    struct hf_sim_observer observer = success_observer();
    struct hf_sim_config config = config_without_faults(seed, engine);

    memset(&success_run, 0, sizeof success_run);
    success_run.end = end;
    hf_random_seed(&success_run.random, seed);
    success_run.count = 1 + (unsigned)below(RUNNERS_MAX);
    config.timeout_ms = config.least_timeout_ms = 300 + below(1200);
    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + below(3000));
    config.separate_notices = below(3) == 0;
    config.server_ppm = (int32_t)below(1000) - 500;
    config.refuse_chance = (uint32_t)below(below(4) == 0 ? 400000 : 50000);
    config.lose_chance = (uint32_t)below(20000);
    config.slow_chance = (uint32_t)below(20000);
    config.late_chance = (uint32_t)below(900000);
    if (engine == ENGINE_ZOOKEEPER)
        choose_ensemble(&config);
    if (engine == ENGINE_LEASED)
        choose_lease_faults(&config);
    decisions_drop_chances(&config);
    success_run.sim = hf_sim_new(&config);
    decisions_start(&success_run.random, success_run.sim);
    hf_sim_observe(success_run.sim, &observer);
}

/* A process starts in the place ${slot} of .alive.  Its clock is anywhere
 * within two hours. */
static void start_runner(void *slot)
{
    struct hf_core_config config = {.connect_ms = HF_FOREVER,
                                    .retry = {.base_ms = 10,
                                              .cap_ms = 200,
                                              .tries = HF_RETRY_UNLIMITED,
                                              .elapsed_ms = HF_FOREVER}};
    struct runner *runner = calloc(1, sizeof *runner);
    struct hf_engine_host host = {
        .event = on_event, .now_ms = now_ms, .host = runner};

    if (runner == NULL)
        abort();
    hf_random_seed(&config.random, hf_random_next(&success_run.random));
    runner->number = success_run.process_count;
    runner->tick_us = UINT64_MAX;
    success_run.processes[success_run.process_count++] = runner;
    *(struct runner **)slot = runner;
    runner->engine = hf_sim_engine_new(success_run.sim, &host);
    hf_sim_client_set_clock(runner->engine, HOUR_MS + below(2 * HOUR_MS),
                            (int32_t)below(1000) - 500);
    hf_core_init(&runner->core, &config, now_ms(runner));
    runner_later(runner, 800, run);
}

/* 4: without faults the job goes on succeeding. */
static void check_progress(void)
{
    uint64_t before = success_run.end->recorded;

    hf_sim_run_ms(success_run.sim, FAULTLESS_MS);
    success_check(success_run.end->recorded >= before + SUCCESSES_MIN, 4,
                  "without faults the job does not succeed again");
}

static void free_all(void)
{
    hf_sim_free(success_run.sim);
    while (success_run.lent_count > 0)
        take_back(success_run.lent[0].memory);
    for (unsigned i = 0; i < success_run.process_count; i++)
        free(success_run.processes[i]);
}

/* Faults for a minute, then a check of progress without faults. */
bool success_run_seed(uint64_t seed, enum engine_kind engine,
                      void (*line)(void *arg, const char *text),
                      struct success_result *end)
{
    *end = (struct success_result){0};
    begin(end, seed, engine);
    success_run.line = line;
    for (unsigned i = 0; i < success_run.count; i++)
        start_runner(&success_run.alive[i]);
    later(below(1000), fault, NULL);
    hf_sim_run_ms(success_run.sim, FAULTS_MS);
    success_run.faults_over = true;
    hf_sim_end_faults(success_run.sim);
    hf_sim_run_ms(success_run.sim, DRAIN_MS);
    if (end->broken == 0)
        check_progress();
    success_run.stopping = true;
    free_all();
    return end->broken == 0;
}
