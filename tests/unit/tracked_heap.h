/* SPDX-License-Identifier: Apache-2.0 */
/* A heap for stories about the core, which end anywhere: what they leave is
 * kept in a list, so that no checker takes it for a leak.  The simulator and
 * the fuzzers see to it that nothing leaks. */
#ifndef HF_TESTS_UNIT_TRACKED_HEAP_H
#define HF_TESTS_UNIT_TRACKED_HEAP_H

#include <stdbool.h>

/* Have the library allocate here, from the first call on. */
void tracked_heap_install(void);

/* There is no memory, or there is again. */
void tracked_heap_fail(bool refuses);

#endif
