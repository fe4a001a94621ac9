/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shrinks a failing run by delta debugging (ddmin of Zeller and Hildebrandt,
 * 2002): leaves out actors, kinds of chance, chunks of decisions, single
 * decisions and pairs, as long as the run breaks in the same way.
 */
#include "simulator/random/shrink.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "simulator/random/decision.h"

/* The most runs; one takes some milliseconds. */
#define RUNS_MAX 1500
/* With at most this many decisions, any two are left out together. */
#define PAIRED_MAX 40

/* Memory that child processes share with their parent. */
struct shared {
    struct seeds_report report;
    struct decision_log recorded;
};

struct shrinking {
    struct shared *shared;
    struct seeds_range range;            /* of the one seed */
    struct seeds_report broken;          /* how it breaks */
    struct decision_selection selection; /* the smallest so far */
    unsigned runs;
};

/* The selection that a child runs, and whether it prints a brief trace. */
static const struct decision_selection *selection;
static bool brief;
static struct decision_log *recorded;

static void run_child(struct seeds_report *report)
{
    decisions_follow(recorded, selection);
    seeds_run_range(report);
}

static void run_child_verbose(struct seeds_report *report)
{
    seeds_set_verbose(brief);
    run_child(report);
}

static struct shared *map_shared(void)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        perror("holdfast-sim: mmap");
        exit(EXIT_FAILURE);
    }
    return shared;
}

/* Run the seed once and record its decisions. */
static struct shrinking begin(struct seeds_kind kind, uint64_t seed)
{
    struct shrinking s = {.shared = map_shared(), .range = {kind, seed, 1, 1}};

    recorded = &s.shared->recorded;
    selection = NULL;
    seeds_run_silent(&s.shared->report, &s.range, run_child);
    s.broken = s.shared->report;
    return s;
}

static void end(const struct shrinking *s)
{
    munmap(s->shared, sizeof *s->shared);
}

/* ------------------------------------------------------------ selections -- */

static unsigned kept_count(const struct shrinking *s)
{
    unsigned count = 0;

    for (unsigned i = 0; i < s->shared->recorded.count; i++)
        count += s->selection.kept[i];
    return count;
}

/* Does the run with ${tried} break in the same way?  Then that is the
 * selection. */
static bool still_breaks(struct shrinking *s,
                         const struct decision_selection *tried)
{
    const struct seeds_report *report = &s->shared->report;

    if (s->runs == RUNS_MAX)
        return false;
    s->runs++;
    selection = tried;
    seeds_run_silent(&s->shared->report, &s->range, run_child);
    if (!seeds_same_failure(report, &s->broken))
        return false;
    s->selection = *tried;
    return true;
}

/* Leave out all decisions of one actor. */
static bool drop_actor(struct shrinking *s, enum decision_kind kind,
                       unsigned actor)
{
    struct decision_selection tried = s->selection;
    bool any = false;

    for (unsigned i = 0; i < s->shared->recorded.count; i++) {
        const struct decision *decision = &s->shared->recorded.decisions[i];
        bool its = decision->actor == actor &&
                   (decision->kind == kind ||
                    (kind == DECISION_OPEN && decision->kind == DECISION_USER));

        any |= its && tried.kept[i];
        tried.kept[i] &= !its;
    }
    return any && still_breaks(s, &tried);
}

/* A process that never starts has no user. */
static void drop_actors(struct shrinking *s)
{
    for (unsigned kind = 0; kind < DECISION_KINDS; kind++) {
        for (unsigned actor = 0; actor < DECISION_ACTORS_MAX; actor++)
            drop_actor(s, (enum decision_kind)kind, actor);
    }
}

/* Leave out kinds of chance, one at a time. */
static bool drop_chances(struct shrinking *s)
{
    bool any = false;

    for (unsigned i = 0; i < CHANCES; i++) {
        struct decision_selection tried = s->selection;

        tried.without |= 1u << i;
        any |= tried.without != s->selection.without && still_breaks(s, &tried);
    }
    return any;
}

/* Two decisions may need each other: leave out any two. */
static bool drop_pair(struct shrinking *s)
{
    unsigned count = s->shared->recorded.count;

    for (unsigned i = 0; kept_count(s) <= PAIRED_MAX && i < count; i++) {
        for (unsigned j = i + 1; s->selection.kept[i] && j < count; j++) {
            struct decision_selection tried = s->selection;

            tried.kept[i] = tried.kept[j] = false;
            if (s->selection.kept[j] && still_breaks(s, &tried))
                return true;
        }
    }
    return false;
}

/* Leave out ${size} of the kept decisions at a time. */
static bool drop_chunks(struct shrinking *s, unsigned size)
{
    unsigned count = s->shared->recorded.count;
    bool any = false;

    for (unsigned from = 0; from < count;) {
        struct decision_selection tried = s->selection;
        unsigned dropped = 0;

        for (; from < count && dropped < size; from++) {
            dropped += tried.kept[from];
            tried.kept[from] = false;
        }
        any |= dropped > 0 && still_breaks(s, &tried);
    }
    return any;
}

/* Large parts first, because each run takes time; then single decisions until
 * nothing more can be left out. */
static void shrink(struct shrinking *s)
{
    bool any = true;

    drop_actors(s);
    drop_chances(s);
    for (unsigned size = (kept_count(s) + 1) / 2; size > 1; size /= 2)
        drop_chunks(s, size);
    while (any && s->runs < RUNS_MAX) {
        any = drop_chunks(s, 1);
        any |= drop_chances(s);
        any |= !any && drop_pair(s);
    }
}

/* ------------------------------------------------------------------ text -- */

/* "3,17-19", or "none" */
static void print_kept(const struct shrinking *s)
{
    const bool *kept = s->selection.kept;
    const char *between = "";

    for (unsigned i = 0; i < s->shared->recorded.count; i++) {
        unsigned first = i;

        if (!kept[i])
            continue;
        while (i + 1 < DECISIONS_MAX && kept[i + 1])
            i++;
        printf("%s%u", between, first);
        if (i > first)
            printf("-%u", i);
        between = ",";
    }
    if (*between == '\0')
        printf("none");
}

static void print_without(unsigned without)
{
    const char *between = " --without ";

    for (unsigned i = 0; i < CHANCES; i++) {
        if (without >> i & 1) {
            printf("%s%s", between, fault_chance_names[i]);
            between = ",";
        }
    }
}

/* Parse --only: numbers and ranges, or "none".  False if it is wrong. */
static bool read_kept(const char *text, struct decision_selection *to)
{
    if (strcmp(text, "none") == 0)
        return true;
    while (*text != '\0') {
        char *after;
        unsigned long first, last;

        if (!isdigit((unsigned char)*text))
            return false;
        first = last = strtoul(text, &after, 10);
        if (*after == '-' && isdigit((unsigned char)after[1]))
            last = strtoul(after + 1, &after, 10);
        if (last >= DECISIONS_MAX || first > last ||
            (*after != ',' && *after != '\0'))
            return false;
        while (first <= last)
            to->kept[first++] = true;
        text = after + (*after == ',');
    }
    return true;
}

/* Parse --without: names of chances.  False if one is unknown. */
static bool read_without(const char *text, struct decision_selection *to)
{
    while (*text != '\0') {
        size_t bytes = strcspn(text, ",");
        unsigned i = 0;

        while (i < CHANCES && (strlen(fault_chance_names[i]) != bytes ||
                               memcmp(fault_chance_names[i], text, bytes) != 0))
            i++;
        if (i == CHANCES)
            return false;
        to->without |= 1u << i;
        text += bytes + (text[bytes] == ',');
    }
    return true;
}

/* ---------------------------------------------------------- entry points -- */

static void print_transcript(struct shrinking *s, bool plainly)
{
    selection = &s->selection;
    brief = plainly;
    seeds_wait(seeds_fork(&s->shared->report, &s->range, run_child_verbose),
               &s->shared->report);
}

void shrink_seed(struct seeds_kind kind, uint64_t seed)
{
    struct shrinking s = begin(kind, seed);
    struct decision_selection all = {.without = 0};
    unsigned count = s.shared->recorded.count;

    memset(all.kept, true, count);
    if (s.broken.broken == 0 || !still_breaks(&s, &all)) {
        printf("it does not break again with its decisions recorded\n");
        end(&s);
        return;
    }
    shrink(&s);
    printf("the same with %u of its %u decisions, after %u runs:\n",
           kept_count(&s), count, s.runs);
    print_transcript(&s, true);
    if (s.broken.broken < 0)
        printf("%10s  CHECK   %s\n", "", s.broken.message);
    printf("replay: ");
    seeds_print_command(kind, seed);
    printf(" --only ");
    print_kept(&s);
    print_without(s.selection.without);
    putchar('\n');
    end(&s);
}

int shrink_replay(struct seeds_kind kind, uint64_t seed, const char *only,
                  const char *without, bool trace)
{
    static struct decision_selection chosen;
    struct shrinking s;
    int broken;

    if (!read_kept(only, &chosen) ||
        (without != NULL && !read_without(without, &chosen))) {
        fprintf(stderr,
                "holdfast-sim: expected --only numbers of decisions, as "
                "3,17-19 or none, and --without chances, as lose,drift\n");
        return 64;
    }
    s = begin(kind, seed);
    s.selection = chosen;
    print_transcript(&s, !trace);
    seeds_print(&s.shared->report);
    broken = s.shared->report.broken;
    end(&s);
    return broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
