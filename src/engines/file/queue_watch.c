/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of whole queues.
 *
 * A queue watch has a FIFO watch of each ticket of another session in the
 * queue, and answers with the first that hangs up.
 *
 * Leases: only the head of a semaphore's locks asks for its leases, so it is
 * one process that waits for all of them.  No ticket waits behind a lease, so
 * no waiter finds dead ones: they are removed here, before the list is shown.
 *
 * Participants of a double barrier: all of them ask, to learn of new
 * participants too.  So the directory is watched too, for the names that appear
 * in it.
 *
 * The tickets of this session need no FIFO watch, and where all are of this
 * session no loop: their removal is reported by a call
 * (hf_file_queue_watches_ticket_gone()).
 */
#include "engines/file/requests.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "engines/file/engine.h"
#include "engines/file/fifo_watch.h"
#include "engines/file/inotify.h"
#include "engines/file/listing.h"
#include "engines/file/own_tickets.h"
#include "engines/file/queue.h"
#include "engines/file/watch.h"

/* How often the directory may be removed and made again while it is read. */
#define TRIES 64

/* The kind of a watch of a queue with tickets of ${ticket_kind}. */
static enum hf_file_watch_kind kind_of(enum hf_ticket_kind ticket_kind)
{
    return ticket_kind == HF_TICKET_PARTICIPANT ? HF_FILE_WATCH_PARTICIPANTS
                                                : HF_FILE_WATCH_LEASES;
}

/* Mark the watches of ${kind} at ${dir_name}, and answer them. */
static void answer_at(struct hf_engine *engine, enum hf_file_watch_kind kind,
                      const char *dir_name)
{
    struct hf_file_watch *watch = engine->watches[kind];

    for (; watch != NULL; watch = watch->next)
        if (strcmp(watch->dir_name, dir_name) == 0)
            watch->state = HF_FILE_WATCH_CHANGED;
    hf_file_watches_answer_changed(engine, kind);
}

void hf_file_queue_watches_ticket_gone(struct hf_engine *engine,
                                       const char *dir_name)
{
    answer_at(engine, HF_FILE_WATCH_LEASES, dir_name);
    answer_at(engine, HF_FILE_WATCH_PARTICIPANTS, dir_name);
}

/* ---------------------------------------------------------- participants -- */

/* What the core is shown, so that a change can be distinguished from an event
 * that changes nothing. */
static void note_listed(struct hf_file_queue_watch *queue,
                        const struct hf_file_listing *listing)
{
    const struct hf_file_ticket_list *list = &listing->tickets;

    queue->count = list->count;
    queue->newest =
        list->count == 0 ? 0 : list->items[list->count - 1].sequence;
}

/* Is anything there that the core was not shown, or the other way round?  Count
 * and greatest number show it, because numbers only rise: a participant that
 * comes, and a generation that starts, have a number above all that were shown.
 */
static bool differs(const struct hf_file_watch *watch)
{
    struct hf_file_queue_watch now = {0};
    struct hf_file_listing *listing;
    struct hf_error unused;

    if (hf_file_read_queue(watch->engine, watch->request->queue,
                           HF_LISTING_PARTICIPANTS, 0, &listing,
                           &unused) != HF_OK)
        return true; /* the core asks again and gets the error */
    note_listed(&now, listing);
    hf_file_listing_unref(listing);
    return now.count != watch->as.queue.count ||
           now.newest != watch->as.queue.newest;
}

/* Does the event change what the core was shown?  A new name is judged by
 * itself; only READY, and events without a name, need a look at the directory.
 */
static bool is_change(const struct hf_file_watch *watch, const char *file)
{
    struct hf_ticket ticket;

    if (file == NULL || strcmp(file, HF_READY_FILE) == 0)
        return differs(watch);
    return hf_file_name_parse(file, &ticket) == HF_FILE_NAME_TICKET &&
           ticket.kind == HF_TICKET_PARTICIPANT &&
           ticket.sequence > watch->as.queue.newest;
}

void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file)
{
    struct hf_file_watch *watch = engine->watches[HF_FILE_WATCH_PARTICIPANTS];

    for (; watch != NULL; watch = watch->next)
        if ((all || watch->dir_wd == wd) && is_change(watch, file))
            watch->state = HF_FILE_WATCH_CHANGED;
    hf_file_watches_answer_changed(engine, HF_FILE_WATCH_PARTICIPANTS);
}

/* -------------------------------------------------------------- watching -- */

/* A ticket of the queue has gone.  If the ticket at the head of the locks,
 * which asks for this, was removed before that, its owner is notified first. */
static void on_ticket_gone(struct hf_file_fifo_watch *fifo_watch)
{
    hf_file_inotify_read(fifo_watch->engine);
    /* The core may have forgotten the watch because of that. */
    if (!hf_file_fifo_watch_is_stopped(fifo_watch))
        hf_file_watch_answer(fifo_watch->watch);
}

/* Wait for the ticket at ${index} of ${listing}; take it out of the listing if
 * it is dead or gone by now. */
static hf_status watch_ticket(struct hf_file_watch *watch,
                              struct hf_file_listing *listing, size_t index,
                              struct hf_error *error)
{
    const struct hf_ticket *ticket = &listing->tickets.items[index];
    struct hf_file_fifo_watch *fifo_watch;

    switch (hf_file_fifo_watch_start(watch, ticket, on_ticket_gone, &fifo_watch,
                                     error)) {
    case HF_OWNER_ALIVE:
        fifo_watch->next = watch->as.queue.fifo_watches;
        watch->as.queue.fifo_watches = fifo_watch;
        break;
    case HF_OWNER_DEAD:
        hf_file_listing_drop(listing, index);
        break;
    case HF_OWNER_UNKNOWN:
        return error->status;
    }
    return HF_OK;
}

/* Wait for all tickets of other sessions in ${listing}.  From the last to the
 * first, because a ticket that is taken out moves those behind it. */
static hf_status watch_all(struct hf_file_watch *watch,
                           struct hf_file_listing *listing,
                           struct hf_error *error)
{
    const char *queue = watch->request->queue;
    size_t count = listing->tickets.count;
    hf_status status = HF_OK;

    for (size_t i = count; i-- > 0 && status == HF_OK;)
        if (listing->tickets.items[i].kind != HF_TICKET_READY &&
            hf_file_own_ticket(watch->engine, &listing->tickets.items[i].id) ==
                NULL)
            status = watch_ticket(watch, listing, i, error);
    if (count > 0 && listing->tickets.count == 0)
        hf_file_dir_cache_ticket_gone(&watch->engine->dir_cache,
                                      watch->dir_name);
    if (status == HF_ELIMIT)
        (void)hf_error_set(error, HF_ELIMIT,
                           "%zu tickets are in %s, and the watch of each takes "
                           "a descriptor; raise this "
                           "process's limit of descriptors (ulimit -n) or the "
                           "system's (sysctl fs.file-max)",
                           count, hf_quote(queue, strlen(queue)).text);
    return status;
}

/* Watch the directory, read it, and see that the one at the path is still the
 * one that was watched: somebody may have removed it when it was empty, and
 * another may have been made.  HF_OK with ${listing}; else it may be there and
 * is to be freed. */
static hf_status read_participants(struct hf_file_watch *watch,
                                   struct hf_file_listing **listing,
                                   struct hf_error *error)
{
    const char *queue = watch->request->queue;
    hf_status status;
    int wd = -1;

    for (unsigned try = 0; try < TRIES; try++) {
        if (!hf_file_inotify_arm(watch))
            return hf_error_set(error, HF_ELIMIT,
                                "cannot watch a double barrier: no memory or "
                                "descriptor for it; raise this process's "
                                "limits (ulimit -n)");
        if (*listing != NULL && watch->state != HF_FILE_WATCH_UNARMED &&
            watch->dir_wd == wd)
            return HF_OK;
        hf_file_listing_unref(*listing);
        wd = watch->dir_wd;
        status = hf_file_read_queue(watch->engine, queue,
                                    HF_LISTING_PARTICIPANTS, 1, listing, error);
        if (status != HF_OK || (*listing)->tickets.count == 0)
            return status;
    }
    return hf_error_set(error, HF_EUNREACHABLE,
                        "the directory of %s was made and removed %d times "
                        "while it was read; try again",
                        hf_quote(queue, strlen(queue)).text, TRIES);
}

/* Read the queue and watch all that is in it.  ${listing} as above. */
static hf_status read_and_watch(struct hf_file_watch *watch,
                                struct hf_file_listing **listing,
                                struct hf_error *error)
{
    hf_status status;

    if (watch->kind == HF_FILE_WATCH_PARTICIPANTS)
        status = read_participants(watch, listing, error);
    else
        status = hf_file_read_queue(watch->engine, watch->request->queue,
                                    HF_LISTING_QUEUE, 1, listing, error);
    if (status == HF_OK)
        status = watch_all(watch, *listing, error);
    if (status == HF_OK)
        note_listed(&watch->as.queue, *listing);
    return status;
}

/* Show the core the queue. */
static void answer_listed(struct hf_engine *engine, struct hf_request *request,
                          const struct hf_file_listing *listing)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    event.as.answer.request = request;
    event.as.answer.snapshot = hf_file_listing_snapshot(listing);
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_file_watch_queue(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_listing *listing = NULL;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_file_watch *watch;
    struct hf_error error;

    hf_file_dir_name_format(request->queue, dir_name);
    watch = hf_file_watch_new(engine, request, kind_of(request->ticket_kind),
                              dir_name);
    if (watch == NULL) {
        (void)hf_error_set(&error, HF_ENOMEM, "no memory to watch a queue");
        hf_file_fail_by_status(engine, request, &error);
    } else if (read_and_watch(watch, &listing, &error) != HF_OK) {
        hf_file_watch_end(watch);
        hf_file_fail_by_status(engine, request, &error);
    } else {
        answer_listed(engine, request, listing);
    }
    hf_file_listing_unref(listing);
}
