/* SPDX-License-Identifier: Apache-2.0 */
/* The table of causes of docs/engines.md, "What waiting does not mend", against
 * the tables of the engines: each row of the document has the status that the
 * code gives to the cause, and follows from it; each entry of the code has a
 * row. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reconnect.h"
#include "cmocka/runner.h"
#include "engines/postgres/pg_private.h"
#include "engines/redis/reply.h"
#include "engines/redis/server_info.h"
#include "engines/zookeeper/zk_request.h"
#include "etcd/call_result.h"
#include "transport/connection.h"

#define DOCUMENT HF_SOURCE_DIR "/docs/engines.md"
#define SECTION "## What waiting does not mend"
#define ROWS_MAX 160
#define FIELDS 4
#define FIELD_BYTES 96

/* Where, cause, status, what then; without the marks of code. */
struct row {
    char fields[FIELDS][FIELD_BYTES];
    bool code; /* the cause is one of the code, and not in words */
};

static struct row rows[ROWS_MAX];
static size_t row_count;

/* ---------------------------------------------------------- the document -- */

/* Copy the field at ${from}, which ends before the next '|', to ${field}. */
static const char *read_field(const char *from, char *field, bool *code)
{
    const char *end = strchr(from, '|');
    size_t bytes;

    assert_non_null(end);
    bytes = (size_t)(end - from);
    assert_true(bytes >= 2 && bytes < FIELD_BYTES);
    from++; /* the blanks on both sides */
    bytes -= 2;
    *code = bytes >= 2 && from[0] == '`' && from[bytes - 1] == '`';
    if (*code) {
        from++;
        bytes -= 2;
    }
    memcpy(field, from, bytes);
    field[bytes] = '\0';
    return end + 1;
}

static void read_row(const char *line)
{
    struct row *row = &rows[row_count];
    const char *at = line + 1;
    bool code;

    assert_true(row_count < ROWS_MAX);
    for (size_t i = 0; i < FIELDS; i++) {
        at = read_field(at, row->fields[i], &code);
        if (i == 1)
            row->code = code;
    }
    row_count++;
}

static int read_document(void **state)
{
    FILE *file = fopen(DOCUMENT, "r");
    bool inside = false;
    char line[1024];

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            inside = strncmp(line, SECTION, strlen(SECTION)) == 0;
        if (inside && strstr(line, "| `HF_E") != NULL)
            read_row(line);
    }
    assert_int_equal(fclose(file), 0);
    assert_true(row_count > 80);
    return 0;
}

static bool is_documented(const char *where, const char *cause)
{
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].code && strcmp(rows[i].fields[0], where) == 0 &&
            strcmp(rows[i].fields[1], cause) == 0)
            return true;
    }
    return false;
}

/* -------------------------------------------------------------- the code -- */

static hf_status status_of_name(const char *name)
{
    for (int status = 0; status < 64; status++) {
        if (strcmp(hf_status_name((hf_status)status), name) == 0)
            return (hf_status)status;
    }
    fail_msg("%s is no status", name);
    return HF_OK;
}

static hf_status status_of_errno(const char *name)
{
    const struct hf_connection_cause *cause;

    for (size_t i = 0; (cause = hf_connection_cause(i)) != NULL; i++) {
        if (strcmp(cause->name, name) == 0)
            return cause->status;
    }
    return HF_EUNREACHABLE;
}

static hf_status status_of_zk_error(const char *name)
{
    const struct hf_zk_engine_cause *cause;

    for (size_t i = 0; (cause = hf_zk_engine_cause(i)) != NULL; i++) {
        if (strcmp(cause->name, name) == 0)
            return cause->status;
    }
    fail_msg("%s is not in the table", name);
    return HF_OK;
}

/* Of a refusal by an etcd server whose text has these words. */
static hf_status status_of_etcd(const char *words)
{
    const struct hf_etcd_result result = {.end = HF_ETCD_REFUSED,
                                          .text = words};

    return hf_etcd_status_of(&result);
}

static hf_status status_of_info(const char *line)
{
    hf_status status = HF_OK;

    assert_non_null(hf_redis_info_problem(line, &status));
    return status;
}

/* The status that the code gives to the cause of ${row}; that of the document
 * if the cause is in words, or has no table. */
static hf_status status_in_code(const struct row *row)
{
    const char *where = row->fields[0];
    const char *cause = row->fields[1];

    if (!row->code)
        return status_of_name(row->fields[2]);
    if (strcmp(where, "socket file") == 0 || strcmp(where, "any address") == 0)
        return status_of_errno(cause);
    if (strcmp(where, "Redis") == 0)
        return hf_redis_connection_status(cause);
    if (strcmp(where, "Redis INFO") == 0)
        return status_of_info(cause);
    if (strcmp(where, "PostgreSQL") == 0)
        return hf_pg_connection_status(cause);
    if (strcmp(where, "libpq") == 0)
        return hf_pg_libpq_status(cause);
    if (strcmp(where, "ZooKeeper") == 0)
        return status_of_zk_error(cause);
    if (strcmp(where, "etcd") == 0)
        return status_of_etcd(cause);
    assert_string_equal(where, "name");
    return HF_EUNREACHABLE;
}

/* What a client with one server does about failures with ${status}. */
static const char *what_then(hf_status status)
{
    struct hf_reconnect_backoff backoff;
    struct hf_random random;

    hf_random_seed(&random, 1);
    hf_reconnect_backoff_init(&backoff, NULL, 1);
    for (int tries = 1; tries <= 9; tries++) {
        (void)hf_reconnect_backoff_failed(&backoff, status, 1, &random);
        if (!hf_reconnect_backoff_is_final(&backoff))
            continue;
        return tries == 1   ? "ends"
               : tries == 3 ? "ends after three tries"
                            : "ends after a number of tries that nothing says";
    }
    return "waits";
}

/* ----------------------------------------------------------------- tests -- */

TEST(each_row_says_what_the_code_does)
{
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        hf_status status = status_in_code(row);

        print_message("%s: %s\n", row->fields[0], row->fields[1]);
        assert_string_equal(hf_status_name(status), row->fields[2]);
        assert_string_equal(what_then(status), row->fields[3]);
    }
}

TEST(each_cause_of_the_code_has_a_row)
{
    const char *cause;

    for (size_t i = 0; hf_connection_cause(i) != NULL; i++)
        assert_true(is_documented("socket file", hf_connection_cause(i)->name));
    for (size_t i = 0; hf_zk_engine_cause(i) != NULL; i++)
        assert_true(is_documented("ZooKeeper", hf_zk_engine_cause(i)->name));
    for (size_t i = 0; hf_etcd_cause(i) != NULL; i++)
        assert_true(is_documented("etcd", hf_etcd_cause(i)->words));
    for (size_t i = 0; (cause = hf_redis_error_pattern(i)) != NULL; i++)
        assert_true(is_documented("Redis", cause));
    for (size_t i = 0; (cause = hf_pg_cause(i)) != NULL; i++)
        assert_true(is_documented("PostgreSQL", cause) ||
                    is_documented("libpq", cause));
}

/* A shorter SQLSTATE stands for a class, so it must not hide a longer one. */
TEST(no_entry_hides_another)
{
    const char *first, *second;

    for (size_t i = 0; (first = hf_pg_cause(i)) != NULL; i++) {
        for (size_t j = i + 1; (second = hf_pg_cause(j)) != NULL; j++)
            assert_int_not_equal(strncmp(second, first, strlen(first)), 0);
    }
}

TEST_FILE(causes)
{
    return RUN_TESTS(read_document, NULL);
}
