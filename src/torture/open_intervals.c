/* SPDX-License-Identifier: Apache-2.0 */
/* See open_intervals.h. */
#include "torture/open_intervals.h"

#include "base/memory.h"

bool hf_open_intervals_init(struct hf_open_intervals *open,
                            const struct hf_history *history,
                            const struct hf_hold_intervals *intervals)
{
    *open =
        (struct hf_open_intervals){.history = history, .intervals = intervals};
    for (size_t i = 0; i < HF_OPEN_GROUPS; i++)
        open->groups[i].first = open->groups[i].last = HF_OPEN_NONE;
    /* One more than needed, because nothing is not allocated. */
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

/* The interval ${index} has ended: take it out of everything. */
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
