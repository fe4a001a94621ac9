/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by which the lower files of a session call those above them,
 * through the table that session.c provides; and questions about the state of
 * the session that all files have. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "etcd/session_private.h"

/* ------------------------------------------------------------- its state -- */

bool hf_etcd_session_is_current(const struct hf_etcd_session *session,
                                uint64_t number)
{
    return number == session->connection_number &&
           hf_connectivity_has_connection(&session->connectivity);
}

bool hf_etcd_session_has_grpc(const struct hf_etcd_session *session)
{
    return session->grpc != NULL;
}

bool hf_etcd_session_is_usable(const struct hf_etcd_session *session)
{
    return hf_connectivity_is_up(&session->connectivity) &&
           session->grpc != NULL && !hf_grpc_going_away(session->grpc);
}

void hf_etcd_session_server_text(const struct hf_etcd_session *session,
                                 char text[HF_ETCD_ADDRESS_TEXT_BYTES])
{
    const struct hf_etcd_server *server =
        &session->config->servers[session->server];

    (void)snprintf(text, HF_ETCD_ADDRESS_TEXT_BYTES,
                   strchr(server->host, ':') != NULL ? "[%s]:%u" : "%s:%u",
                   server->host, (unsigned)server->port);
}

struct hf_grpc_metadata
hf_etcd_session_metadata(const struct hf_etcd_session *session)
{
    return (struct hf_grpc_metadata){
        .token = session->token[0] != '\0' ? session->token : NULL,
        .hasleader = true};
}

/* ---------------------------------------------------------------- upward -- */

void hf_etcd_session_disconnect(struct hf_etcd_session *session,
                                hf_status status, const char *format, ...)
{
    char why[HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    session->ops->disconnect(session, false, status, why);
}

void hf_etcd_session_not_begun(struct hf_etcd_session *session)
{
    if (session->grpc != NULL && hf_grpc_going_away(session->grpc))
        hf_etcd_session_disconnect(session, HF_EUNREACHABLE,
                                   "the connection takes no further calls");
    else
        hf_etcd_session_disconnect(session, HF_ENOMEM, "out of memory");
}

void hf_etcd_session_refused(struct hf_etcd_session *session, hf_status status,
                             const char *format, ...)
{
    char why[HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    session->ops->disconnect(session, true, status, why);
}

void hf_etcd_session_break(struct hf_etcd_session *session, const char *why)
{
    if (session->grpc != NULL && session->broken == NULL)
        session->broken = why;
}

void hf_etcd_session_lose(struct hf_etcd_session *session, const char *format,
                          ...)
{
    char why[HF_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    session->ops->lose(session, why);
}

bool hf_etcd_session_renew_token(struct hf_etcd_session *session,
                                 uint64_t number)
{
    return session->ops->renew_token(session, number);
}

void hf_etcd_session_authenticated(struct hf_etcd_session *session)
{
    session->ops->authenticated(session);
}

void hf_etcd_session_kept_alive(struct hf_etcd_session *session,
                                uint64_t sent_ms, uint64_t ttl_ms,
                                uint64_t raft_term)
{
    session->ops->kept_alive(session, sent_ms, ttl_ms, raft_term);
}

void hf_etcd_session_unsure(struct hf_etcd_session *session)
{
    session->ops->unsure(session);
}
