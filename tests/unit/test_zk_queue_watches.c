/* SPDX-License-Identifier: Apache-2.0 */
/* Queue watches: a list, and the event when it has changed. */
#include <stdint.h>
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

ZK_TEST(nobody_ever_does_not_change)
{
    struct hf_request *look;

    look = ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "LISTED z:");
    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    assert_string_equal(zk_fixture_sent(f), ""); /* nothing to be set again */
    (void)zk_fixture_events(f);
    forget(f, look);
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

static struct hf_request *looks[2];

static void forget_it(struct zk_fixture *f, const struct hf_event *event)
{
    if (event->kind == HF_EVENT_LISTED)
        forget(f, looks[0]);
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
