/* SPDX-License-Identifier: Apache-2.0 */
/* The window: how many calls may be pending.  Urgent requests do not wait for
 * room in it; the others are kept until there is. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_fixture.h"
#include "zookeeper/call_window.h"

/* A session with a window of ${window} calls. */
static void connected(struct zk_fixture *f, unsigned window)
{
    zk_fixture_init(f);
    f->config.url.session.window = window;
    assert_true(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

static struct hf_request *ask_in(struct zk_fixture *f, const char *queue,
                                 enum hf_request_kind kind, const char *ticket)
{
    f->queue = queue;
    return ask(f, kind, ticket);
}

/* ${ticket} is in the queue "q" with ${sequence}, and a list of "fill" fills
 * the window. */
static void full(struct zk_fixture *f, const char *ticket, int32_t sequence)
{
    connected(f, 1);
    have_ticket(f, ticket, sequence, 11);
    ask_in(f, "fill", HF_REQUEST_ENQUEUE, "f");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 fill/f; LIST fill");
    f->queue = "q";
}

static void make_room(struct zk_fixture *f)
{
    created(f, 1, 100);
    children(f, "f#1");
}

/* ---------------------------------------------------------------- window -- */

ZK_TEST_FROM(so_many_are_under_way, connected(f, 3))
{
    ask_in(f, "a", HF_REQUEST_ENQUEUE, "a");
    ask_in(f, "b", HF_REQUEST_ENQUEUE, "b");
    ask_in(f, "c", HF_REQUEST_ENQUEUE, "c");
    ask_in(f, "d", HF_REQUEST_ENQUEUE, "d");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 a/a; LIST a | CREATE2 b/b; LIST b");
    created(f, 1, 11);
    assert_string_equal(zk_fixture_sent(f), "");
    children(f, "a#1");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#1@11");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 c/c; LIST c");
    created(f, 1, 12);
    children(f, "b#1");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 d/d; LIST d");
    created(f, 1, 13);
    children(f, "c#1");
    created(f, 1, 14);
    children(f, "d#1");
}

ZK_TEST_FROM(without_a_size_it_is_the_usual_one, connected(f, 0))
{
    for (int i = 0; i < HF_ZK_WINDOW_CALLS; i++)
        ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    assert_int_equal(f->calls, HF_ZK_WINDOW_CALLS);
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    assert_int_equal(f->calls, HF_ZK_WINDOW_CALLS);
    children(f, "a#1");
    assert_int_equal(f->calls, HF_ZK_WINDOW_CALLS);
}

/* A request that has begun does not wait again for its next call. */
ZK_TEST_FROM(a_request_goes_on_without_waiting, connected(f, 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/a; LIST q");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "CONTAINER q; MULTI ?q +q/a; LIST q");
    done(f);
    created(f, 0, 17);
    children(f, "a#0");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/b; LIST q");
}

/* --------------------------------------------------------------- classes -- */

ZK_TEST_FROM(releases_go_at_once, full(f, "a", 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a#1");
    make_room(f);
    assert_string_equal(zk_fixture_sent(f), "");
    done(f);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED f: f#1@100; REMOVED a found");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/b; LIST q");
}

ZK_TEST_FROM(downgrades_go_at_once, connected(f, 1))
{
    f->kind = HF_TICKET_WRITE;
    have_ticket(f, "a", 1, 11);
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_DOWNGRADE, "a");
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/b/w; LIST q | DATA q/a/w#1 | "
                        "DELETE q/a/w#1");
}

/* What an enqueue proves counts from when it was sent, not from the request. */
ZK_TEST_FROM(proofs_go_at_once_and_count_from_their_sending, full(f, "a", 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "b");
    set_time(f, 2000);
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI q/a#1");
    created(f, 1, 100);
    children(f, "x#0 f#1");
    checked(f);
    assert_string_equal(zk_fixture_events(f), "PROVEN 1000");
    assert_string_equal(zk_fixture_sent(f), "DATA fill/x#0 w");
    set_time(f, 5000);
    data(f, "head", 1, 1);
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/b; LIST q");
    (void)zk_fixture_events(f);
    created(f, 2, 12);
    assert_string_equal(zk_fixture_events(f), "PROVED 2000");
}

/* The entry mutex behind it must not be removed before there is a lease. */
ZK_TEST_FROM(leases_go_at_once, full(f, "a", 1))
{
    f->kind = HF_TICKET_LEASE;
    ask(f, HF_REQUEST_ENQUEUE, "b");
    f->kind = HF_TICKET_MUTEX;
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/b/l; LIST q | DELETE q/a#1");
}

/* Requests about existing tickets, and enqueues; each kind in its order. */
ZK_TEST_FROM(those_who_wait_take_turns, full(f, "a", 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_ENQUEUE, "c");
    ask(f, HF_REQUEST_WATCH, "a");
    ask_in(f, "x", HF_REQUEST_LIST, "y");
    make_room(f);
    assert_string_equal(zk_fixture_sent(f), "DATA q/a#1 w");
    data(f, "", 11, 1);
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/b; LIST q");
    created(f, 2, 12);
    children(f, "a#1 b#2");
    data(f, "me", 11, 1);
    assert_string_equal(zk_fixture_sent(f), "DATA q/a#1 w | SYNC x; LIST x");
    done(f);
    children(f, "");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/c; LIST q");
}

/* ------------------------------------------------------------------- end -- */

/* A request that was not sent has not taken effect. */
ZK_TEST_FROM(what_waits_at_a_cut_did_not_happen, full(f, "a", 1))
{
    ask(f, HF_REQUEST_WATCH, "a");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED ENQUEUE f UNSURE; "
                        "FAILED WATCH a RETRY; FAILED ENQUEUE b RETRY");
    assert_string_equal(f->text,
                        "the connection ended before the request was sent: "
                        "h1:2181: reset");
    resume(f);
    assert_string_equal(zk_fixture_sent(f), "");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/b; LIST q");
}

ZK_TEST_FROM(what_waits_is_answered_before_the_end, full(f, "a", 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_END, "");
    assert_string_equal(zk_fixture_sent(f), "CLOSE");
    make_room(f);
    assert_string_equal(zk_fixture_sent(f), "");
    done(f);
    assert_string_equal(zk_fixture_events(f), "ENQUEUED f: f#1@100; "
                                              "FAILED ENQUEUE b RETRY; CLOSED");
}

ZK_TEST_FROM(what_waits_is_answered_when_the_session_is_lost, full(f, "a", 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "b");
    refused(f, HF_ZK_SESSION_EXPIRED);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE f UNSURE; "
                                              "FAILED ENQUEUE b RETRY; LOST");
}

ZK_TEST_FROM(who_waits_may_be_forgotten, full(f, "a", 1))
{
    struct hf_request *first, *second, *third;

    first = ask(f, HF_REQUEST_WATCH, "a");
    second = ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    third = ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    forget(f, second);
    forget(f, first);
    make_room(f);
    assert_string_equal(zk_fixture_sent(f), "LIST q w");
    children(f, "a#1");
    data(f, "me", 11, 1);
    forget(f, third);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED f: f#1@100; LISTED z: a#1@11=me");
}

ZK_TEST_FROM(without_memory_nobody_waits, full(f, "a", 1))
{
    heap_fail(1, false);
    ask(f, HF_REQUEST_ENQUEUE, "b");
    assert_true(heap_failed());
    heap_fail(0, false);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE b RETRY");
    assert_int_equal(f->status, HF_ENOMEM);
}
