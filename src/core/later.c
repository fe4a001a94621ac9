/* SPDX-License-Identifier: Apache-2.0 */
#include "core/later.h"

#include <stddef.h>

void hf_later_init(struct hf_later_queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

void hf_later_add(struct hf_later_queue *queue, struct hf_later *later)
{
    if (later->queued)
        return;
    later->queued = true;
    later->next = NULL;
    *queue->end = later;
    queue->end = &later->next;
}

void hf_later_run(struct hf_later_queue *queue, struct hf_core *core)
{
    struct hf_later *later;

    while ((later = queue->first) != NULL) {
        queue->first = later->next;
        if (queue->first == NULL)
            queue->end = &queue->first;
        later->queued = false;
        later->look(core, later);
    }
}
