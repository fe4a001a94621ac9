/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hold intervals overtook an attempt?  An interval did if all of this is
 * true: it is of the same lock, it began while the ticket of the attempt was in
 * the queue, its own attempt conflicts with this one, and its own ticket came
 * only after that ticket.  A ticket came when its client began to want the
 * lock.  But if the client was granted with the same token before, it has kept
 * its ticket, which came with the first of these attempts.
 *
 * Before an attempt that waits for long there are thousands of intervals, and
 * hardly one of them overtook it.  So the intervals are the leaves of a tree,
 * and each inner node has the greatest values below it, as in a segment tree
 * (Bentley 1977).  A subtree in which no ticket came late enough is skipped as
 * a whole: to find one overtaker takes time in the order of log n.
 */
#ifndef HF_TORTURE_OVERTAKERS_H
#define HF_TORTURE_OVERTAKERS_H

#include "torture/hold_interval.h"

struct hf_overtakers_node;

struct hf_overtakers {
    const struct hf_history *history;          /* borrowed */
    const struct hf_hold_intervals *intervals; /* borrowed */
    uint64_t *came_us; /* for each interval: when the ticket came */
    struct hf_overtakers_node *nodes; /* node i has the children 2i and 2i +
                                         1 */
    size_t leaves;                    /* a power of two */
    size_t steps;                     /* how many nodes were looked at */
};

/* Build the tree of ${intervals}, which were found in ${history}.  Returns
 * false if there is no memory. */
bool hf_overtakers_init(struct hf_overtakers *overtakers,
                        const struct hf_history *history,
                        const struct hf_hold_intervals *intervals);
void hf_overtakers_free(struct hf_overtakers *overtakers);

/* Stands for the index of an interval where there is none. */
#define HF_OVERTAKERS_NONE SIZE_MAX

/* Return the last interval before the index ${before} that overtook the attempt
 * of the interval ${index}; HF_OVERTAKERS_NONE if there is none. */
size_t hf_overtakers_last(struct hf_overtakers *overtakers, size_t index,
                          size_t before);

#endif
