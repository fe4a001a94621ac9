/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_REMOVE by the owner of a ticket, also of one that the worker
 * thread is about to make, or by somebody else; and HF_REQUEST_REVOKE.
 *
 * An owner whose ticket is removed is notified by inotify and closes its FIFO,
 * which wakes the sessions that wait for the ticket.  An owner that is stopped
 * closes nothing.  So a byte is written into the FIFO once it has no name any
 * more: the waiting sessions wake up and see that the name is gone.
 *
 * What the owner is to know of the eviction is put in the place of the ticket's
 * payload before, and stays there when the FIFO goes.  The owner reads it and
 * removes it; where the owner cannot, the next enqueue does, as any payload
 * without a ticket (hf_file_listing_remove_orphans()).  An enqueue that comes
 * before the owner has read it removes it too: the owner then knows the loss
 * alone.
 *
 * An owner is asked to let go by touching its ticket.  inotify reports that,
 * and an owner that looks later sees the time.  Everybody who could remove the
 * ticket can do this, with touch(1) too, and nothing is left that has to be
 * cleared away.
 *
 * A write ticket that becomes a read ticket gets another name.  So a ticket
 * that has gone since it was found is looked for once more.
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

/* How many names a ticket may have, one after the other: as a writer and as a
 * reader. */
#define NAMES_MAX 2

/* Find the ticket of ${request}, in the directory and not in the last listing,
 * because a writer may be a reader by now.  HF_OK with ${listed}: it was found.
 */
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

/* Open the FIFO at ${path} to write a byte into it; -1: it cannot be opened. It
 * is opened for reading too, because a FIFO that is opened for writing only
 * needs a reader. */
static int open_fifo(struct hf_engine *engine, const char *path)
{
    int fifo = hf_file_sys_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0);

    if (fifo >= 0 && !hf_file_descriptors_add(&engine->descriptors, fifo))
        return -1;
    return fifo;
}

/* Leave ${evicted_by} to the owner of ${ticket}.  False if nothing is left. */
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

/* Remove ${ticket} and write the byte that wakes those who wait for it. */
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

/* HF_REQUEST_REMOVE of a ticket of another session, or of one of this session
 * whose owner has not asked for it. */
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
    /* With .evicted_by a text is left there for the owner, who looks whether
     * the directory is empty when it has read the text. */
    if (found && request->evicted_by == NULL)
        hf_file_dir_cache_ticket_gone(&engine->dir_cache, dir_name);
    hf_file_answer_found(engine, request, HF_EVENT_REMOVED, found);
    if (!found)
        return;
    hf_file_own_watch_evicted(engine, &id);
    /* Its owner may be slow to close it. */
    hf_file_queue_watches_changed(engine, dir_name);
}

/* ------------------------------------------------------------ revocation -- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Touch the FIFO at ${path}.  HF_OK; with ${found} if it was touched, and with
 * ${gone} if it is not there any more afterwards, so that the owner may not
 * have seen it.
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

/* The same for the ticket of ${request}; one that is not in the directory at
 * all is not ${gone}. */
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
    if (hf_file_fifo_probe(&engine->descriptors, path, NULL, error) ==
        HF_OWNER_DEAD)
        return HF_OK; /* dead, or it has another name by now */
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

/* The job that makes the ticket ${id}, or NULL. */
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
        /* Last, because the core may end the session in either answer. */
        hf_file_queue_watches_changed(engine, dir_name);
    } else if (job != NULL) {
        assert(job->remove_request == NULL);
        job->remove_request =
            request; /* when it is known whether it was made */
        atomic_store(&job->cancelled, true);
    } else {
        evict(engine, request);
    }
}
