/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast-sim: random worlds by their seeds, and stories. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seeds.h"
#include "world.h"

static const char usage[] =
    "usage: holdfast-sim [--engine zk] --seeds N [--first S] [--jobs N]\n"
    "       holdfast-sim [--engine zk] --seed S [--trace]\n"
    "       holdfast-sim --story FILE... [--update]\n"
    "       holdfast-sim --plants [--seeds N]\n"
    "\n"
    "  --engine zk the client of ZooKeeper on a model ensemble, instead of "
    "the\n"
    "              plain model\n"
    "  --seeds N   live through N worlds and check the invariants in each\n"
    "  --first S   the seed of the first (1)\n"
    "  --jobs N    in so many processes at once (1)\n"
    "  --seed S    live through one; --trace prints all that happens in it\n"
    "  --story     play stories and compare what happens with what they "
    "expect;\n"
    "              --update writes down what happened\n"
    "  --plants    see that each planted fault is found within N worlds "
    "(400)\n";

struct options {
    uint64_t seeds;
    uint64_t first;
    uint64_t jobs;
    uint64_t seed;
    bool one;
    bool trace;
    bool story;
    bool update;
    bool plants;
    bool zookeeper;
};

static int wrong(const char *what)
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

static bool flag(struct options *options, const char *word)
{
    if (strcmp(word, "--trace") == 0)
        options->trace = true;
    else if (strcmp(word, "--story") == 0)
        options->story = true;
    else if (strcmp(word, "--update") == 0)
        options->update = true;
    else if (strcmp(word, "--plants") == 0)
        options->plants = true;
    else
        return false;
    return true;
}

static uint64_t *value_of(struct options *options, const char *word)
{
    if (strcmp(word, "--seeds") == 0)
        return &options->seeds;
    if (strcmp(word, "--first") == 0)
        return &options->first;
    if (strcmp(word, "--jobs") == 0)
        return &options->jobs;
    if (strcmp(word, "--seed") != 0)
        return NULL;
    options->one = true;
    return &options->seed;
}

static int stories(int argc, char **argv, bool update)
{
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            failed += !story_run(argv[i], update);
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .jobs = 1};

    for (int i = 1; i < argc; i++) {
        uint64_t *value = value_of(&options, argv[i]);

        if (strcmp(argv[i], "--engine") == 0) {
            if (argv[++i] == NULL || strcmp(argv[i], "zk") != 0)
                return wrong("expected --engine zk");
            options.zookeeper = true;
            continue;
        }
        if (value != NULL && !number(argv[++i], value))
            return wrong("a number is missing");
        if (value == NULL && !flag(&options, argv[i]) &&
            (!options.story || argv[i][0] == '-'))
            return wrong("unknown option");
    }
    if (options.story)
        return stories(argc, argv, options.update);
    if (options.plants)
        return seeds_plants(options.seeds == 0 ? 400 : options.seeds);
    if (options.one)
        return seeds_replay(options.seed, options.zookeeper, options.trace);
    if (options.seeds == 0 || options.jobs == 0 || options.jobs > 64)
        return wrong("nothing to do");
    return seeds_run(options.zookeeper, options.first, options.seeds,
                     (unsigned)options.jobs);
}
