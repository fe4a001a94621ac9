/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds of SASL between the ConnectResponse and everything else.  Until
 * they have ended the session counts as not accepted: nothing else is sent,
 * because a server that requires SASL ends the connection for it, even for a
 * ping.  If the connection ends first, a session that was to begin is
 * forgotten, and one that was to be resumed counts as in any handshake without
 * an answer. */
#include "zookeeper/zk_session_private.h"

bool hf_zk_session_sasl_step(struct hf_zk_session *session,
                             struct hf_zk_sasl_step *step)
{
    struct hf_zk_sasl *sasl = &session->sasl;

    if (sasl->state != HF_ZK_SASL_STEP_DUE)
        return false;
    sasl->state = HF_ZK_SASL_STEPPING;
    *step =
        (struct hf_zk_sasl_step){sasl->rounds == 0, sasl->token, sasl->count};
    return true;
}

/* Send the token of ${result}, and wait for the server's. */
static void send_token(struct hf_zk_session *session,
                       const struct hf_zk_sasl_result *result)
{
    struct hf_zk_sasl *sasl = &session->sasl;

    if (sasl->rounds == HF_ZK_SASL_TOKENS_MAX) {
        hf_zk_session_disconnect_as(session, HF_EPROTOCOL,
                                    "SASL has not ended after %d rounds",
                                    HF_ZK_SASL_TOKENS_MAX);
        return;
    }
    sasl->state = HF_ZK_SASL_SENT;
    sasl->done = result->done;
    sasl->rounds++;
    sasl->xid = hf_zk_wire_sasl(&session->wire, result->token, result->count,
                                session->now_ms);
}

static void end_rounds(struct hf_zk_session *session)
{
    hf_zk_sasl_end(&session->sasl);
    hf_zk_session_accept(session);
}

void hf_zk_session_sasl_stepped(struct hf_zk_session *session, uint64_t number,
                                uint64_t now_ms,
                                const struct hf_zk_sasl_result *result)
{
    session->now_ms = now_ms;
    if (!hf_zk_session_is_current(session, number) ||
        session->sasl.state != HF_ZK_SASL_STEPPING)
        return;
    if (result->status == HF_EDENIED)
        hf_zk_session_refused(session, "SASL failed: %s", result->why);
    else if (result->status != HF_OK)
        hf_zk_session_disconnect_as(session, result->status, "SASL failed: %s",
                                    result->why);
    else if (result->done && result->count == 0)
        end_rounds(session);
    else
        send_token(session, result);
}

/* A server has nothing to say where the mechanism expects a token.  It answers
 * so if it knows no SASL, or lets clients stay that it refuses. */
static void refused_in_silence(struct hf_zk_session *session)
{
    hf_zk_session_refused(
        session, "the server has ended SASL without accepting it; expected "
                 "authProvider.1=...SASLAuthenticationProvider and a section "
                 "Server of its JAAS file that has this user");
}

/* The server's token ends the rounds, or is for the next step. */
static void take_token(struct hf_zk_session *session,
                       struct hf_jute_piece token)
{
    struct hf_zk_sasl *sasl = &session->sasl;

    if (token.count > HF_ZK_SASL_TOKEN_MAX || (sasl->done && token.count > 0))
        hf_zk_session_disconnect_as(session, HF_EPROTOCOL,
                                    "a token of SASL that makes no sense");
    else if (sasl->done)
        end_rounds(session);
    else if (token.count == 0)
        refused_in_silence(session);
    else if (!hf_zk_sasl_keep(sasl, token.bytes, token.count))
        hf_zk_session_disconnect(session, "out of memory");
    else
        sasl->state = HF_ZK_SASL_STEP_DUE;
}

void hf_zk_session_sasl_answered(struct hf_zk_session *session,
                                 struct hf_jute_reader *frame)
{
    int32_t xid = hf_jute_get_int(frame);
    int64_t zxid = hf_jute_get_long(frame);
    int32_t error = hf_jute_get_int(frame);
    struct hf_jute_piece token;

    (void)zxid; /* servers send 0 */
    if (frame->failed || xid != session->sasl.xid || error > 0 ||
        session->sasl.state != HF_ZK_SASL_SENT) {
        hf_zk_session_disconnect_as(
            session, HF_EPROTOCOL, "an answer that makes no sense during SASL");
        return;
    }
    if (error == HF_ZK_AUTH_FAILED || error == HF_ZK_SASL_REQUIRED) {
        hf_zk_session_refused(
            session,
            "the server did not accept the client by SASL (%d); see the user, "
            "the password, sasl_host= and section Server of its JAAS file",
            (int)error);
        return;
    }
    token = hf_jute_get_buffer(frame);
    if (error != 0 || frame->failed)
        hf_zk_session_disconnect(
            session, "the server has answered SASL with the error %d",
            (int)error);
    else
        take_token(session, token);
}
