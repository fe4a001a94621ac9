/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what blocks what, and the walks over a queue that apply it. */
#include "core/admission.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define KIND_BIT(kind) (1u << (kind))

/* Sets of kinds, for one kind of ticket. */
struct kind_conflicts {
    unsigned waits_for;    /* these block it when they are ahead */
    unsigned relist_after; /* after the end of these it is never admitted
                              without a new list */
    unsigned wrong_kind;   /* these belong to another kind of lock */
};

#define MUTEX KIND_BIT(HF_TICKET_MUTEX)
#define READ KIND_BIT(HF_TICKET_READ)
#define WRITE KIND_BIT(HF_TICKET_WRITE)
#define LEASE KIND_BIT(HF_TICKET_LEASE)
#define ELECTION KIND_BIT(HF_TICKET_ELECTION)
#define EXCLUSIVE KIND_BIT(HF_TICKET_EXCLUSIVE)

/* A mutex or an election also lists after an exclusive ticket: if that was a
 * writer that was downgraded, the list shows that the name is in use as a
 * read/write lock. */
static const struct kind_conflicts conflicts[] = {
    [HF_TICKET_MUTEX] = {MUTEX | EXCLUSIVE, EXCLUSIVE,
                         READ | WRITE | LEASE | ELECTION},
    [HF_TICKET_READ] = {WRITE | EXCLUSIVE, 0, MUTEX | LEASE | ELECTION},
    [HF_TICKET_WRITE] = {READ | WRITE | EXCLUSIVE, WRITE | EXCLUSIVE,
                         MUTEX | LEASE | ELECTION},
    [HF_TICKET_LEASE] = {0, 0, MUTEX | READ | WRITE | EXCLUSIVE | ELECTION},
    [HF_TICKET_ELECTION] = {ELECTION | EXCLUSIVE, EXCLUSIVE,
                            MUTEX | READ | WRITE | LEASE},
};

/* Is one a semaphore's entry mutex, and the other a lock with that name? */
static bool differ_in_role(const struct hf_ticket_id *a,
                           const struct hf_ticket_id *b)
{
    enum hf_ticket_role role = hf_ticket_id_role(a);
    enum hf_ticket_role other = hf_ticket_id_role(b);

    return role != HF_ROLE_UNKNOWN && other != HF_ROLE_UNKNOWN && role != other;
}

/* Count ${ticket}, which blocks and is further ahead than those counted before.
 * Invariant 3: each ticket ahead that excludes ours counts, until it is seen to
 * have gone. */
static void count_blocking(struct hf_admission *admission,
                           const struct hf_ticket *ticket)
{
    admission->answer = HF_WAIT_FOR;
    admission->blocking++;
    if (admission->nearest == NULL)
        admission->nearest = ticket;
    else if (admission->second == NULL)
        admission->second = ticket;
}

struct hf_admission hf_admission_decide(const struct hf_snapshot *snapshot,
                                        const struct hf_ticket_id *mine,
                                        enum hf_ticket_kind kind)
{
    struct hf_admission admission = {.answer = HF_ADMITTED,
                                     .gone_admits = true};
    size_t position = hf_snapshot_find(snapshot, mine);
    const struct kind_conflicts *row = &conflicts[kind];

    assert(kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_QUEUED_LAST);
    if (position == snapshot->count) {
        admission.answer = HF_MISSING;
        return admission;
    }
    admission.ahead = position + snapshot->more_ahead;
    for (size_t i = position; i-- > 0;) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];
        unsigned bit = KIND_BIT(ticket->kind);

        assert(hf_ticket_compare(ticket, ticket + 1) <= 0);
        if (row->wrong_kind & bit || differ_in_role(mine, &ticket->id)) {
            admission.answer = HF_WRONG_KIND;
            admission.nearest = ticket;
            return admission;
        }
        if (row->waits_for & bit)
            count_blocking(&admission, ticket);
        if (row->relist_after & bit)
            admission.gone_admits = false;
    }
    return admission;
}

bool hf_admission_concerns(const struct hf_ticket_id *mine,
                           enum hf_ticket_kind kind,
                           const struct hf_ticket_id *id,
                           enum hf_ticket_kind of)
{
    unsigned kinds = conflicts[kind].waits_for | conflicts[kind].wrong_kind;

    assert(kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_QUEUED_LAST);
    return (kinds & KIND_BIT(of)) != 0 || differ_in_role(mine, id);
}

void hf_admission_trim(struct hf_snapshot *snapshot, struct hf_ticket *tickets,
                       const struct hf_ticket_id *mine,
                       enum hf_ticket_kind kind)
{
    size_t position = hf_snapshot_find(snapshot, mine);
    size_t first = position; /* the first ticket that stays */
    size_t nearest = HF_ADMISSION_NEAREST;

    assert(kind != HF_TICKET_LEASE && tickets == snapshot->tickets);
    if (position == snapshot->count) {
        snapshot->count = position > 0;
        return;
    }
    for (size_t i = position; i-- > 1 && position - first < nearest;) {
        if (hf_admission_concerns(mine, kind, &tickets[i].id, tickets[i].kind))
            tickets[--first] = tickets[i];
    }
    if (position > 0)
        tickets[--first] = tickets[0];
    snapshot->tickets += first;
    snapshot->count = position - first + 1;
    snapshot->more_ahead += first;
}

/* The permits of the first ${count} leases. */
static uint64_t permits(const struct hf_snapshot *leases, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += leases->tickets[i].weight;
    return sum;
}

struct hf_admission hf_admission_decide_lease(const struct hf_snapshot *leases,
                                              const struct hf_ticket_id *mine,
                                              uint32_t limit)
{
    struct hf_admission admission =
        hf_admission_decide(leases, mine, HF_TICKET_LEASE);

    assert(leases->more_ahead == 0);
    if (admission.answer != HF_ADMITTED)
        return admission;
    /* Only those ahead count.  If two clients were first in the queue of the
     * entry mutex at once, this order decides between their leases. */
    if (permits(leases, admission.ahead + 1) > limit) {
        admission.answer = HF_WAIT_FOR;
        admission.blocking = 1;
        admission.gone_admits = false;
    }
    return admission;
}

const struct hf_ticket *
hf_admission_not_a_lease(const struct hf_snapshot *leases)
{
    for (size_t i = 0; i < leases->count; i++) {
        if (conflicts[HF_TICKET_LEASE].wrong_kind &
            KIND_BIT(leases->tickets[i].kind))
            return &leases->tickets[i];
    }
    return NULL;
}

bool hf_admission_has_room(const struct hf_snapshot *leases, uint32_t weight,
                           uint32_t limit)
{
    return permits(leases, leases->count) + weight <= limit;
}

/* May a ticket of ${kind} enter behind tickets of the kinds ${ahead}?  Leases
 * enter their queue only if there is room, so every one that is seen is held.
 */
static bool is_admitted_behind(enum hf_ticket_kind kind, unsigned ahead)
{
    if (kind == HF_TICKET_EXCLUSIVE) /* it may be any of three kinds */
        return ahead == 0;
    return !(ahead & (conflicts[kind].waits_for | conflicts[kind].wrong_kind));
}

void hf_admission_mark_admitted(const struct hf_snapshot *snapshot,
                                bool *admitted)
{
    unsigned ahead = 0;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];

        assert(i == 0 || hf_ticket_compare(ticket - 1, ticket) <= 0);
        admitted[i] = is_admitted_behind(ticket->kind, ahead);
        ahead |= KIND_BIT(ticket->kind);
    }
}

/* ------------------------------------------------------ double barriers -- */

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
                               uint32_t participants)
{
    struct hf_enter_decision enter = {.answer = HF_ENTER_WAIT};
    size_t position = hf_snapshot_find(snapshot, mine);

    for (size_t i = 0; i < snapshot->count; i++)
        count_ticket(&enter, &snapshot->tickets[i]);
    if (position == snapshot->count)
        enter.answer = HF_ENTER_MISSING;
    else if (enter.generation > snapshot->tickets[position].token)
        enter.answer = HF_ENTER_PASS;
    else if (enter.participants >= participants)
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

/* ---------------------------------------------------- the rules by kind -- */

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
