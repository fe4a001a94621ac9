/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue_watch.h"

#include <assert.h>

#include "base/memory.h"
#include "core/own_ticket.h"

struct hf_queue_watch *hf_queue_watch_new(struct hf_own_ticket *ticket)
{
    struct hf_queue_watch *watch = hf_alloc(sizeof *watch);

    if (watch == NULL)
        return NULL;
    watch->request = (struct hf_request){
        .kind = HF_REQUEST_WATCH_QUEUE,
        .ticket_kind = ticket->request.ticket_kind == HF_TICKET_PARTICIPANT
                           ? HF_TICKET_PARTICIPANT
                           : 0,
        .limit = ticket->request.ticket_kind == HF_TICKET_LEASE
                     ? ticket->request.limit
                     : 0,
        .queue = ticket->request.queue,
        .own_ticket = ticket,
        .effect = &watch->effect,
    };
    watch->effect.request = &watch->request;
    return watch;
}

void hf_queue_watch_start(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects, bool may_ask)
{
    if (!may_ask || watch->state != HF_QUEUE_WATCH_NONE)
        return;
    watch->state = HF_QUEUE_WATCH_ASKED;
    watch->request.busy = true;
    watch->request.engine_data = NULL;
    hf_effect_add(effects, &watch->effect, HF_EFFECT_REQUEST);
}

/* There is no watch, and the request can be used again. */
static void set_free(struct hf_queue_watch *watch)
{
    watch->request.busy = false;
    watch->state = HF_QUEUE_WATCH_NONE;
}

void hf_queue_watch_stop(struct hf_queue_watch *watch,
                         struct hf_effect_queue *effects)
{
    if (watch->state == HF_QUEUE_WATCH_NONE ||
        watch->state == HF_QUEUE_WATCH_ENDING)
        return;
    if (watch->effect.queued) { /* the engine has not seen it */
        hf_effect_remove(effects, &watch->effect);
        set_free(watch);
        return;
    }
    watch->request.busy = false;
    watch->state = HF_QUEUE_WATCH_ENDING;
    hf_effect_add(effects, &watch->effect, HF_EFFECT_UNWATCH);
}

bool hf_queue_watch_listed(struct hf_queue_watch *watch)
{
    if (watch->state != HF_QUEUE_WATCH_ASKED)
        return false; /* it has crossed the UNWATCH */
    watch->state = HF_QUEUE_WATCH_WATCHING;
    watch->request.busy = false;
    watch->retry = (struct hf_retry_state){0};
    return true;
}

void hf_queue_watch_ended(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects)
{
    assert(watch->state != HF_QUEUE_WATCH_NONE);
    hf_effect_remove(effects, &watch->effect); /* an UNWATCH that it crossed */
    set_free(watch);
}

void hf_queue_watch_unwatched(struct hf_queue_watch *watch)
{
    assert(watch->state == HF_QUEUE_WATCH_ENDING && !watch->effect.queued);
    watch->state = HF_QUEUE_WATCH_NONE;
}

void hf_queue_watch_clear(struct hf_queue_watch *watch,
                          struct hf_effect_queue *effects)
{
    hf_effect_remove(effects, &watch->effect);
    set_free(watch);
}
