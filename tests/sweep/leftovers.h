/* SPDX-License-Identifier: Apache-2.0 */
/* What a story has left behind. */
#ifndef HF_TESTS_JUDGE_H
#define HF_TESTS_JUDGE_H

#include "scenario.h"

/* What a process that was not hit leaves: libuv keeps some of it for ever. */
struct leftovers {
    long fds;
    long uv_memory;
};

/* After the story and with no fault any more: no thread, no memory and no
 * descriptor is left, but for ${usual}; somebody new is let in, at once or when
 * a session has ended; and then the queue is empty. */
void leftovers_check(struct sweep_fixture *fixture,
                     const struct leftovers *usual);

/* What there is now. */
void leftovers_count(struct sweep_fixture *fixture,
                     struct leftovers *leftovers);

#endif
