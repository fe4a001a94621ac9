/* SPDX-License-Identifier: Apache-2.0 */
#include "seeds.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rounds.h"

#define JOBS_MAX 64

static struct world world; /* too large for a stack */

static void print(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static void print_replay(uint64_t seed, struct seeds_kind kind)
{
    static const char *const words[] = {
        [WORLD_PLAIN] = "",
        [WORLD_ZOOKEEPER] = " --engine zk",
        [WORLD_LEASED] = " --engine leased",
    };

    printf("replay: ./dev sim%s%s --seed %" PRIu64 "%s\n",
           kind.rounds ? " --rounds" : "", words[kind.sort], seed,
           kind.rounds ? "" : " --trace");
}

static int replay_rounds(uint64_t seed, enum world_sort sort)
{
    struct rounds_end end;
    bool fine = rounds_run(seed, sort, &end);

    printf("seed %" PRIu64 ": ", seed);
    if (fine)
        printf("fine, %" PRIu64 " rounds\n", end.rounds);
    else
        printf("invariant %d broken: %s\n", end.broken, end.story);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

int seeds_replay(uint64_t seed, struct seeds_kind kind, bool trace)
{
    bool fine;

    if (kind.rounds)
        return replay_rounds(seed, kind.sort);
    setvbuf(stdout, NULL, trace ? _IOLBF : _IOFBF, 0);
    fine = random_run(&world, seed, kind.sort, trace ? print : NULL, NULL);
    printf("seed %" PRIu64 ": ", seed);
    if (fine)
        printf("fine, %" PRIu64 " steps\n", world.steps);
    else
        printf("invariant %d broken: %s\n", world.broken, world.story);
    if (!fine && !trace)
        print_replay(seed, kind);
    world_free(&world);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ------------------------------------------------------------- processes -- */

struct seeds_report *seeds_share(void)
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

static void live_rounds(struct seeds_report *report)
{
    struct rounds_end end;

    if (!rounds_run(report->seed, report->range.kind.sort, &end))
        snprintf(report->story, sizeof report->story, "%s", end.story);
    report->broken = end.broken;
    report->rounds += end.rounds;
}

static void live_world(struct seeds_report *report)
{
    random_run(&world, report->seed, report->range.kind.sort, NULL, NULL);
    report->broken = world.broken;
    memcpy(report->story, world.story, sizeof report->story);
    report->steps += world.steps;
    report->grants += world.grants;
    report->losses += world.losses;
    world_free(&world);
}

/* Live through every .stride-th seed until one breaks. */
void seeds_live(struct seeds_report *report)
{
    const struct seeds_range *range = &report->range;

    for (uint64_t i = 0; i < range->count && report->broken == 0;
         i += range->stride) {
        report->seed = range->first + i;
        if (range->kind.rounds)
            live_rounds(report);
        else
            live_world(report);
        report->done++;
    }
}

pid_t seeds_start(struct seeds_report *report, const struct seeds_range *range,
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

void seeds_finish(pid_t child, struct seeds_report *report)
{
    int status = 0;

    if (waitpid(child, &status, 0) < 0) {
        perror("holdfast-sim: waitpid");
        exit(EXIT_FAILURE);
    }
    if (report->broken == 0 &&
        !(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)) {
        report->broken = -1;
        snprintf(report->story, sizeof report->story, "%s %d%s",
                 WIFSIGNALED(status) ? "died of signal" : "exited with",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                 WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
                     ? ": an assertion of the core"
                     : "");
    }
}

static void print_report(const struct seeds_report *report)
{
    if (report->broken == 0)
        return;
    if (report->broken < 0)
        printf("seed %" PRIu64 ": %s\n", report->seed, report->story);
    else
        printf("seed %" PRIu64 ": invariant %d broken: %s\n", report->seed,
               report->broken, report->story);
    print_replay(report->seed, report->range.kind);
}

int seeds_run(struct seeds_kind kind, uint64_t first, uint64_t count,
              unsigned jobs)
{
    struct seeds_report *reports = seeds_share();
    pid_t children[JOBS_MAX];
    struct seeds_report sum = {0};
    bool fine = true;

    for (unsigned i = 0; i < jobs; i++) {
        struct seeds_range range = {kind, first + i, count - i, jobs};

        children[i] = seeds_start(&reports[i], &range, seeds_live);
    }
    for (unsigned i = 0; i < jobs; i++) {
        seeds_finish(children[i], &reports[i]);
        print_report(&reports[i]);
        sum.done += reports[i].done;
        sum.steps += reports[i].steps;
        sum.rounds += reports[i].rounds;
        sum.grants += reports[i].grants;
        sum.losses += reports[i].losses;
        fine &= reports[i].broken == 0;
    }
    printf("%" PRIu64 " seeds from %" PRIu64 ", ", sum.done, first);
    if (kind.rounds)
        printf("%" PRIu64 " rounds: ", sum.rounds);
    else
        printf("%" PRIu64 " steps, %" PRIu64 " grants, %" PRIu64
               " of them lost: ",
               sum.steps, sum.grants, sum.losses);
    puts(fine ? "every invariant held" : "BROKEN");
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
