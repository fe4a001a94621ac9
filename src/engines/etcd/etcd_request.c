/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/etcd_request.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/etcd/queue_order.h"
#include "etcd/call_result.h"

/* ------------------------------------------------------------ begin, end -- */

void *hf_etcd_engine_request_new(struct hf_etcd_engine *engine,
                                 struct hf_request *request, size_t bytes)
{
    struct hf_etcd_engine_request *req;

    assert(bytes >= sizeof *req);
    if (request->queue != NULL &&
        hf_etcd_engine_queue_is_reserved(request->queue)) {
        hf_etcd_engine_fail(engine, request, HF_FAILURE_FATAL, HF_ENAME,
                            "\"%.200s\" cannot be a lock in etcd, because the "
                            "keys of sessions are below \"%s%s/\"; expected "
                            "another name",
                            request->queue, engine->config.session.prefix,
                            HF_ETCD_SESSIONS);
        return NULL;
    }
    req = hf_alloc(bytes);
    if (req == NULL) {
        hf_etcd_engine_fail(engine, request, HF_FAILURE_RETRY, HF_ENOMEM,
                            "no memory for a request");
        return NULL;
    }
    req->engine = engine;
    req->request = request;
    if (request->queue == NULL || request->kind == HF_REQUEST_NAMES ||
        request->kind == HF_REQUEST_EXAMINE)
        return req;
    req->queue = hf_etcd_engine_queue_use(engine, request->queue);
    if (req->queue == NULL) {
        hf_etcd_engine_request_fail_memory(req);
        return NULL;
    }
    return req;
}

void hf_etcd_engine_request_free(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine *engine = req->engine;

    if (req->cleanup != NULL)
        req->cleanup(req);
    hf_etcd_call_cancel(&req->call);
    if (req->queue != NULL) {
        hf_etcd_engine_order_end(req);
        hf_etcd_engine_queue_release(engine, req->queue);
    }
    hf_etcd_engine_list_free(&req->list);
    hf_free(req->target.key);
    hf_free(req);
}

void hf_etcd_engine_request_answer(struct hf_etcd_engine_request *req,
                                   struct hf_event *event)
{
    req->request->engine_data = NULL;
    event->as.answer.request = req->request;
    hf_etcd_engine_notify(req->engine, event);
    hf_etcd_engine_request_free(req);
}

/* ------------------------------------------------------------------ call -- */

static void call_ended(struct hf_etcd_call *call,
                       const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_request *req = call->user;

    req->step(req, result);
}

void hf_etcd_engine_request_call(struct hf_etcd_engine_request *req,
                                 enum hf_etcd_method method,
                                 struct hf_etcd_buffer *buffer,
                                 hf_etcd_engine_step *step)
{
    struct hf_etcd_session *session = &req->engine->session;
    const char *error = session->connectivity.error;
    struct hf_etcd_result none = {
        .end = HF_ETCD_RETRY,
        .status = HF_GRPC_UNAVAILABLE,
        .text = error[0] != '\0' ? error : "there is no connection",
    };

    assert(hf_etcd_call_is_idle(&req->call));
    req->step = step;
    req->call.ended = call_ended;
    req->call.user = req;
    if (hf_etcd_session_is_usable(session) && !buffer->failed &&
        hf_etcd_call_start(session, &req->call, method, buffer))
        return;
    if (hf_etcd_session_is_usable(session))
        none.text = "there is no memory for a call, or too many are under way";
    hf_etcd_buffer_free(buffer);
    step(req, &none);
}

/* --------------------------------------------------------------- failure -- */

/* Answer ${request} with HF_EVENT_FAILED and the formatted text. */
static void fail(struct hf_etcd_engine *engine, struct hf_request *request,
                 enum hf_failure failure, hf_status status, const char *format,
                 va_list args)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};
    char text[HF_ERROR_TEXT_BYTES];

    (void)vsnprintf(text, sizeof text, format, args);
    request->engine_data = NULL;
    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = text;
    hf_etcd_engine_notify(engine, &event);
}

void hf_etcd_engine_fail(struct hf_etcd_engine *engine,
                         struct hf_request *request, enum hf_failure failure,
                         hf_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail(engine, request, failure, status, format, args);
    va_end(args);
}

/* If an enqueue has put its ticket and then cannot read the queue, the failure
 * is UNSURE, whatever the reason, because the ticket is there. */
static enum hf_failure failure_of(const struct hf_etcd_engine_request *req,
                                  enum hf_failure failure)
{
    const struct hf_etcd_engine_own_ticket *own;

    if (req->request->kind != HF_REQUEST_ENQUEUE)
        return failure;
    own = hf_etcd_engine_own_find(req->engine, &req->request->ticket);
    return own != NULL && own->state == HF_ETCD_OWN_QUEUED ? HF_FAILURE_UNSURE
                                                           : failure;
}

void hf_etcd_engine_request_fail(struct hf_etcd_engine_request *req,
                                 enum hf_failure failure, hf_status status,
                                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail(req->engine, req->request, failure_of(req, failure), status, format,
         args);
    va_end(args);
    hf_etcd_engine_request_free(req);
}

void hf_etcd_engine_request_fail_answer(struct hf_etcd_engine_request *req)
{
    hf_etcd_engine_request_fail(
        req, HF_FAILURE_UNSURE, HF_EPROTOCOL,
        "the server's answer makes no sense; expected that of an etcd server");
}

void hf_etcd_engine_request_fail_memory(struct hf_etcd_engine_request *req)
{
    hf_etcd_engine_request_fail(req, HF_FAILURE_RETRY, HF_ENOMEM,
                                "no memory for a request");
}

void hf_etcd_engine_request_fail_busy(struct hf_etcd_engine_request *req)
{
    hf_etcd_engine_request_fail(
        req, HF_FAILURE_RETRY, HF_EBUSY,
        "others have changed the keys of \"%.200s\" at each attempt",
        req->request->queue);
}

/* Does ${status} mean that no retry can succeed?  HF_EFULL does not, because
 * the store may have room later. */
static bool is_fatal(hf_status status)
{
    return status != HF_EUNREACHABLE && status != HF_EFULL;
}

void hf_etcd_engine_request_fail_call(struct hf_etcd_engine_request *req,
                                      const struct hf_etcd_result *result,
                                      const char *what)
{
    hf_status status = hf_etcd_status_of(result);
    enum hf_failure failure = HF_FAILURE_RETRY;
    char text[HF_ERROR_TEXT_BYTES / 2];

    assert(result->end != HF_ETCD_DONE);
    if (is_fatal(status))
        failure = HF_FAILURE_FATAL;
    else if (result->end == HF_ETCD_UNSURE)
        failure = HF_FAILURE_UNSURE;
    /* Copied, because the text belongs to the call and may not outlive it. */
    (void)snprintf(text, sizeof text, "%s", result->text);
    hf_etcd_engine_request_fail(
        req, failure, status, "cannot %s \"%s%.200s\": %s%s", what,
        req->engine->config.session.prefix,
        req->request->queue != NULL ? req->request->queue : "", text,
        status == HF_EDENIED
            ? "; expected a user that may read and write all keys below it"
            : "");
}

/* ------------------------------------------------------------ operations -- */

bool hf_etcd_engine_request_aim(struct hf_etcd_engine_request *req,
                                const char *suffix, int64_t create_revision)
{
    struct hf_etcd_engine_target *target = &req->target;
    size_t before = req->queue->prefix_bytes, bytes = strlen(suffix);
    char *key = hf_realloc(target->key, before + bytes + 1);

    if (key == NULL)
        return false;
    memcpy(key, req->queue->prefix, before);
    memcpy(key + before, suffix, bytes + 1);
    *target =
        (struct hf_etcd_engine_target){key, before + bytes, create_revision};
    return true;
}

void hf_etcd_engine_compare_target(const struct hf_etcd_engine_request *req,
                                   struct hf_etcd_buffer *buffer)
{
    const struct hf_etcd_engine_target *target = &req->target;

    assert(target->key != NULL);
    hf_etcd_engine_compare_created(buffer, target->key, target->bytes,
                                   target->create_revision);
}

void hf_etcd_engine_compare_created(struct hf_etcd_buffer *buffer,
                                    const char *key, size_t bytes,
                                    int64_t create_revision)
{
    struct hf_etcd_comparison comparison = {
        .key = {key, bytes},
        .target = HF_ETCD_CREATE_REVISION,
        .result = HF_ETCD_EQUAL,
        .number = create_revision,
    };

    hf_etcd_txn_compare(buffer, &comparison);
}

void hf_etcd_engine_commit_nothing(const struct hf_etcd_engine *engine,
                                   struct hf_etcd_buffer *buffer,
                                   enum hf_etcd_branch branch)
{
    char key[HF_ETCD_KEY_BYTES];
    size_t bytes =
        hf_etcd_engine_missing_key(engine->config.session.prefix, key);
    struct hf_etcd_delete nothing = {.key = {key, bytes}};

    hf_etcd_txn_delete(buffer, branch, &nothing);
}

void hf_etcd_engine_read_own(struct hf_etcd_engine_request *req,
                             const struct hf_etcd_engine_own_ticket *own,
                             hf_etcd_engine_step *step)
{
    struct hf_etcd_buffer buffer = {0};
    char key[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range = {
        .key = {key, hf_etcd_engine_own_key(req->engine, own, key)}};

    hf_etcd_txn_range(&buffer, HF_ETCD_SUCCESS, &range);
    hf_etcd_engine_commit_nothing(req->engine, &buffer, HF_ETCD_SUCCESS);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, step);
}

/* --------------------------------------------------------------- answers -- */

bool hf_etcd_engine_next_pair(struct hf_etcd_list *responses,
                              struct hf_etcd_key_value *kv)
{
    struct hf_etcd_response response;

    *kv = (struct hf_etcd_key_value){0};
    if (!hf_etcd_next_response(responses, &response) ||
        response.kind != HF_ETCD_RANGE_RESPONSE)
        return false;
    (void)hf_etcd_next_kv(&response.range.kvs, kv);
    return true;
}

bool hf_etcd_engine_read_pair(struct hf_etcd_bytes answer,
                              struct hf_etcd_key_value *kv)
{
    struct hf_etcd_txn_answer txn;

    return hf_etcd_read_txn(answer, &txn) &&
           hf_etcd_engine_next_pair(&txn.responses, kv);
}
