/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rule.h"

#include <assert.h>
#include <stddef.h>

#include "core/double_barrier.h"

/* The first ticket may be our own. */
static const char *holder(const struct hf_admission *admission,
                          const struct hf_snapshot *snapshot)
{
    if (admission->answer == HF_MISSING || admission->ahead == 0)
        return "";
    return snapshot->tickets[0].payload;
}

static struct hf_place lock_decide(const struct hf_rule_ticket *mine,
                                   const struct hf_snapshot *snapshot)
{
    struct hf_admission admission =
        hf_admission_decide(snapshot, &mine->id, mine->kind);

    return (struct hf_place){.admission = admission,
                             .holder = holder(&admission, snapshot)};
}

static bool lease_has_room(const struct hf_rule_ticket *mine,
                           const struct hf_snapshot *leases)
{
    return hf_admission_has_room(leases, mine->weight, mine->limit);
}

static struct hf_place lease_decide(const struct hf_rule_ticket *mine,
                                    const struct hf_snapshot *leases)
{
    struct hf_admission admission =
        hf_admission_decide_lease(leases, &mine->id, mine->limit);

    return (struct hf_place){.admission = admission,
                             .holder = holder(&admission, leases)};
}

static struct hf_place participant_decide(const struct hf_rule_ticket *mine,
                                          const struct hf_snapshot *snapshot)
{
    struct hf_enter enter =
        hf_double_barrier_decide_enter(snapshot, &mine->id, mine->limit);
    struct hf_place place = {
        .admission = {.answer = HF_WAIT_FOR, .ahead = enter.participants}};
    size_t count = enter.participants;

    if (enter.answer == HF_ENTER_MISSING) {
        place.admission.answer = HF_MISSING;
    } else if (enter.answer == HF_ENTER_PASS && enter.stamp > mine->token) {
        /* A server may say another token of our ticket than when it put it in:
         * the round that our grant is of is the one after the token that it
         * has. */
        place.admission.answer = HF_ADMITTED;
        place.stamp = enter.stamp;
    } else {
        place.stamps = enter.answer == HF_ENTER_STAMP;
        place.admission.blocking =
            count < mine->limit ? mine->limit - count + 1 : 1;
    }
    return place;
}

static const struct hf_rule lock = {
    .decide = lock_decide,
    .admits_for_good = true,
};

static const struct hf_rule lease = {
    .has_room = lease_has_room,
    .decide = lease_decide,
    .watches_queue = true,
};

static const struct hf_rule participant = {
    .decide = participant_decide,
    .watches_queue = true,
};

static const struct hf_rule *const rules[] = {
    [HF_TICKET_MUTEX] = &lock,    [HF_TICKET_READ] = &lock,
    [HF_TICKET_WRITE] = &lock,    [HF_TICKET_LEASE] = &lease,
    [HF_TICKET_ELECTION] = &lock, [HF_TICKET_PARTICIPANT] = &participant,
};

const struct hf_rule *hf_rule_of(enum hf_ticket_kind kind)
{
    assert(kind < sizeof(rules) / sizeof(rules[0]) && rules[kind] != NULL);
    return rules[kind];
}
