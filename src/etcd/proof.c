/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which keep-alives count and what a write proves.  proof.h has the
 * reasons. */
#include "etcd/proof.h"

#include <assert.h>

#include "base/time_math.h"

void hf_etcd_proof_granted(struct hf_etcd_proof *proof, uint64_t sent_ms,
                           uint64_t ttl_ms, uint64_t raft_term,
                           uint64_t clock_drift)
{
    assert(ttl_ms > 0);
    *proof = (struct hf_etcd_proof){.ttl_ms = ttl_ms,
                                    .clock_drift = clock_drift,
                                    .proven_ms = sent_ms,
                                    .counting = {sent_ms, raft_term}};
}

/* A lease was renewed at ${anchor_ms}.  Had it certainly not expired at
 * ${now_ms}, by the clock of any leader? */
static bool had_not_expired(const struct hf_etcd_proof *proof,
                            uint64_t anchor_ms, uint64_t now_ms)
{
    uint64_t end_ms = hf_after_ms(anchor_ms, proof->ttl_ms);

    return now_ms < hf_before_ms(end_ms, hf_margin_ms(proof->ttl_ms,
                                                      proof->clock_drift));
}

/* Is ${renewal} of the term ${raft_term}, and had the lease that it renewed
 * certainly not expired at ${now_ms}? */
static bool continues(const struct hf_etcd_proof *proof,
                      const struct hf_etcd_renewal *renewal, uint64_t raft_term,
                      uint64_t now_ms)
{
    return renewal->raft_term == raft_term &&
           had_not_expired(proof, renewal->anchor_ms, now_ms);
}

void hf_etcd_proof_kept_alive(struct hf_etcd_proof *proof, uint64_t sent_ms,
                              uint64_t ttl_ms, uint64_t raft_term,
                              uint64_t now_ms)
{
    struct hf_etcd_renewal renewal = {sent_ms, raft_term};

    assert(ttl_ms > 0 && sent_ms <= now_ms);
    if (raft_term == 0)
        return; /* there is no term 0 */
    if (ttl_ms < proof->ttl_ms)
        renewal.anchor_ms = hf_before_ms(sent_ms, proof->ttl_ms - ttl_ms);
    if (had_not_expired(proof, proof->proven_ms, now_ms) ||
        continues(proof, &proof->counting, raft_term, now_ms) ||
        continues(proof, &proof->beginning, raft_term, now_ms)) {
        proof->counting = renewal;
        proof->beginning = (struct hf_etcd_renewal){0};
    } else {
        proof->beginning = renewal;
    }
}

struct hf_etcd_renewal hf_etcd_proof_sent(const struct hf_etcd_proof *proof)
{
    return proof->counting;
}

uint64_t hf_etcd_proof_answered(struct hf_etcd_proof *proof,
                                const struct hf_etcd_renewal *sent,
                                uint64_t raft_term)
{
    if (sent->raft_term == 0 || sent->raft_term != raft_term)
        return 0;
    proof->proven_ms = hf_max_ms(proof->proven_ms, sent->anchor_ms);
    return sent->anchor_ms;
}

bool hf_etcd_proof_wants_keep_alive_soon(const struct hf_etcd_proof *proof)
{
    return proof->beginning.raft_term != 0;
}
