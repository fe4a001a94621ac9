/* SPDX-License-Identifier: Apache-2.0 */
#include "core/withdrawal.h"

#include <assert.h>

#include "core/acquisition.h"
#include "core/instant.h"
#include "core/memory.h"

/* ------------------------------------------------------------------- one -- */

static struct hf_withdrawal *make(struct hf_acquisition *acquisition)
{
    struct hf_withdrawal *made = hf_alloc(sizeof *made);

    if (made == NULL)
        return NULL;
    made->request.kind = HF_REQUEST_WITHDRAW;
    made->request.queue = acquisition->queue;
    made->request.weight = acquisition->ask.weight;
    made->request.acquisition = acquisition;
    made->request.effect = &made->effect;
    made->effect.request = &made->request;
    return made;
}

static void begin(struct hf_withdrawal *withdrawal,
                  const struct hf_ticket_id *ticket, uint64_t appears_until_ms,
                  bool now)
{
    assert(withdrawal->state == HF_WITHDRAWAL_NONE);
    withdrawal->request.ticket = *ticket;
    withdrawal->state = now ? HF_WITHDRAWAL_DUE : HF_WITHDRAWAL_LURKS;
    withdrawal->appears_until_ms = appears_until_ms;
    withdrawal->at_ms = 0;
    withdrawal->found = false;
    withdrawal->retry = (struct hf_retry_state){0};
}

static void look(struct hf_withdrawal *withdrawal,
                 const struct hf_snapshot *snapshot)
{
    if (withdrawal->state != HF_WITHDRAWAL_LURKS)
        return;
    if (hf_snapshot_find(snapshot, &withdrawal->request.ticket) ==
        snapshot->count)
        return;
    withdrawal->state = HF_WITHDRAWAL_DUE;
    withdrawal->at_ms = 0;
}

static void pump(struct hf_withdrawal *withdrawal,
                 struct hf_effect_queue *effects, uint64_t now_ms)
{
    bool last = now_ms >= withdrawal->appears_until_ms;

    if (withdrawal->state == HF_WITHDRAWAL_LURKS && last)
        withdrawal->state = HF_WITHDRAWAL_DUE;
    if (withdrawal->state != HF_WITHDRAWAL_DUE || now_ms < withdrawal->at_ms)
        return;
    withdrawal->state = HF_WITHDRAWAL_ASKED;
    withdrawal->last = last;
    withdrawal->request.busy = true;
    withdrawal->request.engine_data = NULL;
    hf_effect_add(effects, &withdrawal->effect, HF_EFFECT_REQUEST);
}

static void clear(struct hf_withdrawal *withdrawal,
                  struct hf_effect_queue *effects)
{
    if (withdrawal->state == HF_WITHDRAWAL_NONE)
        return;
    hf_effect_remove(effects, &withdrawal->effect);
    withdrawal->request.busy = false;
    withdrawal->state = HF_WITHDRAWAL_NONE;
    withdrawal->found = false;
}

static bool awaits_answer(const struct hf_withdrawal *withdrawal)
{
    return withdrawal->state == HF_WITHDRAWAL_DUE ||
           withdrawal->state == HF_WITHDRAWAL_ASKED;
}

static uint64_t wake_at_ms(const struct hf_withdrawal *withdrawal)
{
    switch (withdrawal->state) {
    case HF_WITHDRAWAL_LURKS:
        return withdrawal->appears_until_ms;
    case HF_WITHDRAWAL_DUE:
        return withdrawal->at_ms;
    case HF_WITHDRAWAL_NONE:
    case HF_WITHDRAWAL_ASKED:
        break;
    }
    return HF_FOREVER;
}

/* ------------------------------------------------------------------- all -- */

bool hf_withdrawals_reserve(struct hf_acquisition *acquisition)
{
    struct hf_withdrawals *withdrawals = &acquisition->withdrawals;

    if (withdrawals->own == NULL)
        withdrawals->own = make(acquisition);
    return withdrawals->own != NULL;
}

void hf_withdrawals_begin_own(struct hf_withdrawals *withdrawals,
                              const struct hf_ticket_id *ticket)
{
    begin(withdrawals->own, ticket, 0, true);
}

void hf_withdrawals_abandon(struct hf_withdrawals *withdrawals,
                            const struct hf_ticket_id *ticket,
                            uint64_t appears_until_ms, bool now)
{
    struct hf_withdrawal **link = &withdrawals->abandoned;

    while (*link != NULL)
        link = &(*link)->next;
    *link = withdrawals->own;
    withdrawals->own = NULL;
    (*link)->request.weight = 0; /* it does not matter how many it had */
    begin(*link, ticket, appears_until_ms, now);
}

void hf_withdrawals_look(struct hf_withdrawals *withdrawals,
                         const struct hf_snapshot *snapshot)
{
    for (struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = w->next)
        look(w, snapshot);
}

void hf_withdrawals_pump(struct hf_withdrawals *withdrawals,
                         struct hf_effect_queue *effects, uint64_t now_ms)
{
    if (withdrawals->own != NULL)
        pump(withdrawals->own, effects, now_ms);
    for (struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = w->next)
        pump(w, effects, now_ms);
}

struct hf_withdrawal *
hf_withdrawals_find(const struct hf_withdrawals *withdrawals,
                    const struct hf_request *request)
{
    if (withdrawals->own != NULL && request == &withdrawals->own->request)
        return withdrawals->own;
    for (struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = w->next) {
        if (request == &w->request)
            return w;
    }
    assert(false && "a withdraw that is none of this acquisition's");
    return NULL;
}

/* Earlier tickets of which nothing is left. */
static void free_ended(struct hf_withdrawals *withdrawals)
{
    struct hf_withdrawal **link = &withdrawals->abandoned, *ended;

    while (*link != NULL) {
        if ((*link)->state != HF_WITHDRAWAL_NONE) {
            link = &(*link)->next;
            continue;
        }
        ended = *link;
        *link = ended->next;
        hf_free(ended);
    }
}

void hf_withdrawals_done(struct hf_withdrawals *withdrawals,
                         struct hf_withdrawal *withdrawal, bool found)
{
    assert(withdrawal->state == HF_WITHDRAWAL_ASKED);
    withdrawal->request.busy = false;
    withdrawal->retry = (struct hf_retry_state){0};
    withdrawal->found = found;
    /* What was found and taken out was all there could be: an enqueue takes
     * effect once. */
    withdrawal->state =
        found || withdrawal->last ? HF_WITHDRAWAL_NONE : HF_WITHDRAWAL_LURKS;
    free_ended(withdrawals);
}

void hf_withdrawals_failed(struct hf_withdrawals *withdrawals,
                           struct hf_withdrawal *withdrawal,
                           uint64_t retry_at_ms)
{
    assert(withdrawal->state == HF_WITHDRAWAL_ASKED);
    withdrawal->request.busy = false;
    withdrawal->at_ms = retry_at_ms;
    withdrawal->state = HF_WITHDRAWAL_DUE;
    free_ended(withdrawals);
}

void hf_withdrawals_clear(struct hf_withdrawals *withdrawals,
                          struct hf_effect_queue *effects)
{
    if (withdrawals->own != NULL)
        clear(withdrawals->own, effects);
    for (struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = w->next)
        clear(w, effects);
    free_ended(withdrawals);
}

void hf_withdrawals_free(struct hf_withdrawals *withdrawals)
{
    struct hf_withdrawal *next;

    hf_free(withdrawals->own);
    for (struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = next) {
        next = w->next;
        hf_free(w);
    }
    *withdrawals = (struct hf_withdrawals){NULL, NULL};
}

bool hf_withdrawals_own_lurks(const struct hf_withdrawals *withdrawals)
{
    return withdrawals->own != NULL &&
           withdrawals->own->state != HF_WITHDRAWAL_NONE;
}

bool hf_withdrawals_own_found(const struct hf_withdrawals *withdrawals)
{
    return withdrawals->own != NULL && withdrawals->own->found;
}

size_t hf_withdrawals_count_abandoned(const struct hf_withdrawals *withdrawals)
{
    size_t count = 0;

    for (const struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = w->next)
        count++;
    return count;
}

bool hf_withdrawals_await_answer(const struct hf_withdrawals *withdrawals)
{
    bool awaits = withdrawals->own != NULL && awaits_answer(withdrawals->own);

    for (const struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = w->next)
        awaits |= awaits_answer(w);
    return awaits;
}

uint64_t hf_withdrawals_wake_at_ms(const struct hf_withdrawals *withdrawals)
{
    uint64_t at_ms =
        withdrawals->own != NULL ? wake_at_ms(withdrawals->own) : HF_FOREVER;

    for (const struct hf_withdrawal *w = withdrawals->abandoned; w != NULL;
         w = w->next)
        at_ms = hf_earlier_ms(at_ms, wake_at_ms(w));
    return at_ms;
}
