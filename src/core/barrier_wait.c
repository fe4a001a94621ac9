/* SPDX-License-Identifier: Apache-2.0 */
#include "core/barrier_wait.h"

/* The flag of the barrier in ${snapshot}; NULL: the barrier is clear. */
static const struct hf_ticket *find_flag(const struct hf_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (snapshot->tickets[i].kind == HF_TICKET_BARRIER)
            return &snapshot->tickets[i];
    return NULL;
}

bool hf_barrier_wait_is_over(struct hf_barrier_wait_state *state,
                             const struct hf_snapshot *snapshot)
{
    const struct hf_ticket *flag = find_flag(snapshot);

    if (flag == NULL)
        return true;
    if (state->was_set && (state->token != flag->token ||
                           !hf_ticket_id_equal(&state->id, &flag->id)))
        return true;
    *state = (struct hf_barrier_wait_state){true, flag->id, flag->token};
    return false;
}
