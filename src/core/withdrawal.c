/* SPDX-License-Identifier: Apache-2.0 */
#include "core/withdrawal.h"

#include <assert.h>

#include "core/plant.h"

void hf_withdrawal_init(struct hf_withdrawal *withdrawal,
                        struct hf_acquisition *acquisition, const char *queue)
{
    *withdrawal = (struct hf_withdrawal){0};
    withdrawal->request.kind = HF_REQUEST_WITHDRAW;
    withdrawal->request.queue = queue;
    withdrawal->request.acquisition = acquisition;
    withdrawal->request.effect = &withdrawal->effect;
    withdrawal->effect.request = &withdrawal->request;
}

void hf_withdrawal_begin(struct hf_withdrawal *withdrawal,
                         const struct hf_ticket_id *ticket,
                         uint64_t appears_until_ms, bool now)
{
    assert(withdrawal->state == HF_WITHDRAWAL_NONE);
    withdrawal->request.ticket = *ticket;
    withdrawal->state = now ? HF_WITHDRAWAL_DUE : HF_WITHDRAWAL_LURKS;
    withdrawal->appears_until_ms = appears_until_ms;
    withdrawal->at_ms = 0;
    withdrawal->found = false;
    withdrawal->retry = (struct hf_retry_state){0};
}

void hf_withdrawal_look(struct hf_withdrawal *withdrawal,
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

void hf_withdrawal_pump(struct hf_withdrawal *withdrawal,
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

void hf_withdrawal_done(struct hf_withdrawal *withdrawal, bool found)
{
    assert(withdrawal->state == HF_WITHDRAWAL_ASKED);
    withdrawal->request.busy = false;
    withdrawal->retry = (struct hf_retry_state){0};
    withdrawal->found = found;
    /* What was found and taken out was all there could be: an enqueue takes
     * effect once. */
    withdrawal->state =
        found || withdrawal->last ? HF_WITHDRAWAL_NONE : HF_WITHDRAWAL_LURKS;
}

void hf_withdrawal_failed(struct hf_withdrawal *withdrawal,
                          uint64_t retry_at_ms)
{
    assert(withdrawal->state == HF_WITHDRAWAL_ASKED);
    withdrawal->request.busy = false;
    withdrawal->at_ms = retry_at_ms;
    withdrawal->state =
        HF_PLANTED(WITHDRAW_ONCE) ? HF_WITHDRAWAL_NONE : HF_WITHDRAWAL_DUE;
}

void hf_withdrawal_clear(struct hf_withdrawal *withdrawal,
                         struct hf_effect_queue *effects)
{
    if (withdrawal->state == HF_WITHDRAWAL_NONE)
        return;
    hf_effect_remove(effects, &withdrawal->effect);
    withdrawal->request.busy = false;
    withdrawal->state = HF_WITHDRAWAL_NONE;
    withdrawal->found = HF_PLANTED(RELEASE_UNCONFIRMED);
}

bool hf_withdrawal_awaits_answer(const struct hf_withdrawal *withdrawal)
{
    return withdrawal->state == HF_WITHDRAWAL_DUE ||
           withdrawal->state == HF_WITHDRAWAL_ASKED;
}

uint64_t hf_withdrawal_wake_at_ms(const struct hf_withdrawal *withdrawal)
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
