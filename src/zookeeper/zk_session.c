/* SPDX-License-Identifier: Apache-2.0 */
/* The session's state machine: which server to connect to, the handshake,
 * keeping the connection alive, losing the session and closing it.
 * zk_session_receive.c handles what servers send.
 *
 * Listeners may call back into the session from any notification, so each
 * function changes the session completely before it notifies. */
#include "zookeeper/zk_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/time_math.h"
#include "zookeeper/watch_resume.h"
#include "zookeeper/zk_session_private.h"

bool hf_zk_session_usable(const struct hf_zk_session *session)
{
    return hf_connectivity_is_up(&session->connectivity);
}

bool hf_zk_session_read_only(const struct hf_zk_session *session)
{
    return hf_zk_session_usable(session) && session->read_only;
}

size_t hf_zk_session_answer_max(const struct hf_zk_session *session)
{
    return session->config->max_answer_bytes > 0
               ? session->config->max_answer_bytes
               : HF_ZK_FRAME_MAX;
}

bool hf_zk_session_wants_connection(const struct hf_zk_session *session)
{
    return hf_connectivity_has_connection(&session->connectivity);
}

/* ------------------------------------------------------------- attempts -- */

/* Begin an attempt at the next server of the list, or at the one for which the
 * last one was left, as a new connection.  It may take one timeout, from the
 * TCP connection to the accepted handshake. */
static void connect_to_next_server(struct hf_zk_session *session)
{
    session->server = session->leaving ? session->next_server
                                       : (session->server + 1) %
                                             session->config->server_count;
    session->leaving = false;
    session->connection_number++;
    hf_connectivity_connecting(&session->connectivity, session->now_ms);
}

/* Begin the next attempt without a tick of its own, if the server to try is due
 * at once. */
static void connect_if_due(struct hf_zk_session *session)
{
    if (hf_connectivity_due(&session->connectivity, session->now_ms) ==
        HF_CONNECTIVITY_CONNECT)
        connect_to_next_server(session);
}

/* ----------------------------------------------------- beginning and end -- */

/* Take over the session of another client that ${config} names.  Until the
 * first answer the timeout to ask for, which it was granted, stands for the one
 * in force, and the session counts as alive. */
static void take_over(struct hf_zk_session *session,
                      const struct hf_zk_session_config *config)
{
    session->id = config->id;
    memcpy(session->password, config->password, sizeof session->password);
    session->timeout_ms = config->timeout_ms;
    session->alive_until_ms = HF_FOREVER;
}

/* True if no server has ever accepted a session of this client. */
static bool never_accepted(const struct hf_zk_session *session)
{
    return session->least_granted_ms == HF_FOREVER;
}

void hf_zk_session_begin(struct hf_zk_session *session,
                         struct hf_zk_session_config *config,
                         const struct hf_zk_log *log, uint64_t now_ms)
{
    const struct hf_connectivity_config connectivity = {
        .policy = &config->reconnect,
        .servers = config->server_count,
        .session_ms = config->timeout_ms,
        .share_servers = config->server_count};

    assert(config->server_count > 0);
    assert(config->max_answer_bytes == 0 ||
           (config->max_answer_bytes >= HF_ZK_HEADER_BYTES &&
            config->max_answer_bytes <= HF_ZK_DROPPED_MAX));
    *session = (struct hf_zk_session){.config = config,
                                      .log = *log,
                                      .now_ms = now_ms,
                                      .least_granted_ms = HF_FOREVER,
                                      .server = config->server_count - 1};
    if (config->id != 0)
        take_over(session, config);
    hf_zk_window_init(&session->window, config->window);
    hf_zk_watch_set_init(&session->watches);
    hf_zk_credentials_init(
        &session->credentials,
        config->sasl.mechanism == HF_ZK_SASL_DIGEST_MD5 ? "" : config->auth);
    hf_connectivity_init(&session->connectivity, &connectivity);
    connect_to_next_server(session);
}

/* Answer all calls in flight with HF_ZK_DISCONNECTED, and refuse all work that
 * waits for the window. */
static void fail_pending(struct hf_zk_session *session)
{
    const struct hf_zk_window_callbacks *callbacks;
    void *work;

    hf_zk_wire_fail_calls(&session->wire);
    while ((work = hf_zk_window_take(&session->window, &callbacks)) != NULL)
        callbacks->refused(callbacks->user, work);
}

void hf_zk_session_free(struct hf_zk_session *session)
{
    hf_connectivity_closed(&session->connectivity);
    hf_zk_sasl_end(&session->sasl);
    fail_pending(session);
    hf_zk_credentials_end(&session->credentials);
    hf_zk_credentials_free(&session->credentials);
    hf_zk_wire_free(&session->wire);
    explicit_bzero(session->password, sizeof session->password);
    explicit_bzero(&session->granted, sizeof session->granted);
}

void hf_zk_session_reconnect(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (hf_connectivity_resume(&session->connectivity, now_ms))
        connect_to_next_server(session);
}

hf_status hf_zk_session_add_credential(struct hf_zk_session *session,
                                       const char *scheme, const void *bytes,
                                       size_t count,
                                       hf_zk_credential_answered *answered,
                                       void *user)
{
    struct hf_zk_credential *credential;

    assert(!session->close_requested);
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

/* ----------------------------------------------------- connection errors -- */

/* Notify the listeners why there is no connection, and log the text if it is
 * new for this server. */
static void notify_connection_error(struct hf_zk_session *session,
                                    const char *why)
{
    const struct hf_zk_server *server =
        &session->config->servers[session->server];
    struct hf_connectivity *connectivity = &session->connectivity;
    struct hf_zk_connection_error connection_error = {
        connectivity->error, hf_connectivity_status(connectivity),
        hf_connectivity_is_final(connectivity)};
    char text[sizeof connectivity->error];
    const char *format =
        strchr(server->host, ':') ? "[%s]:%u: %s" : "%s:%u: %s";

    snprintf(text, sizeof text, format, server->host, (unsigned)server->port,
             why);
    if (hf_connectivity_set_error(connectivity, session->server, text))
        session->log.line(session->log.user,
                          hf_connectivity_error_level(connectivity), "%s",
                          text);
    HF_ZK_NOTIFY(&session->listeners, connection_error,
                 (listener->user, &connection_error));
}

/* Notify the listeners that no further attempt is made.  disconnect() must do
 * this last, because a listener may call hf_zk_session_reconnect(). */
static void notify_gave_up(struct hf_zk_session *session)
{
    uint64_t elapsed_ms;
    uint32_t retries;

    hf_connectivity_gave_up_after(&session->connectivity, session->now_ms,
                                  &retries, &elapsed_ms);
    HF_ZK_NOTIFY(&session->listeners, gave_up,
                 (listener->user, retries, elapsed_ms));
}

/* ------------------------------------------------------------- handshake -- */

/* The least timeout that a server can grant when the session is resumed:
 * timeout_floor= of the URL, or otherwise the least that servers have granted
 * so far. */
static uint64_t least_timeout_ms(const struct hf_zk_session *session)
{
    if (session->config->timeout_floor_ms == 0)
        return session->least_granted_ms;
    return hf_min_ms(session->least_granted_ms,
                     session->config->timeout_floor_ms);
}

/* The server closed the connection without an answer to the ConnectRequest.
 * If there has never been a session, probe the server for TLS on the next
 * connection. */
static void note_closed_in_handshake(struct hf_zk_session *session)
{
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING &&
        !session->config->tls && never_accepted(session) &&
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

/* The TCP connection is there: send the ConnectRequest, or the TLS probe if
 * one is due.  A session that exists is resumed by its id and password. */
static void send_connect_request(struct hf_zk_session *session)
{
    struct hf_jute_writer *out = &session->wire.out;
    size_t begin;

    assert(session->connectivity.state == HF_CONNECTIVITY_CONNECTING);
    if (session->tls_probe[session->server] == HF_ZK_TLS_PROBE_NEXT) {
        send_tls_probe(session);
        return;
    }
    hf_zk_wire_begin(&session->wire, session->now_ms);
    begin = hf_jute_begin_frame(out);
    hf_jute_put_int(out, 0); /* protocol version */
    hf_jute_put_long(out, session->zxid);
    /* Always the same value: another one would change how a resume affects the
     * session's timeout. */
    hf_jute_put_int(out, (int32_t)session->config->timeout_ms);
    hf_jute_put_long(out, session->id);
    hf_jute_put_buffer(out, session->password, sizeof session->password);
    hf_jute_put_bool(out, session->config->read_only);
    hf_jute_end_frame(out, begin);
    session->connect_sent_at_ms = session->now_ms;
    hf_connectivity_handshaking(&session->connectivity);
    if (session->id == 0 || never_accepted(session))
        return;
    HF_ZK_NOTIFY(&session->listeners, resuming,
                 (listener->user, least_timeout_ms(session)));
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

/* Take over the timeout ${granted_ms} that the server granted.  A resume never
 * lengthens the timeout, because another server may still count the shorter
 * one.  Warns if the server granted less than was assumed. */
static void take_timeout(struct hf_zk_session *session, uint64_t granted_ms,
                         bool resumed)
{
    const struct hf_zk_server *server =
        &session->config->servers[session->server];

    if (resumed && !never_accepted(session) &&
        granted_ms < least_timeout_ms(session))
        session->log.line(
            session->log.user, HF_LOG_WARNING,
            "%s:%u: granted the session %" PRIu64 " ms, and at least %" PRIu64
            " ms were expected; give all servers one "
            "maxSessionTimeout, or the URL timeout_floor=%" PRIu64 "ms",
            server->host, (unsigned)server->port, granted_ms,
            least_timeout_ms(session), granted_ms);
    session->least_granted_ms =
        hf_min_ms(session->least_granted_ms, granted_ms);
    if (!resumed || granted_ms < session->timeout_ms)
        session->timeout_ms = granted_ms;
    if (session->local || !session->read_only)
        session->alive_until_ms = 0; /* what was computed with the old timeout
                                        does not count */
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

void hf_zk_session_accept(struct hf_zk_session *session)
{
    const struct hf_zk_granted *granted = &session->granted;
    bool resumed = session->id != 0;

    session->id = granted->id;
    memcpy(session->password, granted->password, sizeof session->password);
    take_read_only(session, granted->read_only, resumed);
    take_timeout(session, granted->timeout_ms, resumed);
    session_accepted(session, resumed);
}

/* A timeout or id of 0 means that the server does not know the session any
 * more, or has granted none. */
void hf_zk_session_connect_answered(struct hf_zk_session *session,
                                    struct hf_jute_reader *frame)
{
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
    if (read_only && !session->config->read_only) {
        hf_zk_session_disconnect(
            session, "the server is read-only, which was not asked for");
        return;
    }
    if (timeout_ms <= 0 || id == 0) {
        if (session->id == 0)
            hf_zk_session_disconnect(session, "no session was granted");
        else
            hf_zk_session_lose(session, "the server has ended the session");
        return;
    }
    if (password.count != sizeof session->password ||
        (session->id != 0 && id != session->id)) {
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

/* ----------------------------------- answers and the end of a connection -- */

void hf_zk_session_answered(struct hf_zk_session *session, uint64_t sent_at_ms)
{
    uint64_t until_ms = hf_after_ms(sent_at_ms, session->timeout_ms);

    /* A read-only server does not know whether others keep the session. */
    if (session->read_only && !session->local)
        return;
    /* With lazy proofs nothing else ends a grant in time, so the session is
     * given up a margin earlier. */
    if (session->config->lazy_proof)
        until_ms = hf_before_ms(until_ms, hf_margin_ms(session->timeout_ms));
    session->alive_until_ms = hf_max_ms(session->alive_until_ms, until_ms);
    hf_zk_proof_answered(&session->proof, sent_at_ms, session->now_ms);
}

/* Clear everything that belongs to the session that has ended.  Behind a
 * session of a read-only server the next one must not show anything older. */
static void forget_session(struct hf_zk_session *session)
{
    session->id = 0;
    if (!session->local)
        session->zxid = 0;
    session->lost_local = session->local;
    session->local = false;
    session->timeout_ms = 0;
    session->alive_until_ms = 0;
    memset(session->password, 0, sizeof session->password);
}

/* The session is closed: answer everything, then notify .closed, which is the
 * last notification. */
static void closed(struct hf_zk_session *session)
{
    hf_connectivity_closed(&session->connectivity);
    hf_zk_sasl_end(&session->sasl);
    fail_pending(session);
    hf_zk_credentials_end(&session->credentials);
    HF_ZK_NOTIFY(&session->listeners, closed, (listener->user));
    hf_zk_notifications_end(&session->listeners);
}

/* Close where no close request can be sent.  The server will expire the
 * session later. */
static void close_without_request(struct hf_zk_session *session)
{
    if (session->id != 0)
        session->log.line(
            session->log.user, HF_LOG_WARNING,
            "closed without a connection: what the session holds goes "
            "when it ends, %" PRIu64
            " ms after the server last received something",
            session->timeout_ms);
    closed(session);
}

/* End of a loss of connection or session.  A listener may have asked to close
 * the session meanwhile; that had to wait until all listeners were notified
 * and all calls answered. */
static void close_if_requested(struct hf_zk_session *session)
{
    session->disconnecting = false;
    if (session->close_requested)
        close_without_request(session);
}

/* A connection has ended, and the listeners know it.  A session that its server
 * alone knew ends with it. */
static void end_disconnect(struct hf_zk_session *session)
{
    if (session->local && session->id != 0)
        hf_zk_session_lose(session, "it was known to a read-only server only, "
                                    "to which the connection has ended");
    else
        close_if_requested(session);
}

/* A resume that was not answered may be carried out all the same, with the
 * least timeout. */
static void note_resume_without_answer(struct hf_zk_session *session)
{
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING &&
        session->id != 0)
        session->timeout_ms =
            hf_min_ms(session->timeout_ms, least_timeout_ms(session));
}

/* The connection is of no use any more: report why, schedule the next attempt,
 * notify .suspended and fail all calls.  While closing it completes the close
 * instead.  ${refused}: the server does not accept the credentials. */
static void disconnect(struct hf_zk_session *session, bool refused,
                       hf_status status, const char *format, va_list args)
{
    bool was_up = hf_zk_session_usable(session);
    char why[HF_ERROR_TEXT_BYTES];

    assert(hf_zk_session_wants_connection(session));
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSING) {
        closed(session);
        return;
    }
    (void)vsnprintf(why, sizeof why, format, args);
    session->disconnecting = true;
    note_resume_without_answer(session);
    hf_zk_sasl_end(&session->sasl);
    if (refused)
        hf_connectivity_refused(&session->connectivity, status, session->now_ms,
                                &session->config->random);
    else
        hf_connectivity_disconnected(&session->connectivity, status,
                                     session->now_ms, &session->config->random);
    notify_connection_error(session, why);
    connect_if_due(session);
    if (was_up) {
        HF_ZK_NOTIFY(&session->listeners, suspended, (listener->user));
        fail_pending(session);
    }
    end_disconnect(session);
    if (session->connectivity.state == HF_CONNECTIVITY_IDLE)
        notify_gave_up(session);
}

void hf_zk_session_disconnect_as(struct hf_zk_session *session,
                                 hf_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    disconnect(session, false, status, format, args);
    va_end(args);
}

void hf_zk_session_refused(struct hf_zk_session *session, const char *format,
                           ...)
{
    va_list args;

    va_start(args, format);
    disconnect(session, true, HF_EDENIED, format, args);
    va_end(args);
}

void hf_zk_session_disconnect(struct hf_zk_session *session, const char *format,
                              ...)
{
    va_list args;

    va_start(args, format);
    disconnect(session, false, HF_EUNREACHABLE, format, args);
    va_end(args);
}

/* The session has ended: forget it, fail all calls and notify .lost.  A
 * connection that carried it is replaced, and the next one begins a new
 * session. */
void hf_zk_session_lose(struct hf_zk_session *session, const char *format, ...)
{
    char why[HF_ERROR_TEXT_BYTES];
    va_list args;

    assert(session->id != 0 &&
           session->connectivity.state != HF_CONNECTIVITY_CLOSED);
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSING) {
        closed(session);
        return;
    }
    if (session->local && hf_zk_session_usable(session)) {
        hf_zk_session_disconnect(session, "%s", why); /* which loses it */
        return;
    }
    session->disconnecting = true;
    forget_session(session);
    hf_zk_sasl_end(&session->sasl);
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING ||
        session->connectivity.state == HF_CONNECTIVITY_UP) {
        hf_connectivity_restart(&session->connectivity, session->now_ms);
        connect_to_next_server(session);
    }
    fail_pending(session);
    HF_ZK_NOTIFY(&session->listeners, lost, (listener->user, why));
    close_if_requested(session);
}

/* Leave the connection as it is: another server has been chosen. */
static void leave(struct hf_zk_session *session)
{
    bool was_up = hf_zk_session_usable(session);

    session->disconnecting = true;
    note_resume_without_answer(session);
    hf_zk_sasl_end(&session->sasl);
    hf_connectivity_restart(&session->connectivity, session->now_ms);
    connect_to_next_server(session);
    if (was_up) {
        HF_ZK_NOTIFY(&session->listeners, suspended, (listener->user));
        fail_pending(session);
    }
    end_disconnect(session);
}

void hf_zk_session_leave_if_idle(struct hf_zk_session *session)
{
    unsigned state = session->connectivity.state;

    if (session->leaving && session->wire.calls == 0 &&
        (state == HF_CONNECTIVITY_CONNECTING ||
         state == HF_CONNECTIVITY_HANDSHAKING || state == HF_CONNECTIVITY_UP))
        leave(session);
}

void hf_zk_session_leave_for(struct hf_zk_session *session, size_t server,
                             const char *why)
{
    const struct hf_zk_server *left =
        &session->config->servers[session->server];

    if (hf_zk_session_usable(session))
        session->log.line(session->log.user, HF_LOG_INFO,
                          "%s:%u: left, because %s", left->host,
                          (unsigned)left->port, why);
    session->leaving = true;
    session->next_server = server;
    hf_zk_session_leave_if_idle(session);
}

/* ----------------------------------------------------------------- calls -- */

/* True if a successful request of this type is a transaction.  A multi is not
 * listed, because its body says whether it succeeded. */
static bool commits(enum hf_zk_opcode opcode)
{
    switch ((int)opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_CREATE_TTL:
    case HF_ZK_DELETE:
    case HF_ZK_SET_DATA:
    case HF_ZK_SET_ACL:
    case HF_ZK_RECONFIG:
        return true;
    default:
        return false;
    }
}

void hf_zk_session_set_now(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
}

size_t hf_zk_call_begin(struct hf_zk_session *session, struct hf_zk_call *call,
                        enum hf_zk_opcode opcode)
{
    assert(hf_zk_session_usable(session));
    call->commits = commits(opcode);
    call->sent = hf_zk_proof_sent(&session->proof, session->now_ms);
    hf_zk_wire_add_call(&session->wire, call);
    return hf_zk_wire_begin_request(&session->wire, call->xid, opcode,
                                    session->now_ms);
}

void hf_zk_call_end(struct hf_zk_session *session, size_t begin)
{
    hf_jute_end_frame(&session->wire.out, begin);
}

uint64_t hf_zk_call_proves_ms(struct hf_zk_session *session,
                              const struct hf_zk_call *call)
{
    return hf_zk_proof_committed(&session->proof, &call->sent, session->now_ms);
}

/* Notify the listeners of a proven anchor if it is later than the last one. */
static void notify_proven(struct hf_zk_session *session, uint64_t anchor_ms)
{
    if (anchor_ms <= session->proven_anchor_ms)
        return;
    session->proven_anchor_ms = anchor_ms;
    HF_ZK_NOTIFY(&session->listeners, proven, (listener->user, anchor_ms));
}

void hf_zk_call_committed(struct hf_zk_session *session,
                          const struct hf_zk_call *call)
{
    notify_proven(session, hf_zk_call_proves_ms(session, call));
}

/* --------------------------------------------------------------- closing -- */

/* The answer to the close request. */
static void close_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk_session *session = call->owner;

    (void)user;
    /* HF_ZK_DISCONNECTED comes from a function that completes the close
     * itself. */
    if (reply->error != HF_ZK_DISCONNECTED &&
        session->connectivity.state == HF_CONNECTIVITY_CLOSING)
        closed(session);
}

/* With a connection the close request is sent, and .closed follows when it is
 * answered or times out. */
void hf_zk_session_close(struct hf_zk_session *session)
{
    assert(!session->close_requested);
    session->close_requested = true;
    if (session->disconnecting)
        return;
    if (!hf_zk_session_usable(session)) {
        close_without_request(session);
        return;
    }
    session->close_call.answered = close_answered;
    session->close_call.owner = session;
    hf_zk_call_end(session, hf_zk_call_begin(session, &session->close_call,
                                             HF_ZK_CLOSE_SESSION));
    hf_connectivity_closing(&session->connectivity, session->now_ms);
}

/* ------------------------------------------------------------------ time -- */

/* A connection on which nothing has arrived for this long is dead.  A third of
 * the timeout is left to find another server. */
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

/* Its time has passed without an answer that moved it. */
static void lose_for_silence(struct hf_zk_session *session)
{
    hf_zk_session_lose(session,
                       "%s for %" PRIu64 " ms, the timeout of the session",
                       hf_zk_session_read_only(session)
                           ? "no server with a quorum has answered"
                           : "the server has not answered",
                       session->timeout_ms);
}

/* Do what is due at .now_ms: lose the session, ping, connect, or time out. */
static void tick(struct hf_zk_session *session)
{
    enum hf_connectivity_action due;

    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return; /* ended by the drop for lack of memory */
    if (session->id != 0 && session->now_ms >= session->alive_until_ms)
        lose_for_silence(session);
    if (hf_zk_session_read_only(session))
        hf_zk_search_tick(&session->search, session->now_ms);
    due = hf_connectivity_due(&session->connectivity, session->now_ms);
    if (hf_zk_session_usable(session))
        keep_alive(session);
    else if (due == HF_CONNECTIVITY_CONNECT)
        connect_to_next_server(session);
    else if (due == HF_CONNECTIVITY_GIVE_UP)
        connect_timed_out(session);
}

void hf_zk_session_tick(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return;
    if (session->wire.out.failed &&
        session->connectivity.state >= HF_CONNECTIVITY_HANDSHAKING)
        hf_zk_session_disconnect(session, "out of memory");
    tick(session);
}

/* The first of: a ping or a dead connection, the end of an attempt, the loss
 * of the session. */
uint64_t hf_zk_session_wake_at_ms(const struct hf_zk_session *session)
{
    uint64_t at_ms = hf_connectivity_wake_at_ms(&session->connectivity);

    if (session->wire.out.failed && hf_zk_session_wants_connection(session) &&
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
        at_ms = hf_min_ms(at_ms, hf_zk_search_wake_at_ms(&session->search));
    if (session->id != 0)
        at_ms = hf_min_ms(at_ms, session->alive_until_ms);
    return at_ms;
}

bool hf_zk_session_is_current(const struct hf_zk_session *session,
                              uint64_t number)
{
    return number == session->connection_number &&
           hf_zk_session_wants_connection(session);
}

/* ------------------------------------------------------------ connection -- */

const struct hf_zk_server *
hf_zk_session_wanted_server(const struct hf_zk_session *session,
                            uint64_t *number)
{
    *number = session->connection_number;
    if (!hf_zk_session_wants_connection(session))
        return NULL;
    return &session->config->servers[session->server];
}

void hf_zk_session_connection_up(struct hf_zk_session *session, uint64_t number,
                                 uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (hf_zk_session_is_current(session, number) &&
        session->connectivity.state == HF_CONNECTIVITY_CONNECTING)
        send_connect_request(session);
}

/* Text for a server that closed the connection without accepting a session.
 * Servers give no reason, so it lists the likely ones. */
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
        note_closed_in_handshake(session);
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
