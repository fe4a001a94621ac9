/* SPDX-License-Identifier: Apache-2.0 */
#include "core/admission.h"

#include <assert.h>

#define KIND_BIT(kind) (1u << (kind))

/* Sets of kinds. */
struct rule {
    unsigned waits_for; /* stand in the way when ahead */
    unsigned must_list; /* their going never admits without a list */
    unsigned foreign;   /* belong to another kind of lock */
};

#define MUTEX KIND_BIT(HF_TICKET_MUTEX)
#define READ KIND_BIT(HF_TICKET_READ)
#define WRITE KIND_BIT(HF_TICKET_WRITE)
#define LEASE KIND_BIT(HF_TICKET_LEASE)
#define ELECTION KIND_BIT(HF_TICKET_ELECTION)
#define EXCLUSIVE KIND_BIT(HF_TICKET_EXCLUSIVE)

/* A mutex, or an election, lists behind an exclusive ticket too: should that be
 * a writer that downgrades, the list says that the name is a read/write lock's.
 */
static const struct rule rules[] = {
    [HF_TICKET_MUTEX] = {MUTEX | EXCLUSIVE, EXCLUSIVE,
                         READ | WRITE | LEASE | ELECTION},
    [HF_TICKET_READ] = {WRITE | EXCLUSIVE, 0, MUTEX | LEASE | ELECTION},
    [HF_TICKET_WRITE] = {READ | WRITE | EXCLUSIVE, WRITE | EXCLUSIVE,
                         MUTEX | LEASE | ELECTION},
    [HF_TICKET_LEASE] = {0, 0, MUTEX | READ | WRITE | EXCLUSIVE | ELECTION},
    [HF_TICKET_ELECTION] = {ELECTION | EXCLUSIVE, EXCLUSIVE,
                            MUTEX | READ | WRITE | LEASE},
};

/* One is a semaphore's entry mutex, and the other a lock of that name. */
static bool differ_in_role(const struct hf_ticket_id *a,
                           const struct hf_ticket_id *b)
{
    enum hf_ticket_role role = hf_ticket_id_role(a);
    enum hf_ticket_role other = hf_ticket_id_role(b);

    return role != HF_ROLE_UNKNOWN && other != HF_ROLE_UNKNOWN && role != other;
}

/* Count ${ticket}, found in the way and further ahead than those before.
 * Invariant 3: each ticket ahead that excludes ours counts, until it is seen to
 * have gone. */
static void stand_in_the_way(struct hf_admission *admission,
                             const struct hf_ticket *ticket)
{
    admission->answer = HF_WAIT_FOR;
    admission->blocking++;
    if (admission->before == NULL)
        admission->before = ticket;
    else if (admission->beyond == NULL)
        admission->beyond = ticket;
}

struct hf_admission hf_admission_decide(const struct hf_snapshot *snapshot,
                                        const struct hf_ticket_id *mine,
                                        enum hf_ticket_kind kind)
{
    struct hf_admission admission = {.answer = HF_ADMITTED,
                                     .gone_admits = true};
    size_t place = hf_snapshot_find(snapshot, mine);
    const struct rule *rule = &rules[kind];

    assert(kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_ASKED_LAST);
    if (place == snapshot->count) {
        admission.answer = HF_MISSING;
        return admission;
    }
    admission.ahead = place + snapshot->more;
    for (size_t i = place; i-- > 0;) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];
        unsigned bit = KIND_BIT(ticket->kind);

        assert(hf_ticket_compare(ticket, ticket + 1) <= 0);
        if (rule->foreign & bit || differ_in_role(mine, &ticket->id)) {
            admission.answer = HF_WRONG_KIND;
            admission.before = ticket;
            return admission;
        }
        if (rule->waits_for & bit)
            stand_in_the_way(&admission, ticket);
        if (rule->must_list & bit)
            admission.gone_admits = false;
    }
    return admission;
}

bool hf_admission_concerns(const struct hf_ticket_id *mine,
                           enum hf_ticket_kind kind,
                           const struct hf_ticket_id *id,
                           enum hf_ticket_kind of)
{
    unsigned kinds = rules[kind].waits_for | rules[kind].foreign;

    assert(kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_ASKED_LAST);
    return (kinds & KIND_BIT(of)) != 0 || differ_in_role(mine, id);
}

void hf_admission_trim(struct hf_snapshot *snapshot, struct hf_ticket *tickets,
                       const struct hf_ticket_id *mine,
                       enum hf_ticket_kind kind)
{
    size_t place = hf_snapshot_find(snapshot, mine);
    size_t first = place; /* of what stays, which moves towards the own one */
    size_t nearest = HF_ADMISSION_NEAREST;

    assert(kind != HF_TICKET_LEASE && tickets == snapshot->tickets);
    if (place == snapshot->count) {
        snapshot->count = place > 0;
        return;
    }
    for (size_t i = place; i-- > 1 && place - first < nearest;) {
        if (hf_admission_concerns(mine, kind, &tickets[i].id, tickets[i].kind))
            tickets[--first] = tickets[i];
    }
    if (place > 0)
        tickets[--first] = tickets[0];
    snapshot->tickets += first;
    snapshot->count = place - first + 1;
    snapshot->more += first;
}

/* Permits of the first ${count} leases. */
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

    assert(leases->more == 0);
    if (admission.answer != HF_ADMITTED)
        return admission;
    /* Only those ahead count, as with everybody: should two have been at the
     * head of the other queue at once, the order between them is here. */
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
        if (rules[HF_TICKET_LEASE].foreign & KIND_BIT(leases->tickets[i].kind))
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
 * enter their queue only where there is room: all that is seen is held. */
static bool enters(enum hf_ticket_kind kind, unsigned ahead)
{
    if (kind == HF_TICKET_EXCLUSIVE) /* for all we know */
        return ahead == 0;
    return !(ahead & (rules[kind].waits_for | rules[kind].foreign));
}

void hf_admission_mark(const struct hf_snapshot *snapshot, bool *admitted)
{
    unsigned ahead = 0;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];

        assert(i == 0 || hf_ticket_compare(ticket - 1, ticket) <= 0);
        admitted[i] = enters(ticket->kind, ahead);
        ahead |= KIND_BIT(ticket->kind);
    }
}
