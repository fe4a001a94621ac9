/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See driver.h.  The order is that of src/client: an event, then all effects in
 * order; events that come from inside an effect are queued by the core.
 */
#include "simulator/cluster/driver.h"

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "core/cohort.h"
#include "simulator/cluster/operation.h"

/* A core that sets this many timers for one instant never stops. */
#define IDLE_TICKS_MAX 1000

static void drain(struct client *client);

/* -------------------------------------------------------------- requests -- */

static struct group *group_of(const struct hf_cohort *cohort)
{
    /* The first member of struct group. */
    return (struct group *)(uintptr_t)cohort;
}

/* The oldest attempt of the group that waits; else any. */
static struct attempt *first_waiter_of(const struct group *group)
{
    struct attempt *first = NULL, *any = NULL;

    for (struct attempt *a = group->client->attempts; a != NULL; a = a->next) {
        if (a->group != group)
            continue;
        any = a;
        if (!a->forgotten && check_waits(a))
            first = a;
    }
    return first != NULL ? first : any;
}

struct attempt *cluster_attempt(const struct hf_acquisition *a)
{
    const struct hf_acquisition *parent = hf_acquisition_parent(a);

    if (hf_acquisition_cohort(a) != NULL)
        return first_waiter_of(group_of(hf_acquisition_cohort(a)));
    /* The acquisition is the first member of struct attempt. */
    return (struct attempt *)(uintptr_t)(parent != NULL ? parent : a);
}

/* The item of an attempt that the acquisition is for. */
static struct item *item_of(struct hf_acquisition *a)
{
    struct attempt *attempt = cluster_attempt(a);
    struct item *item = attempt->items;

    while (item->a != a)
        item++;
    assert(item < attempt->items + attempt->item_count);
    return item;
}

/* The ticket that a cohort enqueues is that of all attempts that wait. */
static void group_enqueues(struct client *client, struct group *group,
                           const struct hf_ticket_id *id)
{
    group->id = *id;
    group->enqueued = true;
    group->evicted = client->killed;
    group->evicted_us = 0;
    group->grants = 0;
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->group != group || a->forgotten || !check_waits(a))
            continue;
        a->id = a->items[0].id = *id;
        a->enqueued = a->items[0].enqueued = true;
        a->evicted = client->killed;
    }
    if (cluster_ticket_record(client->cluster, id) == NULL)
        cluster_add_ticket_record(client->cluster, id, NULL, group);
}

/* Append the mark of a revocation to a payload once, as the client does. */
static void mark_revoked(char text[HF_PAYLOAD_BYTES])
{
    if (strstr(text, PAYLOAD_REVOKED) == NULL)
        strncat(text, PAYLOAD_REVOKED, HF_PAYLOAD_BYTES - strlen(text) - 1);
}

/* Record the ticket that is enqueued, and hand the request to the engine. */
static void request(struct client *client, struct hf_request *asked)
{
    struct hf_acquisition *a =
        asked->own_ticket == NULL ? NULL : asked->own_ticket->acquisition;
    struct cluster *cluster = client->cluster;

    if (asked->kind == HF_REQUEST_ENQUEUE && hf_acquisition_cohort(a) != NULL) {
        group_enqueues(client, group_of(hf_acquisition_cohort(a)),
                       &asked->ticket);
    } else if (asked->kind == HF_REQUEST_ENQUEUE) {
        struct attempt *attempt = cluster_attempt(a);
        struct item *item = item_of(a);

        attempt->id = item->id = asked->ticket;
        attempt->enqueued = item->enqueued = true;
        attempt->lock = item->lock;
        if (item == attempt->items) /* all of its tickets are new */
            attempt->evicted = client->killed;
        attempt->evicted |= client->killed;
        if (cluster_ticket_record(cluster, &asked->ticket) == NULL)
            cluster_add_ticket_record(cluster, &asked->ticket, attempt, NULL);
    } else if (asked->kind == HF_REQUEST_DESCRIBE) {
        mark_revoked(asked->own_ticket->text_update->text);
    }
    if (cluster->line != NULL && !cluster->terse && !cluster->brief)
        cluster_trace(cluster, client->name, "  core requests %s for %s",
                      cluster_request_name(asked->kind),
                      cluster_requester(asked));
    hf_sim_ops(cluster->sim)->request(client->engine, asked);
}

/* --------------------------------------------------------------- effects -- */

/* With its last waiter the core forgets the cohort, unless its ticket is
 * kept. */
static void group_child_forgotten(struct group *group)
{
    if (check_group_lives(group) || group->client->cluster->keep_ms > 0)
        return;
    if (!hf_cohort_is_idle(&group->cohort))
        cluster_broken(group->client->cluster, 5,
                       "all members are forgotten, and their cohort is not");
    hf_cohort_free(&group->client->core, &group->cohort);
    memset(&group->cohort, 0xdd, sizeof group->cohort);
    group->ready = false;
}

/* Trace what the user is notified of, and call the run's callbacks. */
static void notify_user(struct client *client, const struct hf_effect *effect)
{
    struct cluster *cluster = client->cluster;
    struct attempt *attempt = (struct attempt *)(void *)effect->acquisition;

    switch (effect->kind) {
    case HF_EFFECT_LOST:
        cluster_trace(cluster, client->name, "%s LOST", attempt->name);
        if (cluster->on_lost != NULL)
            cluster->on_lost(attempt);
        break;
    case HF_EFFECT_GRANTED:
        cluster_trace(cluster, client->name,
                      "%s GRANTED token=%" PRIu64 " safe-until=%" PRIu64,
                      attempt->name, attempt->a.token, attempt->safe_until_ms);
        if (cluster->on_granted != NULL)
            cluster->on_granted(attempt);
        break;
    case HF_EFFECT_ENDED:
        cluster_trace(cluster, client->name, "%s ENDED %s%s%s", attempt->name,
                      hf_status_name(attempt->a.status),
                      cluster->terse ? "" : ": ",
                      cluster->terse ? "" : hf_acquisition_text(&attempt->a));
        break;
    case HF_EFFECT_WAITING:
        cluster_trace(cluster, client->name,
                      "%s WAITING ahead=%" PRIu32 " holder=%s", attempt->name,
                      attempt->a.ahead, hf_shared_text_get(attempt->a.holder));
        break;
    case HF_EFFECT_RELEASED:
        cluster_trace(cluster, client->name, "%s RELEASED %s", attempt->name,
                      hf_status_name(attempt->a.status));
        break;
    case HF_EFFECT_DOWNGRADED:
        cluster_trace(cluster, client->name, "%s DOWNGRADED %s", attempt->name,
                      hf_status_name(attempt->a.user.downgrade_status));
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        cluster_trace(cluster, client->name, "%s DONE", attempt->name);
        /* The core must not read it any more: fill it with nonsense. */
        cluster_free_attempt(attempt);
        memset(&attempt->a, 0xdd, sizeof attempt->a);
        memset(attempt->children, 0xdd, sizeof attempt->children);
        if (attempt->group != NULL)
            group_child_forgotten(attempt->group);
        break;
    case HF_EFFECT_REVOKED:
        cluster_trace(cluster, client->name, "%s REVOKED", attempt->name);
        break;
    case HF_EFFECT_STATE:
        cluster_trace(cluster, client->name, "state %s",
                      hf_state_name(client->state));
        if (client->state == HF_STATE_CONNECTED)
            client->connected_us = hf_sim_now_us(cluster->sim);
        break;
    default:
        break;
    }
}

/* The effect is copied, because the core may reuse it. */
static void carry_out(struct client *client, struct hf_effect *effect)
{
    struct hf_effect taken = *effect;

    check_effect(client, &taken);
    client->drained++;
    switch (taken.kind) {
    case HF_EFFECT_REQUEST:
        request(client, taken.request);
        break;
    case HF_EFFECT_UNWATCH:
        hf_sim_ops(client->cluster->sim)
            ->unwatch(client->engine, taken.request);
        break;
    case HF_EFFECT_CONNECT:
        hf_sim_ops(client->cluster->sim)->connect(client->engine);
        break;
    case HF_EFFECT_OPERATION_ANSWERED:
    case HF_EFFECT_OPERATION_DONE:
        operation_effect(&taken);
        break;
    default:
        notify_user(client, &taken);
    }
}

/* ----------------------------------------------------------------- steps -- */

void driver_step(struct client *client, struct hf_event *event)
{
    client->began_drained = !client->draining;
    client->drained = 0;
    client->waking = false;
    client->cluster->steps++;
    cluster_trace_event(client, event);
    check_event(client, event);
    hf_core_step(&client->core, event);
    hf_core_check(&client->core);
    drain(client);
}

void driver_event(void *host, struct hf_event *event)
{
    driver_step(host, event);
}

uint64_t driver_now_ms(void *host)
{
    struct client *client = host;

    return hf_sim_client_now_ms(client->engine);
}

/* An engine may answer from inside request(), which leads here again.  The
 * outermost call carries out all effects, so that their order stays. */
static void drain(struct client *client)
{
    struct hf_effect *effect;

    if (client->draining)
        return;
    client->draining = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL)
        carry_out(client, effect);
    client->draining = false;
    check_step_done(client->cluster);
    driver_arm(client);
}

/* The core's timer, which must not be set for the same instant for ever. */
static void tick(void *arg)
{
    struct client *client = arg;
    struct hf_event event = {.kind = HF_EVENT_TICK};
    uint64_t now_us;

    if (!client->alive || hf_sim_frozen(client->engine))
        return;
    now_us = hf_sim_now_us(client->cluster->sim);
    if (now_us < client->tick_us) /* another timer was set */
        return;
    client->tick_us = UINT64_MAX;
    client->idle_ticks =
        client->last_tick_us == now_us ? client->idle_ticks + 1 : 0;
    client->last_tick_us = now_us;
    if (client->idle_ticks > IDLE_TICKS_MAX) {
        cluster_broken(client->cluster, 4,
                       "%s sets a timer that is due at once again and again",
                       client->name);
        return;
    }
    event.now_ms = driver_now_ms(client);
    driver_step(client, &event);
}

/* The timer may run late by .tick_delay_us, as on a machine under load. */
void driver_arm(struct client *client)
{
    uint64_t wake_ms = hf_core_wake_at_ms(&client->core);
    uint64_t now_us = hf_sim_now_us(client->cluster->sim);
    uint64_t at_us;

    if (!client->alive || wake_ms == HF_FOREVER ||
        hf_sim_frozen(client->engine))
        return;
    at_us = hf_sim_client_at_us(client->engine, wake_ms);
    if (at_us == UINT64_MAX)
        return;
    /* A timer that is due already is not delayed further by events that come
     * meanwhile. */
    if (at_us <= now_us &&
        client->tick_us - now_us <= client->cluster->tick_delay_us)
        return;
    at_us += client->cluster->tick_delay_us;
    if (at_us == client->tick_us)
        return;
    client->tick_us = at_us;
    hf_sim_call_at(client->cluster->sim, at_us, true, tick, client);
}

bool cluster_can_call(const struct client *client)
{
    return client->alive && !hf_sim_frozen(client->engine);
}

void driver_call(struct client *client, enum hf_event_kind kind,
                 struct attempt *attempt)
{
    struct hf_event event = {.kind = kind};

    assert(cluster_can_call(client));
    event.now_ms = driver_now_ms(client);
    event.as.acquisition = attempt == NULL ? NULL : &attempt->a;
    cluster_trace(client->cluster, client->name, "%s%s%s",
                  cluster_event_name(kind), attempt == NULL ? "" : " ",
                  attempt == NULL ? "" : attempt->name);
    driver_step(client, &event);
}
