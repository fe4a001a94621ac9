/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wanting the text of a ticket to be written again, requesting that when it is
 * time, and again after a failure.
 */
#include "core/text_update.h"

#include <assert.h>

#include "base/memory.h"
#include "core/own_ticket.h"

/* Allocate one for ${ticket}; NULL if there is no memory. */
static struct hf_text_update *new_update(struct hf_own_ticket *ticket)
{
    struct hf_text_update *update = hf_alloc(sizeof *update);

    if (update == NULL)
        return NULL;
    update->request.kind = HF_REQUEST_DESCRIBE;
    update->request.queue = ticket->request.queue;
    update->request.ticket = ticket->id;
    update->request.weight = 1;
    update->request.payload = update->text;
    update->request.own_ticket = ticket;
    return update;
}

void hf_text_update_want(struct hf_own_ticket *ticket)
{
    struct hf_text_update *update = ticket->text_update;

    if (update == NULL)
        update = ticket->text_update = new_update(ticket);
    if (update == NULL)
        return;
    update->pending = true;
    update->retrying = false;
    update->at_ms = 0;
    update->tries = 0;
}

void hf_text_update_asked(struct hf_own_ticket *ticket)
{
    hf_text_update_want(ticket);
    if (ticket->text_update != NULL)
        ticket->text_update->asked = true;
}

const char *hf_text_update_text(const struct hf_text_update *update,
                                const char *payload)
{
    return update != NULL && update->is_sent ? update->text : payload;
}

bool hf_text_update_is_due(const struct hf_text_update *update)
{
    return update->pending && !update->request.busy;
}

bool hf_text_update_is_busy(const struct hf_text_update *update)
{
    return update != NULL && update->request.busy;
}

void hf_text_update_pump(struct hf_text_update *update,
                         struct hf_effect_queue *effects,
                         enum hf_ticket_kind kind, const char *payload,
                         uint64_t now_ms)
{
    if (!hf_text_update_is_due(update) || now_ms < update->at_ms)
        return;
    assert(!update->request.effect.queued);
    update->pending = false;
    if (!update->retrying)
        hf_payload_copy(update->text, payload);
    update->is_sent = true;
    update->request.ticket_kind = kind;
    update->request.busy = true;
    update->request.engine_data = NULL;
    hf_effect_add_request(effects, &update->request, HF_EFFECT_REQUEST);
}

void hf_text_update_answered(struct hf_text_update *update)
{
    assert(update->request.busy);
    update->request.busy = false;
}

void hf_text_update_failed(struct hf_text_update *update, bool retry,
                           uint64_t retry_at_ms)
{
    hf_text_update_answered(update);
    if (!retry || update->pending)
        return;
    update->pending = true;
    update->retrying = true;
    update->at_ms = retry_at_ms;
}

void hf_text_update_end(struct hf_text_update *update,
                        struct hf_effect_queue *effects)
{
    if (update == NULL)
        return;
    update->pending = false;
    if (!update->request.effect.queued)
        return;
    hf_effect_remove(effects, &update->request.effect);
    update->request.busy = false;
}
