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

static struct hf_own_ticket **bucket_of(struct hf_engine *engine,
                                        const struct hf_ticket_id *id)
{
    return &engine->tickets[id->bytes[0] % HF_TICKET_BUCKETS];
}

struct hf_own_ticket *hf_engine_own(struct hf_engine *engine,
                                    const struct hf_ticket_id *id)
{
    struct hf_own_ticket *own = *bucket_of(engine, id);

    while (own != NULL && !hf_ticket_id_equal(&own->ticket.id, id))
        own = own->next;
    return own;
}

/* --------------------------------------------------------------- listing -- */

/* Answer with the queue, and remember it: a WATCH of somebody in it follows. */
static void tell(struct hf_engine *engine, struct hf_request *request,
                 enum hf_event_kind kind, struct hf_listing *listing)
{
    struct hf_event event = {.kind = kind};

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

hf_status hf_engine_read_queue(struct hf_engine *engine, const char *queue,
                               bool payloads, struct hf_listing **listing,
                               struct hf_error *error)
{
    char entry[HF_ENTRY_BYTES];
    char path[HF_PATH_BYTES];
    const struct hf_counter *counter = NULL; /* of another place: all is lost */
    hf_status status = HF_OK;
    int dir;

    hf_entry_format(queue, entry);
    hf_site_path(&engine->site, entry, NULL, path);
    *listing = hf_listing_new(entry);
    if (*listing == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to list %s", path);
    dir = hf_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0 && errno == ENOENT)
        return HF_OK;
    if (dir < 0 || !hf_descriptors_add(&engine->descriptors, dir)) {
        status = hf_trouble(error, "open", path);
        goto free_listing;
    }
    if (hf_counter_current(&engine->place->counter, engine->site.counter))
        counter = &engine->place->counter;
    status = hf_listing_read(*listing, dir, path, counter, error);
    if (status != HF_OK && was_removed(dir)) {
        hf_listing_clear(*listing);
        status = HF_OK;
    }
    if (status == HF_OK && payloads)
        status = hf_listing_read_payloads(*listing, dir, NULL, NULL, error);
    hf_descriptors_close(&engine->descriptors, &dir);
    if (status == HF_OK)
        return HF_OK;

free_listing:
    hf_listing_unref(*listing);
    *listing = NULL;
    return status;
}

void hf_engine_list(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_listing *listing;
    struct hf_error error;

    if (hf_engine_read_queue(engine, request->queue, true, &listing, &error) !=
        HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (request->whole)
        hf_engine_bury(engine, listing);
    tell(engine, request, HF_EVENT_LISTED, listing);
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
    status = hf_engine_read_queue(engine, queue, false, &listing, error);
    if (status != HF_OK)
        return status;
    *found = find_in(listing, id, ticket);
    hf_listing_unref(listing);
    return HF_OK;
}

/* --------------------------------------------------------------- enqueue -- */

/* Those who ask the owner to let go change it: see others.c. */
static struct timespec time_of(int fifo)
{
    struct stat status;

    if (hf_sys_fstat(fifo, &status) != 0)
        status.st_mtim = (struct timespec){0, HF_TIME_UNKNOWN};
    return status.st_mtim;
}

/* Make what the section has done the session's own and tell of it.  Takes
 * over ${result}. */
static void adopt(struct hf_engine *engine, struct hf_request *request,
                  struct hf_section_result *result)
{
    struct hf_own_ticket **bucket = bucket_of(engine, &request->ticket);
    struct hf_own_ticket *own = hf_alloc(sizeof(*own));
    struct hf_listing *listing = result->listing;
    struct hf_error error;
    bool found;

    result->listing = NULL;
    if (own == NULL) {
        (void)hf_section_remove(&engine->site, listing->entry, &result->ticket,
                                &found, &error);
        hf_descriptors_close(&engine->descriptors, &result->fifo);
        hf_error_set(&error, HF_ENOMEM, "no memory for a ticket");
        hf_engine_fail(engine, request, HF_FAILURE_FATAL, &error);
    } else {
        own->ticket = result->ticket;
        own->ticket.payload = "";
        memcpy(own->entry, listing->entry, sizeof(own->entry));
        own->fifo = result->fifo;
        own->made_at = time_of(own->fifo);
        own->next = *bucket;
        *bucket = own;
        result->fifo = -1;
        hf_own_put_above(engine, own);
        tell(engine, request, HF_EVENT_ENQUEUED, listing);
    }
    hf_listing_unref(listing);
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

static void tell_undurable(struct hf_engine *engine)
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
    tell_undurable(engine);
    hf_warm_put(&engine->warm, entry, job->directory);
    job->directory.fd = -1;
    if (job->answer == HF_SECTION_DONE)
        adopt(engine, job->request, &job->result);
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

static void enqueue_new(struct hf_engine *engine, struct hf_request *request)
{
    const struct hf_section_order order = {
        .queue = request->queue,
        .ticket = {.id = request->ticket,
                   .kind = request->ticket_kind,
                   .weight = request->weight,
                   .payload = request->payload},
        .patience = HF_PATIENCE_NONE};
    char entry[HF_ENTRY_BYTES];
    struct hf_directory directory;
    struct hf_section_result result;
    struct hf_error error;
    enum hf_section_answer answer;

    hf_entry_format(request->queue, entry);
    directory = hf_warm_take(&engine->warm, entry);
    answer =
        hf_section_enqueue(engine->place, &order, &directory, &result, &error);
    hf_warm_put(&engine->warm, entry, directory);
    switch (answer) {
    case HF_SECTION_DONE:
        adopt(engine, request, &result);
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

void hf_engine_enqueue(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_own_ticket *own = hf_engine_own(engine, &request->ticket);
    struct hf_listing *listing;
    struct hf_error error;
    struct hf_ticket there;

    tell_undurable(engine);
    if (own == NULL) {
        enqueue_new(engine, request);
        return;
    }
    if (hf_engine_read_queue(engine, request->queue, true, &listing, &error) !=
        HF_OK) {
        hf_engine_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    if (find_in(listing, &request->ticket, &there)) {
        tell(engine, request, HF_EVENT_ENQUEUED, listing);
    } else { /* somebody removed it */
        (void)hf_engine_drop(engine, own);
        enqueue_new(engine, request);
        hf_looks_changed(engine, listing->entry);
    }
    hf_listing_unref(listing);
}

/* -------------------------------------------------------------- withdraw -- */

void hf_engine_end_watches(struct hf_engine *engine,
                           const struct hf_own_ticket *own)
{
    struct hf_watch *watch = engine->watches;

    while (watch != NULL) {
        if (watch->own == own) {
            hf_watch_gone(watch);
            watch = engine->watches; /* the core may have forgotten others */
        } else {
            watch = watch->next;
        }
    }
}

/* Copies given out by hold() keep the ticket in the queue until the last one
 * is closed; whoever waits then finds it dead.  If they are closed already,
 * nobody may be there to find it. */
static bool leave_to_copies(struct hf_engine *engine, struct hf_own_ticket *own)
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
static bool leave(struct hf_engine *engine, struct hf_own_ticket *own)
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

bool hf_engine_drop(struct hf_engine *engine, struct hf_own_ticket *own)
{
    struct hf_own_ticket **link = bucket_of(engine, &own->ticket.id);
    bool found;

    /* First, for whoever is told of it may ask for it to be dropped. */
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
    hf_engine_end_watches(engine, own);
    found = own->held ? leave_to_copies(engine, own) : leave(engine, own);
    hf_warm_left(&engine->warm, own->entry);
    hf_free(own);
    return found;
}

static struct hf_job *job_of(struct hf_engine *engine,
                             const struct hf_ticket_id *id)
{
    struct hf_job *job = engine->jobs;

    while (job != NULL && !hf_ticket_id_equal(&job->order.ticket.id, id))
        job = job->sibling;
    return job;
}

void hf_engine_withdraw(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_own_ticket *own = hf_engine_own(engine, &request->ticket);
    struct hf_job *job = job_of(engine, &request->ticket);
    char entry[HF_ENTRY_BYTES];

    if (own != NULL) {
        memcpy(entry, own->entry, sizeof(entry));
        hf_engine_answer_found(engine, request, HF_EVENT_WITHDRAWN,
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
