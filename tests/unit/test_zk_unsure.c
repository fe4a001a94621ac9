/* SPDX-License-Identifier: Apache-2.0 */
/* Creates of which it is not clear whether they took effect, tickets that have
 * to be looked for, and numbers that order nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

/* ----------------------------------------------- creates that are unsure -- */

static void what_errors_say_of_a_create(void **state)
{
    static const struct {
        int32_t error;
        const char *told;
    } rows[] = {
        {HF_ZK_NO_AUTH, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_NO_CHILDREN_FOR_EPHEMERALS, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_UNIMPLEMENTED, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_QUOTA_EXCEEDED, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_BAD_ARGUMENTS, "FAILED ENQUEUE a RETRY"},
        {HF_ZK_NODE_EXISTS, "FAILED ENQUEUE a RETRY"},
        {HF_ZK_THROTTLED, "FAILED ENQUEUE a RETRY"},
        /* It may have happened. */
        {HF_ZK_SYSTEM_ERROR, "FAILED ENQUEUE a UNSURE"},
        {HF_ZK_MARSHALLING, "FAILED ENQUEUE a UNSURE"},
        {HF_ZK_OPERATION_TIMEOUT, "FAILED ENQUEUE a UNSURE"},
        {-4711, "FAILED ENQUEUE a UNSURE"},
        {INT32_MIN, "FAILED ENQUEUE a UNSURE"},
    };
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        refused(&s, rows[i].error);
        children(&s, "");
        assert_string_equal(stage_told(&s), rows[i].told);
        assert_non_null(strstr(s.text, "cannot put a ticket below /q: "));
        stage_close(&s);
    }
    assert_non_null(strstr(s.text, "an error that this version of holdfast "
                                   "does not know (-2147483648)"));
}

static void names_that_are_not_ours_are_looked_for(void **state)
{
    static const struct {
        const char *before;
        const char *ticket;
        const char *behind;
    } rows[] = {
        {"", NULL, ""},      {"/", NULL, ""},
        {"/q", NULL, ""},    {"/q/", NULL, ""},
        {"/r/", "a#1", ""},  {"/q/", "b#1", ""},
        {"/q:", "a#1", ""},  {"/q/", "a", ""},
        {"/q/", "a", "1"},   {"/q/", "a", "00000000001"},
        {"/q/", "a#1", "0"},
    };
    char node[256], path[512];
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stage_connected(&s);
        node[0] = '\0';
        if (rows[i].ticket != NULL)
            stage_node(&s, rows[i].ticket, node, sizeof node);
        snprintf(path, sizeof path, "%s%s%s", rows[i].before, node,
                 rows[i].behind);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        created_as(&s, path, 17);
        children(&s, "a#1");
        assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE");
        assert_string_equal(s.text, "cannot put a ticket below /q: the answer "
                                    "makes no sense");
        ask(&s, HF_REQUEST_PROVE, ""); /* nothing was taken for ours */
        (void)stage_sent(&s);
        stage_close(&s);
    }
}

/* The name of another ticket of ours, which is there. */
static void a_name_comes_once(void **state)
{
    char path[256];
    struct stage s;

    (void)state;
    stage_connected(&s);
    have(&s, "b", 1, 11);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    strcpy(path, "/q/");
    stage_node(&s, "b#1", path + 3, sizeof path - 3);
    created_as(&s, path, 12);
    children(&s, "b#1");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE");
    /* One ticket asked for twice at once: the second finds its place taken. */
    ask(&s, HF_REQUEST_ENQUEUE, "c");
    ask(&s, HF_REQUEST_ENQUEUE, "c");
    created(&s, 2, 13);
    children(&s, "b#1 c#2");
    stage_node(&s, "c#2", path + 3, sizeof path - 3);
    created_as(&s, path, 13);
    data(&s, "me", 11, 0);
    children(&s, "b#1 c#2");
    assert_string_equal(stage_told(&s), "ENQUEUED c: b#1@11=me c#2@13; "
                                        "FAILED ENQUEUE c UNSURE");
    stage_close(&s);
}

static void a_success_without_our_name_is_none(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 1, 17);
    children(&s, "x#0");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a RETRY");
    assert_string_equal(s.text, "the ticket was gone as soon as it was in the "
                                "queue; see who removes tickets there");
    ask(&s, HF_REQUEST_ENQUEUE, "b"); /* and so with the whole queue */
    created(&s, 1, 17);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE b RETRY");
    (void)stage_sent(&s);
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI /");
    stage_close(&s);
}

/* Whatever comes after the create: the ticket is there. */
static void a_list_that_fails_leaves_the_ticket(void **state)
{
    static const int32_t errors[] = {HF_ZK_NO_AUTH, HF_ZK_THROTTLED,
                                     HF_ZK_SYSTEM_ERROR};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        created(&s, 1, 17);
        refused(&s, errors[i]);
        assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE");
        (void)stage_sent(&s);
        ask(&s, HF_REQUEST_REMOVE, "a"); /* known, not to be looked for */
        assert_string_equal(stage_sent(&s), "DELETE q/a#1");
        stage_close(&s);
    }
    stage_connected(&s); /* nor is it gone if a tie cannot be told */
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 1, 17);
    children(&s, "a#1 x#1");
    assert_string_equal(stage_sent(&s), "CREATE2 q/a; LIST q | EXISTS q/x#1");
    refused(&s, HF_ZK_THROTTLED);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE");
    stage_close(&s);
}

static void fn25_a_swallowed_create_is_looked_for(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED ENQUEUE a UNSURE");
    resume(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
    done(&s);
    children(&s, "x#3 a#4");
    /* Of this session, and since when? */
    assert_string_equal(stage_sent(&s), "EXISTS q/a#4; DATA q/x#3 w");
    exists(&s, 44, s.session);
    data(&s, "him", 1, 1);
    assert_string_equal(stage_told(&s), "LISTED a: x#3=him a#4@44");
    ask(&s, HF_REQUEST_LIST, "a"); /* known from now on */
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "a#4");
    assert_string_equal(stage_told(&s), "LISTED a: a#4@44");
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI q/a#4");
    stage_close(&s);
}

/* The same between the two answers. */
static void a_create_cut_from_its_list(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 4, 44);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED ENQUEUE a UNSURE");
    resume(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "a#4");
    assert_string_equal(stage_told(&s), "LISTED a: a#4@44");
    ask(&s, HF_REQUEST_ENQUEUE, "a"); /* asked again: found */
    assert_string_equal(stage_sent(&s), "LIST q");
    children(&s, "a#4");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#4@44");
    stage_close(&s);
}

static void fn02_another_sessions_ticket_is_not_ours(void **state)
{
    static const int64_t owners[] = {STAGE_SESSION + 1, 0, -1};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_LIST, "a");
        done(&s);
        children(&s, "a#4");
        exists(&s, 44, owners[i]);
        /* In the list, under a name that nobody has drawn. */
        assert_string_equal(stage_told(&s), "LISTED a: ?#4");
        (void)stage_sent(&s);
        ask(&s, HF_REQUEST_PROVE, "");
        assert_string_equal(stage_sent(&s), "MULTI /");
        stage_close(&s);
    }
    stage_connected(&s); /* nor is one that went meanwhile */
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    children(&s, "a#4 x#5");
    refused(&s, HF_ZK_NO_NODE);
    (void)stage_sent(&s);
    assert_string_equal(stage_told(&s), "LISTED a: ?#4");
    stage_close(&s);
}

static void a_search_needs_its_sync(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    refused(&s, HF_ZK_THROTTLED);
    children(&s, "");
    assert_string_equal(stage_told(&s), "FAILED LIST a RETRY");
    ask(&s, HF_REQUEST_REMOVE, "a");
    refused(&s, HF_ZK_THROTTLED);
    children(&s, "");
    assert_string_equal(stage_told(&s), "FAILED REMOVE a RETRY");
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    refused(&s, HF_ZK_NO_NODE); /* no queue: an empty one */
    assert_string_equal(stage_told(&s), "LISTED a:");
    stage_close(&s);
}

/* -------------------------------------------------------- ties and ends -- */

static void equal_numbers_are_asked_for(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 7, 50);
    children(&s, "z#9 x#7 a#7 y#7 w#6");
    assert_string_equal(
        stage_sent(&s),
        "CREATE2 q/a; LIST q | EXISTS q/x#7; EXISTS q/y#7; DATA q/w#6");
    exists(&s, 60, 1);
    exists(&s, 40, 1);
    data(&s, "head", 1, 1);
    assert_string_equal(stage_told(&s), "ENQUEUED a: w#6=head y#7@40 a#7@50");
    stage_close(&s);
}

/* More of them than are asked for, and one that has gone. */
static void many_equal_numbers(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 7, 50);
    children(&s, "a#7 b#7 c#7 d#7 e#7 f#7 g#7");
    assert_int_equal(s.calls, 4);
    refused(&s, HF_ZK_NO_NODE);
    for (int i = 0; i < 3; i++)
        exists(&s, 60 + i, 1);
    assert_non_null(strstr(stage_told(&s), "a#7@50"));
    stage_close(&s);
}

static void fn45_numbers_beyond_the_end_are_taken_back(void **state)
{
    static const int32_t beyond[] = {INT32_MAX - (1 << 20) + 1, INT32_MAX,
                                     INT32_MIN, -1};
    char sent[64], list[64];
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        created(&s, beyond[i], 17);
        (void)stage_sent(&s);
        snprintf(list, sizeof list, "a#%d", beyond[i]);
        children(&s, list);
        snprintf(sent, sizeof sent, "DELETE q/a#%d", beyond[i]);
        assert_string_equal(stage_sent(&s), sent);
        assert_string_equal(stage_told(&s), "");
        done(&s);
        assert_string_equal(stage_told(&s), "FAILED ENQUEUE a FATAL");
        assert_int_equal(s.status, HF_EEXHAUSTED);
        assert_string_equal(
            s.text, "the server has numbered the tickets of this queue up to "
                    "2146435072; let the queue drain and remove its node, so "
                    "that it begins anew");
        ask(&s, HF_REQUEST_PROVE, "");
        assert_string_equal(stage_sent(&s), "MULTI /");
        stage_close(&s);
    }
    stage_connected(&s); /* the last one that is good */
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, INT32_MAX - (1 << 20), 17);
    children(&s, "a#2146435071");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#2146435071@17");
    stage_close(&s);
}

/* However it is found that it has such a number. */
static void numbers_beyond_the_end_are_found_later(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_LIST, "a"); /* its create was swallowed */
    done(&s);
    children(&s, "a#2147483647");
    exists(&s, 44, s.session);
    assert_string_equal(stage_told(&s), "");
    assert_string_equal(stage_sent(&s),
                        "SYNC q; LIST q | EXISTS q/a#2147483647 | "
                        "DELETE q/a#2147483647");
    done(&s);
    assert_string_equal(stage_told(&s), "FAILED LIST a FATAL");
    assert_int_equal(s.status, HF_EEXHAUSTED);
    /* Or if it could not be taken back: cut, or not permitted. */
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    created(&s, -5, 17);
    children(&s, "b#-5");
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE b UNSURE");
    ask(&s, HF_REQUEST_LIST, "b");
    children(&s, "b#-5");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED LIST b RETRY");
    stage_close(&s);
}

/* An id in the name is all that it takes, so this holds in every layout. */
int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_errors_say_of_a_create),
        cmocka_unit_test(names_that_are_not_ours_are_looked_for),
        cmocka_unit_test(a_name_comes_once),
        cmocka_unit_test(a_success_without_our_name_is_none),
        cmocka_unit_test(a_list_that_fails_leaves_the_ticket),
        cmocka_unit_test(fn25_a_swallowed_create_is_looked_for),
        cmocka_unit_test(a_create_cut_from_its_list),
        cmocka_unit_test(fn02_another_sessions_ticket_is_not_ours),
        cmocka_unit_test(a_search_needs_its_sync),
        cmocka_unit_test(equal_numbers_are_asked_for),
        cmocka_unit_test(many_equal_numbers),
        cmocka_unit_test(fn45_numbers_beyond_the_end_are_taken_back),
        cmocka_unit_test(numbers_beyond_the_end_are_found_later),
    };

    int failed = 0;

    stage_layout = HF_ZK_CURATOR;
    failed += cmocka_run_group_tests_name("layout=curator", tests, NULL, NULL);
    stage_layout = HF_ZK_KAZOO;
    failed += cmocka_run_group_tests_name("layout=kazoo", tests, NULL, NULL);
    stage_layout = HF_ZK_WRITELOCK;
    failed +=
        cmocka_run_group_tests_name("layout=writelock", tests, NULL, NULL);
    return failed;
}
