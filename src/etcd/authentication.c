/* SPDX-License-Identifier: Apache-2.0 */
/* The token of a session that has a user.  The session asks for a token on each
 * connection, and again when a server does not accept the token any more:
 * tokens have a time to live, and some kinds end with any change of users and
 * roles.  A server that refuses an old token does not refuse what the session
 * does.  Only an answer to Authenticate can refuse the user. */
#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "etcd/call_result.h"
#include "etcd/session_private.h"

/* There is a token, or none is needed: go on with the handshake, or with the
 * calls and streams that wait for a token. */
static void authenticated(struct hf_etcd_session *session)
{
    session->authentication = HF_ETCD_AUTHENTICATED;
    session->token_number++;
    if (session->handshake == HF_ETCD_HANDSHAKE_ASKING) {
        hf_etcd_session_authenticated(session);
        return;
    }
    hf_etcd_calls_repeat(session);
    hf_etcd_keep_alive_renew(session);
    if (hf_etcd_session_is_usable(session))
        hf_etcd_watches_begin(session);
}

/* Keep ${token}.  Returns false if it cannot be sent in a header. */
static bool keep_token(struct hf_etcd_session *session,
                       struct hf_etcd_bytes token)
{
    const char *text = token.bytes;

    if (token.count == 0 || token.count >= sizeof session->token)
        return false;
    for (size_t i = 0; i < token.count; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    memcpy(session->token, text, token.count);
    session->token[token.count] = '\0';
    return true;
}

/* The servers have no users: go on without a token. */
static void not_enabled(struct hf_etcd_session *session)
{
    session->log.line(session->log.user, HF_LOG_INFO,
                      "the servers do not authenticate anybody, so the user of "
                      "the URL is not needed");
    authenticated(session);
}

/* Handle the failure of the call Authenticate. */
static void failed(struct hf_etcd_session *session,
                   const struct hf_etcd_result *result)
{
    if (result->end == HF_ETCD_REFUSED &&
        strstr(result->text, "authentication is not enabled") != NULL)
        not_enabled(session);
    else if (result->end == HF_ETCD_REFUSED)
        hf_etcd_session_refused(session, HF_EDENIED,
                                "the server did not accept user and "
                                "password: %s",
                                result->text);
    else
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "no token from the server: %s",
                                   result->text);
}

static void authenticate_ended(struct hf_etcd_call *call,
                               const struct hf_etcd_result *result)
{
    struct hf_etcd_session *session =
        container_of(call, struct hf_etcd_session, authenticate_call);
    struct hf_etcd_bytes token;

    if (!hf_etcd_session_has_grpc(session))
        return; /* the connection has ended */
    if (result->end != HF_ETCD_DONE)
        failed(session, result);
    else if (hf_etcd_read_authenticate(result->answer, &token) &&
             keep_token(session, token))
        authenticated(session);
    else
        hf_etcd_session_disconnect(session, HF_EPROTOCOL,
                                   "a token that makes no sense");
}

bool hf_etcd_session_authenticate(struct hf_etcd_session *session)
{
    const struct hf_etcd_session_config *config = session->config;
    struct hf_etcd_buffer request = {0};

    assert(config->user[0] != '\0');
    session->authentication = HF_ETCD_AUTHENTICATING;
    explicit_bzero(session->token, sizeof session->token);
    hf_etcd_write_authenticate(&request, config->user, config->password);
    session->authenticate_call.ended = authenticate_ended;
    return hf_etcd_call_begin(session, &session->authenticate_call,
                              HF_ETCD_AUTHENTICATE, &request);
}

bool hf_etcd_authentication_renew(struct hf_etcd_session *session,
                                  uint64_t number)
{
    if (session->config->user[0] == '\0')
        return false;
    if (session->authentication == HF_ETCD_AUTHENTICATED &&
        number == session->token_number &&
        !hf_etcd_session_authenticate(session))
        hf_etcd_session_break(session, "a new token could not be asked for");
    return true;
}
