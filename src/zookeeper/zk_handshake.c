/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake on a new connection: the ConnectRequest, the server's answer,
 * the rounds of SASL, and what the session does first when it is accepted.
 *
 * Until the rounds of SASL have ended the session counts as not accepted:
 * nothing else is sent, because a server that requires SASL ends the connection
 * when anything else arrives, even a ping.  If the connection ends first, a
 * session that was to begin is forgotten, and a resume counts as not
 * answered. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "zookeeper/watch_resume.h"
#include "zookeeper/zk_session_private.h"

/* The first four bytes of a TLS alert record (RFC 8446, 5.1): type 0x15, a
 * version, and the first byte of the length.  Only the type is compared,
 * because versions differ. */
#define TLS_ALERT 0x15030100

/* Error text for an answer that is no ConnectResponse. */
#define NOT_ZOOKEEPER                                                          \
    "an answer that is not ZooKeeper's; see whether the port is right"

/* -------------------------------------------- the session that was lost -- */

/* While a lost session is to be ended, each connection tries to resume it.  But
 * after TRIES - 1 connections that ended in the handshake, the next one tries
 * to begin a new session instead, because a server may answer only such a
 * request.  That takes less than a minute.  If read-only servers are accepted,
 * every second connection tries to begin a new session, because the request to
 * resume a lost session is never for a read-only server. */
#define TRIES 64
#define TRIES_READ_ONLY 2

/* Is the current connection there to end the lost session? */
static bool is_for_lost(const struct hf_zk_session *session)
{
    return session->lost.state == HF_ZK_LOST_RESUMING ||
           session->lost.state == HF_ZK_LOST_CLOSING;
}

/* Must the next ConnectRequest resume the lost session?  If so, sets
 * .lost.state to RESUMING. */
static bool resume_lost(struct hf_zk_session *session)
{
    struct hf_zk_lost_session *lost = &session->lost;
    unsigned tries = session->config->read_only ? TRIES_READ_ONLY : TRIES;

    if (lost->state != HF_ZK_LOST_KEPT || lost->unanswered % tries == tries - 1)
        return false;
    lost->state = HF_ZK_LOST_RESUMING;
    return true;
}

/* The server has resumed the lost session: send the request to close it. */
static void close_lost(struct hf_zk_session *session)
{
    session->log.line(session->log.user, HF_LOG_INFO,
                      "the session 0x%" PRIx64 ", which was lost, is ended",
                      (uint64_t)session->lost.id);
    hf_zk_put_close_request(&session->wire.out);
    session->lost.state = HF_ZK_LOST_CLOSING;
}

/* The lost session is ended: begin the next session, on another connection to
 * the same server, because the server ends this one with the lost session. */
static void begin_next(struct hf_zk_session *session)
{
    hf_zk_session_forget_lost(session);
    hf_zk_session_change_server(session, session->server,
                                "the lost session is ended");
}

/* ---------------------------------------------------------- the request -- */

void hf_zk_session_handshake_closed(struct hf_zk_session *session)
{
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING &&
        !session->config->tls && hf_zk_session_never_accepted(session) &&
        session->tls_probe[session->server] == HF_ZK_TLS_UNPROBED)
        session->tls_probe[session->server] = HF_ZK_TLS_PROBE_NEXT;
}

/* Send the TLS alert close_notify (RFC 8446, 6.1) instead of a ConnectRequest.
 * A server that expects TLS answers it; a server that does not reads it as a
 * frame of an impossible length. */
static void send_tls_probe(struct hf_zk_session *session)
{
    struct hf_jute_writer *out = &session->wire.out;

    session->tls_probe[session->server] = HF_ZK_TLS_PROBED;
    hf_zk_wire_begin(&session->wire, session->now_ms);
    hf_jute_put_int(out, TLS_ALERT);
    hf_jute_put_byte(out, 2);
    hf_jute_put_byte(out, 1); /* a warning, */
    hf_jute_put_byte(out, 0); /* close_notify */
    hf_connectivity_handshaking(&session->connectivity);
}

/* Each ConnectRequest asks for the same timeout, because a resume with another
 * value would change the timeout of the session.  Only the request for a lost
 * session that is to be ended asks for 1 ms, so that the server grants its
 * shortest timeout. */
void hf_zk_session_begin_handshake(struct hf_zk_session *session)
{
    struct hf_zk_connect_request request = {
        .zxid = session->zxid,
        .timeout_ms = session->config->timeout_ms,
        .id = session->id,
        .password = session->password,
        .read_only = session->config->read_only};

    assert(session->connectivity.state == HF_CONNECTIVITY_CONNECTING);
    if (session->tls_probe[session->server] == HF_ZK_TLS_PROBE_NEXT) {
        send_tls_probe(session);
        return;
    }
    hf_zk_wire_begin(&session->wire, session->now_ms);
    if (resume_lost(session)) {
        request.timeout_ms = 1;
        request.id = session->lost.id;
        request.password = session->lost.password;
        request.read_only = false;
    }
    hf_zk_put_connect_request(&session->wire.out, &request);
    session->connect_sent_at_ms = session->now_ms;
    hf_connectivity_handshaking(&session->connectivity);
    if (session->id == 0 || hf_zk_session_never_accepted(session))
        return;
    HF_ZK_NOTIFY(&session->listeners, resuming,
                 (listener->user, hf_zk_session_least_timeout_ms(session)));
}

/* -------------------------------------------------- an accepted session -- */

/* The anchor that the accepted handshake proves.  Creating a session is a
 * transaction and proves as much as any other.  Resuming is no transaction: a
 * deposed leader that has not noticed accepts a resume on its own, and the next
 * leader does not know of that.  So a resume proves nothing beyond what was
 * proven before.  A later transaction on this connection, when it is committed,
 * also proves the resume.  When a read-only server begins a session, that is no
 * transaction. */
static uint64_t accepted_anchor_ms(const struct hf_zk_session *session,
                                   bool resumed)
{
    if (session->mode == HF_ZK_SESSION_LOCAL)
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
                      session->config->tick_ms,
                      session->config->proof == HF_ZK_PROOF_STRICT,
                      session->connect_sent_at_ms, session->now_ms);
    session->proven_anchor_ms = accepted_anchor_ms(session, resumed);
    session->wire.answer_max = hf_zk_session_answer_max(session);
    hf_connectivity_up(&session->connectivity, session->now_ms);
    hf_zk_session_answered(session, session->connect_sent_at_ms);
    if (session->mode != HF_ZK_SESSION_READ_WRITE)
        hf_zk_rw_probe_begin(&session->rw_probe, session->config->server_count,
                             session->server, session->now_ms);
    hf_zk_credentials_send_all(&session->credentials, &session->wire,
                               session->now_ms);
    /* SetWatches comes after the credentials, because newer servers send an
     * event only to a client that may read the node.  It comes before any other
     * request, because the answer to that request could already show what the
     * watches would report. */
    if (resumed)
        hf_zk_watch_set_resume(&session->watches, &session->wire.out,
                               session->zxid);
    notify_up(session, resumed);
}

/* Take over the timeout ${granted_ms} that the server granted.  A resume never
 * lengthens the timeout, because another server may still count the shorter
 * one.  Warns if the server granted less than was assumed. */
static void take_timeout(struct hf_zk_session *session, uint64_t granted_ms,
                         bool resumed)
{
    char server[HF_ZK_ADDRESS_TEXT_BYTES];

    hf_zk_session_server_text(session, server);
    if (resumed && !hf_zk_session_never_accepted(session) &&
        granted_ms < hf_zk_session_least_timeout_ms(session))
        session->log.line(
            session->log.user, HF_LOG_WARNING,
            "%s: granted the session %" PRIu64 " ms, and at least %" PRIu64
            " ms were expected; give all servers one "
            "maxSessionTimeout, or the URL timeout_floor=%" PRIu64 "ms",
            server, granted_ms, hf_zk_session_least_timeout_ms(session),
            granted_ms);
    session->least_granted_ms =
        hf_min_ms(session->least_granted_ms, granted_ms);
    if (!resumed || granted_ms < session->timeout_ms)
        session->timeout_ms = granted_ms;
    if (session->mode != HF_ZK_SESSION_READ_ONLY)
        session->alive_until_ms = 0; /* what was computed with the old timeout
                                        does not count */
}

/* The mode of the session at the server that has accepted it.  A session that
 * is LOCAL ends with its connection, so it is never resumed. */
static enum hf_zk_session_mode mode_of(const struct hf_zk_session *session,
                                       bool read_only, bool resumed)
{
    assert(session->mode != HF_ZK_SESSION_LOCAL);
    if (!read_only)
        return HF_ZK_SESSION_READ_WRITE;
    return resumed ? HF_ZK_SESSION_READ_ONLY : HF_ZK_SESSION_LOCAL;
}

/* The server has granted .granted, and SASL has ended or is not used: the
 * session is begun, or resumed.  A lost session is closed instead. */
static void accept_session(struct hf_zk_session *session)
{
    const struct hf_zk_granted *granted = &session->granted;
    bool resumed = session->id != 0;

    assert(session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING &&
           session->sasl.state == HF_ZK_SASL_OFF && granted->id != 0);
    if (is_for_lost(session)) {
        close_lost(session);
        return;
    }
    hf_zk_session_forget_lost(session);
    session->id = granted->id;
    memcpy(session->password, granted->password, sizeof session->password);
    session->mode = mode_of(session, granted->read_only, resumed);
    take_timeout(session, granted->timeout_ms, resumed);
    session_accepted(session, resumed);
}

/* ----------------------------------------------------------------- SASL -- */

bool hf_zk_session_sasl_step(struct hf_zk_session *session,
                             struct hf_zk_sasl_step *step)
{
    struct hf_zk_sasl *sasl = &session->sasl;

    if (sasl->state != HF_ZK_SASL_STEP_DUE)
        return false;
    sasl->state = HF_ZK_SASL_STEPPING;
    *step =
        (struct hf_zk_sasl_step){sasl->rounds == 0, sasl->token, sasl->count};
    return true;
}

/* Send the token of ${result}, and wait for the server's. */
static void send_token(struct hf_zk_session *session,
                       const struct hf_zk_sasl_result *result)
{
    struct hf_zk_sasl *sasl = &session->sasl;

    if (sasl->rounds == HF_ZK_SASL_TOKENS_MAX) {
        hf_zk_session_disconnect_as(session, HF_EPROTOCOL,
                                    "SASL has not ended after %d rounds",
                                    HF_ZK_SASL_TOKENS_MAX);
        return;
    }
    sasl->state = HF_ZK_SASL_SENT;
    sasl->done = result->done;
    sasl->rounds++;
    sasl->xid = hf_zk_wire_sasl(&session->wire, result->token, result->count,
                                session->now_ms);
}

static void end_rounds(struct hf_zk_session *session)
{
    hf_zk_session_end_sasl(session);
    accept_session(session);
}

void hf_zk_session_sasl_stepped(struct hf_zk_session *session, uint64_t number,
                                uint64_t now_ms,
                                const struct hf_zk_sasl_result *result)
{
    session->now_ms = now_ms;
    if (!hf_zk_session_is_current(session, number) ||
        session->sasl.state != HF_ZK_SASL_STEPPING)
        return;
    if (result->status == HF_EDENIED)
        hf_zk_session_refused(session, "SASL failed: %s", result->why);
    else if (result->status != HF_OK)
        hf_zk_session_disconnect_as(session, result->status, "SASL failed: %s",
                                    result->why);
    else if (result->done && result->count == 0)
        end_rounds(session);
    else
        send_token(session, result);
}

/* The server's token is empty although the mechanism expects one.  A server
 * answers like this if it does not know SASL, or if it serves clients even if
 * SASL refuses them. */
static void refused_in_silence(struct hf_zk_session *session)
{
    hf_zk_session_refused(
        session, "the server has ended SASL without accepting it; expected "
                 "authProvider.1=...SASLAuthenticationProvider and a section "
                 "Server of its JAAS file that has this user");
}

/* Keep ${token} for the next step.  False for lack of memory. */
static bool keep_token(struct hf_zk_sasl *sasl, struct hf_jute_piece token)
{
    uint8_t *copy = hf_alloc(token.count);

    if (copy == NULL)
        return false;
    hf_free(sasl->token);
    sasl->token = memcpy(copy, token.bytes, token.count);
    sasl->count = token.count;
    return true;
}

/* The server's token ends the rounds, or is for the next step. */
static void take_token(struct hf_zk_session *session,
                       struct hf_jute_piece token)
{
    struct hf_zk_sasl *sasl = &session->sasl;

    if (token.count > HF_ZK_SASL_TOKEN_MAX || (sasl->done && token.count > 0))
        hf_zk_session_disconnect_as(session, HF_EPROTOCOL,
                                    "a token of SASL that makes no sense");
    else if (sasl->done)
        end_rounds(session);
    else if (token.count == 0)
        refused_in_silence(session);
    else if (!keep_token(sasl, token))
        hf_zk_session_disconnect(session, "out of memory");
    else
        sasl->state = HF_ZK_SASL_STEP_DUE;
}

/* The answer of the server during SASL.  accept_session() follows the last
 * one. */
static void sasl_answered(struct hf_zk_session *session,
                          struct hf_jute_reader *frame)
{
    int32_t xid = hf_jute_get_int(frame);
    int64_t zxid = hf_jute_get_long(frame);
    int32_t error = hf_jute_get_int(frame);
    struct hf_jute_piece token;

    (void)zxid; /* servers send 0 */
    if (frame->failed || xid != session->sasl.xid || error > 0 ||
        session->sasl.state != HF_ZK_SASL_SENT) {
        hf_zk_session_disconnect_as(
            session, HF_EPROTOCOL, "an answer that makes no sense during SASL");
        return;
    }
    if (error == HF_ZK_AUTH_FAILED || error == HF_ZK_SASL_REQUIRED) {
        hf_zk_session_refused(
            session,
            "the server did not accept the client by SASL (%d); see the user, "
            "the password, sasl_host= and section Server of its JAAS file",
            (int)error);
        return;
    }
    token = hf_jute_get_buffer(frame);
    if (error != 0 || frame->failed)
        hf_zk_session_disconnect(
            session, "the server has answered SASL with the error %d",
            (int)error);
    else
        take_token(session, token);
}

/* ----------------------------------------------------------- the answer -- */

/* The server has refused to begin a session, or no longer knows the session
 * that was to be resumed. */
static void refused(struct hf_zk_session *session)
{
    if (is_for_lost(session))
        begin_next(session);
    else if (session->id == 0)
        hf_zk_session_disconnect(session, "no session was granted");
    else
        hf_zk_session_lose(session, "the server has ended the session");
}

/* Is ${frame} the answer of a read-only server that may not begin sessions of
 * its own?  It refuses the session as it refuses a write, with the header of an
 * answer. */
static bool refuses_sessions(struct hf_jute_reader frame)
{
    if (frame.left != HF_ZK_HEADER_BYTES)
        return false;
    (void)hf_jute_get_int(&frame);  /* xid */
    (void)hf_jute_get_long(&frame); /* zxid */
    return hf_jute_get_int(&frame) == HF_ZK_NOT_READ_ONLY;
}

/* Handle the ConnectResponse.  A timeout or id of 0 means that the session is
 * refused. */
static void connect_answered(struct hf_zk_session *session,
                             struct hf_jute_reader *frame)
{
    bool for_lost = is_for_lost(session);
    int64_t asked = for_lost ? session->lost.id : session->id;
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
        hf_zk_session_disconnect_as(session, HF_EPROTOCOL, NOT_ZOOKEEPER);
        return;
    }
    if (read_only && (for_lost || !session->config->read_only)) {
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
        session->sasl.state = HF_ZK_SASL_STEP_DUE;
    else
        accept_session(session);
}

/* The answer is no frame of ZooKeeper's.  The text names the likely cause. */
static void reject_answer(struct hf_zk_session *session, int32_t length)
{
    if (length >> 24 == TLS_ALERT >> 24)
        hf_zk_session_disconnect_as(
            session, HF_EURL,
            "the server speaks TLS; expected zks: for this "
            "port, or the port for zk:");
    else
        hf_zk_session_disconnect_as(session, HF_EPROTOCOL, NOT_ZOOKEEPER);
}

void hf_zk_session_handshake_received(struct hf_zk_session *session,
                                      struct hf_zk_frame *frame)
{
    assert(session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING);
    if (frame->kind == HF_ZK_FRAME_INVALID)
        reject_answer(session, frame->length);
    else if (session->sasl.state != HF_ZK_SASL_OFF)
        sasl_answered(session, &frame->bytes);
    else if (session->lost.state == HF_ZK_LOST_CLOSING)
        begin_next(session);
    else
        connect_answered(session, &frame->bytes);
}
