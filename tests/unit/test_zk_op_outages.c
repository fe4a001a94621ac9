/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a client whose connection is cut, whose session ends, or whose
 * client gives up: what is repeated, what waits, and how the others end. */
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"

#define GET HF_ZOOKEEPER_GET
#define SET HF_ZOOKEEPER_SET
#define COUNT HF_ZOOKEEPER_COUNT

/* --------------------------------------------------------------- outages -- */

OP_TEST(reads_are_repeated_before_what_waited, op_fixture_begin_connected(f, 3))
{
    static struct test_op o[5];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], HF_ZOOKEEPER_CHILDREN, "/b");
    op_fixture_start(f, &o[2], HF_ZOOKEEPER_SYNC, "/c");
    op_fixture_start(f, &o[3], GET, "/d");
    op_fixture_expect_sent(f, "get /a; children /b; sync /c");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_sent(f, "get /d");
    op_fixture_start(f, &o[4], HF_ZOOKEEPER_EXISTS, "/e");
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "children /b; sync /c; get /d");
    op_fixture_answer_all(f);
    op_fixture_expect_events(
        f, "/a HF_OK; /b HF_OK; /c HF_OK; /d HF_OK; /e HF_OK");
}

/* The second connection has no time to send all that was sent on the first one,
 * because urgent ones take the window. */
OP_TEST(a_second_cut_keeps_the_order, op_fixture_begin_connected(f, 3))
{
    static struct test_op o[7];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_start(f, &o[3], GET, "/d");
    op_fixture_cut(f);
    op_fixture_start_at(f, &o[4], HF_ZOOKEEPER_URGENT, "/u1");
    op_fixture_start_at(f, &o[5], HF_ZOOKEEPER_URGENT, "/u2");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /u1; get /u2; get /a");
    op_fixture_start(f, &o[6], GET, "/e");
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "get /u1; get /u2; get /a");
    op_fixture_reconnect(f);
    op_fixture_answer_all(f);
    op_fixture_expect_sent(f, "get /u1; get /u2; get /a; get /b; get /c; "
                              "get /d; get /e");
    op_fixture_expect_events(f, "/u1 HF_OK; /u2 HF_OK; /a HF_OK; /b HF_OK; "
                                "/c HF_OK; /d HF_OK; /e HF_OK");
}

/* The same where nothing waited behind them. */
OP_TEST(what_a_second_cut_leaves_is_all_that_waits,
        op_fixture_begin_connected(f, 2))
{
    static struct test_op o[5];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_cut(f);
    op_fixture_start_at(f, &o[2], HF_ZOOKEEPER_URGENT, "/u1");
    op_fixture_start_at(f, &o[3], HF_ZOOKEEPER_URGENT, "/u2");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /u1; get /u2");
    op_fixture_cut(f);
    op_fixture_start(f, &o[4], GET, "/c");
    op_fixture_connect(f);
    op_fixture_answer_all(f);
    op_fixture_expect_sent(f, "get /u1; get /u2; get /a; get /b; get /c");
}

OP_TEST(writes_that_were_sent_are_unsure_and_not_repeated,
        op_fixture_begin_connected(f, 6))
{
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_CREATE,  HF_ZOOKEEPER_DELETE, HF_ZOOKEEPER_SET,
        HF_ZOOKEEPER_SET_ACL, HF_ZOOKEEPER_MULTI,  HF_ZOOKEEPER_RECONFIG};
    static struct test_op o[7];

    for (size_t i = 0; i < 6; i++)
        op_fixture_start(f, &o[i], kinds[i], "/w");
    op_fixture_start(f, &o[6], SET, "/waits");
    op_fixture_expect_sent(
        f, "create /w; delete /w; set /w; setacl /w; multi; reconfig");
    op_fixture_cut(f);
    op_fixture_expect_events(f, "/w HF_EUNSURE; /w HF_EUNSURE; /w HF_EUNSURE; "
                                "/w HF_EUNSURE; /w HF_EUNSURE; "
                                "/w HF_EUNSURE");
    assert_non_null(strstr(o[0].text, "it may have been carried out"));
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "set /waits");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/waits HF_OK");
}

/* All kinds of operations wait, writes too, in order. */
OP_TEST(what_waits_survives_an_outage,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    op_fixture_cut(f);
    op_fixture_start(f, &o[0], SET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_start(f, &o[2], HF_ZOOKEEPER_DELETE, "/c");
    op_fixture_expect_events(f, "");
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "set /a; get /b; delete /c");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/a HF_OK; /b HF_OK; /c HF_OK");
}

/* What cannot be written because of that counts as sent, and is repeated on the
 * next connection. */
OP_TEST(a_request_without_memory_is_repeated,
        op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[2];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], SET, "/b");
    op_fixture_connect(f);
    f->session.wire.out.failed = true; /* as if that had happened in between */
    op_fixture_pass(f, 0);
    op_fixture_expect_events(f, "/b HF_EUNSURE");
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /a");
}

/* ---------------------------------------------------- end of the session -- */

/* The session ends while there is no connection. */
OP_TEST(a_lost_session_ends_what_waits, op_fixture_begin_connected(f, 2))
{
    static struct test_op o[4];

    op_fixture_start(f, &o[0], SET, "/a");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_start(f, &o[2], SET, "/c");
    op_fixture_cut(f);
    op_fixture_expect_events(f, "/a HF_EUNSURE");
    op_fixture_link_up(f);
    assert_int_equal(f->handshake_id, OP_FIXTURE_SESSION);
    op_fixture_accept(f, 0);
    op_fixture_expect_events(f, "/b HF_ELOST; /c HF_ELOST");
    f->sent[0] = '\0';
    op_fixture_start(f, &o[3], SET, "/d");
    op_fixture_connect(f);
    assert_int_equal(f->handshake_id, 0);
    op_fixture_expect_sent(f, "set /d");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/d HF_OK");
}

/* A server says so in the answer to an operation.  Those that were sent behind
 * it end too. */
OP_TEST(a_session_may_end_while_operations_are_sent,
        op_fixture_begin_connected(f, 4))
{
    static struct test_op o[5];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], SET, "/b");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_start(f, &o[3], COUNT, "/alone");
    op_fixture_answer(f, HF_ZK_SESSION_EXPIRED);
    op_fixture_expect_events(
        f, "/a HF_ELOST; /b HF_EUNSURE; /c HF_ELOST; /alone HF_ELOST");
    f->sent[0] = '\0';
    op_fixture_start(f, &o[4], GET, "/d");
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /d");
    op_fixture_answer_all(f);
}

/* The client gives the session up when no server has answered in time. */
OP_TEST(a_session_that_is_given_up_ends_what_waits,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[2];

    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_cut(f);
    op_fixture_pass(f, OP_FIXTURE_TIMEOUT_MS);
    op_fixture_expect_events(f, "/a HF_ELOST");
    op_fixture_start(f, &o[1], GET, "/b");
    op_fixture_link_up(f);
    assert_int_equal(f->handshake_id, 0x1234); /* to be ended */
    op_fixture_accept(f, 0);
    op_fixture_expect_events(f, "");
    f->sent[0] = '\0';
    op_fixture_connect(f);
    assert_int_equal(f->handshake_id, 0);
    op_fixture_expect_sent(f, "get /b");
}

/* ------------------------------------------------------------- giving up -- */

OP_TEST(what_waits_ends_when_the_policy_gives_up,
        op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    hf_zk_session_free(&f->session);
    f->config.reconnect.retries = 0;
    hf_zk_session_begin(&f->session, &f->config, &f->session.log, f->now_ms);
    hf_zk_op_queue_init(&f->queue, &f->session, &f->context);
    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], SET, "/b");
    op_fixture_link_up(f);
    op_fixture_cut(f);
    op_fixture_expect_events(f, "/a HF_EUNREACHABLE; /b HF_EUNREACHABLE");
    assert_string_equal(o[0].text, "/a: no server was reached in 0 retries and "
                                   "0 ms: h:2181: reset");
    assert_true(f->queue.given_up);
    /* The next one makes a new attempt. */
    op_fixture_start(f, &o[2], GET, "/c");
    assert_false(f->queue.given_up);
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /c");
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/c HF_OK");
}

/* All servers refuse the user of the URL. */
OP_TEST(a_final_refusal_ends_what_waits, op_fixture_begin(f, 1, 1))
{
    static struct test_op o[3];

    hf_zk_session_free(&f->session);
    strcpy(f->config.auth, "u:p");
    hf_zk_session_begin(&f->session, &f->config, &f->session.log, f->now_ms);
    hf_zk_op_queue_init(&f->queue, &f->session, &f->context);
    op_fixture_connect(f);
    op_fixture_start(f, &o[0], GET, "/a");
    op_fixture_start(f, &o[1], SET, "/b");
    op_fixture_expect_sent(f, "auth digest; get /a");
    op_fixture_answer_auth(f, HF_ZK_AUTH_FAILED);
    op_fixture_expect_events(f, "/b HF_EDENIED; /a HF_EDENIED");
    op_fixture_start(f, &o[2], GET, "/c");
    op_fixture_connect(f);
    op_fixture_answer_auth(f, HF_ZK_OK);
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "/c HF_OK");
}

TEST_FILE(zk_op_outages)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
