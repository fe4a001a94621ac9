/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake on a new connection: the ConnectRequest, the server's answer,
 * and what the session does first when it is accepted. */
#include <assert.h>
#include <string.h>

#include "zookeeper/watch_resume.h"
#include "zookeeper/zk_session_private.h"

void hf_zk_session_note_closed_in_handshake(struct hf_zk_session *session)
{
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING &&
        !session->config->tls && hf_zk_session_never_accepted(session) &&
        session->tls_probe[session->server] == HF_ZK_TLS_UNPROBED)
        session->tls_probe[session->server] = HF_ZK_TLS_PROBE_NEXT;
}

/* Send the TLS alert close_notify (RFC 8446, 6.1) instead of a ConnectRequest.
 * A server for TLS answers it; for ZooKeeper it begins a frame of an
 * impossible length. */
static void send_tls_probe(struct hf_zk_session *session)
{
    struct hf_jute_writer *out = &session->wire.out;

    session->tls_probe[session->server] = HF_ZK_TLS_PROBED;
    hf_zk_wire_begin(&session->wire, session->now_ms);
    hf_jute_put_int(out, HF_ZK_TLS_ALERT);
    hf_jute_put_byte(out, 2);
    hf_jute_put_byte(out, 1); /* a warning, */
    hf_jute_put_byte(out, 0); /* close_notify */
    hf_connectivity_handshaking(&session->connectivity);
}

/* Write the ConnectRequest for the session ${id} with ${password}, which is to
 * have the timeout ${timeout_ms}. */
static void put_connect_request(struct hf_zk_session *session,
                                uint64_t timeout_ms, int64_t id,
                                const uint8_t *password, bool read_only)
{
    struct hf_jute_writer *out = &session->wire.out;
    size_t begin = hf_jute_begin_frame(out);

    hf_jute_put_int(out, 0); /* protocol version */
    hf_jute_put_long(out, session->zxid);
    hf_jute_put_int(out, (int32_t)timeout_ms);
    hf_jute_put_long(out, id);
    hf_jute_put_buffer(out, password, HF_ZK_PASSWORD_BYTES);
    hf_jute_put_bool(out, read_only);
    hf_jute_end_frame(out, begin);
}

/* The timeout of a session is always the same value: another one would change
 * how a resume affects it.  Of one that is to be ended it is the shortest that
 * a server grants. */
void hf_zk_session_send_connect_request(struct hf_zk_session *session)
{
    const struct hf_zk_session_config *config = session->config;

    assert(session->connectivity.state == HF_CONNECTIVITY_CONNECTING);
    if (session->tls_probe[session->server] == HF_ZK_TLS_PROBE_NEXT) {
        send_tls_probe(session);
        return;
    }
    hf_zk_wire_begin(&session->wire, session->now_ms);
    if (hf_zk_session_resume_lost(session))
        put_connect_request(session, 1, session->lost.id,
                            session->lost.password, false);
    else
        put_connect_request(session, config->timeout_ms, session->id,
                            session->password, config->read_only);
    session->connect_sent_at_ms = session->now_ms;
    hf_connectivity_handshaking(&session->connectivity);
    if (session->id == 0 || hf_zk_session_never_accepted(session))
        return;
    HF_ZK_NOTIFY(&session->listeners, resuming,
                 (listener->user, hf_zk_session_least_timeout_ms(session)));
}

/* What the accepted handshake proves.  Creating a session is a transaction and
 * proves as much as any other.  Resuming is not, because a deposed leader that
 * has not noticed accepts a resume on its own, and the next leader knows
 * nothing of it.  So a resume proves nothing beyond what was proven before,
 * until a transaction on this connection is committed; that one also proves
 * the resume.  A session that a read-only server has begun is no transaction.
 */
static uint64_t accepted_anchor_ms(const struct hf_zk_session *session,
                                   bool resumed)
{
    if (session->local)
        return 0;
    if (!resumed)
        return session->connect_sent_at_ms;
    return session->proven_anchor_ms;
}

/* Call .up of each listener.  A listener may end the connection or close the
 * session; the listeners after it then get no .up. */
static void notify_up(struct hf_zk_session *session, bool resumed)
{
    struct hf_zk_notification notification;
    struct hf_zk_listener *listener;
    uint64_t number = session->connection_number;

    hf_zk_notification_begin(&notification, &session->listeners);
    while ((listener = hf_zk_notification_next(&notification,
                                               &session->listeners)) != NULL) {
        if (listener->up != NULL && session->connection_number == number &&
            hf_zk_session_usable(session))
            listener->up(listener->user, resumed);
    }
}

/* The server accepted the handshake: start the proof for this connection, send
 * credentials and SetWatches, and notify the listeners. */
static void session_accepted(struct hf_zk_session *session, bool resumed)
{
    hf_zk_proof_begin(&session->proof, session->timeout_ms,
                      session->config->tick_ms, session->config->strict_proof,
                      session->connect_sent_at_ms, session->now_ms);
    session->proven_anchor_ms = accepted_anchor_ms(session, resumed);
    session->wire.answer_max = hf_zk_session_answer_max(session);
    hf_connectivity_up(&session->connectivity, session->now_ms);
    hf_zk_session_answered(session, session->connect_sent_at_ms);
    if (session->read_only)
        hf_zk_search_begin(&session->search, session->config->server_count,
                           session->server, session->now_ms);
    hf_zk_credentials_send_all(&session->credentials, &session->wire,
                               session->now_ms);
    /* Before any other request, because its answer could already show what
     * these watches would report. */
    if (resumed)
        hf_zk_watch_set_resume(&session->watches, &session->wire.out,
                               session->zxid);
    notify_up(session, resumed);
}

/* Is ${frame} how a read-only server answers that is not configured for
 * sessions of its own?  It refuses to create one as it does any write, with
 * the header of an answer. */
static bool refuses_sessions(struct hf_jute_reader frame)
{
    if (frame.left != HF_ZK_HEADER_BYTES)
        return false;
    (void)hf_jute_get_int(&frame);  /* xid */
    (void)hf_jute_get_long(&frame); /* zxid */
    return hf_jute_get_int(&frame) == HF_ZK_NOT_READ_ONLY;
}

/* The server has accepted: note whether it is read-only. */
static void take_read_only(struct hf_zk_session *session, bool read_only,
                           bool resumed)
{
    session->read_only = read_only;
    if (!read_only || !resumed)
        session->local = read_only;
}

void hf_zk_session_begin_next(struct hf_zk_session *session)
{
    hf_zk_session_forget_lost(session);
    hf_zk_session_leave_for(session, session->server,
                            "the lost session is ended");
}

void hf_zk_session_accept(struct hf_zk_session *session)
{
    const struct hf_zk_granted *granted = &session->granted;
    bool resumed = session->id != 0;

    if (hf_zk_session_ends_lost(session)) {
        hf_zk_session_close_lost(session);
        return;
    }
    hf_zk_session_forget_lost(session);
    session->id = granted->id;
    memcpy(session->password, granted->password, sizeof session->password);
    take_read_only(session, granted->read_only, resumed);
    hf_zk_session_take_timeout(session, granted->timeout_ms, resumed);
    session_accepted(session, resumed);
}

/* The server has granted no session, or does not know the one that was to be
 * resumed any more. */
static void refused(struct hf_zk_session *session)
{
    if (hf_zk_session_ends_lost(session))
        hf_zk_session_begin_next(session);
    else if (session->id == 0)
        hf_zk_session_disconnect(session, "no session was granted");
    else
        hf_zk_session_lose(session, "the server has ended the session");
}

/* A timeout or id of 0 means that it is refused. */
void hf_zk_session_connect_answered(struct hf_zk_session *session,
                                    struct hf_jute_reader *frame)
{
    bool ends_lost = hf_zk_session_ends_lost(session);
    int64_t asked = ends_lost ? session->lost.id : session->id;
    struct hf_jute_piece password;
    int32_t timeout_ms;
    bool read_only;
    int64_t id;

    assert(session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING);
    if (session->config->read_only && refuses_sessions(*frame)) {
        hf_zk_session_disconnect(
            session, "the server is read-only and begins no session; set "
                     "localSessionsEnabled=true for it");
        return;
    }
    (void)hf_jute_get_int(frame); /* protocol version */
    timeout_ms = hf_jute_get_int(frame);
    id = hf_jute_get_long(frame);
    password = hf_jute_get_buffer(frame);
    read_only = frame->left > 0 && hf_jute_get_bool(frame); /* from 3.4 on */
    if (frame->failed) {
        hf_zk_session_disconnect_as(session, HF_EPROTOCOL, HF_ZK_NOT_ZOOKEEPER);
        return;
    }
    if (read_only && (ends_lost || !session->config->read_only)) {
        hf_zk_session_disconnect(
            session, "the server is read-only, which was not asked for");
        return;
    }
    if (timeout_ms <= 0 || id == 0) {
        refused(session);
        return;
    }
    if (password.count != sizeof session->password ||
        (asked != 0 && id != asked)) {
        hf_zk_session_disconnect(
            session, "an answer to a connect request that was not ours");
        return;
    }
    session->granted = (struct hf_zk_granted){
        .id = id, .timeout_ms = (uint64_t)timeout_ms, .read_only = read_only};
    memcpy(session->granted.password, password.bytes,
           sizeof session->granted.password);
    if (session->config->sasl.mechanism != HF_ZK_SASL_NONE)
        hf_zk_sasl_begin(&session->sasl);
    else
        hf_zk_session_accept(session);
}
