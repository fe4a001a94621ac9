/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of lazy sessions, whose grants outlast safe-until: a check is
 * answered, by a promise that has not passed; and holders do not believe for
 * much longer than their ticket is there. */
#include <inttypes.h>

#include "core/time_math.h"
#include "simulator/check/check_grant.h"
#include "simulator/cluster/cluster.h"

/* How long a server that has lost its quorum may answer pings: a leader and a
 * follower that hears, but is not heard, notice one after the other. */
static uint64_t notice_limit_us(const struct cluster *cluster)
{
    const struct hf_sim_ensemble *ensemble = &cluster->config.ensemble;

    return 1000 * ensemble->tick_ms * (2 * ensemble->sync_limit + 2) +
           4 * (uint64_t)ensemble->lag_max_us;
}

static bool is_lazy(const struct client *client)
{
    return client->cluster->config.ensemble.lazy_proof;
}

void check_lazy_started(struct client *client)
{
    if (client->core.session.check_pending && client->asked_us == 0)
        client->asked_us = hf_sim_now_us(client->cluster->sim);
}

void check_lazy_answered(struct client *client)
{
    uint64_t now_ms = check_client_ms(client);

    client->asked_us = 0;
    for (const struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && check_holds(a) && !check_loss_queued(a) &&
            check_safe_until(a) <= now_ms)
            cluster_broken(client->cluster, 7,
                           "a check of %s was answered at %" PRIu64
                           " with a safe-until of %" PRIu64,
                           a->name, now_ms, check_safe_until(a));
    }
}

/* 4: a check has its answer when nothing is in the way. */
static void check_answered(struct client *client)
{
    struct cluster *cluster = client->cluster;
    uint64_t since_us = hf_max_ms(client->asked_us, client->last_fault_us);

    if (!client->core.session.check_pending)
        client->asked_us = 0; /* or all were lost, and told */
    if (client->asked_us != 0 &&
        hf_sim_now_us(cluster->sim) > since_us + cluster->grant_limit_us)
        cluster_broken(cluster, 4, "a check of %s has no answer", client->name);
}

static bool is_gone(const struct attempt *attempt)
{
    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct hf_acquisition *a = attempt->items[i].a;

        if (!a->entry_mutex &&
            !hf_sim_ticket_exists(attempt->client->cluster->sim, &a->ticket_id))
            return true;
    }
    return false;
}

/* 7: its session is over, and it hears of that as soon as its server does. */
static void check_holder_notified(struct attempt *attempt)
{
    struct client *client = attempt->client;
    struct cluster *cluster = client->cluster;
    uint64_t now_us = hf_sim_now_us(cluster->sim);
    bool is_stopped =
        client->waking || client->paused || hf_sim_frozen(client->engine);

    if (!is_stopped && check_client_ms(client) >
                           hf_after_ms(client->core.session.resume_cap_ms,
                                       cluster->tick_delay_us / 1000))
        cluster_broken(cluster, 7,
                       "%s holds in a session that was resumed, and not proven "
                       "in time",
                       attempt->name);
    if (!is_gone(attempt) || is_stopped || attempt->evicted)
        attempt->gone_us = 0;
    else if (attempt->gone_us == 0)
        attempt->gone_us = now_us;
    else if (now_us > attempt->gone_us + notice_limit_us(cluster) +
                          cluster->tick_delay_us)
        cluster_broken(cluster, 7,
                       "the ticket of %s is gone since %" PRIu64
                       " us, and it was not notified of LOST",
                       attempt->name, attempt->gone_us);
}

void check_lazy(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->client_count; i++) {
        struct client *client = &cluster->clients[i];

        if (!client->alive || !is_lazy(client) || cluster->answers_garbled)
            continue;
        check_answered(client);
        for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
            if (!a->forgotten && check_holds(a))
                check_holder_notified(a);
        }
    }
}
