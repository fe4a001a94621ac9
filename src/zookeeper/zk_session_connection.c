/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver asks about the current connection, and reports of it, besides
 * what arrives. */
#include "zookeeper/zk_session_private.h"

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
        hf_zk_session_send_connect_request(session);
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
        hf_zk_session_note_closed_in_handshake(session);
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
