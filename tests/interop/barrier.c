/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A barrier that uses the library.
 *
 *     barrier URL NAME
 *         Print "ready" and then, for each line, what came of it: of "set"
 *         and "clear" "done", of "wait" "passed", and of "try" "set" or
 *         "clear".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define WAIT_MS 60000

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static const char *run_command(struct hf_barrier *barrier, const char *word,
                               hf_status *status)
{
    if (strcmp(word, "set") == 0) {
        *status = hf_barrier_set(barrier, WAIT_MS);
        return "done";
    }
    if (strcmp(word, "clear") == 0) {
        *status = hf_barrier_clear(barrier, WAIT_MS);
        return "done";
    }
    if (strcmp(word, "wait") == 0) {
        *status = hf_barrier_wait(barrier, WAIT_MS);
        return "passed";
    }
    *status = hf_barrier_wait(barrier, 0);
    if (*status != HF_EBUSY)
        return "clear";
    *status = HF_OK;
    return "set";
}

int main(int argc, char **argv)
{
    struct hf_barrier *barrier;
    struct hf_client *client;
    hf_status status;
    char word[16];

    if (argc != 3)
        return 64;
    if (hf_client_open(argv[1], NULL, &client) != HF_OK ||
        hf_barrier_open(client, argv[2], &barrier) != HF_OK) {
        fprintf(stderr, "there is no barrier to be had\n");
        return EXIT_FAILURE;
    }
    (void)run_command(barrier, "try", &status);
    say(status == HF_OK ? "ready" : hf_status_name(status));
    while (scanf("%15s", word) == 1) {
        const char *came = run_command(barrier, word, &status);

        say(status == HF_OK ? came : hf_status_name(status));
    }
    hf_barrier_free(barrier);
    return hf_client_close(client) == HF_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
