/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A participant of a double barrier that uses the library.
 *
 *     double_barrier URL NAME PARTICIPANTS
 *         Print "ready" and then, for each line, what came of it: of "enter"
 *         "inside" and of "leave" "left", or the name of the status; "soon" is
 *         an enter that waits for a moment only, and "try" one that does not.
 *     double_barrier URL NAME PARTICIPANTS start
 *         The same by the calls that are started, whose callbacks print.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define WAIT_MS 60000
#define SOON_MS 200

static void say(hf_status status, const char *word)
{
    puts(status == HF_OK ? word : hf_status_name(status));
    fflush(stdout);
}

static void print_result(void *arg, const struct hf_result *result)
{
    say(result->status, arg);
}

static void start(struct hf_double_barrier *barrier, const char *word)
{
    static char inside[] = "inside", left[] = "left";
    bool leaves = strcmp(word, "leave") == 0;
    struct hf_done done = {print_result, leaves ? left : inside, NULL};
    hf_status status =
        leaves ? hf_double_barrier_leave_start(barrier, WAIT_MS, done, NULL)
               : hf_double_barrier_enter_start(barrier, WAIT_MS, done, NULL);

    if (status != HF_OK)
        say(status, "");
}

static void run_command(struct hf_double_barrier *barrier, const char *word)
{
    if (strcmp(word, "leave") == 0)
        say(hf_double_barrier_leave(barrier, WAIT_MS), "left");
    else if (strcmp(word, "soon") == 0)
        say(hf_double_barrier_enter(barrier, SOON_MS), "inside");
    else if (strcmp(word, "try") == 0)
        say(hf_double_barrier_enter(barrier, 0), "inside");
    else
        say(hf_double_barrier_enter(barrier, WAIT_MS), "inside");
}

int main(int argc, char **argv)
{
    struct hf_double_barrier *barrier;
    struct hf_client *client;
    char word[16];

    if (argc < 4)
        return 64;
    if (hf_client_open(argv[1], NULL, &client) != HF_OK ||
        hf_double_barrier_open(client, argv[2],
                               (uint32_t)strtoul(argv[3], NULL, 10),
                               &barrier) != HF_OK) {
        fprintf(stderr, "there is no double barrier to be had\n");
        return EXIT_FAILURE;
    }
    say(HF_OK, "ready");
    while (scanf("%15s", word) == 1) {
        if (argc > 4)
            start(barrier, word);
        else
            run_command(barrier, word);
    }
    hf_double_barrier_free(barrier);
    return hf_client_close(client) == HF_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
