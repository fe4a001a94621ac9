/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-pair URL FILE: an uncontended lock and unlock through the library, and
 * by flock(2) on FILE, in turn, five iterations each.  It prints the median
 * with the least and the most, and the ratio of the medians.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "figures.h"

#define ITERATIONS 5
#define PAIRS 20000

static double us_each(uint64_t began_ns)
{
    return (double)(bench_now_ns() - began_ns) / 1000 / PAIRS;
}

static double time_library(struct hf_lock *lock)
{
    uint64_t began_ns = bench_now_ns();
    struct hf_grant *grant;

    for (int i = 0; i < PAIRS; i++) {
        if (hf_lock_acquire(lock, NULL, &grant) != HF_OK ||
            hf_grant_release(grant) != HF_OK)
            exit(1);
    }
    return us_each(began_ns);
}

static double time_flock(int fd)
{
    uint64_t began_ns = bench_now_ns();

    for (int i = 0; i < PAIRS; i++) {
        if (flock(fd, LOCK_EX) != 0 || flock(fd, LOCK_UN) != 0)
            exit(1);
    }
    return us_each(began_ns);
}

static double print_figure(const char *what, double *iterations)
{
    bench_sort_figures(iterations, ITERATIONS);
    printf("%-20s %7.2f us a pair (%.2f to %.2f)\n", what,
           iterations[ITERATIONS / 2], iterations[0],
           iterations[ITERATIONS - 1]);
    return iterations[ITERATIONS / 2];
}

int main(int count, char **arguments)
{
    double library[ITERATIONS], plain[ITERATIONS];
    struct hf_client *client;
    struct hf_lock *lock;
    int fd;

    if (count != 3)
        return 64;
    fd = open(arguments[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || hf_client_open(arguments[1], NULL, &client) != HF_OK ||
        hf_lock_open(client, "bench", NULL, &lock) != HF_OK)
        return 1;
    for (int i = 0; i < ITERATIONS; i++) {
        library[i] = time_library(lock);
        plain[i] = time_flock(fd);
    }
    printf("ratio %.1f\n", print_figure(arguments[1], library) /
                               print_figure("flock(2)", plain));
    hf_lock_free(lock);
    (void)hf_client_close(client);
    (void)close(fd);
    return 0;
}
