/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: a process with one client that runs one or several workloads at
 * once and records what happens to them.
 */
#ifndef HF_TORTURE_WORKER_H
#define HF_TORTURE_WORKER_H

#include "torture/workload.h"

/* Sets of enum hf_workload_kind. */
#define HF_WORKLOAD_SET(kind) (1U << (kind))
#define HF_WORKLOAD_SET_ALL ((1U << HF_WORKLOADS) - 1)

/* A worker that runs all kinds of workload uses the mutex in one of three ways.
 * Of this many workers in a row one uses it by the tool, which costs more, one
 * as a reentrant mutex, and the others as a plain one.  Of the mutex of the
 * workload KEPT the second of these keeps its ticket; the others want it
 * rarely, because a ticket is kept only while nobody else comes. */
#define HF_WORKER_MUTEX_WAYS 4

struct hf_worker_opts {
    const char *url;  /* NULL: the default of hf_client_open() */
    const char *lock; /* the lock of one kind of workload; the prefix of the
                         locks of several kinds */
    unsigned kinds;   /* the set of workloads */
    const char *name; /* of the client in the history */
    unsigned number;  /* among all workers, from 1 */
    uint64_t seed;    /* of its random choices */
    struct hf_resource *resources; /* HF_RESOURCES, in shared memory */
    int history;                   /* the pipe that events are written to */
};

/* How many resources there are, whatever the workloads: one for each lock of
 * each kind. */
#define HF_RESOURCES ((size_t)HF_WORKLOADS * HF_WORKLOAD_LOCKS)

/* Run the workloads until SIGTERM, then release all and return: 0, or the exit
 * status of a failure that trying again does not mend, which has been printed.
 */
int hf_worker_main(const struct hf_worker_opts *opts);

#endif
