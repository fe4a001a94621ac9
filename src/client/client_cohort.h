/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cohorts of one client.  A cohort (core/cohort.h) is the local queue of
 * those that share one ticket.  All mutexes of a client that have the same
 * name, and hand the ticket on equally often, share a cohort.  The client keeps
 * its cohorts in a tree, from the first such mutex to the last.
 *
 * All functions are called with the client's lock.
 */
#ifndef HF_HOST_CLIENT_COHORT_H
#define HF_HOST_CLIENT_COHORT_H

#include "base/tree.h"
#include "core/cohort.h"

struct hf_client;

struct hf_client_cohort {
    struct hf_tree_node node; /* in the client's tree; the first member */
    struct hf_cohort cohort;
    unsigned references; /* of locks, which their grants keep alive */
    char name[];         /* the name of the mutexes */
};

/* The cohort of ${name} and ${handoffs}, with one more reference.  It is
 * created if the client has none.  NULL if out of memory. */
struct hf_client_cohort *hf_client_cohort_get(struct hf_client *client,
                                              const char *name,
                                              uint32_t handoffs);

/* Drop a reference; with the last one the cohort is freed.  It is idle by then,
 * because each of its waiters has a grant, which keeps a lock alive. */
void hf_client_cohort_put(struct hf_client *client,
                          struct hf_client_cohort *client_cohort);

#endif
