/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out: every allocation of a story fails, one after the
 * other.  The heap is the test's own, see heap/heap.h. */
#ifndef HF_TESTS_SHORTAGE_H
#define HF_TESTS_SHORTAGE_H

#include "kit.h"

/* Tell ${story} with each of its allocations failing, alone or ${for_good} with
 * all that come after it, until there is no such allocation any more; how many
 * there are may differ a little from run to run.  No memory may be left, nor a
 * ticket in the place. */
void shortage_sweep(void (*story)(const struct place *place), bool for_good);

/* The two tests of a story. */
#define SHORTAGE(each_fails, all_fail, story)                                  \
    static void each_fails(void **state)                                       \
    {                                                                          \
        (void)state;                                                           \
        shortage_sweep(story, false);                                          \
    }                                                                          \
                                                                               \
    static void all_fail(void **state)                                         \
    {                                                                          \
        (void)state;                                                           \
        shortage_sweep(story, true);                                           \
    }

/* It must be success, or the trouble that was made, or what comes of it in
 * time.  True if success. */
bool shortage_note(hf_status status);

bool shortage_is_for_good(void);

/* So long may a call wait: where all fails, not long. */
uint64_t shortage_patience_ms(void);

#endif
