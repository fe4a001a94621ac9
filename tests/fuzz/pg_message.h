/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a PostgreSQL server, in bytes. */
#ifndef HF_TESTS_FUZZ_PG_MESSAGE_H
#define HF_TESTS_FUZZ_PG_MESSAGE_H

#include <stdbool.h>

#include "bytes.h"

/* A message of type ${type}. */
void pg_put_message(struct bytes *to, char type, const struct bytes *body);
/* The same, and free ${body}. */
void pg_put_body(struct bytes *to, char type, struct bytes *body);
void pg_put_string(struct bytes *to, const char *text);
void pg_put_ready(struct bytes *to);
void pg_put_complete(struct bytes *to);
/* An ErrorResponse ('E') or a NoticeResponse ('N'). */
void pg_put_report(struct bytes *to, char type, const char *state);
/* RowDescription. */
void pg_put_columns(struct bytes *to, const uint32_t *types, size_t count,
                    bool binary);
/* Values of a row. */
void pg_put_null(struct bytes *row);
void pg_put_value(struct bytes *row, const void *bytes, size_t count);
/* A number in ${width} bytes. */
void pg_put_value_number(struct bytes *row, uint64_t number, size_t width);

#endif
