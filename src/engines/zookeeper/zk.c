/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/zk.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/instant.h"
#include "core/memory.h"
#include "engines/zookeeper/private.h"

/* --------------------------------------------------------------- answers -- */

void hf_zk_tell(struct hf_zk *zk, struct hf_event *event)
{
    zk->host.event(zk->host.host, event);
}

void hf_zk_fail(struct hf_zk *zk, struct hf_request *request,
                enum hf_failure failure, hf_status status, const char *format,
                ...)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;

    /* Whatever went wrong afterwards, the ticket is there. */
    if (request->kind == HF_REQUEST_ENQUEUE &&
        hf_zk_own_find(zk, &request->ticket) != NULL)
        failure = HF_FAILURE_UNSURE;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = text;
    hf_zk_tell(zk, &event);
}

void hf_zk_fail_memory(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_fail(zk, request, HF_FAILURE_RETRY, HF_ENOMEM, "out of memory");
}

static const char *error_text(enum hf_zk_error error)
{
    switch (error) {
#define TEXT_(name, number, text)                                              \
    case HF_ZK_##name:                                                         \
        return text;
        HF_ZK_ERROR_TABLE(TEXT_)
#undef TEXT_
    default:
        break;
    }
    return "an error that this version of holdfast does not know";
}

/* What of the server's errors no retry will help against. */
static hf_status fatal_status(enum hf_zk_error error)
{
    switch ((int)error) {
    case HF_ZK_NO_AUTH:
    case HF_ZK_INVALID_ACL:
    case HF_ZK_AUTH_FAILED:
        return HF_EDENIED;
    case HF_ZK_NO_CHILDREN_FOR_EPHEMERALS:
        return HF_EKIND;
    case HF_ZK_QUOTA_EXCEEDED:
        return HF_EFULL;
    case HF_ZK_UNIMPLEMENTED:
        return HF_EUNSUPPORTED;
    default:
        return HF_OK;
    }
}

bool hf_zk_leaves_open(enum hf_zk_error error)
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

static const char *advice(const struct hf_zk *zk, hf_status fatal)
{
    if (fatal == HF_EDENIED && zk->config.session.auth[0] == '\0')
        return "; see the node's access list: we have no credentials";
    if (fatal == HF_EDENIED)
        return "; see the node's access list, and whether our user and "
               "password are the right ones";
    if (fatal == HF_EUNSUPPORTED)
        return "; ZooKeeper 3.5 or later is needed";
    return "";
}

static enum hf_failure failure_of(const struct hf_request *request,
                                  enum hf_zk_error error)
{
    bool writes = request->kind == HF_REQUEST_ENQUEUE ||
                  request->kind == HF_REQUEST_REMOVE ||
                  request->kind == HF_REQUEST_DOWNGRADE ||
                  request->kind == HF_REQUEST_REVOKE ||
                  request->kind == HF_REQUEST_DESCRIBE ||
                  request->kind == HF_REQUEST_RAISE ||
                  request->kind == HF_REQUEST_LOWER ||
                  request->kind == HF_REQUEST_STAMP;

    if (fatal_status(error) != HF_OK)
        return HF_FAILURE_FATAL;
    return writes && hf_zk_leaves_open(error) ? HF_FAILURE_UNSURE
                                              : HF_FAILURE_RETRY;
}

void hf_zk_fail_as(struct hf_zk *zk, struct hf_request *request,
                   enum hf_zk_error error, const char *what, const char *path)
{
    enum hf_failure failure = failure_of(request, error);
    hf_status fatal = fatal_status(error);

    if (error == HF_ZK_CUT)
        hf_zk_fail(zk, request, failure, HF_EUNREACHABLE,
                   "the connection ended before the answer%s%s",
                   zk->session.trouble[0] != '\0' ? ": " : "",
                   zk->session.trouble);
    else if (error == HF_ZK_NONSENSE)
        hf_zk_fail(zk, request, failure, HF_EPROTOCOL,
                   "cannot %s %s: the answer makes no sense", what, path);
    else
        hf_zk_fail(zk, request, failure, fatal != HF_OK ? fatal : HF_EPROTOCOL,
                   "cannot %s %s: %s (%d)%s", what, path, error_text(error),
                   (int)error, advice(zk, fatal));
}

/* -------------------------------------------------------------- requests -- */

/*
 * What relies on the order of requests on one connection, and what keeps it
 * (see zookeeper/window.h).  What a request does depends on what is known when
 * it begins.  Those who wait for a list that another has asked for have no
 * call: while a long list is under way others go on.
 *
 *  - The calls of one step: parents, create and list; sync and read; delete of
 *    the write node and of the read node.  They are put on the wire together.
 *  - A list that is asked for behind a create shows it (list_call.c).  A
 *    request joins those who wait for a list in the step that sends its create.
 *  - Enqueues enter a queue in the order in which they were asked for, see
 *    core/enqueue_order.h.  All of them are HF_ZK_BULK, first come first
 *    served; but for leases, which stand in no such line.
 *  - A lease enters its queue before the ticket in the entry mutex leaves, as
 *    only the holder of that may add leases, and kazoo's permits are made with
 *    a check of it.  Both are urgent.
 *  - A withdrawal comes behind the downgrade of the same ticket.  Both are
 *    urgent.
 *  - A withdrawal comes behind the enqueue of the same ticket.  The core asks
 *    for it when the enqueue has been answered (core/engine.h).
 *  - A withdrawal may overtake a LIST, WATCH, REVOKE or DESCRIBE of the same
 *    ticket.  These then find that it is gone, as if somebody else had removed
 *    it.
 *  - RAISE, LOWER and STAMP of a barrier, and a LOOK at it, happen in the order
 *    in which they were asked for.  All of them are HF_ZK_NORMAL.
 *  - A whole list shows what this client had enqueued and withdrawn before it
 *    was asked for.  It is HF_ZK_BULK, as enqueues are, and withdrawals are
 *    urgent.
 *  - Credentials come first on a connection, then SetWatches and the reads of
 *    watched nodes.  All are sent before CONNECTED is told, and nothing waits
 *    then: what waited when a connection ended was answered.  It did not
 *    happen.
 *  - Nothing comes behind the end of a session.  What waits then is answered
 *    as if the connection had ended.
 */
static enum hf_zk_class class_of(const struct hf_request *request)
{
    switch (request->kind) {
    case HF_REQUEST_REMOVE:
    case HF_REQUEST_DOWNGRADE:
    case HF_REQUEST_PROVE:
        return HF_ZK_URGENT;
    case HF_REQUEST_ENQUEUE:
        return request->ticket_kind == HF_TICKET_LEASE ? HF_ZK_URGENT
                                                       : HF_ZK_BULK;
    default:
        return request->whole ? HF_ZK_BULK : HF_ZK_NORMAL;
    }
}

/* Have it begin when there is room for it. */
static void enter(struct hf_zk *zk, struct hf_request *request)
{
    switch (hf_zk_window_enter(&zk->session.window, zk->session.wire.calls,
                               class_of(request), &zk->worker, request)) {
    case HF_OK:
        hf_zk_begin(zk, request);
        break;
    case HF_ENOMEM:
        hf_zk_fail_memory(zk, request);
        break;
    default:
        break; /* it waits */
    }
}

void hf_zk_request(struct hf_zk *zk, struct hf_request *request,
                   uint64_t now_ms)
{
    hf_zk_session_set_now(&zk->session, now_ms);
    if (request->kind == HF_REQUEST_END) {
        assert(zk->end == NULL);
        zk->end = request;
        hf_zk_session_end(&zk->session);
    } else if (!hf_zk_session_usable(&zk->session)) {
        hf_zk_fail(zk, request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                   "there is no connection%s%s",
                   zk->session.trouble[0] != '\0' ? ": " : "",
                   zk->session.trouble);
    } else {
        enter(zk, request);
    }
}

void hf_zk_begin(struct hf_zk *zk, struct hf_request *request)
{
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        hf_zk_enqueue(zk, request);
        break;
    case HF_REQUEST_LIST:
        if (request->whole)
            hf_zk_list_whole(zk, request);
        else
            hf_zk_list(zk, request);
        break;
    case HF_REQUEST_LOOK:
        if (request->ticket_kind == HF_TICKET_BARRIER)
            hf_zk_look_at_mark(zk, request);
        else
            hf_zk_look_out(zk, request);
        break;
    case HF_REQUEST_RAISE:
        hf_zk_raise(zk, request);
        break;
    case HF_REQUEST_LOWER:
        if (request->ticket_kind == HF_TICKET_READY)
            hf_zk_clear_stamp(zk, request);
        else
            hf_zk_lower(zk, request);
        break;
    case HF_REQUEST_STAMP:
        hf_zk_stamp(zk, request);
        break;
    case HF_REQUEST_WATCH:
        hf_zk_watch(zk, request);
        break;
    case HF_REQUEST_REMOVE:
        hf_zk_withdraw(zk, request);
        break;
    case HF_REQUEST_PROVE:
        hf_zk_prove(zk, request);
        break;
    case HF_REQUEST_DOWNGRADE:
        hf_zk_downgrade(zk, request);
        break;
    case HF_REQUEST_REVOKE:
        hf_zk_revoke(zk, request);
        break;
    case HF_REQUEST_DESCRIBE:
        hf_zk_describe(zk, request);
        break;
    case HF_REQUEST_END:
        break;
    }
}

/* ------------------------------------------------- what the session tells --
 */

static void log_line(void *user, enum hf_log_level level, const char *format,
                     ...)
{
    const struct hf_zk *zk = user;
    char text[2 * HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    zk->host.log(zk->host.host, level, "%s", text);
}

static void trouble(void *user, const struct hf_zk_trouble *trouble)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTION_ERROR};

    event.as.connection_error.text = trouble->text;
    event.as.connection_error.status = trouble->status;
    event.as.connection_error.final = trouble->final;
    hf_zk_tell(user, &event);
}

static void gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct hf_event event = {.kind = HF_EVENT_GAVE_UP};

    event.as.gave_up.retries = retries;
    event.as.gave_up.elapsed_ms = elapsed_ms;
    hf_zk_tell(user, &event);
}

static void resuming(void *user, uint64_t least_timeout_ms)
{
    struct hf_event event = {.kind = HF_EVENT_RESUMING};
    struct hf_zk *zk = user;

    event.as.resuming.sent_at_ms = zk->session.now_ms;
    event.as.resuming.least_timeout_ms = least_timeout_ms;
    hf_zk_tell(zk, &event);
}

static void up(void *user, bool resumed)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};
    struct hf_zk *zk = user;

    if (resumed)
        hf_zk_watches_resumed(zk);
    event.as.connected.timeout_ms = zk->session.timeout_ms;
    event.as.connected.anchor_ms = zk->session.told_anchor_ms;
    event.as.connected.resumed = resumed;
    event.as.connected.lazy = zk->config.session.lazy_proof;
    hf_zk_tell(zk, &event);
}

static void suspended(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};

    hf_zk_tell(user, &event);
}

/* No ticket, and nothing to be heard of any. */
static void clear(struct hf_zk *zk)
{
    hf_zk_watches_clear(zk);
    hf_zk_queues_clear(&zk->queues);
}

static void lost(void *user, const char *why)
{
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};

    clear(user);
    event.as.answer.status = HF_ELOST;
    event.as.answer.text = why;
    hf_zk_tell(user, &event);
}

static void closed(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};
    struct hf_zk *zk = user;

    clear(zk);
    event.as.answer.request = zk->end;
    hf_zk_tell(zk, &event);
}

static void proven(void *user, uint64_t anchor_ms)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    event.as.answer.anchor_ms = anchor_ms;
    hf_zk_tell(user, &event);
}

static void begin(void *user, void *work)
{
    hf_zk_begin(user, work);
}

static void refused(void *user, void *work)
{
    const struct hf_zk *zk = user;
    const char *trouble = zk->session.trouble;

    hf_zk_fail(user, work, HF_FAILURE_RETRY, HF_EUNREACHABLE,
               "the connection ended before the request was sent%s%s",
               trouble[0] != '\0' ? ": " : "", trouble);
}

/* ----------------------------------------------------- beginning and end -- */

struct hf_zk *hf_zk_new(const struct hf_zk_config *config,
                        const struct hf_engine_host *host, uint64_t now_ms)
{
    struct hf_zk *zk = hf_alloc(sizeof *zk);
    struct hf_zk_log log = {zk, log_line};

    if (zk == NULL)
        return NULL;
    zk->config = *config;
    zk->host = *host;
    hf_zk_queues_init(&zk->queues);
    zk->worker = (struct hf_zk_worker){zk, begin, refused};
    zk->listener = (struct hf_zk_listener){.user = zk,
                                           .trouble = trouble,
                                           .gave_up = gave_up,
                                           .resuming = resuming,
                                           .up = up,
                                           .suspended = suspended,
                                           .lost = lost,
                                           .closed = closed,
                                           .proven = proven};
    hf_zk_session_begin(&zk->session, &zk->config.session, &log, now_ms);
    hf_zk_listeners_add(&zk->session.listeners, &zk->listener);
    return zk;
}

static void tell_nobody(void *host, struct hf_event *event)
{
    (void)host;
    (void)event;
}

void hf_zk_free(struct hf_zk *zk)
{
    zk->host.event = tell_nobody;
    hf_zk_session_free(&zk->session); /* with what was under way */
    hf_zk_watches_clear(zk);
    hf_zk_queues_free(&zk->queues);
    hf_free(zk);
}

struct hf_zk_session *hf_zk_session(struct hf_zk *zk)
{
    return &zk->session;
}
