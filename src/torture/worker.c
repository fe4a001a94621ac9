/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See worker.h.  One loop runs all workloads of the process.  Each is asked to
 * advance after every event, and every HF_WORKLOAD_POLL_MS.
 */
#include "torture/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "command/exit_status.h"
#include "command/ui.h"

/* Room for a name and a suffix such as "/semaphore". */
#define LOCK_BYTES (HF_NAME_BYTES + 32)

/* A workload that keeps a ticket rests once in this many times.  Meanwhile the
 * others that keep their tickets have the lock for themselves. */
#define KEPT_RESTS_ONE_IN 32

struct worker_state {
    const struct hf_worker_opts *opts;
    struct hf_worker self;
    struct hf_workload *workloads[HF_WORKLOADS]; /* by kind; NULL: not run */
    char names[HF_WORKLOADS][HF_WORKLOAD_LOCKS][LOCK_BYTES];
    bool ending; /* SIGTERM was received, or a workload failed */
    int exit_code;
};

/* ------------------------------------------------------------------ open -- */

static const struct {
    const char *below[HF_WORKLOAD_LOCKS]; /* names of its locks below a name
                                             that several kinds share */
    enum hf_workload_kind resource;       /* the workload whose resources it
                                             uses, because it has the same
                                             locks */
} kinds[HF_WORKLOADS] = {
    [HF_WORKLOAD_MUTEX] = {{"mutex"}, HF_WORKLOAD_MUTEX},
    [HF_WORKLOAD_TOOL] = {{"mutex"}, HF_WORKLOAD_MUTEX},
    [HF_WORKLOAD_REENTRANT] = {{"mutex"}, HF_WORKLOAD_MUTEX},
    [HF_WORKLOAD_KEPT] = {{"kept"}, HF_WORKLOAD_KEPT},
    [HF_WORKLOAD_RWLOCK] = {{"rwlock"}, HF_WORKLOAD_RWLOCK},
    [HF_WORKLOAD_SEMAPHORE] = {{"semaphore"}, HF_WORKLOAD_SEMAPHORE},
    [HF_WORKLOAD_SEVERAL] = {{"one", "two"}, HF_WORKLOAD_SEVERAL},
    [HF_WORKLOAD_ELECTION] = {{"election"}, HF_WORKLOAD_ELECTION},
};

/* Return the workload for the mutex of a worker that runs all kinds. */
static enum hf_workload_kind
mutex_workload_of(const struct hf_worker_opts *opts)
{
    switch (opts->number % HF_WORKER_MUTEX_WAYS) {
    case 0:
        return HF_WORKLOAD_TOOL;
    case 1:
        return HF_WORKLOAD_REENTRANT;
    default:
        return HF_WORKLOAD_MUTEX;
    }
}

static bool is_for_one_kind(const struct hf_worker_opts *opts)
{
    return (opts->kinds & (opts->kinds - 1)) == 0;
}

/* Does this worker run ${kind}? */
static bool is_wanted(const struct hf_worker_opts *opts,
                      enum hf_workload_kind kind)
{
    if (!is_for_one_kind(opts) && kinds[kind].resource == HF_WORKLOAD_MUTEX)
        return kind == mutex_workload_of(opts);
    return opts->kinds & HF_WORKLOAD_SET(kind);
}

/* Set the names and resources of the workload's locks. */
static void choose_lock_names(struct worker_state *worker,
                              struct hf_workload *workload,
                              enum hf_workload_kind kind)
{
    const struct hf_worker_opts *opts = worker->opts;

    for (unsigned i = 0; i < HF_WORKLOAD_LOCKS && kinds[kind].below[i]; i++) {
        struct hf_workload_lock *lock =
            &workload->locks[workload->lock_count++];

        if (is_for_one_kind(opts) && kind != HF_WORKLOAD_SEVERAL)
            snprintf(worker->names[kind][i], LOCK_BYTES, "%s", opts->lock);
        else
            snprintf(worker->names[kind][i], LOCK_BYTES, "%s/%s", opts->lock,
                     kinds[kind].below[i]);
        lock->name = worker->names[kind][i];
        lock->resource =
            &opts->resources[kinds[kind].resource * HF_WORKLOAD_LOCKS + i];
    }
}

/* Make the workload KEPT, in the way in which this worker uses its mutex. */
static struct hf_workload *new_kept(const struct hf_worker_opts *opts)
{
    enum hf_workload_kind way = mutex_workload_of(opts);
    struct hf_workload *workload;

    if (way == HF_WORKLOAD_REENTRANT)
        workload = hf_workload_new_reentrant(true);
    else if (way == HF_WORKLOAD_TOOL)
        workload = hf_workload_new_tool();
    else
        workload = hf_workload_new_lock(way);
    if (workload != NULL)
        workload->rest_one_in =
            way == HF_WORKLOAD_REENTRANT ? KEPT_RESTS_ONE_IN : 1;
    return workload;
}

static struct hf_workload *new_workload(const struct hf_worker_opts *opts,
                                        enum hf_workload_kind kind)
{
    switch (kind) {
    case HF_WORKLOAD_ELECTION:
        return hf_workload_new_election();
    case HF_WORKLOAD_TOOL:
        return hf_workload_new_tool();
    case HF_WORKLOAD_REENTRANT:
        return hf_workload_new_reentrant(false);
    case HF_WORKLOAD_KEPT:
        return new_kept(opts);
    default:
        return hf_workload_new_lock(kind);
    }
}

/* Make the workload of ${kind} and open it. */
static hf_status open_workload(struct worker_state *worker,
                               enum hf_workload_kind kind,
                               struct hf_error *error)
{
    struct hf_workload *workload = new_workload(worker->opts, kind);

    if (workload == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for a workload");
    worker->workloads[kind] = workload;
    workload->worker = &worker->self;
    hf_random_seed(&workload->random, worker->opts->seed * HF_WORKLOADS + kind);
    choose_lock_names(worker, workload, kind);
    return workload->ops->open(workload, error);
}

/* Open the client and the workloads.  close_all() must follow in any case. */
static hf_status open_all(struct worker_state *worker, struct hf_error *error)
{
    const struct hf_worker_opts *opts = worker->opts;
    struct hf_client_opts client_opts = HF_CLIENT_OPTS_INIT;
    hf_status status;

    client_opts.delivery = HF_DELIVER_DISPATCH;
    status = hf_client_open(opts->url, &client_opts, &worker->self.client);
    if (status != HF_OK)
        *error = *hf_last_error();
    for (unsigned kind = 0; kind < HF_WORKLOADS && status == HF_OK; kind++)
        if (is_wanted(opts, (enum hf_workload_kind)kind))
            status = open_workload(worker, (enum hf_workload_kind)kind, error);
    return status;
}

/* Close what open_all() opened.  Workloads are closed first, but their memory
 * is freed last, because callbacks of the client point to it. */
static void close_all(struct worker_state *worker)
{
    for (unsigned kind = 0; kind < HF_WORKLOADS; kind++)
        if (worker->workloads[kind] != NULL)
            worker->workloads[kind]->ops->close(worker->workloads[kind]);
    if (worker->self.client != NULL)
        (void)hf_client_close(worker->self.client);
    for (unsigned kind = 0; kind < HF_WORKLOADS; kind++)
        hf_workload_free(worker->workloads[kind]);
}

/* ------------------------------------------------------------------ loop -- */

/* Wait for SIGTERM, the client or a workload, and run the client's callbacks.
 */
static void wait_for_event(struct worker_state *worker, int signals)
{
    struct pollfd polled[HF_WORKLOADS + 2] = {
        {hf_client_fd(worker->self.client), POLLIN, 0}, {signals, POLLIN, 0}};
    struct signalfd_siginfo info;
    nfds_t count = 2;

    for (unsigned kind = 0; kind < HF_WORKLOADS; kind++)
        if (worker->workloads[kind] != NULL)
            polled[count++] =
                (struct pollfd){worker->workloads[kind]->fd, POLLIN, 0};
    poll(polled, count, HF_WORKLOAD_POLL_MS);
    if (polled[1].revents && read(signals, &info, sizeof info) > 0)
        worker->ending = true;
    if (polled[0].revents)
        hf_client_dispatch(worker->self.client);
}

/* Let the workload advance.  If it has failed, the worker ends. */
static void advance(struct worker_state *worker, struct hf_workload *workload)
{
    workload->ending = worker->ending;
    workload->ops->advance(workload);
    if (workload->exit_code == 0)
        return;
    if (worker->exit_code == 0)
        worker->exit_code = workload->exit_code;
    worker->ending = true;
}

/* Does any workload wait for or hold a lock? */
static bool is_busy(const struct worker_state *worker)
{
    for (unsigned kind = 0; kind < HF_WORKLOADS; kind++)
        if (worker->workloads[kind] != NULL &&
            worker->workloads[kind]->state != HF_WORKLOAD_IDLE)
            return true;
    return false;
}

/* Run until SIGTERM, then until no workload is busy.  The parent kills us if
 * that takes too long. */
static void run_loop(struct worker_state *worker, int signals)
{
    while (!worker->ending || is_busy(worker)) {
        wait_for_event(worker, signals);
        for (unsigned kind = 0; kind < HF_WORKLOADS; kind++)
            if (worker->workloads[kind] != NULL)
                advance(worker, worker->workloads[kind]);
    }
}

int hf_worker_main(const struct hf_worker_opts *opts)
{
    struct worker_state worker = {
        .opts = opts,
        .self = {.name = opts->name,
                 .number = opts->number,
                 .history = opts->history},
    };
    struct hf_error error;
    sigset_t mask;
    int signals;

    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signals = signalfd(-1, &mask, SFD_CLOEXEC);
    if (signals < 0 ||
        (opts->url != NULL && setenv("HOLDFAST_URL", opts->url, 1) != 0)) {
        hf_ui_print("no descriptor or memory to begin with: %s",
                    strerror(errno));
        worker.exit_code = HF_EXIT_LIMIT;
    } else if (open_all(&worker, &error) != HF_OK) {
        hf_ui_print("%s", error.text);
        worker.exit_code = hf_exit_status(error.status);
    } else {
        run_loop(&worker, signals);
    }
    close_all(&worker);
    return worker.exit_code;
}
