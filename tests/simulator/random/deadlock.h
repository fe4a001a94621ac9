/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random runs of owners that hold several locks and look for deadlocks.  The
 * kind of a run follows from its seed:
 *
 *   cycle     2 to 6 owners hold a lock each and then wait for each other in a
 *              cycle; others wait in the same queues for a while
 *   many       the same among hundreds: up to 100 owners in the cycle, or up
 *              to 300 that wait for a lock of it; in a third of these runs the
 *              cycle stays open
 *   ordered    owners take locks in one order, so that there is no deadlock;
 *              waits time out, and in some of the runs there are faults; a
 *              client walks over all names again and again
 *   unordered  they take locks in any order, so that deadlocks arise
 *   permits    an owner waits for one of two permits, and only one is held in a
 *              cycle; the owner of the other one waited before
 *   lost       two owners wait for each other, but one has lost its lock to a
 *              third one
 *   by turns   the waits of a cycle are there one after the other, but never
 *              at once
 *
 * Owners of one client are threads: some share tickets (cohorts), and pass
 * grants on.  Some owners run inside the command of another one, and some are
 * asked to release what they hold.  Programs of other makes take the same locks
 * in some runs.
 *
 * What must hold:
 *
 *   1  an acquire fails with HF_EDEADLK only in a cycle that is closed, or in
 *      an unordered run, if it was in a deadlock at an instant of the look that
 *      has found it.  With faults an owner that has given up counts as waiting
 *      as long as its ticket is there;
 *   2  in a run with such a cycle exactly one does, it is one that looks, and
 *      all others are granted; if faults take a lock of the cycle, at most one
 *      does.  In an ordered run all are granted;
 *   3  at the end of an unordered run no deadlock is left in which somebody
 *      looks, as far as it follows from what tickets say;
 *   4  a name that has tickets during all of a walk is listed exactly once.
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DEADLOCK_H
#define HF_TESTS_SIMULATOR_RANDOM_DEADLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/engine_kind.h"

/* How a run ended. */
struct deadlock_result {
    int broken;          /* number of the invariant; 0: all hold */
    const char *message; /* NULL: none */
    struct deadlock_counts {
        uint64_t grants;
        uint64_t found;    /* deadlocks */
        uint64_t remains;  /* of these, such that somebody waited for the ticket
                              of an owner that had given up */
        uint64_t handoffs; /* of a ticket that the owners of a client share */
        uint64_t passed;   /* grants that were passed on to another owner */
        uint64_t nested;   /* runs inside a run */
        uint64_t revoked;  /* an owner was asked to release something */
        uint64_t walks;    /* over all names */
        uint64_t names;    /* that had tickets during all of a walk */
    } counts;
};

/* Run ${seed} with ${engine}.  ${line} receives the trace, or is NULL.  True if
 * all invariants held. */
bool deadlock_run_seed(uint64_t seed, enum engine_kind engine,
                       void (*line)(void *arg, const char *text),
                       struct deadlock_result *end);

#endif
