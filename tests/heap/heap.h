/* SPDX-License-Identifier: Apache-2.0 */
/* A heap for the library that counts, and fails when it is told to.  What it
 * is told concerns all threads; who tells it sees to it that no other thread
 * allocates meanwhile, if it matters which allocation fails. */
#ifndef HF_TESTS_HEAP_H
#define HF_TESTS_HEAP_H

#include <stdbool.h>

/* Have the library allocate here; before it has allocated anything, or the
 * program ends.  When it does already, all begins anew: nothing lives (what a
 * story that was given up has left is not counted) and nothing shall fail. */
void heap_install(void);

/* The library's allocations that are not released. */
long heap_live(void);

/* What these take, as the C library rounds it. */
long heap_bytes(void);

/* Of those from now on fail the ${nth}, from 1, and ${for_good} all that come
 * after it; 0: none. */
void heap_fail(unsigned long nth, bool for_good);

/* Since then: how many there were, and has one failed? */
unsigned long heap_calls(void);
bool heap_failed(void);

/* In between they neither fail nor are counted among those: it is the test
 * itself that has the library allocate. */
void heap_exempt(bool spared);

#endif
