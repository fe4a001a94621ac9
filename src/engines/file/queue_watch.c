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
 * One's own tickets leave through hf_engine_remove(), which says so here: no
 * descriptor for them, and no loop where all are one's own.
 */
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/quote.h"
#include "engines/file/engine.h"

/* How often the directory may come or go under our hands. */
#define TRIES 64

static bool is_of_participants(const struct hf_file_queue_watch *watch)
{
    return watch->request->ticket_kind == HF_TICKET_PARTICIPANT;
}

static struct hf_file_queue_watch *watch_new(struct hf_engine *engine,
                                             struct hf_request *request,
                                             const char *dir_name)
{
    struct hf_file_queue_watch *watch = hf_alloc(sizeof(*watch));

    if (watch == NULL)
        return NULL;
    watch->engine = engine;
    watch->request = request;
    memcpy(watch->dir_name, dir_name, strlen(dir_name) + 1);
    watch->dir_wd = -1;
    watch->next = engine->queue_watches;
    watch->link = &engine->queue_watches;
    if (watch->next != NULL)
        watch->next->link = &watch->next;
    engine->queue_watches = watch;
    request->engine_data = watch;
    return watch;
}

void hf_file_queue_watch_end(struct hf_file_queue_watch *watch)
{
    *watch->link = watch->next;
    if (watch->next != NULL)
        watch->next->link = watch->link;
    watch->request->engine_data = NULL;
    hf_inotify_unwatch_queue(watch);
    while (watch->fifo_watches != NULL) {
        struct hf_fifo_watch *fifo_watch = watch->fifo_watches;

        watch->fifo_watches = fifo_watch->next;
        hf_fifo_watch_stop(fifo_watch);
    }
    hf_free(watch);
}

void hf_file_queue_watch_forget(struct hf_request *request)
{
    if (request->engine_data != NULL)
        hf_file_queue_watch_end(request->engine_data);
}

static void answer_changed(struct hf_file_queue_watch *watch)
{
    struct hf_engine *engine = watch->engine;
    struct hf_request *request = watch->request;

    hf_file_queue_watch_end(watch);
    hf_engine_answer(engine, request, HF_EVENT_QUEUE_CHANGED);
}

/* A look that is asked for while others are told is not told. */
static void answer_all_changed(struct hf_engine *engine)
{
    struct hf_file_queue_watch *watch = engine->queue_watches;

    while (watch != NULL) {
        if (watch->changed) {
            answer_changed(watch);
            watch =
                engine->queue_watches; /* the core may have forgotten others */
        } else {
            watch = watch->next;
        }
    }
}

void hf_file_queue_watches_ticket_gone(struct hf_engine *engine,
                                       const char *dir_name)
{
    struct hf_file_queue_watch *watch;

    for (watch = engine->queue_watches; watch != NULL; watch = watch->next)
        watch->changed = strcmp(watch->dir_name, dir_name) == 0;
    answer_all_changed(engine);
}

/* ------------------------------------------------------------- members -- */

static void note_listed(struct hf_file_queue_watch *watch,
                        const struct hf_listing *listing)
{
    const struct hf_ticket_list *list = &listing->tickets;

    watch->count = list->count;
    watch->newest =
        list->count == 0 ? 0 : list->items[list->count - 1].sequence;
}

/* Numbers only rise: who comes or stamps is above all that were told. */
static bool differs(const struct hf_file_queue_watch *watch)
{
    struct hf_file_queue_watch now = {0};
    struct hf_listing *listing;
    struct hf_error unused;

    if (hf_engine_read_queue(watch->engine, watch->request->queue,
                             HF_LISTING_PARTICIPANTS, 0, &listing,
                             &unused) != HF_OK)
        return true; /* to be seen by whoever looks again */
    note_listed(&now, listing);
    hf_listing_unref(listing);
    return now.count != watch->count || now.newest != watch->newest;
}

static bool is_change(const struct hf_file_queue_watch *watch, const char *file)
{
    struct hf_ticket ticket;

    if (file == NULL || strcmp(file, HF_READY_FILE) == 0)
        return differs(watch);
    return hf_file_name_parse(file, &ticket) == HF_FILE_NAME_TICKET &&
           ticket.kind == HF_TICKET_PARTICIPANT &&
           ticket.sequence > watch->newest;
}

void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file)
{
    struct hf_file_queue_watch *watch;

    for (watch = engine->queue_watches; watch != NULL; watch = watch->next)
        watch->changed = is_of_participants(watch) &&
                         (all || watch->dir_wd == wd) && is_change(watch, file);
    answer_all_changed(engine);
}

/* ---------------------------------------------------------------- WATCH_QUEUE
 * -- */

/* What removed the ticket at the head, if that was first, is told first. */
static void on_ticket_gone(struct hf_fifo_watch *fifo_watch)
{
    hf_inotify_read(fifo_watch->engine);
    if (!hf_fifo_watch_is_stopped(
            fifo_watch)) /* nor forgotten on that account */
        answer_changed(fifo_watch->arg);
}

/* Wait for the ticket at ${index} of ${listing}, or take it out if it is dead
 * or gone by now. */
static hf_status watch_ticket(struct hf_file_queue_watch *watch,
                              struct hf_listing *listing, size_t index,
                              struct hf_error *error)
{
    const struct hf_ticket *ticket = &listing->tickets.items[index];
    struct hf_fifo_watch *fifo_watch;

    switch (hf_fifo_watch_start(watch->engine, watch->dir_name, ticket,
                                on_ticket_gone, watch, &fifo_watch, error)) {
    case HF_OWNER_ALIVE:
        fifo_watch->next = watch->fifo_watches;
        watch->fifo_watches = fifo_watch;
        break;
    case HF_OWNER_DEAD:
        hf_listing_drop(listing, index);
        break;
    case HF_OWNER_UNKNOWN:
        return error->status;
    }
    return HF_OK;
}

/* From the last to the first, so that what is taken out moves no other. */
static hf_status watch_all(struct hf_file_queue_watch *watch,
                           struct hf_listing *listing, struct hf_error *error)
{
    const char *queue = watch->request->queue;
    size_t count = listing->tickets.count;
    hf_status status = HF_OK;

    for (size_t i = count; i-- > 0 && status == HF_OK;)
        if (listing->tickets.items[i].kind != HF_TICKET_READY &&
            hf_engine_own_ticket(watch->engine,
                                 &listing->tickets.items[i].id) == NULL)
            status = watch_ticket(watch, listing, i, error);
    if (count > 0 && listing->tickets.count == 0)
        hf_dir_cache_ticket_gone(&watch->engine->dir_cache, watch->dir_name);
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
static hf_status read_participants(struct hf_file_queue_watch *watch,
                                   struct hf_listing **listing,
                                   struct hf_error *error)
{
    const char *queue = watch->request->queue;
    hf_status status;
    int wd = -1;

    for (unsigned try = 0; try < TRIES; try++) {
        if (!hf_inotify_watch_queue(watch))
            return hf_error_set(error, HF_ELIMIT,
                                "cannot watch a double barrier: no memory or "
                                "descriptor for it; raise this process's "
                                "limits (ulimit -n)");
        if (*listing != NULL && watch->armed && watch->dir_wd == wd)
            return HF_OK;
        hf_listing_unref(*listing);
        wd = watch->dir_wd;
        status = hf_engine_read_queue(
            watch->engine, queue, HF_LISTING_PARTICIPANTS, 1, listing, error);
        if (status != HF_OK || (*listing)->tickets.count == 0)
            return status;
    }
    return hf_error_set(error, HF_EUNREACHABLE,
                        "the directory of %s was made and removed %d times "
                        "while it was looked at; try again",
                        hf_quote(queue, strlen(queue)).text, TRIES);
}

/* HF_OK with ${listing}; else that may be there, and is to be freed. */
static hf_status read_and_watch(struct hf_file_queue_watch *watch,
                                struct hf_listing **listing,
                                struct hf_error *error)
{
    hf_status status;

    if (is_of_participants(watch))
        status = read_participants(watch, listing, error);
    else
        status = hf_engine_read_queue(watch->engine, watch->request->queue,
                                      HF_LISTING_QUEUE, 1, listing, error);
    if (status == HF_OK)
        status = watch_all(watch, *listing, error);
    if (status == HF_OK)
        note_listed(watch, *listing);
    return status;
}

static void answer_listed(struct hf_engine *engine, struct hf_request *request,
                          const struct hf_listing *listing)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    event.as.answer.request = request;
    event.as.answer.snapshot = hf_listing_snapshot(listing);
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_engine_watch_queue(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_listing *listing = NULL;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_file_queue_watch *watch;
    struct hf_error error;

    hf_dir_name_format(request->queue, dir_name);
    watch = watch_new(engine, request, dir_name);
    if (watch == NULL) {
        (void)hf_error_set(&error, HF_ENOMEM, "no memory to look at a queue");
        hf_engine_fail_by_status(engine, request, &error);
    } else if (read_and_watch(watch, &listing, &error) != HF_OK) {
        hf_file_queue_watch_end(watch);
        hf_engine_fail_by_status(engine, request, &error);
    } else {
        answer_listed(engine, request, listing);
    }
    hf_listing_unref(listing);
}
