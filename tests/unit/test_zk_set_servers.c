/* SPDX-License-Identifier: Apache-2.0 */
/* A session that gets another list of servers: when it stays, when it moves and
 * to which server, what becomes of its operations, and what it still knows of
 * servers that stay in the list. */
#include <string.h>

#include "cmocka/runner.h"
#include "zk_op_fixture.h"

/* Give the session the servers whose names are the letters of ${hosts}. */
static void set_servers(struct zk_op_fixture *f, const char *hosts)
{
    struct hf_zk_server servers[HF_ZK_SERVERS_MAX] = {{{0}, 0}};
    size_t count = strlen(hosts);

    for (size_t i = 0; i < count; i++)
        servers[i] = (struct hf_zk_server){{hosts[i]}, 1};
    hf_zk_session_set_servers(&f->session, servers, count, f->now_ms);
}

/* Begin with "a" and "b", connected to "a", where the session is 1. */
static void begin_connected(struct zk_op_fixture *f)
{
    op_fixture_begin_among(f, 2, false);
    (void)op_fixture_link_up_to(f, "a");
    op_fixture_accept_as(f, 1, false);
    op_fixture_expect_events(f, "UP");
}

OP_TEST(a_session_stays_with_its_server, begin_connected(f))
{
    static struct test_op op;

    set_servers(f, "dac");
    assert_false(f->session.leaving);
    op_fixture_start(f, &op, HF_ZOOKEEPER_EXISTS, "/exists");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/exists HF_OK");
    op_fixture_cut_until_next(f);
    assert_int_equal(op_fixture_link_up_to(f, "c"), 1);
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "d");
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "a");
}

OP_TEST(a_session_moves_from_a_server_that_is_gone, begin_connected(f))
{
    set_servers(f, "cd");
    op_fixture_expect_events(f, "SUSPENDED");
    assert_int_equal(op_fixture_link_up_to(f, "c"), 1);
    op_fixture_accept_as(f, 1, false);
    op_fixture_expect_events(f, "RESUMED");
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "d");
}

OP_TEST(what_is_in_flight_is_answered_before, begin_connected(f))
{
    static struct test_op ops[3];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_DELETE, "/delete");
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_EXISTS, "/exists");
    set_servers(f, "cd");
    op_fixture_expect_sent(f, "delete /delete; exists /exists");
    op_fixture_start(f, &ops[2], HF_ZOOKEEPER_DELETE, "/later");
    op_fixture_expect_sent(f, "");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/delete HF_OK");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/exists HF_OK; SUSPENDED");
    (void)op_fixture_link_up_to(f, "c");
    op_fixture_accept_as(f, 1, false);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "RESUMED; /later HF_OK");
}

/* As if nothing had been said. */
OP_TEST(a_server_that_comes_back_is_not_left, begin_connected(f))
{
    static struct test_op ops[2];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_EXISTS, "/1");
    set_servers(f, "cd");
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_EXISTS, "/2");
    set_servers(f, "ca");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/1 HF_OK; /2 HF_OK");
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "c");
}

OP_TEST(the_same_servers_change_nothing, begin_connected(f))
{
    set_servers(f, "ba");
    assert_string_equal(f->config.servers[0].host, "a");
    set_servers(f, "bb"); /* they are not the same */
    op_fixture_expect_events(f, "SUSPENDED");
    (void)op_fixture_link_up_to(f, "b");
}

TEST(an_attempt_at_a_server_that_is_gone_ends)
{
    struct zk_op_fixture f;
    uint64_t number;

    op_fixture_begin_among(&f, 2, false); /* while it connects, */
    set_servers(&f, "c");
    assert_int_equal(op_fixture_link_up_to(&f, "c"), 0); /* shakes hands, */
    set_servers(&f, "d");
    (void)op_fixture_link_up_to(&f, "d");
    op_fixture_accept_as(&f, 1, false);
    op_fixture_expect_events(&f, "UP");
    f.session.connectivity.up_at_ms = f.now_ms; /* it was up for a moment */
    hf_zk_session_connection_down(&f.session, f.connection_number, f.now_ms,
                                  HF_EUNREACHABLE, "reset");
    assert_null(hf_zk_session_wanted_server(&f.session, &number));
    set_servers(&f, "e"); /* and while it waits for the next attempt */
    f.now_ms = hf_zk_session_wake_at_ms(&f.session);
    hf_zk_session_tick(&f.session, f.now_ms);
    (void)op_fixture_link_up_to(&f, "e");
    op_fixture_expect_events(&f, "SUSPENDED");
    op_fixture_end(&f);
}

/* The resume that is given up may be carried out. */
OP_TEST(a_resume_that_is_given_up_counts_the_least_timeout, begin_connected(f))
{
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "b");
    f->session.least_granted_ms = 4000;
    set_servers(f, "c");
    assert_int_equal(f->session.timeout_ms, 4000);
}

/* An operation that servers may not know is sent alone until a server has
 * answered one. */
OP_TEST(what_is_known_of_a_server_stays_with_it, begin_connected(f))
{
    static struct test_op ops[2];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_COUNT, "/count");
    op_fixture_answer(f, HF_ZK_UNIMPLEMENTED);
    op_fixture_expect_events(f, "/count HF_EUNSUPPORTED");
    f->session.tls_probe[1] = HF_ZK_TLS_PROBED;
    set_servers(f, "cab");
    assert_int_equal(f->session.server, 1);
    assert_int_equal(f->session.tls_probe[1], HF_ZK_TLS_UNPROBED);
    assert_int_equal(f->session.tls_probe[2], HF_ZK_TLS_PROBED);
    op_fixture_expect_sent(f, "count /count");
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_COUNT, "/again");
    op_fixture_expect_events(f, "/again HF_EUNSUPPORTED");
    op_fixture_expect_sent(f, "");
}

OP_TEST(what_is_known_of_a_server_that_is_left_counts_until_then,
        begin_connected(f))
{
    static struct test_op ops[3];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_COUNT, "/1");
    op_fixture_answer(f, HF_ZK_UNIMPLEMENTED);
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_EXISTS, "/2");
    set_servers(f, "cd");
    set_servers(f, "ca"); /* it comes back */
    op_fixture_start(f, &ops[2], HF_ZOOKEEPER_COUNT, "/3");
    op_fixture_expect_events(f, "/1 HF_EUNSUPPORTED; /3 HF_EUNSUPPORTED");
}

OP_TEST(a_cut_connection_goes_to_the_new_servers, begin_connected(f))
{
    static struct test_op op;

    op_fixture_start(f, &op, HF_ZOOKEEPER_EXISTS, "/sent");
    set_servers(f, "cd");
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "c");
    op_fixture_accept_as(f, 1, false);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "SUSPENDED; RESUMED; /sent HF_OK");
}

OP_TEST(a_closed_session_goes_nowhere, begin_connected(f))
{
    uint64_t number;

    hf_zk_session_close(&f->session);
    set_servers(f, "cd");
    assert_string_equal(hf_zk_session_wanted_server(&f->session, &number)->host,
                        "a");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "CLOSED");
    set_servers(f, "e");
    assert_null(hf_zk_session_wanted_server(&f->session, &number));
}

/* The search for a server with a quorum asks those of the new list. */
OP_TEST(a_read_only_session_searches_the_new_servers,
        op_fixture_begin_among(f, 1, true))
{
    const struct hf_zk_server *asked;
    uint64_t number;

    (void)op_fixture_link_up_to(f, "a");
    op_fixture_accept_as(f, 1, true);
    set_servers(f, "ba");
    op_fixture_pass(f, 1000);
    asked = hf_zk_session_rw_probe_server(&f->session, &number);
    assert_non_null(asked);
    assert_string_equal(asked->host, "b");
    op_fixture_expect_events(f, "UP");
    set_servers(f, "cb");
    op_fixture_expect_events(f, "SUSPENDED; LOST");
    assert_int_equal(op_fixture_link_up_to(f, "c"), 0);
}

/* What the search has found is kept, if it is in the new list. */
TEST(a_server_that_was_found_is_still_moved_to)
{
    static const char *const lists[] = {"dab", "dac"};
    struct test_op op;
    struct zk_op_fixture f;
    uint64_t number;

    for (size_t i = 0; i < 2; i++) {
        op_fixture_begin_among(&f, 2, true);
        (void)op_fixture_link_up_to(&f, "a");
        op_fixture_accept_as(&f, 1, true);
        op_fixture_start(&f, &op, HF_ZOOKEEPER_EXISTS, "/exists");
        op_fixture_pass(&f, 1000);
        (void)hf_zk_session_rw_probe_server(&f.session, &number);
        hf_zk_session_rw_probe_received(&f.session, number, f.now_ms, "rw", 2);
        set_servers(&f, lists[i]);
        if (i == 0)
            assert_string_equal(f.logged, "a:1: left, because a server with a "
                                          "quorum was found");
        op_fixture_answer(&f, HF_ZK_OK);
        op_fixture_expect_events(&f, i == 0
                                         ? "UP; /exists HF_OK; SUSPENDED; LOST"
                                         : "UP; /exists HF_OK");
        if (i == 0)
            (void)op_fixture_link_up_to(&f, "b");
        op_fixture_end(&f);
    }
}
