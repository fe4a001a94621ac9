/* SPDX-License-Identifier: Apache-2.0 */
/* The timers of uv, and the bytes of getrandom, made up: the linker puts what
 * is in timers.c in place of those. */
#ifndef HF_TESTS_FUZZ_TIMERS_H
#define HF_TESTS_FUZZ_TIMERS_H

#include <stdint.h>

/* Time is what ${now_ms} has; no timer is set. */
void timers_begin(const uint64_t *now_ms);

/* When the next one rings, HF_FOREVER if none. */
uint64_t timers_next_ms(void);

/* Ring those that are due. */
void timers_fire(uint64_t now_ms);

#endif
