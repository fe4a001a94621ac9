/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants that are about what users are told: of grants, and of ends. */
#include "check_grant.h"

#include <inttypes.h>
#include <string.h>

#include "core/time_math.h"

/* ---------------------------------------------------------------- grants -- */

/* As what it believes to be in the queue. */
static enum hf_ticket_kind kind_of(const struct attempt *attempt,
                                   const struct claim *claim)
{
    return attempt->downgrade_called ? HF_TICKET_READ : claim->a->kind;
}

/* 1, 3: the members come in order, and the ticket goes round among them so many
 * times and not at all once somebody asked for it. */
static void check_crew(const struct attempt *granted)
{
    struct client *client = granted->client;
    struct world *world = client->world;
    struct crew *crew = granted->crew;
    bool older = false;

    for (const struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (older && a->crew == crew && !a->forgotten && check_waits(a) &&
            !a->cancelled && !a->a.only_try &&
            check_client_ms(client) < a->limit_ms)
            world_broken(world, 3, "%s was granted before %s", granted->name,
                         a->name);
        older |= a == granted;
    }
    if (++crew->grants > 1 + (uint64_t)crew->cohort.handoffs)
        world_broken(world, 3,
                     "%s is the %uth to be granted on one ticket, which may be "
                     "handed on %u times",
                     granted->name, crew->grants, crew->cohort.handoffs);
    if (world_record(world, &granted->a.ticket_id)->told)
        world_broken(world, 3, "%s was granted on a ticket that should go",
                     granted->name);
    /* What was taken away on this connection may be told late; what was taken
     * away before it has to be looked for. */
    if (crew->evicted_us != 0 && crew->evicted_us < client->connected_us)
        world_broken(world, 1,
                     "%s was granted on a ticket that was taken away before "
                     "its client was connected",
                     granted->name);
}

/* 1, 3: nobody who is in the way stands ahead of it, in truth, and of permits
 * there are enough. */
static void check_way(struct attempt *attempt, const struct claim *claim)
{
    struct world *world = attempt->client->world;
    struct hf_snapshot queue = hf_sim_queue(world->sim, claim->place->name);
    size_t place = hf_snapshot_find(&queue, &claim->a->ticket_id);

    if (attempt->evicted || check_tainted(attempt))
        return;
    if (place == queue.count) {
        world_broken(world, 1, "%s was granted on a ticket that is gone",
                     attempt->name);
        return;
    }
    if (!hf_sim_ticket_current(attempt->client->engine, &claim->a->ticket_id))
        world_broken(world, 1, "%s was granted on another session's ticket",
                     attempt->name);
    if (queue.tickets[place].token != claim->a->token)
        world_broken(world, 2, "%s has token %" PRIu64 ", its ticket %" PRIu64,
                     attempt->name, claim->a->token,
                     queue.tickets[place].token);
    if (claim->a->kind == HF_TICKET_LEASE &&
        check_permits(&queue, place + 1) > claim->a->limit)
        world_broken(world, 1, "%s was granted permits %" PRIu64 " of %" PRIu32,
                     attempt->name, check_permits(&queue, place + 1),
                     claim->a->limit);
    for (size_t i = 0; i < place; i++) {
        const struct ticket_record *ahead =
            world_record(world, &queue.tickets[i].id);
        bool held =
            ahead == NULL || ahead->attempt == NULL || ahead->attempt->granted;
        const char *name = "a foreign ticket";

        if (ahead != NULL && ahead->attempt != NULL)
            name = ahead->attempt->name;
        else if (ahead != NULL && ahead->crew != NULL)
            name = "the ticket of a crew";
        if (check_conflict(queue.tickets[i].kind, claim->a->kind))
            world_broken(world, held ? 1 : 3, "%s was granted behind %s (%s)",
                         attempt->name, name, held ? "held" : "waiting");
    }
}

/* Its claim in ${place}, as far as it is had with a promise that has not run
 * out, in true time; NULL: it has none, or cannot know better. */
static const struct claim *promised(const struct attempt *attempt,
                                    const struct place *place)
{
    if (!check_holds(attempt) || attempt->evicted || check_tainted(attempt) ||
        check_promise(attempt) <= check_client_ms(attempt->client))
        return NULL;
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (attempt->claims[i].place == place &&
            !attempt->claims[i].a->entry_mutex)
            return &attempt->claims[i];
    }
    return NULL;
}

/* 1: nobody else is promised what conflicts with it. */
static void check_promises(struct attempt *granted, const struct claim *claim)
{
    struct world *world = granted->client->world;
    uint64_t permits = claim->a->weight;

    if (granted->evicted || check_tainted(granted))
        return;
    for (unsigned i = 0; i < world->client_count; i++) {
        struct client *client = &world->clients[i];

        for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
            const struct claim *other =
                a == granted ? NULL : promised(a, claim->place);

            if (other == NULL)
                continue;
            permits += other->a->weight;
            if (check_conflict(kind_of(a, other), claim->a->kind))
                world_broken(world, 1,
                             "%s was granted while %s is promised %" PRIu64
                             " ms more",
                             granted->name, a->name,
                             check_promise(a) - check_client_ms(client));
        }
    }
    if (claim->a->kind == HF_TICKET_LEASE && permits > claim->a->limit)
        world_broken(world, 1,
                     "with %s, %" PRIu64 " permits of %" PRIu32 " are promised",
                     granted->name, permits, claim->a->limit);
}

/* 2: its token is above all that it could conflict with. */
static void check_token(struct attempt *attempt, const struct claim *claim)
{
    struct place *place = claim->place;
    uint64_t token = claim->a->token;
    bool reads = claim->a->kind == HF_TICKET_READ;

    if (attempt->crew != NULL && attempt->crew->grants > 1 &&
        token == place->last_write_token)
        return; /* handed on */
    if (token <= place->last_write_token ||
        (!reads && token <= place->last_read_token))
        world_broken(attempt->client->world, 2,
                     "%s has token %" PRIu64 " after %" PRIu64 " and %" PRIu64
                     " (read)",
                     attempt->name, token, place->last_write_token,
                     place->last_read_token);
    if (reads)
        place->last_read_token = hf_max_ms(place->last_read_token, token);
    else
        place->last_write_token = token;
}

/* 2: its token is that of its ticket, whatever became of that: check_added()
 * has seen that those rise. */
static void check_token_given(const struct attempt *attempt)
{
    struct world *world = attempt->client->world;

    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct claim *claim = &attempt->claims[i];
        const struct ticket_record *record =
            claim->a->entry_mutex ? NULL
                                  : world_record(world, &claim->a->ticket_id);

        if (record != NULL && record->token != claim->a->token)
            world_broken(world, 2,
                         "%s has token %" PRIu64 ", its ticket %" PRIu64,
                         attempt->name, claim->a->token, record->token);
    }
}

bool check_hears_lost(const struct attempt *attempt)
{
    const struct hf_effect *effect = &attempt->a.user.loss;

    return effect->queued && effect->kind == HF_EFFECT_LOST;
}

void check_granted(struct attempt *attempt)
{
    struct world *world = attempt->client->world;
    uint64_t now_ms = check_client_ms(attempt->client);

    if (!check_waits(attempt))
        world_broken(world, 8, "%s was told GRANTED after its end",
                     attempt->name);
    attempt->granted = true;
    attempt->granted_id = attempt->a.ticket_id;
    attempt->granted_us = hf_sim_now_us(world->sim);
    world->grants++;
    attempt->promise_ms = check_promise(attempt);
    hf_safe_until_read_word(&attempt->client->core.session.published,
                            &attempt->a.user.valid, &attempt->reading);
    /* Its ticket may have been found gone since: LOST is then right behind. */
    if (attempt->promise_ms <= now_ms && !check_hears_lost(attempt))
        world_broken(world, 7,
                     "%s was granted at %" PRIu64
                     " on a promise that ended at %" PRIu64,
                     attempt->name, now_ms, attempt->promise_ms);
    if (attempt->client->state != HF_STATE_CONNECTED)
        world_broken(world, 7, "%s was granted while %s", attempt->name,
                     hf_state_name(attempt->client->state));
    if (attempt->cancelled)
        world_broken(world, 8, "%s was granted after it was cancelled",
                     attempt->name);
    if (attempt->crew != NULL)
        check_crew(attempt);
    if (world->lied_to)
        return;
    if (world->tokens_alone) {
        check_token_given(attempt);
        return;
    }
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct claim *claim = &attempt->claims[i];

        if (claim->a->entry_mutex)
            continue;
        check_way(attempt, claim);
        check_promises(attempt, claim);
        if (!check_tainted(attempt) && !attempt->evicted &&
            claim->a->kind != HF_TICKET_LEASE)
            check_token(attempt, claim);
    }
}

void check_lost(struct attempt *attempt)
{
    struct client *client = attempt->client;

    if (!check_holds(attempt))
        world_broken(client->world, 8, "%s was told LOST without a grant",
                     attempt->name);
    if (client->fresh_step && client->drained > 0)
        world_broken(client->world, 7, "%s was told LOST after other effects",
                     attempt->name);
    if (check_promise(attempt) != 0)
        world_broken(client->world, 7, "%s is lost and keeps its promise",
                     attempt->name);
    /* A link may end all the same, for instance where its server does not
     * lead any more. */
    if (client->world->calm && !client->closing &&
        client->world->loss_at == HF_LOSS_AT_LOST)
        world_broken(client->world, 7, "%s was lost, and nothing was wrong",
                     attempt->name);
    if (hf_acquisition_text(&attempt->a)[0] == '\0')
        world_broken(client->world, 10, "%s was lost without a reason",
                     attempt->name);
    attempt->lost = true;
    client->world->losses++;
    attempt->promise_ms = 0;
    /* All who lost by the same event are told in a row. */
    client->drained--;
}

/* 7: where losses are told at SUSPENDED, who held was told before. */
void check_suspended(struct client *client)
{
    if (client->world->loss_at != HF_LOSS_AT_SUSPENDED)
        return;
    for (const struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (check_holds(a))
            world_broken(client->world, 7,
                         "%s was not told LOST, and the link is down", a->name);
    }
}

/* It was told so, or released it as that came about and is told so then. */
static bool is_lost(const struct attempt *attempt)
{
    return attempt->lost ||
           (attempt->release_called && attempt->a.status == HF_ELOST);
}

/* 3, 9: its ticket is what it was told to be, and it is told only once. */
void check_downgraded(struct attempt *attempt)
{
    struct world *world = attempt->client->world;
    struct hf_snapshot queue = hf_sim_queue(world->sim, attempt->place->name);
    size_t place = hf_snapshot_find(&queue, &attempt->id);
    hf_status status = attempt->a.user.downgrade_status;

    if (!attempt->downgrade_waits)
        world_broken(world, 8, "%s was told DOWNGRADED unasked", attempt->name);
    attempt->downgrade_waits = false;
    if (status == HF_OK) {
        if (!check_holds(attempt))
            world_broken(world, 8, "%s is a reader without a grant",
                         attempt->name);
        if (place < queue.count && queue.tickets[place].kind != HF_TICKET_READ)
            world_broken(world, 4, "%s is told to be a reader and is none",
                         attempt->name);
    } else if (!(status == HF_ELOST && is_lost(attempt)) &&
               !(status == HF_ECANCELLED && attempt->release_called) &&
               !(status == HF_EDENIED && world->denied)) {
        world_broken(world, 9, "%s was not downgraded, %s, without a reason",
                     attempt->name, hf_status_name(status));
    }
}

/* ------------------------------------------------------------------ ends -- */

/* Could somebody have been in the way since it began? */
static bool contended(const struct attempt *attempt)
{
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (attempt->claims[i].place->others_at_us >= attempt->started_us)
            return true;
    }
    return false;
}

/* Does a semaphore say how many permits there are, and not all agree? */
static bool sizes_differ(const struct attempt *attempt)
{
    const struct hf_sim_ensemble *ensemble =
        &attempt->client->world->config.ensemble;

    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (attempt->claims[i].place->resized)
            return ensemble->servers > 0 && ensemble->layout == HF_ZK_KAZOO;
    }
    return false;
}

static bool may_end(const struct attempt *attempt)
{
    const struct client *client = attempt->client;
    const struct world *world = client->world;
    uint64_t now_ms = check_client_ms(client);
    bool patience_over =
        now_ms >= hf_after_ms(attempt->a.started_at_ms, world->connect_ms);
    bool given_up =
        client->gave_up && attempt->a.started_at_ms <= client->gave_up_ms;

    switch (attempt->a.status) {
    case HF_EBUSY:
        return attempt->a.only_try &&
               (contended(attempt) || world->lied_to ||
                (attempt->crew != NULL && check_crew_needs(attempt)));
    case HF_ETIMEDOUT:
        return !attempt->a.only_try && now_ms >= attempt->a.deadline_at_ms;
    case HF_ECANCELLED:
        return attempt->cancelled;
    case HF_ECLOSED:
        return client->closing;
    case HF_EUNREACHABLE:
        patience_over |=
            !client->ever_connected &&
            now_ms >= hf_after_ms(client->opened_ms, world->connect_ms);
        return given_up || (attempt->a.only_try && patience_over) ||
               (!client->ever_connected &&
                (patience_over || now_ms >= attempt->a.deadline_at_ms));
    case HF_EDENIED:
        return world->denied;
    case HF_EEXHAUSTED:
        return world->exhausted;
    case HF_EKIND:
        return world->shared_kinds || sizes_differ(attempt);
    case HF_EPROTOCOL:
        return world->lied_to;
    default:
        return false;
    }
}

/* Has every other member been told its end?  Then none has a ticket of the crew
 * to wait for but this one. */
static bool is_last_told(const struct attempt *attempt)
{
    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a != attempt && a->crew == attempt->crew && !a->forgotten &&
            !a->ended && !a->released)
            return false;
    }
    return !attempt->crew->may_remain;
}

/* A ticket on which a member was granted goes with that member's release. */
static bool was_granted(const struct attempt *attempt,
                        const struct hf_ticket_id *id)
{
    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a->crew == attempt->crew && a->granted &&
            hf_ticket_id_equal(&a->granted_id, id))
            return true;
    }
    return false;
}

/* 13: an end comes when no ticket of the attempt is in a queue any more, or
 * says that one may be. */
static void check_removed(struct attempt *attempt)
{
    struct world *world = attempt->client->world;
    struct crew *crew = attempt->crew;

    if (hf_acquisition_awaits_removal(&attempt->a) &&
        !attempt->client->closing &&
        check_client_ms(attempt->client) < attempt->a.notify_at_ms)
        world_broken(world, 13,
                     "%s ended before its removal was answered, and in no need",
                     attempt->name);
    if (crew != NULL)
        crew->may_remain |= attempt->a.may_remain;
    if (attempt->a.may_remain || attempt->client->closing || world->lied_to)
        return;
    if (crew != NULL && !is_last_told(attempt))
        crew = NULL;
    for (unsigned i = 0; i < world->ticket_count; i++) {
        const struct ticket_record *record = &world->tickets[i];
        bool mine =
            record->attempt == attempt ||
            (crew != NULL && hf_ticket_id_equal(&record->id, &crew->id) &&
             !was_granted(attempt, &record->id));

        if (mine && hf_sim_ticket_current(attempt->client->engine, &record->id))
            world_broken(world, 13, "%s has ended and is still in the queue",
                         attempt->name);
    }
}

void check_ended(struct attempt *attempt)
{
    struct world *world = attempt->client->world;

    if (!check_waits(attempt))
        world_broken(world, 8, "%s was told ENDED after its end",
                     attempt->name);
    attempt->ended = true;
    if (!may_end(attempt))
        world_broken(world, 9, "%s ended with %s, which nothing justifies",
                     attempt->name, hf_status_name(attempt->a.status));
    if (hf_acquisition_text(&attempt->a)[0] == '\0')
        world_broken(world, 10, "%s ended with %s and no story", attempt->name,
                     hf_status_name(attempt->a.status));
    check_removed(attempt);
}

void check_release(struct attempt *attempt)
{
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct hf_acquisition *a = attempt->claims[i].a;

        attempt->gone_before_release |=
            !a->entry_mutex &&
            !hf_sim_ticket_current(attempt->client->engine, &a->ticket_id);
    }
}

void check_released(struct attempt *attempt)
{
    struct world *world = attempt->client->world;

    if (!attempt->release_called || attempt->released)
        world_broken(world, 8, "%s was told RELEASED %s", attempt->name,
                     attempt->released ? "twice" : "unasked");
    attempt->released = true;
    if (attempt->downgrade_waits)
        world_broken(world, 8, "%s was not told DOWNGRADED", attempt->name);
    if (attempt->a.status != HF_OK && attempt->a.status != HF_ELOST)
        world_broken(world, 9, "%s was released with %s", attempt->name,
                     hf_status_name(attempt->a.status));
    if (attempt->a.status != HF_OK &&
        hf_acquisition_text(&attempt->a)[0] == '\0')
        world_broken(world, 10, "%s was released with %s and no story",
                     attempt->name, hf_status_name(attempt->a.status));
    if (attempt->crew != NULL && check_crew_needs(attempt))
        return; /* handed on, or given back for another */
    if (attempt->a.status == HF_OK && attempt->gone_before_release &&
        !world->lied_to)
        world_broken(world, 13,
                     "%s was released in order, and its ticket was gone",
                     attempt->name);
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (attempt->a.status == HF_OK && attempt->claims[i].enqueued &&
            hf_sim_ticket_current(attempt->client->engine,
                                  &attempt->claims[i].id))
            world_broken(world, 5, "%s is released and still in the queue",
                         attempt->name);
    }
}

void check_forgotten(struct attempt *attempt)
{
    struct world *world = attempt->client->world;
    bool last;

    if (attempt->forgotten || !(attempt->ended || attempt->released))
        world_broken(world, 8, "%s was forgotten %s", attempt->name,
                     attempt->forgotten ? "twice" : "before its end");
    attempt->forgotten = true;
    last = attempt->crew != NULL && !check_crew_lives(attempt->crew);
    for (unsigned i = 0; i < world->ticket_count; i++) {
        const struct ticket_record *record = &world->tickets[i];

        if ((last ? record->crew == attempt->crew
                  : record->attempt == attempt) &&
            hf_sim_ticket_current(attempt->client->engine, &record->id))
            world_broken(world, 5, "%s is forgotten and still in the queue",
                         attempt->name);
    }
}
