/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an attempt relied on its lock: from its grant until it let go, was told
 * of the loss, died, or the last promise it was given had passed, or it was
 * last seen to have it, whichever came first.  A writer that became a reader
 * has two windows.
 */
#ifndef HF_HISTORY_WINDOW_H
#define HF_HISTORY_WINDOW_H

#include "history/history.h"

struct hf_window {
    uint32_t attempt; /* its place in the history */
    uint32_t lock;
    enum hf_kind kind;
    uint64_t from_us, until_us; /* from_us < until_us */
};

struct hf_windows {
    struct hf_window *all; /* by lock, then by from_us */
    size_t count;
};

/* False when there is no memory.  Wants hf_windows_free(). */
bool hf_windows_of(const struct hf_history *history,
                   struct hf_windows *windows);
void hf_windows_free(struct hf_windows *windows);

/* May these two, of one lock, not be held together? */
bool hf_attempts_conflict(const struct hf_attempt *a, enum hf_kind a_kind,
                          const struct hf_attempt *b, enum hf_kind b_kind);

#endif
