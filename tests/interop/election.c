/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A candidate that uses the library.
 *
 *     election add KIND URL NAME DIRECTORY ID COUNT
 *         Wait for a line and COUNT times: stand, and when elected raise the
 *         number in DIRECTORY/counter by reading and writing it, log
 *         "ID TOKEN NUMBER" to DIRECTORY/log, and resign.
 *     election stand KIND URL NAME ID
 *         Stand, print "elected" and "deposed" at each callback until the end
 *         of standard input; then resign.
 *     election named KIND URL NAME ID
 *         The same; ID alone is the text of its ticket.
 *
 * Each prints "ready" first.  KIND is election or mutex.
 */
#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define PATH_BYTES 512

struct candidate {
    struct hf_election *election;
    sem_t elected;
    bool speaks;
};

static void die(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(EXIT_FAILURE);
}

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static void on_elected(void *arg, struct hf_election *election, uint64_t token)
{
    struct candidate *candidate = arg;

    (void)election;
    (void)token;
    if (candidate->speaks)
        say("elected");
    sem_post(&candidate->elected);
}

static void on_deposed(void *arg, struct hf_election *election, uint64_t token)
{
    struct candidate *candidate = arg;

    (void)election;
    (void)token;
    if (!candidate->speaks)
        die("deposed though nothing was lost");
    say("deposed");
}

static void on_ended(void *arg, struct hf_election *election,
                     const struct hf_error *why)
{
    (void)arg;
    (void)election;
    die(why->text);
}

static void await_line(void)
{
    int c = getchar();

    while (c != '\n' && c != EOF)
        c = getchar();
}

/* ---------------------------------------------------------------- the work */

static FILE *open_in(const char *directory, const char *name, const char *mode)
{
    char path[PATH_BYTES];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, mode);
    if (file == NULL)
        die(path);
    return file;
}

static void raise_counter(const char *directory, const char *id, uint64_t token)
{
    FILE *file = open_in(directory, "counter", "a+");
    char line[32] = "0";
    long number;

    rewind(file);
    (void)!fgets(line, sizeof(line), file);
    number = strtol(line, NULL, 10) + 1;
    fclose(file);
    file = open_in(directory, "counter", "r+");
    fprintf(file, "%ld\n", number);
    if (fclose(file) != 0)
        die("the counter cannot be written");
    file = open_in(directory, "log", "a");
    fprintf(file, "%s %" PRIu64 " %ld\n", id, token, number);
    if (fclose(file) != 0)
        die("the log cannot be written");
}

static void add(struct candidate *candidate, char **arguments)
{
    uint64_t token;

    await_line();
    for (long i = strtol(arguments[2], NULL, 10); i > 0; i--) {
        if (hf_election_campaign_start(candidate->election) != HF_OK)
            die("it cannot stand");
        while (sem_wait(&candidate->elected) != 0 && errno == EINTR)
            continue;
        token = hf_election_token(candidate->election);
        if (token == 0 || !hf_election_is_leader(candidate->election))
            die("elected and no leader");
        raise_counter(arguments[0], arguments[1], token);
        if (hf_election_resign(candidate->election) != HF_OK)
            die("it cannot resign");
    }
}

static void stand(struct candidate *candidate)
{
    candidate->speaks = true;
    if (hf_election_campaign_start(candidate->election) != HF_OK)
        die("it cannot stand");
    await_line();
    if (hf_election_resign(candidate->election) != HF_OK)
        die("it cannot resign");
}

int main(int argc, char **argv)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct candidate candidate = {.speaks = false};
    struct hf_client *client;

    if (argc < 6)
        die("usage: election add|stand|named KIND URL NAME ...");
    sem_init(&candidate.elected, 0, 0);
    if (hf_client_open(argv[3], NULL, &client) != HF_OK)
        die(hf_last_error()->text);
    opts.kind =
        strcmp(argv[2], "mutex") == 0 ? HF_KIND_MUTEX : HF_KIND_ELECTION;
    if (strcmp(argv[1], "named") == 0)
        opts.id = argv[5];
    else
        opts.text = strcmp(argv[1], "add") == 0 ? argv[6] : argv[5];
    opts.on_elected = (struct hf_on_election){on_elected, &candidate, NULL};
    opts.on_deposed = (struct hf_on_election){on_deposed, &candidate, NULL};
    opts.on_ended = (struct hf_on_ended){on_ended, &candidate, NULL};
    if (hf_election_open(client, argv[4], &opts, &candidate.election) != HF_OK)
        die("it cannot be opened");
    say("ready");
    if (strcmp(argv[1], "add") == 0)
        add(&candidate, argv + 5);
    else
        stand(&candidate);
    hf_election_free(candidate.election);
    hf_client_close(client);
    return 0;
}
