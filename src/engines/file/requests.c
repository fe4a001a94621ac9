/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "engines/file/engine.h"
#include "engines/file/errno_error.h"
#include "engines/file/syscalls.h"

/* --------------------------------------------------------------- listing -- */

void hf_engine_answer_queue(struct hf_engine *engine,
                            struct hf_request *request, enum hf_event_kind kind,
                            struct hf_listing *listing)
{
    struct hf_event event = {.kind = kind};

    if (!request->detailed)
        hf_predecessor_note(engine, request, listing);
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

enum hf_listing_scope hf_engine_listing_scope(const struct hf_request *request)
{
    return request->ticket_kind == HF_TICKET_PARTICIPANT
               ? HF_LISTING_PARTICIPANTS
               : HF_LISTING_QUEUE;
}

/* Of what is there besides tickets. */
static hf_status read_payloads_and_ready(struct hf_listing *listing, int dir,
                                         const char *path, size_t payloads,
                                         struct hf_error *error)
{
    hf_status status = hf_listing_read_payloads(listing, dir, payloads, error);

    if (status == HF_OK && listing->scope == HF_LISTING_PARTICIPANTS)
        status = hf_listing_read_ready(listing, dir, path, error);
    return status;
}

hf_status hf_engine_read_queue(struct hf_engine *engine, const char *queue,
                               enum hf_listing_scope scope, size_t payloads,
                               struct hf_listing **listing,
                               struct hf_error *error)
{
    char dir_name[HF_DIR_NAME_BYTES];
    char path[HF_PATH_BYTES];
    const struct hf_token_counter *counter =
        NULL; /* of another place: all is lost */
    hf_status status = HF_OK;
    int dir;

    hf_dir_name_format(queue, dir_name);
    hf_root_settings_path(&engine->settings, dir_name, NULL, path);
    *listing = hf_listing_new(dir_name, scope);
    if (*listing == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to list %s", path);
    if (engine->root_dir == NULL)
        return HF_OK; /* there was none, so nobody is there */
    dir = hf_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 && errno == ENOENT)
        return HF_OK;
    if (dir < 0 || !hf_descriptors_add(&engine->descriptors, dir)) {
        status = hf_error_set_errno(error, "open", path);
        goto free_listing;
    }
    if (hf_token_counter_is_current(&engine->root_dir->counter,
                                    engine->settings.counter_path))
        counter = &engine->root_dir->counter;
    status = hf_root_dir_check_lock_dir(engine->root_dir, dir, path, error);
    if (status == HF_OK)
        status = hf_listing_read(*listing, dir, path, counter, error);
    if (status != HF_OK && was_removed(dir)) {
        hf_listing_clear(*listing);
        status = HF_OK;
    }
    if (status == HF_OK && scope != HF_LISTING_ALL)
        status = read_payloads_and_ready(*listing, dir, path, payloads, error);
    hf_descriptors_close(&engine->descriptors, &dir);
    if (status == HF_OK)
        return HF_OK;

free_listing:
    hf_listing_unref(*listing);
    *listing = NULL;
    return status;
}

/* Nobody else is needed to decide on it. */
static void answer_own_only(struct hf_engine *engine,
                            struct hf_request *request)
{
    const struct hf_ticket own_ticket =
        hf_engine_own_ticket(engine, &request->ticket)->ticket;
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    event.as.answer.request = request;
    event.as.answer.snapshot = (struct hf_snapshot){&own_ticket, 1, 0};
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_engine_list(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_listing *listing;
    struct hf_error error;

    if (!request->detailed && hf_predecessor_own_is_first(engine, request)) {
        answer_own_only(engine, request);
        return;
    }
    if (hf_engine_read_queue(
            engine, request->queue, hf_engine_listing_scope(request),
            request->detailed ? SIZE_MAX : 1, &listing, &error) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    /* Nobody waits for a member alone, and finds it dead. */
    if (request->detailed || listing->scope == HF_LISTING_PARTICIPANTS)
        hf_engine_remove_dead(engine, listing);
    hf_engine_answer_queue(engine, request, HF_EVENT_LISTED, listing);
    hf_listing_unref(listing);
}

static bool find_in(const struct hf_listing *listing,
                    const struct hf_ticket_id *id, struct hf_ticket *ticket)
{
    struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    size_t index = hf_snapshot_find(&snapshot, id);

    if (index == snapshot.count)
        return false;
    *ticket = snapshot.tickets[index];
    ticket->payload = "";
    return true;
}

hf_status hf_engine_find_ticket(struct hf_engine *engine, const char *queue,
                                const struct hf_ticket_id *id,
                                struct hf_ticket *ticket, bool *found,
                                struct hf_error *error)
{
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_listing *listing;
    hf_status status;

    hf_dir_name_format(queue, dir_name);
    *found = engine->listing != NULL &&
             strcmp(engine->listing->dir_name, dir_name) == 0 &&
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
    struct hf_file_ticket *own_ticket =
        hf_engine_own_ticket(engine, &request->ticket);
    struct hf_listing *listing;
    struct hf_error error;
    struct hf_ticket there;

    hf_engine_warn_not_durable(engine);
    if (own_ticket == NULL) {
        hf_engine_run_locked(engine, request);
        return;
    }
    if (hf_engine_read_queue(engine, request->queue,
                             hf_engine_listing_scope(request), 1, &listing,
                             &error) != HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (find_in(listing, &request->ticket, &there)) {
        hf_engine_answer_queue(engine, request, HF_EVENT_ENQUEUED, listing);
    } else { /* somebody removed it */
        (void)hf_engine_remove_own(engine, own_ticket);
        hf_engine_run_locked(engine, request);
        hf_file_queue_watches_changed(engine, listing->dir_name);
    }
    hf_listing_unref(listing);
}

/* -------------------------------------------------------------- withdraw -- */

/* The core may forget others of them when it hears of one. */
static void end_watches(struct hf_file_ticket *own_ticket)
{
    while (own_ticket->watches != NULL)
        hf_ticket_watch_answer_gone(own_ticket->watches);
}

/* Copies given out by hold() keep the ticket in the queue until the last one
 * is closed; whoever waits then finds it dead.  If they are closed already,
 * nobody may be there to find it. */
static bool release_held(struct hf_engine *engine,
                         struct hf_file_ticket *own_ticket)
{
    bool found = hf_file_ticket_is_present(engine, own_ticket);
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_error unused;

    hf_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    hf_ticket_file_format(&own_ticket->ticket, file);
    hf_root_settings_path(&engine->settings, own_ticket->dir_name, file, path);
    if (hf_ticket_file_probe(&engine->descriptors, path, NULL, &unused) ==
        HF_OWNER_DEAD) {
        bool removed;

        (void)hf_ticket_file_remove(&engine->settings, own_ticket->dir_name,
                                    &own_ticket->ticket, &removed, &unused);
    }
    return found;
}

/* Unlinked first, so that it is not taken for a dead one; closed before
 * anything else, for the next in line waits for that. */
static bool remove_fifo(struct hf_engine *engine,
                        struct hf_file_ticket *own_ticket)
{
    struct hf_error error;
    bool found;

    if (hf_ticket_file_remove_fifo(&engine->settings, own_ticket->dir_name,
                                   &own_ticket->ticket, &found,
                                   &error) != HF_OK) {
        found = true; /* dead all the same once it is closed */
        engine->host.log(engine->host.host, HF_LOG_WARNING,
                         "a withdrawn ticket is left to be found dead: %s",
                         error.text);
    }
    hf_descriptors_close(&engine->descriptors, &own_ticket->fifo);
    hf_ticket_file_remove_payload(&engine->settings, own_ticket->dir_name,
                                  &own_ticket->ticket);
    return found;
}

bool hf_engine_remove_own(struct hf_engine *engine,
                          struct hf_file_ticket *own_ticket)
{
    bool found;

    /* First, because the one who is told of it may ask for it to be dropped. */
    hf_file_tickets_remove(&engine->tickets, own_ticket);
    hf_own_watch_blocker_gone(engine, &own_ticket->ticket.id);
    end_watches(own_ticket);
    found = own_ticket->held ? release_held(engine, own_ticket)
                             : remove_fifo(engine, own_ticket);
    hf_descriptors_close(&engine->descriptors, &own_ticket->probed_fifo);
    hf_dir_cache_ticket_gone(&engine->dir_cache, own_ticket->dir_name);
    hf_free(own_ticket);
    return found;
}

static struct hf_job *job_for(struct hf_engine *engine,
                              const struct hf_ticket_id *id)
{
    struct hf_job *job = engine->jobs;

    while (job != NULL && (job->args.kind != HF_REQUEST_ENQUEUE ||
                           !hf_ticket_id_equal(&job->args.ticket.id, id)))
        job = job->next_of_engine;
    return job;
}

void hf_engine_remove(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_engine_own_ticket(engine, &request->ticket);
    struct hf_job *job = job_for(engine, &request->ticket);
    char dir_name[HF_DIR_NAME_BYTES];

    if (own_ticket != NULL) {
        memcpy(dir_name, own_ticket->dir_name,
               strlen(own_ticket->dir_name) + 1);
        hf_engine_answer_found(engine, request, HF_EVENT_REMOVED,
                               hf_engine_remove_own(engine, own_ticket));
        /* Last: the core may end the session on hearing of either. */
        hf_file_queue_watches_changed(engine, dir_name);
    } else if (job != NULL) {
        assert(job->remove_request == NULL);
        job->remove_request = request; /* when it is known whether it went in */
        atomic_store(&job->cancelled, true);
    } else {
        hf_engine_evict(engine, request);
    }
}
