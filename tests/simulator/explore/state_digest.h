/* SPDX-License-Identifier: Apache-2.0 */
/* What decides how a scene goes on, digested. */
#ifndef HF_TESTS_SIMULATOR_EXPLORE_STATE_DIGEST_H
#define HF_TESTS_SIMULATOR_EXPLORE_STATE_DIGEST_H

#include "simulator/explore/action.h"

struct digest {
    uint64_t words[2];
};

/* Equal for stages that go on alike, but for names: contenders of one kind are
 * not told apart.  Time counts as standing still where nothing is due within
 * HF_STATE_SOON_MS. */
struct digest case_run_digest(const struct case_run *case_run);

#endif
