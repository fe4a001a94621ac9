/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fault injector for memory: a scenario runs once for each allocation that it
 * makes, and that allocation fails.
 *
 * The allocator is the one of heap/heap.h, so a test program calls
 * heap_install() first.
 */
#ifndef HF_TESTS_ALLOCATION_FAULTS_H
#define HF_TESTS_ALLOCATION_FAULTS_H

#include "process.h"

/* Run ${scenario} until none of its allocations is left to fail: in the
 * first run the first one fails, in the second run the second one, and so
 * on.  If ${all_after}, all later ones of that run fail too.  The number of
 * allocations may differ a little between runs.  After each run no memory
 * and no ticket may be left. */
void fail_each_allocation(
    void (*scenario)(const struct client_directory *directory), bool all_after);

/* The two tests of a scenario: each allocation fails alone, and all fail
 * from one on. */
#define EACH_ALLOCATION_FAILS(each_fails, all_fail, scenario)                  \
    TEST(each_fails)                                                           \
    {                                                                          \
        fail_each_allocation(scenario, false);                                 \
    }                                                                          \
                                                                               \
    TEST(all_fail)                                                             \
    {                                                                          \
        fail_each_allocation(scenario, true);                                  \
    }

/* Fail the test unless ${status} is HF_OK, the failure that was injected, or
 * the timeout that follows from it.  True if HF_OK. */
bool status_is_expected(hf_status status);

bool all_allocations_fail(void);

/* How long a call may wait, in milliseconds: not long where all allocations
 * fail. */
uint64_t allocation_wait_ms(void);

#endif
