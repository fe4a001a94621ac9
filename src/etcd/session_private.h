/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a session share, and no other file uses. */
#ifndef HF_ETCD_SESSION_PRIVATE_H
#define HF_ETCD_SESSION_PRIVATE_H

#include "etcd/call_result.h"
#include "etcd/session.h"

/* ------------------------------------------------------ session_upward.c -- */

/* Functions that lower files call in the files above them.  session.c provides
 * the table. */
struct hf_etcd_session_ops {
    /* See hf_etcd_session_disconnect() and _refused(). */
    void (*disconnect)(struct hf_etcd_session *session, bool refused,
                       hf_status status, const char *why);
    void (*lose)(struct hf_etcd_session *session, const char *why);
    bool (*renew_token)(struct hf_etcd_session *session, uint64_t number);
    void (*authenticated)(struct hf_etcd_session *session);
    void (*kept_alive)(struct hf_etcd_session *session, uint64_t sent_ms,
                       uint64_t ttl_ms, uint64_t raft_term);
    void (*unsure)(struct hf_etcd_session *session);
};

/* Call ${function} of the listener with the arguments behind it, if it is set.
 */
#define HF_ETCD_NOTIFY(session, function, ...)                                 \
    do {                                                                       \
        if ((session)->listener.function != NULL)                              \
            (session)->listener.function(__VA_ARGS__);                         \
    } while (0)

/* Is ${number} still the current connection?  Check this after anything that
 * may call the user. */
bool hf_etcd_session_is_current(const struct hf_etcd_session *session,
                                uint64_t number);

/* Give the current connection up because of ${status} and the text.  The policy
 * of reconnecting says when the next server is tried.  While the session is
 * being closed, this completes the close. */
void hf_etcd_session_disconnect(struct hf_etcd_session *session,
                                hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, because the server refuses the user, or a request that every
 * session makes.  Once all servers have done so, no further attempt is made,
 * even if there was a usable connection meanwhile. */
void hf_etcd_session_refused(struct hf_etcd_session *session, hf_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Give the connection up because a call or a stream could not be begun: the
 * server is ending the connection, or memory is lacking. */
void hf_etcd_session_not_begun(struct hf_etcd_session *session);

/* Give the connection up later, when the bytes at hand were handled or by the
 * next tick.  For callers that must not end the connection now.  ${why} must be
 * a static text.  Only the first reason counts. */
void hf_etcd_session_break(struct hf_etcd_session *session, const char *why);

/* The session has ended: forget it, end all calls and notify .lost.  The lease
 * is revoked on the next connection.  While the session is being closed, this
 * completes the close instead. */
void hf_etcd_session_lose(struct hf_etcd_session *session, const char *format,
                          ...) __attribute__((format(printf, 2, 3)));

/* Is there a connection on which the session itself can make calls? */
bool hf_etcd_session_has_grpc(const struct hf_etcd_session *session);

/* The server does not accept the token ${number}.  Returns true if there is a
 * newer token or will be one; false if there is no user for whom to ask for
 * one. */
bool hf_etcd_session_renew_token(struct hf_etcd_session *session,
                                 uint64_t number);

/* There is a token, or none is needed: go on. */
void hf_etcd_session_authenticated(struct hf_etcd_session *session);

/* A keep-alive that was sent at ${sent_ms} was answered with ${ttl_ms} and
 * ${raft_term}.  If the session waits to be resumed, it is resumed. */
void hf_etcd_session_kept_alive(struct hf_etcd_session *session,
                                uint64_t sent_ms, uint64_t ttl_ms,
                                uint64_t raft_term);

/* A request that compared the epoch has ended UNSURE or was cancelled: see
 * hf_etcd_epoch_unsure(). */
void hf_etcd_session_unsure(struct hf_etcd_session *session);

/* The current server as HOST:PORT, for texts. */
void hf_etcd_session_server_text(const struct hf_etcd_session *session,
                                 char text[HF_ETCD_ADDRESS_TEXT_BYTES]);

/* The metadata that calls and streams are sent with. */
struct hf_grpc_metadata
hf_etcd_session_metadata(const struct hf_etcd_session *session);

/* ------------------------------------------------------------- session.c -- */

/* Assert what must be true of a session whenever none of its functions runs. */
void hf_etcd_session_check(const struct hf_etcd_session *session);

/* Begin an attempt at the next server of the list, as a new connection. */
void hf_etcd_session_connect_next(struct hf_etcd_session *session);

/* ----------------------------------------------------------- handshake.c -- */

/* The transport has connected: begin the handshake. */
void hf_etcd_handshake_begin(struct hf_etcd_session *session);

/* .authenticated and .kept_alive of struct hf_etcd_session_ops. */
void hf_etcd_handshake_authenticated(struct hf_etcd_session *session);
void hf_etcd_handshake_kept_alive(struct hf_etcd_session *session,
                                  uint64_t sent_ms, uint64_t ttl_ms,
                                  uint64_t raft_term);

/* ------------------------------------------------------ authentication.c -- */

/* .renew_token of struct hf_etcd_session_ops. */
bool hf_etcd_authentication_renew(struct hf_etcd_session *session,
                                  uint64_t number);

/* Ask for a token.  Returns false if the call cannot be begun. */
bool hf_etcd_session_authenticate(struct hf_etcd_session *session);

/* ------------------------------------------------------- session_calls.c -- */

/* As hf_etcd_call_start(), but also allowed before the session is usable. */
bool hf_etcd_call_begin(struct hf_etcd_session *session,
                        struct hf_etcd_call *call, enum hf_etcd_method method,
                        struct hf_etcd_buffer *request);

/* There is a new token: send the calls that wait for it. */
void hf_etcd_calls_repeat(struct hf_etcd_session *session);

/* The connection is given up: take all calls off it, before it is freed. */
void hf_etcd_calls_cut(struct hf_etcd_session *session);

/* End all calls that hf_etcd_calls_cut() has taken off the connection. */
void hf_etcd_calls_fail(struct hf_etcd_session *session);

#endif
