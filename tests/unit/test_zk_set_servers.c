/* SPDX-License-Identifier: Apache-2.0 */
/* A session that gets another list of servers: when it stays, when it moves and
 * to which server, what becomes of its operations, and what it still knows of
 * servers that stay in the list. */
#include <string.h>

#include "cmocka/runner.h"
#include "zk_queue_fixture.h"

/* Give the session the servers whose names are the letters of ${hosts}. */
static void set_servers(struct zk_queue_fixture *f, const char *hosts)
{
    struct hf_zk_server servers[HF_ZK_SERVERS_MAX] = {{{0}, 0}};
    size_t count = strlen(hosts);

    for (size_t i = 0; i < count; i++)
        servers[i] = (struct hf_zk_server){{hosts[i]}, 1};
    hf_zk_session_set_servers(&f->session, servers, count, f->now_ms);
}

/* Begin with "a" and "b", connected to "a", where the session is 1. */
static void begin_connected(struct zk_queue_fixture *f)
{
    zk_queue_begin(f, 2, false);
    (void)zk_queue_connect(f, "a");
    zk_queue_accept(f, 1, false);
    zk_queue_expect(f, "UP");
}

TEST(a_session_stays_with_its_server)
{
    struct zk_queue_op op;
    struct zk_queue_fixture f;

    begin_connected(&f);
    set_servers(&f, "dac");
    assert_false(f.session.leaving);
    zk_queue_start(&f, &op, HF_ZOOKEEPER_EXISTS, "exists");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "exists HF_OK");
    zk_queue_cut(&f);
    assert_int_equal(zk_queue_connect(&f, "c").id, 1);
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "d");
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "a");
    zk_queue_end(&f);
}

TEST(a_session_moves_from_a_server_that_is_gone)
{
    struct zk_queue_fixture f;

    begin_connected(&f);
    set_servers(&f, "cd");
    zk_queue_expect(&f, "SUSPENDED");
    assert_int_equal(zk_queue_connect(&f, "c").id, 1);
    zk_queue_accept(&f, 1, false);
    zk_queue_expect(&f, "RESUMED");
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "d");
    zk_queue_end(&f);
}

TEST(what_is_in_flight_is_answered_before)
{
    struct zk_queue_op ops[3];
    struct zk_queue_fixture f;

    begin_connected(&f);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_DELETE, "delete");
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "exists");
    set_servers(&f, "cd");
    assert_true(zk_queue_take_output(&f) > 0);
    zk_queue_start(&f, &ops[2], HF_ZOOKEEPER_DELETE, "later");
    assert_int_equal(zk_queue_take_output(&f), 0);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "delete HF_OK");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "exists HF_OK; SUSPENDED");
    (void)zk_queue_connect(&f, "c");
    zk_queue_accept(&f, 1, false);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "RESUMED; later HF_OK");
    zk_queue_end(&f);
}

/* As if nothing had been said. */
TEST(a_server_that_comes_back_is_not_left)
{
    struct zk_queue_op ops[2];
    struct zk_queue_fixture f;

    begin_connected(&f);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "1");
    set_servers(&f, "cd");
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "2");
    set_servers(&f, "ca");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "1 HF_OK; 2 HF_OK");
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "c");
    zk_queue_end(&f);
}

TEST(the_same_servers_change_nothing)
{
    struct zk_queue_fixture f;

    begin_connected(&f);
    set_servers(&f, "ba");
    assert_string_equal(f.config.servers[0].host, "a");
    set_servers(&f, "bb"); /* they are not the same */
    zk_queue_expect(&f, "SUSPENDED");
    (void)zk_queue_connect(&f, "b");
    zk_queue_end(&f);
}

TEST(an_attempt_at_a_server_that_is_gone_ends)
{
    struct zk_queue_fixture f;
    uint64_t number;

    zk_queue_begin(&f, 2, false); /* while it connects, */
    set_servers(&f, "c");
    assert_int_equal(zk_queue_connect(&f, "c").id, 0); /* shakes hands, */
    set_servers(&f, "d");
    (void)zk_queue_connect(&f, "d");
    zk_queue_accept(&f, 1, false);
    zk_queue_expect(&f, "UP");
    f.session.connectivity.up_at_ms = f.now_ms; /* it was up for a moment */
    hf_zk_session_connection_down(&f.session, f.number, f.now_ms,
                                  HF_EUNREACHABLE, "reset");
    assert_null(hf_zk_session_wanted_server(&f.session, &number));
    set_servers(&f, "e"); /* and while it waits for the next attempt */
    f.now_ms = hf_zk_session_wake_at_ms(&f.session);
    hf_zk_session_tick(&f.session, f.now_ms);
    (void)zk_queue_connect(&f, "e");
    zk_queue_expect(&f, "SUSPENDED");
    zk_queue_end(&f);
}

/* The resume that is given up may be carried out. */
TEST(a_resume_that_is_given_up_counts_the_least_timeout)
{
    struct zk_queue_fixture f;

    begin_connected(&f);
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "b");
    f.session.least_granted_ms = 4000;
    set_servers(&f, "c");
    assert_int_equal(f.session.timeout_ms, 4000);
    zk_queue_end(&f);
}

/* An operation that servers may not know is sent alone until a server has
 * answered one. */
TEST(what_is_known_of_a_server_stays_with_it)
{
    struct zk_queue_op ops[2];
    struct zk_queue_fixture f;

    begin_connected(&f);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_COUNT, "count");
    zk_queue_answer(&f, HF_ZK_UNIMPLEMENTED);
    zk_queue_expect(&f, "count HF_EUNSUPPORTED");
    f.session.tls_probe[1] = HF_ZK_TLS_PROBED;
    set_servers(&f, "cab");
    assert_int_equal(f.session.server, 1);
    assert_int_equal(f.session.tls_probe[1], HF_ZK_TLS_UNPROBED);
    assert_int_equal(f.session.tls_probe[2], HF_ZK_TLS_PROBED);
    (void)zk_queue_take_output(&f);
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_COUNT, "again");
    zk_queue_expect(&f, "again HF_EUNSUPPORTED");
    assert_int_equal(zk_queue_take_output(&f), 0);
    zk_queue_end(&f);
}

TEST(what_is_known_of_a_server_that_is_left_counts_until_then)
{
    struct zk_queue_op ops[3];
    struct zk_queue_fixture f;

    begin_connected(&f);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_COUNT, "1");
    zk_queue_answer(&f, HF_ZK_UNIMPLEMENTED);
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "2");
    set_servers(&f, "cd");
    set_servers(&f, "ca"); /* it comes back */
    zk_queue_start(&f, &ops[2], HF_ZOOKEEPER_COUNT, "3");
    zk_queue_expect(&f, "1 HF_EUNSUPPORTED; 3 HF_EUNSUPPORTED");
    zk_queue_end(&f);
}

TEST(a_cut_connection_goes_to_the_new_servers)
{
    struct zk_queue_op op;
    struct zk_queue_fixture f;

    begin_connected(&f);
    zk_queue_start(&f, &op, HF_ZOOKEEPER_EXISTS, "sent");
    set_servers(&f, "cd");
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "c");
    zk_queue_accept(&f, 1, false);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "SUSPENDED; RESUMED; sent HF_OK");
    zk_queue_end(&f);
}

TEST(a_closed_session_goes_nowhere)
{
    struct zk_queue_fixture f;
    uint64_t number;

    begin_connected(&f);
    hf_zk_session_close(&f.session);
    set_servers(&f, "cd");
    assert_string_equal(hf_zk_session_wanted_server(&f.session, &number)->host,
                        "a");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "CLOSED");
    set_servers(&f, "e");
    assert_null(hf_zk_session_wanted_server(&f.session, &number));
    zk_queue_end(&f);
}

/* The search for a server with a quorum asks those of the new list. */
TEST(a_read_only_session_searches_the_new_servers)
{
    const struct hf_zk_server *asked;
    struct zk_queue_fixture f;
    uint64_t number;

    zk_queue_begin(&f, 1, true);
    (void)zk_queue_connect(&f, "a");
    zk_queue_accept(&f, 1, true);
    set_servers(&f, "ba");
    zk_queue_wait(&f, 1000);
    asked = hf_zk_session_rw_probe_server(&f.session, &number);
    assert_non_null(asked);
    assert_string_equal(asked->host, "b");
    zk_queue_expect(&f, "UP");
    set_servers(&f, "cb");
    zk_queue_expect(&f, "SUSPENDED; LOST");
    assert_int_equal(zk_queue_connect(&f, "c").id, 0);
    zk_queue_end(&f);
}

/* What the search has found is kept, if it is in the new list. */
TEST(a_server_that_was_found_is_still_moved_to)
{
    static const char *const lists[] = {"dab", "dac"};
    struct zk_queue_op op;
    struct zk_queue_fixture f;
    uint64_t number;

    for (size_t i = 0; i < 2; i++) {
        zk_queue_begin(&f, 2, true);
        (void)zk_queue_connect(&f, "a");
        zk_queue_accept(&f, 1, true);
        zk_queue_start(&f, &op, HF_ZOOKEEPER_EXISTS, "exists");
        zk_queue_wait(&f, 1000);
        (void)hf_zk_session_rw_probe_server(&f.session, &number);
        hf_zk_session_rw_probe_received(&f.session, number, f.now_ms, "rw", 2);
        set_servers(&f, lists[i]);
        zk_queue_answer(&f, HF_ZK_OK);
        zk_queue_expect(&f, i == 0 ? "UP; exists HF_OK; SUSPENDED; LOST"
                                   : "UP; exists HF_OK");
        if (i == 0)
            (void)zk_queue_connect(&f, "b");
        zk_queue_end(&f);
    }
}
