/* SPDX-License-Identifier: Apache-2.0 */
/* A session and its operations on servers without a quorum, which a test
 * scripts frame by frame: what is offered to which server, what is refused,
 * what is repeated, and how a server with a quorum is found. */
#include <string.h>

#include "cmocka/runner.h"
#include "zk_op_fixture.h"
#include "zk_server_frames.h"
#include "zookeeper/zk_calls.h"

/* Begin, connected to "a", which is read-only and has begun the session 1. */
static void begin_local(struct zk_op_fixture *f, size_t count)
{
    op_fixture_begin_among(f, count, true);
    (void)op_fixture_link_up_to(f, "a");
    op_fixture_accept_as(f, 1, true);
    op_fixture_expect_events(f, "UP");
}

/* The same with the session 9, which "a" has begun with a quorum; now connected
 * to "b", which is read-only. */
static void begin_resumed(struct zk_op_fixture *f)
{
    op_fixture_begin_among(f, 3, true);
    (void)op_fixture_link_up_to(f, "a");
    op_fixture_accept_as(f, 9, false);
    op_fixture_cut_until_next(f);
    assert_int_equal(op_fixture_link_up_to(f, "b"), 9);
    op_fixture_accept_as(f, 9, true);
    op_fixture_expect_events(f, "UP; SUSPENDED; RESUMED");
}

/* ------------------------------------------------------------- handshake -- */

TEST(read_only_is_asked_for_if_wanted)
{
    struct zk_op_fixture f;

    op_fixture_begin_among(&f, 1, true);
    (void)op_fixture_link_up_to(&f, "a");
    assert_true(f.handshake_read_only);
    op_fixture_end(&f);
    op_fixture_begin_among(&f, 1, false);
    (void)op_fixture_link_up_to(&f, "a");
    assert_false(f.handshake_read_only);
    op_fixture_accept_as(&f, 1, true);
    assert_false(hf_zk_session_usable(&f.session));
    assert_non_null(strstr(f.session.connectivity.error, "read-only"));
    op_fixture_expect_events(&f, "");
    op_fixture_end(&f);
}

OP_TEST(the_byte_for_read_only_may_be_missing,
        op_fixture_begin_among(f, 1, true))
{
    (void)op_fixture_link_up_to(f, "a");
    zk_server_old_session(&f->server, OP_FIXTURE_TIMEOUT_MS, 1);
    op_fixture_say(f);
    op_fixture_expect_events(f, "UP");
    assert_false(hf_zk_session_read_only(&f->session));
}

/* As ZooKeeper 3.8 does without localSessionsEnabled. */
OP_TEST(a_server_may_begin_no_session, op_fixture_begin_among(f, 1, true))
{
    (void)op_fixture_link_up_to(f, "a");
    op_fixture_say_header(f, 0, HF_ZK_NOT_READ_ONLY);
    assert_non_null(
        strstr(f->session.connectivity.error, "localSessionsEnabled"));
    assert_false(hf_connectivity_is_final(&f->session.connectivity));
}

/* ------------------------------------------------------------ operations -- */

OP_TEST(writes_are_refused_and_reads_are_sent, begin_local(f, 1))
{
    static struct test_op ops[4];

    assert_true(hf_zk_session_read_only(&f->session));
    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_CREATE, "/create");
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_DELETE, "/delete");
    op_fixture_start(f, &ops[2], HF_ZOOKEEPER_SYNC, "/sync");
    op_fixture_expect_events(
        f, "/create HF_EREADONLY; /delete HF_EREADONLY; /sync HF_EREADONLY");
    op_fixture_expect_sent(f, "");
    op_fixture_start(f, &ops[3], HF_ZOOKEEPER_EXISTS, "/exists");
    op_fixture_expect_sent(f, "exists /exists");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/exists HF_OK");
}

OP_TEST(a_write_that_waits_is_refused_when_connected,
        op_fixture_begin_among(f, 1, true))
{
    static struct test_op ops[2];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_DELETE, "/delete");
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_EXISTS, "/exists");
    (void)op_fixture_link_up_to(f, "a");
    op_fixture_accept_as(f, 1, true);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/delete HF_EREADONLY; UP; /exists HF_OK");
}

static void on_answered(void *user, struct hf_zk_call *call,
                        const struct hf_zk_reply *reply)
{
    (void)call;
    op_fixture_note(user, "ANSWER %d", (int)reply->error);
}

/* A server that refuses a write can be read from; another one that does so is
 * left. */
TEST(a_refusal_of_the_server_does_not_end_the_connection)
{
    struct zk_op_fixture f;
    struct hf_zk_call call = {.answered = on_answered, .user = &f};

    begin_local(&f, 1);
    hf_zk_send_delete(&f.session, &call, "/a");
    op_fixture_answer(&f, HF_ZK_NOT_READ_ONLY);
    op_fixture_expect_events(&f, "ANSWER -119");
    assert_true(hf_zk_session_usable(&f.session));
    op_fixture_end(&f);
    op_fixture_begin_among(&f, 1, true);
    (void)op_fixture_link_up_to(&f, "a");
    op_fixture_accept_as(&f, 1, false);
    hf_zk_send_delete(&f.session, &call, "/a");
    op_fixture_answer(&f, HF_ZK_NOT_READ_ONLY);
    op_fixture_expect_events(&f, "UP; ANSWER -119; SUSPENDED");
    op_fixture_end(&f);
}

/* -------------------------------------------------------------- sessions -- */

/* Not even to the server that has begun it, which may have a quorum now. */
OP_TEST(a_local_session_is_offered_to_no_server, begin_local(f, 2))
{
    static struct test_op ops[2];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_EXISTS, "/1");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/1 HF_OK");
    op_fixture_cut_until_next(f);
    op_fixture_expect_events(f, "SUSPENDED; LOST");
    assert_int_equal(op_fixture_link_up_to(f, "b"), 0);
    /* The server must be as new as what was read before. */
    assert_int_equal(f->handshake_zxid, f->zxid - 1);
    op_fixture_accept_as(f, 2, true);
    op_fixture_cut_until_next(f);
    assert_int_equal(op_fixture_link_up_to(f, "a"), 0);
    op_fixture_accept_as(f, 3, false);
    op_fixture_expect_events(f, "UP; SUSPENDED; LOST; UP");
    op_fixture_cut_until_next(f); /* the session 3 is known to all servers */
    assert_int_equal(op_fixture_link_up_to(f, "b"), 3);
    op_fixture_accept_as(f, 3, false);
    op_fixture_expect_events(f, "SUSPENDED; RESUMED");
}

OP_TEST(reads_go_on_in_the_session_after_a_local_one, begin_local(f, 2))
{
    static struct test_op ops[2];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_EXISTS, "/sent");
    op_fixture_read(f);
    op_fixture_cut_until_next(f);
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_EXISTS, "/waiting");
    (void)op_fixture_link_up_to(f, "b");
    op_fixture_accept_as(f, 2, false);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(
        f, "SUSPENDED; LOST; UP; /sent HF_OK; /waiting HF_OK");
}

/* The order of what was sent and what was not is kept, too. */
OP_TEST(a_local_session_may_be_ended_by_its_server, begin_local(f, 2))
{
    static struct test_op ops[3];

    f->session.window.size = 2;
    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_EXISTS, "/1");
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_EXISTS, "/2");
    op_fixture_start(f, &ops[2], HF_ZOOKEEPER_EXISTS, "/3");
    op_fixture_answer(f, HF_ZK_SESSION_EXPIRED);
    op_fixture_expect_events(f, "SUSPENDED; LOST");
    op_fixture_pass(f, 1000);
    assert_int_equal(op_fixture_link_up_to(f, "b"), 0);
    op_fixture_accept_as(f, 2, false);
    for (size_t i = 0; i < 3; i++)
        op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "UP; /1 HF_OK; /2 HF_OK; /3 HF_OK");
}

/* Whether it still lives, only servers with a quorum know. */
OP_TEST(answers_do_not_keep_a_resumed_session, begin_resumed(f))
{
    static struct test_op op;
    uint64_t until_ms;

    until_ms = f->session.alive_until_ms;
    assert_int_equal(until_ms, 1000 + OP_FIXTURE_TIMEOUT_MS);
    op_fixture_pass(f, 1000);
    op_fixture_start(f, &op, HF_ZOOKEEPER_EXISTS, "/exists");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/exists HF_OK");
    assert_int_equal(f->session.alive_until_ms, until_ms);
    assert_int_equal(f->session.proven_anchor_ms, 1000);
    f->session.wire.received_at_ms = until_ms; /* pings were answered */
    f->now_ms = until_ms;
    hf_zk_session_tick(&f->session, f->now_ms);
    op_fixture_expect_events(f, "LOST");
    assert_int_equal(op_fixture_link_up_to(f, "c"), 9); /* to be ended */
    op_fixture_cut_until_next(f);
    assert_int_equal(op_fixture_link_up_to(f, "a"), 0);
}

OP_TEST(a_resumed_session_is_offered_again, begin_resumed(f))
{
    op_fixture_cut_until_next(f);
    assert_int_equal(op_fixture_link_up_to(f, "c"), 9);
    op_fixture_accept_as(f, 9, false);
    op_fixture_expect_events(f, "SUSPENDED; RESUMED");
    assert_false(hf_zk_session_read_only(&f->session));
}

OP_TEST(a_local_session_proves_nothing, begin_local(f, 1))
{
    assert_int_equal(f->session.proven_anchor_ms, 0);
}

OP_TEST(a_local_session_is_closed, begin_local(f, 2))
{
    hf_zk_session_close(&f->session);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "CLOSED");
}

/* A server without a quorum cannot sync; the next one has to. */
OP_TEST(a_sync_waits_for_a_quorum, op_fixture_begin_among(f, 3, true))
{
    static struct test_op op;

    (void)op_fixture_link_up_to(f, "a");
    op_fixture_accept_as(f, 9, false);
    hf_zk_op_queue_event(&f->queue);
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "b");
    op_fixture_accept_as(f, 9, true);
    op_fixture_expect_sent(f, "");
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "c");
    op_fixture_accept_as(f, 9, false);
    op_fixture_expect_sent(f, "sync /");
    f->events[0] = '\0';
    op_fixture_start(f, &op, HF_ZOOKEEPER_EXISTS, "/exists");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/exists HF_OK");
}

/* ---------------------------------------------------------------- search -- */

/* The server that is asked now; "" for none. */
static const char *asked(struct zk_op_fixture *f, uint64_t *number)
{
    const struct hf_zk_server *server =
        hf_zk_session_rw_probe_server(&f->session, number);

    return server != NULL ? server->host : "";
}

static void say_asked(struct zk_op_fixture *f, const char *text)
{
    uint64_t number;

    (void)asked(f, &number);
    hf_zk_session_rw_probe_received(&f->session, number, f->now_ms, text,
                                    strlen(text));
}

/* Keep the connection alive until the search has something to do, and do
 * that. */
static void wait_for_search(struct zk_op_fixture *f)
{
    f->now_ms = f->session.rw_probe.at_ms;
    f->session.wire.received_at_ms = f->now_ms;
    f->session.wire.written_at_ms = f->now_ms;
    f->session.alive_until_ms = f->now_ms + OP_FIXTURE_TIMEOUT_MS;
    assert_true(hf_zk_session_wake_at_ms(&f->session) <= f->now_ms);
    hf_zk_session_tick(&f->session, f->now_ms);
}

OP_TEST(the_others_are_asked_in_order_and_less_and_less_often,
        begin_local(f, 3))
{
    static const uint64_t pauses_ms[] = {1000,  2000,  4000,  8000,
                                         16000, 32000, 60000, 60000};
    uint64_t number, before;

    for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++) {
        assert_string_equal(asked(f, &before), "");
        assert_int_equal(f->session.rw_probe.at_ms, f->now_ms + pauses_ms[i]);
        wait_for_search(f);
        assert_string_equal(asked(f, &before), "b");
        say_asked(f, "n"); /* of "null" */
        assert_string_equal(asked(f, &number), "b");
        say_asked(f, "ull");
        assert_string_equal(asked(f, &number), "c");
        assert_true(number > before);
        hf_zk_session_rw_probe_down(&f->session, before, f->now_ms); /* late */
        assert_string_equal(asked(f, &number), "c");
        if (i % 2 == 0)
            hf_zk_session_rw_probe_down(&f->session, number, f->now_ms);
        else
            say_asked(f, "ro");
    }
    op_fixture_expect_events(f, "");
}

OP_TEST(a_server_that_does_not_answer_is_given_up, begin_local(f, 2))
{
    uint64_t number;

    wait_for_search(f);
    assert_int_equal(f->session.rw_probe.at_ms,
                     f->now_ms + HF_ZK_RW_PROBE_ATTEMPT_MS);
    wait_for_search(f);
    assert_string_equal(asked(f, &number), "");
    hf_zk_session_rw_probe_received(&f->session, number, f->now_ms, "rw", 2);
    assert_true(hf_zk_session_usable(&f->session));
}

OP_TEST(a_server_with_a_quorum_is_moved_to, begin_local(f, 3))
{
    uint64_t number;

    wait_for_search(f);
    say_asked(f, "ro");
    say_asked(f, "rw");
    op_fixture_expect_events(f, "SUSPENDED; LOST");
    assert_int_equal(op_fixture_link_up_to(f, "c"), 0);
    op_fixture_accept_as(f, 2, false);
    op_fixture_expect_events(f, "UP");
    assert_string_equal(asked(f, &number), "");
}

OP_TEST(a_resumed_session_moves_too, begin_resumed(f))
{
    uint64_t number;

    wait_for_search(f);
    assert_string_equal(asked(f, &number), "c");
    say_asked(f, "rw");
    assert_int_equal(op_fixture_link_up_to(f, "c"), 9);
    op_fixture_accept_as(f, 9, false);
    op_fixture_expect_events(f, "SUSPENDED; RESUMED");
}

OP_TEST(a_move_waits_for_what_is_in_flight, begin_local(f, 2))
{
    static struct test_op ops[2];

    op_fixture_start(f, &ops[0], HF_ZOOKEEPER_EXISTS, "/sent");
    op_fixture_read(f);
    wait_for_search(f);
    say_asked(f, "rw");
    op_fixture_start(f, &ops[1], HF_ZOOKEEPER_EXISTS, "/waiting");
    op_fixture_expect_sent(f, "exists /sent");
    op_fixture_expect_events(f, "");
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "/sent HF_OK; SUSPENDED; LOST");
    (void)op_fixture_link_up_to(f, "b");
    op_fixture_accept_as(f, 2, false);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "UP; /waiting HF_OK");
}

/* A cut ends a move, too: the server that was found is the next one. */
OP_TEST(a_cut_connection_goes_to_the_server_that_was_found, begin_local(f, 3))
{
    static struct test_op op;

    op_fixture_start(f, &op, HF_ZOOKEEPER_EXISTS, "/sent");
    wait_for_search(f);
    say_asked(f, "ro");
    say_asked(f, "rw");
    op_fixture_cut_until_next(f);
    (void)op_fixture_link_up_to(f, "c");
    op_fixture_accept_as(f, 2, false);
    op_fixture_answer(f, HF_ZK_OK);
    op_fixture_expect_events(f, "SUSPENDED; LOST; UP; /sent HF_OK");
}

OP_TEST(one_server_is_never_asked, begin_local(f, 1))
{
    assert_int_equal(f->session.rw_probe.state, HF_ZK_RW_PROBE_ENDED);
}
