/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain way: calls that wait.
 *
 *     cc blocking.c -o blocking $(pkg-config --cflags --libs holdfast)
 *     ./blocking nightly-report
 *
 * Run it twice at once: the second waits for the first.  Where the lock lives
 * is in HOLDFAST_URL; without it, on this machine.
 */
#include <inttypes.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

/* Say why the last call failed. */
static int complain(void)
{
    fprintf(stderr, "%s\n", hf_last_error()->text);
    return 1;
}

/* Hold the lock for one piece of work. */
static int work_under(struct hf_lock *lock)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;

    opts.wait_ms = 10000;
    if (hf_lock_acquire(lock, &opts, &grant) != HF_OK)
        return complain();
    printf("holding %s with token %" PRIu64 "\n", hf_lock_name(lock),
           hf_grant_token(grant));

    /* HF_ELOST: somebody else may have held it before we were done. */
    if (hf_grant_release(grant) != HF_OK) {
        fprintf(stderr, "the lock was lost while we worked\n");
        return 1;
    }
    printf("released\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "nightly-report";
    struct hf_client *client;
    struct hf_lock *lock;
    int status;

    if (hf_client_open(NULL, NULL, &client) != HF_OK)
        return complain();
    if (hf_lock_open(client, name, NULL, &lock) != HF_OK) {
        hf_client_close(client);
        return complain();
    }
    status = work_under(lock);
    hf_lock_free(lock);
    hf_client_close(client);
    return status;
}
