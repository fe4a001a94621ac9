/* SPDX-License-Identifier: Apache-2.0 */
#include "chaos.h"

#include "outage.h"
#include "turn.h"
#include "user.h"

struct plan plan;

uint64_t below(uint64_t bound)
{
    return hf_random_below(&plan.world->random, bound);
}

bool one_in(uint64_t n)
{
    return below(n) == 0;
}

uint64_t now_us(void)
{
    return hf_sim_now_us(plan.world->sim);
}

void later(uint64_t us, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(plan.world->sim, now_us() + us, false, fn, arg);
}

struct client *any_client(void)
{
    return &plan.world->clients[below(plan.world->client_count)];
}

/* ---------------------------------------------------------------- faults -- */

uint64_t fault_us(void)
{
    uint64_t lease_us = 1000 * plan.scale_ms;

    /* Some are over before anybody notices, some outlast a session. */
    return one_in(3) ? below(2 * lease_us) : below(lease_us / 2);
}

static void mend_link(void *arg)
{
    struct client *client = arg;

    if (client->alive && !(client->closed && world_idle(client)))
        hf_sim_set_link(client->engine, true, true);
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

    if (!client->alive && !plan.closing)
        world_open(client, 1000 + below(1000000),
                   plan.world->calm || turns_without_drift() ? 0 : ppm);
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
        outage_of_link(client);
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
    default:
        break;
    }
}

static void chaos_once(void)
{
    enum fault fault = (enum fault)below(plan.fault_count);
    /* Processes come and go more rarely than links. */
    bool rare = fault == FAULT_CRASH || fault == FAULT_CLOSE ||
                fault == FAULT_RESTART || fault == FAULT_KILL ||
                fault == FAULT_SERVER_RESTART;

    if (plan.faults >> fault & 1 && (!rare || one_in(4))) {
        if (fault >= FAULT_COUNT)
            outage_of_any(fault);
        else
            one_fault(fault, any_client());
    }
}

static void chaos(void *arg)
{
    (void)arg;
    if (plan.over)
        return;
    if (turn_taken(TURN_FAULT, 0))
        chaos_once();
    later(turn_in_us(TURN_FAULT, 0, 1 + below(2 * plan.fault_every_us)), chaos,
          NULL);
}

void chaos_end(void)
{
    struct world *world = plan.world;

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
    }
    users_end();
}

void chaos_begin(void)
{
    struct world *world = plan.world;

    users_begin();
    for (unsigned i = 0; i < world->client_count; i++) {
        if (turn_taken(TURN_OPEN, i))
            open_again(&world->clients[i]);
        user_begin(&world->clients[i]);
    }
    later(plan.fault_every_us, chaos, NULL);
}
