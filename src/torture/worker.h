/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that bids for locks of one kind or of all, again and again, and
 * notes what it does and is told: one of those that holdfast torture sets
 * against each other.
 */
#ifndef HF_TORTURE_WORKER_H
#define HF_TORTURE_WORKER_H

#include "torture/workload.h"

/* A set of enum hf_workload_kind. */
#define HF_WORKLOAD_SET(kind) (1U << (kind))
#define HF_WORKLOAD_SET_ALL ((1U << HF_WORKLOADS) - 1)

/* Who bids for all goes one way to the mutex: of so many one after another one
 * takes it by the tool, which costs more, and one as a reentrant mutex. */
#define HF_WORKER_MUTEX_WAYS 4

struct hf_worker_opts {
    const char *url;  /* NULL: as hf_client_open() has it */
    const char *lock; /* of the one kind, or what those of all are below */
    unsigned kinds;   /* the set of what it bids for */
    const char *name; /* of the client, in the history */
    unsigned number;  /* among all contenders, from 1 */
    uint64_t seed;
    struct hf_resource *resources; /* HF_RESOURCES of them */
    int history;                   /* a pipe: where it notes */
};

/* How many resources there are, whatever is bid for. */
#define HF_RESOURCES ((size_t)HF_WORKLOADS * HF_WORKLOAD_LOCKS)

/* Contend until SIGTERM, then let go and return: 0, or the exit status of a
 * failure that trying again does not mend, which it has said. */
int hf_worker_main(const struct hf_worker_opts *opts);

#endif
