/* SPDX-License-Identifier: Apache-2.0 */
/* The search through a scene, depth first. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_SEARCH_H
#define HF_TESTS_SIMULATOR_EXPLORE_SEARCH_H

#include "simulator/explore/action.h"
#include "simulator/explore/explore.h"
#include "simulator/random/seeds.h"

/* What a search tells whoever started it, in memory they share, as it goes. */
struct search_report {
    uint64_t states;  /* told apart */
    uint64_t steps;   /* between them */
    double paths;     /* from the beginning to an end, along those steps */
    uint64_t ends;    /* states in which nothing more happens */
    uint64_t faults;  /* steps that are one */
    uint64_t cut_off; /* times that a path was given up for its length */
    uint64_t checked; /* states seen to go on as one that looks alike */
    unsigned longest; /* steps of a path */
    unsigned length;  /* of the path it is on, or that broke */
    struct action_label path[EXPLORE_DEPTH_MAX];
};

/* Memory for a report of a child. */
struct search_report *search_map_report(void);

/* The next search_live() is of ${exploration} and tells ${found}. */
void search_prepare(const struct exploration *exploration,
                    struct search_report *found);

/* Search until all is explored or something breaks; in a process of its own,
 * see seeds_start(). */
void search_run(struct seeds_report *report);

#endif
