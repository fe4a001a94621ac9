/* SPDX-License-Identifier: Apache-2.0 */
/* A session with ZooKeeper (src/zookeeper) around listeners that are no
 * engine and know no locks: which callbacks each gets, and what becomes of
 * calls and of work that waits for room.  It is linked with hf_zookeeper
 * alone. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/time_math.h"
#include "cmocka/runner.h"
#include "zk_server_frames.h"
#include "zookeeper/zk_calls.h"

#define TIMEOUT_MS 10000
#define ID 0x1234

/* A watcher, which is noted by its name. */
struct test_watcher {
    struct hf_zk_watcher watcher; /* first; .user is the fixture */
    const char *name;
    struct test_watcher *removes; /* on its event; or NULL */
    struct test_watcher *adds;
};

struct listener_fixture;

/* A listener, which is noted by its name. */
struct test_listener {
    struct hf_zk_listener listener;
    struct listener_fixture *f;
    const char *name;
    struct test_listener *removes; /* on any callback; or NULL */
    bool drops;                    /* on UP */
    bool ends;                     /* the session, then */
};

struct listener_fixture {
    struct hf_zk_session_config config;
    struct test_listener listener;
    struct hf_zk_window_callbacks worker;
    struct hf_zk_session session;
    struct hf_jute_writer server; /* what it says next */
    struct hf_zk_call calls[3];
    uint64_t connection_number;
    uint64_t now_ms;
    int32_t xid;       /* of the server's next answer */
    unsigned warnings; /* in the log */
    char expect_events[512];
};

__attribute__((format(printf, 2, 3))) static void
fire_event(struct listener_fixture *f, const char *format, ...)
{
    size_t used = strlen(f->expect_events);
    va_list args;

    va_start(args, format);
    if (used > 0)
        used += (size_t)snprintf(f->expect_events + used,
                                 sizeof f->expect_events - used, "; ");
    (void)vsnprintf(f->expect_events + used, sizeof f->expect_events - used,
                    format, args);
    va_end(args);
}

static void expect_events(struct listener_fixture *f, const char *expected)
{
    assert_string_equal(f->expect_events, expected);
    f->expect_events[0] = '\0';
}

/* -------------------------------------------------------------- listener -- */

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    struct listener_fixture *f = user;

    (void)format;
    f->warnings += level == HF_LOG_WARNING;
}

/* Note a callback of ${l}. */
static void note_event(struct test_listener *l, const char *what)
{
    fire_event(l->f, "%s%s", l->name, what);
    if (l->removes != NULL)
        hf_zk_listeners_remove(&l->f->session.listeners, &l->removes->listener);
    l->removes = NULL;
}

static void
on_connection_error(void *user,
                    const struct hf_zk_connection_error *connection_error)
{
    char what[128];

    (void)snprintf(what, sizeof what, "ERROR %s", connection_error->text);
    note_event(user, what);
}

static void on_gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    char what[32];

    (void)elapsed_ms;
    (void)snprintf(what, sizeof what, "GAVE UP %u", retries);
    note_event(user, what);
}

static void on_resuming(void *user, uint64_t least_timeout_ms)
{
    char what[32];

    (void)snprintf(what, sizeof what, "RESUMING %u",
                   (unsigned)least_timeout_ms);
    note_event(user, what);
}

static void on_up(void *user, bool resumed)
{
    struct test_listener *l = user;

    note_event(l, resumed ? "RESUMED" : "UP");
    if (l->ends)
        hf_zk_session_close(&l->f->session);
    if (l->drops)
        hf_zk_session_disconnect(&l->f->session, "not wanted");
}

static void on_suspended(void *user)
{
    note_event(user, "SUSPENDED");
}

static void on_lost(void *user, const char *why)
{
    char what[128];

    (void)snprintf(what, sizeof what, "LOST %s", why);
    note_event(user, what);
}

static void on_closed(void *user)
{
    note_event(user, "CLOSED");
}

static void on_proven(void *user, uint64_t anchor_ms)
{
    char what[32];

    (void)snprintf(what, sizeof what, "PROVEN %u", (unsigned)anchor_ms);
    note_event(user, what);
}

/* Add a watcher that the server has set. */
static void add_armed(struct listener_fixture *f, struct test_watcher *observer)
{
    hf_zk_watch_set_add(&f->session.watches, &observer->watcher);
    hf_zk_watcher_move(&observer->watcher, HF_ZK_WATCHER_ARMED);
}

static void on_fired(struct hf_zk_watcher *watcher,
                     const struct hf_zk_watch_event *event)
{
    struct test_watcher *observer = (struct test_watcher *)(void *)watcher;
    struct listener_fixture *f = watcher->user;

    assert_int_equal(hf_zk_watcher_is_armed(watcher),
                     watcher->mode == HF_ZK_WATCH_PERSISTENT);
    fire_event(f, "%s %d", observer->name, (int)event->type);
    if (observer->removes != NULL)
        hf_zk_watch_set_remove(&f->session.watches,
                               &observer->removes->watcher);
    if (observer->adds != NULL)
        add_armed(f, observer->adds);
}

static void on_begin(void *user, void *work)
{
    fire_event(user, "BEGIN %s", (const char *)work);
}

static void on_refused(void *user, void *work)
{
    fire_event(user, "REFUSED %s", (const char *)work);
}

static void answered(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct listener_fixture *f = user;

    fire_event(f, "ANSWER %d: %d", (int)(call - f->calls), (int)reply->error);
}

/* ---------------------------------------------------------------- server -- */

static void append_frames(struct listener_fixture *f)
{
    hf_zk_session_receive(&f->session, f->connection_number, f->now_ms,
                          f->server.bytes, f->server.used);
    f->server.used = 0;
}

/* Answer the handshake; ${id} 0: the session has ended. */
static void accept_handshake(struct listener_fixture *f, int64_t id)
{
    zk_server_old_session(&f->server, TIMEOUT_MS, id);
    append_frames(f);
}

static void answer(struct listener_fixture *f, int32_t xid, int32_t error)
{
    zk_server_header(&f->server, xid, 77, error);
    append_frames(f);
}

static void fire(struct listener_fixture *f, enum hf_zk_event_type type,
                 const char *path)
{
    zk_server_event(&f->server, -1, (int32_t)type, path);
    append_frames(f);
}

/* ---------------------------------------------------------------- steps -- */

static void send_out(struct listener_fixture *f)
{
    size_t count;

    (void)hf_zk_session_output(&f->session, &count);
    assert_true(count > 0);
    hf_zk_session_written(&f->session, count);
}

static void link_up(struct listener_fixture *f)
{
    assert_non_null(
        hf_zk_session_wanted_server(&f->session, &f->connection_number));
    hf_zk_session_connection_up(&f->session, f->connection_number, f->now_ms);
    send_out(f);
    f->xid = 1;
}

static void set_time(struct listener_fixture *f, uint64_t now_ms)
{
    f->now_ms = now_ms;
    hf_zk_session_set_now(&f->session, now_ms);
}

static void cut(struct listener_fixture *f)
{
    hf_zk_session_connection_down(&f->session, f->connection_number, f->now_ms,
                                  HF_EUNREACHABLE, "reset");
}

static void listen(struct listener_fixture *f, struct test_listener *l,
                   const char *name)
{
    *l = (struct test_listener){
        .f = f,
        .name = name,
        .listener = {.user = l,
                     .connection_error = on_connection_error,
                     .gave_up = on_gave_up,
                     .resuming = on_resuming,
                     .up = on_up,
                     .suspended = on_suspended,
                     .lost = on_lost,
                     .closed = on_closed,
                     .proven = on_proven}};
    hf_zk_listeners_add(&f->session.listeners, &l->listener);
}

/* A session that wants its first connection, to one of ${servers}. */
static void begin_unconnected(struct listener_fixture *f, unsigned window,
                              size_t servers)
{
    struct hf_zk_log log = {f, on_log};

    *f = (struct listener_fixture){.now_ms = 1000};
    f->config = (struct hf_zk_session_config){
        .servers = {{"h", 2181}, {"i", 2181}},
        .server_count = servers,
        .reconnect = hf_reconnect_default,
        .timeout_ms = TIMEOUT_MS,
        .window = window,
    };
    hf_random_seed(&f->config.random, 1);
    f->worker = (struct hf_zk_window_callbacks){f, on_begin, on_refused};
    hf_zk_session_begin(&f->session, &f->config, &log, f->now_ms);
    listen(f, &f->listener, "");
}

static void begin(struct listener_fixture *f, unsigned window)
{
    begin_unconnected(f, window, 1);
    link_up(f);
    accept_handshake(f, ID);
    expect_events(f, "UP");
}

/* Connect once more, when that is due. */
static void connect_again(struct listener_fixture *f)
{
    f->now_ms = hf_zk_session_wake_at_ms(&f->session);
    hf_zk_session_tick(&f->session, f->now_ms);
    link_up(f);
    f->expect_events[0] = '\0';
    accept_handshake(f, ID);
}

static void end(struct listener_fixture *f)
{
    hf_zk_session_free(&f->session);
    hf_jute_free(&f->server);
}

#define FIXTURE_TEST(name, open) TEST_OF(name, listener_fixture, open, end(f))

static struct hf_zk_call *call(struct listener_fixture *f, size_t i)
{
    f->calls[i].answered = answered;
    f->calls[i].user = f;
    return &f->calls[i];
}

static enum hf_zk_work_class class_of(const char *work)
{
    return work[0] == 'u'   ? HF_ZK_URGENT
           : work[0] == 'b' ? HF_ZK_BULK
                            : HF_ZK_NORMAL;
}

static hf_status enter(struct listener_fixture *f, const char *work)
{
    return hf_zk_window_enter(&f->session.window, f->session.wire.calls,
                              class_of(work), &f->worker,
                              (void *)(uintptr_t)work);
}

/* A watcher that is called "children" watches those, one that is called
 * "persistent" all, any other the data. */
static enum hf_zk_watch_mode mode_of(const char *name)
{
    return strcmp(name, "children") == 0     ? HF_ZK_WATCH_CHILDREN
           : strcmp(name, "persistent") == 0 ? HF_ZK_WATCH_PERSISTENT
                                             : HF_ZK_WATCH_DATA;
}

static void watch(struct listener_fixture *f, struct test_watcher *observer,
                  const char *name, const char *path)
{
    *observer = (struct test_watcher){
        .name = name,
        .watcher = {
            .user = f, .fired = on_fired, .path = path, .mode = mode_of(name)}};
    add_armed(f, observer);
}

FIXTURE_TEST(listeners_are_called_in_the_order_of_adding, begin(f, 0))
{
    static struct test_listener a, b;

    listen(f, &a, "a ");
    listen(f, &b, "b ");
    cut(f);
    expect_events(f,
                  "ERROR h:2181: reset; a ERROR h:2181: reset; "
                  "b ERROR h:2181: reset; SUSPENDED; a SUSPENDED; b SUSPENDED");
    hf_zk_listeners_remove(&f->session.listeners, &a.listener);
    hf_zk_session_close(&f->session);
    expect_events(f, "CLOSED; b CLOSED");
}

/* Itself, the next one, and one before it. */
FIXTURE_TEST(a_listener_may_remove_any_from_its_callback, begin(f, 0))
{
    static struct test_listener a, b, c;

    listen(f, &a, "a ");
    listen(f, &b, "b ");
    listen(f, &c, "c ");
    a.removes = &a;
    b.removes = &c;
    cut(f);
    expect_events(f, "ERROR h:2181: reset; a ERROR h:2181: reset; "
                     "b ERROR h:2181: reset; SUSPENDED; b SUSPENDED");
    b.removes = &f->listener;
    hf_zk_session_close(&f->session);
    expect_events(f, "CLOSED; b CLOSED");
    assert_ptr_equal(f->session.listeners.first, &b.listener);
}

/* A listener that ends the connection on UP: those behind it get SUSPENDED,
 * and no UP after it. */
FIXTURE_TEST(a_connection_that_ended_is_not_reported, begin(f, 0))
{
    static struct test_listener a, b;

    listen(f, &a, "a ");
    listen(f, &b, "b ");
    cut(f);
    f->expect_events[0] = '\0';
    a.drops = true;
    set_time(f, 3000);
    hf_zk_session_tick(&f->session, f->now_ms);
    link_up(f);
    expect_events(f, "RESUMING 10000; a RESUMING 10000; b RESUMING 10000");
    accept_handshake(f, ID);
    expect_events(f, "RESUMED; a RESUMED; ERROR h:2181: not wanted; "
                     "a ERROR h:2181: not wanted; b ERROR h:2181: not wanted; "
                     "SUSPENDED; a SUSPENDED; b SUSPENDED");
}

FIXTURE_TEST(a_session_that_is_to_end_is_not_reported, begin(f, 0))
{
    static struct test_listener a, b;

    listen(f, &a, "a ");
    listen(f, &b, "b ");
    cut(f);
    f->expect_events[0] = '\0';
    a.ends = true;
    set_time(f, 3000);
    hf_zk_session_tick(&f->session, f->now_ms);
    link_up(f);
    f->expect_events[0] = '\0';
    accept_handshake(f, ID);
    expect_events(f, "RESUMED; a RESUMED");
    answer(f, 1, HF_ZK_OK);
    expect_events(f, "CLOSED; a CLOSED; b CLOSED");
}

FIXTURE_TEST(calls_are_answered_in_order_and_events_reported, begin(f, 0))
{
    static struct test_watcher b;

    watch(f, &b, "b", "/b");
    hf_zk_send_get_data(&f->session, call(f, 0), "/a", true);
    hf_zk_send_delete(&f->session, call(f, 1), "/b");
    send_out(f);
    answer(f, 1, HF_ZK_NO_NODE);
    fire(f, HF_ZK_NODE_DELETED, "/b");
    f->now_ms = 1100;
    answer(f, 2, HF_ZK_OK);
    expect_events(f, "ANSWER 0: -101; b 2; ANSWER 1: 0");
    assert_int_equal(f->session.zxid, 77);
}

/* Their owners have read again. */
static void arm_again(struct listener_fixture *f)
{
    struct hf_zk_watcher *watcher = f->session.watches.first;

    for (; watcher != NULL; watcher = watcher->next)
        hf_zk_watcher_move(watcher, HF_ZK_WATCHER_ARMED);
}

FIXTURE_TEST(an_event_is_reported_to_each_of_its_mode_and_path, begin(f, 0))
{
    static struct test_watcher a, b, c, other, children;

    watch(f, &a, "a", "/x");
    watch(f, &b, "b", "/x");
    watch(f, &c, "c", "/x");
    watch(f, &other, "other", "/xy");
    watch(f, &children, "children", "/x");
    fire(f, HF_ZK_NODE_CHILDREN_CHANGED, "/x");
    expect_events(f, "children 4");
    arm_again(f);
    fire(f, HF_ZK_NODE_DATA_CHANGED, "/x");
    expect_events(f, "a 3; c 3; b 3");
    arm_again(f);
    fire(f, HF_ZK_NODE_DELETED, "/x");
    expect_events(f, "a 2; c 2; b 2; children 2");
    arm_again(f);
    /* In the middle, at the end, at the beginning, and the last one. */
    hf_zk_watch_set_remove(&f->session.watches, &c.watcher);
    fire(f, HF_ZK_NODE_DATA_CHANGED, "/x");
    expect_events(f, "a 3; b 3");
    arm_again(f);
    hf_zk_watch_set_remove(&f->session.watches, &a.watcher);
    hf_zk_watch_set_remove(&f->session.watches, &a.watcher);
    fire(f, HF_ZK_NODE_DATA_CHANGED, "/x");
    expect_events(f, "b 3");
    hf_zk_watch_set_remove(&f->session.watches, &b.watcher);
    fire(f, HF_ZK_NODE_DATA_CHANGED, "/x");
    expect_events(f, "");
}

/* Also those of another listener: a callback may end anything. */
FIXTURE_TEST(a_notified_listener_may_remove_and_add_others, begin(f, 0))
{
    static struct test_watcher a, b, c, late;

    watch(f, &a, "a", "/x");
    watch(f, &b, "b", "/x");
    watch(f, &c, "c", "/x");
    late = c; /* and not in the set */
    late.name = "late";
    late.watcher.state = HF_ZK_WATCHER_OUT;
    a.removes = &a;
    a.adds = &late;
    c.removes = &b;
    c.adds = &b;
    fire(f, HF_ZK_NODE_DATA_CHANGED, "/x");
    expect_events(f, "a 3; c 3");
    assert_true(hf_zk_watcher_is_armed(&late.watcher));
    arm_again(f);
    fire(f, HF_ZK_NODE_DATA_CHANGED, "/x");
    expect_events(f, "c 3; late 3");
}

static void expect_paths(struct hf_jute_reader *body, const char *const *paths,
                         int32_t count)
{
    assert_int_equal(hf_jute_get_int(body), count);
    for (int32_t i = 0; i < count; i++) {
        struct hf_jute_piece path = hf_jute_get_buffer(body);

        assert_int_equal(path.count, strlen(paths[i]));
        assert_memory_equal(path.bytes, paths[i], path.count);
    }
}

FIXTURE_TEST(a_new_connection_has_each_path_set_again_once, begin(f, 0))
{
    static const char *const data[] = {"/y", "/x"};
    static const char *const children[] = {"/x"};
    static struct test_watcher unarmed, a, b, y, idle, under;
    struct hf_jute_reader out;
    size_t count;

    watch(f, &unarmed, "unarmed", "/x");
    watch(f, &a, "a", "/x");
    watch(f, &b, "b", "/x");
    watch(f, &y, "y", "/y");
    watch(f, &idle, "idle", "/z");
    watch(f, &under, "children", "/x");
    hf_zk_watcher_disarm(&unarmed.watcher);
    idle.watcher.not_set_again = true;
    cut(f);
    f->now_ms = hf_zk_session_wake_at_ms(&f->session);
    hf_zk_session_tick(&f->session, f->now_ms);
    link_up(f);
    accept_handshake(f, ID);
    assert_false(hf_zk_watcher_is_armed(&idle.watcher));
    assert_true(hf_zk_watcher_is_armed(&a.watcher) &&
                hf_zk_watcher_is_armed(&b.watcher) &&
                hf_zk_watcher_is_armed(&under.watcher));
    out.bytes = hf_zk_session_output(&f->session, &count);
    out = (struct hf_jute_reader){.bytes = out.bytes, .left = count};
    assert_int_equal(hf_jute_get_int(&out), count - 4);
    assert_int_equal(hf_jute_get_int(&out), HF_ZK_XID_SET_WATCHES);
    assert_int_equal(hf_jute_get_int(&out), HF_ZK_SET_WATCHES);
    assert_int_equal(hf_jute_get_long(&out), f->session.zxid);
    expect_paths(&out, data, 2);
    expect_paths(&out, NULL, 0);
    expect_paths(&out, children, 1);
    assert_false(out.failed);
}

/* Resume the session on a new connection. */
static void resume(struct listener_fixture *f)
{
    f->now_ms = hf_zk_session_wake_at_ms(&f->session);
    hf_zk_session_tick(&f->session, f->now_ms);
    link_up(f);
    accept_handshake(f, ID);
    assert_non_null(strstr(f->expect_events, "RESUMED"));
    f->expect_events[0] = '\0';
}

/* The answer to SetWatches2 must come first, and without an error. */
FIXTURE_TEST(a_resumed_persistent_watcher_is_to_read_again, begin(f, 0))
{
    static struct test_watcher persistent;

    watch(f, &persistent, "persistent", "/x");
    cut(f);
    resume(f);
    expect_events(f, "");
    answer(f, HF_ZK_XID_SET_WATCHES, HF_ZK_THROTTLED);
    expect_events(f, "ERROR h:2181: the server did not set the watches again "
                     "(-127); SUSPENDED");
    resume(f);
    answer(f, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    expect_events(f, "persistent -2");
    fire(f, HF_ZK_NODE_CHILDREN_CHANGED, "/x");
    expect_events(f, "persistent 4");
}

/* Not the anchor of the handshake once more: that came with UP. */
FIXTURE_TEST(a_write_is_reported_as_proven, begin(f, 0))
{
    set_time(f, 2000);
    hf_zk_send_sync(&f->session, call(f, 0), "/");
    answer(f, 1, HF_ZK_OK);
    expect_events(f, "ANSWER 0: 0");
    set_time(f, 4600);
    hf_zk_send_delete(&f->session, call(f, 0), "/b");
    answer(f, 2, HF_ZK_OK);
    expect_events(f, "PROVEN 2000; ANSWER 0: 0");
}

/* A success of these is a transaction; of the others a read may be answered
 * by a server that is cut off. */
TEST(the_opcodes_that_write_prove)
{
    static const struct {
        enum hf_zk_opcode opcode;
        const char *events;
    } rows[] = {
        {HF_ZK_CREATE, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_CREATE2, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_CREATE_CONTAINER, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_CREATE_TTL, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_DELETE, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_SET_DATA, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_SET_ACL, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_RECONFIG, "PROVEN 2000; ANSWER 1: 0"},
        {HF_ZK_MULTI, "ANSWER 1: 0"}, /* its body decides */
        {HF_ZK_SYNC, "ANSWER 1: 0"},
        {HF_ZK_GET_ACL, "ANSWER 1: 0"},
        {HF_ZK_MULTI_READ, "ANSWER 1: 0"},
        {HF_ZK_ADD_WATCH, "ANSWER 1: 0"},
        {HF_ZK_REMOVE_WATCHES, "ANSWER 1: 0"},
    };
    struct listener_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(&f, 0);
        set_time(&f, 2000);
        hf_zk_send_sync(&f.session, call(&f, 0), "/");
        answer(&f, 1, HF_ZK_OK);
        expect_events(&f, "ANSWER 0: 0");
        set_time(&f, 4600);
        hf_zk_call_end(&f.session, hf_zk_call_begin(&f.session, call(&f, 1),
                                                    rows[i].opcode));
        answer(&f, 2, HF_ZK_OK);
        expect_events(&f, rows[i].events);
        end(&f);
    }
}

FIXTURE_TEST(a_cut_answers_calls_and_refuses_what_waits, begin(f, 1))
{
    hf_zk_send_sync(&f->session, call(f, 0), "/");
    assert_int_equal(enter(f, "normal"), HF_EBUSY);
    assert_int_equal(enter(f, "bulk"), HF_EBUSY);
    cut(f);
    expect_events(f, "ERROR h:2181: reset; SUSPENDED; ANSWER 0: 1; "
                     "REFUSED normal; REFUSED bulk");
    f->now_ms = hf_zk_session_wake_at_ms(&f->session);
    hf_zk_session_tick(&f->session, f->now_ms);
    link_up(f);
    expect_events(f, "RESUMING 10000");
    accept_handshake(f, ID);
    expect_events(f, "RESUMED");
}

FIXTURE_TEST(what_waits_begins_by_turns_and_what_is_urgent_at_once, begin(f, 1))
{
    static const char gone[] = "n5";

    assert_int_equal(enter(f, "n0"), HF_OK);
    hf_zk_send_sync(&f->session, call(f, 0), "/");
    assert_int_equal(enter(f, "b1"), HF_EBUSY);
    assert_int_equal(enter(f, "b2"), HF_EBUSY);
    assert_int_equal(enter(f, "n3"), HF_EBUSY);
    assert_int_equal(enter(f, "u4"), HF_OK);
    assert_int_equal(enter(f, gone), HF_EBUSY);
    assert_true(hf_zk_window_cancel(&f->session.window, gone));
    assert_false(hf_zk_window_cancel(&f->session.window, gone));
    answer(f, 1, HF_ZK_OK);
    /* There are no calls, so all of them fit. */
    expect_events(f, "ANSWER 0: 0; BEGIN n3; BEGIN b1; BEGIN b2");
}

/* ----------------------------------------------------------- credentials -- */

static void on_credential(void *user, enum hf_zk_error error)
{
    fire_event(user, "CREDENTIAL %d", (int)error);
}

static void add_credential(struct listener_fixture *f, const char *scheme,
                           const char *bytes, bool waits)
{
    assert_int_equal(
        hf_zk_session_add_credential(&f->session, scheme, bytes, strlen(bytes),
                                     waits ? on_credential : NULL, f),
        HF_OK);
}

/* The frames that are to be sent: credentials and others, which are "-". */
static void expect_sent(struct listener_fixture *f, const char *expected)
{
    struct hf_jute_piece scheme, bytes;
    struct hf_jute_reader out = {0}, frame;
    char text[256] = "";
    size_t used = 0;

    out.bytes = hf_zk_session_output(&f->session, &out.left);
    while (zk_server_read_frame(&out, &frame)) {
        if (hf_jute_get_int(&frame) != HF_ZK_XID_AUTH) {
            used += (size_t)snprintf(text + used, sizeof text - used, " -");
            continue;
        }
        assert_int_equal(hf_jute_get_int(&frame), HF_ZK_AUTH);
        assert_int_equal(hf_jute_get_int(&frame), 0);
        scheme = hf_jute_get_buffer(&frame);
        bytes = hf_jute_get_buffer(&frame);
        assert_true(!frame.failed && frame.left == 0);
        used += (size_t)snprintf(text + used, sizeof text - used, " %.*s=%.*s",
                                 (int)scheme.count, scheme.bytes,
                                 (int)bytes.count, bytes.bytes);
    }
    assert_string_equal(text, expected);
    if (text[0] != '\0')
        send_out(f);
}

/* Locks that wait get the room that there is; a handle on the session goes on
 * beside them only where there is none. */
TEST(locks_that_wait_get_the_room_before_a_handle)
{
    struct listener_fixture f;
    struct hf_zk_window *window = &f.session.window;

    begin(&f, 4);
    assert_true(hf_zk_window_has_room_for(window, &f, 0, 0, f.now_ms));
    assert_int_equal(hf_zk_window_enter(window, 4, HF_ZK_NORMAL, &f.worker,
                                        (void *)(uintptr_t) "normal"),
                     HF_EBUSY);
    assert_false(hf_zk_window_has_room_for(window, &f, 3, 0, f.now_ms));
    assert_true(hf_zk_window_has_room_for(window, &f, 4, 0, f.now_ms));
    end(&f);
}

FIXTURE_TEST(credentials_are_sent_on_each_connection,
             begin_unconnected(f, 0, 1))
{
    static struct test_watcher w;

    add_credential(f, "digest", "a:1", true);
    add_credential(f, "x", "", false);
    link_up(f);
    accept_handshake(f, ID);
    expect_sent(f, " digest=a:1 x=");
    add_credential(f, "ip", "b", true); /* while two are unanswered */
    expect_sent(f, " ip=b");
    watch(f, &w, "w", "/w");
    expect_events(f, "UP");
    for (int i = 0; i < 3; i++)
        answer(f, HF_ZK_XID_AUTH, HF_ZK_OK);
    expect_events(f, "CREDENTIAL 0; CREDENTIAL 0");
    add_credential(f, "ip", "c", true); /* while none is */
    expect_sent(f, " ip=c");
    answer(f, HF_ZK_XID_AUTH, HF_ZK_OK);
    expect_events(f, "CREDENTIAL 0");
    cut(f);
    connect_again(f);
    expect_sent(f, " digest=a:1 x= ip=b ip=c -"); /* SetWatches */
    f->expect_events[0] = '\0';
    answer(f, HF_ZK_XID_AUTH, HF_ZK_OK);
    expect_events(f, ""); /* only the first answer was waited for */
}

TEST(a_credential_of_the_url_is_sent_first)
{
    struct listener_fixture f;
    struct hf_zk_log log = {&f, on_log};

    begin_unconnected(&f, 0, 1);
    hf_zk_session_free(&f.session);
    (void)snprintf(f.config.auth, sizeof f.config.auth, "u:p");
    hf_zk_session_begin(&f.session, &f.config, &log, f.now_ms);
    add_credential(&f, "digest", "a:1", false);
    link_up(&f);
    accept_handshake(&f, ID);
    expect_sent(&f, " digest=u:p digest=a:1");
    end(&f);
}

/* The one that adds it waits until a server has answered. */
FIXTURE_TEST(an_answer_may_come_on_a_later_connection, begin(f, 0))
{
    add_credential(f, "digest", "a:1", true);
    expect_sent(f, " digest=a:1");
    cut(f);
    f->expect_events[0] = '\0';
    connect_again(f);
    expect_events(f, "RESUMED");
    answer(f, HF_ZK_XID_AUTH, HF_ZK_OK);
    expect_events(f, "CREDENTIAL 0");
}

TEST(an_added_credential_that_is_refused_is_removed)
{
    struct listener_fixture f;

    begin(&f, 0);
    add_credential(&f, "digest", "a:1", true);
    add_credential(&f, "no", "b", true);
    add_credential(&f, "no", "c", true);
    send_out(&f);
    answer(&f, HF_ZK_XID_AUTH, HF_ZK_OK);
    answer(&f, HF_ZK_XID_AUTH, HF_ZK_AUTH_FAILED);
    expect_events(&f, "CREDENTIAL 0; CREDENTIAL -115; ERROR h:2181: the server "
                      "did not accept an added credential (-115); SUSPENDED");
    connect_again(&f);
    expect_events(&f, "RESUMED");
    expect_sent(&f, " digest=a:1 no=c");
    answer(&f, HF_ZK_XID_AUTH, HF_ZK_OK);
    answer(&f, HF_ZK_XID_AUTH, HF_ZK_AUTH_FAILED); /* now the last one */
    f.expect_events[0] = '\0';
    connect_again(&f);
    add_credential(&f, "digest", "d", true);
    expect_sent(&f, " digest=a:1 digest=d");
    f.expect_events[0] = '\0';
    hf_zk_session_free(&f.session);
    expect_events(&f, "CREDENTIAL 1");
    hf_jute_free(&f.server);
}

/* It was accepted before, so nobody waits for an answer. */
FIXTURE_TEST(a_refusal_by_all_servers_is_final, begin_unconnected(f, 0, 2))
{
    add_credential(f, "digest", "a:1", true);
    link_up(f);
    accept_handshake(f, ID);
    answer(f, HF_ZK_XID_AUTH, HF_ZK_OK);
    expect_events(f, "UP; CREDENTIAL 0");
    set_time(f, 3000);
    cut(f);
    link_up(f);
    f->expect_events[0] = '\0';
    accept_handshake(f, ID);
    answer(f, HF_ZK_XID_AUTH, HF_ZK_AUTH_FAILED);
    expect_events(f, "RESUMED; ERROR i:2181: the server did not accept the "
                     "credentials of the scheme \"digest\" (-115); "
                     "SUSPENDED");
    connect_again(f);
    answer(f, HF_ZK_XID_AUTH, HF_ZK_AUTH_FAILED);
    expect_events(f, "RESUMED; ERROR h:2181: the server did not accept the "
                     "credentials of the scheme \"digest\" (-115); "
                     "SUSPENDED; GAVE UP 1");
    assert_int_equal(hf_zk_session_wake_at_ms(&f->session),
                     hf_wake_before_ms(f->now_ms, f->session.alive_until_ms));
}

FIXTURE_TEST(a_close_answers_what_waits_for_credentials, begin(f, 0))
{
    add_credential(f, "digest", "a:1", true);
    hf_zk_session_close(&f->session);
    send_out(f);
    answer(f, 1, HF_ZK_OK);
    expect_events(f, "CREDENTIAL 1; CLOSED");
}

/* ------------------------------------------- a session of another client -- */

/* Begin with the session ID, whose password accept_handshake() has, and send
 * the first ConnectRequest. */
static void begin_taking_over(struct listener_fixture *f, uint64_t timeout_ms)
{
    struct hf_zk_log log = {f, on_log};

    begin_unconnected(f, 0, 1);
    hf_zk_session_free(&f->session);
    f->config.id = ID;
    f->config.password[0] = 7;
    f->config.timeout_ms = timeout_ms;
    hf_zk_session_begin(&f->session, &f->config, &log, f->now_ms);
    listen(f, &f->listener, "");
}

FIXTURE_TEST(a_session_is_taken_over, begin_taking_over(f, TIMEOUT_MS))
{
    struct zk_server_handshake handshake;
    struct hf_jute_reader out = {0}, frame;

    (void)hf_zk_session_wanted_server(&f->session, &f->connection_number);
    hf_zk_session_connection_up(&f->session, f->connection_number, f->now_ms);
    out.bytes = hf_zk_session_output(&f->session, &out.left);
    assert_true(zk_server_read_frame(&out, &frame));
    handshake = zk_server_read_handshake(&frame);
    assert_int_equal(handshake.zxid, 0);
    assert_int_equal(handshake.timeout_ms, TIMEOUT_MS);
    assert_int_equal(handshake.id, ID);
    assert_int_equal(handshake.password.count, HF_ZK_PASSWORD_BYTES);
    assert_memory_equal(handshake.password.bytes, f->config.password,
                        HF_ZK_PASSWORD_BYTES);
    send_out(f);
    expect_events(f, ""); /* not RESUMING */
    accept_handshake(f, ID);
    expect_events(f, "RESUMED");
    assert_int_equal(f->warnings, 0);
    assert_int_equal(f->session.proven_anchor_ms, 0);
    assert_int_equal(f->session.alive_until_ms, 1000 + TIMEOUT_MS);
    hf_zk_send_delete(&f->session, call(f, 0), "/b");
    answer(f, 1, HF_ZK_OK);
    expect_events(f, "PROVEN 1000; ANSWER 0: 0"); /* by the write */
    cut(f);
    f->expect_events[0] = '\0';
    f->now_ms = hf_zk_session_wake_at_ms(&f->session);
    hf_zk_session_tick(&f->session, f->now_ms);
    link_up(f);
    expect_events(f, "RESUMING 10000");
}

FIXTURE_TEST(a_session_that_is_gone_is_lost, begin_taking_over(f, TIMEOUT_MS))
{
    link_up(f);
    accept_handshake(f, 0);
    expect_events(f, "LOST the server has ended the session");
    link_up(f);
    accept_handshake(f, ID + 1);
    expect_events(f, "UP");
    assert_int_equal(f->session.id, ID + 1);
}

/* Nobody but a server knows when it ends. */
FIXTURE_TEST(a_session_is_not_lost_before_an_answer,
             begin_taking_over(f, TIMEOUT_MS))
{
    while (f->now_ms < UINT64_C(100) * TIMEOUT_MS) {
        if (hf_zk_session_wanted_server(&f->session, &f->connection_number) !=
            NULL)
            link_up(f);
        assert_true(hf_zk_session_wake_at_ms(&f->session) > f->now_ms);
        f->now_ms = hf_zk_session_wake_at_ms(&f->session);
        hf_zk_session_tick(&f->session, f->now_ms);
        assert_null(strstr(f->expect_events, "LOST"));
        f->expect_events[0] = '\0';
    }
    link_up(f);
    accept_handshake(f, ID);
    expect_events(f, "RESUMED");
    assert_int_equal(f->session.alive_until_ms, f->now_ms + TIMEOUT_MS);
}

/* Another server may still count the shorter timeout of the other client. */
TEST(a_longer_timeout_than_the_sessions_does_not_count)
{
    struct listener_fixture f;

    begin_taking_over(&f, TIMEOUT_MS - 1000);
    link_up(&f);
    accept_handshake(&f, ID);
    assert_int_equal(f.session.timeout_ms, TIMEOUT_MS - 1000);
    end(&f);
    begin_taking_over(&f, TIMEOUT_MS + 1000);
    link_up(&f);
    accept_handshake(&f, ID);
    assert_int_equal(f.session.timeout_ms, TIMEOUT_MS);
    assert_int_equal(f.warnings, 0);
    end(&f);
}

/* ------------------------------------------------------ the session ends -- */

FIXTURE_TEST(the_server_may_end_the_session, begin(f, 0))
{
    hf_zk_send_sync(&f->session, call(f, 0), "/");
    answer(f, 1, HF_ZK_SESSION_EXPIRED);
    expect_events(f, "ANSWER 0: 1; LOST the server has ended the session");
    link_up(f);
    accept_handshake(f, ID + 1);
    expect_events(f, "UP");
}

FIXTURE_TEST(silence_for_a_timeout_ends_the_session, begin(f, 0))
{
    cut(f);
    f->expect_events[0] = '\0';
    f->now_ms = 1000 + TIMEOUT_MS;
    hf_zk_session_tick(&f->session, f->now_ms);
    assert_non_null(strstr(f->expect_events,
                           "LOST the server has not answered for 10000 "
                           "ms, the timeout of the session"));
}

FIXTURE_TEST(a_close_is_answered, begin(f, 0))
{
    hf_zk_session_close(&f->session);
    expect_events(f, "");
    send_out(f);
    answer(f, 1, HF_ZK_OK);
    expect_events(f, "CLOSED");
}
