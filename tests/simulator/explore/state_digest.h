/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of everything that decides how a run goes on. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_STATE_DIGEST_H
#define HF_TESTS_SIMULATOR_EXPLORE_STATE_DIGEST_H

#include "simulator/explore/action.h"

struct digest {
    uint64_t words[2];
};

/* Equal for states with equal futures but for names: clients of one kind are
 * interchangeable.  Timers that are not due within HF_STATE_SOON_MS count as if
 * they never run down. */
struct digest case_run_digest(const struct case_run *case_run);

#endif
