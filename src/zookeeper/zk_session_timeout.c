/* SPDX-License-Identifier: Apache-2.0 */
/* Which timeout of the session may be in force, see zk_session.h, and until
 * when the first clock takes it to live.  A server may grant less when it is
 * resumed, and then the shorter one counts. */
#include <inttypes.h>

#include "base/time_math.h"
#include "zookeeper/zk_session_private.h"

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

void hf_zk_session_take_timeout(struct hf_zk_session *session,
                                uint64_t granted_ms, bool resumed)
{
    const struct hf_zk_server *server =
        &session->config->servers[session->server];

    if (resumed && !hf_zk_session_never_accepted(session) &&
        granted_ms < hf_zk_session_least_timeout_ms(session))
        session->log.line(
            session->log.user, HF_LOG_WARNING,
            "%s:%u: granted the session %" PRIu64 " ms, and at least %" PRIu64
            " ms were expected; give all servers one "
            "maxSessionTimeout, or the URL timeout_floor=%" PRIu64 "ms",
            server->host, (unsigned)server->port, granted_ms,
            hf_zk_session_least_timeout_ms(session), granted_ms);
    session->least_granted_ms =
        hf_min_ms(session->least_granted_ms, granted_ms);
    if (!resumed || granted_ms < session->timeout_ms)
        session->timeout_ms = granted_ms;
    if (session->local || !session->read_only)
        session->alive_until_ms = 0; /* what was computed with the old timeout
                                        does not count */
}

void hf_zk_session_note_resume_without_answer(struct hf_zk_session *session)
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
    if (session->read_only && !session->local)
        return;
    /* With lazy proofs nothing else ends a grant in time, so the session is
     * given up a margin earlier. */
    if (session->config->lazy_proof)
        until_ms =
            hf_before_ms(until_ms, hf_margin_ms(session->timeout_ms,
                                                session->config->clock_drift));
    session->alive_until_ms = hf_max_ms(session->alive_until_ms, until_ms);
    hf_zk_proof_answered(&session->proof, sent_at_ms, session->now_ms);
}
