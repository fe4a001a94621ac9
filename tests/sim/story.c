/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories: who does what when, and the transcript that is expected of it.
 *
 *     # Why it matters, in a line or two.
 *     world timeout=3000 clients=2
 *        0      a  want mutex one
 *       50      a  release m1
 *      100      -  end
 *     expect
 *          2.000  a       m1 GRANTED token=5 safe-until=3970
 *
 * Words of a world: timeout= least= (ms), delay= (us, one way), clients=,
 * late= (in a million), plain (an engine without traits), suspends (losses are
 * told at SUSPENDED).  With servers= the
 * world is an ensemble for the client of ZooKeeper, and there are also: tick=
 * limit= (of ticks) containers= floor= (ms), lag= (us), window= (calls under
 * way), known (the tick), strict, old, split, moved, unmoved, zxid, and unsafe:
 * an invariant will break.  Servers are called s1, s2 and so on; the last one
 * leads first.
 * Attempts are called by kind and number, in the order they are wanted.  A
 * client's clock shows 1000 at the start.  Verbs stand in the table of verb.c,
 * what servers and others do in deed.c.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"

#include "engines/sim/ensemble.h"

#define STORY_BYTES ((size_t)64 * 1024)
#define WORDS_MAX 8
#define END_US_MAX ((uint64_t)600 * 1000 * 1000)

void story_complain(struct story *story, const char *what, const char *word)
{
    fprintf(stderr, "%s:%u: %s: \"%s\"\n", story->path, story->row, what, word);
    story->wrong = true;
}

static void collect(void *arg, const char *line)
{
    struct story *story = arg;
    size_t bytes = strlen(line);

    if (story->got_bytes + bytes + 2 > STORY_BYTES) {
        story_complain(story, "the transcript is too long at", line);
        return;
    }
    memcpy(story->got + story->got_bytes, line, bytes);
    story->got_bytes += bytes;
    story->got[story->got_bytes++] = '\n';
    story->got[story->got_bytes] = '\0';
}

/* ------------------------------------------------------------------ rows -- */

static uint64_t number_after(const char *word, const char *key, uint64_t old)
{
    size_t bytes = strlen(key);

    if (strncmp(word, key, bytes) != 0)
        return old;
    return strtoull(word + bytes, NULL, 10);
}

static void ensemble_word(struct hf_sim_config *config, const char *word)
{
    struct hf_sim_ensemble *e = &config->ensemble;

    e->servers = (unsigned)number_after(word, "servers=", e->servers);
    e->tick_ms = number_after(word, "tick=", e->tick_ms);
    e->sync_limit = (unsigned)number_after(word, "limit=", e->sync_limit);
    e->container_ms = number_after(word, "containers=", e->container_ms);
    e->lag_most_us = (uint32_t)number_after(word, "lag=", e->lag_most_us);
    e->timeout_floor_ms = number_after(word, "floor=", e->timeout_floor_ms);
    e->window = (unsigned)number_after(word, "window=", e->window);
    e->tick_known |= strcmp(word, "known") == 0;
    e->strict_proof |= strcmp(word, "strict") == 0;
    e->lazy_proof |= strcmp(word, "lazy") == 0;
    e->old |= strcmp(word, "old") == 0;
    e->split |= strcmp(word, "split") == 0;
    e->tells_moved |= strcmp(word, "moved") == 0;
    e->tells_zxid |= strcmp(word, "zxid") == 0;
    e->ignores_moves |= strcmp(word, "unmoved") == 0;
}

/* world KEY=NUMBER... */
static void make_world(struct story *story, char **words)
{
    struct hf_sim_config config = hf_sim_config_ensemble(1);
    enum hf_loss_at loss_at = HF_LOSS_AT_LOST;
    uint64_t clients = 2;

    config.ensemble.servers = 0;
    for (; *words != NULL; words++) {
        config.timeout_ms = number_after(*words, "timeout=", config.timeout_ms);
        config.least_timeout_ms =
            number_after(*words, "timeout=", config.least_timeout_ms);
        config.least_timeout_ms =
            number_after(*words, "least=", config.least_timeout_ms);
        config.delay_least_us = config.delay_most_us =
            (uint32_t)number_after(*words, "delay=", config.delay_most_us);
        config.late_chance =
            (uint32_t)number_after(*words, "late=", config.late_chance);
        clients = number_after(*words, "clients=", clients);
        if (strcmp(*words, "plain") == 0)
            config.traits = 0;
        if (strcmp(*words, "suspends") == 0)
            loss_at = HF_LOSS_AT_SUSPENDED;
        story->unsafe |= strcmp(*words, "unsafe") == 0;
        ensemble_word(&config, *words);
    }
    if (clients > WORLD_CLIENTS) {
        story_complain(story, "too many clients", "world");
        clients = WORLD_CLIENTS;
    }
    world_init(story->world, &config);
    story->world->loss_at = loss_at;
    story->world->terse = true;
    story->world->line = collect;
    story->world->line_arg = story;
    story->world->client_count = (unsigned)clients;
    for (unsigned i = 0; i < clients; i++)
        world_open(&story->world->clients[i], 1000, 0);
}

/* "12.5", in milliseconds, to microseconds. */
static bool instant(const char *word, uint64_t *us)
{
    char *end;
    double ms = strtod(word, &end);

    *us = (uint64_t)(ms * 1000 + 0.5);
    return isdigit((unsigned char)word[0]) && *end == '\0' && *us <= END_US_MAX;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void run_until(struct world *world, uint64_t us)
{
    hf_sim_call_at(world->sim, us, true, nothing, NULL);
    while (hf_sim_now_us(world->sim) < us)
        hf_sim_next(world->sim);
}

static void end(struct story *story)
{
    size_t left = 0;

    for (unsigned i = 0; i < story->world->place_count; i++)
        left +=
            hf_sim_queue(story->world->sim, story->world->places[i].name).count;
    if (hf_sim_servers(story->world->sim) > 0)
        world_line(story->world, "-",
                   "end, tickets left: %zu, nodes: %zu, watches: %zu", left,
                   hf_sim_nodes(story->world->sim),
                   hf_sim_watches(story->world->sim));
    else
        world_line(story->world, "-", "end, tickets left: %zu", left);
    story->ended = true;
}

static void act(struct story *story, char **words)
{
    uint64_t at_us;
    struct client *client;

    if (words[1] == NULL || words[2] == NULL || !instant(words[0], &at_us)) {
        story_complain(story, "expected", "TIME ACTOR VERB");
        return;
    }
    run_until(story->world, at_us);
    if (strcmp(words[2], "end") == 0) {
        end(story);
        return;
    }
    if (words[1][0] == 's' && isdigit((unsigned char)words[1][1])) {
        deed_of_server(story, atoi(words[1] + 1) - 1, words + 2);
        return;
    }
    if (strcmp(words[1], "-") == 0) {
        if (!deed_of_others(story, words + 2))
            story_complain(story, "no such deed of others", words[2]);
        return;
    }
    client = &story->world->clients[(words[1][0] - 'a') % WORLD_CLIENTS];
    if (words[1][0] < 'a' || !client->alive) {
        story_complain(story, "no such client", words[1]);
        return;
    }
    if (!verb_act(story, client, words + 2))
        story_complain(story, "no such verb", words[2]);
}

static void play_row(struct story *story, char *row)
{
    char *words[WORDS_MAX + 1] = {NULL};
    char *rest = NULL;
    char *word = strtok_r(row, " \t", &rest);
    size_t count = 0;

    for (; word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    if (count == 0 || words[0][0] == '#')
        return;
    if (strcmp(words[0], "world") == 0)
        make_world(story, words + 1);
    else if (story->world->sim == NULL)
        story_complain(story, "expected first", "world");
    else
        act(story, words);
}

/* ----------------------------------------------------------------- whole -- */

/* The file with a NUL behind it; NULL if it cannot be read. */
static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, STORY_BYTES);
    size_t bytes;

    if (file == NULL || text == NULL) {
        perror(path);
        free(text);
        if (file != NULL)
            fclose(file);
        return NULL;
    }
    bytes = fread(text, 1, STORY_BYTES - 1, file);
    text[bytes] = '\0';
    fclose(file);
    return text;
}

/* Print where two transcripts part. */
static void print_difference(const char *path, const char *want_,
                             const char *got)
{
    while (*want_ != '\0' || *got != '\0') {
        size_t want_bytes = strcspn(want_, "\n");
        size_t got_bytes = strcspn(got, "\n");

        if (want_bytes != got_bytes || memcmp(want_, got, got_bytes) != 0)
            printf("%s:\n  expected %.*s\n  got      %.*s\n", path,
                   (int)want_bytes, want_, (int)got_bytes, got);
        want_ += want_bytes + (want_[want_bytes] == '\n');
        got += got_bytes + (got[got_bytes] == '\n');
    }
}

static bool write_down(const char *path, const char *head, size_t head_bytes,
                       const char *got)
{
    FILE *file = fopen(path, "w");

    if (file == NULL) {
        perror(path);
        return false;
    }
    fprintf(file, "%.*sexpect\n%s", (int)head_bytes, head, got);
    return fclose(file) == 0;
}

static void play(struct story *story, const char *head, size_t head_bytes)
{
    char *copy = strndup(head, head_bytes);
    char *rest = NULL;

    if (copy == NULL)
        abort();
    for (char *row = strtok_r(copy, "\n", &rest); row != NULL && !story->wrong;
         row = strtok_r(NULL, "\n", &rest)) {
        story->row++;
        play_row(story, row);
    }
    free(copy);
    if (!story->wrong && !story->ended)
        story_complain(story, "expected at last", "TIME - end");
}

/* Does the story in ${text} go as it expects? */
static bool tell(struct story *story, const char *text, bool update)
{
    const char *expect = strstr(text, "\nexpect\n");
    size_t head_bytes =
        expect == NULL ? strlen(text) : (size_t)(expect - text) + 1;

    play(story, text, head_bytes);
    if (story->wrong)
        return false;
    if (story->unsafe && story->world->broken == 0) {
        printf("%s: every invariant held\n%s", story->path, story->got);
        return false;
    }
    if (!story->unsafe && story->world->broken != 0) {
        printf("%s: invariant %d broken: %s\n%s", story->path,
               story->world->broken, story->world->story, story->got);
        return false;
    }
    if (update)
        return write_down(story->path, text, head_bytes, story->got);
    expect = expect == NULL ? "" : expect + strlen("\nexpect\n");
    if (strcmp(expect, story->got) == 0)
        return true;
    print_difference(story->path, expect, story->got);
    return false;
}

bool story_run(const char *path, bool update)
{
    static struct world world; /* too large for a stack */
    struct story story = {.path = path, .world = &world};
    char *text = read_whole(path);
    bool fine = false;

    story.got = calloc(1, STORY_BYTES);
    if (text != NULL && story.got != NULL)
        fine = tell(&story, text, update);
    if (world.sim != NULL)
        world_free(&world);
    memset(&world, 0, sizeof world); /* it points to what ends here */
    free(text);
    free(story.got);
    printf("%s: %s\n", path, fine ? "as expected" : "NOT AS EXPECTED");
    return fine;
}
