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
 * is not found, or that another program has enqueued (unless it is asked what
 * is possible, and its session holds something); candidates of elections,
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

/* The most lists that one reading may ask for, the most locks in it, and the
 * most tickets in it.  They bound the memory of a search, whatever the texts of
 * tickets say: some 40 MiB. */
#define HF_DEADLOCK_QUEUES_MAX 4096
#define HF_DEADLOCK_TICKETS_MAX 65536

/* A longer cycle is not reported. */
#define HF_DEADLOCK_CYCLE_MAX 2048

/* The most that the session of one ticket holds. */
#define HF_DEADLOCK_SESSION_HOLDS 64

/* The buckets of the hash table of tickets; a power of two. */
#define HF_DEADLOCK_BUCKETS 2048

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
    bool possible; /* it is not known that it waits with the owner (outer=), or
                      that the owner is the same (.by_session) */
    struct hf_deadlock_ticket *target; /* set by hf_deadlock_analyse(); NULL:
                                          no such ticket, or not only one */
    struct hf_deadlock_hold *next;     /* of the same lock, for the reading */
};

struct hf_deadlock_ticket {
    struct hf_ticket_id id;
    uint64_t sequence;
    uint64_t token;
    enum hf_ticket_kind kind;
    uint32_t weight; /* of a lease: its permits */
    bool is_ours;    /* of this library, so that it says what it holds */
    /* Of another program's that is shown to people: the session of its owner,
     * or 0.  And .holds is what that session holds, all of it only possible. */
    uint64_t session;
    bool by_session;
    bool detects;     /* its owner looks for deadlocks */
    uint32_t limit;   /* ENTRY: the permits of the semaphore; 0: not known */
    uint32_t permits; /* ENTRY: how many of them it wants */
    struct hf_deadlock_hold *holds;
    size_t hold_count;
    const char *text; /* what it says of its owner */
    bool unread;      /* .text is not known yet */
    bool reached;     /* something waits for its owner; for the reading */

    /* Set by hf_deadlock_analyse(). */
    bool blocked;
    bool admitted; /* set by the reading too */
    struct hf_deadlock_ticket *same_hash;
    size_t lock; /* where it is: an index, a role, an index */
    enum hf_deadlock_role role;
    size_t index;
    size_t blocked_holders; /* how many blocked tickets hold this one */
    /* One of them, once all that can go on have been taken out. */
    struct hf_deadlock_ticket *holder;
    /* The first ticket ahead that is in its way and cannot go.  NULL: none, or
     * it lacks permits anyway. */
    struct hf_deadlock_ticket *first_ahead;
    /* Which walk of hf_deadlock_follow() has come by first; 0: none. */
    size_t walk;
    /* For hf_deadlock_find_cycle(): the one that it waits for on the shortest
     * way back to the first, and the next one whose waiters are looked for. */
    struct hf_deadlock_ticket *waits_for;
    struct hf_deadlock_ticket *next;
};

/* A queue, in order. */
struct hf_deadlock_queue {
    struct hf_deadlock_ticket *tickets;
    size_t count;
    /* Set by hf_deadlock_analyse(): the first ticket that cannot go, and the
     * first of those that is no reader.  Both only move back: no ticket that
     * can go on is blocked again. */
    size_t first_stuck;
    size_t first_stuck_writer;
    /* For the reading: the one ticket that may be the first in the way of
     * others though it waits, .count: none; and whether texts are asked for. */
    size_t first;
    bool awaits_texts;
    /* For the reading and for hf_deadlock_find_cycle(): the tickets from here
     * on were reached: all, and those that are no readers. */
    size_t reached_all;
    size_t reached_writers;
};

struct hf_deadlock_lock {
    const char *name;
    struct hf_deadlock_queue queues[HF_DEADLOCK_ROLES];
    /* Set by hf_deadlock_analyse(): the permits that cannot go, and whether the
     * lock is in the list of those to look at again. */
    uint64_t stuck_permits;
    struct hf_deadlock_lock *next_changed;
    bool is_changed;
    /* For the reading. */
    size_t same_hash;               /* the next lock of the bucket; SIZE_MAX */
    struct hf_deadlock_hold *holds; /* of tickets that were reached */
    bool is_read[HF_DEADLOCK_ROLES];
    bool is_asked[HF_DEADLOCK_ROLES];
    bool is_semaphore; /* something of that name is held by a ticket that is not
                          in the queue of the lock */
};

struct hf_deadlock_locks {
    struct hf_deadlock_lock *locks;
    size_t count;
    /* The tickets, hashed by lock and first digits.  Set by
     * hf_deadlock_analyse(), and before that by the reading. */
    struct hf_deadlock_ticket *buckets[HF_DEADLOCK_BUCKETS];
    struct hf_deadlock_lock *changed;
    bool possible; /* what is only possible counts */
};

/* The waiters of a cycle: each waits, in its queue, for something that the next
 * one has, and the last for the first. */
struct hf_deadlock_cycle {
    struct hf_deadlock_ticket *waiters[HF_DEADLOCK_CYCLE_MAX];
    size_t count;
};

/* Does ${ahead} stand in the way of ${ticket}, a ticket of a lock or of an
 * entry queue that is behind it? */
bool hf_deadlock_stands_in_way(const struct hf_deadlock_ticket *ahead,
                               const struct hf_deadlock_ticket *ticket);

/* Set .admitted of the tickets of ${queue}, which has that role. */
void hf_deadlock_admit(struct hf_deadlock_queue *queue,
                       enum hf_deadlock_role role);

/* The bucket of the tickets of ${lock}, an index, that begin with ${id}. */
struct hf_deadlock_ticket **hf_deadlock_bucket(struct hf_deadlock_locks *locks,
                                               size_t lock, uint32_t id);

/* Put each ticket of ${locks} in its bucket, and note where it is. */
void hf_deadlock_index(struct hf_deadlock_locks *locks);

/* Find out which tickets of ${locks} are blocked: set the last fields of all of
 * them.  ${possible}: if what is only possible (.possible) is so. */
void hf_deadlock_analyse(struct hf_deadlock_locks *locks, bool possible);

/* After that: a ticket of a cycle that ${ticket}, which is blocked, is in or
 * waits behind; NULL: an earlier walk has come by it.  ${walk}: the number of
 * this walk, from 1 on.  All walks together cost what there are tickets. */
struct hf_deadlock_ticket *hf_deadlock_follow(struct hf_deadlock_locks *locks,
                                              struct hf_deadlock_ticket *ticket,
                                              size_t walk);

/* After that: set ${cycle} to the shortest cycle through ${ticket}, which is
 * blocked.  False if there is none, because it only waits behind a deadlock of
 * others, or if it has more than HF_DEADLOCK_CYCLE_MAX waiters.  A ticket that
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
