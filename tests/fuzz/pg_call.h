/* SPDX-License-Identifier: Apache-2.0 */
/* A Bind message of libpq as a call of the lease store. */
#ifndef HF_TESTS_FUZZ_PG_CALL_H
#define HF_TESTS_FUZZ_PG_CALL_H

#include "bytes.h"
#include "engines/leased/store.h"

#define PG_PARAMETERS_MAX 8

struct pg_bound {
    char statement[32];              /* "": not one of our statements */
    char *values[PG_PARAMETERS_MAX]; /* each ends with a NUL */
    size_t count;
    char memory[16384];
};

void pg_bound_read(struct pg_bound *bound, const struct bytes *message);

/* Its strings are those of ${bound}; its ids and names
 * are valid until the next call. */
struct hf_store_call pg_bound_call(const struct pg_bound *bound);

/* Read a number of ${width} bytes, and move ${at} behind it. */
uint32_t pg_take_number(const uint8_t **at, size_t width);

#endif
