/* SPDX-License-Identifier: Apache-2.0 */
/* The tables from the server's errors to what the core does about them. */
#include "engines/zookeeper/zk_failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "engines/zookeeper/zk_private.h"

/* Every failure of a request goes through here. */
void hf_zk_fail(struct hf_zk *zk, struct hf_request *request,
                enum hf_failure failure, hf_status status, const char *format,
                ...)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;

    /* No matter what went wrong afterwards, the ticket exists. */
    if (request->kind == HF_REQUEST_ENQUEUE &&
        hf_zk_own_ticket_find(zk, &request->ticket) != NULL)
        failure = HF_FAILURE_UNSURE;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = text;
    hf_zk_notify(zk, &event);
}

void hf_zk_fail_memory(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_fail(zk, request, HF_FAILURE_RETRY, HF_ENOMEM, "out of memory");
}

/* The errors that no retry helps against. */
static const struct hf_zk_cause fatal_causes[] = {
    {"NO_AUTH", HF_ZK_NO_AUTH, HF_EDENIED},
    {"INVALID_ACL", HF_ZK_INVALID_ACL, HF_EDENIED},
    {"AUTH_FAILED", HF_ZK_AUTH_FAILED, HF_EDENIED},
    {"NO_CHILDREN_FOR_EPHEMERALS", HF_ZK_NO_CHILDREN_FOR_EPHEMERALS, HF_EKIND},
    {"QUOTA_EXCEEDED", HF_ZK_QUOTA_EXCEEDED, HF_EFULL},
    {"UNIMPLEMENTED", HF_ZK_UNIMPLEMENTED, HF_EUNSUPPORTED},
};

const struct hf_zk_cause *hf_zk_cause(size_t index)
{
    return index < sizeof fatal_causes / sizeof fatal_causes[0]
               ? &fatal_causes[index]
               : NULL;
}

/* The status of a fatal error, otherwise HF_OK. */
static hf_status fatal_status(enum hf_zk_error error)
{
    const struct hf_zk_cause *cause;

    for (size_t i = 0; (cause = hf_zk_cause(i)) != NULL; i++) {
        if (cause->error == error)
            return cause->status;
    }
    return HF_OK;
}

/* With the errors listed here the server has rejected the request.  After any
 * other error it may have been carried out. */
bool hf_zk_is_unsure(enum hf_zk_error error)
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
static const char *advice(const struct hf_zk *zk, hf_status fatal)
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

/* What the core may conclude from ${error}: UNSURE is only for requests that
 * write. */
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
                  request->kind == HF_REQUEST_NEW_GENERATION;

    if (fatal_status(error) != HF_OK)
        return HF_FAILURE_FATAL;
    return writes && hf_zk_is_unsure(error) ? HF_FAILURE_UNSURE
                                            : HF_FAILURE_RETRY;
}

void hf_zk_fail_with_error(struct hf_zk *zk, struct hf_request *request,
                           enum hf_zk_error error, const char *what,
                           const char *path)
{
    enum hf_failure failure = failure_of(request, error);
    hf_status fatal = fatal_status(error);

    if (error == HF_ZK_DISCONNECTED)
        hf_zk_fail(zk, request, failure, HF_EUNREACHABLE,
                   "the connection ended before the answer%s%s",
                   zk->session.connectivity.error[0] != '\0' ? ": " : "",
                   zk->session.connectivity.error);
    else if (error == HF_ZK_MALFORMED)
        hf_zk_fail(zk, request, failure, HF_EPROTOCOL,
                   "cannot %s %s: the answer makes no sense", what, path);
    else if (error == HF_ZK_OUT_OF_MEMORY)
        hf_zk_fail(zk, request, failure, HF_ENOMEM,
                   "cannot %s %s: out of memory", what, path);
    else if (error == HF_ZK_ANSWER_TOO_LONG)
        hf_zk_fail(zk, request, failure, HF_ELIMIT,
                   "cannot %s %s: the answer is too long, expected at most "
                   "%zu bytes; see how many nodes are there",
                   what, path, hf_zk_session_answer_max(&zk->session));
    else
        hf_zk_fail(zk, request, failure, fatal != HF_OK ? fatal : HF_EPROTOCOL,
                   "cannot %s %s: %s (%d)%s", what, path,
                   hf_zk_error_text(error), (int)error, advice(zk, fatal));
}

void hf_zk_fail_name(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_fail(zk, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
               "with layout=kazoo a semaphore has its tickets at \"%.200s\"; "
               "expected a name that does not end in \"%s\" or \"%s\", or "
               "layout=curator",
               request->queue, HF_QUEUE_LOCKS, HF_QUEUE_LEASES);
}
