/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a client that set and end watches, and what an event leads to
 * on the next connection: a sync ahead of reads, and watches that are set
 * again. */
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"
#include "zookeeper/watch_set.h"

#define GET HF_ZOOKEEPER_GET
#define COUNT HF_ZOOKEEPER_COUNT

/* ------------------------------------------------------------ old events -- */

/* The zxid of the handshake does not include the event.  So the next server may
 * not have what it was about, and a read there would be too old. */
OP_TEST(a_sync_goes_ahead_of_reads_after_an_old_event,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct hf_zk_watcher watcher;
    static struct test_op o[3];

    f->context.chroot = "/app";
    watcher = op_fixture_watcher(f, HF_ZK_WATCH_DATA);
    op_fixture_start_watch(f, &o[0], GET, &watcher);
    op_fixture_answer_all(f);
    op_fixture_fire(f, HF_ZK_NODE_DATA_CHANGED, "/w");
    op_fixture_expect_events(f, "/w HF_OK; event 3");
    op_fixture_start(f, &o[1], GET, "/a");
    op_fixture_cut(f);
    f->sent[0] = '\0';
    op_fixture_connect(f);
    assert_int_equal(f->handshake_zxid, 100);
    op_fixture_expect_sent(f, "sync /app; get /app/a");
    /* A cut before the answer: the next connection needs it, too. */
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "sync /app; get /app/a");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_start(f, &o[2], GET, "/b");
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "get /app/a; get /app/b");
    hf_zk_watch_set_remove(&f->session.watches, &watcher);
}

OP_TEST(the_sync_of_no_chroot_is_of_the_root,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    hf_zk_op_queue_event(&f->queue);
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "sync /");
}

/* An answer that follows the event has a zxid that includes it. */
OP_TEST(no_sync_is_needed_after_an_answer,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "");
    hf_zk_op_queue_event(&f->queue);
    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_answer_all(f);
    f->sent[0] = '\0';
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "");
    /* The same of the answer to a sync of the queue, */
    hf_zk_op_queue_event(&f->queue);
    op_fixture_reconnect(f);
    hf_zk_op_queue_event(&f->queue);
    op_fixture_answer_all(f);
    f->sent[0] = '\0';
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "");
    /* and of one that nobody waits for any more. */
    hf_zk_op_queue_event(&f->queue);
    op_fixture_start_until(f, &o[1], GET, "/b", 1);
    op_fixture_read(f);
    op_fixture_pass(f, 1);
    op_fixture_answer_all(f);
    f->sent[0] = '\0';
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "");
    /* But the refusal of an unknown operation comes out of turn. */
    hf_zk_op_queue_event(&f->queue);
    op_fixture_start(f, &o[2], COUNT, "/c");
    op_fixture_answer(f, HF_ZK_UNIMPLEMENTED);
    f->sent[0] = '\0';
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "sync /");
}

/* The reads behind it could be too old.  Another server is asked. */
OP_TEST(a_refused_sync_ends_the_connection,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[1];

    hf_zk_op_queue_event(&f->queue);
    op_fixture_cut(f);
    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "sync /; get /a");
    op_fixture_answer(f, HF_ZK_THROTTLED);
    assert_false(hf_zk_session_usable(&f->session));
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "sync /; get /a");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/a HF_OK");
}

/* Whatever was seen, a new session starts anew. */
OP_TEST(no_sync_is_needed_in_a_new_session,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[1];

    hf_zk_op_queue_event(&f->queue);
    op_fixture_cut(f);
    op_fixture_link_up(f);
    op_fixture_accept(f, 0);
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "");
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "");
    /* It ends while the connection is up. */
    hf_zk_op_queue_event(&f->queue);
    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_answer(f, HF_ZK_SESSION_EXPIRED);
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "");
}

/* --------------------------------------------------------------- watches -- */

OP_TEST(a_read_has_the_flag_where_no_persistent_watch_serves,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct hf_zk_watcher data, persistent;
    static struct test_op o[4];

    data = op_fixture_watcher(f, HF_ZK_WATCH_DATA);
    persistent = op_fixture_watcher(f, HF_ZK_WATCH_PERSISTENT);
    op_fixture_start_watch(f, &o[0], GET, &data);
    op_fixture_expect_sent(f, "get /w watch");
    op_fixture_answer_all(f);
    assert_true(o[0].watching && hf_zk_watcher_is_armed(&data));
    op_fixture_start_watch(f, &o[1], HF_ZOOKEEPER_ADD_WATCH, &persistent);
    op_fixture_expect_sent(f, "addwatch /w persistent");
    op_fixture_answer_all(f);
    assert_true(o[1].watching && hf_zk_watcher_is_armed(&persistent));
    op_fixture_start_watch(f, &o[2], GET, &data);
    op_fixture_expect_sent(f, "get /w");
    op_fixture_answer_all(f);
    op_fixture_start(f, &o[3], GET, "/w");
    op_fixture_expect_sent(f, "get /w");
    hf_zk_watch_set_remove(&f->session.watches, &data);
    hf_zk_watch_set_remove(&f->session.watches, &persistent);
}

/* What the server keeps is known when a read is sent, not when it is started:
 * the watch is written anew for each connection. */
OP_TEST(the_flag_is_that_of_the_connection,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct hf_zk_watcher data, recursive;
    static struct test_op o[2];

    data = op_fixture_watcher(f, HF_ZK_WATCH_DATA);
    recursive = op_fixture_watcher(f, HF_ZK_WATCH_RECURSIVE);
    op_fixture_start_watch(f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &recursive);
    op_fixture_answer_all(f);
    op_fixture_start_watch(f, &o[1], GET, &data);
    op_fixture_expect_sent(f, "addwatch /w recursive; get /w");
    hf_zk_watch_set_remove(&f->session.watches, &recursive);
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "get /w watch");
    op_fixture_answer_all(f);
    assert_true(hf_zk_watcher_is_armed(&data));
    hf_zk_watch_set_remove(&f->session.watches, &data);
}

/* An exists of a missing node sets a watch, a read of one does not. */
TEST(only_an_answer_that_sets_it_arms_a_watch)
{
    static const struct {
        enum hf_zookeeper_op_kind kind;
        enum hf_zk_error error;
        bool armed;
        bool missing;
    } rows[] = {
        {GET, HF_ZK_OK, true, false},
        {GET, HF_ZK_NO_NODE, false, false},
        {HF_ZOOKEEPER_EXISTS, HF_ZK_OK, true, false},
        {HF_ZOOKEEPER_EXISTS, HF_ZK_NO_NODE, true, true},
        {HF_ZOOKEEPER_EXISTS, HF_ZK_NO_AUTH, false, false},
    };
    struct hf_zk_watcher watcher;
    struct zk_op_fixture f;
    struct test_op o[1];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        op_fixture_begin_connected(&f, HF_ZK_SENT_OPS_MAX);
        watcher = op_fixture_watcher(&f, HF_ZK_WATCH_DATA);
        op_fixture_start_watch(&f, &o[0], rows[i].kind, &watcher);
        op_fixture_answer(&f, rows[i].error);
        assert_int_equal(hf_zk_watcher_is_armed(&watcher), rows[i].armed);
        assert_int_equal(watcher.state == HF_ZK_WATCHER_ARMED_MISSING,
                         rows[i].missing);
        assert_int_equal(o[0].watching, rows[i].armed);
        hf_zk_watch_set_remove(&f.session.watches, &watcher);
        op_fixture_end(&f);
    }
}

/* It is not known then what the server keeps at the path. */
OP_TEST(a_refused_add_watch_ends_the_connection,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct hf_zk_watcher watcher;
    static struct test_op o[2];

    watcher = op_fixture_watcher(f, HF_ZK_WATCH_PERSISTENT);
    op_fixture_start_watch(f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &watcher);
    op_fixture_start(f, &o[1], GET, "/a");
    op_fixture_answer(f, HF_ZK_NO_AUTH);
    op_fixture_expect_events(f, "/w HF_EDENIED");
    assert_false(hf_zk_session_usable(&f->session) ||
                 hf_zk_watcher_is_armed(&watcher));
    assert_string_equal(f->session.connectivity.error,
                        "h:2181: the server refused a persistent watch (-102)");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /a");
    hf_zk_watch_set_remove(&f->session.watches, &watcher);
}

/* A persistent and a recursive watcher of "/w". */
struct both {
    struct hf_zk_watcher persistent, recursive;
};

/* The AddWatch of the persistent watcher is answered, and ${o}, that of the
 * recursive one, is sent. */
static void add_both(struct zk_op_fixture *f, struct both *both,
                     struct test_op o[2])
{
    op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX);
    both->persistent = op_fixture_watcher(f, HF_ZK_WATCH_PERSISTENT);
    both->recursive = op_fixture_watcher(f, HF_ZK_WATCH_RECURSIVE);
    op_fixture_start_watch(f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &both->persistent);
    op_fixture_answer_all(f);
    op_fixture_start_watch(f, &o[1], HF_ZOOKEEPER_ADD_WATCH, &both->recursive);
    f->events[0] = '\0';
}

/* Remove the recursive watcher, and send ${o}, the AddWatch that lowers the
 * mode. */
static void lower(struct zk_op_fixture *f, struct both *both, struct test_op *o)
{
    assert_int_equal(
        hf_zk_watch_set_unwatch(&f->session.watches, &both->recursive),
        HF_ZK_UNWATCH_LOWER);
    op_fixture_prepare(f, o, HF_ZOOKEEPER_ADD_WATCH, "/w");
    o->op.kind = HF_ZOOKEEPER_SYNC; /* as the client sends it, */
    hf_zookeeper_result_free(o->op.reserved);
    o->op.reserved = NULL; /* which wants no result */
    f->events[0] = '\0';
    o->next = f->ops;
    f->ops = o;
    hf_zk_op_queue_send(&f->queue, &o->op, f->now_ms);
}

/* A child is created.  The server reports this because of a watch of the child
 * or of a node above, and, while the mode of "/w" is persistent, that the
 * children of "/w" have changed. */
static void create_child(struct zk_op_fixture *f, bool reports_children,
                         const char *expected)
{
    op_fixture_fire(f, HF_ZK_NODE_CREATED, "/w/c");
    if (reports_children)
        op_fixture_fire(f, HF_ZK_NODE_CHILDREN_CHANGED, "/w");
    op_fixture_expect_events(f, expected);
}

/* Events before the answer to an AddWatch are those of the mode before it. */
TEST(children_change_once_in_each_mode)
{
    struct zk_op_fixture f;
    struct test_op o[3];
    struct both both;

    add_both(&f, &both, o);
    create_child(&f, true, "event 4");
    op_fixture_answer_all(&f);
    f.events[0] = '\0';
    create_child(&f, false, "event 1; event 4");
    lower(&f, &both, &o[2]);
    create_child(&f, false, "event 4");
    op_fixture_answer_all(&f);
    f.events[0] = '\0';
    create_child(&f, true, "event 4");
    hf_zk_watch_set_remove(&f.session.watches, &both.persistent);
    op_fixture_end(&f);
}

/* The recursive watch is freed before its AddWatch is answered.  Its operation
 * has ended then, and the server carries it out all the same. */
TEST(the_answer_to_a_cancelled_add_watch_is_of_its_mode)
{
    struct zk_op_fixture f;
    struct test_op o[3];
    struct both both;

    add_both(&f, &both, o);
    o[1].op.watcher = NULL;
    op_fixture_cancel(&f, &o[1]);
    lower(&f, &both, &o[2]);
    create_child(&f, true, "event 4");
    op_fixture_answer(&f, HF_ZK_OK);
    create_child(&f, false, "event 4");
    op_fixture_answer(&f, HF_ZK_OK);
    f.events[0] = '\0';
    create_child(&f, true, "event 4");
    hf_zk_watch_set_remove(&f.session.watches, &both.persistent);
    op_fixture_end(&f);
}

/* The answer that would change the mode is lost with its connection, and the
 * next one sets the persistent watch. */
TEST(a_new_connection_has_the_mode_that_it_sets)
{
    struct zk_op_fixture f;
    struct test_op o[3];
    struct both both;

    add_both(&f, &both, o);
    op_fixture_answer_all(&f);
    lower(&f, &both, &o[2]);
    o[2].op.only_try = true; /* as the client sends it */
    op_fixture_reconnect(&f);
    op_fixture_answer_set_watches(&f);
    f.events[0] = '\0';
    create_child(&f, true, "event 4");
    hf_zk_watch_set_remove(&f.session.watches, &both.persistent);
    op_fixture_end(&f);
}

/* The AddWatch that lowers the mode, after a recursive watch was freed, is
 * refused. */
TEST(a_refused_lower_mode_ends_the_connection)
{
    struct zk_op_fixture f;
    struct test_op o[3];
    struct both both;

    add_both(&f, &both, o);
    op_fixture_answer_all(&f);
    lower(&f, &both, &o[2]);
    op_fixture_answer(&f, HF_ZK_THROTTLED);
    op_fixture_expect_events(&f, "/w HF_EPROTOCOL");
    assert_false(hf_zk_session_usable(&f.session));
    hf_zk_watch_set_remove(&f.session.watches, &both.persistent);
    op_fixture_end(&f);
}

/* On a new connection a persistent watch has missed something, perhaps. */
OP_TEST(a_persistent_watch_is_resynced_once_per_connection,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct hf_zk_watcher watcher;
    static struct test_op o[1];

    watcher = op_fixture_watcher(f, HF_ZK_WATCH_PERSISTENT);
    op_fixture_start_watch(f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &watcher);
    op_fixture_answer_all(f);
    f->events[0] = '\0';
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "setwatches 100");
    op_fixture_expect_events(f, "");
    op_fixture_answer_set_watches(f);
    op_fixture_fire(f, HF_ZK_NODE_DATA_CHANGED, "/w");
    op_fixture_expect_events(f, "event -2; event 3");
    hf_zk_watch_set_remove(&f->session.watches, &watcher);
}

/* The zxid that a resume offers is that of the last answer.  An event may be
 * one of several of its transaction, and the others may come yet. */
OP_TEST(an_event_does_not_move_the_zxid_of_a_resume,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct hf_zk_watcher watcher;
    static struct test_op o[2];

    watcher = op_fixture_watcher(f, HF_ZK_WATCH_DATA);
    f->zxid = 70;
    op_fixture_start_watch(f, &o[0], GET, &watcher);
    op_fixture_answer_all(f);
    f->zxid = 900;
    op_fixture_fire(f, HF_ZK_NODE_DATA_CHANGED, "/other");
    f->sent[0] = '\0';
    op_fixture_reconnect(f);
    assert_int_equal(f->handshake_zxid, 70);
    op_fixture_expect_sent(f, "setwatches 70");
    op_fixture_answer_set_watches(f);
    op_fixture_start(f, &o[1], GET, "/a");
    op_fixture_reconnect(f);
    assert_int_equal(f->handshake_zxid, 70);
    hf_zk_watch_set_remove(&f->session.watches, &watcher);
}

TEST_FILE(zk_op_watches)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
