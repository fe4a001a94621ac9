/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a search in a child process, so that a failed assertion is a result
 * like any other, and prints what it found.
 */
#include "simulator/explore/explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/explore/search.h"
#include "simulator/random/seeds.h"

/* The path that broke an invariant, as --actions takes it. */
static void print_path(const struct search_report *found)
{
    char name[ACTION_NAME_BYTES];

    for (unsigned i = 0; i < found->length; i++) {
        action_name(found->path[i], name);
        printf("%s%s", i == 0 ? "" : ",", name);
    }
    putchar('\n');
}

/* What the search found, in two or three lines. */
static void print_found(const struct exploration *exploration,
                        const struct search_report *found)
{
    printf("  %" PRIu64 " states, %" PRIu64 " steps between them, %.3g paths "
           "from the beginning to an end\n",
           found->states, found->steps, found->paths);
    printf("  %" PRIu64 " faults, %" PRIu64
           " ends, at most %u steps to one, %" PRIu64 " paths cut off at %u\n",
           found->faults, found->ends, found->longest, found->cut_off,
           exploration->depth);
    if (found->checked > 0)
        printf("  %" PRIu64 " times checked that equal states have equal "
               "successors\n",
               found->checked);
}

/* The search is in a child process, see seeds_fork(). */
int explore_run(const struct exploration *exploration)
{
    struct seeds_report *report = seeds_map_reports();
    struct search_report *found = search_map_report();
    struct seeds_range none = {0};

    printf("%s: %s\n", exploration->explore_case->name,
           exploration->explore_case->what);
    fflush(stdout);
    search_prepare(exploration, found);
    seeds_wait(seeds_fork(report, &none, search_run), report);
    print_found(exploration, found);
    if (report->broken == 0) {
        puts(found->cut_off == 0
                 ? "  every invariant held"
                 : "  every invariant held, as far as this went");
        return EXIT_SUCCESS;
    }
    if (report->broken > 0)
        printf("  invariant %d broken: %s\n", report->broken, report->message);
    else
        printf("  %s\n", report->message);
    printf("replay: ./dev sim --explore %s --actions ",
           exploration->explore_case->name);
    print_path(found);
    return EXIT_FAILURE;
}

/* Goes on with the next case after a violation. */
int explore_all(unsigned depth)
{
    bool fine = true;

    for (const struct explore_case *explore_case = explore_cases;
         explore_case->name != NULL; explore_case++) {
        struct exploration exploration = {.explore_case = explore_case,
                                          .depth = depth};

        if (!explore_case->wide)
            fine &= explore_run(&exploration) == EXIT_SUCCESS;
    }
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---------------------------------------------------------------- replay -- */

static struct cluster cluster; /* too large for a stack */

static void print(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static const struct action *find_action(const struct action *actions,
                                        size_t count, const char *name,
                                        size_t bytes)
{
    char text[ACTION_NAME_BYTES];

    for (size_t i = 0; i < count; i++) {
        action_name(action_label(&actions[i]), text);
        if (strlen(text) == bytes && memcmp(text, name, bytes) == 0)
            return &actions[i];
    }
    return NULL;
}

/* The action ${name} is not possible now: print those that are. */
static void print_possible(const struct action *actions, size_t count,
                           const char *name, size_t bytes)
{
    char text[ACTION_NAME_BYTES];

    fprintf(stderr, "holdfast-sim: %.*s cannot happen here; expected one of",
            (int)bytes, name);
    for (size_t i = 0; i < count; i++) {
        action_name(action_label(&actions[i]), text);
        fprintf(stderr, " %s", text);
    }
    fputc('\n', stderr);
}

int explore_replay(const struct explore_case *explore_case, const char *actions)
{
    struct case_run case_run = {.explore_case = explore_case,
                                .cluster = &cluster,
                                .other_steps = explore_case->fault ==
                                               CASE_FAULT_OTHER_CLIENT};
    struct action possible[ACTIONS_MAX];

    setvbuf(stdout, NULL, _IOLBF, 0);
    explore_case_start(explore_case, &cluster);
    cluster.line = print;
    while (*actions != '\0' && cluster.broken == 0) {
        size_t bytes = strcspn(actions, ",");
        size_t count = actions_find(&case_run, possible);
        const struct action *action =
            find_action(possible, count, actions, bytes);

        if (action == NULL) {
            print_possible(possible, count, actions, bytes);
            return 64;
        }
        action_take(&case_run, action);
        actions += bytes + (actions[bytes] == ',');
    }
    if (cluster.broken == 0 && actions_find(&case_run, possible) == 0)
        explore_case_finish(&cluster);
    printf("%s: %s\n", explore_case->name,
           cluster.broken == 0 ? "every invariant held" : cluster.message);
    return cluster.broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
