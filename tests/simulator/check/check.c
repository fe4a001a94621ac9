/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of docs/architecture.md, by number: those that hold at every
 * step, and which check runs for an effect or an event.  Two things excuse a
 * violation, and each check says where: the ticket was removed by somebody else
 * (.evicted), or the machine was paused and its client cannot know that
 * (check_clock_suspect()). */
#include <inttypes.h>
#include <string.h>

#include "base/time_math.h"
#include "simulator/check/check_grant.h"
#include "simulator/cluster/operation.h"

/* Readings of a clock are rounded down to milliseconds, here and in the
 * core. */
#define READING_MS 2

/* A core reads its clock at each timer, which may be late. */
uint64_t check_lateness_ms(const struct cluster *cluster)
{
    return READING_MS + (cluster->tick_delay_us + 999) / 1000;
}

bool check_conflict(enum hf_ticket_kind a, enum hf_ticket_kind b)
{
    if (a == HF_TICKET_LEASE || b == HF_TICKET_LEASE)
        return false; /* permits are counted */
    return a != HF_TICKET_READ || b != HF_TICKET_READ;
}

uint64_t check_permits(const struct hf_snapshot *queue, size_t position)
{
    uint64_t permits = 0;

    for (size_t i = 0; i < position; i++)
        permits += queue->tickets[i].weight;
    return permits;
}

uint64_t check_client_ms(const struct client *client)
{
    return hf_sim_client_now_ms(client->engine);
}

uint64_t check_safe_until(const struct attempt *attempt)
{
    return hf_core_safe_until_ms(&attempt->client->core, &attempt->a);
}

bool check_holds(const struct attempt *attempt)
{
    return attempt->granted && !attempt->lost && !attempt->release_called &&
           !attempt->forgotten && attempt->client->alive;
}

bool check_clock_suspect(const struct attempt *attempt)
{
    return attempt->client->paused ||
           attempt->safe_until_ms <= attempt->client->clock_suspect_until_ms;
}

bool check_waits(const struct attempt *attempt)
{
    return !attempt->granted && !attempt->ended;
}

/* ---------------------------------------------------------------- groups -- */

bool check_group_lives(const struct group *group)
{
    for (const struct attempt *a = group->client->attempts; a != NULL;
         a = a->next) {
        if (a->group == group && !a->forgotten)
            return true;
    }
    return false;
}

bool check_group_needs(const struct attempt *attempt)
{
    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a != attempt && a->group == attempt->group && !a->forgotten &&
            (check_holds(a) || check_waits(a)))
            return true;
    }
    return false;
}

bool check_group_ahead(const struct attempt *attempt)
{
    bool older = false;

    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a == attempt)
            older = true;
        else if (a->group == attempt->group && !a->forgotten &&
                 (check_holds(a) || (older && check_waits(a))))
            return true;
    }
    return false;
}

/* --------------------------------------------------------------- effects -- */

static void check_waiting(struct attempt *attempt)
{
    if (!check_waits(attempt))
        cluster_broken(attempt->client->cluster, 8,
                       "%s was notified of WAITING after its end",
                       attempt->name);
}

/* Called before the effect is carried out. */
void check_effect(struct client *client, const struct hf_effect *effect)
{
    struct attempt *attempt = (struct attempt *)(void *)effect->acquisition;

    switch (effect->kind) {
    case HF_EFFECT_GRANTED:
        check_granted(attempt);
        break;
    case HF_EFFECT_LOST:
        check_lost(attempt);
        break;
    case HF_EFFECT_ENDED:
        check_ended(attempt);
        break;
    case HF_EFFECT_RELEASED:
        check_released(attempt);
        break;
    case HF_EFFECT_DOWNGRADED:
        check_downgraded(attempt);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        check_forgotten(attempt);
        break;
    case HF_EFFECT_WAITING:
        check_waiting(attempt);
        break;
    case HF_EFFECT_REVOKED:
        operation_check_revoked(attempt);
        break;
    case HF_EFFECT_PROVEN:
        check_lazy_answered(client);
        break;
    case HF_EFFECT_STATE:
        client->state = effect->state;
        client->ever_connected |= effect->state == HF_STATE_CONNECTED;
        client->closed |= effect->state == HF_STATE_CLOSED;
        if (effect->state == HF_STATE_SUSPENDED)
            check_suspended(client);
        break;
    default:
        break;
    }
}

/* An answer that was held up may prove so little of the lease that it admits
 * nobody (hf_session_may_admit()).  On a link where every answer is that late,
 * nobody can be granted, so this counts as a fault. */
static bool proves_too_little(const struct client *client,
                              const struct hf_event *event)
{
    const struct hf_sim_config *config = &client->cluster->config;
    uint64_t now_ms = hf_sim_client_now_ms(client->engine);

    return event->kind == HF_EVENT_PROVEN && config->slow_chance > 0 &&
           hf_after_ms(event->as.answer.anchor_ms,
                       config->least_timeout_ms / 4 * 3) <= now_ms;
}

/* 9: all that waits now ends, and nothing else. */
static void gave_up(struct client *client)
{
    client->gave_up = true;
    client->gave_up_ms = check_client_ms(client);
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && check_waits(a))
            a->limit_ms = hf_min_ms(a->limit_ms, client->gave_up_ms);
    }
}

/* Called before the core has the event. */
void check_event(struct client *client, const struct hf_event *event)
{
    uint64_t now_us = hf_sim_now_us(client->cluster->sim);

    if (event->kind >= HF_EVENT_ENQUEUED &&
        event->kind <= HF_EVENT_FLAG_UPDATED)
        check_enqueued(event);
    check_revoke_received(client, event);
    client->safe_until_may_fall =
        event->kind == HF_EVENT_RESUMING || event->kind == HF_EVENT_CONNECTED;
    if (event->kind == HF_EVENT_FAILED || event->kind == HF_EVENT_SUSPENDED ||
        event->kind == HF_EVENT_SESSION_LOST ||
        event->kind == HF_EVENT_CONNECTED || proves_too_little(client, event))
        client->last_fault_us = now_us;
    if (event->kind == HF_EVENT_GAVE_UP)
        gave_up(client);
    if (event->kind == HF_EVENT_CONNECTED) {
        client->ever_connected = true;
        client->state = HF_STATE_CONNECTED;
        client->killed &= event->as.connected.resumed;
    }
}

/* ---------------------------------------------- invariants of every step -- */

/* 7: safe-until moves back only at a resume, and once it has passed the owner
 * was notified of LOST. */
static void check_published(struct attempt *attempt)
{
    struct client *client = attempt->client;
    uint64_t safe_until_ms = check_safe_until(attempt);

    if (safe_until_ms < attempt->safe_until_ms && !client->safe_until_may_fall)
        cluster_broken(client->cluster, 7,
                       "safe-until of %s moved back from %" PRIu64
                       " to %" PRIu64,
                       attempt->name, attempt->safe_until_ms, safe_until_ms);
    if (client->safe_until_may_fall && safe_until_ms != attempt->safe_until_ms)
        cluster_trace(client->cluster, client->name, "%s safe-until=%" PRIu64,
                      attempt->name, safe_until_ms);
    attempt->safe_until_ms = safe_until_ms;
    if (hf_session_is_lazy(&client->core.session))
        return; /* see check_lazy() */
    if (!hf_sim_frozen(client->engine) && !client->waking &&
        check_client_ms(client) >
            hf_after_ms(safe_until_ms, check_lateness_ms(client->cluster)))
        cluster_broken(client->cluster, 7,
                       "safe-until of %s was %" PRIu64 ", it is %" PRIu64
                       ", and it was not notified of LOST",
                       attempt->name, safe_until_ms, check_client_ms(client));
}

/* 1: the session, or the lease of the ticket, ends after safe-until. */
static void check_lease_of(const struct attempt *attempt,
                           const struct hf_ticket_id *ticket)
{
    const struct client *client = attempt->client;
    uint64_t end_us = hf_sim_lease_end_us(client->engine, ticket);

    if (end_us < hf_sim_client_at_us(client->engine, attempt->safe_until_ms))
        cluster_broken(
            client->cluster, 1,
            "safe-until of %s is %" PRIu64 " (%" PRIu64
            " us), and its session may end at %" PRIu64 " us",
            attempt->name, attempt->safe_until_ms,
            hf_sim_client_at_us(client->engine, attempt->safe_until_ms),
            end_us);
}

/* 1: until safe-until the leader keeps the ticket.  This is stronger than
 * exclusion, which would be broken only when another is admitted. */
static void check_lease(struct attempt *attempt)
{
    struct client *client = attempt->client;
    const struct hf_sim *sim = client->cluster->sim;

    if (attempt->evicted || check_clock_suspect(attempt) ||
        attempt->safe_until_ms <= check_client_ms(client))
        return;
    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct hf_acquisition *a = attempt->items[i].a;

        if (a->entry_mutex)
            continue;
        if (!hf_sim_ticket_exists(sim, &a->ticket_id))
            cluster_broken(
                client->cluster, 1,
                "the ticket of %s is gone before its safe-until %" PRIu64,
                attempt->name, attempt->safe_until_ms);
        check_lease_of(attempt, &a->ticket_id);
    }
}

/* 9: an attempt ends by its limit, except while its enqueue has no answer, or
 * while its process is frozen. */
static void check_limit(struct attempt *attempt)
{
    struct client *client = attempt->client;
    uint64_t limit_ms = hf_max_ms(attempt->limit_ms, client->thawed_ms);

    if (client->closing || hf_sim_frozen(client->engine) ||
        client->tick_us <= hf_sim_now_us(client->cluster->sim))
        return; /* or its timer is about to run */
    /* It may be late in giving up, and late again in notifying. */
    limit_ms = hf_after_ms(
        limit_ms, HF_REMOVAL_WAIT_MS + 2 * check_lateness_ms(client->cluster));
    if (check_client_ms(client) > limit_ms)
        cluster_broken(client->cluster, 9,
                       "%s should have ended at %" PRIu64 ", it is %" PRIu64,
                       attempt->name, limit_ms, check_client_ms(client));
}

/* 7: a reader never takes safe-until of one session for that of a grant in
 * another (the reading protocol of core/published_safe_until). */
static void check_reading(const struct attempt *attempt)
{
    const struct hf_session *session = &attempt->client->core.session;
    struct hf_safe_until_reading reading = attempt->reading;
    uint64_t read_ms;

    if (!attempt->granted || attempt->a.session == session->number)
        return;
    read_ms = hf_safe_until_read_flag(&session->published,
                                      &attempt->a.user.valid, &reading);
    if (read_ms != 0)
        cluster_broken(attempt->client->cluster, 7,
                       "a reader that began before %s was lost reads %" PRIu64
                       ", of another session",
                       attempt->name, read_ms);
}

/* The invariants of every step, for all attempts of one client. */
static void check_client(struct client *client)
{
    if (!client->alive)
        return;
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->forgotten)
            continue;
        check_reading(a);
        if (check_holds(a)) {
            check_published(a);
            if (!client->cluster->answers_garbled)
                check_lease(a);
        } else if (check_waits(a)) {
            check_limit(a);
        } else if (a->granted && check_safe_until(a) != 0) {
            cluster_broken(client->cluster, 7,
                           "%s is over and has a safe-until", a->name);
        }
    }
    client->safe_until_may_fall = false;
}

void check_step_done(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->client_count; i++)
        if (!cluster->clients[i].draining)
            check_client(&cluster->clients[i]);
}
