/* SPDX-License-Identifier: Apache-2.0 */
/* END: in every state, from inside every event, and with whatever comes
 * behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "zk_stage.h"

static void end_(struct stage *s)
{
    ask(s, HF_REQUEST_END, "");
}

/* The server has closed the session, and nothing more is wanted. */
static void assert_over(struct stage *s)
{
    assert_true(s->closed);
    assert_null(s->server);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_session(s->zk)),
                     HF_FOREVER);
    later(s, s->now_ms + 100000);
    assert_string_equal(stage_told(s), "");
}

static void a_goodbye_is_answered(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    end_(&s);
    assert_string_equal(stage_sent(&s), "CLOSE");
    assert_string_equal(stage_told(&s), "");
    done(&s);
    assert_string_equal(stage_told(&s), "CLOSED");
    assert_over(&s);
    stage_close(&s);
}

static void what_was_asked_before_is_answered_before(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    ask(&s, HF_REQUEST_LIST, "b");
    end_(&s);
    ask(&s, HF_REQUEST_LIST, "c"); /* too late */
    assert_string_equal(stage_told(&s), "FAILED LIST c RETRY");
    created(&s, 1, 17);
    children(&s, "x#0 a#1"); /* whose head would be asked for */
    done(&s);
    children(&s, "");
    assert_string_equal(stage_told(&s), "ENQUEUED a: x#0 a#1@17; LISTED b:");
    done(&s);
    assert_string_equal(stage_told(&s), "CLOSED");
    assert_string_equal(stage_sent(&s),
                        "CREATE2 q/a; LIST q | SYNC q; LIST q | CLOSE");
    stage_close(&s);
}

/* Answers that would have a request go on to its next step. */
static void no_step_is_made_behind_a_goodbye(void **state)
{
    static const struct {
        enum hf_request_kind kind;
        const char *told;
    } rows[] = {
        {HF_REQUEST_REVOKE, "FAILED REVOKE a UNSURE; CLOSED"},
        {HF_REQUEST_ENQUEUE, "FAILED ENQUEUE a RETRY; CLOSED"},
        {HF_REQUEST_LIST, "LISTED a: a#2147483647; CLOSED"},
        {HF_REQUEST_REMOVE, "FAILED REMOVE a UNSURE; CLOSED"},
        {HF_REQUEST_WATCH, "FAILED WATCH a RETRY; CLOSED"},
    };
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stage_connected(&s);
        ask(&s, rows[i].kind, "a");
        (void)stage_sent(&s);
        end_(&s);
        if (rows[i].kind == HF_REQUEST_ENQUEUE) {
            refused(&s, HF_ZK_NO_NODE);
            refused(&s, HF_ZK_NO_NODE);
        } else {
            done(&s);
            children(&s, "a#2147483647");
        }
        done(&s);
        assert_string_equal(stage_told(&s), rows[i].told);
        assert_string_equal(stage_sent(&s), "CLOSE");
        stage_close(&s);
    }
    stage_connected(&s); /* a parent was made, and removed again */
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    end_(&s);
    done(&s);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a RETRY");
    stage_close(&s);
    stage_connected(&s); /* somebody could be stamped */
    s.kind = HF_TICKET_PARTICIPANT;
    s.limit = 1;
    ask(&s, HF_REQUEST_NEW_GENERATION, "x");
    end_(&s);
    children(&s, "x/m");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x UNSURE");
    stage_close(&s);
    stage_connected(&s); /* nor are members asked about */
    s.kind = HF_TICKET_PARTICIPANT;
    ask(&s, HF_REQUEST_LIST, "x");
    end_(&s);
    done(&s);
    children(&s, "x/m");
    assert_string_equal(stage_told(&s), "LISTED x:");
    stage_close(&s);
    stage_connected(&s); /* a number that should be taken back */
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    end_(&s);
    created(&s, -1, 17);
    children(&s, "a#-1");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE");
    stage_close(&s);
}

static void events_behind_a_goodbye(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 1, 17);
    children(&s, "x#0 a#1");
    data(&s, "him", 1, 1);
    ask(&s, HF_REQUEST_WATCH, "x");
    ask(&s, HF_REQUEST_WATCH, "a");
    data(&s, "me", 17, s.session);
    end_(&s);
    (void)stage_told(&s);
    (void)stage_sent(&s);
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#0"); /* would be set anew */
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/x#0");
    assert_string_equal(stage_sent(&s), "");
    event(&s, HF_ZK_NODE_DELETED, "q/a#1");
    assert_string_equal(stage_told(&s), "GONE a");
    done(&s);
    assert_string_equal(stage_told(&s), "CLOSED");
    stage_close(&s);
}

/* -------------------------------------------- goodbyes without an answer */

static void a_goodbye_has_its_patience(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    at(&s, 2000);
    end_(&s);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_session(s.zk)), 3000);
    later(&s, 2999);
    assert_string_equal(stage_told(&s), "");
    later(&s, 3000);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE; CLOSED");
    assert_over(&s);
    stage_close(&s);
}

static void whatever_ends_the_connection_ends_the_goodbye(void **state)
{
    struct stage s;

    (void)state;
    for (int i = 0; i < 6; i++) {
        stage_connected(&s);
        end_(&s);
        switch (i) {
        case 0:
            link_down(&s, "reset");
            break;
        case 1: /* the server says that there was none, whatever it is */
            refused(&s, HF_ZK_SESSION_EXPIRED);
            break;
        case 2:
            refused(&s, HF_ZK_SESSION_MOVED);
            break;
        case 3:
            refused(&s, -4711);
            break;
        case 4:
            receive(&s, "\xff\xff\xff\xff", 4);
            break;
        default: /* our own clock, before our patience */
            stage_close(&s);
            stage_connected(&s);
            at(&s, 10900);
            end_(&s);
            later(&s, 11000);
        }
        assert_string_equal(stage_told(&s), "CLOSED");
        assert_over(&s);
        stage_close(&s);
    }
}

static void without_a_connection_the_end_is_at_once(void **state)
{
    struct stage s;

    (void)state;
    for (int step = 0; step < 4; step++) {
        stage_init(&s);
        assert_true(stage_open(&s));
        if (step == 1)
            link_down(&s, "refused");
        if (step >= 2)
            link_up(&s);
        if (step == 3) {
            accept_session(&s);
            link_down(&s, "reset");
        }
        (void)stage_told(&s);
        s.lines = 0;
        end_(&s);
        assert_string_equal(stage_told(&s), "CLOSED");
        assert_int_equal(s.lines, step == 3); /* its tickets stay a while */
        if (step == 3)
            assert_string_equal(s.logged_digests,
                                "closed without a connection: what tickets "
                                "there are go when the session ends, 10000 ms "
                                "after the server last heard of it");
        assert_over(&s);
        stage_close(&s);
    }
}

static void the_link_may_still_say_something(void **state)
{
    struct stage s;
    uint64_t number;

    (void)state;
    stage_connected(&s);
    number = s.connection_number;
    end_(&s);
    done(&s);
    (void)stage_told(&s);
    hf_zk_session_receive(hf_zk_session(s.zk), number, s.now_ms,
                          "\xff\xff\xff\xff", 4);
    hf_zk_session_connection_down(hf_zk_session(s.zk), number, s.now_ms,
                                  HF_EUNREACHABLE, "closed");
    hf_zk_session_connection_up(hf_zk_session(s.zk), number, s.now_ms);
    stage_settle(&s);
    assert_over(&s);
    s.closed = false; /* whoever asks now is answered all the same */
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_told(&s), "FAILED LIST a RETRY");
    stage_close(&s);
}

/* --------------------------------------------------- from inside an event */

static enum hf_event_kind end_at;
static bool ended;

static void end_inside(struct stage *s, const struct hf_event *event_)
{
    if (event_->kind != end_at || ended ||
        (end_at == HF_EVENT_CONNECTION_ERROR &&
         strstr(s->text, "reset") == NULL))
        return;
    ended = true;
    end_(s);
}

/* Every kind of event once: connected, trouble, cut off, resumed, lost. */
static void eventful_story(struct stage *s)
{
    link_up(s);
    accept_session(s);
    if (s->closed || !s->up)
        return;
    if (ended) {
        done(s);
        return;
    }
    have(s, "a", 1, 17);
    ask(s, HF_REQUEST_WATCH, "a");
    ask(s, HF_REQUEST_WATCH, "b");
    ask(s, HF_REQUEST_LIST, "a");
    ask(s, HF_REQUEST_PROVE, "");
    link_down(s, "reset");
    if (s->closed)
        return;
    ring(s);
    link_up(s);
    if (s->closed)
        return;
    refuse_session(s);
}

static void an_end_from_inside_an_event_comes_behind_it(void **state)
{
    static const struct {
        enum hf_event_kind kind;
        const char *told; /* its end */
    } rows[] = {
        {HF_EVENT_CONNECTED, "CONNECTED 10000 1000; CLOSED"},
        {HF_EVENT_CONNECTION_ERROR,
         "SUSPENDED; FAILED WATCH a RETRY; FAILED WATCH b RETRY; "
         "FAILED LIST a RETRY; FAILED PROVE RETRY; CLOSED"},
        {HF_EVENT_SUSPENDED,
         "SUSPENDED; FAILED WATCH a RETRY; FAILED WATCH b RETRY; "
         "FAILED LIST a RETRY; FAILED PROVE RETRY; CLOSED"},
        {HF_EVENT_FAILED,
         "SUSPENDED; FAILED WATCH a RETRY; FAILED WATCH b RETRY; "
         "FAILED LIST a RETRY; FAILED PROVE RETRY; CLOSED"},
        {HF_EVENT_RESUMING, "RESUMING 1027 10000; CLOSED"},
        {HF_EVENT_SESSION_LOST, "LOST; CLOSED"},
    };
    struct stage s;
    const char *told;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stage_init(&s);
        assert_true(stage_open(&s));
        end_at = rows[i].kind;
        ended = false;
        s.then = end_inside;
        eventful_story(&s);
        assert_true(ended);
        told = stage_told(&s);
        if (strncmp(rows[i].told, "RESUMING", 8) == 0)
            told = strstr(told, "RESUMING") != NULL ? rows[i].told : told;
        assert_true(strlen(told) >= strlen(rows[i].told));
        assert_string_equal(told + strlen(told) - strlen(rows[i].told),
                            rows[i].told);
        assert_over(&s);
        stage_close(&s);
    }
}

/* And while a session is being lost by our own clock, with requests under
 * way. */
static void an_end_while_a_session_is_lost(void **state)
{
    struct stage s;

    (void)state;
    end_at = HF_EVENT_FAILED;
    ended = false;
    stage_connected(&s);
    s.then = end_inside;
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    ask(&s, HF_REQUEST_WATCH, "b");
    later(&s, 11000);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE; "
                                        "FAILED WATCH b RETRY; LOST; CLOSED");
    assert_over(&s);
    stage_close(&s);
}

/* Nothing can be sent any more, and so late the session is over as well. */
static void an_end_without_memory(void **state)
{
    char payload[400];
    struct stage s;

    (void)state;
    memset(payload, 'x', sizeof payload - 1);
    payload[sizeof payload - 1] = '\0';
    stage_connected(&s);
    s.payload = payload;
    heap_fail(3, false); /* the request, its queue, what is sent */
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    end_(&s);
    assert_true(heap_failed());
    assert_string_equal(stage_sent(&s), "");
    later(&s, 12000);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE; CLOSED");
    assert_over(&s);
    stage_close(&s);
}

/* Whoever is told that a request failed asks again, and again. */
static void ask_again(struct stage *s, const struct hf_event *event_)
{
    static const enum hf_request_kind kinds[] = {
        HF_REQUEST_ENQUEUE, HF_REQUEST_LIST, HF_REQUEST_WATCH,
        HF_REQUEST_REMOVE, HF_REQUEST_PROVE};
    static unsigned depth;

    if (event_->kind == HF_EVENT_CLOSED || depth >= 2)
        return;
    depth++;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        ask(s, kinds[i], "a");
    depth--;
}

static void requests_from_inside_any_event(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    assert_true(stage_open(&s));
    s.then = ask_again;
    end_at = HF_EVENT_TICK; /* never */
    ended = false;
    link_up(&s);
    accept_session(&s);
    (void)stage_sent(&s);
    while (s.calls > 0 && s.answered < 1000)
        refused(&s, HF_ZK_THROTTLED);
    link_down(&s, "reset");
    assert_int_equal(s.under_way, 0);
    ring(&s);
    link_up(&s);
    refuse_session(&s);
    assert_int_equal(s.under_way, 0);
    (void)stage_told(&s); /* more than is kept */
    end_(&s);
    assert_string_equal(stage_told(&s), "CLOSED");
    assert_over(&s);
    stage_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_goodbye_is_answered),
        cmocka_unit_test(what_was_asked_before_is_answered_before),
        cmocka_unit_test(no_step_is_made_behind_a_goodbye),
        cmocka_unit_test(events_behind_a_goodbye),
        cmocka_unit_test(a_goodbye_has_its_patience),
        cmocka_unit_test(whatever_ends_the_connection_ends_the_goodbye),
        cmocka_unit_test(without_a_connection_the_end_is_at_once),
        cmocka_unit_test(the_link_may_still_say_something),
        cmocka_unit_test(an_end_from_inside_an_event_comes_behind_it),
        cmocka_unit_test(an_end_while_a_session_is_lost),
        cmocka_unit_test(an_end_without_memory),
        cmocka_unit_test(requests_from_inside_any_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
