/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs: until when no leader of the cluster takes the lease for expired.
 * This is the second of the session's two clocks.  The first clock only shows
 * that somebody answers keep-alives.
 *
 * A keep-alive alone proves nothing.  The clock of a lease is in the memory of
 * the leader.  A leader that was frozen while another one was elected still
 * answers keep-alives from its own memory.  Therefore:
 *
 *     Rule.  The keep-alive K, sent at s, was answered with a TTL and the raft
 *     term t.  A write W was sent after that answer, and was answered with the
 *     same raft term t.  Then no leader finds the lease expired before s + TTL.
 *
 * Why: the term in a header is that of the last entry that the member had
 * applied.  The member that answered K had applied an entry of t.  W came
 * later, so W was committed in t or in a later term.  It was not a later term,
 * because the first entry of a term is applied before any other entry of it, so
 * the header of W would show that term.  So a majority has accepted W in t,
 * after W was sent.  A later leader needs the vote of one of that majority,
 * given after that.  Therefore, while K was handled, there was no leader of a
 * later term than t.  The member that answered K knew the leader of t, so that
 * leader renewed the lease at s or later.  A leader that follows it begins the
 * lease anew.  The terms must be equal: a greater one only shows that there is
 * another leader by now.
 *
 * K and W need not be sent on one connection, nor be answered by one member.
 *
 * The edge case.  If the lease was about to expire while K was handled, the
 * leader may have decided to revoke it just before, and yet the answer is
 * positive.  So K counts only if the lease had certainly not expired when the
 * answer to K came.  That is so if the answer came within one TTL, less the
 * margin, after the latest proven anchor, or after another keep-alive was sent
 * that has the same term and counts.  The second case is an induction over
 * keep-alives that are not proven yet: a write of that term proves all of them.
 * So a session that has been idle for hours is proven by its first write.
 *
 * If K does not count, it begins a new chain.  The next keep-alive of its term
 * counts if its answer comes within one TTL, less the margin, after K was sent:
 * a revocation that was decided before K was answered would have been carried
 * out by then.  hf_etcd_proof_wants_keep_alive_soon() returns true while a
 * chain has begun.
 *
 * LeaseGrant is a write itself and proves itself, from when it was sent.
 *
 * docs/engine-etcd.md says what is assumed without proof: that a revocation
 * which an old leader has decided is not committed by the next leader.
 */
#ifndef HF_ETCD_PROOF_H
#define HF_ETCD_PROOF_H

#include <stdbool.h>
#include <stdint.h>

/* A keep-alive that a write may prove. */
struct hf_etcd_renewal {
    uint64_t anchor_ms; /* when it was sent */
    uint64_t raft_term; /* raft term of its answer; 0: there is no such
                           keep-alive */
};

/* What is known of a lease.  Only the functions below write to it.  Instants
 * are those of the client's monotonic clock. */
struct hf_etcd_proof {
    uint64_t ttl_ms;      /* as granted */
    uint64_t clock_drift; /* drift of the servers' clocks, in percent:
                             hf_margin_ms() */
    uint64_t proven_ms;   /* the latest anchor that was proven */
    /* The latest keep-alive that counts. */
    struct hf_etcd_renewal counting;
    /* The keep-alive that has begun a new chain.  It does not count itself. */
    struct hf_etcd_renewal beginning;
};

/* The lease was granted: LeaseGrant was sent at ${sent_ms}, and its answer has
 * ${ttl_ms} and ${raft_term}. */
void hf_etcd_proof_granted(struct hf_etcd_proof *proof, uint64_t sent_ms,
                           uint64_t ttl_ms, uint64_t raft_term,
                           uint64_t clock_drift);

/* A keep-alive that was sent at ${sent_ms} was answered at ${now_ms}, with
 * ${ttl_ms} > 0 and ${raft_term}.  The TTL may be shorter than the one that was
 * granted, because this leader has another lower bound.  Then the anchor is
 * moved earlier by the difference. */
void hf_etcd_proof_kept_alive(struct hf_etcd_proof *proof, uint64_t sent_ms,
                              uint64_t ttl_ms, uint64_t raft_term,
                              uint64_t now_ms);

/* Return the keep-alive that a write sent now may prove.  The caller stores it
 * with the write. */
struct hf_etcd_renewal hf_etcd_proof_sent(const struct hf_etcd_proof *proof);

/* A write was answered with ${raft_term}; ${sent} was stored with it.  Returns
 * the anchor that the answer proves: for one TTL after it no leader takes the
 * lease for expired.  0: the answer proves nothing. */
uint64_t hf_etcd_proof_answered(struct hf_etcd_proof *proof,
                                const struct hf_etcd_renewal *sent,
                                uint64_t raft_term);

/* Should the next keep-alive come sooner than usual, because a new chain has
 * begun? */
bool hf_etcd_proof_wants_keep_alive_soon(const struct hf_etcd_proof *proof);

#endif
