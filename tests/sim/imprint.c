/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever the core, or a check, goes by has to be in here: what is missing
 * makes stages equal that are not, and they would not all be explored.
 * test_explore.py has the explorer look for that (--doubt).
 */
#include "imprint.h"

#include <string.h>

#include "core/multi_lock.h"
#include "core/sha256.h"
#include "engines/sim/imprint.h"

struct ink {
    struct hf_imprint *imprint;
    uint64_t now_ms; /* on the clock of the client at hand */
};

static void number(const struct ink *ink, uint64_t value)
{
    hf_imprint_number(ink->imprint, value);
}

static void instant(const struct ink *ink, uint64_t at_ms)
{
    hf_imprint_instant(ink->imprint, at_ms, ink->now_ms);
}

static void ticket(const struct ink *ink, bool known,
                   const struct hf_ticket_id *id)
{
    number(ink, known);
    if (known)
        hf_imprint_ticket(ink->imprint, id);
}

/* ----------------------------------------------------------- acquisition -- */

static void put_removal(const struct ink *ink, const struct hf_removal *removal)
{
    number(ink, removal->state);
    number(ink, removal->found);
    if (removal->state == HF_REMOVAL_NONE)
        return;
    instant(ink, removal->appears_until_ms);
    instant(ink, removal->at_ms);
    number(ink, removal->last);
    number(ink, removal->retry.tries);
    number(ink, removal->request.busy);
}

static void put_watches(const struct ink *ink,
                        const struct hf_ticket_watches *watches)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        const struct hf_ticket_watch *watch = watches->slots[i];

        number(ink, watch != NULL);
        if (watch == NULL)
            continue;
        number(ink, watch->state);
        hf_imprint_ticket(ink->imprint, &watch->request.ticket);
        number(ink, watch->request.ticket_kind);
        number(ink, watch->request.busy);
    }
}

static void put_queue_watch(const struct ink *ink,
                            const struct hf_queue_watch *watch)
{
    number(ink, watch != NULL);
    if (watch == NULL)
        return;
    number(ink, watch->state);
    instant(ink, watch->at_ms);
    number(ink, watch->retry.tries);
}

static void put_queued(const struct ink *ink,
                       const struct hf_own_ticket_queued *queued)
{
    instant(ink, queued->report_at_ms);
    number(ink, queued->blocking);
    ticket(ink, queued->nearest_known, &queued->nearest.id);
    number(ink, queued->nearest_known ? queued->nearest.kind : 0);
    ticket(ink, queued->second_known, &queued->second.id);
    number(ink, queued->second_known ? queued->second.kind : 0);
    number(ink, queued->gone_admits);
    number(ink, queued->stale);
    number(ink, queued->admissible);
    number(ink, queued->waited);
    number(ink, queued->revoked);
}

static void put_held(const struct ink *ink,
                     const struct hf_own_ticket_held *held)
{
    number(ink, held->stale);
    number(ink, held->downgrade_asked);
    instant(ink, held->downgrade_at_ms);
}

static void put_description(const struct ink *ink,
                            const struct hf_ticket_description *description)
{
    number(ink, description != NULL);
    if (description == NULL)
        return;
    number(ink, description->pending);
    number(ink, description->retrying);
    number(ink, description->is_sent);
    number(ink, description->request.busy);
    instant(ink, description->pending ? description->at_ms : 0);
}

static void put_ticket(const struct ink *ink, const struct client *client,
                       const struct hf_own_ticket *own)
{
    number(ink, own != NULL);
    if (own == NULL)
        return;
    hf_imprint_object(ink->imprint, own);
    number(ink, own->state);
    ticket(ink, own->state != HF_OWN_TICKET_UNQUEUED, &own->id);
    number(ink, own->session == client->core.session.number);
    number(ink, own->request.busy);
    number(ink, own->request.busy ? own->request.kind : 0);
    number(ink, own->list_wanted);
    instant(ink, own->list_at_ms);
    number(ink, own->list_retry.tries);
    instant(ink, own->watch_at_ms);
    number(ink, own->watch_at_ms > own->pumped_ms);
    number(ink, own->watch_retry.tries);
    if (own->state == HF_OWN_TICKET_UNQUEUED)
        number(ink, own->in.unqueued.has_room);
    if (own->state == HF_OWN_TICKET_QUEUED)
        put_queued(ink, &own->in.queued);
    if (own->state == HF_OWN_TICKET_HELD)
        put_held(ink, &own->in.held);
    put_watches(ink, &own->watches);
    put_queue_watch(ink, own->queue_watch);
    put_description(ink, own->description);
    put_removal(ink, &own->removal);
}

static void put_own(const struct ink *ink, const struct client *client,
                    const struct hf_acquisition_tickets *own)
{
    instant(ink, own->enqueue_at_ms);
    number(ink, own->enqueue_at_ms > own->pumped_ms);
    number(ink, own->enqueue_retry.tries);
    number(ink, own->turn.failures);
    number(ink, own->downgrading);
    put_ticket(ink, client, own->current);
    for (const struct hf_own_ticket *t = own->earlier; t != NULL; t = t->next)
        put_ticket(ink, client, t);
    put_ticket(ink, client, NULL);
}

static void put_acquisition(const struct ink *ink, const struct client *client,
                            const struct hf_acquisition *a)
{
    number(ink, a->state);
    number(ink, a->status);
    number(ink, a->weight);
    number(ink, a->limit);
    number(ink, a->session == client->core.session.number);
    number(ink, a->notified);
    instant(ink, a->notified ? 0 : a->notify_at_ms);
    number(ink, a->ops == &hf_acquisition_ticket_ops);
    if (a->ops == &hf_acquisition_ticket_ops)
        put_own(ink, client, &a->tickets);
}

static void put_bundle(const struct ink *ink, const struct client *client,
                       const struct hf_multi_lock *bundle)
{
    number(ink, bundle == NULL);
    if (bundle == NULL)
        return;
    number(ink, bundle->current);
    number(ink, bundle->rolling_back);
    number(ink, bundle->revoked);
    number(ink, bundle->deferred.queued);
    for (size_t i = 0; i < bundle->count; i++) {
        hf_imprint_object(ink->imprint, &bundle->children[i]);
        put_acquisition(ink, client, &bundle->children[i]);
    }
}

/* --------------------------------------------------------------- attempt -- */

static void put_attempt(const struct ink *ink, const struct attempt *attempt)
{
    const struct place *place = attempt->place;

    hf_imprint_object(ink->imprint, &attempt->a);
    number(ink, attempt->cancelled);
    number(ink, attempt->release_called);
    number(ink, attempt->granted);
    number(ink, attempt->lost);
    number(ink, attempt->ended);
    number(ink, attempt->released);
    number(ink, attempt->forgotten);
    number(ink, attempt->evicted);
    if (attempt->forgotten)
        return;
    number(ink, attempt->downgrade_called);
    number(ink, attempt->downgrade_waits);
    ticket(ink, attempt->enqueued, &attempt->id);
    for (unsigned i = 0; i < attempt->claim_count; i++)
        ticket(ink, attempt->claims[i].enqueued, &attempt->claims[i].id);
    /* Not .reading: where its value were told, it is wrong whatever it is. */
    instant(ink, attempt->promise_ms);
    /* Tokens rise; should one not, the checks will say so. */
    number(ink, attempt->a.token > place->last_write_token);
    number(ink, attempt->a.token > place->last_read_token);
    put_acquisition(ink, attempt->client, &attempt->a);
    put_bundle(ink, attempt->client, hf_acquisition_multi_lock(&attempt->a));
}

static void put_session(const struct ink *ink, const struct hf_session *session)
{
    number(ink, session->state);
    number(ink, session->closing);
    instant(ink, session->safe_until_ms);
    instant(ink, session->resume_sent_ms);
    instant(ink, session->resume_cap_ms);
    instant(ink, session->prove_at_ms);
    number(ink, hf_session_is_lazy(session));
    number(ink, session->check_pending);
    number(ink, session->prove.busy);
}

static void put_client(struct hf_imprint *imprint, const struct stage *stage,
                       const struct client *client)
{
    struct ink ink = {imprint, hf_sim_client_now_ms(client->engine)};
    unsigned rounds = 0;
    bool idle = client->attempts != NULL && world_idle(client);

    number(&ink, scene_kind(stage->scene,
                            (unsigned)(client - stage->world->clients)));
    number(&ink, scene_weight(stage->scene,
                              (unsigned)(client - stage->world->clients)));
    number(&ink, scene_downgrades(stage->scene,
                                  (unsigned)(client - stage->world->clients)));
    number(&ink, client->alive);
    number(&ink, client->killed);
    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        rounds++;
    number(&ink, rounds);
    if (client->attempts != NULL)
        put_attempt(&ink, client->attempts);
    if (client->alive && !idle)
        put_session(&ink, &client->core.session);
    hf_sim_imprint_engine(imprint, client->engine);
}

/* ----------------------------------------------------------------- order -- */

/* Where it stands in the queues. */
static size_t place_of(const struct world *world, const struct attempt *attempt)
{
    size_t places = 0;

    for (unsigned i = 0; i < world->place_count; i++) {
        struct hf_snapshot queue =
            hf_sim_queue(world->sim, world->places[i].name);
        size_t place = queue.count;

        for (unsigned k = 0; attempt != NULL && k < attempt->claim_count; k++) {
            if (attempt->claims[k].enqueued &&
                attempt->claims[k].place == &world->places[i])
                place = hf_snapshot_find(&queue, &attempt->claims[k].id);
        }
        places = places << 8 | place;
    }
    return places;
}

/* Contenders come in the order of their tickets, and the rest by how far they
 * have come: so one who is in the place of another looks the same.  Where that
 * does not decide, two stages that go on alike may look different, which only
 * means more to explore. */
static size_t rank(const struct stage *stage, const struct client *client)
{
    const struct attempt *attempt = client->attempts;
    unsigned i = (unsigned)(client - stage->world->clients);
    bool has_begun = attempt != NULL;

    return place_of(stage->world, attempt) << 16 |
           (size_t)stage->scene->contenders[i] << 8 |
           (size_t)client->alive << 7 | (size_t)has_begun << 6 |
           (size_t)(has_begun && attempt->forgotten) << 5 |
           (size_t)(has_begun && attempt->granted) << 4 |
           (size_t)(has_begun && attempt->enqueued) << 3;
}

static void order(const struct stage *stage, const struct client **clients)
{
    const struct world *world = stage->world;

    for (unsigned i = 0; i < world->client_count; i++) {
        const struct client *client = &world->clients[i];
        unsigned j = i;

        while (!stage->told_apart && j > 0 &&
               rank(stage, clients[j - 1]) > rank(stage, client)) {
            clients[j] = clients[j - 1];
            j--;
        }
        clients[j] = client;
    }
}

struct digest stage_digest(const struct stage *stage)
{
    static struct hf_imprint imprint; /* too large for a stack */
    const struct client *clients[WORLD_CLIENTS];
    const struct world *world = stage->world;
    uint8_t hash[HF_SHA256_BYTES];
    struct digest digest;

    imprint.used = imprint.ticket_count = imprint.object_count = 0;
    hf_imprint_number(&imprint, stage->mishap_over);
    hf_imprint_number(&imprint, stage->foreign);
    for (unsigned i = 0; i < world->place_count; i++)
        hf_sim_imprint_queue(&imprint, world->sim, world->places[i].name);
    order(stage, clients);
    for (unsigned i = 0; i < world->client_count; i++)
        put_client(&imprint, stage, clients[i]);
    hf_sha256(imprint.bytes, imprint.used, hash);
    memcpy(&digest, hash, sizeof digest);
    return digest;
}
