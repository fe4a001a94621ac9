/* SPDX-License-Identifier: Apache-2.0 */
/* A place of a test's own and a client there, for tests of what threads lock:
 * what is locked is the test's. */
#ifndef HF_TESTS_MUTEX_FIXTURE_H
#define HF_TESTS_MUTEX_FIXTURE_H

#include <stdint.h>

#include "host_fixture.h"

struct mutex_fixture {
    struct host_directory directory;
    struct hf_client *client;
};

void mutex_fixture_open(struct mutex_fixture *base);

/* Everything opened there was freed: nothing of it is left. */
void mutex_fixture_close(struct mutex_fixture *base);

/* An owner that is no thread: the number at ${current}, a uint64_t. */
uint64_t owner_at(void *current);

#endif
