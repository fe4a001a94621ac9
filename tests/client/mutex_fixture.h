/* SPDX-License-Identifier: Apache-2.0 */
/* A directory and one client, for tests of locks that count per owner.  The
 * test opens the mutex or read/write lock itself. */
#ifndef HF_TESTS_MUTEX_FIXTURE_H
#define HF_TESTS_MUTEX_FIXTURE_H

#include <stdint.h>

#include "client_fixture.h"

struct mutex_fixture {
    struct client_directory directory;
    struct hf_client *client;
};

void mutex_fixture_open(struct mutex_fixture *base);

/* Close the client; fails the test if a ticket is left. */
void mutex_fixture_close(struct mutex_fixture *base);

/* An owner that is not a thread: an .owner callback whose argument points to
 * the number of the owner, a uint64_t. */
uint64_t owner_at(void *current);

#endif
