/* SPDX-License-Identifier: Apache-2.0 */
#include "torture/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command/clock.h"
#include "command/exit_status.h"
#include "command/ui.h"
#include "torture/history.h"

/* How long a worker that was asked to end may take before it is killed. */
#define END_MAX_MS 20000

#define POLL_MS 50
#define RESOURCES_BYTES (HF_RESOURCES * sizeof(struct hf_resource))

/* ---------------------------------------------------------------- events -- */

/* Record in the history what is done to ${process}, with the current time. */
static void record_event(const struct hf_workers *workers,
                         const struct hf_worker_process *process,
                         enum hf_history_event_type type)
{
    struct hf_history_event event = {.client = process->name, .type = type};
    char line[HF_HISTORY_EVENT_BYTES];
    struct timespec now;
    size_t bytes;

    clock_gettime(CLOCK_BOOTTIME, &now);
    event.at_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    bytes = hf_history_event_format(&event, line);
    fwrite(line, 1, bytes, workers->history);
}

/* Copy what is in the pipe to the history.  A worker writes each line by one
 * write() of less than PIPE_BUF, so lines are never mixed. */
static void collect_events(const struct hf_workers *workers)
{
    char text[1 << 16];
    ssize_t bytes;

    while ((bytes = read(workers->events[0], text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)bytes, workers->history);
}

/* ------------------------------------------------------------- processes -- */

/* In the child: run the worker, and exit. */
static _Noreturn void become_worker(struct hf_workers *workers,
                                    const struct hf_worker_process *process)
{
    uint64_t index = (uint64_t)(process - workers->processes);
    struct hf_worker_opts opts = {
        .url = workers->opts->url,
        .lock = workers->opts->lock,
        .kinds = workers->opts->kinds,
        .name = process->name,
        .number = (unsigned)index + 1,
        .seed = workers->opts->seed + index +
                (uint64_t)process->incarnation * HF_WORKERS_MAX,
        .resources = workers->resources,
        .history = workers->events[1],
    };

    /* A terminal sends SIGINT to the whole group; it stays blocked in the
     * worker.  SIGTERM stays blocked, too: the worker reads it from a
     * descriptor. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* A process group of its own: if our group is orphaned, the kernel sends
     * SIGHUP to all of it as soon as one process in it is stopped. */
    setpgid(0, 0);
    close(workers->events[0]);
    close(workers->signals);
    _exit(hf_worker_main(&opts));
}

/* Remember the first failure, and begin to end. */
static void fail(struct hf_workers *workers, int exit_code)
{
    if (workers->exit_code == 0)
        workers->exit_code = exit_code;
    workers->ending = true;
}

void hf_workers_start(struct hf_workers *workers,
                      struct hf_worker_process *process)
{
    pid_t pid;

    process->incarnation++;
    process->thaw_at_ms = HF_FOREVER;
    snprintf(process->name, sizeof process->name, "%td.%u",
             process - workers->processes + 1, process->incarnation);
    /* Otherwise the child would write the buffered lines a second time. */
    fflush(workers->history);
    pid = fork();
    if (pid == 0)
        become_worker(workers, process);
    if (pid < 0) {
        hf_ui_print("no process for a worker: %s; end some of what is running, "
                    "or raise the limits (ulimit -a)",
                    strerror(errno));
        fail(workers, HF_EXIT_LIMIT);
        return;
    }
    process->pid = pid;
}

void hf_workers_kill(struct hf_workers *workers,
                     struct hf_worker_process *process)
{
    record_event(workers, process, HF_HISTORY_DIED);
    kill(process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    process->pid = 0;
}

void hf_workers_freeze(struct hf_workers *workers,
                       struct hf_worker_process *process, uint64_t thaw_at_ms)
{
    process->thaw_at_ms = thaw_at_ms;
    record_event(workers, process, HF_HISTORY_FROZEN);
    kill(process->pid, SIGSTOP);
}

void hf_workers_thaw_due(struct hf_workers *workers, uint64_t now_ms)
{
    for (unsigned i = 0; i < workers->opts->count; i++) {
        struct hf_worker_process *process = &workers->processes[i];

        if (process->pid == 0 || process->thaw_at_ms == HF_FOREVER ||
            process->thaw_at_ms > now_ms)
            continue;
        process->thaw_at_ms = HF_FOREVER;
        kill(process->pid, SIGCONT);
        record_event(workers, process, HF_HISTORY_THAWED);
    }
}

/* Collect workers that have ended by themselves.  A worker that failed has
 * printed why. */
static void reap(struct hf_workers *workers)
{
    for (unsigned i = 0; i < workers->opts->count; i++) {
        struct hf_worker_process *process = &workers->processes[i];
        int status;

        if (process->pid == 0 || waitpid(process->pid, &status, WNOHANG) <= 0)
            continue;
        process->pid = 0;
        if (WIFSIGNALED(status)) {
            hf_ui_print("worker %s was killed by signal %d, and not by us; see "
                        "whether memory ran out, else please report it",
                        process->name, WTERMSIG(status));
            record_event(workers, process, HF_HISTORY_DIED);
            fail(workers, HF_EXIT_BUG);
        } else if (WEXITSTATUS(status) != 0) {
            fail(workers, WEXITSTATUS(status));
        }
    }
}

/* ------------------------------------------------------------------- run -- */

void hf_workers_poll(struct hf_workers *workers)
{
    struct pollfd polled[] = {{workers->events[0], POLLIN, 0},
                              {workers->signals, POLLIN, 0}};
    struct signalfd_siginfo info;

    poll(polled, 2, POLL_MS);
    if (polled[1].revents && read(workers->signals, &info, sizeof info) > 0)
        workers->ending = true;
    collect_events(workers);
    reap(workers);
}

/* Has any worker not ended? */
static bool any_alive(const struct hf_workers *workers)
{
    for (unsigned i = 0; i < workers->opts->count; i++)
        if (workers->processes[i].pid != 0)
            return true;
    return false;
}

void hf_workers_end(struct hf_workers *workers)
{
    uint64_t kill_at_ms = hf_clock_now_ms() + END_MAX_MS;

    hf_workers_thaw_due(workers, HF_FOREVER - 1);
    for (unsigned i = 0; i < workers->opts->count; i++)
        if (workers->processes[i].pid != 0)
            kill(workers->processes[i].pid, SIGTERM);
    while (any_alive(workers) && hf_clock_now_ms() < kill_at_ms)
        hf_workers_poll(workers);
    for (unsigned i = 0; i < workers->opts->count; i++)
        if (workers->processes[i].pid != 0)
            hf_workers_kill(workers, &workers->processes[i]);
    collect_events(workers);
}

int hf_workers_open(struct hf_workers *workers,
                    const struct hf_torture_opts *opts, FILE *history)
{
    sigset_t mask;

    *workers = (struct hf_workers){
        .opts = opts, .history = history, .events = {-1, -1}};
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, &workers->mask_before);
    workers->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    workers->resources = mmap(NULL, RESOURCES_BYTES, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (workers->signals >= 0 && workers->resources != MAP_FAILED &&
        pipe2(workers->events, O_CLOEXEC) == 0) {
        fcntl(workers->events[0], F_SETFL, O_NONBLOCK);
        return 0;
    }
    hf_ui_print("no descriptors or memory to begin with: %s; raise the limits "
                "(ulimit -a)",
                strerror(errno));
    return HF_EXIT_LIMIT;
}

void hf_workers_close(struct hf_workers *workers)
{
    if (workers->events[0] >= 0) {
        close(workers->events[0]);
        close(workers->events[1]);
    }
    if (workers->signals >= 0)
        close(workers->signals);
    if (workers->resources != MAP_FAILED)
        munmap(workers->resources, RESOURCES_BYTES);
    sigprocmask(SIG_SETMASK, &workers->mask_before, NULL);
}
