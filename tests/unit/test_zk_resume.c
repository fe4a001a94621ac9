/* SPDX-License-Identifier: Apache-2.0 */
/* A session that is resumed on another connection: which timeout is in force,
 * what was seen, and what an answer that was cut off means. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

#define ANSWER_BYTES_MAX 512

/* ------------------------------------------------------------- timeouts -- */

static void open_with(struct zk_fixture *f, uint64_t floor_ms)
{
    zk_fixture_init(f);
    f->config.url.session.timeout_floor_ms = floor_ms;
    assert_true(zk_fixture_open(f));
    link_up(f);
}

static void cut_and_handshake(struct zk_fixture *f)
{
    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
}

static void resume_as(struct zk_fixture *f, int32_t timeout_ms)
{
    cut_and_handshake(f);
    accept_session_as(f, timeout_ms, 7);
}

/* The next leader counts the timeout that the session was created with, and a
 * server that was left may answer late. */
ZK_TEST_FROM(the_shortest_timeout_of_a_session_is_in_force, open_with(f, 0))
{
    accept_session_as(f, 6000, 7);
    assert_string_equal(zk_fixture_events(f), "CONNECTED 6000 1000");
    set_time(f, 3000);
    resume_as(f, 9000);
    assert_non_null(strstr(zk_fixture_events(f), "RESUMED 6000 1000"));
    resume_as(f, 4000);
    assert_non_null(strstr(zk_fixture_events(f), "RESUMED 4000 1000"));
    resume_as(f, 9000);
    assert_non_null(strstr(zk_fixture_events(f), "RESUMED 4000 1000"));
}

/* A server that granted less to the last session may do so again. */
ZK_TEST_FROM(a_new_session_has_its_own_timeout, open_with(f, 0))
{
    accept_session_as(f, 4000, 7);
    cut_and_handshake(f);
    refuse_session(f);
    link_up(f);
    (void)zk_fixture_events(f);
    accept_session_as(f, 9000, 8);
    assert_non_null(strstr(zk_fixture_events(f), "CONNECTED 9000 "));
    cut_and_handshake(f);
    assert_non_null(strstr(zk_fixture_events(f), " 4000"));
}

/* A resume without an answer may still take effect. */
ZK_TEST_FROM(what_an_unanswered_resume_may_have_brought_is_in_force,
             open_with(f, 3000))
{
    accept_session_as(f, 10000, 7);
    (void)zk_fixture_events(f);
    cut_and_handshake(f);
    assert_non_null(strstr(zk_fixture_events(f), " 3000"));
    resume_as(f, 10000); /* the one before ends without an answer */
    assert_non_null(strstr(zk_fixture_events(f), "RESUMED 3000 "));
}

/* Less was granted before than the URL says that servers grant at least. */
ZK_TEST_FROM(what_was_granted_counts_below_the_floor, open_with(f, 8000))
{
    accept_session_as(f, 6000, 7);
    (void)zk_fixture_events(f);
    cut_and_handshake(f);
    assert_non_null(strstr(zk_fixture_events(f), " 6000"));
}

/* The shorter timeout counts, not the one before.  It is logged. */
ZK_TEST_FROM(a_shorter_timeout_ends_the_session_sooner, open_with(f, 0))
{
    uint64_t greeted_at_ms;
    unsigned lines;

    accept_session_as(f, 20000, 7);
    set_time(f, 3000);
    cut_and_handshake(f);
    lines = f->log_lines;
    accept_session_as(f, 4000, 7);
    assert_int_equal(f->log_lines, lines + 1);
    greeted_at_ms = f->now_ms;
    link_down(f, "reset");
    (void)zk_fixture_events(f);
    set_time(f, greeted_at_ms + 3999);
    assert_string_equal(zk_fixture_events(f), "");
    advance_to(f, greeted_at_ms + 4000);
    assert_string_equal(zk_fixture_events(f), "LOST");
}

/* --------------------------------------------------------- what was seen -- */

/* The frames behind the handshake of a new connection. */
static const char *resume_sends(struct zk_fixture *f)
{
    cut_and_handshake(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    return zk_fixture_sent(f);
}

/* An event, or the answer to SETWATCHES, names a transaction of which more
 * events may follow.  The answer to a call does not. */
ZK_TEST(only_answers_to_calls_say_what_was_seen)
{
    have_ticket(f, "x", 2, 2);
    have_ticket(f, "y", 3, 3);
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    ask(f, HF_REQUEST_WATCH, "y");
    f->zxid = 0x40;
    data(f, "her", 2, 2);
    f->zxid = 0x50;
    event(f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_non_null(strstr(resume_sends(f), "SETWATCHES 0x40 "));
    f->zxid = 0x60;
    header(f, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    advance_to(f, f->now_ms + 4000);
    pong(f);
    assert_non_null(strstr(resume_sends(f), "SETWATCHES 0x40 "));
    ask(f, HF_REQUEST_REMOVE, "x");
    done(f);
    assert_non_null(strstr(resume_sends(f), "SETWATCHES 0x60 "));
}

/* ------------------------------------------------------ when it is final -- */

/* The bytes of the answer to the oldest call. */
static size_t answer_to_a_delete(struct zk_fixture *f, uint8_t *bytes)
{
    size_t count;

    hold_answers(f);
    done(f);
    count = f->out.used;
    assert_true(count > 0 && count <= ANSWER_BYTES_MAX);
    memcpy(bytes, f->out.bytes, count);
    f->out.used = 0;
    f->holding = false;
    return count;
}

/* Without its last byte an answer counts for nothing.  With it, it counts,
 * even if the connection ends right after it. */
TEST(an_answer_is_final_with_its_last_byte)
{
    uint8_t bytes[ANSWER_BYTES_MAX];
    size_t count = 1;
    struct zk_fixture f;

    for (size_t got = 0; got <= count; got++) {
        zk_fixture_connected(&f);
        have_ticket(&f, "a", 1, 11);
        ask(&f, HF_REQUEST_REMOVE, "a");
        count = answer_to_a_delete(&f, bytes);
        receive(&f, bytes, got);
        assert_string_equal(zk_fixture_events(&f),
                            got < count ? "" : "REMOVED a found");
        link_down(&f, "reset");
        assert_string_equal(zk_fixture_events(&f),
                            got < count ? "SUSPENDED; FAILED REMOVE a UNSURE"
                                        : "SUSPENDED");
        zk_fixture_close(&f);
    }
    assert_true(count > 1);
}
