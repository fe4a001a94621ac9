/* SPDX-License-Identifier: Apache-2.0 */
/*
 * revoke URL NAME mutex|election [ID]: ask the owner of the ticket ID, or each
 * holder of NAME, to release it, by the library, as other programs do.
 */
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define ANSWER_MS 20000

/* Print why the last call failed. */
static int complain(void)
{
    fprintf(stderr, "%s\n", hf_last_error()->text);
    return 1;
}

static int revoke(struct hf_client *client, const char *name, const char *kind,
                  const char *id)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;
    hf_status status;

    if (strcmp(kind, "election") == 0)
        opts.kind = HF_KIND_ELECTION;
    if (hf_lock_open(client, name, &opts, &lock) != HF_OK)
        return complain();
    status = hf_lock_revoke(lock, id, ANSWER_MS);
    hf_lock_free(lock);
    return status == HF_OK ? 0 : complain();
}

int main(int argc, char **argv)
{
    struct hf_client *client;
    int status;

    if (argc < 4 || argc > 5)
        return 64;
    if (hf_client_open(argv[1], NULL, &client) != HF_OK)
        return complain();
    status = revoke(client, argv[2], argv[3], argc > 4 ? argv[4] : NULL);
    hf_client_close(client);
    return status;
}
