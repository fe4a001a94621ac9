/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of all modes (src/zookeeper): which watcher is notified of what, what
 * the server is asked for so that watchers at one path do not end each other,
 * and what becomes of them with the connection and the session.  There is no
 * session here: a test passes what the server says to the set, and reads the
 * packets that the set writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_server_frames.h"
#include "zookeeper/watch_resume.h"

#define ZXID 77

struct watch_set_fixture {
    struct hf_zk_watch_set set;
    struct hf_jute_writer out;
    char events[512];  /* of which watchers were notified, see expect_events */
    char packets[512]; /* that were written, see expect_packets */
};

/* A watcher, which is noted by its name. */
struct set_watcher {
    struct hf_zk_watcher watcher; /* first; .user is the fixture */
    const char *name;
    /* On each event; NULL for none. */
    struct set_watcher *removes;
    struct set_watcher *adds;
    bool frees; /* itself, which it has removed */
};

/* Append a text to ${to}, which has ${size} bytes. */
__attribute__((format(printf, 3, 4))) static void
append(char *to, size_t size, const char *format, ...)
{
    size_t used = strlen(to);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(to + used, size - used, format, args);
    va_end(args);
    assert_true(strlen(to) + 1 < size);
}

/* Check the events since the last call. */
static void expect_events(struct watch_set_fixture *f, const char *expected)
{
    assert_string_equal(f->events, expected);
    f->events[0] = '\0';
}

/* -------------------------------------------------------------- watchers -- */

static const char *name_of(enum hf_zk_event_type type)
{
    return type == HF_ZK_NODE_CREATED            ? "CREATED"
           : type == HF_ZK_NODE_DELETED          ? "DELETED"
           : type == HF_ZK_NODE_DATA_CHANGED     ? "DATA"
           : type == HF_ZK_NODE_CHILDREN_CHANGED ? "CHILDREN"
           : type == HF_ZK_RESYNC                ? "RESYNC"
                                                 : "unknown";
}

/* Add a watcher that the server has set. */
static void add_armed(struct watch_set_fixture *f, struct set_watcher *w)
{
    hf_zk_watch_set_add(&f->set, &w->watcher);
    hf_zk_watcher_move(&w->watcher, HF_ZK_WATCHER_ARMED);
}

static void on_fired(struct hf_zk_watcher *watcher,
                     const struct hf_zk_watch_event *event)
{
    struct set_watcher *w = (struct set_watcher *)(void *)watcher;
    struct watch_set_fixture *f = watcher->user;

    assert_true(hf_zk_watcher_in_set(watcher));
    append(f->events, sizeof f->events, "%s%s %s %.*s",
           f->events[0] != '\0' ? "; " : "", w->name, name_of(event->type),
           event->bytes < 8 ? (int)event->bytes : 8, event->path);
    if (w->adds != NULL && !hf_zk_watcher_in_set(&w->adds->watcher))
        add_armed(f, w->adds);
    if (w->removes != NULL)
        hf_zk_watch_set_remove(&f->set, &w->removes->watcher);
    if (w->frees)
        free(w);
}

static void prepare(struct watch_set_fixture *f, struct set_watcher *w,
                    const char *name, enum hf_zk_watch_mode mode,
                    const char *path)
{
    *w = (struct set_watcher){
        .watcher = {.user = f, .fired = on_fired, .path = path, .mode = mode},
        .name = name};
}

/* A watcher whose request is in flight: what the server is asked is returned,
 * "flag", "no flag", "persistent" or "recursive". */
static const char *ask(struct watch_set_fixture *f, struct set_watcher *w,
                       const char *name, enum hf_zk_watch_mode mode,
                       const char *path)
{
    prepare(f, w, name, mode, path);
    hf_zk_watch_set_add(&f->set, &w->watcher);
    if (mode == HF_ZK_WATCH_DATA || mode == HF_ZK_WATCH_CHILDREN)
        return hf_zk_watch_set_begin_read(&f->set, &w->watcher) ? "flag"
                                                                : "no flag";
    return hf_zk_watch_set_begin_add(&f->set, &w->watcher) ==
                   HF_ZK_WATCH_RECURSIVE
               ? "recursive"
               : "persistent";
}

static bool is_armed(const struct set_watcher *w)
{
    return hf_zk_watcher_is_armed(&w->watcher);
}

/* The read for a one-shot watcher is answered. */
static void read_answered(struct set_watcher *w)
{
    hf_zk_watcher_read_answered(&w->watcher, HF_ZK_READ_FOUND_NODE);
}

/* The server has answered the AddWatch of a path. */
static void add_watch_answered(struct watch_set_fixture *f, const char *path,
                               enum hf_zk_server_mode server_mode)
{
    hf_zk_watch_set_mode_answered(&f->set, path, strlen(path), server_mode);
}

/* The same, and the request is answered. */
static const char *watch(struct watch_set_fixture *f, struct set_watcher *w,
                         const char *name, enum hf_zk_watch_mode mode,
                         const char *path)
{
    const char *asked = ask(f, w, name, mode, path);

    if (mode == HF_ZK_WATCH_DATA || mode == HF_ZK_WATCH_CHILDREN) {
        read_answered(w);
    } else {
        add_watch_answered(f, path,
                           strcmp(asked, "recursive") == 0
                               ? HF_ZK_SERVER_RECURSIVE
                               : HF_ZK_SERVER_PERSISTENT);
        hf_zk_watcher_add_answered(&w->watcher);
    }
    return asked;
}

static const char *watch_data(struct watch_set_fixture *f,
                              struct set_watcher *w, const char *name,
                              const char *path)
{
    return watch(f, w, name, HF_ZK_WATCH_DATA, path);
}

/* An exists found no node. */
static void watch_missing(struct watch_set_fixture *f, struct set_watcher *w,
                          const char *name, const char *path)
{
    (void)watch_data(f, w, name, path);
    hf_zk_watcher_move(&w->watcher, HF_ZK_WATCHER_ARMED_MISSING);
}

static const char *watch_children(struct watch_set_fixture *f,
                                  struct set_watcher *w, const char *name,
                                  const char *path)
{
    return watch(f, w, name, HF_ZK_WATCH_CHILDREN, path);
}

static const char *watch_persistent(struct watch_set_fixture *f,
                                    struct set_watcher *w, const char *name,
                                    const char *path)
{
    return watch(f, w, name, HF_ZK_WATCH_PERSISTENT, path);
}

static const char *watch_recursive(struct watch_set_fixture *f,
                                   struct set_watcher *w, const char *name,
                                   const char *path)
{
    return watch(f, w, name, HF_ZK_WATCH_RECURSIVE, path);
}

/* Remove the watcher, and check what the server is asked then. */
static void remove_expecting(struct watch_set_fixture *f, struct set_watcher *w,
                             enum hf_zk_unwatch expected)
{
    assert_int_equal(hf_zk_watch_set_unwatch(&f->set, &w->watcher), expected);
    hf_zk_watch_set_check(&f->set);
}

static void begin(struct watch_set_fixture *f)
{
    *f = (struct watch_set_fixture){0};
    hf_zk_watch_set_init(&f->set);
}

/* Nothing is left unchecked. */
static void end(struct watch_set_fixture *f)
{
    expect_events(f, "");
    hf_zk_watch_set_check(&f->set);
    hf_jute_free(&f->out);
}

#define FIXTURE_TEST(name) TEST_OF(name, watch_set_fixture, begin(f), end(f))

/* ---------------------------------------------------------------- server -- */

static void created(struct watch_set_fixture *f, const char *path)
{
    hf_zk_watch_set_fired(&f->set, HF_ZK_NODE_CREATED, path, strlen(path));
}

static void deleted(struct watch_set_fixture *f, const char *path)
{
    hf_zk_watch_set_fired(&f->set, HF_ZK_NODE_DELETED, path, strlen(path));
}

static void data_changed(struct watch_set_fixture *f, const char *path)
{
    hf_zk_watch_set_fired(&f->set, HF_ZK_NODE_DATA_CHANGED, path, strlen(path));
}

static void children_changed(struct watch_set_fixture *f, const char *path)
{
    hf_zk_watch_set_fired(&f->set, HF_ZK_NODE_CHILDREN_CHANGED, path,
                          strlen(path));
}

/* A new connection resumes the session. */
static void resume(struct watch_set_fixture *f)
{
    f->out.used = 0;
    hf_zk_watch_set_resume(&f->set, &f->out, ZXID);
}

static void resume_answered(struct watch_set_fixture *f)
{
    hf_zk_watch_set_resume_answered(&f->set);
}

/* Append a list of paths as " [/a /b]". */
static void read_list(struct watch_set_fixture *f, struct hf_jute_reader *body)
{
    int32_t count = hf_jute_get_int(body);
    struct hf_jute_piece path;

    append(f->packets, sizeof f->packets, " [");
    for (int32_t i = 0; i < count; i++) {
        path = hf_jute_get_buffer(body);
        append(f->packets, sizeof f->packets, "%s%.*s", i > 0 ? " " : "",
               (int)path.count, path.bytes);
    }
    append(f->packets, sizeof f->packets, "]");
}

/* Check the packets of resume(), each as "OPCODE [LIST] [LIST] ...". */
static void expect_packets(struct watch_set_fixture *f, const char *expected)
{
    struct hf_jute_reader out = {f->out.bytes, f->out.used, false};
    struct hf_jute_reader frame;
    int32_t opcode;

    f->packets[0] = '\0';
    while (zk_server_read_frame(&out, &frame)) {
        assert_int_equal(hf_jute_get_int(&frame), HF_ZK_XID_SET_WATCHES);
        opcode = hf_jute_get_int(&frame);
        assert_int_equal(hf_jute_get_long(&frame), ZXID);
        append(f->packets, sizeof f->packets, "%s%d",
               f->packets[0] != '\0' ? "; " : "", (int)opcode);
        while (frame.left > 0)
            read_list(f, &frame);
        assert_false(frame.failed);
    }
    assert_string_equal(f->packets, expected);
}

/* ---------------------------------------------------------------- events -- */

FIXTURE_TEST(a_one_shot_watcher_is_notified_once)
{
    static struct set_watcher data, children;

    watch_missing(f, &data, "d", "/x");
    (void)watch_children(f, &children, "c", "/x");
    children_changed(f, "/x");
    expect_events(f, "c CHILDREN /x");
    assert_true(is_armed(&data) && !is_armed(&children));
    created(f, "/x");
    expect_events(f, "d CREATED /x");
    assert_false(is_armed(&data));
    data_changed(f, "/x");
    children_changed(f, "/x");
    deleted(f, "/x");
    expect_events(f, "");
    (void)hf_zk_watch_set_begin_read(&f->set, &children.watcher);
    read_answered(&children);
    created(f, "/x");
    data_changed(f, "/x");
    expect_events(f, "");
    deleted(f, "/x");
    expect_events(f, "c DELETED /x");
}

FIXTURE_TEST(a_persistent_watcher_gets_all_events_of_its_path)
{
    static struct set_watcher p;

    (void)watch_persistent(f, &p, "p", "/x");
    created(f, "/x");
    data_changed(f, "/x");
    children_changed(f, "/x");
    deleted(f, "/x");
    expect_events(f, "p CREATED /x; p DATA /x; p CHILDREN /x; p DELETED /x");
    assert_true(is_armed(&p));
    created(f, "/x/y");
    deleted(f, "/");
    data_changed(f, "/xy");
    expect_events(f, "");
}

FIXTURE_TEST(a_recursive_watcher_gets_what_is_at_and_below_its_path)
{
    static struct set_watcher r, root;

    (void)watch_recursive(f, &r, "r", "/x");
    created(f, "/x");
    created(f, "/x/y/z");
    data_changed(f, "/x/y");
    deleted(f, "/x/y/z");
    expect_events(f, "r CREATED /x; r CREATED /x/y/z; r DATA /x/y; "
                     "r DELETED /x/y/z");
    assert_true(is_armed(&r));
    created(f, "/xy");
    created(f, "/");
    created(f, "/y/x");
    expect_events(f, "");
    (void)watch_recursive(f, &root, "/", "/");
    created(f, "/");
    data_changed(f, "/x/y");
    created(f, "/z");
    expect_events(f, "/ CREATED /; r DATA /x/y; / DATA /x/y; / CREATED /z");
}

FIXTURE_TEST(a_recursive_watcher_gets_no_changed_children)
{
    static struct set_watcher r;

    (void)watch_recursive(f, &r, "r", "/x");
    children_changed(f, "/x");
    children_changed(f, "/x/y");
    expect_events(f, "");
}

/* Also paths that no server sends. */
FIXTURE_TEST(a_path_without_a_parent_is_looked_for_alone)
{
    static struct set_watcher r;

    (void)watch_recursive(f, &r, "r", "/");
    created(f, "");
    created(f, "x");
    created(f, "x/y");
    expect_events(f, "");
}

FIXTURE_TEST(an_event_goes_to_all_modes_that_it_concerns)
{
    static struct set_watcher d, c, p, r, above;

    (void)watch_data(f, &d, "d", "/x/y");
    (void)watch_children(f, &c, "c", "/x/y");
    (void)watch_persistent(f, &p, "p", "/x/y");
    (void)watch_recursive(f, &r, "r", "/x/y");
    (void)watch_recursive(f, &above, "above", "/x");
    deleted(f, "/x/y");
    expect_events(f, "d DELETED /x/y; c DELETED /x/y; p DELETED /x/y; "
                     "r DELETED /x/y; above DELETED /x/y");
}

static hf_tree_compare *compare_paths;
static unsigned compared;

static int count_compared(const void *a, const struct hf_tree_node *node)
{
    compared++;
    return compare_paths(a, node);
}

static void count_from_now_on(struct watch_set_fixture *f)
{
    compare_paths = f->set.paths.compare;
    f->set.paths.compare = count_compared;
}

/* How often an event of ${path} compares with a path of the set. */
static unsigned cost_of(struct watch_set_fixture *f, const char *path)
{
    compared = 0;
    created(f, path);
    return compared;
}

/* The set has one path, so each search compares once: to mark the watchers, and
 * to find marked ones.  Where AddWatch was sent, an event is one of the parent
 * too, whose watchers have two modes. */
FIXTURE_TEST(only_recursive_watchers_cost_searches_above_the_path)
{
    static struct set_watcher d, second, r;

    count_from_now_on(f);
    (void)watch_data(f, &d, "d", "/other");
    assert_int_equal(cost_of(f, "/a"), 2);
    assert_int_equal(cost_of(f, "/a/b/c/d/e/f"), 2);
    hf_zk_watch_set_remove(&f->set, &d.watcher);
    (void)watch_recursive(f, &r, "r", "/other");
    assert_int_equal(cost_of(f, "/a"), 2 + 2 * 2 + 4);
    assert_int_equal(cost_of(f, "/a/b/c/d/e/f"), 2 + 2 * 7 + 4);
    hf_zk_watch_set_remove(&f->set, &r.watcher);
    (void)watch_data(f, &d, "d", "/other");
    assert_int_equal(cost_of(f, "/a/b/c/d/e/f"), 2 + 4);
    compared = 0;
    resume(f); /* the new connection has seen no AddWatch */
    (void)watch_data(f, &second, "second", "/other");
    assert_int_equal(compared, 3); /* to list it, to add another, to ask */
    assert_int_equal(cost_of(f, "/a/b/c/d/e/f"), 2);
}

/* ------------------------------------------ several watchers at one path -- */

FIXTURE_TEST(a_persistent_watch_serves_the_reads_of_its_path)
{
    static struct set_watcher d, c, p, r, late, below, above, other;

    assert_string_equal(watch_data(f, &d, "d", "/x/y"), "flag");
    assert_string_equal(watch_persistent(f, &p, "p", "/x/y"), "persistent");
    assert_string_equal(watch_children(f, &c, "c", "/x/y"), "no flag");
    assert_string_equal(watch_data(f, &late, "late", "/x/y"), "no flag");
    assert_string_equal(watch_data(f, &below, "below", "/x/y/z"), "flag");
    assert_string_equal(watch_data(f, &above, "above", "/x"), "flag");
    assert_string_equal(watch_recursive(f, &r, "r", "/r"), "recursive");
    assert_string_equal(watch_children(f, &other, "other", "/r"), "no flag");
    data_changed(f, "/x/y");
    expect_events(f, "d DATA /x/y; late DATA /x/y; p DATA /x/y");
    assert_false(hf_zk_watch_set_begin_read(&f->set, &d.watcher));
}

FIXTURE_TEST(add_watch_asks_for_what_all_at_the_path_need)
{
    static struct set_watcher p, r, late, after;

    assert_string_equal(watch_persistent(f, &p, "p", "/x"), "persistent");
    assert_string_equal(watch_recursive(f, &r, "r", "/x"), "recursive");
    assert_string_equal(watch_persistent(f, &late, "late", "/x"), "recursive");
    hf_zk_watch_set_remove(&f->set, &r.watcher);
    assert_string_equal(watch_persistent(f, &after, "a", "/x"), "persistent");
}

FIXTURE_TEST(a_recursive_watch_serves_who_waits_for_children)
{
    static struct set_watcher p, c, r;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_children(f, &c, "c", "/x");
    created(f, "/x/y");
    expect_events(f, "");
    (void)watch_recursive(f, &r, "r", "/x");
    created(f, "/x/y/z");
    data_changed(f, "/x/y");
    expect_events(f, "r CREATED /x/y/z; r DATA /x/y");
    created(f, "/x/y");
    expect_events(f, "r CREATED /x/y; c CHILDREN /x; p CHILDREN /x");
    deleted(f, "/x/y");
    expect_events(f, "r DELETED /x/y; p CHILDREN /x");
    assert_false(hf_zk_watch_set_begin_read(&f->set, &c.watcher));
    read_answered(&c);
    deleted(f, "/x");
    expect_events(f, "c DELETED /x; p DELETED /x; r DELETED /x");
}

FIXTURE_TEST(children_of_the_root_have_a_parent)
{
    static struct set_watcher c, r;

    (void)watch_recursive(f, &r, "r", "/");
    assert_string_equal(watch_children(f, &c, "c", "/"), "no flag");
    deleted(f, "/x");
    expect_events(f, "r DELETED /x; c CHILDREN /");
    created(f, "/");
    expect_events(f, "r CREATED /");
}

/* Servers from 3.9 on keep both watches. */
FIXTURE_TEST(who_waits_for_children_is_notified_once_of_both_events)
{
    static struct set_watcher c, r;

    assert_string_equal(watch_children(f, &c, "c", "/x"), "flag");
    (void)watch_recursive(f, &r, "r", "/x");
    created(f, "/x/y");
    children_changed(f, "/x");
    expect_events(f, "r CREATED /x/y; c CHILDREN /x");
}

/* Such an event is older than the answer. */
FIXTURE_TEST(nothing_is_reported_before_the_request_is_answered)
{
    static struct set_watcher root, d, p, r;

    (void)watch_recursive(f, &root, "/", "/");
    (void)ask(f, &d, "d", HF_ZK_WATCH_DATA, "/x");
    (void)ask(f, &p, "p", HF_ZK_WATCH_PERSISTENT, "/x");
    (void)ask(f, &r, "r", HF_ZK_WATCH_RECURSIVE, "/x");
    data_changed(f, "/x");
    expect_events(f, "/ DATA /x");
    read_answered(&d);
    hf_zk_watcher_add_answered(&p.watcher);
    hf_zk_watcher_add_answered(&r.watcher);
    expect_events(f, "");
    data_changed(f, "/x");
    expect_events(f, "d DATA /x; p DATA /x; r DATA /x; / DATA /x");
}

/* --------------------------------------------------------------- removal -- */

/* A getData of a missing node sets no watch, but an exists has set one. */
FIXTURE_TEST(a_watch_that_was_kept_for_a_failed_read_is_taken_back)
{
    static struct set_watcher missing, failed, later;

    watch_missing(f, &missing, "missing", "/x");
    (void)ask(f, &failed, "failed", HF_ZK_WATCH_DATA, "/x");
    remove_expecting(f, &missing, HF_ZK_UNWATCH_NOTHING);
    hf_zk_watcher_read_answered(&failed.watcher, HF_ZK_READ_SET_NOTHING);
    remove_expecting(f, &failed, HF_ZK_UNWATCH_DATA);

    /* Its event has ended it. */
    watch_missing(f, &missing, "missing", "/x");
    (void)ask(f, &failed, "failed", HF_ZK_WATCH_DATA, "/x");
    remove_expecting(f, &missing, HF_ZK_UNWATCH_NOTHING);
    hf_zk_watcher_read_answered(&failed.watcher, HF_ZK_READ_SET_NOTHING);
    created(f, "/x");
    remove_expecting(f, &failed, HF_ZK_UNWATCH_NOTHING);

    /* It is handed on. */
    watch_missing(f, &missing, "missing", "/x");
    (void)ask(f, &failed, "failed", HF_ZK_WATCH_DATA, "/x");
    (void)ask(f, &later, "later", HF_ZK_WATCH_DATA, "/x");
    remove_expecting(f, &missing, HF_ZK_UNWATCH_NOTHING);
    hf_zk_watcher_read_answered(&failed.watcher, HF_ZK_READ_SET_NOTHING);
    remove_expecting(f, &failed, HF_ZK_UNWATCH_NOTHING);
    hf_zk_watcher_read_answered(&later.watcher, HF_ZK_READ_SET_NOTHING);
    remove_expecting(f, &later, HF_ZK_UNWATCH_DATA);
}

/* Its owner keeps it until then. */
TEST(the_answer_to_the_read_of_a_removed_watcher_sets_nothing)
{
    struct set_watcher d;
    struct watch_set_fixture f;

    begin(&f);
    (void)ask(&f, &d, "d", HF_ZK_WATCH_DATA, "/x");
    remove_expecting(&f, &d, HF_ZK_UNWATCH_DATA);
    assert_int_equal(d.watcher.reads, 1);
    read_answered(&d);
    assert_int_equal(d.watcher.state, HF_ZK_WATCHER_OUT);
    assert_int_equal(d.watcher.reads, 0);
    data_changed(&f, "/x");
    end(&f);
}

/* The read of the one that was removed carries its flag, and may come to the
 * server after the event that has used up the watch of the other. */
FIXTURE_TEST(a_read_of_a_removed_watcher_may_set_its_watch_again)
{
    static struct set_watcher armed, in_flight, later;

    watch_missing(f, &armed, "armed", "/x");
    (void)ask(f, &in_flight, "in_flight", HF_ZK_WATCH_DATA, "/x");
    remove_expecting(f, &in_flight, HF_ZK_UNWATCH_NOTHING);
    created(f, "/x");
    expect_events(f, "armed CREATED /x");
    remove_expecting(f, &armed, HF_ZK_UNWATCH_DATA);

    /* It is handed on. */
    watch_missing(f, &armed, "armed", "/x");
    (void)ask(f, &in_flight, "in_flight", HF_ZK_WATCH_DATA, "/x");
    remove_expecting(f, &in_flight, HF_ZK_UNWATCH_NOTHING);
    watch_missing(f, &later, "later", "/x");
    remove_expecting(f, &armed, HF_ZK_UNWATCH_NOTHING);
    created(f, "/x");
    expect_events(f, "later CREATED /x");
    remove_expecting(f, &later, HF_ZK_UNWATCH_DATA);
}

FIXTURE_TEST(a_one_shot_watch_is_taken_back_by_its_last_watcher)
{
    static struct set_watcher a, b, c, in_flight, missing;

    (void)watch_data(f, &a, "a", "/x");
    (void)watch_data(f, &b, "b", "/x");
    (void)watch_children(f, &c, "c", "/x");
    remove_expecting(f, &b, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &a, HF_ZK_UNWATCH_DATA);
    remove_expecting(f, &c, HF_ZK_UNWATCH_CHILDREN);
    (void)watch_data(f, &a, "a", "/x");
    (void)ask(f, &in_flight, "in flight", HF_ZK_WATCH_DATA, "/x");
    remove_expecting(f, &a, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &in_flight, HF_ZK_UNWATCH_DATA);
    watch_missing(f, &missing, "missing", "/x");
    remove_expecting(f, &missing, HF_ZK_UNWATCH_DATA);
    (void)watch_data(f, &a, "a", "/x");
    (void)watch_data(f, &b, "b", "/x");
    resume(f);
    remove_expecting(f, &b, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &a, HF_ZK_UNWATCH_DATA);
}

FIXTURE_TEST(a_watch_that_has_fired_is_not_taken_back)
{
    static struct set_watcher a, b, p;

    (void)watch_data(f, &a, "a", "/x");
    (void)watch_data(f, &b, "b", "/x");
    data_changed(f, "/x");
    expect_events(f, "a DATA /x; b DATA /x");
    remove_expecting(f, &a, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &b, HF_ZK_UNWATCH_NOTHING);
    prepare(f, &p, "p", HF_ZK_WATCH_PERSISTENT, "/x");
    hf_zk_watch_set_add(&f->set, &p.watcher); /* and no AddWatch is sent */
    remove_expecting(f, &p, HF_ZK_UNWATCH_NOTHING);
}

FIXTURE_TEST(a_watch_that_another_needs_is_not_taken_back)
{
    static struct set_watcher p, q, r, s;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_persistent(f, &q, "q", "/x");
    remove_expecting(f, &p, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &q, HF_ZK_UNWATCH_ANY);
    (void)watch_recursive(f, &r, "r", "/x");
    (void)ask(f, &s, "s", HF_ZK_WATCH_RECURSIVE, "/x");
    remove_expecting(f, &r, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &s, HF_ZK_UNWATCH_ANY);
    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_recursive(f, &r, "r", "/x");
    remove_expecting(f, &p, HF_ZK_UNWATCH_NOTHING);
}

FIXTURE_TEST(the_last_recursive_watcher_lowers_the_mode)
{
    static struct set_watcher p, q, r, s, t;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_persistent(f, &q, "q", "/x");
    (void)watch_recursive(f, &r, "r", "/x");
    (void)watch_recursive(f, &s, "s", "/x");
    remove_expecting(f, &r, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &s, HF_ZK_UNWATCH_LOWER);
    remove_expecting(f, &q, HF_ZK_UNWATCH_NOTHING);
    (void)watch_recursive(f, &t, "t", "/x");
    remove_expecting(f, &t, HF_ZK_UNWATCH_LOWER);
    remove_expecting(f, &p, HF_ZK_UNWATCH_ANY);
}

/* Until the answer the server sends what the recursive watch has; then it
 * reports the children itself. */
FIXTURE_TEST(children_are_derived_until_the_lower_mode_is_answered)
{
    static struct set_watcher p, c, late, r;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_recursive(f, &r, "r", "/x");
    (void)watch_children(f, &c, "c", "/x");
    remove_expecting(f, &r, HF_ZK_UNWATCH_LOWER);
    created(f, "/x/y");
    expect_events(f, "c CHILDREN /x; p CHILDREN /x");
    (void)watch_children(f, &late, "late", "/x");
    created(f, "/x/y");
    expect_events(f, "late CHILDREN /x; p CHILDREN /x");
    add_watch_answered(f, "/x", HF_ZK_SERVER_PERSISTENT);
    created(f, "/x/y");
    expect_events(f, "");
}

/* Another watch may show the children before the answer. */
FIXTURE_TEST(children_are_derived_when_the_recursive_watch_is_set)
{
    static struct set_watcher p, r;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)ask(f, &r, "r", HF_ZK_WATCH_RECURSIVE, "/x");
    created(f, "/x/y");
    expect_events(f, "");
    add_watch_answered(f, "/x", HF_ZK_SERVER_RECURSIVE);
    created(f, "/x/y");
    expect_events(f, "p CHILDREN /x");
}

FIXTURE_TEST(a_watch_serves_reads_after_its_watcher_has_gone)
{
    static struct set_watcher p, d, c, late, last;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_data(f, &d, "d", "/x");
    (void)ask(f, &c, "c", HF_ZK_WATCH_CHILDREN, "/x");
    remove_expecting(f, &p, HF_ZK_UNWATCH_NOTHING);
    assert_string_equal(watch_data(f, &late, "late", "/x"), "no flag");
    remove_expecting(f, &c, HF_ZK_UNWATCH_NOTHING);
    (void)ask(f, &c, "c", HF_ZK_WATCH_CHILDREN, "/x");
    data_changed(f, "/x");
    expect_events(f, "d DATA /x; late DATA /x");
    remove_expecting(f, &late, HF_ZK_UNWATCH_NOTHING);
    remove_expecting(f, &c, HF_ZK_UNWATCH_ANY);
    assert_true(hf_zk_watch_set_begin_read(&f->set, &d.watcher));
    assert_string_equal(watch_data(f, &last, "last", "/x"), "flag");
}

/* The event of an earlier watch says nothing of a read in flight. */
FIXTURE_TEST(an_event_before_the_answer_leaves_the_watch)
{
    static struct set_watcher p, c;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch(f, &c, "c", HF_ZK_WATCH_CHILDREN, "/x");
    assert_false(hf_zk_watch_set_begin_read(&f->set, &c.watcher));
    deleted(f, "/x");
    expect_events(f, "c DELETED /x; p DELETED /x");
    remove_expecting(f, &p, HF_ZK_UNWATCH_NOTHING);
    read_answered(&c);
    remove_expecting(f, &c, HF_ZK_UNWATCH_ANY);
}

/* ---------------------------------------------------------------- resume -- */

FIXTURE_TEST(without_armed_watchers_nothing_is_set_again)
{
    static struct set_watcher d, p;

    (void)ask(f, &d, "d", HF_ZK_WATCH_DATA, "/x");
    (void)ask(f, &p, "p", HF_ZK_WATCH_PERSISTENT, "/x");
    resume(f);
    expect_packets(f, "");
    assert_int_equal(f->set.answers_due, 0);
    resume_answered(f); /* of a server that lies */
    assert_true(hf_zk_watch_set_begin_read(&f->set, &d.watcher));
}

FIXTURE_TEST(one_shot_watchers_are_set_again_by_set_watches)
{
    static struct set_watcher d, c, missing, same, idle;

    (void)watch_data(f, &d, "d", "/d");
    (void)watch_children(f, &c, "c", "/c");
    watch_missing(f, &missing, "missing", "/m");
    watch_missing(f, &same, "same", "/m");
    watch_missing(f, &idle, "idle", "/i");
    idle.watcher.not_set_again = true;
    resume(f);
    expect_packets(f, "101 [/d] [/m] [/c]");
    assert_false(is_armed(&idle));
    assert_int_equal(f->set.answers_due, 1);
    resume_answered(f);
    expect_events(f, "");
    created(f, "/m");
    expect_events(f, "missing CREATED /m; same CREATED /m");
}

/* The node was created after the first of them had been armed. */
FIXTURE_TEST(a_path_may_be_in_two_lists)
{
    static struct set_watcher missing, d;

    watch_missing(f, &missing, "missing", "/x");
    (void)watch_data(f, &d, "d", "/x");
    resume(f);
    expect_packets(f, "101 [/x] [/x] []");
}

FIXTURE_TEST(all_modes_are_set_again_by_set_watches2)
{
    static struct set_watcher d, c, missing, p, q, r;

    (void)watch_persistent(f, &p, "p", "/p");
    (void)watch_data(f, &d, "d", "/p"); /* served by p, and listed */
    (void)watch_children(f, &c, "c", "/r");
    (void)watch_persistent(f, &q, "q", "/r"); /* served by r, not listed */
    (void)watch_recursive(f, &r, "r", "/r");
    watch_missing(f, &missing, "missing", "/m");
    resume(f);
    expect_packets(f, "105 [/p] [/m] [/r] [/p] [/r]");
    hf_zk_watch_set_remove(&f->set, &r.watcher);
    hf_zk_watch_set_remove(&f->set, &d.watcher);
    hf_zk_watch_set_remove(&f->set, &c.watcher);
    hf_zk_watch_set_remove(&f->set, &missing.watcher);
    resume(f);
    expect_packets(f, "105 [] [] [] [/r /p] []");
}

/* The new server knows only the modes that SetWatches2 has named. */
FIXTURE_TEST(the_modes_of_a_path_are_those_of_the_new_connection)
{
    static struct set_watcher d, c, p, r, idle, late, other;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)ask(f, &r, "r", HF_ZK_WATCH_RECURSIVE, "/x");
    (void)watch_children(f, &c, "c", "/x");
    (void)watch_recursive(f, &idle, "idle", "/i");
    idle.watcher.not_set_again = true;
    resume(f);
    expect_packets(f, "105 [] [] [/x] [/x] []");
    assert_string_equal(watch_data(f, &d, "d", "/x"), "no flag");
    assert_string_equal(watch_data(f, &late, "late", "/i"), "flag");
    hf_zk_watch_set_remove(&f->set, &r.watcher);
    created(f, "/x/y"); /* no recursive watch is at the server */
    expect_events(f, "");
    (void)watch_recursive(f, &r, "r", "/r");
    (void)watch_children(f, &other, "o", "/r");
    resume(f);
    resume_answered(f);
    expect_events(f, "r RESYNC /r; p RESYNC /x");
    created(f, "/r/y");
    expect_events(f, "r CREATED /r/y; o CHILDREN /r");
}

/* More than fit into one packet.  expect_packets() checks the zxid of each. */
FIXTURE_TEST(packets_of_one_resume_carry_one_zxid)
{
    enum { LONG = 70000, WATCHERS = 4 };
    static const enum hf_zk_watch_mode modes[WATCHERS] = {
        HF_ZK_WATCH_DATA, HF_ZK_WATCH_CHILDREN, HF_ZK_WATCH_PERSISTENT,
        HF_ZK_WATCH_RECURSIVE};
    static const int32_t listed[2][5] = {{1, 0, 1, 0, 0}, {0, 0, 0, 1, 1}};
    static char paths[WATCHERS][LONG];
    static struct set_watcher watchers[WATCHERS];
    struct hf_jute_reader out;

    for (int i = 0; i < WATCHERS; i++) {
        memset(paths[i], 'a' + i, LONG - 1);
        (void)watch(f, &watchers[i], "w", modes[i], paths[i]);
    }
    resume(f);
    assert_int_equal(f->set.answers_due, 2);
    out = (struct hf_jute_reader){f->out.bytes, f->out.used, false};
    for (int packet = 0; packet < 2; packet++) {
        (void)hf_jute_get_int(&out);
        assert_int_equal(hf_jute_get_int(&out), HF_ZK_XID_SET_WATCHES);
        assert_int_equal(hf_jute_get_int(&out), HF_ZK_SET_WATCHES2);
        assert_int_equal(hf_jute_get_long(&out), ZXID);
        for (int list = 0; list < 5; list++) {
            assert_int_equal(hf_jute_get_int(&out), listed[packet][list]);
            if (listed[packet][list] > 0)
                assert_int_equal(hf_jute_get_buffer(&out).count, LONG - 1);
        }
    }
    assert_true(out.left == 0 && !out.failed);
    resume_answered(f);
    expect_events(f, "");
    resume_answered(f);
    expect_events(f, "w RESYNC dddddddd; w RESYNC cccccccc");
}

FIXTURE_TEST(each_watcher_of_add_watch_is_to_read_again_once)
{
    static struct set_watcher p, q, r, d, unarmed;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_persistent(f, &q, "q", "/x");
    (void)watch_recursive(f, &r, "r", "/r");
    (void)watch_data(f, &d, "d", "/x");
    (void)ask(f, &unarmed, "unarmed", HF_ZK_WATCH_PERSISTENT, "/x");
    resume(f);
    expect_events(f, "");
    resume_answered(f);
    expect_events(f, "r RESYNC /r; q RESYNC /x; p RESYNC /x");
    resume_answered(f);
    expect_events(f, "");
    data_changed(f, "/x");
    expect_events(f, "d DATA /x; p DATA /x; q DATA /x");
}

FIXTURE_TEST(reading_again_comes_before_the_first_event)
{
    static struct set_watcher p, r, other, d;

    (void)watch_persistent(f, &p, "p", "/r/x");
    (void)watch_recursive(f, &r, "r", "/r");
    (void)watch_persistent(f, &other, "other", "/o");
    (void)watch_data(f, &d, "d", "/r/x");
    resume(f);
    deleted(f, "/r/x");
    expect_events(f, "d DELETED /r/x; p RESYNC /r/x; p DELETED /r/x; "
                     "r RESYNC /r; r DELETED /r/x");
    created(f, "/r/x");
    expect_events(f, "p CREATED /r/x; r CREATED /r/x");
    resume_answered(f);
    expect_events(f, "other RESYNC /o");
}

/* The answers of the connection that was cut do not count. */
FIXTURE_TEST(a_second_resume_begins_again)
{
    static struct set_watcher p;

    (void)watch_persistent(f, &p, "p", "/x");
    resume(f);
    resume(f);
    resume_answered(f);
    expect_events(f, "p RESYNC /x");
    resume_answered(f);
    expect_events(f, "");
    resume(f);
    hf_zk_watch_set_remove(&f->set, &p.watcher); /* and is added as a new one */
    add_armed(f, &p);
    resume_answered(f);
    expect_events(f, "");
    resume(f);
    resume_answered(f);
    expect_events(f, "p RESYNC /x");
}

/* -------------------------------------------------- the end of a session -- */

FIXTURE_TEST(a_lost_session_ends_one_shot_watchers)
{
    static struct set_watcher d, c, missing, unarmed;

    (void)watch_data(f, &d, "d", "/x");
    (void)watch_children(f, &c, "c", "/x");
    watch_missing(f, &missing, "missing", "/m");
    (void)ask(f, &unarmed, "unarmed", HF_ZK_WATCH_DATA, "/x");
    hf_zk_watch_set_session_lost(&f->set);
    expect_events(f, "missing RESYNC /m; c RESYNC /x; d RESYNC /x");
    assert_false(is_armed(&d) || is_armed(&c) || is_armed(&missing));
    hf_zk_watch_set_session_lost(&f->set);
    expect_events(f, "");
}

FIXTURE_TEST(a_lost_session_leaves_add_watch_to_be_sent_again)
{
    static struct set_watcher p, r, unarmed, d;

    (void)watch_persistent(f, &p, "p", "/x");
    (void)watch_recursive(f, &r, "r", "/x");
    (void)ask(f, &unarmed, "unarmed", HF_ZK_WATCH_PERSISTENT, "/x");
    resume(f); /* and what this makes due is not reported later */
    hf_zk_watch_set_session_lost(&f->set);
    resume_answered(f);
    expect_events(f, "");
    assert_int_equal(p.watcher.state, HF_ZK_WATCHER_LOST);
    assert_int_equal(r.watcher.state, HF_ZK_WATCHER_LOST);
    assert_ptr_equal(hf_zk_watch_set_next_lost(&f->set, NULL), &r.watcher);
    assert_ptr_equal(hf_zk_watch_set_next_lost(&f->set, &r.watcher),
                     &p.watcher);
    assert_null(hf_zk_watch_set_next_lost(&f->set, &p.watcher));
    assert_string_equal(ask(f, &d, "d", HF_ZK_WATCH_DATA, "/x"), "flag");
    assert_int_equal(hf_zk_watch_set_begin_add(&f->set, &p.watcher),
                     HF_ZK_WATCH_RECURSIVE);
    data_changed(f, "/x"); /* of a watch that another has set */
    expect_events(f, "");
    hf_zk_watch_set_session_lost(&f->set); /* before the answer */
    assert_ptr_equal(hf_zk_watch_set_next_lost(&f->set, &r.watcher),
                     &p.watcher);
    (void)hf_zk_watch_set_begin_add(&f->set, &p.watcher);
    hf_zk_watcher_add_answered(&p.watcher);
    expect_events(f, "p RESYNC /x");
    assert_null(hf_zk_watch_set_next_lost(&f->set, &r.watcher));
    data_changed(f, "/x");
    expect_events(f, "p DATA /x");
}

/* ------------------------------------------------------------- callbacks -- */

/* A watcher of each mode at /x, and a recursive one above. */
static void watch_with_all(struct watch_set_fixture *f,
                           struct set_watcher watchers[5])
{
    (void)watch_data(f, &watchers[0], "d", "/x");
    (void)watch_children(f, &watchers[1], "c", "/x");
    (void)watch_persistent(f, &watchers[2], "p", "/x");
    (void)watch_recursive(f, &watchers[3], "r", "/x");
    (void)watch_recursive(f, &watchers[4], "a", "/");
}

/* What is removed, and has not been notified yet, is not notified. */
TEST(a_callback_may_remove_any_watcher)
{
    static const char *const events[5] = {"d DELETED /x", "c DELETED /x",
                                          "p DELETED /x", "r DELETED /x",
                                          "a DELETED /x"};
    struct set_watcher watchers[5];
    struct watch_set_fixture f;
    char expected[128];

    for (int from = 0; from < 5; from++) {
        for (int removed = 0; removed < 5; removed++) {
            begin(&f);
            watch_with_all(&f, watchers);
            watchers[from].removes = &watchers[removed];
            expected[0] = '\0';
            for (int i = 0; i < 5; i++) {
                if (i != removed || i <= from)
                    append(expected, sizeof expected, "%s%s",
                           expected[0] != '\0' ? "; " : "", events[i]);
            }
            deleted(&f, "/x");
            expect_events(&f, expected);
            end(&f);
        }
    }
}

FIXTURE_TEST(a_watcher_added_by_a_callback_gets_the_next_event)
{
    static struct set_watcher watchers[5], added[5];

    watch_with_all(f, watchers);
    for (int i = 0; i < 5; i++) {
        prepare(f, &added[i], "new", watchers[i].watcher.mode, "/x");
        watchers[0].adds = &added[i];
        if (!is_armed(&watchers[0]))
            hf_zk_watcher_move(&watchers[0].watcher, HF_ZK_WATCHER_ARMED);
        deleted(f, "/x");
        assert_null(strstr(f->events, "new"));
        f->events[0] = '\0';
        hf_zk_watch_set_remove(&f->set, &watchers[0].watcher);
        add_armed(f, &watchers[0]);
        deleted(f, "/x");
        assert_non_null(strstr(f->events, "new DELETED /x"));
        f->events[0] = '\0';
        hf_zk_watch_set_remove(&f->set, &added[i].watcher);
    }
}

/* A watcher that frees itself in its callback. */
static struct set_watcher *freed_by_event(struct watch_set_fixture *f,
                                          enum hf_zk_watch_mode mode)
{
    struct set_watcher *w = malloc(sizeof *w);

    assert_non_null(w);
    (void)watch(f, w, "f", mode, "/x");
    w->removes = w;
    w->frees = true;
    return w;
}

FIXTURE_TEST(a_callback_may_free_its_watcher)
{
    static struct set_watcher d;

    for (enum hf_zk_watch_mode m = 0; m < HF_ZK_WATCH_MODES; m++) {
        (void)freed_by_event(f, m);
        (void)freed_by_event(f, m);
    }
    deleted(f, "/x");
    expect_events(f, "f DELETED /x; f DELETED /x; f DELETED /x; f DELETED /x; "
                     "f DELETED /x; f DELETED /x; f DELETED /x; "
                     "f DELETED /x");
    assert_null(f->set.first);
    (void)freed_by_event(f, HF_ZK_WATCH_PERSISTENT);
    resume(f);
    data_changed(f, "/x"); /* which it does not get any more */
    expect_events(f, "f RESYNC /x");
    (void)freed_by_event(f, HF_ZK_WATCH_RECURSIVE);
    (void)freed_by_event(f, HF_ZK_WATCH_PERSISTENT);
    resume(f);
    resume_answered(f);
    expect_events(f, "f RESYNC /x; f RESYNC /x");
    (void)freed_by_event(f, HF_ZK_WATCH_DATA);
    (void)freed_by_event(f, HF_ZK_WATCH_CHILDREN);
    hf_zk_watch_set_session_lost(&f->set);
    expect_events(f, "f RESYNC /x; f RESYNC /x");
    assert_null(f->set.first);
    (void)watch_data(f, &d, "d", "/x");
    data_changed(f, "/x");
    expect_events(f, "d DATA /x");
}

/* Three that would be notified one after the other. */
FIXTURE_TEST(reading_again_may_remove_and_add_others)
{
    static struct set_watcher first, second, third, late;

    (void)watch_persistent(f, &third, "3", "/x");
    (void)watch_persistent(f, &second, "2", "/x");
    (void)watch_persistent(f, &first, "1", "/x");
    prepare(f, &late, "late", HF_ZK_WATCH_PERSISTENT, "/x");
    first.removes = &second;
    first.adds = &late;
    third.removes = &first;
    resume(f);
    resume_answered(f);
    expect_events(f, "1 RESYNC /x; 3 RESYNC /x");
    assert_null(f->set.cursor);
    data_changed(f, "/x");
    expect_events(f, "3 DATA /x; late DATA /x");
}
