/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fencing: no lock can stop a holder that was paused, lost its lock without
 * knowing, and goes on writing.  The store can: it remembers the highest token
 * it has seen and refuses a write with a lower one.
 *
 *     cc fencing.c -o fencing $(pkg-config --cflags --libs holdfast)
 *     ./fencing /tmp/store
 *
 * The store here is one file, "TOKEN VALUE".  A real store must do the same, in
 * one step with the write: a database by a condition in the UPDATE, an object
 * store by a conditional PUT.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

/* Write ${value} unless a higher token has been seen.  The flock makes the
 * check and the write one step. */
static bool store_write(const char *path, uint64_t token, const char *value)
{
    FILE *store = fopen(path, "a+");
    uint64_t highest = 0;
    bool accepted = false;

    if (store == NULL || flock(fileno(store), LOCK_EX) != 0) {
        perror(path);
        goto out;
    }
    rewind(store);
    if (fscanf(store, "%" SCNu64, &highest) == 1 && token < highest) {
        printf("refused \"%s\": token %" PRIu64 " is below %" PRIu64 "\n",
               value, token, highest);
        goto out;
    }
    accepted = ftruncate(fileno(store), 0) == 0 &&
               fprintf(store, "%" PRIu64 " %s\n", token, value) > 0 &&
               fflush(store) == 0;
    if (accepted)
        printf("accepted \"%s\" with token %" PRIu64 "\n", value, token);
out:
    if (store != NULL)
        fclose(store);
    return accepted;
}

/* One holder writes and gives the lock up, the next one writes, and then the
 * first, like a process that was asleep in between, writes once more. */
static bool show(struct hf_lock *lock, const char *path)
{
    struct hf_grant *grant;
    uint64_t stale;
    bool good;

    if (hf_lock_acquire(lock, NULL, &grant) != HF_OK)
        return false;
    stale = hf_grant_token(grant);
    good = store_write(path, stale, "from the first holder");
    hf_grant_release(grant);

    if (hf_lock_acquire(lock, NULL, &grant) != HF_OK)
        return false;
    good &= store_write(path, hf_grant_token(grant), "from the second holder");
    good &= !store_write(path, stale, "late, from the first holder");
    hf_grant_release(grant);
    return good;
}

int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_lock *lock;
    bool good = false;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 64;
    }
    if (hf_client_open(NULL, NULL, &client) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    if (hf_lock_open(client, "store", NULL, &lock) == HF_OK)
        good = show(lock, argv[1]);
    hf_lock_free(lock);
    hf_client_close(client);
    return good ? 0 : 1;
}
