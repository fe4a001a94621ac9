/* SPDX-License-Identifier: Apache-2.0 */
/* A session with ZooKeeper around listeners that are no engine and have no
 * locks: what each hears, and what becomes of calls and of work that waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "zookeeper/zk_calls.h"

#define TIMEOUT_MS 10000
#define ID 0x1234

/* Told by its name. */
struct watching {
    struct hf_zk_watcher watcher; /* first; .user is the world */
    const char *name;
    struct watching *removes; /* when it is told; or NULL */
    struct watching *adds;
};

struct world;

/* A listener, told by its name. */
struct listening {
    struct hf_zk_listener listener;
    struct world *w;
    const char *name;
    struct listening *removes; /* when it hears of anything; or NULL */
    bool drops;                /* when it hears of a connection */
    bool ends;                 /* the session, then */
};

struct world {
    struct hf_zk_session_config config;
    struct listening listener;
    struct hf_zk_window_callbacks worker;
    struct hf_zk_session session;
    struct hf_jute_writer server; /* what it says next */
    struct hf_zk_call calls[3];
    uint64_t connection_number;
    uint64_t now_ms;
    int32_t xid; /* of the server's next answer */
    char told[512];
};

__attribute__((format(printf, 2, 3))) static void tell(struct world *w,
                                                       const char *format, ...)
{
    size_t used = strlen(w->told);
    va_list args;

    va_start(args, format);
    if (used > 0)
        used += (size_t)snprintf(w->told + used, sizeof w->told - used, "; ");
    (void)vsnprintf(w->told + used, sizeof w->told - used, format, args);
    va_end(args);
}

static void told(struct world *w, const char *expected)
{
    assert_string_equal(w->told, expected);
    w->told[0] = '\0';
}

/* -------------------------------------------------------------- listener -- */

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    (void)format;
}

/* ${l} has heard of ${what}. */
static void heard(struct listening *l, const char *what)
{
    tell(l->w, "%s%s", l->name, what);
    if (l->removes != NULL)
        hf_zk_listeners_remove(&l->w->session.listeners, &l->removes->listener);
    l->removes = NULL;
}

static void on_trouble(void *user, const struct hf_zk_connection_error *trouble)
{
    char what[128];

    (void)snprintf(what, sizeof what, "TROUBLE %s", trouble->text);
    heard(user, what);
}

static void on_gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    char what[32];

    (void)elapsed_ms;
    (void)snprintf(what, sizeof what, "GAVE UP %u", retries);
    heard(user, what);
}

static void on_resuming(void *user, uint64_t least_timeout_ms)
{
    char what[32];

    (void)snprintf(what, sizeof what, "RESUMING %u",
                   (unsigned)least_timeout_ms);
    heard(user, what);
}

static void on_up(void *user, bool resumed)
{
    struct listening *l = user;

    heard(l, resumed ? "RESUMED" : "UP");
    if (l->ends)
        hf_zk_session_close(&l->w->session);
    if (l->drops)
        hf_zk_session_drop(&l->w->session, "not wanted");
}

static void on_suspended(void *user)
{
    heard(user, "SUSPENDED");
}

static void on_lost(void *user, const char *why)
{
    char what[128];

    (void)snprintf(what, sizeof what, "LOST %s", why);
    heard(user, what);
}

static void on_closed(void *user)
{
    heard(user, "CLOSED");
}

static void on_proven(void *user, uint64_t anchor_ms)
{
    char what[32];

    (void)snprintf(what, sizeof what, "PROVEN %u", (unsigned)anchor_ms);
    heard(user, what);
}

static void on_fired(struct hf_zk_watcher *watcher, enum hf_zk_event_type type)
{
    struct watching *watching = (struct watching *)(void *)watcher;
    struct world *w = watcher->user;

    assert_false(watcher->armed);
    tell(w, "%s %d", watching->name, (int)type);
    if (watching->removes != NULL)
        hf_zk_watch_set_remove(&w->session.watches,
                               &watching->removes->watcher);
    if (watching->adds != NULL)
        hf_zk_watch_set_add(&w->session.watches, &watching->adds->watcher);
}

static void on_begin(void *user, void *work)
{
    tell(user, "BEGIN %s", (const char *)work);
}

static void on_refused(void *user, void *work)
{
    tell(user, "REFUSED %s", (const char *)work);
}

static void answered(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct world *w = user;

    tell(w, "ANSWER %d: %d", (int)(call - w->calls), (int)reply->error);
}

/* ---------------------------------------------------------------- server -- */

static void say(struct world *w)
{
    hf_zk_session_receive(&w->session, w->connection_number, w->now_ms,
                          w->server.bytes, w->server.used);
    w->server.used = 0;
}

/* The answer to a greeting; ${id} 0: the session is over. */
static void greet(struct world *w, int64_t id)
{
    static const uint8_t password[HF_ZK_PASSWORD_BYTES] = {7};
    size_t begin = hf_jute_begin_frame(&w->server);

    hf_jute_put_int(&w->server, 0);
    hf_jute_put_int(&w->server, id == 0 ? 0 : TIMEOUT_MS);
    hf_jute_put_long(&w->server, id);
    hf_jute_put_buffer(&w->server, password, sizeof password);
    hf_jute_end_frame(&w->server, begin);
    say(w);
}

static void answer(struct world *w, int32_t xid, int32_t error)
{
    size_t begin = hf_jute_begin_frame(&w->server);

    hf_jute_put_int(&w->server, xid);
    hf_jute_put_long(&w->server, 77);
    hf_jute_put_int(&w->server, error);
    hf_jute_end_frame(&w->server, begin);
    say(w);
}

static void fire(struct world *w, enum hf_zk_event_type type, const char *path)
{
    size_t begin = hf_jute_begin_frame(&w->server);

    hf_jute_put_int(&w->server, HF_ZK_XID_EVENT);
    hf_jute_put_long(&w->server, -1);
    hf_jute_put_int(&w->server, 0);
    hf_jute_put_int(&w->server, (int32_t)type);
    hf_jute_put_int(&w->server, 3);
    hf_jute_put_string(&w->server, path);
    hf_jute_end_frame(&w->server, begin);
    say(w);
}

/* -------------------------------------------------------------- the story --
 */

static void send_out(struct world *w)
{
    size_t count;

    (void)hf_zk_session_output(&w->session, &count);
    assert_true(count > 0);
    hf_zk_session_written(&w->session, count);
}

static void link_up(struct world *w)
{
    assert_non_null(
        hf_zk_session_wanted_server(&w->session, &w->connection_number));
    hf_zk_session_connection_up(&w->session, w->connection_number, w->now_ms);
    send_out(w);
    w->xid = 1;
}

static void later(struct world *w, uint64_t now_ms)
{
    w->now_ms = now_ms;
    hf_zk_session_set_now(&w->session, now_ms);
}

static void cut(struct world *w)
{
    hf_zk_session_connection_down(&w->session, w->connection_number, w->now_ms,
                                  HF_EUNREACHABLE, "reset");
}

static void listen(struct world *w, struct listening *l, const char *name)
{
    *l = (struct listening){.w = w,
                            .name = name,
                            .listener = {.user = l,
                                         .connection_error = on_trouble,
                                         .gave_up = on_gave_up,
                                         .resuming = on_resuming,
                                         .up = on_up,
                                         .suspended = on_suspended,
                                         .lost = on_lost,
                                         .closed = on_closed,
                                         .proven = on_proven}};
    hf_zk_listeners_add(&w->session.listeners, &l->listener);
}

static void begin(struct world *w, unsigned window)
{
    struct hf_zk_log log = {w, on_log};

    *w = (struct world){.now_ms = 1000};
    w->config = (struct hf_zk_session_config){
        .servers = {{"h", 2181}},
        .server_count = 1,
        .reconnect = hf_reconnect_default,
        .timeout_ms = TIMEOUT_MS,
        .window = window,
    };
    hf_random_seed(&w->config.random, 1);
    w->worker = (struct hf_zk_window_callbacks){w, on_begin, on_refused};
    hf_zk_session_begin(&w->session, &w->config, &log, w->now_ms);
    listen(w, &w->listener, "");
    link_up(w);
    greet(w, ID);
    told(w, "UP");
}

static void over(struct world *w)
{
    hf_zk_session_free(&w->session);
    hf_jute_free(&w->server);
}

static struct hf_zk_call *call(struct world *w, size_t i)
{
    w->calls[i].answered = answered;
    w->calls[i].user = w;
    return &w->calls[i];
}

static enum hf_zk_work_class class_of(const char *work)
{
    return work[0] == 'u'   ? HF_ZK_URGENT
           : work[0] == 'b' ? HF_ZK_BULK
                            : HF_ZK_NORMAL;
}

static hf_status enter(struct world *w, const char *work)
{
    return hf_zk_window_enter(&w->session.window, w->session.wire.calls,
                              class_of(work), &w->worker,
                              (void *)(uintptr_t)work);
}

/* A watcher whose name is "children" watches these, any other the data. */
static void watch(struct world *w, struct watching *watching, const char *name,
                  const char *path)
{
    bool children = strcmp(name, "children") == 0;

    *watching =
        (struct watching){.name = name,
                          .watcher = {.user = w,
                                      .fired = on_fired,
                                      .path = path,
                                      .armed = true,
                                      .mode = children ? HF_ZK_WATCH_CHILDREN
                                                       : HF_ZK_WATCH_DATA}};
    hf_zk_watch_set_add(&w->session.watches, &watching->watcher);
}

static void every_listener_hears_in_the_order_of_adding(void **state)
{
    struct listening a, b;
    struct world w;

    (void)state;
    begin(&w, 0);
    listen(&w, &a, "a ");
    listen(&w, &b, "b ");
    cut(&w);
    told(&w, "TROUBLE h:2181: reset; a TROUBLE h:2181: reset; "
             "b TROUBLE h:2181: reset; SUSPENDED; a SUSPENDED; b SUSPENDED");
    hf_zk_listeners_remove(&w.session.listeners, &a.listener);
    hf_zk_session_close(&w.session);
    told(&w, "CLOSED; b CLOSED");
    over(&w);
}

/* Itself, the next one, one that was there before. */
static void a_listener_may_remove_any_while_it_hears(void **state)
{
    struct listening a, b, c;
    struct world w;

    (void)state;
    begin(&w, 0);
    listen(&w, &a, "a ");
    listen(&w, &b, "b ");
    listen(&w, &c, "c ");
    a.removes = &a;
    b.removes = &c;
    cut(&w);
    told(&w, "TROUBLE h:2181: reset; a TROUBLE h:2181: reset; "
             "b TROUBLE h:2181: reset; SUSPENDED; b SUSPENDED");
    b.removes = &w.listener;
    hf_zk_session_close(&w.session);
    told(&w, "CLOSED; b CLOSED");
    assert_ptr_equal(w.session.listeners.first, &b.listener);
    over(&w);
}

/* One that ends the connection when it hears of it: those behind it hear that
 * there is none, and not afterwards that there is. */
static void a_connection_that_ended_is_not_heard_of(void **state)
{
    struct listening a, b;
    struct world w;

    (void)state;
    begin(&w, 0);
    listen(&w, &a, "a ");
    listen(&w, &b, "b ");
    cut(&w);
    w.told[0] = '\0';
    a.drops = true;
    later(&w, 3000);
    hf_zk_session_tick(&w.session, w.now_ms);
    link_up(&w);
    told(&w, "RESUMING 10000; a RESUMING 10000; b RESUMING 10000");
    greet(&w, ID);
    told(&w, "RESUMED; a RESUMED; TROUBLE h:2181: not wanted; "
             "a TROUBLE h:2181: not wanted; b TROUBLE h:2181: not wanted; "
             "SUSPENDED; a SUSPENDED; b SUSPENDED");
    over(&w);
}

static void a_session_that_is_to_end_is_not_heard_of(void **state)
{
    struct listening a, b;
    struct world w;

    (void)state;
    begin(&w, 0);
    listen(&w, &a, "a ");
    listen(&w, &b, "b ");
    cut(&w);
    w.told[0] = '\0';
    a.ends = true;
    later(&w, 3000);
    hf_zk_session_tick(&w.session, w.now_ms);
    link_up(&w);
    w.told[0] = '\0';
    greet(&w, ID);
    told(&w, "RESUMED; a RESUMED");
    answer(&w, 1, HF_ZK_OK);
    told(&w, "CLOSED; a CLOSED; b CLOSED");
    over(&w);
}

static void calls_are_answered_in_order_and_events_told(void **state)
{
    struct watching b;
    struct world w;

    (void)state;
    begin(&w, 0);
    watch(&w, &b, "b", "/b");
    hf_zk_send_get_data(&w.session, call(&w, 0), "/a", true);
    hf_zk_send_delete(&w.session, call(&w, 1), "/b");
    send_out(&w);
    answer(&w, 1, HF_ZK_NO_NODE);
    fire(&w, HF_ZK_NODE_DELETED, "/b");
    w.now_ms = 1100;
    answer(&w, 2, HF_ZK_OK);
    told(&w, "ANSWER 0: -101; b 2; ANSWER 1: 0");
    assert_int_equal(w.session.zxid, 77);
    over(&w);
}

static void an_event_is_told_to_each_of_its_mode_and_path(void **state)
{
    struct watching a, b, c, other, children;
    struct world w;

    (void)state;
    begin(&w, 0);
    watch(&w, &a, "a", "/x");
    watch(&w, &b, "b", "/x");
    watch(&w, &c, "c", "/x");
    watch(&w, &other, "other", "/xy");
    watch(&w, &children, "children", "/x");
    fire(&w, HF_ZK_NODE_CHILDREN_CHANGED, "/x");
    told(&w, "children 4");
    fire(&w, HF_ZK_NODE_DATA_CHANGED, "/x");
    told(&w, "a 3; c 3; b 3");
    fire(&w, HF_ZK_NODE_DELETED, "/x");
    told(&w, "a 2; c 2; b 2; children 2");
    /* In the middle, at the end, at the beginning, and what is left. */
    hf_zk_watch_set_remove(&w.session.watches, &c.watcher);
    fire(&w, HF_ZK_NODE_DATA_CHANGED, "/x");
    told(&w, "a 3; b 3");
    hf_zk_watch_set_remove(&w.session.watches, &a.watcher);
    hf_zk_watch_set_remove(&w.session.watches, &a.watcher);
    fire(&w, HF_ZK_NODE_DATA_CHANGED, "/x");
    told(&w, "b 3");
    hf_zk_watch_set_remove(&w.session.watches, &b.watcher);
    fire(&w, HF_ZK_NODE_DATA_CHANGED, "/x");
    told(&w, "");
    over(&w);
}

/* Another listener's among them: who is told may end anything. */
static void who_is_told_may_remove_and_add_others(void **state)
{
    struct watching a, b, c, late;
    struct world w;

    (void)state;
    begin(&w, 0);
    watch(&w, &a, "a", "/x");
    watch(&w, &b, "b", "/x");
    watch(&w, &c, "c", "/x");
    late = c; /* and not in the set */
    late.name = "late";
    late.watcher.in_set = false;
    a.removes = &a;
    a.adds = &late;
    c.removes = &b;
    c.adds = &b;
    fire(&w, HF_ZK_NODE_DATA_CHANGED, "/x");
    told(&w, "a 3; c 3");
    assert_true(late.watcher.armed);
    fire(&w, HF_ZK_NODE_DATA_CHANGED, "/x");
    told(&w, "c 3; late 3");
    over(&w);
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

static void a_new_connection_has_each_path_set_again_once(void **state)
{
    static const char *const data[] = {"/y", "/x"};
    static const char *const children[] = {"/x"};
    struct watching unarmed, a, b, y, idle, under;
    struct hf_jute_reader out;
    size_t count;
    struct world w;

    (void)state;
    begin(&w, 0);
    watch(&w, &unarmed, "unarmed", "/x");
    watch(&w, &a, "a", "/x");
    watch(&w, &b, "b", "/x");
    watch(&w, &y, "y", "/y");
    watch(&w, &idle, "idle", "/z");
    watch(&w, &under, "children", "/x");
    unarmed.watcher.armed = false;
    idle.watcher.idle = true;
    cut(&w);
    w.now_ms = hf_zk_session_wake_at_ms(&w.session);
    hf_zk_session_tick(&w.session, w.now_ms);
    link_up(&w);
    greet(&w, ID);
    assert_false(idle.watcher.armed);
    assert_true(a.watcher.armed && b.watcher.armed && under.watcher.armed);
    out.bytes = hf_zk_session_output(&w.session, &count);
    out = (struct hf_jute_reader){.bytes = out.bytes, .left = count};
    assert_int_equal(hf_jute_get_int(&out), count - 4);
    assert_int_equal(hf_jute_get_int(&out), HF_ZK_XID_SET_WATCHES);
    assert_int_equal(hf_jute_get_int(&out), HF_ZK_SET_WATCHES);
    assert_int_equal(hf_jute_get_long(&out), w.session.zxid);
    expect_paths(&out, data, 2);
    expect_paths(&out, NULL, 0);
    expect_paths(&out, children, 1);
    assert_false(out.failed);
    over(&w);
}

/* Not the greeting's anchor again: that was told with UP. */
static void a_write_is_told_as_proven(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0);
    later(&w, 2000);
    hf_zk_send_sync(&w.session, call(&w, 0), "/");
    answer(&w, 1, HF_ZK_OK);
    told(&w, "ANSWER 0: 0");
    later(&w, 4600);
    hf_zk_send_delete(&w.session, call(&w, 0), "/b");
    answer(&w, 2, HF_ZK_OK);
    told(&w, "PROVEN 2000; ANSWER 0: 0");
    over(&w);
}

static void a_cut_answers_calls_and_refuses_what_waits(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 1);
    hf_zk_send_sync(&w.session, call(&w, 0), "/");
    assert_int_equal(enter(&w, "normal"), HF_EBUSY);
    assert_int_equal(enter(&w, "bulk"), HF_EBUSY);
    cut(&w);
    told(&w, "TROUBLE h:2181: reset; SUSPENDED; ANSWER 0: 1; "
             "REFUSED normal; REFUSED bulk");
    w.now_ms = hf_zk_session_wake_at_ms(&w.session);
    hf_zk_session_tick(&w.session, w.now_ms);
    link_up(&w);
    told(&w, "RESUMING 10000");
    greet(&w, ID);
    told(&w, "RESUMED");
    over(&w);
}

static void what_waits_begins_by_turns_and_what_is_urgent_at_once(void **state)
{
    static const char gone[] = "n5";
    struct world w;

    (void)state;
    begin(&w, 1);
    assert_int_equal(enter(&w, "n0"), HF_OK);
    hf_zk_send_sync(&w.session, call(&w, 0), "/");
    assert_int_equal(enter(&w, "b1"), HF_EBUSY);
    assert_int_equal(enter(&w, "b2"), HF_EBUSY);
    assert_int_equal(enter(&w, "n3"), HF_EBUSY);
    assert_int_equal(enter(&w, "u4"), HF_OK);
    assert_int_equal(enter(&w, gone), HF_EBUSY);
    assert_true(hf_zk_window_cancel(&w.session.window, gone));
    assert_false(hf_zk_window_cancel(&w.session.window, gone));
    answer(&w, 1, HF_ZK_OK);
    /* Nobody made a call: all of them fit. */
    told(&w, "ANSWER 0: 0; BEGIN n3; BEGIN b1; BEGIN b2");
    over(&w);
}

static void the_server_may_end_the_session(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0);
    hf_zk_send_sync(&w.session, call(&w, 0), "/");
    answer(&w, 1, HF_ZK_SESSION_EXPIRED);
    told(&w, "ANSWER 0: 1; LOST the server has ended the session");
    link_up(&w);
    greet(&w, ID + 1);
    told(&w, "UP");
    over(&w);
}

static void silence_for_a_timeout_ends_the_session(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0);
    cut(&w);
    w.told[0] = '\0';
    w.now_ms = 1000 + TIMEOUT_MS;
    hf_zk_session_tick(&w.session, w.now_ms);
    assert_non_null(strstr(w.told, "LOST the server has not answered for 10000 "
                                   "ms, the timeout of the session"));
    over(&w);
}

static void a_goodbye_is_answered(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 0);
    hf_zk_session_close(&w.session);
    told(&w, "");
    send_out(&w);
    answer(&w, 1, HF_ZK_OK);
    told(&w, "CLOSED");
    over(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_listener_hears_in_the_order_of_adding),
        cmocka_unit_test(a_listener_may_remove_any_while_it_hears),
        cmocka_unit_test(a_connection_that_ended_is_not_heard_of),
        cmocka_unit_test(a_session_that_is_to_end_is_not_heard_of),
        cmocka_unit_test(calls_are_answered_in_order_and_events_told),
        cmocka_unit_test(an_event_is_told_to_each_of_its_mode_and_path),
        cmocka_unit_test(who_is_told_may_remove_and_add_others),
        cmocka_unit_test(a_new_connection_has_each_path_set_again_once),
        cmocka_unit_test(a_write_is_told_as_proven),
        cmocka_unit_test(a_cut_answers_calls_and_refuses_what_waits),
        cmocka_unit_test(what_waits_begins_by_turns_and_what_is_urgent_at_once),
        cmocka_unit_test(the_server_may_end_the_session),
        cmocka_unit_test(silence_for_a_timeout_ends_the_session),
        cmocka_unit_test(a_goodbye_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
