/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a script: a file with steps at given times, and the trace that is
 * expected.
 *
 *     # Why it matters, in a line or two.
 *     cluster timeout=3000 clients=2
 *        0      a  want mutex one
 *       50      a  release m1
 *      100      -  end
 *     expect
 *          2.000  a       m1 GRANTED token=5 safe-until=3970
 *
 * Options of the cluster: timeout= and least= (ms), delay= (us, one way),
 * clients=, late= (per million), no-traits (an engine without traits),
 * loss-at-suspended.  With servers= it has servers of ZooKeeper and its real
 * client, and there are also: tick= sync-limit= (ticks) containers=
 * timeout-floor= (ms), lag= (us), window= (calls under way), tick-known,
 * strict, lazy, no-containers, split, answers-moved, ignores-moves, event-zxid,
 * and violates: an invariant must break.  Servers are called s1, s2 and so on;
 * the last one leads first.  With members= it has members of etcd and its real
 * client, and there are also election= (ms), lazy, stale-renewals,
 * stale-revokes and violates.  Members are called m1, m2 and so on.
 *
 * A row is TIME ACTOR STEP ARGUMENT...  The actor is a client, a server or a
 * member, or "-" for all others.  Attempts are called by their kind and number,
 * in the order of their start.  A client's clock shows 1000 at the beginning.
 * Steps of clients are in the table of client_steps.c, the others in
 * server_steps.c.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/script/script.h"

#include "simulator/model/zk_faults.h"

#define SCRIPT_BYTES ((size_t)64 * 1024)
#define WORDS_MAX 8
#define END_US_MAX ((uint64_t)600 * 1000 * 1000)

void script_error(struct script *script, const char *what, const char *word)
{
    fprintf(stderr, "%s:%u: %s: \"%s\"\n", script->path, script->row, what,
            word);
    script->wrong = true;
}

/* Append a line of the trace. */
static void collect(void *arg, const char *line)
{
    struct script *script = arg;
    size_t bytes = strlen(line);

    if (script->got_bytes + bytes + 2 > SCRIPT_BYTES) {
        script_error(script, "the trace is too long at", line);
        return;
    }
    memcpy(script->got + script->got_bytes, line, bytes);
    script->got_bytes += bytes;
    script->got[script->got_bytes++] = '\n';
    script->got[script->got_bytes] = '\0';
}

/* ------------------------------------------------------------------ rows -- */

static uint64_t number_after(const char *word, const char *key, uint64_t old)
{
    size_t bytes = strlen(key);

    if (strncmp(word, key, bytes) != 0)
        return old;
    return strtoull(word + bytes, NULL, 10);
}

/* One option of the cluster that is about servers of ZooKeeper. */
static void ensemble_option(struct hf_sim_config *config, const char *word)
{
    struct hf_sim_ensemble *e = &config->ensemble;

    e->servers = (unsigned)number_after(word, "servers=", e->servers);
    e->tick_ms = number_after(word, "tick=", e->tick_ms);
    e->sync_limit = (unsigned)number_after(word, "sync-limit=", e->sync_limit);
    e->container_check_ms =
        number_after(word, "containers=", e->container_check_ms);
    e->lag_max_us = (uint32_t)number_after(word, "lag=", e->lag_max_us);
    e->timeout_floor_ms =
        number_after(word, "timeout-floor=", e->timeout_floor_ms);
    e->window = (unsigned)number_after(word, "window=", e->window);
    e->tick_known |= strcmp(word, "tick-known") == 0;
    e->strict_proof |= strcmp(word, "strict") == 0;
    e->lazy_proof |= strcmp(word, "lazy") == 0;
    e->lacks_containers |= strcmp(word, "no-containers") == 0;
    e->splits_bytes |= strcmp(word, "split") == 0;
    e->answers_moved |= strcmp(word, "answers-moved") == 0;
    e->event_zxid |= strcmp(word, "event-zxid") == 0;
    e->ignores_moves |= strcmp(word, "ignores-moves") == 0;
}

/* One option of the cluster that is about members of etcd. */
static void etcd_option(struct hf_sim_config *config, const char *word)
{
    struct hf_sim_etcd *e = &config->etcd;

    e->members = (unsigned)number_after(word, "members=", e->members);
    e->election_ms = number_after(word, "election=", e->election_ms);
    e->stale_renewals |= strcmp(word, "stale-renewals") == 0;
    e->stale_revokes |= strcmp(word, "stale-revokes") == 0;
    e->lazy_proof |= strcmp(word, "lazy") == 0;
}

/* cluster OPTION... */
static void make_cluster(struct script *script, char **words)
{
    struct hf_sim_config config = hf_sim_config_zookeeper(1);
    enum hf_loss_at loss_at = HF_LOSS_AT_LOST;
    uint64_t clients = 2;

    config.ensemble.servers = 0;
    config.etcd = hf_sim_config_etcd(1).etcd;
    config.etcd.members = 0;
    for (; *words != NULL; words++) {
        config.timeout_ms = number_after(*words, "timeout=", config.timeout_ms);
        config.least_timeout_ms =
            number_after(*words, "timeout=", config.least_timeout_ms);
        config.least_timeout_ms =
            number_after(*words, "least=", config.least_timeout_ms);
        config.delay_min_us = config.delay_max_us =
            (uint32_t)number_after(*words, "delay=", config.delay_max_us);
        config.late_chance =
            (uint32_t)number_after(*words, "late=", config.late_chance);
        clients = number_after(*words, "clients=", clients);
        if (strcmp(*words, "no-traits") == 0)
            config.traits = 0;
        if (strcmp(*words, "loss-at-suspended") == 0)
            loss_at = HF_LOSS_AT_SUSPENDED;
        script->unsafe |= strcmp(*words, "violates") == 0;
        ensemble_option(&config, *words);
        etcd_option(&config, *words);
    }
    if (clients > CLUSTER_CLIENTS_MAX) {
        script_error(script, "too many clients", "cluster");
        clients = CLUSTER_CLIENTS_MAX;
    }
    cluster_init(script->cluster, &config);
    script->cluster->loss_at = loss_at;
    script->cluster->terse = true;
    script->cluster->line = collect;
    script->cluster->line_arg = script;
    script->cluster->client_count = (unsigned)clients;
    for (unsigned i = 0; i < clients; i++)
        cluster_open(&script->cluster->clients[i], 1000, 0);
}

/* Milliseconds, as "12.5", to microseconds. */
static bool instant(const char *word, uint64_t *us)
{
    char *end;
    double ms = strtod(word, &end);

    *us = (uint64_t)(ms * 1000 + 0.5);
    return isdigit((unsigned char)word[0]) && *end == '\0' && *us <= END_US_MAX;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void run_until(struct cluster *cluster, uint64_t us)
{
    hf_sim_call_at(cluster->sim, us, true, do_nothing, NULL);
    while (hf_sim_now_us(cluster->sim) < us)
        hf_sim_run_next(cluster->sim);
}

/* The last row: count what is left at the servers. */
static void end(struct script *script)
{
    size_t left = 0;

    for (unsigned i = 0; i < script->cluster->lock_count; i++)
        left +=
            hf_sim_queue(script->cluster->sim, script->cluster->locks[i].name)
                .count;
    if (hf_sim_server_count(script->cluster->sim) > 0)
        cluster_trace(script->cluster, "-",
                      "end, tickets left: %zu, nodes: %zu, watches: %zu", left,
                      hf_sim_node_count(script->cluster->sim),
                      hf_sim_watch_count(script->cluster->sim));
    else
        cluster_trace(script->cluster, "-", "end, tickets left: %zu", left);
    script->ended = true;
}

/* Run until the row's time, and do its step. */
static void run_step(struct script *script, char **words)
{
    uint64_t at_us;
    struct client *client;

    if (words[1] == NULL || words[2] == NULL || !instant(words[0], &at_us)) {
        script_error(script, "expected", "TIME ACTOR VERB");
        return;
    }
    run_until(script->cluster, at_us);
    if (strcmp(words[2], "end") == 0) {
        end(script);
        return;
    }
    if (words[1][0] == 's' && isdigit((unsigned char)words[1][1])) {
        server_step(script, atoi(words[1] + 1) - 1, words + 2);
        return;
    }
    if (words[1][0] == 'm' && isdigit((unsigned char)words[1][1])) {
        member_step(script, atoi(words[1] + 1) - 1, words + 2);
        return;
    }
    if (strcmp(words[1], "-") == 0) {
        if (!other_client_step(script, words + 2))
            script_error(script, "no such step of another client", words[2]);
        return;
    }
    client =
        &script->cluster->clients[(words[1][0] - 'a') % CLUSTER_CLIENTS_MAX];
    if (words[1][0] < 'a' || !client->alive) {
        script_error(script, "no such client", words[1]);
        return;
    }
    if (!client_step(script, client, words + 2))
        script_error(script, "no such step", words[2]);
}

static void run_line(struct script *script, char *row)
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
    if (strcmp(words[0], "cluster") == 0)
        make_cluster(script, words + 1);
    else if (script->cluster->sim == NULL)
        script_error(script, "expected first", "cluster");
    else
        run_step(script, words);
}

/* ---------------------------------------------------------- entry points -- */

/* The text of the file, with a NUL behind it; NULL if it cannot be read. */
static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, SCRIPT_BYTES);
    size_t bytes;

    if (file == NULL || text == NULL) {
        perror(path);
        free(text);
        if (file != NULL)
            fclose(file);
        return NULL;
    }
    bytes = fread(text, 1, SCRIPT_BYTES - 1, file);
    text[bytes] = '\0';
    fclose(file);
    return text;
}

/* Print the lines that differ. */
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

/* Write the script again with the trace of this run behind "expect". */
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

/* All rows up to "expect", or to the first that is wrong. */
static void run_lines(struct script *script, const char *head,
                      size_t head_bytes)
{
    char *copy = strndup(head, head_bytes);
    char *rest = NULL;

    if (copy == NULL)
        abort();
    for (char *row = strtok_r(copy, "\n", &rest); row != NULL && !script->wrong;
         row = strtok_r(NULL, "\n", &rest)) {
        script->row++;
        run_line(script, row);
    }
    free(copy);
    if (!script->wrong && !script->ended)
        script_error(script, "expected at last", "TIME - end");
}

/* Run the script in ${text} and compare its trace. */
static bool run_and_compare(struct script *script, const char *text,
                            bool update)
{
    const char *expect = strstr(text, "\nexpect\n");
    size_t head_bytes =
        expect == NULL ? strlen(text) : (size_t)(expect - text) + 1;

    run_lines(script, text, head_bytes);
    if (script->wrong)
        return false;
    if (script->unsafe && script->cluster->broken == 0) {
        printf("%s: every invariant held\n%s", script->path, script->got);
        return false;
    }
    if (!script->unsafe && script->cluster->broken != 0) {
        printf("%s: invariant %d broken: %s\n%s", script->path,
               script->cluster->broken, script->cluster->message, script->got);
        return false;
    }
    if (update)
        return write_down(script->path, text, head_bytes, script->got);
    expect = expect == NULL ? "" : expect + strlen("\nexpect\n");
    if (strcmp(expect, script->got) == 0)
        return true;
    print_difference(script->path, expect, script->got);
    return false;
}

bool script_run(const char *path, bool update)
{
    static struct cluster cluster; /* too large for a stack */
    struct script script = {.path = path, .cluster = &cluster};
    char *text = read_whole(path);
    bool fine = false;

    script.got = calloc(1, SCRIPT_BYTES);
    if (text != NULL && script.got != NULL)
        fine = run_and_compare(&script, text, update);
    if (cluster.sim != NULL)
        cluster_free(&cluster);
    /* It has pointers to this stack frame. */
    memset(&cluster, 0, sizeof cluster);
    free(text);
    free(script.got);
    printf("%s: %s\n", path, fine ? "as expected" : "NOT AS EXPECTED");
    return fine;
}
