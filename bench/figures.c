/* SPDX-License-Identifier: Apache-2.0 */
#include "figures.h"

#include <stdlib.h>
#include <time.h>

uint64_t bench_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static int compare_figures(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

void bench_sort_times(uint64_t *ns, size_t count)
{
    qsort(ns, count, sizeof(*ns), compare_times);
}

void bench_sort_figures(double *figures, size_t count)
{
    qsort(figures, count, sizeof(*figures), compare_figures);
}
