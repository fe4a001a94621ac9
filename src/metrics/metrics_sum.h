/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of blocks: of one client, or of the files of many clients.
 *
 * A sum can be written as a file and be read again.  Such a file is a block
 * with any number of entries.
 */
#ifndef HF_METRICS_METRICS_SUM_H
#define HF_METRICS_METRICS_SUM_H

#include "metrics/metrics_block.h"

/* The most names that hf_metrics_sum_trim() leaves.  Other names, those with
 * the least weight, are counted together. */
#define HF_METRICS_SUM_NAMES 1024

/* A name with numbers of its own in a sum. */
struct hf_metrics_sum_name {
    uint64_t id;
    uint64_t weight;
    char text[HF_METRICS_NAME_BYTES];
    struct hf_lock_stats stats; /* .name is not set */
};

/* A sum.  All bytes zero: the sum of nothing. */
struct hf_metrics_sum {
    struct hf_lock_stats all;
    struct hf_lock_stats named; /* sum of all names */
    uint64_t ended[HF_METRICS_STATUSES];
    uint64_t reconnects;
    uint64_t suspensions;
    uint64_t sessions_lost;
    uint64_t deadlock_searches_cut;
    struct hf_histogram round_trip;
    struct hf_metrics_sum_name *names; /* in no order */
    size_t count;
    size_t room;
};

/* Is each number of ${block} at most ${most}?  ${entries} entries of the block
 * were read.  They may come from another user and contain anything. */
bool hf_metrics_sum_check(const struct hf_metrics_block *block, size_t entries,
                          uint64_t most);

/* Add ${block}, which was checked and of which ${entries} entries were read.
 * No number rises above HF_METRICS_SUM_MAX.  An entry with a name that no
 * client would write counts among the others.  Returns false if there is no
 * memory; then the sum cannot be used. */
bool hf_metrics_sum_add(struct hf_metrics_sum *sum,
                        const struct hf_metrics_block *block, size_t entries);

/* Keep only the HF_METRICS_SUM_NAMES names with the greatest weight. */
void hf_metrics_sum_trim(struct hf_metrics_sum *sum);

/* Write ${sum} to ${block}, which must be all zero and have room for .count
 * entries.  Of the header only .used is set. */
void hf_metrics_sum_write(const struct hf_metrics_sum *sum,
                          struct hf_metrics_block *block);

/* Set ${others} to the sum of the names that have no numbers of their own. */
void hf_metrics_sum_others(const struct hf_metrics_sum *sum,
                           struct hf_lock_stats *others);

void hf_metrics_sum_free(struct hf_metrics_sum *sum);

#endif
