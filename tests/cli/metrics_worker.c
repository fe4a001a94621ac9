/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that counts in HOLDFAST_METRICS_DIR: it acquires and releases a
 * lock COUNT times, and writes a '.' after each acquire, so that whoever kills
 * it knows how many there were, or one more.  When its client is closed it
 * lives until its standard input ends.
 *
 *     metrics_worker URL NAME COUNT
 *
 * Without HOLDFAST_METRICS_DIR it writes its own metrics in the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

static bool write_text(void *arg, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, arg) == bytes;
}

/* One acquire; false if it fails. */
static bool acquire(struct hf_lock *lock)
{
    struct hf_grant *grant;

    if (hf_lock_acquire(lock, NULL, &grant) != HF_OK)
        return false;
    if (write(STDOUT_FILENO, ".", 1) != 1)
        return false;
    return hf_grant_release(grant) == HF_OK;
}

int main(int argc, char **argv)
{
    bool in_dir = getenv("HOLDFAST_METRICS_DIR") != NULL;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    struct hf_lock *lock;
    char byte;

    if (argc != 4)
        return 64;
    opts.metrics = in_dir ? HF_METRICS_DIR : HF_METRICS_COUNT;
    if (hf_client_open(argv[1], &opts, &client) != HF_OK ||
        hf_lock_open(client, argv[2], NULL, &lock) != HF_OK)
        return 1;
    for (int i = atoi(argv[3]); i > 0; i--)
        if (!acquire(lock))
            return 1;
    if (!in_dir &&
        hf_client_metrics_write(
            client, (struct hf_metrics_write){write_text, stdout}) != HF_OK)
        return 1;
    hf_lock_free(lock);
    if (hf_client_close(client) != HF_OK)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
