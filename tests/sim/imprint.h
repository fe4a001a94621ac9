/* SPDX-License-Identifier: Apache-2.0 */
/* What decides how a scene goes on, digested. */
#ifndef HF_TESTS_SIM_IMPRINT_H
#define HF_TESTS_SIM_IMPRINT_H

#include "choice.h"

struct digest {
    uint64_t words[2];
};

/* Equal for stages that go on alike, but for names: contenders of one kind are
 * not told apart.  Time counts as standing still where nothing is due within
 * HF_IMPRINT_SOON_MS. */
struct digest stage_digest(const struct stage *stage);

#endif
