/* SPDX-License-Identifier: Apache-2.0 */
/* A case to explore: a few clients, each of which acquires a lock and releases
 * it, and one fault, which may happen once at any time. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_CASE_H
#define HF_TESTS_SIMULATOR_EXPLORE_CASE_H

#include "simulator/cluster/cluster.h"

enum case_fault {
    /* The process of one client is gone, and later its session. */
    CASE_FAULT_CRASH,
    /* The connection of one client breaks, and its session resumes. */
    CASE_FAULT_CUT,
    CASE_FAULT_CANCEL, /* the user of one client cancels */
    CASE_FAULT_KILL,   /* the servers end the session of one client */
    /* No fault, but another program: its writer is at the head of the queue; it
     * adds a read ticket beside its own, removes the write ticket, and then the
     * read ticket, as a downgrade of Curator does. */
    CASE_FAULT_OTHER_CLIENT,
};

struct explore_case {
    const char *name;
    /* A letter for each client: m acquires a mutex, r reads, w writes, d writes
     * and may downgrade, s and S acquire one permit and two of a semaphore that
     * has two. */
    const char *contenders;
    unsigned repeats; /* how often each client acquires */
    /* The engine has no traits: no GONE admits without a list; and notices
     * overtake answers. */
    bool bare;
    enum case_fault fault;
    bool wide; /* takes minutes */
    const char *what;
};

/* All cases; the last one has no name. */
extern const struct explore_case explore_cases[];

/* NULL if there is no case of that name. */
const struct explore_case *explore_case_find(const char *name);

/* Fill in ${cluster} with the clients of the case, all of them connected and
 * none acquiring yet. */
void explore_case_start(const struct explore_case *explore_case,
                        struct cluster *cluster);

/* No action is left but for time to pass: let it pass, and check that
 * everything ends. */
void explore_case_finish(struct cluster *cluster);

/* The other client has done ${steps} steps and does the next one; returns the
 * new number. */
#define OTHER_CLIENT_STEPS 4
unsigned explore_case_other_client(struct cluster *cluster, unsigned steps);

/* What client ${i} acquires: the kind, and how many permits. */
enum hf_ticket_kind explore_case_kind(const struct explore_case *explore_case,
                                      unsigned i);
uint32_t explore_case_weight(const struct explore_case *explore_case,
                             unsigned i);

/* May client ${i} downgrade? */
bool explore_case_downgrades(const struct explore_case *explore_case,
                             unsigned i);

#endif
