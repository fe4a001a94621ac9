/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH_QUEUE: the queue, or its members, as they are, and the hang-up of
 * everybody in it.
 *
 * Only the head of a semaphore's locks looks at its leases, so it is one
 * process that waits for all of them.  Nobody stands in the way of a lease, so
 * nobody else finds the dead ones: they go here, before the list is told.
 *
 * At members all of them look, for who has come as well: the directory is
 * watched for what is given a name in it.
 *
 * One's own tickets leave through hf_engine_withdraw(), which says so here: no
 * descriptor for them, and no loop where all are one's own.
 */
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/quote.h"
#include "engines/file/engine.h"

/* How often the directory may come or go under our hands. */
#define TRIES 64

static bool is_of_members(const struct hf_look *look)
{
    return look->request->ticket_kind == HF_TICKET_PARTICIPANT;
}

static struct hf_look *look_new(struct hf_engine *engine,
                                struct hf_request *request, const char *entry)
{
    struct hf_look *look = hf_alloc(sizeof(*look));

    if (look == NULL)
        return NULL;
    look->engine = engine;
    look->request = request;
    memcpy(look->entry, entry, strlen(entry) + 1);
    look->dir_wd = -1;
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
    hf_own_forget_look(look);
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
    hf_engine_answer(engine, request, HF_EVENT_QUEUE_CHANGED);
}

/* A look that is asked for while others are told is not told. */
static void tell_changed(struct hf_engine *engine)
{
    struct hf_look *look = engine->looks;

    while (look != NULL) {
        if (look->changed) {
            changed(look);
            look = engine->looks; /* the core may have forgotten others */
        } else {
            look = look->next;
        }
    }
}

void hf_looks_changed(struct hf_engine *engine, const char *entry)
{
    struct hf_look *look;

    for (look = engine->looks; look != NULL; look = look->next)
        look->changed = strcmp(look->entry, entry) == 0;
    tell_changed(engine);
}

/* ------------------------------------------------------------- members -- */

static void note_told(struct hf_look *look, const struct hf_listing *listing)
{
    const struct hf_ticket_list *list = &listing->tickets;

    look->count = list->count;
    look->newest = list->count == 0 ? 0 : list->items[list->count - 1].sequence;
}

/* Numbers only rise: who comes or stamps is above all that were told. */
static bool differs(const struct hf_look *look)
{
    struct hf_look now = {0};
    struct hf_listing *listing;
    struct hf_error unused;

    if (hf_engine_read_queue(look->engine, look->request->queue,
                             HF_LISTING_MEMBERS, 0, &listing, &unused) != HF_OK)
        return true; /* to be seen by whoever looks again */
    note_told(&now, listing);
    hf_listing_unref(listing);
    return now.count != look->count || now.newest != look->newest;
}

static bool is_news(const struct hf_look *look, const char *file)
{
    struct hf_ticket ticket;

    if (file == NULL || strcmp(file, HF_READY_FILE) == 0)
        return differs(look);
    return hf_file_parse(file, &ticket) == HF_FILE_TICKET &&
           ticket.kind == HF_TICKET_PARTICIPANT &&
           ticket.sequence > look->newest;
}

void hf_looks_heard(struct hf_engine *engine, int wd, bool all,
                    const char *file)
{
    struct hf_look *look;

    for (look = engine->looks; look != NULL; look = look->next)
        look->changed = is_of_members(look) && (all || look->dir_wd == wd) &&
                        is_news(look, file);
    tell_changed(engine);
}

/* ---------------------------------------------------------------- WATCH_QUEUE
 * -- */

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
        if (listing->tickets.items[i].kind != HF_TICKET_READY &&
            hf_engine_own(look->engine, &listing->tickets.items[i].id) == NULL)
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

/* Watch the directory, read it, and see that it is still the one that was
 * watched: an empty one is removed, and another made. */
static hf_status read_members(struct hf_look *look, struct hf_listing **listing,
                              struct hf_error *error)
{
    const char *queue = look->request->queue;
    hf_status status;
    int wd = -1;

    for (unsigned try = 0; try < TRIES; try++) {
        if (!hf_own_arm_look(look))
            return hf_error_set(error, HF_ELIMIT,
                                "cannot watch a double barrier: no memory or "
                                "descriptor for it; raise this process's "
                                "limits (ulimit -n)");
        if (*listing != NULL && look->armed && look->dir_wd == wd)
            return HF_OK;
        hf_listing_unref(*listing);
        wd = look->dir_wd;
        status = hf_engine_read_queue(look->engine, queue, HF_LISTING_MEMBERS,
                                      1, listing, error);
        if (status != HF_OK || (*listing)->tickets.count == 0)
            return status;
    }
    return hf_error_set(error, HF_EUNREACHABLE,
                        "the directory of %s was made and removed %d times "
                        "while it was looked at; try again",
                        hf_quote(queue, strlen(queue)).text, TRIES);
}

/* HF_OK with ${listing}; else that may be there, and is to be freed. */
static hf_status see(struct hf_look *look, struct hf_listing **listing,
                     struct hf_error *error)
{
    hf_status status;

    if (is_of_members(look))
        status = read_members(look, listing, error);
    else
        status = hf_engine_read_queue(look->engine, look->request->queue,
                                      HF_LISTING_QUEUE, 1, listing, error);
    if (status == HF_OK)
        status = wait_for_all(look, *listing, error);
    if (status == HF_OK)
        note_told(look, *listing);
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
    struct hf_listing *listing = NULL;
    char entry[HF_ENTRY_BYTES];
    struct hf_look *look;
    struct hf_error error;

    hf_entry_format(request->queue, entry);
    look = look_new(engine, request, entry);
    if (look == NULL) {
        (void)hf_error_set(&error, HF_ENOMEM, "no memory to look at a queue");
        hf_engine_refuse(engine, request, &error);
    } else if (see(look, &listing, &error) != HF_OK) {
        hf_look_end(look);
        hf_engine_refuse(engine, request, &error);
    } else {
        tell_list(engine, request, listing);
    }
    hf_listing_unref(listing);
}
