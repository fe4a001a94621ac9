/* SPDX-License-Identifier: Apache-2.0 */
/* What every C program of the bench says and hears: bench/zookeeper.py asks for
 * a round by a line on standard input, and one line answers it. */
#ifndef HF_BENCH_ROUND_H
#define HF_BENCH_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "figures.h"

#define BENCH_WORD_BYTES 16

/* A request: a word and up to two numbers. */
struct bench_request {
    char word[BENCH_WORD_BYTES];
    unsigned first, second;
};

/* The next one; false at the end. */
bool bench_told(struct bench_request *request);

/* Forget all samples; clocks start. */
void bench_begin(void);

/* From any thread. */
void bench_sample(uint64_t ns);

/* Of the samples; 0 if there are none. */
uint64_t bench_median(void);
uint64_t bench_mean(void);

/* Clocks stop.  Tell the round: the CPU time of this process and the time that
 * passed, ${grants}, and the samples, all times in ns. */
void bench_end(uint64_t grants);

/* Print ${what} and end. */
_Noreturn void bench_fail(const char *what);

#endif
