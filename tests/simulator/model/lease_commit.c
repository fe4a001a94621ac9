/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the effect of a call lasts.  A server executes a call first and
 * commits it then: the commit may fail, and the connection may end before the
 * client learns of either.  A synchronous standby may lack a commit and become
 * the server after a failover; then a committed call has had no effect.
 * PostgreSQL with synchronous_standby_names does this when a wait for the
 * standby is cancelled. */
#include "simulator/model/lease_internal.h"

#include <string.h>

/* --------------------------------------------------------------- standby -- */

static bool standby_is_away(const struct hf_sim *sim)
{
    return sim->leases->standby != NULL &&
           sim->now_us < sim->leases->standby_back_us;
}

void lease_standby_in_sync(struct hf_sim *sim)
{
    if (sim->leases->standby != NULL)
        lease_server_free(sim->leases->standby);
    sim->leases->standby = NULL;
}

void lease_fail_over(struct hf_sim *sim)
{
    struct lease_state *leases = sim->leases;

    if (leases->standby == NULL || !sim_happens(sim, 500000))
        return;
    sim_trace(sim, NULL, "failover to the standby");
    lease_server_roll_back(leases->server, leases->standby);
    lease_expire_all(sim);
    lease_standby_in_sync(sim);
}

/* A timer: the standby is back; in half of the cases it becomes the server. */
static void standby_returns(void *arg)
{
    struct hf_sim *sim = arg;

    if (sim->leases->standby == NULL || standby_is_away(sim) ||
        sim->leases->down || !sim_happens(sim, 500000))
        return;
    hf_sim_lease_server_stop(sim);
    hf_sim_lease_server_start(sim, false);
}

/* From now on the standby receives nothing for a while. */
static void lose_standby(struct hf_sim *sim)
{
    struct lease_state *leases = sim->leases;

    if (leases->standby == NULL)
        leases->standby = lease_server_copy(leases->server);
    leases->standby_back_us =
        sim->now_us + sim_random_between(sim, 0, 1000 * sim->config.timeout_ms);
    hf_sim_call_at(sim, leases->standby_back_us, true, standby_returns, sim);
}

/* ---------------------------------------------------------------- commit -- */

/* While the standby is away every write waits for it, until the wait is
 * cancelled (LEASE_UNCONFIRMED) or the connection ends. */
static enum lease_commit choose_outcome(struct hf_sim *sim,
                                        const struct hf_store_call *call)
{
    /* A close that fails is not repeated: its tickets just expire. */
    if (call->kind == HF_STORE_CLOSE_SESSION)
        return LEASE_COMMITTED;
    if (standby_is_away(sim) && hf_store_call_writes(call))
        return sim_happens(sim, 500000) ? LEASE_UNCONFIRMED
                                        : LEASE_COMMITTED_AND_CUT;
    if (!sim_happens(sim, sim->config.leases.commit_chance))
        return LEASE_COMMITTED;
    if (hf_store_call_writes(call) && sim_happens(sim, 250000)) {
        lose_standby(sim);
        return LEASE_UNCONFIRMED;
    }
    return (enum lease_commit)sim_random_between(sim, LEASE_FAILED,
                                                 LEASE_COMMITTED_AND_CUT);
}

/* Fill in the answer of a call whose commit will fail, without an effect:
 * execute it on a copy of the server. */
static void execute_only(struct hf_sim *sim, const struct lease_call *call,
                         struct lease_answer *answer)
{
    struct lease_server *copy = lease_server_copy(sim->leases->server);

    lease_server_execute(copy, lease_clock_ms(sim), call, answer);
    lease_server_free(copy);
}

enum lease_commit lease_execute_and_commit(struct hf_sim *sim,
                                           const struct lease_call *call,
                                           struct lease_answer *answer)
{
    enum lease_commit commit = choose_outcome(sim, &call->call);
    bool waits = standby_is_away(sim) || commit == LEASE_UNCONFIRMED;

    if (commit == LEASE_FAILED || commit == LEASE_FAILED_AND_CUT) {
        execute_only(sim, call, answer);
        return commit;
    }
    lease_server_execute(sim->leases->server, lease_clock_ms(sim), call,
                         answer);
    if (!waits && hf_store_call_writes(&call->call))
        lease_standby_in_sync(sim);
    return commit;
}
