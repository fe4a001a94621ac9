/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer becomes a reader, in its place.  The request is repeated until it is
 * answered, as it may be: an engine that has done it says so again.  Meanwhile
 * nobody watches the ticket here, for it may go under one name and be there
 * under another; whether it still is, is asked again afterwards.
 */
#include "core/acquisition_private.h"

#include <assert.h>

#include "core/core.h"
#include "core/error.h"

void hf_acquisition_downgrade(struct hf_core *core, struct hf_acquisition *a)
{
    /* The promise may have ended with this very step. */
    assert(a->state == STATE(HELD) || a->state == STATE(LOST));
    assert(a->kind == HF_TICKET_WRITE);
    assert(!a->downgrading && a->whole == NULL && a->bundle == NULL);
    a->downgrading = true;
    a->downgrade_asked = false;
    a->downgrade_at_ms = 0;
    a->downgrade_retry = (struct hf_retry_state){0};
    hf_acquisition_pump(core, a);
}

static void tell(struct hf_core *core, struct hf_acquisition *a,
                 hf_status status)
{
    a->downgrading = false;
    a->downgrade_status = status;
    hf_effect_add(&core->effects, &a->waiting_effect, HF_EFFECT_DOWNGRADED);
}

void hf_acquisition_downgrade_ends(struct hf_core *core,
                                   struct hf_acquisition *a)
{
    if (!a->downgrading || a->state == STATE(HELD))
        return;
    hf_acquisition_unask(core, a);
    tell(core, a, a->state == STATE(LOST) ? HF_ELOST : HF_ECANCELLED);
}

void hf_acquisition_downgraded(struct hf_core *core, struct hf_acquisition *a)
{
    if (a->state != STATE(HELD)) /* lost or released meanwhile */
        return;
    a->kind = HF_TICKET_READ;
    tell(core, a, HF_OK);
}

void hf_acquisition_downgrade_failed(struct hf_core *core,
                                     struct hf_acquisition *a,
                                     const struct hf_event *event)
{
    hf_status status = event->as.answer.status;
    struct hf_error why;

    if (a->state != STATE(HELD))
        return;
    if (event->as.answer.failure != HF_FAILURE_FATAL) {
        a->downgrade_at_ms =
            hf_acquisition_again_at_ms(core, &a->downgrade_retry);
    } else if (status == HF_ELOST) {
        /* The ticket is removed as well, should the engine be wrong. */
        hf_acquisition_lose(core, a, true, event->as.answer.text);
    } else { /* a writer still */
        hf_error_set(&why, status, "%s", event->as.answer.text);
        hf_acquisition_keep_story(core, a, &why);
        tell(core, a, status);
    }
}
