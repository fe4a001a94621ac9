/* SPDX-License-Identifier: Apache-2.0 */
/* A scene: a few contenders, each of which wants the lock and releases it, and
 * one thing that may go wrong once, anywhere. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_CASE_H
#define HF_TESTS_SIMULATOR_EXPLORE_CASE_H

#include "simulator/cluster/cluster.h"

enum case_fault {
    CASE_FAULT_CRASH, /* any one's process is gone, and then its session */
    CASE_FAULT_CUT,   /* any one's connection breaks, and its session resumes */
    CASE_FAULT_CANCEL,       /* any one's user gives up */
    CASE_FAULT_KILL,         /* any one's session is ended by the servers */
    CASE_FAULT_OTHER_CLIENT, /* nothing, but a foreign writer stands ahead of
                       all, takes a place as a reader beside its own, leaves its
                       own, and then that, as Curator downgrades */
};

struct explore_case {
    const char *name;
    /* A letter for each: m who wants a mutex, r a reader, w a writer, d a
     * writer who may become a reader, s and S who want one permit and two of a
     * semaphore that has two. */
    const char *contenders;
    unsigned repeats; /* how often each wants it */
    bool bare; /* on an engine on which no deletion admits without a list,
                  and notices overtake answers */
    enum case_fault fault;
    bool wide; /* takes minutes */
    const char *what;
};

/* The scenes there are, ended by one without a name. */
extern const struct explore_case explore_cases[];

/* NULL if there is none of that name. */
const struct explore_case *explore_case_find(const char *name);

/* Fill in ${cluster} with the contenders of ${scene}, all connected and none of
 * them wanting anything yet. */
void explore_case_start(const struct explore_case *explore_case,
                        struct cluster *cluster);

/* Nothing is left but for time to pass: let it, and check that everything comes
 * to its end. */
void explore_case_finish(struct cluster *cluster);

/* The foreign writer has done so many ${deeds} and does the next. */
#define OTHER_CLIENT_STEPS 4
unsigned explore_case_other_client(struct cluster *cluster, unsigned steps);

/* What client ${i} wants: the kind, and how many permits. */
enum hf_ticket_kind explore_case_kind(const struct explore_case *explore_case,
                                      unsigned i);
uint32_t explore_case_weight(const struct explore_case *explore_case,
                             unsigned i);

/* May it become a reader? */
bool explore_case_downgrades(const struct explore_case *explore_case,
                             unsigned i);

#endif
