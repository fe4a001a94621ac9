/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with the servers of a random world, and between them. */
#include "outage.h"

#include "core/time_math.h"
#include "engines/sim/leases.h"

/* ---------------------------------------------------------------- links -- */

/* What a plain proof assumes, see proof.h: that a question of the leader's that
 * was held up is not followed by an answer that is, though in between a write
 * and its answer got through.  So one link at a time is cut where proofs are
 * plain, and the next when the answers to what was held up have arrived. */
static bool may_cut(void)
{
    const struct hf_sim_ensemble *ensemble = &plan.world->config.ensemble;

    return ensemble->servers == 0 || ensemble->strict_proof ||
           (plan.cuts == 0 &&
            now_us() >= plan.cut_end_us + 8 * (uint64_t)ensemble->lag_most_us);
}

static void cut_ends(void)
{
    plan.cuts--;
    plan.cut_end_us = now_us();
}

static void end_stall(void *arg)
{
    struct client *client = arg;

    cut_ends();
    if (client->alive)
        hf_sim_set_stalled(client->engine, true, true);
}

/* What was held up arrives, the leader's questions and then its commits, and
 * what the follower says to the questions is held up in turn: more than any but
 * a strict proof is made for, see proof.h. */
static void turn_stall(void *arg)
{
    struct client *client = arg;

    later(fault_us(), end_stall, client);
    if (!client->alive)
        return;
    world_line(plan.world, client->name, "follower cut off the other way");
    hf_sim_set_stalled(client->engine, true, true);
    hf_sim_set_stalled(client->engine, false, true);
}

/* The follower of ${client} hears nothing of its leader, or the leader nothing
 * of it. */
void outage_of_link(struct client *client)
{
    bool out = one_in(3), in = !out && one_in(2);
    bool turns;

    if (!may_cut())
        return;
    if (hf_sim_servers(plan.world->sim) == 0)
        out = in = false;
    turns = out && plan.world->config.ensemble.strict_proof && one_in(2);
    world_line(plan.world, client->name, "follower cut off%s",
               out  ? " from what its leader sends"
               : in ? " from telling its leader"
                    : "");
    client->disturbed_us = now_us();
    hf_sim_set_stalled(client->engine, out, in);
    plan.cuts++;
    later(fault_us(), turns ? turn_stall : end_stall, client);
}

/* -------------------------------------------------------------- servers -- */

static void thaw_server(void *arg)
{
    hf_sim_server_thaw(plan.world->sim, (int)(uintptr_t)arg);
}

static void mend_server(void *arg)
{
    cut_ends();
    hf_sim_server_link(plan.world->sim, (int)(uintptr_t)arg, true, true);
}

static void start_server(void *arg)
{
    hf_sim_server_start(plan.world->sim, (int)(uintptr_t)arg);
}

static void freeze_server(int server, uint64_t us)
{
    bool machine = one_in(2);

    if (server < 0 || us == 0)
        return;
    world_line(plan.world, "-", "s%d %s", server + 1,
               machine ? "pauses" : "freezes");
    hf_sim_server_freeze(plan.world->sim, server, machine);
    later(us, thaw_server, (void *)(uintptr_t)server);
}

/* Two stops between two questions of the leader's would add up to more than
 * .leader_freeze_most_us: it asks once in between. */
static void freeze_leader(int leader, uint64_t us)
{
    if (now_us() < plan.leader_rests_us)
        return;
    plan.leader_rests_us =
        now_us() + us + 1000 * plan.world->config.ensemble.tick_ms;
    freeze_server(leader, us);
}

static void depose(int leader)
{
    bool out = one_in(3), in = !out && one_in(2);

    if (leader < 0 || !may_cut())
        return;
    plan.cuts++;
    world_line(plan.world, "-", "s%d is cut off%s", leader + 1,
               out  ? " from what others send"
               : in ? " from telling others"
                    : "");
    hf_sim_server_link(plan.world->sim, leader, out, in);
    later(below(one_in(2) ? 20 : 5) * 1000 *
              plan.world->config.ensemble.tick_ms,
          mend_server, (void *)(uintptr_t)leader);
}

static void restart_server(int server)
{
    world_line(plan.world, "-", "s%d is killed", server + 1);
    hf_sim_server_stop(plan.world->sim, server);
    later(fault_us(), start_server, (void *)(uintptr_t)server);
}

/* As one asks for a revocation: watches of the ticket fire. */
static void rewrite_one(const struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->forgotten || !a->enqueued || one_in(2))
            continue;
        world_line(plan.world, client->name, "%s is written to", a->name);
        hf_sim_foreign_write(plan.world->sim, &a->id);
        return;
    }
}

static void outage_of_server(enum fault fault)
{
    struct hf_sim *sim = plan.world->sim;
    int any = (int)below(hf_sim_servers(sim));

    switch (fault) {
    case FAULT_LEADER_FREEZE:
        freeze_leader(hf_sim_leader(sim), below(plan.leader_freeze_most_us));
        break;
    case FAULT_SERVER_FREEZE:
        if (any != hf_sim_leader(sim))
            freeze_server(any, fault_us());
        break;
    case FAULT_DEPOSE:
        depose(hf_sim_leader(sim));
        break;
    case FAULT_REWRITE:
        rewrite_one(any_client());
        break;
    default:
        restart_server(any);
    }
}

/* ------------------------------------------------------- leasing servers -- */

static void thaw_store(void *arg)
{
    (void)arg;
    hf_sim_leases_thaw(plan.world->sim);
}

/* A clock that stood is behind ever after, as one that was set back. */
static void freeze_store(void)
{
    bool machine = plan.world->tokens_alone && one_in(2);

    world_line(plan.world, "-", "server %s", machine ? "pauses" : "freezes");
    hf_sim_leases_freeze(plan.world->sim, machine);
    later(fault_us(), thaw_store, NULL);
}

static void start_store(void *arg)
{
    hf_sim_leases_start(plan.world->sim, arg != NULL);
}

static void restart_store(bool wiped)
{
    static char yes;

    world_line(plan.world, "-", "server is killed%s",
               wiped ? ", its data lost" : "");
    hf_sim_leases_stop(plan.world->sim);
    later(fault_us(), start_store, wiped ? &yes : NULL);
}

static void hear_notices(void *arg)
{
    (void)arg;
    hf_sim_leases_lose_notices(plan.world->sim, false);
}

static void lose_notices(void)
{
    world_line(plan.world, "-", "notices are lost");
    hf_sim_leases_lose_notices(plan.world->sim, true);
    later(fault_us(), hear_notices, NULL);
}

static void step_clock(void)
{
    int64_t most_ms = (int64_t)(2 * plan.scale_ms);
    int64_t ms = (int64_t)below((uint64_t)(2 * most_ms)) - most_ms;

    world_line(plan.world, "-", "server's clock is set on by %d ms", (int)ms);
    hf_sim_leases_step_clock(plan.world->sim, ms);
}

static void outage_of_store(enum fault fault)
{
    switch (fault) {
    case FAULT_STORE_FREEZE:
        freeze_store();
        break;
    case FAULT_STORE_DEAF:
        lose_notices();
        break;
    case FAULT_STORE_STEP:
        step_clock();
        break;
    default:
        restart_store(fault == FAULT_STORE_WIPE);
    }
}

void outage_of_any(enum fault fault)
{
    if (hf_sim_leased(plan.world->sim))
        outage_of_store(fault);
    else
        outage_of_server(fault);
}
