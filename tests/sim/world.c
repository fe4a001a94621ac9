/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/instant.h"
#include "engines/sim/ensemble.h"
#include "gate.h"
#include "question.h"

/* A core that wants to be woken so often at one instant will do so for ever. */
#define IDLE_TICKS_MAX 1000

void world_broken(struct world *world, int invariant, const char *format, ...)
{
    va_list arguments;

    if (world->broken != 0)
        return;
    world->broken = invariant;
    va_start(arguments, format);
    vsnprintf(world->story, sizeof world->story, format, arguments);
    va_end(arguments);
    world_line(world, "CHECK", "invariant %d broken: %s", invariant,
               world->story);
}

static struct client *client_of(struct world *world,
                                const struct hf_engine *engine)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        if (world->clients[i].engine == engine)
            return &world->clients[i];
    }
    return NULL;
}

static void on_line(void *arg, const struct hf_engine *engine, const char *text)
{
    struct world *world = arg;
    struct client *client = engine == NULL ? NULL : client_of(world, engine);

    world_line(world, client == NULL ? "-" : client->name, "%s", text);
}

static void on_added(void *arg, const char *queue,
                     const struct hf_ticket *ticket)
{
    (void)queue;
    check_added(arg, ticket);
}

static void on_gone(void *arg, const char *queue,
                    const struct hf_ticket *ticket,
                    struct hf_request *const *watches, size_t count)
{
    check_gone(arg, queue, ticket, watches, count);
}

/* -------------------------------------------------------------- tickets -- */

struct ticket_record *world_record(struct world *world,
                                   const struct hf_ticket_id *id)
{
    /* Those asked about are mostly young. */
    for (unsigned i = world->ticket_count; i-- > 0;) {
        if (hf_ticket_id_equal(&world->tickets[i].id, id))
            return &world->tickets[i];
    }
    return NULL;
}

void world_remember(struct world *world, const struct hf_ticket_id *id,
                    struct attempt *attempt, struct crew *crew)
{
    if (world->ticket_count == WORLD_TICKETS) {
        world_broken(world, 5,
                     "more than %d tickets in one run: somebody "
                     "enqueues again and again",
                     WORLD_TICKETS);
        return;
    }
    world->tickets[world->ticket_count++] =
        (struct ticket_record){.id = *id, .attempt = attempt, .crew = crew};
}

/* ---------------------------------------------------------------- drive -- */

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
    if (a->stands_for != NULL)
        return front_of(crew_of(a->stands_for));
    /* The acquisition is the first member of its attempt. */
    return (struct attempt *)(uintptr_t)(a->whole != NULL ? a->whole : a);
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

static void drain(struct client *client);
static void arm(struct client *client);

static void step(struct client *client, struct hf_event *event)
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

static void on_event(void *host, struct hf_event *event)
{
    step(host, event);
}

static uint64_t now_ms(void *host)
{
    struct client *client = host;

    return hf_sim_client_now_ms(client->engine);
}

/* The ticket that is enqueued is that of all who wait. */
static void crew_enqueues(struct client *client, struct crew *crew,
                          const struct hf_ticket_id *id)
{
    crew->id = *id;
    crew->enqueued = true;
    crew->evicted = client->killed;
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

static void request(struct client *client, struct hf_request *asked)
{
    struct world *world = client->world;

    if (asked->kind == HF_REQUEST_ENQUEUE &&
        asked->acquisition->stands_for != NULL) {
        crew_enqueues(client, crew_of(asked->acquisition->stands_for),
                      &asked->ticket);
    } else if (asked->kind == HF_REQUEST_ENQUEUE) {
        struct attempt *attempt = world_attempt(asked->acquisition);
        struct claim *claim = claim_of(asked->acquisition);

        attempt->id = claim->id = asked->ticket;
        attempt->enqueued = claim->enqueued = true;
        attempt->place = claim->place;
        if (claim == attempt->claims) /* all of it is taken anew */
            attempt->evicted = client->killed;
        attempt->evicted |= client->killed;
        if (world_record(world, &asked->ticket) == NULL)
            world_remember(world, &asked->ticket, attempt, NULL);
    }
    if (world->line != NULL && !world->terse)
        world_line(world, client->name, "  core asks to %s for %s",
                   world_request_name(asked->kind), world_asker(asked));
    hf_sim_ops(world->sim)->request(client->engine, asked);
}

/* With the last member goes all that the core knew of the cohort. */
static void crew_left(struct crew *crew)
{
    if (check_crew_lives(crew))
        return;
    if (!hf_cohort_is_idle(&crew->cohort))
        world_broken(crew->client->world, 5,
                     "all members are forgotten, and their cohort is not");
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
                   world->terse ? "" : attempt->a.text);
        break;
    case HF_EFFECT_WAITING:
        world_line(world, client->name,
                   "%s WAITING ahead=%" PRIu32 " holder=%s", attempt->name,
                   attempt->a.ahead, attempt->a.holder);
        break;
    case HF_EFFECT_RELEASED:
        world_line(world, client->name, "%s RELEASED %s", attempt->name,
                   hf_status_name(attempt->a.status));
        break;
    case HF_EFFECT_DOWNGRADED:
        world_line(world, client->name, "%s DOWNGRADED %s", attempt->name,
                   hf_status_name(attempt->a.downgrade_status));
        break;
    case HF_EFFECT_FORGOTTEN:
        world_line(world, client->name, "%s FORGOTTEN", attempt->name);
        /* Whoever still looks into it shall see nonsense. */
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
    case HF_EFFECT_FORGET:
        hf_sim_ops(client->world->sim)->forget(client->engine, taken.request);
        break;
    case HF_EFFECT_ANSWERED:
    case HF_EFFECT_FINISHED:
        question_effect(&taken);
        break;
    default:
        user_told(client, &taken);
    }
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
    arm(client);
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
    event.now_ms = now_ms(client);
    step(client, &event);
}

static void arm(struct client *client)
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

/* ------------------------------------------------------------ the user's -- */

bool world_can_call(const struct client *client)
{
    return client->alive && !hf_sim_frozen(client->engine);
}

static void call(struct client *client, enum hf_event_kind kind,
                 struct attempt *attempt)
{
    struct hf_event event = {.kind = kind};

    assert(world_can_call(client));
    event.now_ms = now_ms(client);
    event.as.acquisition = attempt == NULL ? NULL : &attempt->a;
    world_line(client->world, client->name, "%s%s%s", world_event_name(kind),
               attempt == NULL ? "" : " ",
               attempt == NULL ? "" : attempt->name);
    step(client, &event);
}

static const char *letter_of(const struct wish *wishes, unsigned count)
{
    static const char *const letters[] = {[HF_TICKET_MUTEX] = "m",
                                          [HF_TICKET_READ] = "r",
                                          [HF_TICKET_WRITE] = "w",
                                          [HF_TICKET_LEASE] = "s",
                                          [HF_TICKET_ELECTION] = "e"};

    if (count > 1)
        return "x";
    return wishes[0].shares ? "c" : letters[wishes[0].kind];
}

static struct attempt *attempt_new(struct client *client, const char *letter)
{
    struct world *world = client->world;
    struct attempt *attempt = calloc(1, sizeof *attempt);

    if (attempt == NULL)
        abort();
    attempt->client = client;
    attempt->next = client->attempts;
    client->attempts = attempt;
    snprintf(attempt->name, sizeof attempt->name, "%s%u", letter,
             ++world->attempt_count);
    snprintf(attempt->payload, sizeof attempt->payload, "%s/%s", client->name,
             attempt->name);
    attempt->started_us = hf_sim_now_us(world->sim);
    return attempt;
}

/* Have ${attempt} want a ticket of ${kind}, for itself or as its next part. */
static struct hf_acquisition *claim_one(struct attempt *attempt,
                                        struct place *place,
                                        enum hf_ticket_kind kind, bool alone)
{
    struct claim *claim = &attempt->claims[attempt->claim_count];

    assert(attempt->claim_count < WORLD_CLAIMS);
    claim->a = alone ? &attempt->a : &attempt->parts[attempt->claim_count];
    claim->place = place;
    claim->a->queue = place->name;
    claim->a->payload = attempt->payload;
    claim->a->kind = kind;
    if (!alone) {
        claim->a->whole = &attempt->a;
        claim->a->only_try = attempt->a.only_try;
        claim->a->deadline_at_ms = attempt->a.deadline_at_ms;
        claim->a->report_every_ms = attempt->a.report_every_ms;
    }
    attempt->claim_count++;
    return claim->a;
}

static void claim_semaphore(struct attempt *attempt, const struct wish *wish)
{
    struct hf_acquisition *part;

    part = claim_one(attempt, wish->place, HF_TICKET_MUTEX, false);
    part->gate = true;
    part = claim_one(attempt, wish->place->leases, HF_TICKET_LEASE, false);
    part->weight = wish->weight;
    part->limit = wish->place->leases->limit;
}

static struct crew *crew_at(struct client *client, struct place *place)
{
    struct crew *crew = client->crews;

    while (crew != NULL && (crew->place != place || crew->life != client->life))
        crew = crew->next;
    if (crew == NULL) {
        crew = calloc(1, sizeof *crew);
        if (crew == NULL)
            abort();
        crew->client = client;
        crew->place = place;
        crew->life = client->life;
        crew->next = client->crews;
        client->crews = crew;
    }
    if (!crew->ready)
        hf_cohort_init(&crew->cohort, place->name);
    crew->ready = true;
    return crew;
}

static void claim_shared(struct attempt *attempt, struct place *place)
{
    struct crew *crew = crew_at(attempt->client, place);
    struct hf_acquisition *a = claim_one(attempt, place, HF_TICKET_MUTEX, true);

    a->cohort = &crew->cohort;
    attempt->crew = crew;
    attempt->id = attempt->claims[0].id = crew->id;
    attempt->enqueued = attempt->claims[0].enqueued = crew->enqueued;
    attempt->evicted = crew->evicted;
}

static void claim_all(struct attempt *attempt, const struct wish *wishes,
                      unsigned count)
{
    if (count == 1 && wishes[0].shares) {
        claim_shared(attempt, wishes[0].place);
        return;
    }
    if (count == 1 && wishes[0].kind != HF_TICKET_LEASE) {
        claim_one(attempt, wishes[0].place, wishes[0].kind, true);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (wishes[i].kind == HF_TICKET_LEASE)
            claim_semaphore(attempt, &wishes[i]);
        else
            claim_one(attempt, wishes[i].place, wishes[i].kind, false);
    }
    attempt->a.kind = HF_TICKET_MUTEX;
    attempt->a.queue = wishes[0].place->name;
    attempt->a.payload = attempt->payload;
    attempt->a.bundle = &attempt->bundle;
    attempt->bundle.parts = attempt->parts;
    attempt->bundle.count = attempt->claim_count;
    attempt->bundle.token = attempt->claim_count - 1;
}

struct attempt *world_want_all(struct client *client, const struct wish *wishes,
                               unsigned count, bool only_try, uint64_t wait_ms,
                               uint64_t report_every_ms, uint64_t hold_us,
                               bool release_on_loss)
{
    struct attempt *attempt = attempt_new(client, letter_of(wishes, count));

    attempt->place = wishes[0].place;
    attempt->hold_us = hold_us;
    attempt->release_on_loss = release_on_loss;
    attempt->a.only_try = only_try;
    attempt->a.deadline_at_ms = hf_after_ms(now_ms(client), wait_ms);
    attempt->a.report_every_ms = report_every_ms;
    attempt->limit_ms = only_try ? HF_FOREVER : attempt->a.deadline_at_ms;
    claim_all(attempt, wishes, count);
    call(client, HF_EVENT_WANT, attempt);
    return attempt;
}

struct attempt *world_want(struct client *client, struct place *place,
                           enum hf_ticket_kind kind, bool only_try,
                           uint64_t wait_ms, uint64_t report_every_ms,
                           uint64_t hold_us, bool release_on_loss)
{
    const struct wish wish = {.place = place, .kind = kind, .weight = 1};

    return world_want_all(client, &wish, 1, only_try, wait_ms, report_every_ms,
                          hold_us, release_on_loss);
}

struct attempt *world_want_shared(struct client *client, struct place *place,
                                  bool only_try, uint64_t wait_ms)
{
    const struct wish wish = {
        .place = place, .kind = HF_TICKET_MUTEX, .weight = 1, .shares = true};

    return world_want_all(client, &wish, 1, only_try, wait_ms, 0, 0, false);
}

void world_limit(struct attempt *attempt, uint32_t limit)
{
    struct client *client = attempt->client;
    struct hf_event event = {.kind = HF_EVENT_LIMIT};

    assert(world_can_call(client));
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (attempt->claims[i].a->kind != HF_TICKET_LEASE)
            continue;
        attempt->claims[i].place->resized |=
            limit != attempt->claims[i].place->limit;
        event.now_ms = now_ms(client);
        event.as.limit.acquisition = attempt->claims[i].a;
        event.as.limit.permits = limit;
        world_line(client->world, client->name, "limit %s %" PRIu32,
                   attempt->name, limit);
        step(client, &event);
    }
}

void world_inquire(struct client *client, struct hf_inquiry *inquiry)
{
    struct hf_event event = {.kind = HF_EVENT_INQUIRE};

    assert(world_can_call(client));
    event.now_ms = now_ms(client);
    event.as.inquiry = inquiry;
    step(client, &event);
}

void world_recall(struct client *client, struct hf_inquiry *inquiry)
{
    struct hf_event event = {.kind = HF_EVENT_RECALL};

    assert(world_can_call(client));
    event.now_ms = now_ms(client);
    event.as.inquiry = inquiry;
    step(client, &event);
}

void world_cancel(struct attempt *attempt)
{
    /* Also when it has been granted: the user may not have heard yet. */
    if (attempt->forgotten || attempt->release_called ||
        !world_can_call(attempt->client))
        return;
    attempt->cancelled = true;
    attempt->limit_ms =
        hf_earlier_ms(attempt->limit_ms, now_ms(attempt->client));
    call(attempt->client, HF_EVENT_CANCEL, attempt);
}

void world_release(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called);
    attempt->release_called = true;
    call(attempt->client, HF_EVENT_RELEASE, attempt);
}

void world_downgrade(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called && !attempt->lost);
    attempt->downgrade_called = attempt->downgrade_waits = true;
    call(attempt->client, HF_EVENT_DOWNGRADE, attempt);
}

void world_close(struct client *client)
{
    assert(!client->closing);
    client->closing = true;
    call(client, HF_EVENT_CLOSE, NULL);
}

void world_crash(struct client *client)
{
    world_line(client->world, client->name, "crash");
    client->alive = false;
    /* Nobody is left to be told anything. */
    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        a->forgotten = true;
    question_crash(client);
    hf_sim_crash(client->engine);
}

void world_discard(struct client *client)
{
    assert(client->closed && world_idle(client));
    client->alive = false;
    hf_sim_ops(client->world->sim)->free(client->engine);
}

bool world_idle(const struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten)
            return false;
    }
    return !question_open(client);
}

/* --------------------------------------------------------------- faults -- */

void world_freeze(struct client *client, bool frozen)
{
    world_line(client->world, client->name, frozen ? "freeze" : "thaw");
    if (!frozen)
        client->thawed_ms = now_ms(client);
    hf_sim_set_frozen(client->engine, frozen);
    client->disturbed_us = hf_sim_now_us(client->world->sim);
    if (!frozen) {
        client->waking = true;
        client->tick_us = UINT64_MAX;
        arm(client);
    }
}

void world_pause(struct client *client, bool paused)
{
    world_line(client->world, client->name, paused ? "pause" : "unpause");
    if (!paused)
        client->thawed_ms = now_ms(client);
    hf_sim_set_paused(client->engine, paused);
    client->paused = paused;
    client->disturbed_us = hf_sim_now_us(client->world->sim);
    /* Anything promised on the strength of what was sent before the pause. */
    client->tainted_until_ms =
        hf_after_ms(now_ms(client), client->world->config.timeout_ms);
    if (!paused) {
        client->waking = true;
        client->tick_us = UINT64_MAX;
        arm(client);
    }
}

static void end_session(struct client *client)
{
    client->killed = true;
    for (struct crew *crew = client->crews; crew != NULL; crew = crew->next)
        crew->evicted = true;
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && a->enqueued)
            a->evicted = true;
    }
    client->disturbed_us = hf_sim_now_us(client->world->sim);
}

void world_kill_session(struct client *client)
{
    world_line(client->world, client->name, "session killed");
    end_session(client);
    hf_sim_kill_session(client->engine);
}

/* Tokens go back with the ensemble's own count: whoever replaces one gives a
 * token_floor=. */
void world_wipe(struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++)
        end_session(&world->clients[i]);
    for (unsigned i = 0; i < world->place_count; i++)
        world->places[i].last_write_token = world->places[i].last_read_token =
            0;
    hf_sim_wipe(world->sim);
}

void world_take_away(struct attempt *attempt)
{
    struct client *client = attempt->client;

    attempt->evicted = true;
    client->disturbed_us = hf_sim_now_us(client->world->sim);
    if (attempt->crew == NULL)
        return;
    attempt->crew->evicted |=
        hf_ticket_id_equal(&attempt->crew->id, &attempt->id);
    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        a->evicted |= a->crew == attempt->crew &&
                      hf_ticket_id_equal(&a->id, &attempt->id);
}

bool world_evict(struct attempt *attempt)
{
    world_take_away(attempt);
    return hf_sim_evict(attempt->client->world->sim, attempt->place->name,
                        &attempt->id);
}

/* ----------------------------------------------------------- life cycle -- */

void world_open(struct client *client, uint64_t clock_ms, int32_t ppm)
{
    struct world *world = client->world;
    struct hf_engine_host host = {
        .event = on_event, .now_ms = now_ms, .host = client};
    struct hf_core_config config = {
        .traits = world->config.traits,
        .connect_ms = world->connect_ms,
        .retry = {.base_ms = 10,
                  .cap_ms = 100,
                  .tries = HF_RETRY_UNLIMITED,
                  .elapsed_ms = HF_FOREVER},
    };

    client->life++;
    client->alive = true;
    client->closing = client->closed = client->ever_connected = false;
    client->paused = client->killed = false;
    client->state = HF_STATE_CONNECTING;
    client->tick_us = UINT64_MAX;
    client->tainted_until_ms = 0;
    client->thawed_ms = 0;
    client->waking = false;
    client->engine = hf_sim_engine_new(world->sim, &host);
    hf_sim_client_set_clock(client->engine, clock_ms, ppm);
    client->opened_us = client->disturbed_us = hf_sim_now_us(world->sim);
    client->opened_ms = now_ms(client);
    hf_random_seed(&config.random, hf_random_next(&world->random));
    hf_core_init(&client->core, &config, now_ms(client));
    world_line(world, client->name, "open");
}

void world_init(struct world *world, const struct hf_sim_config *config)
{
    struct hf_sim_observer observer = {.added = on_added,
                                       .gone = on_gone,
                                       .marked = gate_marked,
                                       .line = on_line,
                                       .arg = world};

    memset(world, 0, sizeof *world);
    world->config = *config;
    world->sim = hf_sim_new(config);
    world->connect_ms = 15000;
    hf_random_seed(&world->random, config->seed ^ 0x686f6c6466617374);
    hf_sim_observe(world->sim, &observer);
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        world->clients[i].world = world;
        snprintf(world->clients[i].name, sizeof world->clients[i].name, "%c",
                 (char)('a' + (int)i));
    }
}

void world_free(struct world *world)
{
    /* Its engines know requests, which are part of the attempts. */
    hf_sim_free(world->sim);
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        struct client *client = &world->clients[i];

        while (client->attempts != NULL) {
            struct attempt *attempt = client->attempts;

            client->attempts = attempt->next;
            free(attempt);
        }
        while (client->crews != NULL) {
            struct crew *crew = client->crews;

            client->crews = crew->next;
            free(crew);
        }
        question_free(client);
    }
}

struct place *world_place(struct world *world, const char *name,
                          bool read_write)
{
    struct place *place;

    for (unsigned i = 0; i < world->place_count; i++) {
        if (strcmp(world->places[i].name, name) == 0)
            return &world->places[i];
    }
    assert(world->place_count < WORLD_PLACES);
    place = &world->places[world->place_count++];
    snprintf(place->name, sizeof place->name, "%s", name);
    place->read_write = read_write;
    return place;
}

struct place *world_semaphore(struct world *world, const char *name,
                              uint32_t limit)
{
    char queue[sizeof world->places[0].name];
    struct place *locks;

    snprintf(queue, sizeof queue, "%s" HF_QUEUE_LOCKS, name);
    locks = world_place(world, queue, false);
    snprintf(queue, sizeof queue, "%s" HF_QUEUE_LEASES, name);
    locks->leases = world_place(world, queue, false);
    locks->leases->limit = limit;
    return locks;
}
