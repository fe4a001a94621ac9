/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keep-alives of a session's lease.  One is sent every third of the TTL,
 * and one before each proof that is asked for.  They have streams of their own.
 *
 * A member that is not the leader forwards a keep-alive to the leader.  If the
 * leader is frozen, the member may hang for seconds, with the whole stream,
 * although there is another leader meanwhile.  So if a keep-alive is not
 * answered within a twelfth of the TTL, and at least 200 ms, another one is
 * sent on another stream of the same connection.  The way to the server may
 * take longer than that, so the earlier streams stay open: the first answer
 * counts, from the sending of its keep-alive, and ends the other streams.  If
 * none of HF_ETCD_KEEP_ALIVE_TRIES keep-alives is answered, for half of the TTL
 * and at least 1200 ms, the session takes another server.
 */
#ifndef HF_ETCD_KEEP_ALIVE_H
#define HF_ETCD_KEEP_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "grpc/grpc.h"

/* The shortest wait for an answer before another stream is opened. */
#define HF_ETCD_KEEP_ALIVE_LEAST_MS 200

/* How many keep-alives are sent without an answer before the session takes
 * another server. */
#define HF_ETCD_KEEP_ALIVE_TRIES 6

struct hf_etcd_session;

enum hf_etcd_keep_alive_state {
    HF_ETCD_KEEP_ALIVE_OFF,    /* no stream */
    HF_ETCD_KEEP_ALIVE_IDLE,   /* no keep-alive waits for an answer */
    HF_ETCD_KEEP_ALIVE_WANTED, /* the next keep-alive is due now */
    HF_ETCD_KEEP_ALIVE_SENT,   /* a keep-alive was sent and not answered yet */
};

struct hf_etcd_keep_alive_try {
    struct hf_grpc_call stream;
    uint64_t sent_ms; /* when its last keep-alive was sent */
};

/* The keep-alives of a session.  Only session_keep_alive.c writes to it. */
struct hf_etcd_keep_alive {
    unsigned state; /* enum hf_etcd_keep_alive_state */
    /* A ring.  In SENT .count tries wait for an answer, from .first on, in the
     * order in which they were sent.  Otherwise only the stream of .first may
     * be open, and carries the next keep-alive. */
    struct hf_etcd_keep_alive_try tries[HF_ETCD_KEEP_ALIVE_TRIES];
    size_t first;
    size_t count;
};

void hf_etcd_keep_alive_init(struct hf_etcd_session *session);

/* Send a keep-alive now, on a new stream, to resume the lease on a new
 * connection.  hf_etcd_session_kept_alive() is called with the answer.  Returns
 * false if it cannot be sent; then the connection must be given up. */
bool hf_etcd_keep_alive_resume(struct hf_etcd_session *session);

/* The lease was granted by a request that was sent at ${granted_ms}: the first
 * keep-alive is due a third of the TTL after that. */
void hf_etcd_keep_alive_begin(struct hf_etcd_session *session,
                              uint64_t granted_ms);

/* Send the next keep-alive now.  Nothing is sent if an answer is still
 * expected, or if the next keep-alive is due soon because a new chain of proofs
 * has begun (proof.h).  The session must be usable.  .renewed of the listener
 * follows, unless the connection ends before. */
void hf_etcd_keep_alive_want(struct hf_etcd_session *session);

/* There is a new token: close the streams of the old one.  If an answer is
 * still expected, send another keep-alive on a new stream. */
void hf_etcd_keep_alive_renew(struct hf_etcd_session *session);

/* The connection or the session ends. */
void hf_etcd_keep_alive_end(struct hf_etcd_session *session);

/* Send the keep-alive that is due, or give the connection up if
 * HF_ETCD_KEEP_ALIVE_TRIES were not answered. */
void hf_etcd_keep_alive_tick(struct hf_etcd_session *session);

/* Return how long to wait for an answer, with a lease of ${ttl_ms}, before
 * something else is tried: a twelfth of ${ttl_ms}, and at least
 * HF_ETCD_KEEP_ALIVE_LEAST_MS. */
uint64_t hf_etcd_silence_ms(uint64_t ttl_ms);

/* When hf_etcd_keep_alive_tick() is to be called; HF_FOREVER: never. */
uint64_t hf_etcd_keep_alive_wake_at_ms(const struct hf_etcd_session *session);

#endif
