/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs: until when the servers certainly keep the session.  This is the
 * second of the session's two clocks (zk_session.h).  The first clock only
 * shows that the connection is alive.
 *
 * A follower that is cut off from its leader still answers pings and reads.
 * Only the leader expires sessions, and it receives nothing from this follower.
 * So answers to pings and reads prove nothing, but a committed write does.  In
 * its answer to each ping of the leader, a follower reports the sessions from
 * which it has received something, and it does so on the same ordered stream on
 * which it forwards writes.  When a write W is committed, everything that the
 * follower sent on that stream before W has reached the leader.  So if a
 * request R was answered so long before W was sent that a ping of the leader
 * came in between, then R was reported before W, and
 *
 *     the session lives at least until send(R) + timeout.
 *
 * "So long" means: R was sent at least D before W, and answered at least 7/8 D
 * before W.  The time of sending alone is not enough, because R may have been
 * delayed for most of D and have reached the follower just before W.  The
 * eighth of D is left for the round trip: so if heartbeats are D apart, each
 * can be the R of the next.
 *
 * D is a quarter of the timeout, and at least 1.5 s where that fits (3/4 of the
 * tickTime if that is known), because leaders ping every half tickTime (1 s by
 * default).  It fits in 3/8 of the timeout.  This assumes that the leader's
 * ping loop runs once within 7/8 D.  The URL option proof=strict assumes less,
 * see below.
 *
 * A ping may also be held up on its way to the follower while R and W get
 * through, and arrive after W.  Then the answer to W comes the same way behind
 * the ping, so it is late too.  So if W is answered late, or was sent before
 * such a late answer came, W proves only what the previous write would have
 * proven, and only if the previous write had been answered when W was sent.
 * For the answer to the previous write came behind the ping, so the follower
 * had sent its report before W.
 *
 * An answer that is in time shows only that nothing was held up since W was
 * sent.  Pings that were held up ever since the leader was last seen may have
 * come through just after W.  If they were held up for most of a timeout, the
 * leader may expire the session directly after W.  So W proves something by
 * itself only if the leader was seen shortly before: a write was answered, or
 * an event came.  The first write after a pause proves no more than the writes
 * before it did.  What it would have proven counts when the next write is
 * answered.
 */
#ifndef HF_ZOOKEEPER_PROOF_H
#define HF_ZOOKEEPER_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_ZK_PROOF_REQUESTS 40

/* The proofs of the current connection.  Only the functions below write to
 * it. */
struct hf_zk_proof {
    uint64_t connect_sent_at_ms; /* when the accepted ConnectRequest was sent;
                                    each committed write proves at least this
                                    anchor */
    uint64_t spacing_ms;         /* D, see above */
    uint64_t timeout_ms;
    bool strict; /* option proof=strict: a write proves only what the previous
                    write would have proven */
    /* Answered requests of this connection, oldest first, no two sent within
     * D/16.  The array is long enough to look back over 2 D. */
    struct hf_zk_proof_request {
        uint64_t sent_ms;
        uint64_t answered_ms;
    } requests[HF_ZK_PROOF_REQUESTS];
    size_t count;
    uint64_t last_answered_sent_ms; /* when the latest request that has an
                                       answer was sent */
    /* Everything that the leader sent before this time has reached the
     * follower. */
    uint64_t leader_seen_ms;
    /* Only writes count here that were sent after the previous counted write
     * was answered.  .previous_anchor_ms is what the last counted write would
     * have proven, and .previous_answered_ms is when it was answered.  The next
     * counted write confirms that anchor; .confirmed_anchor_ms is the last
     * anchor that was confirmed. */
    uint64_t previous_anchor_ms;
    uint64_t previous_answered_ms;
    uint64_t confirmed_anchor_ms;
    uint64_t last_late_answer_ms; /* when the last late answer came */
};

/* D for a session timeout of ${timeout_ms}.  ${tick_ms} is the servers'
 * tickTime, 0 if unknown. */
uint64_t hf_zk_proof_spacing_ms(uint64_t timeout_ms, uint64_t tick_ms);

/* Start for a new connection whose ConnectRequest was sent at
 * ${connect_sent_at_ms} and answered at ${now_ms}. */
void hf_zk_proof_begin(struct hf_zk_proof *proof, uint64_t timeout_ms,
                       uint64_t tick_ms, bool strict,
                       uint64_t connect_sent_at_ms, uint64_t now_ms);

/* A request that was sent at ${sent_at_ms} has been answered at ${now_ms}. */
void hf_zk_proof_answered(struct hf_zk_proof *proof, uint64_t sent_at_ms,
                          uint64_t now_ms);

/* A watch event has arrived, which means that a write has come through from the
 * leader. */
void hf_zk_proof_event(struct hf_zk_proof *proof);

/* What is remembered with a request when it is sent. */
struct hf_zk_proof_sent {
    uint64_t at_ms;          /* send time */
    uint64_t anchor_ms;      /* the anchor that it proves if it is a write and
                                no ping is held up */
    uint64_t leader_seen_ms; /* .leader_seen_ms of the proof at that time */
};

/* Return what must be stored with a request that is sent at ${now_ms}. */
struct hf_zk_proof_sent hf_zk_proof_sent(const struct hf_zk_proof *proof,
                                         uint64_t now_ms);

/* The write ${sent} was committed, and its answer came at ${now_ms}.  Returns
 * the anchor that this proves: the servers keep the session for one timeout
 * from then.  It is at least the send time of the ConnectRequest.  It is no
 * more than the previous write's anchor if the proof is strict, if the answer
 * took more than a quarter of D, if the write was sent before an answer that
 * late came, or if this is the first write after a pause. */
uint64_t hf_zk_proof_committed(struct hf_zk_proof *proof,
                               const struct hf_zk_proof_sent *sent,
                               uint64_t now_ms);

#endif
