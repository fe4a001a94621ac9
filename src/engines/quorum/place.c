/* SPDX-License-Identifier: Apache-2.0 */
/* How a ticket gets its place: proposed, and settled. */
#include <assert.h>

#include "engines/quorum/private.h"

/* So often a number that another ticket has is left for a greater one, by at
 * most so much: two that are after the same one part soon. */
#define SETTLINGS_MAX 16
#define STRIDE_MAX 64

static void settle(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    const struct hf_store_accord accord = {.step = HF_STORE_SETTLE,
                                           .number = op->number};
    const struct hf_store_call call = *op->asked;

    op->settlings++;
    hf_quorum_op_ask(quorum, op, &call, &accord);
}

/* With a number that nobody had before. */
static void propose(struct hf_quorum *quorum, struct hf_quorum_op *op,
                    struct hf_quorum_own *own)
{
    const struct hf_store_accord accord = {.step = HF_STORE_PROPOSE};
    const struct hf_store_call call = *op->asked;

    own->number = op->number = 0;
    op->settlings = 0;
    hf_quorum_op_ask(quorum, op, &call, &accord);
}

/* The ticket that is placed.  It may have been dropped since it was last looked
 * for: withdrawn meanwhile, or told to be gone, and is then as new.  NULL for
 * lack of memory. */
static struct hf_quorum_own *own_of(struct hf_quorum *quorum,
                                    const struct hf_quorum_op *op)
{
    struct hf_quorum_own *own = hf_quorum_own_get(&quorum->owns, op->asked);

    if (own == NULL)
        quorum->starved = true;
    return own;
}

void hf_quorum_place_begin(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    struct hf_quorum_own *own = own_of(quorum, op);

    if (own == NULL)
        return;
    own->dead = own->leaving = false;
    op->number = own->number;
    if (op->number > 0) /* it has its place, if it is there */
        settle(quorum, op);
    else
        propose(quorum, op, own);
}

static const struct hf_ticket *find(const struct hf_store_answer *answer,
                                    const struct hf_ticket_id *id, bool *open)
{
    for (size_t i = 0; i < answer->count; i++) {
        *open = answer->leases[i].proposed;
        if (hf_ticket_id_equal(&answer->tickets[i].id, id))
            return &answer->tickets[i];
    }
    return NULL;
}

static void take_settled(struct hf_quorum_op *op,
                         const struct hf_quorum_part *part,
                         const struct hf_store_answer *answer)
{
    bool proposed = false;
    const struct hf_ticket *ticket = find(answer, &op->ticket, &proposed);

    if (ticket == NULL)
        return; /* it has gone there, or never came */
    if (proposed || ticket->sequence != op->number)
        op->taken = true;
    else
        op->settled |= UINT32_C(1) << part->server;
}

void hf_quorum_place_take(struct hf_quorum *quorum, struct hf_quorum_op *op,
                          const struct hf_quorum_part *part,
                          const struct hf_store_answer *answer)
{
    bool proposed = false;
    const struct hf_ticket *ticket;

    (void)quorum;
    if (op->asked == NULL || part->round != op->round || !part->counts)
        return;
    hf_quorum_tally_take(&op->tally, part->server, answer);
    if (op->settlings > 0) {
        take_settled(op, part, answer);
        return;
    }
    ticket = find(answer, &op->ticket, &proposed);
    if (ticket == NULL)
        op->ok &= ~(UINT32_C(1) << part->server);
    else if (ticket->sequence > op->number)
        op->number = ticket->sequence;
}

/* It came to nothing, or nobody knows to what. */
static void fail(struct hf_quorum *quorum, struct hf_quorum_op *op,
                 struct hf_quorum_own *own)
{
    if (op->touched)
        own->dead = true;
    else
        hf_quorum_own_drop(&quorum->owns, own);
    hf_quorum_op_fail(quorum, op);
}

static void judge_settled(struct hf_quorum *quorum, struct hf_quorum_op *op,
                          struct hf_quorum_own *own)
{
    size_t enough = hf_quorum_majority(quorum);

    if (hf_quorum_count(op->settled) >= enough) {
        own->number = op->number;
        hf_quorum_answer_queue(quorum, op);
    } else if (hf_quorum_op_can_have(op, hf_quorum_count(op->settled),
                                     enough)) {
        return;
    } else if (op->taken && own->number == 0 && op->settlings < SETTLINGS_MAX) {
        op->number += 1 + hf_random_below(&quorum->config.random, STRIDE_MAX);
        settle(quorum, op);
    } else if (own->number > 0) {
        propose(quorum, op, own);
    } else {
        fail(quorum, op, own);
    }
}

void hf_quorum_place_judge(struct hf_quorum *quorum, struct hf_quorum_op *op)
{
    size_t majority = hf_quorum_majority(quorum);
    size_t have = hf_quorum_count(op->ok);
    struct hf_quorum_own *own = own_of(quorum, op);

    if (own == NULL)
        return;
    if (op->settlings > 0)
        judge_settled(quorum, op, own);
    else if (have >= majority)
        settle(quorum, op);
    else if (!hf_quorum_op_can_have(op, have, majority))
        fail(quorum, op, own);
}

/* ------------------------------------------------------------------ mend -- */

static void mend_at(struct hf_quorum *quorum, struct hf_quorum_op *op,
                    size_t server, struct hf_quorum_own *own)
{
    const struct hf_store_accord accord = {.step = HF_STORE_MEND,
                                           .number = own->number};
    const struct hf_store_call call = {
        .kind = HF_STORE_ENQUEUE,
        .session = quorum->session,
        .queue = own->queue,
        .ticket = own->id,
        .ticket_kind = own->kind,
        .weight = own->weight,
        .payload = own->payload,
        .ttl_ms = quorum->config.ttl_ms,
    };

    own->missing &= ~(UINT32_C(1) << server);
    hf_quorum_op_ask_one(quorum, op, server, &call, &accord);
}

void hf_quorum_mend(struct hf_quorum *quorum, uint64_t renewal)
{
    struct hf_quorum_op *op = hf_quorum_op_new(quorum, NULL);
    struct hf_quorum_own *own;

    if (op == NULL)
        return; /* in the next round, then */
    op->kind = HF_STORE_ENQUEUE;
    for (own = hf_quorum_own_first(&quorum->owns); own != NULL;
         own = hf_quorum_own_after(&quorum->owns, own)) {
        if (own->renewal != renewal)
            continue;
        for (size_t i = 0; i < quorum->config.servers; i++) {
            if (own->missing & UINT32_C(1) << i && own->number > 0 &&
                !own->leaving && quorum->servers[i].link == HF_QUORUM_LINKED)
                mend_at(quorum, op, i, own);
        }
    }
    hf_quorum_op_leave(quorum, op);
}
