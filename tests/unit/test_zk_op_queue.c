/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a client on a session (zookeeper/op_queue.h), with a server
 * that the test scripts, frame by frame: in which order they are sent, and how
 * each ends whatever happens to the connection, the session, the time or the
 * server. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"
#include "zookeeper/watch_modes.h"
#include "zookeeper/watch_resume.h"

#define GET HF_ZOOKEEPER_GET
#define SET HF_ZOOKEEPER_SET
#define COUNT HF_ZOOKEEPER_COUNT

/* A fixture with one server, whose first connection is there. */
static void begin_connected(struct zk_op_fixture *f, unsigned window)
{
    op_fixture_begin(f, 1, window);
    op_fixture_connect(f);
}

/* Cut the connection, and have the next one resume the session. */
static void reconnect(struct zk_op_fixture *f)
{
    op_fixture_cut(f);
    f->sent[0] = '\0';
    op_fixture_connect(f);
}

/* Start an operation of another priority. */
static void start_at(struct zk_op_fixture *f, struct test_op *o,
                     enum hf_zookeeper_priority priority, const char *path)
{
    op_fixture_prepare(f, o, GET, path);
    o->op.priority = priority;
    op_fixture_start_prepared(f, o);
}

/* ----------------------------------------------------------------- order -- */

static void operations_are_sent_and_end_in_the_order_of_starting(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_connect(&f);
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_expect_sent(&f, "get /a; set /b; get /c");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_start(&f, &o[3], HF_ZOOKEEPER_DELETE, "/d");
    op_fixture_answer(&f, HF_ZK_NO_NODE);
    op_fixture_answer_all(&f);
    op_fixture_expect_sent(&f, "delete /d");
    op_fixture_expect_events(&f, "/a HF_OK; /b HF_EGONE; /c HF_OK; /d HF_OK");
    assert_string_equal(o[1].text, "/b: no such node");
    op_fixture_end(&f);
}

/* 512 are in flight, and the next ones wait: urgent ones go before normal ones
 * and those before bulk ones, each in order. */
static void more_than_the_window_waits_by_priority(void **state)
{
    static struct test_op full[HF_ZK_SENT_OPS_MAX];
    struct zk_op_fixture f;
    struct test_op o[6];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    for (size_t i = 0; i < HF_ZK_SENT_OPS_MAX; i++)
        op_fixture_start(&f, &full[i], SET, "/full");
    start_at(&f, &o[0], HF_ZOOKEEPER_BULK, "/b1");
    start_at(&f, &o[1], HF_ZOOKEEPER_NORMAL, "/n1");
    start_at(&f, &o[2], HF_ZOOKEEPER_URGENT, "/u1");
    start_at(&f, &o[3], HF_ZOOKEEPER_BULK, "/b2");
    start_at(&f, &o[4], HF_ZOOKEEPER_NORMAL, "/n2");
    start_at(&f, &o[5], HF_ZOOKEEPER_URGENT, "/u2");
    op_fixture_read(&f);
    assert_int_equal(f.call_count, HF_ZK_SENT_OPS_MAX);
    assert_null(strstr(f.sent, "get"));
    f.sent[0] = '\0';
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_expect_sent(&f, "get /u1");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_expect_sent(&f, "get /u2");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_expect_sent(&f, "get /n1");
    op_fixture_answer_all(&f);
    op_fixture_expect_sent(&f, "get /n2; get /b1; get /b2");
    op_fixture_end(&f);
}

static void requests_of_watches_go_before_what_waits(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, 1);
    op_fixture_start(&f, &o[0], SET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_prepare(&f, &o[2], GET, "/c");
    o[2].next = f.ops;
    f.ops = &o[2];
    hf_zk_op_queue_send(&f.queue, &o[2].op, f.now_ms);
    op_fixture_expect_sent(&f, "set /a; get /c");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/a HF_OK; /c HF_OK; /b HF_OK");
    op_fixture_end(&f);
}

/* --------------------------------------------------------------- outages -- */

static void reads_are_repeated_before_what_waited(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[5];

    (void)state;
    begin_connected(&f, 3);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], HF_ZOOKEEPER_CHILDREN, "/b");
    op_fixture_start(&f, &o[2], HF_ZOOKEEPER_SYNC, "/c");
    op_fixture_start(&f, &o[3], GET, "/d");
    op_fixture_expect_sent(&f, "get /a; children /b; sync /c");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_expect_sent(&f, "get /d");
    op_fixture_start(&f, &o[4], HF_ZOOKEEPER_EXISTS, "/e");
    reconnect(&f);
    op_fixture_expect_sent(&f, "children /b; sync /c; get /d");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(
        &f, "/a HF_OK; /b HF_OK; /c HF_OK; /d HF_OK; /e HF_OK");
    op_fixture_end(&f);
}

/* The second connection has no time to send all that was sent on the first one,
 * because urgent ones take the window. */
static void a_second_cut_keeps_the_order(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[7];

    (void)state;
    begin_connected(&f, 3);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_start(&f, &o[3], GET, "/d");
    op_fixture_cut(&f);
    start_at(&f, &o[4], HF_ZOOKEEPER_URGENT, "/u1");
    start_at(&f, &o[5], HF_ZOOKEEPER_URGENT, "/u2");
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /u1; get /u2; get /a");
    op_fixture_start(&f, &o[6], GET, "/e");
    reconnect(&f);
    op_fixture_expect_sent(&f, "get /u1; get /u2; get /a");
    reconnect(&f);
    op_fixture_answer_all(&f);
    op_fixture_expect_sent(&f, "get /u1; get /u2; get /a; get /b; get /c; "
                               "get /d; get /e");
    op_fixture_expect_events(&f, "/u1 HF_OK; /u2 HF_OK; /a HF_OK; /b HF_OK; "
                                 "/c HF_OK; /d HF_OK; /e HF_OK");
    op_fixture_end(&f);
}

/* The same where nothing waited behind them. */
static void what_a_second_cut_leaves_is_all_that_waits(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[5];

    (void)state;
    begin_connected(&f, 2);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_cut(&f);
    start_at(&f, &o[2], HF_ZOOKEEPER_URGENT, "/u1");
    start_at(&f, &o[3], HF_ZOOKEEPER_URGENT, "/u2");
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /u1; get /u2");
    op_fixture_cut(&f);
    op_fixture_start(&f, &o[4], GET, "/c");
    op_fixture_connect(&f);
    op_fixture_answer_all(&f);
    op_fixture_expect_sent(&f, "get /u1; get /u2; get /a; get /b; get /c");
    op_fixture_end(&f);
}

static void writes_that_were_sent_are_unsure_and_not_repeated(void **state)
{
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_CREATE,  HF_ZOOKEEPER_DELETE, HF_ZOOKEEPER_SET,
        HF_ZOOKEEPER_SET_ACL, HF_ZOOKEEPER_MULTI,  HF_ZOOKEEPER_RECONFIG};
    struct zk_op_fixture f;
    struct test_op o[7];

    (void)state;
    begin_connected(&f, 6);
    for (size_t i = 0; i < 6; i++)
        op_fixture_start(&f, &o[i], kinds[i], "/w");
    op_fixture_start(&f, &o[6], SET, "/waits");
    op_fixture_expect_sent(
        &f, "create /w; delete /w; set /w; setacl /w; multi; reconfig");
    op_fixture_cut(&f);
    op_fixture_expect_events(&f, "/w HF_EUNSURE; /w HF_EUNSURE; /w HF_EUNSURE; "
                                 "/w HF_EUNSURE; /w HF_EUNSURE; "
                                 "/w HF_EUNSURE");
    assert_non_null(strstr(o[0].text, "it may have been carried out"));
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "set /waits");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/waits HF_OK");
    op_fixture_end(&f);
}

/* All kinds of operations wait, writes too, in order. */
static void what_waits_survives_an_outage(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_cut(&f);
    op_fixture_start(&f, &o[0], SET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_start(&f, &o[2], HF_ZOOKEEPER_DELETE, "/c");
    op_fixture_expect_events(&f, "");
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "set /a; get /b; delete /c");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/a HF_OK; /b HF_OK; /c HF_OK");
    op_fixture_end(&f);
}

/* ---------------------------------------------------- end of the session -- */

/* The session ends while there is no connection. */
static void a_lost_session_ends_what_waits(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    begin_connected(&f, 2);
    op_fixture_start(&f, &o[0], SET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_start(&f, &o[2], SET, "/c");
    op_fixture_cut(&f);
    op_fixture_expect_events(&f, "/a HF_EUNSURE");
    op_fixture_link_up(&f);
    assert_int_equal(f.handshake_id, OP_FIXTURE_SESSION);
    op_fixture_accept(&f, 0);
    op_fixture_expect_events(&f, "/b HF_ELOST; /c HF_ELOST");
    f.sent[0] = '\0';
    op_fixture_start(&f, &o[3], SET, "/d");
    op_fixture_connect(&f);
    assert_int_equal(f.handshake_id, 0);
    op_fixture_expect_sent(&f, "set /d");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/d HF_OK");
    op_fixture_end(&f);
}

/* A server says so in the answer to an operation.  Those that were sent behind
 * it end too. */
static void a_session_may_end_while_operations_are_sent(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[5];

    (void)state;
    begin_connected(&f, 4);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_start(&f, &o[3], COUNT, "/alone");
    op_fixture_answer(&f, HF_ZK_SESSION_EXPIRED);
    op_fixture_expect_events(
        &f, "/a HF_ELOST; /b HF_EUNSURE; /c HF_ELOST; /alone HF_ELOST");
    f.sent[0] = '\0';
    op_fixture_start(&f, &o[4], GET, "/d");
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /d");
    op_fixture_answer_all(&f);
    op_fixture_end(&f);
}

/* The client gives the session up when no server has answered in time. */
static void a_session_that_is_given_up_ends_what_waits(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_cut(&f);
    op_fixture_pass(&f, OP_FIXTURE_TIMEOUT_MS);
    op_fixture_expect_events(&f, "/a HF_ELOST");
    f.sent[0] = '\0';
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_connect(&f);
    assert_int_equal(f.handshake_id, 0);
    op_fixture_expect_sent(&f, "get /b");
    op_fixture_end(&f);
}

/* ----------------------------------------------------- travelling alone -- */

static void an_optional_operation_travels_alone_once(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[5];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], COUNT, "/b");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_expect_sent(&f, "get /a");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_expect_sent(&f, "count /b");
    op_fixture_start(&f, &o[3], SET, "/d");
    op_fixture_expect_sent(&f, "");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_start(&f, &o[4], COUNT, "/e"); /* which is known now */
    op_fixture_expect_sent(&f, "get /c; set /d; count /e");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(
        &f, "/a HF_OK; /b HF_OK; /c HF_OK; /d HF_OK; /e HF_OK");
    op_fixture_end(&f);
}

/* An error of another kind shows that the server knows the operation. */
static void each_optional_operation_travels_alone(void **state)
{
    static const struct hf_zookeeper_op part = {.kind = GET, .path = "/a"};
    static const struct hf_zookeeper_op ops[] = {
        {.kind = HF_ZOOKEEPER_CREATE,
         .path = "/a",
         .mode = HF_ZOOKEEPER_CONTAINER},
        {.kind = HF_ZOOKEEPER_CREATE,
         .path = "/a",
         .mode = HF_ZOOKEEPER_TTL,
         .ttl_ms = 1},
        {.kind = HF_ZOOKEEPER_MULTI_READ, .ops = &part, .op_count = 1},
        {.kind = HF_ZOOKEEPER_EPHEMERALS, .path = "/a"},
        {.kind = HF_ZOOKEEPER_COUNT, .path = "/a"},
        {.kind = HF_ZOOKEEPER_WHO_AM_I},
    };
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        begin_connected(&f, HF_ZK_SENT_OPS_MAX);
        op_fixture_prepare_as(&f, &o[0], &ops[i]);
        op_fixture_start_prepared(&f, &o[0]);
        op_fixture_start(&f, &o[1], GET, "/behind");
        op_fixture_read(&f);
        assert_int_equal(f.call_count, 1);
        op_fixture_answer(&f, HF_ZK_NO_AUTH);
        op_fixture_prepare_as(&f, &o[2], &ops[i]);
        op_fixture_start_prepared(&f, &o[2]);
        op_fixture_start(&f, &o[3], GET, "/behind");
        op_fixture_read(&f);
        assert_int_equal(f.call_count, 3);
        op_fixture_end(&f);
    }
}

/* What one server knows says nothing of the other. */
static void what_is_known_is_known_of_one_server(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[7];
    size_t first;

    (void)state;
    op_fixture_begin(&f, 2, HF_ZK_SENT_OPS_MAX);
    op_fixture_connect(&f);
    first = f.session.server;
    op_fixture_start(&f, &o[0], COUNT, "/a");
    op_fixture_answer(&f, HF_ZK_OK);
    reconnect(&f);
    assert_true(f.session.server != first);
    op_fixture_start(&f, &o[1], COUNT, "/b");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_expect_sent(&f, "count /b");
    op_fixture_answer(&f, HF_ZK_UNIMPLEMENTED);
    op_fixture_answer_all(&f);
    op_fixture_start(&f, &o[3], COUNT, "/d");
    op_fixture_expect_sent(&f, "get /c");
    op_fixture_expect_events(
        &f, "/a HF_OK; /b HF_EUNSUPPORTED; /c HF_OK; /d HF_EUNSUPPORTED");
    assert_string_equal(o[3].text,
                        "/d: the server does not know this operation, or has "
                        "it switched off");
    op_fixture_start(&f, &o[4], GET, "/e");
    reconnect(&f);
    assert_int_equal(f.session.server, first);
    op_fixture_start(&f, &o[5], COUNT, "/f");
    op_fixture_start(&f, &o[6], GET, "/g");
    op_fixture_expect_sent(&f, "get /e; count /f; get /g");
    op_fixture_end(&f);
}

/* Servers close the connection after an unknown opcode.  What waited is not
 * concerned. */
static void an_unknown_operation_cuts_no_other(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], COUNT, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_start(&f, &o[2], COUNT, "/c");
    op_fixture_read(&f);
    op_fixture_answer(&f, HF_ZK_UNIMPLEMENTED);
    op_fixture_expect_events(&f, "/a HF_EUNSUPPORTED; /c HF_EUNSUPPORTED");
    op_fixture_cut(&f); /* and /b had been sent */
    op_fixture_expect_events(&f, "/b HF_EUNSURE");
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_start(&f, &o[3], COUNT, "/d");
    op_fixture_expect_sent(&f, "");
    op_fixture_expect_events(&f, "/d HF_EUNSUPPORTED");
    op_fixture_end(&f);
}

/* The server does not even answer. */
static void an_operation_that_is_cut_twice_alone_is_unsupported(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], COUNT, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    reconnect(&f);
    op_fixture_expect_sent(&f, "count /a");
    op_fixture_expect_events(&f, "");
    reconnect(&f);
    op_fixture_expect_events(&f, "/a HF_EUNSUPPORTED");
    op_fixture_expect_sent(&f, "get /b");
    assert_non_null(strstr(o[0].text, "servers that do not know it do that"));
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/b HF_OK");
    /* Another one is tried once more. */
    op_fixture_start(&f, &o[2], COUNT, "/c");
    op_fixture_expect_sent(&f, "count /c");
    op_fixture_end(&f);
}

/* A write is not sent again, so its first cut ends it. */
static void an_optional_write_is_unsure_at_its_first_cut(void **state)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = "/a",
                                       .mode = HF_ZOOKEEPER_CONTAINER};
    struct zk_op_fixture f;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_prepare_as(&f, &o[0], &op);
    op_fixture_start_prepared(&f, &o[0]);
    op_fixture_expect_sent(&f, "container /a");
    reconnect(&f);
    op_fixture_expect_events(&f, "/a HF_EUNSURE");
    op_fixture_expect_sent(&f, "");
    op_fixture_end(&f);
}

/* The answer of one that was given up still lets the others go. */
static void a_cancelled_operation_keeps_others_back_until_answered(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], COUNT, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_cancel(&f, &o[0]);
    op_fixture_expect_sent(&f, "count /a");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_expect_sent(&f, "get /b");
    op_fixture_end(&f);
}

/* ------------------------------------------------------------------ time -- */

static void start_until(struct zk_op_fixture *f, struct test_op *o,
                        enum hf_zookeeper_op_kind kind, const char *path,
                        uint64_t ms)
{
    op_fixture_prepare(f, o, kind, path);
    o->op.deadline_at_ms = f->now_ms + ms;
    op_fixture_start_prepared(f, o);
}

static void a_deadline_ends_what_waits(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, 1);
    op_fixture_start(&f, &o[0], GET, "/a");
    start_until(&f, &o[1], SET, "/b", 100);
    op_fixture_start(&f, &o[2], GET, "/c");
    assert_int_equal(hf_zk_op_queue_wake_at_ms(&f.queue), f.now_ms + 100);
    op_fixture_pass(&f, 99);
    op_fixture_expect_events(&f, "");
    op_fixture_pass(&f, 1);
    op_fixture_expect_events(&f, "/b HF_ETIMEDOUT");
    assert_int_equal(o[1].released, 1);
    assert_true(hf_zk_op_queue_wake_at_ms(&f.queue) == HF_FOREVER);
    op_fixture_answer_all(&f);
    op_fixture_expect_sent(&f, "get /a; get /c");
    op_fixture_end(&f);
}

/* A write may have been carried out.  The answers that come late are dropped,
 * and the memory is needed until then. */
static void a_deadline_ends_what_was_sent(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    start_until(&f, &o[0], SET, "/a", 100);
    start_until(&f, &o[1], GET, "/b", 50);
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_read(&f);
    op_fixture_pass(&f, 50);
    op_fixture_expect_events(&f, "/b HF_ETIMEDOUT");
    op_fixture_pass(&f, 50);
    op_fixture_expect_events(&f, "/a HF_EUNSURE");
    assert_int_equal(o[0].released + o[1].released, 0);
    op_fixture_answer(&f, HF_ZK_OK);
    assert_int_equal(o[0].released, 1);
    assert_int_equal(o[1].released, 0);
    op_fixture_answer_all(&f);
    assert_int_equal(o[1].released, 1);
    op_fixture_expect_events(&f, "/c HF_OK");
    op_fixture_end(&f);
}

/* Instead of an answer the connection ends. */
static void what_ended_by_its_deadline_is_not_repeated(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    start_until(&f, &o[0], GET, "/a", 50);
    op_fixture_read(&f);
    op_fixture_pass(&f, 50);
    assert_int_equal(o[0].released, 0);
    reconnect(&f);
    assert_int_equal(o[0].released, 1);
    op_fixture_expect_sent(&f, "");
    op_fixture_expect_events(&f, "/a HF_ETIMEDOUT");
    op_fixture_end(&f);
}

/* A repeated read is a waiting one again. */
static void a_deadline_holds_over_a_cut(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    start_until(&f, &o[0], GET, "/a", 10);
    op_fixture_cut(&f);
    op_fixture_pass(&f, 10);
    op_fixture_expect_events(&f, "/a HF_ETIMEDOUT");
    assert_int_equal(o[0].released, 1);
    op_fixture_end(&f);
}

/* .connect_by_ms is for the first connection alone. */
static void the_first_connection_has_its_own_deadline(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    op_fixture_link_up(&f);
    op_fixture_cut(&f);
    op_fixture_prepare(&f, &o[0], GET, "/a");
    o[0].op.connect_by_ms = f.now_ms + 20;
    op_fixture_start_prepared(&f, &o[0]);
    op_fixture_prepare(&f, &o[1], GET, "/b");
    o[1].op.connect_by_ms = f.now_ms + 4000;
    o[1].op.deadline_at_ms = f.now_ms + 5000;
    op_fixture_start_prepared(&f, &o[1]);
    op_fixture_pass(&f, 20);
    op_fixture_expect_events(&f, "/a HF_EUNREACHABLE");
    assert_string_equal(o[0].text,
                        "/a: no server was reached in time: h:2181: reset");
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /b");
    op_fixture_prepare(&f, &o[2], GET, "/c");
    o[2].op.connect_by_ms = f.now_ms + 1;
    op_fixture_start_prepared(&f, &o[2]);
    op_fixture_pass(&f, 4000);
    op_fixture_expect_events(&f, "");
    op_fixture_pass(&f, 1000);
    op_fixture_expect_events(&f, "/b HF_ETIMEDOUT");
    op_fixture_end(&f);
}

/* --------------------------------------------------------------- one try -- */

static void try(struct zk_op_fixture *f, struct test_op *o, const char *path)
{
    op_fixture_prepare(f, o, GET, path);
    o->op.only_try = true;
    op_fixture_start_prepared(f, o);
}

/* It waits for the first connection, and for the window, but for no later
 * connection. */
static void a_try_waits_for_no_later_connection(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[5];

    (void)state;
    op_fixture_begin(&f, 1, 2);
    try(&f, &o[0], "/a");
    op_fixture_expect_events(&f, "");
    op_fixture_connect(&f);
    op_fixture_start(&f, &o[1], GET, "/b");
    try(&f, &o[2], "/c");
    op_fixture_start(&f, &o[3], GET, "/d");
    op_fixture_expect_sent(&f, "get /a; get /b");
    op_fixture_cut(&f);
    op_fixture_expect_events(&f, "/c HF_EUNREACHABLE; /a HF_EUNREACHABLE");
    try(&f, &o[4], "/e");
    op_fixture_expect_events(&f, "/e HF_EUNREACHABLE");
    assert_string_equal(o[4].text, "/e: there is no connection: h:2181: reset");
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /b; get /d");
    op_fixture_end(&f);
}

/* The session of a server without a quorum ends while it is connected.  Other
 * reads wait for the next one. */
static void a_try_does_not_wait_for_a_later_session(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    op_fixture_begin(&f, 1, 1);
    f.config.read_only = f.read_only = true;
    op_fixture_connect(&f);
    assert_true(hf_zk_session_read_only(&f.session));
    op_fixture_start(&f, &o[0], GET, "/a");
    try(&f, &o[1], "/b");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_answer(&f, HF_ZK_SESSION_EXPIRED);
    op_fixture_expect_events(&f, "/b HF_EUNREACHABLE");
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_answer_all(&f);
    op_fixture_expect_sent(&f, "get /a; get /c");
    op_fixture_end(&f);
}

/* ---------------------------------------------------------------- cancel -- */

static void an_operation_can_be_cancelled_in_each_state(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    begin_connected(&f, 2);
    op_fixture_start(&f, &o[0], SET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_start(&f, &o[2], SET, "/c");
    op_fixture_start(&f, &o[3], GET, "/d");
    op_fixture_cancel(&f, &o[2]);
    op_fixture_cancel(&f, &o[1]);
    op_fixture_cancel(&f, &o[0]);
    op_fixture_expect_events(
        &f, "/c HF_ECANCELLED; /b HF_ECANCELLED; /a HF_EUNSURE");
    assert_string_equal(o[2].text, "/c: it was cancelled");
    assert_int_equal(o[2].released, 1);
    op_fixture_cancel(&f, &o[0]); /* abandoned */
    op_fixture_cancel(&f, &o[2]); /* ended */
    op_fixture_expect_events(&f, "");
    op_fixture_answer_all(&f);
    op_fixture_cancel(&f, &o[3]);
    op_fixture_expect_sent(&f, "set /a; get /b; get /d");
    op_fixture_expect_events(&f, "/d HF_OK");
    op_fixture_end(&f);
}

/* Repeated, and in the list of an earlier connection. */
static void a_repeated_operation_can_be_cancelled(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    begin_connected(&f, 3);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_start(&f, &o[3], GET, "/d");
    op_fixture_cut(&f);
    op_fixture_cancel(&f, &o[1]);
    op_fixture_link_up(&f);
    op_fixture_cut(&f);
    op_fixture_cancel(&f, &o[2]);
    op_fixture_expect_events(&f, "/b HF_ECANCELLED; /c HF_ECANCELLED");
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /a; get /d");
    op_fixture_end(&f);
}

/* The operation in front waits until nothing is unanswered. */
static void a_cancelled_operation_lets_those_behind_it_go(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], COUNT, "/b");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_cancel(&f, &o[1]);
    op_fixture_expect_sent(&f, "get /a; get /c");
    op_fixture_end(&f);
}

/* ----------------------------------------------------------------- close -- */

static void a_close_ends_what_waits_and_awaits_what_was_sent(void **state)
{
    struct zk_op_fixture f;
    struct hf_error error;
    struct test_op o[4];

    (void)state;
    begin_connected(&f, 2);
    op_fixture_start(&f, &o[0], SET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    op_fixture_start(&f, &o[2], SET, "/c");
    hf_zk_op_queue_close(&f.queue, f.now_ms);
    op_fixture_expect_events(&f, "/c HF_ECLOSED");
    op_fixture_prepare(&f, &o[3], GET, "/d");
    assert_int_equal(op_fixture_add(&f, &o[3], &error), HF_ECLOSED);
    assert_non_null(o[3].op.reserved);
    hf_zookeeper_result_free(o[3].op.reserved);
    hf_jute_free(&o[3].op.record);
    hf_zk_session_close(&f.session);
    op_fixture_expect_sent(&f, "set /a; get /b; close");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/a HF_OK; /b HF_OK");
    op_fixture_end(&f);
}

/* The connection ends before the answers come. */
static void a_close_without_answers_ends_all(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, 2);
    op_fixture_start(&f, &o[0], SET, "/a");
    op_fixture_start(&f, &o[1], GET, "/b");
    hf_zk_op_queue_close(&f.queue, f.now_ms);
    hf_zk_session_close(&f.session);
    op_fixture_expect_events(&f, "");
    op_fixture_cut(&f);
    op_fixture_expect_events(&f, "/a HF_EUNSURE; /b HF_ECLOSED");
    op_fixture_end(&f);
}

static void a_close_without_a_connection_ends_all(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, 1);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_cut(&f);
    op_fixture_start(&f, &o[2], GET, "/c");
    hf_zk_op_queue_close(&f.queue, f.now_ms);
    op_fixture_expect_events(&f, "/a HF_ECLOSED; /b HF_ECLOSED; /c HF_ECLOSED");
    op_fixture_end(&f);
}

/* ------------------------------------------------------------- giving up -- */

static void what_waits_ends_when_the_policy_gives_up(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    hf_zk_session_free(&f.session);
    f.config.reconnect.retries = 0;
    hf_zk_session_begin(&f.session, &f.config, &f.session.log, f.now_ms);
    hf_zk_op_queue_init(&f.queue, &f.session, &f.context);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_link_up(&f);
    op_fixture_cut(&f);
    op_fixture_expect_events(&f, "/a HF_EUNREACHABLE; /b HF_EUNREACHABLE");
    assert_string_equal(o[0].text, "/a: no server was reached in 0 retries and "
                                   "0 ms: h:2181: reset");
    assert_true(f.queue.given_up);
    /* The next one makes a new attempt. */
    op_fixture_start(&f, &o[2], GET, "/c");
    assert_false(f.queue.given_up);
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /c");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/c HF_OK");
    op_fixture_end(&f);
}

/* All servers refuse the user of the URL. */
static void a_final_refusal_ends_what_waits(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    op_fixture_begin(&f, 1, 1);
    hf_zk_session_free(&f.session);
    strcpy(f.config.auth, "u:p");
    hf_zk_session_begin(&f.session, &f.config, &f.session.log, f.now_ms);
    hf_zk_op_queue_init(&f.queue, &f.session, &f.context);
    op_fixture_connect(&f);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_expect_sent(&f, "auth digest; get /a");
    op_fixture_answer_auth(&f, HF_ZK_AUTH_FAILED);
    op_fixture_expect_events(&f, "/b HF_EDENIED; /a HF_EDENIED");
    op_fixture_start(&f, &o[2], GET, "/c");
    op_fixture_connect(&f);
    op_fixture_answer_auth(&f, HF_ZK_OK);
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/c HF_OK");
    op_fixture_end(&f);
}

/* ---------------------------------------------------------- old events -- */

static void on_fired(struct hf_zk_watcher *watcher,
                     const struct hf_zk_watch_event *event)
{
    struct zk_op_fixture *f = watcher->user;
    size_t used = strlen(f->events);

    if (event->type != HF_ZK_RESYNC)
        hf_zk_op_queue_event(&f->queue);
    (void)snprintf(f->events + used, sizeof f->events - used, "%sevent %d",
                   used > 0 ? "; " : "", (int)event->type);
}

static struct hf_zk_watcher watcher_of(struct zk_op_fixture *f,
                                       enum hf_zk_watch_mode mode)
{
    return (struct hf_zk_watcher){
        .user = f, .fired = on_fired, .path = "/w", .mode = mode};
}

/* Start an operation of ${kind} that sets ${watcher}. */
static void start_watch(struct zk_op_fixture *f, struct test_op *o,
                        enum hf_zookeeper_op_kind kind,
                        struct hf_zk_watcher *watcher)
{
    op_fixture_prepare(f, o, kind, "/w");
    o->op.watcher = watcher;
    op_fixture_start_prepared(f, o);
}

/* The zxid of the handshake does not include the event.  So the next server may
 * not have what it was about, and a read there would be too old. */
static void a_sync_goes_ahead_of_reads_after_an_old_event(void **state)
{
    struct hf_zk_watcher watcher;
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    f.context.chroot = "/app";
    watcher = watcher_of(&f, HF_ZK_WATCH_DATA);
    start_watch(&f, &o[0], GET, &watcher);
    op_fixture_answer_all(&f);
    op_fixture_fire(&f, HF_ZK_NODE_DATA_CHANGED, "/w");
    op_fixture_expect_events(&f, "/w HF_OK; event 3");
    op_fixture_start(&f, &o[1], GET, "/a");
    op_fixture_cut(&f);
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    assert_int_equal(f.handshake_zxid, 100);
    op_fixture_expect_sent(&f, "sync /app; get /app/a");
    /* A cut before the answer: the next connection needs it, too. */
    reconnect(&f);
    op_fixture_expect_sent(&f, "sync /app; get /app/a");
    op_fixture_answer(&f, HF_ZK_OK);
    op_fixture_start(&f, &o[2], GET, "/b");
    reconnect(&f);
    op_fixture_expect_sent(&f, "get /app/a; get /app/b");
    hf_zk_watch_set_remove(&f.session.watches, &watcher);
    op_fixture_end(&f);
}

static void the_sync_of_no_chroot_is_of_the_root(void **state)
{
    struct zk_op_fixture f;

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    hf_zk_op_queue_event(&f.queue);
    reconnect(&f);
    op_fixture_expect_sent(&f, "sync /");
    op_fixture_end(&f);
}

/* An answer that follows the event has a zxid that includes it. */
static void no_sync_is_needed_after_an_answer(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    reconnect(&f);
    op_fixture_expect_sent(&f, "");
    hf_zk_op_queue_event(&f.queue);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_answer_all(&f);
    f.sent[0] = '\0';
    reconnect(&f);
    op_fixture_expect_sent(&f, "");
    /* The same of the answer to a sync of the queue, */
    hf_zk_op_queue_event(&f.queue);
    reconnect(&f);
    hf_zk_op_queue_event(&f.queue);
    op_fixture_answer_all(&f);
    f.sent[0] = '\0';
    reconnect(&f);
    op_fixture_expect_sent(&f, "");
    /* and of one that nobody waits for any more. */
    hf_zk_op_queue_event(&f.queue);
    start_until(&f, &o[1], GET, "/b", 1);
    op_fixture_read(&f);
    op_fixture_pass(&f, 1);
    op_fixture_answer_all(&f);
    f.sent[0] = '\0';
    reconnect(&f);
    op_fixture_expect_sent(&f, "");
    /* But the refusal of an unknown operation comes out of turn. */
    hf_zk_op_queue_event(&f.queue);
    op_fixture_start(&f, &o[2], COUNT, "/c");
    op_fixture_answer(&f, HF_ZK_UNIMPLEMENTED);
    f.sent[0] = '\0';
    reconnect(&f);
    op_fixture_expect_sent(&f, "sync /");
    op_fixture_end(&f);
}

/* The reads behind it could be too old.  Another server is asked. */
static void a_refused_sync_ends_the_connection(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    hf_zk_op_queue_event(&f.queue);
    op_fixture_cut(&f);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "sync /; get /a");
    op_fixture_answer(&f, HF_ZK_THROTTLED);
    assert_false(hf_zk_session_usable(&f.session));
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "sync /; get /a");
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "/a HF_OK");
    op_fixture_end(&f);
}

/* Whatever was seen, a new session starts anew. */
static void no_sync_is_needed_in_a_new_session(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    hf_zk_op_queue_event(&f.queue);
    op_fixture_cut(&f);
    op_fixture_link_up(&f);
    op_fixture_accept(&f, 0);
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "");
    reconnect(&f);
    op_fixture_expect_sent(&f, "");
    /* It ends while the connection is up. */
    hf_zk_op_queue_event(&f.queue);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_answer(&f, HF_ZK_SESSION_EXPIRED);
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    reconnect(&f);
    op_fixture_expect_sent(&f, "");
    op_fixture_end(&f);
}

/* --------------------------------------------------------------- watches -- */

static void a_read_has_the_flag_where_no_persistent_watch_serves(void **state)
{
    struct hf_zk_watcher data, persistent;
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    data = watcher_of(&f, HF_ZK_WATCH_DATA);
    persistent = watcher_of(&f, HF_ZK_WATCH_PERSISTENT);
    start_watch(&f, &o[0], GET, &data);
    op_fixture_expect_sent(&f, "get /w watch");
    op_fixture_answer_all(&f);
    assert_true(o[0].watching && data.armed);
    start_watch(&f, &o[1], HF_ZOOKEEPER_ADD_WATCH, &persistent);
    op_fixture_expect_sent(&f, "addwatch /w persistent");
    op_fixture_answer_all(&f);
    assert_true(o[1].watching && persistent.armed);
    start_watch(&f, &o[2], GET, &data);
    op_fixture_expect_sent(&f, "get /w");
    op_fixture_answer_all(&f);
    op_fixture_start(&f, &o[3], GET, "/w");
    op_fixture_expect_sent(&f, "get /w");
    hf_zk_watch_set_remove(&f.session.watches, &data);
    hf_zk_watch_set_remove(&f.session.watches, &persistent);
    op_fixture_end(&f);
}

/* What the server keeps is known when a read is sent, not when it is started:
 * the watch is written anew for each connection. */
static void the_flag_is_that_of_the_connection(void **state)
{
    struct hf_zk_watcher data, recursive;
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    data = watcher_of(&f, HF_ZK_WATCH_DATA);
    recursive = watcher_of(&f, HF_ZK_WATCH_RECURSIVE);
    start_watch(&f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &recursive);
    op_fixture_answer_all(&f);
    start_watch(&f, &o[1], GET, &data);
    op_fixture_expect_sent(&f, "addwatch /w recursive; get /w");
    hf_zk_watch_set_remove(&f.session.watches, &recursive);
    reconnect(&f);
    op_fixture_expect_sent(&f, "get /w watch");
    op_fixture_answer_all(&f);
    assert_true(data.armed);
    hf_zk_watch_set_remove(&f.session.watches, &data);
    op_fixture_end(&f);
}

/* An exists of a missing node sets a watch, a read of one does not. */
static void only_an_answer_that_sets_it_arms_a_watch(void **state)
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

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_connected(&f, HF_ZK_SENT_OPS_MAX);
        watcher = watcher_of(&f, HF_ZK_WATCH_DATA);
        start_watch(&f, &o[0], rows[i].kind, &watcher);
        op_fixture_answer(&f, rows[i].error);
        assert_int_equal(watcher.armed, rows[i].armed);
        assert_int_equal(watcher.missing, rows[i].missing);
        assert_int_equal(o[0].watching, rows[i].armed);
        hf_zk_watch_set_remove(&f.session.watches, &watcher);
        op_fixture_end(&f);
    }
}

/* It is not known then what the server keeps at the path. */
static void a_refused_add_watch_ends_the_connection(void **state)
{
    struct hf_zk_watcher watcher;
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    watcher = watcher_of(&f, HF_ZK_WATCH_PERSISTENT);
    start_watch(&f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &watcher);
    op_fixture_start(&f, &o[1], GET, "/a");
    op_fixture_answer(&f, HF_ZK_NO_AUTH);
    op_fixture_expect_events(&f, "/w HF_EDENIED");
    assert_false(hf_zk_session_usable(&f.session) || watcher.armed);
    assert_string_equal(f.session.connectivity.error,
                        "h:2181: the server refused a persistent watch (-102)");
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /a");
    hf_zk_watch_set_remove(&f.session.watches, &watcher);
    op_fixture_end(&f);
}

/* The AddWatch that lowers the mode, after a recursive watch was freed, is
 * refused. */
static void a_refused_lower_mode_ends_the_connection(void **state)
{
    struct hf_zk_watcher persistent, recursive;
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    persistent = watcher_of(&f, HF_ZK_WATCH_PERSISTENT);
    recursive = watcher_of(&f, HF_ZK_WATCH_RECURSIVE);
    start_watch(&f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &persistent);
    start_watch(&f, &o[1], HF_ZOOKEEPER_ADD_WATCH, &recursive);
    op_fixture_answer_all(&f);
    hf_zk_watch_set_remove(&f.session.watches, &recursive);
    assert_int_equal(
        hf_zk_watch_set_after_removal(&f.session.watches, &recursive),
        HF_ZK_UNWATCH_LOWER);
    op_fixture_prepare(&f, &o[2], HF_ZOOKEEPER_ADD_WATCH, "/w");
    o[2].op.kind = HF_ZOOKEEPER_SYNC; /* as the client sends it, */
    hf_zookeeper_result_free(o[2].op.reserved);
    o[2].op.reserved = NULL; /* which wants no result */
    f.events[0] = '\0';
    o[2].next = f.ops;
    f.ops = &o[2];
    hf_zk_op_queue_send(&f.queue, &o[2].op, f.now_ms);
    op_fixture_answer(&f, HF_ZK_THROTTLED);
    op_fixture_expect_events(&f, "/w HF_EPROTOCOL");
    assert_false(hf_zk_session_usable(&f.session));
    hf_zk_watch_set_remove(&f.session.watches, &persistent);
    op_fixture_end(&f);
}

/* On a new connection a persistent watch has missed something, perhaps. */
static void a_persistent_watch_is_resynced_once_per_connection(void **state)
{
    struct hf_zk_watcher watcher;
    struct zk_op_fixture f;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    watcher = watcher_of(&f, HF_ZK_WATCH_PERSISTENT);
    start_watch(&f, &o[0], HF_ZOOKEEPER_ADD_WATCH, &watcher);
    op_fixture_answer_all(&f);
    f.events[0] = '\0';
    reconnect(&f);
    op_fixture_expect_sent(&f, "setwatches 100");
    op_fixture_expect_events(&f, "");
    op_fixture_answer_set_watches(&f);
    op_fixture_fire(&f, HF_ZK_NODE_DATA_CHANGED, "/w");
    op_fixture_expect_events(&f, "event -2; event 3");
    hf_zk_watch_set_remove(&f.session.watches, &watcher);
    op_fixture_end(&f);
}

/* The zxid that a resume offers is that of the last answer.  An event may be
 * one of several of its transaction, and the others may come yet. */
static void an_event_does_not_move_the_zxid_of_a_resume(void **state)
{
    struct hf_zk_watcher watcher;
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    watcher = watcher_of(&f, HF_ZK_WATCH_DATA);
    f.zxid = 70;
    start_watch(&f, &o[0], GET, &watcher);
    op_fixture_answer_all(&f);
    f.zxid = 900;
    op_fixture_fire(&f, HF_ZK_NODE_DATA_CHANGED, "/other");
    f.sent[0] = '\0';
    reconnect(&f);
    assert_int_equal(f.handshake_zxid, 70);
    op_fixture_expect_sent(&f, "setwatches 70");
    op_fixture_answer_set_watches(&f);
    op_fixture_start(&f, &o[1], GET, "/a");
    reconnect(&f);
    assert_int_equal(f.handshake_zxid, 70);
    hf_zk_watch_set_remove(&f.session.watches, &watcher);
    op_fixture_end(&f);
}

/* ----------------------------------------------------------- credentials -- */

static void start_auth(struct zk_op_fixture *f, struct test_op *o)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = "digest",
                                       .data = "u:p",
                                       .bytes = 3};

    op_fixture_prepare_as(f, o, &op);
    o->op.path = "auth";
    op_fixture_start_prepared(f, o);
}

/* On each connection before anything else. */
static void an_added_credential_is_sent_on_each_connection(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], GET, "/a");
    start_auth(&f, &o[1]);
    op_fixture_expect_sent(&f, "get /a; auth digest");
    reconnect(&f);
    op_fixture_expect_sent(&f, "auth digest; get /a");
    op_fixture_expect_events(&f, "");
    op_fixture_answer_auth(&f, HF_ZK_OK);
    op_fixture_expect_events(&f, "auth HF_OK");
    assert_int_equal(o[1].released, 1);
    reconnect(&f);
    op_fixture_expect_sent(&f, "auth digest; get /a");
    op_fixture_end(&f);
}

/* A watch of what only this user may read is set again too late otherwise. */
static void credentials_are_sent_before_watches(void **state)
{
    struct hf_zk_watcher watcher;
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    watcher = watcher_of(&f, HF_ZK_WATCH_DATA);
    start_auth(&f, &o[0]);
    op_fixture_answer_auth(&f, HF_ZK_OK);
    start_watch(&f, &o[1], GET, &watcher);
    op_fixture_answer_all(&f);
    op_fixture_start(&f, &o[2], GET, "/a");
    reconnect(&f);
    op_fixture_expect_sent(&f, "auth digest; setwatches 101; get /a");
    hf_zk_watch_set_remove(&f.session.watches, &watcher);
    op_fixture_end(&f);
}

static void a_refused_credential_is_not_sent_again(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    start_auth(&f, &o[0]);
    op_fixture_start(&f, &o[1], GET, "/a");
    op_fixture_answer_auth(&f, HF_ZK_AUTH_FAILED);
    op_fixture_expect_events(&f, "auth HF_EDENIED");
    assert_false(hf_zk_session_usable(&f.session));
    f.sent[0] = '\0';
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /a");
    op_fixture_end(&f);
}

/* The credential stays when its operation has ended. */
static void a_credential_outlives_its_operation(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[3];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    start_auth(&f, &o[0]);
    op_fixture_cancel(&f, &o[0]);
    start_auth(&f, &o[1]);
    start_auth(&f, &o[2]);
    hf_zk_op_queue_cancel(&f.queue, &o[2].op, f.now_ms);
    op_fixture_expect_events(&f, "auth HF_ECANCELLED; auth HF_ECANCELLED");
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "auth digest; auth digest; auth digest");
    assert_int_equal(o[0].released, 0);
    op_fixture_answer_auth(&f, HF_ZK_OK);
    op_fixture_answer_auth(&f, HF_ZK_OK);
    assert_int_equal(o[0].released, 1);
    op_fixture_expect_events(&f, "auth HF_OK");
    hf_zk_op_queue_close(&f.queue, f.now_ms);
    assert_int_equal(o[2].released, 0);
    op_fixture_end(&f);
}

static void a_credential_has_its_deadlines(void **state)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = "digest"};
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    for (size_t i = 0; i < 2; i++) {
        op_fixture_prepare_as(&f, &o[i], &op);
        o[i].op.path = i == 0 ? "first" : "second";
    }
    o[0].op.connect_by_ms = f.now_ms + 10;
    o[1].op.deadline_at_ms = f.now_ms + 20;
    op_fixture_start_prepared(&f, &o[0]);
    op_fixture_start_prepared(&f, &o[1]);
    op_fixture_pass(&f, 10);
    op_fixture_pass(&f, 10);
    op_fixture_expect_events(&f, "first HF_EUNREACHABLE; second HF_ETIMEDOUT");
    op_fixture_end(&f);
}

static void a_close_ends_an_unanswered_credential(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    start_auth(&f, &o[0]);
    hf_zk_op_queue_close(&f.queue, f.now_ms);
    hf_zk_session_close(&f.session);
    op_fixture_answer_all(&f);
    op_fixture_expect_events(&f, "auth HF_ECLOSED");
    op_fixture_end(&f);
}

/* It waits for a connection, as other operations do. */
static void giving_up_ends_an_unanswered_credential(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    hf_zk_session_free(&f.session);
    f.config.reconnect.retries = 0;
    hf_zk_session_begin(&f.session, &f.config, &f.session.log, f.now_ms);
    hf_zk_op_queue_init(&f.queue, &f.session, &f.context);
    start_auth(&f, &o[0]);
    op_fixture_link_up(&f);
    op_fixture_cut(&f);
    op_fixture_expect_events(&f, "auth HF_EUNREACHABLE");
    op_fixture_start(&f, &o[1], GET, "/a");
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "auth digest; get /a");
    op_fixture_end(&f);
}

/* A try does not wait for a later connection. */
static void a_try_to_add_a_credential_ends_without_a_connection(void **state)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = "digest"};
    struct zk_op_fixture f;
    struct test_op o[4];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    for (size_t i = 0; i < 3; i++) {
        op_fixture_prepare_as(&f, &o[i], &op);
        o[i].op.only_try = true;
    }
    op_fixture_start_prepared(&f, &o[0]);
    op_fixture_cut(&f);
    op_fixture_expect_events(&f, " HF_EUNREACHABLE");
    op_fixture_start_prepared(&f, &o[1]);
    op_fixture_expect_events(&f, " HF_EUNREACHABLE");
    op_fixture_connect(&f);
    op_fixture_start_prepared(&f, &o[2]);
    op_fixture_start(&f, &o[3], GET, "/a");
    op_fixture_answer(&f, HF_ZK_SESSION_EXPIRED);
    op_fixture_expect_events(&f, "/a HF_ELOST;  HF_EUNREACHABLE");
    op_fixture_end(&f);
}

/* ---------------------------------------------------------------- limits -- */

/* As many as may wait would need memory that a test should not take. */
static void no_more_than_a_million_wait(void **state)
{
    struct zk_op_fixture f;
    struct hf_error error;
    struct test_op o[2];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    f.queue.waiting_count = HF_ZK_WAITING_OPS_MAX - 1;
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_prepare(&f, &o[1], GET, "/b");
    assert_int_equal(op_fixture_add(&f, &o[1], &error), HF_ELIMIT);
    assert_string_equal(error.text, "1000000 operations wait to be sent; "
                                    "expected fewer, wait for some of them");
    hf_zookeeper_result_free(o[1].op.reserved);
    hf_jute_free(&o[1].op.record);
    f.queue.waiting_count = 1;
    op_fixture_end(&f);
}

static void an_operation_without_memory_is_not_started(void **state)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = "digest"};
    struct zk_op_fixture f;
    struct hf_error error;
    struct test_op o[1];

    (void)state;
    begin_connected(&f, HF_ZK_SENT_OPS_MAX);
    op_fixture_prepare_as(&f, &o[0], &op);
    heap_fail(1, false);
    assert_int_equal(op_fixture_add(&f, &o[0], &error), HF_ENOMEM);
    heap_fail(0, false);
    assert_true(hf_zk_op_queue_wake_at_ms(&f.queue) == HF_FOREVER);
    hf_zookeeper_result_free(o[0].op.reserved);
    hf_jute_free(&o[0].op.record);
    op_fixture_end(&f);
}

/* What cannot be written because of that counts as sent, and is repeated on the
 * next connection. */
static void a_request_without_memory_is_repeated(void **state)
{
    struct zk_op_fixture f;
    struct test_op o[2];

    (void)state;
    op_fixture_begin(&f, 1, HF_ZK_SENT_OPS_MAX);
    op_fixture_start(&f, &o[0], GET, "/a");
    op_fixture_start(&f, &o[1], SET, "/b");
    op_fixture_connect(&f);
    f.session.wire.out.failed = true; /* as if that had happened in between */
    op_fixture_pass(&f, 0);
    op_fixture_expect_events(&f, "/b HF_EUNSURE");
    op_fixture_connect(&f);
    op_fixture_expect_sent(&f, "get /a");
    op_fixture_end(&f);
}

TEST_FILE(zk_op_queue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_sent_and_end_in_the_order_of_starting),
        cmocka_unit_test(more_than_the_window_waits_by_priority),
        cmocka_unit_test(requests_of_watches_go_before_what_waits),
        cmocka_unit_test(reads_are_repeated_before_what_waited),
        cmocka_unit_test(a_second_cut_keeps_the_order),
        cmocka_unit_test(what_a_second_cut_leaves_is_all_that_waits),
        cmocka_unit_test(writes_that_were_sent_are_unsure_and_not_repeated),
        cmocka_unit_test(what_waits_survives_an_outage),
        cmocka_unit_test(a_lost_session_ends_what_waits),
        cmocka_unit_test(a_session_may_end_while_operations_are_sent),
        cmocka_unit_test(a_session_that_is_given_up_ends_what_waits),
        cmocka_unit_test(an_optional_operation_travels_alone_once),
        cmocka_unit_test(each_optional_operation_travels_alone),
        cmocka_unit_test(what_is_known_is_known_of_one_server),
        cmocka_unit_test(an_unknown_operation_cuts_no_other),
        cmocka_unit_test(an_operation_that_is_cut_twice_alone_is_unsupported),
        cmocka_unit_test(an_optional_write_is_unsure_at_its_first_cut),
        cmocka_unit_test(
            a_cancelled_operation_keeps_others_back_until_answered),
        cmocka_unit_test(a_deadline_ends_what_waits),
        cmocka_unit_test(a_deadline_ends_what_was_sent),
        cmocka_unit_test(what_ended_by_its_deadline_is_not_repeated),
        cmocka_unit_test(a_deadline_holds_over_a_cut),
        cmocka_unit_test(the_first_connection_has_its_own_deadline),
        cmocka_unit_test(a_try_waits_for_no_later_connection),
        cmocka_unit_test(a_try_does_not_wait_for_a_later_session),
        cmocka_unit_test(an_operation_can_be_cancelled_in_each_state),
        cmocka_unit_test(a_repeated_operation_can_be_cancelled),
        cmocka_unit_test(a_cancelled_operation_lets_those_behind_it_go),
        cmocka_unit_test(a_close_ends_what_waits_and_awaits_what_was_sent),
        cmocka_unit_test(a_close_without_answers_ends_all),
        cmocka_unit_test(a_close_without_a_connection_ends_all),
        cmocka_unit_test(what_waits_ends_when_the_policy_gives_up),
        cmocka_unit_test(a_final_refusal_ends_what_waits),
        cmocka_unit_test(a_sync_goes_ahead_of_reads_after_an_old_event),
        cmocka_unit_test(the_sync_of_no_chroot_is_of_the_root),
        cmocka_unit_test(no_sync_is_needed_after_an_answer),
        cmocka_unit_test(a_refused_sync_ends_the_connection),
        cmocka_unit_test(no_sync_is_needed_in_a_new_session),
        cmocka_unit_test(a_read_has_the_flag_where_no_persistent_watch_serves),
        cmocka_unit_test(the_flag_is_that_of_the_connection),
        cmocka_unit_test(only_an_answer_that_sets_it_arms_a_watch),
        cmocka_unit_test(a_refused_add_watch_ends_the_connection),
        cmocka_unit_test(a_refused_lower_mode_ends_the_connection),
        cmocka_unit_test(a_persistent_watch_is_resynced_once_per_connection),
        cmocka_unit_test(an_event_does_not_move_the_zxid_of_a_resume),
        cmocka_unit_test(an_added_credential_is_sent_on_each_connection),
        cmocka_unit_test(credentials_are_sent_before_watches),
        cmocka_unit_test(a_refused_credential_is_not_sent_again),
        cmocka_unit_test(a_credential_outlives_its_operation),
        cmocka_unit_test(a_credential_has_its_deadlines),
        cmocka_unit_test(a_close_ends_an_unanswered_credential),
        cmocka_unit_test(giving_up_ends_an_unanswered_credential),
        cmocka_unit_test(a_try_to_add_a_credential_ends_without_a_connection),
        cmocka_unit_test(no_more_than_a_million_wait),
        cmocka_unit_test(an_operation_without_memory_is_not_started),
        cmocka_unit_test(a_request_without_memory_is_repeated),
    };

    heap_install();
    return RUN_TESTS(tests, NULL, NULL);
}
