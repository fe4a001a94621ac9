/* SPDX-License-Identifier: Apache-2.0 */
/* What users want, and do with what they got. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check_grant.h"
#include "core/time_math.h"
#include "driver.h"
#include "world.h"

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
    part->entry_mutex = true;
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
        hf_cohort_init(&crew->cohort, place->name, client->world->handoffs);
    crew->ready = true;
    return crew;
}

static void claim_shared(struct attempt *attempt, struct place *place)
{
    struct crew *crew = crew_at(attempt->client, place);
    struct hf_acquisition *a = claim_one(attempt, place, HF_TICKET_MUTEX, true);

    hf_acquisition_use_cohort(a, &crew->cohort);
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
    hf_acquisition_use_multi_lock(&attempt->a, &attempt->bundle);
    attempt->bundle.children = attempt->parts;
    attempt->bundle.count = attempt->claim_count;
    attempt->bundle.token_child = attempt->claim_count - 1;
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
    attempt->a.deadline_at_ms = hf_after_ms(driver_now_ms(client), wait_ms);
    attempt->a.report_every_ms = report_every_ms;
    attempt->limit_ms = only_try ? HF_FOREVER : attempt->a.deadline_at_ms;
    claim_all(attempt, wishes, count);
    driver_call(client, HF_EVENT_ACQUIRE, attempt);
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
    struct hf_event event = {.kind = HF_EVENT_SET_LIMIT};

    assert(world_can_call(client));
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        if (attempt->claims[i].a->kind != HF_TICKET_LEASE)
            continue;
        attempt->claims[i].place->resized |=
            limit != attempt->claims[i].place->limit;
        event.now_ms = driver_now_ms(client);
        event.as.limit.acquisition = attempt->claims[i].a;
        event.as.limit.permits = limit;
        world_line(client->world, client->name, "limit %s %" PRIu32,
                   attempt->name, limit);
        driver_step(client, &event);
    }
}

void world_cancel(struct attempt *attempt)
{
    /* Also when it has been granted: the user may not have heard yet. */
    if (attempt->forgotten || attempt->release_called ||
        !world_can_call(attempt->client))
        return;
    attempt->cancelled = true;
    attempt->limit_ms =
        hf_min_ms(attempt->limit_ms, driver_now_ms(attempt->client));
    driver_call(attempt->client, HF_EVENT_CANCEL, attempt);
}

void world_release(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called);
    attempt->release_called = true;
    check_release(attempt);
    driver_call(attempt->client, HF_EVENT_RELEASE, attempt);
}

void world_check(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called && !attempt->lost);
    driver_call(attempt->client, HF_EVENT_CHECK, attempt);
    check_asked(attempt->client);
}

void world_downgrade(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called && !attempt->lost);
    attempt->downgrade_called = attempt->downgrade_waits = true;
    driver_call(attempt->client, HF_EVENT_DOWNGRADE, attempt);
}
