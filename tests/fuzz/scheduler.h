/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that take turns, in time that is made up: whatever the library calls
 * to sleep, to wait for another thread, or to learn the time ends here
 * (CMakeLists.txt has the linker put it in place of what it is called), so that
 * one thread runs at a time, and the same input is the same run.
 *
 * A turn ends where a thread sleeps or waits, and, by chance, ahead of taking a
 * lock while it has none.  When all sleep the model's next event happens.
 */
#ifndef HF_TESTS_FUZZ_SCHEDULER_H
#define HF_TESTS_FUZZ_SCHEDULER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "simulator/model/sim.h"

/* The calling thread is the first one of a run, on the time of ${sim}.  The
 * order of turns comes from ${seed}; ${rate} of 256 locks end one. */
void scheduler_begin(struct hf_sim *sim, uint64_t seed, uint8_t rate);
/* Every other thread must have ended. */
void scheduler_end(void);

void scheduler_reseed(uint64_t seed);

/* CLOCK_BOOTTIME. */
uint64_t scheduler_now_ms(void);

/* A new thread; and wait for its end. */
pthread_t scheduler_start_thread(void *(*main)(void *arg), void *arg);
void scheduler_join_thread(pthread_t thread);

/* Sleep until somebody wakes whoever sleeps on ${what}. */
void scheduler_sleep_on(const void *what);
void scheduler_wake(const void *what);

/* Let the others run until they all sleep. */
void scheduler_run_others(void);

/* Let time pass, but no more than that until the model's next event; the event
 * may have been for somebody here if this is true. */
bool scheduler_step(uint64_t until_us);

/* Something has become ready; to be said by whoever made it so. */
void scheduler_note_ready(void);

/* How many threads there are, the calling one included. */
unsigned scheduler_count_threads(void);

#endif
