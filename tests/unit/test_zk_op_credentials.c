/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials that a client adds: when they are sent, and how the operation
 * that adds one ends. */
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_op_fixture.h"

#define GET HF_ZOOKEEPER_GET

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
OP_TEST(an_added_credential_is_sent_on_each_connection,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[2];

    op_fixture_start(f, &o[0], GET, "/a");
    start_auth(f, &o[1]);
    op_fixture_expect_sent(f, "get /a; auth digest");
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "auth digest; get /a");
    op_fixture_expect_events(f, "");
    op_fixture_answer_auth(f, HF_ZK_OK);
    op_fixture_expect_events(f, "auth HF_OK");
    assert_int_equal(o[1].released, 1);
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "auth digest; get /a");
}

/* A watch of what only this user may read is set again too late otherwise. */
OP_TEST(credentials_are_sent_before_watches,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct hf_zk_watcher watcher;
    static struct test_op o[3];

    watcher = op_fixture_watcher(f, HF_ZK_WATCH_DATA);
    start_auth(f, &o[0]);
    op_fixture_answer_auth(f, HF_ZK_OK);
    op_fixture_start_watch(f, &o[1], GET, &watcher);
    op_fixture_answer_all(f);
    op_fixture_start(f, &o[2], GET, "/a");
    op_fixture_reconnect(f);
    op_fixture_expect_sent(f, "auth digest; setwatches 101; get /a");
    hf_zk_watch_set_remove(&f->session.watches, &watcher);
}

OP_TEST(a_refused_credential_is_not_sent_again,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[2];

    start_auth(f, &o[0]);
    op_fixture_start(f, &o[1], GET, "/a");
    op_fixture_answer_auth(f, HF_ZK_AUTH_FAILED);
    op_fixture_expect_events(f, "auth HF_EDENIED");
    assert_false(hf_zk_session_usable(&f->session));
    f->sent[0] = '\0';
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "get /a");
}

/* The credential stays when its operation has ended. */
OP_TEST(a_credential_outlives_its_operation,
        op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[3];

    start_auth(f, &o[0]);
    op_fixture_cancel(f, &o[0]);
    start_auth(f, &o[1]);
    start_auth(f, &o[2]);
    hf_zk_op_queue_cancel(&f->queue, &o[2].op, f->now_ms);
    op_fixture_expect_events(f, "auth HF_ECANCELLED; auth HF_ECANCELLED");
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "auth digest; auth digest; auth digest");
    assert_int_equal(o[0].released, 0);
    op_fixture_answer_auth(f, HF_ZK_OK);
    op_fixture_answer_auth(f, HF_ZK_OK);
    assert_int_equal(o[0].released, 1);
    op_fixture_expect_events(f, "auth HF_OK");
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    assert_int_equal(o[2].released, 0);
}

OP_TEST(a_credential_has_its_deadlines,
        op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = "digest"};
    static struct test_op o[2];

    for (size_t i = 0; i < 2; i++) {
        op_fixture_prepare_as(f, &o[i], &op);
        o[i].op.path = i == 0 ? "first" : "second";
    }
    o[0].op.connect_by_ms = f->now_ms + 10;
    o[1].op.deadline_at_ms = f->now_ms + 20;
    op_fixture_start_prepared(f, &o[0]);
    op_fixture_start_prepared(f, &o[1]);
    op_fixture_pass(f, 10);
    op_fixture_pass(f, 10);
    op_fixture_expect_events(f, "first HF_EUNREACHABLE; second HF_ETIMEDOUT");
}

OP_TEST(a_close_ends_an_unanswered_credential,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[1];

    start_auth(f, &o[0]);
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    hf_zk_session_close(&f->session);
    op_fixture_answer_all(f);
    op_fixture_expect_events(f, "auth HF_ECLOSED");
}

/* It waits for a connection, as other operations do. */
OP_TEST(giving_up_ends_an_unanswered_credential,
        op_fixture_begin(f, 1, HF_ZK_SENT_OPS_MAX))
{
    static struct test_op o[2];

    hf_zk_session_free(&f->session);
    f->config.reconnect.retries = 0;
    hf_zk_session_begin(&f->session, &f->config, &f->session.log, f->now_ms);
    hf_zk_op_queue_init(&f->queue, &f->session, &f->context);
    start_auth(f, &o[0]);
    op_fixture_link_up(f);
    op_fixture_cut(f);
    op_fixture_expect_events(f, "auth HF_EUNREACHABLE");
    op_fixture_start(f, &o[1], GET, "/a");
    op_fixture_connect(f);
    op_fixture_expect_sent(f, "auth digest; get /a");
}

/* A try does not wait for a later connection. */
OP_TEST(a_try_to_add_a_credential_ends_without_a_connection,
        op_fixture_begin_connected(f, HF_ZK_SENT_OPS_MAX))
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                       .scheme = "digest"};
    static struct test_op o[4];

    for (size_t i = 0; i < 3; i++) {
        op_fixture_prepare_as(f, &o[i], &op);
        o[i].op.only_try = true;
    }
    op_fixture_start_prepared(f, &o[0]);
    op_fixture_cut(f);
    op_fixture_expect_events(f, " HF_EUNREACHABLE");
    op_fixture_start_prepared(f, &o[1]);
    op_fixture_expect_events(f, " HF_EUNREACHABLE");
    op_fixture_connect(f);
    op_fixture_start_prepared(f, &o[2]);
    op_fixture_start(f, &o[3], GET, "/a");
    op_fixture_answer(f, HF_ZK_SESSION_EXPIRED);
    op_fixture_expect_events(f, "/a HF_ELOST;  HF_EUNREACHABLE");
}

TEST_FILE(zk_op_credentials)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
