/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what an answer proves; proof.h says why.  Times are of the client's
 * monotonic clock, in milliseconds. */
#include "zookeeper/proof.h"

#include <assert.h>
#include <string.h>

#include "base/time_math.h"

/* The least D, and into how many slots D is divided for keeping requests. */
#define SPACING_MIN_MS 1500
#define SLOTS_PER_SPACING 16

/* At most how long before a write the leader must have been seen, in eighths of
 * the timeout, so that the write proves something by itself.  A holder that
 * proves all the time writes every quarter of the timeout, and a waiter pings
 * every third before its event comes, so 3/8 covers both.  Whatever was held up
 * for 3/8 of the timeout plus a quarter of D is reported before the session
 * expires: 4 s before with a timeout of 10 s, and 0.7 s with 4 s, if the leader
 * pings every second. */
#define PAUSE_EIGHTHS 3

uint64_t hf_zk_proof_spacing_ms(uint64_t timeout_ms, uint64_t tick_ms)
{
    /* A larger D would leave too little of a short session timeout. */
    uint64_t max_ms = timeout_ms / 8 * 3;
    uint64_t least_ms = SPACING_MIN_MS;

    /* The leader pings every half tick; half as much is added for its loop. */
    if (tick_ms > 0)
        least_ms = tick_ms / 4 * 3;
    return hf_max_ms(timeout_ms / 4, hf_min_ms(least_ms, max_ms));
}

void hf_zk_proof_begin(struct hf_zk_proof *proof, uint64_t timeout_ms,
                       uint64_t tick_ms, bool strict,
                       uint64_t connect_sent_at_ms, uint64_t now_ms)
{
    *proof = (struct hf_zk_proof){0};
    proof->spacing_ms = hf_zk_proof_spacing_ms(timeout_ms, tick_ms);
    proof->timeout_ms = timeout_ms;
    proof->strict = strict;
    proof->connect_sent_at_ms = connect_sent_at_ms;
    proof->previous_anchor_ms = proof->confirmed_anchor_ms = connect_sent_at_ms;
    proof->leader_seen_ms = connect_sent_at_ms;
    hf_zk_proof_answered(proof, connect_sent_at_ms, now_ms);
}

/* Keep the request for later, unless one was sent within the last D/16. */
void hf_zk_proof_answered(struct hf_zk_proof *proof, uint64_t sent_at_ms,
                          uint64_t now_ms)
{
    uint64_t min_gap_ms = proof->spacing_ms / SLOTS_PER_SPACING;

    assert(sent_at_ms <= now_ms);
    proof->last_answered_sent_ms =
        hf_max_ms(proof->last_answered_sent_ms, sent_at_ms);
    if (proof->count > 0 &&
        sent_at_ms <=
            hf_after_ms(proof->requests[proof->count - 1].sent_ms, min_gap_ms))
        return;
    if (proof->count == HF_ZK_PROOF_REQUESTS) {
        memmove(proof->requests, proof->requests + 1,
                (HF_ZK_PROOF_REQUESTS - 1) * sizeof proof->requests[0]);
        proof->count--;
    }
    proof->requests[proof->count].sent_ms = sent_at_ms;
    proof->requests[proof->count].answered_ms = now_ms;
    proof->count++;
}

/* Was ${request} certainly reported to the leader before a write that is sent
 * now?  That is so if it was sent D ago and answered 7/8 D ago. */
static bool was_reported(const struct hf_zk_proof *proof,
                         const struct hf_zk_proof_request *request,
                         uint64_t now_ms)
{
    uint64_t spacing_ms = proof->spacing_ms;

    return hf_after_ms(request->sent_ms, spacing_ms) <= now_ms &&
           hf_after_ms(request->answered_ms, spacing_ms - spacing_ms / 8) <=
               now_ms;
}

/* The anchor that a write that is sent now would prove: the send time of the
 * latest request that was certainly reported to the leader. */
static uint64_t anchor_ms(const struct hf_zk_proof *proof, uint64_t now_ms)
{
    for (size_t i = proof->count; i > 0; i--) {
        if (was_reported(proof, &proof->requests[i - 1], now_ms))
            return proof->requests[i - 1].sent_ms;
    }
    return proof->connect_sent_at_ms;
}

/* The follower sent the event after its answer to the last answered request, so
 * the leader's stream has reached the follower since that request was sent. */
void hf_zk_proof_event(struct hf_zk_proof *proof)
{
    proof->leader_seen_ms =
        hf_max_ms(proof->leader_seen_ms, proof->last_answered_sent_ms);
}

struct hf_zk_proof_sent hf_zk_proof_sent(const struct hf_zk_proof *proof,
                                         uint64_t now_ms)
{
    return (struct hf_zk_proof_sent){.at_ms = now_ms,
                                     .anchor_ms = anchor_ms(proof, now_ms),
                                     .leader_seen_ms = proof->leader_seen_ms};
}

/* Was the leader last seen so long before the write that the follower may have
 * been cut off meanwhile? */
static bool is_after_pause(const struct hf_zk_proof *proof,
                           const struct hf_zk_proof_sent *sent)
{
    uint64_t max_gap_ms = proof->timeout_ms / 8 * PAUSE_EIGHTHS;

    return sent->at_ms > hf_after_ms(sent->leader_seen_ms, max_gap_ms);
}

/* Did the answer take more than a quarter of D, or was the write sent before
 * such a late answer came?  Then pings of the leader may have been held up
 * with it. */
static bool is_late(struct hf_zk_proof *proof,
                    const struct hf_zk_proof_sent *sent, uint64_t now_ms)
{
    if (now_ms - sent->at_ms > proof->spacing_ms / 4)
        proof->last_late_answer_ms = now_ms;
    return sent->at_ms < proof->last_late_answer_ms;
}

/* Invariant 11: only what the leader has committed proves anything.  A write
 * that was sent before the answer to the previous one confirms nothing, and no
 * later write confirms it. */
uint64_t hf_zk_proof_committed(struct hf_zk_proof *proof,
                               const struct hf_zk_proof_sent *sent,
                               uint64_t now_ms)
{
    bool late = is_late(proof, sent, now_ms);

    assert(sent->at_ms <= now_ms && sent->anchor_ms <= sent->at_ms);
    if (sent->at_ms >= proof->previous_answered_ms) {
        proof->confirmed_anchor_ms =
            hf_max_ms(proof->confirmed_anchor_ms, proof->previous_anchor_ms);
        proof->previous_anchor_ms = sent->anchor_ms;
        proof->previous_answered_ms = now_ms;
    }
    proof->leader_seen_ms = hf_max_ms(proof->leader_seen_ms, sent->at_ms);
    return proof->strict || late || is_after_pause(proof, sent)
               ? proof->confirmed_anchor_ms
               : sent->anchor_ms;
}
