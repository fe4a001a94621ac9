/* SPDX-License-Identifier: Apache-2.0 */
/* What libpq asks with a Bind, as a call of a store. */
#ifndef HF_TESTS_FUZZ_PG_CALL_H
#define HF_TESTS_FUZZ_PG_CALL_H

#include "bytes.h"
#include "engines/leased/store.h"

#define PG_PARAMETERS_MAX 8

struct pg_bound {
    char statement[32];              /* "": none of ours */
    char *values[PG_PARAMETERS_MAX]; /* with a NUL behind them */
    size_t count;
    char memory[16384];
};

void pg_bound_read(struct pg_bound *bound, const struct bytes *message);

/* Its texts are those of ${bound}; its ids live until the next one. */
struct hf_store_call pg_bound_call(const struct pg_bound *bound);

/* A number of ${width} bytes; moves behind it. */
uint32_t pg_take_number(const uint8_t **at, size_t width);

#endif
