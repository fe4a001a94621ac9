/* SPDX-License-Identifier: Apache-2.0 */
#include "core/double_barrier_rule.h"

#include <string.h>

/* Count ${ticket} as what it is: the flag READY, or a participant. */
static void count_ticket(struct hf_enter_decision *enter,
                         const struct hf_ticket *ticket)
{
    if (ticket->kind == HF_TICKET_READY)
        enter->generation = ticket->token;
    enter->participants += ticket->kind == HF_TICKET_PARTICIPANT;
}

struct hf_enter_decision
hf_double_barrier_decide_enter(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint32_t parties)
{
    struct hf_enter_decision enter = {.answer = HF_ENTER_WAIT};
    size_t position = hf_snapshot_find(snapshot, mine);

    for (size_t i = 0; i < snapshot->count; i++)
        count_ticket(&enter, &snapshot->tickets[i]);
    if (position == snapshot->count)
        enter.answer = HF_ENTER_MISSING;
    else if (enter.generation > snapshot->tickets[position].token)
        enter.answer = HF_ENTER_PASS;
    else if (enter.participants >= parties)
        enter.answer = HF_ENTER_NEW_GENERATION;
    return enter;
}

/* Is the id ${a} lower than ${b}? */
static bool is_lower(const struct hf_ticket_id *a, const struct hf_ticket_id *b)
{
    return memcmp(a->bytes, b->bytes, HF_TICKET_ID_BYTES) < 0;
}

enum hf_leave_answer
hf_double_barrier_decide_leave(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint64_t generation, bool keeps_ticket)
{
    enum hf_leave_answer answer = HF_LEAVE_PASS;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];

        if (ticket->kind != HF_TICKET_PARTICIPANT ||
            ticket->token >= generation ||
            hf_ticket_id_equal(&ticket->id, mine))
            continue;
        if (keeps_ticket && is_lower(&ticket->id, mine))
            return HF_LEAVE_YIELD;
        answer = HF_LEAVE_WAIT;
    }
    return answer;
}
