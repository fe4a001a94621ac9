/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions on a real server: each operation sees what those before it have
 * done; transactions that are under way together fail each for itself; one is
 * started in a callback; and one is longer than the server takes. */
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const struct hf_zookeeper_op create_a = {.kind = HF_ZOOKEEPER_CREATE,
                                                .path = "/a"};

static struct hf_zookeeper_op set_a(const char *data, int32_t version)
{
    return (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_SET,
                                    .path = "/a",
                                    .data = data,
                                    .bytes = strlen(data),
                                    .version = version};
}

/* Carry out ${ops}, which fail with ${wanted} because of the one at
 * ${position}. */
static void expect_failure(struct hf_zookeeper *zookeeper,
                           const struct hf_zookeeper_op *ops, size_t count,
                           size_t position, hf_status wanted)
{
    struct hf_zookeeper_result *result;

    assert_int_equal(
        hf_zookeeper_multi(zookeeper, ops, count, WAIT_MS, &result), wanted);
    assert_int_equal(result->result_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(result->results[i]->status,
                         i == position ? wanted : HF_ECANCELLED);
    hf_zookeeper_result_free(result);
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

FIXTURE_TEST(each_operation_sees_those_before_it)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op ops[] = {
        create_a,
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/a/b"},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/a/b/c"},
        set_a("1", 0),
        set_a("2", 1),
        {.kind = HF_ZOOKEEPER_CHECK, .path = "/a", .version = 2},
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a/b/c", .version = 0},
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a/b", .version = 0},
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a", .version = 2},
    };
    struct hf_zookeeper_result *result;

    assert_int_equal(
        hf_zookeeper_multi(f->zookeeper, ops, COUNT_OF(ops), WAIT_MS, &result),
        HF_OK);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(result->results[i]->path, ops[i].path);
    assert_int_equal(result->results[3]->stat.version, 1);
    assert_int_equal(result->results[4]->stat.version, 2);
    hf_zookeeper_result_free(result);
    assert_int_equal(hf_zookeeper_exists(f->zookeeper, "/a", WAIT_MS, NULL),
                     HF_EGONE);
}

/* Nothing is left of a transaction that failed. */
FIXTURE_TEST(operations_that_do_not_go_together)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op delete_a = {.kind = HF_ZOOKEEPER_DELETE,
                                             .path = "/a"};
    const struct hf_zookeeper_op twice[] = {create_a, create_a};
    const struct hf_zookeeper_op deleted[] = {create_a, delete_a,
                                              set_a("x", 0)};
    struct hf_zookeeper_op ops[] = {create_a, set_a("x", 0), set_a("y", 0)};

    expect_failure(f->zookeeper, twice, 2, 1, HF_EEXISTS);
    expect_failure(f->zookeeper, deleted, 3, 2, HF_EGONE);
    expect_failure(f->zookeeper, ops, 3, 2, HF_EVERSION);
    assert_int_equal(hf_zookeeper_exists(f->zookeeper, "/a", WAIT_MS, NULL),
                     HF_EGONE);
    ops[2].version = 1;
    assert_int_equal(hf_zookeeper_multi(f->zookeeper, ops, 3, WAIT_MS, NULL),
                     HF_OK);
    zookeeper_expect_data(f->zookeeper, "/a", "y");
}

/* --------------------------------------------------------------- started -- */

static void on_pair(void *arg, const struct hf_zookeeper_result *result)
{
    assert_int_equal(result->result_count, 2);
    log_add(arg, "%s: %s %s", hf_status_name(result->status),
            hf_status_name(result->results[0]->status),
            hf_status_name(result->results[1]->status));
}

/* The second operation fails in all transactions but the first, and takes the
 * first one back each time: ZOOKEEPER-1624. */
FIXTURE_TEST(those_under_way_fail_each_for_itself)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_op ops[] = {
        {.kind = HF_ZOOKEEPER_CREATE,
         .path = "/n-",
         .mode = HF_ZOOKEEPER_SEQUENTIAL},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/same"}};
    static const char *const lines[] = {
        "HF_OK: HF_OK HF_OK", "HF_EEXISTS: HF_ECANCELLED HF_EEXISTS",
        "HF_EEXISTS: HF_ECANCELLED HF_EEXISTS",
        "HF_EEXISTS: HF_ECANCELLED HF_EEXISTS", NULL};
    struct hf_zookeeper_result *result;

    for (int i = 0; i < 4; i++)
        assert_int_equal(hf_zookeeper_multi_start(f->zookeeper, ops, 2, WAIT_MS,
                                                  (struct hf_zookeeper_done){
                                                      on_pair, &f->log, NULL}),
                         HF_OK);
    log_await(&f->log, 4);
    log_expect(&f->log, 0, lines);
    ops[1].path = "/other";
    assert_int_equal(hf_zookeeper_multi(f->zookeeper, ops, 2, WAIT_MS, &result),
                     HF_OK);
    assert_string_equal(result->results[0]->path, "/n-0000000002");
    hf_zookeeper_result_free(result);
}

struct setting {
    struct zookeeper_fixture *f;
    struct hf_zookeeper_done done;
};

static void set_in_callback(void *arg, const struct hf_zookeeper_event *event)
{
    const struct setting *setting = arg;
    const struct hf_zookeeper_op op = set_a("2", HF_ZOOKEEPER_ANY_VERSION);

    log_add(&setting->f->log, "event %s", event->path);
    assert_int_equal(hf_zookeeper_multi_start(setting->f->zookeeper, &op, 1,
                                              WAIT_MS, setting->done),
                     HF_OK);
}

FIXTURE_TEST(one_is_started_in_the_callback_of_a_watch)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "multi"};
    struct setting setting = {f, log_done(&name)};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = "/a"};

    zookeeper_make(f->zookeeper, "/a", "0");
    assert_int_equal(
        hf_zookeeper_watch_open(
            f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA,
            (struct hf_zookeeper_on_event){set_in_callback, &setting, NULL},
            &op.watch),
        HF_OK);
    zookeeper_expect(f->zookeeper, &op, HF_OK);
    assert_int_equal(
        hf_zookeeper_set(f->zookeeper, "/a", "1", 1, 0, WAIT_MS, NULL), HF_OK);
    (void)log_await_line(&f->log, 0, "multi dropped");
    log_expect(
        &f->log, 0,
        (const char *[]){"event /a", "multi HF_OK", "multi dropped", NULL});
    zookeeper_expect_data(f->zookeeper, "/a", "2");
    hf_zookeeper_watch_free(op.watch);
}

/* ---------------------------------------------------------------- length -- */

#define LONG_OPS 1500

/* 1.5 MB, by default more than servers take and than the client sends. */
FIXTURE_TEST(one_that_is_longer_than_the_server_takes)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    static const char data[1024];
    static struct hf_zookeeper_op ops[LONG_OPS];
    struct hf_zookeeper_result *result;

    zookeeper_make(f->zookeeper, "/a", "");
    for (size_t i = 0; i < LONG_OPS; i++) {
        ops[i] = set_a("", HF_ZOOKEEPER_ANY_VERSION);
        ops[i].data = data;
        ops[i].bytes = sizeof data;
    }
    assert_int_equal(
        hf_zookeeper_multi(f->zookeeper, ops, LONG_OPS, WAIT_MS, &result),
        HF_EINVAL);
    assert_null(result);
    opts.max_request_bytes = 1 << 22;
    zookeeper_reopen(f, &opts);
    /* The server ends the connection, so that its fate is not known. */
    assert_int_equal(
        hf_zookeeper_multi(f->zookeeper, ops, LONG_OPS, WAIT_MS, &result),
        HF_EUNSURE);
    assert_int_equal(result->result_count, 0);
    hf_zookeeper_result_free(result);
    zookeeper_expect_data(f->zookeeper, "/a", "");
    assert_int_equal(log_find(&f->states, 0, "LOST"), LOG_LINES);
}
