/* SPDX-License-Identifier: Apache-2.0 */
/* The last list, less what has gone, in place of a new one: what serves, and
 * what ends that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

/* ${ticket} of ours goes into the queue, which is then as it is in ${list}. */
static void enter(struct stage *s, const char *ticket, int32_t sequence,
                  const char *list)
{
    ask(s, HF_REQUEST_ENQUEUE, ticket);
    created(s, sequence, 10 + sequence);
    children(s, list);
    if (s->first != NULL)
        data(s, "head", 1, 1);
    (void)stage_sent(s);
    (void)stage_told(s);
}

static struct hf_request *watch(struct stage *s, const char *ticket)
{
    struct hf_request *request = ask(s, HF_REQUEST_WATCH, ticket);

    if (s->first != NULL)
        data(s, "", 1, 1);
    (void)stage_sent(s);
    (void)stage_told(s);
    return request;
}

static void a_queue_of_ours_is_listed_no_more(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 1, "a#1");
    enter(&s, "b", 2, "a#1 b#2");
    enter(&s, "c", 3, "c#3 a#1 b#2");
    (void)watch(&s, "c");
    ask(&s, HF_REQUEST_LIST, "c");
    assert_string_equal(stage_told(&s), "LISTED c: a#1@11=head b#2@12 c#3@13");
    assert_string_equal(stage_sent(&s), "");
    /* What we took out has gone, though no watch said so. */
    ask(&s, HF_REQUEST_REMOVE, "a");
    done(&s);
    ask(&s, HF_REQUEST_LIST, "c");
    assert_string_equal(stage_sent(&s), "DELETE q/a#1 | DATA q/b#2 w");
    data(&s, "me", 12, 1);
    assert_string_equal(stage_told(&s),
                        "REMOVED a found; LISTED c: b#2@12=me c#3@13");
    /* One whose delete is under way may be there. */
    ask(&s, HF_REQUEST_REMOVE, "b");
    ask(&s, HF_REQUEST_LIST, "c");
    assert_string_equal(stage_told(&s), "LISTED c: b#2@12=me c#3@13");
    event(&s, HF_ZK_NODE_DELETED, "q/b#2");
    ask(&s, HF_REQUEST_LIST, "c");
    assert_string_equal(stage_told(&s), "LISTED c: c#3@13");
    done(&s);
    assert_string_equal(stage_sent(&s), "DELETE q/b#2");
    stage_close(&s);
}

/* In the middle, too. */
static void who_leaves_from_the_middle_is_not_in_it(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 1, "a#1");
    enter(&s, "b", 2, "a#1 b#2");
    enter(&s, "c", 3, "a#1 b#2 c#3");
    enter(&s, "d", 4, "a#1 b#2 c#3 d#4");
    (void)watch(&s, "d");
    ask(&s, HF_REQUEST_REMOVE, "b");
    done(&s);
    ask(&s, HF_REQUEST_LIST, "d");
    assert_string_equal(stage_told(&s), "REMOVED b found; "
                                        "LISTED d: a#1@11=head c#3@13 d#4@14");
    assert_string_equal(stage_sent(&s), "DELETE q/b#2");
    stage_close(&s);
}

/* Who is not watched goes unseen. */
static void others_are_waited_by_while_they_are_watched(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 9, "x#1 y#2 a#9");
    (void)watch(&s, "a");
    (void)watch(&s, "y");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "x#1 y#2 a#9");
    (void)stage_told(&s);
    (void)watch(&s, "x");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "LISTED a: x#1=head y#2 a#9@19");
    event(&s, HF_ZK_NODE_DELETED, "q/y#2");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_told(&s), "GONE y; LISTED a: x#1=head a#9@19");
    event(&s, HF_ZK_NODE_DELETED, "q/x#1");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_told(&s), "GONE x; LISTED a: a#9@19");
    assert_string_equal(stage_sent(&s), "");
    stage_close(&s);
}

static void more_others_than_are_needed_are_listed(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 9, "u#1 v#2 w#3 x#4 a#9");
    (void)watch(&s, "a");
    (void)watch(&s, "u");
    (void)watch(&s, "v");
    (void)watch(&s, "w");
    (void)watch(&s, "x");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "a#9");
    stage_close(&s);
}

/* There may be a reader where it was. */
static void another_writer_that_went_ends_it(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    s.kind = HF_TICKET_WRITE;
    enter(&s, "a", 9, "x/w#1 a/w#9");
    (void)watch(&s, "a");
    (void)watch(&s, "x");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "LISTED a: x/w#1=head a/w#9@19");
    event(&s, HF_ZK_NODE_DELETED, "q/x/w#1");
    assert_string_equal(stage_told(&s), "GONE x");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "x/r#1 a/w#9");
    assert_string_equal(stage_told(&s), "LISTED a: x/r#1=head a/w#9@19");
    stage_close(&s);
}

/* And one of ours that has become a reader's. */
static void a_downgrade_ends_it(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    s.kind = HF_TICKET_WRITE;
    enter(&s, "a", 1, "a/w#1");
    enter(&s, "b", 2, "a/w#1 b/w#2");
    (void)watch(&s, "b");
    ask(&s, HF_REQUEST_DOWNGRADE, "a");
    changed(&s);
    (void)stage_sent(&s);
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_LIST, "b");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "a/r#1 b/w#2");
    assert_string_equal(stage_told(&s), "LISTED b: a/r#1@11=head b/w#2@12");
    stage_close(&s);
}

static void it_ends_with_the_connection(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 1, "a#1");
    (void)watch(&s, "a");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "LISTED a: a#1@11");
    link_down(&s, "hung up");
    resume(&s);
    (void)stage_sent(&s);
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "a#1");
    assert_string_equal(stage_told(&s), "LISTED a: a#1@11");
    stage_close(&s);
}

/* Only a list can say whether it is there. */
static void who_is_not_watched_is_listed(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 1, "a#1");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "x#0");
    data(&s, "", 1, 1);
    assert_string_equal(stage_told(&s), "LISTED a: x#0");
    stage_close(&s);
}

/* What a new list lacks ahead of who asked has gone, and who is behind stays:
 * the next one of ours there is served by both. */
static void a_new_list_is_compared_with_it(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 6, "u#1 v#2 w#3 x#4 y#5 a#6");
    enter(&s, "b", 8, "u#1 v#2 w#3 x#4 y#5 a#6 z#7 b#8");
    (void)watch(&s, "a");
    (void)watch(&s, "b");
    (void)watch(&s, "y");
    (void)watch(&s, "z");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "b#8 y#5 z#7 a#6");
    data(&s, "head", 1, 1);
    assert_string_equal(stage_told(&s), "LISTED a: y#5=head a#6@16");
    (void)stage_sent(&s);
    ask(&s, HF_REQUEST_LIST, "b");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "LISTED b: y#5=head a#6@16 z#7 b#8@18");
    stage_close(&s);
}

/* In the middle, while who was first goes on standing there. */
static void a_new_list_tells_who_left_from_the_middle(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 6, "u#1 v#2 w#3 x#4 y#5 a#6");
    (void)watch(&s, "a");
    ask(&s, HF_REQUEST_LIST, "a");
    children(&s, "a#6 u#1 y#5");
    assert_string_equal(stage_told(&s), "LISTED a: u#1=head y#5 a#6@16");
    /* Whose own name is missing is gone, though its watch has not said so. */
    ask(&s, HF_REQUEST_LIST, "a");
    children(&s, "u#1 y#5");
    assert_string_equal(stage_told(&s), "LISTED a: u#1=head");
    stage_close(&s);
}

/* A reader in the place of its writer, which is not in the kept one. */
static void who_is_new_ahead_replaces_it(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    s.kind = HF_TICKET_WRITE;
    enter(&s, "a", 6, "u/w#1 v/w#2 x/w#3 y/w#5 a/w#6");
    (void)watch(&s, "a");
    ask(&s, HF_REQUEST_LIST, "a");
    children(&s, "a/w#6 y/r#5 b/w#9");
    data(&s, "head", 1, 1);
    assert_string_equal(stage_told(&s), "LISTED a: y/r#5=head a/w#6@16");
    stage_close(&s);
}

/* Nobody sorts them, yet their layout is reported: they may not wait for us. */
static void who_comes_behind_in_another_layout_is_reported(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    enter(&s, "a", 6, "u#1 v#2 w#3 x#4 y#5 a#6");
    (void)watch(&s, "a");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_int_equal(s.lines, 0);
    children(&s, "a#6 y#5 "
                 "00112233445566778899aabbccddeeff__lock__0000000009");
    assert_int_equal(s.lines, 1);
    data(&s, "head", 1, 1);
    assert_string_equal(stage_told(&s), "LISTED a: y#5=head a#6@16");
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_of_ours_is_listed_no_more),
        cmocka_unit_test(who_leaves_from_the_middle_is_not_in_it),
        cmocka_unit_test(others_are_waited_by_while_they_are_watched),
        cmocka_unit_test(more_others_than_are_needed_are_listed),
        cmocka_unit_test(another_writer_that_went_ends_it),
        cmocka_unit_test(a_downgrade_ends_it),
        cmocka_unit_test(it_ends_with_the_connection),
        cmocka_unit_test(who_is_not_watched_is_listed),
        cmocka_unit_test(a_new_list_is_compared_with_it),
        cmocka_unit_test(a_new_list_tells_who_left_from_the_middle),
        cmocka_unit_test(who_is_new_ahead_replaces_it),
        cmocka_unit_test(who_comes_behind_in_another_layout_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
