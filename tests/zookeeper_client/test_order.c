/* SPDX-License-Identifier: Apache-2.0 */
/* The order of callbacks, and the bounds of operations and answers, on a real
 * server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

/* ----------------------------------------------------------------- order -- */

#define MANY 2000

/* A callback of many: its number, and where it is recorded. */
struct numbered {
    struct callback_log *log;
    unsigned number;
};

static void on_numbered(void *arg, const struct hf_zookeeper_result *result)
{
    const struct numbered *numbered = arg;

    log_add(numbered->log, "%u %s", numbered->number,
            hf_status_name(result->status));
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

/* Reads and writes of one node in turn; more of them than may be unanswered. */
FIXTURE_TEST(many_operations_end_in_the_order_of_their_starts)
{
    struct zookeeper_fixture *f = *state;
    static struct numbered numbers[MANY];
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_SET, HF_ZOOKEEPER_GET, HF_ZOOKEEPER_CHILDREN,
        HF_ZOOKEEPER_EXISTS, HF_ZOOKEEPER_SYNC};

    zookeeper_make(f->zookeeper, "/a", "");
    for (unsigned i = 0; i < MANY; i++) {
        const struct hf_zookeeper_op op = {
            .kind = kinds[i % 5], .path = "/a", .version = -1};

        numbers[i] = (struct numbered){&f->log, i};
        assert_int_equal(hf_zookeeper_start(f->zookeeper, &op, WAIT_MS,
                                            (struct hf_zookeeper_done){
                                                on_numbered, &numbers[i], NULL},
                                            NULL),
                         HF_OK);
    }
    log_await(&f->log, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        char line[LOG_LINE_BYTES];

        (void)snprintf(line, sizeof line, "%u HF_OK", i);
        assert_string_equal(f->log.lines[i], line);
    }
}

/* The same for operations that the server may not know, which travel alone. */
FIXTURE_TEST(operations_that_travel_alone_keep_the_order)
{
    struct zookeeper_fixture *f = *state;
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_SET,        HF_ZOOKEEPER_COUNT,    HF_ZOOKEEPER_GET,
        HF_ZOOKEEPER_EPHEMERALS, HF_ZOOKEEPER_WHO_AM_I, HF_ZOOKEEPER_SET};
    struct numbered numbers[12];

    zookeeper_make(f->zookeeper, "/a", "");
    for (unsigned i = 0; i < 12; i++) {
        const struct hf_zookeeper_op op = {
            .kind = kinds[i % 6], .path = "/a", .version = -1};

        numbers[i] = (struct numbered){&f->log, i};
        assert_int_equal(hf_zookeeper_start(f->zookeeper, &op, WAIT_MS,
                                            (struct hf_zookeeper_done){
                                                on_numbered, &numbers[i], NULL},
                                            NULL),
                         HF_OK);
    }
    log_await(&f->log, 12);
    for (unsigned i = 0; i < 12; i++) {
        char line[LOG_LINE_BYTES];

        (void)snprintf(line, sizeof line, "%u HF_OK", i);
        assert_string_equal(f->log.lines[i], line);
    }
}

static void start(struct zookeeper_fixture *f, const struct hf_zookeeper_op *op,
                  struct log_name *name)
{
    assert_int_equal(
        hf_zookeeper_start(f->zookeeper, op, WAIT_MS, log_done(name), NULL),
        HF_OK);
}

FIXTURE_TEST(an_event_comes_between_the_two_answers)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_watch *watch;
    struct log_name names[] = {{&f->log, "watch"},
                               {&f->log, "first"},
                               {&f->log, "set"},
                               {&f->log, "second"}};
    struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/a"};
    const struct hf_zookeeper_op set = {
        .kind = HF_ZOOKEEPER_SET, .path = "/a", .version = -1};
    size_t event;

    zookeeper_make(f->zookeeper, "/a", "");
    assert_int_equal(hf_zookeeper_watch_open(f->zookeeper, "/a",
                                             HF_ZOOKEEPER_WATCH_DATA,
                                             log_events(&names[0]), &watch),
                     HF_OK);
    for (int i = 0; i < 50; i++) {
        size_t from = log_count(&f->log);

        get.watch = watch;
        start(f, &get, &names[1]);
        start(f, &set, &names[2]);
        get.watch = NULL;
        start(f, &get, &names[3]);
        log_await(&f->log, from + 7);
        event = log_find(&f->log, from, "watch CHANGED /a");
        assert_true(log_find(&f->log, from, "first HF_OK") < event);
        assert_true(event < log_find(&f->log, from, "second HF_OK"));
    }
    hf_zookeeper_watch_free(watch);
}

/* ---------------------------------------------------------------- bounds -- */

static hf_status set_bytes(struct zookeeper_fixture *f, const char *path,
                           size_t bytes)
{
    char *data = calloc(1, bytes);
    hf_status status;

    assert_non_null(data);
    status =
        hf_zookeeper_set(f->zookeeper, path, data, bytes, -1, WAIT_MS, NULL);
    free(data);
    return status;
}

FIXTURE_TEST(an_operation_that_is_too_long_is_refused_here)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

    opts.max_request_bytes = 4096;
    zookeeper_reopen(f, &opts);
    assert_int_equal(set_bytes(f, "/", 4096), HF_EINVAL);
    zookeeper_expect_error(" bytes as it is sent; expected at "
                           "most 4096");
    zookeeper_expect_error("the operation has 41");
    assert_int_equal(set_bytes(f, "/", 4000), HF_OK);
    assert_int_equal(log_find(&f->states, 0, "SUSPENDED"), LOG_LINES);
}

/* The longest operation that the default allows is one that the server takes:
 * it has jute.maxbuffer at its default too. */
FIXTURE_TEST(the_longest_operation_is_taken_by_the_server)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    /* Length, header, the path with its length, the data's length, and the
     * version are sent beside the data. */
    size_t most =
        opts.max_request_bytes - 4 - 8 - 4 - strlen(f->chroot) - 4 - 4;

    assert_int_equal(set_bytes(f, "/", most + 1), HF_EINVAL);
    assert_int_equal(set_bytes(f, "/", most), HF_OK);
    assert_int_equal(hf_zookeeper_get(f->zookeeper, "/", WAIT_MS, NULL), HF_OK);
    assert_int_equal(log_find(&f->states, 0, "SUSPENDED"), LOG_LINES);
}

FIXTURE_TEST(an_answer_that_is_too_long_fails_alone)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct log_name names[] = {
        {&f->log, "before"}, {&f->log, "long"}, {&f->log, "after"}};
    const struct hf_zookeeper_op exists = {.kind = HF_ZOOKEEPER_EXISTS,
                                           .path = "/"};
    const struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/"};
    static const char *const lines[] = {"before HF_OK",
                                        "before dropped",
                                        "long HF_ELIMIT",
                                        "long dropped",
                                        "after HF_OK",
                                        "after dropped",
                                        NULL};

    opts.max_answer_bytes = 2048;
    zookeeper_reopen(f, &opts);
    assert_int_equal(set_bytes(f, "/", 500000), HF_OK);
    start(f, &exists, &names[0]);
    start(f, &get, &names[1]);
    start(f, &exists, &names[2]);
    log_await(&f->log, 6);
    log_expect(&f->log, 0, lines);
    assert_int_equal(hf_zookeeper_get(f->zookeeper, "/", WAIT_MS, NULL),
                     HF_ELIMIT);
    zookeeper_expect_error("max_answer_bytes");
    assert_int_equal(set_bytes(f, "/", 100), HF_OK);
    assert_int_equal(hf_zookeeper_get(f->zookeeper, "/", WAIT_MS, NULL), HF_OK);
    assert_int_equal(log_find(&f->states, 0, "SUSPENDED"), LOG_LINES);
}

/* A list of children, too.  Its watch is not set, because the list was not
 * read. */
FIXTURE_TEST(a_list_that_is_too_long_fails_alone)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/"};
    struct log_name name = {&f->log, "watch"};
    struct hf_zookeeper_watch *watch;
    struct hf_zookeeper_result *result;

    opts.max_answer_bytes = 1024;
    zookeeper_reopen(f, &opts);
    for (int i = 0; i < 70; i++)
        assert_int_equal(hf_zookeeper_create(f->zookeeper, "/child-", NULL, 0,
                                             HF_ZOOKEEPER_SEQUENTIAL, WAIT_MS,
                                             NULL),
                         HF_OK);
    assert_int_equal(hf_zookeeper_watch_open(f->zookeeper, "/",
                                             HF_ZOOKEEPER_WATCH_CHILDREN,
                                             log_events(&name), &watch),
                     HF_OK);
    op.watch = watch;
    result = zookeeper_do(f->zookeeper, &op, HF_ELIMIT);
    assert_int_equal(result->child_count, 0);
    assert_false(result->watching);
    hf_zookeeper_result_free(result);
    zookeeper_make(f->zookeeper, "/one-more", "");
    assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS), HF_OK);
    hf_zookeeper_watch_free(watch);
    assert_int_equal(log_find(&f->log, 0, "watch CHILDREN /"), LOG_LINES);
    assert_int_equal(log_find(&f->states, 0, "SUSPENDED"), LOG_LINES);
}
