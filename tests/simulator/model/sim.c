/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the models share: memory that lives as long as the run, random draws,
 * timers in a binary heap, the clocks of clients, and making and freeing a
 * run.
 * A discrete-event simulation: the only way in which true time advances is
 * that the earliest timer runs.
 */
#include "simulator/model/etcd_client.h"
#include "simulator/model/lease_faults.h"
#include "simulator/model/lease_internal.h"
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/error.h"
#include "engines/etcd/etcd_engine.h"

#define MILLION 1000000
#define IDLE_STEPS 1000000
/* What the wall clock of the servers shows at the start. */
#define WALL_EPOCH_MS (UINT64_C(1700000000) * 1000)

/* ---------------------------------------------------------------- memory -- */

/* Tests cannot go on without the model, so a lack of memory ends the
 * program. */
void *sim_require_memory(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "sim: no memory for the model; run it on its own\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* Memory comes from chunks that are freed together in hf_sim_free().
 * Checkpoints rely on that: they copy the chunks, see plain_checkpoint.c. */
void *sim_alloc(struct hf_sim *sim, size_t bytes)
{
    size_t units = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t);
    size_t chunk_units = sizeof sim->chunk->memory / sizeof(max_align_t);
    void *memory;

    assert(units <= chunk_units);
    if (sim->chunk == NULL || sim->chunk->used + units > chunk_units) {
        struct sim_chunk *chunk = sim_require_memory(malloc(sizeof *chunk));

        chunk->next = sim->chunk;
        chunk->used = 0;
        sim->chunk = chunk;
    }
    memory = &sim->chunk->memory[sim->chunk->used];
    sim->chunk->used += units;
    memset(memory, 0, bytes);
    return memory;
}

char *sim_strdup(struct hf_sim *sim, const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(sim_alloc(sim, bytes), text, bytes);
}

/* ---------------------------------------------------------------- chance -- */

bool sim_happens(struct hf_sim *sim, uint32_t chance)
{
    return chance > 0 && hf_random_below(&sim->random, MILLION) < chance;
}

uint64_t sim_random_between(struct hf_sim *sim, uint64_t least, uint64_t most)
{
    assert(least <= most);
    return least + hf_random_below(&sim->random, most - least + 1);
}

bool sim_has_no_leases(const struct hf_sim *sim)
{
    return sim->config.timeout_ms == HF_FOREVER;
}

/* ---------------------------------------------------------------- timers -- */

static bool earlier(const struct sim_timer *a, const struct sim_timer *b)
{
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us;
    return a->sequence < b->sequence;
}

static void swap(struct sim_timer *a, struct sim_timer *b)
{
    struct sim_timer kept = *a;

    *a = *b;
    *b = kept;
}

/* Two timers at one time run in the order in which they were set, so that a run
 * is deterministic. */
void hf_sim_call_at(struct hf_sim *sim, uint64_t at_us, bool background,
                    void (*fn)(void *arg), void *arg)
{
    size_t i = sim->timer_count++;

    if (i == sim->timer_room) {
        sim->timer_room = sim->timer_room == 0 ? 64 : 2 * sim->timer_room;
        sim->timers = sim_require_memory(
            realloc(sim->timers, sim->timer_room * sizeof *sim->timers));
    }
    sim->timers[i] = (struct sim_timer){
        .at_us = at_us < sim->now_us ? sim->now_us : at_us,
        .sequence = sim->sequence++,
        .background = background,
        .fn = fn,
        .arg = arg,
    };
    sim->foreground += !background;
    for (; i > 0 && earlier(&sim->timers[i], &sim->timers[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap(&sim->timers[i], &sim->timers[(i - 1) / 2]);
}

/* Remove the earliest timer from the heap. */
static struct sim_timer pop_timer(struct hf_sim *sim)
{
    struct sim_timer next = sim->timers[0];
    size_t i = 0;

    assert(sim->timer_count > 0);
    sim->timers[0] = sim->timers[--sim->timer_count];
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= sim->timer_count)
            break;
        if (child + 1 < sim->timer_count &&
            earlier(&sim->timers[child + 1], &sim->timers[child]))
            child++;
        if (!earlier(&sim->timers[child], &sim->timers[i]))
            break;
        swap(&sim->timers[child], &sim->timers[i]);
        i = child;
    }
    sim->foreground -= !next.background;
    return next;
}

bool hf_sim_run_next(struct hf_sim *sim)
{
    struct sim_timer next;

    if (sim->timer_count == 0)
        return false;
    next = pop_timer(sim);
    assert(next.at_us >= sim->now_us);
    sim->now_us = next.at_us;
    next.fn(next.arg);
    return true;
}

void hf_sim_run_ms(struct hf_sim *sim, uint64_t ms)
{
    uint64_t until_us = sim->now_us + 1000 * ms;

    while (sim->timer_count > 0 && sim->timers[0].at_us <= until_us)
        hf_sim_run_next(sim);
    sim->now_us = until_us;
}

bool hf_sim_is_idle(const struct hf_sim *sim)
{
    return sim->foreground == 0;
}

bool hf_sim_run_until_idle(struct hf_sim *sim)
{
    for (unsigned steps = 0; !hf_sim_is_idle(sim); steps++) {
        if (steps == IDLE_STEPS)
            return false;
        hf_sim_run_next(sim);
    }
    return true;
}

/* ---------------------------------------------------------------- clocks -- */

uint64_t hf_sim_now_us(const struct hf_sim *sim)
{
    return sim->now_us;
}

uint64_t sim_server_us(const struct hf_sim *sim)
{
    return sim_clock_read_us(&sim->clock, sim->now_us);
}

uint64_t sim_wall_ms(const struct hf_sim *sim)
{
    return WALL_EPOCH_MS + sim_server_us(sim) / 1000 - sim->wall_back_ms;
}

void hf_sim_set_wall_clock_back(struct hf_sim *sim, uint64_t ms)
{
    if (sim->config.leases.enabled)
        hf_sim_lease_server_step_clock(sim, -(int64_t)ms);
    else
        sim->wall_back_ms += ms;
}

uint64_t sim_server_at_us(const struct hf_sim *sim, uint64_t server_us)
{
    return sim_clock_when_us(&sim->clock, sim->now_us, server_us);
}

uint64_t hf_sim_client_now_ms(const struct hf_engine *engine)
{
    return sim_clock_read_us(&engine->clock, engine->sim->now_us) / 1000;
}

uint64_t hf_sim_client_at_us(const struct hf_engine *engine, uint64_t at_ms)
{
    if (at_ms >= UINT64_MAX / MILLION)
        return UINT64_MAX;
    return sim_clock_when_us(&engine->clock, engine->sim->now_us, 1000 * at_ms);
}

void hf_sim_client_set_clock(struct hf_engine *engine, uint64_t now_ms,
                             int32_t ppm)
{
    assert(ppm > -MILLION / 2 && ppm < MILLION / 2);
    engine->clock = (struct sim_clock){
        .base_us = 1000 * now_ms, .since_us = engine->sim->now_us, .ppm = ppm};
    engine->sim->model->start(engine);
}

/* ----------------------------------------------------------------- trace -- */

void sim_trace(struct hf_sim *sim, const struct hf_engine *engine,
               const char *format, ...)
{
    char text[256];
    va_list arguments;

    if (sim->observer.line == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sim->observer.line(sim->observer.arg, engine, text);
}

void hf_sim_observe(struct hf_sim *sim, const struct hf_sim_observer *observer)
{
    sim->observer = *observer;
}

/* ------------------------------------------------------------ life cycle -- */

struct hf_sim_config hf_sim_config_plain(uint64_t seed)
{
    return (struct hf_sim_config){
        .seed = seed,
        .traits = HF_ENGINE_GONE_ADMITS | HF_ENGINE_WATCHES_TWO,
        .timeout_ms = 10000,
        .clock_drift = 1,
        .least_timeout_ms = 10000,
        .delay_min_us = 1000,
        .delay_max_us = 1000,
    };
}

struct hf_sim_config hf_sim_config_zookeeper(uint64_t seed)
{
    struct hf_sim_config config = hf_sim_config_plain(seed);

    config.ensemble = (struct hf_sim_ensemble){
        .servers = 3,
        .tick_ms = 2000,
        .sync_limit = 5,
        .lag_max_us = 500,
        .container_check_ms = 60000,
    };
    return config;
}

struct hf_sim_config hf_sim_config_leased(uint64_t seed)
{
    struct hf_sim_config config = hf_sim_config_plain(seed);

    config.traits = HF_LEASED_TRAITS;
    config.leases.enabled = true;
    return config;
}

struct hf_sim_config hf_sim_config_etcd(uint64_t seed)
{
    struct hf_sim_config config = hf_sim_config_plain(seed);

    config.traits = HF_ETCD_TRAITS;
    config.etcd = (struct hf_sim_etcd){
        .members = 3,
        .election_ms = 1000,
        .lag_max_us = 500,
        .apply_max_us = 200,
        .reorder_max_us = 100,
        .token_ttl_ms = 300000,
    };
    return config;
}

static hf_status refuse_open(const struct hf_url *url,
                             const struct hf_engine_host *host,
                             struct hf_engine **engine, struct hf_error *error)
{
    (void)host;
    *engine = NULL;
    return hf_error_set(error, HF_EUNSUPPORTED,
                        "%s: an engine of the model belongs to one run of it; "
                        "expected hf_sim_engine_new()",
                        url->scheme);
}

static hf_status refuse_hold(struct hf_engine *engine,
                             const struct hf_ticket_id *ticket, int *fd)
{
    (void)engine;
    (void)ticket;
    *fd = -1;
    return HF_EUNSUPPORTED;
}

static const char *describe(const struct hf_engine *engine)
{
    (void)engine;
    return "sim:";
}

/* The model has no descriptors, so a fork changes nothing. */
static void after_fork(struct hf_engine *engine)
{
    (void)engine;
}

static const struct sim_model_ops *model_of(const struct hf_sim_config *config)
{
    if (config->leases.enabled)
        return &sim_model_lease;
    if (config->etcd.members > 0)
        return &sim_model_etcd;
    if (config->ensemble.servers == 0)
        return &sim_model_plain;
    return config->ensemble.handles ? &sim_model_zk_handle : &sim_model_zk;
}

/* The model of servers is chosen by the configuration. */
struct hf_sim *hf_sim_new(const struct hf_sim_config *config)
{
    struct hf_sim *sim = sim_require_memory(calloc(1, sizeof *sim));

    assert(config->least_timeout_ms <= config->timeout_ms);
    assert(config->delay_min_us <= config->delay_max_us);
    sim->config = *config;
    sim->model = model_of(config);
    sim->clock.ppm = config->server_ppm;
    sim->ops = (struct hf_engine_ops){
        .abi = HF_ENGINE_ABI,
        .scheme = "sim",
        .traits = config->traits,
        .open = refuse_open,
        .request = sim->model->request,
        .unwatch = sim->model->unwatch,
        .connect = sim->model->connect,
        .hold = refuse_hold,
        .describe = describe,
        .after_fork = after_fork,
        .free = sim->model->free,
    };
    hf_random_seed(&sim->random, config->seed);
    if (config->ensemble.servers > 0)
        sim->zk = zk_ensemble_new(sim);
    if (config->leases.enabled)
        sim->leases = lease_state_new(sim);
    if (config->etcd.members > 0)
        etcd_cluster_new(sim);
    return sim;
}

void hf_sim_free(struct hf_sim *sim)
{
    sim->model->free_memory(sim);
    while (sim->chunk != NULL) {
        struct sim_chunk *chunk = sim->chunk;

        sim->chunk = chunk->next;
        free(chunk);
    }
    free(sim->snapshot_tickets);
    free(sim->timers);
    free(sim);
}

struct hf_random *hf_sim_random(struct hf_sim *sim)
{
    return &sim->random;
}

const struct hf_engine_ops *hf_sim_ops(const struct hf_sim *sim)
{
    return &sim->ops;
}

/* The model starts the process when the clock is set. */
struct hf_engine *hf_sim_engine_new(struct hf_sim *sim,
                                    const struct hf_engine_host *host)
{
    struct hf_engine *engine = sim_alloc(sim, sizeof *engine);

    engine->sim = sim;
    engine->host = *host;
    engine->number = ++sim->engine_count;
    engine->next = sim->engines;
    sim->engines = engine;
    engine->out_up = true;
    engine->in_up = true;
    hf_sim_client_set_clock(engine, 1000, 0);
    return engine;
}
