/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that take a directory's lock: ENQUEUE, NEW_GENERATION, and
 * CLEAR_FLAG of READY. They are carried out at once where it is free, and by
 * the helper where it is not.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"
#include "engines/file/trouble.h"

/* Takes over the FIFOs of ${result}; NULL if it cannot be had. */
static struct hf_file_ticket *own_new(const struct hf_section_result *result,
                                      struct hf_error *error)
{
    size_t entry_bytes = strlen(result->listing->entry) + 1;
    struct hf_file_ticket *own = hf_alloc(sizeof(*own) + entry_bytes);

    if (own == NULL) {
        hf_error_set(error, HF_ENOMEM, "no memory for a ticket");
        return NULL;
    }
    hf_file_ticket_is_made(own, &result->made);
    own->found = result->before;
    own->found_fifo = result->before_fifo;
    own->ticket = result->ticket;
    own->ticket.payload = "";
    memcpy(own->entry, result->listing->entry, entry_bytes);
    own->fifo = result->fifo;
    return own;
}

/* Make what the section has done the session's own and tell of it.  Takes
 * over ${result}. */
static void adopt(struct hf_engine *engine, struct hf_request *request,
                  struct hf_section_result *result)
{
    struct hf_listing *listing = result->listing;
    struct hf_error error, unused;
    struct hf_file_ticket *own = own_new(result, &error);
    bool found;

    result->listing = NULL;
    if (own == NULL) {
        (void)hf_section_remove(&engine->site, listing->entry, &result->ticket,
                                &found, &unused);
        hf_descriptors_close(&engine->descriptors, &result->fifo);
        hf_descriptors_close(&engine->descriptors, &result->before_fifo);
        hf_engine_fail(engine, request, HF_FAILURE_FATAL, &error);
    } else {
        /* One's own is not waited for by its FIFO. */
        if (hf_engine_own(engine, &own->found) != NULL)
            hf_descriptors_close(&engine->descriptors, &own->found_fifo);
        hf_file_tickets_add(&engine->tickets, own);
        result->fifo = -1;
        result->before_fifo = -1;
        hf_own_put_above(engine, own);
        hf_engine_tell_queue(engine, request, HF_EVENT_ENQUEUED, listing);
    }
    hf_listing_unref(listing);
}

static void tell_stamped(struct hf_engine *engine, struct hf_request *request,
                         const struct hf_section_result *result)
{
    struct hf_error error;

    if (result->members >= request->limit) {
        hf_engine_answer_found(engine, request, HF_EVENT_FLAG_UPDATED,
                               result->found);
        return;
    }
    hf_error_set(&error, HF_EBUSY, "%u of %u members are there",
                 (unsigned)result->members, (unsigned)request->limit);
    hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
}

/* The critical section has come to its end.  Takes over ${result}. */
static void tell_done(struct hf_engine *engine, struct hf_request *request,
                      struct hf_section_result *result)
{
    if (request->kind == HF_REQUEST_NEW_GENERATION)
        tell_stamped(engine, request, result);
    else if (request->kind == HF_REQUEST_CLEAR_FLAG)
        hf_engine_answer_found(engine, request, HF_EVENT_FLAG_UPDATED,
                               result->found);
    else
        adopt(engine, request, result);
}

static void take_over_place(struct hf_engine *engine, struct hf_job *job)
{
    if (job->place == engine->place)
        return;
    hf_place_unref(engine->place);
    engine->place = hf_place_ref(job->place);
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "%s was removed or replaced and has been opened anew; "
                     "tickets in the old one are lost",
                     engine->site.root);
    hf_own_place_opened(engine);
}

void hf_engine_tell_undurable(struct hf_engine *engine)
{
    struct hf_counter *counter = &engine->place->counter;

    if (engine->undurable_told || !atomic_load(&counter->undurable))
        return;
    engine->undurable_told = true;
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "tokens rise across a reboot only by the wall clock: %s; "
                     "name a durable directory with ?state=",
                     counter->why.text);
}

static void unlist_job(struct hf_engine *engine, struct hf_job *job)
{
    struct hf_job **link = &engine->jobs;

    while (*link != job)
        link = &(*link)->sibling;
    *link = job->sibling;
}

static void finish_job(struct hf_engine *engine, struct hf_job *job)
{
    struct hf_request *withdraw;
    char entry[HF_ENTRY_BYTES];

    hf_entry_format(job->order.queue, entry);
    take_over_place(engine, job);
    hf_engine_tell_undurable(engine);
    hf_warm_put(&engine->warm, entry, job->directory);
    job->directory.fd = -1;
    if (job->answer == HF_SECTION_DONE)
        tell_done(engine, job->request, &job->result);
    else
        hf_engine_refuse(engine, job->request, &job->error);
    /* Listed up to here: an END from inside the answer waits for the rest. */
    withdraw = job->withdraw;
    unlist_job(engine, job);
    hf_job_free(job);
    if (withdraw != NULL)
        hf_engine_withdraw(engine, withdraw);
}

static void on_jobs_done(uv_async_t *async)
{
    struct hf_engine *engine = async->data;
    struct hf_job *job = hf_helper_collect(&engine->helper);

    while (job != NULL) {
        struct hf_job *next = job->next;

        finish_job(engine, job);
        job = next;
    }
    if (engine->jobs == NULL && engine->end != NULL)
        hf_engine_jobs_done(engine);
}

static void submit(struct hf_engine *engine, struct hf_request *request)
{
    uv_loop_t *loop = engine->host.loop(engine->host.host);
    struct hf_job *job = NULL;
    struct hf_error error;

    if (loop == NULL)
        errno = ENOMEM;
    else if (hf_helper_start(&engine->helper, loop, on_jobs_done, engine))
        job = hf_job_new(request, engine->place);
    if (job == NULL) {
        hf_trouble(&error, "start a thread to wait for a lock of",
                   engine->site.root);
        hf_engine_fail(engine, request, HF_FAILURE_FATAL, &error);
        return;
    }
    job->sibling = engine->jobs;
    engine->jobs = job;
    hf_helper_submit(&engine->helper, job);
}

void hf_engine_work(struct hf_engine *engine, struct hf_request *request)
{
    const struct hf_section_order order = {
        .work = request->kind,
        .queue = request->queue,
        .ticket = {.id = request->ticket,
                   .kind = request->ticket_kind,
                   .weight = request->weight,
                   .payload = request->payload},
        .limit = request->limit,
        .patience = HF_PATIENCE_NONE};
    char entry[HF_ENTRY_BYTES];
    struct hf_directory directory;
    struct hf_section_result result;
    struct hf_error error;
    enum hf_section_answer answer;

    hf_entry_format(request->queue, entry);
    directory = hf_warm_take(&engine->warm, entry);
    answer = hf_section_carry_out(engine->place, &order, &directory, &result,
                                  &error);
    hf_warm_put(&engine->warm, entry, directory);
    switch (answer) {
    case HF_SECTION_DONE:
        tell_done(engine, request, &result);
        break;
    case HF_SECTION_FAILED:
        hf_engine_refuse(engine, request, &error);
        break;
    case HF_SECTION_BUSY:
    case HF_SECTION_STALE:
        submit(engine, request);
        break;
    }
}
