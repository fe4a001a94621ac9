/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a case run and hashes it.  Everything that the core or a check reads
 * later must be encoded; what is missing makes states equal that have different
 * futures, and some are not explored then.  --check-reduction looks for such
 * mistakes, see test_explore.py. */
#include "simulator/explore/state_digest.h"

#include <string.h>

#include "base/sha256.h"
#include "core/multi_lock.h"
#include "simulator/model/plain_encoder.h"

struct client_encoder {
    struct hf_state_encoder *encoder;
    uint64_t now_ms; /* of the clock of the client that is being encoded */
};

static void put_number(const struct client_encoder *to, uint64_t value)
{
    hf_encode_number(to->encoder, value);
}

static void put_instant(const struct client_encoder *to, uint64_t at_ms)
{
    hf_encode_instant(to->encoder, at_ms, to->now_ms);
}

static void put_ticket_id(const struct client_encoder *to, bool known,
                          const struct hf_ticket_id *id)
{
    put_number(to, known);
    if (known)
        hf_encode_ticket(to->encoder, id);
}

/* ----------------------------------------------------------- acquisition -- */

/* The removal of a ticket that the core still has to do. */
static void put_removal(const struct client_encoder *to,
                        const struct hf_removal *removal)
{
    put_number(to, removal->state);
    put_number(to, removal->found);
    if (removal->state == HF_REMOVAL_NONE)
        return;
    put_instant(to, removal->appears_until_ms);
    put_instant(to, removal->at_ms);
    put_number(to, removal->last);
    put_number(to, removal->tries);
}

static void put_watches(const struct client_encoder *to,
                        const struct hf_ticket_watches *watches)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        const struct hf_ticket_watch *watch = watches->slots[i];

        put_number(to, watch != NULL);
        if (watch == NULL)
            continue;
        put_number(to, watch->state);
        hf_encode_ticket(to->encoder, &watch->request.ticket);
        put_number(to, watch->request.ticket_kind);
        put_number(to, watch->request.busy);
    }
}

static void put_queue_watch(const struct client_encoder *to,
                            const struct hf_ticket_queue_watch *watch)
{
    put_number(to, watch != NULL);
    if (watch == NULL)
        return;
    put_number(to, watch->state);
    put_instant(to, watch->at_ms);
    put_number(to, watch->tries);
}

/* What a ticket in the queue waits for. */
static void put_queued(const struct client_encoder *to,
                       const struct hf_own_ticket_queued *queued)
{
    put_instant(to, queued->report_at_ms);
    put_number(to, queued->blocking);
    put_number(to, queued->position);
    put_number(to, queued->ahead_count);
    for (size_t i = 0; i < queued->ahead_count; i++) {
        put_ticket_id(to, true, &queued->ahead[i].id);
        put_number(to, queued->ahead[i].kind);
    }
    put_number(to, queued->revoked);
}

static void put_held(const struct client_encoder *to,
                     const struct hf_own_ticket_held *held)
{
    put_number(to, held->stale);
    put_number(to, held->downgrade);
    put_instant(to, held->downgrade_at_ms);
}

static void put_text_update(const struct client_encoder *to,
                            const struct hf_text_update *update)
{
    put_number(to, update != NULL);
    if (update == NULL)
        return;
    put_number(to, update->pending);
    put_number(to, update->retrying);
    put_number(to, update->is_sent);
    put_number(to, update->request.busy);
    put_instant(to, update->pending ? update->at_ms : 0);
}

/* A ticket of the core, with everything that its next steps depend on. */
static void put_ticket(const struct client_encoder *to,
                       const struct client *client,
                       const struct hf_own_ticket *own)
{
    put_number(to, own != NULL);
    if (own == NULL)
        return;
    hf_encode_object(to->encoder, own);
    put_number(to, own->state);
    put_ticket_id(to, own->state != HF_OWN_TICKET_UNQUEUED, &own->id);
    put_number(to, own->session == client->core.session.number);
    put_number(to, own->request.busy);
    put_number(to, own->request.busy ? own->request.kind : 0);
    put_number(to, hf_own_ticket_has_question(own));
    put_number(to, hf_own_ticket_has_question(own) ? own->question->kind : 0);
    put_number(to, own->list_wanted);
    put_instant(to, own->list_at_ms);
    put_number(to, own->list_tries);
    put_instant(to, own->watch_at_ms);
    put_number(to, own->watch_at_ms > own->pumped_ms);
    put_number(to, own->watch_tries);
    if (own->state == HF_OWN_TICKET_UNQUEUED)
        put_number(to, own->in.unqueued.has_room);
    if (own->state == HF_OWN_TICKET_QUEUED)
        put_queued(to, &own->in.queued);
    if (own->state == HF_OWN_TICKET_HELD)
        put_held(to, &own->in.held);
    if (own->state >= HF_OWN_TICKET_REMOVING)
        put_removal(to, &own->in.removal);
    put_watches(to, &own->watches);
    put_queue_watch(to, own->queue_watch);
    put_text_update(to, own->text_update);
}

/* All tickets of an acquisition; the last NULL marks the end of the list. */
static void put_own(const struct client_encoder *to,
                    const struct client *client,
                    const struct hf_acquisition_tickets *own)
{
    put_instant(to, own->enqueue_at_ms);
    put_number(to, own->enqueue_at_ms > own->pumped_ms);
    put_number(to, own->enqueue_retry.tries);
    put_number(to, own->turn.failures);
    put_number(to, own->downgrading);
    put_ticket(to, client, own->current);
    for (const struct hf_own_ticket *t = own->earlier; t != NULL; t = t->next)
        put_ticket(to, client, t);
    put_ticket(to, client, NULL);
}

static void put_acquisition(const struct client_encoder *to,
                            const struct client *client,
                            const struct hf_acquisition *a)
{
    put_number(to, a->state);
    put_number(to, a->status);
    put_number(to, a->weight);
    put_number(to, a->limit);
    put_number(to, a->session == client->core.session.number);
    put_instant(to, a->state < HF_ACQUISITION_DRAINING ? a->notify_at_ms : 0);
    put_number(to, a->ops == &hf_acquisition_ticket_ops);
    if (a->ops == &hf_acquisition_ticket_ops)
        put_own(to, client, &a->tickets);
}

/* Which child the multi-lock is at, and all its children. */
static void put_multi_lock(const struct client_encoder *to,
                           const struct client *client,
                           const struct hf_multi_lock *multi_lock)
{
    put_number(to, multi_lock == NULL);
    if (multi_lock == NULL)
        return;
    put_number(to, multi_lock->current);
    put_number(to, multi_lock->rolling_back);
    put_number(to,
               multi_lock->revoked != NULL
                   ? (uint64_t)(multi_lock->revoked - multi_lock->children + 1)
                   : 0);
    put_number(to, multi_lock->deferred.queued);
    for (size_t i = 0; i < multi_lock->count; i++) {
        hf_encode_object(to->encoder, &multi_lock->children[i]);
        put_acquisition(to, client, &multi_lock->children[i]);
    }
}

/* --------------------------------------------------------------- attempt -- */

/* An attempt as the checks know it, and its acquisition. */
static void put_attempt(const struct client_encoder *to,
                        const struct attempt *attempt)
{
    const struct lock *lock = attempt->lock;

    hf_encode_object(to->encoder, &attempt->a);
    put_number(to, attempt->cancelled);
    put_number(to, attempt->release_called);
    put_number(to, attempt->granted);
    put_number(to, attempt->lost);
    put_number(to, attempt->ended);
    put_number(to, attempt->released);
    put_number(to, attempt->forgotten);
    put_number(to, attempt->evicted);
    if (attempt->forgotten)
        return;
    put_number(to, attempt->downgrade_called);
    put_number(to, attempt->downgrade_waits);
    put_ticket_id(to, attempt->enqueued, &attempt->id);
    for (unsigned i = 0; i < attempt->item_count; i++)
        put_ticket_id(to, attempt->items[i].enqueued, &attempt->items[i].id);
    /* Not .reading: if a value of it were returned, it would be wrong in any
     * state. */
    put_instant(to, attempt->safe_until_ms);
    /* Tokens rise; the checks report one that does not. */
    put_number(to, attempt->a.token > lock->last_write_token);
    put_number(to, attempt->a.token > lock->last_read_token);
    put_acquisition(to, attempt->client, &attempt->a);
    put_multi_lock(to, attempt->client, hf_acquisition_multi_lock(&attempt->a));
}

static void put_session(const struct client_encoder *to,
                        const struct hf_session *session)
{
    put_number(to, session->state);
    put_number(to, session->closing);
    put_instant(to, session->safe_until_ms);
    put_instant(to, session->resume_sent_ms);
    put_instant(to, session->resume_cap_ms);
    put_instant(to, session->prove_at_ms);
    put_number(to, hf_session_is_lazy(session));
    put_number(to, session->check_pending);
    put_number(to, session->prove.busy);
}

/* Everything about one client: what it acquires, its attempt, its session, its
 * engine. */
static void put_client(struct hf_state_encoder *encoder,
                       const struct case_run *case_run,
                       const struct client *client)
{
    struct client_encoder to = {encoder, hf_sim_client_now_ms(client->engine)};
    unsigned repeats = 0;
    bool idle = client->attempts != NULL && cluster_is_idle(client);

    put_number(&to, explore_case_kind(
                        case_run->explore_case,
                        (unsigned)(client - case_run->cluster->clients)));
    put_number(&to, explore_case_weight(
                        case_run->explore_case,
                        (unsigned)(client - case_run->cluster->clients)));
    put_number(&to, explore_case_downgrades(
                        case_run->explore_case,
                        (unsigned)(client - case_run->cluster->clients)));
    put_number(&to, client->alive);
    put_number(&to, client->killed);
    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        repeats++;
    put_number(&to, repeats);
    if (client->attempts != NULL)
        put_attempt(&to, client->attempts);
    if (client->alive && !idle)
        put_session(&to, &client->core.session);
    hf_sim_encode_engine(encoder, client->engine);
}

/* ----------------------------------------------------------------- order -- */

/* Its positions in all queues, a byte for each. */
static size_t positions_of(const struct cluster *cluster,
                           const struct attempt *attempt)
{
    size_t positions = 0;

    for (unsigned i = 0; i < cluster->lock_count; i++) {
        struct hf_snapshot queue =
            hf_sim_queue(cluster->sim, cluster->locks[i].name);
        size_t position = queue.count;

        for (unsigned k = 0; attempt != NULL && k < attempt->item_count; k++) {
            if (attempt->items[k].enqueued &&
                attempt->items[k].lock == &cluster->locks[i])
                position = hf_snapshot_find(&queue, &attempt->items[k].id);
        }
        positions = positions << 8 | position;
    }
    return positions;
}

/* Clients are encoded in the order of their tickets, and others by how far they
 * have come, so that two clients of one kind that changed places look the same.
 * Where this does not decide, equal states may get two digests, which only
 * makes more states to explore. */
static size_t rank(const struct case_run *case_run, const struct client *client)
{
    const struct attempt *attempt = client->attempts;
    unsigned i = (unsigned)(client - case_run->cluster->clients);
    bool has_begun = attempt != NULL;

    return positions_of(case_run->cluster, attempt) << 16 |
           (size_t)case_run->explore_case->contenders[i] << 8 |
           (size_t)client->alive << 7 | (size_t)has_begun << 6 |
           (size_t)(has_begun && attempt->forgotten) << 5 |
           (size_t)(has_begun && attempt->granted) << 4 |
           (size_t)(has_begun && attempt->enqueued) << 3;
}

/* Insertion sort by rank(), so that equal ranks keep their order. */
static void sort_clients(const struct case_run *case_run,
                         const struct client **clients)
{
    const struct cluster *cluster = case_run->cluster;

    for (unsigned i = 0; i < cluster->client_count; i++) {
        const struct client *client = &cluster->clients[i];
        unsigned j = i;

        while (!case_run->no_symmetry && j > 0 &&
               rank(case_run, clients[j - 1]) > rank(case_run, client)) {
            clients[j] = clients[j - 1];
            j--;
        }
        clients[j] = client;
    }
}

/* The first 16 bytes of SHA-256, which makes equal digests of different states
 * unlikely enough. */
struct digest case_run_digest(const struct case_run *case_run)
{
    static struct hf_state_encoder encoder; /* too large for a stack */
    const struct client *clients[CLUSTER_CLIENTS_MAX];
    const struct cluster *cluster = case_run->cluster;
    uint8_t hash[HF_SHA256_BYTES];
    struct digest digest;

    encoder.used = encoder.ticket_count = encoder.object_count = 0;
    hf_encode_number(&encoder, case_run->fault_done);
    hf_encode_number(&encoder, case_run->other_steps);
    for (unsigned i = 0; i < cluster->lock_count; i++)
        hf_sim_encode_queue(&encoder, cluster->sim, cluster->locks[i].name);
    sort_clients(case_run, clients);
    for (unsigned i = 0; i < cluster->client_count; i++)
        put_client(&encoder, case_run, clients[i]);
    hf_sha256(encoder.bytes, encoder.used, hash);
    memcpy(&digest, hash, sizeof digest);
    return digest;
}
