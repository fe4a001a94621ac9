/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an attempt relied on its lock: from its grant until it let go, was told
 * of the loss, died, or the last promise it was given had passed, or it was
 * last seen to have it, whichever came first.  A writer that became a reader
 * has two windows.
 */
#ifndef HF_TORTURE_HOLD_INTERVAL_H
#define HF_TORTURE_HOLD_INTERVAL_H

#include "torture/history.h"

struct hf_hold_interval {
    uint32_t attempt; /* its place in the history */
    uint32_t lock;
    enum hf_kind kind;
    uint64_t from_us, until_us; /* from_us < until_us */
};

struct hf_hold_intervals {
    struct hf_hold_interval *items; /* by lock, then by from_us */
    size_t count;
};

/* False when there is no memory.  Wants hf_hold_intervals_free(). */
bool hf_hold_intervals_find(const struct hf_history *history,
                            struct hf_hold_intervals *intervals);
void hf_hold_intervals_free(struct hf_hold_intervals *intervals);

/* May these two, of one lock, not be held together? */
bool hf_history_attempts_conflict(const struct hf_history_attempt *a,
                                  enum hf_kind a_kind,
                                  const struct hf_history_attempt *b,
                                  enum hf_kind b_kind);

#endif
