/* SPDX-License-Identifier: Apache-2.0 */
/* A session and its operations on servers without a quorum, which a test
 * scripts frame by frame: what is offered to which server, what is refused,
 * what is repeated, and how a server with a quorum is found. */
#include <string.h>

#include "cmocka/runner.h"
#include "zk_queue_fixture.h"
#include "zookeeper/zk_calls.h"

/* Begin, connected to "a", which is read-only and has begun the session 1. */
static void begin_local(struct zk_queue_fixture *f, size_t count)
{
    zk_queue_begin(f, count, true);
    (void)zk_queue_connect(f, "a");
    zk_queue_accept(f, 1, true);
    zk_queue_expect(f, "UP");
}

/* The same with the session 9, which "a" has begun with a quorum; now connected
 * to "b", which is read-only. */
static void begin_resumed(struct zk_queue_fixture *f)
{
    zk_queue_begin(f, 3, true);
    (void)zk_queue_connect(f, "a");
    zk_queue_accept(f, 9, false);
    zk_queue_cut(f);
    assert_int_equal(zk_queue_connect(f, "b").id, 9);
    zk_queue_accept(f, 9, true);
    zk_queue_expect(f, "UP; SUSPENDED; RESUMED");
}

/* -------------------------------------------------------------- handshake --
 */

TEST(read_only_is_asked_for_if_wanted)
{
    struct zk_queue_fixture f;

    zk_queue_begin(&f, 1, true);
    assert_true(zk_queue_connect(&f, "a").read_only);
    zk_queue_end(&f);
    zk_queue_begin(&f, 1, false);
    assert_false(zk_queue_connect(&f, "a").read_only);
    zk_queue_accept(&f, 1, true);
    assert_false(hf_zk_session_usable(&f.session));
    assert_non_null(strstr(f.session.connectivity.error, "read-only"));
    zk_queue_expect(&f, "");
    zk_queue_end(&f);
}

TEST(the_byte_for_read_only_may_be_missing)
{
    size_t begin_at;
    struct zk_queue_fixture f;

    zk_queue_begin(&f, 1, true);
    (void)zk_queue_connect(&f, "a");
    begin_at = hf_jute_begin_frame(&f.server);
    hf_jute_put_int(&f.server, 0);
    hf_jute_put_int(&f.server, ZK_QUEUE_TIMEOUT_MS);
    hf_jute_put_long(&f.server, 1);
    hf_jute_put_buffer(&f.server, "0123456789abcdef", HF_ZK_PASSWORD_BYTES);
    hf_jute_end_frame(&f.server, begin_at);
    zk_queue_say(&f);
    zk_queue_expect(&f, "UP");
    assert_false(hf_zk_session_read_only(&f.session));
    zk_queue_end(&f);
}

/* As ZooKeeper 3.8 does without localSessionsEnabled. */
TEST(a_server_may_begin_no_session)
{
    struct zk_queue_fixture f;

    zk_queue_begin(&f, 1, true);
    (void)zk_queue_connect(&f, "a");
    f.xid = 0;
    zk_queue_answer(&f, HF_ZK_NOT_READ_ONLY);
    assert_non_null(
        strstr(f.session.connectivity.error, "localSessionsEnabled"));
    assert_false(hf_connectivity_is_final(&f.session.connectivity));
    zk_queue_end(&f);
}

/* ------------------------------------------------------------- operations --
 */

TEST(writes_are_refused_and_reads_are_sent)
{
    struct zk_queue_op ops[4];
    struct zk_queue_fixture f;

    begin_local(&f, 1);
    assert_true(hf_zk_session_read_only(&f.session));
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_CREATE, "create");
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_DELETE, "delete");
    zk_queue_start(&f, &ops[2], HF_ZOOKEEPER_SYNC, "sync");
    zk_queue_expect(
        &f, "create HF_EREADONLY; delete HF_EREADONLY; sync HF_EREADONLY");
    assert_int_equal(zk_queue_take_output(&f), 0);
    zk_queue_start(&f, &ops[3], HF_ZOOKEEPER_EXISTS, "exists");
    assert_true(zk_queue_take_output(&f) > 0);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "exists HF_OK");
    zk_queue_end(&f);
}

TEST(a_write_that_waits_is_refused_when_connected)
{
    struct zk_queue_op ops[2];
    struct zk_queue_fixture f;

    zk_queue_begin(&f, 1, true);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_DELETE, "delete");
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "exists");
    (void)zk_queue_connect(&f, "a");
    zk_queue_accept(&f, 1, true);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "delete HF_EREADONLY; UP; exists HF_OK");
    zk_queue_end(&f);
}

static void on_answered(void *user, struct hf_zk_call *call,
                        const struct hf_zk_reply *reply)
{
    (void)call;
    zk_queue_note(user, "ANSWER %d", (int)reply->error);
}

/* A server that refuses a write can be read from; another one that does so is
 * left. */
TEST(a_refusal_of_the_server_does_not_end_the_connection)
{
    struct zk_queue_fixture f;
    struct hf_zk_call call = {.answered = on_answered, .user = &f};

    begin_local(&f, 1);
    hf_zk_send_delete(&f.session, &call, "/a");
    zk_queue_answer(&f, HF_ZK_NOT_READ_ONLY);
    zk_queue_expect(&f, "ANSWER -119");
    assert_true(hf_zk_session_usable(&f.session));
    zk_queue_end(&f);
    zk_queue_begin(&f, 1, true);
    (void)zk_queue_connect(&f, "a");
    zk_queue_accept(&f, 1, false);
    hf_zk_send_delete(&f.session, &call, "/a");
    zk_queue_answer(&f, HF_ZK_NOT_READ_ONLY);
    zk_queue_expect(&f, "UP; ANSWER -119; SUSPENDED");
    zk_queue_end(&f);
}

/* --------------------------------------------------------------- sessions --
 */

/* Not even to the server that has begun it, which may have a quorum now. */
TEST(a_local_session_is_offered_to_no_server)
{
    struct zk_queue_op ops[2];
    struct zk_queue_fixture f;
    struct zk_queue_offer offer;

    begin_local(&f, 2);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "1");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "1 HF_OK");
    zk_queue_cut(&f);
    zk_queue_expect(&f, "SUSPENDED; LOST");
    offer = zk_queue_connect(&f, "b");
    assert_int_equal(offer.id, 0);
    assert_int_equal(offer.zxid,
                     ZK_QUEUE_ZXID); /* what is read does not grow older */
    zk_queue_accept(&f, 2, true);
    zk_queue_cut(&f);
    assert_int_equal(zk_queue_connect(&f, "a").id, 0);
    zk_queue_accept(&f, 3, false);
    zk_queue_expect(&f, "UP; SUSPENDED; LOST; UP");
    zk_queue_cut(&f); /* the session 3 is known to all servers */
    assert_int_equal(zk_queue_connect(&f, "b").id, 3);
    zk_queue_accept(&f, 3, false);
    zk_queue_expect(&f, "SUSPENDED; RESUMED");
    zk_queue_end(&f);
}

TEST(reads_go_on_in_the_session_after_a_local_one)
{
    struct zk_queue_op ops[2];
    struct zk_queue_fixture f;

    begin_local(&f, 2);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "sent");
    (void)zk_queue_take_output(&f);
    zk_queue_cut(&f);
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "waiting");
    (void)zk_queue_connect(&f, "b");
    zk_queue_accept(&f, 2, false);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "SUSPENDED; LOST; UP; sent HF_OK; waiting HF_OK");
    zk_queue_end(&f);
}

/* The order of what was sent and what was not is kept, too. */
TEST(a_local_session_may_be_ended_by_its_server)
{
    struct zk_queue_op ops[3];
    struct zk_queue_fixture f;

    begin_local(&f, 2);
    f.session.window.size = 2;
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "1");
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "2");
    zk_queue_start(&f, &ops[2], HF_ZOOKEEPER_EXISTS, "3");
    zk_queue_answer(&f, HF_ZK_SESSION_EXPIRED);
    zk_queue_expect(&f, "SUSPENDED; LOST");
    zk_queue_wait(&f, 1000);
    assert_int_equal(zk_queue_connect(&f, "b").id, 0);
    zk_queue_accept(&f, 2, false);
    for (size_t i = 0; i < 3; i++)
        zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "UP; 1 HF_OK; 2 HF_OK; 3 HF_OK");
    zk_queue_end(&f);
}

/* Whether it still lives, only servers with a quorum know. */
TEST(answers_do_not_keep_a_resumed_session)
{
    struct zk_queue_op op;
    struct zk_queue_fixture f;
    uint64_t until_ms;

    begin_resumed(&f);
    until_ms = f.session.alive_until_ms;
    assert_int_equal(until_ms, 1000 + ZK_QUEUE_TIMEOUT_MS);
    zk_queue_wait(&f, 1000);
    zk_queue_start(&f, &op, HF_ZOOKEEPER_EXISTS, "exists");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "exists HF_OK");
    assert_int_equal(f.session.alive_until_ms, until_ms);
    assert_int_equal(f.session.proven_anchor_ms, 1000);
    f.session.wire.received_at_ms = until_ms; /* pings were answered */
    f.now_ms = until_ms;
    hf_zk_session_tick(&f.session, f.now_ms);
    zk_queue_expect(&f, "LOST");
    assert_int_equal(zk_queue_connect(&f, "c").id, 9); /* to be ended */
    zk_queue_cut(&f);
    assert_int_equal(zk_queue_connect(&f, "a").id, 0);
    zk_queue_end(&f);
}

TEST(a_resumed_session_is_offered_again)
{
    struct zk_queue_fixture f;

    begin_resumed(&f);
    zk_queue_cut(&f);
    assert_int_equal(zk_queue_connect(&f, "c").id, 9);
    zk_queue_accept(&f, 9, false);
    zk_queue_expect(&f, "SUSPENDED; RESUMED");
    assert_false(hf_zk_session_read_only(&f.session));
    zk_queue_end(&f);
}

TEST(a_local_session_proves_nothing)
{
    struct zk_queue_fixture f;

    begin_local(&f, 1);
    assert_int_equal(f.session.proven_anchor_ms, 0);
    zk_queue_end(&f);
}

TEST(a_local_session_is_closed)
{
    struct zk_queue_fixture f;

    begin_local(&f, 2);
    hf_zk_session_close(&f.session);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "CLOSED");
    zk_queue_end(&f);
}

/* A server without a quorum cannot sync; the next one has to. */
TEST(a_sync_waits_for_a_quorum)
{
    struct zk_queue_op op;
    struct zk_queue_fixture f;

    zk_queue_begin(&f, 3, true);
    (void)zk_queue_connect(&f, "a");
    zk_queue_accept(&f, 9, false);
    hf_zk_op_queue_event(&f.queue);
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "b");
    zk_queue_accept(&f, 9, true);
    assert_int_equal(zk_queue_take_output(&f), 0);
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "c");
    zk_queue_accept(&f, 9, false);
    assert_true(zk_queue_take_output(&f) > 0); /* the sync */
    f.events[0] = '\0';
    zk_queue_start(&f, &op, HF_ZOOKEEPER_EXISTS, "exists");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "exists HF_OK");
    zk_queue_end(&f);
}

/* ----------------------------------------------------------------- search --
 */

/* The server that is asked now; "" for none. */
static const char *asked(struct zk_queue_fixture *f, uint64_t *number)
{
    const struct hf_zk_server *server =
        hf_zk_session_rw_probe_server(&f->session, number);

    return server != NULL ? server->host : "";
}

static void say_asked(struct zk_queue_fixture *f, const char *text)
{
    uint64_t number;

    (void)asked(f, &number);
    hf_zk_session_rw_probe_received(&f->session, number, f->now_ms, text,
                                    strlen(text));
}

/* Keep the connection alive until the search has something to do, and do
 * that. */
static void wait_for_search(struct zk_queue_fixture *f)
{
    f->now_ms = f->session.rw_probe.at_ms;
    f->session.wire.received_at_ms = f->now_ms;
    f->session.wire.written_at_ms = f->now_ms;
    f->session.alive_until_ms = f->now_ms + ZK_QUEUE_TIMEOUT_MS;
    assert_true(hf_zk_session_wake_at_ms(&f->session) <= f->now_ms);
    hf_zk_session_tick(&f->session, f->now_ms);
}

TEST(the_others_are_asked_in_order_and_less_and_less_often)
{
    static const uint64_t pauses_ms[] = {1000,  2000,  4000,  8000,
                                         16000, 32000, 60000, 60000};
    struct zk_queue_fixture f;
    uint64_t number, before;

    begin_local(&f, 3);
    for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++) {
        assert_string_equal(asked(&f, &before), "");
        assert_int_equal(f.session.rw_probe.at_ms, f.now_ms + pauses_ms[i]);
        wait_for_search(&f);
        assert_string_equal(asked(&f, &before), "b");
        say_asked(&f, "n"); /* of "null" */
        assert_string_equal(asked(&f, &number), "b");
        say_asked(&f, "ull");
        assert_string_equal(asked(&f, &number), "c");
        assert_true(number > before);
        hf_zk_session_rw_probe_down(&f.session, before, f.now_ms); /* late */
        assert_string_equal(asked(&f, &number), "c");
        if (i % 2 == 0)
            hf_zk_session_rw_probe_down(&f.session, number, f.now_ms);
        else
            say_asked(&f, "ro");
    }
    zk_queue_expect(&f, "");
    zk_queue_end(&f);
}

TEST(a_server_that_does_not_answer_is_given_up)
{
    struct zk_queue_fixture f;
    uint64_t number;

    begin_local(&f, 2);
    wait_for_search(&f);
    assert_int_equal(f.session.rw_probe.at_ms,
                     f.now_ms + HF_ZK_RW_PROBE_ATTEMPT_MS);
    wait_for_search(&f);
    assert_string_equal(asked(&f, &number), "");
    hf_zk_session_rw_probe_received(&f.session, number, f.now_ms, "rw", 2);
    assert_true(hf_zk_session_usable(&f.session));
    zk_queue_end(&f);
}

TEST(a_server_with_a_quorum_is_moved_to)
{
    struct zk_queue_fixture f;
    uint64_t number;

    begin_local(&f, 3);
    wait_for_search(&f);
    say_asked(&f, "ro");
    say_asked(&f, "rw");
    zk_queue_expect(&f, "SUSPENDED; LOST");
    assert_int_equal(zk_queue_connect(&f, "c").id, 0);
    zk_queue_accept(&f, 2, false);
    zk_queue_expect(&f, "UP");
    assert_string_equal(asked(&f, &number), "");
    zk_queue_end(&f);
}

TEST(a_resumed_session_moves_too)
{
    struct zk_queue_fixture f;
    uint64_t number;

    begin_resumed(&f);
    wait_for_search(&f);
    assert_string_equal(asked(&f, &number), "c");
    say_asked(&f, "rw");
    assert_int_equal(zk_queue_connect(&f, "c").id, 9);
    zk_queue_accept(&f, 9, false);
    zk_queue_expect(&f, "SUSPENDED; RESUMED");
    zk_queue_end(&f);
}

TEST(a_move_waits_for_what_is_in_flight)
{
    struct zk_queue_op ops[2];
    struct zk_queue_fixture f;

    begin_local(&f, 2);
    zk_queue_start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "sent");
    (void)zk_queue_take_output(&f);
    wait_for_search(&f);
    say_asked(&f, "rw");
    zk_queue_start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "waiting");
    assert_int_equal(zk_queue_take_output(&f), 0);
    zk_queue_expect(&f, "");
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "sent HF_OK; SUSPENDED; LOST");
    (void)zk_queue_connect(&f, "b");
    zk_queue_accept(&f, 2, false);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "UP; waiting HF_OK");
    zk_queue_end(&f);
}

/* A cut ends a move, too: the server that was found is the next one. */
TEST(a_cut_connection_goes_to_the_server_that_was_found)
{
    struct zk_queue_op op;
    struct zk_queue_fixture f;

    begin_local(&f, 3);
    zk_queue_start(&f, &op, HF_ZOOKEEPER_EXISTS, "sent");
    wait_for_search(&f);
    say_asked(&f, "ro");
    say_asked(&f, "rw");
    zk_queue_cut(&f);
    (void)zk_queue_connect(&f, "c");
    zk_queue_accept(&f, 2, false);
    zk_queue_answer(&f, HF_ZK_OK);
    zk_queue_expect(&f, "SUSPENDED; LOST; UP; sent HF_OK");
    zk_queue_end(&f);
}

TEST(one_server_is_never_asked)
{
    struct zk_queue_fixture f;

    begin_local(&f, 1);
    assert_int_equal(f.session.rw_probe.state, HF_ZK_RW_PROBE_ENDED);
    zk_queue_end(&f);
}
