/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every order in which the messages, deeds and mishaps of a scene can happen.
 *
 * Messages keep their order on each connection; across connections they arrive
 * in any order, and what users do and what goes wrong comes anywhere in
 * between.  Time passes only from one thing that is soon due to the next, as
 * one more choice, and freely when nothing else is left.  Of steps that make no
 * difference to one another one order stands for all (choice_freedom()), and
 * stages that go on alike are explored once (stage_digest()).
 */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_EXPLORE_H
#define HF_TESTS_SIMULATOR_EXPLORE_EXPLORE_H

#include "simulator/explore/case.h"

#define EXPLORE_DEPTH_MAX 500

struct exploration {
    const struct explore_case *explore_case;
    unsigned depth;       /* steps of a path at most */
    bool check_reduction; /* nothing stands for anything else, and of stages
                   that look alike every so many is seen to go on alike */
};

/* Each function returns an exit code. */
int explore_run(const struct exploration *exploration);

/* Every scene that is not wide. */
int explore_all(unsigned depth);

/* Go the one path ${choices}, "a.want,a.out", and print all that happens. */
int explore_replay(const struct explore_case *explore_case,
                   const char *actions);

#endif
