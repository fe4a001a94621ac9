/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See seeds.h.
 */
#include "simulator/random/seeds.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulator/random/deadlock.h"
#include "simulator/random/double_barrier.h"
#include "simulator/random/shrink.h"
#include "simulator/random/success.h"
#include "simulator/random/zookeeper.h"

#define JOBS_MAX 64

static struct cluster cluster; /* too large for a stack */

static const char *mutant; /* NULL: this program is no mutant */
static void (*line)(void *arg, const char *text);
static bool lines_brief;

static void print(void *arg, const char *text)
{
    (void)arg;
    puts(text);
    fflush(stdout); /* an assertion may end the next step */
}

void seeds_set_verbose(bool brief)
{
    line = print;
    lines_brief = brief;
}

void seeds_set_mutant(const char *name)
{
    mutant = name;
}

void seeds_print_command(struct seeds_kind kind, uint64_t seed)
{
    static const char *const words[] = {
        [ENGINE_PLAIN] = "",
        [ENGINE_ZOOKEEPER] = " --engine zk",
        [ENGINE_LEASED] = " --engine leased",
        [ENGINE_ZOOKEEPER_CLIENT] = " --engine zk-client",
        [ENGINE_ZOOKEEPER_SHARED] = " --engine zk-shared",
        [ENGINE_ETCD] = " --engine etcd",
    };

    printf("./dev sim%s%s%s%s --seed %" PRIu64,
           mutant == NULL ? "" : " --mutant ", mutant == NULL ? "" : mutant,
           kind.workload == SEEDS_DOUBLE_BARRIER ? " --double-barrier"
           : kind.workload == SEEDS_DEADLOCK     ? " --deadlock"
           : kind.workload == SEEDS_SUCCESS      ? " --success"
                                                 : "",
           words[kind.engine], seed);
}

void seeds_print(const struct seeds_report *report)
{
    printf("seed %" PRIu64 ": ", report->seed);
    if (report->broken > 0)
        printf("invariant %d broken: ", report->broken);
    if (report->broken != 0)
        puts(report->message);
    else if (report->range.kind.workload == SEEDS_DOUBLE_BARRIER)
        printf("fine, %" PRIu64 " generations\n", report->generations);
    else if (report->range.kind.workload == SEEDS_SUCCESS)
        printf("fine, %" PRIu64 " successes, %" PRIu64 " too early\n",
               report->successes, report->early);
    else if (report->range.kind.workload == SEEDS_DEADLOCK)
        printf("fine, %" PRIu64 " grants, %" PRIu64 " deadlocks\n",
               report->grants, report->deadlocks.found);
    else if (report->range.kind.engine == ENGINE_ZOOKEEPER_CLIENT)
        printf("fine, %" PRIu64 " operations\n", report->operations);
    else
        printf("fine, %" PRIu64 " steps\n", report->steps);
}

bool seeds_same_failure(const struct seeds_report *a,
                        const struct seeds_report *b)
{
    return a->broken != 0 && a->broken == b->broken && a->check == b->check &&
           (a->broken > 0 || strcmp(a->message, b->message) == 0);
}

/* ------------------------------------------------------------- processes -- */

struct seeds_report *seeds_map_reports(void)
{
    void *memory =
        mmap(NULL, JOBS_MAX * sizeof(struct seeds_report),
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("holdfast-sim: mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void run_double_barrier(struct seeds_report *report)
{
    struct double_barrier_result end;

    if (!double_barrier_run_seed(report->seed, report->range.kind.engine, line,
                                 &end))
        snprintf(report->message, sizeof report->message, "%s", end.message);
    report->broken = end.broken;
    report->check = end.message;
    report->generations += end.generations;
}

static void add_counts(struct deadlock_counts *sum,
                       const struct deadlock_counts *counts)
{
    sum->grants += counts->grants;
    sum->found += counts->found;
    sum->remains += counts->remains;
    sum->handoffs += counts->handoffs;
    sum->passed += counts->passed;
    sum->nested += counts->nested;
    sum->revoked += counts->revoked;
    sum->walks += counts->walks;
    sum->names += counts->names;
}

static void run_deadlock(struct seeds_report *report)
{
    struct deadlock_result end;

    if (!deadlock_run_seed(report->seed, report->range.kind.engine, line, &end))
        snprintf(report->message, sizeof report->message, "%s", end.message);
    report->broken = end.broken;
    report->check = end.message;
    report->grants += end.counts.grants;
    add_counts(&report->deadlocks, &end.counts);
}

static void run_success(struct seeds_report *report)
{
    struct success_result end;

    if (!success_run_seed(report->seed, report->range.kind.engine, line, &end))
        snprintf(report->message, sizeof report->message, "%s", end.message);
    report->broken = end.broken;
    report->check = end.message;
    report->successes += end.recorded;
    report->early += end.early;
}

static void run_zookeeper(struct seeds_report *report)
{
    struct zookeeper_result end;

    if (!zookeeper_run_seed(report->seed, line, &end))
        snprintf(report->message, sizeof report->message, "%s", end.check);
    report->broken = end.broken;
    report->check = end.check;
    report->operations += end.operations;
    report->events += end.events;
}

static void run_cluster(struct seeds_report *report)
{
    random_run(&cluster, report->seed, report->range.kind.engine, line,
               lines_brief);
    report->broken = cluster.broken;
    report->check = cluster.check;
    memcpy(report->message, cluster.message, sizeof report->message);
    report->steps += cluster.steps;
    report->grants += cluster.grants;
    report->losses += cluster.losses;
    report->operations += cluster.operations_of_handles;
    report->events += cluster.events_of_handles;
    cluster_free(&cluster);
}

/* Run every .stride-th seed until one breaks. */
void seeds_run_range(struct seeds_report *report)
{
    const struct seeds_range *range = &report->range;

    for (uint64_t i = 0; i < range->count && report->broken == 0;
         i += range->stride) {
        report->seed = range->first + i;
        if (range->kind.workload == SEEDS_DOUBLE_BARRIER)
            run_double_barrier(report);
        else if (range->kind.workload == SEEDS_SUCCESS)
            run_success(report);
        else if (range->kind.workload == SEEDS_DEADLOCK)
            run_deadlock(report);
        else if (range->kind.engine == ENGINE_ZOOKEEPER_CLIENT)
            run_zookeeper(report);
        else
            run_cluster(report);
        report->done++;
    }
}

/* The report is zeroed before the child starts. */
pid_t seeds_fork(struct seeds_report *report, const struct seeds_range *range,
                 void (*work)(struct seeds_report *report))
{
    pid_t child;

    memset(report, 0, sizeof *report);
    report->range = *range;
    fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("holdfast-sim: fork");
        exit(EXIT_FAILURE);
    }
    if (child > 0)
        return child;
    work(report);
    _exit(EXIT_SUCCESS);
}

/* A child that died without a violation has found one: an assertion or a
 * signal. */
void seeds_wait(pid_t child, struct seeds_report *report)
{
    int status = 0;

    if (waitpid(child, &status, 0) < 0) {
        perror("holdfast-sim: waitpid");
        exit(EXIT_FAILURE);
    }
    if (report->broken == 0 &&
        !(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)) {
        report->broken = -1;
        snprintf(report->message, sizeof report->message, "%s %d%s",
                 WIFSIGNALED(status) ? "died of signal" : "exited with",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                 WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
                     ? ": an assertion failed"
                     : "");
    }
}

/* What a silent child does; set before it is started. */
static struct {
    void (*work)(struct seeds_report *report);
    int output_fd; /* its output goes there */
} silent;

static void run_hushed(struct seeds_report *report)
{
    dup2(silent.output_fd, STDERR_FILENO);
    dup2(silent.output_fd, STDOUT_FILENO);
    silent.work(report);
    fflush(stdout);
}

/* Take the text of a failed assertion out of the child's output. */
static void read_assertion(struct seeds_report *report)
{
    char text[1024];
    ssize_t got = pread(silent.output_fd, text, sizeof text - 1, 0);
    const char *from;

    text[got < 0 ? 0 : got] = '\0';
    if ((from = strstr(text, "Assertion ")) != NULL)
        snprintf(report->message, sizeof report->message, "assertion: %.*s",
                 (int)strcspn(from, "\n"), from);
}

void seeds_run_silent(struct seeds_report *report,
                      const struct seeds_range *range,
                      void (*work)(struct seeds_report *report))
{
    silent.work = work;
    silent.output_fd = memfd_create("output", MFD_CLOEXEC);
    if (silent.output_fd < 0) {
        perror("holdfast-sim: memfd_create");
        exit(EXIT_FAILURE);
    }
    seeds_wait(seeds_fork(report, range, run_hushed), report);
    if (report->broken < 0)
        read_assertion(report);
    close(silent.output_fd);
}

/* ---------------------------------------------------------- entry points -- */

int seeds_trace(struct seeds_kind kind, uint64_t seed)
{
    struct seeds_report report = {.range = {kind, seed, 1, 1}};

    seeds_set_verbose(false);
    seeds_run_range(&report);
    seeds_print(&report);
    return report.broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Print what broke, and shrink the first. */
static void print_broken(const struct seeds_report *reports, unsigned jobs,
                         bool shrinks)
{
    const struct seeds_report *first = NULL;

    for (unsigned i = 0; i < jobs; i++) {
        if (reports[i].broken == 0)
            continue;
        seeds_print(&reports[i]);
        if (first == NULL || reports[i].seed < first->seed)
            first = &reports[i];
    }
    if (first == NULL)
        return;
    printf("replay: ");
    seeds_print_command(first->range.kind, first->seed);
    puts(" --trace");
    if (shrinks && first->range.kind.workload != SEEDS_DEADLOCK)
        shrink_seed(first->range.kind, first->seed);
}

/* A batch without a grant, a passage of a double barrier, or an event of a
 * watch, shows nothing although every invariant holds.  A single run may be
 * so. */
static bool nothing_happened(const struct seeds_report *sum)
{
    return sum->done != 1 && sum->generations == 0 && sum->grants == 0 &&
           sum->events == 0 && sum->successes == 0;
}

static const char *verdict(const struct seeds_report *sum)
{
    if (sum->broken != 0)
        return "BROKEN";
    return nothing_happened(sum) ? "NOTHING HAPPENED: run more seeds"
                                 : "every invariant held";
}

static void print_deadlocks(const struct deadlock_counts *sum)
{
    printf("%" PRIu64 " grants, %" PRIu64 " deadlocks, %" PRIu64
           " of them behind one that had given up, %" PRIu64
           " handoffs, %" PRIu64 " grants passed on, %" PRIu64
           " nested runs, %" PRIu64 " requests to release, %" PRIu64
           " walks over names with %" PRIu64 " that stayed: ",
           sum->grants, sum->found, sum->remains, sum->handoffs, sum->passed,
           sum->nested, sum->revoked, sum->walks, sum->names);
}

/* One line for all seeds of a kind. */
static void print_sum(const struct seeds_report *sum)
{
    printf("%" PRIu64 " seeds from %" PRIu64 ", ", sum->done, sum->range.first);
    if (sum->range.kind.workload == SEEDS_DOUBLE_BARRIER)
        printf("%" PRIu64 " generations: ", sum->generations);
    else if (sum->range.kind.workload == SEEDS_DEADLOCK)
        print_deadlocks(&sum->deadlocks);
    else if (sum->range.kind.workload == SEEDS_SUCCESS)
        printf("%" PRIu64 " successes, %" PRIu64 " too early: ", sum->successes,
               sum->early);
    else if (sum->range.kind.engine == ENGINE_ZOOKEEPER_CLIENT)
        printf("%" PRIu64 " operations, %" PRIu64 " events: ", sum->operations,
               sum->events);
    else
        printf("%" PRIu64 " steps, %" PRIu64 " grants, %" PRIu64
               " of them lost%s",
               sum->steps, sum->grants, sum->losses,
               sum->range.kind.engine == ENGINE_ZOOKEEPER_SHARED ? ", " : ": ");
    if (sum->range.kind.engine == ENGINE_ZOOKEEPER_SHARED)
        printf("%" PRIu64 " operations, %" PRIu64 " events: ", sum->operations,
               sum->events);
    puts(verdict(sum));
}

/* Each of ${jobs} children runs every ${jobs}-th seed. */
int seeds_run(struct seeds_kind kind, uint64_t first, uint64_t count,
              unsigned jobs, bool shrinks)
{
    struct seeds_report *reports = seeds_map_reports();
    pid_t children[JOBS_MAX];
    struct seeds_report sum = {.range = {.kind = kind, .first = first}};

    for (unsigned i = 0; i < jobs; i++) {
        struct seeds_range range = {kind, first + i, count > i ? count - i : 0,
                                    jobs};

        children[i] = seeds_fork(&reports[i], &range, seeds_run_range);
    }
    for (unsigned i = 0; i < jobs; i++) {
        seeds_wait(children[i], &reports[i]);
        sum.done += reports[i].done;
        sum.steps += reports[i].steps;
        sum.generations += reports[i].generations;
        sum.grants += reports[i].grants;
        sum.losses += reports[i].losses;
        sum.operations += reports[i].operations;
        sum.events += reports[i].events;
        sum.successes += reports[i].successes;
        sum.early += reports[i].early;
        add_counts(&sum.deadlocks, &reports[i].deadlocks);
        sum.broken |= reports[i].broken;
    }
    print_broken(reports, jobs, shrinks);
    print_sum(&sum);
    return sum.broken == 0 && !nothing_happened(&sum) ? EXIT_SUCCESS
                                                      : EXIT_FAILURE;
}

int seeds_run_all(uint64_t first, uint64_t count, unsigned jobs, bool shrinks)
{
    /* The shares are such that each kind takes about the same time; runs of
     * double barriers are long. */
    static const struct {
        const char *name;
        struct seeds_kind kind;
        unsigned percent;
    } shares[] = {
        {"plain", {ENGINE_PLAIN, SEEDS_LOCKS}, 33},
        {"zk", {ENGINE_ZOOKEEPER, SEEDS_LOCKS}, 30},
        {"etcd", {ENGINE_ETCD, SEEDS_LOCKS}, 10},
        {"leased", {ENGINE_LEASED, SEEDS_LOCKS}, 15},
        {"double-barrier", {ENGINE_PLAIN, SEEDS_DOUBLE_BARRIER}, 2},
        {"zk double-barrier", {ENGINE_ZOOKEEPER, SEEDS_DOUBLE_BARRIER}, 1},
        {"leased double-barrier", {ENGINE_LEASED, SEEDS_DOUBLE_BARRIER}, 1},
        {"etcd double-barrier", {ENGINE_ETCD, SEEDS_DOUBLE_BARRIER}, 1},
        {"deadlock", {ENGINE_PLAIN, SEEDS_DEADLOCK}, 1},
        {"zk deadlock", {ENGINE_ZOOKEEPER, SEEDS_DEADLOCK}, 1},
        {"leased deadlock", {ENGINE_LEASED, SEEDS_DEADLOCK}, 1},
        {"etcd deadlock", {ENGINE_ETCD, SEEDS_DEADLOCK}, 1},
        {"success", {ENGINE_PLAIN, SEEDS_SUCCESS}, 1},
        {"zk success", {ENGINE_ZOOKEEPER, SEEDS_SUCCESS}, 1},
        {"leased success", {ENGINE_LEASED, SEEDS_SUCCESS}, 1},
    };
    int worst = EXIT_SUCCESS;

    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        uint64_t share = (count * shares[i].percent + 99) / 100;

        printf("%s: ", shares[i].name);
        fflush(stdout);
        if (seeds_run(shares[i].kind, first, share, jobs, shrinks) !=
            EXIT_SUCCESS)
            worst = EXIT_FAILURE;
    }
    return worst;
}
