/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a search for deadlocks looks at, a wait-for graph: the tickets of some
 * locks, each queue in order, and what the owner of a ticket that waits holds
 * meanwhile.  deadlock_reading.h fills it, deadlock.h finds out which tickets
 * can never be admitted.
 *
 * Everything in it is freed together.  It takes at most about 40 MiB, whatever
 * the texts of tickets say.
 */
#ifndef HF_CORE_DEADLOCK_GRAPH_H
#define HF_CORE_DEADLOCK_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

#include "core/ticket.h"

/* The most lists that one reading may ask for, and the most locks in it; the
 * most tickets in it, and the most holds. */
#define HF_DEADLOCK_QUEUES_MAX 4096
#define HF_DEADLOCK_TICKETS_MAX 65536

/* The buckets of the hash tables of tickets and of locks; powers of two. */
#define HF_DEADLOCK_BUCKETS 2048
#define HF_DEADLOCK_NAME_BUCKETS 512

/* The queues of a lock called NAME.  Nothing says whether that is a lock or a
 * semaphore, so it may have all of them. */
enum hf_deadlock_role {
    HF_DEADLOCK_LOCK,   /* NAME */
    HF_DEADLOCK_LEASES, /* NAME/leases */
    HF_DEADLOCK_ENTRY,  /* NAME/locks */
    HF_DEADLOCK_ROLES
};

/* Whose a ticket is, and so what is known of its owner. */
enum hf_deadlock_owner {
    HF_DEADLOCK_OTHER,   /* another program's: nothing */
    HF_DEADLOCK_SESSION, /* the same, but .holds is what its session holds, all
                            of it only possible; for people */
    HF_DEADLOCK_OURS,    /* of this library: it says what it holds */
};

/* May a ticket go on?  hf_deadlock_analyse() finds out which that wait are
 * blocked. */
enum hf_deadlock_state {
    HF_DEADLOCK_WAITS,    /* nothing is known that keeps it for ever */
    HF_DEADLOCK_BLOCKED,  /* it waits for something that cannot come */
    HF_DEADLOCK_ADMITTED, /* by its place in the queue */
};

/* How far a reading is with a ticket: is its text known, and does something
 * that was read wait for its owner?  A ticket only moves on:
 *
 *     UNREAD -> READ or AWAITED -> REACHED
 */
enum hf_deadlock_progress {
    HF_DEADLOCK_UNREAD,  /* neither */
    HF_DEADLOCK_READ,    /* its text is known */
    HF_DEADLOCK_AWAITED, /* it was reached, and its text is asked for */
    HF_DEADLOCK_REACHED, /* both: what it holds is followed */
};

/* Something that the owner of a ticket holds: the ticket of .lock, an index,
 * whose id begins with the number .id. */
struct hf_deadlock_hold {
    size_t lock;
    uint32_t id;
    bool possible; /* it is not known that its holder waits for the owner
                      (outer=), or is the owner (HF_DEADLOCK_SESSION) */
    struct hf_deadlock_ticket *target; /* set by hf_deadlock_analyse(); NULL:
                                          no such ticket, or not only one, or
                                          this hold does not count */
    struct hf_deadlock_hold *next;     /* of the same lock, for the reading */
};

struct hf_deadlock_ticket {
    struct hf_ticket_id id;
    uint64_t sequence;
    uint64_t token;
    enum hf_ticket_kind kind;
    uint32_t weight; /* of a lease: its permits */
    enum hf_deadlock_owner owner;
    uint64_t session; /* of a ticket of another program, where people are shown
                         it; else 0 */
    bool detects;     /* its owner looks for deadlocks */
    uint32_t limit;   /* ENTRY: the permits of the semaphore; 0: not known */
    uint32_t permits; /* ENTRY: how many of them it wants */
    struct hf_deadlock_hold *holds;
    size_t hold_count;
    const char *text; /* what it says of its owner */

    /* Where it is: the index of its lock, the queue of that, its index in the
     * queue.  And the next ticket of its bucket. */
    size_t lock;
    enum hf_deadlock_role role;
    size_t index;
    struct hf_deadlock_ticket *same_hash;

    enum hf_deadlock_progress progress;
    enum hf_deadlock_state state;

    /* Set by hf_deadlock_analyse(): how many blocked tickets hold this one, and
     * one of them, once all that can go on have been taken out. */
    size_t blocked_holders;
    struct hf_deadlock_ticket *holder;
    /* The first ticket ahead that is in its way and cannot go.  NULL: none, or
     * it lacks permits anyway. */
    struct hf_deadlock_ticket *first_ahead;
    /* Which walk of hf_deadlock_follow() has come by first; 0: none. */
    size_t walk;
    /* For hf_deadlock_find_cycle(): the one that it waits for on the shortest
     * way back to the first.  And the next one whose waiters are looked for;
     * for the reading, the next one that is to be followed. */
    struct hf_deadlock_ticket *waits_for;
    struct hf_deadlock_ticket *next;
};

/* How far a reading is with a queue. */
enum hf_deadlock_queue_state {
    HF_DEADLOCK_QUEUE_UNKNOWN,
    HF_DEADLOCK_QUEUE_ASKED, /* its list is asked for */
    HF_DEADLOCK_QUEUE_READ,
    HF_DEADLOCK_QUEUE_AWAITS, /* it was read, and texts are asked for */
};

/* A queue, in order. */
struct hf_deadlock_queue {
    enum hf_deadlock_queue_state state;
    struct hf_deadlock_ticket *tickets;
    size_t count;
    /* Set by hf_deadlock_analyse(): the first ticket that cannot go, and the
     * first of those that is no reader.  Both only move towards the tail,
     * because no ticket that can go on is blocked again. */
    size_t first_stuck;
    size_t first_stuck_writer;
    /* For the reading: the one ticket that may be the first in the way of
     * others though it waits; .count: none. */
    size_t first;
    /* For the reading and for hf_deadlock_find_cycle(): the tickets from here
     * on were reached: all, and those that are no readers. */
    size_t reached_from;
    size_t reached_writers_from;
};

struct hf_deadlock_lock {
    const char *name;
    size_t same_hash; /* one more than the next lock of the bucket; 0: none */
    struct hf_deadlock_queue queues[HF_DEADLOCK_ROLES];
    struct hf_deadlock_hold *holds; /* for the reading: of tickets that were
                                       reached */
    /* Set by hf_deadlock_analyse(): the permits that cannot go, and whether the
     * lock is in the list of those to look at again. */
    uint64_t stuck_permits;
    struct hf_deadlock_lock *next_changed;
    bool is_changed;
};

/* Zeroed when it begins. */
struct hf_deadlock_graph {
    struct hf_deadlock_lock *locks;
    size_t count;
    size_t room;                            /* locks that fit */
    size_t names[HF_DEADLOCK_NAME_BUCKETS]; /* one more than the index of the
                                               first lock; 0: none */
    struct hf_deadlock_ticket *tickets[HF_DEADLOCK_BUCKETS];
    size_t hold_count, byte_count;
    struct hf_deadlock_block *blocks; /* what was allocated */
    hf_status status; /* HF_EFULL: more than the bounds; HF_ENOMEM */
};

/* Allocate ${bytes}, zeroed, as long as ${graph} lives; NULL with .status: no
 * memory, or more than it may have. */
void *hf_deadlock_allocate(struct hf_deadlock_graph *graph, size_t bytes);

/* Set ${index} to that of the lock called ${name}; false: there is none. */
bool hf_deadlock_find_lock(const struct hf_deadlock_graph *graph,
                           const char *name, size_t *index);

/* The same, but a new lock is added.  False with .status. */
bool hf_deadlock_add_lock(struct hf_deadlock_graph *graph, const char *name,
                          size_t *index);

/* Make room for ${count} things that the owner of ${ticket}, which has none
 * yet, holds.  False with .status, and if ${count} is 0. */
bool hf_deadlock_begin_holds(struct hf_deadlock_graph *graph,
                             struct hf_deadlock_ticket *ticket, size_t count);

/* Add one of them: the ticket of the lock called ${name} whose id begins with
 * ${id}.  False with .status; also if .status was set before. */
bool hf_deadlock_add_hold(struct hf_deadlock_graph *graph,
                          struct hf_deadlock_ticket *ticket, const char *name,
                          uint32_t id, bool possible);

/* ${queue}, of that lock and role, has the tickets that it will have: note
 * where each is and which are admitted, and enter them into the hash table. */
void hf_deadlock_index_queue(struct hf_deadlock_graph *graph, size_t lock,
                             enum hf_deadlock_role role);

/* The same for all queues of ${graph}, from which tickets were taken. */
void hf_deadlock_index_all(struct hf_deadlock_graph *graph);

/* The first ticket in a queue of ${lock}, an index, that begins with ${id}, and
 * the one after ${ticket}; NULL: there is no other. */
struct hf_deadlock_ticket *
hf_deadlock_first_like(const struct hf_deadlock_graph *graph, size_t lock,
                       uint32_t id);
struct hf_deadlock_ticket *
hf_deadlock_next_like(const struct hf_deadlock_ticket *ticket);

/* The ticket ${id} in the queue of that lock and role; NULL: there is none. */
struct hf_deadlock_ticket *
hf_deadlock_find_ticket(const struct hf_deadlock_graph *graph, size_t lock,
                        enum hf_deadlock_role role,
                        const struct hf_ticket_id *id);

/* The ticket that follows ${ticket}, lock by lock and queue by queue; the first
 * one if ${ticket} is NULL.  NULL: there is no further one. */
struct hf_deadlock_ticket *
hf_deadlock_next_ticket(const struct hf_deadlock_graph *graph,
                        const struct hf_deadlock_ticket *ticket);

#define FOR_EACH_TICKET(ticket, graph)                                         \
    for ((ticket) = hf_deadlock_next_ticket(graph, NULL); (ticket) != NULL;    \
         (ticket) = hf_deadlock_next_ticket(graph, ticket))

/* The queue that ${ticket} is in. */
struct hf_deadlock_queue *
hf_deadlock_queue_of(const struct hf_deadlock_graph *graph,
                     const struct hf_deadlock_ticket *ticket);

/* Does ${ahead} stand in the way of ${ticket}, a ticket of a lock or of an
 * entry queue that is behind it? */
bool hf_deadlock_stands_in_way(const struct hf_deadlock_ticket *ahead,
                               const struct hf_deadlock_ticket *ticket);

/* Free what it has allocated, and zero it. */
void hf_deadlock_graph_free(struct hf_deadlock_graph *graph);

#endif
