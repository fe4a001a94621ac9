/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session: how it begins and is freed, which of its timeouts
 * counts, how a connection ends, how the session is lost and how it is closed.
 * These ends cause each other: the loss of a session ends its connection; the
 * end of a connection ends a session that only a read-only server knew; and a
 * close that a listener asks for meanwhile is done after them.
 *
 * Listeners may call back into the session from any notification, so each
 * function leaves the session in a valid state before it notifies. */
#include "zookeeper/zk_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/state_machine.h"
#include "base/time_math.h"
#include "zookeeper/zk_session_private.h"

/* ------------------------------------------------------------ the states -- */

#define STATE(name) HF_ZK_END_##name
#define TO(name) (1u << HF_ZK_END_##name)

/* The legal changes of .end.  While listeners are notified of one loss, another
 * loss may happen. */
static const struct hf_state_machine_state states[] = {
    [STATE(NONE)] = {"NONE", TO(NOTIFYING) | TO(BEGUN)},
    [STATE(NOTIFYING)] = {"NOTIFYING", TO(NONE) | TO(NOTIFYING) | TO(DEFERRED)},
    [STATE(DEFERRED)] = {"DEFERRED", TO(BEGUN)},
    [STATE(BEGUN)] = {"BEGUN", 0},
};

static const struct hf_state_machine table = {"end of a session", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_zk_session *session, enum hf_zk_session_end end)
{
    hf_state_machine_move(&table, &session->end, end);
}

/* ------------------------------------------------- what others ask of it -- */

void hf_zk_session_server_text(const struct hf_zk_session *session,
                               char text[HF_ZK_ADDRESS_TEXT_BYTES])
{
    const struct hf_zk_server *server =
        &session->config->servers[session->server];

    (void)snprintf(text, HF_ZK_ADDRESS_TEXT_BYTES,
                   strchr(server->host, ':') != NULL ? "[%s]:%u" : "%s:%u",
                   server->host, (unsigned)server->port);
}

void hf_zk_session_origin(const struct hf_zk_session *session,
                          char id[HF_ZK_ID_TEXT_BYTES],
                          char server[HF_ZK_ADDRESS_TEXT_BYTES])
{
    (void)snprintf(id, HF_ZK_ID_TEXT_BYTES, "0x%" PRIx64,
                   (uint64_t)session->id);
    hf_zk_session_server_text(session, server);
}

size_t hf_zk_session_answer_max(const struct hf_zk_session *session)
{
    return session->config->max_answer_bytes > 0
               ? session->config->max_answer_bytes
               : HF_ZK_FRAME_MAX;
}

bool hf_zk_session_is_current(const struct hf_zk_session *session,
                              uint64_t number)
{
    return number == session->connection_number &&
           hf_connectivity_has_connection(&session->connectivity);
}

void hf_zk_session_check(const struct hf_zk_session *session)
{
    unsigned state = session->connectivity.state;
    bool handshaking = state == HF_CONNECTIVITY_HANDSHAKING;
    bool over = state == HF_CONNECTIVITY_CLOSED;

    assert(session->end == HF_ZK_END_NONE || session->end == HF_ZK_END_BEGUN);
    assert(session->end == HF_ZK_END_NONE || state == HF_CONNECTIVITY_CLOSING ||
           over);
    assert(session->id != 0 || session->mode == HF_ZK_SESSION_READ_WRITE);
    assert(session->id != 0 || session->timeout_ms == 0);
    assert(session->id != 0 || state != HF_CONNECTIVITY_UP);
    assert(session->mode != HF_ZK_SESSION_LOCAL ||
           state == HF_CONNECTIVITY_UP || state == HF_CONNECTIVITY_CLOSING ||
           over);
    assert(session->sasl.state == HF_ZK_SASL_OFF || handshaking);
    assert(session->lost.state == HF_ZK_LOST_NONE || session->lost.id != 0);
    assert(session->lost.state <= HF_ZK_LOST_KEPT || handshaking || over);
    assert(session->wire.calls == 0 || state == HF_CONNECTIVITY_UP ||
           state == HF_CONNECTIVITY_CLOSING);
    assert(!session->leaving ||
           session->next_server < session->config->server_count);
}

void hf_zk_session_set_now(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
}

/* --------------------------------------------------------------- begin -- */

void hf_zk_session_connect_next(struct hf_zk_session *session)
{
    session->server = session->leaving ? session->next_server
                                       : (session->server + 1) %
                                             session->config->server_count;
    assert(session->server < session->config->server_count);
    session->leaving = false;
    session->connection_number++;
    hf_connectivity_connecting(&session->connectivity, session->now_ms);
}

/* Take over the session of another client that ${config} names.  Until the
 * first answer, the session counts as alive, and .timeout_ms of ${config},
 * which was granted to that client, counts as its timeout. */
static void take_over(struct hf_zk_session *session,
                      const struct hf_zk_session_config *config)
{
    session->id = config->id;
    memcpy(session->password, config->password, sizeof session->password);
    session->timeout_ms = config->timeout_ms;
    session->alive_until_ms = HF_FOREVER;
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
    hf_zk_session_connect_next(session);
}

void hf_zk_session_reconnect(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (hf_connectivity_resume(&session->connectivity, now_ms))
        hf_zk_session_connect_next(session);
}

/* ------------------------------------------------------------- timeouts -- */

bool hf_zk_session_never_accepted(const struct hf_zk_session *session)
{
    return session->least_granted_ms == HF_FOREVER;
}

uint64_t hf_zk_session_least_timeout_ms(const struct hf_zk_session *session)
{
    if (session->config->timeout_floor_ms == 0)
        return session->least_granted_ms;
    return hf_min_ms(session->least_granted_ms,
                     session->config->timeout_floor_ms);
}

/* The connection ends.  If a resume was not answered, it may be carried out
 * nevertheless, with the least timeout that a server can grant. */
static void note_resume_without_answer(struct hf_zk_session *session)
{
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING &&
        session->id != 0)
        session->timeout_ms = hf_min_ms(
            session->timeout_ms, hf_zk_session_least_timeout_ms(session));
}

void hf_zk_session_answered(struct hf_zk_session *session, uint64_t sent_at_ms)
{
    uint64_t until_ms = hf_after_ms(sent_at_ms, session->timeout_ms);

    /* A read-only server does not know whether others keep the session. */
    if (session->mode == HF_ZK_SESSION_READ_ONLY)
        return;
    /* With lazy proofs only the loss of the session ends a grant, so the
     * session is given up earlier, by a margin for the clocks. */
    if (session->config->proof == HF_ZK_PROOF_LAZY)
        until_ms =
            hf_before_ms(until_ms, hf_margin_ms(session->timeout_ms,
                                                session->config->clock_drift));
    session->alive_until_ms = hf_max_ms(session->alive_until_ms, until_ms);
    hf_zk_proof_answered(&session->proof, sent_at_ms, session->now_ms);
}

/* ----------------------------------------------------- connection errors -- */

/* Notify the listeners why there is no connection, and log the text if it is
 * new for this server. */
static void notify_connection_error(struct hf_zk_session *session,
                                    const char *why)
{
    char server[HF_ZK_ADDRESS_TEXT_BYTES];
    struct hf_connectivity *connectivity = &session->connectivity;
    struct hf_zk_connection_error connection_error = {
        connectivity->error, hf_connectivity_status(connectivity),
        hf_connectivity_is_final(connectivity)};
    char text[sizeof connectivity->error];

    hf_zk_session_server_text(session, server);
    (void)snprintf(text, sizeof text, "%s: %.*s", server,
                   (int)(sizeof text - strlen(server) - 3), why);
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

/* ----------------------------------------------------- an ended session -- */

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

/* Clear everything that belongs to the session that has ended.  After a session
 * that only a read-only server knew, .zxid is kept: the next session must not
 * show anything older. */
static void forget_session(struct hf_zk_session *session)
{
    session->id = 0;
    session->lost_local = session->mode == HF_ZK_SESSION_LOCAL;
    if (!session->lost_local)
        session->zxid = 0;
    session->mode = HF_ZK_SESSION_READ_WRITE;
    session->handed_out = false;
    session->timeout_ms = 0;
    session->alive_until_ms = 0;
    memset(session->password, 0, sizeof session->password);
}

/* The session is about to be lost because no server has answered: keep its id
 * and password to end it later, unless it must not be ended (enum
 * hf_zk_lost_state). */
static void keep_lost(struct hf_zk_session *session)
{
    struct hf_zk_lost_session *lost = &session->lost;

    if (session->mode == HF_ZK_SESSION_LOCAL || session->handed_out)
        return;
    *lost = (struct hf_zk_lost_session){.state = HF_ZK_LOST_KEPT,
                                        .id = session->id};
    memcpy(lost->password, session->password, sizeof lost->password);
}

void hf_zk_session_forget_lost(struct hf_zk_session *session)
{
    explicit_bzero(&session->lost, sizeof session->lost);
}

/* The connection ends.  If it was made to end the lost session: once the close
 * request was sent, nothing more is done; otherwise the resume is tried
 * again. */
static void note_lost_unanswered(struct hf_zk_session *session)
{
    struct hf_zk_lost_session *lost = &session->lost;

    if (lost->state == HF_ZK_LOST_CLOSING)
        hf_zk_session_forget_lost(session);
    if (lost->state == HF_ZK_LOST_RESUMING)
        lost->state = HF_ZK_LOST_KEPT;
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING)
        lost->unanswered++;
}

void hf_zk_session_end_sasl(struct hf_zk_session *session)
{
    hf_free(session->sasl.token);
    session->sasl = (struct hf_zk_sasl){.state = HF_ZK_SASL_OFF};
}

/* The session is closed: answer everything, then notify .closed, which is the
 * last notification. */
static void closed(struct hf_zk_session *session)
{
    assert(session->connectivity.state != HF_CONNECTIVITY_CLOSED);
    hf_connectivity_closed(&session->connectivity);
    hf_zk_session_end_sasl(session);
    fail_pending(session);
    hf_zk_credentials_end(&session->credentials);
    HF_ZK_NOTIFY(&session->listeners, closed, (listener->user));
    hf_zk_notifications_end(&session->listeners);
}

/* Close the session without a close request, because none can be sent.  The
 * server will expire the session later. */
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

/* A loss of the connection or the session begins. */
static void begin_loss(struct hf_zk_session *session)
{
    assert(session->connectivity.state != HF_CONNECTIVITY_CLOSING &&
           session->connectivity.state != HF_CONNECTIVITY_CLOSED);
    if (session->end != HF_ZK_END_DEFERRED)
        move(session, HF_ZK_END_NOTIFYING);
}

/* The notifications of the loss are over: begin the close that was asked for
 * meanwhile, if any.  A listener may cause a second loss while the first one is
 * notified.  The second loss ends first, and leaves nothing to do for the first
 * one. */
static void end_loss(struct hf_zk_session *session)
{
    if (session->end == HF_ZK_END_NOTIFYING) {
        move(session, HF_ZK_END_NONE);
    } else if (session->end == HF_ZK_END_DEFERRED) {
        move(session, HF_ZK_END_BEGUN);
        close_without_request(session);
    }
}

/* The connection ends.  Returns whether calls could be made on it. */
static bool connection_ends(struct hf_zk_session *session)
{
    bool was_up = hf_zk_session_usable(session);

    begin_loss(session);
    note_resume_without_answer(session);
    note_lost_unanswered(session);
    hf_zk_session_end_sasl(session);
    return was_up;
}

/* The connection has ended, and the next attempt is under way or scheduled.  If
 * it ${was_up}, notify the listeners, and fail all calls.  A session that only
 * its read-only server knew ends with the connection. */
static void connection_ended(struct hf_zk_session *session, bool was_up)
{
    if (was_up) {
        HF_ZK_NOTIFY(&session->listeners, suspended, (listener->user));
        fail_pending(session);
    }
    if (session->mode == HF_ZK_SESSION_LOCAL && session->id != 0)
        hf_zk_session_lose(session, "it was known to a read-only server only, "
                                    "to which the connection has ended");
    else
        end_loss(session);
}

/* ----------------------------------------------- the end of a connection -- */

/* Begin the next attempt now, without waiting for a tick, if it is due. */
static void connect_if_due(struct hf_zk_session *session)
{
    if (hf_connectivity_due(&session->connectivity, session->now_ms) ==
        HF_CONNECTIVITY_CONNECT)
        hf_zk_session_connect_next(session);
}

/* The connection is of no use any more: report why, schedule the next attempt,
 * notify .suspended and fail all calls.  While the session is being closed,
 * this completes the close instead.  ${refused}: the server does not accept the
 * credentials. */
static void disconnect(struct hf_zk_session *session, bool refused,
                       hf_status status, const char *format, va_list args)
{
    char why[HF_ERROR_TEXT_BYTES];
    bool was_up;

    assert(hf_connectivity_has_connection(&session->connectivity));
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSING) {
        closed(session);
        return;
    }
    (void)vsnprintf(why, sizeof why, format, args);
    was_up = connection_ends(session);
    if (refused)
        hf_connectivity_refused(&session->connectivity, status, session->now_ms,
                                &session->config->random);
    else
        hf_connectivity_disconnected(&session->connectivity, status,
                                     session->now_ms, &session->config->random);
    notify_connection_error(session, why);
    connect_if_due(session);
    connection_ended(session, was_up);
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

void hf_zk_session_change_connection(struct hf_zk_session *session)
{
    bool was_up = connection_ends(session);

    assert(session->wire.calls == 0);
    hf_connectivity_restart(&session->connectivity, session->now_ms);
    hf_zk_session_connect_next(session);
    connection_ended(session, was_up);
}

/* ----------------------------------------------- the loss of the session -- */

/* If a connection exists or is in its handshake, it is replaced by one that
 * begins a new session. */
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
    if (session->mode == HF_ZK_SESSION_LOCAL && hf_zk_session_usable(session)) {
        hf_zk_session_disconnect(session, "%s", why); /* this loses the
                                                         session */
        return;
    }
    begin_loss(session);
    forget_session(session);
    hf_zk_session_end_sasl(session);
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING ||
        session->connectivity.state == HF_CONNECTIVITY_UP) {
        hf_connectivity_restart(&session->connectivity, session->now_ms);
        hf_zk_session_connect_next(session);
    }
    fail_pending(session);
    HF_ZK_NOTIFY(&session->listeners, lost, (listener->user, why));
    end_loss(session);
}

/* .alive_until_ms has passed, so the session may be over.  Its id and password
 * are kept, so that a later connection can close it. */
void hf_zk_session_lose_for_silence(struct hf_zk_session *session)
{
    keep_lost(session);
    hf_zk_session_lose(session,
                       "%s for %" PRIu64 " ms, the timeout of the session",
                       hf_zk_session_read_only(session)
                           ? "no server with a quorum has answered"
                           : "the server has not answered",
                       session->timeout_ms);
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
 * answered or times out.  While a loss is notified the close is deferred. */
void hf_zk_session_close(struct hf_zk_session *session)
{
    assert(!hf_zk_session_close_requested(session));
    if (session->end == HF_ZK_END_NOTIFYING) {
        move(session, HF_ZK_END_DEFERRED);
        return;
    }
    move(session, HF_ZK_END_BEGUN);
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

void hf_zk_session_free(struct hf_zk_session *session)
{
    hf_connectivity_closed(&session->connectivity);
    hf_zk_session_end_sasl(session);
    fail_pending(session);
    hf_zk_credentials_end(&session->credentials);
    hf_zk_credentials_free(&session->credentials);
    hf_zk_wire_free(&session->wire);
    explicit_bzero(session->password, sizeof session->password);
    explicit_bzero(&session->granted, sizeof session->granted);
    hf_zk_session_forget_lost(session);
}
