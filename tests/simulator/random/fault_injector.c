/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See fault_injector.h.
 */
#include "simulator/random/fault_injector.h"

#include "simulator/random/decision.h"
#include "simulator/random/server_faults.h"
#include "simulator/random/shared_session.h"
#include "simulator/random/users.h"

struct plan plan;

uint64_t below(uint64_t bound)
{
    return hf_random_below(&plan.cluster->random, bound);
}

bool one_in(uint64_t n)
{
    return below(n) == 0;
}

uint64_t now_us(void)
{
    return hf_sim_now_us(plan.cluster->sim);
}

void later(uint64_t us, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(plan.cluster->sim, now_us() + us, false, fn, arg);
}

struct client *any_client(void)
{
    return &plan.cluster->clients[below(plan.cluster->client_count)];
}

/* ---------------------------------------------------------------- faults -- */

uint64_t fault_us(void)
{
    uint64_t lease_us = 1000 * plan.scale_ms;

    /* Some faults end before a client notices, some outlast a session. */
    return one_in(3) ? below(2 * lease_us) : below(lease_us / 2);
}

static void restore_link(void *arg)
{
    struct client *client = arg;

    if (client->alive && !(client->closed && cluster_is_idle(client)))
        hf_sim_set_link(client->engine, true, true);
}

static void thaw(void *arg)
{
    struct client *client = arg;

    if (client->alive && hf_sim_frozen(client->engine) && !client->paused)
        cluster_freeze(client, false);
}

static void unpause(void *arg)
{
    struct client *client = arg;

    if (client->alive && client->paused)
        cluster_pause(client, false);
}

/* A process starts, with a clock that drifts: the one of the library, which is
 * never slower than time (monitor/clock.h). */
static void open_again(void *arg)
{
    struct client *client = arg;
    int32_t ppm = (int32_t)below(SLEW_PPM + 1);

    if (client->alive || plan.closing)
        return;
    cluster_open(client, 1000 + below(1000000),
                 plan.cluster->no_faults || decisions_without_drift() ? 0
                                                                      : ppm);
    if (plan.shared)
        shared_session_open(client);
}

/* Free a closed client once the core has forgotten everything. */
static void discard(void *arg)
{
    struct client *client = arg;

    if (!client->alive)
        return;
    if (!client->closed || !cluster_is_idle(client)) {
        later(20 * MS_US, discard, client);
        return;
    }
    cluster_discard(client);
    if (!plan.faults_over)
        later(below(500) * MS_US, open_again, client);
}

/* Another program deletes a ticket of the client. */
static void evict_one(struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && a->enqueued && one_in(2)) {
            cluster_trace(plan.cluster, client->name, "%s evicted", a->name);
            cluster_evict(a);
            return;
        }
    }
}

static void link_fault(struct client *client, bool out, bool in)
{
    cluster_trace(plan.cluster, client->name, "link cut%s%s", out ? "" : " out",
                  in ? "" : " in");
    client->last_fault_us = now_us();
    hf_sim_set_link(client->engine, out, in);
    later(fault_us(), restore_link, client);
}

/* Start one fault of a client; later() ends it. */
static void one_fault(enum fault fault, struct client *client)
{
    struct cluster *cluster = plan.cluster;

    if (!client->alive || hf_sim_frozen(client->engine))
        return;
    switch (fault) {
    case FAULT_BREAK:
        cluster_trace(cluster, client->name, "link breaks");
        hf_sim_reset_connection(client->engine);
        break;
    case FAULT_CUT:
        link_fault(client, false, false);
        break;
    case FAULT_CUT_IN:
        link_fault(client, true, false);
        break;
    case FAULT_CUT_OUT:
        link_fault(client, false, true);
        break;
    case FAULT_STALL:
        inject_follower_cut(client);
        break;
    case FAULT_FREEZE:
        cluster_freeze(client, true);
        later(fault_us(), thaw, client);
        break;
    case FAULT_PAUSE:
        cluster_pause(client, true);
        later(fault_us(), unpause, client);
        break;
    case FAULT_KILL:
        cluster_kill_session(client);
        break;
    case FAULT_EVICT:
        evict_one(client);
        break;
    case FAULT_RESTART:
        cluster_trace(cluster, "-", "servers restart");
        hf_sim_restart_servers(cluster->sim);
        break;
    case FAULT_CRASH:
        if (plan.shared)
            shared_session_crash(client);
        cluster_crash(client);
        later(below(1000) * MS_US, open_again, client);
        break;
    case FAULT_CLOSE:
        if (client->closing)
            break;
        if (plan.shared)
            shared_session_close(client);
        cluster_close(client);
        discard(client);
        break;
    default:
        break;
    }
}

/* Draw a fault.  Only the kinds that the seed has enabled happen. */
static void inject_random_fault(void)
{
    enum fault fault = (enum fault)below(plan.fault_count);
    /* Processes come and go more rarely than links. */
    bool rare = fault == FAULT_CRASH || fault == FAULT_CLOSE ||
                fault == FAULT_RESTART || fault == FAULT_KILL ||
                fault == FAULT_SERVER_RESTART;

    if (plan.faults >> fault & 1 && (!rare || one_in(4))) {
        if (fault >= FAULT_COUNT)
            inject_server_fault(fault);
        else
            one_fault(fault, any_client());
    }
}

/* Called again and again until the faults are over. */
static void inject_fault(void *arg)
{
    (void)arg;
    if (plan.faults_over)
        return;
    if (decision_taken(DECISION_FAULT, 0))
        inject_random_fault();
    later(decision_delay_us(DECISION_FAULT, 0,
                            1 + below(2 * plan.fault_every_us)),
          inject_fault, NULL);
}

/* Servers, links and processes work from now on. */
void fault_injector_stop(void)
{
    struct cluster *cluster = plan.cluster;

    cluster_trace(cluster, "-", "all faults are over");
    plan.faults_over = true;
    hf_sim_end_faults(cluster->sim);
    for (unsigned i = 0; i < cluster->client_count; i++) {
        struct client *client = &cluster->clients[i];

        if (!client->alive)
            continue;
        client->last_fault_us = now_us();
        thaw(client);
        unpause(client);
        hf_sim_set_link(client->engine, true, true);
    }
    users_stop();
}

void fault_injector_start(void)
{
    struct cluster *cluster = plan.cluster;

    users_start();
    for (unsigned i = 0; i < cluster->client_count; i++) {
        if (decision_taken(DECISION_OPEN, i))
            open_again(&cluster->clients[i]);
        user_start(&cluster->clients[i]);
    }
    later(plan.fault_every_us, inject_fault, NULL);
}
