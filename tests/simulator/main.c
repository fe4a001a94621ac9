/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast-sim: random worlds by their seeds, and stories. */
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

/* More than a cluster needs. */
#define MEMORY_KEPT (256 << 20)
#define MEMORY_AT_ONCE (1 << 20)

static const char usage[] =
    "usage: holdfast-sim [--rounds] [--engine zk|leased] --seeds N [--first S] "
    "[--jobs N]\n"
    "       holdfast-sim [--rounds] [--engine zk|leased] --seed S\n"
    "                    [--trace | --only N,M-O... [--without CHANCE,...]]\n"
    "       holdfast-sim --all --seeds N [--first S] [--jobs N]\n"
    "       holdfast-sim --story FILE... [--update]\n"
    "       holdfast-sim --explore SCENE|all [--depth N] [--doubt]\n"
    "       holdfast-sim --explore SCENE --choices A,B...\n"
    "\n"
    "  --rounds    worlds of double barriers\n"
    "  --engine zk the client of ZooKeeper on a model ensemble, instead of "
    "the\n"
    "              plain model; leased: the client of servers that lease\n"
    "              tickets on a model of one\n"
    "  --seeds N   live through N worlds and check the invariants in each\n"
    "  --all       worlds of every kind, N of them together\n"
    "  --first S   the seed of the first of each kind (1)\n"
    "  --jobs N    in so many processes at once (1)\n"
    "  --seed S    live through one; --trace prints all that happens in it\n"
    "  --only      have only those of its turns: a cluster that breaks is "
    "made\n"
    "              as small as that goes, and says how to see it again\n"
    "  --whole     do not: a cluster that breaks is only named\n"
    "  --story     play stories and compare what happens with what they "
    "expect;\n"
    "              --update writes down what happened\n"
    "  --explore   go through every order in which what happens in SCENE can\n"
    "              happen: two, mutex, rw and others in "
    "tests/simulator/explore/case.c; "
    "all\n"
    "              that take seconds\n"
    "  --depth N   give up paths of more than N steps (500)\n"
    "  --doubt     let nothing stand for anything else, and see that what\n"
    "              looks alike goes on alike\n"
    "  --choices   go one path, and print all that happens on it\n"
    "  --mutant X  say in what replays a finding that this program is the "
    "mutant X\n";

struct options {
    uint64_t seeds;
    uint64_t first;
    uint64_t jobs;
    uint64_t seed;
    bool one;
    bool trace;
    bool whole;
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

static bool parse_flag(struct options *options, const char *word)
{
    if (strcmp(word, "--trace") == 0)
        options->trace = true;
    else if (strcmp(word, "--whole") == 0)
        options->whole = true;
    else if (strcmp(word, "--all") == 0)
        options->all = true;
    else if (strcmp(word, "--story") == 0)
        options->script = true;
    else if (strcmp(word, "--update") == 0)
        options->update = true;
    else if (strcmp(word, "--rounds") == 0)
        options->kind.double_barrier = true;
    else if (strcmp(word, "--doubt") == 0)
        options->check_reduction = true;
    else
        return false;
    return true;
}

static const char **text_of(struct options *options, const char *word)
{
    if (strcmp(word, "--explore") == 0)
        return &options->explore_case;
    if (strcmp(word, "--choices") == 0)
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
    return options->kind.engine != ENGINE_PLAIN;
}

/* Sort argv[1...] into ${options} and, moved to the front, the paths of
 * stories.  What is wrong, or NULL. */
static const char *parse(char **argv, struct options *options, size_t *paths)
{
    char **end = argv;

    for (char **word = argv; *word != NULL; word++) {
        uint64_t *value = value_of(options, *word);
        const char **text = text_of(options, *word);

        if (strcmp(*word, "--engine") == 0) {
            if (!parse_engine(options, *++word))
                return "expected --engine zk or leased";
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
        return usage_error("there is no such scene");
    if (options->actions != NULL)
        return explore_replay(exploration.explore_case, options->actions);
    return explore_run(&exploration);
}

/* World after cluster needs about the same memory: what one gave back is kept
 * for the next, or half of the time goes to the kernel. */
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
    return seeds_run(options->kind, options->seed, 1, 1, !options->whole);
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
        return usage_error("expected the files of stories behind --story");
    if (options.script)
        return run_scripts(paths, path_count, options.update);
    if (options.one)
        return one_seed(&options);
    if (options.seeds == 0 || options.jobs == 0 || options.jobs > 64)
        return usage_error("nothing to do");
    if (options.all)
        return seeds_run_all(options.first, options.seeds,
                             (unsigned)options.jobs, !options.whole);
    return seeds_run(options.kind, options.first, options.seeds,
                     (unsigned)options.jobs, !options.whole);
}
