/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the files of a session have for each other, and for nobody
 * else. */
#ifndef HF_ZOOKEEPER_ZK_SESSION_PRIVATE_H
#define HF_ZOOKEEPER_ZK_SESSION_PRIVATE_H

#include "zookeeper/zk_session.h"

/* ---------------------------------------------------------- zk_session.c -- */

/* True if connection ${number} is still the current one.  To be checked after
 * anything that may call a listener. */
bool hf_zk_session_is_current(const struct hf_zk_session *session,
                              uint64_t number);

/* Assert what must be true of a session while none of its functions is
 * running. */
void hf_zk_session_check(const struct hf_zk_session *session);

/* The current server as HOST:PORT, for texts. */
void hf_zk_session_server_text(const struct hf_zk_session *session,
                               char text[HF_ZK_ADDRESS_TEXT_BYTES]);

/* Begin an attempt to connect to the next server of the list, or to
 * .next_server if the session is .leaving.  The attempt and its handshake have
 * one timeout together (base/connectivity.h). */
void hf_zk_session_connect_next(struct hf_zk_session *session);

/* True if no server has ever accepted a session of this client. */
bool hf_zk_session_never_accepted(const struct hf_zk_session *session);

/* The least timeout that a server can grant when the session is resumed: the
 * least that servers have granted so far, or timeout_floor= of the URL if that
 * is less. */
uint64_t hf_zk_session_least_timeout_ms(const struct hf_zk_session *session);

/* A request that was sent at ${sent_at_ms} has been answered: move
 * .alive_until_ms (the first clock), and note the answer for the proof.  Does
 * neither if the server has resumed the session without a quorum. */
void hf_zk_session_answered(struct hf_zk_session *session, uint64_t sent_at_ms);

/* Forget the lost session, because it is ended or need not be ended. */
void hf_zk_session_forget_lost(struct hf_zk_session *session);

/* End SASL on this connection and free its tokens. */
void hf_zk_session_end_sasl(struct hf_zk_session *session);

/* As hf_zk_session_disconnect(), with another status than HF_EUNREACHABLE,
 * which means that a later attempt may succeed. */
void hf_zk_session_disconnect_as(struct hf_zk_session *session,
                                 hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As hf_zk_session_disconnect(), because the server has refused credentials. */
void hf_zk_session_refused(struct hf_zk_session *session, const char *format,
                           ...) __attribute__((format(printf, 2, 3)));

/* End the connection without reporting an error, and begin the next one. */
void hf_zk_session_change_connection(struct hf_zk_session *session);

/* The session has ended: forget it, fail all calls and notify .lost.  Its
 * ephemeral nodes are gone or will be deleted by the servers.  While the
 * session is being closed this completes the close instead. */
void hf_zk_session_lose(struct hf_zk_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As hf_zk_session_lose(), because no answer came and .alive_until_ms has
 * passed.  The lost session is kept in .lost, to be ended later. */
void hf_zk_session_lose_for_silence(struct hf_zk_session *session);

/* -------------------------------------------------------- zk_handshake.c -- */

/* To be called when the TCP connection is established: send the ConnectRequest,
 * or the TLS probe if one is due.  A session that exists is resumed by its id
 * and password. */
void hf_zk_session_begin_handshake(struct hf_zk_session *session);

/* Handle ${frame}, which has arrived before the session is accepted. */
void hf_zk_session_handshake_received(struct hf_zk_session *session,
                                      struct hf_zk_frame *frame);

/* To be called when the server has closed the connection without an answer to
 * the ConnectRequest.  If the URL is not for TLS, there has never been a
 * session, and this server was not probed yet, have the next connection to it
 * probe for TLS. */
void hf_zk_session_handshake_closed(struct hf_zk_session *session);

/* ---------------------------------------------------- zk_server_change.c -- */

/* Move the session to the server with the index ${server} as soon as no call is
 * in flight.  Users of the session send nothing more until then, see .leaving.
 * While there is no connection, the next attempt goes to ${server}.  ${why} is
 * for the log. */
void hf_zk_session_change_server(struct hf_zk_session *session, size_t server,
                                 const char *why);

/* Make the move that hf_zk_session_change_server() has requested, if no call is
 * in flight any more.  Must not be called from a notification. */
void hf_zk_session_change_server_if_idle(struct hf_zk_session *session);

#endif
