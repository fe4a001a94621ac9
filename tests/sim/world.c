/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/time_math.h"
#include "driver.h"
#include "engines/sim/ensemble.h"
#include "gate.h"
#include "question.h"

/* With a clock that is set, or data that is lost? */
static bool survives(int invariant)
{
    return invariant == 2 || invariant == 8 || invariant == 10;
}

void world_broken(struct world *world, int invariant, const char *format, ...)
{
    va_list arguments;

    if (world->broken != 0 || (world->tokens_alone && !survives(invariant)))
        return;
    world->check = format;
    va_start(arguments, format);
    vsnprintf(world->story, sizeof world->story, format, arguments);
    va_end(arguments);
    world_line(world, "CHECK", "invariant %d broken: %s", invariant,
               world->story);
    world->broken = invariant;
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
    check_added(arg, queue, ticket);
}

static void on_gone(void *arg, const char *queue,
                    const struct hf_ticket *ticket,
                    struct hf_request *const *watches, size_t count)
{
    check_gone(arg, queue, ticket, watches, count);
}

static void on_deleted(void *arg, const char *queue)
{
    check_deleted(arg, queue);
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

/* ------------------------------------------------------------ the user's -- */

void world_inquire(struct client *client, struct hf_operation *operation)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};

    assert(world_can_call(client));
    event.now_ms = driver_now_ms(client);
    event.as.operation = operation;
    driver_step(client, &event);
}

void world_recall(struct client *client, struct hf_operation *operation)
{
    struct hf_event event = {.kind = HF_EVENT_CANCEL_OPERATION};

    assert(world_can_call(client));
    event.now_ms = driver_now_ms(client);
    event.as.operation = operation;
    driver_step(client, &event);
}

void world_close(struct client *client)
{
    assert(!client->closing);
    client->closing = true;
    driver_call(client, HF_EVENT_CLOSE, NULL);
}

void world_crash(struct client *client)
{
    world_line(client->world, client->name, "crash");
    client->alive = false;
    /* Nobody is left to be told anything. */
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        a->crashed |= !a->forgotten;
        a->forgotten = true;
    }
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
        client->thawed_ms = driver_now_ms(client);
    hf_sim_set_frozen(client->engine, frozen);
    client->disturbed_us = hf_sim_now_us(client->world->sim);
    if (!frozen) {
        client->waking = true;
        client->tick_us = UINT64_MAX;
        driver_arm(client);
    }
}

void world_pause(struct client *client, bool paused)
{
    world_line(client->world, client->name, paused ? "pause" : "unpause");
    if (!paused)
        client->thawed_ms = driver_now_ms(client);
    hf_sim_set_paused(client->engine, paused);
    client->paused = paused;
    client->disturbed_us = hf_sim_now_us(client->world->sim);
    /* Anything promised on the strength of what was sent before the pause. */
    client->tainted_until_ms =
        hf_after_ms(driver_now_ms(client), client->world->config.timeout_ms);
    if (!paused) {
        client->waking = true;
        client->tick_us = UINT64_MAX;
        driver_arm(client);
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
    struct world *world = attempt->client->world;
    struct crew *crew = attempt->crew;
    bool was_there;

    world_take_away(attempt);
    was_there = hf_sim_evict(world->sim, attempt->place->name, &attempt->id);
    if (was_there && crew != NULL &&
        hf_ticket_id_equal(&crew->id, &attempt->id))
        crew->evicted_us = hf_sim_now_us(world->sim);
    return was_there;
}

bool world_evict_claim(struct attempt *attempt, unsigned number)
{
    const struct claim *claim = &attempt->claims[number - 1];

    if (number == 0 || number > attempt->claim_count)
        return false;
    world_take_away(attempt);
    return hf_sim_evict(attempt->client->world->sim, claim->place->name,
                        &claim->id);
}

/* ----------------------------------------------------------- life cycle -- */

void world_open(struct client *client, uint64_t clock_ms, int32_t ppm)
{
    struct world *world = client->world;
    struct hf_engine_host host = {
        .event = driver_event, .now_ms = driver_now_ms, .host = client};
    struct hf_core_config config = {
        .traits = world->config.traits,
        .connect_ms = world->connect_ms,
        .loss_at = world->loss_at,
        .retry = {.base_ms = 10,
                  .cap_ms = 100,
                  .tries = HF_RETRY_UNLIMITED,
                  .elapsed_ms = HF_FOREVER},
    };

    client->life++;
    client->alive = true;
    client->closing = client->closed = client->ever_connected = false;
    client->paused = client->killed = client->gave_up = false;
    client->state = HF_STATE_CONNECTING;
    client->tick_us = UINT64_MAX;
    client->tainted_until_ms = 0;
    client->thawed_ms = 0;
    client->waking = false;
    client->engine = hf_sim_engine_new(world->sim, &host);
    hf_sim_client_set_clock(client->engine, clock_ms, ppm);
    client->opened_us = client->disturbed_us = hf_sim_now_us(world->sim);
    client->opened_ms = driver_now_ms(client);
    hf_random_seed(&config.random, hf_random_next(&world->random));
    hf_core_init(&client->core, &config, driver_now_ms(client));
    world_line(world, client->name, "open");
}

void world_init(struct world *world, const struct hf_sim_config *config)
{
    struct hf_sim_observer observer = {.added = on_added,
                                       .gone = on_gone,
                                       .marked = gate_marked,
                                       .deleted = on_deleted,
                                       .line = on_line,
                                       .arg = world};

    memset(world, 0, sizeof *world);
    world->config = *config;
    world->sim = hf_sim_new(config);
    world->handoffs = HF_MUTEX_HANDOFFS;
    world->connect_ms = 15000;
    hf_random_seed(&world->random, config->seed ^ 0x686f6c6466617374);
    hf_sim_observe(world->sim, &observer);
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        world->clients[i].world = world;
        snprintf(world->clients[i].name, sizeof world->clients[i].name, "%c",
                 (char)('a' + (int)i));
    }
}

void world_free_attempt(struct attempt *attempt)
{
    struct hf_core *core = &attempt->client->core;

    hf_acquisition_free(core, &attempt->a);
    for (size_t i = 0; i < WORLD_CLAIMS; i++)
        hf_acquisition_free(core, &attempt->parts[i]);
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
            if (!attempt->forgotten || attempt->crashed)
                world_free_attempt(attempt);
            free(attempt);
        }
        while (client->crews != NULL) {
            struct crew *crew = client->crews;

            client->crews = crew->next;
            if (crew->ready)
                hf_cohort_free(&client->core, &crew->cohort);
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
