/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of the four kinds on a real server, on one connection. */
#include <sched.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

static struct hf_zookeeper_watch *open_watch(struct hf_zookeeper *zookeeper,
                                             const char *path,
                                             enum hf_zookeeper_watch_kind kind,
                                             struct log_name *name)
{
    struct hf_zookeeper_watch *watch;

    assert_int_equal(hf_zookeeper_watch_open(zookeeper, path, kind,
                                             log_events(name), &watch),
                     HF_OK);
    return watch;
}

/* Set ${watch} by an operation of ${kind} on ${path}. */
static void set_watch(struct hf_zookeeper *zookeeper,
                      enum hf_zookeeper_op_kind kind, const char *path,
                      struct hf_zookeeper_watch *watch)
{
    const struct hf_zookeeper_op op = {
        .kind = kind, .path = path, .watch = watch};
    struct hf_zookeeper_result *result = zookeeper_do(zookeeper, &op, HF_OK);

    assert_true(result->watching);
    hf_zookeeper_result_free(result);
}

static void add_watch(struct hf_zookeeper *zookeeper,
                      struct hf_zookeeper_watch *watch)
{
    set_watch(zookeeper, HF_ZOOKEEPER_ADD_WATCH, NULL, watch);
}

static void set(struct hf_zookeeper *zookeeper, const char *path)
{
    assert_int_equal(
        hf_zookeeper_set(zookeeper, path, "x", 1, -1, WAIT_MS, NULL), HF_OK);
}

static void delete (struct hf_zookeeper *zookeeper, const char *path)
{
    assert_int_equal(hf_zookeeper_delete(zookeeper, path, -1, WAIT_MS), HF_OK);
}

static void on_fence(void *arg, const struct hf_zookeeper_result *result)
{
    (void)result;
    log_add(arg, "fence");
}

/* Wait until all callbacks of what was done before have run, and remove the
 * mark of that from the record: callbacks come in order. */
static void fence(struct zookeeper_fixture *f)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_SYNC, .path = "/"};
    size_t at;

    assert_int_equal(
        hf_zookeeper_start(f->zookeeper, &op, WAIT_MS,
                           (struct hf_zookeeper_done){on_fence, &f->log, NULL},
                           NULL),
        HF_OK);
    at = log_await_line(&f->log, 0, "fence");
    assert_int_equal(log_count(&f->log), at + 1);
    f->log.count--;
}

/* The record is ${lines}; it begins anew. */
static void expect_events(struct zookeeper_fixture *f, const char *const *lines)
{
    fence(f);
    log_expect(&f->log, 0, lines);
    f->log.count = 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

FIXTURE_TEST(a_data_watch_has_one_event)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_zookeeper_watch *watch;

    zookeeper_make(f->zookeeper, "/a", "");
    watch = open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA, &name);
    set(f->zookeeper, "/a");
    expect_events(f, (const char *[]){NULL});
    set_watch(f->zookeeper, HF_ZOOKEEPER_GET, "/a", watch);
    zookeeper_make(f->zookeeper, "/a/child", "");
    set(f->zookeeper, "/a");
    set(f->zookeeper, "/a");
    expect_events(f, (const char *[]){"w CHANGED /a", NULL});
    set_watch(f->zookeeper, HF_ZOOKEEPER_EXISTS, "/a", watch);
    delete (f->zookeeper, "/a/child");
    delete (f->zookeeper, "/a");
    expect_events(f, (const char *[]){"w DELETED /a", NULL});
    hf_zookeeper_watch_free(watch);
    expect_events(f, (const char *[]){"w dropped", NULL});
}

FIXTURE_TEST(a_missing_node_is_watched_by_exists_only)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = "/a"};
    struct hf_zookeeper_result *result;

    op.watch = open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA, &name);
    result = zookeeper_do(f->zookeeper, &op, HF_EGONE);
    assert_false(result->watching);
    hf_zookeeper_result_free(result);
    zookeeper_make(f->zookeeper, "/a", "");
    expect_events(f, (const char *[]){NULL});
    delete (f->zookeeper, "/a");
    op.kind = HF_ZOOKEEPER_EXISTS;
    result = zookeeper_do(f->zookeeper, &op, HF_EGONE);
    assert_true(result->watching);
    hf_zookeeper_result_free(result);
    zookeeper_make(f->zookeeper, "/a", "");
    expect_events(f, (const char *[]){"w CREATED /a", NULL});
    hf_zookeeper_watch_free(op.watch);
}

FIXTURE_TEST(a_children_watch_has_one_event)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_zookeeper_watch *watch;

    zookeeper_make(f->zookeeper, "/a", "");
    watch = open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_CHILDREN, &name);
    set_watch(f->zookeeper, HF_ZOOKEEPER_CHILDREN, "/a", watch);
    set(f->zookeeper, "/a");
    zookeeper_make(f->zookeeper, "/a/b", "");
    zookeeper_make(f->zookeeper, "/a/c", "");
    expect_events(f, (const char *[]){"w CHILDREN /a", NULL});
    set_watch(f->zookeeper, HF_ZOOKEEPER_CHILDREN, "/a", watch);
    delete (f->zookeeper, "/a/b");
    expect_events(f, (const char *[]){"w CHILDREN /a", NULL});
    delete (f->zookeeper, "/a/c");
    set_watch(f->zookeeper, HF_ZOOKEEPER_CHILDREN, "/a", watch);
    delete (f->zookeeper, "/a");
    expect_events(f, (const char *[]){"w DELETED /a", NULL});
    hf_zookeeper_watch_free(watch);
}

FIXTURE_TEST(a_persistent_watch_has_every_event)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_zookeeper_watch *watch =
        open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_PERSISTENT, &name);

    add_watch(f->zookeeper, watch);
    zookeeper_make(f->zookeeper, "/a", "");
    set(f->zookeeper, "/a");
    set(f->zookeeper, "/a");
    zookeeper_make(f->zookeeper, "/a/b", "");
    set(f->zookeeper, "/a/b");
    delete (f->zookeeper, "/a/b");
    delete (f->zookeeper, "/a");
    zookeeper_make(f->zookeeper, "/a", "");
    expect_events(f, (const char *[]){"w CREATED /a", "w CHANGED /a",
                                      "w CHANGED /a", "w CHILDREN /a",
                                      "w CHILDREN /a", "w DELETED /a",
                                      "w CREATED /a", NULL});
    hf_zookeeper_watch_free(watch);
    set(f->zookeeper, "/a");
    expect_events(f, (const char *[]){"w dropped", NULL});
}

FIXTURE_TEST(a_recursive_watch_has_all_below)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_zookeeper_watch *watch =
        open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_RECURSIVE, &name);

    add_watch(f->zookeeper, watch);
    zookeeper_make(f->zookeeper, "/a", "");
    zookeeper_make(f->zookeeper, "/ab", "");
    zookeeper_make(f->zookeeper, "/a/b", "");
    zookeeper_make(f->zookeeper, "/a/b/c", "");
    set(f->zookeeper, "/a/b/c");
    delete (f->zookeeper, "/a/b/c");
    expect_events(f, (const char *[]){"w CREATED /a", "w CREATED /a/b",
                                      "w CREATED /a/b/c", "w CHANGED /a/b/c",
                                      "w DELETED /a/b/c", NULL});
    hf_zookeeper_watch_free(watch);
}

/* Every path is that of the user. */
FIXTURE_TEST(the_chroot_is_watched_as_slash)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {{&f->log, "data"}, {&f->log, "rec"}};
    struct hf_zookeeper_watch *data =
        open_watch(f->zookeeper, "/", HF_ZOOKEEPER_WATCH_DATA, &names[0]);
    struct hf_zookeeper_watch *recursive =
        open_watch(f->zookeeper, "/", HF_ZOOKEEPER_WATCH_RECURSIVE, &names[1]);

    set_watch(f->zookeeper, HF_ZOOKEEPER_GET, "/", data);
    set(f->zookeeper, "/");
    expect_events(f, (const char *[]){"data CHANGED /", NULL});
    add_watch(f->zookeeper, recursive);
    set(f->zookeeper, "/");
    zookeeper_make(f->zookeeper, "/a", "");
    expect_events(f, (const char *[]){"rec CHANGED /", "rec CREATED /a", NULL});
    hf_zookeeper_watch_free(data);
    hf_zookeeper_watch_free(recursive);
}

/* A one-shot watch and a persistent one of one path, set in either order and
 * freed in either order, do not disturb each other. */
static void two_kinds_at_one_path(struct zookeeper_fixture *f, bool data_first,
                                  bool free_data_first,
                                  enum hf_zookeeper_watch_kind kind)
{
    struct log_name names[] = {{&f->log, "data"}, {&f->log, "all"}};
    struct hf_zookeeper_watch *data, *all;

    zookeeper_make(f->zookeeper, "/a", "");
    data = open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA, &names[0]);
    all = open_watch(f->zookeeper, "/a", kind, &names[1]);
    if (data_first)
        set_watch(f->zookeeper, HF_ZOOKEEPER_GET, "/a", data);
    add_watch(f->zookeeper, all);
    if (!data_first)
        set_watch(f->zookeeper, HF_ZOOKEEPER_GET, "/a", data);
    set(f->zookeeper, "/a");
    set(f->zookeeper, "/a");
    fence(f);
    assert_int_equal(log_count(&f->log), 3);
    assert_true(log_find(&f->log, 0, "data CHANGED /a") < 2);
    assert_string_equal(f->log.lines[2], "all CHANGED /a");
    set_watch(f->zookeeper, HF_ZOOKEEPER_GET, "/a", data);
    hf_zookeeper_watch_free(free_data_first ? data : all);
    fence(f);
    f->log.count = 0;
    set(f->zookeeper, "/a");
    expect_events(f, (const char *[]){free_data_first ? "all CHANGED /a"
                                                      : "data CHANGED /a",
                                      NULL});
    set(f->zookeeper, "/a");
    expect_events(
        f, (const char *[]){free_data_first ? "all CHANGED /a" : NULL, NULL});
    hf_zookeeper_watch_free(free_data_first ? all : data);
    fence(f);
    f->log.count = 0;
    set(f->zookeeper, "/a");
    delete (f->zookeeper, "/a");
    expect_events(f, (const char *[]){NULL});
}

FIXTURE_TEST(data_and_persistent_in_each_order)
{
    for (unsigned i = 0; i < 8; i++)
        two_kinds_at_one_path(*state, (i & 1) != 0, (i & 2) != 0,
                              (i & 4) != 0 ? HF_ZOOKEEPER_WATCH_PERSISTENT
                                           : HF_ZOOKEEPER_WATCH_RECURSIVE);
}

/* A persistent watch has the events of children itself, which the server does
 * not report where it watches recursively. */
FIXTURE_TEST(persistent_and_recursive_at_one_path)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {{&f->log, "p"}, {&f->log, "r"}};

    zookeeper_make(f->zookeeper, "/a", "");
    for (int order = 0; order < 4; order++) {
        struct hf_zookeeper_watch *watches[] = {
            open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_PERSISTENT,
                       &names[0]),
            open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_RECURSIVE,
                       &names[1])};

        add_watch(f->zookeeper, watches[order & 1]);
        add_watch(f->zookeeper, watches[1 - (order & 1)]);
        zookeeper_make(f->zookeeper, "/a/b", "");
        fence(f);
        assert_int_equal(log_count(&f->log), 2);
        assert_true(log_find(&f->log, 0, "p CHILDREN /a") < 2);
        assert_true(log_find(&f->log, 0, "r CREATED /a/b") < 2);
        hf_zookeeper_watch_free(watches[order >> 1]);
        fence(f);
        f->log.count = 0;
        delete (f->zookeeper, "/a/b");
        expect_events(f, (const char *[]){order >> 1 == 0 ? "r DELETED /a/b"
                                                          : "p CHILDREN /a",
                                          NULL});
        hf_zookeeper_watch_free(watches[1 - (order >> 1)]);
        fence(f);
        f->log.count = 0;
    }
}

/* A recursive watch above shows each child too, also while the server itself
 * reports that the children have changed: before the recursive watch of the
 * path is set, and after it was freed. */
FIXTURE_TEST(children_change_once_below_a_recursive_watch)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {
        {&f->log, "top"}, {&f->log, "p"}, {&f->log, "r"}};
    struct hf_zookeeper_watch *top, *p, *r;

    zookeeper_make(f->zookeeper, "/a", "");
    top =
        open_watch(f->zookeeper, "/", HF_ZOOKEEPER_WATCH_RECURSIVE, &names[0]);
    p = open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_PERSISTENT,
                   &names[1]);
    r = open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_RECURSIVE, &names[2]);
    add_watch(f->zookeeper, top);
    add_watch(f->zookeeper, p);
    zookeeper_make(f->zookeeper, "/a/b", "");
    expect_events(f,
                  (const char *[]){"top CREATED /a/b", "p CHILDREN /a", NULL});
    add_watch(f->zookeeper, r);
    zookeeper_make(f->zookeeper, "/a/c", "");
    expect_events(f, (const char *[]){"r CREATED /a/c", "top CREATED /a/c",
                                      "p CHILDREN /a", NULL});
    hf_zookeeper_watch_free(r);
    expect_events(f, (const char *[]){"r dropped", NULL});
    delete (f->zookeeper, "/a/b");
    expect_events(f,
                  (const char *[]){"top DELETED /a/b", "p CHILDREN /a", NULL});
    hf_zookeeper_watch_free(p);
    hf_zookeeper_watch_free(top);
}

/* Freed while another one of the same kind and path wants the watch. */
FIXTURE_TEST(the_other_watch_keeps_its_event)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {{&f->log, "first"}, {&f->log, "second"}};
    struct hf_zookeeper_watch *watches[2];

    zookeeper_make(f->zookeeper, "/a", "");
    for (size_t i = 0; i < 2; i++) {
        watches[i] =
            open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA, &names[i]);
        set_watch(f->zookeeper, HF_ZOOKEEPER_GET, "/a", watches[i]);
    }
    hf_zookeeper_watch_free(watches[0]);
    set(f->zookeeper, "/a");
    expect_events(f,
                  (const char *[]){"first dropped", "second CHANGED /a", NULL});
    hf_zookeeper_watch_free(watches[1]);
}

/* The answer and the event of an operation that is under way. */
FIXTURE_TEST(a_watch_is_freed_before_its_operation_is_answered)
{
    struct zookeeper_fixture *f = *state;
    struct log_name names[] = {{&f->log, "watch"}, {&f->log, "get"}};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = "/a"};

    zookeeper_make(f->zookeeper, "/a", "");
    for (int i = 0; i < 100; i++) {
        f->log.count = 0;
        op.watch =
            open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA, &names[0]);
        assert_int_equal(hf_zookeeper_start(f->zookeeper, &op, WAIT_MS,
                                            log_done(&names[1]), NULL),
                         HF_OK);
        hf_zookeeper_watch_free(op.watch);
        set(f->zookeeper, "/a");
        fence(f);
        assert_int_equal(log_count(&f->log), 3);
        assert_true(log_find(&f->log, 0, "watch dropped") < 3);
        assert_true(log_find(&f->log, 0, "get HF_OK") < 3);
    }
}

/* What a callback does with its watch. */
struct freeing {
    struct callback_log *log;
    struct hf_zookeeper_watch *watch;
};

static void free_in_callback(void *arg, const struct hf_zookeeper_event *event)
{
    struct freeing *freeing = arg;

    log_add(freeing->log, "freed by %s", event->path);
    hf_zookeeper_watch_free(freeing->watch);
}

static void drop_freed(void *arg)
{
    log_add(((struct freeing *)arg)->log, "dropped");
}

FIXTURE_TEST(a_watch_is_freed_in_its_callback)
{
    struct zookeeper_fixture *f = *state;
    struct freeing freeing = {&f->log, NULL};

    zookeeper_make(f->zookeeper, "/a", "");
    assert_int_equal(hf_zookeeper_watch_open(
                         f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_PERSISTENT,
                         (struct hf_zookeeper_on_event){free_in_callback,
                                                        &freeing, drop_freed},
                         &freeing.watch),
                     HF_OK);
    add_watch(f->zookeeper, freeing.watch);
    for (int i = 0; i < 5; i++)
        set(f->zookeeper, "/a");
    (void)log_await_line(&f->log, 0, "dropped");
    expect_events(f, (const char *[]){"freed by /a", "dropped", NULL});
}

/* A callback that runs while its watch is freed by another thread. */
struct slow {
    _Atomic bool entered, freeing, returned;
};

static void on_slow(void *arg, const struct hf_zookeeper_event *event)
{
    struct slow *slow = arg;

    (void)event;
    atomic_store(&slow->entered, true);
    while (!atomic_load(&slow->freeing))
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_store(&slow->returned, true);
}

static bool has_entered(void *arg)
{
    return atomic_load(&((struct slow *)arg)->entered);
}

FIXTURE_TEST(a_free_waits_for_the_callback_that_runs)
{
    struct zookeeper_fixture *f = *state;
    struct slow slow = {false, false, false};
    struct hf_zookeeper_watch *watch;

    assert_int_equal(hf_zookeeper_watch_open(
                         f->zookeeper, "/", HF_ZOOKEEPER_WATCH_PERSISTENT,
                         (struct hf_zookeeper_on_event){on_slow, &slow, NULL},
                         &watch),
                     HF_OK);
    add_watch(f->zookeeper, watch);
    set(f->zookeeper, "/");
    set(f->zookeeper, "/");
    wait_for(has_entered, &slow);
    atomic_store(&slow.freeing, true);
    hf_zookeeper_watch_free(watch);
    assert_true(atomic_load(&slow.returned));
    atomic_store(&slow.returned, false);
    set(f->zookeeper, "/");
    fence(f);
    assert_false(atomic_load(&slow.returned));
}

/* The end of a handle that is begun by an event of it. */
struct closing {
    struct callback_log *log;
    struct hf_zookeeper *zookeeper;
};

static void on_closed(void *arg, const struct hf_result *result)
{
    log_add(arg, "closed %s", hf_status_name(result->status));
}

static void close_in_callback(void *arg, const struct hf_zookeeper_event *event)
{
    const struct closing *closing = arg;

    log_add(closing->log, "event %s", event->path);
    assert_int_equal(hf_zookeeper_close_start(
                         closing->zookeeper,
                         (struct hf_done){on_closed, closing->log, NULL}),
                     HF_OK);
}

FIXTURE_TEST(an_event_closes_its_handle)
{
    struct zookeeper_fixture *f = *state;
    struct closing closing = {&f->log, zookeeper_open(f, "", "", NULL)};
    struct hf_zookeeper_watch *watch;

    assert_int_equal(
        hf_zookeeper_watch_open(
            closing.zookeeper, "/", HF_ZOOKEEPER_WATCH_DATA,
            (struct hf_zookeeper_on_event){close_in_callback, &closing, NULL},
            &watch),
        HF_OK);
    set_watch(closing.zookeeper, HF_ZOOKEEPER_GET, "/", watch);
    set(f->zookeeper, "/");
    (void)log_await_line(&f->log, 0, "closed HF_OK");
    log_expect(&f->log, 0, (const char *[]){"event /", "closed HF_OK", NULL});
    hf_zookeeper_watch_free(watch);
}

FIXTURE_TEST(a_watch_that_does_not_fit_is_refused)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = zookeeper_open(f, "", "", NULL);
    struct log_name name = {&f->log, "w"};
    struct hf_zookeeper_watch *watch =
        open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA, &name);
    const struct hf_zookeeper_op rows[] = {
        {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/a", .watch = watch},
        {.kind = HF_ZOOKEEPER_ADD_WATCH, .watch = watch},
        {.kind = HF_ZOOKEEPER_GET, .path = "/b", .watch = watch},
        {.kind = HF_ZOOKEEPER_GET, .watch = watch},
        {.kind = HF_ZOOKEEPER_SET, .path = "/a", .watch = watch},
    };
    const struct hf_zookeeper_op get = {
        .kind = HF_ZOOKEEPER_GET, .path = "/a", .watch = watch};
    struct hf_zookeeper_watch *none;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            hf_zookeeper_run(f->zookeeper, &rows[i], WAIT_MS, NULL), HF_EINVAL);
    assert_int_equal(hf_zookeeper_run(other, &get, WAIT_MS, NULL), HF_EINVAL);
    assert_int_equal(hf_zookeeper_watch_open(f->zookeeper, "a",
                                             HF_ZOOKEEPER_WATCH_DATA,
                                             log_events(&name), &none),
                     HF_EINVAL);
    assert_null(none);
    assert_int_equal(hf_zookeeper_watch_open(f->zookeeper, "/a", 0,
                                             log_events(&name), &none),
                     HF_EINVAL);
    hf_zookeeper_watch_free(watch);
    expect_events(
        f, (const char *[]){"w dropped", "w dropped", "w dropped", NULL});
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}

/* Let everybody do everything with ${path}, or all but read it. */
static void put_readable(struct zookeeper_fixture *f, const char *path,
                         bool readable)
{
    const struct hf_zookeeper_acl acl = {readable ? HF_ZOOKEEPER_PERM_ALL
                                                  : HF_ZOOKEEPER_PERM_ALL &
                                                        ~HF_ZOOKEEPER_PERM_READ,
                                         "world", "anyone"};

    assert_int_equal(
        hf_zookeeper_set_acl(f->zookeeper, path, &acl, 1, -1, WAIT_MS), HF_OK);
}

/* Read ${path} by ${kind}; after that ${count} watches may be silent. */
static void read_and_count(struct zookeeper_fixture *f,
                           enum hf_zookeeper_op_kind kind, const char *path,
                           hf_status wanted, size_t count)
{
    const struct hf_zookeeper_op op = {.kind = kind, .path = path};

    zookeeper_expect(f->zookeeper, &op, wanted);
    assert_int_equal(hf_zookeeper_unreadable(f->zookeeper), count);
}

FIXTURE_TEST(watches_of_what_may_not_be_read_are_counted)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "w"};
    struct hf_zookeeper_watch *one_shot, *persistent, *top;
    struct hf_zookeeper_op refused = {.kind = HF_ZOOKEEPER_GET, .path = "/a"};

    zookeeper_make(f->zookeeper, "/a", "");
    zookeeper_make(f->zookeeper, "/b", "");
    one_shot = open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_DATA, &name);
    persistent =
        open_watch(f->zookeeper, "/a", HF_ZOOKEEPER_WATCH_PERSISTENT, &name);
    top = open_watch(f->zookeeper, "/", HF_ZOOKEEPER_WATCH_RECURSIVE, &name);
    put_readable(f, "/a", false);
    put_readable(f, "/b", false);
    refused.watch = one_shot; /* it is not set by that */
    zookeeper_expect(f->zookeeper, &refused, HF_EDENIED);
    assert_int_equal(hf_zookeeper_unreadable(f->zookeeper), 0);
    add_watch(f->zookeeper, persistent);
    add_watch(f->zookeeper, top);
    assert_int_equal(hf_zookeeper_unreadable(f->zookeeper), 0);
    read_and_count(f, HF_ZOOKEEPER_GET, "/b", HF_EDENIED, 0);
    read_and_count(f, HF_ZOOKEEPER_GET, "/a", HF_EDENIED, 1);
    read_and_count(f, HF_ZOOKEEPER_CHILDREN, "/a", HF_EDENIED, 1);
    put_readable(f, "/a", true);
    set_watch(f->zookeeper, HF_ZOOKEEPER_GET, "/a", one_shot);
    assert_int_equal(hf_zookeeper_unreadable(f->zookeeper), 0);
    put_readable(f, "/a", false);
    put_readable(f, "/", false);
    read_and_count(f, HF_ZOOKEEPER_CHILDREN, "/a", HF_EDENIED, 2);
    read_and_count(f, HF_ZOOKEEPER_CHILDREN, "/", HF_EDENIED, 3);
    hf_zookeeper_watch_free(one_shot);
    assert_int_equal(hf_zookeeper_unreadable(f->zookeeper), 2);
    put_readable(f, "/", true);
    read_and_count(f, HF_ZOOKEEPER_GET, "/", HF_OK, 1);
    delete (f->zookeeper, "/a");
    read_and_count(f, HF_ZOOKEEPER_EXISTS, "/a", HF_EGONE, 0);
    hf_zookeeper_watch_free(persistent);
    hf_zookeeper_watch_free(top);
}
