/* SPDX-License-Identifier: Apache-2.0 */
/* Three slots for watches.  A watch is wanted while it is ASKED; while it is
 * ENDING its events have no meaning. */
#include "core/ticket_watch.h"

#include <assert.h>

#include "base/memory.h"
#include "core/own_ticket.h"

/* ----------------------------------------------------------- of tickets -- */

/* The slot of ${request}. */
static struct hf_ticket_watch **find_slot(struct hf_ticket_watches *watches,
                                          const struct hf_request *request)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        if (watches->slots[i] != NULL && &watches->slots[i]->request == request)
            return &watches->slots[i];
    }
    assert(false && "a watch that is none of this ticket's");
    return NULL;
}

/* A slot for a new watch; NULL: all are in use. */
static struct hf_ticket_watch **find_free(struct hf_ticket_watches *watches)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        if (watches->slots[i] == NULL)
            return &watches->slots[i];
    }
    return NULL;
}

/* Is ${watch} wanted, and not being taken back? */
static bool is_asked(const struct hf_ticket_watch *watch)
{
    return watch != NULL && watch->state == HF_TICKET_WATCH_ASKED;
}

static bool is_watch_of(const struct hf_ticket_watch *watch,
                        const struct hf_watched_ticket *wanted)
{
    return watch->request.ticket_kind == wanted->kind &&
           hf_ticket_id_equal(&watch->request.ticket, &wanted->id);
}

/* Is there a watch of ${wanted} that is not being taken back? */
static bool is_watched(const struct hf_ticket_watches *watches,
                       const struct hf_watched_ticket *wanted)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        const struct hf_ticket_watch *watch = watches->slots[i];

        if (is_asked(watch) && is_watch_of(watch, wanted))
            return true;
    }
    return false;
}

/* Is ${watch} for one of the tickets ${wanted}? */
static bool is_wanted(const struct hf_ticket_watch *watch,
                      const struct hf_watched_ticket *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_watch_of(watch, &wanted[i]))
            return true;
    }
    return false;
}

/* Free the watch, which the engine does not have any more. */
static void free_slot(struct hf_ticket_watch **slot,
                      struct hf_effect_queue *effects)
{
    if (*slot == NULL)
        return;
    hf_effect_remove(effects, &(*slot)->request.effect);
    hf_free(*slot);
    *slot = NULL;
}

/* Take back a watch that is not wanted any more. */
static void unwatch(struct hf_ticket_watch **slot,
                    struct hf_effect_queue *effects)
{
    struct hf_ticket_watch *watch = *slot;

    assert(watch->state == HF_TICKET_WATCH_ASKED);
    if (watch->request.effect.queued) { /* the engine has not seen it */
        free_slot(slot, effects);
        return;
    }
    watch->request.busy = false;
    watch->state = HF_TICKET_WATCH_ENDING;
    hf_effect_add_request(effects, &watch->request, HF_EFFECT_UNWATCH);
}

/* Request the watch of ${wanted}.  False if there is no memory. */
static bool send_watch(struct hf_ticket_watch **slot,
                       struct hf_own_ticket *ticket,
                       struct hf_effect_queue *effects,
                       const struct hf_watched_ticket *wanted)
{
    struct hf_ticket_watch *watch = hf_alloc(sizeof *watch);

    assert(*slot == NULL);
    if (watch == NULL)
        return false;
    watch->state = HF_TICKET_WATCH_ASKED;
    watch->request = (struct hf_request){
        .kind = HF_REQUEST_WATCH,
        .ticket_kind = wanted->kind,
        .queue = ticket->request.queue,
        .ticket = wanted->id,
        .busy = true,
        .own_ticket = ticket,
    };
    hf_effect_add_request(effects, &watch->request, HF_EFFECT_REQUEST);
    *slot = watch;
    return true;
}

bool hf_ticket_watches_update(struct hf_own_ticket *ticket,
                              struct hf_effect_queue *effects,
                              const struct hf_watched_ticket *wanted,
                              size_t count, bool may_ask)
{
    struct hf_ticket_watches *watches = &ticket->watches;
    bool has_memory = true;

    assert(count <= HF_WATCHED_MAX);
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        if (is_asked(watches->slots[i]) &&
            !is_wanted(watches->slots[i], wanted, count))
            unwatch(&watches->slots[i], effects);
    }
    for (size_t i = 0; may_ask && i < count; i++) {
        struct hf_ticket_watch **slot = find_free(watches);

        if (slot != NULL && !is_watched(watches, &wanted[i]))
            has_memory &= send_watch(slot, ticket, effects, &wanted[i]);
    }
    return has_memory;
}

bool hf_ticket_watches_end(struct hf_ticket_watches *watches,
                           struct hf_effect_queue *effects,
                           struct hf_request *request)
{
    struct hf_ticket_watch **slot = find_slot(watches, request);
    bool wanted = is_asked(*slot);

    free_slot(slot, effects);
    return wanted;
}

bool hf_ticket_watches_is_wanted(struct hf_ticket_watches *watches,
                                 const struct hf_request *request)
{
    return is_asked(*find_slot(watches, request));
}

void hf_ticket_watches_unwatched(struct hf_ticket_watches *watches,
                                 struct hf_request *request)
{
    struct hf_ticket_watch **slot = find_slot(watches, request);

    assert((*slot)->state == HF_TICKET_WATCH_ENDING &&
           !(*slot)->request.effect.queued);
    hf_free(*slot);
    *slot = NULL;
}

void hf_ticket_watches_clear(struct hf_ticket_watches *watches,
                             struct hf_effect_queue *effects)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++)
        free_slot(&watches->slots[i], effects);
}

void hf_ticket_watches_free(struct hf_ticket_watches *watches)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        hf_free(watches->slots[i]);
        watches->slots[i] = NULL;
    }
}

bool hf_ticket_watches_is_set(const struct hf_ticket_watches *watches,
                              const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        const struct hf_ticket_watch *watch = watches->slots[i];

        if (is_asked(watch) && !watch->request.busy &&
            hf_ticket_id_equal(&watch->request.ticket, id))
            return true;
    }
    return false;
}

bool hf_ticket_watches_any(const struct hf_ticket_watches *watches)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        if (is_asked(watches->slots[i]))
            return true;
    }
    return false;
}

bool hf_ticket_watches_idle(const struct hf_ticket_watches *watches)
{
    for (size_t i = 0; i < HF_TICKET_WATCHES_MAX; i++) {
        if (watches->slots[i] != NULL)
            return false;
    }
    return true;
}

/* --------------------------------------------------------- of the queue -- */

struct hf_ticket_queue_watch *
hf_ticket_queue_watch_new(struct hf_own_ticket *ticket)
{
    bool is_lease = ticket->request.ticket_kind == HF_TICKET_LEASE;
    struct hf_ticket_queue_watch *watch = hf_alloc(sizeof *watch);

    if (watch == NULL)
        return NULL;
    watch->request = (struct hf_request){
        .kind = HF_REQUEST_WATCH_QUEUE,
        .ticket_kind = ticket->request.ticket_kind == HF_TICKET_PARTICIPANT
                           ? HF_TICKET_PARTICIPANT
                           : 0,
        .weight = is_lease ? ticket->request.weight : 0,
        .limit = is_lease ? ticket->request.limit : 0,
        .queue = ticket->request.queue,
        .own_ticket = ticket,
    };
    return watch;
}

void hf_ticket_queue_watch_start(struct hf_ticket_queue_watch *watch,
                                 struct hf_effect_queue *effects, bool may_ask)
{
    if (!may_ask || watch->state != HF_TICKET_QUEUE_WATCH_NONE)
        return;
    assert(!watch->request.busy && !watch->request.effect.queued);
    watch->state = HF_TICKET_QUEUE_WATCH_ASKED;
    watch->request.busy = true;
    watch->request.engine_data = NULL;
    hf_effect_add_request(effects, &watch->request, HF_EFFECT_REQUEST);
}

/* There is no watch, and the request can be used again. */
static void set_free(struct hf_ticket_queue_watch *watch)
{
    watch->request.busy = false;
    watch->state = HF_TICKET_QUEUE_WATCH_NONE;
}

void hf_ticket_queue_watch_stop(struct hf_ticket_queue_watch *watch,
                                struct hf_effect_queue *effects)
{
    if (watch->state == HF_TICKET_QUEUE_WATCH_NONE ||
        watch->state == HF_TICKET_QUEUE_WATCH_ENDING)
        return;
    if (watch->request.effect.queued) { /* the engine has not seen it */
        hf_effect_remove(effects, &watch->request.effect);
        set_free(watch);
        return;
    }
    watch->request.busy = false;
    watch->state = HF_TICKET_QUEUE_WATCH_ENDING;
    hf_effect_add_request(effects, &watch->request, HF_EFFECT_UNWATCH);
}

bool hf_ticket_queue_watch_listed(struct hf_ticket_queue_watch *watch)
{
    if (watch->state != HF_TICKET_QUEUE_WATCH_ASKED)
        return false; /* it has crossed the UNWATCH */
    watch->state = HF_TICKET_QUEUE_WATCH_WATCHING;
    watch->request.busy = false;
    watch->tries = 0;
    return true;
}

void hf_ticket_queue_watch_ended(struct hf_ticket_queue_watch *watch,
                                 struct hf_effect_queue *effects)
{
    assert(watch->state != HF_TICKET_QUEUE_WATCH_NONE);
    hf_effect_remove(effects,
                     &watch->request.effect); /* an UNWATCH that it crossed */
    set_free(watch);
}

void hf_ticket_queue_watch_unwatched(struct hf_ticket_queue_watch *watch)
{
    assert(watch->state == HF_TICKET_QUEUE_WATCH_ENDING &&
           !watch->request.effect.queued);
    watch->state = HF_TICKET_QUEUE_WATCH_NONE;
}

void hf_ticket_queue_watch_clear(struct hf_ticket_queue_watch *watch,
                                 struct hf_effect_queue *effects)
{
    hf_effect_remove(effects, &watch->request.effect);
    set_free(watch);
}
