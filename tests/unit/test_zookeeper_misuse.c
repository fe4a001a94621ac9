/* SPDX-License-Identifier: Apache-2.0 */
/* What the public client of ZooKeeper (src/zookeeper_client) refuses, and with
 * which text; calls from within callbacks and while a handle is closed; and
 * watches that are freed while operations that set them are under way. */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <holdfast/zookeeper.h>

#include "base/time_math.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper_fake_server.h"

/* An end that a test that passes never reaches. */
#define TIMEOUT_MS 20000

static struct zookeeper_fake_server server;

static void wait_until(bool (*condition)(void *arg), void *arg)
{
    const struct timespec while_others_work = {0, 1000000};

    for (int ms = 0; !condition(arg); ms++) {
        assert_true(ms < TIMEOUT_MS);
        (void)nanosleep(&while_others_work, NULL);
    }
}

static bool is_released(void *arg)
{
    (void)arg;
    return heap_live() == 0;
}

static struct hf_zookeeper *open_at(const char *url)
{
    struct hf_zookeeper *z;

    assert_int_equal(hf_zookeeper_open(url, NULL, &z), HF_OK);
    return z;
}

static void close_and_check(struct hf_zookeeper *z)
{
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    wait_until(is_released, NULL);
}

static void expect_error(hf_status status, const char *text)
{
    assert_int_equal(hf_last_error()->status, status);
    assert_string_equal(hf_last_error()->text, text);
}

/* --------------------------------------------------------------- opening -- */

static void no_event(void *arg, const struct hf_zookeeper_event *event)
{
    (void)arg;
    (void)event;
}

static void count_drop(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

TEST(options_are_checked)
{
    static const struct hf_zookeeper_credential nameless = {"", "a:b", 3};
    static const struct hf_zookeeper_credential no_bytes = {"digest", NULL, 3};
    const struct hf_zookeeper_opts defaults = HF_ZOOKEEPER_OPTS_INIT;
    static const char *const texts[] = {
        "the delivery is 7, expected HF_DELIVER_THREAD or HF_DELIVER_DISPATCH",
        "'max_request_bytes' is 1023; expected from 1024 to 1073741824 bytes",
        "'max_answer_bytes' is 1073741825; expected from 1024 to 1073741824 "
        "bytes",
        "credential 1 has no scheme, or no bytes; expected something like "
        "\"digest\" and \"user:password\"",
        "credential 1 has no scheme, or no bytes; expected something like "
        "\"digest\" and \"user:password\"",
    };
    struct hf_zookeeper_opts rows[] = {defaults, defaults, defaults, defaults,
                                       defaults};
    struct hf_zookeeper *z;
    atomic_int drops = 0;

    rows[0].delivery = (enum hf_delivery)7;
    rows[1].max_request_bytes = 1023;
    rows[2].max_answer_bytes = ((size_t)1 << 30) + 1;
    rows[3].credentials = &nameless;
    rows[4].credentials = &no_bytes;
    for (int i = 0; i < 5; i++) {
        rows[i].credential_count = i >= 3;
        rows[i].on_state = (struct hf_on_state){NULL, &drops, count_drop};
        assert_int_equal(hf_zookeeper_open(server.url, &rows[i], &z),
                         HF_EINVAL);
        assert_null(z);
        assert_memory_equal(hf_last_error()->text, "hf_zookeeper_open: ", 19);
        assert_string_equal(hf_last_error()->text + 19, texts[i]);
        assert_int_equal(drops, i + 1);
    }
    assert_int_equal(heap_live(), 0);
}

TEST(urls_are_checked)
{
    static const struct {
        const char *url;
        const char *text;
    } rows[] = {
        {"redis://h", "hf_zookeeper_open: the scheme of the URL is \"redis\"; "
                      "expected \"zk\", or \"zks\" for TLS"},
        {"zk://h?lettuce=1", "lettuce"},
        {"zk://h?token_floor=1", "token_floor"},
        {"zk://h?timeout=-1", "timeout"},
        {"zk://", "zk://"},
        {"", ""},
        {NULL, "hf_zookeeper_open: the URL is NULL; expected "}, /* getenv() */
    };
    struct hf_zookeeper *z;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(hf_zookeeper_open(rows[i].url, NULL, &z), HF_EURL);
        assert_null(z);
        assert_non_null(strstr(hf_last_error()->text, rows[i].text));
    }
    assert_int_equal(heap_live(), 0);
}

/* --------------------------------------------------------------- watches -- */

TEST(watches_are_checked)
{
    struct hf_zookeeper_on_event event = {no_event, NULL, count_drop};
    struct hf_zookeeper *z = open_at(server.url);
    struct hf_zookeeper_watch *watch;
    atomic_int drops = 0;

    event.arg = &drops;
    assert_int_equal(hf_zookeeper_watch_open(z, "/a",
                                             (enum hf_zookeeper_watch_kind)5,
                                             event, &watch),
                     HF_EINVAL);
    assert_null(watch);
    expect_error(HF_EINVAL,
                 "hf_zookeeper_watch_open: the kind is 5; expected "
                 "HF_ZOOKEEPER_WATCH_DATA, _CHILDREN, _PERSISTENT or "
                 "_RECURSIVE");
    assert_int_equal(hf_zookeeper_watch_open(z, "/a/", HF_ZOOKEEPER_WATCH_DATA,
                                             event, &watch),
                     HF_EINVAL);
    event.fn = NULL;
    assert_int_equal(hf_zookeeper_watch_open(z, "/a", HF_ZOOKEEPER_WATCH_DATA,
                                             event, &watch),
                     HF_EINVAL);
    expect_error(HF_EINVAL,
                 "hf_zookeeper_watch_open: the callback is NULL, and nobody "
                 "would be notified; pass a function");
    assert_int_equal(drops, 3);
    close_and_check(z);
}

static struct hf_zookeeper_watch *open_watch(struct hf_zookeeper *z,
                                             const char *path,
                                             enum hf_zookeeper_watch_kind kind)
{
    const struct hf_zookeeper_on_event event = {no_event, NULL, NULL};
    struct hf_zookeeper_watch *watch;

    assert_int_equal(hf_zookeeper_watch_open(z, path, kind, event, &watch),
                     HF_OK);
    return watch;
}

/* Of each kind of operation and of watch, those that fit. */
TEST(an_operation_sets_a_watch_of_its_kind_and_path)
{
    static const struct {
        enum hf_zookeeper_op_kind op;
        const char *fits; /* "y" for each kind of watch that fits */
    } rows[] = {
        {HF_ZOOKEEPER_GET, "ynnn"},      {HF_ZOOKEEPER_EXISTS, "ynnn"},
        {HF_ZOOKEEPER_CHILDREN, "nynn"}, {HF_ZOOKEEPER_ADD_WATCH, "nnyy"},
        {HF_ZOOKEEPER_SYNC, "nnnn"},     {HF_ZOOKEEPER_SET, "nnnn"},
        {HF_ZOOKEEPER_WHO_AM_I, "nnnn"},
    };
    struct hf_zookeeper *z = open_at(server.url);
    struct hf_zookeeper_watch *watch;
    struct hf_zookeeper_op op;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int kind = 1; kind <= 4; kind++) {
            watch = open_watch(z, "/a", (enum hf_zookeeper_watch_kind)kind);
            op = (struct hf_zookeeper_op){
                .kind = rows[i].op, .path = "/a", .watch = watch};
            assert_int_equal(hf_zookeeper_run(z, &op, 5000, NULL),
                             rows[i].fits[kind - 1] == 'y' ? HF_OK : HF_EINVAL);
            hf_zookeeper_watch_free(watch);
        }
    }
    watch = open_watch(z, "/a", HF_ZOOKEEPER_WATCH_DATA);
    op = (struct hf_zookeeper_op){
        .kind = HF_ZOOKEEPER_GET, .path = "/b", .watch = watch};
    assert_int_equal(hf_zookeeper_run(z, &op, 5000, NULL), HF_EINVAL);
    expect_error(HF_EINVAL,
                 "hf_zookeeper_run: the watch is of the path /a, and the "
                 "operation is not; expected the same path");
    hf_zookeeper_watch_free(watch);
    close_and_check(z);
}

TEST(a_watch_belongs_to_one_handle)
{
    struct hf_zookeeper *z = open_at(server.url);
    struct hf_zookeeper *other = open_at("zk://127.0.0.1:1");
    struct hf_zookeeper_watch *watch =
        open_watch(other, "/a", HF_ZOOKEEPER_WATCH_DATA);
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_GET, .path = "/a", .watch = watch};

    assert_int_equal(hf_zookeeper_run(z, &op, 5000, NULL), HF_EINVAL);
    expect_error(HF_EINVAL,
                 "hf_zookeeper_run: the watch belongs to another handle; "
                 "expected one that was opened with this one");
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
    hf_zookeeper_watch_free(watch);
    close_and_check(z);
}

/* Operations go on without the watch that they were to set. */
TEST(a_watch_is_freed_while_operations_set_it)
{
    struct hf_zookeeper *z = open_at(server.url);
    struct hf_zookeeper_watch *watch =
        open_watch(z, "/a", HF_ZOOKEEPER_WATCH_DATA);
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_GET, .path = "/a", .watch = watch};
    const struct hf_zookeeper_done no_done = {NULL, NULL, NULL};

    server.silent = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_zookeeper_start(z, &op, HF_FOREVER, no_done, NULL),
                         HF_OK);
    hf_zookeeper_watch_free(watch);
    server.silent = false;
    assert_int_equal(hf_zookeeper_close(z), HF_OK);
    wait_until(is_released, NULL);
}

/* ---------------------------------------------------------------- chroot -- */

static void note_path(void *arg, const struct hf_zookeeper_event *event)
{
    char *path = arg;

    (void)strcpy(path + 1, event->path);
    atomic_thread_fence(memory_order_release);
    *(atomic_char *)(void *)path = 'x';
}

static bool has_path(void *arg)
{
    return *(atomic_char *)arg == 'x';
}

/* Fire an event of ${sent}: the user gets ${expected}. */
static void expect_path(char *path, const char *sent, const char *expected)
{
    *(atomic_char *)(void *)path = '\0';
    zookeeper_fake_fire(&server, 3, sent);
    wait_until(has_path, path);
    assert_string_equal(path + 1, expected);
}

TEST(paths_of_events_are_below_the_chroot)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    static char path[64];
    char url[96];
    struct hf_zookeeper_on_event event = {note_path, path, NULL};
    struct hf_zookeeper *z;

    (void)strcat(strcpy(url, server.url), "/app");
    z = open_at(url);
    assert_int_equal(hf_zookeeper_watch_open(z, "/",
                                             HF_ZOOKEEPER_WATCH_RECURSIVE,
                                             event, &op.watch),
                     HF_OK);
    assert_int_equal(hf_zookeeper_run(z, &op, 5000, NULL), HF_OK);
    expect_path(path, "/app", "/");
    expect_path(path, "/app/a", "/a");
    expect_path(path, "/app/a/b", "/a/b");
    hf_zookeeper_watch_free(op.watch);
    close_and_check(z);
}

/* ------------------------------------------------------- from a callback -- */

/* What a callback tries, and what it gets. */
struct misuse_fixture {
    struct hf_zookeeper *z;
    hf_status run;
    hf_status close;
    hf_status start;
    hf_status watch;
    atomic_int ended;
    atomic_int dropped;
};

static void drop(void *arg)
{
    atomic_fetch_add(&((struct misuse_fixture *)arg)->dropped, 1);
}

static void try_calls(void *arg, const struct hf_zookeeper_result *result)
{
    const struct hf_zookeeper_on_event event = {no_event, arg, drop};
    const struct hf_zookeeper_done done = {NULL, arg, drop};
    struct misuse_fixture *m = arg;
    struct hf_zookeeper_watch *watch;

    (void)result;
    m->run = hf_zookeeper_get(m->z, "/a", 5000, NULL);
    m->close = hf_zookeeper_close(m->z);
    m->start = hf_zookeeper_get_start(m->z, "/a", 5000, done);
    m->watch = hf_zookeeper_watch_open(m->z, "/a", HF_ZOOKEEPER_WATCH_DATA,
                                       event, &watch);
    hf_zookeeper_watch_free(watch);
    atomic_fetch_add(&m->ended, 1);
}

static bool has_ended(void *arg)
{
    return ((struct misuse_fixture *)arg)->ended > 0;
}

/* Calls that wait are refused, others are not. */
TEST(a_callback_must_not_wait)
{
    struct misuse_fixture m = {.z = open_at(server.url)};
    const struct hf_zookeeper_done done = {try_calls, &m, drop};

    assert_int_equal(hf_zookeeper_get_start(m.z, "/a", 5000, done), HF_OK);
    wait_until(has_ended, &m);
    assert_int_equal(m.run, HF_EREENTRANT);
    assert_int_equal(m.close, HF_EREENTRANT);
    assert_int_equal(m.start, HF_OK);
    assert_int_equal(m.watch, HF_OK);
    close_and_check(m.z);
    assert_int_equal(m.dropped, 3);
}

/* The operation ends because the handle is closed, and its callback starts
 * another. */
TEST(nothing_is_started_while_a_handle_is_closed)
{
    struct misuse_fixture m = {.z = open_at("zk://127.0.0.1:1")};
    const struct hf_zookeeper_done done = {try_calls, &m, drop};

    assert_int_equal(hf_zookeeper_get_start(m.z, "/a", HF_FOREVER, done),
                     HF_OK);
    close_and_check(m.z);
    assert_int_equal(m.ended, 1);
    assert_int_equal(m.run, HF_EREENTRANT);
    assert_int_equal(m.close, HF_EREENTRANT);
    assert_int_equal(m.start, HF_ECLOSED);
    assert_int_equal(m.watch, HF_ECLOSED);
    assert_int_equal(m.dropped, 3);
}

/* ----------------------------------------------------------------- calls -- */

TEST(a_refused_operation_is_dropped)
{
    struct misuse_fixture m = {.z = open_at("zk://127.0.0.1:1")};
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = "a"};
    const struct hf_zookeeper_done done = {try_calls, &m, drop};
    struct hf_zookeeper_result *result = (void *)&m;
    struct hf_op *handle = (void *)&m;

    assert_int_equal(hf_zookeeper_start(m.z, &op, 5000, done, &handle),
                     HF_EINVAL);
    assert_null(handle);
    assert_int_equal(m.dropped, 1);
    assert_int_equal(m.ended, 0);
    assert_int_equal(hf_zookeeper_run(m.z, &op, 5000, &result), HF_EINVAL);
    assert_null(result);
    close_and_check(m.z);
}

/* Before the first connection there is no session. */
TEST(a_session_is_taken_from_a_connected_handle)
{
    struct hf_zookeeper_session session = {.id = 7};
    struct hf_zookeeper *z = open_at("zk://127.0.0.1:1");

    assert_int_equal(hf_zookeeper_session(z, &session), HF_EUNREACHABLE);
    assert_int_equal(session.id, 0);
    expect_error(HF_EUNREACHABLE,
                 "hf_zookeeper_session: there is no session that other "
                 "servers know; expected to be called while the state is "
                 "HF_STATE_CONNECTED and the server has a quorum");
    close_and_check(z);
}

TEST_FILE(zookeeper_misuse)
{
    int failed;

    heap_install();
    zookeeper_fake_start(&server);
    failed = RUN_TESTS(NULL, NULL);
    zookeeper_fake_stop(&server);
    return failed;
}
