/* SPDX-License-Identifier: Apache-2.0 */
#include "core/admission.h"

#include <assert.h>

#include "core/plant.h"

#define KIND_BIT(kind) (1u << (kind))

/* Kinds of one family may share a queue. */
enum family { FAMILY_MUTEX, FAMILY_READ_WRITE };

struct rule {
    enum family family;
    unsigned waits_for; /* kinds that stand in the way when ahead */
    unsigned must_list; /* kinds whose going never admits without a list */
};

static const struct rule rules[] = {
    [HF_TICKET_MUTEX] = {FAMILY_MUTEX, KIND_BIT(HF_TICKET_MUTEX), 0},
    [HF_TICKET_READ] = {FAMILY_READ_WRITE, KIND_BIT(HF_TICKET_WRITE), 0},
    [HF_TICKET_WRITE] = {FAMILY_READ_WRITE,
                         KIND_BIT(HF_TICKET_READ) | KIND_BIT(HF_TICKET_WRITE),
                         KIND_BIT(HF_TICKET_WRITE)},
};

static const struct rule *rule_of(const struct hf_ticket *ticket)
{
    assert(ticket->kind >= HF_TICKET_MUTEX && ticket->kind <= HF_TICKET_WRITE);
    return &rules[ticket->kind];
}

/* Count ${ticket}, found in the way and further ahead than those before. */
static void stand_in_the_way(struct hf_admission *admission,
                             const struct hf_ticket *ticket)
{
    admission->answer = HF_WAIT_FOR;
    admission->blocking++;
    if (admission->before == NULL || HF_PLANTED(WATCH_FIRST))
        admission->before = ticket;
    else if (admission->beyond == NULL)
        admission->beyond = ticket;
}

struct hf_admission hf_admission_decide(const struct hf_snapshot *snapshot,
                                        const struct hf_ticket_id *mine)
{
    struct hf_admission admission = {.answer = HF_ADMITTED,
                                     .gone_admits = true};
    size_t place = hf_snapshot_find(snapshot, mine);
    const struct rule *rule;

    if (place == snapshot->count) {
        admission.answer = HF_MISSING;
        return admission;
    }
    rule = rule_of(&snapshot->tickets[place]);
    admission.ahead = place;
    for (size_t i = place; i-- > 0;) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];

        assert(hf_ticket_compare(ticket, ticket + 1) <= 0);
        if (rule_of(ticket)->family != rule->family) {
            admission.answer = HF_WRONG_KIND;
            admission.before = ticket;
            return admission;
        }
        if (HF_PLANTED(READ_PASSES_WRITE) &&
            snapshot->tickets[place].kind == HF_TICKET_READ)
            continue;
        if (rule->waits_for & KIND_BIT(ticket->kind))
            stand_in_the_way(&admission, ticket);
        if (rule->must_list & KIND_BIT(ticket->kind) &&
            !HF_PLANTED(GONE_ADMITS_WRITER))
            admission.gone_admits = false;
    }
    return admission;
}
