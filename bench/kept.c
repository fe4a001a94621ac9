/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-kept URL [kept|given PAIRS]: an uncontended lock and unlock of a mutex
 * whose ticket is given back each time, and of one that keeps it (.keep_ms), in
 * turn, nine iterations each.  It prints the median with the least and the
 * most, and the ratio of the medians.  With a second argument it makes PAIRS of
 * one of the two and prints nothing: strace(1) and perf(1) count them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "figures.h"

#define ITERATIONS 9
#define KEEP_MS 600000

/* How many pairs are one iteration. */
#define GIVEN_PAIRS 5000
#define KEPT_PAIRS 100000

static struct hf_mutex *open_mutex(struct hf_client *client, const char *name,
                                   uint64_t keep_ms)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;

    opts.keep_ms = keep_ms;
    if (hf_mutex_open(client, name, &opts, &mutex) != HF_OK) {
        (void)fprintf(stderr, "bench-kept: %s\n", hf_last_error()->text);
        exit(1);
    }
    return mutex;
}

static void make_pairs(struct hf_mutex *mutex, long count)
{
    for (long i = 0; i < count; i++) {
        if (hf_mutex_lock(mutex) != HF_OK || hf_mutex_unlock(mutex) != HF_OK)
            exit(1);
    }
}

static double us_each(struct hf_mutex *mutex, long count)
{
    uint64_t began_ns = bench_now_ns();

    make_pairs(mutex, count);
    return (double)(bench_now_ns() - began_ns) / 1000 / (double)count;
}

static double print_figure(const char *what, double *iterations)
{
    bench_sort_figures(iterations, ITERATIONS);
    printf("%-20s %7.2f us a pair (%.2f to %.2f)\n", what,
           iterations[ITERATIONS / 2], iterations[0],
           iterations[ITERATIONS - 1]);
    return iterations[ITERATIONS / 2];
}

static void compare(struct hf_mutex *given, struct hf_mutex *kept)
{
    double of_given[ITERATIONS], of_kept[ITERATIONS];

    for (int i = 0; i < ITERATIONS; i++) {
        of_given[i] = us_each(given, GIVEN_PAIRS);
        of_kept[i] = us_each(kept, KEPT_PAIRS);
    }
    printf("ratio %.1f\n", print_figure("ticket given back", of_given) /
                               print_figure("ticket kept", of_kept));
}

int main(int count, char **arguments)
{
    struct hf_client *client;
    struct hf_mutex *given, *kept;

    if (count != 2 && count != 4)
        return 64;
    if (hf_client_open(arguments[1], NULL, &client) != HF_OK)
        return 1;
    given = open_mutex(client, "given", 0);
    kept = open_mutex(client, "kept", KEEP_MS);
    if (count == 2)
        compare(given, kept);
    else
        make_pairs(strcmp(arguments[2], "kept") == 0 ? kept : given,
                   strtol(arguments[3], NULL, 10));
    hf_mutex_free(given);
    hf_mutex_free(kept);
    (void)hf_client_close(client);
    return 0;
}
