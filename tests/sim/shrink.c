/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "turn.h"

/* Worlds lived through at most: some milliseconds each. */
#define ATTEMPTS_MAX 1500
/* Turns of which any two are left out together. */
#define PAIRED_MAX 40

/* What children and their parent share. */
struct shared {
    struct seeds_report report;
    struct turn_record record;
};

struct shrinking {
    struct shared *shared;
    struct seeds_range range;   /* of the one seed */
    struct seeds_report broken; /* how it breaks */
    struct turn_choice choice;  /* that still breaks */
    unsigned attempts;
};

/* The one that children go through, and whether they tell no more of it than
 * makes it plain. */
static const struct turn_choice *choice;
static bool brief;
static struct turn_record *record;

static void live(struct seeds_report *report)
{
    turns_follow(record, choice);
    seeds_live(report);
}

static void live_aloud(struct seeds_report *report)
{
    seeds_aloud(brief);
    live(report);
}

static struct shared *share(void)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        perror("holdfast-sim: mmap");
        exit(EXIT_FAILURE);
    }
    return shared;
}

static struct shrinking begin(struct seeds_kind kind, uint64_t seed)
{
    struct shrinking s = {.shared = share(), .range = {kind, seed, 1, 1}};

    record = &s.shared->record;
    choice = NULL;
    seeds_quietly(&s.shared->report, &s.range, live);
    s.broken = s.shared->report;
    return s;
}

static void end(const struct shrinking *s)
{
    munmap(s->shared, sizeof *s->shared);
}

/* -------------------------------------------------------------- choices -- */

static unsigned kept_count(const struct shrinking *s)
{
    unsigned count = 0;

    for (unsigned i = 0; i < s->shared->record.count; i++)
        count += s->choice.kept[i];
    return count;
}

/* Does it break with ${tried} as it did?  Then that is the choice. */
static bool holds_with(struct shrinking *s, const struct turn_choice *tried)
{
    const struct seeds_report *report = &s->shared->report;

    if (s->attempts == ATTEMPTS_MAX)
        return false;
    s->attempts++;
    choice = tried;
    seeds_quietly(&s->shared->report, &s->range, live);
    if (!seeds_alike(report, &s->broken))
        return false;
    s->choice = *tried;
    return true;
}

/* Without all of the turns of ${of}, of the one ${taker}. */
static bool drop_taker(struct shrinking *s, enum turn_of of, unsigned taker)
{
    struct turn_choice tried = s->choice;
    bool any = false;

    for (unsigned i = 0; i < s->shared->record.count; i++) {
        const struct turn *turn = &s->shared->record.turns[i];
        bool its =
            turn->taker == taker &&
            (turn->of == of || (of == TURN_OPEN && turn->of == TURN_USER));

        any |= its && tried.kept[i];
        tried.kept[i] &= !its;
    }
    return any && holds_with(s, &tried);
}

/* A process that is never started has no user. */
static void drop_takers(struct shrinking *s)
{
    for (unsigned of = 0; of < TURNS_OF; of++) {
        for (unsigned taker = 0; taker < TURN_TAKERS; taker++)
            drop_taker(s, (enum turn_of)of, taker);
    }
}

static bool drop_chances(struct shrinking *s)
{
    bool any = false;

    for (unsigned i = 0; i < CHANCES; i++) {
        struct turn_choice tried = s->choice;

        tried.without |= 1u << i;
        any |= tried.without != s->choice.without && holds_with(s, &tried);
    }
    return any;
}

/* Two of few may need each other: without any two of them. */
static bool drop_pair(struct shrinking *s)
{
    unsigned count = s->shared->record.count;

    for (unsigned i = 0; kept_count(s) <= PAIRED_MAX && i < count; i++) {
        for (unsigned j = i + 1; s->choice.kept[i] && j < count; j++) {
            struct turn_choice tried = s->choice;

            tried.kept[i] = tried.kept[j] = false;
            if (s->choice.kept[j] && holds_with(s, &tried))
                return true;
        }
    }
    return false;
}

/* Without so many of those that are kept at a time, wherever that goes. */
static bool drop_chunks(struct shrinking *s, unsigned size)
{
    unsigned count = s->shared->record.count;
    bool any = false;

    for (unsigned from = 0; from < count;) {
        struct turn_choice tried = s->choice;
        unsigned dropped = 0;

        for (; from < count && dropped < size; from++) {
            dropped += tried.kept[from];
            tried.kept[from] = false;
        }
        any |= dropped > 0 && holds_with(s, &tried);
    }
    return any;
}

static void shrink(struct shrinking *s)
{
    bool any = true;

    drop_takers(s);
    drop_chances(s);
    for (unsigned size = (kept_count(s) + 1) / 2; size > 1; size /= 2)
        drop_chunks(s, size);
    while (any && s->attempts < ATTEMPTS_MAX) {
        any = drop_chunks(s, 1);
        any |= drop_chances(s);
        any |= !any && drop_pair(s);
    }
}

/* ---------------------------------------------------------------- words -- */

/* "3,17-19", or "none" */
static void print_kept(const struct shrinking *s)
{
    const bool *kept = s->choice.kept;
    const char *between = "";

    for (unsigned i = 0; i < s->shared->record.count; i++) {
        unsigned first = i;

        if (!kept[i])
            continue;
        while (i + 1 < TURNS_MAX && kept[i + 1])
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
            printf("%s%s", between, turn_chances[i]);
            between = ",";
        }
    }
}

static bool read_kept(const char *text, struct turn_choice *to)
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
        if (last >= TURNS_MAX || first > last ||
            (*after != ',' && *after != '\0'))
            return false;
        while (first <= last)
            to->kept[first++] = true;
        text = after + (*after == ',');
    }
    return true;
}

static bool read_without(const char *text, struct turn_choice *to)
{
    while (*text != '\0') {
        size_t bytes = strcspn(text, ",");
        unsigned i = 0;

        while (i < CHANCES && (strlen(turn_chances[i]) != bytes ||
                               memcmp(turn_chances[i], text, bytes) != 0))
            i++;
        if (i == CHANCES)
            return false;
        to->without |= 1u << i;
        text += bytes + (text[bytes] == ',');
    }
    return true;
}

/* ----------------------------------------------------------------- whole -- */

static void print_transcript(struct shrinking *s, bool plainly)
{
    choice = &s->choice;
    brief = plainly;
    seeds_finish(seeds_start(&s->shared->report, &s->range, live_aloud),
                 &s->shared->report);
}

void shrink_seed(struct seeds_kind kind, uint64_t seed)
{
    struct shrinking s = begin(kind, seed);
    struct turn_choice all = {.without = 0};
    unsigned count = s.shared->record.count;

    memset(all.kept, true, count);
    if (s.broken.broken == 0 || !holds_with(&s, &all)) {
        printf("it does not break again with its turns recorded\n");
        end(&s);
        return;
    }
    shrink(&s);
    printf("the same with %u of its %u turns, after %u attempts:\n",
           kept_count(&s), count, s.attempts);
    print_transcript(&s, true);
    if (s.broken.broken < 0)
        printf("%10s  CHECK   %s\n", "", s.broken.story);
    printf("replay: ");
    seeds_print_command(kind, seed);
    printf(" --only ");
    print_kept(&s);
    print_without(s.choice.without);
    putchar('\n');
    end(&s);
}

int shrink_replay(struct seeds_kind kind, uint64_t seed, const char *only,
                  const char *without, bool trace)
{
    static struct turn_choice chosen;
    struct shrinking s;
    int broken;

    if (!read_kept(only, &chosen) ||
        (without != NULL && !read_without(without, &chosen))) {
        fprintf(stderr,
                "holdfast-sim: expected --only numbers of turns, as "
                "3,17-19 or none, and --without chances, as lose,drift\n");
        return 64;
    }
    s = begin(kind, seed);
    s.choice = chosen;
    print_transcript(&s, !trace);
    seeds_print(&s.shared->report);
    broken = s.shared->report.broken;
    end(&s);
    return broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
