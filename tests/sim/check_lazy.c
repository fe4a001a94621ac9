/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of lazy sessions, whose grants outlast safe-until: a check is
 * answered, by a promise that has not passed; and holders do not believe for
 * much longer than their ticket is there. */
#include <inttypes.h>

#include "check_grant.h"
#include "core/time_math.h"
#include "world.h"

/* How long a server that has lost its quorum may answer pings: a leader and a
 * follower that hears, but is not heard, notice one after the other. */
static uint64_t deaf_us(const struct world *world)
{
    const struct hf_sim_ensemble *ensemble = &world->config.ensemble;

    return 1000 * ensemble->tick_ms * (2 * ensemble->sync_limit + 2) +
           4 * (uint64_t)ensemble->lag_most_us;
}

static bool is_lazy(const struct client *client)
{
    return client->world->config.ensemble.lazy_proof;
}

void check_asked(struct client *client)
{
    if (client->core.session.check_pending && client->asked_us == 0)
        client->asked_us = hf_sim_now_us(client->world->sim);
}

void check_proven(struct client *client)
{
    uint64_t now_ms = check_client_ms(client);

    client->asked_us = 0;
    for (const struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && check_holds(a) && !check_hears_lost(a) &&
            check_promise(a) <= now_ms)
            world_broken(client->world, 7,
                         "a check of %s was answered at %" PRIu64
                         " by a promise that ended at %" PRIu64,
                         a->name, now_ms, check_promise(a));
    }
}

/* 4: a check has its answer when nothing is in the way. */
static void check_answered(struct client *client)
{
    struct world *world = client->world;
    uint64_t since_us = hf_max_ms(client->asked_us, client->disturbed_us);

    if (!client->core.session.check_pending)
        client->asked_us = 0; /* or all were lost, and told */
    if (client->asked_us != 0 &&
        hf_sim_now_us(world->sim) > since_us + world->patience_us)
        world_broken(world, 4, "a check of %s has no answer", client->name);
}

static bool is_gone(const struct attempt *attempt)
{
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct hf_acquisition *a = attempt->claims[i].a;

        if (!a->entry_mutex &&
            !hf_sim_ticket_exists(attempt->client->world->sim, &a->ticket_id))
            return true;
    }
    return false;
}

/* 7: its session is over, and it hears of that as soon as its server does. */
static void check_belief(struct attempt *attempt)
{
    struct client *client = attempt->client;
    struct world *world = client->world;
    uint64_t now_us = hf_sim_now_us(world->sim);
    bool still =
        client->waking || client->paused || hf_sim_frozen(client->engine);

    if (!still && check_client_ms(client) >
                      hf_after_ms(client->core.session.resume_cap_ms,
                                  world->late_us / 1000))
        world_broken(world, 7,
                     "%s holds in a session that was resumed, and not proven "
                     "in time",
                     attempt->name);
    if (!is_gone(attempt) || still || attempt->evicted)
        attempt->gone_us = 0;
    else if (attempt->gone_us == 0)
        attempt->gone_us = now_us;
    else if (now_us > attempt->gone_us + deaf_us(world) + world->late_us)
        world_broken(world, 7,
                     "the ticket of %s is gone since %" PRIu64
                     " us, and it was not told LOST",
                     attempt->name, attempt->gone_us);
}

void check_lazy(struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        struct client *client = &world->clients[i];

        if (!client->alive || !is_lazy(client) || world->lied_to)
            continue;
        check_answered(client);
        for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
            if (!a->forgotten && check_holds(a))
                check_belief(a);
        }
    }
}
