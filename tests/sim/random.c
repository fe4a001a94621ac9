/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from a seed: which world it is, what its users want and what goes
 * wrong, until a moment from which on nothing does; then everything has to
 * come to its end.
 */
#include <string.h>

#include "core/instant.h"
#include "world.h"

#define MS_US ((uint64_t)1000)
#define LOOK_EVERY_US (50 * MS_US)
/* Steps of the calendar; a healthy run takes some thousands. */
#define STEPS_MAX 400000

enum fault {
    FAULT_BREAK,
    FAULT_CUT,  /* both directions */
    FAULT_DEAF, /* only what comes in is cut */
    FAULT_MUTE, /* only what goes out is cut */
    FAULT_STALL,
    FAULT_FREEZE,
    FAULT_PAUSE,
    FAULT_KILL,
    FAULT_EVICT,
    FAULT_RESTART,
    FAULT_CRASH,
    FAULT_CLOSE,
    FAULT_COUNT,
};

/* What one seed decides, beside the world itself. */
struct plan {
    struct world *world;
    unsigned faults; /* bits */
    uint64_t fault_every_us;
    uint64_t want_every_us;
    uint64_t hold_most_us;
    uint64_t until_us; /* faults and new wishes */
    bool over;
    struct hf_ticket_id foreign;
    bool foreign_there;
    bool foreign_reads;
};

/* One plan at a time: callbacks of the calendar get only what they act on. */
static struct plan plan;

static uint64_t below(uint64_t bound)
{
    return hf_random_below(&plan.world->random, bound);
}

static bool one_in(uint64_t n)
{
    return below(n) == 0;
}

static uint64_t now_us(void)
{
    return hf_sim_now_us(plan.world->sim);
}

static void later(uint64_t us, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(plan.world->sim, now_us() + us, false, fn, arg);
}

static struct client *any_client(void)
{
    return &plan.world->clients[below(plan.world->client_count)];
}

/* ----------------------------------------------------------------- users -- */

static void release(void *arg)
{
    struct attempt *attempt = arg;

    if (attempt->forgotten || attempt->release_called ||
        !attempt->client->alive)
        return;
    if (!world_can_call(attempt->client)) {
        later(10 * MS_US, release, attempt);
        return;
    }
    world_release(attempt);
}

static void on_granted(struct attempt *attempt)
{
    later(attempt->hold_us, release, attempt);
}

static void on_lost(struct attempt *attempt)
{
    if (attempt->release_on_loss)
        later(below(5) * MS_US, release, attempt);
}

static void cancel(void *arg)
{
    struct attempt *attempt = arg;

    if (!attempt->forgotten)
        world_cancel(attempt);
}

static enum hf_ticket_kind any_kind(const struct place *place)
{
    if (plan.world->shared_kinds && one_in(20))
        return HF_TICKET_MUTEX;
    if (!place->read_write)
        return HF_TICKET_MUTEX;
    return one_in(2) ? HF_TICKET_READ : HF_TICKET_WRITE;
}

static void want_one(struct client *client)
{
    struct place *place = &plan.world->places[below(plan.world->place_count)];
    bool only_try = one_in(6);
    uint64_t wait_ms = one_in(3) ? below(3000) : HF_FOREVER;
    uint64_t report_ms = one_in(8) ? 20 + below(200) : 0;
    uint64_t hold_us = below(4) == 0 ? below(20) : below(plan.hold_most_us);
    bool cancels = one_in(6);
    uint64_t cancel_us = below(one_in(2) ? 10 : 500) * MS_US;
    bool release_on_loss = one_in(2);
    struct attempt *attempt;

    /* The grant may come in the call, so the plan for it comes first. */
    attempt = world_want(client, place, any_kind(place), only_try, wait_ms,
                         report_ms, hold_us, release_on_loss);
    if (cancels)
        later(cancel_us, cancel, attempt);
}

static unsigned busy(const struct client *client)
{
    unsigned count = 0;

    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        count += !a->forgotten;
    return count;
}

static void use(void *arg)
{
    struct client *client = arg;

    if (plan.over)
        return;
    if (world_can_call(client) && !client->closing && busy(client) < 4)
        want_one(client);
    later(1 + below(2 * plan.want_every_us), use, client);
}

/* --------------------------------------------------------------- foreign -- */

/* Another program that writes, then reads from the same place, as Curator's
 * read-write lock lets a writer do. */
static void foreign(void *arg)
{
    struct place *place = arg;
    struct world *world = plan.world;
    struct hf_ticket_id next = hf_random_ticket_id(&world->random);
    struct hf_snapshot queue = hf_sim_queue(world->sim, place->name);

    if (!plan.foreign_there) {
        if (plan.over)
            return;
        world_remember(world, &next, NULL);
        plan.foreign_there = hf_sim_foreign_enqueue(
            world->sim, place->name, HF_TICKET_WRITE, &next, NULL);
        plan.foreign = next;
        plan.foreign_reads = false;
        world_line(world, "other", "wants to write %s", place->name);
    } else if (!plan.foreign_reads &&
               hf_snapshot_find(&queue, &plan.foreign) == 0 && one_in(4)) {
        world_remember(world, &next, NULL);
        hf_sim_foreign_enqueue(world->sim, place->name, HF_TICKET_READ, &next,
                               &plan.foreign);
        hf_sim_evict(world->sim, place->name, &plan.foreign);
        plan.foreign = next;
        plan.foreign_reads = true;
        world_line(world, "other", "reads %s now", place->name);
    } else if (plan.foreign_reads && one_in(4)) {
        hf_sim_evict(world->sim, place->name, &plan.foreign);
        plan.foreign_there = false;
        world_line(world, "other", "leaves %s", place->name);
    }
    later((10 + below(plan.foreign_there ? 40 : 400)) * MS_US, foreign, place);
}

/* ---------------------------------------------------------------- faults -- */

static uint64_t fault_us(void)
{
    uint64_t lease_us =
        1000 * hf_earlier_ms(plan.world->config.timeout_ms, 1000);

    /* Some are over before anybody notices, some outlast a session. */
    return one_in(3) ? below(2 * lease_us) : below(lease_us / 2);
}

static void mend_link(void *arg)
{
    struct client *client = arg;

    if (client->alive && !(client->closed && world_idle(client)))
        hf_sim_set_link(client->engine, true, true);
}

static void end_stall(void *arg)
{
    struct client *client = arg;

    if (client->alive)
        hf_sim_set_stalled(client->engine, false);
}

static void thaw(void *arg)
{
    struct client *client = arg;

    if (client->alive && hf_sim_frozen(client->engine) && !client->paused)
        world_freeze(client, false);
}

static void unpause(void *arg)
{
    struct client *client = arg;

    if (client->alive && client->paused)
        world_pause(client, false);
}

static void open_again(void *arg)
{
    struct client *client = arg;
    int32_t ppm = (int32_t)below(9001) - 4500;

    if (!client->alive)
        world_open(client, 1000 + below(1000000), plan.world->calm ? 0 : ppm);
}

/* Give back the memory of a closed client, once all its grants are. */
static void discard(void *arg)
{
    struct client *client = arg;

    if (!client->alive)
        return;
    if (!client->closed || !world_idle(client)) {
        later(20 * MS_US, discard, client);
        return;
    }
    world_discard(client);
    if (!plan.over)
        later(below(500) * MS_US, open_again, client);
}

static void evict_one(struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && a->enqueued && one_in(2)) {
            world_line(plan.world, client->name, "%s evicted", a->name);
            world_evict(a);
            return;
        }
    }
}

static void link_fault(struct client *client, bool out, bool in)
{
    world_line(plan.world, client->name, "link cut%s%s", out ? "" : " out",
               in ? "" : " in");
    client->disturbed_us = now_us();
    hf_sim_set_link(client->engine, out, in);
    later(fault_us(), mend_link, client);
}

static void one_fault(enum fault fault, struct client *client)
{
    struct world *world = plan.world;

    if (!client->alive || hf_sim_frozen(client->engine))
        return;
    switch (fault) {
    case FAULT_BREAK:
        world_line(world, client->name, "link breaks");
        hf_sim_break(client->engine);
        break;
    case FAULT_CUT:
        link_fault(client, false, false);
        break;
    case FAULT_DEAF:
        link_fault(client, true, false);
        break;
    case FAULT_MUTE:
        link_fault(client, false, true);
        break;
    case FAULT_STALL:
        world_line(world, client->name, "follower cut off");
        client->disturbed_us = now_us();
        hf_sim_set_stalled(client->engine, true);
        later(fault_us(), end_stall, client);
        break;
    case FAULT_FREEZE:
        world_freeze(client, true);
        later(fault_us(), thaw, client);
        break;
    case FAULT_PAUSE:
        world_pause(client, true);
        later(fault_us(), unpause, client);
        break;
    case FAULT_KILL:
        world_kill_session(client);
        break;
    case FAULT_EVICT:
        evict_one(client);
        break;
    case FAULT_RESTART:
        world_line(world, "-", "servers restart");
        hf_sim_restart(world->sim);
        break;
    case FAULT_CRASH:
        world_crash(client);
        later(below(1000) * MS_US, open_again, client);
        break;
    case FAULT_CLOSE:
        if (client->closing)
            break;
        world_close(client);
        discard(client);
        break;
    case FAULT_COUNT:
        break;
    }
}

static void chaos(void *arg)
{
    enum fault fault = (enum fault)below(FAULT_COUNT);
    /* Processes come and go more rarely than links. */
    bool rare = fault == FAULT_CRASH || fault == FAULT_CLOSE ||
                fault == FAULT_RESTART || fault == FAULT_KILL;

    (void)arg;
    if (plan.over)
        return;
    if (plan.faults >> fault & 1 && (!rare || one_in(4)))
        one_fault(fault, any_client());
    later(1 + below(2 * plan.fault_every_us), chaos, NULL);
}

static void look(void *arg)
{
    (void)arg;
    check_wakeups(plan.world);
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
        config.traits |= HF_ENGINE_LOOKS_AHEAD;
    config.timeout_ms = 300 + hf_random_below(random, 1200);
    config.least_timeout_ms = config.timeout_ms;
    config.notices_apart = hf_random_below(random, 3) == 0;
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

static void begin(struct world *world, uint64_t seed)
{
    struct hf_random random;
    struct hf_sim_config config;
    bool read_write;

    hf_random_seed(&random, seed);
    memset(&plan, 0, sizeof plan);
    config = choose(seed, &random);
    world_init(world, &config);
    plan.world = world;
    plan.fault_every_us = (50 + below(500)) * MS_US;
    plan.want_every_us = (20 + below(300)) * MS_US;
    plan.hold_most_us = (10 + below(one_in(4) ? 2000 : 150)) * MS_US;
    plan.until_us = (2000 + below(6000)) * MS_US;
    world->calm = plan.faults == 0;
    world->lied_to = config.garble_chance > 0;
    world->denied = config.deny_chance > 0;
    world->on_granted = on_granted;
    world->on_lost = on_lost;
    world->patience_us =
        world->calm
            ? 20 * (uint64_t)config.delay_most_us + 5 * MS_US
            : 3000 * hf_earlier_ms(config.timeout_ms, 1000) + 1000 * MS_US;
    world->client_count = 2 + (unsigned)below(4);
    read_write = one_in(2);
    world_place(world, "one", read_write);
    if (one_in(3))
        world_place(world, "two", one_in(2));
    if (one_in(8))
        world_place(world, "three", one_in(2));
    world->shared_kinds = one_in(20);
    if (read_write && one_in(3) && !world->shared_kinds)
        later(0, foreign, &world->places[0]);
}

/* ------------------------------------------------------------------- end -- */

/* Nothing goes wrong from now on. */
static void end_faults(struct world *world)
{
    world_line(world, "-", "all faults are over");
    plan.over = true;
    hf_sim_calm(world->sim);
    for (unsigned i = 0; i < world->client_count; i++) {
        struct client *client = &world->clients[i];

        if (!client->alive)
            continue;
        client->disturbed_us = now_us();
        thaw(client);
        unpause(client);
        hf_sim_set_link(client->engine, true, true);
        hf_sim_set_stalled(client->engine, false);
    }
    if (plan.foreign_there) {
        hf_sim_evict(world->sim, world->places[0].name, &plan.foreign);
        plan.foreign_there = false;
    }
}

static bool empty(struct world *world)
{
    for (unsigned i = 0; i < world->place_count; i++) {
        if (hf_sim_queue(world->sim, world->places[i].name).count > 0)
            return false;
    }
    return true;
}

static bool all_idle(const struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        if (!world_idle(&world->clients[i]))
            return false;
    }
    return true;
}

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

static bool quiet(struct world *world)
{
    return all_idle(world) && empty(world);
}

/* 4, 5, 8: say what did not come to its end. */
static void judge_end(struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        for (struct attempt *a = world->clients[i].attempts; a != NULL;
             a = a->next) {
            if (a->forgotten)
                continue;
            if (!a->granted && !a->ended)
                world_broken(world, 4, "%s waits for ever", a->name);
            else if (a->release_called && !a->released)
                world_broken(world, 8, "%s is never told RELEASED", a->name);
            else
                world_broken(world, 5, "%s is never forgotten", a->name);
        }
    }
    if (!empty(world))
        world_broken(world, 5, "a ticket is left in a queue");
}

static void close_all(struct world *world)
{
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

bool random_run(struct world *world, uint64_t seed,
                void (*line)(void *arg, const char *text), void *arg)
{
    uint64_t lease_us;

    begin(world, seed);
    world->line = line;
    world->line_arg = arg;
    lease_us = 1000 * hf_earlier_ms(world->config.timeout_ms, 1000);
    for (unsigned i = 0; i < world->client_count; i++) {
        open_again(&world->clients[i]);
        later(below(2 * plan.want_every_us), use, &world->clients[i]);
    }
    later(plan.fault_every_us, chaos, NULL);
    look(NULL);
    run_until(world, plan.until_us, NULL);
    if (world->broken == 0)
        end_faults(world);
    /* Holders come one after the other. */
    run_until(world, now_us() + 60 * lease_us + 64 * plan.hold_most_us, quiet);
    judge_end(world);
    /* Nothing may come back, and a goodbye is answered. */
    run_until(world, now_us() + 2 * lease_us, NULL);
    judge_end(world);
    if (world->broken == 0)
        close_all(world);
    run_until(world, now_us() + lease_us, all_closed);
    if (!all_closed(world))
        world_broken(world, 8, "a client is never CLOSED");
    return world->broken == 0;
}
