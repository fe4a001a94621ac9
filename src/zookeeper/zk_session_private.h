/* SPDX-License-Identifier: Apache-2.0 */
/* What zk_session.c has for zk_session_receive.c. */
#ifndef HF_ZOOKEEPER_ZK_SESSION_PRIVATE_H
#define HF_ZOOKEEPER_ZK_SESSION_PRIVATE_H

#include "zookeeper/zk_session.h"

/* How a TLS record begins that is an alert, RFC 8446, 5.1: 0x15 and a version,
 * which differs, and the first byte of its length. */
#define HF_ZK_TLS_ALERT 0x15030100

#define HF_ZK_NOT_ZOOKEEPER                                                    \
    "an answer that is not ZooKeeper's; see whether the port is right"

/* Is connection ${number} still the one that was worked on? */
bool hf_zk_session_is_current(const struct hf_zk_session *session,
                              uint64_t number);

/* The answer to our greeting. */
void hf_zk_session_connect_answered(struct hf_zk_session *session,
                                    struct hf_jute_reader *frame);

/* A request sent at ${sent_at_ms} has been answered. */
void hf_zk_session_answered(struct hf_zk_session *session, uint64_t sent_at_ms);

/* As hf_zk_session_drop(), which says HF_EUNREACHABLE: trying again may help by
 * itself. */
void hf_zk_session_drop_as(struct hf_zk_session *session, hf_status status,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The session is over: what is ephemeral has gone or will go. */
void hf_zk_session_lose(struct hf_zk_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
