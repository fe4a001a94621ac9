/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of engines in real time: a libuv loop, CLOCK_BOOTTIME, and processes
 * with a client each that are killed.  A program has one host.
 */
#ifndef HF_TESTS_CONFORMANCE_REAL_HOST_H
#define HF_TESTS_CONFORMANCE_REAL_HOST_H

#include <sys/types.h>

#include "conformance/fixture.h"

/* Make the loop, and close it; no engine may have a handle on it then. */
void real_host_begin(void);
void real_host_finish(void);

/* For conformance_fixture.open: a client of ${url}.  ${host} has the callbacks
 * of the test; clock and loop are filled in.  Without a .log warnings go to
 * stderr. */
struct hf_engine *real_host_open(struct conformance_fixture *fixture,
                                 const struct hf_engine_host *host,
                                 const char *url);

/* conformance_fixture.pump.  The bound is half a minute, ten times what a lease
 * or a session takes to end. */
void real_host_pump(struct conformance_fixture *fixture,
                    bool (*done)(void *arg), void *arg);

/* As test_fork(): the child has its own loop, calls ${run} and exits with 0. */
pid_t real_host_fork(void (*run)(void *arg), void *arg);

/* conformance_fixture.victim_start and .victim_kill. */
struct victim *real_host_victim(struct conformance_fixture *fixture,
                                const char *queue, struct hf_ticket_id id,
                                uint32_t weight);
void real_host_kill(struct conformance_fixture *fixture, struct victim *victim);

/* conformance_fixture.cut: shuts down every socket in the loop, as a network
 * that fails.  The engines do not know. */
void real_host_cut(struct conformance_fixture *fixture);

#endif
