/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a history, as zk_client_storm.c describes them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "zk_storm.h"

#define LINE_BYTES 8192

static FILE *history;

struct line {
    char text[LINE_BYTES];
    size_t used;
};

void fail(const char *what)
{
    fprintf(stderr, "zk_client_storm: %s\n", what);
    abort();
}

void *alloc_or_fail(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        fail("no memory");
    return memory;
}

__attribute__((format(printf, 2, 3))) static void add(struct line *line,
                                                      const char *format, ...)
{
    va_list args;
    int count;

    va_start(args, format);
    count = vsnprintf(line->text + line->used, sizeof line->text - line->used,
                      format, args);
    va_end(args);
    if (count < 0 || line->used + (size_t)count >= sizeof line->text)
        fail("a line is too long");
    line->used += (size_t)count;
}

/* In one call, because threads write at the same time. */
static void put(struct line *line)
{
    add(line, "\n");
    if (fputs(line->text, history) == EOF)
        fail("the history cannot be written");
}

uint64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static const char *kind_name(enum hf_zookeeper_op_kind kind)
{
    static const char *const names[] = {
        [HF_ZOOKEEPER_CREATE] = "create",     [HF_ZOOKEEPER_DELETE] = "delete",
        [HF_ZOOKEEPER_EXISTS] = "exists",     [HF_ZOOKEEPER_GET] = "get",
        [HF_ZOOKEEPER_SET] = "set",           [HF_ZOOKEEPER_CHECK] = "check",
        [HF_ZOOKEEPER_CHILDREN] = "children", [HF_ZOOKEEPER_SYNC] = "sync",
        [HF_ZOOKEEPER_ADD_WATCH] = "watch",
    };

    return names[kind];
}

/* What ${op} asks for, as four words. */
static void add_op(struct line *line, const struct hf_zookeeper_op *op)
{
    add(line, " %s %s %d %s", kind_name(op->kind),
        op->path != NULL ? op->path : "-", (int)op->version,
        op->data != NULL ? (const char *)op->data : "-");
}

void write_start(const struct storm_handle *handle, unsigned number, char how,
                 const struct request *request)
{
    const struct hf_zookeeper_op *op = &request->op;
    struct line line = {.used = 0};

    add(&line, "s %u %u %" PRIu64 " %c %d %lld %u", handle->number, number,
        now_us(), how, (int)op->priority,
        request->wait_ms == HF_FOREVER ? -1LL : (long long)request->wait_ms,
        request->watch);
    if (op->op_count == 0) {
        add(&line, " op");
        add_op(&line, op);
    } else {
        add(&line, op->kind == HF_ZOOKEEPER_MULTI ? " multi" : " mread");
    }
    for (size_t i = 0; i < op->op_count; i++)
        add_op(&line, &op->ops[i]);
    put(&line);
}

/* What came of one operation, as seven words. */
static void add_result(struct line *line,
                       const struct hf_zookeeper_result *result)
{
    const struct hf_zookeeper_stat *stat = &result->stat;

    add(line, " %s %" PRId64 " %" PRId64 " %" PRId64 " %d %.*s ",
        hf_status_name(result->status), stat->czxid, stat->mzxid, stat->pzxid,
        (int)stat->version, result->data != NULL ? (int)result->bytes : 1,
        result->data != NULL ? (const char *)result->data : "-");
    if (result->child_count == 0)
        add(line, "-");
    for (size_t i = 0; i < result->child_count; i++)
        add(line, "%s%s", i > 0 ? "," : "", result->children[i]);
}

void write_end(const struct storm_handle *handle, unsigned number,
               const struct hf_zookeeper_result *result)
{
    struct line line = {.used = 0};

    add(&line, "e %u %u %" PRIu64 " %s %" PRId64 " %d", handle->number, number,
        now_us(), hf_status_name(result->status), result->zxid,
        (int)result->watching);
    if (result->result_count == 0)
        add_result(&line, result);
    for (size_t i = 0; i < result->result_count; i++)
        add_result(&line, result->results[i]);
    put(&line);
}

void write_line(const char *format, ...)
{
    struct line line = {.used = 0};
    va_list args;
    int count;

    va_start(args, format);
    count = vsnprintf(line.text, sizeof line.text, format, args);
    va_end(args);
    if (count < 0 || (size_t)count >= sizeof line.text)
        fail("a line is too long");
    line.used = (size_t)count;
    put(&line);
}

void history_open(const char *path)
{
    if ((history = fopen(path, "w")) == NULL)
        fail("the history cannot be opened");
}

void history_flush(void)
{
    if (fflush(history) != 0)
        fail("the history cannot be written");
}

void history_close(void)
{
    if (fclose(history) != 0)
        fail("the history cannot be written");
}
