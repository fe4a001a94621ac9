/* SPDX-License-Identifier: Apache-2.0 */
#include "core/watch.h"

#include <assert.h>

void hf_watches_init(struct hf_watches *watches,
                     struct hf_acquisition *acquisition, const char *queue)
{
    *watches = (struct hf_watches){0};
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        struct hf_watch *watch = &watches->slots[i];

        watch->request.kind = HF_REQUEST_WATCH;
        watch->request.queue = queue;
        watch->request.acquisition = acquisition;
        watch->request.effect = &watch->effect;
        watch->effect.request = &watch->request;
    }
}

static struct hf_watch *find_request(struct hf_watches *watches,
                                     const struct hf_request *request)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (&watches->slots[i].request == request)
            return &watches->slots[i];
    }
    assert(false && "a watch that is none of this acquisition's");
    return NULL;
}

static struct hf_watch *find_state(struct hf_watches *watches,
                                   enum hf_watch_state state)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (watches->slots[i].state == state)
            return &watches->slots[i];
    }
    return NULL;
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
        const struct hf_watch *watch = &watches->slots[i];

        if (watch->state == HF_WATCH_ASKED && is_about(watch, wanted))
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

static void free_slot(struct hf_watch *watch, struct hf_effect_queue *effects)
{
    hf_effect_remove(effects, &watch->effect);
    watch->request.busy = false;
    watch->state = HF_WATCH_FREE;
}

static void take_back(struct hf_watch *watch, struct hf_effect_queue *effects)
{
    assert(watch->state == HF_WATCH_ASKED);
    if (watch->effect.queued) { /* the engine has not heard of it */
        free_slot(watch, effects);
        return;
    }
    watch->request.busy = false;
    watch->state = HF_WATCH_FORGOTTEN;
    hf_effect_add(effects, &watch->effect, HF_EFFECT_FORGET);
}

static void ask(struct hf_watch *watch, struct hf_effect_queue *effects,
                const struct hf_watched *wanted)
{
    assert(watch->state == HF_WATCH_FREE);
    watch->state = HF_WATCH_ASKED;
    watch->request.ticket = wanted->id;
    watch->request.ticket_kind = wanted->kind;
    watch->request.busy = true;
    watch->request.engine_data = NULL;
    hf_effect_add(effects, &watch->effect, HF_EFFECT_REQUEST);
}

void hf_watches_follow(struct hf_watches *watches,
                       struct hf_effect_queue *effects,
                       const struct hf_watched *wanted, size_t count,
                       bool may_ask)
{
    assert(count <= HF_WATCHED_MAX);
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        struct hf_watch *watch = &watches->slots[i];

        if (watch->state == HF_WATCH_ASKED && !is_wanted(watch, wanted, count))
            take_back(watch, effects);
    }
    for (size_t i = 0; may_ask && i < count; i++) {
        struct hf_watch *watch = find_state(watches, HF_WATCH_FREE);

        if (watch != NULL && !asked_for(watches, &wanted[i]))
            ask(watch, effects, &wanted[i]);
    }
}

bool hf_watches_end(struct hf_watches *watches, struct hf_effect_queue *effects,
                    struct hf_request *request)
{
    struct hf_watch *watch = find_request(watches, request);
    bool wanted = watch->state == HF_WATCH_ASKED;

    assert(watch->state != HF_WATCH_FREE);
    free_slot(watch, effects);
    return wanted;
}

bool hf_watches_heeds(struct hf_watches *watches,
                      const struct hf_request *request)
{
    return find_request(watches, request)->state == HF_WATCH_ASKED;
}

void hf_watches_taken_back(struct hf_watches *watches,
                           struct hf_request *request)
{
    struct hf_watch *watch = find_request(watches, request);

    assert(watch->state == HF_WATCH_FORGOTTEN && !watch->effect.queued);
    watch->state = HF_WATCH_FREE;
}

void hf_watches_clear(struct hf_watches *watches,
                      struct hf_effect_queue *effects)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++)
        free_slot(&watches->slots[i], effects);
}

bool hf_watches_hear(const struct hf_watches *watches,
                     const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        const struct hf_watch *watch = &watches->slots[i];

        if (watch->state == HF_WATCH_ASKED && !watch->request.busy &&
            hf_ticket_id_equal(&watch->request.ticket, id))
            return true;
    }
    return false;
}

bool hf_watches_any(const struct hf_watches *watches)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (watches->slots[i].state == HF_WATCH_ASKED)
            return true;
    }
    return false;
}

bool hf_watches_idle(const struct hf_watches *watches)
{
    for (size_t i = 0; i < HF_WATCH_SLOTS; i++) {
        if (watches->slots[i].state != HF_WATCH_FREE)
            return false;
    }
    return true;
}
