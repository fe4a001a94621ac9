/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants of docs/architecture.md, by number.  What excuses a breach is
 * said where it is excused: a ticket that was taken away (evicted), and a
 * machine that was paused and cannot know it (check_tainted).
 */
#include <inttypes.h>
#include <string.h>

#include "check_grant.h"
#include "core/time_math.h"
#include "question.h"

/* How far a clock's reading may lag behind the instant itself. */
#define READING_MS 2

/* And how late whoever reads it may be. */
uint64_t check_lateness_ms(const struct world *world)
{
    return READING_MS + (world->late_us + 999) / 1000;
}

bool check_conflict(enum hf_ticket_kind a, enum hf_ticket_kind b)
{
    if (a == HF_TICKET_LEASE || b == HF_TICKET_LEASE)
        return false; /* they are counted */
    return a != HF_TICKET_READ || b != HF_TICKET_READ;
}

uint64_t check_permits(const struct hf_snapshot *queue, size_t place)
{
    uint64_t permits = 0;

    for (size_t i = 0; i < place; i++)
        permits += queue->tickets[i].weight;
    return permits;
}

uint64_t check_client_ms(const struct client *client)
{
    return hf_sim_client_now_ms(client->engine);
}

uint64_t check_promise(const struct attempt *attempt)
{
    return hf_core_safe_until_ms(&attempt->client->core, &attempt->a);
}

bool check_holds(const struct attempt *attempt)
{
    return attempt->granted && !attempt->lost && !attempt->release_called &&
           !attempt->forgotten && attempt->client->alive;
}

bool check_tainted(const struct attempt *attempt)
{
    return attempt->client->paused ||
           attempt->promise_ms <= attempt->client->tainted_until_ms;
}

bool check_waits(const struct attempt *attempt)
{
    return !attempt->granted && !attempt->ended;
}

/* ---------------------------------------------------------------- crews -- */

bool check_crew_lives(const struct crew *crew)
{
    for (const struct attempt *a = crew->client->attempts; a != NULL;
         a = a->next) {
        if (a->crew == crew && !a->forgotten)
            return true;
    }
    return false;
}

bool check_crew_needs(const struct attempt *attempt)
{
    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a != attempt && a->crew == attempt->crew && !a->forgotten &&
            (check_holds(a) || check_waits(a)))
            return true;
    }
    return false;
}

bool check_crew_ahead(const struct attempt *attempt)
{
    bool older = false;

    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a == attempt)
            older = true;
        else if (a->crew == attempt->crew && !a->forgotten &&
                 (check_holds(a) || (older && check_waits(a))))
            return true;
    }
    return false;
}

/* --------------------------------------------------------------- effects -- */

static void told_waiting(struct attempt *attempt)
{
    if (!check_waits(attempt))
        world_broken(attempt->client->world, 8,
                     "%s was told WAITING after its end", attempt->name);
}

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
        told_waiting(attempt);
        break;
    case HF_EFFECT_REVOKED:
        question_check_revoked(attempt);
        break;
    case HF_EFFECT_PROVEN:
        check_proven(client);
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

/* An answer that was held up may prove too little of a lease to be admitted by
 * (hf_session_may_admit()).  Where every answer is that late, as on a link that
 * a waiter keeps busy with looks at its place, nobody can be granted. */
static bool proves_too_little(const struct client *client,
                              const struct hf_event *event)
{
    const struct hf_sim_config *config = &client->world->config;
    uint64_t now_ms = hf_sim_client_now_ms(client->engine);

    return event->kind == HF_EVENT_PROVEN && config->slow_chance > 0 &&
           hf_after_ms(event->as.answer.anchor_ms,
                       config->least_timeout_ms / 4 * 3) <= now_ms;
}

/* 9: whatever waits now ends, but nothing else does. */
static void gave_up(struct client *client)
{
    client->gave_up = true;
    client->gave_up_ms = check_client_ms(client);
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && check_waits(a))
            a->limit_ms = hf_min_ms(a->limit_ms, client->gave_up_ms);
    }
}

void check_event(struct client *client, const struct hf_event *event)
{
    uint64_t now_us = hf_sim_now_us(client->world->sim);

    if (event->kind >= HF_EVENT_ENQUEUED &&
        event->kind <= HF_EVENT_FLAG_UPDATED)
        check_enqueued(event);
    check_heard(client, event);
    client->may_move_back =
        event->kind == HF_EVENT_RESUMING || event->kind == HF_EVENT_CONNECTED;
    if (event->kind == HF_EVENT_FAILED || event->kind == HF_EVENT_SUSPENDED ||
        event->kind == HF_EVENT_SESSION_LOST ||
        event->kind == HF_EVENT_CONNECTED || proves_too_little(client, event))
        client->disturbed_us = now_us;
    if (event->kind == HF_EVENT_GAVE_UP)
        gave_up(client);
    if (event->kind == HF_EVENT_CONNECTED) {
        client->ever_connected = true;
        client->state = HF_STATE_CONNECTED;
        client->killed &= event->as.connected.resumed;
    }
}

/* ---------------------------------------------------------------- always -- */

/* 7: what is published never moves back but for a resume, and when it is over
 * its owner has been told. */
static void check_published(struct attempt *attempt)
{
    struct client *client = attempt->client;
    uint64_t promise_ms = check_promise(attempt);

    if (promise_ms < attempt->promise_ms && !client->may_move_back)
        world_broken(client->world, 7,
                     "the promise to %s moved back from %" PRIu64
                     " to %" PRIu64,
                     attempt->name, attempt->promise_ms, promise_ms);
    if (client->may_move_back && promise_ms != attempt->promise_ms)
        world_line(client->world, client->name, "%s promised until %" PRIu64,
                   attempt->name, promise_ms);
    attempt->promise_ms = promise_ms;
    if (hf_session_is_lazy(&client->core.session))
        return; /* see check_lazy() */
    if (!hf_sim_frozen(client->engine) && !client->waking &&
        check_client_ms(client) >
            hf_after_ms(promise_ms, check_lateness_ms(client->world)))
        world_broken(client->world, 7,
                     "%s was promised until %" PRIu64 ", it is %" PRIu64
                     ", and it was not told LOST",
                     attempt->name, promise_ms, check_client_ms(client));
}

static void check_lease_of(const struct attempt *attempt,
                           const struct hf_ticket_id *ticket)
{
    const struct client *client = attempt->client;
    uint64_t end_us = hf_sim_lease_end_us(client->engine, ticket);

    if (end_us < hf_sim_client_at_us(client->engine, attempt->promise_ms))
        world_broken(client->world, 1,
                     "%s is promised %" PRIu64 " (%" PRIu64
                     " us), but its session may end at %" PRIu64 " us",
                     attempt->name, attempt->promise_ms,
                     hf_sim_client_at_us(client->engine, attempt->promise_ms),
                     end_us);
}

/* 1: while a promise lasts the leader keeps the ticket.  Stronger than to wait
 * until somebody else is admitted. */
static void check_lease(struct attempt *attempt)
{
    struct client *client = attempt->client;
    const struct hf_sim *sim = client->world->sim;

    if (attempt->evicted || check_tainted(attempt) ||
        attempt->promise_ms <= check_client_ms(client))
        return;
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct hf_acquisition *a = attempt->claims[i].a;

        if (a->entry_mutex)
            continue;
        if (!hf_sim_ticket_exists(sim, &a->ticket_id))
            world_broken(client->world, 1,
                         "the ticket of %s is gone, promised until %" PRIu64,
                         attempt->name, attempt->promise_ms);
        check_lease_of(attempt, &a->ticket_id);
    }
}

/* 9: a limit is kept, but for an enqueue that has not been answered, and by
 * one who was frozen from when it goes on. */
static void check_limit(struct attempt *attempt)
{
    struct client *client = attempt->client;
    uint64_t limit_ms = hf_max_ms(attempt->limit_ms, client->thawed_ms);

    if (client->closing || hf_sim_frozen(client->engine) ||
        client->tick_us <= hf_sim_now_us(client->world->sim))
        return; /* or is about to look at the clock */
    /* Late in giving up, and late once more in telling. */
    limit_ms = hf_after_ms(limit_ms, HF_REMOVAL_WAIT_MS +
                                         2 * check_lateness_ms(client->world));
    if (check_client_ms(client) > limit_ms)
        world_broken(client->world, 9,
                     "%s should have ended at %" PRIu64 ", it is %" PRIu64,
                     attempt->name, limit_ms, check_client_ms(client));
}

/* 7: nobody takes safe-until of one session for that of a grant of another. */
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
        world_broken(attempt->client->world, 7,
                     "who began to read before %s was lost reads %" PRIu64
                     ", of another session",
                     attempt->name, read_ms);
}

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
            if (!client->world->lied_to)
                check_lease(a);
        } else if (check_waits(a)) {
            check_limit(a);
        } else if (a->granted && check_promise(a) != 0) {
            world_broken(client->world, 7, "%s is over and has a promise",
                         a->name);
        }
    }
    client->may_move_back = false;
}

void check_settled(struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++)
        if (!world->clients[i].draining)
            check_client(&world->clients[i]);
}
