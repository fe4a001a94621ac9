/* SPDX-License-Identifier: Apache-2.0 */
/* The depth-first search through the states of a case. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_SEARCH_H
#define HF_TESTS_SIMULATOR_EXPLORE_SEARCH_H

#include "simulator/explore/action.h"
#include "simulator/explore/explore.h"
#include "simulator/random/seeds.h"

/* Results, in memory that the searching process shares with its parent. */
struct search_report {
    uint64_t states;  /* different states */
    uint64_t steps;   /* actions between them */
    double paths;     /* paths from the beginning to an end */
    uint64_t ends;    /* states without a possible action */
    uint64_t faults;  /* actions that are the fault */
    uint64_t cut_off; /* paths that were given up because of their length */
    uint64_t checked; /* states whose successors were checked */
    unsigned longest; /* actions in a path */
    /* Of .path, the current one or the one that broke an invariant. */
    unsigned length;
    struct action_label path[EXPLORE_DEPTH_MAX];
};

/* Shared memory for the report of a child process. */
struct search_report *search_map_report(void);

/* The next search_run() explores this and writes to ${found}. */
void search_prepare(const struct exploration *exploration,
                    struct search_report *found);

/* Search until all states are explored or an invariant breaks.  Runs in a
 * process of its own, see seeds_fork(). */
void search_run(struct seeds_report *report);

#endif
