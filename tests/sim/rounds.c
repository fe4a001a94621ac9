/* SPDX-License-Identifier: Apache-2.0 */
#include "rounds.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/instant.h"
#include "engines/leased/leased.h"
#include "engines/sim/ensemble.h"
#include "engines/sim/sim.h"

#define PARTIES_MAX 4
#define QUEUE "d"
#define LIVE_MAX 64
#define LENT_MAX 256
#define CHAOS_MS 20000
#define CALM_MS 20000
#define SETTLE_MS 5000
#define ROUNDS_LEAST 5 /* in that time */

enum where { OUTSIDE, ENTERING, INSIDE, LEAVING };

struct party {
    struct hf_engine *engine;
    struct hf_core core;
    struct hf_acquisition *member; /* until FORGOTTEN, or given up for lost */
    enum where where;
    bool draining;
    bool yields;
    bool holds; /* granted, and not released */
    bool lost;  /* and told so */
    uint64_t tick_us;
    unsigned rounds;
};

/* A ticket that is there. */
struct live {
    struct hf_ticket_id id;
    uint64_t token;
    bool called; /* since it came the mark was made, and all were there */
};

static struct {
    struct hf_sim *sim;
    struct hf_random random;
    struct party parties[PARTIES_MAX];
    unsigned count;
    struct live live[LIVE_MAX];
    unsigned live_count;
    bool calm;
    bool over;
    bool marked;            /* the mark is there, */
    unsigned lowered_under; /* or was lowered when so many were */
    void *lent[LENT_MAX];
    unsigned lent_count;
    struct rounds_end *end;
} world;

static uint64_t below(uint64_t bound)
{
    return hf_random_below(&world.random, bound);
}

static void later(uint64_t ms, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(world.sim, hf_sim_now_us(world.sim) + 1000 * ms, true, fn,
                   arg);
}

/* The first that does not hold is the finding. */
static void must(bool holds, int invariant, const char *story)
{
    if (holds || world.end->broken != 0)
        return;
    world.end->broken = invariant;
    world.end->story = story;
}

/* Memory that is the core's for a while; what it still has when the world ends
 * goes with that. */
static void *lend(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL || world.lent_count == LENT_MAX)
        abort();
    world.lent[world.lent_count++] = memory;
    return memory;
}

static void take_back(void *memory)
{
    unsigned i = 0;

    while (i < world.lent_count && world.lent[i] != memory)
        i++;
    assert(i < world.lent_count);
    world.lent[i] = world.lent[--world.lent_count];
    free(memory);
}

/* ----------------------------------------------------------------- truth -- */

static void on_added(void *arg, const char *queue,
                     const struct hf_ticket *ticket)
{
    (void)arg;
    (void)queue;
    assert(world.live_count < LIVE_MAX);
    world.live[world.live_count++] =
        (struct live){ticket->id, ticket->token, false};
}

/* Lowered, and not to be made anew at the same instant. */
static void see_lowered(void *arg)
{
    (void)arg;
    must(world.marked || world.lowered_under == 0, 4,
         "the mark was lowered while somebody was there");
}

static void on_marked(void *arg, const char *queue, bool up)
{
    (void)arg;
    if (strcmp(queue, QUEUE "/ready") != 0)
        return;
    world.marked = up;
    world.lowered_under = up ? 0 : world.live_count;
    if (!up) {
        later(0, see_lowered, NULL);
        return;
    }
    must(world.live_count >= world.count, 1,
         "the mark was made before all were there");
    for (unsigned i = 0; i < world.live_count; i++)
        world.live[i].called = true;
}

static struct live *find_live(const struct hf_ticket_id *id)
{
    for (unsigned i = 0; i < world.live_count; i++) {
        if (hf_ticket_id_equal(&world.live[i].id, id))
            return &world.live[i];
    }
    return NULL;
}

static void on_gone(void *arg, const char *queue,
                    const struct hf_ticket *ticket,
                    struct hf_request *const *watches, size_t count)
{
    struct live *live = find_live(&ticket->id);

    (void)arg;
    (void)queue;
    (void)watches;
    (void)count;
    assert(live != NULL);
    *live = world.live[--world.live_count];
}

/* The ticket may have gone since, with its session. */
static void check_entry(const struct party *party)
{
    const struct live *live = find_live(&party->member->ticket);

    must(live == NULL || live->called, 1,
         "somebody went in to whom no mark was made");
}

static void check_passage(const struct party *party, uint64_t stamp)
{
    for (unsigned i = 0; i < world.count; i++) {
        const struct party *other = &world.parties[i];
        const struct live *live = other->where == INSIDE && other != party
                                      ? find_live(&other->member->ticket)
                                      : NULL;

        must(live == NULL || live->token >= stamp, 1,
             "somebody left one of his round behind");
    }
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
                    struct hf_inquiry like)
{
    struct hf_inquiry *inquiry = lend(sizeof *inquiry);

    *inquiry = like;
    inquiry->kind = kind;
    inquiry->queue = QUEUE;
    if (inquiry->deadline_at_ms == 0)
        inquiry->deadline_at_ms = HF_FOREVER;
    step(party,
         (struct hf_event){.kind = HF_EVENT_INQUIRE, .as.inquiry = inquiry});
}

static void wait_on(struct party *party, const struct hf_ticket_id *id,
                    uint64_t stamp, bool keeps)
{
    struct hf_inquiry like = {.ticket = *id, .stamp = stamp, .keeps = keeps};

    if (!world.calm && below(4) == 0)
        like.deadline_at_ms = now_ms(party) + below(2000);
    inquire(party, HF_REQUEST_LOOK, like);
}

static void be_outside(struct party *party, bool whole)
{
    party->where = OUTSIDE;
    party->rounds += whole;
    if (whole)
        inquire(party, HF_REQUEST_LOWER,
                (struct hf_inquiry){.mark = HF_TICKET_READY});
    later(below(30), come, party);
}

static void come(void *arg)
{
    struct party *party = arg;
    struct hf_acquisition *member;

    if (party->where != OUTSIDE || world.over)
        return;
    if (hf_sim_frozen(party->engine)) {
        later(10, come, party);
        return;
    }
    party->where = ENTERING;
    party->yields = false;
    party->member = member = lend(sizeof *member);
    member->queue = QUEUE;
    member->payload = "";
    member->kind = HF_TICKET_MEMBER;
    member->limit = world.count;
    member->deadline_at_ms = HF_FOREVER;
    if (!world.calm && below(4) == 0)
        member->deadline_at_ms = now_ms(party) + below(2000);
    step(party,
         (struct hf_event){.kind = HF_EVENT_WANT, .as.acquisition = member});
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
    wait_on(party, &party->member->ticket, party->member->stamp, true);
}

static void answered(struct party *party, const struct hf_inquiry *inquiry)
{
    if (inquiry->kind != HF_REQUEST_LOOK)
        return;
    if (inquiry->status == HF_OK)
        check_passage(party, inquiry->stamp);
    if (inquiry->keeps) {
        party->yields = inquiry->status == HF_EBUSY;
        release(party);
    } else {
        be_outside(party, inquiry->status == HF_OK);
    }
}

static void released(struct party *party, const struct hf_acquisition *member)
{
    if (party->yields && member->status == HF_OK)
        wait_on(party, &member->ticket, member->stamp, false);
    else
        be_outside(party, member->status == HF_OK);
}

static void carry_out(struct party *party, const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        hf_sim_ops(world.sim)->request(party->engine, effect->request);
        break;
    case HF_EFFECT_FORGET:
        hf_sim_ops(world.sim)->forget(party->engine, effect->request);
        break;
    case HF_EFFECT_GRANTED:
        check_entry(party);
        party->where = INSIDE;
        party->holds = true;
        party->lost = false;
        later(below(50), go, party);
        break;
    case HF_EFFECT_LOST:
        party->lost = true;
        break;
    case HF_EFFECT_STATE:
        must(effect->state != HF_STATE_LOST || !party->holds || party->lost, 7,
             "a member was not told that it is lost");
        break;
    case HF_EFFECT_ENDED:
        be_outside(party, false);
        break;
    case HF_EFFECT_RELEASED:
        released(party, effect->acquisition);
        break;
    case HF_EFFECT_FORGOTTEN:
        take_back(effect->acquisition);
        break;
    case HF_EFFECT_ANSWERED:
        answered(party, effect->inquiry);
        break;
    case HF_EFFECT_FINISHED:
        take_back(effect->inquiry);
        break;
    default:
        break;
    }
}

static void tick(void *arg)
{
    struct party *party = arg;

    if (hf_sim_frozen(party->engine) ||
        hf_sim_now_us(world.sim) < party->tick_us)
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
    hf_sim_call_at(world.sim, at_us, true, tick, party);
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

    hf_sim_set_frozen(party->engine, false);
    party->tick_us = UINT64_MAX;
    step(party, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void unstall(void *arg)
{
    hf_sim_set_stalled(((struct party *)arg)->engine, true, true);
}

static void relink(void *arg)
{
    hf_sim_set_link(((struct party *)arg)->engine, true, true);
}

static void fault(void *arg)
{
    struct party *party = &world.parties[below(world.count)];

    if (world.calm || world.over)
        return;
    later(below(500), fault, arg);
    if (hf_sim_frozen(party->engine))
        return;
    switch (below(5)) {
    case 0:
        hf_sim_break(party->engine);
        break;
    case 1:
        hf_sim_kill_session(party->engine);
        break;
    case 2:
        hf_sim_set_stalled(party->engine, false, false);
        later(below(1500), unstall, party);
        break;
    case 3:
        hf_sim_set_link(party->engine, below(2) == 0, below(2) == 0);
        later(below(1500), relink, party);
        break;
    default:
        hf_sim_set_frozen(party->engine, true);
        later(below(1500), thaw, party);
    }
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
    config->timeout_ms += HF_LEASED_TTL_LEAST_MS;
    config->least_timeout_ms = config->timeout_ms;
    config->leases.notice_lost_chance = (uint32_t)below(200000);
    config->leases.notice_twice_chance = (uint32_t)below(200000);
    config->leases.notice_late_chance = (uint32_t)below(200000);
}

static void begin(struct rounds_end *end, uint64_t seed, enum world_sort sort)
{
    struct hf_sim_observer observer = {
        .added = on_added, .gone = on_gone, .marked = on_marked};
    struct hf_sim_config config = calm(seed, sort);

    memset(&world, 0, sizeof world);
    world.end = end;
    hf_random_seed(&world.random, seed);
    world.count = 1 + (unsigned)below(PARTIES_MAX);
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
    world.sim = hf_sim_new(&config);
    hf_sim_observe(world.sim, &observer);
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

    hf_random_seed(&config.random, seed);
    party->tick_us = UINT64_MAX;
    party->engine = hf_sim_engine_new(world.sim, &host);
    hf_core_init(&party->core, &config, now_ms(party));
    later(below(100), come, party);
}

/* Whoever still waits to go in waits for somebody who does not come. */
static void wind_up(void)
{
    world.over = true;
    hf_sim_run_ms(world.sim, SETTLE_MS);
    for (unsigned i = 0; i < world.count; i++) {
        struct party *party = &world.parties[i];

        if (party->where == ENTERING)
            step(party, (struct hf_event){.kind = HF_EVENT_CANCEL,
                                          .as.acquisition = party->member});
    }
    hf_sim_run_ms(world.sim, SETTLE_MS);
    for (unsigned i = 0; i < world.count; i++)
        must(world.parties[i].where == OUTSIDE, 4,
             "somebody is held up for ever");
    must(world.live_count == 0, 5, "a ticket was left behind");
}

static bool is_fine(const struct rounds_end *end)
{
    return end->broken == 0;
}

/* Without faults all go on from round to round. */
static void see_progress(void)
{
    unsigned rounds[PARTIES_MAX] = {0};

    for (unsigned i = 0; i < world.count; i++)
        rounds[i] = world.parties[i].rounds;
    hf_sim_run_ms(world.sim, CALM_MS);
    for (unsigned i = 0; i < world.count; i++)
        must(world.parties[i].rounds >= rounds[i] + ROUNDS_LEAST, 4,
             "without faults nobody gets on");
}

bool rounds_run(uint64_t seed, enum world_sort sort, struct rounds_end *end)
{
    *end = (struct rounds_end){0};
    begin(end, seed, sort);
    for (unsigned i = 0; i < world.count; i++)
        join(&world.parties[i], seed * PARTIES_MAX + i);
    later(below(1000), fault, NULL);
    hf_sim_run_ms(world.sim, CHAOS_MS);
    world.calm = true;
    hf_sim_calm(world.sim);
    hf_sim_run_ms(world.sim, SETTLE_MS); /* what was under way ends */
    if (is_fine(end))
        see_progress();
    if (is_fine(end))
        wind_up();
    for (unsigned i = 0; i < world.count; i++)
        end->rounds += world.parties[i].rounds;
    hf_sim_free(world.sim);
    while (world.lent_count > 0)
        take_back(world.lent[0]);
    return is_fine(end);
}
