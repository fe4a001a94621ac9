/* SPDX-License-Identifier: Apache-2.0 */
/* What benches of engines with real servers have in common: one uv loop for all
 * clients, and processes of their own for those that are to be killed. */
#ifndef HF_TESTS_CONFORMANCE_BENCH_LOOP_H
#define HF_TESTS_CONFORMANCE_BENCH_LOOP_H

#include <uv.h>

#include "conformance/bench.h"

void bench_loop_begin(void);
void bench_loop_finish(void);

/* Open a client by ${url} on the loop; fails the test if it can't be. */
struct hf_engine *bench_loop_open(struct bench *bench,
                                  const struct hf_engine_host *host,
                                  const char *url);

/* As in struct bench.  Before a victim opens its client, in its own process,
 * ${as_victim} is called. */
void bench_loop_pump(struct bench *bench, bool (*done)(void *arg), void *arg);
struct victim *bench_loop_victim_start(struct bench *bench, const char *queue,
                                       struct hf_ticket_id ticket,
                                       uint32_t weight);
void bench_loop_victim_kill(struct bench *bench, struct victim *victim);
void bench_loop_cut(struct bench *bench);
extern void (*bench_loop_as_victim)(void);

#endif
