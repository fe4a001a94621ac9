/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: given a queue and my ticket, may I enter, and if not, whom do I
 * wait for?  A lock kind is a row of the table in admission.c; nothing else in
 * the core knows kinds.
 *
 *   mutex  no ticket ahead
 *   write  no ticket ahead, of either kind; waits for the nearest one
 *   read   no write ticket ahead; waits for the nearest one
 *
 * An election is a mutex among its own.  An exclusive ticket, which is one of
 * the three that share with nobody, stands in everybody's way.  What is
 * certainly of another kind of lock is HF_WRONG_KIND.
 *
 *   lease  no more permits ahead than leave room for mine
 *
 * A semaphore is a mutex queue whose head counts a second queue, of leases
 * ("the first n tickets of one queue, each watching the one n places ahead"
 * loses wake-ups: see tests/simulator/test_semaphore.c).  No single ticket
 * stands in the way of a lease: it waits for the queue to change.
 */
#ifndef HF_CORE_ADMISSION_H
#define HF_CORE_ADMISSION_H

#include <stdbool.h>

#include "core/ticket.h"

enum hf_admission_answer {
    HF_ADMITTED,   /* nobody stands in the way */
    HF_WAIT_FOR,   /* .before does */
    HF_MISSING,    /* my ticket is not in the queue */
    HF_WRONG_KIND, /* a ticket ahead, .before, belongs to another kind of
                      lock */
};

struct hf_admission {
    enum hf_admission_answer answer;
    size_t ahead; /* tickets before mine, of any kind, shown or not */
    /* With HF_WAIT_FOR: how many of those shown stand in the way, the nearest
     * of them, and the next one further ahead (NULL if there is none, as with
     * leases). */
    size_t blocking;
    const struct hf_ticket *nearest;
    const struct hf_ticket *second;
    /* May the deletion of the last blocking ticket admit without a new list?
     * Not for who waits behind a write ticket, or what may be one: a
     * downgraded reader takes its writer's place ahead of it. */
    bool gone_admits;
};

/* Apply the rule for the ticket ${mine} of ${kind}, which is none that is only
 * seen; the snapshot may know less of it.  ${snapshot} must be sorted.  Leases,
 * whose rule needs a number, are never in each other's way here. */
struct hf_admission hf_admission_decide(const struct hf_snapshot *snapshot,
                                        const struct hf_ticket_id *mine,
                                        enum hf_ticket_kind kind);

/* The same for a lease, of a semaphore with ${limit} permits. */
struct hf_admission hf_admission_decide_lease(const struct hf_snapshot *leases,
                                              const struct hf_ticket_id *mine,
                                              uint32_t limit);

/* The first ticket in the queue of a semaphore's leases that is none: the queue
 * is in use as something else.  NULL: all are. */
const struct hf_ticket *
hf_admission_not_a_lease(const struct hf_snapshot *leases);

/* Is there room for ${weight} more permits behind all of ${leases}? */
bool hf_admission_has_room(const struct hf_snapshot *leases, uint32_t weight,
                           uint32_t limit);

/* The number of tickets in the way of one's own that a part of a queue shows
 * (queues of leases are always whole).  Two of them are watched, and the
 * deletion of these two must not seem to let one in while there are more. */
#define HF_ADMISSION_NEAREST 3

/* Is a ticket called ${id} of ${of}, ahead of the ticket ${mine} of ${kind},
 * needed to decide on that: may it be in its way, or is it of another kind of
 * lock?  For engines that put together no more than that. */
bool hf_admission_concerns(const struct hf_ticket_id *mine,
                           enum hf_ticket_kind kind,
                           const struct hf_ticket_id *id,
                           enum hf_ticket_kind of);

/* Leave of ${snapshot}, which stands at ${tickets} and is sorted, what is
 * needed to decide on the ticket ${mine} of ${kind}: that ticket, the first
 * one, and the nearest ahead of those that may be in its way or are of another
 * kind of lock.  If ${mine} is not there, only the first one is left. */
void hf_admission_trim(struct hf_snapshot *snapshot, struct hf_ticket *tickets,
                       const struct hf_ticket_id *mine,
                       enum hf_ticket_kind kind);

/* For each ticket of ${snapshot}, which must be sorted: does the rule admit it?
 * In one go, where hf_admission_decide() would walk the queue for each. */
void hf_admission_mark_admitted(const struct hf_snapshot *snapshot,
                                bool *admitted);

#endif
