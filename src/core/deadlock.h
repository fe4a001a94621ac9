/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlocks in queues: given the tickets of some locks, and what the owners of
 * those that wait hold meanwhile, which tickets can never be admitted?
 *
 * A ticket of this library that waits is *blocked* if it waits for something
 * that cannot come:
 *
 *     mutex, write  a ticket ahead cannot go
 *     read          a write ticket ahead cannot go
 *     semaphore     the permits that cannot go leave too few, or a ticket ahead
 *                   in the entry queue cannot go
 *
 * A ticket cannot go if it is blocked itself, or if it is held by the owner of
 * a ticket that is blocked (holds=).  First all that wait count as blocked;
 * those that can go on are taken out until nothing changes.  What remains is a
 * deadlock, if all these tickets were there at one instant.  This is the
 * reduction of a wait-for graph with AND and OR (Holt, "Some deadlock
 * properties of computer systems", 1972).
 *
 * The sure side is that a ticket can go on.  So does every ticket whose owner
 * is not found, or that another program has enqueued; candidates of elections,
 * which are no waits; and a semaphore's ticket that does not say its limit.
 *
 * Nothing here does I/O or allocates.
 */
#ifndef HF_CORE_DEADLOCK_H
#define HF_CORE_DEADLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ticket.h"

/* The most queues that one reading may have, and the most tickets of one of
 * them. */
#define HF_DEADLOCK_QUEUES_MAX 64
#define HF_DEADLOCK_TICKETS_MAX 256

/* The queues of a lock called NAME.  Nothing says whether that is a lock or a
 * semaphore, so it may have all of them. */
enum hf_deadlock_role {
    HF_DEADLOCK_LOCK,   /* NAME */
    HF_DEADLOCK_LEASES, /* NAME/leases */
    HF_DEADLOCK_ENTRY,  /* NAME/locks */
    HF_DEADLOCK_ROLES
};

/* Something that the owner of a ticket holds: the ticket of .lock, an index,
 * whose id begins with the number .id. */
struct hf_deadlock_hold {
    size_t lock;
    uint32_t id;
    struct hf_deadlock_ticket *target; /* set by hf_deadlock_analyse(); NULL:
                                          no such ticket, or not only one */
};

struct hf_deadlock_ticket {
    struct hf_ticket_id id;
    uint64_t token;
    enum hf_ticket_kind kind;
    uint32_t weight;  /* of a lease: its permits */
    bool is_ours;     /* of this library, so that it says what it holds */
    bool detects;     /* its owner looks for deadlocks */
    uint32_t limit;   /* ENTRY: the permits of the semaphore; 0: not known */
    uint32_t permits; /* ENTRY: how many of them it wants */
    struct hf_deadlock_hold *holds;
    size_t hold_count;
    const char *text; /* what it says of its owner */

    /* Set by hf_deadlock_analyse(). */
    bool blocked;
    bool admitted;
    size_t lock; /* where it is: an index, a role, an index */
    enum hf_deadlock_role role;
    size_t index;
    size_t blocked_holders; /* how many blocked tickets hold this one */
    /* The first ticket ahead that is in its way and cannot go.  NULL: none, or
     * it lacks permits anyway. */
    const struct hf_deadlock_ticket *first_ahead;
    /* For hf_deadlock_find_cycle(): the one that it waits for on the shortest
     * way back to the first, and the next one whose waiters are looked for. */
    struct hf_deadlock_ticket *waits_for;
    struct hf_deadlock_ticket *next;
};

/* A queue, in order. */
struct hf_deadlock_queue {
    struct hf_deadlock_ticket *tickets;
    size_t count;
};

struct hf_deadlock_lock {
    const char *name;
    struct hf_deadlock_queue queues[HF_DEADLOCK_ROLES];
};

struct hf_deadlock_locks {
    struct hf_deadlock_lock *locks;
    size_t count;
};

/* The waiters of a cycle: each waits, in its queue, for something that the next
 * one has, and the last for the first. */
struct hf_deadlock_cycle {
    struct hf_deadlock_ticket *waiters[HF_DEADLOCK_QUEUES_MAX];
    size_t count;
};

/* Find out which tickets of ${locks} are blocked: set the last fields of all of
 * them. */
void hf_deadlock_analyse(struct hf_deadlock_locks *locks);

/* After that: set ${cycle} to the shortest cycle through ${ticket}, which is
 * blocked.  False if there is none, because it only waits behind a deadlock of
 * others, or if it has more than HF_DEADLOCK_QUEUES_MAX waiters.  A ticket that
 * waits in a queue between two of a deadlock is not part of that: if it went,
 * they would still wait. */
bool hf_deadlock_find_cycle(struct hf_deadlock_locks *locks,
                            struct hf_deadlock_ticket *ticket,
                            struct hf_deadlock_cycle *cycle);

/* The waiter that is to fail: of those that look for deadlocks the one with the
 * highest token; NULL: none does.  All waiters choose the same one. */
const struct hf_deadlock_ticket *
hf_deadlock_victim(const struct hf_deadlock_cycle *cycle);

#endif
