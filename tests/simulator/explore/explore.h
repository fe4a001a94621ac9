/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every order in which the messages, user actions and fault of a case can
 * happen (explicit-state model checking of the real code).
 *
 * Messages keep their order on each connection; across connections they arrive
 * in any order, and user actions and the fault come at any time between them.
 * Time passes only from one timer that is due soon to the next, as one more
 * action, and freely when no other action is left.  Of actions that do not
 * affect one another one order stands for all (action_independence()), and
 * states with one digest are explored once (case_run_digest()).
 */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_EXPLORE_H
#define HF_TESTS_SIMULATOR_EXPLORE_EXPLORE_H

#include "simulator/explore/case.h"

#define EXPLORE_DEPTH_MAX 500

struct exploration {
    const struct explore_case *explore_case;
    unsigned depth; /* actions in a path at most */
    /* No reduction, and for some states with a known digest check that their
     * successors have the digests that they had before. */
    bool check_reduction;
};

/* Each function returns an exit code. */
int explore_run(const struct exploration *exploration);

/* All cases that are not wide. */
int explore_all(unsigned depth);

/* Run one path, for instance "a.want,a.out", and print its trace. */
int explore_replay(const struct explore_case *explore_case,
                   const char *actions);

#endif
