/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a queue from its directory without the directory's lock, and carries
 * out HF_REQUEST_LIST.  The directory is opened, its owner is checked, and it
 * is read.  A directory that does not exist, or was removed meanwhile, has no
 * tickets.
 *
 * A detailed list is for people and tests each ticket.  Any other list is for a
 * decision of the core, and may be known without reading the directory
 * (predecessor.c).
 */
#include "engines/file/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "engines/file/engine.h"
#include "engines/file/listing.h"
#include "engines/file/own_tickets.h"
#include "engines/file/predecessor.h"
#include "engines/file/requests.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"

/* --------------------------------------------------------------- reading -- */

/* Returns whether the directory was removed after it was opened; then it had no
 * tickets. */
static bool was_removed(int dir)
{
    struct stat status;

    return hf_file_sys_fstat(dir, &status) == 0 && status.st_nlink == 0;
}

enum hf_file_listing_scope
hf_file_request_scope(const struct hf_request *request)
{
    return request->ticket_kind == HF_TICKET_PARTICIPANT
               ? HF_LISTING_PARTICIPANTS
               : HF_LISTING_QUEUE;
}

hf_status hf_file_read_queue(struct hf_engine *engine, const char *queue,
                             enum hf_file_listing_scope scope, size_t payloads,
                             struct hf_file_listing **listing,
                             struct hf_error *error)
{
    char dir_name[HF_DIR_NAME_BYTES];
    char path[HF_PATH_BYTES];
    const struct hf_file_token_counter *counter =
        NULL; /* stays NULL if the counter is that of another root directory */
    hf_status status = HF_OK;
    int dir;

    hf_file_dir_name_format(queue, dir_name);
    hf_file_root_settings_path(&engine->settings, dir_name, NULL, path);
    *listing = hf_file_listing_new(dir_name, scope);
    if (*listing == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to list %s", path);
    /* somebody may have made the root directory since */
    if (engine->root_dir == NULL &&
        hf_file_root_dir_open_existing(&engine->settings, &engine->descriptors,
                                       &engine->root_dir, error) != HF_OK) {
        status = error->status;
        goto free_listing;
    }
    if (engine->root_dir == NULL)
        return HF_OK; /* there is no root directory, so there are no tickets */
    dir = hf_file_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 && errno == ENOENT)
        return HF_OK;
    if (dir < 0 || !hf_file_descriptors_add(&engine->descriptors, dir)) {
        status = hf_file_error_set_errno(error, "open", path);
        goto free_listing;
    }
    if (hf_file_token_counter_is_current(&engine->root_dir->counter,
                                         engine->settings.counter_path))
        counter = &engine->root_dir->counter;
    status =
        hf_file_root_dir_check_lock_dir(engine->root_dir, dir, path, error);
    if (status == HF_OK)
        status = hf_file_listing_read(*listing, dir, path, counter, error);
    if (status != HF_OK && was_removed(dir)) {
        hf_file_listing_clear(*listing);
        status = HF_OK;
    }
    if (status == HF_OK && scope != HF_LISTING_ALL)
        status =
            hf_file_listing_read_texts(*listing, dir, path, payloads, error);
    hf_file_descriptors_close(&engine->descriptors, &dir);
    if (status == HF_OK)
        return HF_OK;

free_listing:
    hf_file_listing_unref(*listing);
    *listing = NULL;
    return status;
}

hf_status hf_file_find_ticket(struct hf_engine *engine, const char *queue,
                              const struct hf_ticket_id *id,
                              struct hf_ticket *ticket, bool *found,
                              struct hf_error *error)
{
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_file_listing *listing;
    hf_status status;

    hf_file_dir_name_format(queue, dir_name);
    *found = engine->listing != NULL &&
             strcmp(engine->listing->dir_name, dir_name) == 0 &&
             hf_file_listing_find(engine->listing, id, ticket);
    if (*found)
        return HF_OK;
    status =
        hf_file_read_queue(engine, queue, HF_LISTING_ALL, 0, &listing, error);
    if (status != HF_OK)
        return status;
    *found = hf_file_listing_find(listing, id, ticket);
    hf_file_listing_unref(listing);
    return HF_OK;
}

/* ---------------------------------------------------------- dead tickets -- */

/* Returns whether the owner of ${ticket} is certainly dead; then ${path} is the
 * path of its FIFO.  Tickets of this session are not tested, because their
 * owner is alive. */
static bool is_dead(struct hf_engine *engine, const char *dir_name,
                    const struct hf_ticket *ticket, char path[HF_PATH_BYTES])
{
    struct hf_error unused;

    if (hf_file_own_ticket(engine, &ticket->id) != NULL)
        return false;
    hf_file_fifo_path(&engine->settings, dir_name, ticket, path);
    return hf_file_fifo_probe(&engine->descriptors, path, NULL, &unused) ==
           HF_OWNER_DEAD;
}

/* Remove the tickets of dead owners from ${listing} and from its directory. */
static void remove_dead(struct hf_engine *engine,
                        struct hf_file_listing *listing)
{
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    bool found;

    for (size_t i = listing->tickets.count; i-- > 0;) {
        const struct hf_ticket *ticket = &listing->tickets.items[i];

        if (ticket->kind == HF_TICKET_READY ||
            !is_dead(engine, listing->dir_name, ticket, path))
            continue;
        if (hf_file_fifo_and_payload_remove(path, &found, &unused) == HF_OK &&
            found)
            hf_file_dir_cache_ticket_gone(&engine->dir_cache,
                                          listing->dir_name);
        hf_file_listing_drop(listing, i);
    }
}

/* ----------------------------------------------------------------- lists -- */

void hf_file_answer_queue(struct hf_engine *engine, struct hf_request *request,
                          struct hf_file_ticket *own_ticket,
                          enum hf_event_kind kind,
                          struct hf_file_listing *listing)
{
    struct hf_event event = {.kind = kind};

    if (own_ticket != NULL && !request->detailed)
        hf_file_predecessor_note(engine, own_ticket, listing);
    hf_file_listing_unref(engine->listing);
    engine->listing = hf_file_listing_ref(listing);
    event.as.answer.request = request;
    event.as.answer.snapshot = hf_file_listing_snapshot(listing);
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

/* Answer with the own ticket only.  It is the first, so no other ticket matters
 * for it.  The core gets a copy, because it may remove the ticket when it gets
 * the answer. */
static void answer_own_only(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_file_ticket *own_ticket)
{
    const struct hf_ticket ticket = own_ticket->ticket;
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    event.as.answer.request = request;
    event.as.answer.snapshot = (struct hf_snapshot){&ticket, 1, 0};
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_file_list(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);
    struct hf_file_listing *listing;
    struct hf_error error;

    if (own_ticket != NULL && !request->detailed &&
        hf_file_predecessor_own_is_first(engine, own_ticket)) {
        answer_own_only(engine, request, own_ticket);
        return;
    }
    if (hf_file_read_queue(
            engine, request->queue, hf_file_request_scope(request),
            request->detailed ? SIZE_MAX : 1, &listing, &error) != HF_OK) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    /* Nobody waits for a single participant, so no waiter removes dead ones. */
    if (request->detailed || listing->scope == HF_LISTING_PARTICIPANTS)
        remove_dead(engine, listing);
    hf_file_answer_queue(engine, request, own_ticket, HF_EVENT_LISTED, listing);
    hf_file_listing_unref(listing);
}
