/* SPDX-License-Identifier: Apache-2.0 */
/* What the files zk_session*.c share, by the file that has it. */
#ifndef HF_ZOOKEEPER_ZK_SESSION_PRIVATE_H
#define HF_ZOOKEEPER_ZK_SESSION_PRIVATE_H

#include "zookeeper/zk_session.h"

/* The first four bytes of a TLS alert record (RFC 8446, 5.1): type 0x15, a
 * version, and the first byte of the length.  Only the type is compared,
 * because versions differ. */
#define HF_ZK_TLS_ALERT 0x15030100

/* Error text for an answer that is no ConnectResponse. */
#define HF_ZK_NOT_ZOOKEEPER                                                    \
    "an answer that is not ZooKeeper's; see whether the port is right"

/* ---------------------------------------------------------- zk_session.c -- */

/* True if connection ${number} is still the current one.  To be checked after
 * anything that may call a listener. */
bool hf_zk_session_is_current(const struct hf_zk_session *session,
                              uint64_t number);

/* Begin an attempt at the next server of the list, or at the one for which the
 * last one was left, as a new connection.  It may take one timeout, from the
 * TCP connection to the accepted handshake. */
void hf_zk_session_connect_next(struct hf_zk_session *session);

/* Answer all calls in flight with HF_ZK_DISCONNECTED, and refuse all work that
 * waits for the window. */
void hf_zk_session_fail_pending(struct hf_zk_session *session);

/* -------------------------------------------------- zk_session_timeout.c -- */

/* True if no server has ever accepted a session of this client. */
bool hf_zk_session_never_accepted(const struct hf_zk_session *session);

/* The least timeout that a server can grant when the session is resumed:
 * timeout_floor= of the URL, or otherwise the least that servers have granted
 * so far. */
uint64_t hf_zk_session_least_timeout_ms(const struct hf_zk_session *session);

/* Take over the timeout ${granted_ms} that the server granted.  A resume never
 * lengthens the timeout, because another server may still count the shorter
 * one.  Warns if the server granted less than was assumed. */
void hf_zk_session_take_timeout(struct hf_zk_session *session,
                                uint64_t granted_ms, bool resumed);

/* The connection ends.  A resume that was not answered may be carried out all
 * the same, with the least timeout. */
void hf_zk_session_note_resume_without_answer(struct hf_zk_session *session);

/* A request that was sent at ${sent_at_ms} has been answered: move the first
 * clock and note it for the proof. */
void hf_zk_session_answered(struct hf_zk_session *session, uint64_t sent_at_ms);

/* ------------------------------------------------ zk_session_handshake.c -- */

/* The TCP connection is there: send the ConnectRequest, or the TLS probe if
 * one is due.  A session that exists is resumed by its id and password. */
void hf_zk_session_send_connect_request(struct hf_zk_session *session);

/* Handle the ConnectResponse in ${frame}. */
void hf_zk_session_connect_answered(struct hf_zk_session *session,
                                    struct hf_jute_reader *frame);

/* The server has granted .granted, and nothing is left to be proven to it: the
 * session is begun, or resumed. */
void hf_zk_session_accept(struct hf_zk_session *session);

/* .lost is ended: begin the next session, on another connection to the same
 * server, because this one ends with that. */
void hf_zk_session_begin_next(struct hf_zk_session *session);

/* The server closed the connection without an answer to the ConnectRequest.
 * If there has never been a session, probe the server for TLS on the next
 * connection. */
void hf_zk_session_note_closed_in_handshake(struct hf_zk_session *session);

/* ----------------------------------------------------- zk_session_sasl.c -- */

/* Handle the server's answer during SASL in ${frame}.  hf_zk_session_accept()
 * follows the last one. */
void hf_zk_session_sasl_answered(struct hf_zk_session *session,
                                 struct hf_jute_reader *frame);

/* ------------------------------------------------------ zk_session_end.c -- */

/* As hf_zk_session_disconnect(), with another status than HF_EUNREACHABLE,
 * which means that a later attempt may succeed. */
void hf_zk_session_disconnect_as(struct hf_zk_session *session,
                                 hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As hf_zk_session_disconnect(), because the server has refused credentials. */
void hf_zk_session_refused(struct hf_zk_session *session, const char *format,
                           ...) __attribute__((format(printf, 2, 3)));

/* A connection has ended, and the listeners know it.  A session that its server
 * alone knew ends with it. */
void hf_zk_session_end_disconnect(struct hf_zk_session *session);

/* The session has ended: forget it, fail all calls and notify .lost.  Its
 * ephemeral nodes are gone or will be deleted by the servers. */
void hf_zk_session_lose(struct hf_zk_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ----------------------------------------------------- zk_session_lost.c -- */

/* No server has answered, and the session is about to be lost: keep what it
 * takes to end it. */
void hf_zk_session_keep_lost(struct hf_zk_session *session);

/* It is ended, or need not be. */
void hf_zk_session_forget_lost(struct hf_zk_session *session);

/* Does the current connection end it? */
bool hf_zk_session_ends_lost(const struct hf_zk_session *session);

/* A ConnectRequest is due.  Is it to resume .lost?  Then that is so now. */
bool hf_zk_session_resume_lost(struct hf_zk_session *session);

/* The server has resumed it: send the request to close it. */
void hf_zk_session_close_lost(struct hf_zk_session *session);

/* The connection ends, or is left. */
void hf_zk_session_note_lost_unanswered(struct hf_zk_session *session);

/* ---------------------------------------------------- zk_session_leave.c -- */

/* Leave the server for the one with the index ${server}, because of ${why}, as
 * soon as no call is in flight.  Users of the session send nothing more until
 * then, see .leaving.  While there is no connection, the next attempt goes
 * there. */
void hf_zk_session_leave_for(struct hf_zk_session *session, size_t server,
                             const char *why);

/* Do that, if no call is in flight any more.  Not from a notification. */
void hf_zk_session_leave_if_idle(struct hf_zk_session *session);

#endif
