/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of the C programs of the bench: bench/contest.py writes a line
 * with a request to standard input, and the program answers with one line. */
#ifndef HF_BENCH_PROTOCOL_H
#define HF_BENCH_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "figures.h"

#define BENCH_WORD_BYTES 16

/* A request: a word and up to two numbers. */
struct bench_request {
    char word[BENCH_WORD_BYTES];
    unsigned first, second;
};

/* Read the next request; false at the end of the input. */
bool bench_next_request(struct bench_request *request);

/* Forget all samples and start the clocks. */
void bench_begin(void);

/* Let ${ms} pass; 0: nothing.  What was begun has ended then, and the caches
 * of the processor are as cold as they are for who waits. */
void bench_pause(unsigned ms);

/* Add a sample, from any thread. */
void bench_sample(uint64_t ns);

/* The median and the mean of the samples; 0 if there are none. */
uint64_t bench_median(void);
uint64_t bench_mean(void);

/* Stop the clocks and print the answer: the CPU time of this process, the time
 * that passed, ${grants}, and the samples.  All times are in ns. */
void bench_end(uint64_t grants);

/* The memory of this process, in whole pages. */
uint64_t bench_resident_bytes(void);

/* Print ${what} and end. */
_Noreturn void bench_fail(const char *what);

#endif
