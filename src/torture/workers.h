/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of holdfast torture: they are started, killed, frozen and
 * collected here, and what they record is written to one history file.
 *
 * The parent records what it does to a worker, too: a death and a freeze before
 * the signal is sent and a thaw after it, so that the history never says that a
 * worker relied on a lock for longer than it could.
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
    const char *url;  /* NULL: as hf_client_open() has it */
    const char *lock; /* as in struct hf_worker_opts, as is .kinds */
    unsigned kinds;
    unsigned count;          /* of workers, 1 to HF_WORKERS_MAX */
    uint64_t for_ms;         /* how long the workers run */
    uint64_t fault_every_ms; /* the mean time between faults; 0: no faults */
    uint64_t seed;
};

struct hf_worker_process {
    pid_t pid; /* 0: it has ended */
    /* Its client in the history, "NUMBER.INCARNATION": a worker that is started
     * anew is another client. */
    char name[HF_WORKER_NAME_BYTES];
    unsigned incarnation; /* how often it was started */
    uint64_t thaw_at_ms;  /* HF_FOREVER: it is not frozen */
};

struct hf_workers {
    const struct hf_torture_opts *opts;
    FILE *history;
    struct hf_resource *resources; /* HF_RESOURCES, in memory shared by all */
    int events[2];                 /* the pipe that all workers write to */
    int signals;                   /* signalfd of SIGINT and SIGTERM */
    sigset_t mask_before;
    struct hf_worker_process processes[HF_WORKERS_MAX]; /* .opts->count used */
    bool ending;   /* a signal asked for the end, or a worker failed */
    int exit_code; /* of the first failure, which was printed; else 0 */
};

/* Get what the workers need; SIGINT and SIGTERM are blocked from now on.  0, or
 * HF_EXIT_LIMIT after printing why.  ${opts} and ${history} must live until
 * hf_workers_close(), which is to be called in both cases. */
int hf_workers_open(struct hf_workers *workers,
                    const struct hf_torture_opts *opts, FILE *history);
/* Close what hf_workers_open() opened, after hf_workers_end(), and restore the
 * signal mask. */
void hf_workers_close(struct hf_workers *workers);

/* Start ${process} as a new client.  On failure .ending is set. */
void hf_workers_start(struct hf_workers *workers,
                      struct hf_worker_process *process);

/* Kill ${process} and wait until it has died. */
void hf_workers_kill(struct hf_workers *workers,
                     struct hf_worker_process *process);

/* Stop ${process} until hf_workers_thaw_due() at ${thaw_at_ms} or later. */
void hf_workers_freeze(struct hf_workers *workers,
                       struct hf_worker_process *process, uint64_t thaw_at_ms);

/* Continue the workers that are to be thawed at ${now_ms} or before. */
void hf_workers_thaw_due(struct hf_workers *workers, uint64_t now_ms);

/* Wait a moment for events and signals, write the events to the history and
 * collect the workers that have ended by themselves. */
void hf_workers_poll(struct hf_workers *workers);

/* Have all workers let go and end; kill those that take too long. */
void hf_workers_end(struct hf_workers *workers);

/* ------------------------------------------------------------ nemesis.c -- */

/* Look after ${workers} and inject faults until .opts->for_ms have passed or
 * .ending is set.  The choices follow from .opts->seed. */
void hf_nemesis_run(struct hf_workers *workers);

#endif
