/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session: how it begins and is freed, how a connection ends, how
 * the session is lost and how it is closed.  These ends depend on each other: a
 * lost session ends the connection that carried it, and a close that was asked
 * for meanwhile follows.
 *
 * The user may call back into the session from any notification, so each
 * function leaves the session in a valid state before it notifies. */
#include "etcd/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/state_machine.h"
#include "base/time_math.h"
#include "etcd/session_private.h"

/* ------------------------------------------------------------ the states -- */

#define STATE(name) HF_ETCD_END_##name
#define TO(name) (1u << HF_ETCD_END_##name)

/* The legal moves.  While one loss is being notified, another one may happen.
 */
static const struct hf_state_machine_state states[] = {
    [STATE(NONE)] = {"NONE", TO(NOTIFYING) | TO(BEGUN)},
    [STATE(NOTIFYING)] = {"NOTIFYING", TO(NONE) | TO(NOTIFYING) | TO(DEFERRED)},
    [STATE(DEFERRED)] = {"DEFERRED", TO(BEGUN)},
    [STATE(BEGUN)] = {"BEGUN", 0},
};

static const struct hf_state_machine table = {
    "end of a session of etcd", states, sizeof states / sizeof states[0]};

static void move(struct hf_etcd_session *session, enum hf_etcd_session_end end)
{
    hf_state_machine_move(&table, &session->end, end);
}

/* ------------------------------------------------- what others ask of it -- */

void hf_etcd_session_origin(const struct hf_etcd_session *session,
                            char lease[HF_ETCD_LEASE_TEXT_BYTES],
                            char server[HF_ETCD_ADDRESS_TEXT_BYTES])
{
    lease[0] = '\0';
    if (session->lease != 0)
        (void)snprintf(lease, HF_ETCD_LEASE_TEXT_BYTES, "%" PRIx64,
                       (uint64_t)session->lease);
    hf_etcd_session_server_text(session, server);
}

bool hf_etcd_session_close_requested(const struct hf_etcd_session *session)
{
    return session->end == HF_ETCD_END_DEFERRED ||
           session->end == HF_ETCD_END_BEGUN;
}

void hf_etcd_session_set_now(struct hf_etcd_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
}

void hf_etcd_session_check(const struct hf_etcd_session *session)
{
    unsigned state = session->connectivity.state;
    bool over = state == HF_CONNECTIVITY_CLOSED;
    bool carried = state == HF_CONNECTIVITY_HANDSHAKING ||
                   state == HF_CONNECTIVITY_UP ||
                   state == HF_CONNECTIVITY_CLOSING;

    assert(session->end == HF_ETCD_END_NONE ||
           session->end == HF_ETCD_END_BEGUN);
    assert(session->end == HF_ETCD_END_NONE ||
           state == HF_CONNECTIVITY_CLOSING || over);
    assert((session->grpc != NULL) == carried);
    assert(session->ended_grpc == NULL);
    assert((session->handshake != HF_ETCD_HANDSHAKE_OFF) ==
           (state == HF_CONNECTIVITY_HANDSHAKING));
    assert(carried || session->calls.first == NULL);
    assert(session->lease == 0 || session->lost_lease == 0);
    assert((session->lease != 0) ==
           (session->epoch.state != HF_ETCD_EPOCH_NONE));
}

/* ----------------------------------------------------------------- begin -- */

void hf_etcd_session_connect_next(struct hf_etcd_session *session)
{
    session->server = (session->server + 1) % session->config->server_count;
    session->connection_number++;
    hf_connectivity_connecting(&session->connectivity, session->now_ms);
}

void hf_etcd_session_reconnect(struct hf_etcd_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (hf_connectivity_resume(&session->connectivity, now_ms))
        hf_etcd_session_connect_next(session);
}

/* -------------------------------------------------------- taking it down -- */

/* Take everything off the connection: calls are cut, streams closed.  The
 * connection is freed here or, if one of its functions is running, when that
 * function has returned. */
static void drop_connection(struct hf_etcd_session *session)
{
    session->handshake = HF_ETCD_HANDSHAKE_OFF;
    session->broken = NULL;
    explicit_bzero(session->token, sizeof session->token);
    session->authentication = HF_ETCD_NOT_AUTHENTICATED;
    hf_etcd_calls_cut(session);
    hf_etcd_keep_alive_end(session);
    hf_etcd_watches_suspend(session);
    if (session->inside == HF_ETCD_INSIDE_GRPC) {
        assert(session->grpc == NULL || session->ended_grpc == NULL);
        if (session->grpc != NULL)
            session->ended_grpc = session->grpc;
    } else {
        hf_grpc_free(session->grpc);
    }
    session->grpc = NULL;
}

/* Notify the listener why there is no connection, and log the text if it is
 * new for this server. */
static void notify_connection_error(struct hf_etcd_session *session,
                                    const char *why)
{
    struct hf_connectivity *connectivity = &session->connectivity;
    const struct hf_etcd_connection_error error = {
        connectivity->error, hf_connectivity_status(connectivity),
        hf_connectivity_is_final(connectivity)};
    char server[HF_ETCD_ADDRESS_TEXT_BYTES];
    char text[sizeof connectivity->error];

    hf_etcd_session_server_text(session, server);
    (void)snprintf(text, sizeof text, "%s: %.*s", server,
                   (int)(sizeof text - strlen(server) - 3), why);
    if (hf_connectivity_set_error(connectivity, session->server, text))
        session->log.line(session->log.user,
                          hf_connectivity_error_level(connectivity), "%s",
                          text);
    HF_ETCD_NOTIFY(session, connection_error, session->listener.user, &error);
}

/* Notify the listener that no further attempt is made.  disconnect() must do
 * this last, because the listener may connect again. */
static void notify_gave_up(struct hf_etcd_session *session)
{
    uint64_t elapsed_ms;
    uint32_t retries;

    hf_connectivity_gave_up_after(&session->connectivity, session->now_ms,
                                  &retries, &elapsed_ms);
    HF_ETCD_NOTIFY(session, gave_up, session->listener.user, retries,
                   elapsed_ms);
}

/* ---------------------------------------------------------------- closed -- */

/* The session is closed: end everything, then notify .closed, which is the last
 * notification. */
static void closed(struct hf_etcd_session *session)
{
    assert(session->connectivity.state != HF_CONNECTIVITY_CLOSED);
    hf_connectivity_closed(&session->connectivity);
    drop_connection(session);
    hf_etcd_watches_end(session);
    hf_etcd_epoch_end(session);
    session->lease = 0;
    session->lost_lease = 0;
    hf_etcd_calls_fail(session);
    HF_ETCD_NOTIFY(session, closed, session->listener.user);
}

/* Close without revoking the lease, which expires later. */
static void close_without_request(struct hf_etcd_session *session)
{
    if (session->lease != 0 || session->lost_lease != 0)
        session->log.line(session->log.user, HF_LOG_WARNING,
                          "closed without a connection: what the session holds "
                          "goes when its lease expires, one TTL after a server "
                          "has renewed it last");
    closed(session);
}

/* A loss of the connection or of the session begins. */
static void begin_loss(struct hf_etcd_session *session)
{
    assert(session->connectivity.state != HF_CONNECTIVITY_CLOSING &&
           session->connectivity.state != HF_CONNECTIVITY_CLOSED);
    if (session->end != HF_ETCD_END_DEFERRED)
        move(session, HF_ETCD_END_NOTIFYING);
}

/* The loss was notified.  If another loss began meanwhile, it has ended already
 * and has carried out a deferred close; then nothing is left to do. */
static void end_loss(struct hf_etcd_session *session)
{
    if (session->end == HF_ETCD_END_NOTIFYING) {
        move(session, HF_ETCD_END_NONE);
    } else if (session->end == HF_ETCD_END_DEFERRED) {
        move(session, HF_ETCD_END_BEGUN);
        close_without_request(session);
    }
}

/* ----------------------------------------------- the end of a connection -- */

/* Begin the next attempt now if it is due, without waiting for the next tick.
 */
static void connect_if_due(struct hf_etcd_session *session)
{
    if (hf_connectivity_due(&session->connectivity, session->now_ms) ==
        HF_CONNECTIVITY_CONNECT)
        hf_etcd_session_connect_next(session);
}

/* End the connection: report why, schedule the next attempt, notify .suspended
 * and end all calls.  While the session is being closed, complete the close
 * instead.  ${refused}: the server refuses the user, or a request that every
 * session makes. */
static void disconnect(struct hf_etcd_session *session, bool refused,
                       hf_status status, const char *why)
{
    struct hf_connectivity *connectivity = &session->connectivity;
    bool was_up;

    assert(hf_connectivity_has_connection(connectivity));
    if (connectivity->state == HF_CONNECTIVITY_CLOSING) {
        closed(session);
        return;
    }
    was_up = hf_connectivity_is_up(connectivity);
    begin_loss(session);
    drop_connection(session);
    if (refused)
        hf_connectivity_refused(connectivity, status, session->now_ms,
                                &session->config->random);
    else
        hf_connectivity_disconnected(connectivity, status, session->now_ms,
                                     &session->config->random);
    notify_connection_error(session, why);
    connect_if_due(session);
    if (was_up)
        HF_ETCD_NOTIFY(session, suspended, session->listener.user);
    hf_etcd_calls_fail(session);
    end_loss(session);
    if (connectivity->state == HF_CONNECTIVITY_IDLE)
        notify_gave_up(session);
}

/* ----------------------------------------------- the loss of the session -- */

/* Clear everything that belongs to the session that has ended.  Its lease is
 * revoked on the next connection, because it may still live: the server that
 * says that it is gone may be an old leader, and if no server has answered, a
 * new leader may have prolonged it. */
static void forget_session(struct hf_etcd_session *session)
{
    session->lost_lease = session->lease;
    session->lease = 0;
    session->ttl_ms = 0;
    session->alive_until_ms = 0;
    session->proof = (struct hf_etcd_proof){0};
    hf_etcd_epoch_end(session);
    hf_etcd_watches_end(session);
}

static void lose(struct hf_etcd_session *session, const char *why)
{
    assert(session->lease != 0 &&
           session->connectivity.state != HF_CONNECTIVITY_CLOSED);
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSING) {
        closed(session);
        return;
    }
    begin_loss(session);
    if (session->grpc != NULL) {
        drop_connection(session);
        hf_connectivity_restart(&session->connectivity, session->now_ms);
        hf_etcd_session_connect_next(session);
    }
    forget_session(session);
    hf_etcd_calls_fail(session);
    HF_ETCD_NOTIFY(session, lost, session->listener.user, why);
    end_loss(session);
}

/* --------------------------------------------------------------- closing -- */

/* The answer to the revocation: the close is complete. */
static void close_answered(struct hf_etcd_call *call,
                           const struct hf_etcd_result *result)
{
    struct hf_etcd_session *session =
        container_of(call, struct hf_etcd_session, lease_call);

    (void)result;
    /* If the connection has ended, the function that ended it completes the
     * close. */
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSING &&
        session->grpc != NULL)
        closed(session);
}

void hf_etcd_session_close(struct hf_etcd_session *session)
{
    struct hf_etcd_buffer request = {0};

    assert(!hf_etcd_session_close_requested(session));
    if (session->end == HF_ETCD_END_NOTIFYING) {
        move(session, HF_ETCD_END_DEFERRED);
        return;
    }
    move(session, HF_ETCD_END_BEGUN);
    hf_etcd_watches_end(session);
    if (!hf_etcd_session_is_usable(session) || session->lease == 0) {
        close_without_request(session);
        return;
    }
    hf_etcd_write_revoke(&request, session->lease);
    session->lease_call.ended = close_answered;
    if (!hf_etcd_call_start(session, &session->lease_call, HF_ETCD_LEASE_REVOKE,
                            &request)) {
        close_without_request(session);
        return;
    }
    hf_connectivity_closing(&session->connectivity, session->now_ms,
                            HF_CLOSE_TIMEOUT_MS);
}

void hf_etcd_session_free(struct hf_etcd_session *session)
{
    assert(session->inside == HF_ETCD_OUTSIDE);
    session->listener = (struct hf_etcd_listener){0};
    if (session->connectivity.state != HF_CONNECTIVITY_CLOSED)
        closed(session);
    explicit_bzero(session->token, sizeof session->token);
}

/* ------------------------------------------------------------- beginning -- */

/* The functions that lower files call by way of session_upward.c. */
static const struct hf_etcd_session_ops ops = {
    .disconnect = disconnect,
    .lose = lose,
    .renew_token = hf_etcd_authentication_renew,
    .authenticated = hf_etcd_handshake_authenticated,
    .kept_alive = hf_etcd_handshake_kept_alive,
    .unsure = hf_etcd_epoch_unsure,
};

/* Return the user's policy of reconnecting.  If it has no limit of retries, its
 * pauses are kept so short that a lease does not expire during a pause after a
 * leader has come back. */
static struct hf_reconnect
policy_of(const struct hf_etcd_session_config *config)
{
    struct hf_reconnect policy = config->reconnect;

    if (policy.retries == HF_RECONNECT_UNLIMITED)
        policy.pause_max_ms =
            hf_min_ms(policy.pause_max_ms, hf_etcd_silence_ms(config->ttl_ms));
    return policy;
}

void hf_etcd_session_begin(struct hf_etcd_session *session,
                           struct hf_etcd_session_config *config,
                           const struct hf_etcd_listener *listener,
                           const struct hf_etcd_log *log, uint64_t now_ms)
{
    const struct hf_reconnect policy = policy_of(config);
    const struct hf_connectivity_config connectivity = {
        .policy = &policy,
        .servers = config->server_count,
        .session_ms = config->ttl_ms,
        .share_servers = config->server_count};

    assert(config->server_count > 0);
    *session = (struct hf_etcd_session){.config = config,
                                        .log = *log,
                                        .listener = *listener,
                                        .ops = &ops,
                                        .now_ms = now_ms,
                                        .server = config->server_count - 1};
    hf_etcd_watches_init(session);
    hf_etcd_keep_alive_init(session);
    hf_connectivity_init(&session->connectivity, &connectivity);
    hf_etcd_session_connect_next(session);
}
