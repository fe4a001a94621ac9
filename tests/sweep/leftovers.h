/* SPDX-License-Identifier: Apache-2.0 */
/* Checks at the end of a scenario: nothing is left of it, in the process and in
 * the queues. */
#ifndef HF_TESTS_JUDGE_H
#define HF_TESTS_JUDGE_H

#include "scenario.h"

/* What a process without a fault leaves; libuv keeps some memory for ever. */
struct leftovers {
    long fds;
    long uv_memory;
};

/* After the scenario, and without a fault from now on: there are no threads, no
 * memory and no descriptors beyond ${usual}; another client gets every lock
 * that was used, at once or when a session has ended; then the queues are
 * empty. */
void leftovers_check(struct sweep_fixture *fixture,
                     const struct leftovers *usual);

/* Count what there is now. */
void leftovers_count(struct sweep_fixture *fixture,
                     struct leftovers *leftovers);

#endif
