/* SPDX-License-Identifier: Apache-2.0 */
/* The top of the engine without I/O: it accepts requests of the core, starts
 * each when the call window has room, and passes the session's notifications
 * on as events. */
#include "engines/zookeeper/zk_engine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/engine_host.h"
#include "base/memory.h"
#include "engines/zookeeper/parent_nodes.h"
#include "engines/zookeeper/zk_examine.h"
#include "engines/zookeeper/zk_request.h"

/* ----------------------------------------------------------------- proof -- */

/* HF_REQUEST_PROVE: a transaction that changes nothing.  A multi of checks is
 * committed like any write, fires no watch, and fails if one of the tickets is
 * gone.  Its commit proves that the session lives (zookeeper/proof.h). */

/* One request checks at most this many nodes, but at least all nodes of one
 * ticket.  If there are more nodes, the tickets take turns from request to
 * request. */
#define CHECKS_MAX 32

/* Move the first ${count} tickets, which were checked, behind all others for
 * the next time. */
static void move_checked_last(struct hf_zk_engine *zk, unsigned count)
{
    struct hf_zk_engine_own_ticket *own_ticket = zk->own_tickets.first, *next;

    for (unsigned i = 0; i < count; i++, own_ticket = next) {
        next = own_ticket->next;
        hf_zk_engine_own_ticket_move_last(zk, own_ticket);
    }
}

/* Write the checks.  A ticket that is being deleted, or may have another name
 * by now, is left out, because its check would fail the whole multi.  Without
 * any ticket the root is checked. */
static void put_checks(struct hf_zk_engine *zk)
{
    struct hf_zk_engine_own_ticket *own_ticket = zk->own_tickets.first;
    unsigned count = 0;
    uint32_t nodes = 0;
    bool any = false;

    for (; own_ticket != NULL &&
           (count == 0 || nodes + own_ticket->weight <= CHECKS_MAX);
         own_ticket = own_ticket->next) {
        bool checks = !own_ticket->removing && !own_ticket->downgrading;

        for (uint32_t i = 0; i < own_ticket->weight && checks; i++) {
            hf_zk_multi_check(&zk->session,
                              hf_zk_engine_own_ticket_path(zk, own_ticket, i));
            any = true;
        }
        nodes += own_ticket->weight;
        count++;
    }
    if (!any)
        hf_zk_multi_check(&zk->session, hf_zk_engine_root(zk));
    move_checked_last(zk, count);
}

/* The answer to the multi. */
static void tickets_checked(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_event event = {.kind = HF_EVENT_PROVEN};
    struct hf_zk_engine_request *req = call->owner;
    enum hf_zk_error error = reply->error;
    bool passed = error == HF_ZK_OK &&
                  hf_zk_multi_result(&reply->body, NULL, 0) == HF_ZK_OK;

    if (passed)
        event.as.answer.anchor_ms = hf_zk_call_proves_ms(&zk->session, call);
    req->pending--;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    if (error != HF_ZK_OK)
        hf_zk_engine_fail_with_error(zk, event.as.answer.request, error,
                                     "check tickets below",
                                     zk->config.url.chroot);
    else if (!passed)
        hf_zk_engine_fail(zk, event.as.answer.request, HF_FAILURE_RETRY,
                          HF_EPROTOCOL,
                          "a ticket that was to be checked is gone");
    else
        hf_zk_engine_notify(zk, &event);
}

/* The proof itself is computed from the times at which calls were sent and
 * answered, see zookeeper/proof.h. */
void hf_zk_engine_prove(struct hf_zk_engine *zk, struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);
    size_t begin;

    if (req == NULL)
        return;
    begin = hf_zk_call_begin(&zk->session,
                             hf_zk_engine_request_call(req, tickets_checked),
                             HF_ZK_MULTI);
    put_checks(zk);
    hf_zk_multi_end(&zk->session, begin);
}

/* -------------------------------------------------------------- requests -- */

/*
 * How urgent a request is: the class in which it waits for room in the call
 * window (zookeeper/call_window.h).  A request that shares the list of another
 * request sends no call of its own, so it takes no room.
 *
 * Some requests rely on the order of calls on one connection.  This list says
 * what keeps each order.
 *
 *  - The calls of one step: parents, create and list; sync and read; delete of
 *    the write node and of the read node.  They are written together.
 *  - A list that is sent behind a create shows the created node.  So a request
 *    joins those that wait for the next list (list_children.c) in the same step
 *    in which it sends its create.
 *  - Enqueues enter a queue in the order in which they were asked for, see
 *    core/enqueue_order.h.  All of them are HF_ZK_BULK and served first come,
 *    first served.  Leases have no such order, and are urgent.
 *  - A lease enters its queue before the ticket in the entry mutex is removed,
 *    because only the holder of the entry mutex may add leases, and kazoo's
 *    permits are created with a check of that ticket.  The enqueue and the
 *    removal are both urgent.
 *  - A removal comes behind the downgrade of the same ticket.  Both requests
 *    are urgent.
 *  - A removal comes behind the enqueue of the same ticket.  The core asks for
 *    the removal when the enqueue has been answered (core/engine.h).
 *  - A removal may overtake an HF_REQUEST_LIST, HF_REQUEST_WATCH,
 *    HF_REQUEST_REVOKE or HF_REQUEST_DESCRIBE of the same ticket.  These
 *    requests then find the ticket gone, as if somebody else had removed it.
 *  - Setting and clearing the flag of a barrier, a new generation and a queue
 *    watch of a barrier happen in the order in which they were asked for.  All
 *    of them are HF_ZK_NORMAL.
 *  - A detailed list shows what this client had enqueued and removed before it
 *    was asked for.  It is HF_ZK_BULK, as enqueues are, and removals are
 *    urgent.
 *  - Credentials come first on a connection, then SetWatches and the reads of
 *    watched nodes.  All are sent before HF_EVENT_CONNECTED is reported.
 *    Nothing waits at that time, because what waited when a connection ended
 *    was refused.
 *  - Nothing comes behind the close of a session.  What waits then is answered
 *    as if the connection had ended.
 */
static enum hf_zk_work_class work_class(const struct hf_request *request)
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

/* Carry out the request ${work}, which has room in the window; the session is
 * usable. */
static void begin(void *user, void *work)
{
    struct hf_zk_engine *zk = user;
    struct hf_request *request = work;

    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        hf_zk_engine_enqueue(zk, request);
        break;
    case HF_REQUEST_LIST:
        if (request->detailed)
            hf_zk_engine_list_detailed(zk, request);
        else
            hf_zk_engine_list_queue(zk, request);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        if (request->ticket_kind == HF_TICKET_BARRIER)
            hf_zk_engine_watch_barrier(zk, request);
        else
            hf_zk_engine_watch_queue(zk, request);
        break;
    case HF_REQUEST_SET_FLAG:
        hf_zk_engine_set_flag(zk, request);
        break;
    case HF_REQUEST_CLEAR_FLAG:
        if (request->ticket_kind == HF_TICKET_READY)
            hf_zk_engine_clear_generation(zk, request);
        else
            hf_zk_engine_clear_flag(zk, request);
        break;
    case HF_REQUEST_NEW_GENERATION:
        hf_zk_engine_new_generation(zk, request);
        break;
    case HF_REQUEST_WATCH:
        hf_zk_engine_watch_ticket(zk, request);
        break;
    case HF_REQUEST_REMOVE:
        hf_zk_engine_remove_ticket(zk, request);
        break;
    case HF_REQUEST_PROVE:
        hf_zk_engine_prove(zk, request);
        break;
    case HF_REQUEST_DOWNGRADE:
        hf_zk_engine_downgrade_ticket(zk, request);
        break;
    case HF_REQUEST_REVOKE:
        hf_zk_engine_revoke_ticket(zk, request);
        break;
    case HF_REQUEST_DESCRIBE:
        hf_zk_engine_describe_ticket(zk, request);
        break;
    case HF_REQUEST_NAMES:
        hf_zk_engine_name_queues(zk, request);
        break;
    case HF_REQUEST_READ_SUCCESS:
        hf_zk_engine_read_success(zk, request);
        break;
    case HF_REQUEST_WRITE_SUCCESS:
        hf_zk_engine_write_success(zk, request);
        break;
    case HF_REQUEST_EXAMINE: /* see examine_servers.h */
    case HF_REQUEST_END:
        break;
    }
}

/* Without a connection a request fails at once, because the core retries when
 * it is connected.  Otherwise it begins now, or when the window has room.  A
 * proof does not count as use of the window, because proofs are sent regularly
 * even if no lock is used. */
void hf_zk_engine_submit(struct hf_zk_engine *zk, struct hf_request *request,
                         uint64_t now_ms)
{
    struct hf_zk_session *session = &zk->session;
    hf_status entered;

    hf_zk_session_set_now(session, now_ms);
    if (request->kind == HF_REQUEST_END) {
        assert(zk->end == NULL);
        zk->end = request;
        hf_zk_session_close(session);
        return;
    }
    if (!hf_zk_session_usable(session)) {
        hf_zk_engine_fail(zk, request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                          "there is no connection%s%s",
                          session->connectivity.error[0] != '\0' ? ": " : "",
                          session->connectivity.error);
        return;
    }
    if (request->kind != HF_REQUEST_PROVE)
        hf_zk_window_used(&session->window, now_ms);
    entered =
        hf_zk_window_enter(&session->window, session->wire.calls,
                           work_class(request), &zk->window_callbacks, request);
    if (entered == HF_OK)
        begin(zk, request);
    else if (entered == HF_ENOMEM)
        hf_zk_engine_fail_memory(zk, request);
    else
        assert(entered == HF_EBUSY); /* it waits */
}

/* Cancel ${request}, which watches, wherever it is: waiting for the window, in
 * progress, or joined to a watch. */
void hf_zk_engine_forget(struct hf_zk_engine *zk, struct hf_request *request)
{
    if (hf_zk_window_cancel(&zk->session.window, request))
        return;
    hf_zk_engine_request_cancel(zk, request);
    /* A request whose queue was listed has joined the watch already, even if
     * the list was not reported yet. */
    if (request->engine_data != NULL)
        hf_zk_engine_watches_cancel(zk, request);
}

/* ------------------------------------------------- events of the session -- */

/* The session's callback for log lines. */
static void log_line(void *user, enum hf_log_level level, const char *format,
                     ...)
{
    const struct hf_zk_engine *zk = user;
    char text[2 * HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    zk->host.log(zk->host.host, level, "%s", text);
}

/* The session's callbacks: each becomes one event for the core. */
static void
connection_error(void *user,
                 const struct hf_zk_connection_error *connection_error)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTION_ERROR};

    event.as.connection_error.text = connection_error->text;
    event.as.connection_error.status = connection_error->status;
    event.as.connection_error.final = connection_error->final;
    hf_zk_engine_notify(user, &event);
}

/* The reconnect policy allows no further attempt. */
static void gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct hf_event event = {.kind = HF_EVENT_GAVE_UP};

    event.as.gave_up.retries = retries;
    event.as.gave_up.elapsed_ms = elapsed_ms;
    hf_zk_engine_notify(user, &event);
}

/* A request to resume the session is sent now.  The server may grant a shorter
 * timeout than before, at least ${least_timeout_ms}, so the core reduces its
 * safe_until to what that allows. */
static void resuming(void *user, uint64_t least_timeout_ms)
{
    struct hf_event event = {.kind = HF_EVENT_RESUMING};
    struct hf_zk_engine *zk = user;

    event.as.resuming.sent_at_ms = zk->session.now_ms;
    event.as.resuming.least_timeout_ms = least_timeout_ms;
    hf_zk_engine_notify(zk, &event);
}

/* Connected.  The watches are completed first, because the core may send
 * requests from within the event. */
static void up(void *user, bool resumed)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};
    struct hf_zk_engine *zk = user;

    if (resumed)
        hf_zk_engine_watches_resumed(zk);
    event.as.connected.timeout_ms = zk->session.timeout_ms;
    event.as.connected.clock_drift = zk->config.url.session.clock_drift;
    event.as.connected.anchor_ms = zk->session.proven_anchor_ms;
    event.as.connected.resumed = resumed;
    event.as.connected.lazy = zk->config.url.session.proof == HF_ZK_PROOF_LAZY;
    hf_zk_engine_notify(zk, &event);
    hf_zk_engine_examinations_begin(zk);
}

/* The connection has ended; the session may still live. */
static void suspended(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};

    hf_zk_engine_notify(user, &event);
}

/* Forget all tickets and watches, because the session is gone. */
static void forget_all(struct hf_zk_engine *zk)
{
    hf_zk_engine_watches_clear(zk);
    hf_zk_engine_own_tickets_clear(zk);
    hf_zk_engine_delete_rights_clear(zk);
}

/* The session has ended.  Tickets and watches are forgotten first, because the
 * core may enqueue again from within the event. */
static void lost(void *user, const char *why)
{
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};

    forget_all(user);
    event.as.answer.status = HF_ELOST;
    event.as.answer.text = why;
    hf_zk_engine_notify(user, &event);
}

/* The session is closed, which answers HF_REQUEST_END. */
static void closed(void *user)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};
    struct hf_zk_engine *zk = user;

    forget_all(zk);
    event.as.answer.request = zk->end;
    hf_zk_engine_notify(zk, &event);
}

/* A transaction has proven that the session lives. */
static void proven(void *user, uint64_t anchor_ms)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    event.as.answer.anchor_ms = anchor_ms;
    hf_zk_engine_notify(user, &event);
}

/* The window's callback: the connection ended before the request began. */
static void refused(void *user, void *work)
{
    const struct hf_zk_engine *zk = user;
    const char *connection_error = zk->session.connectivity.error;

    hf_zk_engine_fail(user, work, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                      "the connection ended before the request was sent%s%s",
                      connection_error[0] != '\0' ? ": " : "",
                      connection_error);
}

/* ----------------------------------------------------- beginning and end -- */

/* The session notifies nothing before it is driven, so the listener can be
 * added after it has begun. */
struct hf_zk_engine *hf_zk_engine_new(const struct hf_zk_engine_config *config,
                                      const struct hf_engine_host *host,
                                      uint64_t now_ms)
{
    struct hf_zk_engine *zk = hf_alloc(sizeof *zk);
    struct hf_zk_log log = {zk, log_line};

    if (zk == NULL)
        return NULL;
    zk->config = *config;
    zk->host = *host;
    hf_zk_engine_queues_init(&zk->queues);
    hf_zk_engine_own_tickets_init(&zk->own_tickets);
    zk->window_callbacks = (struct hf_zk_window_callbacks){zk, begin, refused};
    zk->listener = (struct hf_zk_listener){.user = zk,
                                           .connection_error = connection_error,
                                           .gave_up = gave_up,
                                           .resuming = resuming,
                                           .up = up,
                                           .suspended = suspended,
                                           .lost = lost,
                                           .closed = closed,
                                           .proven = proven};
    hf_zk_session_begin(&zk->session, &zk->config.url.session, &log, now_ms);
    hf_zk_listeners_add(&zk->session.listeners, &zk->listener);
    return zk;
}

/* Replaces the host's callback while the engine is freed, so that the host is
 * not notified. */
static void ignore_event(void *host, struct hf_event *event)
{
    (void)host;
    (void)event;
}

void hf_zk_engine_free(struct hf_zk_engine *zk)
{
    zk->host.event = ignore_event;
    hf_zk_session_free(&zk->session); /* fails what is in flight */
    hf_zk_engine_watches_clear(zk);
    hf_zk_engine_own_tickets_clear(zk);
    hf_zk_engine_queues_free(&zk->queues);
    explicit_bzero(&zk->config, sizeof zk->config); /* it may have a password */
    hf_free(zk);
}

struct hf_zk_session *hf_zk_engine_session(struct hf_zk_engine *zk)
{
    return &zk->session;
}

const struct hf_zk_url_config *hf_zk_engine_url(const struct hf_zk_engine *zk)
{
    return &zk->config.url;
}

const char *hf_zk_engine_ticket_path(struct hf_zk_engine *zk,
                                     const struct hf_ticket_id *ticket)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, ticket);

    if (own_ticket == NULL || own_ticket->downgrading)
        return NULL;
    return hf_zk_engine_own_ticket_path(zk, own_ticket, 0);
}
