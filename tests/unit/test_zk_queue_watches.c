/* SPDX-License-Identifier: Apache-2.0 */
/* Queue watches: a list, and the event when it has changed. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

/* Watch the queue q, which has x and y; the list was reported. */
static struct hf_request *queue_watch_events(struct zk_fixture *f)
{
    struct hf_request *look;

    zk_fixture_connected(f);
    look = ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    assert_string_equal(zk_fixture_sent(f), "LIST q w");
    children(f, "x/l#1 x/l#2 y/l#3");
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f), "DATA q/x/l#1");
    data(f, "him", 2, 2);
    assert_string_equal(zk_fixture_events(f), "LISTED z: x/l#1*2=him y/l#3");
    return look;
}

ZK_TEST_FROM(a_change_is_reported_once, queue_watch_events(f))
{
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "r/");
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/"); /* not of its children */
    assert_string_equal(zk_fixture_events(f), "");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f), "");
}

ZK_TEST_FROM(the_end_of_the_queue_is_a_change, queue_watch_events(f))
{
    event(f, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z");
}

/* Each has its own list, and all share one watch. */
ZK_TEST_FROM(several_may_look, queue_watch_events(f))
{
    ask(f, HF_REQUEST_WATCH_QUEUE, "w");
    assert_string_equal(zk_fixture_sent(f), "LIST q w");
    children(f, "x/l#1 x/l#2"); /* whose x is known */
    assert_string_equal(zk_fixture_events(f), "LISTED w: x/l#1*2=him");
    ask(f, HF_REQUEST_WATCH_QUEUE, "v");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f),
                        "QUEUE_CHANGED w; QUEUE_CHANGED z");
    children(f, "x/l#1 x/l#2");
    assert_string_equal(zk_fixture_events(f), "LISTED v: x/l#1*2=him");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED v");
}

/* Between the list and the calls after it. */
ZK_TEST(a_change_before_the_answer_is_reported_behind_it)
{
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    children(f, "x/l#1");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f), "");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f),
                        "LISTED z: x/l#1; QUEUE_CHANGED z");
}

static struct hf_request *looks[2];

static void forget_it(struct zk_fixture *f, const struct hf_event *event)
{
    if (event->kind == HF_EVENT_LISTED)
        forget(f, looks[0]);
}

/* Watch the queue q, which has no node; the list was reported. */
static struct hf_request *missing_queue_listed(struct zk_fixture *f,
                                               const char *ticket)
{
    struct hf_request *look = ask(f, HF_REQUEST_WATCH_QUEUE, ticket);
    char listed[32];

    assert_string_equal(zk_fixture_sent(f), "LIST q w");
    refused(f, HF_ZK_NO_NODE);
    (void)snprintf(listed, sizeof listed, "LISTED %s:", ticket);
    assert_string_equal(zk_fixture_events(f), listed);
    return look;
}

/* The same, and the watch for its creation was set. */
static struct hf_request *missing_queue_watched(struct zk_fixture *f)
{
    struct hf_request *look = missing_queue_listed(f, "z");

    assert_string_equal(zk_fixture_sent(f), "EXISTS q w");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "");
    return look;
}

/* What a new connection sends first. */
static const char *resumed(struct zk_fixture *f)
{
    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    (void)zk_fixture_events(f);
    return zk_fixture_sent(f);
}

/* One watch serves all. */
ZK_TEST(a_queue_that_is_created_has_changed)
{
    (void)missing_queue_watched(f);
    (void)missing_queue_listed(f, "y");
    assert_string_equal(zk_fixture_sent(f), "");
    event(f, HF_ZK_NODE_CREATED, "q/");
    assert_string_equal(zk_fixture_events(f),
                        "QUEUE_CHANGED y; QUEUE_CHANGED z");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    event(f, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f), "");
}

/* What was created with it is not known. */
ZK_TEST(a_queue_that_is_created_behind_its_list_has_changed)
{
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    ask(f, HF_REQUEST_WATCH_QUEUE, "y");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "LISTED z:; LISTED y:");
    assert_string_equal(zk_fixture_sent(f), "LIST q w | LIST q w | EXISTS q w");
    exists(f, 2, 0);
    assert_string_equal(zk_fixture_events(f),
                        "QUEUE_CHANGED y; QUEUE_CHANGED z");
    assert_string_equal(zk_fixture_sent(f), "UNWATCH q 2");
    done(f);
}

/* It might never be created. */
ZK_TEST(the_server_forgets_a_watch_of_what_is_missing)
{
    struct hf_request *both[] = {missing_queue_watched(f),
                                 missing_queue_listed(f, "y")};

    forget(f, both[0]);
    assert_string_equal(zk_fixture_sent(f), "");
    forget(f, both[1]);
    assert_string_equal(zk_fixture_sent(f), "UNWATCH q 2");
    done(f);
    assert_string_equal(resumed(f), ""); /* nothing to be set again */
}

ZK_TEST(a_look_at_what_is_missing_can_be_taken_back)
{
    struct hf_request *look = ask(f, HF_REQUEST_WATCH_QUEUE, "z");

    forget(f, look); /* before its list */
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "LIST q w");
    assert_string_equal(zk_fixture_events(f), "");
    looks[0] = ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    f->event_hook = forget_it; /* in its answer */
    refused(f, HF_ZK_NO_NODE);
    f->event_hook = NULL;
    assert_string_equal(zk_fixture_sent(f), "LIST q w");
    assert_string_equal(zk_fixture_events(f), "LISTED z:");
    look = missing_queue_listed(f, "z");
    forget(f, look); /* before its watch is set */
    assert_string_equal(zk_fixture_sent(f), "EXISTS q w");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "UNWATCH q 2");
    assert_string_equal(zk_fixture_events(f), "");
}

ZK_TEST(what_is_missing_is_watched_on_the_next_connection)
{
    (void)missing_queue_watched(f);
    assert_string_equal(resumed(f), "SETWATCHES 0x2 q?");
    event(f, HF_ZK_NODE_CREATED, "q/");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z");
}

/* The next connection asks. */
ZK_TEST(a_watch_of_what_is_missing_is_cut)
{
    (void)missing_queue_listed(f, "z");
    assert_string_equal(zk_fixture_sent(f), "EXISTS q w");
    assert_string_equal(resumed(f), "EXISTS q w");
    refused(f, HF_ZK_NO_NODE);
    event(f, HF_ZK_NODE_CREATED, "q/");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z");
}

/* Then the list fails, too, and says why. */
ZK_TEST(a_watch_of_what_is_missing_is_refused)
{
    (void)missing_queue_listed(f, "z");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z");
}

TEST(a_look_can_be_taken_back)
{
    struct zk_fixture f;
    struct hf_request *look;

    look = queue_watch_events(&f);
    forget(&f, look);
    look = ask(&f, HF_REQUEST_WATCH_QUEUE, "w"); /* before its list */
    forget(&f, look);
    children(&f, "y/l#3");
    look = ask(&f, HF_REQUEST_WATCH_QUEUE,
               "v"); /* between the list and the rest */
    children(&f, "u/l#3");
    assert_string_equal(zk_fixture_sent(&f),
                        "LIST q w | LIST q w | DATA q/u/l#3");
    forget(&f, look);
    data(&f, "him", 1, 1);
    event(&f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(&f), "");
    ask(&f, HF_REQUEST_WATCH_QUEUE, "z");
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "LISTED z:");
    zk_fixture_close(&f);
}

static void forget_the_other(struct zk_fixture *f, const struct hf_event *event)
{
    f->event_hook = NULL;
    assert_int_equal(event->kind, HF_EVENT_QUEUE_CHANGED);
    forget(f, event->as.answer.request == looks[0] ? looks[1] : looks[0]);
}

ZK_TEST(it_can_be_taken_back_in_its_answer)
{
    looks[0] = ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    f->event_hook = forget_it;
    children(f, "x/l#1");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    data(f, "him", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED z: x/l#1=him");
}

TEST(one_can_be_taken_back_in_another_s_end)
{
    struct zk_fixture f;
    const char *events;

    looks[0] = queue_watch_events(&f);
    looks[1] = ask(&f, HF_REQUEST_WATCH_QUEUE, "w");
    children(&f, "x/l#1 x/l#2");
    (void)zk_fixture_events(&f);
    f.event_hook = forget_the_other;
    event(&f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    events = zk_fixture_events(&f);
    assert_true(strcmp(events, "QUEUE_CHANGED w") == 0 ||
                strcmp(events, "QUEUE_CHANGED z") == 0);
    zk_fixture_close(&f);
}

static void look_again(struct zk_fixture *f, const struct hf_event *event)
{
    if (event->kind == HF_EVENT_QUEUE_CHANGED)
        (void)ask(f, HF_REQUEST_WATCH_QUEUE, "w");
}

/* What is known of the head serves the next queue watch. */
ZK_TEST_FROM(one_may_look_again_in_its_end, queue_watch_events(f))
{
    f->event_hook = look_again;
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_sent(f), "LIST q w");
    children(f, "x/l#1 x/l#2");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f),
                        "QUEUE_CHANGED z; LISTED w: x/l#1*2=him");
}

/* In the third list of SETWATCHES; those of nodes are in the first. */
ZK_TEST_FROM(looks_are_set_again, queue_watch_events(f))
{
    ask(f, HF_REQUEST_WATCH, "y");
    data(f, "her", 1, 1);
    assert_string_equal(zk_fixture_events(f), "WATCHING y");
    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    assert_string_equal(zk_fixture_sent(f), "SETWATCHES 0x3 q/y/l#3 q/");
    (void)zk_fixture_events(f);
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    event(f, HF_ZK_NODE_DELETED, "q/y/l#3");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z; GONE y");
}

ZK_TEST(what_a_look_may_be_answered)
{
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE z FATAL");
    assert_int_equal(f->status, HF_EDENIED);
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    answer_with(f, "\0\0\0\1", 4);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE z RETRY");
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED WATCH_QUEUE z RETRY");
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE z RETRY");
}
