/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/renewal.h"

#include <assert.h>
#include <string.h>

#include "core/instant.h"
#include "core/memory.h"
#include "core/plant.h"
#include "engines/leased/private.h"

/* Every five sixteenths of the ttl, counted from sending: two may fail before
 * a session is in danger.  The core asks a little more often while a grant
 * depends on it, so that then these are those.  After a failure a sixteenth. */
#define SIXTEENTHS 5

/* But of a long lease sooner: a link that is dead is to be noticed. */
#define RENEWAL_MOST_MS UINT64_C(30000)

static uint64_t share_ms(const struct hf_leased *leased, uint64_t sixteenths)
{
    return hf_later_ms(leased->config.ttl_ms * sixteenths / 16, 1);
}

/* ---------------------------------------------------------------- stakes -- */

/* What the session has is copied, since it may change before the answer: the
 * stakes, the tickets and the names of queues in one piece of memory. */
struct stakes {
    size_t count;
    size_t tickets;
    size_t text;
};

static bool is_stake(const struct hf_leased_queue *queue)
{
    return queue->owns != NULL || queue->looks != NULL;
}

static struct stakes measure(const struct hf_leased *leased)
{
    struct stakes stakes = {.tickets = leased->queues.own_count};
    const struct hf_leased_queue *queue;

    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = hf_leased_queue_after(queue)) {
        if (!is_stake(queue))
            continue;
        stakes.count++;
        stakes.text += strlen(queue->name) + 1;
    }
    return stakes;
}

static size_t copy_tickets(struct hf_ticket_id *to,
                           const struct hf_leased_queue *queue)
{
    size_t count = 0;

    for (const struct hf_leased_own *own = queue->owns; own != NULL;
         own = own->next_in_queue)
        to[count++] = own->id;
    return count;
}

/* Copy ${text} to ${to}, and move that behind it. */
static const char *copy_text(char **to, const char *text)
{
    size_t bytes = strlen(text) + 1;
    const char *copy = memcpy(*to, text, bytes);

    *to += bytes;
    return copy;
}

/* False for lack of memory. */
static bool take_stakes(const struct hf_leased *leased, struct hf_leased_op *op)
{
    struct stakes stakes = measure(leased);
    const struct hf_leased_queue *queue;
    struct hf_store_stake *stake;
    struct hf_ticket_id *ids;
    char *text;

    op->memory = stake =
        hf_alloc(stakes.count * sizeof *stake + stakes.tickets * sizeof *ids +
                 stakes.text + HF_STORE_SESSION_BYTES);
    if (stake == NULL)
        return false;
    op->call.stakes = stake;
    op->call.stake_count = stakes.count;
    ids = (struct hf_ticket_id *)(stake + stakes.count);
    text = (char *)(ids + stakes.tickets);
    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = hf_leased_queue_after(queue)) {
        if (!is_stake(queue))
            continue;
        stake->queue = copy_text(&text, queue->name);
        stake->tickets = ids;
        stake->count = copy_tickets(ids, queue);
        stake->looks = queue->looks != NULL;
        ids += stake->count;
        stake++;
    }
    /* It may be said when there is another session. */
    op->call.session = copy_text(&text, leased->session.name);
    return true;
}

static struct hf_leased_op *stakes_new(struct hf_leased *leased,
                                       enum hf_store_call_kind kind)
{
    struct hf_leased_op *op = hf_leased_op_new(leased, kind, NULL, NULL);

    if (op != NULL && !take_stakes(leased, op)) {
        hf_leased_op_free(leased, op);
        op = NULL;
    }
    return op;
}

struct hf_leased_op *hf_leased_goodbye_new(struct hf_leased *leased)
{
    return stakes_new(leased, HF_STORE_GOODBYE);
}

/* ---------------------------------------------------------------- answer -- */

/* Tell who asked for it. */
static void fail_prove(struct hf_leased *leased,
                       const struct hf_store_answer *answer)
{
    struct hf_request *prove = leased->renewal.prove;

    leased->renewal.prove = NULL;
    if (prove != NULL)
        hf_leased_fail_as(leased, prove, answer);
}

static void fail_unseen(struct hf_leased *leased)
{
    struct hf_request *prove = leased->renewal.prove;

    leased->renewal.prove = NULL;
    if (prove != NULL)
        hf_leased_fail(leased, prove, HF_FAILURE_RETRY, HF_ELOST,
                       "a ticket of this session has run out");
}

static void tell_proven(struct hf_leased *leased, uint64_t anchor_ms)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    event.as.answer.request = leased->renewal.prove;
    event.as.answer.anchor_ms = anchor_ms;
    leased->renewal.prove = NULL;
    hf_leased_tell(leased, &event);
}

/* Its owner does not watch it: he is about to, or asks to become a reader and
 * watches neither as a writer any more nor as a reader yet. */
static bool is_unseen(const struct hf_leased *leased,
                      const struct hf_ticket_id *id)
{
    const struct hf_leased_own *own = hf_leased_own_find(leased, id);

    if (hf_leased_ops_has(leased, HF_STORE_DOWNGRADE, id))
        return true;
    return own != NULL && own->state == HF_LEASED_OWN_THERE && !own->forsaken &&
           !hf_leased_watched_by_owner(own);
}

/* Has one run out of which nobody will be told now? */
static bool loses_unseen(const struct hf_leased *leased,
                         const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->leases[i].missing &&
            is_unseen(leased, &answer->tickets[i].id))
            return true;
    }
    return false;
}

/* Those that an ENQUEUE has not been answered for may well be missing. */
static void take_news(struct hf_leased *leased,
                      const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        const struct hf_ticket_id *id = &answer->tickets[i].id;
        const struct hf_leased_own *own = hf_leased_own_find(leased, id);

        if (own == NULL || own->state != HF_LEASED_OWN_THERE)
            continue;
        if (answer->leases[i].missing)
            hf_leased_ticket_gone(leased, own->queue->name, id);
        else
            hf_leased_watches_revoked(leased, id, answer->leases[i].revoked);
    }
}

static bool is_missing(const struct hf_store_answer *answer,
                       const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->leases[i].missing &&
            hf_ticket_id_equal(&answer->tickets[i].id, id))
            return true;
    }
    return false;
}

/* Those whose ENQUEUE got no answer and that the renewal has found are there to
 * stay: it is final, and so is what it was done behind. */
static void confirm_unsure(struct hf_leased *leased,
                           const struct hf_leased_op *op,
                           const struct hf_store_answer *answer)
{
    for (size_t s = 0; s < op->call.stake_count; s++) {
        const struct hf_store_stake *stake = &op->call.stakes[s];

        for (size_t i = 0; i < stake->count; i++) {
            struct hf_leased_own *own =
                hf_leased_own_find(leased, &stake->tickets[i]);

            if (own != NULL && own->state == HF_LEASED_OWN_UNSURE &&
                !is_missing(answer, &own->id))
                own->state = HF_LEASED_OWN_THERE;
        }
    }
}

static void renewed(struct hf_leased *leased, struct hf_leased_op *op,
                    const struct hf_store_answer *answer)
{
    struct hf_leased_renewal *renewal = &leased->renewal;
    uint64_t anchor_ms;
    bool unseen;

    renewal->under_way = false;
    renewal->at_ms = HF_FOREVER;
    if (answer == NULL) {
        fail_prove(leased, NULL);
        return;
    }
    if (!answer->ok) {
        renewal->at_ms = hf_after_ms(leased->now_ms, share_ms(leased, 1));
        fail_prove(leased, answer);
        hf_leased_session_not_renewed(leased, answer);
        return;
    }
    renewal->at_ms =
        hf_after_ms(op->sent_at_ms, hf_earlier_ms(share_ms(leased, SIXTEENTHS),
                                                  RENEWAL_MOST_MS));
    anchor_ms =
        HF_PLANTED(LEASED_SAFE_FROM_ANSWER) ? leased->now_ms : op->sent_at_ms;
    /* Whoever has lost his ticket is not promised anything first, and by this
     * renewal nothing at all where he will only hear of it later. */
    unseen = loses_unseen(leased, answer);
    confirm_unsure(leased, op, answer);
    take_news(leased, answer);
    if (unseen) {
        fail_unseen(leased);
        hf_leased_session_confirm(leased);
        return;
    }
    if (leased->session.state == HF_LEASED_ENDED)
        return; /* somebody who heard of it wanted no more */
    if (hf_leased_session_renewed(leased, anchor_ms))
        tell_proven(leased, anchor_ms);
}

void hf_leased_renewal_clear(struct hf_leased *leased)
{
    leased->renewal.at_ms = HF_FOREVER;
    fail_prove(leased, NULL);
}

/* ------------------------------------------------------------------- ask -- */

void hf_leased_renew(struct hf_leased *leased)
{
    struct hf_leased_renewal *renewal = &leased->renewal;
    struct hf_leased_op *op;

    if (renewal->under_way)
        return;
    op = stakes_new(leased, HF_STORE_RENEW);
    if (op == NULL) {
        renewal->at_ms = hf_after_ms(leased->now_ms, share_ms(leased, 1));
        return;
    }
    renewal->under_way = true;
    renewal->at_ms = HF_FOREVER;
    hf_leased_op_begin(leased, op, renewed);
}

void hf_leased_prove(struct hf_leased *leased, struct hf_request *request)
{
    assert(leased->renewal.prove == NULL);
    hf_leased_renew(leased);
    if (leased->renewal.under_way)
        leased->renewal.prove = request;
    else
        hf_leased_fail_memory(leased, request);
}

void hf_leased_renewal_tick(struct hf_leased *leased)
{
    if (leased->now_ms >= leased->renewal.at_ms)
        hf_leased_renew(leased);
}
