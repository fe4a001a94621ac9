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
 * In doubt a ticket counts as one that can go on: one whose owner is not found;
 * one of another program, except if its session holds something and what is
 * only possible counts too; a candidate of an election, which is no wait; and a
 * semaphore's ticket that does not say its limit.
 *
 * Nothing here does I/O or allocates.
 */
#ifndef HF_CORE_DEADLOCK_H
#define HF_CORE_DEADLOCK_H

#include "core/deadlock_graph.h"

/* A longer cycle is not reported. */
#define HF_DEADLOCK_CYCLE_MAX 2048

/* The waiters of a cycle: each waits, in its queue, for something that the next
 * one has, and the last for the first. */
struct hf_deadlock_cycle {
    struct hf_deadlock_ticket *waiters[HF_DEADLOCK_CYCLE_MAX];
    size_t count;
};

/* Find out which tickets of ${graph} are blocked: set .state and the last
 * fields of all of them.  ${possible}: holds that are only possible (.possible)
 * count too. */
void hf_deadlock_analyse(struct hf_deadlock_graph *graph, bool possible);

/* After that: a ticket of a cycle that ${ticket}, which is blocked, is in or
 * waits behind.  NULL: an earlier walk has come by there; or the walk ends at a
 * ticket that wants more permits than its semaphore has.  ${walk}: the number
 * of this walk, from 1 on.  All walks together visit each ticket at most once.
 */
struct hf_deadlock_ticket *hf_deadlock_follow(struct hf_deadlock_graph *graph,
                                              struct hf_deadlock_ticket *ticket,
                                              size_t walk);

/* After that: set ${cycle} to the shortest cycle through ${ticket}, which is
 * blocked.  False if there is none, because it only waits behind a deadlock of
 * others, or if it has more than HF_DEADLOCK_CYCLE_MAX waiters.  A ticket that
 * waits in a queue between two of a cycle is not part of the cycle: if it went,
 * these two would still wait. */
bool hf_deadlock_find_cycle(struct hf_deadlock_graph *graph,
                            struct hf_deadlock_ticket *ticket,
                            struct hf_deadlock_cycle *cycle);

/* The waiter that is to fail: of those that look for deadlocks the one with the
 * highest token; NULL: none does.  All waiters choose the same one. */
const struct hf_deadlock_ticket *
hf_deadlock_victim(const struct hf_deadlock_cycle *cycle);

#endif
