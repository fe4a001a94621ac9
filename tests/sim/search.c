/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "imprint.h"
#include "moment.h"
#include "visited.h"

/* Of states that look alike, one in so many is doubted. */
#define DOUBT_EVERY 8

static struct world world; /* too large for a stack */

static struct {
    struct exploration exploration;
    struct search_report *found;
    struct stage stage;
    struct visited visited;
    uint64_t alike;
} search;

/* What was found from some state on. */
struct yield {
    double paths;
    unsigned longest;
    bool whole;    /* nothing was cut off */
    uint64_t self; /* of its digest */
    uint64_t next; /* sum over the states that come next */
};

static void explore(unsigned depth, struct yield *yield);

struct search_report *search_share(void)
{
    void *memory =
        mmap(NULL, sizeof(struct search_report), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("holdfast-sim: mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ----------------------------------------------------------------- steps -- */

static void take(const struct choice *choice, unsigned depth)
{
    struct search_report *found = search.found;

    found->path[depth] = choice_mark(choice);
    found->length = depth + 1;
    found->steps++;
    found->mishaps += choice_is_mishap(choice->kind);
    choice_do(&search.stage, choice);
}

static void go_back(const struct moment *moment, const struct stage *stage)
{
    moment_return(moment, &world);
    search.stage = *stage;
}

static void add(struct yield *sum, const struct yield *yield)
{
    sum->paths += yield->paths;
    sum->whole &= yield->whole;
    sum->next += yield->self;
    if (yield->longest + 1 > sum->longest)
        sum->longest = yield->longest + 1;
}

/* Take ${choice} and all that comes after it. */
static void follow(const struct choice *choice, unsigned depth,
                   struct yield *sum)
{
    struct yield yield = {.whole = true};

    take(choice, depth);
    if (world.broken != 0)
        return;
    explore(depth + 1, &yield);
    add(sum, &yield);
}

/* ------------------------------------------------------------- reduction -- */

static const struct choice *first_of(const struct choice *choices, size_t count,
                                     enum choice_freedom freedom)
{
    for (size_t i = 0; !search.exploration.doubt && i < count; i++) {
        if (choice_freedom(&search.stage, &choices[i]) == freedom)
            return &choices[i];
    }
    return NULL;
}

/* Take ${choice} alone, if that stands for all orders; else nothing has
 * happened. */
static bool stands_for_all(const struct choice *choice, unsigned depth,
                           struct yield *sum)
{
    struct moment *moment;
    struct stage stage = search.stage;
    uint64_t told = world.grants + world.losses;
    bool seen;

    if (choice == NULL)
        return false;
    moment = moment_new(&world);
    take(choice, depth);
    seen = world.grants + world.losses != told;
    if (seen && world.broken == 0)
        go_back(moment, &stage);
    moment_free(moment);
    if (world.broken != 0)
        return true;
    if (seen) {
        search.found->steps--;
        return false;
    }
    struct yield yield = {.whole = true};
    explore(depth + 1, &yield);
    add(sum, &yield);
    return true;
}

/* ------------------------------------------------------------ exhaustion -- */

static void follow_each(const struct choice *choices, size_t count,
                        unsigned depth, struct yield *sum)
{
    struct moment *moment = moment_new(&world);
    struct stage stage = search.stage;

    for (size_t i = 0; i < count && world.broken == 0; i++) {
        if (i > 0)
            go_back(moment, &stage);
        follow(&choices[i], depth, sum);
    }
    moment_free(moment);
}

static void expand(unsigned depth, struct yield *sum)
{
    struct choice choices[CHOICES_MAX];
    size_t count = choices_find(&search.stage, choices);
    const struct choice *free_one = first_of(choices, count, CHOICE_FREE);

    if (count == 0) {
        search.found->ends++;
        sum->paths = 1;
        scene_end(&world);
    } else if (depth == search.exploration.depth) {
        search.found->cut_off++;
        sum->whole = false;
    } else if (free_one != NULL) {
        follow(free_one, depth, sum);
    } else if (!stands_for_all(
                   first_of(choices, count, CHOICE_FREE_UNLESS_SEEN), depth,
                   sum)) {
        follow_each(choices, count, depth, sum);
    }
}

/* ----------------------------------------------------------------- doubt -- */

/* What looks like ${visit} has come up again: does the same come next? */
static void doubt(const struct visit *visit)
{
    struct choice choices[CHOICES_MAX];
    size_t count = choices_find(&search.stage, choices);
    struct moment *moment = moment_new(&world);
    struct stage stage = search.stage;
    uint64_t next = 0;

    for (size_t i = 0; i < count && world.broken == 0; i++) {
        choice_do(&search.stage, &choices[i]);
        next += stage_digest(&search.stage).words[1];
        go_back(moment, &stage);
    }
    moment_free(moment);
    search.found->doubted++;
    if (next != visit->next)
        world_broken(&world, 0x100,
                     "stages that look alike do not go on alike: "
                     "tests/sim/imprint.c misses something");
}

static void explore(unsigned depth, struct yield *yield)
{
    struct digest digest = stage_digest(&search.stage);
    unsigned left = search.exploration.depth - depth;
    bool known;
    struct visit *visit = visited_at(&search.visited, &digest, &known);

    yield->self = digest.words[1];
    if (known && visit->paths < 0) {
        world_broken(&world, 4, "it goes round in circles");
        return;
    }
    if (known && (visit->whole || visit->left >= left)) {
        *yield = (struct yield){.paths = visit->paths,
                                .longest = visit->longest,
                                .whole = visit->whole,
                                .self = digest.words[1]};
        if (search.exploration.doubt && visit->whole &&
            ++search.alike % DOUBT_EVERY == 0)
            doubt(visit);
        return;
    }
    visit->paths = -1;
    expand(depth, yield);
    visit = visited_at(&search.visited, &digest, &known);
    visit->paths = yield->paths;
    visit->longest = (uint16_t)yield->longest;
    visit->whole = yield->whole;
    visit->next = yield->next;
    visit->left = (uint16_t)left;
}

/* ----------------------------------------------------------------- whole -- */

void search_prepare(const struct exploration *exploration,
                    struct search_report *found)
{
    memset(found, 0, sizeof *found);
    search.exploration = *exploration;
    search.found = found;
}

void search_live(struct seeds_report *report)
{
    struct yield yield = {.whole = true};

    search.stage = (struct stage){.scene = search.exploration.scene,
                                  .world = &world,
                                  .foreign = search.exploration.scene->mishap ==
                                             MISHAP_FOREIGN,
                                  .told_apart = search.exploration.doubt};
    arena_begin();
    scene_begin(search.exploration.scene, &world);
    explore(0, &yield);
    search.found->paths = yield.paths;
    search.found->longest = yield.longest;
    search.found->states = search.visited.count;
    report->broken = world.broken;
    memcpy(report->story, world.story, sizeof report->story);
    visited_free(&search.visited);
}
