/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second clock: what is proven of a session, as opposed to its link being
 * alive.
 *
 * A follower that is cut off from its leader goes on answering pings and reads,
 * while the leader, which alone ends sessions, hears nothing.  So those answers
 * prove nothing.  What does: a follower tells its leader which sessions it has
 * heard of in its answer to each of the leader's pings, on the same ordered
 * stream on which it forwards writes.  When a write W is committed, everything
 * that the follower put into that stream before W has reached the leader.  If a
 * request R had been answered for long enough before W was sent for the
 * leader's ping to have come by, then R had been reported by then:
 *
 *     the session lives at least until send(R) + timeout.
 *
 * Long enough is: R was sent at least D before W, and answered at least 7/8 D
 * before W.  Its sending alone would not do: R may have been under way for most
 * of D, and the follower have heard of it just before W.  (An eighth is for the
 * way and back, so that of heartbeats D apart each can be the R of the next.)
 *
 * D is a quarter of the timeout, and at least 1.5 s where that fits: leaders
 * ping every half tickTime, 1 s by default.  That the leader's ping loop ran
 * once within 7/8 D is assumed; ?proof=strict assumes less, see below.
 *
 * A ping may also have been held up on its way to the follower, R and W having
 * got through, until after W: then W's answer, which comes the same way behind
 * it, is late as well.  So a write W that is answered late, or was sent before
 * such an answer came, proves what the write before would have, provided that
 * this one had been answered when W was sent: the answer to it came behind the
 * ping, and W was sent behind the report.
 *
 * An answer that is in time shows only that nothing was held up for long since
 * W was sent.  Pings that were held up ever since the leader was last heard of
 * may have come through just behind W; and if that was for most of a timeout,
 * the end of the session may stand right behind W.  So W proves by itself only
 * if the leader was heard of shortly before: a write was answered, or an event
 * came.  The first write after a pause proves what the writes before it did,
 * and what it would have proven is left to the next one.
 */
#ifndef HF_ZOOKEEPER_PROOF_H
#define HF_ZOOKEEPER_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_ZK_PROOF_REQUESTS 40

struct hf_zk_proof {
    uint64_t connect_sent_at_ms; /* the accepted greeting proves itself */
    uint64_t spacing_ms;         /* D */
    uint64_t timeout_ms;
    bool strict;
    /* Answered requests of this connection, rising, no two sent within D/16:
     * enough to look back over 2 D. */
    struct hf_zk_proof_request {
        uint64_t sent_ms;
        uint64_t answered_ms;
    } requests[HF_ZK_PROOF_REQUESTS];
    size_t count;
    uint64_t last_sent_ms; /* of the latest request that was answered */
    /* What the leader sent out before this has reached the follower. */
    uint64_t leader_seen_ms;
    /* An earlier write: what it would have proven, and when it was answered.
     * And what such writes have proven, as later ones showed. */
    uint64_t previous_anchor_ms;
    uint64_t previous_answered_ms;
    uint64_t confirmed_anchor_ms;
    uint64_t last_late_answer_ms; /* the last answer that was late came then */
};

/* D for a session of ${timeout_ms} on servers of ${tick_ms}, 0 if unknown. */
uint64_t hf_zk_proof_spacing_ms(uint64_t timeout_ms, uint64_t tick_ms);

/* A new connection, on which nothing was answered but its greeting, just
 * now. */
void hf_zk_proof_begin(struct hf_zk_proof *proof, uint64_t timeout_ms,
                       uint64_t tick_ms, bool strict,
                       uint64_t connect_sent_at_ms, uint64_t now_ms);

/* A request sent at ${sent_at_ms} was answered at ${now_ms}. */
void hf_zk_proof_answered(struct hf_zk_proof *proof, uint64_t sent_at_ms,
                          uint64_t now_ms);

/* An event came: what another client wrote. */
void hf_zk_proof_event(struct hf_zk_proof *proof);

/* A request as it is sent, at ${now_ms}. */
struct hf_zk_proof_sent {
    uint64_t at_ms;
    uint64_t anchor_ms; /* what a write then proves if nothing is held up */
    uint64_t leader_seen_ms; /* until when nothing was */
};

struct hf_zk_proof_sent hf_zk_proof_sent(const struct hf_zk_proof *proof,
                                         uint64_t now_ms);

/* A write that was ${sent} was committed, as we hear at ${now_ms}: what that
 * proves, and at least what the greeting did.  With .strict, or if it took more
 * than a quarter of D, or if it was the first after a pause, no more than an
 * earlier write would have. */
uint64_t hf_zk_proof_committed(struct hf_zk_proof *proof,
                               const struct hf_zk_proof_sent *sent,
                               uint64_t now_ms);

#endif
