/* SPDX-License-Identifier: Apache-2.0 */
/* A session as such: how it begins and is freed, whether it can be used, and
 * which server the next connection is for.  Each of the files zk_session_*.c
 * has one more part of it.
 *
 * Listeners may call back into the session from any notification, so each
 * function changes the session completely before it notifies. */
#include "zookeeper/zk_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "zookeeper/zk_session_private.h"

bool hf_zk_session_usable(const struct hf_zk_session *session)
{
    return hf_connectivity_is_up(&session->connectivity);
}

bool hf_zk_session_read_only(const struct hf_zk_session *session)
{
    return hf_zk_session_usable(session) && session->read_only;
}

void hf_zk_session_origin(const struct hf_zk_session *session,
                          char id[HF_ZK_ID_TEXT_BYTES],
                          char server[HF_ZK_ADDRESS_TEXT_BYTES])
{
    const struct hf_zk_server *now = &session->config->servers[session->server];

    (void)snprintf(id, HF_ZK_ID_TEXT_BYTES, "0x%" PRIx64,
                   (uint64_t)session->id);
    (void)snprintf(server, HF_ZK_ADDRESS_TEXT_BYTES,
                   strchr(now->host, ':') != NULL ? "[%s]:%u" : "%s:%u",
                   now->host, (unsigned)now->port);
}

size_t hf_zk_session_answer_max(const struct hf_zk_session *session)
{
    return session->config->max_answer_bytes > 0
               ? session->config->max_answer_bytes
               : HF_ZK_FRAME_MAX;
}

bool hf_zk_session_wants_connection(const struct hf_zk_session *session)
{
    return hf_connectivity_has_connection(&session->connectivity);
}

bool hf_zk_session_is_current(const struct hf_zk_session *session,
                              uint64_t number)
{
    return number == session->connection_number &&
           hf_zk_session_wants_connection(session);
}

void hf_zk_session_set_now(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
}

void hf_zk_session_connect_next(struct hf_zk_session *session)
{
    session->server = session->leaving ? session->next_server
                                       : (session->server + 1) %
                                             session->config->server_count;
    session->leaving = false;
    session->connection_number++;
    hf_connectivity_connecting(&session->connectivity, session->now_ms);
}

/* Take over the session of another client that ${config} names.  Until the
 * first answer the timeout to ask for, which it was granted, stands for the one
 * in force, and the session counts as alive. */
static void take_over(struct hf_zk_session *session,
                      const struct hf_zk_session_config *config)
{
    session->id = config->id;
    memcpy(session->password, config->password, sizeof session->password);
    session->timeout_ms = config->timeout_ms;
    session->alive_until_ms = HF_FOREVER;
}

void hf_zk_session_begin(struct hf_zk_session *session,
                         struct hf_zk_session_config *config,
                         const struct hf_zk_log *log, uint64_t now_ms)
{
    const struct hf_connectivity_config connectivity = {
        .policy = &config->reconnect,
        .servers = config->server_count,
        .session_ms = config->timeout_ms,
        .share_servers = config->server_count};

    assert(config->server_count > 0);
    assert(config->max_answer_bytes == 0 ||
           (config->max_answer_bytes >= HF_ZK_HEADER_BYTES &&
            config->max_answer_bytes <= HF_ZK_DROPPED_MAX));
    *session = (struct hf_zk_session){.config = config,
                                      .log = *log,
                                      .now_ms = now_ms,
                                      .least_granted_ms = HF_FOREVER,
                                      .server = config->server_count - 1};
    if (config->id != 0)
        take_over(session, config);
    hf_zk_window_init(&session->window, config->window);
    hf_zk_watch_set_init(&session->watches);
    hf_zk_credentials_init(
        &session->credentials,
        config->sasl.mechanism == HF_ZK_SASL_DIGEST_MD5 ? "" : config->auth);
    hf_connectivity_init(&session->connectivity, &connectivity);
    hf_zk_session_connect_next(session);
}

void hf_zk_session_fail_pending(struct hf_zk_session *session)
{
    const struct hf_zk_window_callbacks *callbacks;
    void *work;

    hf_zk_wire_fail_calls(&session->wire);
    while ((work = hf_zk_window_take(&session->window, &callbacks)) != NULL)
        callbacks->refused(callbacks->user, work);
}

void hf_zk_session_free(struct hf_zk_session *session)
{
    hf_connectivity_closed(&session->connectivity);
    hf_zk_sasl_end(&session->sasl);
    hf_zk_session_fail_pending(session);
    hf_zk_credentials_end(&session->credentials);
    hf_zk_credentials_free(&session->credentials);
    hf_zk_wire_free(&session->wire);
    explicit_bzero(session->password, sizeof session->password);
    explicit_bzero(&session->granted, sizeof session->granted);
    hf_zk_session_forget_lost(session);
}

void hf_zk_session_reconnect(struct hf_zk_session *session, uint64_t now_ms)
{
    session->now_ms = now_ms;
    if (hf_connectivity_resume(&session->connectivity, now_ms))
        hf_zk_session_connect_next(session);
}

hf_status hf_zk_session_add_credential(struct hf_zk_session *session,
                                       const char *scheme, const void *bytes,
                                       size_t count,
                                       hf_zk_credential_answered *answered,
                                       void *user)
{
    struct hf_zk_credential *credential;

    assert(!session->close_requested);
    credential =
        hf_zk_credentials_add(&session->credentials, scheme, bytes, count);
    if (credential == NULL)
        return HF_ENOMEM;
    credential->answered = answered;
    credential->user = user;
    if (hf_zk_session_usable(session))
        hf_zk_credentials_send(&session->credentials, credential,
                               &session->wire, session->now_ms);
    return HF_OK;
}
