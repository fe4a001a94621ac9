/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of holdfast torture: they are started, killed, frozen and
 * collected here, and the events that they record are written to one history
 * file.
 *
 * The parent records what it does to a worker, too.  It records a death or a
 * freeze before it sends the signal, and a thaw after that.  So the history
 * never says that a worker relied on a lock for longer than it could.
 */
#ifndef HF_TORTURE_WORKERS_H
#define HF_TORTURE_WORKERS_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "torture/worker.h"

#define HF_WORKERS_MAX 64
#define HF_WORKER_NAME_BYTES 32

/* What holdfast torture was asked to do. */
struct hf_torture_opts {
    const char *url;  /* NULL: the default of hf_client_open() */
    const char *lock; /* .lock and .kinds are those of struct hf_worker_opts */
    unsigned kinds;
    unsigned count;          /* number of workers, 1 to HF_WORKERS_MAX */
    uint64_t for_ms;         /* how long the workers run */
    uint64_t fault_every_ms; /* mean time between faults; 0: no faults */
    uint64_t seed;
};

struct hf_worker_process {
    pid_t pid; /* 0: not running */
    /* The name of its client in the history, "NUMBER.INCARNATION": a worker
     * that is started again is another client. */
    char name[HF_WORKER_NAME_BYTES];
    unsigned incarnation; /* how often it was started */
    uint64_t thaw_at_ms;  /* HF_FOREVER: not frozen */
};

struct hf_workers {
    const struct hf_torture_opts *opts;
    FILE *history;
    struct hf_resource *resources; /* array of HF_RESOURCES, in memory that
                                      all processes share */
    int events[2];                 /* the pipe that all workers write to */
    int signals;                   /* signalfd of SIGINT and SIGTERM */
    sigset_t mask_before;
    /* the first .opts->count are used */
    struct hf_worker_process processes[HF_WORKERS_MAX];
    bool ending;   /* a signal asked for the end, or something failed */
    int exit_code; /* exit status of the first failure, which was printed; 0:
                      none */
};

/* Get what the workers need.  SIGINT and SIGTERM are blocked from now on.
 * Returns 0, or HF_EXIT_LIMIT after printing why.  ${opts} and ${history} must
 * stay valid until hf_workers_close(), which must be called in both cases. */
int hf_workers_open(struct hf_workers *workers,
                    const struct hf_torture_opts *opts, FILE *history);
/* Close what hf_workers_open() opened, after hf_workers_end(), and restore the
 * signal mask. */
void hf_workers_close(struct hf_workers *workers);

/* Start ${process} as a new client.  On failure set .ending. */
void hf_workers_start(struct hf_workers *workers,
                      struct hf_worker_process *process);

/* Kill ${process} and wait for its death. */
void hf_workers_kill(struct hf_workers *workers,
                     struct hf_worker_process *process);

/* Stop ${process}.  hf_workers_thaw_due() continues it at ${thaw_at_ms} or
 * later. */
void hf_workers_freeze(struct hf_workers *workers,
                       struct hf_worker_process *process, uint64_t thaw_at_ms);

/* Continue the workers whose .thaw_at_ms is ${now_ms} or before. */
void hf_workers_thaw_due(struct hf_workers *workers, uint64_t now_ms);

/* Wait a moment for events and signals.  Then write the events to the history,
 * and collect the workers that have ended by themselves. */
void hf_workers_poll(struct hf_workers *workers);

/* Ask all workers to release their locks and end.  Kill those that take too
 * long. */
void hf_workers_end(struct hf_workers *workers);

/* ------------------------------------------------------------ nemesis.c -- */

/* Poll ${workers} and inject faults until .opts->for_ms have passed or .ending
 * is set.  The random choices follow from .opts->seed. */
void hf_nemesis_run(struct hf_workers *workers);

#endif
