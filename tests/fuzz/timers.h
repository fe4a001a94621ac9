/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual timers of libuv, and deterministic bytes of getrandom(): the
 * linker replaces the real functions by those of timers.c. */
#ifndef HF_TESTS_FUZZ_TIMERS_H
#define HF_TESTS_FUZZ_TIMERS_H

#include <stdint.h>

/* The time is ${now_ms}; no timer is set. */
void timers_begin(const uint64_t *now_ms);

/* When the next timer fires; HF_FOREVER if none is set. */
uint64_t timers_next_ms(void);

/* Fire the timers that are due. */
void timers_fire(uint64_t now_ms);

#endif
