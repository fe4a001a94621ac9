/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOOK: the queue as it is, and the hang-up of everybody in it.
 *
 * Only the head of a semaphore's locks looks at its leases, so it is one
 * process that waits for all of them.  Nobody stands in the way of a lease, so
 * nobody else finds the dead ones: they go here, before the list is told.
 *
 * One's own tickets leave through hf_engine_withdraw(), which says so here: no
 * descriptor for them, and no loop where all are one's own.
 */
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/quote.h"
#include "engines/file/engine.h"

static struct hf_look *look_new(struct hf_engine *engine,
                                struct hf_request *request, const char *entry)
{
    struct hf_look *look = hf_alloc(sizeof(*look));

    if (look == NULL)
        return NULL;
    look->engine = engine;
    look->request = request;
    memcpy(look->entry, entry, strlen(entry) + 1);
    look->next = engine->looks;
    look->link = &engine->looks;
    if (look->next != NULL)
        look->next->link = &look->next;
    engine->looks = look;
    request->engine_data = look;
    return look;
}

void hf_look_end(struct hf_look *look)
{
    *look->link = look->next;
    if (look->next != NULL)
        look->next->link = look->link;
    look->request->engine_data = NULL;
    while (look->hang_ups != NULL) {
        struct hf_hang_up *hang_up = look->hang_ups;

        look->hang_ups = hang_up->next;
        hf_hang_up_end(hang_up);
    }
    hf_free(look);
}

void hf_look_forget(struct hf_request *request)
{
    if (request->engine_data != NULL)
        hf_look_end(request->engine_data);
}

static void changed(struct hf_look *look)
{
    struct hf_engine *engine = look->engine;
    struct hf_request *request = look->request;

    hf_look_end(look);
    hf_engine_answer(engine, request, HF_EVENT_CHANGED);
}

/* A look that is asked for while others are told is not told. */
void hf_looks_changed(struct hf_engine *engine, const char *entry)
{
    struct hf_look *look;

    for (look = engine->looks; look != NULL; look = look->next)
        look->changed = strcmp(look->entry, entry) == 0;
    look = engine->looks;
    while (look != NULL) {
        if (look->changed) {
            changed(look);
            look = engine->looks; /* the core may have forgotten others */
        } else {
            look = look->next;
        }
    }
}

/* What removed the ticket at the head, if that was first, is told first. */
static void heard(struct hf_hang_up *hang_up)
{
    hf_own_drain(hang_up->engine);
    if (!hf_hang_up_is_over(hang_up)) /* nor forgotten on that account */
        changed(hang_up->arg);
}

/* Wait for the ticket at ${index} of ${listing}, or take it out if it is dead
 * or gone by now. */
static hf_status wait_for(struct hf_look *look, struct hf_listing *listing,
                          size_t index, struct hf_error *error)
{
    const struct hf_ticket *ticket = &listing->tickets.items[index];
    struct hf_hang_up *hang_up;

    switch (hf_hang_up_begin(look->engine, look->entry, ticket, heard, look,
                             &hang_up, error)) {
    case HF_LIFE_ALIVE:
        hang_up->next = look->hang_ups;
        look->hang_ups = hang_up;
        break;
    case HF_LIFE_DEAD:
        hf_listing_drop(listing, index);
        break;
    case HF_LIFE_UNKNOWN:
        return error->status;
    }
    return HF_OK;
}

/* From the last to the first, so that what is taken out moves no other. */
static hf_status wait_for_all(struct hf_look *look, struct hf_listing *listing,
                              struct hf_error *error)
{
    const char *queue = look->request->queue;
    size_t count = listing->tickets.count;
    hf_status status = HF_OK;

    for (size_t i = count; i-- > 0 && status == HF_OK;)
        if (hf_engine_own(look->engine, &listing->tickets.items[i].id) == NULL)
            status = wait_for(look, listing, i, error);
    if (count > 0 && listing->tickets.count == 0)
        hf_warm_left(&look->engine->warm, look->entry);
    if (status == HF_ELIMIT)
        (void)hf_error_set(error, HF_ELIMIT,
                           "%zu tickets stand in %s, and to hear of one that "
                           "goes takes a descriptor for each; raise this "
                           "process's limit of descriptors (ulimit -n) or the "
                           "system's (sysctl fs.file-max)",
                           count, hf_quote(queue, strlen(queue)).text);
    return status;
}

static void tell_list(struct hf_engine *engine, struct hf_request *request,
                      const struct hf_listing *listing)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    event.as.answer.request = request;
    event.as.answer.snapshot = hf_listing_snapshot(listing);
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_engine_look(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_listing *listing;
    struct hf_look *look;
    struct hf_error error;

    if (hf_engine_read_queue(engine, request->queue, true, &listing, &error) !=
        HF_OK) {
        hf_engine_refuse(engine, request, &error);
        return;
    }
    look = look_new(engine, request, listing->entry);
    if (look == NULL) {
        (void)hf_error_set(&error, HF_ENOMEM, "no memory to look at a queue");
        hf_engine_refuse(engine, request, &error);
    } else if (wait_for_all(look, listing, &error) != HF_OK) {
        hf_look_end(look);
        hf_engine_refuse(engine, request, &error);
    } else {
        tell_list(engine, request, listing);
    }
    hf_listing_unref(listing);
}
