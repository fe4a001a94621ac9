/* SPDX-License-Identifier: Apache-2.0 */
/* See list_pace.h. */
#include "client/list_pace.h"

#include <holdfast/status.h>

#include "base/time_math.h"

void hf_list_pace_changed(struct hf_list_pace *pace, uint64_t now_ms)
{
    if (pace->changed)
        return;
    pace->changed = true;
    pace->changed_at_ms = now_ms;
}

void hf_list_pace_want(struct hf_list_pace *pace)
{
    pace->wanted = true;
}

uint64_t hf_list_pace_due_ms(const struct hf_list_pace *pace)
{
    return pace->changed || pace->wanted ? pace->next_at_ms : HF_FOREVER;
}

void hf_list_pace_begin(struct hf_list_pace *pace, uint64_t now_ms)
{
    pace->began_at_ms = now_ms;
    pace->for_change = pace->changed;
    pace->for_change_at_ms = pace->changed_at_ms;
    pace->changed = pace->wanted = false;
}

void hf_list_pace_connected(struct hf_list_pace *pace, uint64_t now_ms)
{
    pace->began_at_ms = now_ms;
}

bool hf_list_pace_end(struct hf_list_pace *pace, uint64_t now_ms)
{
    uint64_t took_ms = now_ms - pace->began_at_ms;
    uint64_t saved_since_ms = hf_before_ms(now_ms, HF_LIST_PACE_SAVED_MS);

    pace->used_until_ms =
        hf_after_ms(hf_max_ms(pace->used_until_ms, saved_since_ms),
                    took_ms * HF_LIST_PACE_SHARE);
    pace->next_at_ms = hf_max_ms(
        hf_after_ms(pace->began_at_ms, HF_LIST_PACE_MS), pace->used_until_ms);
    return pace->for_change &&
           now_ms - pace->for_change_at_ms > HF_LIST_PACE_LATE_MS;
}
