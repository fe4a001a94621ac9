/* SPDX-License-Identifier: Apache-2.0 */
#include "torture/nemesis.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/ui.h"
#include "core/random.h"
#include "torture/history.h"

/* Frozen for 2^6 to 2^13 ms: some thaw within a lease, some after it. */
#define FREEZE_LEAST_LOG 6
#define FREEZE_LOGS 8

/* Who has not ended by then, asked to, is killed. */
#define END_MAX_MS 20000

#define POLL_MS 50
#define NAME_BYTES 32
#define RESOURCES_BYTES (HF_RESOURCES * sizeof(struct hf_resource))

struct worker_process {
    pid_t pid; /* 0: it has ended */
    char name[NAME_BYTES];
    unsigned incarnation;
    uint64_t thaw_at_ms; /* HF_FOREVER: it is not frozen */
};

struct torture {
    const struct hf_torture_opts *opts;
    FILE *history;
    struct hf_random random;
    struct hf_resource *resources; /* HF_RESOURCES of them */
    int events[2];                 /* a pipe: from all of them */
    int signals;
    sigset_t mask_before;
    struct worker_process workers[HF_WORKERS_MAX];
    uint64_t fault_at_ms;
    bool ending;
    int exit_code;
};

/* ----------------------------------------------------------------- notes -- */

static void record_event(const struct torture *torture,
                         const struct worker_process *worker,
                         enum hf_history_event_type type)
{
    struct hf_history_event event = {.client = worker->name, .type = type};
    char line[HF_HISTORY_EVENT_BYTES];
    struct timespec now;
    size_t bytes;

    clock_gettime(CLOCK_BOOTTIME, &now);
    event.at_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    bytes = hf_history_event_format(&event, line);
    fwrite(line, 1, bytes, torture->history);
}

/* Until there is nothing more for now.  Lines come whole. */
static void collect_events(const struct torture *torture)
{
    char text[1 << 16];
    ssize_t bytes;

    while ((bytes = read(torture->events[0], text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)bytes, torture->history);
}

/* --------------------------------------------------------------- members -- */

static _Noreturn void become_worker(struct torture *torture,
                                    const struct worker_process *worker)
{
    struct hf_worker_opts self = {
        .url = torture->opts->url,
        .lock = torture->opts->lock,
        .kinds = torture->opts->kinds,
        .name = worker->name,
        .number = (unsigned)(worker - torture->workers) + 1,
        .seed = torture->opts->seed + (uint64_t)(worker - torture->workers) +
                (uint64_t)worker->incarnation * HF_WORKERS_MAX,
        .resources = torture->resources,
        .history = torture->events[1],
    };

    /* SIGINT, which a terminal sends to all of us, stays blocked, and SIGTERM
     * until it looks. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Where nobody outside of our group looks after it, the kernel would hang
     * all of it up as soon as one that is stopped were left in it. */
    setpgid(0, 0);
    close(torture->events[0]);
    close(torture->signals);
    _exit(hf_worker_main(&self));
}

static void fail(struct torture *torture, int exit_code)
{
    if (torture->exit_code == 0)
        torture->exit_code = exit_code;
    torture->ending = true;
}

/* A client of its own in the history each time. */
static void start(struct torture *torture, struct worker_process *worker)
{
    pid_t pid;

    worker->incarnation++;
    worker->thaw_at_ms = HF_FOREVER;
    snprintf(worker->name, sizeof worker->name, "%td.%u",
             worker - torture->workers + 1, worker->incarnation);
    fflush(torture->history);
    pid = fork();
    if (pid == 0)
        become_worker(torture, worker);
    if (pid < 0) {
        hf_ui_print(
            "no process for a contender: %s; end some of what is running, "
            "or raise the limits (ulimit -a)",
            strerror(errno));
        fail(torture, HF_EXIT_LIMIT);
        return;
    }
    worker->pid = pid;
}

/* Noted before, so that what it relied on is not taken for longer. */
static void kill_worker(struct torture *torture, struct worker_process *worker)
{
    record_event(torture, worker, HF_HISTORY_DIED);
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    worker->pid = 0;
}

static void freeze(struct torture *torture, struct worker_process *worker)
{
    uint64_t most_ms = (uint64_t)1
                       << (FREEZE_LEAST_LOG +
                           hf_random_below(&torture->random, FREEZE_LOGS));

    worker->thaw_at_ms = hf_clock_now_ms() + most_ms;
    record_event(torture, worker, HF_HISTORY_FROZEN);
    kill(worker->pid, SIGSTOP);
}

static void thaw(struct torture *torture, struct worker_process *worker)
{
    worker->thaw_at_ms = HF_FOREVER;
    kill(worker->pid, SIGCONT);
    record_event(torture, worker, HF_HISTORY_THAWED);
}

/* One that ends by itself has said why. */
static void reap(struct torture *torture)
{
    for (unsigned i = 0; i < torture->opts->count; i++) {
        struct worker_process *worker = &torture->workers[i];
        int status;

        if (worker->pid == 0 || waitpid(worker->pid, &status, WNOHANG) <= 0)
            continue;
        worker->pid = 0;
        if (WIFSIGNALED(status)) {
            hf_ui_print(
                "contender %s was killed by signal %d, and not by us; see "
                "whether memory ran out, else please report it",
                worker->name, WTERMSIG(status));
            record_event(torture, worker, HF_HISTORY_DIED);
            fail(torture, HF_EXIT_BUG);
        } else if (WEXITSTATUS(status) != 0) {
            fail(torture, WEXITSTATUS(status));
        }
    }
}

/* ---------------------------------------------------------------- faults -- */

static void schedule_fault(struct torture *torture)
{
    uint64_t every_ms = torture->opts->fault_every_ms;

    torture->fault_at_ms = HF_FOREVER;
    if (every_ms > 0)
        torture->fault_at_ms =
            hf_clock_now_ms() + hf_random_below(&torture->random, 2 * every_ms);
}

/* Every other time one that holds: it is hit while it relies on the lock. */
static struct worker_process *choose_victim(struct torture *torture)
{
    uint64_t first = hf_random_below(&torture->random, HF_RESOURCES);
    unsigned holder = 0;

    /* Of any lock that is held, the first from there on. */
    for (unsigned i = 0; i < HF_RESOURCES && holder == 0; i++)
        holder =
            atomic_load(&torture->resources[(first + i) % HF_RESOURCES].holder);

    if (holder != 0 && hf_random_below(&torture->random, 2) == 0)
        return &torture->workers[holder - 1];
    return &torture->workers[hf_random_below(&torture->random,
                                             torture->opts->count)];
}

static void inject_fault(struct torture *torture)
{
    struct worker_process *worker = choose_victim(torture);
    bool kills = hf_random_below(&torture->random, 2) == 0;

    /* One that is frozen thaws first: what it does then is what counts. */
    if (worker->pid == 0 || worker->thaw_at_ms != HF_FOREVER)
        return;
    if (kills) {
        kill_worker(torture, worker);
        start(torture, worker);
    } else {
        freeze(torture, worker);
    }
}

static void thaw_due(struct torture *torture, uint64_t now_ms)
{
    for (unsigned i = 0; i < torture->opts->count; i++) {
        struct worker_process *worker = &torture->workers[i];

        if (worker->pid != 0 && worker->thaw_at_ms != HF_FOREVER &&
            worker->thaw_at_ms <= now_ms)
            thaw(torture, worker);
    }
}

/* ------------------------------------------------------------------ run -- */

static void poll_once(struct torture *torture)
{
    struct pollfd polled[] = {{torture->events[0], POLLIN, 0},
                              {torture->signals, POLLIN, 0}};
    struct signalfd_siginfo info;

    poll(polled, 2, POLL_MS);
    if (polled[1].revents && read(torture->signals, &info, sizeof info) > 0)
        torture->ending = true;
    collect_events(torture);
    reap(torture);
}

static void inject_faults(struct torture *torture)
{
    uint64_t end_at_ms = hf_clock_add(hf_clock_now_ms(), torture->opts->for_ms);
    uint64_t now_ms;

    schedule_fault(torture);
    while (!torture->ending && (now_ms = hf_clock_now_ms()) < end_at_ms) {
        poll_once(torture);
        thaw_due(torture, now_ms);
        if (now_ms >= torture->fault_at_ms) {
            inject_fault(torture);
            schedule_fault(torture);
        }
    }
}

static bool any_alive(const struct torture *torture)
{
    for (unsigned i = 0; i < torture->opts->count; i++)
        if (torture->workers[i].pid != 0)
            return true;
    return false;
}

static void end_workers(struct torture *torture)
{
    uint64_t give_up_at_ms = hf_clock_now_ms() + END_MAX_MS;

    thaw_due(torture, HF_FOREVER - 1);
    for (unsigned i = 0; i < torture->opts->count; i++)
        if (torture->workers[i].pid != 0)
            kill(torture->workers[i].pid, SIGTERM);
    while (any_alive(torture) && hf_clock_now_ms() < give_up_at_ms)
        poll_once(torture);
    for (unsigned i = 0; i < torture->opts->count; i++)
        if (torture->workers[i].pid != 0)
            kill_worker(torture, &torture->workers[i]);
    collect_events(torture);
}

static int open_torture(struct torture *torture)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, &torture->mask_before);
    torture->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    torture->resources = mmap(NULL, RESOURCES_BYTES, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (torture->signals >= 0 && torture->resources != MAP_FAILED &&
        pipe2(torture->events, O_CLOEXEC) == 0) {
        fcntl(torture->events[0], F_SETFL, O_NONBLOCK);
        return 0;
    }
    hf_ui_print("no descriptors or memory to begin with: %s; raise the limits "
                "(ulimit -a)",
                strerror(errno));
    return HF_EXIT_LIMIT;
}

static void close_torture(struct torture *torture)
{
    if (torture->events[0] >= 0) {
        close(torture->events[0]);
        close(torture->events[1]);
    }
    if (torture->signals >= 0)
        close(torture->signals);
    if (torture->resources != MAP_FAILED)
        munmap(torture->resources, RESOURCES_BYTES);
    sigprocmask(SIG_SETMASK, &torture->mask_before, NULL);
}

int hf_torture_run(const struct hf_torture_opts *opts, FILE *history)
{
    struct torture torture = {
        .opts = opts, .history = history, .events = {-1, -1}};

    hf_random_seed(&torture.random, opts->seed);
    torture.exit_code = open_torture(&torture);
    if (torture.exit_code == 0) {
        fputs(HF_HISTORY_FIRST_LINE "\n", history);
        for (unsigned i = 0; i < opts->count; i++)
            start(&torture, &torture.workers[i]);
        inject_faults(&torture);
        end_workers(&torture);
    }
    close_torture(&torture);
    return torture.exit_code;
}
