/* SPDX-License-Identifier: Apache-2.0 */
#include "explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"
#include "seeds.h"

static void print_path(const struct search_report *found)
{
    char name[CHOICE_NAME_BYTES];

    for (unsigned i = 0; i < found->length; i++) {
        choice_name(found->path[i], name);
        printf("%s%s", i == 0 ? "" : ",", name);
    }
    putchar('\n');
}

static void print_found(const struct exploration *exploration,
                        const struct search_report *found)
{
    printf("  %" PRIu64 " states, %" PRIu64 " steps between them, %.3g paths "
           "from the beginning to an end\n",
           found->states, found->steps, found->paths);
    printf("  %" PRIu64 " mishaps, %" PRIu64
           " ends, at most %u steps to one, %" PRIu64 " paths cut off at %u\n",
           found->mishaps, found->ends, found->longest, found->cut_off,
           exploration->depth);
    if (found->doubted > 0)
        printf("  %" PRIu64 " times seen that stages that look alike go on "
               "alike\n",
               found->doubted);
}

int explore_run(const struct exploration *exploration)
{
    struct seeds_report *report = seeds_share();
    struct search_report *found = search_share();
    struct seeds_range none = {0};

    printf("%s: %s\n", exploration->scene->name, exploration->scene->what);
    fflush(stdout);
    search_prepare(exploration, found);
    seeds_finish(seeds_start(report, &none, search_live), report);
    print_found(exploration, found);
    if (report->broken == 0) {
        puts(found->cut_off == 0
                 ? "  every invariant held"
                 : "  every invariant held, as far as this went");
        return EXIT_SUCCESS;
    }
    if (report->broken > 0)
        printf("  invariant %d broken: %s\n", report->broken, report->story);
    else
        printf("  %s\n", report->story);
    printf("replay: ./dev sim --explore %s --choices ",
           exploration->scene->name);
    print_path(found);
    return EXIT_FAILURE;
}

int explore_all(unsigned depth)
{
    bool fine = true;

    for (const struct scene *scene = scenes; scene->name != NULL; scene++) {
        struct exploration exploration = {.scene = scene, .depth = depth};

        if (!scene->wide)
            fine &= explore_run(&exploration) == EXIT_SUCCESS;
    }
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---------------------------------------------------------------- replay -- */

static struct world world; /* too large for a stack */

static void print(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static const struct choice *named(const struct choice *choices, size_t count,
                                  const char *name, size_t bytes)
{
    char text[CHOICE_NAME_BYTES];

    for (size_t i = 0; i < count; i++) {
        choice_name(choice_mark(&choices[i]), text);
        if (strlen(text) == bytes && memcmp(text, name, bytes) == 0)
            return &choices[i];
    }
    return NULL;
}

static void complain(const struct choice *choices, size_t count,
                     const char *name, size_t bytes)
{
    char text[CHOICE_NAME_BYTES];

    fprintf(stderr, "holdfast-sim: %.*s cannot happen here; expected one of",
            (int)bytes, name);
    for (size_t i = 0; i < count; i++) {
        choice_name(choice_mark(&choices[i]), text);
        fprintf(stderr, " %s", text);
    }
    fputc('\n', stderr);
}

int explore_replay(const struct scene *scene, const char *choices)
{
    struct stage stage = {.scene = scene,
                          .world = &world,
                          .foreign = scene->mishap == MISHAP_FOREIGN};
    struct choice possible[CHOICES_MAX];

    setvbuf(stdout, NULL, _IOLBF, 0);
    scene_begin(scene, &world);
    world.line = print;
    while (*choices != '\0' && world.broken == 0) {
        size_t bytes = strcspn(choices, ",");
        size_t count = choices_find(&stage, possible);
        const struct choice *choice = named(possible, count, choices, bytes);

        if (choice == NULL) {
            complain(possible, count, choices, bytes);
            return 64;
        }
        choice_do(&stage, choice);
        choices += bytes + (choices[bytes] == ',');
    }
    if (world.broken == 0 && choices_find(&stage, possible) == 0)
        scene_end(&world);
    printf("%s: %s\n", scene->name,
           world.broken == 0 ? "every invariant held" : world.story);
    return world.broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
