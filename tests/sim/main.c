/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast-sim: random worlds by their seeds, and stories. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plants.h"
#include "seeds.h"
#include "world.h"

static const char usage[] =
    "usage: holdfast-sim [--engine zk] --seeds N [--first S] [--jobs N]\n"
    "       holdfast-sim [--engine zk] --seed S [--trace]\n"
    "       holdfast-sim --story FILE... [--update]\n"
    "       holdfast-sim --plants [--seeds N] [--story FILE...]\n"
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
    "(400),\n"
    "              or else by one of the stories\n"
    "  --plant X   have the planted fault X in whatever is run\n";

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

static int stories(char **paths, size_t count, bool update)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++)
        failed += !story_run(paths[i], update);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool engine(struct options *options, const char *word)
{
    options->zookeeper = word != NULL && strcmp(word, "zk") == 0;
    return options->zookeeper;
}

/* Sort argv[1...] into ${options} and, moved to the front, the paths of
 * stories.  What is wrong, or NULL. */
static const char *parse(char **argv, struct options *options, size_t *paths)
{
    char **end = argv;

    for (char **word = argv; *word != NULL; word++) {
        uint64_t *value = value_of(options, *word);

        if (strcmp(*word, "--engine") == 0) {
            if (!engine(options, *++word))
                return "expected --engine zk";
        } else if (strcmp(*word, "--plant") == 0) {
            if (*++word == NULL || !plants_select(*word))
                return "expected --plant NAME, of those that --plants shows";
        } else if (value != NULL) {
            if (!number(*++word, value))
                return "a number is missing";
        } else if (**word != '-' && options->story) {
            *end++ = *word;
        } else if (!flag(options, *word)) {
            return "unknown option";
        }
    }
    *paths = (size_t)(end - argv);
    return NULL;
}

int main(int argc, char **argv)
{
    struct options options = {.first = 1, .jobs = 1};
    char **paths = argv + 1;
    size_t path_count = 0;
    const char *complaint = parse(argv + 1, &options, &path_count);

    (void)argc;
    if (complaint != NULL)
        return wrong(complaint);
    if (options.plants)
        return plants_run(options.seeds == 0 ? 400 : options.seeds, paths,
                          path_count);
    if (options.story)
        return stories(paths, path_count, options.update);
    if (options.one)
        return seeds_replay(options.seed, options.zookeeper, options.trace);
    if (options.seeds == 0 || options.jobs == 0 || options.jobs > 64)
        return wrong("nothing to do");
    return seeds_run(options.zookeeper, options.first, options.seeds,
                     (unsigned)options.jobs);
}
