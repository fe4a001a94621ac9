/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver asks and reports about the current connection.  Also what is
 * due at some time: keep-alives, the put of the session's key, the end of a
 * connection or attempt without an answer, and the loss of the session. */
#include <assert.h>
#include <inttypes.h>

#include "base/time_math.h"
#include "etcd/session_private.h"

/* ---------------------------------------------------------- up and down -- */

const struct hf_etcd_server *
hf_etcd_session_wanted_server(const struct hf_etcd_session *session,
                              uint64_t *number)
{
    *number = session->connection_number;
    if (!hf_connectivity_has_connection(&session->connectivity))
        return NULL;
    return &session->config->servers[session->server];
}

static struct hf_grpc *new_grpc(const struct hf_etcd_session *session)
{
    const struct hf_etcd_session_config *config = session->config;
    char authority[HF_ETCD_ADDRESS_TEXT_BYTES];
    const struct hf_grpc_config grpc = {
        .authority = authority,
        .tls = config->tls,
        .message_bytes = config->max_answer_bytes > 0 ? config->max_answer_bytes
                                                      : HF_ETCD_ANSWER_BYTES,
        .waiting_bytes = HF_ETCD_WAITING_BYTES,
        .calls = HF_ETCD_CALLS_MAX};

    hf_etcd_session_server_text(session, authority);
    return hf_grpc_new(&grpc);
}

void hf_etcd_session_connection_up(struct hf_etcd_session *session,
                                   uint64_t number, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (!hf_etcd_session_is_current(session, number) ||
        session->connectivity.state != HF_CONNECTIVITY_CONNECTING)
        return;
    session->grpc = new_grpc(session);
    if (session->grpc == NULL)
        hf_etcd_session_disconnect(session, HF_ENOMEM, "out of memory");
    else
        hf_etcd_handshake_begin(session);
}

/* The likely causes if the server closes the connection before it has sent
 * anything. */
static const char *why_closed(const struct hf_etcd_session *session)
{
    if (session->handshake != HF_ETCD_HANDSHAKE_ASKING)
        return "closed by the server";
    return session->config->tls
               ? "closed by the server before it said anything; it may want a "
                 "certificate (cert= and key=)"
               : "closed by the server before it said anything; it may expect "
                 "TLS (etcds:)";
}

void hf_etcd_session_connection_down(struct hf_etcd_session *session,
                                     uint64_t number, uint64_t now_ms,
                                     hf_status status, const char *why)
{
    session->now_ms = now_ms;
    if (!hf_etcd_session_is_current(session, number))
        return;
    if (why != NULL)
        hf_etcd_session_disconnect(session, status, "%s", why);
    else
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE, "%s",
                                   why_closed(session));
}

/* ----------------------------------------------------------------- bytes -- */

/* Must be called before a function of .grpc that may end calls. */
static struct hf_grpc *enter(struct hf_etcd_session *session)
{
    assert(session->inside == HF_ETCD_OUTSIDE && session->grpc != NULL);
    session->inside = HF_ETCD_INSIDE_GRPC;
    return session->grpc;
}

/* Must be called after the function of .grpc has returned.  Returns false if
 * the connection was given up meanwhile. */
static bool leave(struct hf_etcd_session *session)
{
    bool ended = session->ended_grpc != NULL;

    session->inside = HF_ETCD_OUTSIDE;
    hf_grpc_free(session->ended_grpc);
    session->ended_grpc = NULL;
    return !ended;
}

/* Give the connection up if it has failed, if .broken has a reason, or if the
 * server ends it and no call is left to wait for. */
static void end_if_failed(struct hf_etcd_session *session)
{
    const char *failure = hf_grpc_failure(session->grpc);
    char text[HF_ETCD_TEXT_BYTES];

    if (failure != NULL) {
        hf_etcd_clean_text(failure, text);
        hf_etcd_session_disconnect(session, HF_EPROTOCOL, "%s%s", text,
                                   session->handshake ==
                                               HF_ETCD_HANDSHAKE_ASKING &&
                                           !session->config->tls
                                       ? "; the server may expect TLS (etcds:)"
                                       : "");
    } else if (session->broken != NULL) {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE, "%s",
                                   session->broken);
    } else if (hf_grpc_going_away(session->grpc) &&
               (session->calls_under_way == 0 ||
                session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING)) {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "the connection takes no further calls");
    }
}

void hf_etcd_session_receive(struct hf_etcd_session *session, uint64_t number,
                             uint64_t now_ms, const void *bytes, size_t count)
{
    if (!hf_etcd_session_is_current(session, number) || session->grpc == NULL)
        return;
    session->now_ms = now_ms;
    (void)hf_grpc_receive(enter(session), bytes, count);
    if (leave(session))
        end_if_failed(session);
}

/* A failure is left to the next tick, which is due at once. */
const void *hf_etcd_session_output(struct hf_etcd_session *session,
                                   size_t *count)
{
    const void *bytes;

    *count = 0;
    if (session->grpc == NULL)
        return NULL;
    bytes = hf_grpc_output(enter(session), count);
    if (leave(session) && hf_grpc_failure(session->grpc) == NULL)
        return bytes;
    *count = 0;
    return NULL;
}

void hf_etcd_session_written(struct hf_etcd_session *session, size_t count)
{
    if (session->grpc != NULL)
        hf_grpc_written(session->grpc, count);
}

/* ----------------------------------------------------------------- time -- */

/* How long calls may be under way without any answer. */
static uint64_t unanswered_ms(const struct hf_etcd_session *session)
{
    uint64_t ttl_ms =
        session->lease != 0 ? session->ttl_ms : session->config->ttl_ms;

    return hf_max_ms(ttl_ms / 3, HF_ETCD_CALLS_LEAST_MS);
}

/* When calls have been under way that long without any answer; HF_FOREVER: no
 * call is under way. */
static uint64_t unanswered_at_ms(const struct hf_etcd_session *session)
{
    return session->calls_under_way > 0
               ? hf_after_ms(session->call_answered_ms, unanswered_ms(session))
               : HF_FOREVER;
}

/* When the connection is given up because a call may hang; HF_FOREVER: no call
 * may.  A call that was sent before the leader changed may hang for seconds
 * while it is forwarded to the old leader; meanwhile other calls are answered.
 * The first call of the list is the oldest. */
static uint64_t hangs_at_ms(const struct hf_etcd_session *session)
{
    const struct hf_etcd_call *oldest = session->calls.first;

    return oldest != NULL && oldest->state == HF_ETCD_CALL_RUNNING &&
                   oldest->sent.raft_term != session->proof.counting.raft_term
               ? hf_after_ms(session->leader_seen_ms,
                             hf_etcd_silence_ms(session->ttl_ms))
               : HF_FOREVER;
}

/* An attempt, or the revocation that closes the session, got no answer in time.
 * The text describes an attempt, because a close reports no error. */
static void attempt_timed_out(struct hf_etcd_session *session)
{
    uint64_t timeout_ms = hf_connectivity_timed_out(&session->connectivity);
    const char *missing = "answer";

    if (session->connectivity.state == HF_CONNECTIVITY_CONNECTING)
        missing =
            session->config->tls ? "connection through TLS" : "connection";
    hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                               "no %s within %" PRIu64 " ms", missing,
                               timeout_ms);
}

/* What a usable connection has to do. */
static void tick_connection(struct hf_etcd_session *session)
{
    uint64_t number = session->connection_number;

    if (session->now_ms >= unanswered_at_ms(session)) {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "no call was answered for %" PRIu64 " ms",
                                   unanswered_ms(session));
        return;
    }
    if (session->now_ms >= hangs_at_ms(session)) {
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "there is another leader, and a call may "
                                   "hang at the one before");
        return;
    }
    hf_etcd_epoch_tick(session);
    if (hf_etcd_session_is_current(session, number))
        hf_etcd_keep_alive_tick(session);
    if (hf_etcd_session_is_current(session, number))
        hf_etcd_watches_tick(session);
}

/* Lose the session by its first clock: nobody has renewed the lease. */
static void lose_for_silence(struct hf_etcd_session *session)
{
    hf_etcd_session_lose(session,
                         "no server has renewed the lease for %" PRIu64
                         " ms, its time to live",
                         session->proof.ttl_ms);
}

/* Do what is due: lose the session, keep it alive, connect, or time out. */
void hf_etcd_session_tick(struct hf_etcd_session *session, uint64_t now_ms)
{
    enum hf_connectivity_action due;

    session->now_ms = now_ms;
    if (session->grpc != NULL)
        end_if_failed(session);
    if (session->connectivity.state != HF_CONNECTIVITY_CLOSED &&
        session->lease != 0 && session->now_ms >= session->alive_until_ms)
        lose_for_silence(session);
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return;
    due = hf_connectivity_due(&session->connectivity, session->now_ms);
    if (hf_connectivity_is_up(&session->connectivity))
        tick_connection(session);
    else if (due == HF_CONNECTIVITY_CONNECT)
        hf_etcd_session_connect_next(session);
    else if (due == HF_CONNECTIVITY_GIVE_UP)
        attempt_timed_out(session);
    else if (session->handshake == HF_ETCD_HANDSHAKE_RESUMING)
        hf_etcd_keep_alive_tick(session);
}

uint64_t hf_etcd_session_wake_at_ms(const struct hf_etcd_session *session)
{
    uint64_t at_ms = hf_connectivity_wake_at_ms(&session->connectivity);

    hf_etcd_session_check(session);
    if (session->grpc != NULL &&
        (session->broken != NULL || hf_grpc_failure(session->grpc) != NULL))
        return session->now_ms;
    if (session->connectivity.state == HF_CONNECTIVITY_CLOSED)
        return HF_FOREVER;
    if (hf_connectivity_is_up(&session->connectivity)) {
        at_ms = hf_min_ms(unanswered_at_ms(session), hangs_at_ms(session));
        at_ms = hf_min_ms(at_ms, hf_etcd_epoch_wake_at_ms(session));
        at_ms = hf_min_ms(at_ms, hf_etcd_watches_wake_at_ms(session));
    }
    if (hf_connectivity_is_up(&session->connectivity) ||
        session->handshake == HF_ETCD_HANDSHAKE_RESUMING)
        at_ms = hf_min_ms(at_ms, hf_etcd_keep_alive_wake_at_ms(session));
    if (session->lease != 0)
        at_ms = hf_min_ms(
            at_ms, hf_wake_before_ms(session->now_ms, session->alive_until_ms));
    return at_ms;
}
