/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/time_math.h"
#include "engines/leased/leased.h"
#include "engines/sim/ensemble.h"
#include "engines/sim/sim.h"
#include "rounds_private.h"
#include "turn.h"

#define CHAOS_MS 20000
#define CALM_MS 20000
#define SETTLE_MS 5000
#define ROUNDS_LEAST 5 /* in that time */

struct rounds_world rounds;

static uint64_t below(uint64_t bound)
{
    return hf_random_below(&rounds.random, bound);
}

static void later(uint64_t ms, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(rounds.sim, hf_sim_now_us(rounds.sim) + 1000 * ms, true, fn,
                   arg);
}

static unsigned number_of(const struct party *party)
{
    return (unsigned)(party - rounds.parties);
}

/* Memory that is the core's for a while; what it still has when the world ends
 * goes with that. */
static void *lend(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL || rounds.lent_count == LENT_MAX)
        abort();
    rounds.lent[rounds.lent_count++] = (struct lent){.memory = memory};
    return memory;
}

static struct hf_acquisition *lend_member(struct party *party)
{
    struct hf_acquisition *member = lend(sizeof *member);

    rounds.lent[rounds.lent_count - 1].to = party;
    return member;
}

static void take_back(void *memory)
{
    unsigned i = 0;

    while (i < rounds.lent_count && rounds.lent[i].memory != memory)
        i++;
    assert(i < rounds.lent_count);
    if (rounds.lent[i].to != NULL)
        hf_acquisition_free(&rounds.lent[i].to->core, memory);
    rounds.lent[i] = rounds.lent[--rounds.lent_count];
    free(memory);
}

/* --------------------------------------------------------------- parties -- */

static void drain(struct party *party);
static void come(void *arg);
static void go(void *arg);

static void step(struct party *party, struct hf_event event)
{
    event.now_ms = hf_sim_client_now_ms(party->engine);
    hf_core_step(&party->core, &event);
    hf_core_check(&party->core);
    drain(party);
}

static void on_event(void *host, struct hf_event *event)
{
    step(host, *event);
}

static uint64_t now_ms(void *host)
{
    return hf_sim_client_now_ms(((struct party *)host)->engine);
}

static void inquire(struct party *party, enum hf_request_kind kind,
                    struct hf_operation like)
{
    struct hf_operation *operation = lend(sizeof *operation);

    *operation = like;
    operation->kind = kind;
    operation->queue = QUEUE;
    if (operation->deadline_at_ms == 0)
        operation->deadline_at_ms = HF_FOREVER;
    step(party, (struct hf_event){.kind = HF_EVENT_START_OPERATION,
                                  .as.operation = operation});
}

static void wait_on(struct party *party, const struct hf_ticket_id *id,
                    uint64_t stamp, bool keeps)
{
    struct hf_operation like = {
        .ticket = *id, .generation = stamp, .keeps_ticket = keeps};

    if (!rounds.calm && below(4) == 0)
        like.deadline_at_ms = now_ms(party) + below(2000);
    inquire(party, HF_REQUEST_WATCH_QUEUE, like);
}

/* When all is calm, all have to come. */
static void come_later(struct party *party, uint64_t most_ms)
{
    uint64_t us = 1000 * below(most_ms);

    if (!rounds.calm)
        us = turn_in_us(TURN_PARTY, number_of(party), us);
    hf_sim_call_at(rounds.sim, hf_sim_now_us(rounds.sim) + us, true, come,
                   party);
}

static void be_outside(struct party *party, bool whole)
{
    party->where = OUTSIDE;
    rounds_line(party, "is outside%s", whole ? "" : ", without having left");
    party->rounds += whole;
    if (whole)
        inquire(party, HF_REQUEST_CLEAR_FLAG,
                (struct hf_operation){.flag_kind = HF_TICKET_READY});
    come_later(party, 30);
}

static void come(void *arg)
{
    struct party *party = arg;
    struct hf_acquisition *member;

    if (party->where != OUTSIDE || rounds.over)
        return;
    if (hf_sim_frozen(party->engine)) {
        later(10, come, party);
        return;
    }
    if (!rounds.calm && !turn_taken(TURN_PARTY, number_of(party))) {
        come_later(party, 30);
        return;
    }
    rounds_line(party, "enters");
    party->where = ENTERING;
    party->yields = false;
    party->member = member = lend_member(party);
    member->queue = QUEUE;
    member->payload = "";
    member->kind = HF_TICKET_PARTICIPANT;
    member->limit = rounds.count;
    member->deadline_at_ms = HF_FOREVER;
    if (!rounds.calm && below(4) == 0)
        member->deadline_at_ms = now_ms(party) + below(2000);
    step(party,
         (struct hf_event){.kind = HF_EVENT_ACQUIRE, .as.acquisition = member});
}

static void release(struct party *party)
{
    party->holds = false;
    step(party, (struct hf_event){.kind = HF_EVENT_RELEASE,
                                  .as.acquisition = party->member});
}

static void go(void *arg)
{
    struct party *party = arg;

    if (party->where != INSIDE)
        return;
    if (hf_sim_frozen(party->engine)) {
        later(10, go, party);
        return;
    }
    party->where = LEAVING;
    rounds_line(party, "leaves");
    wait_on(party, &party->member->ticket_id, party->member->generation, true);
}

static void answered(struct party *party, const struct hf_operation *operation)
{
    if (operation->kind != HF_REQUEST_WATCH_QUEUE)
        return;
    if (operation->status == HF_OK)
        rounds_check_passage(party, operation->generation);
    if (operation->keeps_ticket) {
        party->yields = operation->status == HF_EBUSY;
        release(party);
    } else {
        be_outside(party, operation->status == HF_OK);
    }
}

static void released(struct party *party, const struct hf_acquisition *member)
{
    if (party->yields && member->status == HF_OK)
        wait_on(party, &member->ticket_id, member->generation, false);
    else
        be_outside(party, member->status == HF_OK);
}

static void carry_out(struct party *party, const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        hf_sim_ops(rounds.sim)->request(party->engine, effect->request);
        break;
    case HF_EFFECT_UNWATCH:
        hf_sim_ops(rounds.sim)->unwatch(party->engine, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        hf_sim_ops(rounds.sim)->connect(party->engine);
        break;
    case HF_EFFECT_GRANTED:
        rounds_check_entry(party);
        party->where = INSIDE;
        rounds_line(party, "is INSIDE");
        party->holds = true;
        party->lost = false;
        later(below(50), go, party);
        break;
    case HF_EFFECT_LOST:
        party->lost = true;
        rounds_line(party, "LOST");
        break;
    case HF_EFFECT_STATE:
        rounds_line(party, "state %s", hf_state_name(effect->state));
        rounds_must(effect->state != HF_STATE_LOST || !party->holds ||
                        party->lost,
                    7, "a member was not told that it is lost");
        rounds_must(effect->state != HF_STATE_SUSPENDED || !party->holds ||
                        party->lost || rounds.loss_at == HF_LOSS_AT_LOST,
                    7, "a member was not told that the link is down");
        break;
    case HF_EFFECT_ENDED:
        be_outside(party, false);
        break;
    case HF_EFFECT_RELEASED:
        released(party, effect->acquisition);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        take_back(effect->acquisition);
        break;
    case HF_EFFECT_OPERATION_ANSWERED:
        answered(party, effect->operation);
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
    struct party *party = arg;

    if (hf_sim_frozen(party->engine) ||
        hf_sim_now_us(rounds.sim) < party->tick_us)
        return;
    party->tick_us = UINT64_MAX;
    step(party, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void arm(struct party *party)
{
    uint64_t wake_ms = hf_core_wake_at_ms(&party->core);
    uint64_t at_us;

    if (wake_ms == HF_FOREVER || hf_sim_frozen(party->engine))
        return;
    at_us = hf_sim_client_at_us(party->engine, wake_ms);
    if (at_us == UINT64_MAX || at_us == party->tick_us)
        return;
    party->tick_us = at_us;
    hf_sim_call_at(rounds.sim, at_us, true, tick, party);
}

static void drain(struct party *party)
{
    struct hf_effect *effect;

    if (party->draining)
        return;
    party->draining = true;
    while ((effect = hf_core_next_effect(&party->core)) != NULL) {
        struct hf_effect taken = *effect;

        carry_out(party, &taken);
    }
    party->draining = false;
    arm(party);
}

/* ---------------------------------------------------------------- faults -- */

static void thaw(void *arg)
{
    struct party *party = arg;

    rounds_line(party, "thaws");
    hf_sim_set_frozen(party->engine, false);
    party->tick_us = UINT64_MAX;
    step(party, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void unstall(void *arg)
{
    rounds_line(arg, "its server is reached again");
    hf_sim_set_stalled(((struct party *)arg)->engine, true, true);
}

static void relink(void *arg)
{
    rounds_line(arg, "link mends");
    hf_sim_set_link(((struct party *)arg)->engine, true, true);
}

static void cut(struct party *party)
{
    bool out = below(2) == 0, in = below(2) == 0;

    rounds_line(party, "link cut%s%s", out ? "" : " out", in ? "" : " in");
    hf_sim_set_link(party->engine, out, in);
    later(below(1500), relink, party);
}

static void fault_once(void)
{
    struct party *party = &rounds.parties[below(rounds.count)];

    if (hf_sim_frozen(party->engine))
        return;
    switch (below(5)) {
    case 0:
        rounds_line(party, "link breaks");
        hf_sim_break(party->engine);
        break;
    case 1:
        rounds_line(party, "session killed");
        hf_sim_kill_session(party->engine);
        break;
    case 2:
        rounds_line(party, "its server is cut off");
        hf_sim_set_stalled(party->engine, false, false);
        later(below(1500), unstall, party);
        break;
    case 3:
        cut(party);
        break;
    default:
        rounds_line(party, "freezes");
        hf_sim_set_frozen(party->engine, true);
        later(below(1500), thaw, party);
    }
}

static void fault(void *arg)
{
    uint64_t us;

    if (rounds.calm || rounds.over)
        return;
    if (turn_taken(TURN_FAULT, 0))
        fault_once();
    us = turn_in_us(TURN_FAULT, 0, 1000 * below(500));
    hf_sim_call_at(rounds.sim, hf_sim_now_us(rounds.sim) + us, true, fault,
                   arg);
}

/* ----------------------------------------------------------------- world -- */

/* What a client and several servers take longer for. */
static void choose_ensemble(struct hf_sim_config *config)
{
    struct hf_sim_ensemble *ensemble = &config->ensemble;

    ensemble->servers = 1 + 2 * (unsigned)below(2);
    ensemble->tick_ms = 200 + below(400);
    ensemble->lag_most_us = 1 + (uint32_t)below(1000);
    ensemble->container_ms = ensemble->tick_ms * (2 + below(10));
    ensemble->split = below(2) == 0;
    config->timeout_ms = ensemble->tick_ms * (200 + below(400)) / 100;
    config->least_timeout_ms = config->timeout_ms;
    config->notices_apart = false;
    ensemble->window = (unsigned)(config->seed % 4); /* 0: as outside */
    ensemble->lazy_proof = config->seed % 8 >= 4;
}

static struct hf_sim_config calm(uint64_t seed, enum world_sort sort)
{
    switch (sort) {
    case WORLD_ZOOKEEPER:
        return hf_sim_config_ensemble(seed);
    case WORLD_LEASED:
        return hf_sim_config_leased(seed);
    default:
        return hf_sim_config_calm(seed);
    }
}

/* What else goes wrong with it. */
static void choose_leases(struct hf_sim_config *config)
{
    config->timeout_ms += HF_LEASED_TTL_MIN_MS;
    config->least_timeout_ms = config->timeout_ms;
    config->leases.renewal_most = (unsigned)(config->seed / 2 % 4);
    config->leases.notice_lost_chance = (uint32_t)below(200000);
    config->leases.notice_twice_chance = (uint32_t)below(200000);
    config->leases.notice_late_chance = (uint32_t)below(200000);
    config->leases.commit_chance = (uint32_t)below(50000);
}

static void begin(struct rounds_end *end, uint64_t seed, enum world_sort sort)
{
    struct hf_sim_observer observer = rounds_observer();
    struct hf_sim_config config = calm(seed, sort);

    memset(&rounds, 0, sizeof rounds);
    rounds.end = end;
    rounds.loss_at = seed % 5 == 0 ? HF_LOSS_AT_SUSPENDED : HF_LOSS_AT_LOST;
    hf_random_seed(&rounds.random, seed);
    rounds.count = 1 + (unsigned)below(PARTIES_MAX);
    config.timeout_ms = config.least_timeout_ms = 300 + below(1200);
    config.delay_least_us = 100;
    config.delay_most_us = (uint32_t)(200 + below(3000));
    config.notices_apart = below(3) == 0;
    config.refuse_chance = (uint32_t)below(below(4) == 0 ? 400000 : 50000);
    config.lose_chance = (uint32_t)below(10000);
    config.slow_chance = (uint32_t)below(10000);
    config.late_chance = (uint32_t)below(500000);
    if (sort == WORLD_ZOOKEEPER)
        choose_ensemble(&config);
    if (sort == WORLD_LEASED)
        choose_leases(&config);
    turns_still(&config);
    rounds.sim = hf_sim_new(&config);
    turns_begin(&rounds.random, rounds.sim);
    hf_sim_observe(rounds.sim, &observer);
}

static void join(struct party *party, uint64_t seed)
{
    struct hf_core_config config = {.connect_ms = HF_FOREVER,
                                    .retry = {.base_ms = 10,
                                              .cap_ms = 200,
                                              .tries = HF_RETRY_UNLIMITED,
                                              .elapsed_ms = HF_FOREVER}};
    struct hf_engine_host host = {
        .event = on_event, .now_ms = now_ms, .host = party};

    config.loss_at = rounds.loss_at;
    hf_random_seed(&config.random, seed);
    party->tick_us = UINT64_MAX;
    party->engine = hf_sim_engine_new(rounds.sim, &host);
    hf_core_init(&party->core, &config, now_ms(party));
    come_later(party, 100);
}

/* Whoever still waits to go in waits for somebody who does not come. */
static void wind_up(void)
{
    rounds.over = true;
    hf_sim_run_ms(rounds.sim, SETTLE_MS);
    for (unsigned i = 0; i < rounds.count; i++) {
        struct party *party = &rounds.parties[i];

        if (party->where == ENTERING)
            step(party, (struct hf_event){.kind = HF_EVENT_CANCEL,
                                          .as.acquisition = party->member});
    }
    hf_sim_run_ms(rounds.sim, SETTLE_MS);
    for (unsigned i = 0; i < rounds.count; i++)
        rounds_must(rounds.parties[i].where == OUTSIDE, 4,
                    "somebody is held up for ever");
    rounds_must(rounds.live_count == 0, 5, "a ticket was left behind");
}

static bool is_fine(const struct rounds_end *end)
{
    return end->broken == 0;
}

/* Without faults all go on from round to round. */
static void see_progress(void)
{
    unsigned before[PARTIES_MAX] = {0};

    for (unsigned i = 0; i < rounds.count; i++)
        before[i] = rounds.parties[i].rounds;
    hf_sim_run_ms(rounds.sim, CALM_MS);
    for (unsigned i = 0; i < rounds.count; i++)
        rounds_must(rounds.parties[i].rounds >= before[i] + ROUNDS_LEAST, 4,
                    "without faults nobody gets on");
}

bool rounds_run(uint64_t seed, enum world_sort sort,
                void (*line)(void *arg, const char *text),
                struct rounds_end *end)
{

    *end = (struct rounds_end){0};
    begin(end, seed, sort);
    rounds.line = line;
    for (unsigned i = 0; i < rounds.count; i++)
        join(&rounds.parties[i], seed * PARTIES_MAX + i);
    later(below(1000), fault, NULL);
    hf_sim_run_ms(rounds.sim, CHAOS_MS);
    rounds.calm = true;
    hf_sim_calm(rounds.sim);
    hf_sim_run_ms(rounds.sim, SETTLE_MS); /* what was under way ends */
    if (is_fine(end))
        see_progress();
    if (is_fine(end))
        wind_up();
    for (unsigned i = 0; i < rounds.count; i++)
        end->rounds += rounds.parties[i].rounds;
    hf_sim_free(rounds.sim);
    while (rounds.lent_count > 0)
        take_back(rounds.lent[0].memory);
    return is_fine(end);
}
