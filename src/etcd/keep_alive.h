/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keep-alives of a session's lease: one every third of its TTL, on a stream
 * of its own.
 *
 * A member that is no leader hands a keep-alive to the leader, and may hang in
 * that for seconds when the leader is frozen, and its whole stream with it.  So
 * a keep-alive that is not answered within a quarter of the TTL, and at least
 * 600 ms, ends its stream, and another stream of the same connection carries
 * the next one.  If that is not answered in that time either, the session takes
 * another server.
 */
#ifndef HF_ETCD_KEEP_ALIVE_H
#define HF_ETCD_KEEP_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "grpc/grpc.h"

#define HF_ETCD_KEEP_ALIVE_LEAST_MS 600

struct hf_etcd_session;

enum hf_etcd_keep_alive_state {
    HF_ETCD_KEEP_ALIVE_OFF,    /* no stream */
    HF_ETCD_KEEP_ALIVE_IDLE,   /* nothing is to be answered */
    HF_ETCD_KEEP_ALIVE_FIRST,  /* an answer is due, on the stream that was
                                  there */
    HF_ETCD_KEEP_ALIVE_SECOND, /* an answer is due, on a stream that was opened
                                  because another one was silent */
};

/* Only session_keep_alive.c writes to it. */
struct hf_etcd_keep_alive {
    unsigned state;   /* enum hf_etcd_keep_alive_state */
    uint64_t sent_ms; /* of the last keep-alive */
    uint64_t next_ms; /* IDLE: when the next one is due */
    struct hf_grpc_call stream;
};

void hf_etcd_keep_alive_init(struct hf_etcd_session *session);

/* Send one now, on a new stream, because the lease is to be resumed on a new
 * connection.  The answer comes as hf_etcd_session_kept_alive().  False if that
 * is not possible; the connection is to be given up. */
bool hf_etcd_keep_alive_resume(struct hf_etcd_session *session);

/* The lease was granted at ${sent_ms}: the first one is due a third of the TTL
 * later. */
void hf_etcd_keep_alive_begin(struct hf_etcd_session *session,
                              uint64_t sent_ms);

/* The token is another: the next one goes on another stream. */
void hf_etcd_keep_alive_renew(struct hf_etcd_session *session);

/* The connection or the session ends. */
void hf_etcd_keep_alive_end(struct hf_etcd_session *session);

/* Send what is due; change the stream or the server. */
void hf_etcd_keep_alive_tick(struct hf_etcd_session *session);

/* When that is to be called; HF_FOREVER: never. */
uint64_t hf_etcd_keep_alive_wake_at_ms(const struct hf_etcd_session *session);

#endif
