/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of sessions with proof=lazy, in which grants outlast safe-until.  A
 * check of a user gets an answer, with a safe-until that has not passed; and a
 * holder is notified of LOST soon after its ticket is gone. */
#include <inttypes.h>

#include "base/time_math.h"
#include "simulator/check/check_grant.h"
#include "simulator/cluster/cluster.h"

/* The longest time for which a server that has lost its quorum answers
 * pings: the leader and then a follower have to notice the loss, one after
 * the other.  Of etcd: a keep-alive is due, hangs, and is repeated. */
static uint64_t notice_limit_us(const struct cluster *cluster)
{
    const struct hf_sim_ensemble *ensemble = &cluster->config.ensemble;

    if (cluster->config.etcd.members > 0)
        return 1000 * (2 * cluster->config.timeout_ms + 8000 +
                       4 * cluster->config.etcd.election_ms);
    return 1000 * ensemble->tick_ms * (2 * ensemble->sync_limit + 2) +
           4 * (uint64_t)ensemble->lag_max_us;
}

static bool is_lazy(const struct client *client)
{
    return cluster_proves_lazily(client->cluster);
}

void check_lazy_started(struct client *client)
{
    if (client->core.session.check_pending && client->check_started_us == 0)
        client->check_started_us = hf_sim_now_us(client->cluster->sim);
}

/* 7: an answer to a check renews safe-until. */
void check_lazy_answered(struct client *client)
{
    uint64_t now_ms = check_client_ms(client);

    client->check_started_us = 0;
    for (const struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && check_holds(a) && !check_loss_queued(a) &&
            check_safe_until(a) <= now_ms)
            cluster_broken(client->cluster, 7,
                           "a check of %s was answered at %" PRIu64
                           " with a safe-until of %" PRIu64,
                           a->name, now_ms, check_safe_until(a));
    }
}

/* 4: a check gets an answer if no fault prevents it. */
static void check_answered(struct client *client)
{
    struct cluster *cluster = client->cluster;
    uint64_t since_us =
        hf_max_ms(client->check_started_us, client->last_fault_us);

    /* Or all grants were lost and notified so. */
    if (!client->core.session.check_pending)
        client->check_started_us = 0;
    if (client->check_started_us != 0 &&
        hf_sim_now_us(cluster->sim) > since_us + cluster->grant_limit_us)
        cluster_broken(cluster, 4, "a check of %s has no answer", client->name);
}

/* Has one of its tickets left its queue? */
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

/* 7: the session is over, and its client learns that as soon as its server
 * does. */
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
