/* SPDX-License-Identifier: Apache-2.0 */
/* The rules in terms of admission.h and double_barrier_rule.h. */
#include "core/admission_rule.h"

#include <assert.h>
#include <stddef.h>

#include "core/double_barrier_rule.h"

/* The payload of the first ticket, if that is not our own. */
static const char *holder(const struct hf_admission *admission,
                          const struct hf_snapshot *snapshot)
{
    if (admission->answer == HF_MISSING || admission->ahead == 0)
        return "";
    return snapshot->tickets[0].payload;
}

/* Locks and elections: the tickets ahead decide. */
static struct hf_admission_decision
lock_decide(const struct hf_admission_ticket *own,
            const struct hf_snapshot *snapshot)
{
    struct hf_admission admission =
        hf_admission_decide(snapshot, &own->id, own->kind);

    return (struct hf_admission_decision){
        .admission = admission, .holder = holder(&admission, snapshot)};
}

static bool lease_has_room(const struct hf_admission_ticket *own,
                           const struct hf_snapshot *leases)
{
    return hf_admission_has_room(leases, own->weight, own->limit);
}

/* Leases: the permits ahead decide. */
static struct hf_admission_decision
lease_decide(const struct hf_admission_ticket *own,
             const struct hf_snapshot *leases)
{
    struct hf_admission admission =
        hf_admission_decide_lease(leases, &own->id, own->limit);

    return (struct hf_admission_decision){.admission = admission,
                                          .holder = holder(&admission, leases)};
}

/* A participant is admitted by a generation that began after its enqueue.  If
 * enough participants are there and no such generation has begun, it requests
 * one. */
static struct hf_admission_decision
participant_decide(const struct hf_admission_ticket *own,
                   const struct hf_snapshot *snapshot)
{
    struct hf_enter_decision enter =
        hf_double_barrier_decide_enter(snapshot, &own->id, own->limit);
    struct hf_admission_decision decision = {
        .admission = {.answer = HF_WAIT_FOR, .ahead = enter.participants}};
    size_t participants = enter.participants;

    if (enter.answer == HF_ENTER_MISSING) {
        decision.admission.answer = HF_MISSING;
    } else if (enter.answer == HF_ENTER_PASS && enter.generation > own->token) {
        /* A server may report another token for our ticket than it did at the
         * enqueue.  The generation must be newer than both, because our round
         * is counted from the token that the ticket had then. */
        decision.admission.answer = HF_ADMITTED;
        decision.generation = enter.generation;
    } else {
        decision.starts_generation = enter.answer == HF_ENTER_NEW_GENERATION;
        decision.admission.blocking =
            participants < own->limit ? own->limit - participants + 1 : 1;
    }
    return decision;
}

static const struct hf_admission_rule lock_rule = {
    .decide = lock_decide,
    .admission_is_final = true,
};

static const struct hf_admission_rule lease_rule = {
    .has_room = lease_has_room,
    .decide = lease_decide,
    .watches_queue = true,
};

static const struct hf_admission_rule participant_rule = {
    .decide = participant_decide,
    .watches_queue = true,
};

static const struct hf_admission_rule *const rules[] = {
    [HF_TICKET_MUTEX] = &lock_rule,
    [HF_TICKET_READ] = &lock_rule,
    [HF_TICKET_WRITE] = &lock_rule,
    [HF_TICKET_LEASE] = &lease_rule,
    [HF_TICKET_ELECTION] = &lock_rule,
    [HF_TICKET_PARTICIPANT] = &participant_rule,
};

const struct hf_admission_rule *hf_admission_rule_of(enum hf_ticket_kind kind)
{
    assert(kind < sizeof(rules) / sizeof(rules[0]) && rules[kind] != NULL);
    return rules[kind];
}
