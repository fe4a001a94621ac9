/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of an engine in real time: a loop, CLOCK_BOOTTIME, and processes to
 * be killed.  There is one of it in a program.
 */
#ifndef HF_TESTS_CONFORMANCE_REAL_HOST_H
#define HF_TESTS_CONFORMANCE_REAL_HOST_H

#include <sys/types.h>
#include <uv.h>

#include "conformance/bench.h"

/* Its loop; without handles of anybody's at the end. */
void real_host_begin(void);
void real_host_finish(void);

/* Set .now_ms and .loop. */
void real_host_fill(struct hf_engine_host *host);

/* Run the loop until ${done}, at most so many turns of 20 ms. */
void real_host_pump(bool (*done)(void *arg), void *arg, unsigned turns_most);

/* As fork(): the child has a loop of its own, runs ${run} and ends with 0. */
pid_t real_host_fork(void (*run)(void *arg), void *arg);

/* For each handle of the loop. */
void real_host_walk(void (*visit)(uv_handle_t *handle, void *arg));

/* struct bench.victim_start and .victim_kill.  ${before} is called in the child
 * first, if it is not NULL. */
struct victim *real_host_victim(struct bench *bench, const char *queue,
                                struct hf_ticket_id id, uint32_t weight,
                                void (*before)(void));
void real_host_kill(struct bench *bench, struct victim *victim);

#endif
