/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants that are about queues, 4, 5, 6 and 14, and about the end. */
#include <inttypes.h>
#include <string.h>

#include "core/time_math.h"
#include "engines/sim/leases.h"
#include "question.h"

/* Of the watches that a release fires, so many may be of no use to whoever set
 * them: one that looks ahead. */
#define IDLE_WAKEUPS_MAX 2

/* -------------------------------------------------------------- wake-ups -- */

/* Does nobody stand in the way of the ticket? */
static bool is_next(const struct attempt *attempt, const struct claim *claim)
{
    struct hf_snapshot queue =
        hf_sim_queue(attempt->client->world->sim, claim->place->name);
    size_t place = hf_snapshot_find(&queue, &claim->id);

    if (!claim->enqueued || place == queue.count ||
        !hf_sim_ticket_current(attempt->client->engine, &claim->id))
        return false;
    for (size_t i = 0; i < place; i++) {
        if (check_conflict(queue.tickets[i].kind, claim->a->kind))
            return false;
    }
    return true;
}

/* Would its permits fit, were its ticket behind all others? */
static bool has_room(const struct attempt *attempt, const struct claim *lease)
{
    struct hf_snapshot leases =
        hf_sim_queue(attempt->client->world->sim, lease->place->name);
    size_t place = hf_snapshot_find(&leases, &lease->id);
    uint64_t permits = check_permits(&leases, leases.count);

    if (place < leases.count)
        permits -= leases.tickets[place].weight;
    return permits + lease->a->weight <= lease->a->limit;
}

/* Should it be granted, or get on to its next part, without anybody else doing
 * anything?  The claim that should be met, or NULL.  Which part it is at is its
 * own word, but for that it would have to be at one. */
static const struct claim *admissible(const struct attempt *attempt)
{
    if (attempt->crew != NULL && check_crew_ahead(attempt))
        return NULL;
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct claim *claim = &attempt->claims[i];

        if (attempt->claim_count > 1 && !claim->a->entry_mutex &&
            claim->a->state == HF_ACQUISITION_HELD)
            continue;
        if (claim->a->entry_mutex && claim->a->state == HF_ACQUISITION_DONE)
            continue;
        if (!is_next(attempt, claim))
            return NULL;
        if (claim->a->entry_mutex && claim->a->state == HF_ACQUISITION_HELD)
            return has_room(attempt, claim + 1) ? claim + 1 : NULL;
        if (claim->a->kind == HF_TICKET_LEASE && !has_room(attempt, claim))
            return NULL;
        return claim;
    }
    return NULL;
}

static void check_wakeup(struct attempt *attempt)
{
    struct client *client = attempt->client;
    struct world *world = client->world;
    uint64_t now_us = hf_sim_now_us(world->sim);

    const struct claim *due = attempt->enqueued ? admissible(attempt) : NULL;

    /* This check runs every 50 ms.  One run may see the cohort's ticket that is
     * about to go, and the next run another ticket, which is due only since
     * then. */
    if (due == NULL || due != attempt->due ||
        !hf_ticket_id_equal(&due->id, &attempt->due_ticket))
        attempt->admissible_us = now_us;
    attempt->due = due;
    if (due == NULL)
        return;
    attempt->due_ticket = due->id;
    if (now_us > attempt->admissible_us + world->patience_us &&
        now_us > client->disturbed_us + world->patience_us)
        world_broken(world, 4,
                     "%s could have been granted since %" PRIu64 ".%03u",
                     attempt->name, attempt->admissible_us / 1000,
                     (unsigned)(attempt->admissible_us % 1000));
}

/* Who has his permits leaves the lock in front of them: others may have what
 * is left. */
static void check_gates(const struct attempt *attempt)
{
    const struct client *client = attempt->client;
    struct world *world = client->world;
    uint64_t since_us = hf_max_ms(attempt->granted_us, client->disturbed_us);

    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct claim *claim = &attempt->claims[i];

        if (claim->a->entry_mutex &&
            hf_sim_now_us(world->sim) > since_us + world->patience_us &&
            hf_sim_ticket_exists(world->sim, &claim->id))
            world_broken(
                world, 4,
                "%s was granted at %" PRIu64 ".%03u and keeps others from %s",
                attempt->name, attempt->granted_us / 1000,
                (unsigned)(attempt->granted_us % 1000), claim->place->name);
    }
}

void check_wakeups(struct world *world)
{
    if (world->lied_to)
        return;
    for (unsigned i = 0; i < world->client_count; i++) {
        struct client *client = &world->clients[i];

        if (!client->alive || client->closing)
            continue;
        if (!hf_sim_connected(client->engine) ||
            hf_sim_frozen(client->engine)) {
            client->disturbed_us = hf_sim_now_us(world->sim);
            continue;
        }
        for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
            if (!a->forgotten && check_waits(a))
                check_wakeup(a);
            else if (check_holds(a))
                check_gates(a);
        }
    }
}

/* ----------------------------------------------------------------- queue -- */

static void note_others(struct world *world, const struct hf_ticket *ticket)
{
    const struct ticket_record *record = world_record(world, &ticket->id);

    for (unsigned i = 0; i < world->place_count; i++) {
        struct hf_snapshot queue =
            hf_sim_queue(world->sim, world->places[i].name);

        if (queue.count > 1 ||
            (world->places[i].limit > 0 && queue.count > 0) ||
            (queue.count == 1 && record != NULL && record->attempt == NULL &&
             record->crew == NULL))
            world->places[i].others_at_us = hf_sim_now_us(world->sim);
    }
}

static struct place *place_of(struct world *world, const char *queue)
{
    for (unsigned i = 0; i < world->place_count; i++) {
        if (strcmp(world->places[i].name, queue) == 0)
            return &world->places[i];
    }
    return NULL;
}

/* 2, 5: a leasing server gives out no token twice, nor one that is less than
 * another, and what was gone does not come back. */
static void check_leased(struct world *world, const char *queue,
                         const struct hf_ticket *ticket,
                         struct ticket_record *record)
{
    struct place *place = place_of(world, queue);

    if (!hf_sim_leased(world->sim))
        return;
    if (record != NULL && record->gone)
        world_broken(world, 5, "a ticket that was gone is in %s again", queue);
    if (record != NULL)
        record->token = ticket->token;
    if (place == NULL)
        return;
    if (ticket->token <= place->top_token)
        world_broken(world, 2,
                     "a ticket in %s has token %" PRIu64 " after %" PRIu64,
                     queue, ticket->token, place->top_token);
    place->top_token = hf_max_ms(place->top_token, ticket->token);
}

/* May ${attempt}, which never was in the queue, have lost its turn?  It may
 * end, or an enqueue of it have failed beside others under way, be it that only
 * the engine heard of that. */
static bool is_excused(const struct attempt *attempt)
{
    const struct world *world = attempt->client->world;
    uint64_t now_ms = check_client_ms(attempt->client);
    uint64_t limit_ms = attempt->limit_ms;

    if (attempt->forgotten) /* .a is no more */
        return true;
    if (attempt->a.only_try)
        limit_ms = hf_after_ms(attempt->a.started_at_ms, world->connect_ms);
    return !check_waits(attempt) || attempt->cancelled || now_ms >= limit_ms ||
           attempt->client->closing || world->denied || world->exhausted ||
           world->lied_to || attempt->failed;
}

static bool is_under_way(const struct attempt *attempt)
{
    const struct hf_own_ticket *ticket = attempt->claims[0].a->tickets.current;

    return ticket != NULL && hf_own_ticket_enqueue_unanswered(ticket);
}

static void break_order(const struct attempt *attempt, const char *other)
{
    world_broken(attempt->client->world, 14,
                 "%s did not enter %s before %s, which was started later",
                 attempt->name, attempt->claims[0].place->name, other);
}

/* 14: those of one client enter a queue in the order of their start.  The list
 * of attempts has the newest first.  Whether an enqueue under way was passed is
 * told by its answer. */
static void check_order(struct attempt *attempt, const struct place *place)
{
    if (place == NULL || place != attempt->claims[0].place ||
        attempt->crew != NULL)
        return;
    attempt->placed = true;
    for (struct attempt *a = attempt->next; a != NULL; a = a->next) {
        if (a->crew != NULL || a->claims[0].place != place || a->placed ||
            is_excused(a))
            continue;
        if (is_under_way(a))
            a->passed = true;
        else
            break_order(a, attempt->name);
    }
}

void check_enqueued(const struct hf_event *event)
{
    const struct hf_request *request = event->as.answer.request;
    struct attempt *attempt;

    if (request == NULL || request->kind != HF_REQUEST_ENQUEUE ||
        request->own_ticket == NULL ||
        hf_acquisition_cohort(request->own_ticket->acquisition) != NULL)
        return;
    attempt = world_attempt(request->own_ticket->acquisition);
    if (request->own_ticket->acquisition != attempt->claims[0].a)
        return;
    if (event->kind == HF_EVENT_FAILED)
        attempt->failed = true;
    else if (attempt->passed && !is_excused(attempt))
        break_order(attempt, "another");
}

/* The enqueues of ${client} that may find nothing there. */
static void excuse_under_way(const struct client *client,
                             const struct place *place)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->crew == NULL && !a->forgotten && a->claims[0].place == place &&
            is_under_way(a))
            a->failed = true;
    }
}

void check_deleted(struct world *world, const char *queue)
{
    for (unsigned i = 0; i < world->client_count; i++)
        excuse_under_way(&world->clients[i], place_of(world, queue));
}

/* 5: what was forgotten does not come back. */
void check_added(struct world *world, const char *queue,
                 const struct hf_ticket *ticket)
{
    struct ticket_record *record = world_record(world, &ticket->id);

    note_others(world, ticket);
    check_leased(world, queue, ticket, record);
    if (record == NULL)
        return;
    if (record->crew != NULL && !check_crew_lives(record->crew) &&
        record->crew->life == record->crew->client->life &&
        record->crew->client->alive &&
        hf_sim_ticket_current(record->crew->client->engine, &ticket->id))
        world_broken(world, 5, "a ticket of a crew appears after its members");
    if (record->attempt == NULL)
        return;
    if (!record->attempt->client->alive ||
        !hf_sim_ticket_current(record->attempt->client->engine, &ticket->id))
        return;
    check_order(record->attempt, place_of(world, queue));
    if (record->attempt->forgotten)
        world_broken(world, 5, "a ticket of %s appears after it was forgotten",
                     record->attempt->name);
    else if (record->attempt->ended && !record->attempt->a.may_remain &&
             !record->attempt->client->closing)
        world_broken(world, 13, "a ticket of %s appears after its end",
                     record->attempt->name);
}

static bool is_last_of(const struct attempt *attempt,
                       const struct hf_ticket *ticket)
{
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (hf_ticket_id_equal(&attempt->claims[i].id, &ticket->id))
            return true;
    }
    return false;
}

/* 6: the end of a grant wakes those whom it admits, and few others. */
void check_gone(struct world *world, const char *queue,
                const struct hf_ticket *ticket,
                struct hf_request *const *watches, size_t count)
{
    struct ticket_record *record = world_record(world, &ticket->id);
    struct place *place = place_of(world, queue);
    size_t idle = 0;
    char names[64] = "";

    if (record != NULL)
        record->gone = true;
    if (place != NULL && hf_sim_queue(world->sim, queue).count > 0)
        place->others_at_us = hf_sim_now_us(world->sim);
    /* Neither a wait that is given up nor a ticket that came late. */
    if (record == NULL || record->attempt == NULL ||
        !record->attempt->granted || !is_last_of(record->attempt, ticket))
        return;
    for (size_t i = 0; i < count; i++) {
        struct attempt *woken =
            world_attempt(watches[i]->own_ticket->acquisition);

        /* One who was evicted and has not heard is in nobody's place. */
        if (woken == record->attempt || !check_waits(woken) ||
            admissible(woken) != NULL ||
            !hf_sim_ticket_exists(world->sim, &woken->id))
            continue;
        idle++;
        strncat(names, " ", sizeof names - strlen(names) - 1);
        strncat(names, woken->name, sizeof names - strlen(names) - 1);
    }
    if (idle > IDLE_WAKEUPS_MAX)
        world_broken(world, 6, "the end of %s wakes %zu that cannot enter:%s",
                     record->attempt->name, idle, names);
}

/* ------------------------------------------------------------------- end -- */

static bool empty(struct world *world)
{
    for (unsigned i = 0; i < world->place_count; i++) {
        if (hf_sim_queue(world->sim, world->places[i].name).count > 0)
            return false;
    }
    return true;
}

static bool all_idle(const struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        if (!world_idle(&world->clients[i]))
            return false;
    }
    return true;
}

bool check_quiet(struct world *world)
{
    return all_idle(world) && empty(world);
}

/* 4, 5, 8: say what did not come to its end. */
void check_end(struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        for (struct attempt *a = world->clients[i].attempts; a != NULL;
             a = a->next) {
            if (a->forgotten)
                continue;
            if (!a->granted && !a->ended)
                world_broken(world, 4, "%s waits for ever", a->name);
            else if (a->release_called && !a->released)
                world_broken(world, 8, "%s is never told RELEASED", a->name);
            else
                world_broken(world, 5, "%s is never forgotten", a->name);
        }
        if (question_open(&world->clients[i]))
            world_broken(world, 8, "a question is never answered");
    }
    if (!empty(world))
        world_broken(world, 5, "a ticket is left in a queue");
}
