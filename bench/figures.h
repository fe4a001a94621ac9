/* SPDX-License-Identifier: Apache-2.0 */
/* What the C programs of the bench do with times that they have measured. */
#ifndef HF_BENCH_FIGURES_H
#define HF_BENCH_FIGURES_H

#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t bench_now_ns(void);

/* The least comes first. */
void bench_sort_times(uint64_t *ns, size_t count);
void bench_sort_figures(double *figures, size_t count);

#endif
