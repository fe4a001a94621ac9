/* SPDX-License-Identifier: Apache-2.0 */
/* Answers out of turn, errors, and what becomes of requests then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engines/zookeeper/zk_private.h" /* to have ids wrap */
#include "zk_stage.h"

/* ---------------------------------------------------- answers that are not */

static void answers_out_of_turn_end_the_connection(void **state)
{
    static const int32_t xids[] = {2, 3, 0, -3, -9, INT32_MAX, INT32_MIN};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof xids / sizeof xids[0]; i++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        header(&s, xids[i], HF_ZK_OK);
        assert_string_equal(stage_told(&s),
                            "SUSPENDED; FAILED ENQUEUE a UNSURE");
        stage_close(&s);
    }
    stage_connected(&s);
    header(&s, 1, HF_ZK_OK); /* nothing was asked */
    assert_string_equal(stage_told(&s), "SUSPENDED");
    assert_string_equal(s.text, "h1:2181: an answer to request 1, which is "
                                "not the next one");
    stage_close(&s);
}

static void an_unasked_answer_to_a_ping_ends_the_connection(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    header(&s, HF_ZK_XID_PING, HF_ZK_OK);
    assert_string_equal(stage_told(&s), "SUSPENDED");
    assert_string_equal(s.text, "h1:2181: an answer to a ping that was not "
                                "sent");
    stage_close(&s);
}

static void error_codes_from_above_zero_are_ours(void **state)
{
    struct stage s;

    (void)state;
    for (int32_t error = 1; error < 4; error++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        refused(&s, error);
        assert_string_equal(stage_told(&s),
                            "SUSPENDED; FAILED ENQUEUE a UNSURE");
        stage_close(&s);
    }
}

/* What the server says of the session or of itself ends the connection. */
static void errors_of_the_connection_end_it(void **state)
{
    static const int32_t errors[] = {HF_ZK_SESSION_MOVED, HF_ZK_CONNECTION_LOSS,
                                     HF_ZK_NOT_READ_ONLY};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_LIST, "a");
        ask(&s, HF_REQUEST_LIST, "b");
        refused(&s, errors[i]);
        assert_string_equal(stage_told(&s), "SUSPENDED; FAILED LIST a RETRY; "
                                            "FAILED LIST b RETRY");
        stage_close(&s);
    }
}

static void an_expired_session_is_lost_at_once(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    ask(&s, HF_REQUEST_LIST, "b");
    hold(&s);
    refused(&s, HF_ZK_SESSION_EXPIRED);
    refused(&s, HF_ZK_SESSION_EXPIRED);
    deliver(&s);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE; "
                                        "FAILED LIST b RETRY; LOST");
    assert_non_null(s.server);
    assert_false(s.up);
    stage_close(&s);
}

static void refused_credentials_are_named(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    strcpy(s.config.session.auth, "user:secret");
    assert_true(stage_open(&s));
    link_up(&s);
    (void)stage_sent(&s);
    accept_session(&s);
    assert_string_equal(stage_sent(&s), "AUTH user:secret");
    header(&s, HF_ZK_XID_AUTH, HF_ZK_AUTH_FAILED);
    assert_string_equal(stage_told(&s), "CONNECTED 10000 1000; SUSPENDED");
    assert_string_equal(s.text, "h1:2181: the server did not accept the "
                                "credentials of the URL (-115)");
    ring(&s);
    link_up(&s);
    (void)stage_sent(&s);
    accept_session(&s);
    assert_string_equal(stage_sent(&s), "AUTH user:secret");
    header(&s, HF_ZK_XID_AUTH, HF_ZK_OK);
    (void)stage_told(&s);
    assert_true(s.up);
    stage_close(&s);
}

static void watches_that_are_not_set_again_end_the_connection(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    header(&s, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    assert_string_equal(stage_told(&s), "");
    header(&s, HF_ZK_XID_SET_WATCHES, HF_ZK_MARSHALLING);
    assert_string_equal(stage_told(&s), "SUSPENDED");
    stage_close(&s);
}

/* ------------------------------------------------------------- requests -- */

static void requests_without_a_connection_fail_at_once(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    assert_true(stage_open(&s));
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    assert_non_null(strstr(s.text, "there is no connection"));
    link_down(&s, "refused");
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    ask(&s, HF_REQUEST_WATCH, "a");
    ask(&s, HF_REQUEST_REMOVE, "a");
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_told(&s),
                        "FAILED LIST a RETRY; FAILED WATCH a RETRY; "
                        "FAILED REMOVE a RETRY; FAILED PROVE RETRY");
    assert_int_equal(s.status, HF_EUNREACHABLE);
    assert_string_equal(s.text, "there is no connection: h1:2181: refused");
    ring(&s);
    link_up(&s);
    ask(&s, HF_REQUEST_LIST, "a"); /* greeted, and not accepted */
    assert_string_equal(stage_told(&s), "FAILED LIST a RETRY");
    stage_close(&s);
}

static void a_cut_answers_everything(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 1, 10);
    children(&s, "a#1");
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    ask(&s, HF_REQUEST_LIST, "a");
    ask(&s, HF_REQUEST_WATCH, "a");
    ask(&s, HF_REQUEST_REMOVE, "a");
    ask(&s, HF_REQUEST_PROVE, "");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED ENQUEUE b UNSURE; "
                        "FAILED LIST a RETRY; FAILED WATCH a RETRY; "
                        "FAILED REMOVE a UNSURE; FAILED PROVE RETRY");
    assert_string_equal(s.text, "the connection ended before the answer: "
                                "h1:2181: reset");
    stage_close(&s);
}

static void ids_wrap_below_their_end(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    s.zk->session.wire.xid = INT32_MAX - 1;
    ask(&s, HF_REQUEST_LIST, "a");
    assert_int_equal(s.first->xid, INT32_MAX);
    assert_int_equal(s.first->next->xid, 1);
    done(&s);
    children(&s, "");
    assert_string_equal(stage_told(&s), "LISTED a:");
    link_down(&s, "reset"); /* each connection counts for itself */
    ring(&s);
    link_up(&s);
    accept_session(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    assert_int_equal(s.first->xid, 1);
    stage_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_out_of_turn_end_the_connection),
        cmocka_unit_test(an_unasked_answer_to_a_ping_ends_the_connection),
        cmocka_unit_test(error_codes_from_above_zero_are_ours),
        cmocka_unit_test(errors_of_the_connection_end_it),
        cmocka_unit_test(an_expired_session_is_lost_at_once),
        cmocka_unit_test(refused_credentials_are_named),
        cmocka_unit_test(watches_that_are_not_set_again_end_the_connection),
        cmocka_unit_test(requests_without_a_connection_fail_at_once),
        cmocka_unit_test(a_cut_answers_everything),
        cmocka_unit_test(ids_wrap_below_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
