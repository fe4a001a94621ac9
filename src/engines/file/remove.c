/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_REMOVE of a ticket of this session, of one that the worker thread
 * is about to make, or of one of another session.
 */
#include <assert.h>
#include <string.h>

#include "engines/file/answer.h"
#include "engines/file/engine.h"
#include "engines/file/eviction.h"
#include "engines/file/own_tickets.h"
#include "engines/file/own_watch.h"
#include "engines/file/queue_watch.h"
#include "engines/file/requests.h"

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

    if (own_ticket != NULL) {
        memcpy(dir_name, own_ticket->dir_name,
               strlen(own_ticket->dir_name) + 1);
        hf_file_answer_found(engine, request, HF_EVENT_REMOVED,
                             hf_file_remove_own(engine, own_ticket));
        /* Last, because the core may end the session in either answer. */
        hf_file_queue_watches_ticket_gone(engine, dir_name);
    } else if (job != NULL) {
        assert(job->remove_request == NULL);
        job->remove_request =
            request; /* when it is known whether it was made */
        atomic_store(&job->cancelled, true);
    } else {
        hf_file_evict(engine, request);
    }
}
