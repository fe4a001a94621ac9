/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "question.h"

/* A core that wants to be woken so often at one instant will do so for ever. */
#define IDLE_TICKS_MAX 1000

static void drain(struct client *client);

/* ------------------------------------------------------------- requests -- */

static struct crew *crew_of(const struct hf_cohort *cohort)
{
    return (struct crew *)(uintptr_t)cohort; /* its first member */
}

/* Who is first in line for it, else any. */
static struct attempt *front_of(const struct crew *crew)
{
    struct attempt *front = NULL, *any = NULL;

    for (struct attempt *a = crew->client->attempts; a != NULL; a = a->next) {
        if (a->crew != crew)
            continue;
        any = a;
        if (!a->forgotten && check_waits(a))
            front = a;
    }
    return front != NULL ? front : any;
}

struct attempt *world_attempt(const struct hf_acquisition *a)
{
    const struct hf_acquisition *whole = hf_acquisition_parent(a);

    if (hf_acquisition_cohort(a) != NULL)
        return front_of(crew_of(hf_acquisition_cohort(a)));
    /* The acquisition is the first member of its attempt. */
    return (struct attempt *)(uintptr_t)(whole != NULL ? whole : a);
}

static struct claim *claim_of(struct hf_acquisition *a)
{
    struct attempt *attempt = world_attempt(a);
    struct claim *claim = attempt->claims;

    while (claim->a != a)
        claim++;
    assert(claim < attempt->claims + attempt->claim_count);
    return claim;
}

/* The ticket that is enqueued is that of all who wait. */
static void crew_enqueues(struct client *client, struct crew *crew,
                          const struct hf_ticket_id *id)
{
    crew->id = *id;
    crew->enqueued = true;
    crew->evicted = client->killed;
    crew->evicted_us = 0;
    crew->grants = 0;
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->crew != crew || a->forgotten || !check_waits(a))
            continue;
        a->id = a->claims[0].id = *id;
        a->enqueued = a->claims[0].enqueued = true;
        a->evicted = client->killed;
    }
    if (world_record(client->world, id) == NULL)
        world_remember(client->world, id, NULL, crew);
}

/* As the host does, once. */
static void say_asked(char text[HF_PAYLOAD_BYTES])
{
    if (strstr(text, WORLD_ASKED) == NULL)
        strncat(text, WORLD_ASKED, HF_PAYLOAD_BYTES - strlen(text) - 1);
}

static void request(struct client *client, struct hf_request *asked)
{
    struct hf_acquisition *a =
        asked->own_ticket == NULL ? NULL : asked->own_ticket->acquisition;
    struct world *world = client->world;

    if (asked->kind == HF_REQUEST_ENQUEUE && hf_acquisition_cohort(a) != NULL) {
        crew_enqueues(client, crew_of(hf_acquisition_cohort(a)),
                      &asked->ticket);
    } else if (asked->kind == HF_REQUEST_ENQUEUE) {
        struct attempt *attempt = world_attempt(a);
        struct claim *claim = claim_of(a);

        attempt->id = claim->id = asked->ticket;
        attempt->enqueued = claim->enqueued = true;
        attempt->place = claim->place;
        if (claim == attempt->claims) /* all of it is taken anew */
            attempt->evicted = client->killed;
        attempt->evicted |= client->killed;
        if (world_record(world, &asked->ticket) == NULL)
            world_remember(world, &asked->ticket, attempt, NULL);
    } else if (asked->kind == HF_REQUEST_DESCRIBE) {
        say_asked(asked->own_ticket->description->text);
    }
    if (world->line != NULL && !world->terse && !world->brief)
        world_line(world, client->name, "  core asks to %s for %s",
                   world_request_name(asked->kind), world_asker(asked));
    hf_sim_ops(world->sim)->request(client->engine, asked);
}

/* -------------------------------------------------------------- effects -- */

/* With the last member goes all that the core knew of the cohort. */
static void crew_left(struct crew *crew)
{
    if (check_crew_lives(crew))
        return;
    if (!hf_cohort_is_idle(&crew->cohort))
        world_broken(crew->client->world, 5,
                     "all members are forgotten, and their cohort is not");
    hf_cohort_free(&crew->client->core, &crew->cohort);
    memset(&crew->cohort, 0xdd, sizeof crew->cohort);
    crew->ready = false;
}

static void user_told(struct client *client, const struct hf_effect *effect)
{
    struct world *world = client->world;
    struct attempt *attempt = (struct attempt *)(void *)effect->acquisition;

    switch (effect->kind) {
    case HF_EFFECT_LOST:
        world_line(world, client->name, "%s LOST", attempt->name);
        if (world->on_lost != NULL)
            world->on_lost(attempt);
        break;
    case HF_EFFECT_GRANTED:
        world_line(world, client->name,
                   "%s GRANTED token=%" PRIu64 " safe-until=%" PRIu64,
                   attempt->name, attempt->a.token, attempt->promise_ms);
        if (world->on_granted != NULL)
            world->on_granted(attempt);
        break;
    case HF_EFFECT_ENDED:
        world_line(world, client->name, "%s ENDED %s%s%s", attempt->name,
                   hf_status_name(attempt->a.status), world->terse ? "" : ": ",
                   world->terse ? "" : hf_acquisition_text(&attempt->a));
        break;
    case HF_EFFECT_WAITING:
        world_line(world, client->name,
                   "%s WAITING ahead=%" PRIu32 " holder=%s", attempt->name,
                   attempt->a.ahead, hf_shared_text_get(attempt->a.holder));
        break;
    case HF_EFFECT_RELEASED:
        world_line(world, client->name, "%s RELEASED %s", attempt->name,
                   hf_status_name(attempt->a.status));
        break;
    case HF_EFFECT_DOWNGRADED:
        world_line(world, client->name, "%s DOWNGRADED %s", attempt->name,
                   hf_status_name(attempt->a.user.downgrade_status));
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        world_line(world, client->name, "%s DONE", attempt->name);
        /* Whoever still looks into it shall see nonsense. */
        world_free_attempt(attempt);
        memset(&attempt->a, 0xdd, sizeof attempt->a);
        memset(attempt->parts, 0xdd, sizeof attempt->parts);
        if (attempt->crew != NULL)
            crew_left(attempt->crew);
        break;
    case HF_EFFECT_REVOKED:
        world_line(world, client->name, "%s REVOKED", attempt->name);
        break;
    case HF_EFFECT_STATE:
        world_line(world, client->name, "state %s",
                   hf_state_name(client->state));
        if (client->state == HF_STATE_CONNECTED)
            client->connected_us = hf_sim_now_us(world->sim);
        break;
    default:
        break;
    }
}

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
        hf_sim_ops(client->world->sim)->unwatch(client->engine, taken.request);
        break;
    case HF_EFFECT_CONNECT:
        hf_sim_ops(client->world->sim)->connect(client->engine);
        break;
    case HF_EFFECT_OPERATION_ANSWERED:
    case HF_EFFECT_OPERATION_DONE:
        question_effect(&taken);
        break;
    default:
        user_told(client, &taken);
    }
}

/* ---------------------------------------------------------------- steps -- */

void driver_step(struct client *client, struct hf_event *event)
{
    client->fresh_step = !client->draining;
    client->drained = 0;
    client->waking = false;
    client->world->steps++;
    world_line_event(client, event);
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

/* An engine may answer from inside request(), which steps again: the outermost
 * call carries out everything, in order. */
static void drain(struct client *client)
{
    struct hf_effect *effect;

    if (client->draining)
        return;
    client->draining = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL)
        carry_out(client, effect);
    client->draining = false;
    check_settled(client->world);
    driver_arm(client);
}

static void tick(void *arg)
{
    struct client *client = arg;
    struct hf_event event = {.kind = HF_EVENT_TICK};
    uint64_t now_us;

    if (!client->alive || hf_sim_frozen(client->engine))
        return;
    now_us = hf_sim_now_us(client->world->sim);
    if (now_us < client->tick_us) /* another is in the calendar */
        return;
    client->tick_us = UINT64_MAX;
    client->idle_ticks =
        client->last_tick_us == now_us ? client->idle_ticks + 1 : 0;
    client->last_tick_us = now_us;
    if (client->idle_ticks > IDLE_TICKS_MAX) {
        world_broken(client->world, 4, "%s wants to be woken for ever",
                     client->name);
        return;
    }
    event.now_ms = driver_now_ms(client);
    driver_step(client, &event);
}

void driver_arm(struct client *client)
{
    uint64_t wake_ms = hf_core_wake_at_ms(&client->core);
    uint64_t now_us = hf_sim_now_us(client->world->sim);
    uint64_t at_us;

    if (!client->alive || wake_ms == HF_FOREVER ||
        hf_sim_frozen(client->engine))
        return;
    at_us = hf_sim_client_at_us(client->engine, wake_ms);
    if (at_us == UINT64_MAX)
        return;
    /* What is due already is not put off by what comes meanwhile. */
    if (at_us <= now_us && client->tick_us - now_us <= client->world->late_us)
        return;
    at_us += client->world->late_us;
    if (at_us == client->tick_us)
        return;
    client->tick_us = at_us;
    hf_sim_call_at(client->world->sim, at_us, true, tick, client);
}

bool world_can_call(const struct client *client)
{
    return client->alive && !hf_sim_frozen(client->engine);
}

void driver_call(struct client *client, enum hf_event_kind kind,
                 struct attempt *attempt)
{
    struct hf_event event = {.kind = kind};

    assert(world_can_call(client));
    event.now_ms = driver_now_ms(client);
    event.as.acquisition = attempt == NULL ? NULL : &attempt->a;
    world_line(client->world, client->name, "%s%s%s", world_event_name(kind),
               attempt == NULL ? "" : " ",
               attempt == NULL ? "" : attempt->name);
    driver_step(client, &event);
}
