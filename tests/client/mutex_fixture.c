/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the file engine for tests of locks per owner. */
#include "mutex_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "process.h"

void mutex_fixture_open(struct mutex_fixture *base)
{
    client_directory_create(&base->directory);
    base->client = open_client(base->directory.url);
}

void mutex_fixture_close(struct mutex_fixture *base)
{
    assert_int_equal(hf_client_close(base->client), HF_OK);
    assert_int_equal(client_directory_count_tickets(&base->directory), 0);
    client_directory_remove(&base->directory);
}

uint64_t owner_at(void *current)
{
    return *(uint64_t *)current;
}
