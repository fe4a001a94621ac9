/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/zk.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/memory.h"
#include "engines/zookeeper/op.h"

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
 *  - A removal comes behind the downgrade of the same ticket.  Both are
 *    urgent.
 *  - A removal comes behind the enqueue of the same ticket.  The core asks
 *    for it when the enqueue has been answered (core/engine.h).
 *  - A removal may overtake a LIST, WATCH, REVOKE or DESCRIBE of the same
 *    ticket.  These then find that it is gone, as if somebody else had removed
 *    it.
 *  - SET_FLAG, CLEAR_FLAG and NEW_GENERATION of a barrier, and a WATCH_QUEUE at
 * it, happen in the order in which they were asked for.  All of them are
 * HF_ZK_NORMAL.
 *  - A detailed list shows what this client had enqueued and removed before it
 *    was asked for.  It is HF_ZK_BULK, as enqueues are, and removals are
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
        return request->detailed ? HF_ZK_BULK : HF_ZK_NORMAL;
    }
}

/* Carry out ${request}, which does not wait any more; the session is usable. */
static void begin_request(struct hf_zk *zk, struct hf_request *request)
{
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        hf_zk_enqueue(zk, request);
        break;
    case HF_REQUEST_LIST:
        if (request->detailed)
            hf_zk_list_detailed(zk, request);
        else
            hf_zk_list(zk, request);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        if (request->ticket_kind == HF_TICKET_BARRIER)
            hf_zk_watch_barrier(zk, request);
        else
            hf_zk_watch_queue(zk, request);
        break;
    case HF_REQUEST_SET_FLAG:
        hf_zk_raise(zk, request);
        break;
    case HF_REQUEST_CLEAR_FLAG:
        if (request->ticket_kind == HF_TICKET_READY)
            hf_zk_clear_stamp(zk, request);
        else
            hf_zk_lower(zk, request);
        break;
    case HF_REQUEST_NEW_GENERATION:
        hf_zk_stamp(zk, request);
        break;
    case HF_REQUEST_WATCH:
        hf_zk_watch(zk, request);
        break;
    case HF_REQUEST_REMOVE:
        hf_zk_remove(zk, request);
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

/* Have it begin when there is room for it. */
static void enter(struct hf_zk *zk, struct hf_request *request)
{
    switch (hf_zk_window_enter(&zk->session.window, zk->session.wire.calls,
                               class_of(request), &zk->worker, request)) {
    case HF_OK:
        begin_request(zk, request);
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

void hf_zk_forget(struct hf_zk *zk, struct hf_request *request)
{
    if (hf_zk_window_forget(&zk->session.window, request))
        return;
    hf_zk_op_forget_look(zk, request);
    /* A WATCH_QUEUE whose list is there watches already, though it was not
     * told. */
    if (request->engine_data != NULL)
        hf_zk_watches_forget(zk, request);
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
    hf_zk_notify(user, &event);
}

static void gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct hf_event event = {.kind = HF_EVENT_GAVE_UP};

    event.as.gave_up.retries = retries;
    event.as.gave_up.elapsed_ms = elapsed_ms;
    hf_zk_notify(user, &event);
}

static void resuming(void *user, uint64_t least_timeout_ms)
{
    struct hf_event event = {.kind = HF_EVENT_RESUMING};
    struct hf_zk *zk = user;

    event.as.resuming.sent_at_ms = zk->session.now_ms;
    event.as.resuming.least_timeout_ms = least_timeout_ms;
    hf_zk_notify(zk, &event);
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
    hf_zk_notify(zk, &event);
}

static void suspended(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};

    hf_zk_notify(user, &event);
}

/* No ticket, and nothing to be heard of any. */
static void clear(struct hf_zk *zk)
{
    hf_zk_watches_clear(zk);
    hf_zk_own_clear(zk);
}

static void lost(void *user, const char *why)
{
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};

    clear(user);
    event.as.answer.status = HF_ELOST;
    event.as.answer.text = why;
    hf_zk_notify(user, &event);
}

static void closed(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};
    struct hf_zk *zk = user;

    clear(zk);
    event.as.answer.request = zk->end;
    hf_zk_notify(zk, &event);
}

static void proven(void *user, uint64_t anchor_ms)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    event.as.answer.anchor_ms = anchor_ms;
    hf_zk_notify(user, &event);
}

static void begin(void *user, void *work)
{
    begin_request(user, work);
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
    hf_zk_own_init(&zk->own);
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
    hf_zk_own_clear(zk);
    hf_zk_queues_free(&zk->queues);
    hf_free(zk);
}

struct hf_zk_session *hf_zk_session(struct hf_zk *zk)
{
    return &zk->session;
}
