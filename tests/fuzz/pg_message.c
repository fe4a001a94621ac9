/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the messages of a PostgreSQL server. */
#include "pg_message.h"

#include <string.h>

void pg_put_message(struct bytes *to, char type, const struct bytes *body)
{
    bytes_put(to, &type, 1);
    bytes_number(to, body->count + 4, 4);
    bytes_put(to, body->bytes, body->count);
}

/* The same, and free ${body}. */
void pg_put_body(struct bytes *to, char type, struct bytes *body)
{
    pg_put_message(to, type, body);
    bytes_free(body);
}

void pg_put_string(struct bytes *to, const char *text)
{
    bytes_put(to, text, strlen(text) + 1);
}

void pg_put_ready(struct bytes *to)
{
    struct bytes body = {0};

    bytes_put(&body, "I", 1);
    pg_put_body(to, 'Z', &body);
}

void pg_put_complete(struct bytes *to)
{
    struct bytes body = {0};

    pg_put_string(&body, "SELECT 1");
    pg_put_body(to, 'C', &body);
}

/* 'E' or 'N' */
void pg_put_report(struct bytes *to, char type, const char *state)
{
    struct bytes body = {0};

    bytes_put(&body, "S", 1);
    pg_put_string(&body, type == 'E' ? "ERROR" : "WARNING");
    bytes_put(&body, "V", 1);
    pg_put_string(&body, type == 'E' ? "ERROR" : "WARNING");
    bytes_put(&body, "C", 1);
    pg_put_string(&body, state);
    bytes_put(&body, "M", 1);
    pg_put_string(&body, "canceling wait for synchronous replication");
    bytes_put(&body, "", 1);
    pg_put_body(to, type, &body);
}

void pg_put_columns(struct bytes *to, const uint32_t *types, size_t count,
                    bool binary)
{
    struct bytes body = {0};

    bytes_number(&body, count, 2);
    for (size_t i = 0; i < count; i++) {
        pg_put_string(&body, "column");
        bytes_number(&body, 0, 6); /* table, column */
        bytes_number(&body, types[i], 4);
        bytes_number(&body, 0xffff, 2);     /* bytes: any */
        bytes_number(&body, 0xffffffff, 4); /* modifier: none */
        bytes_number(&body, binary, 2);
    }
    pg_put_body(to, 'T', &body);
}

void pg_put_null(struct bytes *row)
{
    bytes_number(row, 0xffffffff, 4);
}

void pg_put_value(struct bytes *row, const void *bytes, size_t count)
{
    bytes_number(row, count, 4);
    bytes_put(row, bytes, count);
}

void pg_put_value_number(struct bytes *row, uint64_t number, size_t width)
{
    bytes_number(row, width, 4);
    bytes_number(row, number, width);
}
