/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what blocks what, and the walks over a queue that apply it. */
#include "core/admission.h"

#include <assert.h>

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

/* Count ${ticket}, which blocks and is further ahead than those before.
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
