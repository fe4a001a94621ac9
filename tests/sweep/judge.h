/* SPDX-License-Identifier: Apache-2.0 */
/* What a story has left behind. */
#ifndef HF_TESTS_JUDGE_H
#define HF_TESTS_JUDGE_H

#include "story.h"

/* What a process that was not hit leaves: libuv keeps some of it for ever. */
struct rest {
    long fds;
    long uv_memory;
};

/* After the story and with no fault any more: no thread, no memory and no
 * descriptor is left, but for ${usual}; somebody new is let in, at once or when
 * a session has ended; and then the queue is empty. */
void judge_what_is_left(struct cast *cast, const struct rest *usual);

/* What there is now. */
void judge_count(struct cast *cast, struct rest *rest);

#endif
