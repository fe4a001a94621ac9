/* SPDX-License-Identifier: Apache-2.0 */
/* What clients do in a story, and what befalls them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/sim/ensemble.h"
#include "gate.h"
#include "question.h"
#include "story.h"

/* ---------------------------------------------------------------- users -- */

static struct attempt *attempt_of(struct story *story, struct client *client,
                                  const char *name)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (name != NULL && strcmp(a->name, name) == 0)
            return a;
    }
    story_complain(story, "no such attempt", name == NULL ? "" : name);
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
        story_complain(story, "expected", "want permits PLACE N/M [try|MS]");
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
        story_complain(story, "expected",
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
        story_complain(story, "there is no grant to release", words[0]);
    else
        world_release(attempt);
}

static void check(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt == NULL)
        return;
    if (!attempt->granted || attempt->lost || attempt->release_called)
        story_complain(story, "there is no grant to check", words[0]);
    else
        world_check(attempt);
}

static void downgrade(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt == NULL)
        return;
    if (!attempt->granted || attempt->lost || attempt->release_called ||
        attempt->a.kind != HF_TICKET_WRITE)
        story_complain(story, "there is no writer's grant to downgrade",
                       words[0]);
    else
        world_downgrade(attempt);
}

static void cancel(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);

    if (attempt != NULL)
        world_cancel(attempt);
}

/* evict ATTEMPT [N]: the ticket that it enqueued last, or that of its Nth place
 */
static void evict(struct story *story, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(story, client, words[0]);
    unsigned number =
        words[1] != NULL ? (unsigned)strtoul(words[1], NULL, 10) : 0;

    if (attempt != NULL &&
        !(words[1] != NULL ? world_evict_claim(attempt, number)
                           : world_evict(attempt)))
        story_complain(story, "it has no ticket", words[0]);
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
    story_complain(story, "no such attempt", name == NULL ? "" : name);
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
        story_complain(story, "expected", "look PLACE [MS]");
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
        story_complain(story, "expected", "raise, lower or wait, GATE [MS]");
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

/* ---------------------------------------------------------------- faults -- */

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
        story_complain(story, "expected", "only SERVER");
    else
        hf_sim_client_only(client->engine, atoi(words[0] + 1) - 1);
}

static void tear(struct story *story, struct client *client, char **words)
{
    (void)words;
    world_line(story->world, client->name, "link breaks behind the next event");
    hf_sim_tear(client->engine);
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

/* ---------------------------------------------------------------- table -- */

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
    {"tear", tear},      {"check", check},
};

bool verb_act(struct story *story, struct client *client, char **words)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, words[0]) == 0) {
            verbs[i].fn(story, client, words + 1);
            return true;
        }
    }
    return false;
}
