/* SPDX-License-Identifier: Apache-2.0 */
/* Sends events to the core: the answers to its requests, and their failures.
 * If the answer to a write was lost, the write fails as HF_FAILURE_UNSURE,
 * because it may have taken effect. */
#include <stdio.h>

#include "engines/leased/leased_private.h"

void hf_leased_notify(struct hf_leased *leased, struct hf_event *event)
{
    leased->host.event(leased->host.host, event);
}

void hf_leased_answer_snapshot(struct hf_leased *leased,
                               struct hf_request *request,
                               enum hf_event_kind kind,
                               const struct hf_store_answer *answer)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = request;
    event.as.answer.snapshot.tickets = answer->tickets;
    event.as.answer.snapshot.count = answer->count;
    event.as.answer.snapshot.more_ahead = answer->more_ahead;
    event.as.answer.unknown = answer->unknown;
    event.as.answer.unknown_count = answer->unknown_count;
    hf_leased_notify(leased, &event);
}

void hf_leased_fail(struct hf_leased *leased, struct hf_request *request,
                    enum hf_failure failure, hf_status status, const char *text)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = text;
    hf_leased_notify(leased, &event);
}

/* Returns whether a request of ${kind} changes anything at the server. */
static bool writes(enum hf_request_kind kind)
{
    return kind == HF_REQUEST_ENQUEUE || kind == HF_REQUEST_REMOVE ||
           kind == HF_REQUEST_DOWNGRADE || kind == HF_REQUEST_REVOKE ||
           kind == HF_REQUEST_SET_FLAG || kind == HF_REQUEST_CLEAR_FLAG ||
           kind == HF_REQUEST_NEW_GENERATION || kind == HF_REQUEST_DESCRIBE ||
           kind == HF_REQUEST_WRITE_SUCCESS;
}

/* Fail a request, because the link ended before the answer came. */
static void fail_unanswered(struct hf_leased *leased,
                            struct hf_request *request)
{
    const char *connection_error = leased->session.connectivity.error;
    char text[HF_ERROR_TEXT_BYTES];

    (void)snprintf(text, sizeof text,
                   "the connection ended before the answer%s%.351s",
                   connection_error[0] != '\0' ? ": " : "", connection_error);
    hf_leased_fail(leased, request,
                   writes(request->kind) ? HF_FAILURE_UNSURE : HF_FAILURE_RETRY,
                   HF_EUNREACHABLE, text);
}

void hf_leased_fail_with_answer(struct hf_leased *leased,
                                struct hf_request *request,
                                const struct hf_store_answer *answer)
{
    enum hf_failure failure;

    if (answer == NULL) {
        fail_unanswered(leased, request);
        return;
    }
    failure = answer->failure;
    if (failure == HF_FAILURE_UNSURE && !writes(request->kind))
        failure = HF_FAILURE_RETRY;
    hf_leased_fail(leased, request, failure, answer->status, answer->text);
}

void hf_leased_fail_no_memory(struct hf_leased *leased,
                              struct hf_request *request)
{
    hf_leased_fail(leased, request, HF_FAILURE_RETRY, HF_ENOMEM,
                   "out of memory");
}
