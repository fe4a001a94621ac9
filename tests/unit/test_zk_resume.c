/* SPDX-License-Identifier: Apache-2.0 */
/* A session that goes on on another connection: whose timeout counts then, what
 * has been seen, and what an answer that was cut off says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

#define ANSWER_BYTES_MAX 512

/* ------------------------------------------------------------- timeouts -- */

static void open_with(struct stage *s, uint64_t floor_ms)
{
    stage_init(s);
    s->config.session.timeout_floor_ms = floor_ms;
    assert_true(stage_open(s));
    link_up(s);
}

static void cut_and_greet(struct stage *s)
{
    link_down(s, "reset");
    while (s->server == NULL)
        ring(s);
    link_up(s);
}

static void resume_as(struct stage *s, int32_t timeout_ms)
{
    cut_and_greet(s);
    accept_session_as(s, timeout_ms, 7);
}

/* The next leader counts the timeout of the creation, and a server that was
 * left may be heard late. */
static void the_shortest_timeout_of_a_session_is_in_force(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 0);
    accept_session_as(&s, 6000, 7);
    assert_string_equal(stage_told(&s), "CONNECTED 6000 1000");
    at(&s, 3000);
    resume_as(&s, 9000);
    assert_non_null(strstr(stage_told(&s), "RESUMED 6000 1000"));
    resume_as(&s, 4000);
    assert_non_null(strstr(stage_told(&s), "RESUMED 4000 1000"));
    resume_as(&s, 9000);
    assert_non_null(strstr(stage_told(&s), "RESUMED 4000 1000"));
    stage_close(&s);
}

/* But a server that granted less to the one before may do so again. */
static void a_new_session_has_its_own_timeout(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 0);
    accept_session_as(&s, 4000, 7);
    cut_and_greet(&s);
    refuse_session(&s);
    link_up(&s);
    (void)stage_told(&s);
    accept_session_as(&s, 9000, 8);
    assert_non_null(strstr(stage_told(&s), "CONNECTED 9000 "));
    cut_and_greet(&s);
    assert_non_null(strstr(stage_told(&s), " 4000"));
    stage_close(&s);
}

/* A resume without an answer may be carried out yet. */
static void what_an_unanswered_resume_may_have_brought_is_in_force(void **state)
{
    struct stage s;

    (void)state;
    open_with(&s, 3000);
    accept_session_as(&s, 10000, 7);
    (void)stage_told(&s);
    cut_and_greet(&s);
    assert_non_null(strstr(stage_told(&s), " 3000"));
    resume_as(&s, 10000); /* the one before ends without an answer */
    assert_non_null(strstr(stage_told(&s), "RESUMED 3000 "));
    stage_close(&s);
}

/* Not by what was granted before.  That it is less than expected is logged. */
static void a_shorter_timeout_ends_the_session_sooner(void **state)
{
    struct stage s;
    uint64_t greeted_at_ms;
    unsigned lines;

    (void)state;
    open_with(&s, 0);
    accept_session_as(&s, 20000, 7);
    at(&s, 3000);
    cut_and_greet(&s);
    lines = s.lines;
    accept_session_as(&s, 4000, 7);
    assert_int_equal(s.lines, lines + 1);
    greeted_at_ms = s.now_ms;
    link_down(&s, "reset");
    (void)stage_told(&s);
    at(&s, greeted_at_ms + 3999);
    assert_string_equal(stage_told(&s), "");
    later(&s, greeted_at_ms + 4000);
    assert_string_equal(stage_told(&s), "LOST");
    stage_close(&s);
}

/* ------------------------------------------------------------- what was seen
 * -- */

/* What goes out on a new connection behind its greeting. */
static const char *resume_sends(struct stage *s)
{
    cut_and_greet(s);
    (void)stage_sent(s);
    accept_session(s);
    return stage_sent(s);
}

/* Neither an event nor the answer to SetWatches is for all events of the
 * transaction that it names; what answers a call is. */
static void only_answers_to_calls_say_what_was_seen(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    have(&s, "x", 2, 2);
    have(&s, "y", 3, 3);
    ask(&s, HF_REQUEST_WATCH, "x");
    data(&s, "him", 2, 2);
    ask(&s, HF_REQUEST_WATCH, "y");
    s.zxid = 0x40;
    data(&s, "her", 2, 2);
    s.zxid = 0x50;
    event(&s, HF_ZK_NODE_DELETED, "q/x#2");
    assert_non_null(strstr(resume_sends(&s), "SETWATCHES 0x40 "));
    s.zxid = 0x60;
    header(&s, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    later(&s, s.now_ms + 4000);
    pong(&s);
    assert_non_null(strstr(resume_sends(&s), "SETWATCHES 0x40 "));
    ask(&s, HF_REQUEST_REMOVE, "x");
    done(&s);
    assert_non_null(strstr(resume_sends(&s), "SETWATCHES 0x60 "));
    stage_close(&s);
}

/* ------------------------------------------------------ when it is final -- */

/* The answer to the oldest request, as it would come. */
static size_t answer_to_a_delete(struct stage *s, uint8_t *bytes)
{
    size_t count;

    hold(s);
    done(s);
    count = s->out.used;
    assert_true(count > 0 && count <= ANSWER_BYTES_MAX);
    memcpy(bytes, s->out.bytes, count);
    s->out.used = 0;
    s->holding = false;
    return count;
}

/* Whatever is missing of it, nothing is known; with the last byte it is so,
 * even if the connection ends right behind it. */
static void an_answer_is_final_with_its_last_byte(void **state)
{
    uint8_t bytes[ANSWER_BYTES_MAX];
    size_t count = 1;
    struct stage s;

    (void)state;
    for (size_t got = 0; got <= count; got++) {
        stage_connected(&s);
        have(&s, "a", 1, 11);
        ask(&s, HF_REQUEST_REMOVE, "a");
        count = answer_to_a_delete(&s, bytes);
        receive(&s, bytes, got);
        assert_string_equal(stage_told(&s),
                            got < count ? "" : "REMOVED a found");
        link_down(&s, "reset");
        assert_string_equal(stage_told(&s),
                            got < count ? "SUSPENDED; FAILED REMOVE a UNSURE"
                                        : "SUSPENDED");
        stage_close(&s);
    }
    assert_true(count > 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest_timeout_of_a_session_is_in_force),
        cmocka_unit_test(a_new_session_has_its_own_timeout),
        cmocka_unit_test(
            what_an_unanswered_resume_may_have_brought_is_in_force),
        cmocka_unit_test(a_shorter_timeout_ends_the_session_sooner),
        cmocka_unit_test(only_answers_to_calls_say_what_was_seen),
        cmocka_unit_test(an_answer_is_final_with_its_last_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
