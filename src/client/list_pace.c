/* SPDX-License-Identifier: Apache-2.0 */
/* See list_pace.h. */
#include "client/list_pace.h"

#include "base/time_math.h"

/* The first of several changes counts. */
void hf_list_pace_changed(struct hf_list_pace *pace, uint64_t now_ms,
                          bool shown)
{
    bool *changed = shown ? &pace->for_change : &pace->changed;

    if (*changed)
        return;
    *changed = true;
    if (shown)
        pace->for_change_at_ms = now_ms;
    else
        pace->changed_at_ms = now_ms;
}

uint64_t hf_list_pace_next_at_ms(const struct hf_list_pace *pace)
{
    return pace->next_at_ms;
}

void hf_list_pace_postpone(struct hf_list_pace *pace, uint64_t at_ms)
{
    pace->next_at_ms = hf_max_ms(pace->next_at_ms, at_ms);
}

void hf_list_pace_begin(struct hf_list_pace *pace, uint64_t now_ms)
{
    pace->began_at_ms = now_ms;
    pace->for_change = pace->changed;
    pace->for_change_at_ms = pace->changed_at_ms;
    pace->changed = false;
}

void hf_list_pace_connected(struct hf_list_pace *pace, uint64_t now_ms)
{
    pace->began_at_ms = now_ms;
}

bool hf_list_pace_end(struct hf_list_pace *pace, uint64_t now_ms)
{
    uint64_t took_ms =
        hf_min_ms(now_ms - pace->began_at_ms, HF_LIST_PACE_TOOK_MS);
    uint64_t saved_since_ms = hf_before_ms(now_ms, HF_LIST_PACE_SAVED_MS);

    pace->used_until_ms =
        hf_after_ms(hf_max_ms(pace->used_until_ms, saved_since_ms),
                    took_ms * HF_LIST_PACE_SHARE);
    hf_list_pace_postpone(pace,
                          hf_after_ms(pace->began_at_ms, HF_LIST_PACE_MS));
    hf_list_pace_postpone(pace, pace->used_until_ms);
    return pace->for_change &&
           now_ms - pace->for_change_at_ms > HF_LIST_PACE_LATE_MS;
}
