/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer that becomes a reader.
 *
 *     downgrader URL NAME
 *         Have the lock alone and print "writes TOKEN"; after a line of input
 *         share it and print "reads TOKEN"; after another one release it and
 *         print "released".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdfast/holdfast.h>

static void die(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(EXIT_FAILURE);
}

static void await_line(void)
{
    int c = getchar();

    while (c != '\n' && c != EOF)
        c = getchar();
}

static void say(const char *word, const struct hf_grant *grant)
{
    printf("%s %" PRIu64 "\n", word, hf_grant_token(grant));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_client *client;
    struct hf_grant *grant = NULL;
    struct hf_lock *lock;

    if (argc != 3)
        die("usage: downgrader URL NAME");
    opts.kind = HF_KIND_WRITE;
    if (hf_client_open(argv[1], NULL, &client) != HF_OK)
        die(hf_last_error()->text);
    if (hf_lock_open(client, argv[2], &opts, &lock) != HF_OK ||
        hf_lock_acquire(lock, NULL, &grant) != HF_OK)
        die("the lock is not to be had");
    say("writes", grant);
    await_line();
    if (hf_grant_downgrade(grant) != HF_OK)
        die("it cannot be shared");
    say("reads", grant);
    await_line();
    if (hf_grant_release(grant) != HF_OK)
        die("it was lost");
    puts("released");
    hf_lock_free(lock);
    return hf_client_close(client) == HF_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
