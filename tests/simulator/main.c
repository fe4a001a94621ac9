/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of holdfast-sim: seeds, scripts and explored cases. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cluster/cluster.h"
#include "simulator/explore/explore.h"
#include "simulator/random/seeds.h"
#include "simulator/random/shrink.h"

/* More than a run needs. */
#define MEMORY_KEPT (256 << 20)
#define MEMORY_AT_ONCE (1 << 20)

static const char usage[] =
    "usage: holdfast-sim [--double-barrier | --deadlock | --success]\n"
    "                    [--engine zk|leased|etcd]\n"
    "                    --seeds N [--first S] [--jobs N] [--no-shrink]\n"
    "       holdfast-sim [--double-barrier | --deadlock | --success]\n"
    "                    [--engine zk|leased|etcd] --seed S\n"
    "                    [--trace | --only N,M-O... [--without CHANCE,...]]\n"
    "       holdfast-sim --all --seeds N [--first S] [--jobs N]\n"
    "       holdfast-sim --script FILE... [--update]\n"
    "       holdfast-sim --explore CASE|all [--depth N] [--check-reduction]\n"
    "       holdfast-sim --explore CASE --actions A,B...\n"
    "\n"
    "  --double-barrier   the clients use a double barrier instead of locks\n"
    "  --success          a job is to succeed once in a period\n"
    "  --deadlock         owners hold several locks and look for deadlocks\n"
    "  --engine zk        the real client of ZooKeeper on simulated servers,\n"
    "                     instead of the plain model; leased: the real client\n"
    "                     of servers that lease tickets on a simulated one;\n"
    "                     etcd: the real client of etcd on simulated\n"
    "                     members;\n"
    "                     zk-client: no locks, but the public client of\n"
    "                     ZooKeeper; zk-shared: as zk, with the public client\n"
    "                     on the sessions of the locks; both with --seeds and\n"
    "                     --seed\n"
    "  --seeds N          run N seeds and check the invariants in each run\n"
    "  --all              seeds of every kind, N of them together\n"
    "  --first S          the first seed of each kind (1)\n"
    "  --jobs N           processes at a time (1)\n"
    "  --seed S           run one seed; --trace prints all that happens\n"
    "  --only N,M-O       take only these of its decisions: a run that breaks\n"
    "                     an invariant is shrunk to few decisions, and the\n"
    "                     command that replays them is printed\n"
    "  --without CHANCE   and draw no faults of these kinds\n"
    "  --no-shrink        only name the seed that breaks an invariant\n"
    "  --script FILE      run scripts and compare each trace with the "
    "expected\n"
    "                     one; --update writes the trace into the file\n"
    "  --explore CASE     run every order in which the actions of CASE can\n"
    "                     happen: two, mutex, rw and others in\n"
    "                     tests/simulator/explore/case.c; all: those that "
    "take\n"
    "                     seconds\n"
    "  --depth N          cut off paths of more than N actions (500)\n"
    "  --check-reduction  leave out no order, and check that states with one\n"
    "                     digest have the same successors\n"
    "  --actions A,B      run one path, and print all that happens on it\n"
    "  --mutant X         this program is the mutant X: print that in "
    "commands\n"
    "                     that replay\n";

struct options {
    uint64_t seeds;
    uint64_t first;
    uint64_t jobs;
    uint64_t seed;
    bool one;
    bool trace;
    bool no_shrink;
    bool all;
    bool script;
    bool update;
    struct seeds_kind kind;
    uint64_t depth;
    bool check_reduction;
    const char *explore_case;
    const char *actions;
    const char *only;
    const char *without;
};

static int usage_error(const char *what)
{
    fprintf(stderr, "holdfast-sim: %s\n%s", what, usage);
    return 64;
}

static bool number(const char *text, uint64_t *value)
{
    char *end;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* Options without an argument; the functions below find the variable of an
 * option with one. */
static bool parse_flag(struct options *options, const char *word)
{
    if (strcmp(word, "--trace") == 0)
        options->trace = true;
    else if (strcmp(word, "--no-shrink") == 0)
        options->no_shrink = true;
    else if (strcmp(word, "--all") == 0)
        options->all = true;
    else if (strcmp(word, "--script") == 0)
        options->script = true;
    else if (strcmp(word, "--update") == 0)
        options->update = true;
    else if (strcmp(word, "--double-barrier") == 0)
        options->kind.workload = SEEDS_DOUBLE_BARRIER;
    else if (strcmp(word, "--deadlock") == 0)
        options->kind.workload = SEEDS_DEADLOCK;
    else if (strcmp(word, "--success") == 0)
        options->kind.workload = SEEDS_SUCCESS;
    else if (strcmp(word, "--check-reduction") == 0)
        options->check_reduction = true;
    else
        return false;
    return true;
}

static const char **text_of(struct options *options, const char *word)
{
    if (strcmp(word, "--explore") == 0)
        return &options->explore_case;
    if (strcmp(word, "--actions") == 0)
        return &options->actions;
    if (strcmp(word, "--only") == 0)
        return &options->only;
    if (strcmp(word, "--without") == 0)
        return &options->without;
    return NULL;
}

static uint64_t *value_of(struct options *options, const char *word)
{
    if (strcmp(word, "--seeds") == 0)
        return &options->seeds;
    if (strcmp(word, "--first") == 0)
        return &options->first;
    if (strcmp(word, "--jobs") == 0)
        return &options->jobs;
    if (strcmp(word, "--depth") == 0)
        return &options->depth;
    if (strcmp(word, "--seed") != 0)
        return NULL;
    options->one = true;
    return &options->seed;
}

static int run_scripts(char **paths, size_t count, bool update)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++)
        failed += !script_run(paths[i], update);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool parse_engine(struct options *options, const char *word)
{
    if (word != NULL && strcmp(word, "zk") == 0)
        options->kind.engine = ENGINE_ZOOKEEPER;
    else if (word != NULL && strcmp(word, "leased") == 0)
        options->kind.engine = ENGINE_LEASED;
    else if (word != NULL && strcmp(word, "zk-client") == 0)
        options->kind.engine = ENGINE_ZOOKEEPER_CLIENT;
    else if (word != NULL && strcmp(word, "zk-shared") == 0)
        options->kind.engine = ENGINE_ZOOKEEPER_SHARED;
    else if (word != NULL && strcmp(word, "etcd") == 0)
        options->kind.engine = ENGINE_ETCD;
    return options->kind.engine != ENGINE_PLAIN;
}

/* Read argv[1...] into ${options} and move the paths of scripts to the front.
 * Returns what is wrong, or NULL. */
static const char *parse(char **argv, struct options *options, size_t *paths)
{
    char **end = argv;

    for (char **word = argv; *word != NULL; word++) {
        uint64_t *value = value_of(options, *word);
        const char **text = text_of(options, *word);

        if (strcmp(*word, "--engine") == 0) {
            if (!parse_engine(options, *++word))
                return "expected --engine zk, leased, etcd, zk-client or "
                       "zk-shared";
        } else if (strcmp(*word, "--mutant") == 0) {
            if (*++word == NULL)
                return "expected --mutant NAME";
            seeds_set_mutant(*word);
        } else if (text != NULL) {
            if ((*text = *++word) == NULL)
                return "a word is missing";
        } else if (value != NULL) {
            if (!number(*++word, value))
                return "a number is missing";
        } else if (**word != '-' && options->script) {
            *end++ = *word;
        } else if (!parse_flag(options, *word)) {
            return "unknown option";
        }
    }
    *paths = (size_t)(end - argv);
    return NULL;
}

/* --explore: one case, all of them, or one path of a case. */
static int run_cases(const struct options *options)
{
    struct exploration exploration = {
        .explore_case = explore_case_find(options->explore_case),
        .depth = (unsigned)options->depth,
        .check_reduction = options->check_reduction};

    if (options->depth == 0 || options->depth > EXPLORE_DEPTH_MAX)
        return usage_error("expected --depth of 1 to 500");
    if (strcmp(options->explore_case, "all") == 0)
        return explore_all(exploration.depth);
    if (exploration.explore_case == NULL)
        return usage_error("there is no such case");
    if (options->actions != NULL)
        return explore_replay(exploration.explore_case, options->actions);
    return explore_run(&exploration);
}

/* Every run needs about the same memory: keep what one has freed for the next,
 * because returning it to the kernel takes half of the time. */
static void keep_memory(void)
{
    mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT);
    mallopt(M_TOP_PAD, MEMORY_AT_ONCE);
}

static int one_seed(const struct options *options)
{
    if (options->only != NULL)
        return shrink_replay(options->kind, options->seed, options->only,
                             options->without, options->trace);
    if (options->trace)
        return seeds_trace(options->kind, options->seed);
    return seeds_run(options->kind, options->seed, 1, 1, !options->no_shrink);
}

int main(int argc, char **argv)
{
    struct options options = {
        .first = 1, .jobs = 1, .depth = EXPLORE_DEPTH_MAX};
    char **paths = argv + 1;
    size_t path_count = 0;
    const char *complaint = parse(argv + 1, &options, &path_count);

    (void)argc;
    if (complaint != NULL)
        return usage_error(complaint);
    keep_memory();
    if (options.explore_case != NULL)
        return run_cases(&options);
    if (options.script && path_count == 0)
        return usage_error("expected the files of scripts after --script");
    if (options.script)
        return run_scripts(paths, path_count, options.update);
    if (options.one)
        return one_seed(&options);
    if (options.seeds == 0 || options.jobs == 0 || options.jobs > 64)
        return usage_error("nothing to do");
    if (options.all)
        return seeds_run_all(options.first, options.seeds,
                             (unsigned)options.jobs, !options.no_shrink);
    return seeds_run(options.kind, options.first, options.seeds,
                     (unsigned)options.jobs, !options.no_shrink);
}
