/* SPDX-License-Identifier: Apache-2.0 */
/* The move to another server: the connection that works is left when no call is
 * in flight on it any more. */
#include "zookeeper/zk_session_private.h"

/* Leave the connection as it is: another server has been chosen. */
static void leave(struct hf_zk_session *session)
{
    bool was_up = hf_zk_session_usable(session);

    session->disconnecting = true;
    hf_zk_session_note_resume_without_answer(session);
    hf_zk_session_note_lost_unanswered(session);
    hf_zk_sasl_end(&session->sasl);
    hf_connectivity_restart(&session->connectivity, session->now_ms);
    hf_zk_session_connect_next(session);
    if (was_up) {
        HF_ZK_NOTIFY(&session->listeners, suspended, (listener->user));
        hf_zk_session_fail_pending(session);
    }
    hf_zk_session_end_disconnect(session);
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
