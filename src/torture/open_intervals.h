/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hold intervals of one lock that have begun and not ended, at an instant
 * that moves from one beginning to the next.
 *
 * Thousands of readers may hold at once.  So those that conflict with the same
 * others are in one group, whose members are counted and not looked at; and
 * what ends next, and the greatest limit of a semaphore, are at the head of a
 * heap.  To begin or to end an interval takes time in the order of log n.
 */
#ifndef HF_TORTURE_OPEN_INTERVALS_H
#define HF_TORTURE_OPEN_INTERVALS_H

#include "base/heap.h"
#include "torture/hold_interval.h"

enum hf_open_group {
    HF_OPEN_READERS,
    HF_OPEN_PERMITS, /* of a semaphore */
    HF_OPEN_OTHERS,  /* each conflicts with each of these and with readers */
    HF_OPEN_GROUPS,
};

/* No interval. */
#define HF_OPEN_NONE SIZE_MAX

struct hf_open_interval {
    struct hf_heap_node end;   /* in .ends */
    struct hf_heap_node limit; /* in .limits, of permits */
    size_t previous, next;     /* in its group, or HF_OPEN_NONE */
};

struct hf_open_intervals {
    const struct hf_history *history;          /* borrowed */
    const struct hf_hold_intervals *intervals; /* borrowed */
    struct hf_open_interval *items; /* as many as there are intervals */
    struct hf_heap ends;            /* of all that are open, by their end */
    struct hf_heap limits;          /* of permits, the greatest first */
    struct {
        size_t first, last; /* by their beginning, or HF_OPEN_NONE */
        size_t count;
    } groups[HF_OPEN_GROUPS];
    uint64_t permits; /* the sum of the permits that are held */
    size_t steps;     /* intervals that were begun, ended or looked at */
};

/* None of ${intervals}, which were found in ${history}, is open.  False if
 * there is no memory. */
bool hf_open_intervals_init(struct hf_open_intervals *open,
                            const struct hf_history *history,
                            const struct hf_hold_intervals *intervals);
void hf_open_intervals_free(struct hf_open_intervals *open);

/* The group of ${interval}. */
enum hf_open_group
hf_open_intervals_group(const struct hf_hold_interval *interval);

/* End what has ended when the interval ${index} begins, and all that is of
 * another lock. */
void hf_open_intervals_end(struct hf_open_intervals *open, size_t index);

/* The interval ${index} is open from now on; to be called in their order. */
void hf_open_intervals_begin(struct hf_open_intervals *open, size_t index);

/* The greatest number of permits that an owner of permits said there are; 0: no
 * permit is held. */
uint32_t hf_open_intervals_limit(const struct hf_open_intervals *open);

#endif
