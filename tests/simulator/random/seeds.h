/* SPDX-License-Identifier: Apache-2.0 */
/* Many random worlds, in processes of their own, so that an assertion that
 * fails is a finding like any other. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SEEDS_H
#define HF_TESTS_SIMULATOR_RANDOM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "simulator/cluster/cluster.h"

/* In the worlds of double barriers, see rounds.h, if .rounds. */
struct seeds_kind {
    enum engine_kind engine;
    bool double_barrier;
};

struct seeds_range {
    struct seeds_kind kind;
    uint64_t first;
    uint64_t count;
    unsigned stride;
};

/* What a child tells its parent, in memory they share. */
struct seeds_report {
    struct seeds_range range;
    uint64_t seed; /* the one it is in, or that broke */
    uint64_t done;
    uint64_t steps;
    uint64_t rounds;
    uint64_t grants;
    uint64_t losses;
    int broken;        /* number of the invariant; -1: the child died */
    const char *check; /* as in struct cluster */
    char message[CLUSTER_TEXT_BYTES];
};

/* Live through so many, and shrink the first that breaks.  An exit code. */
int seeds_run(struct seeds_kind kind, uint64_t first, uint64_t count,
              unsigned jobs, bool shrinks);
/* The same with worlds of every kind, ${count} of them together. */
int seeds_run_all(uint64_t first, uint64_t count, unsigned jobs, bool shrinks);
/* Through one, with all that happens in it. */
int seeds_trace(struct seeds_kind kind, uint64_t seed);

/* Memory for reports of children. */
struct seeds_report *seeds_map_reports(void);

/* Have a child do ${work} for ${range}: seeds_live() lives through its seeds
 * until one breaks. */
pid_t seeds_fork(struct seeds_report *report, const struct seeds_range *range,
                 void (*work)(struct seeds_report *report));
void seeds_run_range(struct seeds_report *report);

/* Wait for ${child}; one that died in the middle of a seed broke it. */
void seeds_wait(pid_t child, struct seeds_report *report);

/* Both of them, and nobody hears what the child says: its story is the
 * assertion that ended it, if one did. */
void seeds_run_silent(struct seeds_report *report,
                      const struct seeds_range *range,
                      void (*work)(struct seeds_report *report));

/* From now on worlds of this process print what happens in them: all, or if
 * ${brief} what users do and hear of, and what fails. */
void seeds_set_verbose(bool brief);

/* Did both break, in the same way? */
bool seeds_same_failure(const struct seeds_report *a,
                        const struct seeds_report *b);

/* From now on what replays a cluster says that this program is the mutant
 * ${name}, which outlives the process. */
void seeds_set_mutant(const char *name);

/* "seed 3: invariant 1 broken: ...", and "./dev sim --seed 3" without an end of
 * line. */
void seeds_print(const struct seeds_report *report);
void seeds_print_command(struct seeds_kind kind, uint64_t seed);

#endif
