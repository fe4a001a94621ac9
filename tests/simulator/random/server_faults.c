/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of servers in random runs, and of the links between them. */
#include "simulator/random/server_faults.h"

#include "base/time_math.h"
#include "simulator/model/etcd_faults.h"
#include "simulator/model/lease_faults.h"

/* ----------------------------------------------------------------- links -- */

/* A plain proof (zookeeper/proof.h) relies on this: if a ping of the leader was
 * held up, its answer is not held up too while a write and its answer get
 * through in between.  So with plain proofs one link is cut at a time, and the
 * next after the answers to what was held up have arrived. */
static bool may_cut(void)
{
    const struct hf_sim_ensemble *ensemble = &plan.cluster->config.ensemble;

    return ensemble->servers == 0 || ensemble->strict_proof ||
           (plan.cuts == 0 &&
            now_us() >= plan.cut_end_us + 8 * (uint64_t)ensemble->lag_max_us);
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

/* What was held up arrives, the leader's pings and then its commits, and the
 * follower's answers to the pings are held up in turn.  Only a strict proof
 * stands that, see zookeeper/proof.h. */
static void reverse_stall(void *arg)
{
    struct client *client = arg;

    later(fault_us(), end_stall, client);
    if (!client->alive)
        return;
    cluster_trace(plan.cluster, client->name, "follower cut off the other way");
    hf_sim_set_stalled(client->engine, true, true);
    hf_sim_set_stalled(client->engine, false, true);
}

/* The cut is in the direction from the leader, to the leader, or both. */
void inject_follower_cut(struct client *client)
{
    bool out = one_in(3), in = !out && one_in(2);
    bool turns_around;

    if (!may_cut())
        return;
    if (hf_sim_server_count(plan.cluster->sim) == 0 &&
        hf_sim_etcd_members(plan.cluster->sim) == 0)
        out = in = false;
    turns_around =
        out && plan.cluster->config.ensemble.strict_proof && one_in(2);
    cluster_trace(plan.cluster, client->name, "follower cut off%s",
                  out  ? " from what its leader sends"
                  : in ? " from sending to its leader"
                       : "");
    client->last_fault_us = now_us();
    hf_sim_set_stalled(client->engine, out, in);
    plan.cuts++;
    later(fault_us(), turns_around ? reverse_stall : end_stall, client);
}

/* --------------------------------------------------------------- servers -- */

static void thaw_server(void *arg)
{
    hf_sim_server_thaw(plan.cluster->sim, (int)(uintptr_t)arg);
}

static void restore_server(void *arg)
{
    cut_ends();
    hf_sim_server_link(plan.cluster->sim, (int)(uintptr_t)arg, true, true);
}

static void start_server(void *arg)
{
    hf_sim_server_start(plan.cluster->sim, (int)(uintptr_t)arg);
}

/* Stop the process of the server, or its whole machine, for ${us}. */
static void freeze_server(int server, uint64_t us)
{
    bool machine = one_in(2);

    if (server < 0 || us == 0)
        return;
    cluster_trace(plan.cluster, "-", "s%d %s", server + 1,
                  machine ? "pauses" : "freezes");
    hf_sim_server_freeze(plan.cluster->sim, server, machine);
    later(us, thaw_server, (void *)(uintptr_t)server);
}

/* Two stops between two pings of the leader would add up to more than
 * .leader_freeze_max_us, so the leader pings once in between. */
static void freeze_leader(int leader, uint64_t us)
{
    if (now_us() < plan.leader_unfrozen_until_us)
        return;
    plan.leader_unfrozen_until_us =
        now_us() + us + 1000 * plan.cluster->config.ensemble.tick_ms;
    freeze_server(leader, us);
}

/* The leader loses its followers in one direction or both, and may be
 * deposed. */
static void cut_leader(int leader)
{
    bool out = one_in(3), in = !out && one_in(2);

    if (leader < 0 || !may_cut())
        return;
    plan.cuts++;
    cluster_trace(plan.cluster, "-", "s%d is cut off%s", leader + 1,
                  out  ? " from what others send"
                  : in ? " from sending to others"
                       : "");
    hf_sim_server_link(plan.cluster->sim, leader, out, in);
    later(below(one_in(2) ? 20 : 5) * 1000 *
              plan.cluster->config.ensemble.tick_ms,
          restore_server, (void *)(uintptr_t)leader);
}

static void restart_server(int server)
{
    cluster_trace(plan.cluster, "-", "s%d is killed", server + 1);
    hf_sim_server_stop(plan.cluster->sim, server);
    later(fault_us(), start_server, (void *)(uintptr_t)server);
}

/* As Curator asks for the release of a lock: watches of the node fire. */
static void write_to_ticket(const struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->forgotten || !a->enqueued || one_in(2))
            continue;
        cluster_trace(plan.cluster, client->name, "%s is written to", a->name);
        hf_sim_other_client_write(plan.cluster->sim, &a->id);
        return;
    }
}

/* Start one fault of the ZooKeeper model's servers. */
static void inject_zk_fault(enum fault fault)
{
    struct hf_sim *sim = plan.cluster->sim;
    int any = (int)below(hf_sim_server_count(sim));

    switch (fault) {
    case FAULT_LEADER_FREEZE:
        freeze_leader(hf_sim_leader_index(sim),
                      below(plan.leader_freeze_max_us));
        break;
    case FAULT_SERVER_FREEZE:
        if (any != hf_sim_leader_index(sim))
            freeze_server(any, fault_us());
        break;
    case FAULT_CUT_LEADER:
        cut_leader(hf_sim_leader_index(sim));
        break;
    case FAULT_REWRITE:
        write_to_ticket(any_client());
        break;
    default:
        restart_server(any);
    }
}

/* ------------------------------------------------------- leasing servers -- */

static void thaw_store(void *arg)
{
    (void)arg;
    hf_sim_lease_server_thaw(plan.cluster->sim);
}

/* The clock of a machine that is paused is behind afterwards, like one that was
 * set back. */
static void freeze_store(void)
{
    bool machine = plan.cluster->tokens_only && one_in(2);

    cluster_trace(plan.cluster, "-", "server %s",
                  machine ? "pauses" : "freezes");
    hf_sim_lease_server_freeze(plan.cluster->sim, machine);
    later(fault_us(), thaw_store, NULL);
}

static void start_store(void *arg)
{
    hf_sim_lease_server_start(plan.cluster->sim, arg != NULL);
}

static void restart_store(bool wiped)
{
    static char yes;

    cluster_trace(plan.cluster, "-", "server is killed%s",
                  wiped ? ", its data lost" : "");
    hf_sim_lease_server_stop(plan.cluster->sim);
    later(fault_us(), start_store, wiped ? &yes : NULL);
}

static void restore_notices(void *arg)
{
    (void)arg;
    hf_sim_lease_server_lose_notices(plan.cluster->sim, false);
}

static void lose_notices(void)
{
    cluster_trace(plan.cluster, "-", "notices are lost");
    hf_sim_lease_server_lose_notices(plan.cluster->sim, true);
    later(fault_us(), restore_notices, NULL);
}

static void step_clock(void)
{
    int64_t most_ms = (int64_t)(2 * plan.scale_ms);
    int64_t ms = (int64_t)below((uint64_t)(2 * most_ms)) - most_ms;

    cluster_trace(plan.cluster, "-", "server's clock is set on by %d ms",
                  (int)ms);
    hf_sim_lease_server_step_clock(plan.cluster->sim, ms);
}

/* Start one fault of the lease model's server. */
static void inject_lease_fault(enum fault fault)
{
    switch (fault) {
    case FAULT_STORE_FREEZE:
        freeze_store();
        break;
    case FAULT_STORE_LOSE_NOTICES:
        lose_notices();
        break;
    case FAULT_STORE_STEP:
        step_clock();
        break;
    default:
        restart_store(fault == FAULT_STORE_WIPE);
    }
}

void inject_server_fault(enum fault fault)
{
    if (hf_sim_is_leased(plan.cluster->sim))
        inject_lease_fault(fault);
    else if (hf_sim_etcd_members(plan.cluster->sim) > 0)
        inject_etcd_fault(fault);
    else
        inject_zk_fault(fault);
}
