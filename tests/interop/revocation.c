/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Revocation as users of the library know it.
 *
 *     revocation hold URL NAME   take the lock, print "held"; each time its
 *                                release is asked for print "revoked"; the
 *                                second time release it and print "released"
 *     revocation ask URL NAME    ask every holder; print the status
 *     revocation evict URL NAME ID
 *                                remove that ticket; print the status
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define WAIT_MS 20000

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

static void on_revoke(void *arg, struct hf_grant *grant)
{
    (void)grant;
    say("revoked");
    sem_post(arg);
}

static void hold(struct hf_lock *lock)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;
    sem_t asked;

    sem_init(&asked, 0, 0);
    opts.wait_ms = WAIT_MS;
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &asked, NULL};
    if (hf_lock_acquire(lock, &opts, &grant) != HF_OK)
        die(hf_last_error()->text);
    say("held");
    for (int i = 0; i < 2; i++)
        while (sem_wait(&asked) != 0 && errno == EINTR)
            continue;
    if (hf_grant_release(grant) != HF_OK)
        die("the grant was lost");
    say("released");
    sem_destroy(&asked);
}

int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_lock *lock;

    if (argc != 4 && argc != 5)
        die("usage: see the top of revocation.c");
    if (hf_client_open(argv[2], NULL, &client) != HF_OK)
        die(hf_last_error()->text);
    if (hf_lock_open(client, argv[3], NULL, &lock) != HF_OK)
        die("the name is no good");
    if (strcmp(argv[1], "hold") == 0)
        hold(lock);
    else if (argc == 5)
        say(hf_status_name(hf_lock_evict(lock, argv[4], NULL, WAIT_MS)));
    else
        say(hf_status_name(hf_lock_revoke(lock, NULL, WAIT_MS)));
    hf_lock_free(lock);
    return hf_client_close(client) == HF_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
