/* SPDX-License-Identifier: Apache-2.0 */
/* What zk_session.c and zk_session_receive.c share. */
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

/* True if connection ${number} is still the current one.  To be checked after
 * anything that may call a listener. */
bool hf_zk_session_is_current(const struct hf_zk_session *session,
                              uint64_t number);

/* Handle the ConnectResponse in ${frame}. */
void hf_zk_session_connect_answered(struct hf_zk_session *session,
                                    struct hf_jute_reader *frame);

/* The server has granted .granted, and nothing is left to be proven to it: the
 * session is begun, or resumed. */
void hf_zk_session_accept(struct hf_zk_session *session);

/* Handle the server's answer during SASL in ${frame}.  hf_zk_session_accept()
 * follows the last one. */
void hf_zk_session_sasl_answered(struct hf_zk_session *session,
                                 struct hf_jute_reader *frame);

/* A request that was sent at ${sent_at_ms} has been answered: move the first
 * clock and note it for the proof. */
void hf_zk_session_answered(struct hf_zk_session *session, uint64_t sent_at_ms);

/* As hf_zk_session_disconnect(), with another status than HF_EUNREACHABLE,
 * which means that a later attempt may succeed. */
void hf_zk_session_disconnect_as(struct hf_zk_session *session,
                                 hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As hf_zk_session_disconnect(), because the server has refused credentials. */
void hf_zk_session_refused(struct hf_zk_session *session, const char *format,
                           ...) __attribute__((format(printf, 2, 3)));

/* Leave the server for the one with the index ${server}, because of ${why}, as
 * soon as no call is in flight.  Users of the session send nothing more until
 * then, see .leaving.  While there is no connection, the next attempt goes
 * there. */
void hf_zk_session_leave_for(struct hf_zk_session *session, size_t server,
                             const char *why);

/* Do that, if no call is in flight any more.  Not from a notification. */
void hf_zk_session_leave_if_idle(struct hf_zk_session *session);

/* The session has ended: forget it, fail all calls and notify .lost.  Its
 * ephemeral nodes are gone or will be deleted by the servers. */
void hf_zk_session_lose(struct hf_zk_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
