/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The participants of a double barrier, each a core on an engine of the model,
 * and the faults of the run.  The steps that a participant takes are those of
 * src/client: acquire, wait for the others on the way out, release, clear
 * READY.
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/time_math.h"
#include "core/core.h"
#include "engines/leased/leased.h"
#include "etcd/etcd_url.h"
#include "simulator/model/sim.h"
#include "simulator/model/zk_faults.h"
#include "simulator/random/decision.h"
#include "simulator/random/double_barrier_private.h"

#define FAULTS_MS 20000
#define FAULTLESS_MS 20000
#define DRAIN_MS 5000
#define GENERATIONS_MIN 5 /* in that time */

struct double_barrier_run double_barrier;

static uint64_t below(uint64_t bound)
{
    return hf_random_below(&double_barrier.random, bound);
}

static void later(uint64_t ms, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(double_barrier.sim,
                   hf_sim_now_us(double_barrier.sim) + 1000 * ms, true, fn,
                   arg);
}

static unsigned number_of(const struct participant *participant)
{
    return (unsigned)(participant - double_barrier.participants);
}

/* Memory that the core has for a while.  What it still has at the end of the
 * run is freed then. */
static void *lend(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL || double_barrier.lent_count == LENT_MAX)
        abort();
    double_barrier.lent[double_barrier.lent_count++] =
        (struct lent_memory){.memory = memory};
    return memory;
}

static struct hf_acquisition *lend_acquisition(struct participant *participant)
{
    struct hf_acquisition *acquisition = lend(sizeof *acquisition);

    double_barrier.lent[double_barrier.lent_count - 1].owner = participant;
    return acquisition;
}

/* The core has forgotten it. */
static void take_back(void *memory)
{
    unsigned i = 0;

    while (i < double_barrier.lent_count &&
           double_barrier.lent[i].memory != memory)
        i++;
    assert(i < double_barrier.lent_count);
    if (double_barrier.lent[i].owner != NULL)
        hf_acquisition_free(&double_barrier.lent[i].owner->core, memory);
    double_barrier.lent[i] = double_barrier.lent[--double_barrier.lent_count];
    free(memory);
}

/* ---------------------------------------------------------- participants -- */

static void drain(struct participant *participant);
static void enter(void *arg);
static void leave(void *arg);

static void step(struct participant *participant, struct hf_event event)
{
    event.now_ms = hf_sim_client_now_ms(participant->engine);
    hf_core_step(&participant->core, &event);
    hf_core_check(&participant->core);
    drain(participant);
}

static void on_event(void *host, struct hf_event *event)
{
    step(host, *event);
}

static uint64_t now_ms(void *host)
{
    return hf_sim_client_now_ms(((struct participant *)host)->engine);
}

/* Start an operation like ${like}, in memory that is lent to the core. */
static void start_operation(struct participant *participant,
                            enum hf_request_kind kind, struct hf_operation like)
{
    struct hf_operation *operation = lend(sizeof *operation);

    *operation = like;
    operation->kind = kind;
    operation->queue = QUEUE;
    if (operation->deadline_at_ms == 0)
        operation->deadline_at_ms = HF_FOREVER;
    step(participant, (struct hf_event){.kind = HF_EVENT_START_OPERATION,
                                        .as.operation = operation});
}

/* Wait for the others of ${generation} to leave.  ${keeps}: its ticket is still
 * in the queue. */
static void wait_for_change(struct participant *participant,
                            const struct hf_ticket_id *id, uint64_t generation,
                            bool keeps)
{
    struct hf_operation like = {.ticket = *id,
                                .waits_for =
                                    keeps ? HF_WAIT_LEAVE : HF_WAIT_LEFT,
                                .generation = generation};

    if (!double_barrier.faults_over && below(4) == 0)
        like.deadline_at_ms = now_ms(participant) + below(2000);
    start_operation(participant, HF_REQUEST_WATCH_QUEUE, like);
}

/* Without faults all participants have to come, so no decision is left out. */
static void enter_later(struct participant *participant, uint64_t most_ms)
{
    uint64_t us = 1000 * below(most_ms);

    if (!double_barrier.faults_over)
        us =
            decision_delay_us(DECISION_PARTICIPANT, number_of(participant), us);
    hf_sim_call_at(double_barrier.sim, hf_sim_now_us(double_barrier.sim) + us,
                   true, enter, participant);
}

/* It is outside again; ${whole}: it entered and left in order. */
static void left(struct participant *participant, bool whole)
{
    participant->phase = OUTSIDE;
    double_barrier_trace(participant, "is outside%s",
                         whole ? "" : ", without having left");
    participant->generations += whole;
    if (whole)
        start_operation(participant, HF_REQUEST_CLEAR_FLAG,
                        (struct hf_operation){.flag_kind = HF_TICKET_READY});
    enter_later(participant, 30);
}

/* Acquire a ticket; granted means that READY was set. */
static void enter(void *arg)
{
    struct participant *participant = arg;
    struct hf_acquisition *acquisition;

    if (participant->phase != OUTSIDE || double_barrier.stopping)
        return;
    if (hf_sim_frozen(participant->engine)) {
        later(10, enter, participant);
        return;
    }
    if (!double_barrier.faults_over &&
        !decision_taken(DECISION_PARTICIPANT, number_of(participant))) {
        enter_later(participant, 30);
        return;
    }
    double_barrier_trace(participant, "enters");
    participant->phase = ENTERING;
    participant->yields = false;
    participant->acquisition = acquisition = lend_acquisition(participant);
    acquisition->queue = QUEUE;
    acquisition->payload = "";
    acquisition->kind = HF_TICKET_PARTICIPANT;
    acquisition->limit = double_barrier.count;
    acquisition->deadline_at_ms = HF_FOREVER;
    if (!double_barrier.faults_over && below(4) == 0)
        acquisition->deadline_at_ms = now_ms(participant) + below(2000);
    step(participant, (struct hf_event){.kind = HF_EVENT_ACQUIRE,
                                        .as.acquisition = acquisition});
}

static void release(struct participant *participant)
{
    participant->holds = false;
    step(participant,
         (struct hf_event){.kind = HF_EVENT_RELEASE,
                           .as.acquisition = participant->acquisition});
}

/* Wait until all participants of this generation may leave; the core says
 * (HF_EBUSY) if its ticket has to be released before that. */
static void leave(void *arg)
{
    struct participant *participant = arg;

    if (participant->phase != INSIDE)
        return;
    if (hf_sim_frozen(participant->engine)) {
        later(10, leave, participant);
        return;
    }
    participant->phase = LEAVING;
    double_barrier_trace(participant, "leaves");
    wait_for_change(participant, &participant->acquisition->ticket_id,
                    participant->acquisition->generation, true);
}

/* The wait of ${participant} on its way out has ended: release its ticket, or,
 * if that is released already, it is outside. */
static void answered(struct participant *participant,
                     const struct hf_operation *operation)
{
    if (operation->kind != HF_REQUEST_WATCH_QUEUE)
        return;
    if (operation->status == HF_OK)
        double_barrier_check_passage(participant, operation->generation);
    if (operation->waits_for == HF_WAIT_LEAVE) {
        participant->yields = operation->status == HF_EBUSY;
        release(participant);
    } else {
        left(participant, operation->status == HF_OK);
    }
}

/* Its ticket is released.  If others were still inside, it waits for these. */
static void released(struct participant *participant,
                     const struct hf_acquisition *acquisition)
{
    if (participant->yields && acquisition->status == HF_OK)
        wait_for_change(participant, &acquisition->ticket_id,
                        acquisition->generation, false);
    else
        left(participant, acquisition->status == HF_OK);
}

/* One effect of the core. */
static void carry_out(struct participant *participant,
                      const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        hf_sim_ops(double_barrier.sim)
            ->request(participant->engine, effect->request);
        break;
    case HF_EFFECT_UNWATCH:
        hf_sim_ops(double_barrier.sim)
            ->unwatch(participant->engine, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        hf_sim_ops(double_barrier.sim)->connect(participant->engine);
        break;
    case HF_EFFECT_GRANTED:
        double_barrier_check_entry(participant);
        participant->phase = INSIDE;
        double_barrier_trace(participant, "is INSIDE");
        participant->holds = true;
        participant->lost = false;
        later(below(50), leave, participant);
        break;
    case HF_EFFECT_LOST:
        participant->lost = true;
        double_barrier_trace(participant, "LOST");
        break;
    case HF_EFFECT_STATE:
        double_barrier_trace(participant, "state %s",
                             hf_state_name(effect->state));
        double_barrier_check(effect->state != HF_STATE_LOST ||
                                 !participant->holds || participant->lost,
                             7, "a participant was not notified of LOST");
        double_barrier_check(
            effect->state != HF_STATE_SUSPENDED || !participant->holds ||
                participant->lost || double_barrier.loss_at == HF_LOSS_AT_LOST,
            7, "a participant was not notified that the link is down");
        break;
    case HF_EFFECT_ENDED:
        left(participant, false);
        break;
    case HF_EFFECT_RELEASED:
        released(participant, effect->acquisition);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        take_back(effect->acquisition);
        break;
    case HF_EFFECT_OPERATION_ANSWERED:
        answered(participant, effect->operation);
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
    struct participant *participant = arg;

    if (hf_sim_frozen(participant->engine) ||
        hf_sim_now_us(double_barrier.sim) < participant->tick_us)
        return;
    participant->tick_us = UINT64_MAX;
    step(participant, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void arm(struct participant *participant)
{
    uint64_t wake_ms = hf_core_wake_at_ms(&participant->core);
    uint64_t at_us;

    if (wake_ms == HF_FOREVER || hf_sim_frozen(participant->engine))
        return;
    at_us = hf_sim_client_at_us(participant->engine, wake_ms);
    if (at_us == UINT64_MAX || at_us == participant->tick_us)
        return;
    participant->tick_us = at_us;
    hf_sim_call_at(double_barrier.sim, at_us, true, tick, participant);
}

/* An event inside an effect leads here again; the outermost call carries out
 * all effects. */
static void drain(struct participant *participant)
{
    struct hf_effect *effect;

    if (participant->draining)
        return;
    participant->draining = true;
    while ((effect = hf_core_next_effect(&participant->core)) != NULL) {
        struct hf_effect taken = *effect;

        carry_out(participant, &taken);
    }
    participant->draining = false;
    arm(participant);
}

/* ---------------------------------------------------------------- faults -- */

static void thaw(void *arg)
{
    struct participant *participant = arg;

    double_barrier_trace(participant, "thaws");
    hf_sim_set_frozen(participant->engine, false);
    participant->tick_us = UINT64_MAX;
    step(participant, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void unstall(void *arg)
{
    double_barrier_trace(arg, "its server is reached again");
    hf_sim_set_stalled(((struct participant *)arg)->engine, true, true);
}

static void restore_link(void *arg)
{
    double_barrier_trace(arg, "link mends");
    hf_sim_set_link(((struct participant *)arg)->engine, true, true);
}

static void cut(struct participant *participant)
{
    bool out = below(2) == 0, in = below(2) == 0;

    double_barrier_trace(participant, "link cut%s%s", out ? "" : " out",
                         in ? "" : " in");
    hf_sim_set_link(participant->engine, out, in);
    later(below(1500), restore_link, participant);
}

/* One fault of a random participant. */
static void fault_once(void)
{
    struct participant *participant =
        &double_barrier.participants[below(double_barrier.count)];

    if (hf_sim_frozen(participant->engine))
        return;
    switch (below(5)) {
    case 0:
        double_barrier_trace(participant, "link breaks");
        hf_sim_reset_connection(participant->engine);
        break;
    case 1:
        double_barrier_trace(participant, "session killed");
        hf_sim_kill_session(participant->engine);
        break;
    case 2:
        double_barrier_trace(participant, "its server is cut off");
        hf_sim_set_stalled(participant->engine, false, false);
        later(below(1500), unstall, participant);
        break;
    case 3:
        cut(participant);
        break;
    default:
        double_barrier_trace(participant, "freezes");
        hf_sim_set_frozen(participant->engine, true);
        later(below(1500), thaw, participant);
    }
}

static void fault(void *arg)
{
    uint64_t us;

    if (double_barrier.faults_over || double_barrier.stopping)
        return;
    if (decision_taken(DECISION_FAULT, 0))
        fault_once();
    us = decision_delay_us(DECISION_FAULT, 0, 1000 * below(500));
    hf_sim_call_at(double_barrier.sim, hf_sim_now_us(double_barrier.sim) + us,
                   true, fault, arg);
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
    /* 0: the default of the client. */
    ensemble->window = (unsigned)(config->seed % 4);
    ensemble->lazy_proof = config->seed % 8 >= 4;
}

static void choose_members(struct hf_sim_config *config)
{
    struct hf_sim_etcd *etcd = &config->etcd;

    etcd->members = 1 + 2 * (unsigned)below(2);
    etcd->election_ms = 200 + below(400);
    etcd->lag_max_us = 1 + (uint32_t)below(1000);
    etcd->reorder_max_us = 1 + (uint32_t)below(3000);
    etcd->lag_chance = (uint32_t)below(200000);
    etcd->splits_bytes = below(2) == 0;
    etcd->lazy_proof = config->seed % 8 >= 4;
    etcd->stale_renewals = etcd->stale_reads = true;
    config->timeout_ms = config->least_timeout_ms =
        HF_ETCD_TTL_MIN_MS + 1000 * below(3);
    config->separate_notices = false;
}

/* The configuration without faults. */
static struct hf_sim_config config_without_faults(uint64_t seed,
                                                  enum engine_kind engine)
{
    switch (engine) {
    case ENGINE_ZOOKEEPER:
        return hf_sim_config_zookeeper(seed);
    case ENGINE_LEASED:
        return hf_sim_config_leased(seed);
    case ENGINE_ETCD:
        return hf_sim_config_etcd(seed);
    default:
        return hf_sim_config_plain(seed);
    }
}

/* The faults that only the lease model has. */
static void choose_lease_faults(struct hf_sim_config *config)
{
    config->timeout_ms += HF_LEASED_TTL_MIN_MS;
    config->least_timeout_ms = config->timeout_ms;
    config->leases.renewal_piece_max = (unsigned)(config->seed / 2 % 4);
    config->leases.notice_lost_chance = (uint32_t)below(200000);
    config->leases.notice_twice_chance = (uint32_t)below(200000);
    config->leases.notice_late_chance = (uint32_t)below(200000);
    config->leases.commit_chance = (uint32_t)below(50000);
}

static void begin(struct double_barrier_result *end, uint64_t seed,
                  enum engine_kind engine)
{
    struct hf_sim_observer observer = double_barrier_observer();
    struct hf_sim_config config = config_without_faults(seed, engine);

    memset(&double_barrier, 0, sizeof double_barrier);
    double_barrier.end = end;
    double_barrier.loss_at =
        seed % 5 == 0 ? HF_LOSS_AT_SUSPENDED : HF_LOSS_AT_LOST;
    hf_random_seed(&double_barrier.random, seed);
    double_barrier.count = 1 + (unsigned)below(PARTICIPANTS_MAX);
    config.timeout_ms = config.least_timeout_ms = 300 + below(1200);
    config.delay_min_us = 100;
    config.delay_max_us = (uint32_t)(200 + below(3000));
    config.separate_notices = below(3) == 0;
    config.refuse_chance = (uint32_t)below(below(4) == 0 ? 400000 : 50000);
    config.lose_chance = (uint32_t)below(10000);
    config.slow_chance = (uint32_t)below(10000);
    config.late_chance = (uint32_t)below(500000);
    if (engine == ENGINE_ZOOKEEPER)
        choose_ensemble(&config);
    if (engine == ENGINE_LEASED)
        choose_lease_faults(&config);
    if (engine == ENGINE_ETCD)
        choose_members(&config);
    decisions_drop_chances(&config);
    double_barrier.sim = hf_sim_new(&config);
    decisions_start(&double_barrier.random, double_barrier.sim);
    hf_sim_observe(double_barrier.sim, &observer);
}

/* A participant starts, and comes to the barrier soon. */
static void join(struct participant *participant, uint64_t seed)
{
    struct hf_core_config config = {.connect_ms = HF_FOREVER,
                                    .retry = {.base_ms = 10,
                                              .cap_ms = 200,
                                              .tries = HF_RETRY_UNLIMITED,
                                              .elapsed_ms = HF_FOREVER}};
    struct hf_engine_host host = {
        .event = on_event, .now_ms = now_ms, .host = participant};

    config.loss_at = double_barrier.loss_at;
    hf_random_seed(&config.random, seed);
    participant->tick_us = UINT64_MAX;
    participant->engine = hf_sim_engine_new(double_barrier.sim, &host);
    hf_core_init(&participant->core, &config, now_ms(participant));
    enter_later(participant, 100);
}

/* End the run: a participant that waits to enter waits for others that do not
 * come any more, so its wait is cancelled. */
static void stop(void)
{
    double_barrier.stopping = true;
    hf_sim_run_ms(double_barrier.sim, DRAIN_MS);
    for (unsigned i = 0; i < double_barrier.count; i++) {
        struct participant *participant = &double_barrier.participants[i];

        if (participant->phase == ENTERING)
            step(participant,
                 (struct hf_event){.kind = HF_EVENT_CANCEL,
                                   .as.acquisition = participant->acquisition});
    }
    hf_sim_run_ms(double_barrier.sim, DRAIN_MS);
    for (unsigned i = 0; i < double_barrier.count; i++)
        double_barrier_check(double_barrier.participants[i].phase == OUTSIDE, 4,
                             "a participant never leaves");
    double_barrier_check(double_barrier.live_count == 0, 5,
                         "a ticket was left behind");
}

static bool holds_all(const struct double_barrier_result *end)
{
    return end->broken == 0;
}

/* 4: without faults all participants go on entering and leaving. */
static void check_progress(void)
{
    unsigned before[PARTICIPANTS_MAX] = {0};

    for (unsigned i = 0; i < double_barrier.count; i++)
        before[i] = double_barrier.participants[i].generations;
    hf_sim_run_ms(double_barrier.sim, FAULTLESS_MS);
    for (unsigned i = 0; i < double_barrier.count; i++)
        double_barrier_check(double_barrier.participants[i].generations >=
                                 before[i] + GENERATIONS_MIN,
                             4,
                             "without faults a participant makes no progress");
}

/* Faults for 20 s, then a check of progress without faults, then the end. */
bool double_barrier_run_seed(uint64_t seed, enum engine_kind engine,
                             void (*line)(void *arg, const char *text),
                             struct double_barrier_result *end)
{

    *end = (struct double_barrier_result){0};
    begin(end, seed, engine);
    double_barrier.line = line;
    for (unsigned i = 0; i < double_barrier.count; i++)
        join(&double_barrier.participants[i], seed * PARTICIPANTS_MAX + i);
    later(below(1000), fault, NULL);
    hf_sim_run_ms(double_barrier.sim, FAULTS_MS);
    double_barrier.faults_over = true;
    hf_sim_end_faults(double_barrier.sim);
    hf_sim_run_ms(double_barrier.sim, DRAIN_MS); /* requests under way end */
    if (holds_all(end))
        check_progress();
    if (holds_all(end))
        stop();
    for (unsigned i = 0; i < double_barrier.count; i++)
        end->generations += double_barrier.participants[i].generations;
    hf_sim_free(double_barrier.sim);
    while (double_barrier.lent_count > 0)
        take_back(double_barrier.lent[0].memory);
    return holds_all(end);
}
