/* SPDX-License-Identifier: Apache-2.0 */
/* A local queue: the cohort of one name in one client, for all its mutexes of
 * that name that hand a ticket on equally often.  All with the client's lock.
 */
#ifndef HF_HOST_CLIENT_COHORT_H
#define HF_HOST_CLIENT_COHORT_H

#include "core/cohort.h"
#include "core/tree.h"

struct hf_client;

struct hf_client_cohort {
    struct hf_tree_node node; /* first */
    struct hf_cohort cohort;
    unsigned references; /* of locks, which their grants keep */
    char name[];
};

/* That of ${name} and ${handoffs}, with one more reference; NULL if out of
 * memory. */
struct hf_client_cohort *hf_client_cohort_get(struct hf_client *client,
                                              const char *name,
                                              uint32_t handoffs);

/* Give a reference up; with the last one it is freed.  Its cohort is idle then,
 * for each member has a grant. */
void hf_client_cohort_put(struct hf_client *client,
                          struct hf_client_cohort *client_cohort);

#endif
