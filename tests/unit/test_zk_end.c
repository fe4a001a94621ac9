/* SPDX-License-Identifier: Apache-2.0 */
/* END: in every state, from inside every event, and with anything that comes
 * after it. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_fixture.h"

static void end_(struct zk_fixture *f)
{
    ask(f, HF_REQUEST_END, "");
}

/* The server has closed the session, and the client wants nothing more. */
static void assert_over(struct zk_fixture *f)
{
    assert_true(f->closed);
    assert_null(f->server);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)),
                     HF_FOREVER);
    advance_to(f, f->now_ms + 100000);
    assert_string_equal(zk_fixture_events(f), "");
}

ZK_TEST(a_close_is_answered)
{
    end_(f);
    assert_string_equal(zk_fixture_sent(f), "CLOSE");
    assert_string_equal(zk_fixture_events(f), "");
    done(f);
    assert_string_equal(zk_fixture_events(f), "CLOSED");
    assert_over(f);
}

ZK_TEST(what_was_asked_before_is_answered_before)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    ask(f, HF_REQUEST_LIST, "b");
    end_(f);
    ask(f, HF_REQUEST_LIST, "c"); /* too late */
    assert_string_equal(zk_fixture_events(f), "FAILED LIST c RETRY");
    created(f, 1, 17);
    children(f, "x#0 a#1"); /* whose head would be asked for */
    done(f);
    children(f, "");
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED a: x#0 a#1@17; LISTED b:");
    done(f);
    assert_string_equal(zk_fixture_events(f), "CLOSED");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/a; LIST q | SYNC q; LIST q | CLOSE");
}

/* Answers after which a request would make its next call. */
TEST(no_step_is_made_behind_a_close)
{
    static const struct {
        enum hf_request_kind kind;
        const char *events;
    } rows[] = {
        {HF_REQUEST_REVOKE, "FAILED REVOKE a UNSURE; CLOSED"},
        {HF_REQUEST_ENQUEUE, "FAILED ENQUEUE a RETRY; CLOSED"},
        {HF_REQUEST_LIST, "LISTED a: a#2147483647; CLOSED"},
        {HF_REQUEST_REMOVE, "FAILED REMOVE a UNSURE; CLOSED"},
        {HF_REQUEST_WATCH, "FAILED WATCH a RETRY; CLOSED"},
    };
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, rows[i].kind, "a");
        (void)zk_fixture_sent(&f);
        end_(&f);
        if (rows[i].kind == HF_REQUEST_ENQUEUE) {
            refused(&f, HF_ZK_NO_NODE);
            refused(&f, HF_ZK_NO_NODE);
        } else {
            done(&f);
            children(&f, "a#2147483647");
        }
        done(&f);
        assert_string_equal(zk_fixture_events(&f), rows[i].events);
        assert_string_equal(zk_fixture_sent(&f), "CLOSE");
        zk_fixture_close(&f);
    }
    zk_fixture_connected(&f); /* a parent was made, and removed again */
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    refused(&f, HF_ZK_NO_NODE);
    refused(&f, HF_ZK_NO_NODE);
    end_(&f);
    done(&f);
    refused(&f, HF_ZK_NO_NODE);
    refused(&f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a RETRY");
    zk_fixture_close(&f);
    zk_fixture_connected(&f); /* a generation could be made */
    f.kind = HF_TICKET_PARTICIPANT;
    f.limit = 1;
    ask(&f, HF_REQUEST_NEW_GENERATION, "x");
    end_(&f);
    children(&f, "x/m");
    refused(&f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(&f),
                        "FAILED NEW_GENERATION x UNSURE");
    zk_fixture_close(&f);
    zk_fixture_connected(&f); /* nor are participants read */
    f.kind = HF_TICKET_PARTICIPANT;
    ask(&f, HF_REQUEST_LIST, "x");
    end_(&f);
    done(&f);
    children(&f, "x/m");
    assert_string_equal(zk_fixture_events(&f), "FAILED LIST x RETRY");
    zk_fixture_close(&f);
    zk_fixture_connected(&f); /* a number that should be taken back */
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    end_(&f);
    created(&f, -1, 17);
    children(&f, "a#-1");
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a UNSURE");
    zk_fixture_close(&f);
}

ZK_TEST(events_behind_a_close)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 1, 17);
    children(f, "x#0 a#1");
    data(f, "him", 1, 1);
    ask(f, HF_REQUEST_WATCH, "x");
    ask(f, HF_REQUEST_WATCH, "a");
    data(f, "me", 17, f->session);
    end_(f);
    (void)zk_fixture_events(f);
    (void)zk_fixture_sent(f);
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#0"); /* would be set anew */
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#0");
    assert_string_equal(zk_fixture_sent(f), "");
    event(f, HF_ZK_NODE_DELETED, "q/a#1");
    assert_string_equal(zk_fixture_events(f), "GONE a");
    done(f);
    assert_string_equal(zk_fixture_events(f), "CLOSED");
}

/* --------------------------------------------- closes without an answer */

ZK_TEST(a_close_has_its_timeout)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    set_time(f, 2000);
    end_(f);
    assert_int_equal(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)),
                     3000);
    advance_to(f, 2999);
    assert_string_equal(zk_fixture_events(f), "");
    advance_to(f, 3000);
    assert_string_equal(zk_fixture_events(f),
                        "FAILED ENQUEUE a UNSURE; CLOSED");
    assert_over(f);
}

TEST(whatever_ends_the_connection_ends_the_close)
{
    struct zk_fixture f;

    for (int i = 0; i < 6; i++) {
        zk_fixture_connected(&f);
        end_(&f);
        switch (i) {
        case 0:
            link_down(&f, "reset");
            break;
        case 1: /* the server says that there was none, whatever it is */
            refused(&f, HF_ZK_SESSION_EXPIRED);
            break;
        case 2:
            refused(&f, HF_ZK_SESSION_MOVED);
            break;
        case 3:
            refused(&f, -4711);
            break;
        case 4:
            receive(&f, "\xff\xff\xff\xff", 4);
            break;
        default: /* our own clock ends it before the timeout */
            zk_fixture_close(&f);
            zk_fixture_connected(&f);
            set_time(&f, 10900);
            end_(&f);
            advance_to(&f, 11000);
        }
        assert_string_equal(zk_fixture_events(&f), "CLOSED");
        assert_over(&f);
        zk_fixture_close(&f);
    }
}

TEST(without_a_connection_the_end_is_at_once)
{
    struct zk_fixture f;

    for (int step = 0; step < 4; step++) {
        zk_fixture_init(&f);
        assert_true(zk_fixture_open(&f));
        if (step == 1)
            link_down(&f, "refused");
        if (step >= 2)
            link_up(&f);
        if (step == 3) {
            accept_session(&f);
            link_down(&f, "reset");
        }
        (void)zk_fixture_events(&f);
        f.log_lines = 0;
        end_(&f);
        assert_string_equal(zk_fixture_events(&f), "CLOSED");
        assert_int_equal(f.log_lines, step == 3); /* its tickets stay a while */
        if (step == 3)
            assert_string_equal(f.logged_digests,
                                "closed without a connection: what the session "
                                "holds goes when it ends, 10000 ms after the "
                                "server last received something");
        assert_over(&f);
        zk_fixture_close(&f);
    }
}

ZK_TEST(the_link_may_still_say_something)
{
    uint64_t number;

    number = f->connection_number;
    end_(f);
    done(f);
    (void)zk_fixture_events(f);
    hf_zk_session_receive(hf_zk_engine_session(f->zk), number, f->now_ms,
                          "\xff\xff\xff\xff", 4);
    hf_zk_session_connection_down(hf_zk_engine_session(f->zk), number,
                                  f->now_ms, HF_EUNREACHABLE, "closed");
    hf_zk_session_connection_up(hf_zk_engine_session(f->zk), number, f->now_ms);
    zk_fixture_process(f);
    assert_over(f);
    f->closed = false; /* a request that is made now is answered all the same */
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_events(f), "FAILED LIST a RETRY");
}

/* --------------------------------------------------- from inside an event */

static enum hf_event_kind end_at;
static bool ended;

static void end_inside(struct zk_fixture *f, const struct hf_event *event_)
{
    if (event_->kind != end_at || ended ||
        (end_at == HF_EVENT_CONNECTION_ERROR &&
         strstr(f->text, "reset") == NULL))
        return;
    ended = true;
    end_(f);
}

/* Every kind of event once: connected, connection error, suspended, resumed,
 * lost. */
static void eventful_session(struct zk_fixture *f)
{
    link_up(f);
    accept_session(f);
    if (f->closed || !f->up)
        return;
    if (ended) {
        done(f);
        return;
    }
    have_ticket(f, "a", 1, 17);
    ask(f, HF_REQUEST_WATCH, "a");
    ask(f, HF_REQUEST_WATCH, "b");
    ask(f, HF_REQUEST_LIST, "a");
    ask(f, HF_REQUEST_PROVE, "");
    link_down(f, "reset");
    if (f->closed)
        return;
    wake(f);
    link_up(f);
    if (f->closed)
        return;
    refuse_session(f);
}

TEST(an_end_from_inside_an_event_comes_behind_it)
{
    static const struct {
        enum hf_event_kind kind;
        const char *events; /* its end */
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
    struct zk_fixture f;
    const char *reported;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zk_fixture_init(&f);
        assert_true(zk_fixture_open(&f));
        end_at = rows[i].kind;
        ended = false;
        f.event_hook = end_inside;
        eventful_session(&f);
        assert_true(ended);
        reported = zk_fixture_events(&f);
        if (strncmp(rows[i].events, "RESUMING", 8) == 0)
            reported = strstr(reported, "RESUMING") != NULL ? rows[i].events
                                                            : reported;
        assert_true(strlen(reported) >= strlen(rows[i].events));
        assert_string_equal(reported + strlen(reported) -
                                strlen(rows[i].events),
                            rows[i].events);
        assert_over(&f);
        zk_fixture_close(&f);
    }
}

/* Also while the session is being lost by our own clock, with requests
 * pending. */
TEST(an_end_while_a_session_is_lost)
{
    struct zk_fixture f;

    end_at = HF_EVENT_FAILED;
    ended = false;
    zk_fixture_connected(&f);
    f.event_hook = end_inside;
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    ask(&f, HF_REQUEST_WATCH, "b");
    advance_to(&f, 11000);
    assert_string_equal(zk_fixture_events(&f),
                        "FAILED ENQUEUE a UNSURE; "
                        "FAILED WATCH b RETRY; LOST; CLOSED");
    assert_over(&f);
    zk_fixture_close(&f);
}

/* Nothing can be sent, and the session ends by its timeout. */
TEST(an_end_without_memory)
{
    char payload[400];
    struct zk_fixture f;

    memset(payload, 'x', sizeof payload - 1);
    payload[sizeof payload - 1] = '\0';
    zk_fixture_connected(&f);
    f.payload = payload;
    heap_fail(3, false); /* the request, its queue, what is sent */
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    end_(&f);
    assert_true(heap_failed());
    assert_string_equal(zk_fixture_sent(&f), "");
    advance_to(&f, 12000);
    assert_string_equal(zk_fixture_events(&f),
                        "FAILED ENQUEUE a UNSURE; CLOSED");
    assert_over(&f);
    zk_fixture_close(&f);
}

/* A user who makes each failed request again, from inside the event. */
static void ask_again(struct zk_fixture *f, const struct hf_event *event_)
{
    static const enum hf_request_kind kinds[] = {
        HF_REQUEST_ENQUEUE, HF_REQUEST_LIST, HF_REQUEST_WATCH,
        HF_REQUEST_REMOVE, HF_REQUEST_PROVE};
    static unsigned depth;

    if (event_->kind == HF_EVENT_CLOSED || depth >= 2)
        return;
    depth++;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        ask(f, kinds[i], "a");
    depth--;
}

ZK_TEST_FROM(requests_from_inside_any_event, zk_fixture_init(f))
{
    assert_true(zk_fixture_open(f));
    f->event_hook = ask_again;
    end_at = HF_EVENT_TICK; /* never */
    ended = false;
    link_up(f);
    accept_session(f);
    (void)zk_fixture_sent(f);
    while (f->calls > 0 && f->answered < 1000)
        refused(f, HF_ZK_THROTTLED);
    link_down(f, "reset");
    assert_int_equal(f->under_way, 0);
    wake(f);
    link_up(f);
    refuse_session(f);
    assert_int_equal(f->under_way, 0);
    (void)zk_fixture_events(f); /* more than is kept */
    end_(f);
    assert_string_equal(zk_fixture_events(f), "CLOSED");
    assert_over(f);
}
