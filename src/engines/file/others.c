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
 */
#include <errno.h>
#include <fcntl.h>

#include "core/error.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

static void path_of(const struct hf_engine *engine, const char *entry,
                    const struct hf_ticket *ticket, char path[HF_PATH_BYTES])
{
    char file[HF_TICKET_FILE_BYTES];

    hf_ticket_file_format(ticket, file);
    hf_site_path(&engine->site, entry, file, path);
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

static hf_status take_out(struct hf_engine *engine, const char *entry,
                          const struct hf_ticket *ticket, bool *found,
                          struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status;
    int fifo;

    path_of(engine, entry, ticket, path);
    fifo = open_fifo(engine, path);
    status = hf_section_remove(&engine->site, entry, ticket, found, error);
    if (fifo < 0)
        return status;
    if (status == HF_OK)
        (void)!hf_sys_write(fifo, "", 1);
    hf_descriptors_close(&engine->descriptors, &fifo);
    return status;
}

void hf_engine_evict(struct hf_engine *engine, struct hf_request *request)
{
    char entry[HF_ENTRY_BYTES];
    struct hf_ticket ticket;
    struct hf_error error;
    bool found;

    hf_entry_format(request->queue, entry);
    /* From the directory and not from the last list told: a writer may be a
     * reader by now. */
    hf_listing_unref(engine->listing);
    engine->listing = NULL;
    if (hf_engine_find(engine, request->queue, &request->ticket, &ticket,
                       &found, &error) != HF_OK ||
        (found && take_out(engine, entry, &ticket, &found, &error) != HF_OK)) {
        hf_engine_refuse(engine, request, &error);
        return;
    }
    if (found)
        hf_warm_left(&engine->warm, entry);
    hf_engine_answer_found(engine, request, HF_EVENT_WITHDRAWN, found);
    if (found) /* its owner may be slow to let go of it */
        hf_looks_changed(engine, entry);
}

/* --------------------------------------------------------------- revoke -- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* HF_OK with ${found}.  The clock of a filesystem goes in steps of some
 * milliseconds: two touches in one of them would be one. */
static hf_status touch(const char *path, bool *found, struct hf_error *error)
{
    struct stat before, after;

    *found = false;
    if (hf_sys_lstat(path, &before) != 0)
        goto missing;
    if (hf_sys_touch(path) != 0)
        goto missing;
    *found = true;
    if (hf_sys_lstat(path, &after) != 0) /* its owner has heard already */
        return HF_OK;
    if (same_time(&before.st_mtim, &after.st_mtim))
        return hf_error_set(error, HF_EPROTOCOL,
                            "%s was touched a moment ago; try again", path);
    return HF_OK;

missing:
    return errno == ENOENT ? HF_OK : hf_trouble(error, "touch", path);
}

void hf_engine_revoke(struct hf_engine *engine, struct hf_request *request)
{
    char entry[HF_ENTRY_BYTES];
    char path[HF_PATH_BYTES];
    struct hf_ticket ticket;
    struct hf_error error;
    bool found;

    hf_entry_format(request->queue, entry);
    if (hf_engine_find(engine, request->queue, &request->ticket, &ticket,
                       &found, &error) != HF_OK)
        goto failed;
    if (found) {
        path_of(engine, entry, &ticket, path);
        if (hf_section_probe(&engine->descriptors, path, NULL, &error) ==
            HF_LIFE_DEAD)
            found = false;
        else if (touch(path, &found, &error) != HF_OK)
            goto failed;
    }
    hf_engine_answer_found(engine, request, HF_EVENT_ASKED, found);
    return;

failed:
    hf_engine_refuse(engine, request, &error);
}

/* ----------------------------------------------------------------- bury -- */

static bool is_dead(struct hf_engine *engine, const char *entry,
                    const struct hf_ticket *ticket)
{
    char path[HF_PATH_BYTES];
    struct hf_error unused;

    if (hf_engine_own(engine, &ticket->id) != NULL)
        return false;
    path_of(engine, entry, ticket, path);
    return hf_section_probe(&engine->descriptors, path, NULL, &unused) ==
           HF_LIFE_DEAD;
}

void hf_engine_bury(struct hf_engine *engine, struct hf_listing *listing)
{
    struct hf_error unused;
    bool found;

    for (size_t i = listing->tickets.count; i-- > 0;) {
        const struct hf_ticket *ticket = &listing->tickets.items[i];

        if (ticket->kind == HF_TICKET_READY ||
            !is_dead(engine, listing->entry, ticket))
            continue;
        if (hf_section_remove(&engine->site, listing->entry, ticket, &found,
                              &unused) == HF_OK &&
            found)
            hf_warm_left(&engine->warm, listing->entry);
        hf_listing_drop(listing, i);
    }
}
