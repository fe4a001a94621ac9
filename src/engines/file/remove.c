/* SPDX-License-Identifier: Apache-2.0 */
/* REMOVE: the session's own ticket, one that is being enqueued, or another's.
 */
#include <assert.h>
#include <string.h>

#include "engines/file/engine.h"

static struct hf_job *job_for(struct hf_engine *engine,
                              const struct hf_ticket_id *id)
{
    struct hf_job *job = engine->jobs;

    while (job != NULL && (job->args.kind != HF_REQUEST_ENQUEUE ||
                           !hf_ticket_id_equal(&job->args.ticket.id, id)))
        job = job->next_of_engine;
    return job;
}

void hf_engine_remove(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_engine_own_ticket(engine, &request->ticket);
    struct hf_job *job = job_for(engine, &request->ticket);
    char dir_name[HF_DIR_NAME_BYTES];

    if (own_ticket != NULL) {
        memcpy(dir_name, own_ticket->dir_name,
               strlen(own_ticket->dir_name) + 1);
        hf_engine_answer_found(engine, request, HF_EVENT_REMOVED,
                               hf_engine_remove_own(engine, own_ticket));
        /* Last: the core may end the session on hearing of either. */
        hf_file_queue_watches_ticket_gone(engine, dir_name);
    } else if (job != NULL) {
        assert(job->remove_request == NULL);
        job->remove_request = request; /* when it is known whether it went in */
        atomic_store(&job->cancelled, true);
    } else {
        hf_engine_evict(engine, request);
    }
}
