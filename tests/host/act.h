/* SPDX-License-Identifier: Apache-2.0 */
/* What acts are made of. */
#ifndef HF_TESTS_ACT_H
#define HF_TESTS_ACT_H

#include "cell.h"

/* A handle for a queue of the play's own, called ${what}. */
struct hf_lock *act_lock(struct play *play, const char *what, enum hf_kind kind,
                         uint32_t permits, uint32_t limit);

/* The name of such a queue. */
const char *act_queue(struct play *play, const char *what, enum hf_kind kind);

/* The play's own deed, which waits for so long as its cell has it wait; to be
 * filled in and started, and the same begun. */
struct deed *act_deed(struct play *play, const struct call *call, int which,
                      struct hf_grant *grant);
void act_begin(struct play *play, const struct call *call, int which,
               struct hf_grant *grant);

/* Another one takes ${lock} for itself. */
void act_rival(struct play *play, struct hf_lock *lock);

/* Another one who has a grant releases it; false: nobody has. */
bool act_rival_goes(struct play *play);

#define ACTS_OF(name)                                                          \
    extern const struct act name[];                                            \
    extern const int name##_count;
ACTS_OF(acts_locks)
ACTS_OF(acts_owned)
ACTS_OF(acts_meetings)
ACTS_OF(acts_sights)

#endif
