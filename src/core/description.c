/* SPDX-License-Identifier: Apache-2.0 */
#include "core/description.h"

#include <assert.h>

#include "core/memory.h"
#include "core/own_ticket.h"

static struct hf_description *make(struct hf_own_ticket *ticket)
{
    struct hf_description *made = hf_alloc(sizeof *made);

    if (made == NULL)
        return NULL;
    made->request.kind = HF_REQUEST_DESCRIBE;
    made->request.queue = ticket->ask.queue;
    made->request.ticket = ticket->id;
    made->request.weight = 1;
    made->request.payload = made->text;
    made->request.own = ticket;
    made->request.effect = &made->effect;
    made->effect.request = &made->request;
    return made;
}

void hf_description_want(struct hf_own_ticket *ticket)
{
    struct hf_description *description = ticket->description;

    if (description == NULL)
        description = ticket->description = make(ticket);
    if (description == NULL)
        return; /* nobody but people misses it */
    description->wanted = true;
    description->again = false;
    description->at_ms = 0;
    description->retry = (struct hf_retry_state){0};
}

bool hf_description_is_due(const struct hf_description *description)
{
    return description != NULL && description->wanted &&
           !description->request.busy;
}

bool hf_description_is_busy(const struct hf_description *description)
{
    return description != NULL && description->request.busy;
}

void hf_description_pump(struct hf_description *description,
                         struct hf_effect_queue *effects,
                         enum hf_ticket_kind kind, const char *payload,
                         uint64_t now_ms)
{
    if (!hf_description_is_due(description) || now_ms < description->at_ms)
        return;
    description->wanted = false;
    if (!description->again)
        hf_payload_copy(description->text, payload);
    description->is_asked = true;
    description->request.ticket_kind = kind;
    description->request.busy = true;
    description->request.engine_data = NULL;
    hf_effect_add(effects, &description->effect, HF_EFFECT_REQUEST);
}

void hf_description_done(struct hf_description *description)
{
    assert(description->request.busy);
    description->request.busy = false;
}

void hf_description_failed(struct hf_description *description, bool again,
                           uint64_t retry_at_ms)
{
    hf_description_done(description);
    if (!again || description->wanted)
        return;
    description->wanted = true;
    description->again = true;
    description->at_ms = retry_at_ms;
}

void hf_description_end(struct hf_description *description,
                        struct hf_effect_queue *effects)
{
    if (description == NULL)
        return;
    description->wanted = false;
    if (!description->effect.queued)
        return;
    hf_effect_remove(effects, &description->effect);
    description->request.busy = false;
}
