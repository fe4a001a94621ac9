/* SPDX-License-Identifier: Apache-2.0 */
#include "core/description.h"

#include <assert.h>

#include "core/memory.h"
#include "core/plant.h"

void hf_description_init(struct hf_description *description,
                         struct hf_acquisition *acquisition, const char *queue)
{
    *description = (struct hf_description){0};
    description->request.kind = HF_REQUEST_DESCRIBE;
    description->request.queue = queue;
    description->request.weight = 1;
    description->request.acquisition = acquisition;
    description->request.effect = &description->effect;
    description->effect.request = &description->request;
}

void hf_description_want(struct hf_description *description)
{
    if (HF_PLANTED(ASKED_UNSAID))
        return;
    description->wanted = true;
    description->again = false;
    description->at_ms = 0;
    description->retry = (struct hf_retry_state){0};
}

void hf_description_renew(struct hf_description *description)
{
    description->wanted = false;
    description->is_asked = false;
}

bool hf_description_is_due(const struct hf_description *description)
{
    return description->wanted && !description->request.busy;
}

void hf_description_pump(struct hf_description *description,
                         struct hf_effect_queue *effects,
                         const struct hf_ticket_id *ticket,
                         enum hf_ticket_kind kind, const char *payload,
                         uint64_t now_ms)
{
    if (!hf_description_is_due(description) || now_ms < description->at_ms)
        return;
    description->wanted = false;
    if (description->text == NULL)
        description->text = hf_alloc(HF_PAYLOAD_BYTES);
    if (description->text == NULL)
        return; /* nobody but people misses it */
    if (!description->again)
        hf_payload_copy(description->text, payload);
    description->request.payload = description->text;
    description->is_asked = true;
    description->request.ticket = *ticket;
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

void hf_description_failed(struct hf_description *description,
                           const struct hf_ticket_id *ticket, bool again,
                           uint64_t retry_at_ms)
{
    hf_description_done(description);
    if (!again || HF_PLANTED(ASKED_SAID_ONCE) || description->wanted ||
        !hf_ticket_id_equal(&description->request.ticket, ticket))
        return;
    description->wanted = true;
    description->again = true;
    description->at_ms = retry_at_ms;
}

void hf_description_end(struct hf_description *description,
                        struct hf_effect_queue *effects)
{
    description->wanted = false;
    if (!description->effect.queued)
        return;
    hf_effect_remove(effects, &description->effect);
    description->request.busy = false;
}

void hf_description_free(struct hf_description *description)
{
    assert(!description->request.busy);
    hf_free(description->text);
    description->text = NULL;
}
