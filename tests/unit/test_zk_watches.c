/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of tickets: one at the server for each path, for any number of
 * waiters. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"
#include "zookeeper/watch_resume.h"

/* x, y and z are in the queue, and a list has shown them. */
static void queue_known(struct zk_fixture *f)
{
    zk_fixture_connected(f);
    have_ticket(f, "a", 9, 17);
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "w#1 x#2 y#3 z#4 a#9");
    data(f, "head", 1, 1);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

ZK_TEST_FROM(a_watch_fires_once, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    assert_string_equal(zk_fixture_sent(f), "DATA q/x#2 w");
    assert_string_equal(zk_fixture_events(f), "");
    data(f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
    event(f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(f), "GONE x");
    event(f, HF_ZK_NODE_DELETED, "q/x#2");
    event(f, HF_ZK_NODE_DELETED, "q/y#3"); /* no request waits for it */
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f), "");
}

ZK_TEST_FROM(fn58_what_has_gone_is_gone, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    ask(f, HF_REQUEST_WATCH, "x");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "GONE x; GONE x");
    ask(f, HF_REQUEST_WATCH, "a"); /* one's own */
    assert_string_equal(zk_fixture_sent(f), "DATA q/x#2 w | DATA q/a#9 w");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "GONE a");
    ask(f, HF_REQUEST_PROVE, ""); /* and is no ticket of ours any more */
    assert_string_equal(zk_fixture_sent(f), "DATA q | MULTI /");
}

/* A ticket that the last list did not show is listed. */
ZK_TEST(unknown_tickets_are_looked_for)
{
    ask(f, HF_REQUEST_WATCH, "x");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
    children(f, "x#2");
    assert_string_equal(zk_fixture_sent(f), "DATA q/x#2 w");
    data(f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
    ask(f, HF_REQUEST_WATCH, "y");
    done(f);
    children(f, "x#2");
    assert_string_equal(zk_fixture_events(f), "GONE y");
    ask(f, HF_REQUEST_WATCH, "y");
    done(f);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "GONE y");
    ask(f, HF_REQUEST_WATCH, "y");
    done(f);
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH y FATAL");
    ask(f, HF_REQUEST_WATCH, "y");
    refused(f, HF_ZK_THROTTLED);
    children(f, "y#3");
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH y RETRY");
}

ZK_TEST(a_search_is_forgotten)
{
    struct hf_request *x, *y;

    for (int i = 0; i < 4; i++) {
        x = ask(f, HF_REQUEST_WATCH, "x");
        y = ask(f, HF_REQUEST_WATCH, "y");
        if (i % 2 == 0)
            done(f);
        forget(f, x);
        if (i < 2)
            forget(f, y);
        if (i % 2 != 0)
            done(f);
        children(f, "x#2");
        done(f);
        children(f, "x#2");
        assert_string_equal(zk_fixture_events(f), i < 2 ? "" : "GONE y");
    }
    x = ask(f, HF_REQUEST_WATCH, "x");
    forget(f, x);
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
}

ZK_TEST_FROM(one_watch_for_all, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    ask(f, HF_REQUEST_WATCH, "x"); /* while the first is being set */
    assert_string_equal(zk_fixture_sent(f), "DATA q/x#2 w");
    data(f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(f), "WATCHING x; WATCHING x");
    ask(f, HF_REQUEST_WATCH, "x"); /* and when it is */
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
    ask(f, HF_REQUEST_WATCH, "y");
    data(f, "her", 2, 2);
    event(f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(f),
                        "WATCHING y; GONE x; GONE x; GONE x");
    event(f, HF_ZK_NODE_DELETED, "q/y#3");
    assert_string_equal(zk_fixture_events(f), "GONE y");
}

ZK_TEST_FROM(only_a_deletion_is_gone, queue_known(f))
{
    static const int32_t others[] = {HF_ZK_NODE_CREATED,
                                     HF_ZK_NODE_DATA_CHANGED, 5, 6, 99};

    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    (void)zk_fixture_sent(f);
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        event(f, others[i], "q/x#2");
        assert_string_equal(zk_fixture_sent(f), "DATA q/x#2 w");
        event(f, others[i], "q/x#2"); /* while it is being set anew */
        assert_string_equal(zk_fixture_sent(f), "");
        ask(f, HF_REQUEST_WATCH, "x");
        assert_string_equal(zk_fixture_events(f), "");
        data(f, "__REVOKED__", 2, 2);
        assert_string_equal(zk_fixture_events(f),
                            "WATCHING x"); /* the new one */
    }
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/x#2"); /* of another watch */
    event(f, -1, "q/x#2");                          /* of the session */
    event(f, 0, "q/x#2");
    assert_string_equal(zk_fixture_sent(f), "");
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    refused(f, HF_ZK_NO_NODE); /* it went before the watch was set anew */
    assert_string_equal(zk_fixture_events(f), "GONE x; GONE x; GONE x; GONE x; "
                                              "GONE x; GONE x");
}

static unsigned received;

static void count_received(struct hf_zk_watcher *watcher,
                           const struct hf_zk_watch_event *event)
{
    (void)watcher;
    (void)event;
    received++;
}

/* Watchers of another user of the session, at the path of our ticket and
 * elsewhere. */
TEST(watchers_of_another_are_let_alone)
{
    struct hf_zk_watcher elsewhere = {.fired = count_received, .path = "/z"};
    struct hf_zk_watcher there = {.fired = count_received};
    struct hf_zk_watch_set *set;
    char path[256];
    struct zk_fixture f;

    queue_known(&f);
    set = &hf_zk_engine_session(f.zk)->watches;
    ask(&f, HF_REQUEST_WATCH, "x");
    data(&f, "him", 2, 2);
    snprintf(path, sizeof path, "%s", set->first->path);
    there.path = path;
    event(&f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(&f), "WATCHING x; GONE x");
    (void)zk_fixture_sent(&f);
    received = 0;
    hf_zk_watch_set_add(set, &there);
    hf_zk_watch_set_add(set, &elsewhere);
    hf_zk_watcher_move(&there, HF_ZK_WATCHER_ARMED);
    hf_zk_watcher_move(&elsewhere, HF_ZK_WATCHER_ARMED);
    ask(&f, HF_REQUEST_WATCH, "x");
    assert_string_equal(zk_fixture_sent(&f), "DATA q/x#2 w");
    data(&f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(&f), "WATCHING x");
    event(&f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(&f), "GONE x");
    assert_int_equal(received, 1);
    zk_fixture_close(&f);
    assert_true(hf_zk_watcher_in_set(&there) &&
                hf_zk_watcher_in_set(&elsewhere));
}

/* A watch that was reported as WATCHING stays so, whatever the connection
 * does. */
ZK_TEST_FROM(setting_anew_can_be_cut, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    ask(f, HF_REQUEST_WATCH, "x"); /* waits for the same answer */
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED WATCH x RETRY");
    wake(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    assert_non_null(strstr(zk_fixture_sent(f), " q/x#2"));
    (void)zk_fixture_events(f);
    data(f, "him", 2, 3);
    event(f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(f), "GONE x");
}

/* Another answer has named the transaction by then, so a SETWATCHES does not
 * report it. */
ZK_TEST_FROM(what_was_being_read_is_read_on_the_next_connection, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    (void)zk_fixture_events(f);
    link_down(f, "reset");
    wake(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    assert_non_null(strstr(zk_fixture_sent(f), "DATA q/x#2 w"));
    (void)zk_fixture_events(f);
    data(f, "__REVOKE__", 2, 2);
    assert_string_equal(zk_fixture_events(f), "REVOKED x");
}

/* ---------------------------------------------------------- description -- */

/* Our ticket x, whose owner has a request to let go. */
static void asked(struct zk_fixture *f)
{
    zk_fixture_init(f);
    zk_fixture_connected(f);
    have_ticket(f, "x", 1, 2);
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "__REVOKE__", 2, 2);
    assert_non_null(strstr(zk_fixture_events(f), "WATCHING x; REVOKED x"));
    (void)zk_fixture_sent(f);
}

/* The event of our own write comes before its answer. */
ZK_TEST_FROM(what_was_received_is_overwritten, asked(f))
{
    ask(f, HF_REQUEST_DESCRIBE, "x");
    assert_string_equal(zk_fixture_sent(f), "SET q/x#1 v2 me");
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#1");
    data_written(f);
    assert_string_equal(zk_fixture_events(f), "DESCRIBED x found");
    assert_string_equal(zk_fixture_sent(f), "DATA q/x#1 w");
    data(f, "me", 2, 2);
    assert_string_equal(zk_fixture_events(f), "");
}

ZK_TEST_FROM(a_request_in_between_is_received, asked(f))
{
    ask(f, HF_REQUEST_DESCRIBE, "x");
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#1"); /* asked once more */
    refused(f, HF_ZK_BAD_VERSION);
    assert_string_equal(zk_fixture_events(f), "FAILED DESCRIBE x RETRY");
    ask(f, HF_REQUEST_DESCRIBE, "x"); /* while it is being read */
    assert_string_equal(zk_fixture_events(f), "FAILED DESCRIBE x RETRY");
    data(f, "__REVOKE__", 2, 2);
    assert_string_equal(zk_fixture_events(f), "REVOKED x");
    ask(f, HF_REQUEST_DESCRIBE, "x");
    data_written(f);
    assert_string_equal(zk_fixture_events(f), "DESCRIBED x found");
}

ZK_TEST_FROM(what_may_not_be_written_is_not, asked(f))
{
    ask(f, HF_REQUEST_DESCRIBE, "x");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED DESCRIBE x FATAL");
    ask(f, HF_REQUEST_DESCRIBE, "x");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED DESCRIBE x UNSURE");
}

/* In the order of the requests. */
ZK_TEST_FROM(a_removal_overtakes_nothing, asked(f))
{
    ask(f, HF_REQUEST_REMOVE, "x");
    ask(f, HF_REQUEST_DESCRIBE, "x");
    assert_string_equal(zk_fixture_events(f), "DESCRIBED x");
    done(f);
    assert_non_null(strstr(zk_fixture_events(f), "REMOVED x found"));
    ask(f, HF_REQUEST_DESCRIBE, "x");
    assert_string_equal(zk_fixture_events(f), "DESCRIBED x");
}

ZK_TEST_FROM(errors_fail_watches_without_an_answer, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH x FATAL");
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
    ask(f, HF_REQUEST_WATCH, "x");
    refused(f, HF_ZK_THROTTLED);
    assert_string_equal(zk_fixture_events(f),
                        "WATCHING x; FAILED WATCH x RETRY; SUSPENDED");
}

/* ---------------------------------------------------------------- forget -- */

TEST(forget_at_each_stage)
{
    struct hf_request *watch;
    struct zk_fixture f;

    for (int step = 0; step < 6; step++) {
        queue_known(&f);
        watch = ask(&f, HF_REQUEST_WATCH, "x");
        if (step == 0)
            forget(&f, watch); /* while it is asked for */
        data(&f, "him", 2, 2);
        if (step == 1)
            forget(&f, watch);
        if (step == 2 || step == 3) {
            event(&f, HF_ZK_NODE_DATA_CHANGED, "q/x#2");
            if (step == 2)
                forget(&f, watch); /* while it is asked for anew */
            data(&f, "him", 2, 2);
            if (step == 3)
                forget(&f, watch);
        }
        if (step == 4) {
            link_down(&f, "reset");
            forget(&f, watch);
            while (f.server == NULL)
                wake(&f);
            link_up(&f);
            (void)zk_fixture_sent(&f);
            accept_session(&f);
            assert_null(strstr(zk_fixture_sent(&f), "q/x#2"));
        }
        if (step == 5) {
            resume(&f);
            forget(&f, watch);
        }
        (void)zk_fixture_events(&f);
        event(&f, HF_ZK_NODE_DELETED, "q/x#2");
        assert_string_equal(zk_fixture_events(&f), "");
        zk_fixture_close(&f);
    }
}

/* The watch at the server still exists and is not set twice. */
ZK_TEST_FROM(what_was_forgotten_is_watched_again, queue_known(f))
{
    struct hf_request *watch;

    watch = ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    forget(f, watch);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
    watch = ask(f, HF_REQUEST_WATCH, "x");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
    forget(f, watch);
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/x#2"); /* now it is not */
    assert_string_equal(zk_fixture_sent(f), "");
    watch = ask(f, HF_REQUEST_WATCH, "x");
    assert_string_equal(zk_fixture_sent(f), "DATA q/x#2 w");
    forget(f, watch);
    ask(f, HF_REQUEST_WATCH, "x"); /* it is being set */
    assert_string_equal(zk_fixture_sent(f), "");
    data(f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
}

TEST(one_of_many_forgets)
{
    struct hf_request *watches[3];
    struct zk_fixture f;

    for (int which = 0; which < 3; which++) {
        queue_known(&f);
        for (int i = 0; i < 3; i++)
            watches[i] = ask(&f, HF_REQUEST_WATCH, "x");
        data(&f, "him", 2, 2);
        (void)zk_fixture_events(&f);
        forget(&f, watches[which]);
        event(&f, HF_ZK_NODE_DELETED, "q/x#2");
        assert_string_equal(zk_fixture_events(&f), "GONE x; GONE x");
        zk_fixture_close(&f);
    }
}

/* --------------------------------------------------- from inside an event */

static struct hf_request *others[8];
static enum hf_event_kind step_at;

/* On one event, take all other watches back, and watch y and x. */
static void forget_others(struct zk_fixture *f, const struct hf_event *event_)
{
    const struct hf_request *ended = NULL;

    if (event_->kind == HF_EVENT_GONE || event_->kind == HF_EVENT_FAILED)
        ended = event_->as.answer.request;
    for (int i = 0; i < 8; i++) {
        if (others[i] == ended)
            others[i] = NULL;
        if (others[i] != NULL && event_->kind == step_at) {
            forget(f, others[i]);
            others[i] = NULL;
        }
    }
    if (event_->kind != step_at)
        return;
    step_at = HF_EVENT_TICK; /* once */
    ask(f, HF_REQUEST_WATCH, "y");
    ask(f, HF_REQUEST_WATCH, "x");
}

TEST(watching_and_forgetting_inside_an_event)
{
    static const enum hf_event_kind kinds[] = {
        HF_EVENT_GONE, HF_EVENT_WATCHING, HF_EVENT_FAILED, HF_EVENT_SUSPENDED};
    struct zk_fixture f;

    for (size_t i = 0; i < 4; i++) {
        for (int gone_at_once = 0; gone_at_once < 2; gone_at_once++) {
            queue_known(&f);
            step_at = kinds[i];
            for (int k = 0; k < 8; k++)
                others[k] = ask(&f, HF_REQUEST_WATCH, k < 6 ? "x" : "z");
            f.event_hook = forget_others;
            if (gone_at_once)
                refused(&f, HF_ZK_NO_NODE);
            else
                data(&f, "him", 2, 2);
            if (f.first != NULL && f.first->opcode == HF_ZK_GET_DATA)
                data(&f, "z", 2, 2);
            event(&f, HF_ZK_NODE_DELETED, "q/x#2");
            link_down(&f, "reset");
            while (f.server == NULL)
                wake(&f);
            link_up(&f);
            refuse_session(&f);
            assert_int_equal(f.under_way, 0);
            zk_fixture_close(&f);
        }
    }
}

/* ---------------------------------------------------------------- resume -- */

ZK_TEST_FROM(watches_are_set_again_before_all_else, queue_known(f))
{
    strcpy(f->config.url.session.auth, "");
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    ask(f, HF_REQUEST_WATCH, "y");
    f->zxid = 0x40;
    data(f, "her", 2, 2);
    link_down(f, "reset");
    wake(f);
    link_up(f);
    (void)zk_fixture_events(f);
    assert_non_null(strstr(zk_fixture_sent(f), "HANDSHAKE 0x40 "));
    /* The last zxid before the disconnect, in the write that follows the
     * answer to the handshake, before the host could make a request. */
    accept_session(f);
    ask(f, HF_REQUEST_LIST, "a");
    {
        const char *sent = zk_fixture_sent(f);

        assert_int_equal(strncmp(sent, "SETWATCHES 0x40 q/", 18), 0);
        assert_non_null(strstr(sent, "q/x#2"));
        assert_non_null(strstr(sent, "q/y#3"));
        assert_null(strstr(sent, "q/z#4"));
        assert_non_null(strstr(sent, " | LIST q"));
    }
    header(f, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    event(f, HF_ZK_NODE_DELETED, "q/x#2"); /* what it missed */
    children(f, "y#3 a#9");
    data(f, "her", 2, 2);
    event(f, HF_ZK_NODE_DELETED, "q/y#3");
    assert_string_equal(zk_fixture_events(f) + strlen("RESUMED 10000 1000"),
                        "; GONE x; LISTED a: y#3=her a#9@17; GONE y");
}

/* The answer to one packet says nothing about the others. */
ZK_TEST_FROM(a_cut_among_the_packets, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    for (int i = 0; i < 3; i++) {
        resume(f);
        link_down(f, "reset");
        wake(f);
        link_up(f);
        (void)zk_fixture_sent(f);
        accept_session(f);
        assert_non_null(strstr(zk_fixture_sent(f), "q/x#2"));
    }
    (void)zk_fixture_events(f);
    event(f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(f), "GONE x");
}

/* For a node that does not exist any more the answer to a packet is an event,
 * as for one that is deleted now. */
ZK_TEST_FROM(fn39_fn51_gone_while_away, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "a");
    data(f, "me", 17, f->session);
    resume(f);
    hold_answers(f);
    event(f, HF_ZK_NODE_DELETED, "q/a#9");
    header(f, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
    deliver_answers(f);
    assert_string_equal(zk_fixture_events(f), "GONE a");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "DATA q | MULTI /");
}

/* The loss is reported first, whatever is read then; and what is said of
 * another ticket, or by other programs, is of no meaning. */
TEST(who_evicted_it_is_read_after_the_loss)
{
    static const struct {
        const char *ticket, *before, *logged;
    } rows[] = {
        {"a", "holdfast evicted ",
         "the lock at /q: its ticket was evicted by me"},
        {"b", "holdfast evicted ", ""},
        {"a", "holdfast evicts ", ""},
        {"", "", ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char id[HF_TICKET_ID_TEXT_BYTES], text[128] = "";
        struct hf_ticket_id ticket;
        struct zk_fixture f;

        queue_known(&f);
        ask(&f, HF_REQUEST_WATCH, "a");
        data(&f, "me", 17, f.session);
        event(&f, HF_ZK_NODE_DELETED, "q/a#9");
        assert_string_equal(zk_fixture_events(&f), "WATCHING a; GONE a");
        assert_string_equal(zk_fixture_sent(&f), "DATA q/a#9 w | DATA q");
        f.logged_digests[0] = '\0';
        if (rows[i].ticket[0] != '\0') {
            ticket = zk_fixture_id(rows[i].ticket);
            hf_ticket_id_format(&ticket, id);
            (void)snprintf(text, sizeof text, "%s%s by me", rows[i].before, id);
        }
        data(&f, text, 5, 0);
        assert_string_equal(f.logged_digests, rows[i].logged);
        assert_string_equal(zk_fixture_events(&f), "");
        zk_fixture_close(&f);
    }
}

ZK_TEST_FROM(a_lost_session_ends_watches_in_silence, queue_known(f))
{
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    link_down(f, "reset");
    wake(f);
    link_up(f);
    refuse_session(f);
    (void)zk_fixture_sent(f);
    link_up(f);
    accept_session_as(f, 10000, 9);
    (void)zk_fixture_events(f);
    assert_null(strstr(zk_fixture_sent(f), "SETWATCHES"));
    event(f, HF_ZK_NODE_DELETED, "q/x#2");
    assert_string_equal(zk_fixture_events(f), "");
}

/* .lost of another listener, which has watchers of its own. */
static void lose_watches(void *user, const char *why)
{
    (void)why;
    hf_zk_watch_set_session_lost(user);
}

/* It was added later, so our watches are gone by then. */
ZK_TEST_FROM(a_lost_session_notifies_only_watchers_of_others, queue_known(f))
{
    static struct hf_zk_watcher elsewhere = {.fired = count_received,
                                             .path = "/z"};
    static struct hf_zk_listener other = {.lost = lose_watches};
    struct hf_zk_session *session;

    session = hf_zk_engine_session(f->zk);
    other.user = &session->watches;
    hf_zk_listeners_add(&session->listeners, &other);
    hf_zk_watch_set_add(&session->watches, &elsewhere);
    hf_zk_watcher_move(&elsewhere, HF_ZK_WATCHER_ARMED);
    ask(f, HF_REQUEST_WATCH, "x");
    data(f, "him", 2, 2);
    link_down(f, "reset");
    wake(f);
    link_up(f);
    (void)zk_fixture_events(f);
    received = 0;
    refuse_session(f);
    assert_string_equal(zk_fixture_events(f), "LOST");
    assert_int_equal(received, 1);
    assert_ptr_equal(session->watches.first, &elsewhere);
}

#define MANY 10000

static char many_list[MANY * 16];

static void ask_for_many(struct zk_fixture *f)
{
    size_t used = 0;
    char name[16];

    for (int i = 0; i < MANY; i++)
        used += (size_t)snprintf(many_list + used, sizeof many_list - used,
                                 "n%d#%d ", i, i);
    zk_fixture_connected(f);
    have_ticket(f, "a", MANY, 17);
    ask(f, HF_REQUEST_LIST, "a");
    strcat(many_list, "a#10000");
    children(f, many_list);
    data(f, "head", 1, 1);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ask(f, HF_REQUEST_WATCH, name);
    }
    assert_int_equal(f->under_way, MANY);
    while (f->first != NULL)
        data(f, "", 1, 1);
    assert_int_equal(f->under_way, 0);
    assert_int_equal(f->answered, MANY + 2);
}

ZK_TEST_FROM(many_watches_need_many_packets, ask_for_many(f))
{
    size_t before;

    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    f->longest_frame = 0;
    before = f->frames;
    accept_session(f);
    /* Of 10,000 paths of 53 bytes with their lengths: five packets, none of
     * them near the megabyte that servers refuse. */
    assert_in_range(f->longest_frame, 100 << 10, 129 << 10);
    assert_in_range(f->frames - before, 4, 6);
    ask(f, HF_REQUEST_END, "");
    done(f);
    assert_true(f->closed);
}
