/* SPDX-License-Identifier: Apache-2.0 */
/* The engine has said when that was and how long ago, so the clock of this
 * machine is not read. */
#include "cli/once_per.h"

#include <time.h>

/* Are both on one day?  Then ${due_in_ms} is the time until the next one. */
static bool is_same_day(int64_t then_ms, int64_t now_ms, uint64_t *due_in_ms)
{
    time_t then_s = (time_t)(then_ms / 1000), now_s = (time_t)(now_ms / 1000);
    struct tm then, now;

    if (localtime_r(&then_s, &then) == NULL ||
        localtime_r(&now_s, &now) == NULL)
        return false;
    if (then.tm_year != now.tm_year || then.tm_yday != now.tm_yday)
        return false;
    now.tm_mday++;
    now.tm_hour = now.tm_min = now.tm_sec = 0;
    now.tm_isdst = -1;
    *due_in_ms = (uint64_t)((int64_t)mktime(&now) * 1000 - now_ms);
    return true;
}

bool hf_once_per_is_early(uint64_t period_ms, const struct hf_success *last,
                          uint64_t *due_in_ms)
{
    uint64_t age_ms = last->age_ms > 0 ? (uint64_t)last->age_ms : 0;

    if (last->token == 0)
        return false;
    if (period_ms == HF_ONCE_PER_DAY)
        return is_same_day(last->at_utc_ms, last->at_utc_ms + (int64_t)age_ms,
                           due_in_ms);
    *due_in_ms = period_ms > age_ms ? period_ms - age_ms : 0;
    return age_ms < period_ms;
}
