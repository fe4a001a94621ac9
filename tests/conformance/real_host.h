/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of an engine in real time: a loop, CLOCK_BOOTTIME, and processes to
 * be killed.  There is one of it in a program.
 */
#ifndef HF_TESTS_CONFORMANCE_REAL_HOST_H
#define HF_TESTS_CONFORMANCE_REAL_HOST_H

#include <sys/types.h>

#include "conformance/fixture.h"

/* Its loop; without handles of anybody's at the end. */
void real_host_begin(void);
void real_host_finish(void);

/* For struct bench.open: a client of ${url} with ${host}, the rest of which is
 * filled in; unless there is a .log, warnings go to stderr. */
struct hf_engine *real_host_open(struct conformance_fixture *fixture,
                                 const struct hf_engine_host *host,
                                 const char *url);

/* struct bench.pump: until ${done}, or half a minute, ten times what a lease or
 * a session takes to end. */
void real_host_pump(struct conformance_fixture *fixture,
                    bool (*done)(void *arg), void *arg);

/* As fork(): the child has a loop of its own, runs ${run} and ends with 0. */
pid_t real_host_fork(void (*run)(void *arg), void *arg);

/* struct bench.victim_start and .victim_kill. */
struct victim *real_host_victim(struct conformance_fixture *fixture,
                                const char *queue, struct hf_ticket_id id,
                                uint32_t weight);
void real_host_kill(struct conformance_fixture *fixture, struct victim *victim);

/* struct bench.cut, as if the network had: the engines are not asked. */
void real_host_cut(struct conformance_fixture *fixture);

#endif
