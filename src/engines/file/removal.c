/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_REMOVE, by the owner of a ticket (which the worker thread may just
 * be making) or by somebody else; and HF_REQUEST_REVOKE.
 *
 * An owner whose ticket is removed is notified by inotify and closes its FIFO,
 * which wakes the sessions that wait for the ticket.  But an owner that is
 * stopped closes nothing.  So when the FIFO has no name any more, a byte is
 * written into it: the waiting sessions wake up and see that the name is gone.
 *
 * The text for the evicted owner replaces the payload of the ticket first, and
 * stays when the FIFO is removed.  The owner reads the text and removes it.  If
 * the owner cannot, the next enqueue removes it like any payload without a
 * ticket (hf_file_listing_remove_orphans()).  If an enqueue removes it before
 * the owner has read it, the owner knows the loss but not the reason.
 *
 * An owner is asked to release by touching its ticket.  inotify reports the
 * touch, and an owner that looks later sees the time.  Anybody who could remove
 * the ticket can do that, even with touch(1), and nothing is left that must be
 * cleaned up.
 *
 * A write ticket that becomes a read ticket gets another name.  So if a ticket
 * has gone since it was found, it is searched once more.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engines/file/engine.h"
#include "engines/file/listing.h"
#include "engines/file/own_tickets.h"
#include "engines/file/queue.h"
#include "engines/file/requests.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"
#include "engines/file/ticket_watch.h"

/* How many names a ticket may have one after the other: as a writer and as a
 * reader. */
#define NAMES_MAX 2

/* Find the ticket of ${request} in the directory.  The last listing is not
 * used, because a writer may be a reader by now.  After HF_OK, ${listed} says
 * whether it was found. */
static hf_status find(struct hf_engine *engine,
                      const struct hf_request *request,
                      struct hf_ticket *ticket, bool *listed,
                      struct hf_error *error)
{
    hf_file_listing_unref(engine->listing);
    engine->listing = NULL;
    return hf_file_find_ticket(engine, request->queue, &request->ticket, ticket,
                               listed, error);
}

/* -------------------------------------------------------------- eviction -- */

/* Open the FIFO at ${path} to write a byte into it.  Returns -1 on failure.  It
 * is opened for reading, too, because a FIFO that is opened only for writing
 * needs a reader. */
static int open_fifo(struct hf_engine *engine, const char *path)
{
    int fifo = hf_file_sys_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0);

    if (fifo >= 0 && !hf_file_descriptors_add(&engine->descriptors, fifo))
        return -1;
    return fifo;
}

/* Leave ${evicted_by} to the owner of ${ticket}.  Returns whether that was
 * done. */
static bool write_evicted_by(struct hf_engine *engine, const char *dir_name,
                             const struct hf_ticket *ticket,
                             const char *evicted_by)
{
    char payload[sizeof(HF_FILE_EVICTED_BY) + HF_EVICTED_BY_BYTES];
    struct hf_error unused;

    if (evicted_by == NULL)
        return false;
    (void)snprintf(payload, sizeof payload, HF_FILE_EVICTED_BY "%s",
                   evicted_by);
    return hf_file_payload_write(&engine->settings, &engine->descriptors,
                                 dir_name, ticket, payload, &unused) == HF_OK;
}

/* Remove ${ticket}, and write the byte that wakes the sessions that wait for
 * it. */
static hf_status evict_ticket(struct hf_engine *engine, const char *dir_name,
                              const struct hf_ticket *ticket,
                              const char *evicted_by, bool *found,
                              struct hf_error *error)
{
    char path[HF_PATH_BYTES];
    hf_status status;
    int fifo;

    hf_file_fifo_path(&engine->settings, dir_name, ticket, path);
    fifo = open_fifo(engine, path);
    if (fifo >= 0 && write_evicted_by(engine, dir_name, ticket, evicted_by))
        status = hf_file_fifo_remove(path, found, error);
    else
        status = hf_file_fifo_and_payload_remove(path, found, error);
    if (fifo < 0)
        return status;
    if (status == HF_OK)
        (void)!hf_file_sys_write(fifo, "", 1);
    hf_file_descriptors_close(&engine->descriptors, &fifo);
    return status;
}

/* Find the ticket of ${request} and remove it.  ${found}: it was there. */
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
            status = evict_ticket(engine, dir_name, &ticket,
                                  request->evicted_by, found, error);
    }
    return status;
}

/* Carry out a HF_REQUEST_REMOVE that does not come from the owner of the
 * ticket. */
static void evict(struct hf_engine *engine, struct hf_request *request)
{
    const struct hf_ticket_id id = request->ticket;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_error error;
    bool found;

    hf_file_dir_name_format(request->queue, dir_name);
    if (find_and_evict(engine, request, dir_name, &found, &error) != HF_OK) {
        hf_file_fail_by_status(engine, request, &error);
        return;
    }
    /* With .evicted_by, a text for the owner is left in the directory.  The
     * owner removes the directory, if it is unused, when it has read the
     * text. */
    if (found && request->evicted_by == NULL)
        hf_file_dir_cache_ticket_gone(&engine->dir_cache, dir_name);
    hf_file_answer_found(engine, request, HF_EVENT_REMOVED, found);
    if (!found)
        return;
    hf_file_own_watch_evicted(engine, &id);
    /* because the owner may be slow to close its FIFO */
    hf_file_queue_watches_changed(engine, dir_name);
}

/* ------------------------------------------------------------ revocation -- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Touch the FIFO at ${path}.  After HF_OK, ${found} is set if it was touched,
 * and ${gone} if it is not there afterwards, so that its owner may not have
 * noticed.
 *   Fails     HF_EPROTOCOL if the touch changed nothing: the clock of a
 *             filesystem goes in steps of some milliseconds, and two touches
 *             within one step would be one. */
static hf_status touch(const char *path, bool *found, bool *gone,
                       struct hf_error *error)
{
    struct stat before, after;

    *gone = true;
    if (hf_file_sys_lstat(path, &before) != 0)
        goto missing;
    if (hf_file_sys_touch(path) != 0)
        goto missing;
    *found = true;
    if (hf_file_sys_lstat(path, &after) != 0)
        return HF_OK;
    *gone = false;
    if (same_time(&before.st_mtim, &after.st_mtim))
        return hf_error_set(error, HF_EPROTOCOL,
                            "%s was touched a moment ago; try again", path);
    return HF_OK;

missing:
    return errno == ENOENT ? HF_OK
                           : hf_file_error_set_errno(error, "touch", path);
}

/* The same for the ticket of ${request}.  ${gone} is not set if the ticket is
 * not in the directory at all. */
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
    hf_file_fifo_path(&engine->settings, dir_name, &ticket, path);
    /* the owner is dead, or the ticket has another name by now */
    if (hf_file_fifo_probe(&engine->descriptors, path, NULL, error) ==
        HF_OWNER_DEAD)
        return HF_OK;
    return touch(path, found, gone, error);
}

void hf_file_revoke(struct hf_engine *engine, struct hf_request *request)
{
    hf_status status = HF_OK;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_error error;
    bool found = false, gone = true;

    hf_file_dir_name_format(request->queue, dir_name);
    for (int i = 0; i < NAMES_MAX && status == HF_OK && gone; i++)
        status =
            find_and_touch(engine, request, dir_name, &found, &gone, &error);
    if (status == HF_OK)
        hf_file_answer_found(engine, request, HF_EVENT_REVOKE_SENT, found);
    else
        hf_file_fail_by_status(engine, request, &error);
}

/* --------------------------------------------------------------- removal -- */

/* Returns the job that makes the ticket ${id}, or NULL. */
static struct hf_file_job *job_for(struct hf_engine *engine,
                                   const struct hf_ticket_id *id)
{
    struct hf_file_job *job = engine->jobs;

    while (job != NULL && (job->args.kind != HF_REQUEST_ENQUEUE ||
                           !hf_ticket_id_equal(&job->args.ticket.id, id)))
        job = job->next_of_engine;
    return job;
}

void hf_file_remove(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);
    struct hf_file_job *job = job_for(engine, &request->ticket);
    char dir_name[HF_DIR_NAME_BYTES];

    if (own_ticket != NULL && request->operation == NULL) {
        memcpy(dir_name, own_ticket->dir_name,
               strlen(own_ticket->dir_name) + 1);
        hf_file_answer_found(engine, request, HF_EVENT_REMOVED,
                             hf_file_remove_own(engine, own_ticket));
        /* last, because the core may end the session when it gets either
         * answer */
        hf_file_queue_watches_changed(engine, dir_name);
    } else if (job != NULL) {
        assert(job->remove_request == NULL);
        /* carried out when it is known whether the ticket was made */
        job->remove_request = request;
        atomic_store(&job->cancelled, true);
    } else {
        evict(engine, request);
    }
}
