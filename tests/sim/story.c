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
 * late= (in a million), plain (an engine without traits).  With servers= the
 * world is an ensemble for the client of ZooKeeper, and there are also: tick=
 * limit= (of ticks) containers= (ms), lag= (us), known (the tick), strict, old,
 * split, moved, unmoved, and unsafe: an invariant will break.  Servers are
 * called s1, s2 and so on; the last one leads first. Attempts are called by
 * kind and number, in the order they are wanted.  A client's clock shows 1000
 * at the start.  Verbs stand in the table below.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engines/sim/ensemble.h"
#include "gate.h"
#include "question.h"
#include "world.h"

#define STORY_BYTES ((size_t)64 * 1024)
#define WORDS_MAX 8
#define END_US_MAX ((uint64_t)600 * 1000 * 1000)

struct story {
    const char *path;
    unsigned row;
    struct world *world;
    bool ended;
    bool wrong;
    bool unsafe;
    char *got; /* the transcript, STORY_BYTES */
    size_t got_bytes;
};

static void complain(struct story *story, const char *what, const char *word)
{
    fprintf(stderr, "%s:%u: %s: \"%s\"\n", story->path, story->row, what, word);
    story->wrong = true;
}

static void collect(void *arg, const char *line)
{
    struct story *story = arg;
    size_t bytes = strlen(line);

    if (story->got_bytes + bytes + 2 > STORY_BYTES) {
        complain(story, "the transcript is too long at", line);
        return;
    }
    memcpy(story->got + story->got_bytes, line, bytes);
    story->got_bytes += bytes;
    story->got[story->got_bytes++] = '\n';
    story->got[story->got_bytes] = '\0';
}

/* ----------------------------------------------------------------- verbs -- */

static struct attempt *attempt_of(struct story *story, struct client *client,
                                  const char *name)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (name != NULL && strcmp(a->name, name) == 0)
            return a;
    }
    complain(story, "no such attempt", name == NULL ? "" : name);
    return NULL;
}

/* permits PLACE N/M */
static void want_permits(struct story *story, struct client *client,
                         const char *place, const char *permits, bool only_try,
                         uint64_t wait_ms)
{
    struct wish wish = {.kind = HF_TICKET_LEASE};
    unsigned limit;

    if (permits == NULL ||
        sscanf(permits, "%" SCNu32 "/%u", &wish.weight, &limit) != 2) {
        complain(story, "expected", "want permits PLACE N/M [try|MS]");
        return;
    }
    wish.place = world_semaphore(story->world, place, limit);
    world_want_all(client, &wish, 1, only_try, wait_ms, 0, 0, false);
}

/* all PLACE,PLACE...: mutexes, in the order of their names */
static void want_all(struct story *story, struct client *client, char *places,
                     bool only_try, uint64_t wait_ms)
{
    struct wish wishes[WORLD_CLAIMS];
    unsigned count = 0;
    char *rest = NULL;

    for (char *name = strtok_r(places, ",", &rest);
         name != NULL && count < WORLD_CLAIMS;
         name = strtok_r(NULL, ",", &rest))
        wishes[count++] =
            (struct wish){.place = world_place(story->world, name, false),
                          .kind = HF_TICKET_MUTEX,
                          .weight = 1};
    world_want_all(client, wishes, count, only_try, wait_ms, 0, 0, false);
}

/* want mutex|read|write|election|shared PLACE [try|WAIT_MS], want permits PLACE
 * N/M [...], want all PLACE,PLACE [...]; shared: a mutex, with the client's
 * others that are */
static void want(struct story *story, struct client *client, char **words)
{
    enum hf_ticket_kind kind = HF_TICKET_MUTEX;
    bool permits = words[0] != NULL && strcmp(words[0], "permits") == 0;
    const char *patience = words[1] == NULL ? NULL : words[permits ? 3 : 2];
    bool only_try = patience != NULL && strcmp(patience, "try") == 0;
    uint64_t wait_ms = HF_FOREVER;

    if (words[0] == NULL || words[1] == NULL) {
        complain(story, "expected",
                 "want mutex|read|write|election|shared PLACE [try|MS]");
        return;
    }
    if (strcmp(words[0], "read") == 0)
        kind = HF_TICKET_READ;
    else if (strcmp(words[0], "write") == 0)
        kind = HF_TICKET_WRITE;
    else if (strcmp(words[0], "election") == 0)
        kind = HF_TICKET_ELECTION;
    if (patience != NULL && !only_try)
        wait_ms = strtoull(patience, NULL, 10);
    if (permits) {
        want_permits(story, client, words[1], words[2], only_try, wait_ms);
        return;
    }
    if (strcmp(words[0], "shared") == 0) {
        world_want_shared(client, world_place(story->world, words[1], false),
                          only_try, wait_ms);
        return;
    }
    if (strcmp(words[0], "all") == 0) {
        want_all(story, client, words[1], only_try, wait_ms);
        return;
    }
    world_want(client,
               world_place(story->world, words[1],
                           kind == HF_TICKET_READ || kind == HF_TICKET_WRITE),
               kind, only_try, wait_ms, 0, 0, false);
}

static void release(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt == NULL)
        return;
    if (!attempt->granted || attempt->release_called)
        complain(story, "there is no grant to release", words[0]);
    else
        world_release(attempt);
}

static void downgrade(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt == NULL)
        return;
    if (!attempt->granted || attempt->lost || attempt->release_called ||
        attempt->a.kind != HF_TICKET_WRITE)
        complain(story, "there is no writer's grant to downgrade", words[0]);
    else
        world_downgrade(attempt);
}

static void cancel(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt != NULL)
        world_cancel(attempt);
}

static void evict(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt != NULL && !world_evict(attempt))
        complain(story, "it has no ticket", words[0]);
}

/* Whosever it is. */
static struct attempt *anybodys(struct story *story, const char *name)
{
    for (unsigned i = 0; i < story->world->client_count; i++) {
        for (struct attempt *a = story->world->clients[i].attempts; a != NULL;
             a = a->next) {
            if (name != NULL && strcmp(a->name, name) == 0)
                return a;
        }
    }
    complain(story, "no such attempt", name == NULL ? "" : name);
    return NULL;
}

static uint64_t wait_of(const char *word)
{
    return word == NULL ? HF_FOREVER : strtoull(word, NULL, 10);
}

/* look PLACE [WAIT_MS]; expel and ask ATTEMPT [WAIT_MS], anybody's: what an
 * eviction and a request to let go are, coming from another client. */
static void do_look(struct story *story, struct client *client, char **words)
{
    if (words[0] == NULL)
        complain(story, "expected", "look PLACE [MS]");
    else
        question_list(client, world_place(story->world, words[0], false),
                      wait_of(words[1]));
}

static void expel(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = anybodys(story, words[0]);

    if (attempt != NULL)
        question_evict(client, attempt, wait_of(words[1]));
}

static void ask(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = anybodys(story, words[0]);

    if (attempt != NULL)
        question_revoke(client, attempt, wait_of(words[1]));
}

/* raise, lower and wait GATE [WAIT_MS]; a wait of 0 is a try. */
static struct gate *gate_of(struct story *story, char **words)
{
    if (words[0] == NULL)
        complain(story, "expected", "raise, lower or wait, GATE [MS]");
    return gate_called(story->world, words[0] == NULL ? "" : words[0]);
}

static void do_raise(struct story *story, struct client *client, char **words)
{
    question_mark(client, gate_of(story, words), true, wait_of(words[1]));
}

static void do_lower(struct story *story, struct client *client, char **words)
{
    question_mark(client, gate_of(story, words), false, wait_of(words[1]));
}

static void do_wait(struct story *story, struct client *client, char **words)
{
    (void)question_wait(client, gate_of(story, words), wait_of(words[1]));
}

static void do_close(struct story *story, struct client *client, char **words)
{
    (void)story;
    (void)words;
    world_close(client);
}

static void crash(struct story *story, struct client *client, char **words)
{
    (void)story;
    (void)words;
    world_crash(client);
}

static void freeze(struct story *story, struct client *client, char **words)
{
    (void)story;
    (void)words;
    world_freeze(client, true);
}

static void thaw(struct story *story, struct client *client, char **words)
{
    (void)story;
    (void)words;
    world_freeze(client, false);
}

static void kill_session(struct story *story, struct client *client,
                         char **words)
{
    (void)story;
    (void)words;
    world_kill_session(client);
}

static void cut(struct story *story, struct client *client, char **words)
{
    world_line(story->world, client->name, "link cut%s%s",
               words[0] == NULL ? "" : " ", words[0] == NULL ? "" : words[0]);
    hf_sim_set_link(client->engine,
                    words[0] != NULL && strcmp(words[0], "in") == 0,
                    words[0] != NULL && strcmp(words[0], "out") == 0);
}

static void mend(struct story *story, struct client *client, char **words)
{
    (void)words;
    world_line(story->world, client->name, "link mended");
    hf_sim_set_link(client->engine, true, true);
}

static void reset(struct story *story, struct client *client, char **words)
{
    (void)words;
    world_line(story->world, client->name, "link breaks");
    hf_sim_break(client->engine);
}

static void stall(struct story *story, struct client *client, char **words)
{
    (void)words;
    world_line(story->world, client->name, "follower cut off");
    hf_sim_set_stalled(client->engine, false, false);
}

static void unstall(struct story *story, struct client *client, char **words)
{
    (void)words;
    world_line(story->world, client->name, "follower back");
    hf_sim_set_stalled(client->engine, true, true);
}

/* ------------------------------------------------------------- ensembles -- */

/* only s1: no other server takes its connections. */
static void only(struct story *story, struct client *client, char **words)
{
    if (words[0] == NULL || words[0][0] != 's')
        complain(story, "expected", "only SERVER");
    else
        hf_sim_client_only(client->engine, atoi(words[0] + 1) - 1);
}

static void rewrite(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt == NULL)
        return;
    world_line(story->world, client->name, "%s is written to", attempt->name);
    hf_sim_foreign_write(story->world->sim, &attempt->id);
}

/* Somebody else puts a node with the name of its ticket into the queue. */
static void impostor(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt == NULL)
        return;
    world_line(story->world, "other", "takes the name of %s", attempt->name);
    hf_sim_foreign_enqueue(story->world->sim, attempt->place->name,
                           attempt->a.kind, &attempt->id, NULL);
}

static void server_cut(struct story *story, int server, const char *way)
{
    world_line(story->world, "-", "s%d cut off%s%s", server + 1,
               way == NULL ? "" : " ", way == NULL ? "" : way);
    hf_sim_server_link(story->world->sim, server,
                       way != NULL && strcmp(way, "in") == 0,
                       way != NULL && strcmp(way, "out") == 0);
}

static void server_act(struct story *story, int server, char **words)
{
    struct hf_sim *sim = story->world->sim;
    const char *verb = words[0];

    if (server < 0 || (unsigned)server >= hf_sim_servers(sim)) {
        complain(story, "no such server", verb);
        return;
    }
    if (strcmp(verb, "cut") == 0) {
        server_cut(story, server, words[1]);
        return;
    }
    world_line(story->world, "-", "s%d %s", server + 1, verb);
    if (strcmp(verb, "mend") == 0)
        hf_sim_server_link(sim, server, true, true);
    else if (strcmp(verb, "freeze") == 0)
        hf_sim_server_freeze(sim, server, false);
    else if (strcmp(verb, "pause") == 0)
        hf_sim_server_freeze(sim, server, true);
    else if (strcmp(verb, "thaw") == 0)
        hf_sim_server_thaw(sim, server);
    else if (strcmp(verb, "stop") == 0)
        hf_sim_server_stop(sim, server);
    else if (strcmp(verb, "start") == 0)
        hf_sim_server_start(sim, server);
    else
        complain(story, "no such verb of a server", verb);
}

/* What somebody else does: node and delete PLACE NAME (a number is put behind a
 * name that ends with '-' or '_'), delete PLACE, counter PLACE NUMBER, deny
 * PLACE, allow, restart, wipe; raise, lower and touch GATE. */
static bool other_act(struct story *story, char **words)
{
    struct hf_sim *sim = story->world->sim;
    const char *place = words[1], *what = words[2];
    bool both = place != NULL && what != NULL;

    story->world->denied |= strcmp(words[0], "deny") == 0;
    story->world->exhausted |= strcmp(words[0], "counter") == 0;

    if (strcmp(words[0], "restart") == 0)
        hf_sim_restart(sim);
    else if (strcmp(words[0], "wipe") == 0)
        world_wipe(story->world);
    else if (strcmp(words[0], "allow") == 0)
        hf_sim_deny(sim, NULL);
    else if (strcmp(words[0], "deny") == 0 && place != NULL)
        hf_sim_deny(sim, place);
    else if (strcmp(words[0], "node") == 0 && both)
        hf_sim_foreign_node(sim, place, what,
                            strchr("-_", what[strlen(what) - 1]) != NULL);
    else if (strcmp(words[0], "delete") == 0 && place != NULL)
        hf_sim_foreign_delete(sim, place, what == NULL ? "" : what);
    else if (strcmp(words[0], "raise") == 0 && place != NULL)
        hf_sim_foreign_mark(sim, gate_called(story->world, place)->name, true);
    else if (strcmp(words[0], "touch") == 0 && place != NULL)
        hf_sim_foreign_touch(sim, gate_called(story->world, place)->name);
    else if (strcmp(words[0], "lower") == 0 && place != NULL)
        hf_sim_foreign_mark(sim, gate_called(story->world, place)->name, false);
    else if (strcmp(words[0], "counter") == 0 && both)
        hf_sim_set_counter(sim, place, (int32_t)strtol(what, NULL, 10));
    else
        return false;
    world_line(story->world, "other", "%s%s%s%s%s", words[0],
               place == NULL ? "" : " ", place == NULL ? "" : place,
               what == NULL ? "" : " ", what == NULL ? "" : what);
    return true;
}

static const struct {
    const char *name;
    void (*fn)(struct story *story, struct client *client, char **words);
} verbs[] = {
    {"want", want},      {"release", release},   {"cancel", cancel},
    {"evict", evict},    {"close", do_close},    {"crash", crash},
    {"freeze", freeze},  {"thaw", thaw},         {"kill", kill_session},
    {"cut", cut},        {"mend", mend},         {"break", reset},
    {"stall", stall},    {"unstall", unstall},   {"only", only},
    {"write", rewrite},  {"impostor", impostor}, {"downgrade", downgrade},
    {"look", do_look},   {"expel", expel},       {"ask", ask},
    {"raise", do_raise}, {"lower", do_lower},    {"wait", do_wait},
};

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
    e->tick_known |= strcmp(word, "known") == 0;
    e->strict_proof |= strcmp(word, "strict") == 0;
    e->old |= strcmp(word, "old") == 0;
    e->split |= strcmp(word, "split") == 0;
    e->tells_moved |= strcmp(word, "moved") == 0;
    e->ignores_moves |= strcmp(word, "unmoved") == 0;
}

/* world KEY=NUMBER... */
static void make_world(struct story *story, char **words)
{
    struct hf_sim_config config = hf_sim_config_ensemble(1);
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
        story->unsafe |= strcmp(*words, "unsafe") == 0;
        ensemble_word(&config, *words);
    }
    if (clients > WORLD_CLIENTS) {
        complain(story, "too many clients", "world");
        clients = WORLD_CLIENTS;
    }
    world_init(story->world, &config);
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
        complain(story, "expected", "TIME ACTOR VERB");
        return;
    }
    run_until(story->world, at_us);
    if (strcmp(words[2], "end") == 0) {
        end(story);
        return;
    }
    if (words[1][0] == 's' && isdigit((unsigned char)words[1][1])) {
        server_act(story, atoi(words[1] + 1) - 1, words + 2);
        return;
    }
    if (strcmp(words[1], "-") == 0) {
        if (!other_act(story, words + 2))
            complain(story, "no such deed of others", words[2]);
        return;
    }
    client = &story->world->clients[(words[1][0] - 'a') % WORLD_CLIENTS];
    if (words[1][0] < 'a' || !client->alive) {
        complain(story, "no such client", words[1]);
        return;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, words[2]) == 0) {
            verbs[i].fn(story, client, words + 3);
            return;
        }
    }
    complain(story, "no such verb", words[2]);
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
        complain(story, "expected first", "world");
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
        complain(story, "expected at last", "TIME - end");
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
