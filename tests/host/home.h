/* SPDX-License-Identifier: Apache-2.0 */
/* A place of a test's own and a client there, for tests of what threads lock:
 * what is locked is the test's. */
#ifndef HF_TESTS_HOME_H
#define HF_TESTS_HOME_H

#include <stdint.h>

#include "front.h"

struct home {
    struct place place;
    struct hf_client *client;
};

void home_open(struct home *home);

/* Everything opened there was freed: nothing of it is left. */
void home_close(struct home *home);

/* An owner that is no thread: the number at ${current}, a uint64_t. */
uint64_t home_fibre(void *current);

#endif
