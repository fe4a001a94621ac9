/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keep-alives of a session's lease: one every third of its TTL, and one
 * before each proof that is asked for, on a stream of its own.
 *
 * A member that is not the leader forwards a keep-alive to the leader.  If the
 * leader is frozen the member may hang in that for seconds, with the whole
 * stream, although there is another leader meanwhile.  So a keep-alive that is
 * not answered within a twelfth of the TTL, and at least 200 ms, is followed by
 * another one on another stream of the same connection.  The first answer
 * counts, from the sending of its keep-alive, and ends the other streams: the
 * way to the server may take longer than that twelfth.  If none of
 * HF_ETCD_KEEP_ALIVE_TRIES keep-alives is answered, for half of the TTL and at
 * least 1200 ms, the session takes another server.
 */
#ifndef HF_ETCD_KEEP_ALIVE_H
#define HF_ETCD_KEEP_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "grpc/grpc.h"

/* How long to wait for an answer before another stream is opened, at least. */
#define HF_ETCD_KEEP_ALIVE_LEAST_MS 200

/* Keep-alives that are sent without an answer before another server is
 * taken. */
#define HF_ETCD_KEEP_ALIVE_TRIES 6

struct hf_etcd_session;

enum hf_etcd_keep_alive_state {
    HF_ETCD_KEEP_ALIVE_OFF,    /* no stream */
    HF_ETCD_KEEP_ALIVE_IDLE,   /* nothing is to be answered */
    HF_ETCD_KEEP_ALIVE_WANTED, /* the next one is due now */
    HF_ETCD_KEEP_ALIVE_SENT,   /* an answer is due */
};

struct hf_etcd_keep_alive_try {
    struct hf_grpc_call stream;
    uint64_t sent_ms; /* of its last keep-alive */
};

/* Only session_keep_alive.c writes to it. */
struct hf_etcd_keep_alive {
    unsigned state; /* enum hf_etcd_keep_alive_state */
    /* A ring: SENT has .count of them, from .first on, in the order of their
     * sending.  Else only the stream of .first may run, and carries the next
     * keep-alive. */
    struct hf_etcd_keep_alive_try tries[HF_ETCD_KEEP_ALIVE_TRIES];
    size_t first;
    size_t count;
};

void hf_etcd_keep_alive_init(struct hf_etcd_session *session);

/* Send one now, on a new stream, because the lease is to be resumed on a new
 * connection.  The answer comes as hf_etcd_session_kept_alive().  False if that
 * is not possible; the connection is to be given up. */
bool hf_etcd_keep_alive_resume(struct hf_etcd_session *session);

/* The lease was granted by a request that was sent at ${granted_ms}: the first
 * keep-alive is due a third of the TTL after that. */
void hf_etcd_keep_alive_begin(struct hf_etcd_session *session,
                              uint64_t granted_ms);

/* Send the next keep-alive now; not if an answer is due, or if the next one is
 * due soon because a new chain of proofs has begun (proof.h).  The session is
 * usable.  .renewed of the listener follows, unless the connection ends
 * before. */
void hf_etcd_keep_alive_want(struct hf_etcd_session *session);

/* There is a new token: close the streams of the old one.  A keep-alive that
 * was not answered is sent again on a new stream. */
void hf_etcd_keep_alive_renew(struct hf_etcd_session *session);

/* The connection or the session ends. */
void hf_etcd_keep_alive_end(struct hf_etcd_session *session);

/* Send the keep-alive that is due, or leave the server if
 * HF_ETCD_KEEP_ALIVE_TRIES were not answered. */
void hf_etcd_keep_alive_tick(struct hf_etcd_session *session);

/* How long to wait, with a lease of ${ttl_ms}, before something else is tried:
 * a twelfth of it, and at least HF_ETCD_KEEP_ALIVE_LEAST_MS. */
uint64_t hf_etcd_silence_ms(uint64_t ttl_ms);

/* When hf_etcd_keep_alive_tick() is to be called; HF_FOREVER: never. */
uint64_t hf_etcd_keep_alive_wake_at_ms(const struct hf_etcd_session *session);

#endif
