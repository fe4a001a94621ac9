/* SPDX-License-Identifier: Apache-2.0 */
/* A fault injector for memory: an allocator of the library that counts, and
 * that fails when a test says so.  A fault concerns all threads; where it
 * matters which allocation fails, the test must see that no other thread
 * allocates. */
#ifndef HF_TESTS_HEAP_H
#define HF_TESTS_HEAP_H

#include <stdbool.h>

/* Make this the allocator of the library.  The first call must come before the
 * library allocates anything, or the program ends.  A further call starts the
 * counts anew: blocks of a test that was given up do not count, and no fault is
 * set. */
void heap_install(void);

/* Blocks of the library that are not released. */
long heap_live(void);

/* The memory of those, as the C library rounds it. */
long heap_bytes(void);

/* Of the allocations from now on the ${nth}, counted from 1, fails; with
 * ${for_good} all after it fail too.  0: none. */
void heap_fail(unsigned long nth, bool for_good);

/* Allocations since heap_fail(); true if one of them failed. */
unsigned long heap_calls(void);
bool heap_failed(void);

/* Look at each block that is released from now on, and count those with ${text}
 * in them; NULL: look no more. */
void heap_look_for(const char *text);
unsigned long heap_found(void);

/* While ${exempt}, allocations do not fail and do not count for heap_fail():
 * the test itself calls the library. */
void heap_exempt(bool exempt);

#endif
