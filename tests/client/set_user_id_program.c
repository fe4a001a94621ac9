/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is made set-user-id: it opens a client at its own URL, not at
 * one of its caller's, and wants a lock for a moment.
 *
 *     set-user-id-program [--switch] [URL]
 *
 * With --switch it first takes the rights of its user for good, as a program
 * does that is to be that user: then no id shows any more who called it.
 * Without a URL the client is opened with NULL.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

/* Print how it ends. */
static int use(const char *url)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_client *client;
    struct hf_grant *grant;
    struct hf_lock *lock;
    char text[HF_ERROR_TEXT_BYTES];

    opts.wait_ms = 1000;
    if (hf_client_open(url, NULL, &client) != HF_OK) {
        printf("%s\n", hf_last_error()->text);
        return 1;
    }
    hf_client_describe(client, text, sizeof text);
    printf("%s\n", text);
    if (hf_lock_open(client, "set-user-id", NULL, &lock) == HF_OK) {
        if (hf_lock_acquire(lock, &opts, &grant) == HF_OK)
            (void)hf_grant_release(grant);
        printf("%s\n", hf_last_error()->text);
        hf_lock_free(lock);
    }
    (void)hf_client_close(client);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--switch") == 0) {
        if (setregid(getegid(), getegid()) != 0 ||
            setreuid(geteuid(), geteuid()) != 0)
            return 2;
        argv++, argc--;
    }
    return use(argc > 1 ? argv[1] : NULL);
}
