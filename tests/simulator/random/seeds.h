/* SPDX-License-Identifier: Apache-2.0 */
/* Runs many seeds in child processes, so that an assertion that fails in a run
 * is a result like any other. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SEEDS_H
#define HF_TESTS_SIMULATOR_RANDOM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "simulator/cluster/cluster.h"
#include "simulator/random/deadlock.h"

/* What the clients of a run do. */
enum seeds_workload {
    SEEDS_LOCKS,          /* locks, elections and barriers */
    SEEDS_DOUBLE_BARRIER, /* see double_barrier.h */
    SEEDS_DEADLOCK,       /* see deadlock.h; these are not shrunk */
    SEEDS_SUCCESS,        /* see success.h */
};

struct seeds_kind {
    enum engine_kind engine;
    enum seeds_workload workload;
};

struct seeds_range {
    struct seeds_kind kind;
    uint64_t first;
    uint64_t count;
    unsigned stride;
};

/* Results of a child process, in memory that it shares with its parent. */
struct seeds_report {
    struct seeds_range range;
    uint64_t seed; /* the current one, or the one that broke an invariant */
    uint64_t done;
    uint64_t steps;
    uint64_t generations;
    uint64_t grants;
    uint64_t losses;
    uint64_t successes; /* of jobs, and how often one came too early */
    uint64_t early;
    uint64_t operations; /* of the public client of ZooKeeper, */
    uint64_t events;     /* and of its watches */
    struct deadlock_counts deadlocks;
    int broken;        /* number of the invariant; -1: the child died */
    const char *check; /* as in struct cluster */
    char message[CLUSTER_TEXT_BYTES];
};

/* Run ${count} seeds, and shrink the first that breaks.  Returns an exit
 * code. */
int seeds_run(struct seeds_kind kind, uint64_t first, uint64_t count,
              unsigned jobs, bool shrinks);
/* Likewise with seeds of every kind, ${count} of them together. */
int seeds_run_all(uint64_t first, uint64_t count, unsigned jobs, bool shrinks);
/* Run one seed and print its trace. */
int seeds_trace(struct seeds_kind kind, uint64_t seed);

/* Shared memory for reports of child processes. */
struct seeds_report *seeds_map_reports(void);

/* Start a child that does ${work} for ${range}; seeds_run_range() runs its
 * seeds until one breaks. */
pid_t seeds_fork(struct seeds_report *report, const struct seeds_range *range,
                 void (*work)(struct seeds_report *report));
void seeds_run_range(struct seeds_report *report);

/* Wait for ${child}.  If it died, the current seed is broken. */
void seeds_wait(pid_t child, struct seeds_report *report);

/* Both of these, without the child's output.  If an assertion ended it, that is
 * the message. */
void seeds_run_silent(struct seeds_report *report,
                      const struct seeds_range *range,
                      void (*work)(struct seeds_report *report));

/* From now on runs in this process print their traces; ${brief}: only what
 * users do and are notified of, and failures. */
void seeds_set_verbose(bool brief);

/* Did both break in the same way? */
bool seeds_same_failure(const struct seeds_report *a,
                        const struct seeds_report *b);

/* From now on commands that replay a run name this program as the mutant
 * ${name}, which is borrowed. */
void seeds_set_mutant(const char *name);

/* "seed 3: invariant 1 broken: ...", and "./dev sim --seed 3" without a
 * newline. */
void seeds_print(const struct seeds_report *report);
void seeds_print_command(struct seeds_kind kind, uint64_t seed);

#endif
