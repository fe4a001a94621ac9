/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RENEW and GOODBYE, which are about all queues: an errand for each stake, and
 * one answer.
 *
 * A node that is gone must not take along what the session has on the others:
 * a RENEW without its part would prove nothing for them either.  So that, when
 * nothing has been renewed there for most of a ttl, it is given up: the tickets
 * are told to be missing, which their holders hear before they run out, and the
 * rest is proven.  What the leased client does not know to be there yet is kept
 * from it until it has been renewed (errand.c, is_too_late()).
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/redis/private.h"

/* Of a ttl, in eighths.  A renewal that is begun just before that must be done
 * before the session is over: patience is a quarter of a ttl. */
#define GIVEN_UP_EIGHTHS 5

struct hf_redis_gather {
    struct hf_store_call *call;
    size_t pending;
    uint64_t begun_at_ms;
    struct hf_store_answer answer;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    size_t room;
};

static void gather_free(struct hf_redis_gather *gather)
{
    hf_free(gather->tickets);
    hf_free(gather->leases);
    hf_free(gather);
}

void hf_redis_gather_drop(struct hf_redis_gather *gather)
{
    assert(gather->pending > 0);
    if (--gather->pending == 0)
        gather_free(gather);
}

void hf_redis_gather_begin(struct hf_store *store, struct hf_store_call *call)
{
    struct hf_redis_gather *gather = hf_alloc(sizeof *gather);

    if (gather == NULL) {
        hf_redis_store_starve(store);
        return;
    }
    gather->call = call;
    gather->begun_at_ms = hf_redis_store_now_ms(store);
    if (call->kind == HF_STORE_RENEW && !call->follows)
        memset(store->map->giving_up, 0, sizeof store->map->giving_up);
    if (call->stake_count == 0)
        hf_redis_errand_begin(store, call, NULL, gather);
    for (size_t i = 0; i < call->stake_count; i++)
        hf_redis_errand_begin(store, call, &call->stakes[i], gather);
    if (gather->pending == 0)
        gather_free(gather);
}

void hf_redis_gather_add(struct hf_redis_gather *gather)
{
    gather->pending++;
}

/* --------------------------------------------------------------- answers -- */

/* Only the first failure is kept. */
static void fail(struct hf_redis_gather *gather, enum hf_failure failure,
                 hf_status status, const char *text)
{
    struct hf_store_answer *to = &gather->answer;

    if (to->status != HF_OK)
        return;
    to->failure = failure;
    to->status = status;
    (void)snprintf(gather->text, sizeof gather->text, "%s", text);
    to->text = gather->text;
}

static bool make_room(struct hf_redis_gather *gather, size_t count)
{
    size_t room = gather->room > 0 ? gather->room : 16;
    void *memory;

    while (room < count)
        room *= 2;
    if (room == gather->room)
        return true;
    memory = hf_realloc(gather->tickets, room * sizeof *gather->tickets);
    if (memory == NULL)
        return false;
    gather->tickets = memory;
    memory = hf_realloc(gather->leases, room * sizeof *gather->leases);
    if (memory == NULL)
        return false;
    gather->leases = memory;
    gather->room = room;
    return true;
}

static void add(struct hf_redis_gather *gather, const struct hf_ticket_id *id,
                struct hf_store_lease lease)
{
    size_t at = gather->answer.count;

    if (!make_room(gather, at + 1)) {
        fail(gather, HF_FAILURE_UNSURE, HF_ENOMEM, "out of memory");
        return;
    }
    gather->tickets[at] = (struct hf_ticket){.id = *id, .payload = ""};
    gather->leases[at] = lease;
    gather->answer.count++;
}

static void take_rows(struct hf_redis_gather *gather,
                      const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        add(gather, &answer->tickets[i].id, answer->leases[i]);
}

/* ---------------------------------------------------------------- give up --
 */

static bool is_given_up(const struct hf_store *store,
                        const struct hf_redis_errand *errand)
{
    uint64_t since_ms = store->map->renewed_at_ms[errand->slot];

    return hf_redis_store_now_ms(store) >=
           hf_after_ms(since_ms, store->config.ttl_ms / 8 * GIVEN_UP_EIGHTHS);
}

static void give_up(struct hf_store *store, struct hf_redis_gather *gather,
                    const struct hf_redis_errand *errand, const char *why)
{
    const struct hf_engine_host *host = &store->base.engine->host;
    const struct hf_store_stake *stake = &errand->stake;

    store->map->giving_up[errand->slot] = true;
    for (size_t i = 0; i < stake->count; i++)
        add(gather, &stake->tickets[i],
            (struct hf_store_lease){.missing = true});
    if (!store->map->given_up[errand->slot] && stake->count > 0)
        host->log(host->host, HF_LOG_WARNING,
                  "the tickets of \"%s\" are given up, for they could not be "
                  "renewed: %s",
                  stake->queue, why);
}

/* ------------------------------------------------------------------- take --
 */

/* A slot that one piece has left out stays so until a renewal has none that
 * does: another of its queues may be in that piece. */
static void note_given_up(struct hf_redis_map *map,
                          const struct hf_store_call *call)
{
    if (!call->more) {
        memcpy(map->given_up, map->giving_up, sizeof map->given_up);
        return;
    }
    for (size_t i = 0; i < HF_REDIS_SLOTS; i++)
        map->given_up[i] = map->given_up[i] || map->giving_up[i];
}

static void finish(struct hf_store *store, struct hf_redis_gather *gather)
{
    struct hf_store_answer *answer = &gather->answer;

    answer->ok = answer->status == HF_OK;
    answer->tickets = gather->tickets;
    answer->leases = gather->leases;
    answer->server_ms = hf_redis_store_now_ms(store);
    if (answer->ok && gather->call->kind == HF_STORE_RENEW)
        note_given_up(store->map, gather->call);
    hf_leased_answered(store->base.engine->leased, gather->call, answer,
                       answer->server_ms);
    gather_free(gather);
}

void hf_redis_gather_take(struct hf_store *store,
                          const struct hf_redis_errand *errand,
                          const struct hf_store_answer *answer)
{
    struct hf_redis_gather *gather = errand->gather;
    bool renews = errand->call.kind == HF_STORE_RENEW &&
                  errand->slot != HF_REDIS_ANY_SLOT;

    if (answer->ok && renews)
        store->map->renewed_at_ms[errand->slot] = gather->begun_at_ms;
    if (answer->ok)
        take_rows(gather, answer);
    else if (renews && is_given_up(store, errand))
        give_up(store, gather, errand, answer->text);
    else
        fail(gather, answer->failure, answer->status, answer->text);
    if (--gather->pending == 0)
        finish(store, gather);
}
