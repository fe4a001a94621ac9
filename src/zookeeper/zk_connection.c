/* SPDX-License-Identifier: Apache-2.0 */
/* The functions by which the driver asks about the current connection and
 * reports what happens to it.  Each received frame goes to the call that it
 * answers, to the watchers of an event, or to the session itself.  As time
 * passes, hf_zk_session_tick() sends pings, ends a connection or an attempt
 * that gets no answer, and loses the session. */
#include <assert.h>
#include <inttypes.h>

#include "base/time_math.h"
#include "zookeeper/watch_resume.h"
#include "zookeeper/zk_session_private.h"

/* ---------------------------------------------------------- up and down -- */

const struct hf_zk_server *
hf_zk_session_wanted_server(const struct hf_zk_session *session,
                            uint64_t *number)
{
    *number = session->connection_number;
    if (!hf_connectivity_has_connection(&session->connectivity))
        return NULL;
    return &session->config->servers[session->server];
}

void hf_zk_session_connection_up(struct hf_zk_session *session, uint64_t number,
                                 uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (hf_zk_session_is_current(session, number) &&
        session->connectivity.state == HF_CONNECTIVITY_CONNECTING)
        hf_zk_session_begin_handshake(session);
}

/* The text for a server that closed the connection without accepting a session.
 * Servers give no reason, so the text lists the likely ones. */
static const char *why_no_session(const struct hf_zk_session *session)
{
    if (session->zxid > 0)
        return "it may lack a quorum, or data that others have shown us";
    if (session->config->tls)
        return "it may lack a quorum, or have too many clients "
               "(maxClientCnxns)";
    return "it may lack a quorum, have too many clients (maxClientCnxns), or "
           "expect TLS (zks:)";
}

/* The text depends on when the server closed the connection, because ZooKeeper
 * gives no reasons. */
void hf_zk_session_connection_down(struct hf_zk_session *session,
                                   uint64_t number, uint64_t now_ms,
                                   hf_status status, const char *why)
{
    session->now_ms = now_ms;
    if (!hf_zk_session_is_current(session, number))
        return;
    if (why != NULL) {
        hf_zk_session_disconnect_as(session, status, "%s", why);
    } else if (session->sasl.state != HF_ZK_SASL_OFF) {
        hf_zk_session_disconnect(session, "closed by the server during SASL");
    } else if (!hf_zk_session_usable(session)) {
        hf_zk_session_handshake_closed(session);
        hf_zk_session_disconnect(session,
                                 "closed by the server without a session; %s",
                                 why_no_session(session));
    } else {
        hf_zk_session_disconnect(session, "closed by the server");
    }
}

const void *hf_zk_session_output(const struct hf_zk_session *session,
                                 size_t *count)
{
    bool open = session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING ||
                hf_zk_session_usable(session) ||
                session->connectivity.state == HF_CONNECTIVITY_CLOSING;

    *count = open && !session->wire.out.failed ? session->wire.out.used : 0;
    return session->wire.out.bytes;
}

void hf_zk_session_written(struct hf_zk_session *session, size_t count)
{
    hf_jute_consume(&session->wire.out, count);
}

/* ----------------------------------------------------------- credentials -- */

hf_status hf_zk_session_add_credential(struct hf_zk_session *session,
                                       const char *scheme, const void *bytes,
                                       size_t count,
                                       hf_zk_credential_answered *answered,
                                       void *user)
{
    struct hf_zk_credential *credential;

    assert(!hf_zk_session_close_requested(session));
    credential =
        hf_zk_credentials_add(&session->credentials, scheme, bytes, count);
    if (credential == NULL)
        return HF_ENOMEM;
    credential->answered = answered;
    credential->user = user;
    if (hf_zk_session_usable(session))
        hf_zk_credentials_send(&session->credentials, credential,
                               &session->wire, session->now_ms);
    return HF_OK;
}

/* Somebody waits for the answer to ${credential}, which was refused: the
 * session goes on without it.  The server closes the connection. */
static void added_credential_refused(struct hf_zk_session *session,
                                     struct hf_zk_credential *credential,
                                     enum hf_zk_error error)
{
    hf_zk_credential_answered *answered = credential->answered;
    uint64_t number = session->connection_number;
    void *user = credential->user;

    hf_zk_credentials_remove(&session->credentials, credential);
    answered(user, error);
    if (hf_zk_session_is_current(session, number))
        hf_zk_session_disconnect(
            session, "the server did not accept an added credential (%d)",
            (int)error);
}

/* ${credential} was refused, and nobody waits for the answer to it.  Its user
 * needs it, so the connection ends with HF_EDENIED. */
static void credential_refused(struct hf_zk_session *session,
                               const struct hf_zk_credential *credential,
                               enum hf_zk_error error)
{
    if (credential == &session->credentials.of_url)
        hf_zk_session_refused(session,
                              "the server did not accept the credentials of "
                              "the URL (%d)",
                              (int)error);
    else
        hf_zk_session_refused(session,
                              "the server did not accept the credentials of "
                              "the scheme \"%.32s\" (%d)",
                              credential->scheme, (int)error);
}

/* The answer to the oldest credential that was sent.  A refusal ends the
 * connection. */
static void auth_answered(struct hf_zk_session *session, enum hf_zk_error error)
{
    struct hf_zk_credential *credential = session->credentials.unanswered;

    if (credential == NULL) {
        hf_zk_session_disconnect(session,
                                 "an answer to credentials that were not sent");
        return;
    }
    session->credentials.unanswered = credential->next;
    if (error == HF_ZK_OK)
        hf_zk_credential_notify(credential, error);
    else if (credential->answered != NULL)
        added_credential_refused(session, credential, error);
    else
        credential_refused(session, credential, error);
}

/* --------------------------------------------------------- what arrives -- */

/* A watch event: note it for the proof and notify the watchers of its path. */
static void event_received(struct hf_zk_session *session,
                           struct hf_jute_reader *body)
{
    int32_t type = hf_jute_get_int(body);
    struct hf_jute_piece path;

    (void)hf_jute_get_int(body); /* the state of the connection, not used */
    path = hf_jute_get_buffer(body);
    if (body->failed)
        hf_zk_session_disconnect(session, "an event that makes no sense");
    else if (type > 0 && path.bytes != NULL) {
        hf_zk_proof_event(&session->proof);
        hf_zk_watch_set_fired(&session->watches, (enum hf_zk_event_type)type,
                              path.bytes, path.count);
    }
}

/* The answer to the oldest ping. */
static void ping_answered(struct hf_zk_session *session)
{
    uint64_t sent_at_ms;

    if (hf_zk_wire_ping_answered(&session->wire, &sent_at_ms))
        hf_zk_session_answered(session, sent_at_ms);
    else
        hf_zk_session_disconnect(session,
                                 "an answer to a ping that was not sent");
}

/* True for errors about the session or the server itself, after which the
 * connection cannot be used.  A server that is known to be read-only may refuse
 * a write, and can still be read from. */
static bool ends_connection(const struct hf_zk_session *session,
                            enum hf_zk_error error)
{
    return error == HF_ZK_SESSION_MOVED || error == HF_ZK_CONNECTION_LOSS ||
           (error == HF_ZK_NOT_READ_ONLY &&
            session->mode == HF_ZK_SESSION_READ_WRITE);
}

/* All events up to the transaction ${zxid} have arrived.  This is true when a
 * call is answered in its turn: a server sends the events of a transaction
 * before the first answer that names it, and it answers SetWatches, with the
 * missed events, before any call.  The zxid of an event does not count,
 * although servers from 3.9 on send one, because other events of the same
 * transaction may follow.  The zxid of an answer to SetWatches does not count
 * either, because another SetWatches may follow. */
static void note_zxid(struct hf_zk_session *session, int64_t zxid)
{
    if (zxid > session->zxid)
        session->zxid = zxid;
}

/* Pass the answer to the call with the id ${xid}, after the clocks and the
 * proof were updated.  Answers must come in the order of the calls. */
static void call_answered(struct hf_zk_session *session, int32_t xid,
                          struct hf_zk_reply *reply)
{
    /* A server refuses an unknown opcode out of turn and then closes the
     * connection.  That answer must be accepted, because otherwise the client
     * would send the same request on the next connection. */
    bool in_order = reply->error != HF_ZK_UNIMPLEMENTED;
    struct hf_zk_call *call =
        hf_zk_wire_take_call(&session->wire, xid, in_order);
    uint64_t number = session->connection_number;

    if (call == NULL) {
        hf_zk_session_disconnect(session,
                                 "an answer to request %d, which is not the "
                                 "next one",
                                 xid);
        return;
    }
    if (reply->error == HF_ZK_SESSION_EXPIRED) {
        hf_zk_wire_put_back(&session->wire, call);
        hf_zk_session_lose(session, "the server has ended the session");
        return;
    }
    if (in_order)
        note_zxid(session, reply->zxid);
    hf_zk_session_answered(session, call->sent.at_ms);
    if (reply->error == HF_ZK_OK && call->commits)
        hf_zk_call_committed(session, call);
    /* For most calls of a lock .answered was set by
     * hf_zk_engine_request_call(). */
    call->answered(call->user, call, reply);
    if (ends_connection(session, reply->error) &&
        hf_zk_session_is_current(session, number))
        hf_zk_session_disconnect(session, "the server refused a request (%d)",
                                 (int)reply->error);
}

/* Dispatch one frame by its xid.  ${too_long}: the record of a call's answer
 * was dropped, so the call fails even if it has succeeded. */
static void answer_received(struct hf_zk_session *session,
                            struct hf_jute_reader *frame, bool too_long)
{
    int32_t xid = hf_jute_get_int(frame);
    int64_t zxid = hf_jute_get_long(frame);
    int32_t error = hf_jute_get_int(frame);
    struct hf_zk_reply reply = {(enum hf_zk_error)error, zxid, *frame};

    if (frame->failed || error > 0) {
        hf_zk_session_disconnect(session, "an answer that makes no sense");
        return;
    }
    if (too_long && error == HF_ZK_OK)
        reply.error = HF_ZK_ANSWER_TOO_LONG;
    switch (xid) {
    case HF_ZK_XID_EVENT:
        event_received(session, frame);
        break;
    case HF_ZK_XID_PING:
        ping_answered(session);
        break;
    case HF_ZK_XID_AUTH:
        auth_answered(session, reply.error);
        break;
    case HF_ZK_XID_SET_WATCHES:
        if (reply.error != HF_ZK_OK)
            hf_zk_session_disconnect(session,
                                     "the server did not set the watches again "
                                     "(%d)",
                                     (int)reply.error);
        else
            hf_zk_watch_set_resume_answered(&session->watches);
        break;
    default:
        call_answered(session, xid, &reply);
    }
}

/* Handle one frame, which may end the connection or the session. */
static void frame_received(struct hf_zk_session *session,
                           struct hf_zk_frame *frame)
{
    size_t most = session->wire.answer_max > HF_ZK_FRAME_MAX
                      ? session->wire.answer_max
                      : HF_ZK_FRAME_MAX;

    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING)
        hf_zk_session_handshake_received(session, frame);
    else if (frame->kind == HF_ZK_FRAME_INVALID)
        hf_zk_session_disconnect(session,
                                 "a frame of %d bytes, expected at most %zu",
                                 frame->length, most);
    else
        answer_received(session, &frame->bytes,
                        frame->kind == HF_ZK_FRAME_TOO_LONG);
}

void hf_zk_session_use_room(struct hf_zk_session *session)
{
    const struct hf_zk_window_callbacks *callbacks;
    void *work;

    while (hf_zk_session_usable(session) &&
           hf_zk_window_has_room(&session->window, session->wire.calls) &&
           (work = hf_zk_window_take(&session->window, &callbacks)) != NULL) {
        hf_zk_window_used(&session->window, session->now_ms);
        callbacks->begin(callbacks->user, work);
    }
    HF_ZK_NOTIFY(&session->listeners, room, (listener->user));
}

/* Each frame may end the connection, so that is checked after each. */
void hf_zk_session_receive(struct hf_zk_session *session, uint64_t number,
                           uint64_t now_ms, const void *bytes, size_t count)
{
    struct hf_zk_frame frame;
    size_t offset = 0;

    if (!hf_zk_session_is_current(session, number) ||
        session->connectivity.state == HF_CONNECTIVITY_CONNECTING)
        return;
    session->now_ms = session->wire.received_at_ms = now_ms;
    if (!hf_zk_wire_receive(&session->wire, bytes, count)) {
        hf_zk_session_disconnect(session, "out of memory");
        return;
    }
    while ((frame = hf_zk_wire_next_frame(&session->wire, &offset)).kind !=
           HF_ZK_FRAME_NONE) {
        frame_received(session, &frame);
        if (!hf_zk_session_is_current(session, number))
            return;
    }
    hf_zk_wire_consume(&session->wire, offset);
    hf_zk_session_use_room(session);
    hf_zk_session_change_server_if_idle(session);
}

/* ----------------------------------------------------------------- time -- */

/* If nothing has arrived on a connection for this long, it counts as dead.  A
 * third of the timeout is left to find another server. */
static uint64_t dead_after_ms(const struct hf_zk_session *session)
{
    return session->timeout_ms / 3 * 2;
}

/* When the next ping is due: a third of the timeout after the last write. */
static uint64_t ping_at_ms(const struct hf_zk_session *session)
{
    return hf_after_ms(session->wire.written_at_ms,
                       hf_max_ms(session->timeout_ms / 3, 1));
}

/* Drop a connection on which nothing arrives, or send a ping if one is due. */
static void keep_alive(struct hf_zk_session *session)
{
    uint64_t silent_ms = session->now_ms - session->wire.received_at_ms;

    if (silent_ms >= dead_after_ms(session))
        hf_zk_session_disconnect(session, "no answer for %" PRIu64 " ms",
                                 silent_ms);
    else if (session->now_ms >= ping_at_ms(session) &&
             session->wire.pings < HF_ZK_PINGS_MAX)
        hf_zk_wire_ping(&session->wire, session->now_ms);
}

/* An attempt, or the close request, got no answer in time. */
static void connect_timed_out(struct hf_zk_session *session)
{
    uint64_t timeout_ms = hf_connectivity_timed_out(&session->connectivity);
    const char *missing = "answer";

    if (session->connectivity.state == HF_CONNECTIVITY_CONNECTING)
        missing =
            session->config->tls ? "connection through TLS" : "connection";
    else if (session->sasl.state == HF_ZK_SASL_STEPPING)
        missing = "token of the mechanism of SASL";
    hf_zk_session_disconnect(session, "no %s within %" PRIu64 " ms", missing,
                             timeout_ms);
}

/* Lose the session, ping, connect, or time out. */
void hf_zk_session_tick(struct hf_zk_session *session, uint64_t now_ms)
{
    enum hf_connectivity_action due;

    session->now_ms = now_ms;
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return;
    if (session->wire.out.failed &&
        session->connectivity.state >= HF_CONNECTIVITY_HANDSHAKING)
        hf_zk_session_disconnect(session, "out of memory");
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return; /* that was the end of a close */
    if (session->id != 0 && session->now_ms >= session->alive_until_ms)
        hf_zk_session_lose_for_silence(session);
    if (hf_zk_session_read_only(session))
        hf_zk_rw_probe_tick(&session->rw_probe, session->now_ms);
    due = hf_connectivity_due(&session->connectivity, session->now_ms);
    if (hf_zk_session_usable(session))
        keep_alive(session);
    else if (due == HF_CONNECTIVITY_CONNECT)
        hf_zk_session_connect_next(session);
    else if (due == HF_CONNECTIVITY_GIVE_UP)
        connect_timed_out(session);
}

/* The earliest of these times: a ping, the end of a connection without answers,
 * the next attempt or its end, the probe for a quorum, the loss of the
 * session. */
uint64_t hf_zk_session_wake_at_ms(const struct hf_zk_session *session)
{
    uint64_t at_ms = hf_connectivity_wake_at_ms(&session->connectivity);

    hf_zk_session_check(session);
    if (session->wire.out.failed &&
        hf_connectivity_has_connection(&session->connectivity) &&
        session->connectivity.state != HF_CONNECTIVITY_CONNECTING)
        return session->now_ms;
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return HF_FOREVER;
    if (hf_zk_session_usable(session)) {
        at_ms =
            hf_after_ms(session->wire.received_at_ms, dead_after_ms(session));
        if (session->wire.pings < HF_ZK_PINGS_MAX)
            at_ms = hf_min_ms(at_ms, ping_at_ms(session));
    }
    if (hf_zk_session_read_only(session))
        at_ms = hf_min_ms(at_ms, hf_zk_rw_probe_wake_at_ms(&session->rw_probe));
    if (session->id != 0)
        at_ms = hf_min_ms(
            at_ms, hf_wake_before_ms(session->now_ms, session->alive_until_ms));
    return at_ms;
}
