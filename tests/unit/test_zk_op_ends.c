/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a client that end before an answer, because of their deadline,
 * because there is no connection for one try, because they are cancelled, or
 * because the queue is closed. */
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"

#define GET HF_ZOOKEEPER_GET
#define SET HF_ZOOKEEPER_SET
#define COUNT HF_ZOOKEEPER_COUNT

/* ------------------------------------------------------------------ time -- */

OP_TEST(a_deadline_ends_what_waits, op_fixture_begin_connected(f, 1))
{
    static struct test_op o[3];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start_until(f, &o[1], SET, "/b", 100);
    op_fixture_start(f, &o[2], GET, "/c");
    assert_int_equal(hf_zk_op_queue_wake_at_ms(&f->queue), f->now_ms + 100);
    op_fixture_pass(f, 99);
    op_fixture_expect_events(f, "");
    op_fixture_pass(f, 1);
    op_fixture_expect_events(f, "/b HF_ETIMEDOUT");
    assert_int_equal(o[1].released, 1);
    assert_true(hf_zk_op_queue_wake_at_ms(&f->queue) == HF_FOREVER);
    op_fixture_answer_all(f);
    op_fixture_expect_sent(f, "get /a; get /c");
}

/* A write may have been carried out.  The answers that come late are dropped,
 * and the memory is needed until then. */
OP_TEST(a_deadline_ends_what_was_sent,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    op_fixture_start_until(f, &o[0], SET, "/a", 100);
    op_fixture_start_until(f, &o[1], GET, "/b", 50);
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_read(f);
    op_fixture_pass(f, 50);
    op_fixture_expect_events(f, "/b HF_ETIMEDOUT");
    op_fixture_pass(f, 50);
    op_fixture_expect_events(f, "/a HF_EUNSURE");
    assert_int_equal(o[0].released + o[1].released, 0);
    op_fixture_answer(f, HF_ZK_OK);
    assert_int_equal(o[0].released, 1);
    assert_int_equal(o[1].released, 0);
    op_fixture_answer_all(f);
    assert_int_equal(o[1].released, 1);
    op_fixture_expect_events(f, "/c HF_OK");
}

/* Instead of an answer the connection ends. */
OP_TEST(what_ended_by_its_deadline_is_not_repeated,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[1];

    op_fixture_start_until(f, &o[0], GET, "/a", 50);
    op_fixture_read(f);
    op_fixture_pass(f, 50);
    assert_int_equal(o[0].released, 0);
    op_fixture_reconnect(f);
    assert_int_equal(o[0].released, 1);
    op_fixture_expect_sent(f, "");
    op_fixture_expect_events(f, "/a HF_ETIMEDOUT");
}

/* A repeated read is a waiting one again. */
OP_TEST(a_deadline_holds_over_a_cut,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[1];

    op_fixture_start_until(f, &o[0], GET, "/a", 10);
    op_fixture_cut(f);
    op_fixture_pass(f, 10);
    op_fixture_expect_events(f, "/a HF_ETIMEDOUT");
    assert_int_equal(o[0].released, 1);
}

/* .connect_by_ms is for the first connection alone. */
OP_TEST(the_first_connection_has_its_own_deadline,
        op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    op_fixture_link_up(f);
    op_fixture_cut(f);
    op_fixture_prepare(f, &o[0], GET, "/a");
    o[0].op.connect_by_ms = f->now_ms + 20;
    op_fixture_start_prepared(f, &o[0]);
    op_fixture_prepare(f, &o[1], GET, "/b");
    o[1].op.connect_by_ms = f->now_ms + 4000;
    o[1].op.deadline_at_ms = f->now_ms + 5000;
    op_fixture_start_prepared(f, &o[1]);
    op_fixture_pass(f, 20);
    op_fixture_expect_events(f, "/a HF_EUNREACHABLE");
    assert_string_equal(o[0].text,
                        "/a: no server was reached in time: h:2181: reset");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /b");
    op_fixture_prepare(f, &o[2], GET, "/c");
    o[2].op.connect_by_ms = f->now_ms + 1;
    op_fixture_start_prepared(f, &o[2]);
    op_fixture_pass(f, 4000);
    op_fixture_expect_events(f, "");
    op_fixture_pass(f, 1000);
    op_fixture_expect_events(f, "/b HF_ETIMEDOUT");
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
OP_TEST(a_try_waits_for_no_later_connection, op_fixture_begin(f, 1, 2))
{
    static struct test_op o[5];

    try(f, &o[0], "/a");
    op_fixture_expect_events(f, "");
    op_fixture_connect(f);
    op_fixture_start(f, &o[1], GET, "/b");
    try(f, &o[2], "/c");
    op_fixture_start(f, &o[3], GET, "/d");
    op_fixture_expect_sent(f, "get /a; get /b");
    op_fixture_cut(f);
    op_fixture_expect_events(f, "/c HF_EUNREACHABLE; /a HF_EUNREACHABLE");
    try(f, &o[4], "/e");
    op_fixture_expect_events(f, "/e HF_EUNREACHABLE");
    assert_string_equal(o[4].text, "/e: there is no connection: h:2181: reset");
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /b; get /d");
}

/* The session of a server without a quorum ends while it is connected.  Other
 * reads wait for the next one. */
OP_TEST(a_try_does_not_wait_for_a_later_session, op_fixture_begin(f, 1, 1))
{
    static struct test_op o[3];

    f->config.read_only = f->read_only = true;
    op_fixture_connect(f);
    assert_true(hf_zk_session_read_only(&f->session));
    op_fixture_start(f, &o[0], GET, "/a");
    try(f, &o[1], "/b");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_answer(f, HF_ZK_SESSION_EXPIRED);
    op_fixture_expect_events(f, "/b HF_EUNREACHABLE");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_answer_all(f);
    op_fixture_expect_sent(f, "get /a; get /c");
}

/* ---------------------------------------------------------------- cancel -- */

OP_TEST(an_operation_can_be_cancelled_in_each_state,
        op_fixture_begin_connected(f, 2))
{
    static struct test_op o[4];

    op_fixture_start(f, &o[0], SET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_start(f, &o[2], SET, "/c");
    op_fixture_start(f, &o[3], GET, "/d");
    op_fixture_cancel(f, &o[2]);
    op_fixture_cancel(f, &o[1]);
    op_fixture_cancel(f, &o[0]);
    op_fixture_expect_events(
        f, "/c HF_ECANCELLED; /b HF_ECANCELLED; /a HF_EUNSURE");
    assert_string_equal(o[2].text, "/c: it was cancelled");
    assert_int_equal(o[2].released, 1);
    op_fixture_cancel(f, &o[0]); /* abandoned */
    op_fixture_cancel(f, &o[2]); /* ended */
    op_fixture_expect_events(f, "");
    op_fixture_answer_all(f);
    op_fixture_cancel(f, &o[3]);
    op_fixture_expect_sent(f, "set /a; get /b; get /d");
    op_fixture_expect_events(f, "/d HF_OK");
}

/* Repeated, and in the list of an earlier connection. */
OP_TEST(a_repeated_operation_can_be_cancelled, op_fixture_begin_connected(f, 3))
{
    static struct test_op o[4];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_start(f, &o[3], GET, "/d");
    op_fixture_cut(f);
    op_fixture_cancel(f, &o[1]);
    op_fixture_link_up(f);
    op_fixture_cut(f);
    op_fixture_cancel(f, &o[2]);
    op_fixture_expect_events(f, "/b HF_ECANCELLED; /c HF_ECANCELLED");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /a; get /d");
}

/* The operation in front waits until nothing is unanswered. */
OP_TEST(a_cancelled_operation_lets_those_behind_it_go,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], COUNT, "/b");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_cancel(f, &o[1]);
    op_fixture_expect_sent(f, "get /a; get /c");
}

/* ----------------------------------------------------------------- close -- */

OP_TEST(a_close_ends_what_waits_and_awaits_what_was_sent,
        op_fixture_begin_connected(f, 2))
{
    struct hf_error error;
    static struct test_op o[4];

    op_fixture_start(f, &o[0], SET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_start(f, &o[2], SET, "/c");
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    op_fixture_expect_events(f, "/c HF_ECLOSED");
    op_fixture_prepare(f, &o[3], GET, "/d");
    assert_int_equal(op_fixture_add(f, &o[3], &error), HF_ECLOSED);
    assert_non_null(o[3].op.reserved);
    hf_zookeeper_result_free(o[3].op.reserved);
    hf_jute_free(&o[3].op.record);
    hf_zk_session_close(&f->session);
    op_fixture_expect_sent(f, "set /a; get /b; close");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/a HF_OK; /b HF_OK");
}

/* The connection ends before the answers come. */
OP_TEST(a_close_without_answers_ends_all, op_fixture_begin_connected(f, 2))
{
    static struct test_op o[2];

    op_fixture_start(f, &o[0], SET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    hf_zk_session_close(&f->session);
    op_fixture_expect_events(f, "");
    op_fixture_cut(f);
    op_fixture_expect_events(f, "/a HF_EUNSURE; /b HF_ECLOSED");
}

OP_TEST(a_close_without_a_connection_ends_all, op_fixture_begin_connected(f, 1))
{
    static struct test_op o[3];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], SET, "/b");
    op_fixture_cut(f);
    op_fixture_start(f, &o[2], GET, "/c");
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    op_fixture_expect_events(f, "/a HF_ECLOSED; /b HF_ECLOSED; /c HF_ECLOSED");
}

TEST_FILE(zk_op_ends)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
