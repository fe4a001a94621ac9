/* SPDX-License-Identifier: Apache-2.0 */
/* Answers out of order, errors, and what becomes of the requests. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/zk_private.h" /* to have ids wrap */
#include "heap/heap.h"
#include "zk_fixture.h"

/* ---------------------------------------------------- answers that are not */

TEST(answers_out_of_turn_end_the_connection)
{
    static const int32_t xids[] = {2, 3, 0, -3, -9, INT32_MAX, INT32_MIN};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof xids / sizeof xids[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        header(&f, xids[i], HF_ZK_OK);
        assert_string_equal(zk_fixture_events(&f),
                            "SUSPENDED; FAILED ENQUEUE a UNSURE");
        zk_fixture_close(&f);
    }
    zk_fixture_connected(&f);
    header(&f, 1, HF_ZK_OK); /* nothing was asked */
    assert_string_equal(zk_fixture_events(&f), "SUSPENDED");
    assert_string_equal(f.text, "h1:2181: an answer to request 1, which is "
                                "not the next one");
    zk_fixture_close(&f);
}

ZK_TEST(an_unasked_answer_to_a_ping_ends_the_connection)
{
    header(f, HF_ZK_XID_PING, HF_ZK_OK);
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
    assert_string_equal(f->text, "h1:2181: an answer to a ping that was not "
                                 "sent");
}

TEST(error_codes_from_above_zero_are_ours)
{
    struct zk_fixture f;

    for (int32_t error = 1; error < 4; error++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        refused(&f, error);
        assert_string_equal(zk_fixture_events(&f),
                            "SUSPENDED; FAILED ENQUEUE a UNSURE");
        zk_fixture_close(&f);
    }
}

/* An error about the session or the server itself ends the connection. */
TEST(errors_of_the_connection_end_it)
{
    static const int32_t errors[] = {HF_ZK_SESSION_MOVED, HF_ZK_CONNECTION_LOSS,
                                     HF_ZK_NOT_READ_ONLY};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_LIST, "a");
        ask(&f, HF_REQUEST_LIST, "b");
        refused(&f, errors[i]);
        assert_string_equal(zk_fixture_events(&f),
                            "SUSPENDED; FAILED LIST a RETRY; "
                            "FAILED LIST b RETRY");
        zk_fixture_close(&f);
    }
}

ZK_TEST(an_expired_session_is_lost_at_once)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    ask(f, HF_REQUEST_LIST, "b");
    hold_answers(f);
    refused(f, HF_ZK_SESSION_EXPIRED);
    refused(f, HF_ZK_SESSION_EXPIRED);
    deliver_answers(f);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a UNSURE; "
                                              "FAILED LIST b RETRY; LOST");
    assert_non_null(f->server);
    assert_false(f->up);
}

ZK_TEST_FROM(refused_credentials_are_named, zk_fixture_init(f))
{
    strcpy(f->config.url.session.auth, "user:secret");
    assert_true(zk_fixture_open(f));
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    assert_string_equal(zk_fixture_sent(f), "AUTH user:secret");
    header(f, HF_ZK_XID_AUTH, HF_ZK_AUTH_FAILED);
    assert_string_equal(zk_fixture_events(f),
                        "CONNECTED 10000 1000; SUSPENDED; GAVE_UP 1 0");
    assert_string_equal(f->text, "h1:2181: the server did not accept the "
                                 "credentials of the URL (-115)");
    assert_int_equal(f->error_status, HF_EDENIED);
    assert_true(f->error_final);
    assert_null(f->server);
    /* Somebody needs the servers again. */
    hf_zk_session_reconnect(hf_zk_engine_session(f->zk), f->now_ms);
    zk_fixture_process(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    assert_string_equal(zk_fixture_sent(f), "AUTH user:secret");
    header(f, HF_ZK_XID_AUTH, HF_ZK_OK);
    (void)zk_fixture_events(f);
    assert_true(f->up);
}

/* The session ends by itself when its timeout is over. */
ZK_TEST_FROM(a_refused_session_is_lost_in_time, zk_fixture_init(f))
{
    strcpy(f->config.url.session.auth, "user:secret");
    assert_true(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    header(f, HF_ZK_XID_AUTH, HF_ZK_AUTH_FAILED);
    (void)zk_fixture_events(f);
    while (f->now_ms < ZK_FIXTURE_START_MS + ZK_FIXTURE_TIMEOUT_MS) {
        assert_string_equal(zk_fixture_events(f), "");
        wake(f);
    }
    assert_int_equal(f->now_ms, ZK_FIXTURE_START_MS + ZK_FIXTURE_TIMEOUT_MS);
    assert_string_equal(zk_fixture_events(f), "LOST");
    assert_null(f->server);
}

ZK_TEST(an_unasked_answer_to_credentials_ends_the_connection)
{
    header(f, HF_ZK_XID_AUTH, HF_ZK_OK);
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
    assert_string_equal(f->text, "h1:2181: an answer to credentials that were "
                                 "not sent");
}

TEST(a_credential_without_memory_is_not_added)
{
    struct hf_zk_session *session;
    struct zk_fixture f;

    zk_fixture_connected(&f);
    session = hf_zk_engine_session(f.zk);
    heap_fail(1, false);
    assert_int_equal(
        hf_zk_session_add_credential(session, "digest", "a:b", 3, NULL, NULL),
        HF_ENOMEM);
    heap_fail(0, false);
    assert_null(session->credentials.first);
    assert_int_equal(
        hf_zk_session_add_credential(session, "digest", "a:b", 3, NULL, NULL),
        HF_OK);
    zk_fixture_process(&f);
    assert_string_equal(zk_fixture_sent(&f), "AUTH a:b");
    zk_fixture_close(&f); /* which checks that it was freed */
}

ZK_TEST(watches_that_are_not_set_again_end_the_connection)
{
    header(f, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    assert_string_equal(zk_fixture_events(f), "");
    header(f, HF_ZK_XID_SET_WATCHES, HF_ZK_MARSHALLING);
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
}

/* ------------------------------------------------------------- requests -- */

ZK_TEST_FROM(requests_without_a_connection_fail_at_once, zk_fixture_init(f))
{
    assert_true(zk_fixture_open(f));
    ask(f, HF_REQUEST_ENQUEUE, "a");
    assert_non_null(strstr(f->text, "there is no connection"));
    link_down(f, "refused");
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_LIST, "a");
    ask(f, HF_REQUEST_WATCH, "a");
    ask(f, HF_REQUEST_REMOVE, "a");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_events(f),
                        "FAILED LIST a RETRY; FAILED WATCH a RETRY; "
                        "FAILED REMOVE a RETRY; FAILED PROVE RETRY");
    assert_int_equal(f->status, HF_EUNREACHABLE);
    assert_string_equal(f->text, "there is no connection: h1:2181: refused");
    wake(f);
    link_up(f);
    ask(f, HF_REQUEST_LIST, "a"); /* the handshake is not accepted yet */
    assert_string_equal(zk_fixture_events(f), "FAILED LIST a RETRY");
}

ZK_TEST(a_cut_answers_everything)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 1, 10);
    children(f, "a#1");
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_LIST, "a");
    ask(f, HF_REQUEST_WATCH, "a");
    ask(f, HF_REQUEST_REMOVE, "a");
    ask(f, HF_REQUEST_PROVE, "");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED ENQUEUE b UNSURE; "
                        "FAILED LIST a RETRY; FAILED WATCH a RETRY; "
                        "FAILED REMOVE a UNSURE; FAILED PROVE RETRY");
    assert_string_equal(f->text, "the connection ended before the answer: "
                                 "h1:2181: reset");
}

ZK_TEST(ids_wrap_below_their_end)
{
    f->zk->session.wire.xid = INT32_MAX - 1;
    ask(f, HF_REQUEST_LIST, "a");
    assert_int_equal(f->first->xid, INT32_MAX);
    assert_int_equal(f->first->next->xid, 1);
    done(f);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "LISTED a:");
    link_down(f, "reset"); /* each connection counts for itself */
    wake(f);
    link_up(f);
    accept_session(f);
    ask(f, HF_REQUEST_LIST, "a");
    assert_int_equal(f->first->xid, 1);
}
