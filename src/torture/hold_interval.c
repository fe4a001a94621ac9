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
    /* A semaphore and another lock with the same name are independent. */
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

/* Add the one or two intervals of ${attempt}, which was granted. */
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

/* Compare by lock, then by time, then by attempt. */
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
    /* One more than needed, because 0 bytes cannot be allocated. */
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

/* ------------------------------------------------------- open intervals -- */

bool hf_open_intervals_init(struct hf_open_intervals *open,
                            const struct hf_history *history,
                            const struct hf_hold_intervals *intervals)
{
    *open =
        (struct hf_open_intervals){.history = history, .intervals = intervals};
    for (size_t i = 0; i < HF_OPEN_GROUPS; i++)
        open->groups[i].first = open->groups[i].last = HF_OPEN_NONE;
    /* One more than needed, because 0 bytes cannot be allocated. */
    open->items = hf_alloc((intervals->count + 1) * sizeof *open->items);
    return open->items != NULL;
}

void hf_open_intervals_free(struct hf_open_intervals *open)
{
    hf_free(open->items);
    *open = (struct hf_open_intervals){0};
}

enum hf_open_group
hf_open_intervals_group(const struct hf_hold_interval *interval)
{
    if (interval->kind == HF_KIND_SEMAPHORE)
        return HF_OPEN_PERMITS;
    return interval->kind == HF_KIND_READ ? HF_OPEN_READERS : HF_OPEN_OTHERS;
}

static const struct hf_history_attempt *
attempt_of(const struct hf_open_intervals *open, size_t index)
{
    return &open->history->attempts[open->intervals->items[index].attempt];
}

/* End the interval ${index}: remove it from its group and the heaps, and
 * subtract its permits. */
static void end_one(struct hf_open_intervals *open, size_t index)
{
    struct hf_open_interval *item = &open->items[index];
    enum hf_open_group group =
        hf_open_intervals_group(&open->intervals->items[index]);

    open->steps++;
    hf_heap_remove(&item->end);
    hf_heap_remove(&item->limit);
    if (item->previous == HF_OPEN_NONE)
        open->groups[group].first = item->next;
    else
        open->items[item->previous].next = item->next;
    if (item->next == HF_OPEN_NONE)
        open->groups[group].last = item->previous;
    else
        open->items[item->next].previous = item->previous;
    open->groups[group].count--;
    if (group == HF_OPEN_PERMITS)
        open->permits -= attempt_of(open, index)->permits;
}

void hf_open_intervals_end(struct hf_open_intervals *open, size_t index)
{
    const struct hf_hold_interval *items = open->intervals->items;
    const struct hf_heap_node *next;

    while ((next = open->ends.first) != NULL &&
           (next->key <= items[index].from_us ||
            items[next->number].lock != items[index].lock))
        end_one(open, (size_t)next->number);
}

void hf_open_intervals_begin(struct hf_open_intervals *open, size_t index)
{
    const struct hf_hold_interval *interval = &open->intervals->items[index];
    const struct hf_history_attempt *attempt = attempt_of(open, index);
    enum hf_open_group group = hf_open_intervals_group(interval);
    struct hf_open_interval *item = &open->items[index];

    open->steps++;
    item->previous = open->groups[group].last;
    item->next = HF_OPEN_NONE;
    if (item->previous == HF_OPEN_NONE)
        open->groups[group].first = index;
    else
        open->items[item->previous].next = index;
    open->groups[group].last = index;
    open->groups[group].count++;
    hf_heap_add(&open->ends, &item->end, interval->until_us, index);
    if (group != HF_OPEN_PERMITS)
        return;
    open->permits += attempt->permits;
    hf_heap_add(&open->limits, &item->limit, UINT32_MAX - attempt->limit,
                index);
}

uint32_t hf_open_intervals_limit(const struct hf_open_intervals *open)
{
    return open->limits.first == NULL
               ? 0
               : UINT32_MAX - (uint32_t)open->limits.first->key;
}
