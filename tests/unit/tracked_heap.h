/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator of the library that keeps its blocks in a list.  A unit test of
 * the core ends in any state and frees nothing; because the blocks are
 * reachable from the list, LeakSanitizer does not report them.  That nothing
 * leaks is tested by the simulator and by fuzzing, or by a test that counts the
 * blocks. */
#ifndef HF_TESTS_UNIT_TRACKED_HEAP_H
#define HF_TESTS_UNIT_TRACKED_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* Make this the allocator of the library.  The first call must come before the
 * library allocates anything; further calls do nothing. */
void tracked_heap_install(void);

/* Let every allocation fail from now on, or none. */
void tracked_heap_fail(bool fail);

/* How many blocks are allocated. */
size_t tracked_heap_blocks(void);

#endif
