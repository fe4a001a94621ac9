/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hold intervals: when an attempt relied on its lock.
 *
 * An interval begins with the grant.  It ends when the client released, was
 * notified of the loss, died, or when its last safe-until had passed, whichever
 * is first; a client that was seen to hold the lock later relied on it until
 * then.  A writer that became a reader has two intervals.
 */
#ifndef HF_TORTURE_HOLD_INTERVAL_H
#define HF_TORTURE_HOLD_INTERVAL_H

#include "torture/history.h"

struct hf_hold_interval {
    uint32_t attempt; /* index in the history */
    uint32_t lock;
    enum hf_kind
        kind; /* in this interval: a downgraded writer is HF_KIND_READ */
    uint64_t from_us, until_us; /* from_us < until_us */
};

struct hf_hold_intervals {
    struct hf_hold_interval *items; /* sorted by lock, then by .from_us */
    size_t count;
};

/* Find all intervals of ${history}.  False if there is no memory.  Free them
 * with hf_hold_intervals_free() in both cases. */
bool hf_hold_intervals_find(const struct hf_history *history,
                            struct hf_hold_intervals *intervals);
/* Free what hf_hold_intervals_find() has found. */
void hf_hold_intervals_free(struct hf_hold_intervals *intervals);

/* Is it wrong that two attempts at one lock hold it together, as ${a_kind} and
 * ${b_kind}? */
bool hf_history_attempts_conflict(const struct hf_history_attempt *a,
                                  enum hf_kind a_kind,
                                  const struct hf_history_attempt *b,
                                  enum hf_kind b_kind);

#endif
