/* SPDX-License-Identifier: Apache-2.0 */
/* The window: it bounds the calls under way, lets urgent requests through, and
 * keeps the others until there is room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "zk_stage.h"
#include "zookeeper/call_window.h"

/* A session with a window of ${window} calls. */
static void connected(struct stage *s, unsigned window)
{
    stage_init(s);
    s->config.session.window = window;
    assert_true(stage_open(s));
    link_up(s);
    accept_session(s);
    (void)stage_sent(s);
    (void)stage_told(s);
}

static struct hf_request *ask_in(struct stage *s, const char *queue,
                                 enum hf_request_kind kind, const char *ticket)
{
    s->queue = queue;
    return ask(s, kind, ticket);
}

/* ${ticket} is in the queue "q", with ${sequence}; in "fill" there is a list
 * under way that leaves no room. */
static void full(struct stage *s, const char *ticket, int32_t sequence)
{
    connected(s, 1);
    have(s, ticket, sequence, 11);
    ask_in(s, "fill", HF_REQUEST_ENQUEUE, "f");
    assert_string_equal(stage_sent(s), "CREATE2 fill/f; LIST fill");
    s->queue = "q";
}

static void make_room(struct stage *s)
{
    created(s, 1, 100);
    children(s, "f#1");
}

/* ---------------------------------------------------------------- window -- */

static void so_many_are_under_way(void **state)
{
    struct stage s;

    (void)state;
    connected(&s, 3);
    ask_in(&s, "a", HF_REQUEST_ENQUEUE, "a");
    ask_in(&s, "b", HF_REQUEST_ENQUEUE, "b");
    ask_in(&s, "c", HF_REQUEST_ENQUEUE, "c");
    ask_in(&s, "d", HF_REQUEST_ENQUEUE, "d");
    assert_string_equal(stage_sent(&s),
                        "CREATE2 a/a; LIST a | CREATE2 b/b; LIST b");
    created(&s, 1, 11);
    assert_string_equal(stage_sent(&s), "");
    children(&s, "a#1");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#1@11");
    assert_string_equal(stage_sent(&s), "CREATE2 c/c; LIST c");
    created(&s, 1, 12);
    children(&s, "b#1");
    assert_string_equal(stage_sent(&s), "CREATE2 d/d; LIST d");
    created(&s, 1, 13);
    children(&s, "c#1");
    created(&s, 1, 14);
    children(&s, "d#1");
    stage_close(&s);
}

static void without_a_size_it_is_the_usual_one(void **state)
{
    struct stage s;

    (void)state;
    connected(&s, 0);
    for (int i = 0; i < HF_ZK_WINDOW; i++)
        ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    assert_int_equal(s.calls, HF_ZK_WINDOW);
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    assert_int_equal(s.calls, HF_ZK_WINDOW);
    children(&s, "a#1");
    assert_int_equal(s.calls, HF_ZK_WINDOW);
    stage_close(&s);
}

/* A later step of a request that has begun does not wait again. */
static void a_request_goes_on_without_waiting(void **state)
{
    struct stage s;

    (void)state;
    connected(&s, 1);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(stage_sent(&s), "CREATE2 q/a; LIST q");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "CONTAINER q; CREATE2 q/a; LIST q");
    done(&s);
    created(&s, 0, 17);
    children(&s, "a#0");
    assert_string_equal(stage_sent(&s), "CREATE2 q/b; LIST q");
    stage_close(&s);
}

/* --------------------------------------------------------------- classes -- */

static void releases_go_at_once(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "DELETE q/a#1");
    make_room(&s);
    assert_string_equal(stage_sent(&s), "");
    done(&s);
    assert_string_equal(stage_told(&s), "ENQUEUED f: f#1@100; REMOVED a found");
    assert_string_equal(stage_sent(&s), "CREATE2 q/b; LIST q");
    stage_close(&s);
}

static void downgrades_go_at_once(void **state)
{
    struct stage s;

    (void)state;
    connected(&s, 1);
    s.kind = HF_TICKET_WRITE;
    have(&s, "a", 1, 11);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    ask(&s, HF_REQUEST_DOWNGRADE, "a");
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s),
                        "CREATE2 q/b/w; LIST q | DATA q/a/w#1 | "
                        "DELETE q/a/w#1");
    stage_close(&s);
}

/* And what an enqueue proves goes by when it was sent, not by when it was asked
 * for. */
static void proofs_go_at_once_and_count_from_their_sending(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    at(&s, 2000);
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI q/a#1");
    created(&s, 1, 100);
    children(&s, "x#0 f#1");
    checked(&s);
    assert_string_equal(stage_told(&s), "PROVEN 1000");
    assert_string_equal(stage_sent(&s), "DATA fill/x#0 w");
    at(&s, 5000);
    data(&s, "head", 1, 1);
    assert_string_equal(stage_sent(&s), "CREATE2 q/b; LIST q");
    (void)stage_told(&s);
    created(&s, 2, 12);
    assert_string_equal(stage_told(&s), "PROVED 2000");
    stage_close(&s);
}

/* The entry mutex behind it must not be left before there is a lease. */
static void leases_go_at_once(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    s.kind = HF_TICKET_LEASE;
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    s.kind = HF_TICKET_MUTEX;
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "CREATE2 q/b/l; LIST q | DELETE q/a#1");
    stage_close(&s);
}

/* Requests about tickets that are there, and enqueues; each in its order. */
static void those_who_wait_take_turns(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    ask(&s, HF_REQUEST_ENQUEUE, "c");
    ask(&s, HF_REQUEST_WATCH, "a");
    ask_in(&s, "x", HF_REQUEST_LIST, "y");
    make_room(&s);
    assert_string_equal(stage_sent(&s), "DATA q/a#1 w");
    data(&s, "", 11, 1);
    assert_string_equal(stage_sent(&s), "CREATE2 q/b; LIST q");
    created(&s, 2, 12);
    children(&s, "a#1 b#2");
    data(&s, "me", 11, 1);
    assert_string_equal(stage_sent(&s), "DATA q/a#1 w | SYNC x; LIST x");
    done(&s);
    children(&s, "");
    assert_string_equal(stage_sent(&s), "CREATE2 q/c; LIST q");
    stage_close(&s);
}

/* ------------------------------------------------------------------- end -- */

/* What was not sent did not happen. */
static void what_waits_at_a_cut_did_not_happen(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    ask(&s, HF_REQUEST_WATCH, "a");
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED ENQUEUE f UNSURE; "
                        "FAILED WATCH a RETRY; FAILED ENQUEUE b RETRY");
    assert_string_equal(s.text,
                        "the connection ended before the request was sent: "
                        "h1:2181: reset");
    resume(&s);
    assert_string_equal(stage_sent(&s), "");
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(stage_sent(&s), "CREATE2 q/b; LIST q");
    stage_close(&s);
}

static void what_waits_is_answered_before_the_end(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    ask(&s, HF_REQUEST_END, "");
    assert_string_equal(stage_sent(&s), "CLOSE");
    make_room(&s);
    assert_string_equal(stage_sent(&s), "");
    done(&s);
    assert_string_equal(stage_told(&s), "ENQUEUED f: f#1@100; "
                                        "FAILED ENQUEUE b RETRY; CLOSED");
    stage_close(&s);
}

static void what_waits_is_answered_when_the_session_is_lost(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    refused(&s, HF_ZK_SESSION_EXPIRED);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE f UNSURE; "
                                        "FAILED ENQUEUE b RETRY; LOST");
    stage_close(&s);
}

static void who_waits_may_be_forgotten(void **state)
{
    struct hf_request *first, *second, *third;
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    first = ask(&s, HF_REQUEST_WATCH, "a");
    second = ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    third = ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    forget(&s, second);
    forget(&s, first);
    make_room(&s);
    assert_string_equal(stage_sent(&s), "LIST q w");
    children(&s, "a#1");
    data(&s, "me", 11, 1);
    forget(&s, third);
    assert_string_equal(stage_told(&s),
                        "ENQUEUED f: f#1@100; LISTED z: a#1@11=me");
    stage_close(&s);
}

static void without_memory_nobody_waits(void **state)
{
    struct stage s;

    (void)state;
    full(&s, "a", 1);
    heap_fail(1, false);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    assert_true(heap_failed());
    heap_fail(0, false);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE b RETRY");
    assert_int_equal(s.status, HF_ENOMEM);
    stage_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_are_under_way),
        cmocka_unit_test(without_a_size_it_is_the_usual_one),
        cmocka_unit_test(a_request_goes_on_without_waiting),
        cmocka_unit_test(releases_go_at_once),
        cmocka_unit_test(downgrades_go_at_once),
        cmocka_unit_test(proofs_go_at_once_and_count_from_their_sending),
        cmocka_unit_test(leases_go_at_once),
        cmocka_unit_test(those_who_wait_take_turns),
        cmocka_unit_test(what_waits_at_a_cut_did_not_happen),
        cmocka_unit_test(what_waits_is_answered_before_the_end),
        cmocka_unit_test(what_waits_is_answered_when_the_session_is_lost),
        cmocka_unit_test(who_waits_may_be_forgotten),
        cmocka_unit_test(without_memory_nobody_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
