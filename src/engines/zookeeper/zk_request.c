/* SPDX-License-Identifier: Apache-2.0 */
/* Each step counts its unanswered calls in .pending.  The answer that brings
 * it to 0 continues with .next_step. */
#include "engines/zookeeper/zk_request.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* --------------------------------------------------------------- failure -- */

/* Every failure of a request goes through here, except that of an EXAMINE,
 * which examine_servers.c reports. */
void hf_zk_engine_fail(struct hf_zk_engine *zk, struct hf_request *request,
                       enum hf_failure failure, hf_status status,
                       const char *format, ...)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;

    /* No matter what went wrong afterwards, the ticket exists. */
    if (request->kind == HF_REQUEST_ENQUEUE &&
        hf_zk_engine_own_ticket_find(zk, &request->ticket) != NULL)
        failure = HF_FAILURE_UNSURE;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = text;
    hf_zk_engine_notify(zk, &event);
}

void hf_zk_engine_fail_memory(struct hf_zk_engine *zk,
                              struct hf_request *request)
{
    hf_zk_engine_fail(zk, request, HF_FAILURE_RETRY, HF_ENOMEM,
                      "out of memory");
}

/* The errors against which no retry helps. */
static const struct hf_zk_engine_cause fatal_causes[] = {
    {"NO_AUTH", HF_ZK_NO_AUTH, HF_EDENIED},
    {"INVALID_ACL", HF_ZK_INVALID_ACL, HF_EDENIED},
    {"AUTH_FAILED", HF_ZK_AUTH_FAILED, HF_EDENIED},
    {"NO_CHILDREN_FOR_EPHEMERALS", HF_ZK_NO_CHILDREN_FOR_EPHEMERALS, HF_EKIND},
    {"QUOTA_EXCEEDED", HF_ZK_QUOTA_EXCEEDED, HF_EFULL},
    {"UNIMPLEMENTED", HF_ZK_UNIMPLEMENTED, HF_EUNSUPPORTED},
};

const struct hf_zk_engine_cause *hf_zk_engine_cause(size_t index)
{
    return index < sizeof fatal_causes / sizeof fatal_causes[0]
               ? &fatal_causes[index]
               : NULL;
}

/* The status of a fatal error, otherwise HF_OK. */
static hf_status fatal_status(enum hf_zk_error error)
{
    const struct hf_zk_engine_cause *cause;

    for (size_t i = 0; (cause = hf_zk_engine_cause(i)) != NULL; i++) {
        if (cause->error == error)
            return cause->status;
    }
    return HF_OK;
}

/* With the errors listed here the server has rejected the request.  After any
 * other error it may have been carried out. */
bool hf_zk_engine_is_unsure(enum hf_zk_error error)
{
    switch ((int)error) {
    case HF_ZK_NO_NODE:
    case HF_ZK_NO_AUTH:
    case HF_ZK_BAD_ARGUMENTS:
    case HF_ZK_BAD_VERSION:
    case HF_ZK_NO_CHILDREN_FOR_EPHEMERALS:
    case HF_ZK_NODE_EXISTS:
    case HF_ZK_NOT_EMPTY:
    case HF_ZK_INVALID_ACL:
    case HF_ZK_AUTH_FAILED:
    case HF_ZK_SESSION_MOVED:
    case HF_ZK_NOT_READ_ONLY:
    case HF_ZK_QUOTA_EXCEEDED:
    case HF_ZK_UNIMPLEMENTED:
    case HF_ZK_THROTTLED:
        return false;
    default:
        return true;
    }
}

/* What to do about a fatal error, to be appended to its text. */
static const char *advice(const struct hf_zk_engine *zk, hf_status fatal)
{
    if (fatal == HF_EDENIED && zk->config.url.session.auth[0] == '\0')
        return "; see the node's access list: we have no credentials";
    if (fatal == HF_EDENIED)
        return "; see the node's access list, and whether our user and "
               "password are the right ones";
    if (fatal == HF_EUNSUPPORTED)
        return "; ZooKeeper 3.5 or later is needed";
    return "";
}

/* The failure that the core is notified of for ${error}.  Only a request that
 * writes is UNSURE. */
static enum hf_failure failure_of(const struct hf_request *request,
                                  enum hf_zk_error error)
{
    bool writes = request->kind == HF_REQUEST_ENQUEUE ||
                  request->kind == HF_REQUEST_REMOVE ||
                  request->kind == HF_REQUEST_DOWNGRADE ||
                  request->kind == HF_REQUEST_REVOKE ||
                  request->kind == HF_REQUEST_DESCRIBE ||
                  request->kind == HF_REQUEST_SET_FLAG ||
                  request->kind == HF_REQUEST_CLEAR_FLAG ||
                  request->kind == HF_REQUEST_WRITE_SUCCESS ||
                  request->kind == HF_REQUEST_NEW_GENERATION;

    if (fatal_status(error) != HF_OK)
        return HF_FAILURE_FATAL;
    return writes && hf_zk_engine_is_unsure(error) ? HF_FAILURE_UNSURE
                                                   : HF_FAILURE_RETRY;
}

void hf_zk_engine_fail_with_error(struct hf_zk_engine *zk,
                                  struct hf_request *request,
                                  enum hf_zk_error error, const char *what,
                                  const char *path)
{
    enum hf_failure failure = failure_of(request, error);
    hf_status fatal = fatal_status(error);

    if (error == HF_ZK_DISCONNECTED)
        hf_zk_engine_fail(zk, request, failure, HF_EUNREACHABLE,
                          "the connection ended before the answer%s%s",
                          zk->session.connectivity.error[0] != '\0' ? ": " : "",
                          zk->session.connectivity.error);
    else if (error == HF_ZK_MALFORMED)
        hf_zk_engine_fail(zk, request, failure, HF_EPROTOCOL,
                          "cannot %s %s: the answer makes no sense", what,
                          path);
    else if (error == HF_ZK_OUT_OF_MEMORY)
        hf_zk_engine_fail(zk, request, failure, HF_ENOMEM,
                          "cannot %s %s: out of memory", what, path);
    else if (error == HF_ZK_ANSWER_TOO_LONG)
        hf_zk_engine_fail(
            zk, request, failure, HF_ELIMIT,
            "cannot %s %s: the answer is too long, expected at most "
            "%zu bytes; see how many nodes are there",
            what, path, hf_zk_session_answer_max(&zk->session));
    else
        hf_zk_engine_fail(
            zk, request, failure, fatal != HF_OK ? fatal : HF_EPROTOCOL,
            "cannot %s %s: %s (%d)%s", what, path, hf_zk_error_text(error),
            (int)error, advice(zk, fatal));
}

void hf_zk_engine_fail_name(struct hf_zk_engine *zk, struct hf_request *request)
{
    hf_zk_engine_fail(
        zk, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
        "with layout=kazoo a semaphore has its tickets at \"%.200s\"; "
        "expected a name that does not end in \"%s\" or \"%s\", or "
        "layout=curator",
        request->queue, HF_QUEUE_LOCKS, HF_QUEUE_LEASES);
}

/* ----------------------------------------------------------------- begin -- */

/* HF_REQUEST_PROVE is about the session and has no queue. */
struct hf_zk_engine_request *
hf_zk_engine_request_new(struct hf_zk_engine *zk, struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_alloc(sizeof *req);

    if (req == NULL) {
        hf_zk_engine_fail_memory(zk, request);
        return NULL;
    }
    req->request = request;
    for (size_t i = 0; i < HF_ZK_REQUEST_CALLS; i++)
        req->calls[i].user = zk;
    if (request->kind != HF_REQUEST_PROVE &&
        (req->queue = hf_zk_engine_queue_use(zk, request->queue)) == NULL) {
        hf_free(req);
        hf_zk_engine_fail_memory(zk, request);
        return NULL;
    }
    return req;
}

/* ---------------------------------------------------------------- phases -- */

#define KIND(name) (1U << HF_REQUEST_##name)

/* For each phase: the phases from which it is entered, and the kinds of request
 * that enter it.  A create goes on to the list that shows the new ticket, and a
 * list may show that our ticket has to be removed. */
static const struct {
    unsigned from; /* bits: 1 << phase */
    unsigned kinds;
} moves[] = {
    [HF_ZK_CREATING] = {1U << HF_ZK_PLAIN, KIND(ENQUEUE) | KIND(SET_FLAG)},
    [HF_ZK_LISTING] = {1U << HF_ZK_PLAIN | 1U << HF_ZK_CREATING,
                       KIND(ENQUEUE) | KIND(LIST) | KIND(WATCH_QUEUE) |
                           KIND(NEW_GENERATION)},
    [HF_ZK_REMOVING] = {1U << HF_ZK_PLAIN | 1U << HF_ZK_LISTING,
                        KIND(REMOVE) | KIND(ENQUEUE) | KIND(LIST) |
                            KIND(WATCH_QUEUE)},
    [HF_ZK_DOWNGRADING] = {1U << HF_ZK_PLAIN, KIND(DOWNGRADE)},
    [HF_ZK_DETAILED] = {1U << HF_ZK_PLAIN, KIND(LIST)},
    [HF_ZK_SUCCESS] = {1U << HF_ZK_PLAIN,
                       KIND(READ_SUCCESS) | KIND(WRITE_SUCCESS)},
};

/* Free what the part of .as owns. */
static void leave_phase(struct hf_zk_engine_request *req)
{
    assert(req->pending == 0);
    if (req->phase == HF_ZK_CREATING)
        hf_free(req->as.creation.parent_calls);
    memset(&req->as, 0, sizeof req->as);
}

void hf_zk_engine_request_enter(struct hf_zk_engine_request *req,
                                enum hf_zk_engine_request_phase phase)
{
    assert(phase > HF_ZK_PLAIN && phase <= HF_ZK_SUCCESS);
    assert((moves[phase].from & 1U << req->phase) != 0);
    assert((moves[phase].kinds & 1U << req->request->kind) != 0);
    leave_phase(req);
    req->phase = phase;
    if (phase == HF_ZK_LISTING)
        req->as.listing.ready = HF_ZK_READY_UNREAD;
}

struct hf_zk_engine_creation *
hf_zk_engine_request_creation(struct hf_zk_engine_request *req)
{
    assert(req->phase == HF_ZK_CREATING);
    return &req->as.creation;
}

struct hf_zk_engine_listing *
hf_zk_engine_request_listing(struct hf_zk_engine_request *req)
{
    assert(req->phase == HF_ZK_LISTING);
    return &req->as.listing;
}

struct hf_zk_engine_removal *
hf_zk_engine_request_removal(struct hf_zk_engine_request *req)
{
    assert(req->phase == HF_ZK_REMOVING);
    return &req->as.removal;
}

struct hf_zk_engine_downgrading *
hf_zk_engine_request_downgrading(struct hf_zk_engine_request *req)
{
    assert(req->phase == HF_ZK_DOWNGRADING);
    return &req->as.downgrading;
}

struct detailed_list *
hf_zk_engine_request_detailed(struct hf_zk_engine_request *req)
{
    assert(req->phase == HF_ZK_DETAILED);
    return req->as.detailed;
}

struct hf_zk_engine_success *
hf_zk_engine_request_success(struct hf_zk_engine_request *req)
{
    assert(req->phase == HF_ZK_SUCCESS);
    return &req->as.success;
}

/* ------------------------------------------------------------------ end -- */

void hf_zk_engine_request_free(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req)
{
    assert(req->pending == 0);
    if (req->queue != NULL)
        hf_zk_engine_queue_release(zk, req->queue);
    leave_phase(req);
    hf_free(req);
}

/* The request is freed last, because ${path} may point into it or into its
 * queue. */
void hf_zk_engine_request_fail(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req,
                               enum hf_zk_error error, const char *what,
                               const char *path)
{
    hf_zk_engine_fail_with_error(zk, req->request, error, what, path);
    hf_zk_engine_request_free(zk, req);
}

struct hf_request *hf_zk_engine_request_end(struct hf_zk_engine *zk,
                                            struct hf_zk_engine_request *req)
{
    struct hf_request *request = req->request;

    hf_zk_engine_request_free(zk, req);
    return request;
}

void hf_zk_engine_request_flag_updated(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_request *req,
                                       bool found)
{
    struct hf_event event = {.kind = HF_EVENT_FLAG_UPDATED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_notify(zk, &event);
}

void hf_zk_engine_request_step(struct hf_zk_engine_request *req,
                               void (*then)(struct hf_zk_engine *zk,
                                            struct hf_zk_engine_request *req))
{
    assert(req->pending == 0);
    req->call_count = 0;
    req->next_step = then;
}

struct hf_zk_call *hf_zk_engine_request_call(struct hf_zk_engine_request *req,
                                             hf_zk_answered *answered)
{
    struct hf_zk_call *call = &req->calls[req->call_count];

    assert(req->call_count < HF_ZK_REQUEST_CALLS);
    req->call_count++;
    req->pending++;
    call->answered = answered;
    call->owner = req;
    return call;
}

void hf_zk_engine_request_allow_cancel(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_request *req)
{
    req->next_cancellable = zk->cancellable;
    zk->cancellable = req;
}

void hf_zk_engine_request_end_cancel(struct hf_zk_engine *zk,
                                     struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_request **link = &zk->cancellable;

    while (*link != req)
        link = &(*link)->next_cancellable;
    *link = req->next_cancellable;
}

bool hf_zk_engine_request_was_cancelled(struct hf_zk_engine *zk,
                                        struct hf_zk_engine_request *req)
{
    if (req->request != NULL)
        return false;
    hf_zk_engine_request_end_cancel(zk, req);
    hf_zk_engine_request_free(zk, req);
    return true;
}

void hf_zk_engine_request_cancel(struct hf_zk_engine *zk,
                                 const struct hf_request *request)
{
    struct hf_zk_engine_request *req = zk->cancellable;

    while (req != NULL && req->request != request)
        req = req->next_cancellable;
    if (req != NULL)
        req->request = NULL;
}

void hf_zk_engine_request_answered(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req)
{
    assert(req->pending > 0);
    if (--req->pending == 0)
        req->next_step(zk, req);
}

void hf_zk_engine_request_error_answered(void *user, struct hf_zk_call *call,
                                         const struct hf_zk_reply *reply)
{
    struct hf_zk_engine_request *req = call->owner;

    req->error = reply->error;
    hf_zk_engine_request_answered(user, req);
}

void hf_zk_engine_request_sync_answered(void *user, struct hf_zk_call *call,
                                        const struct hf_zk_reply *reply)
{
    struct hf_zk_engine_request *req = call->owner;

    req->sync_error = reply->error;
    hf_zk_engine_request_answered(user, req);
}

void hf_zk_engine_request_list_add(struct hf_zk_engine_request_list *list,
                                   struct hf_zk_engine_request *req)
{
    req->pending++;
    req->next_in_list = NULL;
    if (list->first == NULL)
        list->first = req;
    else
        list->last->next_in_list = req;
    list->last = req;
}

void hf_zk_engine_request_list_answered(struct hf_zk_engine *zk,
                                        struct hf_zk_engine_request_list *list)
{
    struct hf_zk_engine_request *req;

    while ((req = list->first) != NULL) {
        list->first = req->next_in_list;
        hf_zk_engine_request_answered(zk, req);
    }
}
