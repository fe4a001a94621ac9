/* SPDX-License-Identifier: Apache-2.0 */
/* The session that was lost because no server answered.  Its servers may keep
 * it, with its ephemeral nodes: after an outage a new leader gives each session
 * that it finds another timeout.  Its tickets would stand in their queues for
 * as long, and nobody behind them would be admitted.
 *
 * So the client ends it before it begins the next one.  It resumes it, and
 * asks for its end instead of accepting it.  Nobody is notified of that: a
 * session that was reported as lost stays lost.  The resume asks for the
 * shortest timeout, so the servers end the session soon even if the request to
 * close it is lost.
 *
 * A session whose password was handed out is left alone, because another client
 * may have taken it over.  So is one that only its read-only server knew. */
#include <inttypes.h>
#include <string.h>

#include "zookeeper/zk_session_private.h"

/* Of TRIES connections in a row that end in the handshake the last one begins a
 * new session.  Servers without a quorum answer neither; if one answers nothing
 * but a new session, that begins within a minute.  Where a read-only server is
 * accepted, nobody waits for the others. */
#define TRIES 64
#define TRIES_READ_ONLY 2

void hf_zk_session_keep_lost(struct hf_zk_session *session)
{
    struct hf_zk_lost_session *lost = &session->lost;

    if (session->local || session->handed_out)
        return;
    *lost = (struct hf_zk_lost_session){.state = HF_ZK_LOST_KEPT,
                                        .id = session->id};
    memcpy(lost->password, session->password, sizeof lost->password);
}

void hf_zk_session_forget_lost(struct hf_zk_session *session)
{
    explicit_bzero(&session->lost, sizeof session->lost);
}

bool hf_zk_session_ends_lost(const struct hf_zk_session *session)
{
    return session->lost.state == HF_ZK_LOST_RESUMING ||
           session->lost.state == HF_ZK_LOST_CLOSING;
}

bool hf_zk_session_resume_lost(struct hf_zk_session *session)
{
    struct hf_zk_lost_session *lost = &session->lost;
    unsigned tries = session->config->read_only ? TRIES_READ_ONLY : TRIES;

    if (lost->state != HF_ZK_LOST_KEPT || lost->unanswered % tries == tries - 1)
        return false;
    lost->state = HF_ZK_LOST_RESUMING;
    return true;
}

void hf_zk_session_close_lost(struct hf_zk_session *session)
{
    struct hf_jute_writer *out = &session->wire.out;
    size_t begin = hf_jute_begin_frame(out);

    session->log.line(session->log.user, HF_LOG_INFO,
                      "the session 0x%" PRIx64 ", which was lost, is ended",
                      (uint64_t)session->lost.id);
    hf_jute_put_int(out, 1); /* xid */
    hf_jute_put_int(out, HF_ZK_CLOSE_SESSION);
    hf_jute_end_frame(out, begin);
    session->lost.state = HF_ZK_LOST_CLOSING;
}

void hf_zk_session_note_lost_unanswered(struct hf_zk_session *session)
{
    struct hf_zk_lost_session *lost = &session->lost;

    if (lost->state == HF_ZK_LOST_CLOSING)
        hf_zk_session_forget_lost(session);
    if (lost->state == HF_ZK_LOST_RESUMING)
        lost->state = HF_ZK_LOST_KEPT;
    if (session->connectivity.state == HF_CONNECTIVITY_HANDSHAKING)
        lost->unanswered++;
}
