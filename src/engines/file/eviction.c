/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to the tickets of others.
 *
 * Who is taken out hears of it by its inotify.  Those who wait behind it wait
 * for its FIFO to hang up, which its owner brings about when it hears; if it
 * hears nothing, being stopped, they must be told all the same.  So a byte is
 * written into the FIFO once it has no name any more: they look, and find that.
 *
 * Who is asked to let go is asked by touching the ticket: inotify tells of it,
 * who looks later sees it, anybody who could take the ticket out can do it
 * (with touch(1) too), and nothing is left to be cleared away.
 *
 * A write ticket that becomes a read ticket has another name from then on: a
 * ticket that is gone since it was listed is looked for once more.
 */
#include <errno.h>
#include <fcntl.h>

#include "core/error.h"
#include "engines/file/engine.h"
#include "engines/file/errno_error.h"
#include "engines/file/syscalls.h"

static void path_of(const struct hf_engine *engine, const char *dir_name,
                    const struct hf_ticket *ticket, char path[HF_PATH_BYTES])
{
    char file[HF_TICKET_FILE_BYTES];

    hf_ticket_file_format(ticket, file);
    hf_root_settings_path(&engine->settings, dir_name, file, path);
}

#define NAMES_MAX 2 /* of one ticket, as a writer and as a reader */

/* From the directory and not from the last list told: a writer may be a reader
 * by now. */
static hf_status find(struct hf_engine *engine,
                      const struct hf_request *request,
                      struct hf_ticket *ticket, bool *listed,
                      struct hf_error *error)
{
    hf_listing_unref(engine->listing);
    engine->listing = NULL;
    return hf_engine_find_ticket(engine, request->queue, &request->ticket,
                                 ticket, listed, error);
}

/* ---------------------------------------------------------------- evict -- */

/* For reading too: what is written is then kept for whoever has it open, and
 * opening it waits for nobody. */
static int open_fifo(struct hf_engine *engine, const char *path)
{
    int fifo = hf_sys_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0);

    if (fifo >= 0 && !hf_descriptors_add(&engine->descriptors, fifo))
        return -1;
    return fifo;
}

static hf_status evict_ticket(struct hf_engine *engine, const char *dir_name,
                              const struct hf_ticket *ticket, bool *found,
                              struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status;
    int fifo;

    path_of(engine, dir_name, ticket, path);
    fifo = open_fifo(engine, path);
    status = hf_ticket_file_remove(&engine->settings, dir_name, ticket, found,
                                   error);
    if (fifo < 0)
        return status;
    if (status == HF_OK)
        (void)!hf_sys_write(fifo, "", 1);
    hf_descriptors_close(&engine->descriptors, &fifo);
    return status;
}

static hf_status find_and_evict(struct hf_engine *engine,
                                const struct hf_request *request,
                                const char *dir_name, bool *found,
                                struct hf_error *error)
{
    hf_status status = HF_OK;
    struct hf_ticket ticket;
    bool listed = true;

    *found = false;
    for (int i = 0; i < NAMES_MAX && status == HF_OK && listed && !*found;
         i++) {
        status = find(engine, request, &ticket, &listed, error);
        if (status == HF_OK && listed)
            status = evict_ticket(engine, dir_name, &ticket, found, error);
    }
    return status;
}

void hf_engine_evict(struct hf_engine *engine, struct hf_request *request)
{
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_error error;
    bool found;

    hf_dir_name_format(request->queue, dir_name);
    if (find_and_evict(engine, request, dir_name, &found, &error) != HF_OK) {
        hf_engine_fail_by_status(engine, request, &error);
        return;
    }
    if (found)
        hf_dir_cache_ticket_gone(&engine->dir_cache, dir_name);
    hf_engine_answer_found(engine, request, HF_EVENT_REMOVED, found);
    if (found) /* its owner may be slow to let go of it */
        hf_file_queue_watches_ticket_gone(engine, dir_name);
}

/* --------------------------------------------------------------- revoke -- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* HF_OK; ${found}, if it was touched; and ${gone}, if it is not there any more:
 * its owner has heard already, or it is touched under the name that it has now.
 * The clock of a filesystem goes in steps of some milliseconds: two touches in
 * one of them would be one. */
static hf_status touch(const char *path, bool *found, bool *gone,
                       struct hf_error *error)
{
    struct stat before, after;

    *gone = true;
    if (hf_sys_lstat(path, &before) != 0)
        goto missing;
    if (hf_sys_touch(path) != 0)
        goto missing;
    *found = true;
    if (hf_sys_lstat(path, &after) != 0)
        return HF_OK;
    *gone = false;
    if (same_time(&before.st_mtim, &after.st_mtim))
        return hf_error_set(error, HF_EPROTOCOL,
                            "%s was touched a moment ago; try again", path);
    return HF_OK;

missing:
    return errno == ENOENT ? HF_OK : hf_error_set_errno(error, "touch", path);
}

/* As touch(); a ticket that is not listed is not ${gone}. */
static hf_status find_and_touch(struct hf_engine *engine,
                                const struct hf_request *request,
                                const char *dir_name, bool *found, bool *gone,
                                struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    struct hf_ticket ticket;
    hf_status status = find(engine, request, &ticket, gone, error);

    if (status != HF_OK || !*gone)
        return status;
    path_of(engine, dir_name, &ticket, path);
    if (hf_ticket_file_probe(&engine->descriptors, path, NULL, error) ==
        HF_OWNER_DEAD)
        return HF_OK; /* or not under that name */
    return touch(path, found, gone, error);
}

void hf_engine_revoke(struct hf_engine *engine, struct hf_request *request)
{
    hf_status status = HF_OK;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_error error;
    bool found = false, gone = true;

    hf_dir_name_format(request->queue, dir_name);
    for (int i = 0; i < NAMES_MAX && status == HF_OK && gone; i++)
        status =
            find_and_touch(engine, request, dir_name, &found, &gone, &error);
    if (status == HF_OK)
        hf_engine_answer_found(engine, request, HF_EVENT_REVOKE_SENT, found);
    else
        hf_engine_fail_by_status(engine, request, &error);
}

/* ----------------------------------------------------------------- bury -- */

static bool is_dead(struct hf_engine *engine, const char *dir_name,
                    const struct hf_ticket *ticket)
{
    char path[HF_PATH_BYTES];
    struct hf_error unused;

    if (hf_engine_own_ticket(engine, &ticket->id) != NULL)
        return false;
    path_of(engine, dir_name, ticket, path);
    return hf_ticket_file_probe(&engine->descriptors, path, NULL, &unused) ==
           HF_OWNER_DEAD;
}

void hf_engine_remove_dead(struct hf_engine *engine, struct hf_listing *listing)
{
    struct hf_error unused;
    bool found;

    for (size_t i = listing->tickets.count; i-- > 0;) {
        const struct hf_ticket *ticket = &listing->tickets.items[i];

        if (ticket->kind == HF_TICKET_READY ||
            !is_dead(engine, listing->dir_name, ticket))
            continue;
        if (hf_ticket_file_remove(&engine->settings, listing->dir_name, ticket,
                                  &found, &unused) == HF_OK &&
            found)
            hf_dir_cache_ticket_gone(&engine->dir_cache, listing->dir_name);
        hf_listing_drop(listing, i);
    }
}
