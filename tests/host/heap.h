/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out: every allocation of a story fails, one after the
 * other. */
#ifndef HF_TESTS_HEAP_H
#define HF_TESTS_HEAP_H

#include "kit.h"

/* To be set before anything else. */
extern const struct hf_allocator heap_allocator;

/* Tell ${story} with each of its allocations failing, alone or ${for_good} with
 * all that come after it, until there is no such allocation any more; how many
 * there are may differ a little from run to run.  No memory may be left, nor a
 * ticket in the place. */
void heap_sweep(void (*story)(const struct place *place), bool for_good);

/* It must be success, or the trouble that was made, or what comes of it in
 * time.  True if success. */
bool heap_note(hf_status status);

bool heap_fails_for_good(void);

/* How much is allocated and not released. */
long heap_live(void);

/* So long may a call wait: where all fails, not long. */
uint64_t heap_patience_ms(void);

#endif
