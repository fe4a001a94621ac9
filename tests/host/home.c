/* SPDX-License-Identifier: Apache-2.0 */
#include "home.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kit.h"

void home_open(struct home *home)
{
    place_make(&home->place);
    home->client = kit_client(home->place.url);
}

void home_close(struct home *home)
{
    assert_int_equal(hf_client_close(home->client), HF_OK);
    assert_int_equal(place_tickets(&home->place), 0);
    place_remove(&home->place);
}

uint64_t home_fibre(void *current)
{
    return *(uint64_t *)current;
}
