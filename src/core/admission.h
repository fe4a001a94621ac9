/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: given a queue and a ticket in it, may the ticket enter, and if
 * not, which ticket does it wait for?  Each kind of ticket has a rule, a row of
 * the table of hf_admission_rule_of(); nothing else decides what blocks what.
 *
 *     mutex  no ticket ahead
 *     write  no ticket ahead, of either kind; waits for the nearest one
 *     read   no write ticket ahead; waits for the nearest one
 *
 * An election is a mutex among its own kind.  An exclusive ticket, which is a
 * mutex, a write ticket or an election's, blocks every ticket of these kinds
 * and every read ticket behind it.  A ticket ahead that certainly belongs to
 * another kind of lock is HF_WRONG_KIND.
 *
 *     lease  the permits ahead leave room for its own
 *
 * A semaphore is a mutex queue whose first ticket may add a lease to a second
 * queue.  (The simpler rule, "the first n tickets of one queue, each watching
 * the one n positions ahead", loses wake-ups: see
 * tests/simulator/test_semaphore.c.) No single ticket blocks a lease: it waits
 * for the queue to change.
 *
 *     participant  a generation has begun that is newer than its ticket
 *
 * Each participant of a double barrier is a ticket.  A participant that counts
 * enough tickets begins a *generation* (as in a CyclicBarrier): the engine sets
 * the flag READY at an instant at which that many participants are there.
 * Tokens of tickets and of generations are of one numbering, so a generation
 * that is newer than a ticket began while the owner of the ticket was a
 * participant.  Such a generation admits that participant, and nothing else
 * does: no older generation, and no event.
 *
 * The round of a participant is all tickets older than the generation that
 * admitted it.  It may leave when no other ticket of its round is there;
 * tickets that have come since belong to another round.  All participants
 * remove their tickets first, except the one with the lowest id, which keeps
 * its ticket until it is alone, because participants of Curator take a single
 * ticket that is left for the end.  Two participants of one round never wait
 * for each other's ticket, because one of the two has the lower id.
 */
#ifndef HF_CORE_ADMISSION_H
#define HF_CORE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ticket.h"

/* ----------------------------------------------------- locks and leases -- */

/* The meaning of a queue for a ticket in it. */
enum hf_admission_answer {
    HF_ADMITTED,   /* nothing blocks it */
    HF_WAIT_FOR,   /* something does: .nearest, or the number of permits */
    HF_MISSING,    /* it is not in the queue */
    HF_WRONG_KIND, /* a ticket ahead, .nearest, belongs to another kind of
                      lock */
};

struct hf_admission {
    enum hf_admission_answer answer;
    size_t ahead; /* tickets before mine, of any kind, shown or not; of a
                     PARTICIPANT: all participants that are there */
    /* With HF_WAIT_FOR: how many of those shown stand in the way, the nearest
     * of them, and the next one further ahead (NULL if there is none, as with
     * leases). */
    size_t blocking;
    const struct hf_ticket *nearest;
    const struct hf_ticket *second;
    /* May the end of the last blocking ticket admit without a new list?  A
     * reader: yes.  A lease: no.  Others: not if a write ticket, or what may be
     * one, is ahead: if it was downgraded, a reader is in its place. */
    bool gone_admits;
};

/* Apply the rule to the ticket ${mine} of ${kind}, which is at most
 * HF_TICKET_QUEUED_LAST (the snapshot may show it as EXCLUSIVE).  ${snapshot}
 * must be sorted.  Leases do not block each other here. */
struct hf_admission hf_admission_decide(const struct hf_snapshot *snapshot,
                                        const struct hf_ticket_id *mine,
                                        enum hf_ticket_kind kind);

/* The same for a lease of a semaphore with ${limit} permits. */
struct hf_admission hf_admission_decide_lease(const struct hf_snapshot *leases,
                                              const struct hf_ticket_id *mine,
                                              uint32_t limit);

/* The first ticket in the queue of leases that is not a lease: the name is used
 * by another kind of lock.  NULL: there is none. */
const struct hf_ticket *
hf_admission_not_a_lease(const struct hf_snapshot *leases);

/* Is there room for ${weight} more permits behind all of ${leases}? */
bool hf_admission_has_room(const struct hf_snapshot *leases, uint32_t weight,
                           uint32_t limit);

/* The number of blocking tickets that a part of a queue must show (queues of
 * leases are always shown whole).  Two of them are watched, and if more than
 * two block, the end of these two must not seem to admit. */
#define HF_ADMISSION_NEAREST 3

/* Is a ticket of kind ${of} with the id ${id}, ahead of the ticket ${mine} of
 * ${kind}, needed for the decision: may it block, or does it belong to another
 * kind of lock?  For engines that list no more than is needed. */
bool hf_admission_concerns(const struct hf_ticket_id *mine,
                           enum hf_ticket_kind kind,
                           const struct hf_ticket_id *id,
                           enum hf_ticket_kind of);

/* Reduce ${snapshot}, which is sorted and whose tickets are ${tickets}, to what
 * is needed to decide on the ticket ${mine} of ${kind}: that ticket, the first
 * one, and the nearest ones ahead that may block it or belong to another kind
 * of lock.  If ${mine} is not there, only the first one stays. */
void hf_admission_trim(struct hf_snapshot *snapshot, struct hf_ticket *tickets,
                       const struct hf_ticket_id *mine,
                       enum hf_ticket_kind kind);

/* Set ${admitted} for each ticket of ${snapshot}, which must be sorted: does
 * the rule admit it?  One walk, where hf_admission_decide() would need one for
 * each. */
void hf_admission_mark_admitted(const struct hf_snapshot *snapshot,
                                bool *admitted);

/* ------------------------------------------------------ double barriers -- */

/* The answers to an enter. */
enum hf_enter_answer {
    HF_ENTER_MISSING,        /* its ticket is not there */
    HF_ENTER_WAIT,           /* too few participants are there */
    HF_ENTER_NEW_GENERATION, /* enough are there, and no generation has begun
                                since it came */
    HF_ENTER_PASS,           /* .generation admits it */
};

struct hf_enter_decision {
    enum hf_enter_answer answer;
    size_t participants;
    uint64_t generation; /* the token of the flag READY; 0: it is not set */
};

/* The answers to a leave. */
enum hf_leave_answer {
    HF_LEAVE_WAIT,  /* wait; keep the ticket if it is still there */
    HF_LEAVE_YIELD, /* remove the ticket, then wait */
    HF_LEAVE_PASS,  /* no other participant of the round is left */
};

/* May the owner of ${mine} enter a double barrier that waits for
 * ${participants}? */
struct hf_enter_decision
hf_double_barrier_decide_enter(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint32_t participants);

/* May the owner of ${mine}, which ${generation} has admitted, leave?
 * ${keeps_ticket}: its ticket was not removed yet. */
enum hf_leave_answer
hf_double_barrier_decide_leave(const struct hf_snapshot *snapshot,
                               const struct hf_ticket_id *mine,
                               uint64_t generation, bool keeps_ticket);

/* ---------------------------------------------------- the rules by kind -- */

/* The properties of our ticket that rules read. */
struct hf_admission_ticket {
    struct hf_ticket_id id;
    enum hf_ticket_kind kind;
    uint32_t weight; /* LEASE: its permits */
    uint32_t limit;  /* LEASE: the permits of the semaphore; PARTICIPANT: the
                        number of participants that are waited for */
    uint64_t token;  /* once it is in the queue */
};

/* The meaning of a queue for the ticket. */
struct hf_admission_decision {
    struct hf_admission admission; /* of a PARTICIPANT .blocking is the number
                                      that is missing, plus one until a
                                      generation admits it */
    uint64_t generation; /* HF_ADMITTED of a PARTICIPANT: the one that admits it
                          */
    bool starts_generation; /* HF_WAIT_FOR of a PARTICIPANT: it is to request
                               NEW_GENERATION */
    const char *holder;     /* payload of the first ticket; "": that is this
                               ticket; NULL: the queue has no order */
};

/* A rule: functions of the ticket and the queue, and two properties. */
struct hf_admission_rule {
    /* Before the enqueue: is there room in the queue?  NULL: always. */
    bool (*has_room)(const struct hf_admission_ticket *own,
                     const struct hf_snapshot *snapshot);
    /* In the queue: decide by the queue ${snapshot}. */
    struct hf_admission_decision (*decide)(
        const struct hf_admission_ticket *own,
        const struct hf_snapshot *snapshot);
    /* It waits for any change of the queue, and not for single tickets. */
    bool watches_queue;
    /* Once nothing blocks the ticket, nothing will block it again. */
    bool admission_is_final;
};

/* The rule for ${kind}, which must be a kind that can be enqueued. */
const struct hf_admission_rule *hf_admission_rule_of(enum hf_ticket_kind kind);

#endif
