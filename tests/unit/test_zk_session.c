/* SPDX-License-Identifier: Apache-2.0 */
/* The session with an ensemble: how it begins, moves to another server, is
 * kept, and ends. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

static void open_with(struct zk_fixture *f, size_t servers)
{
    zk_fixture_init(f);
    for (size_t i = 0; i < servers; i++) {
        snprintf(f->config.url.session.servers[i].host, HF_ZK_HOST_BYTES,
                 "h%zu", i + 1);
        f->config.url.session.servers[i].port = (uint16_t)(2181 + i);
    }
    f->config.url.session.server_count = servers;
    assert_true(zk_fixture_open(f));
}

/* ------------------------------------------------------------ handshake -- */

ZK_TEST_FROM(a_session_begins, open_with(f, 1))
{
    assert_string_equal(f->server->host, "h1");
    assert_string_equal(zk_fixture_sent(f), "");
    set_time(f, 1100);
    link_up(f);
    assert_string_equal(zk_fixture_sent(f), "HANDSHAKE 0x0 10000 0x0");
    set_time(f, 1200);
    accept_session_as(f, 8000, 7);
    assert_string_equal(zk_fixture_events(f), "CONNECTED 8000 1100");
    assert_string_equal(zk_fixture_sent(f), "");
}

ZK_TEST_FROM(servers_without_the_last_byte_are_understood, open_with(f, 1))
{
    static const char answer[] = "\0\0\0\x24\0\0\0\0\0\0\x27\x10"
                                 "\0\0\0\0\0\0\0\7\0\0\0\x10"
                                 "0123456789abcdef";

    link_up(f);
    receive(f, answer, sizeof answer - 1);
    assert_string_equal(zk_fixture_events(f), "CONNECTED 10000 1000");
}

TEST(answers_that_are_no_handshake_are_refused)
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
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_with(&f, 1);
        link_up(&f);
        receive(&f, rows[i].bytes, rows[i].count);
        assert_string_equal(zk_fixture_events(&f), "");
        assert_string_equal(f.text, rows[i].text);
        assert_null(f.server);
        zk_fixture_close(&f);
    }
}

/* Such a server only closes the connection. */
TEST(a_server_that_closes_instead_is_explained)
{
    struct zk_fixture f;

    open_with(&f, 1);
    link_down(&f, NULL); /* before we have seen that it is there */
    assert_non_null(strstr(f.text, "h1:2181: closed by the server without"));
    wake(&f);
    link_up(&f);
    link_down(&f, NULL);
    assert_non_null(strstr(f.text, "h1:2181: closed by the server without"));
    assert_non_null(strstr(f.text, "quorum"));
    assert_non_null(strstr(f.text, "maxClientCnxns"));
    assert_non_null(strstr(f.text, "zks:"));
    zk_fixture_close(&f);

    zk_fixture_init(&f);
    f.config.url.session.tls = true;
    assert_true(zk_fixture_open(&f));
    link_up(&f);
    link_down(&f, NULL);
    assert_non_null(strstr(f.text, "maxClientCnxns"));
    assert_null(strstr(f.text, "zks:"));
    zk_fixture_close(&f);

    zk_fixture_connected(&f); /* and has seen transactions */
    f.zxid = 0x99;
    ask(&f, HF_REQUEST_LIST, "a");
    done(&f);
    children(&f, "");
    link_down(&f, NULL);
    assert_string_equal(f.text, "h1:2181: closed by the server");
    wake(&f);
    link_up(&f);
    link_down(&f, NULL);
    assert_non_null(strstr(f.text, "data that others have shown us"));
    zk_fixture_close(&f);
}

/* Anything that begins with these bytes. */
TEST(who_speaks_something_else_is_recognized)
{
    static const char *const words[] = {"HTTP/1.1 400 Bad Request", "SSH-2.0",
                                        "-ERR unknown command",
                                        "\xff\xff\xff\xff"};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        open_with(&f, 1);
        link_up(&f);
        receive(&f, words[i], strlen(words[i]));
        assert_string_equal(
            f.text, "h1:2181: an answer that is not ZooKeeper's; see whether "
                    "the port is right");
        assert_int_equal(f.error_status, HF_EPROTOCOL);
        assert_null(f.server);
        zk_fixture_close(&f);
    }
}

/* A server that closes without a byte is asked once whether it speaks TLS. */
TEST(who_closes_in_silence_is_asked_for_tls)
{
    struct zk_fixture f;

    open_with(&f, 1);
    link_up(&f);
    assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 10000 0x0");
    link_down(&f, NULL);
    wake(&f);
    link_up(&f);
    assert_string_equal(zk_fixture_sent(&f), "TLS?");
    link_down(&f, NULL); /* it does not */
    assert_non_null(strstr(f.text, "quorum"));
    for (int i = 0; i < 3; i++) {
        wake(&f);
        link_up(&f);
        assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 10000 0x0");
        link_down(&f, NULL);
    }
    zk_fixture_close(&f);

    open_with(&f, 1);
    link_up(&f);
    link_down(&f, NULL);
    wake(&f);
    link_up(&f);
    receive(&f, "\x15\x03\x03\x00\x02\x01\x00", 7);
    assert_non_null(strstr(f.text, "speaks TLS; expected zks:"));
    assert_int_equal(f.error_status, HF_EURL);
    assert_true(f.error_final);
    zk_fixture_close(&f);
}

ZK_TEST_FROM(who_speaks_tls_is_recognized, open_with(f, 1))
{
    link_up(f);
    receive(f, "\x15\x03\x03\x00\x02\x02\x46", 7); /* an alert */
    assert_non_null(strstr(f->text, "speaks TLS; expected zks:"));
    assert_int_equal(f->error_status, HF_EURL);
    assert_true(f->error_final);
}

/* ------------------------------------------------------- going on elsewhere */

ZK_TEST_FROM(a_session_goes_on_at_another_server, open_with(f, 2))
{
    link_up(f);
    accept_session_as(f, 8000, 7);
    f->zxid = 0x99;
    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    children(f, "");
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
    set_time(f, 3000);
    link_down(f, "connection reset by peer");
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
    assert_string_equal(f->text, "h1:2181: connection reset by peer");
    assert_string_equal(f->server->host, "h2"); /* at once */
    set_time(f, 3100);
    link_up(f);
    /* The password, the last zxid, and the timeout that is wanted. */
    assert_string_equal(zk_fixture_sent(f), "HANDSHAKE 0x9a 10000 0x7");
    assert_string_equal(zk_fixture_events(f), "RESUMING 3100 8000");
    set_time(f, 3200);
    accept_session_as(f, 6000, 7);
    assert_non_null(strstr(zk_fixture_events(f), "RESUMED 6000 "));
    link_down(f, "reset");
    wake(f);
    link_up(f);
    /* The smallest timeout that was granted may be in force. */
    assert_non_null(strstr(zk_fixture_events(f), " 6000"));
}

ZK_TEST(a_refused_resume_is_a_lost_session)
{
    link_down(f, "reset");
    wake(f);
    link_up(f);
    (void)zk_fixture_events(f);
    refuse_session(f);
    assert_string_equal(zk_fixture_events(f), "LOST");
    assert_int_equal(f->status, HF_ELOST);
    assert_string_equal(f->text, "the server has ended the session");
    (void)zk_fixture_sent(f);
    assert_non_null(f->server);
    set_time(f, 2000);
    link_up(f);
    assert_string_equal(zk_fixture_sent(f), "HANDSHAKE 0x0 10000 0x0");
    accept_session_as(f, 10000, 9);
    assert_string_equal(zk_fixture_events(f), "CONNECTED 10000 2000");
}

ZK_TEST(another_session_is_not_ours)
{
    link_down(f, "reset");
    wake(f);
    link_up(f);
    (void)zk_fixture_events(f);
    accept_session_as(f, 10000, ZK_FIXTURE_SESSION + 1);
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(f->text,
                        "h1:2181: an answer to a connect request that was "
                        "not ours");
}

/* ------------------------------------------------------- lost by our clock */

TEST(a_session_that_is_cut_off_is_lost_by_our_clock)
{
    struct zk_fixture f;

    zk_fixture_connected(&f); /* the handshake was at 1000 */
    set_time(&f, 2000);
    ask(&f, HF_REQUEST_LIST, "a");
    set_time(&f, 2500);
    done(&f); /* alive as of 2000 */
    link_down(&f, "reset");
    (void)zk_fixture_events(&f);
    while (zk_fixture_events(&f)[0] == '\0' && f.now_ms < 60000) {
        wake(&f);
        if (f.server != NULL && !f.up)
            link_down(&f, "refused");
        f.events.used =
            strstr(f.events.text, "LOST") != NULL ? f.events.used : 0;
    }
    assert_int_equal(f.now_ms, 12000);
    assert_int_equal(f.status, HF_ELOST);
    assert_string_equal(f.text, "the server has not answered for 10000 ms, "
                                "the timeout of the session");
    zk_fixture_close(&f);
}

/* Also while the server is silent and the TICK is late. */
TEST(silence_loses_a_session_too)
{
    struct zk_fixture f;

    zk_fixture_connected(&f);
    advance_to(&f, 10999);
    assert_string_equal(zk_fixture_events(&f), "SUSPENDED");
    advance_to(&f, 11000);
    assert_string_equal(zk_fixture_events(&f), "LOST");
    zk_fixture_close(&f);

    zk_fixture_connected(&f);
    advance_to(&f, 11000); /* woken as late as that */
    assert_string_equal(zk_fixture_events(&f), "LOST");
    zk_fixture_close(&f);
}

/* Also the session after it. */
ZK_TEST(every_session_has_its_clock)
{
    for (int64_t i = 1; i < 4; i++) {
        advance_to(f, f->now_ms + 10000);
        assert_string_equal(zk_fixture_events(f), "LOST");
        link_up(f);
        refuse_session(f); /* the lost one has ended */
        link_up(f);
        accept_session_as(f, 10000, i);
        (void)zk_fixture_events(f);
    }
}

/* ----------------------------------------------- the end of a lost session */

/* The next connection is made, when it is due. */
static void connect(struct zk_fixture *f)
{
    while (f->server == NULL)
        wake(f);
    link_up(f);
}

/* A session is lost because nothing was answered; the next connection is
 * made. */
static void lose_for_silence(struct zk_fixture *f)
{
    zk_fixture_connected(f);
    advance_to(f, 11000);
    assert_string_equal(zk_fixture_events(f), "LOST");
    (void)zk_fixture_sent(f);
    connect(f);
}

/* A new session begins on the connection that is made now. */
static void expect_new_session(struct zk_fixture *f)
{
    connect(f);
    assert_string_equal(zk_fixture_sent(f), "HANDSHAKE 0x0 10000 0x0");
    accept_session_as(f, 10000, 9);
    assert_memory_equal(zk_fixture_events(f), "CONNECTED 10000", 15);
    assert_int_equal(hf_zk_engine_session(f->zk)->lost.state, HF_ZK_LOST_NONE);
    zk_fixture_close(f);
}

/* It asks for the shortest timeout, and nobody is notified. */
TEST(a_lost_session_is_ended_before_the_next_one)
{
    struct zk_fixture f;

    lose_for_silence(&f);
    assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 1 0x5e55");
    accept_session_as(&f, 1000, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_sent(&f), "CLOSE");
    assert_false(hf_zk_session_usable(hf_zk_engine_session(f.zk)));
    done(&f);
    assert_string_equal(zk_fixture_events(&f), "");
    expect_new_session(&f);
}

TEST(the_end_of_a_lost_session_may_go_unanswered)
{
    struct zk_fixture f;

    lose_for_silence(&f);
    accept_session(&f);
    (void)zk_fixture_sent(&f);
    link_down(&f, "reset");
    expect_new_session(&f);
}

TEST(a_lost_session_that_has_ended_is_not_lost_again)
{
    struct zk_fixture f;

    lose_for_silence(&f);
    refuse_session(&f);
    assert_string_equal(zk_fixture_events(&f), "");
    (void)zk_fixture_sent(&f);
    expect_new_session(&f);
}

/* As servers without a quorum do, for as long as they have none. */
TEST(a_lost_session_is_ended_by_the_first_that_answers)
{
    struct zk_fixture f;

    lose_for_silence(&f);
    for (int i = 1; i < 64; i++) {
        assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 1 0x5e55");
        link_down(&f, NULL);
        connect(&f);
    }
    assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 10000 0x0");
    link_down(&f, NULL);
    connect(&f);
    assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 1 0x5e55");
    accept_session_as(&f, 10000, ZK_FIXTURE_SESSION + 1);
    assert_string_equal(f.text,
                        "h1:2181: an answer to a connect request that was "
                        "not ours");
    connect(&f);
    assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 1 0x5e55");
    accept_session(&f);
    assert_string_equal(zk_fixture_sent(&f), "CLOSE");
    done(&f);
    expect_new_session(&f);
}

/* It is not resumed once there is another session. */
ZK_TEST_FROM(a_lost_session_is_forgotten_with_the_next_one, lose_for_silence(f))
{
    for (int i = 1; i < 64; i++) {
        link_down(f, NULL);
        connect(f);
    }
    (void)zk_fixture_sent(f);
    accept_session_as(f, 10000, 9);
    assert_int_equal(hf_zk_engine_session(f->zk)->lost.state, HF_ZK_LOST_NONE);
    link_down(f, NULL);
    connect(f);
    assert_non_null(strstr(zk_fixture_sent(f), "HANDSHAKE 0x0 10000 0x9"));
}

/* Another client may have it. */
TEST(a_session_that_was_handed_out_is_left_alone)
{
    struct zk_fixture f;

    zk_fixture_connected(&f);
    hf_zk_engine_session(f.zk)->handed_out = true;
    advance_to(&f, 11000);
    (void)zk_fixture_events(&f);
    (void)zk_fixture_sent(&f);
    expect_new_session(&f);
}

ZK_TEST_FROM(a_close_does_not_wait_for_a_lost_session, lose_for_silence(f))
{
    accept_session(f);
}

/* -------------------------------------------------------------- keeping -- */

ZK_TEST(pings_go_at_a_third)
{
    for (uint64_t k = 1; k < 6; k++) {
        assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)),
                         1000 + k * 3333);
        advance_to(f, 1000 + k * 3333 - 1);
        assert_string_equal(zk_fixture_sent(f), "");
        wake(f);
        assert_string_equal(zk_fixture_sent(f), "PING");
        pong(f);
    }
    /* A call counts as well. */
    set_time(f, f->now_ms + 1000);
    ask(f, HF_REQUEST_LIST, "a");
    (void)zk_fixture_sent(f);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)),
                     f->now_ms + 3333);
}

/* Neither an event nor what is unanswered puts a ping off: the server counts
 * only what it gets. */
ZK_TEST(what_comes_in_puts_off_no_ping)
{
    advance_to(f, 1000 + 3332);
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#1");
    wake(f);
    assert_int_equal(f->now_ms, 1000 + 3333);
    assert_string_equal(zk_fixture_sent(f), "PING");
    pong(f);
    ask(f, HF_REQUEST_LIST, "a");
    (void)zk_fixture_sent(f);
    advance_to(f, 1000 + 3333 + 3332);
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#1");
    wake(f);
    assert_int_equal(f->now_ms, 1000 + 3333 + 3333);
    assert_string_equal(zk_fixture_sent(f), "PING");
}

ZK_TEST(silence_of_two_thirds_ends_the_connection)
{
    run_until(f, 1000 + 6665);
    assert_string_equal(zk_fixture_sent(f), "PING");
    assert_true(f->up);
    wake(f);
    assert_int_equal(f->now_ms, 1000 + 6666);
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
    assert_string_equal(f->text, "h1:2181: no answer for 6666 ms");
    assert_false(f->up);
}

/* Any byte shows that the link works; only an answer shows that the session
 * exists. */
ZK_TEST(events_keep_the_link_and_not_the_session)
{
    while (f->now_ms < 10000) {
        run_until(f, f->now_ms + 1000);
        event(f, HF_ZK_NODE_DELETED, "q/x#1");
    }
    assert_string_equal(zk_fixture_events(f), "");
    run_until(f, 11000);
    assert_string_equal(zk_fixture_events(f), "LOST");
}

/* ---------------------------------------------------------- the servers -- */

ZK_TEST_FROM(servers_are_tried_in_order_with_pauses_after_the_last,
             open_with(f, 3))
{
    uint64_t longest_ms = 50, pause_ms;

    for (int iteration = 0; iteration < 12; iteration++) {
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(f->server->port, 2181 + i);
            link_down(f, "refused");
        }
        assert_null(f->server);
        pause_ms =
            hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) - f->now_ms;
        assert_in_range(pause_ms, longest_ms / 2, longest_ms);
        longest_ms = longest_ms * 2 < 1000 ? longest_ms * 2 : 1000;
        wake(f);
    }
    assert_string_equal(f->logged_digests, "h3:2183: refused");
}

TEST(each_attempt_has_its_time)
{
    static const struct {
        size_t servers;
        uint64_t connect_timeout_ms;
    } rows[] = {{1, 2000}, {2, 2000}, {5, 1000}, {32, 500}};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int up = 0; up < 2; up++) {
            open_with(&f, rows[i].servers);
            if (up) /* it accepts, and says nothing */
                link_up(&f);
            assert_int_equal(
                hf_zk_session_wake_at_ms(hf_zk_engine_session(f.zk)),
                1000 + rows[i].connect_timeout_ms);
            wake(&f);
            assert_string_equal(zk_fixture_events(&f), "");
            assert_non_null(strstr(f.text, up ? ": no answer within "
                                              : ": no connection within "));
            assert_false(f.up);
            zk_fixture_close(&f);
        }
    }
}

/* A server that does not answer the first connection may be slow, or may have
 * lost it. */
ZK_TEST_FROM(timeouts_grow_until_there_is_a_session, open_with(f, 1))
{
    static const uint64_t expected_ms[] = {2000, 4000, 5000, 5000};

    for (size_t i = 0; i < sizeof expected_ms / sizeof expected_ms[0]; i++) {
        link_up(f);
        assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) -
                             f->now_ms,
                         expected_ms[i]);
        wake(f);
        wake(f);
    }
    link_up(f);
    accept_session(f);
    link_down(f, "flap");
    wake(f);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) -
                         f->now_ms,
                     expected_ms[0]);
}

/* A connection that lasted resets the pauses.  One that did not last counts
 * as a failure. */
ZK_TEST(only_a_steady_connection_resets_the_pauses)
{
    uint64_t pause_ms = 0;

    for (int i = 0; i < 10; i++) {
        link_down(f, "flap");
        pause_ms =
            hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) - f->now_ms;
        wake(f);
        link_up(f);
        accept_session(f);
        set_time(f, f->now_ms + 999);
    }
    assert_in_range(pause_ms, 500, 1000);
    set_time(f, f->now_ms + 1);
    link_down(f, "flap");
    assert_in_range(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) -
                        f->now_ms,
                    25, 50);
}

/* ---------------------------------------------------------------- policy -- */

static void open_with_policy(struct zk_fixture *f, uint32_t retries)
{
    zk_fixture_init(f);
    f->config.url.session.reconnect = (struct hf_reconnect){
        .pause_ms = 5000, .retries = retries, .elapsed_ms = HF_FOREVER};
    assert_true(zk_fixture_open(f));
}

ZK_TEST_FROM(a_policy_that_gives_up_ends_the_attempts, open_with_policy(f, 2))
{
    for (int i = 0; i < 2; i++) {
        link_down(f, "refused");
        assert_string_equal(zk_fixture_events(f), "");
        assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) -
                             f->now_ms,
                         5000);
        wake(f);
    }
    link_down(f, "refused");
    assert_string_equal(zk_fixture_events(f), "GAVE_UP 2 10000");
    assert_null(f->server);
    assert_true(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) ==
                HF_FOREVER);
    hf_zk_session_reconnect(hf_zk_engine_session(f->zk), f->now_ms);
    zk_fixture_process(f);
    assert_non_null(f->server);
    hf_zk_session_reconnect(hf_zk_engine_session(f->zk),
                            f->now_ms); /* nothing: it is at it */
    zk_fixture_process(f);
    link_down(f, "refused");
    assert_string_equal(zk_fixture_events(f), "");
}

/* The session goes on without a connection until our clock ends it. */
TEST(a_session_that_is_given_up_ends_in_its_time)
{
    struct zk_fixture f;

    open_with_policy(&f, 0);
    link_up(&f);
    accept_session(&f);
    (void)zk_fixture_events(&f);
    set_time(&f, f.now_ms + 1000);
    link_down(&f, "reset");
    assert_string_equal(zk_fixture_events(&f), "SUSPENDED");
    wake(&f); /* a steady connection was no failed try */
    link_down(&f, "refused");
    assert_string_equal(zk_fixture_events(&f), "GAVE_UP 0 0");
    while (hf_zk_session_wake_at_ms(hf_zk_engine_session(f.zk)) != HF_FOREVER)
        wake(&f);
    assert_string_equal(zk_fixture_events(&f), "LOST");
    assert_null(f.server);
    hf_zk_session_reconnect(hf_zk_engine_session(f.zk), f.now_ms);
    zk_fixture_process(&f);
    (void)zk_fixture_sent(&f);
    link_up(&f);
    assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 1 0x5e55");
    refuse_session(&f);
    expect_new_session(&f);
}

ZK_TEST_FROM(what_waiting_does_not_mend_is_final, open_with(f, 2))
{
    hf_zk_session_connection_down(hf_zk_engine_session(f->zk),
                                  f->connection_number, f->now_ms, HF_EDENIED,
                                  "not trusted");
    zk_fixture_process(f);
    assert_int_equal(f->error_status, HF_EUNREACHABLE);
    assert_false(f->error_final);
    hf_zk_session_connection_down(hf_zk_engine_session(f->zk),
                                  f->connection_number, f->now_ms, HF_EDENIED,
                                  "not trusted");
    zk_fixture_process(f);
    assert_true(f->error_final);
}

TEST(connection_error_is_logged_when_it_is_new)
{
    struct zk_fixture f;

    open_with(&f, 1);
    for (int i = 0; i < 5; i++) {
        link_down(&f, "refused");
        assert_string_equal(zk_fixture_events(&f), "");
        wake(&f);
    }
    assert_int_equal(f.log_lines, 1);
    link_down(&f, "no route to host");
    assert_int_equal(f.log_lines, 2);
    wake(&f);
    zk_fixture_close(&f);
    /* Different errors of several servers, in turn, are no new ones. */
    open_with(&f, 3);
    for (int i = 0; i < 12; i++) {
        link_down(&f, i % 3 == 0 ? "refused" : "no route to host");
        if (f.server == NULL)
            wake(&f);
    }
    assert_int_equal(f.log_lines, 3);
    /* After a session they are new. */
    link_up(&f);
    accept_session(&f);
    link_down(&f, "refused");
    assert_int_equal(f.log_lines, 4);
    zk_fixture_close(&f);
    zk_fixture_init(&f);
    strcpy(f.config.url.session.servers[0].host, "2001:db8::7");
    assert_true(zk_fixture_open(&f));
    link_down(&f, "refused");
    assert_string_equal(f.text, "[2001:db8::7]:2181: refused");
    zk_fixture_close(&f);
}

ZK_TEST(calls_about_another_connection_do_nothing)
{
    uint64_t number;

    number = f->connection_number;
    link_down(f, "reset");
    (void)zk_fixture_events(f);
    hf_zk_session_connection_up(hf_zk_engine_session(f->zk), number, f->now_ms);
    hf_zk_session_connection_down(hf_zk_engine_session(f->zk), number,
                                  f->now_ms, HF_EUNREACHABLE, "again");
    hf_zk_session_receive(hf_zk_engine_session(f->zk), number, f->now_ms,
                          "\xff\xff\xff\xff", 4);
    wake(f);
    hf_zk_session_connection_up(hf_zk_engine_session(f->zk), number, f->now_ms);
    hf_zk_session_connection_down(hf_zk_engine_session(f->zk), number,
                                  f->now_ms, HF_EUNREACHABLE, "again");
    hf_zk_session_receive(hf_zk_engine_session(f->zk), number, f->now_ms,
                          "\xff\xff\xff\xff", 4);
    hf_zk_session_receive(hf_zk_engine_session(f->zk), f->connection_number,
                          f->now_ms, "early", 5); /* it is not up */
    zk_fixture_process(f);
    assert_string_equal(zk_fixture_events(f), "");
    link_up(f);
    hf_zk_session_connection_up(hf_zk_engine_session(f->zk),
                                f->connection_number, f->now_ms); /* twice */
    zk_fixture_process(f);
    assert_string_equal(zk_fixture_sent(f), "HANDSHAKE 0x0 10000 0x5e55");
    accept_session(f);
    assert_non_null(strstr(zk_fixture_events(f), "RESUMED"));
}
