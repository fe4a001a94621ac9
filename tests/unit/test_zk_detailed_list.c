/* SPDX-License-Identifier: Apache-2.0 */
/* Lists for people: all there is to know of every ticket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

/* Somebody wants to see the queue q, and the list of it is to come. */
static void begin(struct stage *s)
{
    stage_connected(s);
    s->whole = true;
    ask(s, HF_REQUEST_LIST, "z");
    assert_string_equal(stage_sent(s), "SYNC q; LIST q");
    done(s);
}

static void each_ticket_is_asked_about(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    children(&s, "y#2 x#1");
    assert_string_equal(stage_sent(&s), "DATA q/y#2; DATA q/x#1");
    data(&s, "her", 18, 1);
    data(&s, "him", 17, 1);
    assert_string_equal(stage_told(&s), "LISTED z: x#1@17=him y#2@18=her");
    stage_close(&s);
}

static void who_has_gone_since_is_not_shown(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    children(&s, "x#1 y#2");
    refused(&s, HF_ZK_NO_NODE);
    data(&s, "her", 18, 1);
    assert_string_equal(stage_told(&s), "LISTED z: y#2@18=her");
    stage_close(&s);
}

static void who_may_not_read_is_told_what_to_look_at(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    (void)snprintf(s.config.session.auth, sizeof s.config.session.auth, "u:p");
    assert_true(stage_open(&s));
    link_up(&s);
    accept_session(&s);
    s.whole = true;
    ask(&s, HF_REQUEST_LIST, "z");
    done(&s);
    refused(&s, HF_ZK_NO_AUTH);
    assert_non_null(strstr(s.text, "our user and password"));
    stage_close(&s);
}

/* A ticket that nobody may read, too. */
static void what_it_may_be_answered(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED LIST z FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    stage_close(&s);
    begin(&s);
    children(&s, "x#1 y#2");
    refused(&s, HF_ZK_NO_AUTH);
    data(&s, "her", 18, 1);
    assert_string_equal(stage_told(&s), "FAILED LIST z FATAL");
    stage_close(&s);
    begin(&s);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED LIST z RETRY");
    stage_close(&s);
}

static void nothing_is_asked_behind_a_goodbye(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    ask(&s, HF_REQUEST_END, "");
    (void)stage_sent(&s);
    children(&s, "x#1");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "FAILED LIST z RETRY");
    stage_close(&s);
}

static void names_that_are_none(void **state)
{
    static const uint8_t one_is_null[] = {0,   0, 0, 2, 255, 255, 255,
                                          255, 0, 0, 0, 1,   'x'};
    static const uint8_t cut_off[] = {0, 0, 0, 2, 0, 0, 0, 9, 'x', 0, 0, 0};
    struct stage s;

    (void)state;
    begin(&s);
    answer_with(&s, one_is_null, sizeof one_is_null);
    assert_string_equal(stage_told(&s), "LISTED z:");
    stage_close(&s);
    begin(&s);
    answer_with(&s, cut_off, sizeof cut_off);
    assert_string_equal(stage_told(&s), "FAILED LIST z RETRY");
    stage_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_ticket_is_asked_about),
        cmocka_unit_test(who_has_gone_since_is_not_shown),
        cmocka_unit_test(who_may_not_read_is_told_what_to_look_at),
        cmocka_unit_test(what_it_may_be_answered),
        cmocka_unit_test(nothing_is_asked_behind_a_goodbye),
        cmocka_unit_test(names_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
