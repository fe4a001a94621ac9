/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out: every allocation of a story fails, one after the
 * other.  The heap is the test's own, see heap/heap.h. */
#ifndef HF_TESTS_ALLOCATION_FAULTS_H
#define HF_TESTS_ALLOCATION_FAULTS_H

#include "process.h"

/* Tell ${story} with each of its allocations failing, alone or ${all_after}
 * with all that come after it, until there is no such allocation any more; how
 * many there are may differ a little from run to run.  No memory may be left,
 * nor a ticket in the place. */
void fail_each_allocation(
    void (*scenario)(const struct host_directory *directory), bool all_after);

/* The two tests of a story. */
#define EACH_ALLOCATION_FAILS(each_fails, all_fail, scenario)                  \
    static void each_fails(void **state)                                       \
    {                                                                          \
        (void)state;                                                           \
        fail_each_allocation(scenario, false);                                 \
    }                                                                          \
                                                                               \
    static void all_fail(void **state)                                         \
    {                                                                          \
        (void)state;                                                           \
        fail_each_allocation(scenario, true);                                  \
    }

/* It must be success, or the trouble that was made, or what comes of it in
 * time.  True if success. */
bool status_is_expected(hf_status status);

bool all_allocations_fail(void);

/* So long may a call wait: where all fails, not long. */
uint64_t allocation_wait_ms(void);

#endif
