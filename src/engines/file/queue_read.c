/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a queue for a request: open the directory of the lock, check who owns
 * it, and read it.  One that is not there, or was removed meanwhile, has no
 * tickets.
 */
#include "engines/file/queue_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "engines/file/engine.h"
#include "engines/file/listing.h"
#include "engines/file/syscalls.h"

/* Was the directory removed after it was opened?  Then nobody was in it. */
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

/* Read what is there besides tickets. */
static hf_status read_payloads_and_ready(struct hf_file_listing *listing,
                                         int dir, const char *path,
                                         size_t payloads,
                                         struct hf_error *error)
{
    hf_status status =
        hf_file_listing_read_payloads(listing, dir, payloads, error);

    if (status == HF_OK && listing->scope == HF_LISTING_PARTICIPANTS)
        status = hf_file_listing_read_ready(listing, dir, path, error);
    return status;
}

hf_status hf_file_read_queue(struct hf_engine *engine, const char *queue,
                             enum hf_file_listing_scope scope, size_t payloads,
                             struct hf_file_listing **listing,
                             struct hf_error *error)
{
    char dir_name[HF_DIR_NAME_BYTES];
    char path[HF_PATH_BYTES];
    const struct hf_file_token_counter *counter =
        NULL; /* NULL: it is of another root */
    hf_status status = HF_OK;
    int dir;

    hf_file_dir_name_format(queue, dir_name);
    hf_file_root_settings_path(&engine->settings, dir_name, NULL, path);
    *listing = hf_file_listing_new(dir_name, scope);
    if (*listing == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to list %s", path);
    if (engine->root_dir == NULL)
        return HF_OK; /* there is no root, so no tickets */
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
        status = read_payloads_and_ready(*listing, dir, path, payloads, error);
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
