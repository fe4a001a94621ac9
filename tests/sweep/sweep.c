/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation and every system call fails once.
 *
 *     sweep ENGINE [--stride N] [--first K] [--scenario NAME]
 *     sweep ENGINE --scenario NAME --point CALL NTH ERROR
 *
 * ENGINE is file, or an engine whose server tests/servers/serve.py starts.
 * Each scenario runs once to count the calls that it makes, and then once for
 * each of those calls and each error that it may fail with, always in a
 * process of its own.  With a stride only every Nth of these points runs,
 * from the Kth on.
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

#include "leftovers.h"
#include "wrap.h"

/* The time that one process may take. */
#define PROCESS_MS 60000
/* More calls of one kind than any scenario makes. */
#define CALLS_MAX 3000
#define FINDINGS_MAX 40

/* Calls after whose failure libuv ends the process, so that the library
 * cannot return a status.  Any other end of a process is a finding. */
static const struct {
    enum fault_row row;
    const char *why;
} ends_of_libuv[] = {
    {FAULT_UV_ALLOC, "uv__io_start() cannot grow its table of watchers"},
    {FAULT_EPOLL_ADD, "uv__io_poll() cannot have a descriptor watched"},
};

/* What libuv leaves when one of its own calls fails. */
static const struct {
    enum fault_row row;
    struct leftovers leftovers;
    const char *why;
} rests_of_libuv[] = {
    {FAULT_PIPE, {1, 0}, "uv_loop_init() forgets its epoll descriptor"},
    {FAULT_EVENTFD, {1, 0}, "uv_loop_init() forgets its epoll descriptor"},
};

/* How a URL is made of the addresses that serve.py puts into ${variable}. */
static const struct server_url {
    const char *engine;
    const char *variable;
    const char *before, *between, *after; /* between: its servers */
    bool is_quorum; /* no barriers, and what was taken out is listed late */
} server_url[] = {
    {"zookeeper", "HF_ZK", "zk://", ",", "?timeout=4s", false},
    {"redis", "HF_REDIS", "redis://", ",", "?ttl=4s", false},
    {"redis-cluster", "HF_REDIS_CLUSTER", "redis://", ",", "?ttl=4s", false},
    {"quorum", "HF_QUORUM", "quorum:redis://", ",redis://", "?ttl=4s&rejoin=4s",
     true},
    {"postgres", "HF_PG", "", ",", "?ttl=4s", false},
    {"etcd", "HF_ETCD", "etcd://", ",", "?ttl=4s", false},
};

static struct {
    const char *engine;
    const char *scenario;
    unsigned stride;
    unsigned first;
    struct fault_plan point; /* the only one, if there is an error */
} wanted;

static struct {
    unsigned scenarios;
    unsigned points; /* of all scenarios, sampled or not */
    unsigned reported;
    unsigned met;
    unsigned ended_by_uv;
    unsigned findings;
    unsigned of_row[FAULT_ROWS]; /* met */
    bool called[FAULT_ROWS];
} tally;

static struct fault_report *report;
static unsigned processes;

/* -------------------------------------------------------------- one process */

struct sweep_directory {
    char url[256];
    char place[64]; /* of the file engine; "" */
    char prefix[64];
    bool has_leases;
    bool lists_late;
};

/* NULL: the file engine. */
static const struct server_url *server_url_of(const char *engine)
{
    for (size_t i = 0; i < sizeof(server_url) / sizeof(server_url[0]); i++)
        if (strcmp(server_url[i].engine, engine) == 0)
            return &server_url[i];
    return NULL;
}

static bool set_url(struct sweep_directory *sweep_directory)
{
    const struct server_url *by = server_url_of(wanted.engine);
    const char *at = by == NULL ? NULL : getenv(by->variable);
    FILE *url;

    if (at == NULL ||
        (url = fmemopen(sweep_directory->url, sizeof(sweep_directory->url),
                        "w")) == NULL)
        return false;
    sweep_directory->lists_late = by->is_quorum;
    (void)fputs(by->before, url);
    for (; *at != '\0'; at++)
        if (*at == ',')
            (void)fputs(by->between, url);
        else
            (void)fputc(*at, url);
    (void)fputs(by->after, url);
    return fclose(url) == 0;
}

static bool set_directory(struct sweep_directory *sweep_directory)
{
    *sweep_directory = (struct sweep_directory){.has_leases = true};
    (void)snprintf(sweep_directory->prefix, sizeof(sweep_directory->prefix),
                   "sweep/%ld-%u", (long)getpid(), ++processes);
    if (strcmp(wanted.engine, "file") == 0) {
        (void)strcpy(sweep_directory->place, "/tmp/holdfast-sweep-XXXXXX");
        sweep_directory->has_leases = false;
        if (mkdtemp(sweep_directory->place) == NULL)
            return false;
        (void)snprintf(sweep_directory->url, sizeof(sweep_directory->url),
                       "file:%s?state=%s.state", sweep_directory->place,
                       sweep_directory->place);
        return true;
    }
    return set_url(sweep_directory);
}

static int remove_one(const char *path, const struct stat *status, int kind,
                      struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static void clear_directory(const struct sweep_directory *sweep_directory)
{
    char state[sizeof(sweep_directory->place) + 8];

    if (sweep_directory->place[0] == '\0')
        return;
    (void)snprintf(state, sizeof(state), "%s.state", sweep_directory->place);
    (void)nftw(sweep_directory->place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static _Noreturn void steps(const struct scenario *scenario,
                            const struct sweep_directory *sweep_directory,
                            const struct fault_plan *plan,
                            const struct leftovers *usual,
                            struct leftovers *leftovers)
{
    struct sweep_fixture fixture = {.url = sweep_directory->url,
                                    .prefix = sweep_directory->prefix,
                                    .has_leases = sweep_directory->has_leases,
                                    .lists_late = sweep_directory->lists_late,
                                    .report = report};

    fault_set(plan, report);
    if (!wrap_take_memory(report))
        scenario_fail(&fixture, "there is another allocator");
    fault_begin();
    scenario->steps(&fixture);
    fault_end();
    leftovers_check(&fixture, usual);
    leftovers_count(&fixture, leftovers);
    atomic_store(&report->scenario_ended, true);
    _Exit(0);
}

/* Its wait status, or -1 if it had to be killed. */
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

/* What libuv leaves after ${plan} is expected. */
static void expect(const struct fault_plan *plan, const struct leftovers *usual,
                   struct leftovers *expected)
{
    *expected = *usual;
    for (size_t i = 0; i < sizeof(rests_of_libuv) / sizeof(rests_of_libuv[0]);
         i++)
        if (plan->error != 0 && rests_of_libuv[i].row == plan->row)
            expected->fds += rests_of_libuv[i].leftovers.fds;
}

static int run(const struct scenario *scenario, const struct fault_plan *plan,
               const struct leftovers *usual, struct leftovers *leftovers)
{
    struct leftovers expected;
    struct sweep_directory sweep_directory;
    pid_t process;
    int status;

    if (!set_directory(&sweep_directory)) {
        (void)fprintf(stderr, "sweep: no directory for a scenario of %s\n",
                      wanted.engine);
        exit(70);
    }
    memset(report, 0, sizeof(*report));
    expect(plan, usual, &expected);
    (void)fflush(NULL);
    if ((process = fork()) == 0)
        steps(scenario, &sweep_directory, plan, &expected, leftovers);
    status = process < 0 ? -1 : reap(process);
    clear_directory(&sweep_directory);
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

static void find(const struct scenario *scenario, const struct fault_plan *plan,
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
        (void)printf("%s %s, no fault: %s: %s\n", wanted.engine, scenario->name,
                     how, report->failure);
    else
        (void)printf("%s --scenario %s --point '%s' %u %s (%s): %s: %s\n",
                     wanted.engine, scenario->name, fault_kinds[plan->row].name,
                     plan->nth, fault_error_name(plan->error), report->caller,
                     how, report->failure);
    if (tally.findings >= FINDINGS_MAX) {
        (void)printf("%u findings are enough\n", tally.findings);
        exit(1);
    }
}

static void check_process_end(const struct scenario *scenario,
                              const struct fault_plan *plan, int status)
{
    tally.reported++;
    if (atomic_load(&report->met) > 0) {
        tally.met++;
        tally.of_row[plan->row]++;
    }
    if (status == 0 && atomic_load(&report->scenario_ended))
        return;
    if (atomic_load(&report->uv_aborted) && libuv_may_end(plan->row))
        tally.ended_by_uv++;
    else
        find(scenario, plan, status);
}

/* ---------------------------------------------------------- every point -- */

static void fail_in_each_way(const struct scenario *scenario,
                             struct fault_plan *plan,
                             const struct leftovers *usual)
{
    struct leftovers leftovers;
    const int *error;

    for (error = fault_kinds[plan->row].errors; *error != 0; error++) {
        if (tally.points++ % wanted.stride != wanted.first)
            continue;
        plan->error = *error;
        check_process_end(scenario, plan,
                          run(scenario, plan, usual, &leftovers));
    }
}

static void fail_each_call(const struct scenario *scenario,
                           const unsigned counted[FAULT_ROWS],
                           const struct leftovers *usual)
{
    struct fault_plan plan;

    for (plan.row = 0; plan.row < FAULT_ROWS; plan.row++)
        for (plan.nth = 1; plan.nth <= counted[plan.row]; plan.nth++)
            fail_in_each_way(scenario, &plan, usual);
}

/* Run without a fault: what the process leaves, and how often it makes each
 * call. */
static bool count(const struct scenario *scenario, struct leftovers *usual,
                  unsigned counted[FAULT_ROWS])
{
    static const struct leftovers anything = {LONG_MAX / 2, LONG_MAX / 2};
    static const struct fault_plan no_fault;
    int status = run(scenario, &no_fault, &anything, usual);

    if (status != 0) {
        find(scenario, &no_fault, status);
        return false;
    }
    for (int row = 0; row < FAULT_ROWS; row++) {
        counted[row] = atomic_load(&report->calls[row]);
        tally.called[row] |= counted[row] > 0;
        if (counted[row] > CALLS_MAX) {
            (void)printf("%s: %u calls of %s\n", scenario->name, counted[row],
                         fault_kinds[row].name);
            exit(1);
        }
    }
    return true;
}

static void sweep(const struct scenario *scenarios, struct leftovers *usual)
{
    unsigned counted[FAULT_ROWS];
    struct leftovers leftovers;

    for (const struct scenario *scenario = scenarios; scenario->name != NULL;
         scenario++) {
        if (wanted.scenario != NULL &&
            strcmp(wanted.scenario, scenario->name) != 0)
            continue;
        tally.scenarios++;
        if (!count(scenario, usual, counted))
            continue;
        if (wanted.point.error != 0)
            check_process_end(scenario, &wanted.point,
                              run(scenario, &wanted.point, usual, &leftovers));
        else
            fail_each_call(scenario, counted, usual);
    }
}

/* ------------------------------------------------------------ command line */

static _Noreturn void misuse(const char *what)
{
    (void)fprintf(
        stderr,
        "sweep: %s; expected file|zookeeper|redis|redis-cluster|"
        "quorum|postgres|etcd [--stride N] [--first K] [--scenario NAME] "
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
        else if (strcmp(words[i], "--scenario") == 0 && i + 1 < count_)
            wanted.scenario = words[++i];
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
    (void)printf("%s: %u scenarios, %u calls, %u points; reported %u, hit %u; "
                 "%u ended by libuv, %u findings\n",
                 wanted.engine, tally.scenarios, calls, tally.points,
                 tally.reported, tally.met, tally.ended_by_uv, tally.findings);
}

/* The first loop of a process makes memory that libuv keeps for ever, and
 * libuv ends the process if it cannot; see uv__signal_global_init(). */
static bool warm_up(void)
{
    uv_loop_t loop;

    return uv_loop_init(&loop) == 0 && uv_loop_close(&loop) == 0;
}

int main(int argc, char **argv)
{
    const struct server_url *by;
    struct leftovers *usual;

    if (argc < 2)
        misuse("no engine");
    read_options(argc, argv);
    by = server_url_of(wanted.engine);
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    usual = mmap(NULL, sizeof(*usual), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED || usual == MAP_FAILED)
        return 70;
    if (!warm_up())
        return 70;
    sweep(scenarios_of_locks, usual);
    if (by == NULL || !by->is_quorum)
        sweep(scenarios_of_barriers, usual);
    sweep(scenarios_of_queues, usual);
    sweep(scenarios_of_ends, usual);
    if (strcmp(wanted.engine, "zookeeper") == 0)
        sweep(scenarios_of_zookeeper, usual);
    summarize();
    return tally.findings > 0 || tally.scenarios == 0 ? 1 : 0;
}
