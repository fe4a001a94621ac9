/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of queues.
 *
 * A queue watch has a FIFO watch for each ticket of another session in the
 * queue, and is answered when the first FIFO hangs up: a ticket has gone, or a
 * writer has become a reader.  Nobody waits behind a lease or a participant, so
 * no waiter removes dead ones; they are removed here before the list is shown.
 *
 * inotify reports new tickets: a new name in the directory or, if there are no
 * tickets, the directory itself.  The directory is read after the watch was set
 * up, so that nothing is missed in between.  For participants of a double
 * barrier this is done at once, because all of them wait for each other.  Any
 * other queue is watched HF_FILE_ARM_AFTER_MS after its list, and read again
 * then: only the head of a semaphore's locks asks for its leases, it soon has
 * what it wants in most cases, and a watch costs more than that.
 *
 * The tickets of this session need no FIFO watch.  Their removal is reported by
 * a call (hf_file_queue_watches_changed()), or by inotify if somebody else
 * removes one.  So if all tickets are of this session, and leave room for
 * another lease, no loop is needed.
 */
#include "engines/file/requests.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "core/admission.h"
#include "engines/file/engine.h"
#include "engines/file/fifo_watch.h"
#include "engines/file/inotify.h"
#include "engines/file/listing.h"
#include "engines/file/own_tickets.h"
#include "engines/file/queue.h"
#include "engines/file/watch.h"

/* How often the directory may be removed and made again while it is read. */
#define TRIES 64

/* How long, in milliseconds, after a failure to arm a watch the next attempt is
 * made. */
#define ARM_AGAIN_MS 1000

void hf_file_queue_watches_changed(struct hf_engine *engine,
                                   const char *dir_name)
{
    struct hf_file_watch *watch = engine->watches[HF_FILE_WATCH_QUEUE];

    for (; watch != NULL; watch = watch->next)
        if (strcmp(watch->dir_name, dir_name) == 0)
            watch->state = HF_FILE_WATCH_CHANGED;
    hf_file_watches_answer_changed(engine, HF_FILE_WATCH_QUEUE);
}

/* --------------------------------------------------------------- changes -- */

static bool is_of_participants(const struct hf_file_watch *watch)
{
    return watch->request->ticket_kind == HF_TICKET_PARTICIPANT;
}

/* Note what the core is shown, so that a real change can be distinguished from
 * an event that changed nothing. */
static void note_listed(struct hf_file_queue_watch *queue,
                        const struct hf_file_listing *listing)
{
    const struct hf_file_ticket_list *list = &listing->tickets;

    queue->count = list->count;
    queue->newest =
        list->count == 0 ? 0 : list->items[list->count - 1].sequence;
}

/* Returns whether ${listing} has something that the core was not shown, or
 * lacks something that it was shown.  The number of tickets and the greatest
 * sequence are enough to see that: sequences only rise, so a new ticket, or a
 * new generation, has a greater sequence than all that were shown. */
static bool differs_from(const struct hf_file_watch *watch,
                         const struct hf_file_listing *listing)
{
    struct hf_file_queue_watch now = {0};

    note_listed(&now, listing);
    return now.count != watch->as.queue.count ||
           now.newest != watch->as.queue.newest;
}

/* The same for the directory as it is now. */
static bool differs(const struct hf_file_watch *watch)
{
    struct hf_file_listing *listing;
    struct hf_error unused;
    bool changed;

    if (hf_file_read_queue(watch->engine, watch->request->queue,
                           hf_file_request_scope(watch->request), 0, &listing,
                           &unused) != HF_OK)
        return true; /* the core will ask again and get the error */
    changed = differs_from(watch, listing);
    hf_file_listing_unref(listing);
    return changed;
}

/* Returns whether ${ticket} is a ticket of this session that somebody has
 * removed. */
static bool is_own_and_gone(const struct hf_engine *engine,
                            const struct hf_ticket *ticket)
{
    struct hf_file_ticket *own_ticket = hf_file_own_ticket(engine, &ticket->id);

    return own_ticket != NULL && own_ticket->ticket.kind == ticket->kind &&
           hf_file_ticket_presence(engine, own_ticket) == HF_GONE;
}

/* Returns whether the file ${file}, which was added to the directory or removed
 * from it, changes what the core was shown.  Its name alone shows that, except
 * for READY, for which the directory is read, and for own tickets, whose file
 * is looked for. */
static bool is_change(const struct hf_file_watch *watch, const char *file)
{
    struct hf_ticket ticket;

    if (strcmp(file, HF_READY_FILE) == 0)
        return is_of_participants(watch) && differs(watch);
    return hf_file_name_parse(file, &ticket) == HF_FILE_NAME_TICKET &&
           (ticket.kind == HF_TICKET_PARTICIPANT) ==
               is_of_participants(watch) &&
           (ticket.sequence > watch->as.queue.newest ||
            watch->as.queue.has_unwatched ||
            is_own_and_gone(watch->engine, &ticket));
}

/* Returns whether the event changes what ${watch} watches or what the core was
 * shown.  If a watched directory was replaced, or events were lost, the core
 * must list again in any case. */
static bool is_changed_by(const struct hf_file_watch *watch, int wd, bool all,
                          const char *file)
{
    if (watch->state != HF_FILE_WATCH_ARMED &&
        watch->state != HF_FILE_WATCH_TIMED)
        return false; /* it will be read when it is armed */
    if (all)
        return true;
    if (watch->dir_wd == wd)
        return file == NULL || is_change(watch, file);
    return watch->wd == wd &&
           (file == NULL || strcmp(file, watch->as.queue.awaited) == 0);
}

void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file)
{
    struct hf_file_watch *watch = engine->watches[HF_FILE_WATCH_QUEUE];

    for (; watch != NULL; watch = watch->next)
        if (is_changed_by(watch, wd, all, file))
            watch->state = HF_FILE_WATCH_CHANGED;
    hf_file_watches_answer_changed(engine, HF_FILE_WATCH_QUEUE);
}

void hf_file_queue_watches_on_tick(struct hf_engine *engine)
{
    struct hf_file_watch *watch = engine->watches[HF_FILE_WATCH_QUEUE];

    for (; watch != NULL; watch = watch->next)
        if (watch->state == HF_FILE_WATCH_TIMED && differs(watch))
            watch->state = HF_FILE_WATCH_CHANGED;
    hf_file_watches_answer_changed(engine, HF_FILE_WATCH_QUEUE);
}

/* -------------------------------------------------------------- watching -- */

/* A ticket of the queue has gone.  Handle the events of inotify first: if our
 * own ticket, at the head of the locks, was removed before that, its owner must
 * be notified first. */
static void on_ticket_gone(struct hf_file_fifo_watch *fifo_watch)
{
    hf_file_inotify_read(fifo_watch->engine);
    /* The core may have forgotten the watch when it got those events. */
    if (!hf_file_fifo_watch_is_stopped(fifo_watch))
        hf_file_watch_answer(fifo_watch->watch);
}

/* Wait for the ticket at ${index} of ${listing}; remove it from the listing if
 * it is dead or has gone. */
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

/* Returns whether the ticket at ${index} gets no FIFO watch, because it is far
 * behind.  Its removal is noticed by its name, and the death of its owner when
 * its turn comes. */
static bool is_far_behind(const struct hf_file_watch *watch, size_t index)
{
    return index >= HF_FILE_QUEUE_FIFOS_MAX && !is_of_participants(watch) &&
           watch->request->weight == 0;
}

/* Wait for all tickets of other sessions in ${listing}, from the last to the
 * first, because the removal of a ticket from the listing moves those behind
 * it. */
static hf_status watch_all(struct hf_file_watch *watch,
                           struct hf_file_listing *listing,
                           struct hf_error *error)
{
    const char *queue = watch->request->queue;
    size_t count = listing->tickets.count;
    hf_status status = HF_OK;

    for (size_t i = count; i-- > 0 && status == HF_OK;) {
        const struct hf_ticket *ticket = &listing->tickets.items[i];

        if (ticket->kind == HF_TICKET_READY)
            continue;
        if (hf_file_own_ticket(watch->engine, &ticket->id) != NULL)
            watch->as.queue.has_own |= !is_of_participants(watch);
        else if (is_far_behind(watch, i))
            watch->as.queue.has_unwatched = true;
        else
            status = watch_ticket(watch, listing, i, error);
    }
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

/* Watch the directory, read it, and check that the directory at the path is
 * still the one that is watched: it may have been removed while it was empty,
 * and made again.  The same for the directory above, if that is watched.
 * ${listing} is NULL before; the caller frees it afterwards. */
static hf_status arm_and_read(struct hf_file_watch *watch, size_t payloads,
                              struct hf_file_listing **listing,
                              struct hf_error *error)
{
    const char *queue = watch->request->queue;
    hf_status status;
    int wd = -1, dir_wd = -1;

    for (unsigned try = 0; try < TRIES; try++) {
        if (!hf_file_inotify_arm(watch))
            return hf_error_set(error, HF_ELIMIT,
                                "cannot watch a queue: no memory or descriptor "
                                "for it; raise this process's limits (ulimit "
                                "-n)");
        if (*listing != NULL && watch->wd == wd && watch->dir_wd == dir_wd)
            return HF_OK;
        hf_file_listing_unref(*listing);
        wd = watch->wd;
        dir_wd = watch->dir_wd;
        status = hf_file_read_queue(watch->engine, queue,
                                    hf_file_request_scope(watch->request),
                                    payloads, listing, error);
        if (status != HF_OK)
            return status;
        if ((*listing)->tickets.count == 0)
            watch->as.queue.empty = true; /* then .wd is needed */
    }
    return hf_error_set(error, HF_EUNREACHABLE,
                        "the directory of %s was made and removed %d times "
                        "while it was read; try again",
                        hf_quote(queue, strlen(queue)).text, TRIES);
}

/* Read the queue and watch all tickets in it; for participants also the
 * directory.  ${listing} is as in arm_and_read(). */
static hf_status read_and_watch(struct hf_file_watch *watch,
                                struct hf_file_listing **listing,
                                struct hf_error *error)
{
    hf_status status;

    if (is_of_participants(watch))
        status = arm_and_read(watch, 1, listing, error);
    else
        status = hf_file_read_queue(watch->engine, watch->request->queue,
                                    HF_LISTING_QUEUE, 1, listing, error);
    return status == HF_OK ? watch_all(watch, *listing, error) : status;
}

/* Returns whether the list is all that the core needs: if the leases leave room
 * for the wanted permits, the core takes them and ends the watch. */
static bool is_enough(const struct hf_request *request,
                      const struct hf_file_listing *leases)
{
    struct hf_snapshot snapshot = hf_file_listing_snapshot(leases);

    return request->weight > 0 &&
           hf_admission_has_room(&snapshot, request->weight, request->limit);
}

/* Have ${watch} armed later, unless it is armed or need not be. */
static hf_status arm_later(struct hf_file_watch *watch,
                           const struct hf_file_listing *listing,
                           struct hf_error *error)
{
    if (is_of_participants(watch) || is_enough(watch->request, listing))
        return HF_OK;
    watch->state = HF_FILE_WATCH_TO_ARM;
    if (hf_file_inotify_arm_later(watch->engine, HF_FILE_ARM_AFTER_MS))
        return HF_OK;
    return hf_error_set(error, HF_ELIMIT,
                        "cannot watch a queue: no memory or descriptor for the "
                        "event loop; raise this process's limits (ulimit -n)");
}

/* Do all that comes before the list of a queue watch.  ${listing} is as in
 * arm_and_read(). */
static hf_status start_watch(struct hf_file_watch *watch,
                             struct hf_file_listing **listing,
                             struct hf_error *error)
{
    hf_status status = read_and_watch(watch, listing, error);

    if (status == HF_OK && (*listing)->tickets.count == 0 &&
        is_of_participants(watch) && !watch->as.queue.empty) {
        /* All participants were dead, and their directory may be gone by
         * now. */
        watch->as.queue.empty = true;
        hf_file_listing_unref(*listing);
        *listing = NULL;
        status = read_and_watch(watch, listing, error);
    }
    if (status != HF_OK)
        return status;
    note_listed(&watch->as.queue, *listing);
    return arm_later(watch, *listing, error);
}

/* Arm ${watch}, and mark it if anything has changed since its list.  Returns
 * false if it cannot be armed now and must be armed later. */
static bool arm_now(struct hf_file_watch *watch)
{
    struct hf_file_listing *listing = NULL;
    struct hf_error error;
    hf_status status;

    watch->state = HF_FILE_WATCH_UNARMED;
    status = arm_and_read(watch, 0, &listing, &error);
    if (status == HF_ELIMIT && !hf_request_is_of_kept_ticket(watch->request))
        watch->state = HF_FILE_WATCH_TO_ARM;
    /* after an error, the core lists again and gets the error */
    else if (status != HF_OK || differs_from(watch, listing))
        watch->state = HF_FILE_WATCH_CHANGED;
    hf_file_listing_unref(listing);
    return watch->state != HF_FILE_WATCH_TO_ARM;
}

void hf_file_queue_watches_arm(struct hf_engine *engine)
{
    struct hf_file_watch *watch = engine->watches[HF_FILE_WATCH_QUEUE];
    bool again = false;

    for (; watch != NULL; watch = watch->next)
        if (watch->state == HF_FILE_WATCH_TO_ARM)
            again |= !arm_now(watch);
    if (again)
        (void)hf_file_inotify_arm_later(engine, ARM_AGAIN_MS);
    hf_file_watches_answer_changed(engine, HF_FILE_WATCH_QUEUE);
}

/* Answer with the queue. */
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
    watch = hf_file_watch_new(engine, request, HF_FILE_WATCH_QUEUE, dir_name);
    if (watch == NULL) {
        (void)hf_error_set(&error, HF_ENOMEM, "no memory to watch a queue");
        hf_file_fail_by_status(engine, request, &error);
    } else if (start_watch(watch, &listing, &error) != HF_OK) {
        hf_file_watch_end(watch);
        hf_file_fail_by_status(engine, request, &error);
    } else {
        answer_listed(engine, request, listing);
    }
    hf_file_listing_unref(listing);
}
