/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deterministic scheduler of the threads of the library, in virtual time.
 * The linker replaces what the library calls to sleep, to wait for another
 * thread and to read the clock by the functions of scheduler.c, so one thread
 * runs at a time, and the same input is the same run.
 *
 * A thread hands over where it sleeps or waits, and sometimes before it locks a
 * mutex while it holds none.  When all threads sleep, the simulator runs its
 * next event.
 */
#ifndef HF_TESTS_FUZZ_SCHEDULER_H
#define HF_TESTS_FUZZ_SCHEDULER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "simulator/model/sim.h"

/* The calling thread is the first of a run, in the time of ${sim}.  ${seed}
 * decides the order of threads; before ${rate} of 256 mutex locks the thread
 * is switched. */
void scheduler_begin(struct hf_sim *sim, uint64_t seed, uint8_t rate);
/* All other threads must have ended. */
void scheduler_end(void);

void scheduler_reseed(uint64_t seed);

/* CLOCK_BOOTTIME, virtual, in milliseconds. */
uint64_t scheduler_now_ms(void);

/* Start a thread; and wait for its end. */
pthread_t scheduler_start_thread(void *(*main)(void *arg), void *arg);
void scheduler_join_thread(pthread_t thread);

/* Sleep until a thread wakes the sleepers on ${what}. */
void scheduler_sleep_on(const void *what);
void scheduler_wake(const void *what);

/* Let the other threads run until all of them sleep. */
void scheduler_run_others(void);

/* Let time pass until the next event of the simulator, or until ${until_us}
 * if that is earlier.  True if the event may concern this thread. */
bool scheduler_step(uint64_t until_us);

/* To be called when something becomes ready. */
void scheduler_note_ready(void);

/* The number of threads, with the calling one. */
unsigned scheduler_count_threads(void);

#endif
