/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a client on a session (zookeeper/op_queue.h), with a server
 * that the test scripts, frame by frame: in which order they are sent, which
 * ones travel alone, and what is not started. */
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"

#define GET HF_ZOOKEEPER_GET
#define SET HF_ZOOKEEPER_SET
#define COUNT HF_ZOOKEEPER_COUNT

/* ----------------------------------------------------------------- order -- */

OP_TEST(operations_are_sent_and_end_in_the_order_of_starting,
        op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[4];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], SET, "/b");
    op_fixture_connect(f);
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_expect_sent(f, "get /a; set /b; get /c");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_start(f, &o[3], HF_ZOOKEEPER_DELETE, "/d");
    op_fixture_answer(f, HF_ZK_NO_NODE);
    op_fixture_answer_all(f);
    op_fixture_expect_sent(f, "delete /d");
    op_fixture_expect_events(f, "/a HF_OK; /b HF_EGONE; /c HF_OK; /d HF_OK");
    assert_string_equal(o[1].text, "/b: no such node");
}

/* 512 are in flight, and the next ones wait: urgent ones go before normal ones
 * and those before bulk ones, each in order. */
OP_TEST(more_than_the_window_waits_by_priority,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op full[HF_ZK_SENT_OPS_MAX];
    static struct test_op o[6];

    for (size_t i = 0; i < HF_ZK_SENT_OPS_MAX; i++)
        op_fixture_start(f, &full[i], SET, "/full");
    op_fixture_start_at(f, &o[0], HF_ZOOKEEPER_BULK, "/b1");
    op_fixture_start_at(f, &o[1], HF_ZOOKEEPER_NORMAL, "/n1");
    op_fixture_start_at(f, &o[2], HF_ZOOKEEPER_URGENT, "/u1");
    op_fixture_start_at(f, &o[3], HF_ZOOKEEPER_BULK, "/b2");
    op_fixture_start_at(f, &o[4], HF_ZOOKEEPER_NORMAL, "/n2");
    op_fixture_start_at(f, &o[5], HF_ZOOKEEPER_URGENT, "/u2");
    op_fixture_read(f);
    assert_int_equal(f->call_count, HF_ZK_SENT_OPS_MAX);
    assert_null(strstr(f->sent, "get"));
    f->sent[0] = '\0';
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_sent(f, "get /u1");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_sent(f, "get /u2");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_sent(f, "get /n1");
    op_fixture_answer_all(f);
    op_fixture_expect_sent(f, "get /n2; get /b1; get /b2");
}

OP_TEST(requests_of_watches_go_before_what_waits,
        op_fixture_begin_connected(f, 1))
{
    static struct test_op o[3];

    op_fixture_start(f, &o[0], SET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_prepare(f, &o[2], GET, "/c");
    o[2].next = f->ops;
    f->ops = &o[2];
    hf_zk_op_queue_send(&f->queue, &o[2].op, f->now_ms);
    op_fixture_expect_sent(f, "set /a; get /c");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/a HF_OK; /c HF_OK; /b HF_OK");
}

/* ------------------------------------------------------ travelling alone -- */

OP_TEST(an_optional_operation_travels_alone_once,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[5];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], COUNT, "/b");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_expect_sent(f, "get /a");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_sent(f, "count /b");
    op_fixture_start(f, &o[3], SET, "/d");
    op_fixture_expect_sent(f, "");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_start(f, &o[4], COUNT, "/e"); /* which is known now */
    op_fixture_expect_sent(f, "get /c; set /d; count /e");
    op_fixture_answer_all(f);
    op_fixture_expect_events(
        f, "/a HF_OK; /b HF_OK; /c HF_OK; /d HF_OK; /e HF_OK");
}

/* An error of another kind shows that the server knows the operation. */
TEST(each_optional_operation_travels_alone)
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

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        op_fixture_begin_connected(&f, HF_ZK_SENT_OPS_MAX);
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
OP_TEST(what_is_known_is_known_of_one_server,
        op_fixture_begin(f, 2, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[7];
    size_t first;

    op_fixture_connect(f);
    first = f->session.server;
    op_fixture_start(f, &o[0], COUNT, "/a");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_reconnect(f);
    assert_true(f->session.server != first);
    op_fixture_start(f, &o[1], COUNT, "/b");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_expect_sent(f, "count /b");
    op_fixture_answer(f, HF_ZK_UNIMPLEMENTED);
    op_fixture_answer_all(f);
    op_fixture_start(f, &o[3], COUNT, "/d");
    op_fixture_expect_sent(f, "get /c");
    op_fixture_expect_events(
        f, "/a HF_OK; /b HF_EUNSUPPORTED; /c HF_OK; /d HF_EUNSUPPORTED");
    assert_string_equal(o[3].text,
                        "/d: the server does not know this operation, or has "
                        "it switched off");
    op_fixture_start(f, &o[4], GET, "/e");
    op_fixture_reconnect(f);
    assert_int_equal(f->session.server, first);
    op_fixture_start(f, &o[5], COUNT, "/f");
    op_fixture_start(f, &o[6], GET, "/g");
    op_fixture_expect_sent(f, "get /e; count /f; get /g");
}

/* Servers close the connection after an unknown opcode.  What waited is not
 * concerned. */
OP_TEST(an_unknown_operation_cuts_no_other,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[4];

    op_fixture_start(f, &o[0], COUNT, "/a");
    op_fixture_start(f, &o[1], SET, "/b");
    op_fixture_start(f, &o[2], COUNT, "/c");
    op_fixture_read(f);
    op_fixture_answer(f, HF_ZK_UNIMPLEMENTED);
    op_fixture_expect_events(f, "/a HF_EUNSUPPORTED; /c HF_EUNSUPPORTED");
    op_fixture_cut(f); /* and /b had been sent */
    op_fixture_expect_events(f, "/b HF_EUNSURE");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_start(f, &o[3], COUNT, "/d");
    op_fixture_expect_sent(f, "");
    op_fixture_expect_events(f, "/d HF_EUNSUPPORTED");
}

/* The server does not even answer. */
OP_TEST(an_operation_that_is_cut_twice_alone_is_unsupported,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    op_fixture_start(f, &o[0], COUNT, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "count /a");
    op_fixture_expect_events(f, "");
    op_fixture_reconnect(f);
    op_fixture_expect_events(f, "/a HF_EUNSUPPORTED");
    op_fixture_expect_sent(f, "get /b");
    assert_non_null(strstr(o[0].text, "servers that do not know it do that"));
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/b HF_OK");
    /* Another one is tried once more. */
    op_fixture_start(f, &o[2], COUNT, "/c");
    op_fixture_expect_sent(f, "count /c");
}

/* A write is not sent again, so its first cut ends it. */
OP_TEST(an_optional_write_is_unsure_at_its_first_cut,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = "/a",
                                       .mode = HF_ZOOKEEPER_CONTAINER};
    static struct test_op o[1];

    op_fixture_prepare_as(f, &o[0], &op);
    op_fixture_start_prepared(f, &o[0]);
    op_fixture_expect_sent(f, "container /a");
    op_fixture_reconnect(f);
    op_fixture_expect_events(f, "/a HF_EUNSURE");
    op_fixture_expect_sent(f, "");
}

/* The answer of one that was given up still lets the others go. */
OP_TEST(a_cancelled_operation_keeps_others_back_until_answered,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[2];

    op_fixture_start(f, &o[0], COUNT, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_cancel(f, &o[0]);
    op_fixture_expect_sent(f, "count /a");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_sent(f, "get /b");
}

/* ---------------------------------------------------------------- limits -- */

/* As many as may wait would need memory that a test should not take. */
OP_TEST(no_more_than_a_million_wait, op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    struct hf_error error;
    static struct test_op o[2];

    f->queue.waiting.count = HF_ZK_WAITING_OPS_MAX - 1;
    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_prepare(f, &o[1], GET, "/b");
    assert_int_equal(op_fixture_add(f, &o[1], &error), HF_ELIMIT);
    assert_string_equal(error.text, "1000000 operations wait to be sent; "
                                    "expected fewer, wait for some of them");
    hf_zookeeper_result_free(o[1].op.reserved);
    hf_jute_free(&o[1].op.record);
    f->queue.waiting.count = 1;
}

OP_TEST(an_operation_without_memory_is_not_started,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = "digest"};
    struct hf_error error;
    static struct test_op o[1];

    op_fixture_prepare_as(f, &o[0], &op);
    heap_fail(1, false);
    assert_int_equal(op_fixture_add(f, &o[0], &error), HF_ENOMEM);
    heap_fail(0, false);
    assert_true(hf_zk_op_queue_wake_at_ms(&f->queue) == HF_FOREVER);
    hf_zookeeper_result_free(o[0].op.reserved);
    hf_jute_free(&o[0].op.record);
}

TEST_FILE(zk_op_queue)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
