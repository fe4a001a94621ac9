/* SPDX-License-Identifier: Apache-2.0 */
/* A list that knows its end, and whose nodes know what points to them: so an
 * effect can be taken out of the middle. */
#include "core/effect.h"

#include <assert.h>
#include <stddef.h>

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
