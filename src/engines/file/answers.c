/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to the core's requests.  Each answer is one event.
 */
#include "engines/file/engine.h"

#include <assert.h>

#include "base/error.h"

void hf_file_answer(struct hf_engine *engine, struct hf_request *request,
                    enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = request;
    event.as.answer.text = "";
    event.as.answer.anchor_ms = engine->host.now_ms(engine->host.host);
    engine->host.event(engine->host.host, &event);
}

void hf_file_answer_found(struct hf_engine *engine, struct hf_request *request,
                          enum hf_event_kind kind, bool found)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = request;
    event.as.answer.found = found;
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_file_answer_success(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_success *success)
{
    struct hf_event event = {.kind = HF_EVENT_SUCCESS_READ};

    event.as.answer.request = request;
    event.as.answer.success = *success;
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

void hf_file_fail(struct hf_engine *engine, struct hf_request *request,
                  enum hf_failure failure, const struct hf_error *error)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    assert(error->status != HF_OK);
    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = error->status;
    event.as.answer.text = error->text;
    engine->host.event(engine->host.host, &event);
}

void hf_file_fail_by_status(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_error *error)
{
    enum hf_class class = hf_status_class(error->status);
    bool passes = class == HF_CLASS_UNAVAILABLE || class == HF_CLASS_CANCELLED;

    hf_file_fail(engine, request, passes ? HF_FAILURE_RETRY : HF_FAILURE_FATAL,
                 error);
}
