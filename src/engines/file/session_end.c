/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_END: the session gives up its tickets.  It waits for the jobs of
 * the worker thread, because one of them may be about to make a ticket.
 */
#include <assert.h>

#include "engines/file/answer.h"
#include "engines/file/barrier.h"
#include "engines/file/engine.h"
#include "engines/file/own_tickets.h"
#include "engines/file/own_watch.h"
#include "engines/file/queue_watch.h"
#include "engines/file/requests.h"
#include "engines/file/ticket_watch.h"

/* The watches end before the tickets, so that the core gets no event for them.
 */
static void end_all(struct hf_engine *engine)
{
    struct hf_file_ticket *own_ticket;

    while (engine->queue_watches != NULL)
        hf_file_queue_watch_end(engine->queue_watches);
    while (engine->barrier_watches != NULL)
        hf_file_barrier_watch_end(engine->barrier_watches);
    while (engine->watches != NULL)
        hf_file_ticket_watch_end(engine->watches);
    while ((own_ticket = hf_file_tickets_first(&engine->tickets)) != NULL)
        (void)hf_file_remove_own(engine, own_ticket);
}

void hf_file_finish_end(struct hf_engine *engine)
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

void hf_file_end_session(struct hf_engine *engine, struct hf_request *request)
{
    engine->end = request;
    if (engine->jobs == NULL) {
        hf_file_finish_end(engine);
        return;
    }
    for (struct hf_file_job *job = engine->jobs; job != NULL;
         job = job->next_of_engine)
        atomic_store(&job->cancelled, true);
}
