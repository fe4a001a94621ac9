/* SPDX-License-Identifier: Apache-2.0 */
/* The search through a scene, depth first. */
#ifndef HF_TESTS_SIM_SEARCH_H
#define HF_TESTS_SIM_SEARCH_H

#include "choice.h"
#include "explore.h"
#include "seeds.h"

/* What a search tells whoever started it, in memory they share, as it goes. */
struct search_report {
    uint64_t states;  /* told apart */
    uint64_t steps;   /* between them */
    double paths;     /* from the beginning to an end, along those steps */
    uint64_t ends;    /* states in which nothing more happens */
    uint64_t mishaps; /* steps that are one */
    uint64_t cut_off; /* times that a path was given up for its length */
    uint64_t doubted; /* states seen to go on as one that looks alike */
    unsigned longest; /* steps of a path */
    unsigned length;  /* of the path it is on, or that broke */
    struct choice_mark path[EXPLORE_DEPTH_MAX];
};

/* Memory for a report of a child. */
struct search_report *search_share(void);

/* The next search_live() is of ${exploration} and tells ${found}. */
void search_prepare(const struct exploration *exploration,
                    struct search_report *found);

/* Search until all is explored or something breaks; in a process of its own,
 * see seeds_start(). */
void search_live(struct seeds_report *report);

#endif
