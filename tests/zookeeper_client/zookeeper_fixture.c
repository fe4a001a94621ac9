/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the public client on the server of serve.py, and the record of
 * their callbacks. */
#include "zookeeper_fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmocka/runner.h"

/* ------------------------------------------------------------ the record -- */

void log_add(struct callback_log *log, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&log->lock);
    if (log->count < LOG_LINES)
        (void)vsnprintf(log->lines[log->count++], LOG_LINE_BYTES, format, args);
    pthread_mutex_unlock(&log->lock);
    va_end(args);
}

size_t log_count(struct callback_log *log)
{
    size_t count;

    pthread_mutex_lock(&log->lock);
    count = log->count;
    pthread_mutex_unlock(&log->lock);
    return count;
}

size_t log_find(struct callback_log *log, size_t from, const char *line)
{
    size_t count = log_count(log);

    for (size_t i = from; i < count; i++) {
        if (strcmp(log->lines[i], line) == 0)
            return i;
    }
    return LOG_LINES;
}

static void print_lines(struct callback_log *log, size_t from)
{
    size_t count = log_count(log);

    for (size_t i = from; i < count; i++)
        print_error("  %zu: %s\n", i, log->lines[i]);
}

void wait_for(bool (*condition)(void *arg), void *arg)
{
    const struct timespec pause = {0, 1000000};

    for (int left = WAIT_MS; !condition(arg); left--) {
        if (left == 0)
            fail_msg("waited in vain");
        (void)nanosleep(&pause, NULL);
    }
}

/* What log_await() and log_await_line() wait for. */
struct awaited {
    struct callback_log *log;
    size_t from;
    const char *line; /* NULL: .from lines */
};

static bool is_there(void *arg)
{
    const struct awaited *awaited = arg;

    if (awaited->line == NULL)
        return log_count(awaited->log) >= awaited->from;
    return log_find(awaited->log, awaited->from, awaited->line) < LOG_LINES;
}

void log_await(struct callback_log *log, size_t count)
{
    struct awaited awaited = {log, count, NULL};

    wait_for(is_there, &awaited);
}

size_t log_await_line(struct callback_log *log, size_t from, const char *line)
{
    struct awaited awaited = {log, from, line};

    wait_for(is_there, &awaited);
    return log_find(log, from, line);
}

void log_expect(struct callback_log *log, size_t from, const char *const *lines)
{
    size_t i;

    for (i = 0; lines[i] != NULL; i++) {
        if (from + i >= log_count(log) ||
            strcmp(log->lines[from + i], lines[i]) != 0) {
            print_error("expected \"%s\" as line %zu\n", lines[i], i);
            print_lines(log, from);
            fail();
        }
    }
    if (log_count(log) != from + i) {
        print_error("expected %zu lines\n", i);
        print_lines(log, from);
        fail();
    }
}

/* ------------------------------------------------------------- callbacks -- */

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    const struct log_name *name = arg;

    log_add(name->log, "%s %s", name->name, hf_status_name(result->status));
}

static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    static const char *const kinds[] = {"?",       "CREATED",  "DELETED",
                                        "CHANGED", "CHILDREN", "RESYNC"};
    const struct log_name *name = arg;

    log_add(name->log, "%s %s %s", name->name, kinds[event->kind], event->path);
}

static void on_drop(void *arg)
{
    const struct log_name *name = arg;

    log_add(name->log, "%s dropped", name->name);
}

struct hf_zookeeper_done log_done(struct log_name *name)
{
    return (struct hf_zookeeper_done){on_done, name, on_drop};
}

struct hf_zookeeper_on_event log_events(struct log_name *name)
{
    return (struct hf_zookeeper_on_event){on_event, name, on_drop};
}

static void on_state(void *arg, enum hf_state state)
{
    log_add(arg, "%s", hf_state_name(state));
}

/* --------------------------------------------------------------- handles -- */

struct hf_zookeeper *zookeeper_open(const struct zookeeper_fixture *f,
                                    const char *user, const char *options,
                                    const struct hf_zookeeper_opts *opts)
{
    const char *servers = getenv("HF_ZK");
    struct hf_zookeeper *zookeeper = NULL;
    char url[512];

    assert_non_null(servers);
    (void)snprintf(url, sizeof url, "zk://%s%s%s%s", user, servers, f->chroot,
                   options);
    if (hf_zookeeper_open(url, opts, &zookeeper) != HF_OK)
        fail_msg("%s", hf_last_error()->text);
    return zookeeper;
}

void zookeeper_reopen(struct zookeeper_fixture *f,
                      const struct hf_zookeeper_opts *opts)
{
    struct hf_zookeeper_opts copy = *opts;

    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_OK);
    f->states.count = 0;
    copy.on_state.fn = on_state;
    copy.on_state.arg = &f->states;
    f->zookeeper = zookeeper_open(f, "", "", &copy);
}

int zookeeper_setup(void **state)
{
    const struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    static unsigned number;
    struct zookeeper_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    (void)snprintf(f->chroot, sizeof f->chroot, "/test-%d-%u", (int)getpid(),
                   ++number);
    pthread_mutex_init(&f->log.lock, NULL);
    pthread_mutex_init(&f->states.lock, NULL);
    zookeeper_reopen(f, &opts);
    zookeeper_make(f->zookeeper, "/", "");
    *state = f;
    return 0;
}

int zookeeper_teardown(void **state)
{
    struct zookeeper_fixture *f = *state;
    hf_status status = hf_zookeeper_close(f->zookeeper);

    pthread_mutex_destroy(&f->log.lock);
    pthread_mutex_destroy(&f->states.lock);
    free(f);
    assert_int_equal(status, HF_OK);
    return 0;
}

/* ------------------------------------------------------------ operations -- */

struct hf_zookeeper_result *zookeeper_do(struct hf_zookeeper *zookeeper,
                                         const struct hf_zookeeper_op *op,
                                         hf_status wanted)
{
    struct hf_zookeeper_result *result;
    hf_status status = hf_zookeeper_run(zookeeper, op, WAIT_MS, &result);

    if (status != wanted)
        print_error("kind %d of %s: %s, expected %s; %s\n", (int)op->kind,
                    op->path != NULL ? op->path : "-", hf_status_name(status),
                    hf_status_name(wanted), result != NULL ? result->text : "");
    assert_int_equal(status, wanted);
    assert_non_null(result);
    assert_int_equal(result->status, status);
    assert_int_equal(result->text[0] == '\0', status == HF_OK);
    return result;
}

void zookeeper_expect(struct hf_zookeeper *zookeeper,
                      const struct hf_zookeeper_op *op, hf_status wanted)
{
    hf_zookeeper_result_free(zookeeper_do(zookeeper, op, wanted));
}

void zookeeper_make(struct hf_zookeeper *zookeeper, const char *path,
                    const char *text)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = path,
                                       .data = text,
                                       .bytes = strlen(text)};

    zookeeper_expect(zookeeper, &op, HF_OK);
}

void zookeeper_expect_data(struct hf_zookeeper *zookeeper, const char *path,
                           const char *text)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = path};
    struct hf_zookeeper_result *result = zookeeper_do(zookeeper, &op, HF_OK);

    assert_int_equal(result->bytes, strlen(text));
    assert_memory_equal(result->data, text, result->bytes);
    hf_zookeeper_result_free(result);
}

void zookeeper_expect_error(const char *part)
{
    if (strstr(hf_last_error()->text, part) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", part, hf_last_error()->text);
}
