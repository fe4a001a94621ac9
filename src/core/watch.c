/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch.h"

#include <assert.h>

#include "core/memory.h"
#include "core/own_ticket.h"

/* The slot that ${request} has. */
static struct hf_watch **find_slot(struct hf_watches *watches,
                                   const struct hf_request *request)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (watches->slots[i] != NULL && &watches->slots[i]->request == request)
            return &watches->slots[i];
    }
    assert(false && "a watch that is none of this ticket's");
    return NULL;
}

static struct hf_watch **find_free(struct hf_watches *watches)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (watches->slots[i] == NULL)
            return &watches->slots[i];
    }
    return NULL;
}

static bool is_asked(const struct hf_watch *watch)
{
    return watch != NULL && watch->state == HF_WATCH_ASKED;
}

static bool is_about(const struct hf_watch *watch,
                     const struct hf_watched *wanted)
{
    return watch->request.ticket_kind == wanted->kind &&
           hf_ticket_id_equal(&watch->request.ticket, &wanted->id);
}

static bool asked_for(const struct hf_watches *watches,
                      const struct hf_watched *wanted)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        const struct hf_watch *watch = watches->slots[i];

        if (is_asked(watch) && is_about(watch, wanted))
            return true;
    }
    return false;
}

static bool is_wanted(const struct hf_watch *watch,
                      const struct hf_watched *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_about(watch, &wanted[i]))
            return true;
    }
    return false;
}

static void free_slot(struct hf_watch **slot, struct hf_effect_queue *effects)
{
    if (*slot == NULL)
        return;
    hf_effect_remove(effects, &(*slot)->effect);
    hf_free(*slot);
    *slot = NULL;
}

static void take_back(struct hf_watch **slot, struct hf_effect_queue *effects)
{
    struct hf_watch *watch = *slot;

    assert(watch->state == HF_WATCH_ASKED);
    if (watch->effect.queued) { /* the engine has not heard of it */
        free_slot(slot, effects);
        return;
    }
    watch->request.busy = false;
    watch->state = HF_WATCH_FORGOTTEN;
    hf_effect_add(effects, &watch->effect, HF_EFFECT_FORGET);
}

static bool ask(struct hf_watch **slot, struct hf_own_ticket *ticket,
                struct hf_effect_queue *effects,
                const struct hf_watched *wanted)
{
    struct hf_watch *watch = hf_alloc(sizeof *watch);

    if (watch == NULL)
        return false;
    watch->state = HF_WATCH_ASKED;
    watch->request = (struct hf_request){
        .kind = HF_REQUEST_WATCH,
        .ticket_kind = wanted->kind,
        .queue = ticket->ask.queue,
        .ticket = wanted->id,
        .busy = true,
        .own = ticket,
        .effect = &watch->effect,
    };
    watch->effect.request = &watch->request;
    hf_effect_add(effects, &watch->effect, HF_EFFECT_REQUEST);
    *slot = watch;
    return true;
}

bool hf_watches_follow(struct hf_own_ticket *ticket,
                       struct hf_effect_queue *effects,
                       const struct hf_watched *wanted, size_t count,
                       bool may_ask)
{
    struct hf_watches *watches = &ticket->watches;
    bool has_memory = true;

    assert(count <= HF_WATCHED_MAX);
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (is_asked(watches->slots[i]) &&
            !is_wanted(watches->slots[i], wanted, count))
            take_back(&watches->slots[i], effects);
    }
    for (size_t i = 0; may_ask && i < count; i++) {
        struct hf_watch **slot = find_free(watches);

        if (slot != NULL && !asked_for(watches, &wanted[i]))
            has_memory &= ask(slot, ticket, effects, &wanted[i]);
    }
    return has_memory;
}

bool hf_watches_end(struct hf_watches *watches, struct hf_effect_queue *effects,
                    struct hf_request *request)
{
    struct hf_watch **slot = find_slot(watches, request);
    bool wanted = is_asked(*slot);

    free_slot(slot, effects);
    return wanted;
}

bool hf_watches_heeds(struct hf_watches *watches,
                      const struct hf_request *request)
{
    return is_asked(*find_slot(watches, request));
}

void hf_watches_taken_back(struct hf_watches *watches,
                           struct hf_request *request)
{
    struct hf_watch **slot = find_slot(watches, request);

    assert((*slot)->state == HF_WATCH_FORGOTTEN && !(*slot)->effect.queued);
    hf_free(*slot);
    *slot = NULL;
}

void hf_watches_clear(struct hf_watches *watches,
                      struct hf_effect_queue *effects)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++)
        free_slot(&watches->slots[i], effects);
}

void hf_watches_free(struct hf_watches *watches)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        hf_free(watches->slots[i]);
        watches->slots[i] = NULL;
    }
}

bool hf_watches_hear(const struct hf_watches *watches,
                     const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        const struct hf_watch *watch = watches->slots[i];

        if (is_asked(watch) && !watch->request.busy &&
            hf_ticket_id_equal(&watch->request.ticket, id))
            return true;
    }
    return false;
}

bool hf_watches_any(const struct hf_watches *watches)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (is_asked(watches->slots[i]))
            return true;
    }
    return false;
}

bool hf_watches_idle(const struct hf_watches *watches)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (watches->slots[i] != NULL)
            return false;
    }
    return true;
}
