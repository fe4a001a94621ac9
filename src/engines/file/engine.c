/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an engine, the handles that keep it, and the answers to the
 * core.
 *
 * A handle that is being closed is in the loop until libuv has closed it.  So
 * an engine that is freed lives until its last handle is closed.
 */
#include "engines/file/engine.h"

#include <assert.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/listing.h"

/* ---------------------------------------------------------------- memory -- */

void hf_file_engine_free(struct hf_engine *engine)
{
    hf_file_listing_unref(engine->listing);
    hf_file_root_dir_unref(engine->root_dir);
    hf_file_descriptors_free(&engine->descriptors);
    hf_free(engine->description);
    hf_free(engine);
}

void hf_file_handle_closed(struct hf_engine *engine)
{
    assert(engine->handles > 0);
    if (--engine->handles == 0 && engine->freeing)
        hf_file_engine_free(engine);
}

/* --------------------------------------------------------------- answers -- */

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
