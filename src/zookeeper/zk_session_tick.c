/* SPDX-License-Identifier: Apache-2.0 */
/* What is due, and when: pings, the end of a connection or an attempt without
 * an answer, and the loss of the session. */
#include <inttypes.h>

#include "base/time_math.h"
#include "zookeeper/zk_session_private.h"

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
    hf_zk_session_keep_lost(session);
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
        hf_zk_session_connect_next(session);
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
        at_ms = hf_min_ms(
            at_ms, hf_wake_before_ms(session->now_ms, session->alive_until_ms));
    return at_ms;
}
