/* SPDX-License-Identifier: Apache-2.0 */
#include "plants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/plant.h"
#include "scene.h"
#include "search.h"
#include "seeds.h"

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

/* What the child works on; set before it is started. */
static struct {
    const char *path;
    int told; /* what it says goes there */
} job;

/* Say which assertion it was that ended the child, or which invariant a story
 * broke. */
static void quote(struct seeds_report *report)
{
    static const char broken[] = ": invariant ";
    char text[1024];
    ssize_t got = pread(job.told, text, sizeof text - 1, 0);
    const char *from;

    text[got < 0 ? 0 : got] = '\0';
    if ((from = strstr(text, "Assertion ")) != NULL) {
        snprintf(report->story, sizeof report->story, "the code's own: %.*s",
                 (int)strcspn(from, "\n"), from);
    } else if ((from = strstr(text, broken)) != NULL) {
        from += strlen(broken);
        report->broken = atoi(from);
        from = strchr(from, ':') + 2;
        snprintf(report->story, sizeof report->story, "%.*s",
                 (int)strcspn(from, "\n"), from);
    }
}

/* Have a child do ${work}; is something broken then? */
static bool breaks(struct seeds_report *report, const struct seeds_range *range,
                   void (*work)(struct seeds_report *report))
{
    job.told = memfd_create("told", MFD_CLOEXEC);
    if (job.told < 0) {
        perror("holdfast-sim: memfd_create");
        exit(EXIT_FAILURE);
    }
    seeds_finish(seeds_start(report, range, work), report);
    if (report->broken < 0)
        quote(report);
    close(job.told);
    return report->broken != 0;
}

static void live(struct seeds_report *report)
{
    dup2(job.told, STDERR_FILENO);
    seeds_live(report);
}

/* A story that does not go as it is told has found something. */
static void play(struct seeds_report *report)
{
    dup2(job.told, STDERR_FILENO);
    dup2(job.told, STDOUT_FILENO);
    report->broken = -1;
    snprintf(report->story, sizeof report->story, "it goes otherwise");
    if (story_run(job.path, false))
        report->broken = 0;
    fflush(stdout);
}

static bool seeds_find(struct seeds_report *report, struct seeds_kind kind,
                       uint64_t count)
{
    struct seeds_range range = {kind, 1, count, 1};

    return breaks(report, &range, live);
}

/* The path of a story that finds it, or NULL: rather one in which an invariant
 * breaks than one that merely goes otherwise. */
static const char *story_finds(struct seeds_report *report, char **paths,
                               size_t count)
{
    static struct seeds_report best;
    const struct seeds_range none = {0};
    const char *found = NULL;

    for (size_t i = 0; i < count && best.broken <= 0; i++) {
        job.path = paths[i];
        if (!breaks(report, &none, play) ||
            (found != NULL && report->broken <= 0))
            continue;
        found = paths[i];
        best = *report;
    }
    *report = best;
    best.broken = 0;
    return found;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static void print_row(unsigned plant, const char *where,
                      const struct seeds_report *report)
{
    printf("%-20s %-3d %s: ", plants[plant].name, plants[plant].invariant,
           where);
    if (report->broken > 0)
        printf("check %d: ", report->broken);
    puts(report->story);
}

const char *plants_selected(void)
{
    return hf_plant == HF_PLANT_NONE ? NULL : plants[hf_plant].name;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Faults of one client are looked for in its own worlds, those of the core in
 * plain ones, those of members in the worlds of double barriers, and what is
 * sound in all. */
static bool concerns(const char *name, struct seeds_kind kind)
{
    enum world_sort own = begins(name, "ZK_")       ? WORLD_ZOOKEEPER
                          : begins(name, "LEASED_") ? WORLD_LEASED
                                                    : WORLD_PLAIN;
    bool rounds = begins(name, "MEMBER_") || begins(name, "ZK_MEMBER_");

    return begins(name, "(none)") ||
           (own == kind.sort && rounds == kind.rounds);
}

static bool some_world_finds(struct seeds_report *report, const char *name,
                             uint64_t count)
{
    for (unsigned i = 0; i < 2 * WORLD_SORTS; i++) {
        struct seeds_kind kind = {.sort = i % WORLD_SORTS,
                                  .rounds = i >= WORLD_SORTS};

        if (concerns(name, kind) && seeds_find(report, kind, count))
            return true;
    }
    return false;
}

/* Is it found? */
static bool look_for(unsigned plant, uint64_t count, char **paths,
                     size_t path_count, struct seeds_report *report)
{
    static const char *const sorts[] = {[WORLD_PLAIN] = "",
                                        [WORLD_ZOOKEEPER] = "zk ",
                                        [WORLD_LEASED] = "leased "};
    const struct seeds_kind *kind = &report->range.kind;
    const char *story;
    char where[64];

    hf_plant = (enum hf_plant)plant;
    if (some_world_finds(report, plants[plant].name, count)) {
        snprintf(where, sizeof where, "%s%sseed %" PRIu64,
                 kind->rounds ? "rounds " : "", sorts[kind->sort],
                 report->seed);
        print_row(plant, where, report);
        return true;
    }
    story = story_finds(report, paths, path_count);
    if (story != NULL)
        print_row(plant, last_part(story), report);
    else
        printf("%-20s %-3d %s\n", plants[plant].name, plants[plant].invariant,
               plant == HF_PLANT_NONE ? "nothing, as it should be"
                                      : "NOT CAUGHT");
    return story != NULL;
}

int plants_run(uint64_t count, char **paths, size_t path_count)
{
    struct seeds_report *report = seeds_share();
    bool fine = true;

    printf("%-20s %-3s %s\n", "fault", "inv", "caught by");
    for (unsigned plant = 0; plant < HF_PLANT_COUNT; plant++)
        fine &= look_for(plant, count, paths, path_count, report) ==
                (plant != HF_PLANT_NONE);
    printf("%u planted faults, %" PRIu64 " seeds each, then %zu stories: %s\n",
           HF_PLANT_COUNT - 1, count, path_count,
           fine ? "all caught" : "NOT ALL CAUGHT, or the sound core was");
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ----------------------------------------------------------- exploration -- */

/* What only shows when a lease runs out or a ticket is evicted is left to the
 * random worlds: no scene has any of that. */
static const enum hf_plant explored[] = {
    HF_PLANT_ADMIT_ON_ANY_GONE,   HF_PLANT_GONE_ADMITS_WRITER,
    HF_PLANT_READ_PASSES_WRITE,   HF_PLANT_GONE_SKIPS_ONE,
    HF_PLANT_GONE_FORGOTTEN,      HF_PLANT_WATCH_OWN_ONLY,
    HF_PLANT_NO_LIST_AFTER_GONE,  HF_PLANT_ABANDONED_FORGOTTEN,
    HF_PLANT_CANCEL_KEEPS_TICKET, HF_PLANT_WITHDRAW_ONCE,
    HF_PLANT_WATCH_FIRST,         HF_PLANT_ENDED_AFTER_GRANTED,
    HF_PLANT_GRANTED_TWICE,       HF_PLANT_SUSPENDED_ENDS,
    HF_PLANT_TEXT_MISSING,        HF_PLANT_LEASES_NOT_COUNTED,
    HF_PLANT_ONE_LEASE_TOO_MANY,  HF_PLANT_LOOKED_ONCE,
    HF_PLANT_BUNDLE_KEEPS_PART,   HF_PLANT_DOWNGRADE_WATCHED,
};

static void roam(struct seeds_report *report)
{
    dup2(job.told, STDERR_FILENO);
    search_live(report);
}

/* The name of the first scene that has it, or NULL. */
static const char *scene_finds(struct seeds_report *report, unsigned depth)
{
    struct search_report *found = search_share();
    struct seeds_range none = {0};

    for (const struct scene *scene = scenes; scene->name != NULL; scene++) {
        struct exploration exploration = {.scene = scene, .depth = depth};

        search_prepare(&exploration, found);
        if (!scene->wide && breaks(report, &none, roam))
            return scene->name;
    }
    return NULL;
}

int plants_explore(unsigned depth)
{
    struct seeds_report *report = seeds_share();
    size_t count = sizeof explored / sizeof explored[0];
    size_t caught = 0;

    printf("%-20s %-3s %s\n", "fault", "inv", "caught by");
    for (size_t i = 0; i < count; i++) {
        const char *scene;

        hf_plant = explored[i];
        scene = scene_finds(report, depth);
        caught += scene != NULL;
        if (scene != NULL)
            print_row(hf_plant, scene, report);
        else
            printf("%-20s %-3d NOT CAUGHT\n", plants[hf_plant].name,
                   plants[hf_plant].invariant);
    }
    printf("%zu planted faults, %zu of them caught by exploring\n", count,
           caught);
    return caught == count ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool plants_select(const char *name)
{
    for (unsigned plant = 0; plant < HF_PLANT_COUNT; plant++) {
        if (strcmp(plants[plant].name, name) == 0) {
            hf_plant = (enum hf_plant)plant;
            return true;
        }
    }
    return false;
}

#else

static void complain(void)
{
    fprintf(stderr, "holdfast-sim: built without planted faults; use "
                    "holdfast-sim-plants\n");
}

int plants_run(uint64_t count, char **paths, size_t path_count)
{
    (void)count;
    (void)paths;
    (void)path_count;
    complain();
    return 64;
}

int plants_explore(unsigned depth)
{
    (void)depth;
    complain();
    return 64;
}

bool plants_select(const char *name)
{
    (void)name;
    complain();
    return false;
}

const char *plants_selected(void)
{
    return NULL;
}

#endif
