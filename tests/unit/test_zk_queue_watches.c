/* SPDX-License-Identifier: Apache-2.0 */
/* Looks: a list, and the news that it has changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

/* A look at q, where there are x and y, has been told. */
static struct hf_request *look_told(struct stage *s)
{
    struct hf_request *look;

    stage_connected(s);
    look = ask(s, HF_REQUEST_WATCH_QUEUE, "z");
    assert_string_equal(stage_sent(s), "LIST q w");
    children(s, "x/l#1 x/l#2 y/l#3");
    assert_string_equal(stage_told(s), "");
    assert_string_equal(stage_sent(s), "DATA q/x/l#1");
    data(s, "him", 2, 2);
    assert_string_equal(stage_told(s), "LISTED z: x/l#1*2=him y/l#3");
    return look;
}

static void a_change_is_told_once(void **state)
{
    struct stage s;

    (void)state;
    look_told(&s);
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "r/");
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/"); /* not of its children */
    assert_string_equal(stage_told(&s), "");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED z");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "");
    assert_string_equal(stage_sent(&s), "");
    stage_close(&s);
}

static void the_end_of_the_queue_is_a_change(void **state)
{
    struct stage s;

    (void)state;
    look_told(&s);
    event(&s, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED z");
    stage_close(&s);
}

/* Each has its own list, and all one watch. */
static void several_may_look(void **state)
{
    struct stage s;

    (void)state;
    look_told(&s);
    ask(&s, HF_REQUEST_WATCH_QUEUE, "w");
    assert_string_equal(stage_sent(&s), "LIST q w");
    children(&s, "x/l#1 x/l#2"); /* whose x is known */
    assert_string_equal(stage_told(&s), "LISTED w: x/l#1*2=him");
    ask(&s, HF_REQUEST_WATCH_QUEUE, "v");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED w; QUEUE_CHANGED z");
    children(&s, "x/l#1 x/l#2");
    assert_string_equal(stage_told(&s), "LISTED v: x/l#1*2=him");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED v");
    stage_close(&s);
}

/* Between the list and what is asked besides. */
static void a_change_before_the_answer_is_told_behind_it(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    children(&s, "x/l#1");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "LISTED z: x/l#1; QUEUE_CHANGED z");
    stage_close(&s);
}

static void nobody_ever_does_not_change(void **state)
{
    struct stage s;
    struct hf_request *look;

    (void)state;
    stage_connected(&s);
    look = ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "LISTED z:");
    link_down(&s, "reset");
    while (s.server == NULL)
        ring(&s);
    link_up(&s);
    (void)stage_sent(&s);
    accept_session(&s);
    assert_string_equal(stage_sent(&s), ""); /* nothing to be set again */
    (void)stage_told(&s);
    forget(&s, look);
    stage_close(&s);
}

static void a_look_can_be_taken_back(void **state)
{
    struct stage s;
    struct hf_request *look;

    (void)state;
    look = look_told(&s);
    forget(&s, look);
    look = ask(&s, HF_REQUEST_WATCH_QUEUE, "w"); /* before its list */
    forget(&s, look);
    children(&s, "y/l#3");
    look = ask(&s, HF_REQUEST_WATCH_QUEUE,
               "v"); /* between the list and the rest */
    children(&s, "u/l#3");
    assert_string_equal(stage_sent(&s), "LIST q w | LIST q w | DATA q/u/l#3");
    forget(&s, look);
    data(&s, "him", 1, 1);
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "");
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    children(&s, "");
    assert_string_equal(stage_told(&s), "LISTED z:");
    stage_close(&s);
}

static struct hf_request *looks[2];

static void forget_it(struct stage *s, const struct hf_event *event)
{
    if (event->kind == HF_EVENT_LISTED)
        forget(s, looks[0]);
}

static void forget_the_other(struct stage *s, const struct hf_event *event)
{
    s->then = NULL;
    assert_int_equal(event->kind, HF_EVENT_QUEUE_CHANGED);
    forget(s, event->as.answer.request == looks[0] ? looks[1] : looks[0]);
}

static void it_can_be_taken_back_in_its_answer(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    looks[0] = ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    s.then = forget_it;
    children(&s, "x/l#1");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    data(&s, "him", 1, 1);
    assert_string_equal(stage_told(&s), "LISTED z: x/l#1=him");
    stage_close(&s);
}

static void one_can_be_taken_back_in_another_s_end(void **state)
{
    struct stage s;
    const char *told;

    (void)state;
    looks[0] = look_told(&s);
    looks[1] = ask(&s, HF_REQUEST_WATCH_QUEUE, "w");
    children(&s, "x/l#1 x/l#2");
    (void)stage_told(&s);
    s.then = forget_the_other;
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    told = stage_told(&s);
    assert_true(strcmp(told, "QUEUE_CHANGED w") == 0 ||
                strcmp(told, "QUEUE_CHANGED z") == 0);
    stage_close(&s);
}

static void look_again(struct stage *s, const struct hf_event *event)
{
    if (event->kind == HF_EVENT_QUEUE_CHANGED)
        (void)ask(s, HF_REQUEST_WATCH_QUEUE, "w");
}

/* What is known of the head serves whoever looks again at once. */
static void one_may_look_again_in_its_end(void **state)
{
    struct stage s;

    (void)state;
    look_told(&s);
    s.then = look_again;
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_sent(&s), "LIST q w");
    children(&s, "x/l#1 x/l#2");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s),
                        "QUEUE_CHANGED z; LISTED w: x/l#1*2=him");
    stage_close(&s);
}

/* In the third list, with those of nodes in the first. */
static void looks_are_set_again(void **state)
{
    struct stage s;

    (void)state;
    look_told(&s);
    ask(&s, HF_REQUEST_WATCH, "y");
    data(&s, "her", 1, 1);
    assert_string_equal(stage_told(&s), "WATCHING y");
    link_down(&s, "reset");
    while (s.server == NULL)
        ring(&s);
    link_up(&s);
    (void)stage_sent(&s);
    accept_session(&s);
    assert_string_equal(stage_sent(&s), "SETWATCHES 0x3 q/y/l#3 q/");
    (void)stage_told(&s);
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    event(&s, HF_ZK_NODE_DELETED, "q/y/l#3");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED z; GONE y");
    stage_close(&s);
}

static void what_a_look_may_be_answered(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    answer_with(&s, "\0\0\0\1", 4);
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z RETRY");
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED WATCH_QUEUE z RETRY");
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z RETRY");
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_told_once),
        cmocka_unit_test(the_end_of_the_queue_is_a_change),
        cmocka_unit_test(several_may_look),
        cmocka_unit_test(a_change_before_the_answer_is_told_behind_it),
        cmocka_unit_test(nobody_ever_does_not_change),
        cmocka_unit_test(a_look_can_be_taken_back),
        cmocka_unit_test(it_can_be_taken_back_in_its_answer),
        cmocka_unit_test(one_can_be_taken_back_in_another_s_end),
        cmocka_unit_test(one_may_look_again_in_its_end),
        cmocka_unit_test(looks_are_set_again),
        cmocka_unit_test(what_a_look_may_be_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
