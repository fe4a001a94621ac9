/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_LIST, and the answer that shows a queue.
 *
 * A detailed list is for people and tests each ticket.  Any other is for a
 * decision of the core, which may be known without reading the directory
 * (predecessor.c).
 */
#include <stdint.h>

#include "engines/file/answer.h"
#include "engines/file/engine.h"
#include "engines/file/eviction.h"
#include "engines/file/listing.h"
#include "engines/file/own_tickets.h"
#include "engines/file/predecessor.h"
#include "engines/file/queue_read.h"
#include "engines/file/requests.h"

void hf_file_answer_queue(struct hf_engine *engine, struct hf_request *request,
                          enum hf_event_kind kind,
                          struct hf_file_listing *listing)
{
    struct hf_event event = {.kind = kind};

    if (!request->detailed)
        hf_file_predecessor_note(engine, request, listing);
    hf_file_listing_unref(engine->listing);
    engine->listing = hf_file_listing_ref(listing);
    event.as.answer.request = request;
    event.as.answer.snapshot = hf_file_listing_snapshot(listing);
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

/* Show the own ticket alone.  It is first, so no other ticket decides on it. */
static void answer_own_only(struct hf_engine *engine,
                            struct hf_request *request)
{
    const struct hf_ticket own_ticket =
        hf_file_own_ticket(engine, &request->ticket)->ticket;
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    event.as.answer.request = request;
    event.as.answer.snapshot = (struct hf_snapshot){&own_ticket, 1, 0};
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_file_list(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_file_listing *listing;
    struct hf_error error;

    if (!request->detailed &&
        hf_file_predecessor_own_is_first(engine, request)) {
        answer_own_only(engine, request);
        return;
    }
    if (hf_file_read_queue(
            engine, request->queue, hf_file_request_scope(request),
            request->detailed ? SIZE_MAX : 1, &listing, &error) != HF_OK) {
        hf_file_fail(engine, request, HF_FAILURE_RETRY, &error);
        return;
    }
    /* Nobody waits for a single participant, so nobody else finds dead ones. */
    if (request->detailed || listing->scope == HF_LISTING_PARTICIPANTS)
        hf_file_remove_dead(engine, listing);
    hf_file_answer_queue(engine, request, HF_EVENT_LISTED, listing);
    hf_file_listing_unref(listing);
}
