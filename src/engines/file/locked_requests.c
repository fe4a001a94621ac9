/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that need the lock of a directory: HF_REQUEST_ENQUEUE,
 * HF_REQUEST_NEW_GENERATION, HF_REQUEST_CLEAR_FLAG of READY,
 * HF_REQUEST_WRITE_SUCCESS, and HF_REQUEST_READ_SUCCESS of a holder.  The
 * calling thread carries them out if it need not wait or open the root
 * directory again; otherwise they become jobs of the worker thread.
 * HF_REQUEST_END is here as well, because it waits for the last job.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/engine.h"
#include "engines/file/inotify.h"
#include "engines/file/listing.h"
#include "engines/file/own_tickets.h"
#include "engines/file/queue.h"
#include "engines/file/requests.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"
#include "engines/file/ticket_watch.h"

/* Make the ticket of this session for the files that ${result} has.  Returns
 * NULL if memory runs out. */
static struct hf_file_ticket *
own_ticket_new(const struct hf_file_locked_section_result *result,
               struct hf_error *error)
{
    size_t name_bytes = strlen(result->listing->dir_name) + 1;
    struct hf_file_ticket *own_ticket =
        hf_alloc(sizeof(*own_ticket) + name_bytes);

    if (own_ticket == NULL) {
        hf_error_set(error, HF_ENOMEM, "no memory for a ticket");
        return NULL;
    }
    hf_file_ticket_set_stat(own_ticket, &result->fifo_stat);
    own_ticket->probed = result->blocker;
    own_ticket->probed_fifo = result->blocker_fifo;
    own_ticket->ticket = result->ticket;
    own_ticket->ticket.payload = "";
    memcpy(own_ticket->file, result->file, sizeof(own_ticket->file));
    memcpy(own_ticket->dir_name, result->listing->dir_name, name_bytes);
    own_ticket->fifo = result->fifo;
    return own_ticket;
}

/* Add the ticket that ${result} has made to those of this session, and answer.
 * Takes over all that ${result} owns. */
static void adopt_ticket(struct hf_engine *engine, struct hf_request *request,
                         struct hf_file_locked_section_result *result)
{
    struct hf_file_listing *listing = result->listing;
    struct hf_error error, unused;
    struct hf_file_ticket *own_ticket = own_ticket_new(result, &error);
    char path[HF_PATH_BYTES];
    bool found;

    result->listing = NULL;
    if (own_ticket == NULL) {
        hf_file_root_settings_path(&engine->settings, listing->dir_name,
                                   result->file, path);
        (void)hf_file_fifo_and_payload_remove(path, &found, &unused);
        hf_file_descriptors_close(&engine->descriptors, &result->fifo);
        hf_file_descriptors_close(&engine->descriptors, &result->blocker_fifo);
        hf_file_fail(engine, request, HF_FAILURE_FATAL, &error);
    } else {
        /* a ticket of this session needs no FIFO watch */
        if (own_ticket->probed_fifo >= 0 &&
            hf_file_own_ticket(engine, &own_ticket->probed) != NULL)
            hf_file_descriptors_close(&engine->descriptors,
                                      &own_ticket->probed_fifo);
        hf_file_tickets_add(&engine->tickets, own_ticket);
        result->fifo = -1;
        result->blocker_fifo = -1;
        hf_file_inotify_put_fifo_above(engine, own_ticket);
        hf_file_answer_queue(engine, request, own_ticket, HF_EVENT_ENQUEUED,
                             listing);
    }
    hf_file_listing_unref(listing);
}

/* Answer the start of a generation.  If there were too few participants, it
 * fails as RETRY. */
static void
answer_generation(struct hf_engine *engine, struct hf_request *request,
                  const struct hf_file_locked_section_result *result)
{
    struct hf_error error;

    if (result->participants >= request->limit) {
        hf_file_answer_found(engine, request, HF_EVENT_FLAG_UPDATED,
                             result->found);
        return;
    }
    hf_error_set(&error, HF_EBUSY, "%u of %u participants are there",
                 (unsigned)result->participants, (unsigned)request->limit);
    hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
}

/* Answer a request about the success. */
static void answer_success(struct hf_engine *engine, struct hf_request *request,
                           const struct hf_file_locked_section_result *result)
{
    struct hf_error error;

    if (request->kind == HF_REQUEST_WRITE_SUCCESS) {
        hf_file_answer_found(engine, request, HF_EVENT_SUCCESS_WRITTEN,
                             result->found);
    } else if (result->found) {
        hf_file_answer_success(engine, request, &result->success);
    } else {
        hf_error_set(&error, HF_ELOST,
                     "the ticket is not in its queue any more");
        hf_file_fail(engine, request, HF_FAILURE_FATAL, &error);
    }
}

/* Answer a request whose locked section has ended with HF_LOCKED_SECTION_DONE
 * or HF_LOCKED_SECTION_FAILED.  Takes over all that ${result} owns. */
static void answer_done(struct hf_engine *engine, struct hf_request *request,
                        enum hf_file_locked_section_answer answer,
                        struct hf_file_locked_section_result *result,
                        const struct hf_error *error)
{
    if (answer == HF_LOCKED_SECTION_FAILED)
        hf_file_fail_by_status(engine, request, error);
    else if (request->kind == HF_REQUEST_NEW_GENERATION)
        answer_generation(engine, request, result);
    else if (request->kind == HF_REQUEST_CLEAR_FLAG)
        hf_file_answer_found(engine, request, HF_EVENT_FLAG_UPDATED,
                             result->found);
    else if (request->kind != HF_REQUEST_ENQUEUE)
        answer_success(engine, request, result);
    else
        adopt_ticket(engine, request, result);
}

/* If the worker has opened the root directory again for ${job}, let the engine
 * use that one, too.  Another job may still have the old one; it does not
 * change the engine's. */
static void adopt_root_dir(struct hf_engine *engine, struct hf_file_job *job)
{
    if (job->root_dir->number <= engine->root_dir->number)
        return;
    hf_file_root_dir_unref(engine->root_dir);
    engine->root_dir = hf_file_root_dir_ref(job->root_dir);
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "%s was removed or replaced and has been opened anew; "
                     "tickets in the old one are lost",
                     engine->settings.root);
    hf_file_inotify_watch_root(engine);
}

/* Warn once if tokens would not rise across a reboot. */
static void warn_not_durable(struct hf_engine *engine)
{
    struct hf_file_token_counter *counter = &engine->root_dir->counter;

    if (engine->warned_not_durable || !atomic_load(&counter->not_durable))
        return;
    engine->warned_not_durable = true;
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "tokens rise across a reboot only by the wall clock: %s; "
                     "name a durable directory with ?state=",
                     counter->cause.text);
}

/* Remove ${job} from .jobs of the engine. */
static void unlist_job(struct hf_engine *engine, struct hf_file_job *job)
{
    struct hf_file_job **link = &engine->jobs;

    while (*link != job)
        link = &(*link)->next_of_engine;
    *link = job->next_of_engine;
}

/* Answer the request of ${job}, which is done, and free it.  Then carry out the
 * removal that was requested meanwhile, if any. */
static void finish_job(struct hf_engine *engine, struct hf_file_job *job)
{
    struct hf_request *remove_request;

    adopt_root_dir(engine, job);
    warn_not_durable(engine);
    hf_file_dir_cache_put(&engine->dir_cache, job->args.dir_name,
                          job->lock_dir);
    job->lock_dir.fd = -1;
    answer_done(engine, job->request, job->answer, &job->result, &job->error);
    /* Only now, because the core may end the session when it gets the answer,
     * and that must wait for this job. */
    remove_request = job->remove_request;
    unlist_job(engine, job);
    hf_file_job_free(job);
    if (remove_request != NULL)
        hf_file_remove(engine, remove_request);
}

/* ------------------------------------------------------------------- end -- */

/* HF_REQUEST_END: the session gives up its tickets.  It waits for the jobs of
 * the worker thread, because one of them may be about to make a ticket. */

/* Remove all tickets.  The watches are ended first, so that the core gets no
 * events for them. */
static void end_all(struct hf_engine *engine)
{
    struct hf_file_ticket *own_ticket;

    hf_file_watches_end_all(engine);
    while ((own_ticket = hf_file_tickets_first(&engine->tickets)) != NULL)
        (void)hf_file_remove_own(engine, own_ticket);
}

static void finish_end(struct hf_engine *engine)
{
    struct hf_request *end = engine->end;

    assert(engine->jobs == NULL);
    engine->end = NULL;
    engine->ended = true;
    end_all(engine);
    hf_file_dir_cache_clear(&engine->dir_cache);
    hf_file_root_dir_unref(engine->root_dir);
    engine->root_dir = NULL;
    hf_file_answer(engine, end, HF_EVENT_CLOSED);
}

/* Jobs are done: finish each; then the end of the session, if it waits for the
 * last job. */
static void on_jobs_done(uv_async_t *async)
{
    struct hf_engine *engine = async->data;
    struct hf_file_job *job = hf_file_worker_collect(&engine->worker);

    while (job != NULL) {
        struct hf_file_job *next = job->next;

        finish_job(engine, job);
        job = next;
    }
    if (engine->jobs == NULL && engine->end != NULL)
        finish_end(engine);
}

/* Make ${request} a job of the worker thread. */
static void submit(struct hf_engine *engine, struct hf_request *request,
                   const struct hf_file_locked_section_args *args)
{
    uv_loop_t *loop = engine->host.loop(engine->host.host);
    struct hf_file_job *job = NULL;
    struct hf_error error;

    if (loop == NULL)
        errno = ENOMEM;
    else if (hf_file_worker_start(&engine->worker, loop, on_jobs_done, engine))
        job = hf_file_job_new(request, args, engine->root_dir);
    if (job == NULL) {
        hf_file_error_set_errno(&error, "start a thread to wait for a lock of",
                                engine->settings.root);
        hf_file_fail(engine, request, HF_FAILURE_FATAL, &error);
        return;
    }
    job->next_of_engine = engine->jobs;
    engine->jobs = job;
    hf_file_worker_submit(&engine->worker, job);
}

/* Set the ticket of the holder that reads or writes the success. */
static void set_holder(struct hf_engine *engine,
                       const struct hf_request *request,
                       struct hf_file_locked_section_args *args)
{
    const struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);

    if (request->kind == HF_REQUEST_WRITE_SUCCESS)
        args->success_token = request->success_token;
    if (own_ticket == NULL)
        return;
    memcpy(args->holder_file, own_ticket->file, sizeof(args->holder_file));
    args->holder_device = own_ticket->device;
    args->holder_inode = own_ticket->inode;
}

void hf_file_run_locked(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_locked_section_args args = {
        .kind = request->kind,
        .queue = request->queue,
        .scope = request->kind == HF_REQUEST_ENQUEUE
                     ? hf_file_request_scope(request)
                     : HF_LISTING_PARTICIPANTS,
        .ticket = {.id = request->ticket,
                   .kind = request->ticket_kind,
                   .weight = request->weight,
                   .payload = request->payload != NULL ? request->payload : ""},
        .limit = request->limit,
        .wait = HF_FLOCK_WAIT_NONE};
    struct hf_file_lock_dir lock_dir;
    struct hf_file_locked_section_result result;
    struct hf_error error;
    enum hf_file_locked_section_answer answer;

    args.digest = hf_file_dir_name_format(request->queue, args.dir_name);
    if (request->kind == HF_REQUEST_READ_SUCCESS ||
        request->kind == HF_REQUEST_WRITE_SUCCESS)
        set_holder(engine, request, &args);
    lock_dir = hf_file_dir_cache_take(&engine->dir_cache, args.dir_name);
    answer = hf_file_locked_section_run(engine->root_dir, &args, &lock_dir,
                                        &result, &error);
    hf_file_dir_cache_put(&engine->dir_cache, args.dir_name, lock_dir);
    if (answer == HF_LOCKED_SECTION_BUSY || answer == HF_LOCKED_SECTION_STALE)
        submit(engine, request, &args);
    else
        answer_done(engine, request, answer, &result, &error);
}

void hf_file_enqueue(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_file_own_ticket(engine, &request->ticket);
    struct hf_file_listing *listing;
    struct hf_error error;
    struct hf_ticket there;

    warn_not_durable(engine);
    if (own_ticket == NULL) {
        hf_file_run_locked(engine, request);
        return;
    }
    if (hf_file_read_queue(engine, request->queue,
                           hf_file_request_scope(request), 1, &listing,
                           &error) != HF_OK) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (hf_file_listing_find(listing, &request->ticket, &there)) {
        hf_file_answer_queue(engine, request, own_ticket, HF_EVENT_ENQUEUED,
                             listing);
    } else { /* somebody has removed the ticket */
        (void)hf_file_remove_own(engine, own_ticket);
        hf_file_run_locked(engine, request);
        hf_file_queue_watches_changed(engine, listing->dir_name);
    }
    hf_file_listing_unref(listing);
}

void hf_file_end_session(struct hf_engine *engine, struct hf_request *request)
{
    engine->end = request;
    if (engine->jobs == NULL) {
        finish_end(engine);
        return;
    }
    for (struct hf_file_job *job = engine->jobs; job != NULL;
         job = job->next_of_engine)
        atomic_store(&job->cancelled, true);
}
