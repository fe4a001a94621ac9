/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hold intervals overtook an attempt?  An interval did if it is of the
 * same lock, began while the ticket of the attempt was in the queue, and is of
 * a conflicting attempt whose ticket came only then.  A ticket came when its
 * client began to want the lock.  A client that was granted with the same token
 * before has kept its ticket, which came with the first of these attempts.
 *
 * An attempt that waits for long has thousands of intervals before its own, and
 * hardly one overtook it.  So the intervals are the leaves of a tree, and each
 * inner node says what is greatest below it, as in a segment tree (Bentley
 * 1977).  A subtree in which nobody began late enough is passed over as a
 * whole: finding one takes time in the order of log n.
 */
#ifndef HF_TORTURE_OVERTAKERS_H
#define HF_TORTURE_OVERTAKERS_H

#include "torture/hold_interval.h"

struct hf_overtakers_node;

struct hf_overtakers {
    const struct hf_history *history;          /* borrowed */
    const struct hf_hold_intervals *intervals; /* borrowed */
    uint64_t *came_us; /* for each interval: when the ticket came */
    struct hf_overtakers_node *nodes; /* node i has the children 2i, 2i + 1 */
    size_t leaves;                    /* a power of two */
    size_t steps;                     /* nodes that were looked at */
};

/* Build the tree of ${intervals}, which were found in ${history}.  False if
 * there is no memory. */
bool hf_overtakers_init(struct hf_overtakers *overtakers,
                        const struct hf_history *history,
                        const struct hf_hold_intervals *intervals);
void hf_overtakers_free(struct hf_overtakers *overtakers);

/* In place of an index: no interval. */
#define HF_OVERTAKERS_NONE SIZE_MAX

/* The last interval before the index ${before} that overtook the attempt of the
 * interval ${index}, or HF_OVERTAKERS_NONE. */
size_t hf_overtakers_last(struct hf_overtakers *overtakers, size_t index,
                          size_t before);

#endif
