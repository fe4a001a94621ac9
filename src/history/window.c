/* SPDX-License-Identifier: Apache-2.0 */
#include "history/window.h"

#include <stdlib.h>

#include "core/memory.h"

bool hf_attempts_conflict(const struct hf_attempt *a, enum hf_kind a_kind,
                          const struct hf_attempt *b, enum hf_kind b_kind)
{
    uint32_t limit = a->limit > b->limit ? a->limit : b->limit;

    if (a_kind == HF_KIND_SEMAPHORE && b_kind == HF_KIND_SEMAPHORE)
        return (uint64_t)a->permits + b->permits > limit;
    /* A semaphore and other locks of its name do not see each other. */
    if (a_kind == HF_KIND_SEMAPHORE || b_kind == HF_KIND_SEMAPHORE)
        return false;
    return a_kind != HF_KIND_READ || b_kind != HF_KIND_READ;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void add(struct hf_windows *windows, const struct hf_window *window)
{
    if (window->from_us < window->until_us)
        windows->all[windows->count++] = *window;
}

static void add_all(struct hf_windows *windows,
                    const struct hf_attempt *attempt, uint32_t place)
{
    struct hf_window window = {
        .attempt = place,
        .lock = attempt->lock,
        .kind = attempt->kind,
        .from_us = attempt->granted_us,
    };
    uint64_t until_us = least(attempt->ended_us, hf_attempt_until_us(attempt));

    window.until_us = least(until_us, attempt->shared_us);
    add(windows, &window);
    if (attempt->shared_us == HF_FOREVER)
        return;
    window.kind = HF_KIND_READ;
    window.from_us = attempt->shared_us;
    window.until_us = until_us;
    add(windows, &window);
}

static int compare(const void *a, const void *b)
{
    const struct hf_window *x = a, *y = b;

    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    if (x->from_us != y->from_us)
        return x->from_us < y->from_us ? -1 : 1;
    return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

bool hf_windows_of(const struct hf_history *history, struct hf_windows *windows)
{
    *windows = (struct hf_windows){0};
    /* One more, so that it is never none. */
    windows->all = hf_alloc((2 * (size_t)history->attempt_count + 1) *
                            sizeof *windows->all);
    if (windows->all == NULL)
        return false;
    for (uint32_t i = 0; i < history->attempt_count; i++)
        if (history->attempts[i].granted_us != HF_FOREVER)
            add_all(windows, &history->attempts[i], i);
    qsort(windows->all, windows->count, sizeof *windows->all, compare);
    return true;
}

void hf_windows_free(struct hf_windows *windows)
{
    hf_free(windows->all);
    *windows = (struct hf_windows){0};
}
