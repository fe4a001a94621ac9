/* SPDX-License-Identifier: Apache-2.0 */
#include "core/barrier.h"

static const struct hf_ticket *find_mark(const struct hf_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (snapshot->tickets[i].kind == HF_TICKET_BARRIER)
            return &snapshot->tickets[i];
    return NULL;
}

bool hf_barrier_passes(struct hf_barrier_sight *sight,
                       const struct hf_snapshot *snapshot)
{
    const struct hf_ticket *mark = find_mark(snapshot);

    if (mark == NULL)
        return true;
    if (sight->up && (sight->token != mark->token ||
                      !hf_ticket_id_equal(&sight->id, &mark->id)))
        return true;
    *sight = (struct hf_barrier_sight){true, mark->id, mark->token};
    return false;
}
