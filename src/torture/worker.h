/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: a process with one client.  It runs one or several workloads at a
 * time and records what happens to them.
 */
#ifndef HF_TORTURE_WORKER_H
#define HF_TORTURE_WORKER_H

#include "torture/workload.h"

/* Sets of enum hf_workload_kind. */
#define HF_WORKLOAD_SET(kind) (1U << (kind))
#define HF_WORKLOAD_SET_ALL ((1U << HF_WORKLOADS) - 1)

/* A worker that runs all kinds of workload uses the mutex in one of three ways.
 * Of this many consecutive workers one uses it through the tool, which costs
 * more, one uses it as a reentrant mutex, and the others as a plain one.  The
 * workload KEPT has a mutex of its own, which is used in the same ways.  There
 * the worker with the reentrant mutex keeps its ticket.  The others want that
 * mutex rarely, because a ticket is kept only while no other client comes. */
#define HF_WORKER_MUTEX_WAYS 4

struct hf_worker_opts {
    const char *url;  /* NULL: the default of hf_client_open() */
    const char *lock; /* for one kind of workload its lock; for several kinds
                         the prefix of their locks */
    unsigned kinds;   /* the set of workloads */
    const char *name; /* name of the client in the history */
    unsigned number;  /* among all workers, from 1 */
    uint64_t seed;    /* seed of its random choices */
    struct hf_resource *resources; /* array of HF_RESOURCES, in shared memory */
    int history;                   /* the pipe that events are written to */
};

/* How many resources there are: one for each lock of each kind, whatever
 * workloads are run. */
#define HF_RESOURCES ((size_t)HF_WORKLOADS * HF_WORKLOAD_LOCKS)

/* Run the workloads until SIGTERM, then release everything and return.  Returns
 * 0; or after printing a failure that trying again does not mend, its exit
 * status. */
int hf_worker_main(const struct hf_worker_opts *opts);

#endif
