/* SPDX-License-Identifier: Apache-2.0 */
/* How a connection ends, how the session is lost, and how it is closed.  The
 * three are one matter: a lost session ends the connection that carried it, the
 * end of a connection ends a session that a read-only server alone knew, and a
 * close that was asked for meanwhile follows them. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "zookeeper/zk_session_private.h"

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

/* ------------------------------------------------------ an ended session -- */

/* Clear everything that belongs to the session that has ended.  Behind a
 * session of a read-only server the next one must not show anything older. */
static void forget_session(struct hf_zk_session *session)
{
    session->id = 0;
    if (!session->local)
        session->zxid = 0;
    session->lost_local = session->local;
    session->local = session->handed_out = false;
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
    hf_zk_session_fail_pending(session);
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

void hf_zk_session_end_disconnect(struct hf_zk_session *session)
{
    if (session->local && session->id != 0)
        hf_zk_session_lose(session, "it was known to a read-only server only, "
                                    "to which the connection has ended");
    else
        close_if_requested(session);
}

/* ----------------------------------------------- the end of a connection -- */

/* Begin the next attempt without a tick of its own, if the server to try is due
 * at once. */
static void connect_if_due(struct hf_zk_session *session)
{
    if (hf_connectivity_due(&session->connectivity, session->now_ms) ==
        HF_CONNECTIVITY_CONNECT)
        hf_zk_session_connect_next(session);
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
    hf_zk_session_note_resume_without_answer(session);
    hf_zk_session_note_lost_unanswered(session);
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
        hf_zk_session_fail_pending(session);
    }
    hf_zk_session_end_disconnect(session);
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

/* ----------------------------------------------- the loss of the session -- */

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
        hf_zk_session_connect_next(session);
    }
    hf_zk_session_fail_pending(session);
    HF_ZK_NOTIFY(&session->listeners, lost, (listener->user, why));
    close_if_requested(session);
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
    hf_connectivity_closing(&session->connectivity, session->now_ms,
                            HF_CLOSE_TIMEOUT_MS);
}
