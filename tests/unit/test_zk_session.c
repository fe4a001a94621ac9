/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a client of an ensemble: how it begins, goes on elsewhere, is
 * kept, and ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

static void open_with(struct stage *s, size_t servers)
{
    stage_init(s);
    for (size_t i = 0; i < servers; i++) {
        snprintf(s->config.session.servers[i].host, HF_ZK_HOST_BYTES, "h%zu",
                 i + 1);
        s->config.session.servers[i].port = (uint16_t)(2181 + i);
    }
    s->config.session.server_count = servers;
    assert_true(stage_open(s));
}

/* -------------------------------------------------------------- greeting -- */

static void a_session_begins(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 1);
    assert_string_equal(s.server->host, "h1");
    assert_string_equal(stage_sent(&s), "");
    at(&s, 1100);
    link_up(&s);
    assert_string_equal(stage_sent(&s), "GREET 0x0 10000 0x0");
    at(&s, 1200);
    accept_session_as(&s, 8000, 7);
    assert_string_equal(stage_told(&s), "CONNECTED 8000 1100");
    assert_string_equal(stage_sent(&s), "");
    stage_close(&s);
}

static void servers_without_the_last_byte_are_understood(void **state)
{
    static const char answer[] = "\0\0\0\x24\0\0\0\0\0\0\x27\x10"
                                 "\0\0\0\0\0\0\0\7\0\0\0\x10"
                                 "0123456789abcdef";
    struct stage s;

    (void)state;
    open_with(&s, 1);
    link_up(&s);
    receive(&s, answer, sizeof answer - 1);
    assert_string_equal(stage_told(&s), "CONNECTED 10000 1000");
    stage_close(&s);
}

static void answers_that_are_no_greeting_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *text;
    } rows[] = {
        {"\0\0\0\0", 4,
         "h1:2181: an answer that is not ZooKeeper's; see whether the port is "
         "right"},
        {"\0\0\0\4\0\0\0\0", 8,
         "h1:2181: an answer that is not ZooKeeper's; see whether the port is "
         "right"},
        {"\0\0\0\x24\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10"
         "0123456789abcdef",
         40, "h1:2181: no session was granted"},
        {"\0\0\0\x24\0\0\0\0\xff\0\0\0\0\0\0\0\0\0\0\7\0\0\0\x10"
         "0123456789abcdef",
         40, "h1:2181: no session was granted"},
        {"\0\0\0\x24\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\x10"
         "0123456789abcdef",
         40, "h1:2181: no session was granted"},
        {"\0\0\0\x17\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\7\0\0\0\3"
         "012",
         27, "h1:2181: an answer to a connect request that was not ours"},
        {"\0\0\0\x14\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\7\xff\xff\xff\xff", 24,
         "h1:2181: an answer to a connect request that was not ours"},
    };
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_with(&s, 1);
        link_up(&s);
        receive(&s, rows[i].bytes, rows[i].count);
        assert_string_equal(stage_told(&s), "");
        assert_string_equal(s.text, rows[i].text);
        assert_null(s.server);
        stage_close(&s);
    }
}

/* A server that takes no session of ours only closes. */
static void a_server_that_closes_instead_is_explained(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 1);
    link_down(&s, NULL); /* before we have seen that it is there */
    assert_non_null(strstr(s.text, "h1:2181: closed by the server without"));
    ring(&s);
    link_up(&s);
    link_down(&s, NULL);
    assert_non_null(strstr(s.text, "h1:2181: closed by the server without"));
    assert_non_null(strstr(s.text, "quorum"));
    assert_non_null(strstr(s.text, "maxClientCnxns"));
    assert_non_null(strstr(s.text, "zks:"));
    stage_close(&s);

    stage_init(&s);
    s.config.session.tls = true;
    assert_true(stage_open(&s));
    link_up(&s);
    link_down(&s, NULL);
    assert_non_null(strstr(s.text, "maxClientCnxns"));
    assert_null(strstr(s.text, "zks:"));
    stage_close(&s);

    stage_connected(&s); /* and has seen transactions */
    s.zxid = 0x99;
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    children(&s, "");
    link_down(&s, NULL);
    assert_string_equal(s.text, "h1:2181: closed by the server");
    ring(&s);
    link_up(&s);
    link_down(&s, NULL);
    assert_non_null(strstr(s.text, "data that others have shown us"));
    stage_close(&s);
}

/* Whatever begins with these bytes. */
static void who_speaks_something_else_is_recognized(void **state)
{
    static const char *const words[] = {"HTTP/1.1 400 Bad Request", "SSH-2.0",
                                        "-ERR unknown command",
                                        "\xff\xff\xff\xff"};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        open_with(&s, 1);
        link_up(&s);
        receive(&s, words[i], strlen(words[i]));
        assert_string_equal(
            s.text, "h1:2181: an answer that is not ZooKeeper's; see whether "
                    "the port is right");
        assert_int_equal(s.trouble_status, HF_EPROTOCOL);
        assert_null(s.server);
        stage_close(&s);
    }
}

/* One that closes without a word is asked, once, whether it speaks TLS. */
static void who_closes_in_silence_is_asked_for_tls(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 1);
    link_up(&s);
    assert_string_equal(stage_sent(&s), "GREET 0x0 10000 0x0");
    link_down(&s, NULL);
    ring(&s);
    link_up(&s);
    assert_string_equal(stage_sent(&s), "TLS?");
    link_down(&s, NULL); /* it does not */
    assert_non_null(strstr(s.text, "quorum"));
    for (int i = 0; i < 3; i++) {
        ring(&s);
        link_up(&s);
        assert_string_equal(stage_sent(&s), "GREET 0x0 10000 0x0");
        link_down(&s, NULL);
    }
    stage_close(&s);

    open_with(&s, 1);
    link_up(&s);
    link_down(&s, NULL);
    ring(&s);
    link_up(&s);
    receive(&s, "\x15\x03\x03\x00\x02\x01\x00", 7);
    assert_non_null(strstr(s.text, "speaks TLS; expected zks:"));
    assert_int_equal(s.trouble_status, HF_EURL);
    assert_true(s.trouble_final);
    stage_close(&s);
}

static void who_speaks_tls_is_recognized(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 1);
    link_up(&s);
    receive(&s, "\x15\x03\x03\x00\x02\x02\x46", 7); /* an alert */
    assert_non_null(strstr(s.text, "speaks TLS; expected zks:"));
    assert_int_equal(s.trouble_status, HF_EURL);
    assert_true(s.trouble_final);
    stage_close(&s);
}

/* ------------------------------------------------------- going on elsewhere */

static void a_session_goes_on_at_another_server(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 2);
    link_up(&s);
    accept_session_as(&s, 8000, 7);
    s.zxid = 0x99;
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    children(&s, "");
    (void)stage_sent(&s);
    (void)stage_told(&s);
    at(&s, 3000);
    link_down(&s, "connection reset by peer");
    assert_string_equal(stage_told(&s), "SUSPENDED");
    assert_string_equal(s.text, "h1:2181: connection reset by peer");
    assert_string_equal(s.server->host, "h2"); /* at once */
    at(&s, 3100);
    link_up(&s);
    /* The password, the last zxid, and the timeout that was asked for. */
    assert_string_equal(stage_sent(&s), "GREET 0x9a 10000 0x7");
    assert_string_equal(stage_told(&s), "RESUMING 3100 8000");
    at(&s, 3200);
    accept_session_as(&s, 6000, 7);
    assert_non_null(strstr(stage_told(&s), "RESUMED 6000 "));
    link_down(&s, "reset");
    ring(&s);
    link_up(&s);
    /* The smallest that was ever granted may be it again. */
    assert_non_null(strstr(stage_told(&s), " 6000"));
    stage_close(&s);
}

static void a_refused_resume_is_a_lost_session(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    link_down(&s, "reset");
    ring(&s);
    link_up(&s);
    (void)stage_told(&s);
    refuse_session(&s);
    assert_string_equal(stage_told(&s), "LOST");
    assert_int_equal(s.status, HF_ELOST);
    assert_string_equal(s.text, "the server has ended the session");
    (void)stage_sent(&s);
    assert_non_null(s.server);
    at(&s, 2000);
    link_up(&s);
    assert_string_equal(stage_sent(&s), "GREET 0x0 10000 0x0");
    accept_session_as(&s, 10000, 9);
    assert_string_equal(stage_told(&s), "CONNECTED 10000 2000");
    stage_close(&s);
}

static void another_session_is_not_ours(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    link_down(&s, "reset");
    ring(&s);
    link_up(&s);
    (void)stage_told(&s);
    accept_session_as(&s, 10000, STAGE_SESSION + 1);
    assert_string_equal(stage_told(&s), "");
    assert_string_equal(s.text,
                        "h1:2181: an answer to a connect request that was "
                        "not ours");
    stage_close(&s);
}

/* ------------------------------------------------------- lost by our clock */

static void a_session_that_is_cut_off_is_lost_by_our_clock(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s); /* greeted at 1000 */
    at(&s, 2000);
    ask(&s, HF_REQUEST_LIST, "a");
    at(&s, 2500);
    done(&s); /* alive as of 2000 */
    link_down(&s, "reset");
    (void)stage_told(&s);
    while (stage_told(&s)[0] == '\0' && s.now_ms < 60000) {
        ring(&s);
        if (s.server != NULL && !s.up)
            link_down(&s, "refused");
        s.told.used = strstr(s.told.text, "LOST") != NULL ? s.told.used : 0;
    }
    assert_int_equal(s.now_ms, 12000);
    assert_int_equal(s.status, HF_ELOST);
    assert_string_equal(s.text, "the server has not answered for 10000 ms, "
                                "the timeout of the session");
    stage_close(&s);
}

/* While the server is silent, too, and the tick comes late. */
static void silence_loses_a_session_too(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    later(&s, 10999);
    assert_string_equal(stage_told(&s), "SUSPENDED");
    later(&s, 11000);
    assert_string_equal(stage_told(&s), "LOST");
    ring(&s);
    link_up(&s);
    assert_string_equal(stage_sent(&s), "GREET 0x0 10000 0x0");
    stage_close(&s);

    stage_connected(&s);
    later(&s, 11000); /* woken as late as that */
    assert_string_equal(stage_told(&s), "LOST");
    stage_close(&s);
}

/* And the one after it is, too. */
static void every_session_has_its_clock(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    for (int64_t i = 1; i < 4; i++) {
        later(&s, s.now_ms + 10000);
        assert_string_equal(stage_told(&s), "LOST");
        link_up(&s);
        accept_session_as(&s, 10000, i);
        (void)stage_told(&s);
    }
    stage_close(&s);
}

/* -------------------------------------------------------------- keeping -- */

static void pings_go_at_a_third(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    for (uint64_t k = 1; k < 6; k++) {
        assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)),
                         1000 + k * 3333);
        later(&s, 1000 + k * 3333 - 1);
        assert_string_equal(stage_sent(&s), "");
        ring(&s);
        assert_string_equal(stage_sent(&s), "PING");
        pong(&s);
    }
    /* A request is as good. */
    at(&s, s.now_ms + 1000);
    ask(&s, HF_REQUEST_LIST, "a");
    (void)stage_sent(&s);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)),
                     s.now_ms + 3333);
    stage_close(&s);
}

static void silence_of_two_thirds_ends_the_connection(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    until(&s, 1000 + 6665);
    assert_string_equal(stage_sent(&s), "PING");
    assert_true(s.up);
    ring(&s);
    assert_int_equal(s.now_ms, 1000 + 6666);
    assert_string_equal(stage_told(&s), "SUSPENDED");
    assert_string_equal(s.text, "h1:2181: no answer for 6666 ms");
    assert_false(s.up);
    stage_close(&s);
}

/* Anything that comes is a sign of life for the link; only an answer is one
 * for the session. */
static void events_keep_the_link_and_not_the_session(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    while (s.now_ms < 10000) {
        until(&s, s.now_ms + 1000);
        event(&s, HF_ZK_NODE_DELETED, "q/x#1");
    }
    assert_string_equal(stage_told(&s), "");
    until(&s, 11000);
    assert_string_equal(stage_told(&s), "LOST");
    stage_close(&s);
}

/* ---------------------------------------------------------- the servers -- */

static void servers_are_tried_in_order_and_rounds_have_pauses(void **state)
{
    uint64_t longest_ms = 50, pause_ms;
    struct stage s;

    (void)state;
    open_with(&s, 3);
    for (int round = 0; round < 12; round++) {
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(s.server->port, 2181 + i);
            link_down(&s, "refused");
        }
        assert_null(s.server);
        pause_ms = hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) - s.now_ms;
        assert_in_range(pause_ms, longest_ms / 2, longest_ms);
        longest_ms = longest_ms * 2 < 1000 ? longest_ms * 2 : 1000;
        ring(&s);
    }
    assert_string_equal(s.logged_digests, "h3:2183: refused");
    stage_close(&s);
}

static void each_attempt_has_its_time(void **state)
{
    static const struct {
        size_t servers;
        uint64_t patience_ms;
    } rows[] = {{1, 2000}, {2, 2000}, {5, 1000}, {32, 500}};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int up = 0; up < 2; up++) {
            open_with(&s, rows[i].servers);
            if (up) /* it accepts, and says nothing */
                link_up(&s);
            assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)),
                             1000 + rows[i].patience_ms);
            ring(&s);
            assert_string_equal(stage_told(&s), "");
            assert_non_null(strstr(s.text, up ? ": no answer within "
                                              : ": no connection within "));
            assert_false(s.up);
            stage_close(&s);
        }
    }
}

/* One that says nothing to the first connection may be slow, or may have
 * forgotten about it. */
static void patience_grows_until_there_is_a_session(void **state)
{
    static const uint64_t expected_ms[] = {2000, 4000, 5000, 5000};
    struct stage s;

    (void)state;
    open_with(&s, 1);
    for (size_t i = 0; i < sizeof expected_ms / sizeof expected_ms[0]; i++) {
        link_up(&s);
        assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) -
                             s.now_ms,
                         expected_ms[i]);
        ring(&s);
        ring(&s);
    }
    link_up(&s);
    accept_session(&s);
    link_down(&s, "flap");
    ring(&s);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) - s.now_ms,
                     expected_ms[0]);
    stage_close(&s);
}

/* A connection that lasted was one: the pauses begin anew.  One that did not,
 * was another failure. */
static void only_a_steady_connection_resets_the_pauses(void **state)
{
    uint64_t pause_ms = 0;
    struct stage s;

    (void)state;
    stage_connected(&s);
    for (int i = 0; i < 10; i++) {
        link_down(&s, "flap");
        pause_ms = hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) - s.now_ms;
        ring(&s);
        link_up(&s);
        accept_session(&s);
        at(&s, s.now_ms + 999);
    }
    assert_in_range(pause_ms, 500, 1000);
    at(&s, s.now_ms + 1);
    link_down(&s, "flap");
    assert_in_range(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) - s.now_ms,
                    25, 50);
    stage_close(&s);
}

/* ---------------------------------------------------------------- policy -- */

static void open_with_policy(struct stage *s, uint32_t retries)
{
    stage_init(s);
    s->config.session.reconnect = (struct hf_reconnect){
        .pause_ms = 5000, .retries = retries, .elapsed_ms = HF_FOREVER};
    assert_true(stage_open(s));
}

static void a_policy_that_gives_up_ends_the_attempts(void **state)
{
    struct stage s;

    (void)state;
    open_with_policy(&s, 2);
    for (int i = 0; i < 2; i++) {
        link_down(&s, "refused");
        assert_string_equal(stage_told(&s), "");
        assert_int_equal(
            hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) - s.now_ms, 5000);
        ring(&s);
    }
    link_down(&s, "refused");
    assert_string_equal(stage_told(&s), "GAVE_UP 2 10000");
    assert_null(s.server);
    assert_true(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) == HF_FOREVER);
    hf_zk_session_reconnect(hf_zk_session(s.zk), s.now_ms);
    stage_settle(&s);
    assert_non_null(s.server);
    hf_zk_session_reconnect(hf_zk_session(s.zk),
                            s.now_ms); /* nothing: it is at it */
    stage_settle(&s);
    link_down(&s, "refused");
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
}

/* The session goes on without a connection until our clock ends it. */
static void a_session_that_is_given_up_ends_in_its_time(void **state)
{
    struct stage s;

    (void)state;
    open_with_policy(&s, 0);
    link_up(&s);
    accept_session(&s);
    (void)stage_told(&s);
    at(&s, s.now_ms + 1000);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED");
    ring(&s); /* a steady connection was no failed try */
    link_down(&s, "refused");
    assert_string_equal(stage_told(&s), "GAVE_UP 0 0");
    ring(&s);
    assert_string_equal(stage_told(&s), "LOST");
    assert_null(s.server);
    assert_true(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)) == HF_FOREVER);
    hf_zk_session_reconnect(hf_zk_session(s.zk), s.now_ms);
    stage_settle(&s);
    (void)stage_sent(&s);
    link_up(&s);
    assert_string_equal(stage_sent(&s), "GREET 0x0 10000 0x0");
    stage_close(&s);
}

static void what_waiting_does_not_mend_is_final(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 2);
    hf_zk_session_connection_down(hf_zk_session(s.zk), s.connection_number,
                                  s.now_ms, HF_EDENIED, "not trusted");
    stage_settle(&s);
    assert_int_equal(s.trouble_status, HF_EUNREACHABLE);
    assert_false(s.trouble_final);
    hf_zk_session_connection_down(hf_zk_session(s.zk), s.connection_number,
                                  s.now_ms, HF_EDENIED, "not trusted");
    stage_settle(&s);
    assert_true(s.trouble_final);
    stage_close(&s);
}

static void trouble_is_logged_when_it_is_new(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 1);
    for (int i = 0; i < 5; i++) {
        link_down(&s, "refused");
        assert_string_equal(stage_told(&s), "");
        ring(&s);
    }
    assert_int_equal(s.lines, 1);
    link_down(&s, "no route to host");
    assert_int_equal(s.lines, 2);
    ring(&s);
    stage_close(&s);
    /* Several servers with a trouble of their own each are no news either. */
    open_with(&s, 3);
    for (int i = 0; i < 12; i++) {
        link_down(&s, i % 3 == 0 ? "refused" : "no route to host");
        if (s.server == NULL)
            ring(&s);
    }
    assert_int_equal(s.lines, 3);
    /* But after a session they are. */
    link_up(&s);
    accept_session(&s);
    link_down(&s, "refused");
    assert_int_equal(s.lines, 4);
    stage_close(&s);
    stage_init(&s);
    strcpy(s.config.session.servers[0].host, "2001:db8::7");
    assert_true(stage_open(&s));
    link_down(&s, "refused");
    assert_string_equal(s.text, "[2001:db8::7]:2181: refused");
    stage_close(&s);
}

static void calls_about_another_connection_do_nothing(void **state)
{
    struct stage s;
    uint64_t number;

    (void)state;
    stage_connected(&s);
    number = s.connection_number;
    link_down(&s, "reset");
    (void)stage_told(&s);
    hf_zk_session_connection_up(hf_zk_session(s.zk), number, s.now_ms);
    hf_zk_session_connection_down(hf_zk_session(s.zk), number, s.now_ms,
                                  HF_EUNREACHABLE, "again");
    hf_zk_session_receive(hf_zk_session(s.zk), number, s.now_ms,
                          "\xff\xff\xff\xff", 4);
    ring(&s);
    hf_zk_session_connection_up(hf_zk_session(s.zk), number, s.now_ms);
    hf_zk_session_connection_down(hf_zk_session(s.zk), number, s.now_ms,
                                  HF_EUNREACHABLE, "again");
    hf_zk_session_receive(hf_zk_session(s.zk), number, s.now_ms,
                          "\xff\xff\xff\xff", 4);
    hf_zk_session_receive(hf_zk_session(s.zk), s.connection_number, s.now_ms,
                          "early", 5); /* it is not up */
    stage_settle(&s);
    assert_string_equal(stage_told(&s), "");
    link_up(&s);
    hf_zk_session_connection_up(hf_zk_session(s.zk), s.connection_number,
                                s.now_ms); /* twice */
    stage_settle(&s);
    assert_string_equal(stage_sent(&s), "GREET 0x0 10000 0x5e55");
    accept_session(&s);
    assert_non_null(strstr(stage_told(&s), "RESUMED"));
    stage_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_that_gives_up_ends_the_attempts),
        cmocka_unit_test(a_session_that_is_given_up_ends_in_its_time),
        cmocka_unit_test(what_waiting_does_not_mend_is_final),
        cmocka_unit_test(who_speaks_tls_is_recognized),
        cmocka_unit_test(who_closes_in_silence_is_asked_for_tls),
        cmocka_unit_test(a_session_begins),
        cmocka_unit_test(servers_without_the_last_byte_are_understood),
        cmocka_unit_test(answers_that_are_no_greeting_are_refused),
        cmocka_unit_test(a_server_that_closes_instead_is_explained),
        cmocka_unit_test(who_speaks_something_else_is_recognized),
        cmocka_unit_test(a_session_goes_on_at_another_server),
        cmocka_unit_test(a_refused_resume_is_a_lost_session),
        cmocka_unit_test(another_session_is_not_ours),
        cmocka_unit_test(a_session_that_is_cut_off_is_lost_by_our_clock),
        cmocka_unit_test(silence_loses_a_session_too),
        cmocka_unit_test(every_session_has_its_clock),
        cmocka_unit_test(pings_go_at_a_third),
        cmocka_unit_test(silence_of_two_thirds_ends_the_connection),
        cmocka_unit_test(events_keep_the_link_and_not_the_session),
        cmocka_unit_test(servers_are_tried_in_order_and_rounds_have_pauses),
        cmocka_unit_test(each_attempt_has_its_time),
        cmocka_unit_test(patience_grows_until_there_is_a_session),
        cmocka_unit_test(only_a_steady_connection_resets_the_pauses),
        cmocka_unit_test(trouble_is_logged_when_it_is_new),
        cmocka_unit_test(calls_about_another_connection_do_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
