/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation and every system call fails once.
 *
 *     sweep ENGINE [--stride N] [--first K] [--story NAME]
 *     sweep ENGINE --story NAME --point CALL NTH ERROR
 *
 * ENGINE is file, or one whose server tests/servers/serve.py tells of.  Each
 * story is told once to count the calls that it makes, and then once for each
 * of them and for each way in which that may fail, in a process of its own.
 * With a stride, for every Nth of those, from the Kth on.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "judge.h"
#include "wrap.h"

/* How long one process may take. */
#define PROCESS_MS 60000
/* More calls of one kind than any story makes. */
#define CALLS_MAX 3000
#define FINDINGS_MAX 40

/*
 * Where libuv ends the process itself when a call fails, and so it is not for
 * us to answer with a status.  Anything else that ends it is a finding.
 */
static const struct {
    enum fault_row row;
    const char *why;
} ends_of_libuv[] = {
    {FAULT_UV_ALLOC, "uv__io_start() cannot grow its table of watchers"},
    {FAULT_EPOLL_ADD, "uv__io_poll() cannot have a descriptor watched"},
};

/*
 * What libuv leaves when a call of its own fails.
 */
static const struct {
    enum fault_row row;
    struct rest rest;
    const char *why;
} rests_of_libuv[] = {
    {FAULT_PIPE, {1, 0}, "uv_loop_init() forgets its epoll descriptor"},
    {FAULT_EVENTFD, {1, 0}, "uv_loop_init() forgets its epoll descriptor"},
};

/* What makes a URL of what serve.py says in ${variable}. */
static const struct served {
    const char *engine;
    const char *variable;
    const char *before, *between, *after; /* between: its servers */
    bool is_quorum; /* no barriers, and what was taken out is listed late */
} served[] = {
    {"zookeeper", "HF_ZK", "zk://", ",", "?timeout=4s", false},
    {"redis", "HF_REDIS", "redis://", ",", "?ttl=4s", false},
    {"redis-cluster", "HF_REDIS_CLUSTER", "redis://", ",", "?ttl=4s", false},
    {"quorum", "HF_QUORUM", "quorum:redis://", ",redis://", "?ttl=4s&rejoin=4s",
     true},
    {"postgres", "HF_PG", "", ",", "?ttl=4s", false},
};

static struct {
    const char *engine;
    const char *story;
    unsigned stride;
    unsigned first;
    struct fault_plan point; /* the only one, if there is an error */
} wanted;

static struct {
    unsigned stories;
    unsigned points; /* of all stories, sampled or not */
    unsigned told;
    unsigned met;
    unsigned ended_by_uv;
    unsigned findings;
    unsigned of_row[FAULT_ROWS]; /* met */
    bool called[FAULT_ROWS];
} tally;

static struct fault_report *report;
static unsigned processes;

/* -------------------------------------------------------------- one process */

struct stage {
    char url[256];
    char place[64]; /* of the file engine; "" */
    char prefix[64];
    bool has_leases;
    bool lists_late;
};

/* NULL: the file engine. */
static const struct served *served_of(const char *engine)
{
    for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
        if (strcmp(served[i].engine, engine) == 0)
            return &served[i];
    return NULL;
}

static bool set_url(struct stage *stage)
{
    const struct served *by = served_of(wanted.engine);
    const char *at = by == NULL ? NULL : getenv(by->variable);
    FILE *url;

    if (at == NULL ||
        (url = fmemopen(stage->url, sizeof(stage->url), "w")) == NULL)
        return false;
    stage->lists_late = by->is_quorum;
    (void)fputs(by->before, url);
    for (; *at != '\0'; at++)
        if (*at == ',')
            (void)fputs(by->between, url);
        else
            (void)fputc(*at, url);
    (void)fputs(by->after, url);
    return fclose(url) == 0;
}

static bool set_stage(struct stage *stage)
{
    *stage = (struct stage){.has_leases = true};
    (void)snprintf(stage->prefix, sizeof(stage->prefix), "sweep/%ld-%u",
                   (long)getpid(), ++processes);
    if (strcmp(wanted.engine, "file") == 0) {
        (void)strcpy(stage->place, "/tmp/holdfast-sweep-XXXXXX");
        stage->has_leases = false;
        if (mkdtemp(stage->place) == NULL)
            return false;
        (void)snprintf(stage->url, sizeof(stage->url), "file:%s?state=%s.state",
                       stage->place, stage->place);
        return true;
    }
    return set_url(stage);
}

static int remove_one(const char *path, const struct stat *status, int kind,
                      struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static void clear_stage(const struct stage *stage)
{
    char state[sizeof(stage->place) + 8];

    if (stage->place[0] == '\0')
        return;
    (void)snprintf(state, sizeof(state), "%s.state", stage->place);
    (void)nftw(stage->place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static _Noreturn void tell(const struct story *story, const struct stage *stage,
                           const struct fault_plan *plan,
                           const struct rest *usual, struct rest *rest)
{
    struct cast cast = {.url = stage->url,
                        .prefix = stage->prefix,
                        .has_leases = stage->has_leases,
                        .lists_late = stage->lists_late,
                        .report = report};

    fault_set(plan, report);
    if (!wrap_take_memory(report))
        story_complain(&cast, "there is another allocator");
    fault_begin();
    story->tell(&cast);
    fault_end();
    judge_what_is_left(&cast, usual);
    judge_count(&cast, rest);
    atomic_store(&report->story_ended, true);
    _Exit(0);
}

/* Its wait status, or -1 if it hung. */
static int reap(pid_t process)
{
    struct pollfd fd = {.fd = pidfd_open(process, 0), .events = POLLIN};
    bool hung = fd.fd < 0 || poll(&fd, 1, PROCESS_MS) != 1;
    int status = -1;

    if (hung)
        (void)kill(process, SIGKILL);
    (void)waitpid(process, &status, 0);
    (void)close(fd.fd);
    return hung ? -1 : status;
}

/* What libuv leaves on account of ${plan} is none of ours. */
static void expect(const struct fault_plan *plan, const struct rest *usual,
                   struct rest *expected)
{
    *expected = *usual;
    for (size_t i = 0; i < sizeof(rests_of_libuv) / sizeof(rests_of_libuv[0]);
         i++)
        if (plan->error != 0 && rests_of_libuv[i].row == plan->row)
            expected->fds += rests_of_libuv[i].rest.fds;
}

static int run(const struct story *story, const struct fault_plan *plan,
               const struct rest *usual, struct rest *rest)
{
    struct rest expected;
    struct stage stage;
    pid_t process;
    int status;

    if (!set_stage(&stage)) {
        (void)fprintf(stderr, "sweep: nowhere to tell a story of %s\n",
                      wanted.engine);
        exit(70);
    }
    memset(report, 0, sizeof(*report));
    expect(plan, usual, &expected);
    (void)fflush(NULL);
    if ((process = fork()) == 0)
        tell(story, &stage, plan, &expected, rest);
    status = process < 0 ? -1 : reap(process);
    clear_stage(&stage);
    return status;
}

/* ----------------------------------------------------------------- verdicts */

static bool libuv_may_end(enum fault_row row)
{
    for (size_t i = 0; i < sizeof(ends_of_libuv) / sizeof(ends_of_libuv[0]);
         i++)
        if (ends_of_libuv[i].row == row)
            return true;
    return false;
}

static void find(const struct story *story, const struct fault_plan *plan,
                 int status)
{
    char how[64] = "it hung";

    if (status >= 0 && WIFSIGNALED(status))
        (void)snprintf(how, sizeof(how), "signal %d (%s)%s", WTERMSIG(status),
                       sigabbrev_np(WTERMSIG(status)),
                       atomic_load(&report->uv_aborted) ? " by libuv" : "");
    else if (status >= 0)
        (void)snprintf(how, sizeof(how), "exit %d", WEXITSTATUS(status));
    tally.findings++;
    if (plan->error == 0)
        (void)printf("%s %s, no fault: %s: %s\n", wanted.engine, story->name,
                     how, report->complaint);
    else
        (void)printf("%s --story %s --point '%s' %u %s (%s): %s: %s\n",
                     wanted.engine, story->name, fault_kinds[plan->row].name,
                     plan->nth, fault_error_name(plan->error), report->caller,
                     how, report->complaint);
    if (tally.findings >= FINDINGS_MAX) {
        (void)printf("%u findings are enough\n", tally.findings);
        exit(1);
    }
}

static void judge(const struct story *story, const struct fault_plan *plan,
                  int status)
{
    tally.told++;
    if (atomic_load(&report->met) > 0) {
        tally.met++;
        tally.of_row[plan->row]++;
    }
    if (status == 0 && atomic_load(&report->story_ended))
        return;
    if (atomic_load(&report->uv_aborted) && libuv_may_end(plan->row))
        tally.ended_by_uv++;
    else
        find(story, plan, status);
}

/* --------------------------------------------------------------- the sweep */

static void fail_in_each_way(const struct story *story, struct fault_plan *plan,
                             const struct rest *usual)
{
    struct rest rest;
    const int *error;

    for (error = fault_kinds[plan->row].errors; *error != 0; error++) {
        if (tally.points++ % wanted.stride != wanted.first)
            continue;
        plan->error = *error;
        judge(story, plan, run(story, plan, usual, &rest));
    }
}

static void fail_each_call(const struct story *story,
                           const unsigned counted[FAULT_ROWS],
                           const struct rest *usual)
{
    struct fault_plan plan;

    for (plan.row = 0; plan.row < FAULT_ROWS; plan.row++)
        for (plan.nth = 1; plan.nth <= counted[plan.row]; plan.nth++)
            fail_in_each_way(story, &plan, usual);
}

/* Told as it is: what it leaves, and how often it makes each call. */
static bool count(const struct story *story, struct rest *usual,
                  unsigned counted[FAULT_ROWS])
{
    static const struct rest anything = {LONG_MAX / 2, LONG_MAX / 2};
    static const struct fault_plan no_fault;
    int status = run(story, &no_fault, &anything, usual);

    if (status != 0) {
        find(story, &no_fault, status);
        return false;
    }
    for (int row = 0; row < FAULT_ROWS; row++) {
        counted[row] = atomic_load(&report->calls[row]);
        tally.called[row] |= counted[row] > 0;
        if (counted[row] > CALLS_MAX) {
            (void)printf("%s: %u calls of %s\n", story->name, counted[row],
                         fault_kinds[row].name);
            exit(1);
        }
    }
    return true;
}

static void sweep(const struct story *stories, struct rest *usual)
{
    unsigned counted[FAULT_ROWS];
    struct rest rest;

    for (const struct story *story = stories; story->name != NULL; story++) {
        if (wanted.story != NULL && strcmp(wanted.story, story->name) != 0)
            continue;
        tally.stories++;
        if (!count(story, usual, counted))
            continue;
        if (wanted.point.error != 0)
            judge(story, &wanted.point,
                  run(story, &wanted.point, usual, &rest));
        else
            fail_each_call(story, counted, usual);
    }
}

/* ------------------------------------------------------------ command line */

static _Noreturn void misuse(const char *what)
{
    (void)fprintf(stderr,
                  "sweep: %s; expected file|zookeeper|redis|redis-cluster|"
                  "quorum|postgres [--stride N] [--first K] [--story NAME] "
                  "[--point CALL NTH ERROR]\n",
                  what);
    exit(64);
}

static void read_point(char *const *words)
{
    const int *error;

    for (int row = 0; row < FAULT_ROWS; row++) {
        if (strcmp(fault_kinds[row].name, words[0]) != 0)
            continue;
        wanted.point.row = (enum fault_row)row;
        wanted.point.nth = (unsigned)strtoul(words[1], NULL, 10);
        for (error = fault_kinds[row].errors; *error != 0; error++)
            if (strcmp(fault_error_name(*error), words[2]) == 0)
                wanted.point.error = *error;
    }
    if (wanted.point.error == 0)
        misuse("there is no such point");
}

static void read_options(int count_, char **words)
{
    wanted.engine = words[1];
    wanted.stride = 1;
    for (int i = 2; i < count_; i++) {
        if (strcmp(words[i], "--stride") == 0 && i + 1 < count_)
            wanted.stride = (unsigned)strtoul(words[++i], NULL, 10);
        else if (strcmp(words[i], "--first") == 0 && i + 1 < count_)
            wanted.first = (unsigned)strtoul(words[++i], NULL, 10);
        else if (strcmp(words[i], "--story") == 0 && i + 1 < count_)
            wanted.story = words[++i];
        else if (strcmp(words[i], "--point") == 0 && i + 3 < count_)
            read_point(&words[i + 1]), i += 3;
        else
            misuse(words[i]);
    }
    if (wanted.stride == 0)
        misuse("--stride 0");
    wanted.first %= wanted.stride;
}

static void summarize(void)
{
    unsigned calls = 0;

    for (int row = 0; row < FAULT_ROWS; row++) {
        calls += tally.called[row];
        if (tally.of_row[row] > 0)
            (void)printf("  %5u  %s\n", tally.of_row[row],
                         fault_kinds[row].name);
    }
    (void)printf("%s: %u stories, %u calls, %u points; told %u, met %u; "
                 "%u ended by libuv, %u findings\n",
                 wanted.engine, tally.stories, calls, tally.points, tally.told,
                 tally.met, tally.ended_by_uv, tally.findings);
}

/* libuv keeps for ever what its first loop makes; it ends the process if it
 * cannot, see uv__signal_global_init(). */
static bool warm_up(void)
{
    uv_loop_t loop;

    return uv_loop_init(&loop) == 0 && uv_loop_close(&loop) == 0;
}

int main(int argc, char **argv)
{
    const struct served *by;
    struct rest *usual;

    if (argc < 2)
        misuse("no engine");
    read_options(argc, argv);
    by = served_of(wanted.engine);
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    usual = mmap(NULL, sizeof(*usual), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED || usual == MAP_FAILED)
        return 70;
    if (!warm_up())
        return 70;
    sweep(stories_of_locks, usual);
    if (by == NULL || !by->is_quorum)
        sweep(stories_of_barriers, usual);
    sweep(stories_of_queues, usual);
    sweep(stories_of_ends, usual);
    summarize();
    return tally.findings > 0 || tally.stories == 0 ? 1 : 0;
}
