/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permits of a semaphore as users of the library take them.
 *
 *     leaser URL NAME PERMITS LIMIT LOG ID COUNT
 *         COUNT times: take PERMITS of LIMIT, log "+ ID PERMITS TOKEN", stay
 *         for a moment, log "- ID PERMITS TOKEN", release.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

/* Long enough for the others to be seen inside too. */
#define INSIDE_NS 500000

static void die(const char *what, hf_status status, const char *text)
{
    fprintf(stderr, "leaser: %s: %s: %s\n", what, hf_status_name(status), text);
    exit(EXIT_FAILURE);
}

static void note(int log, char what, char **arguments, uint64_t token)
{
    char line[256];
    int bytes = snprintf(line, sizeof line, "%c %s %s %llu\n", what,
                         arguments[6], arguments[3], (unsigned long long)token);

    if (write(log, line, (size_t)bytes) != bytes) {
        perror(arguments[5]);
        exit(EXIT_FAILURE);
    }
}

static void stay_inside(void)
{
    struct timespec pause = {0, INSIDE_NS};

    (void)nanosleep(&pause, NULL);
}

static void take(struct hf_lock *lock, int log, char **arguments)
{
    struct hf_grant *grant;
    uint64_t token;
    hf_status status = hf_lock_acquire(lock, NULL, &grant);

    if (status != HF_OK)
        die("acquire", status, hf_last_error()->text);
    token = hf_grant_token(grant);
    note(log, '+', arguments, token);
    stay_inside();
    note(log, '-', arguments, token);
    status = hf_grant_release(grant);
    if (status != HF_OK)
        die("release", status, "the grant was lost");
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_client *client;
    struct hf_lock *lock;
    hf_status status;
    int log;

    if (argc != 8) {
        fputs("usage: see the top of leaser.c\n", stderr);
        return 64;
    }
    log = open(argv[5], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) {
        perror(argv[5]);
        return EXIT_FAILURE;
    }
    status = hf_client_open(argv[1], NULL, &client);
    if (status != HF_OK)
        die("open", status, hf_last_error()->text);
    opts.kind = HF_KIND_SEMAPHORE;
    opts.permits = number(argv[3]);
    opts.limit = number(argv[4]);
    status = hf_lock_open(client, argv[2], &opts, &lock);
    if (status != HF_OK)
        die("lock", status, "the name or the numbers are no good");
    for (uint32_t i = 0; i < number(argv[7]); i++)
        take(lock, log, argv);
    hf_lock_free(lock);
    status = hf_client_close(client);
    (void)close(log);
    return status == HF_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
