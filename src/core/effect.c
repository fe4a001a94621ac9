/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of effects, and what an acquisition reports to its user, which
 * becomes effects.  The queue is a list that knows its end, and whose nodes
 * know what points to them: so an effect can be taken out of the middle.
 */
#include "core/effect.h"

#include <assert.h>
#include <stddef.h>

#include "core/acquisition.h"
#include "core/core_state.h"

/* ----------------------------------------------------------- the queue -- */

void hf_effect_queue_init(struct hf_effect_queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

void hf_effect_add(struct hf_effect_queue *queue, struct hf_effect *effect,
                   enum hf_effect_kind kind)
{
    assert(!effect->queued);
    effect->kind = kind;
    effect->queued = true;
    effect->next = NULL;
    effect->link = queue->end;
    *queue->end = effect;
    queue->end = &effect->next;
}

void hf_effect_add_request(struct hf_effect_queue *queue,
                           struct hf_request *request, enum hf_effect_kind kind)
{
    request->effect.request = request;
    hf_effect_add(queue, &request->effect, kind);
}

void hf_effect_remove(struct hf_effect_queue *queue, struct hf_effect *effect)
{
    if (!effect->queued)
        return;
    assert(*effect->link == effect);
    *effect->link = effect->next;
    if (effect->next != NULL)
        effect->next->link = effect->link;
    else
        queue->end = effect->link;
    effect->next = NULL;
    effect->link = NULL;
    effect->queued = false;
}

struct hf_effect *hf_effect_take(struct hf_effect_queue *queue)
{
    struct hf_effect *effect = queue->first;

    if (effect != NULL)
        hf_effect_remove(queue, effect);
    return effect;
}

/* ------------------------------------------- the acquisitions of a user -- */

/* The user as the listener of an acquisition: each report becomes an effect.
 * WAITING is queued at most once; .ahead and .holder are read when it is
 * carried out, so it is never out of date. */
static void user_waiting(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == HF_ACQUISITION_WAITING);
    if (!a->user.waiting.queued)
        hf_effect_add(&core->effects, &a->user.waiting, HF_EFFECT_WAITING);
}

static void user_granted(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == HF_ACQUISITION_HELD);
    hf_effect_add(&core->effects, &a->user.answer, HF_EFFECT_GRANTED);
}

static void user_revoked(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == HF_ACQUISITION_HELD);
    if (!a->user.loss.queued)
        hf_effect_add(&core->effects, &a->user.loss, HF_EFFECT_REVOKED);
}

/* LOST replaces a REVOKED that was not carried out. */
static void user_lost(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == HF_ACQUISITION_LOST);
    hf_effect_remove(&core->effects, &a->user.loss); /* REVOKED */
    hf_effect_add(&core->effects, &a->user.loss, HF_EFFECT_LOST);
}

static void user_ended(struct hf_core *core, struct hf_acquisition *a,
                       enum hf_effect_kind how)
{
    assert(a->state == HF_ACQUISITION_DRAINING);
    hf_effect_add(&core->effects, &a->user.answer, how);
}

static void user_done(struct hf_core *core, struct hf_acquisition *a)
{
    assert(a->state == HF_ACQUISITION_DONE);
    hf_effect_add(&core->effects, &a->user.done, HF_EFFECT_ACQUISITION_DONE);
}

static bool user_is_relied_on(const struct hf_acquisition *a)
{
    (void)a;
    return true;
}

const struct hf_acquisition_listener hf_acquisition_user_listener = {
    .waiting = user_waiting,
    .granted = user_granted,
    .revoked = user_revoked,
    .lost = user_lost,
    .ended = user_ended,
    .done = user_done,
    .is_relied_on = user_is_relied_on,
};
