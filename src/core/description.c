/* SPDX-License-Identifier: Apache-2.0 */
#include "core/description.h"

#include <assert.h>

#include "core/acquisition.h"
#include "core/memory.h"

static struct hf_description *make(struct hf_acquisition *acquisition)
{
    struct hf_description *made = hf_alloc(sizeof *made);

    if (made == NULL)
        return NULL;
    made->request.kind = HF_REQUEST_DESCRIBE;
    made->request.queue = acquisition->queue;
    made->request.weight = 1;
    made->request.payload = made->text;
    made->request.acquisition = acquisition;
    made->request.effect = &made->effect;
    made->effect.request = &made->request;
    return made;
}

void hf_description_want(struct hf_acquisition *acquisition)
{
    struct hf_description *description = acquisition->description;

    if (description == NULL)
        description = acquisition->description = make(acquisition);
    if (description == NULL)
        return; /* nobody but people misses it */
    description->wanted = true;
    description->again = false;
    description->at_ms = 0;
    description->retry = (struct hf_retry_state){0};
}

void hf_description_renew(struct hf_description *description)
{
    if (description == NULL)
        return;
    description->wanted = false;
    description->is_asked = false;
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
                         const struct hf_ticket_id *ticket,
                         enum hf_ticket_kind kind, const char *payload,
                         uint64_t now_ms)
{
    if (!hf_description_is_due(description) || now_ms < description->at_ms)
        return;
    description->wanted = false;
    if (!description->again)
        hf_payload_copy(description->text, payload);
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
    if (!again || description->wanted ||
        !hf_ticket_id_equal(&description->request.ticket, ticket))
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
