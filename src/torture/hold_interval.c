/* SPDX-License-Identifier: Apache-2.0 */
/* See hold_interval.h. */
#include "torture/hold_interval.h"

#include <stdlib.h>

#include "base/memory.h"

bool hf_history_attempts_conflict(const struct hf_history_attempt *a,
                                  enum hf_kind a_kind,
                                  const struct hf_history_attempt *b,
                                  enum hf_kind b_kind)
{
    uint32_t limit = a->limit > b->limit ? a->limit : b->limit;

    if (a_kind == HF_KIND_SEMAPHORE && b_kind == HF_KIND_SEMAPHORE)
        return (uint64_t)a->permits + b->permits > limit;
    /* A semaphore and a lock of the same name are independent of each other. */
    if (a_kind == HF_KIND_SEMAPHORE || b_kind == HF_KIND_SEMAPHORE)
        return false;
    return a_kind != HF_KIND_READ || b_kind != HF_KIND_READ;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Add ${interval} unless it is empty. */
static void add_interval(struct hf_hold_intervals *intervals,
                         const struct hf_hold_interval *interval)
{
    if (interval->from_us < interval->until_us)
        intervals->items[intervals->count++] = *interval;
}

/* Add the one or two intervals of an attempt that was granted. */
static void add_intervals_of(struct hf_hold_intervals *intervals,
                             const struct hf_history_attempt *attempt,
                             uint32_t index)
{
    struct hf_hold_interval interval = {
        .attempt = index,
        .lock = attempt->lock,
        .kind = attempt->kind,
        .from_us = attempt->granted_us,
    };
    uint64_t until_us =
        min_u64(attempt->ended_us, hf_history_attempt_until_us(attempt));

    interval.until_us = min_u64(until_us, attempt->shared_us);
    add_interval(intervals, &interval);
    if (attempt->shared_us == HF_FOREVER)
        return;
    interval.kind = HF_KIND_READ;
    interval.from_us = attempt->shared_us;
    interval.until_us = until_us;
    add_interval(intervals, &interval);
}

/* By lock, then by time, then by attempt. */
static int compare_intervals(const void *a, const void *b)
{
    const struct hf_hold_interval *x = a, *y = b;

    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    if (x->from_us != y->from_us)
        return x->from_us < y->from_us ? -1 : 1;
    return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

bool hf_hold_intervals_find(const struct hf_history *history,
                            struct hf_hold_intervals *intervals)
{
    *intervals = (struct hf_hold_intervals){0};
    /* One more than needed, because nothing is not allocated. */
    intervals->items = hf_alloc((2 * (size_t)history->attempt_count + 1) *
                                sizeof *intervals->items);
    if (intervals->items == NULL)
        return false;
    for (uint32_t i = 0; i < history->attempt_count; i++)
        if (history->attempts[i].granted_us != HF_FOREVER)
            add_intervals_of(intervals, &history->attempts[i], i);
    qsort(intervals->items, intervals->count, sizeof *intervals->items,
          compare_intervals);
    return true;
}

void hf_hold_intervals_free(struct hf_hold_intervals *intervals)
{
    hf_free(intervals->items);
    *intervals = (struct hf_hold_intervals){0};
}
