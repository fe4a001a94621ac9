/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ticket_description.h"

#include <assert.h>

#include "base/memory.h"
#include "core/own_ticket.h"

/* Allocate one for ${ticket}; NULL if there is no memory. */
static struct hf_ticket_description *
new_description(struct hf_own_ticket *ticket)
{
    struct hf_ticket_description *description = hf_alloc(sizeof *description);

    if (description == NULL)
        return NULL;
    description->request.kind = HF_REQUEST_DESCRIBE;
    description->request.queue = ticket->request.queue;
    description->request.ticket = ticket->id;
    description->request.weight = 1;
    description->request.payload = description->text;
    description->request.own_ticket = ticket;
    description->request.effect = &description->effect;
    description->effect.request = &description->request;
    return description;
}

void hf_ticket_description_want(struct hf_own_ticket *ticket)
{
    struct hf_ticket_description *description = ticket->description;

    if (description == NULL)
        description = ticket->description = new_description(ticket);
    if (description == NULL)
        return;
    description->pending = true;
    description->retrying = false;
    description->at_ms = 0;
    description->retry = (struct hf_retry_state){0};
}

void hf_ticket_description_asked(struct hf_own_ticket *ticket)
{
    hf_ticket_description_want(ticket);
    if (ticket->description != NULL)
        ticket->description->asked = true;
}

const char *
hf_ticket_description_text(const struct hf_ticket_description *description,
                           const char *payload)
{
    return description != NULL && description->is_sent ? description->text
                                                       : payload;
}

bool hf_ticket_description_is_due(
    const struct hf_ticket_description *description)
{
    return description != NULL && description->pending &&
           !description->request.busy;
}

bool hf_ticket_description_is_busy(
    const struct hf_ticket_description *description)
{
    return description != NULL && description->request.busy;
}

void hf_ticket_description_pump(struct hf_ticket_description *description,
                                struct hf_effect_queue *effects,
                                enum hf_ticket_kind kind, const char *payload,
                                uint64_t now_ms)
{
    if (!hf_ticket_description_is_due(description) ||
        now_ms < description->at_ms)
        return;
    description->pending = false;
    if (!description->retrying)
        hf_payload_copy(description->text, payload);
    description->is_sent = true;
    description->request.ticket_kind = kind;
    description->request.busy = true;
    description->request.engine_data = NULL;
    hf_effect_add(effects, &description->effect, HF_EFFECT_REQUEST);
}

void hf_ticket_description_answered(struct hf_ticket_description *description)
{
    assert(description->request.busy);
    description->request.busy = false;
}

void hf_ticket_description_failed(struct hf_ticket_description *description,
                                  bool retry, uint64_t retry_at_ms)
{
    hf_ticket_description_answered(description);
    if (!retry || description->pending)
        return;
    description->pending = true;
    description->retrying = true;
    description->at_ms = retry_at_ms;
}

void hf_ticket_description_end(struct hf_ticket_description *description,
                               struct hf_effect_queue *effects)
{
    if (description == NULL)
        return;
    description->pending = false;
    if (!description->effect.queued)
        return;
    hf_effect_remove(effects, &description->effect);
    description->request.busy = false;
}
