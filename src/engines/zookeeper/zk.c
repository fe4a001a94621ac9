/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/zk.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/instant.h"
#include "core/memory.h"
#include "engines/zookeeper/private.h"

/* ----------------------------------------------------- beginning and end -- */

struct hf_zk *hf_zk_new(const struct hf_zk_config *config,
                        const struct hf_engine_host *host, uint64_t now_ms)
{
    struct hf_zk *zk = hf_alloc(sizeof *zk);

    assert(config->server_count > 0);
    if (zk == NULL)
        return NULL;
    zk->config = *config;
    zk->host = *host;
    zk->now_ms = now_ms;
    hf_zk_window_init(&zk->window, config->window);
    hf_zk_queues_init(&zk->queues);
    hf_zk_watches_init(&zk->watches);
    hf_zk_session_begin(zk);
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
    zk->session.state = HF_ZK_ENDED;
    hf_zk_window_cut(zk); /* frees what was under way */
    hf_zk_watches_clear(zk);
    hf_zk_queues_free(&zk->queues);
    hf_zk_wire_free(&zk->wire);
    hf_free(zk);
}

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
    if (fatal == HF_EDENIED && zk->config.auth[0] == '\0')
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
                  request->kind == HF_REQUEST_WITHDRAW ||
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

void hf_zk_request(struct hf_zk *zk, struct hf_request *request,
                   uint64_t now_ms)
{
    zk->now_ms = now_ms;
    if (request->kind == HF_REQUEST_END) {
        hf_zk_session_end(zk, request);
        return;
    }
    if (!hf_zk_session_usable(&zk->session)) {
        hf_zk_fail(zk, request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                   "there is no connection%s%s",
                   zk->session.trouble[0] != '\0' ? ": " : "",
                   zk->session.trouble);
        return;
    }
    if (!hf_zk_window_keeps(zk, request))
        hf_zk_begin(zk, request);
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
    case HF_REQUEST_WITHDRAW:
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

/* ----------------------------------------------------------------- bytes -- */

uint64_t hf_zk_call_proves_ms(struct hf_zk *zk, const struct hf_zk_call *call)
{
    return hf_zk_proof_committed(&zk->proof, &call->sent, zk->now_ms);
}

/* Tell what a write proves besides, unless that has been told. */
static void tell_proven(struct hf_zk *zk, uint64_t anchor_ms)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    if (anchor_ms <= zk->told_anchor_ms)
        return;
    zk->told_anchor_ms = anchor_ms;
    event.as.answer.anchor_ms = anchor_ms;
    hf_zk_tell(zk, &event);
}

void hf_zk_tell_committed(struct hf_zk *zk, const struct hf_zk_call *call)
{
    tell_proven(zk, hf_zk_call_proves_ms(zk, call));
}

static void event_came(struct hf_zk *zk, struct hf_jute_reader *body)
{
    int32_t type = hf_jute_get_int(body);
    struct hf_jute_piece path;

    (void)hf_jute_get_int(body); /* the state of the connection */
    path = hf_jute_get_buffer(body);
    if (body->failed)
        hf_zk_session_drop(zk, "an event that makes no sense");
    else if (type > 0 && path.bytes != NULL) {
        hf_zk_proof_event(&zk->proof);
        hf_zk_watches_fired(zk, (enum hf_zk_event_type)type, path.bytes,
                            path.count);
    }
}

static void ping_answered(struct hf_zk *zk)
{
    struct hf_zk_wire *wire = &zk->wire;
    uint64_t sent_at_ms = wire->pings_ms[0];

    if (wire->pings == 0) {
        hf_zk_session_drop(zk, "an answer to a ping that was not sent");
        return;
    }
    wire->pings--;
    memmove(wire->pings_ms, wire->pings_ms + 1,
            wire->pings * sizeof wire->pings_ms[0]);
    hf_zk_session_answered(zk, sent_at_ms);
}

static void auth_answered(struct hf_zk *zk, enum hf_zk_error error)
{
    if (error != HF_ZK_OK)
        hf_zk_session_drop(zk,
                           "the server did not accept the credentials of "
                           "the URL (%d)",
                           (int)error);
}

/* Is the connection still the one that was worked on? */
static bool is_current(const struct hf_zk *zk, uint64_t number)
{
    return number == zk->session.number && hf_zk_session_linked(&zk->session);
}

/* The server says of the session or of itself what ends the connection. */
static bool ends_connection(enum hf_zk_error error)
{
    return error == HF_ZK_SESSION_MOVED || error == HF_ZK_CONNECTION_LOSS ||
           error == HF_ZK_NOT_READ_ONLY;
}

/* Whatever events there are up to the transaction ${zxid} have come.  That is
 * so when a call is answered in its turn: a server sends the events of a
 * transaction before the first answer that names it, and answers SetWatches,
 * with the events that were missed, before any call.  An event says nothing of
 * others of its transaction, though servers from 3.9 on name that in its
 * header; and of several SetWatches the answer to one says nothing of the next.
 */
static void saw(struct hf_zk *zk, int64_t zxid)
{
    if (zxid > zk->session.zxid)
        zk->session.zxid = zxid;
}

static void call_answered(struct hf_zk *zk, int32_t xid,
                          struct hf_zk_reply *reply)
{
    /* What a server does not know it refuses out of turn, before it ends the
     * connection: who is not heard then would ask for it on the next one. */
    bool in_turn = reply->error != HF_ZK_UNIMPLEMENTED;
    struct hf_zk_call *call = hf_zk_wire_answered_call(&zk->wire, xid, in_turn);
    uint64_t number = zk->session.number;

    if (call == NULL) {
        hf_zk_session_drop(zk,
                           "an answer to request %d, which is not the "
                           "next one",
                           xid);
        return;
    }
    if (reply->error == HF_ZK_SESSION_EXPIRED) {
        reply->error = HF_ZK_CUT;
        call->answered(zk, call, reply);
        if (number == zk->session.number && zk->session.id != 0)
            hf_zk_session_lose(zk, "the server has ended the session");
        return;
    }
    if (in_turn)
        saw(zk, reply->zxid);
    hf_zk_session_answered(zk, call->sent.at_ms);
    if (reply->error == HF_ZK_OK && call->commits)
        hf_zk_tell_committed(zk, call);
    call->answered(zk, call, reply);
    if (ends_connection(reply->error) && is_current(zk, number))
        hf_zk_session_drop(zk, "the server refused a request (%d)",
                           (int)reply->error);
}

static void answer_came(struct hf_zk *zk, struct hf_jute_reader *frame)
{
    int32_t xid = hf_jute_get_int(frame);
    int64_t zxid = hf_jute_get_long(frame);
    int32_t error = hf_jute_get_int(frame);
    struct hf_zk_reply reply = {(enum hf_zk_error)error, zxid, *frame};

    if (frame->failed || error > 0) {
        hf_zk_session_drop(zk, "an answer that makes no sense");
        return;
    }
    switch (xid) {
    case HF_ZK_XID_EVENT:
        event_came(zk, frame);
        break;
    case HF_ZK_XID_PING:
        ping_answered(zk);
        break;
    case HF_ZK_XID_AUTH:
        auth_answered(zk, reply.error);
        break;
    case HF_ZK_XID_SET_WATCHES:
        if (reply.error != HF_ZK_OK)
            hf_zk_session_drop(zk,
                               "the server did not set the watches again "
                               "(%d)",
                               (int)reply.error);
        break;
    default:
        call_answered(zk, xid, &reply);
    }
}

/* A frame of ${length} bytes is no frame, or there is no memory for it. */
static void refuse_frame(struct hf_zk *zk, int32_t length)
{
    if (length >= 0 && length <= HF_ZK_FRAME_MAX)
        hf_zk_session_drop(zk, "out of memory");
    else if (zk->session.state != HF_ZK_GREETING)
        hf_zk_session_drop(zk, "a frame of %d bytes, expected at most %d",
                           length, HF_ZK_FRAME_MAX);
    else if (length >> 24 == HF_ZK_TLS_ALERT >> 24)
        hf_zk_session_drop_as(zk, HF_EURL,
                              "the server speaks TLS; expected zks: for this "
                              "port, or the port for zk:");
    else
        hf_zk_session_drop_as(zk, HF_EPROTOCOL, HF_ZK_NOT_ZOOKEEPER);
}

void hf_zk_receive(struct hf_zk *zk, uint64_t number, uint64_t now_ms,
                   const void *bytes, size_t count)
{
    struct hf_jute_reader frame;
    size_t offset = 0;
    int32_t length;

    if (!is_current(zk, number) || zk->session.state == HF_ZK_OPENING)
        return;
    zk->now_ms = zk->wire.heard_at_ms = now_ms;
    if (!hf_zk_wire_take_in(&zk->wire, bytes, count, &length)) {
        refuse_frame(zk, length);
        return;
    }
    while (is_current(zk, number) &&
           hf_zk_wire_next_frame(&zk->wire, &offset, &frame)) {
        if (zk->session.state == HF_ZK_GREETING)
            hf_zk_session_greeted(zk, &frame);
        else
            answer_came(zk, &frame);
    }
    if (!is_current(zk, number))
        return;
    hf_zk_wire_worked_off(&zk->wire, offset);
    hf_zk_window_open(zk);
}

/* ------------------------------------------------------------ connection -- */

void hf_zk_connect(struct hf_zk *zk, uint64_t now_ms)
{
    zk->now_ms = now_ms;
    hf_zk_session_connect(zk);
}

const struct hf_zk_server *hf_zk_link(const struct hf_zk *zk, uint64_t *number)
{
    *number = zk->session.number;
    if (!hf_zk_session_linked(&zk->session))
        return NULL;
    return &zk->config.servers[zk->session.server];
}

void hf_zk_link_up(struct hf_zk *zk, uint64_t number, uint64_t now_ms)
{
    zk->now_ms = now_ms;
    if (is_current(zk, number) && zk->session.state == HF_ZK_OPENING)
        hf_zk_session_greet(zk);
}

/* A server that takes no session says so by closing, whatever its reason. */
static const char *why_no_session(const struct hf_zk *zk)
{
    if (zk->session.zxid > 0)
        return "it may lack a quorum, or data that others have shown us";
    if (zk->config.tls)
        return "it may lack a quorum, or have too many clients "
               "(maxClientCnxns)";
    return "it may lack a quorum, have too many clients (maxClientCnxns), or "
           "expect TLS (zks:)";
}

void hf_zk_link_down(struct hf_zk *zk, uint64_t number, uint64_t now_ms,
                     hf_status status, const char *why)
{
    zk->now_ms = now_ms;
    if (!is_current(zk, number))
        return;
    if (why != NULL) {
        hf_zk_session_drop_as(zk, status, "%s", why);
    } else if (zk->session.state != HF_ZK_UP) {
        hf_zk_session_closed_silently(zk);
        hf_zk_session_drop(zk, "closed by the server without a session; %s",
                           why_no_session(zk));
    } else {
        hf_zk_session_drop(zk, "closed by the server");
    }
}

const void *hf_zk_output(const struct hf_zk *zk, size_t *count)
{
    bool open = zk->session.state == HF_ZK_GREETING ||
                zk->session.state == HF_ZK_UP ||
                zk->session.state == HF_ZK_ENDING;

    *count = open && !zk->wire.out.failed ? zk->wire.out.used : 0;
    return zk->wire.out.bytes;
}

void hf_zk_written(struct hf_zk *zk, size_t count)
{
    hf_jute_drop(&zk->wire.out, count);
}

/* ------------------------------------------------------------------ time -- */

void hf_zk_tick(struct hf_zk *zk, uint64_t now_ms)
{
    zk->now_ms = now_ms;
    if (zk->session.state == HF_ZK_ENDED)
        return;
    if (zk->wire.out.failed && zk->session.state >= HF_ZK_GREETING)
        hf_zk_session_drop(zk, "out of memory");
    hf_zk_session_tick(zk);
}

uint64_t hf_zk_wake_at_ms(const struct hf_zk *zk)
{
    if (zk->wire.out.failed && hf_zk_session_linked(&zk->session) &&
        zk->session.state != HF_ZK_OPENING)
        return zk->now_ms;
    return hf_zk_session_wake_at_ms(zk);
}
