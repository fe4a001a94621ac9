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

#include "core/plant.h"
#include "world.h"

#define JOBS_MAX 64

/* What a child tells its parent, in memory they share. */
struct report {
    bool zookeeper;
    uint64_t seed; /* the one it is in, or that broke */
    uint64_t done;
    uint64_t steps;
    uint64_t grants;
    uint64_t losses;
    int broken;
    char story[WORLD_TEXT];
};

static struct world world; /* too large for a stack */

static void print(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static void print_replay(uint64_t seed, bool zookeeper)
{
    printf("replay: ./dev sim%s --seed %" PRIu64 " --trace\n",
           zookeeper ? " --engine zk" : "", seed);
}

int seeds_replay(uint64_t seed, bool zookeeper, bool trace)
{
    bool fine;

    setvbuf(stdout, NULL, trace ? _IOLBF : _IOFBF, 0);
    fine = random_run(&world, seed, zookeeper, trace ? print : NULL, NULL);
    printf("seed %" PRIu64 ": ", seed);
    if (fine)
        printf("fine, %" PRIu64 " steps\n", world.steps);
    else
        printf("invariant %d broken: %s\n", world.broken, world.story);
    if (!fine && !trace)
        print_replay(seed, zookeeper);
    world_free(&world);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ------------------------------------------------------------- processes -- */

static struct report *share_reports(void)
{
    void *memory =
        mmap(NULL, JOBS_MAX * sizeof(struct report), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("holdfast-sim: mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* Live through every ${stride}-th seed until one breaks. */
static void live(struct report *report, uint64_t first, uint64_t count,
                 unsigned stride)
{
    for (uint64_t i = 0; i < count && report->broken == 0; i += stride) {
        report->seed = first + i;
        random_run(&world, first + i, report->zookeeper, NULL, NULL);
        report->broken = world.broken;
        memcpy(report->story, world.story, sizeof report->story);
        report->steps += world.steps;
        report->grants += world.grants;
        report->losses += world.losses;
        report->done++;
        world_free(&world);
    }
}

static pid_t start(struct report *report, bool zookeeper, uint64_t first,
                   uint64_t count, unsigned stride, int errors)
{
    pid_t child;

    memset(report, 0, sizeof *report);
    report->zookeeper = zookeeper;
    fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("holdfast-sim: fork");
        exit(EXIT_FAILURE);
    }
    if (child > 0)
        return child;
    if (errors >= 0)
        dup2(errors, STDERR_FILENO);
    live(report, first, count, stride);
    _exit(EXIT_SUCCESS);
}

/* Wait for ${child}; one that died in the middle of a seed broke it. */
static void finish(pid_t child, struct report *report)
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

static void print_report(const struct report *report)
{
    if (report->broken == 0)
        return;
    if (report->broken < 0)
        printf("seed %" PRIu64 ": %s\n", report->seed, report->story);
    else
        printf("seed %" PRIu64 ": invariant %d broken: %s\n", report->seed,
               report->broken, report->story);
    print_replay(report->seed, report->zookeeper);
}

int seeds_run(bool zookeeper, uint64_t first, uint64_t count, unsigned jobs)
{
    struct report *reports = share_reports();
    pid_t children[JOBS_MAX];
    struct report sum = {0};
    bool fine = true;

    for (unsigned i = 0; i < jobs; i++)
        children[i] =
            start(&reports[i], zookeeper, first + i, count - i, jobs, -1);
    for (unsigned i = 0; i < jobs; i++) {
        finish(children[i], &reports[i]);
        print_report(&reports[i]);
        sum.done += reports[i].done;
        sum.steps += reports[i].steps;
        sum.grants += reports[i].grants;
        sum.losses += reports[i].losses;
        fine &= reports[i].broken == 0;
    }
    printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " steps, %" PRIu64
           " grants, %" PRIu64 " of them lost: %s\n",
           sum.done, first, sum.steps, sum.grants, sum.losses,
           fine ? "every invariant held" : "BROKEN");
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---------------------------------------------------------------- plants -- */

#if defined(HF_PLANTS)

static const struct {
    const char *name;
    int invariant;
    const char *what;
} plants[] = {[HF_PLANT_NONE] = {"(none)", 0, "the core as it is"},
#define PLANT_ROW(name, invariant, what)                                       \
    [HF_PLANT_##name] = {#name, invariant, what},
              HF_PLANT_TABLE(PLANT_ROW)
#undef PLANT_ROW
};

/* Say which assertion it was that ended the child. */
static void quote_assertion(struct report *report, int errors)
{
    char text[1024];
    ssize_t got = pread(errors, text, sizeof text - 1, 0);
    const char *from;

    text[got < 0 ? 0 : got] = '\0';
    from = strstr(text, "Assertion ");
    if (from != NULL)
        snprintf(report->story, sizeof report->story, "the core's own: %.*s",
                 (int)strcspn(from, "\n"), from);
}

/* Faults of the client of ZooKeeper are found in its own world. */
static void find(struct report *report, enum hf_plant plant, uint64_t count)
{
    bool zookeeper = strncmp(plants[plant].name, "ZK_", 3) == 0;
    int errors = memfd_create("assertion", MFD_CLOEXEC);

    if (errors < 0) {
        perror("holdfast-sim: memfd_create");
        exit(EXIT_FAILURE);
    }
    hf_plant = plant;
    finish(start(report, zookeeper, 1, count, 1, errors), report);
    if (report->broken < 0)
        quote_assertion(report, errors);
    close(errors);
}

int seeds_plants(uint64_t count)
{
    struct report *report = share_reports();
    bool fine = true;

    printf("%-20s %-4s %-7s %s\n", "fault", "inv", "seed", "caught by");
    for (unsigned plant = 0; plant < HF_PLANT_COUNT; plant++) {
        bool caught;

        find(report, (enum hf_plant)plant, count);
        caught = report->broken != 0;
        fine &= caught == (plant != HF_PLANT_NONE);
        printf("%-20s %-4d ", plants[plant].name, plants[plant].invariant);
        if (!caught)
            printf("%-7s %s\n", "-",
                   plant == HF_PLANT_NONE ? "nothing, as it should be"
                                          : "NOT CAUGHT");
        else if (report->broken < 0)
            printf("%-7" PRIu64 " %s\n", report->seed, report->story);
        else
            printf("%-7" PRIu64 " check %d: %s\n", report->seed, report->broken,
                   report->story);
    }
    printf("%u planted faults within %" PRIu64 " seeds each: %s\n",
           HF_PLANT_COUNT - 1, count,
           fine ? "all caught" : "NOT ALL CAUGHT, or the sound core was");
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

#else

int seeds_plants(uint64_t count)
{
    (void)count;
    fprintf(stderr, "holdfast-sim: built without planted faults; use "
                    "holdfast-sim-plants\n");
    return 64;
}

#endif
