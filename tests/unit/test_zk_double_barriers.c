/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a double barrier, and the mark that they stamp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

static void begin(struct stage *s)
{
    stage_connected(s);
    s->kind = HF_TICKET_PARTICIPANT;
    s->limit = 2;
}

/* x came in 17, and nobody else is there. */
static void come(struct stage *s)
{
    ask(s, HF_REQUEST_ENQUEUE, "x");
    assert_string_equal(stage_sent(s), "CREATE2 q/x/m; LIST q");
    came(s, 17);
    assert_string_equal(stage_told(s), "");
    children(s, "x/m");
    assert_string_equal(stage_sent(s), "EXISTS q/ready");
    refused(s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(s), "ENQUEUED x: x/m@17");
}

/* --------------------------------------------------------------- coming -- */

static void a_member_is_one_plain_node(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "x"); /* there already */
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "x/m");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "ENQUEUED x: x/m@17");
    ask(&s, HF_REQUEST_REMOVE, "x");
    assert_string_equal(stage_sent(&s), "EXISTS q/ready | DELETE q/x/m");
    done(&s);
    assert_string_equal(stage_told(&s), "REMOVED x found");
    stage_close(&s);
}

/* In the order in which they came, whatever they are called. */
static void what_a_list_does_not_tell_is_asked_once(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "a/m x/m ready b/m");
    assert_string_equal(stage_sent(&s),
                        "LIST q | EXISTS q/ready; EXISTS q/a/m; EXISTS q/b/m");
    exists(&s, 19, 0);
    exists(&s, 18, 7);
    exists(&s, 12, 7);
    assert_string_equal(stage_told(&s),
                        "LISTED x: b/m@12 x/m@17 a/m@18 ready@19");
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "a/m x/m b/m ready");
    assert_string_equal(stage_sent(&s), "LIST q | EXISTS q/ready");
    exists(&s, 23, 0);
    assert_string_equal(stage_told(&s),
                        "LISTED x: b/m@12 x/m@17 a/m@18 ready@23");
    stage_close(&s);
}

static void who_has_gone_since_is_not_shown(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "a/m x/m b/m");
    refused(&s, HF_ZK_NO_NODE);
    exists(&s, 18, 7);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "LISTED x: x/m@17 a/m@18");
    stage_close(&s);
}

/* One step after the other, each of a few calls. */
static void many_members_are_asked_about_in_turns(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "a/m b/m c/m d/m e/m f/m g/m x/m");
    assert_string_equal(stage_sent(&s),
                        "LIST q | EXISTS q/ready; EXISTS q/a/m; EXISTS q/b/m; "
                        "EXISTS q/c/m; EXISTS q/d/m; EXISTS q/e/m");
    refused(&s, HF_ZK_NO_NODE);
    for (int i = 1; i <= 5; i++)
        exists(&s, i, 7);
    assert_string_equal(stage_told(&s), "");
    assert_string_equal(stage_sent(&s), "EXISTS q/f/m; EXISTS q/g/m");
    exists(&s, 6, 7);
    exists(&s, 7, 7);
    assert_string_equal(stage_told(&s),
                        "LISTED x: a/m@1 b/m@2 c/m@3 d/m@4 e/m@5 f/m@6 g/m@7 "
                        "x/m@17");
    stage_close(&s);
}

/* Whose names are not a UUID and nothing else. */
static void what_is_no_member_does_not_count(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "a#4 b/l#5 x/m strange Ready ready2 "
                 "61616161-6161-6161-6161-61616161616 "
                 "61616161-6161-6161-6161-616161616161-");
    assert_string_equal(stage_sent(&s), "LIST q | EXISTS q/ready");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "LISTED x: x/m@17");
    s.kind = HF_TICKET_MUTEX; /* nor is a member a ticket of a lock */
    ask(&s, HF_REQUEST_LIST, "z");
    done(&s);
    children(&s, "a#4 x/m ready");
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q | DATA q/a#4");
    data(&s, "him", 4, 7);
    assert_string_equal(stage_told(&s), "LISTED z: a#4=him");
    stage_close(&s);
}

static void parents_are_made_when_they_are_missing(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "x");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "CREATE2 q/x/m; LIST q | "
                                        "CONTAINER q; CREATE2 q/x/m; LIST q");
    done(&s);
    came(&s, 17);
    children(&s, "x/m");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "ENQUEUED x: x/m@17");
    stage_close(&s);
}

static void nobody_is_there_where_there_is_no_node(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    done(&s);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "LISTED x:");
    stage_close(&s);
}

/* ---------------------------------------------------------- lost answers -- */

/* The create of x got no answer; the session goes on. */
static void be_unsure(struct stage *s)
{
    begin(s);
    ask(s, HF_REQUEST_ENQUEUE, "x");
    link_down(s, "reset");
    assert_string_equal(stage_told(s), "SUSPENDED; FAILED ENQUEUE x UNSURE");
    resume(s);
}

static void one_without_an_answer_is_found(void **state)
{
    struct stage s;

    (void)state;
    be_unsure(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
    done(&s);
    children(&s, "x/m a/m");
    assert_string_equal(stage_sent(&s), "EXISTS q/x/m");
    exists(&s, 17, s.session);
    assert_string_equal(stage_sent(&s), "EXISTS q/ready; EXISTS q/a/m");
    refused(&s, HF_ZK_NO_NODE);
    exists(&s, 3, 7);
    assert_string_equal(stage_told(&s), "LISTED x: a/m@3 x/m@17");
    stage_close(&s);
}

/* What is left of another session counts for others, not as ours. */
static void one_of_another_session_is_not_ours(void **state)
{
    const char *told;
    struct stage s;

    (void)state;
    be_unsure(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    done(&s);
    children(&s, "x/m");
    exists(&s, 17, 7);
    refused(&s, HF_ZK_NO_NODE);
    exists(&s, 17, 7);
    told = stage_told(&s);
    assert_null(strstr(told, " x/m"));
    assert_non_null(strstr(told, "/m@17"));
    stage_close(&s);
}

static void one_that_never_came_is_not_found(void **state)
{
    struct stage s;

    (void)state;
    be_unsure(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    done(&s);
    children(&s, "a/m");
    refused(&s, HF_ZK_NO_NODE);
    exists(&s, 3, 7);
    assert_string_equal(stage_told(&s), "LISTED x: a/m@3");
    stage_close(&s);
}

static void what_the_questions_may_be_answered(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "x/m a/m");
    refused(&s, HF_ZK_NO_AUTH); /* about the mark */
    exists(&s, 3, 7);
    assert_string_equal(stage_told(&s), "FAILED LIST x FATAL");
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "x/m b/m");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_AUTH); /* about b */
    assert_string_equal(stage_told(&s), "FAILED LIST x FATAL");
    ask(&s, HF_REQUEST_LIST, "x");
    children(&s, "x/m b/m");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED LIST x RETRY");
    stage_close(&s);
}

/* ---------------------------------------------------------------- stamp -- */

/* x, y and z are there, and stamp for two; the mark is there since ${mark}. */
static void begin_stamp(struct stage *s, int64_t mark)
{
    (void)stage_sent(s);
    ask(s, HF_REQUEST_NEW_GENERATION, "x");
    assert_string_equal(stage_sent(s), "LIST q; EXISTS q/ready");
    children(s, "z/m x/m y/m");
    if (mark > 0)
        exists(s, mark, 0);
    else
        refused(s, HF_ZK_NO_NODE);
}

static void a_stamp_is_one_transaction(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    begin_stamp(&s, 0);
    assert_string_equal(stage_sent(&s), "MULTI q/x/m q/z/m +q/ready");
    assert_string_equal(stage_told(&s), "");
    stamped(&s);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED");
    begin_stamp(&s, 19);
    assert_string_equal(stage_sent(&s), "MULTI q/x/m q/z/m -q/ready +q/ready");
    stamped(&s);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED found");
    stage_close(&s);
}

static void so_many_are_checked_as_are_waited_for(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    s.limit = 1;
    begin_stamp(&s, 0);
    assert_string_equal(stage_sent(&s), "MULTI q/x/m +q/ready");
    stamped(&s);
    s.limit = 3;
    begin_stamp(&s, 0);
    assert_string_equal(stage_sent(&s), "MULTI q/x/m q/z/m q/y/m +q/ready");
    stamped(&s);
    (void)stage_told(&s);
    s.limit = 4;
    begin_stamp(&s, 0);
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x RETRY");
    stage_close(&s);
}

static void who_is_not_there_stamps_nothing(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    ask(&s, HF_REQUEST_NEW_GENERATION, "x");
    children(&s, "z/m y/m");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "LIST q; EXISTS q/ready");
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x RETRY");
    ask(&s, HF_REQUEST_NEW_GENERATION, "x");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x RETRY");
    stage_close(&s);
}

/* Whatever it was, the core looks again. */
static void what_may_come_between(void **state)
{
    static const struct {
        int32_t nth;
        int32_t error;
    } faults[] = {
        {0, HF_ZK_NO_NODE},
        {1, HF_ZK_NO_NODE},
        {2, HF_ZK_NO_NODE},
        {3, HF_ZK_NODE_EXISTS},
    };
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    for (size_t i = 0; i < 4; i++) {
        begin_stamp(&s, 19);
        part_failed(&s, faults[i].nth, faults[i].error);
        assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x RETRY");
    }
    begin_stamp(&s, 0);
    part_failed(&s, 2, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    begin_stamp(&s, 0);
    answer_with(&s, "\0\0\0\1", 4);
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x UNSURE");
    stage_close(&s);
}

static void what_a_stamp_may_be_answered(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    come(&s);
    ask(&s, HF_REQUEST_NEW_GENERATION, "x");
    refused(&s, HF_ZK_NO_AUTH);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x FATAL");
    ask(&s, HF_REQUEST_NEW_GENERATION, "x");
    children(&s, "x/m y/m");
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x FATAL");
    ask(&s, HF_REQUEST_NEW_GENERATION, "x");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED NEW_GENERATION x UNSURE");
    resume(&s);
    begin_stamp(&s, 0);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED NEW_GENERATION x UNSURE");
    ask(&s, HF_REQUEST_NEW_GENERATION, "x");
    assert_string_equal(stage_told(&s), "FAILED NEW_GENERATION x RETRY");
    stage_close(&s);
}

/* ---------------------------------------------------------------- lower -- */

static void lower(struct stage *s)
{
    (void)stage_sent(s);
    s->kind = HF_TICKET_READY;
    ask(s, HF_REQUEST_CLEAR_FLAG, "x");
    assert_string_equal(stage_sent(s), "MULTI -q/ready -q");
}

/* With the node that members would be below: so nobody is. */
static void the_mark_goes_with_the_last(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    lower(&s);
    checked(&s);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED found");
    lower(&s);
    part_failed(&s, 0, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED");
    lower(&s);
    part_failed(&s, 1, HF_ZK_NOT_EMPTY);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED");
    lower(&s);
    part_failed(&s, 0, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED CLEAR_FLAG x FATAL");
    lower(&s);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED CLEAR_FLAG x UNSURE");
    stage_close(&s);
}

/* ----------------------------------------------------------------- look -- */

static struct hf_request *look(struct stage *s)
{
    struct hf_request *request;

    (void)stage_sent(s);
    request = ask(s, HF_REQUEST_WATCH_QUEUE, "z");
    assert_string_equal(stage_sent(s), "SYNC q; LIST q w");
    return request;
}

static void a_look_is_at_all_of_it(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    look(&s);
    done(&s);
    children(&s, "a/m ready");
    assert_string_equal(stage_told(&s), "");
    assert_string_equal(stage_sent(&s), "EXISTS q/ready; EXISTS q/a/m");
    exists(&s, 19, 0);
    exists(&s, 18, 7);
    assert_string_equal(stage_told(&s), "LISTED z: a/m@18 ready@19");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED z");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
}

/* What happens while it is put together is told behind it. */
static void news_wait_for_the_look(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    look(&s);
    done(&s);
    children(&s, "a/m");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "");
    exists(&s, 19, 0);
    exists(&s, 18, 7);
    assert_string_equal(stage_told(&s),
                        "LISTED z: a/m@18 ready@19; QUEUE_CHANGED z");
    stage_close(&s);
}

static void a_look_can_be_taken_back_at_any_time(void **state)
{
    struct hf_request *request;
    struct stage s;

    (void)state;
    for (int answers = 0; answers <= 4; answers++) {
        begin(&s);
        request = look(&s);
        for (int i = 0; i <= 4; i++) {
            if (i == answers)
                forget(&s, request);
            if (i == 0)
                done(&s);
            else if (i == 1)
                children(&s, "a/m");
            else if (i <= 3 && s.first != NULL)
                refused(&s, HF_ZK_NO_NODE);
        }
        event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
        assert_null(strstr(stage_told(&s), "QUEUE_CHANGED"));
        stage_close(&s);
    }
}

static void what_a_look_may_be_answered(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    look(&s);
    refused(&s, HF_ZK_OPERATION_TIMEOUT);
    children(&s, "");
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z RETRY");
    look(&s);
    done(&s);
    refused(&s, HF_ZK_NO_NODE);
    while (s.first != NULL)
        refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "LISTED z:");
    stage_close(&s);
    begin(&s);
    look(&s);
    done(&s);
    children(&s, "a/m");
    refused(&s, HF_ZK_NO_AUTH);
    exists(&s, 18, 7);
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z FATAL");
    event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
    begin(&s);
    look(&s);
    done(&s);
    children(&s, "a/m");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED WATCH_QUEUE z RETRY");
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_one_plain_node),
        cmocka_unit_test(what_a_list_does_not_tell_is_asked_once),
        cmocka_unit_test(who_has_gone_since_is_not_shown),
        cmocka_unit_test(many_members_are_asked_about_in_turns),
        cmocka_unit_test(what_is_no_member_does_not_count),
        cmocka_unit_test(parents_are_made_when_they_are_missing),
        cmocka_unit_test(nobody_is_there_where_there_is_no_node),
        cmocka_unit_test(one_without_an_answer_is_found),
        cmocka_unit_test(one_of_another_session_is_not_ours),
        cmocka_unit_test(one_that_never_came_is_not_found),
        cmocka_unit_test(what_the_questions_may_be_answered),
        cmocka_unit_test(a_stamp_is_one_transaction),
        cmocka_unit_test(so_many_are_checked_as_are_waited_for),
        cmocka_unit_test(who_is_not_there_stamps_nothing),
        cmocka_unit_test(what_may_come_between),
        cmocka_unit_test(what_a_stamp_may_be_answered),
        cmocka_unit_test(the_mark_goes_with_the_last),
        cmocka_unit_test(a_look_is_at_all_of_it),
        cmocka_unit_test(news_wait_for_the_look),
        cmocka_unit_test(a_look_can_be_taken_back_at_any_time),
        cmocka_unit_test(what_a_look_may_be_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
