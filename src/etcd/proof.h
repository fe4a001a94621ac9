/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs: until when no leader of the cluster finds the lease expired.  This is
 * the second of the session's two clocks.  The first one only shows that
 * somebody answers keep-alives.
 *
 * A keep-alive alone proves nothing.  The clock of a lease is in the memory of
 * the leader, and a leader that was frozen while another one was elected
 * answers keep-alives out of its own memory.  So:
 *
 *     Rule.  The keep-alive K, sent at s, was answered with a TTL and the raft
 *     term t.  A write W was sent after that answer, and was answered with the
 *     same raft term t.  Then no leader finds the lease expired before s + TTL.
 *
 * Why: the term of a header is that of the last entry that the member had
 * applied.  The member that answered K had applied an entry of t, so W, which
 * came later, was committed in t or later; and not later than t, because the
 * first entry of a term is applied before any other of it, so the header of W
 * would show it.  A majority has accepted W in t after it was sent, and a later
 * leader needs one vote of that majority after that.  So while K was handled
 * there was no later leader than that of t.  The member that answered K knew
 * the leader of t, so that leader had the lease renewed at s or later.  A
 * leader that follows it begins the lease anew.  The same term is needed:
 * a greater one shows only that there is another leader by now.
 *
 * K and W need not be of one connection, nor answered by one member.
 *
 * The edge.  If the lease was about to expire while K was handled, the leader
 * may have decided to revoke it just before, and the answer is positive all the
 * same.  So K counts only if the lease certainly had not expired when the
 * answer to K came: the answer came within one TTL, less the margin, of the
 * latest proven anchor, or of the sending of another keep-alive of the same
 * term that counts.  The second case is an induction over keep-alives that are
 * not proven yet: a write of that term proves all of them.  So a session that
 * has been idle for hours is proven by its first write.
 *
 * If K does not count, it begins a new chain.  The next keep-alive of its term
 * counts if its answer comes within one TTL, less the margin, of the sending of
 * K, because a revocation that was decided before K was answered would have
 * been carried out by then.  hf_etcd_proof_wants_keep_alive_soon() says that a
 * chain has begun.
 *
 * LeaseGrant is a write itself and proves itself, from its sending.
 *
 * What stays assumed is in docs/engine-etcd.md: a revocation that an old leader
 * has decided is not committed by the next one.
 */
#ifndef HF_ETCD_PROOF_H
#define HF_ETCD_PROOF_H

#include <stdbool.h>
#include <stdint.h>

/* A keep-alive that a write may prove. */
struct hf_etcd_renewal {
    uint64_t anchor_ms; /* when it was sent */
    uint64_t raft_term; /* of its answer; 0: there is none */
};

/* What is known of a lease.  Only the functions below write to it.  Instants
 * are of the client's monotonic clock. */
struct hf_etcd_proof {
    uint64_t ttl_ms;      /* as granted */
    uint64_t clock_drift; /* of the servers, in percent: hf_margin_ms() */
    uint64_t proven_ms;   /* the latest anchor that was proven */
    /* The latest keep-alive that counts. */
    struct hf_etcd_renewal counting;
    /* The beginning of a new chain, which does not count itself. */
    struct hf_etcd_renewal beginning;
};

/* The lease was granted: LeaseGrant was sent at ${sent_ms}, and its answer has
 * ${ttl_ms} and ${raft_term}. */
void hf_etcd_proof_granted(struct hf_etcd_proof *proof, uint64_t sent_ms,
                           uint64_t ttl_ms, uint64_t raft_term,
                           uint64_t clock_drift);

/* A keep-alive that was sent at ${sent_ms} has been answered at ${now_ms}, with
 * ${ttl_ms} > 0 and ${raft_term}.  If that is a shorter TTL than the one that
 * was granted, because the leader has another lower bound, the anchor is as
 * much earlier. */
void hf_etcd_proof_kept_alive(struct hf_etcd_proof *proof, uint64_t sent_ms,
                              uint64_t ttl_ms, uint64_t raft_term,
                              uint64_t now_ms);

/* To be stored with a write that is sent now: what it may prove. */
struct hf_etcd_renewal hf_etcd_proof_sent(const struct hf_etcd_proof *proof);

/* The write with which ${sent} was stored was answered with ${raft_term}.
 * Returns the anchor that this proves: no leader finds the lease expired for
 * one TTL from then.  0: it proves nothing. */
uint64_t hf_etcd_proof_answered(struct hf_etcd_proof *proof,
                                const struct hf_etcd_renewal *sent,
                                uint64_t raft_term);

/* Should the next keep-alive come sooner than usual, because a new chain has
 * begun? */
bool hf_etcd_proof_wants_keep_alive_soon(const struct hf_etcd_proof *proof);

#endif
