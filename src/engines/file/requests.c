/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

/* --------------------------------------------------------------- listing -- */

void hf_engine_tell_queue(struct hf_engine *engine, struct hf_request *request,
                          enum hf_event_kind kind, struct hf_listing *listing)
{
    struct hf_event event = {.kind = kind};

    if (!request->detailed)
        hf_ahead_note(engine, request, listing);
    hf_listing_unref(engine->listing);
    engine->listing = hf_listing_ref(listing);
    event.as.answer.request = request;
    event.as.answer.snapshot = hf_listing_snapshot(listing);
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

/* Nobody was in it any more when it was removed after it was opened. */
static bool was_removed(int dir)
{
    struct stat status;

    return hf_sys_fstat(dir, &status) == 0 && status.st_nlink == 0;
}

enum hf_listing_of hf_engine_listed_for(const struct hf_request *request)
{
    return request->ticket_kind == HF_TICKET_PARTICIPANT ? HF_LISTING_MEMBERS
                                                         : HF_LISTING_QUEUE;
}

/* Of what is there besides tickets. */
static hf_status read_more(struct hf_listing *listing, int dir,
                           const char *path, size_t payloads,
                           struct hf_error *error)
{
    hf_status status = hf_listing_read_payloads(listing, dir, payloads, error);

    if (status == HF_OK && listing->of == HF_LISTING_MEMBERS)
        status = hf_listing_read_mark(listing, dir, path, error);
    return status;
}

hf_status hf_engine_read_queue(struct hf_engine *engine, const char *queue,
                               enum hf_listing_of of, size_t payloads,
                               struct hf_listing **listing,
                               struct hf_error *error)
{
    char entry[HF_ENTRY_BYTES];
    char path[HF_PATH_BYTES];
    const struct hf_counter *counter = NULL; /* of another place: all is lost */
    hf_status status = HF_OK;
    int dir;

    hf_entry_format(queue, entry);
    hf_site_path(&engine->site, entry, NULL, path);
    *listing = hf_listing_new(entry, of);
    if (*listing == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to list %s", path);
    if (engine->place == NULL)
        return HF_OK; /* there was none, so nobody is there */
    dir = hf_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 && errno == ENOENT)
        return HF_OK;
    if (dir < 0 || !hf_descriptors_add(&engine->descriptors, dir)) {
        status = hf_trouble(error, "open", path);
        goto free_listing;
    }
    if (hf_counter_current(&engine->place->counter, engine->site.counter))
        counter = &engine->place->counter;
    status = hf_place_check_lock(engine->place, dir, path, error);
    if (status == HF_OK)
        status = hf_listing_read(*listing, dir, path, counter, error);
    if (status != HF_OK && was_removed(dir)) {
        hf_listing_clear(*listing);
        status = HF_OK;
    }
    if (status == HF_OK && of != HF_LISTING_ALL)
        status = read_more(*listing, dir, path, payloads, error);
    hf_descriptors_close(&engine->descriptors, &dir);
    if (status == HF_OK)
        return HF_OK;

free_listing:
    hf_listing_unref(*listing);
    *listing = NULL;
    return status;
}

/* Nobody else is needed to decide on it. */
static void tell_first(struct hf_engine *engine, struct hf_request *request)
{
    const struct hf_ticket own =
        hf_engine_own(engine, &request->ticket)->ticket;
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    event.as.answer.request = request;
    event.as.answer.snapshot = (struct hf_snapshot){&own, 1, 0};
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_engine_list(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_listing *listing;
    struct hf_error error;

    if (!request->detailed && hf_ahead_is_nobody(engine, request)) {
        tell_first(engine, request);
        return;
    }
    if (hf_engine_read_queue(
            engine, request->queue, hf_engine_listed_for(request),
            request->detailed ? SIZE_MAX : 1, &listing, &error) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    /* Nobody waits for a member alone, and finds it dead. */
    if (request->detailed || listing->of == HF_LISTING_MEMBERS)
        hf_engine_bury(engine, listing);
    hf_engine_tell_queue(engine, request, HF_EVENT_LISTED, listing);
    hf_listing_unref(listing);
}

static bool find_in(const struct hf_listing *listing,
                    const struct hf_ticket_id *id, struct hf_ticket *ticket)
{
    struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    size_t place = hf_snapshot_find(&snapshot, id);

    if (place == snapshot.count)
        return false;
    *ticket = snapshot.tickets[place];
    ticket->payload = "";
    return true;
}

hf_status hf_engine_find(struct hf_engine *engine, const char *queue,
                         const struct hf_ticket_id *id,
                         struct hf_ticket *ticket, bool *found,
                         struct hf_error *error)
{
    char entry[HF_ENTRY_BYTES];
    struct hf_listing *listing;
    hf_status status;

    hf_entry_format(queue, entry);
    *found = engine->listing != NULL &&
             strcmp(engine->listing->entry, entry) == 0 &&
             find_in(engine->listing, id, ticket);
    if (*found)
        return HF_OK;
    status =
        hf_engine_read_queue(engine, queue, HF_LISTING_ALL, 0, &listing, error);
    if (status != HF_OK)
        return status;
    *found = find_in(listing, id, ticket);
    hf_listing_unref(listing);
    return HF_OK;
}

/* --------------------------------------------------------------- enqueue -- */

void hf_engine_enqueue(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own = hf_engine_own(engine, &request->ticket);
    struct hf_listing *listing;
    struct hf_error error;
    struct hf_ticket there;

    hf_engine_tell_undurable(engine);
    if (own == NULL) {
        hf_engine_work(engine, request);
        return;
    }
    if (hf_engine_read_queue(engine, request->queue,
                             hf_engine_listed_for(request), 1, &listing,
                             &error) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (find_in(listing, &request->ticket, &there)) {
        hf_engine_tell_queue(engine, request, HF_EVENT_ENQUEUED, listing);
    } else { /* somebody removed it */
        (void)hf_engine_drop(engine, own);
        hf_engine_work(engine, request);
        hf_looks_changed(engine, listing->entry);
    }
    hf_listing_unref(listing);
}

/* -------------------------------------------------------------- withdraw -- */

/* The core may forget others of them when it hears of one. */
static void end_watches(struct hf_file_ticket *own)
{
    while (own->watches != NULL)
        hf_watch_gone(own->watches);
}

/* Copies given out by hold() keep the ticket in the queue until the last one
 * is closed; whoever waits then finds it dead.  If they are closed already,
 * nobody may be there to find it. */
static bool leave_to_copies(struct hf_engine *engine,
                            struct hf_file_ticket *own)
{
    bool found = hf_own_present(engine, own);
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;

    hf_descriptors_close(&engine->descriptors, &own->fifo);
    hf_ticket_file_format(&own->ticket, file);
    hf_site_path(&engine->site, own->entry, file, path);
    if (hf_section_probe(&engine->descriptors, path, NULL, &unused) ==
        HF_LIFE_DEAD) {
        bool removed;

        (void)hf_section_remove(&engine->site, own->entry, &own->ticket,
                                &removed, &unused);
    }
    return found;
}

/* Unlinked first, so that it is not taken for a dead one; closed before
 * anything else, for the next in line waits for that. */
static bool leave(struct hf_engine *engine, struct hf_file_ticket *own)
{
    struct hf_error error;
    bool found;

    if (hf_section_remove_ticket(&engine->site, own->entry, &own->ticket,
                                 &found, &error) != HF_OK) {
        found = true; /* dead all the same once it is closed */
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "a withdrawn ticket is left to be found dead: %s",
                         error.text);
    }
    hf_descriptors_close(&engine->descriptors, &own->fifo);
    hf_section_remove_payload(&engine->site, own->entry, &own->ticket);
    return found;
}

bool hf_engine_drop(struct hf_engine *engine, struct hf_file_ticket *own)
{
    bool found;

    /* First, because the one who is told of it may ask for it to be dropped. */
    hf_file_tickets_remove(&engine->tickets, own);
    hf_own_moved_up(engine, &own->ticket.id);
    end_watches(own);
    found = own->held ? leave_to_copies(engine, own) : leave(engine, own);
    hf_descriptors_close(&engine->descriptors, &own->found_fifo);
    hf_warm_left(&engine->warm, own->entry);
    hf_free(own);
    return found;
}

static struct hf_job *job_of(struct hf_engine *engine,
                             const struct hf_ticket_id *id)
{
    struct hf_job *job = engine->jobs;

    while (job != NULL && (job->order.work != HF_REQUEST_ENQUEUE ||
                           !hf_ticket_id_equal(&job->order.ticket.id, id)))
        job = job->sibling;
    return job;
}

void hf_engine_withdraw(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own = hf_engine_own(engine, &request->ticket);
    struct hf_job *job = job_of(engine, &request->ticket);
    char entry[HF_ENTRY_BYTES];

    if (own != NULL) {
        memcpy(entry, own->entry, strlen(own->entry) + 1);
        hf_engine_answer_found(engine, request, HF_EVENT_REMOVED,
                               hf_engine_drop(engine, own));
        /* Last: the core may end the session on hearing of either. */
        hf_looks_changed(engine, entry);
    } else if (job != NULL) {
        assert(job->withdraw == NULL);
        job->withdraw = request; /* when it is known whether it went in */
        atomic_store(&job->cancelled, true);
    } else {
        hf_engine_evict(engine, request);
    }
}
