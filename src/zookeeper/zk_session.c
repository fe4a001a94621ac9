/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper/zk_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/reconnect_backoff.h"
#include "core/state_machine.h"
#include "core/time_math.h"
#include "zookeeper/zk_session_private.h"

#define TO(state) (1u << HF_ZK_##state)

static const struct hf_state_machine_state states[] = {
    [HF_ZK_IDLE] = {"IDLE", TO(CONNECTING) | TO(CLOSED)},
    [HF_ZK_WAITING] = {"WAITING", TO(CONNECTING) | TO(CLOSED)},
    [HF_ZK_CONNECTING] = {"CONNECTING", TO(CONNECTING) | TO(HANDSHAKING) |
                                            TO(WAITING) | TO(IDLE) |
                                            TO(CLOSED)},
    [HF_ZK_HANDSHAKING] = {"HANDSHAKING", TO(UP) | TO(CONNECTING) |
                                              TO(WAITING) | TO(IDLE) |
                                              TO(CLOSED)},
    [HF_ZK_UP] = {"UP", TO(CONNECTING) | TO(WAITING) | TO(IDLE) | TO(CLOSING) |
                            TO(CLOSED)},
    [HF_ZK_CLOSING] = {"CLOSING", TO(CLOSED)},
    [HF_ZK_CLOSED] = {"CLOSED", 0},
};

static const struct hf_state_machine table = {"connection", states,
                                              sizeof states / sizeof states[0]};

static void move(struct hf_zk_session *session, enum hf_zk_session_state state)
{
    hf_state_machine_move(&table, &session->state, state);
}

bool hf_zk_session_usable(const struct hf_zk_session *session)
{
    return session->state == HF_ZK_UP;
}

bool hf_zk_session_wants_connection(const struct hf_zk_session *session)
{
    return session->state != HF_ZK_IDLE && session->state != HF_ZK_WAITING &&
           session->state != HF_ZK_CLOSED;
}

/* ------------------------------------------------------------- attempts -- */

static uint64_t connect_timeout_ms(const struct hf_zk_session *session)
{
    return hf_connect_timeout_ms(session->config->timeout_ms,
                                 session->config->server_count,
                                 session->silent_attempts);
}

static void connect_to_next_server(struct hf_zk_session *session)
{
    session->server = (session->server + 1) % session->config->server_count;
    session->connection_number++;
    session->until_ms =
        hf_after_ms(session->now_ms, connect_timeout_ms(session));
    move(session, HF_ZK_CONNECTING);
}

static void connect_at(struct hf_zk_session *session, uint64_t at_ms)
{
    if (at_ms <= session->now_ms) {
        connect_to_next_server(session);
        return;
    }
    session->until_ms = at_ms;
    move(session, at_ms == HF_FOREVER ? HF_ZK_IDLE : HF_ZK_WAITING);
}

/* When the next attempt is due.  ${steady}: the connection that ended was no
 * failed attempt. */
static uint64_t next_attempt_ms(struct hf_zk_session *session, bool steady,
                                hf_status status)
{
    struct hf_reconnect_backoff *backoff = &session->backoff;

    if (steady)
        return hf_reconnect_backoff_lost(backoff, session->now_ms,
                                         &session->config->random);
    return hf_reconnect_backoff_failed(backoff, status, session->now_ms,
                                       &session->config->random);
}

/* ----------------------------------------------------- beginning and end -- */

void hf_zk_session_begin(struct hf_zk_session *session,
                         struct hf_zk_session_config *config,
                         const struct hf_zk_log *log, uint64_t now_ms)
{
    assert(config->server_count > 0);
    *session = (struct hf_zk_session){.config = config,
                                      .log = *log,
                                      .now_ms = now_ms,
                                      .state = HF_ZK_WAITING,
                                      .least_granted_ms = HF_FOREVER,
                                      .server = config->server_count - 1};
    hf_zk_window_init(&session->window, config->window);
    hf_zk_watch_set_init(&session->watches);
    hf_reconnect_backoff_init(&session->backoff, &config->reconnect,
                              config->server_count);
    connect_to_next_server(session);
}

/* Answer all that is under way with HF_ZK_DISCONNECTED, and refuse all that
 * waits. */
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
    session->state = HF_ZK_CLOSED;
    fail_pending(session);
    hf_zk_wire_free(&session->wire);
}

void hf_zk_session_reconnect(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (session->state != HF_ZK_IDLE)
        return;
    hf_reconnect_backoff_reset(&session->backoff);
    connect_to_next_server(session);
}

/* --------------------------------------------------------------- trouble -- */

/* Tell whoever waits for a connection why there is none, and log what is new.
 * What is final is the text of the waits that end, and need not be said
 * twice. */
static void notify_connection_error(struct hf_zk_session *session,
                                    const char *why)
{
    const struct hf_zk_server *server =
        &session->config->servers[session->server];
    char text[sizeof session->connection_error];
    const char *form = strchr(server->host, ':') ? "[%s]:%u: %s" : "%s:%u: %s";
    bool final = hf_reconnect_backoff_is_final(&session->backoff);
    enum hf_log_level level = final ? HF_LOG_INFO : HF_LOG_WARNING;
    struct hf_zk_connection_error connection_error = {
        session->connection_error,
        hf_reconnect_backoff_status(&session->backoff), final};

    snprintf(text, sizeof text, form, server->host, (unsigned)server->port,
             why);
    if (hf_log_text_changed(&session->logged_digests[session->server], text))
        session->log.line(session->log.user, level, "%s", text);
    memcpy(session->connection_error, text, sizeof text);
    HF_ZK_NOTIFY(&session->listeners, connection_error,
                 (listener->user, &connection_error));
}

/* Last of all, because this may lead back to hf_zk_session_reconnect(). */
static void notify_gave_up(struct hf_zk_session *session)
{
    const struct hf_reconnect_backoff *backoff = &session->backoff;
    uint64_t elapsed_ms = session->now_ms - backoff->first_at_ms;
    uint32_t retries = backoff->retries;

    HF_ZK_NOTIFY(&session->listeners, gave_up,
                 (listener->user, retries, elapsed_ms));
}

/* -------------------------------------------------------------- greeting -- */

/* No server grants less to a resume: by what the URL says, or else by what
 * servers have granted so far. */
static uint64_t least_timeout_ms(const struct hf_zk_session *session)
{
    if (session->config->timeout_floor_ms == 0)
        return session->least_granted_ms;
    return hf_min_ms(session->least_granted_ms,
                     session->config->timeout_floor_ms);
}

static void note_closed_in_handshake(struct hf_zk_session *session)
{
    if (session->state == HF_ZK_HANDSHAKING && !session->config->tls &&
        session->least_granted_ms == HF_FOREVER &&
        session->tls_probe[session->server] == HF_ZK_TLS_UNPROBED)
        session->tls_probe[session->server] = HF_ZK_TLS_PROBE_NEXT;
}

/* In place of a greeting: the alert close_notify, RFC 8446, 6.1.  For ZooKeeper
 * it begins a frame of an impossible length. */
static void send_tls_probe(struct hf_zk_session *session)
{
    struct hf_jute_writer *out = &session->wire.out;

    session->tls_probe[session->server] = HF_ZK_TLS_PROBED;
    hf_zk_wire_begin(&session->wire, session->now_ms);
    hf_jute_put_int(out, HF_ZK_TLS_ALERT);
    hf_jute_put_byte(out, 2);
    hf_jute_put_byte(out, 1); /* a warning, */
    hf_jute_put_byte(out, 0); /* close_notify */
    move(session, HF_ZK_HANDSHAKING);
}

static void send_connect_request(struct hf_zk_session *session)
{
    struct hf_jute_writer *out = &session->wire.out;
    size_t begin;

    assert(session->state == HF_ZK_CONNECTING);
    if (session->tls_probe[session->server] == HF_ZK_TLS_PROBE_NEXT) {
        send_tls_probe(session);
        return;
    }
    hf_zk_wire_begin(&session->wire, session->now_ms);
    begin = hf_jute_begin_frame(out);
    hf_jute_put_int(out, 0); /* version of the protocol */
    hf_jute_put_long(out, session->zxid);
    /* The same for ever: another number would change what a resume does to
     * the session's end. */
    hf_jute_put_int(out, (int32_t)session->config->timeout_ms);
    hf_jute_put_long(out, session->id);
    hf_jute_put_buffer(out, session->password, sizeof session->password);
    hf_jute_put_bool(out, false); /* a read-only server is of no use */
    hf_jute_end_frame(out, begin);
    session->connect_sent_at_ms = session->now_ms;
    move(session, HF_ZK_HANDSHAKING);
    if (session->id == 0)
        return;
    HF_ZK_NOTIFY(&session->listeners, resuming,
                 (listener->user, least_timeout_ms(session)));
}

/* A new session is a transaction, and as good a proof as any.  A resumed one is
 * not: a leader that was deposed and has not noticed takes a session back on
 * its own, and the next leader knows nothing of that.  So there is no more than
 * what was proven before, until a transaction on this connection is committed;
 * that one proves the greeting too. */
static uint64_t accepted_anchor_ms(const struct hf_zk_session *session,
                                   bool resumed)
{
    if (!resumed)
        return session->connect_sent_at_ms;
    return session->proven_anchor_ms;
}

/* The server at the other end has granted ${granted_ms}. */
static void take_timeout(struct hf_zk_session *session, uint64_t granted_ms,
                         bool resumed)
{
    const struct hf_zk_server *server =
        &session->config->servers[session->server];

    if (resumed && granted_ms < least_timeout_ms(session))
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
    session->alive_until_ms = 0; /* what was counted before counts no more */
}

/* A listener may end the connection, or ask for the end of the session: those
 * behind it are not notified then that there is a connection. */
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

static void session_accepted(struct hf_zk_session *session, bool resumed)
{
    session->up_at_ms = session->now_ms;
    session->silent_attempts = 0;
    session->connection_error[0] = '\0';
    memset(session->logged_digests, 0, sizeof session->logged_digests);
    hf_zk_proof_begin(&session->proof, session->timeout_ms,
                      session->config->tick_ms, session->config->strict_proof,
                      session->connect_sent_at_ms, session->now_ms);
    session->proven_anchor_ms = accepted_anchor_ms(session, resumed);
    move(session, HF_ZK_UP);
    hf_zk_session_answered(session, session->connect_sent_at_ms);
    if (session->config->auth[0] != '\0')
        hf_zk_wire_auth(&session->wire, session->config->auth, session->now_ms);
    /* Before any other request could see what they would tell. */
    if (resumed)
        hf_zk_watch_set_resume(&session->watches, &session->wire.out,
                               session->zxid);
    notify_up(session, resumed);
}

void hf_zk_session_connect_answered(struct hf_zk_session *session,
                                    struct hf_jute_reader *frame)
{
    struct hf_jute_piece password;
    int32_t timeout_ms;
    bool resumed;
    int64_t id;

    assert(session->state == HF_ZK_HANDSHAKING);
    (void)hf_jute_get_int(frame); /* version of the protocol */
    timeout_ms = hf_jute_get_int(frame);
    id = hf_jute_get_long(frame);
    password = hf_jute_get_buffer(frame);
    if (frame->failed) {
        hf_zk_session_drop_as(session, HF_EPROTOCOL, HF_ZK_NOT_ZOOKEEPER);
        return;
    }
    if (timeout_ms <= 0 || id == 0) {
        if (session->id == 0)
            hf_zk_session_drop(session, "no session was granted");
        else
            hf_zk_session_lose(session, "the server has ended the session");
        return;
    }
    if (password.count != sizeof session->password ||
        (session->id != 0 && id != session->id)) {
        hf_zk_session_drop(session,
                           "an answer to a connect request that was not ours");
        return;
    }
    resumed = session->id != 0;
    session->id = id;
    memcpy(session->password, password.bytes, sizeof session->password);
    take_timeout(session, (uint64_t)timeout_ms, resumed);
    session_accepted(session, resumed);
}

/* ------------------------------------------------------------ link alive -- */

void hf_zk_session_answered(struct hf_zk_session *session, uint64_t sent_at_ms)
{
    uint64_t until_ms = hf_after_ms(sent_at_ms, session->timeout_ms);

    /* Nothing else ends a grant in time. */
    if (session->config->lazy_proof)
        until_ms = hf_before_ms(until_ms, hf_margin_ms(session->timeout_ms));
    session->alive_until_ms = hf_max_ms(session->alive_until_ms, until_ms);
    hf_zk_proof_answered(&session->proof, sent_at_ms, session->now_ms);
}

/* No session any more, and no connection that carries it. */
static void forget_session(struct hf_zk_session *session)
{
    session->id = 0;
    session->zxid = 0;
    session->timeout_ms = 0;
    session->alive_until_ms = 0;
    memset(session->password, 0, sizeof session->password);
}

static void closed(struct hf_zk_session *session)
{
    move(session, HF_ZK_CLOSED);
    fail_pending(session);
    HF_ZK_NOTIFY(&session->listeners, closed, (listener->user));
    hf_zk_notifications_end(&session->listeners);
}

/* The end, where no goodbye can be said. */
static void close_without_request(struct hf_zk_session *session)
{
    if (session->id != 0)
        session->log.line(
            session->log.user, HF_LOG_WARNING,
            "closed without a connection: what tickets there are go "
            "when the session ends, %" PRIu64
            " ms after the server last heard of it",
            session->timeout_ms);
    closed(session);
}

/* Done with telling of a connection or a session that ended.  Whoever was told
 * may have asked for the end of everything, but what was being told had to be
 * told first, and from tables that were whole. */
static void close_if_requested(struct hf_zk_session *session)
{
    session->disconnecting = false;
    if (session->close_requested)
        close_without_request(session);
}

static void drop(struct hf_zk_session *session, hf_status status,
                 const char *format, va_list args)
{
    bool was_up = session->state == HF_ZK_UP;
    char why[sizeof session->connection_error];
    uint64_t next_ms;

    assert(hf_zk_session_wants_connection(session));
    if (session->state == HF_ZK_CLOSING) {
        closed(session);
        return;
    }
    (void)vsnprintf(why, sizeof why, format, args);
    session->disconnecting = true;
    if (session->state == HF_ZK_HANDSHAKING && session->id != 0)
        session->timeout_ms =
            hf_min_ms(session->timeout_ms, least_timeout_ms(session));
    next_ms = next_attempt_ms(session,
                              was_up && session->now_ms - session->up_at_ms >=
                                            HF_RECONNECT_STEADY_MS,
                              status);
    notify_connection_error(session, why);
    connect_at(session, next_ms);
    if (was_up) {
        HF_ZK_NOTIFY(&session->listeners, suspended, (listener->user));
        fail_pending(session);
    }
    close_if_requested(session);
    if (session->state == HF_ZK_IDLE)
        notify_gave_up(session);
}

void hf_zk_session_drop_as(struct hf_zk_session *session, hf_status status,
                           const char *format, ...)
{
    va_list args;

    va_start(args, format);
    drop(session, status, format, args);
    va_end(args);
}

void hf_zk_session_drop(struct hf_zk_session *session, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    drop(session, HF_EUNREACHABLE, format, args);
    va_end(args);
}

void hf_zk_session_lose(struct hf_zk_session *session, const char *format, ...)
{
    char why[HF_ERROR_TEXT_BYTES];
    va_list args;

    assert(session->id != 0 && session->state != HF_ZK_CLOSED);
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (session->state == HF_ZK_CLOSING) {
        closed(session);
        return;
    }
    session->disconnecting = true;
    forget_session(session);
    if (session->state == HF_ZK_HANDSHAKING || session->state == HF_ZK_UP)
        connect_to_next_server(session);
    fail_pending(session);
    HF_ZK_NOTIFY(&session->listeners, lost, (listener->user, why));
    close_if_requested(session);
}

/* ----------------------------------------------------------------- calls -- */

static bool commits(enum hf_zk_opcode opcode)
{
    return opcode == HF_ZK_CREATE || opcode == HF_ZK_CREATE2 ||
           opcode == HF_ZK_CREATE_CONTAINER || opcode == HF_ZK_DELETE ||
           opcode == HF_ZK_SET_DATA;
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

/* Tell what a write proves besides, unless that has been told. */
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

/* ---------------------------------------------------------------- ending -- */

static void close_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk_session *session = call->owner;

    (void)user;
    /* Cut: whoever cuts tells. */
    if (reply->error != HF_ZK_DISCONNECTED && session->state == HF_ZK_CLOSING)
        closed(session);
}

void hf_zk_session_close(struct hf_zk_session *session)
{
    assert(!session->close_requested);
    session->close_requested = true;
    if (session->disconnecting)
        return;
    if (session->state != HF_ZK_UP) {
        close_without_request(session);
        return;
    }
    session->close_call.answered = close_answered;
    session->close_call.owner = session;
    hf_zk_call_end(session, hf_zk_call_begin(session, &session->close_call,
                                             HF_ZK_CLOSE_SESSION));
    session->until_ms = hf_after_ms(session->now_ms, HF_CLOSE_TIMEOUT_MS);
    move(session, HF_ZK_CLOSING);
}

/* ------------------------------------------------------------------ time -- */

/* A connection on which nothing comes for so long is dead: a third of the
 * timeout is left to find another. */
static uint64_t dead_after_ms(const struct hf_zk_session *session)
{
    return session->timeout_ms / 3 * 2;
}

static uint64_t ping_at_ms(const struct hf_zk_session *session)
{
    return hf_after_ms(session->wire.written_at_ms,
                       hf_max_ms(session->timeout_ms / 3, 1));
}

static void keep_alive(struct hf_zk_session *session)
{
    uint64_t silent_ms = session->now_ms - session->wire.received_at_ms;

    if (silent_ms >= dead_after_ms(session))
        hf_zk_session_drop(session, "no answer for %" PRIu64 " ms", silent_ms);
    else if (session->now_ms >= ping_at_ms(session) &&
             session->wire.pings < HF_ZK_PINGS_MAX)
        hf_zk_wire_ping(&session->wire, session->now_ms);
}

static void connect_timed_out(struct hf_zk_session *session)
{
    uint64_t timeout_ms = connect_timeout_ms(session);
    const char *missing = "answer";

    if (session->state == HF_ZK_CONNECTING)
        missing =
            session->config->tls ? "connection through TLS" : "connection";
    session->silent_attempts++;
    hf_zk_session_drop(session, "no %s within %" PRIu64 " ms", missing,
                       timeout_ms);
}

static void tick(struct hf_zk_session *session)
{
    if (session->state == HF_ZK_CLOSED)
        return; /* with the connection that had no memory */
    if (session->id != 0 && session->now_ms >= session->alive_until_ms)
        hf_zk_session_lose(session,
                           "the server has not answered for %" PRIu64
                           " ms, the timeout of the session",
                           session->timeout_ms);
    if (session->state == HF_ZK_UP)
        keep_alive(session);
    else if (session->state == HF_ZK_CLOSED ||
             session->now_ms < session->until_ms)
        return;
    else if (session->state == HF_ZK_WAITING)
        connect_to_next_server(session);
    else
        connect_timed_out(session);
}

void hf_zk_session_tick(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (session->state == HF_ZK_CLOSED)
        return;
    if (session->wire.out.failed && session->state >= HF_ZK_HANDSHAKING)
        hf_zk_session_drop(session, "out of memory");
    tick(session);
}

uint64_t hf_zk_session_wake_at_ms(const struct hf_zk_session *session)
{
    uint64_t at_ms = session->until_ms;

    if (session->wire.out.failed && hf_zk_session_wants_connection(session) &&
        session->state != HF_ZK_CONNECTING)
        return session->now_ms;
    if (session->state == HF_ZK_CLOSED)
        return HF_FOREVER;
    if (session->state == HF_ZK_UP) {
        at_ms =
            hf_after_ms(session->wire.received_at_ms, dead_after_ms(session));
        if (session->wire.pings < HF_ZK_PINGS_MAX)
            at_ms = hf_min_ms(at_ms, ping_at_ms(session));
    }
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
        session->state == HF_ZK_CONNECTING)
        send_connect_request(session);
}

/* A server that takes no session says so by closing, whatever its reason. */
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

void hf_zk_session_connection_down(struct hf_zk_session *session,
                                   uint64_t number, uint64_t now_ms,
                                   hf_status status, const char *why)
{
    session->now_ms = now_ms;
    if (!hf_zk_session_is_current(session, number))
        return;
    if (why != NULL) {
        hf_zk_session_drop_as(session, status, "%s", why);
    } else if (session->state != HF_ZK_UP) {
        note_closed_in_handshake(session);
        hf_zk_session_drop(session,
                           "closed by the server without a session; %s",
                           why_no_session(session));
    } else {
        hf_zk_session_drop(session, "closed by the server");
    }
}

const void *hf_zk_session_output(const struct hf_zk_session *session,
                                 size_t *count)
{
    bool open = session->state == HF_ZK_HANDSHAKING ||
                session->state == HF_ZK_UP || session->state == HF_ZK_CLOSING;

    *count = open && !session->wire.out.failed ? session->wire.out.used : 0;
    return session->wire.out.bytes;
}

void hf_zk_session_written(struct hf_zk_session *session, size_t count)
{
    hf_jute_drop(&session->wire.out, count);
}
