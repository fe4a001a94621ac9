/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lookout.h"

#include <assert.h>

#include "core/acquisition.h"
#include "core/memory.h"

struct hf_lookout *hf_lookout_new(struct hf_acquisition *acquisition)
{
    struct hf_lookout *made = hf_alloc(sizeof *made);

    if (made == NULL)
        return NULL;
    made->request.kind = HF_REQUEST_LOOK;
    made->request.queue = acquisition->queue;
    made->request.acquisition = acquisition;
    made->request.effect = &made->effect;
    made->effect.request = &made->request;
    if (acquisition->kind == HF_TICKET_LEASE)
        made->request.limit = acquisition->limit;
    if (acquisition->kind == HF_TICKET_MEMBER)
        made->request.ticket_kind = acquisition->kind;
    return made;
}

void hf_lookout_keep(struct hf_lookout *lookout,
                     struct hf_effect_queue *effects, bool may_ask)
{
    if (!may_ask || lookout->state != HF_LOOKOUT_NONE)
        return;
    lookout->state = HF_LOOKOUT_ASKED;
    lookout->request.busy = true;
    lookout->request.engine_data = NULL;
    hf_effect_add(effects, &lookout->effect, HF_EFFECT_REQUEST);
}

static void is_free(struct hf_lookout *lookout)
{
    lookout->request.busy = false;
    lookout->state = HF_LOOKOUT_NONE;
}

void hf_lookout_end(struct hf_lookout *lookout, struct hf_effect_queue *effects)
{
    if (lookout->state == HF_LOOKOUT_NONE ||
        lookout->state == HF_LOOKOUT_FORGOTTEN)
        return;
    if (lookout->effect.queued) { /* the engine has not heard of it */
        hf_effect_remove(effects, &lookout->effect);
        is_free(lookout);
        return;
    }
    lookout->request.busy = false;
    lookout->state = HF_LOOKOUT_FORGOTTEN;
    hf_effect_add(effects, &lookout->effect, HF_EFFECT_FORGET);
}

bool hf_lookout_listed(struct hf_lookout *lookout)
{
    if (lookout->state != HF_LOOKOUT_ASKED)
        return false; /* the FORGET and this have crossed */
    lookout->state = HF_LOOKOUT_WATCHING;
    lookout->request.busy = false;
    lookout->retry = (struct hf_retry_state){0};
    return true;
}

void hf_lookout_ended(struct hf_lookout *lookout,
                      struct hf_effect_queue *effects)
{
    assert(lookout->state != HF_LOOKOUT_NONE);
    hf_effect_remove(effects, &lookout->effect); /* a FORGET it has crossed */
    is_free(lookout);
}

void hf_lookout_taken_back(struct hf_lookout *lookout)
{
    assert(lookout->state == HF_LOOKOUT_FORGOTTEN && !lookout->effect.queued);
    lookout->state = HF_LOOKOUT_NONE;
}

void hf_lookout_clear(struct hf_lookout *lookout,
                      struct hf_effect_queue *effects)
{
    hf_effect_remove(effects, &lookout->effect);
    is_free(lookout);
}
