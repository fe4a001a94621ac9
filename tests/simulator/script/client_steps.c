/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of clients in a script: calls of their users, and faults. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cluster/barrier.h"
#include "simulator/cluster/operation.h"
#include "simulator/model/zk_faults.h"
#include "simulator/script/script.h"

/* ----------------------------------------------------------------- users -- */

static struct attempt *attempt_of(struct script *script, struct client *client,
                                  const char *name)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (name != NULL && strcmp(a->name, name) == 0)
            return a;
    }
    script_error(script, "no such attempt", name == NULL ? "" : name);
    return NULL;
}

/* want permits LOCK N/M: N permits of a semaphore that has M. */
static void want_permits(struct script *script, struct client *client,
                         const char *lock, const char *permits, bool only_try,
                         uint64_t wait_ms, enum attempt_text text)
{
    struct lock_spec lock_spec = {.kind = HF_TICKET_LEASE, .text = text};
    unsigned limit;

    if (permits == NULL ||
        sscanf(permits, "%" SCNu32 "/%u", &lock_spec.weight, &limit) != 2) {
        script_error(script, "expected", "want permits LOCK N/M [try|MS]");
        return;
    }
    lock_spec.lock = cluster_semaphore(script->cluster, lock, limit);
    cluster_want_all(client, &lock_spec, 1, only_try, wait_ms, 0, 0, false);
}

/* want all LOCK,LOCK...: mutexes, in the order of the names. */
static void want_all(struct script *script, struct client *client, char *locks,
                     bool only_try, uint64_t wait_ms)
{
    struct lock_spec specs[ATTEMPT_ITEMS_MAX];
    unsigned count = 0;
    char *rest = NULL;

    for (char *name = strtok_r(locks, ",", &rest);
         name != NULL && count < ATTEMPT_ITEMS_MAX;
         name = strtok_r(NULL, ",", &rest))
        specs[count++] = (struct lock_spec){
            .lock = cluster_lock(script->cluster, name, false),
            .kind = HF_TICKET_MUTEX,
            .weight = 1};
    cluster_want_all(client, specs, count, only_try, wait_ms, 0, 0, false);
}

/* One lock, neither shared nor a semaphore. */
static void want_one(struct script *script, struct client *client,
                     const char *lock, enum hf_ticket_kind kind, bool only_try,
                     uint64_t wait_ms, enum attempt_text text)
{
    bool read_write = kind == HF_TICKET_READ || kind == HF_TICKET_WRITE;
    struct lock_spec lock_spec = {
        .lock = cluster_lock(script->cluster, lock, read_write),
        .kind = kind,
        .weight = 1,
        .text = text};

    cluster_want_all(client, &lock_spec, 1, only_try, wait_ms, 0, 0, false);
}

/* What the word before the kind says of the text; TEXT_NAME: it is the kind. */
static enum attempt_text text_of(const char *word)
{
    if (word != NULL && strcmp(word, "holds") == 0)
        return TEXT_HOLDS;
    return word != NULL && strcmp(word, "detect") == 0 ? TEXT_DETECT
                                                       : TEXT_NAME;
}

/* want [holds|detect] mutex|read|write|election|shared LOCK [try|WAIT_MS], want
 * [...] permits LOCK N/M [...], want all LOCK,LOCK [...]; shared: a mutex whose
 * ticket all such attempts of the client share; holds: its text says what the
 * client holds; detect: and it looks for deadlocks. */
static void want(struct script *script, struct client *client, char **words)
{
    enum attempt_text text = text_of(words[0]);
    enum hf_ticket_kind kind = HF_TICKET_MUTEX;
    uint64_t wait_ms = HF_FOREVER;
    bool permits, only_try;
    const char *wait;

    words += text != TEXT_NAME;
    permits = words[0] != NULL && strcmp(words[0], "permits") == 0;
    wait = words[0] == NULL || words[1] == NULL ? NULL : words[permits ? 3 : 2];
    only_try = wait != NULL && strcmp(wait, "try") == 0;

    if (words[0] == NULL || words[1] == NULL) {
        script_error(script, "expected",
                     "want mutex|read|write|election|shared LOCK [try|MS]");
        return;
    }
    if (strcmp(words[0], "read") == 0)
        kind = HF_TICKET_READ;
    else if (strcmp(words[0], "write") == 0)
        kind = HF_TICKET_WRITE;
    else if (strcmp(words[0], "election") == 0)
        kind = HF_TICKET_ELECTION;
    if (wait != NULL && !only_try)
        wait_ms = strtoull(wait, NULL, 10);
    if (permits) {
        want_permits(script, client, words[1], words[2], only_try, wait_ms,
                     text);
        return;
    }
    if (strcmp(words[0], "shared") == 0) {
        cluster_want_shared(client,
                            cluster_lock(script->cluster, words[1], false),
                            only_try, wait_ms);
        return;
    }
    if (strcmp(words[0], "all") == 0) {
        want_all(script, client, words[1], only_try, wait_ms);
        return;
    }
    want_one(script, client, words[1], kind, only_try, wait_ms, text);
}

static void release(struct script *script, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(script, client, words[0]);

    if (attempt == NULL)
        return;
    if (!attempt->granted || attempt->release_called)
        script_error(script, "there is no grant to release", words[0]);
    else
        cluster_release(attempt);
}

static void check(struct script *script, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(script, client, words[0]);

    if (attempt == NULL)
        return;
    if (!attempt->granted || attempt->lost || attempt->release_called)
        script_error(script, "there is no grant to check", words[0]);
    else
        cluster_check(attempt);
}

static void downgrade(struct script *script, struct client *client,
                      char **words)
{
    struct attempt *attempt = attempt_of(script, client, words[0]);

    if (attempt == NULL)
        return;
    if (!attempt->granted || attempt->lost || attempt->release_called ||
        attempt->a.kind != HF_TICKET_WRITE)
        script_error(script, "there is no writer's grant to downgrade",
                     words[0]);
    else
        cluster_downgrade(attempt);
}

static void cancel(struct script *script, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(script, client, words[0]);

    if (attempt != NULL)
        cluster_cancel(attempt);
}

/* delete ATTEMPT [N]: the servers delete the ticket that it enqueued last, or
 * that of its item N. */
static void delete_ticket(struct script *script, struct client *client,
                          char **words)
{
    struct attempt *attempt = attempt_of(script, client, words[0]);
    unsigned number =
        words[1] != NULL ? (unsigned)strtoul(words[1], NULL, 10) : 0;

    if (attempt != NULL &&
        !(words[1] != NULL ? cluster_evict_item(attempt, number)
                           : cluster_evict(attempt)))
        script_error(script, "it has no ticket", words[0]);
}

/* The attempt of that name, of any client. */
static struct attempt *any_attempt(struct script *script, const char *name)
{
    for (unsigned i = 0; i < script->cluster->client_count; i++) {
        for (struct attempt *a = script->cluster->clients[i].attempts;
             a != NULL; a = a->next) {
            if (name != NULL && strcmp(a->name, name) == 0)
                return a;
        }
    }
    script_error(script, "no such attempt", name == NULL ? "" : name);
    return NULL;
}

static uint64_t wait_of(const char *word)
{
    return word == NULL ? HF_FOREVER : strtoull(word, NULL, 10);
}

/* list LOCK [WAIT_MS]; evict and revoke ATTEMPT [WAIT_MS], of any client: the
 * operations of another client. */
static void do_list(struct script *script, struct client *client, char **words)
{
    if (words[0] == NULL)
        script_error(script, "expected", "list LOCK [MS]");
    else
        operation_list(client, cluster_lock(script->cluster, words[0], false),
                       wait_of(words[1]));
}

static void evict(struct script *script, struct client *client, char **words)
{
    struct attempt *attempt = any_attempt(script, words[0]);

    if (attempt != NULL)
        operation_evict(client, attempt, wait_of(words[1]));
}

static void revoke(struct script *script, struct client *client, char **words)
{
    struct attempt *attempt = any_attempt(script, words[0]);

    if (attempt != NULL)
        operation_revoke(client, attempt, wait_of(words[1]));
}

/* set, clear and wait BARRIER [WAIT_MS]; a wait of 0 ends at once. */
static struct barrier *barrier_of(struct script *script, char **words)
{
    if (words[0] == NULL)
        script_error(script, "expected", "set, clear or wait, BARRIER [MS]");
    return barrier_named(script->cluster, words[0] == NULL ? "" : words[0]);
}

static void do_set(struct script *script, struct client *client, char **words)
{
    operation_set_barrier(client, barrier_of(script, words), true,
                          wait_of(words[1]));
}

static void do_clear(struct script *script, struct client *client, char **words)
{
    operation_set_barrier(client, barrier_of(script, words), false,
                          wait_of(words[1]));
}

static void do_wait(struct script *script, struct client *client, char **words)
{
    (void)operation_wait(client, barrier_of(script, words), wait_of(words[1]));
}

static void do_close(struct script *script, struct client *client, char **words)
{
    (void)script;
    (void)words;
    cluster_close(client);
}

/* ---------------------------------------------------------------- faults -- */

static void crash(struct script *script, struct client *client, char **words)
{
    (void)script;
    (void)words;
    cluster_crash(client);
}

static void freeze(struct script *script, struct client *client, char **words)
{
    (void)script;
    (void)words;
    cluster_freeze(client, true);
}

static void thaw(struct script *script, struct client *client, char **words)
{
    (void)script;
    (void)words;
    cluster_freeze(client, false);
}

static void kill_session(struct script *script, struct client *client,
                         char **words)
{
    (void)script;
    (void)words;
    cluster_kill_session(client);
}

static void cut(struct script *script, struct client *client, char **words)
{
    cluster_trace(script->cluster, client->name, "link cut%s%s",
                  words[0] == NULL ? "" : " ",
                  words[0] == NULL ? "" : words[0]);
    hf_sim_set_link(client->engine,
                    words[0] != NULL && strcmp(words[0], "in") == 0,
                    words[0] != NULL && strcmp(words[0], "out") == 0);
}

static void mend(struct script *script, struct client *client, char **words)
{
    (void)words;
    cluster_trace(script->cluster, client->name, "link mended");
    hf_sim_set_link(client->engine, true, true);
}

static void reset(struct script *script, struct client *client, char **words)
{
    (void)words;
    cluster_trace(script->cluster, client->name, "link breaks");
    hf_sim_reset_connection(client->engine);
}

static void stall(struct script *script, struct client *client, char **words)
{
    (void)words;
    cluster_trace(script->cluster, client->name, "follower cut off");
    hf_sim_set_stalled(client->engine, false, false);
}

static void unstall(struct script *script, struct client *client, char **words)
{
    (void)words;
    cluster_trace(script->cluster, client->name, "follower back");
    hf_sim_set_stalled(client->engine, true, true);
}

/* ------------------------------------------------------------- ensembles -- */

/* use-only SERVER: the client can connect to no other server. */
static void use_only(struct script *script, struct client *client, char **words)
{
    if (words[0] == NULL || words[0][0] != 's')
        script_error(script, "expected", "use-only SERVER");
    else
        hf_sim_client_use_only(client->engine, atoi(words[0] + 1) - 1);
}

static void reset_after_event(struct script *script, struct client *client,
                              char **words)
{
    (void)words;
    cluster_trace(script->cluster, client->name,
                  "link breaks after the next event");
    hf_sim_reset_after_event(client->engine);
}

/* write ATTEMPT: another program writes to its node. */
static void rewrite(struct script *script, struct client *client, char **words)
{
    struct attempt *attempt = attempt_of(script, client, words[0]);

    if (attempt == NULL)
        return;
    cluster_trace(script->cluster, client->name, "%s is written to",
                  attempt->name);
    hf_sim_other_client_write(script->cluster->sim, &attempt->id);
}

/* duplicate ATTEMPT: another program creates a node with the id of its
 * ticket. */
static void duplicate_id(struct script *script, struct client *client,
                         char **words)
{
    struct attempt *attempt = attempt_of(script, client, words[0]);

    if (attempt == NULL)
        return;
    cluster_trace(script->cluster, "other", "takes the id of %s",
                  attempt->name);
    hf_sim_other_client_enqueue(script->cluster->sim, attempt->lock->name,
                                attempt->a.kind, &attempt->id, NULL);
}

/* ----------------------------------------------------------------- table -- */

static const struct {
    const char *name;
    void (*fn)(struct script *script, struct client *client, char **words);
} steps[] = {
    {"want", want},
    {"release", release},
    {"cancel", cancel},
    {"delete", delete_ticket},
    {"close", do_close},
    {"crash", crash},
    {"freeze", freeze},
    {"thaw", thaw},
    {"kill", kill_session},
    {"cut", cut},
    {"mend", mend},
    {"break", reset},
    {"stall", stall},
    {"unstall", unstall},
    {"use-only", use_only},
    {"write", rewrite},
    {"duplicate", duplicate_id},
    {"downgrade", downgrade},
    {"list", do_list},
    {"evict", evict},
    {"revoke", revoke},
    {"set", do_set},
    {"clear", do_clear},
    {"wait", do_wait},
    {"break-after-event", reset_after_event},
    {"check", check},
};

/* Look the step up in the table above. */
bool client_step(struct script *script, struct client *client, char **words)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(steps[i].name, words[0]) == 0) {
            steps[i].fn(script, client, words + 1);
            return true;
        }
    }
    return false;
}
