/* SPDX-License-Identifier: Apache-2.0 */
/* Creates that may have taken effect, the search for their tickets, and
 * sequence numbers that give no order. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

/* ----------------------------------------------- creates that are unsure -- */

TEST(what_errors_say_of_a_create)
{
    static const struct {
        int32_t error;
        const char *events;
    } rows[] = {
        {HF_ZK_NO_AUTH, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_NO_CHILDREN_FOR_EPHEMERALS, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_UNIMPLEMENTED, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_QUOTA_EXCEEDED, "FAILED ENQUEUE a FATAL"},
        {HF_ZK_BAD_ARGUMENTS, "FAILED ENQUEUE a RETRY"},
        {HF_ZK_NODE_EXISTS, "FAILED ENQUEUE a RETRY"},
        {HF_ZK_THROTTLED, "FAILED ENQUEUE a RETRY"},
        /* It may have taken effect. */
        {HF_ZK_SYSTEM_ERROR, "FAILED ENQUEUE a UNSURE"},
        {HF_ZK_MARSHALLING, "FAILED ENQUEUE a UNSURE"},
        {HF_ZK_OPERATION_TIMEOUT, "FAILED ENQUEUE a UNSURE"},
        {HF_ZK_REQUEST_TIMEOUT, "FAILED ENQUEUE a UNSURE"},
        {HF_ZK_API_ERROR, "FAILED ENQUEUE a UNSURE"},
        {-4711, "FAILED ENQUEUE a UNSURE"},
        {INT32_MIN, "FAILED ENQUEUE a UNSURE"},
    };
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        refused(&f, rows[i].error);
        children(&f, "");
        assert_string_equal(zk_fixture_events(&f), rows[i].events);
        assert_non_null(strstr(f.text, "cannot put a ticket below /q: "));
        zk_fixture_close(&f);
    }
    assert_non_null(strstr(f.text, "an error that this version of holdfast "
                                   "does not know (-2147483648)"));
}

TEST(names_that_are_not_ours_are_looked_for)
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
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zk_fixture_connected(&f);
        node[0] = '\0';
        if (rows[i].ticket != NULL)
            zk_fixture_node(&f, rows[i].ticket, node, sizeof node);
        snprintf(path, sizeof path, "%s%s%s", rows[i].before, node,
                 rows[i].behind);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        created_as(&f, path, 17);
        children(&f, "a#1");
        assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a UNSURE");
        assert_string_equal(f.text, "cannot put a ticket below /q: the answer "
                                    "makes no sense");
        ask(&f, HF_REQUEST_PROVE, ""); /* nothing was taken for ours */
        (void)zk_fixture_sent(&f);
        zk_fixture_close(&f);
    }
}

/* The answer names another ticket of ours. */
ZK_TEST(a_name_comes_once)
{
    char path[256];

    have_ticket(f, "b", 1, 11);
    ask(f, HF_REQUEST_ENQUEUE, "a");
    strcpy(path, "/q/");
    zk_fixture_node(f, "b#1", path + 3, sizeof path - 3);
    created_as(f, path, 12);
    children(f, "b#1");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a UNSURE");
    /* One ticket is enqueued twice at once; the second finds its place taken.
     */
    ask(f, HF_REQUEST_ENQUEUE, "c");
    ask(f, HF_REQUEST_ENQUEUE, "c");
    created(f, 2, 13);
    children(f, "b#1 c#2");
    zk_fixture_node(f, "c#2", path + 3, sizeof path - 3);
    created_as(f, path, 13);
    data(f, "me", 11, 0);
    children(f, "b#1 c#2");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED c: b#1@11=me c#2@13; "
                                              "FAILED ENQUEUE c UNSURE");
}

ZK_TEST(a_success_without_our_name_is_none)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 1, 17);
    children(f, "x#0");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a RETRY");
    assert_string_equal(f->text, "the ticket was gone as soon as it was in the "
                                 "queue; see who removes tickets there");
    ask(f, HF_REQUEST_ENQUEUE, "b"); /* and so with the whole queue */
    created(f, 1, 17);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE b RETRY");
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI /");
}

/* The ticket exists, whatever happens after the create. */
TEST(a_list_that_fails_leaves_the_ticket)
{
    static const int32_t errors[] = {HF_ZK_NO_AUTH, HF_ZK_THROTTLED,
                                     HF_ZK_SYSTEM_ERROR};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        created(&f, 1, 17);
        refused(&f, errors[i]);
        assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a UNSURE");
        (void)zk_fixture_sent(&f);
        ask(&f, HF_REQUEST_REMOVE, "a"); /* known, not to be looked for */
        assert_string_equal(zk_fixture_sent(&f), "DELETE q/a#1");
        zk_fixture_close(&f);
    }
    zk_fixture_connected(
        &f); /* nor is it gone if two tickets have one number */
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created(&f, 1, 17);
    children(&f, "a#1 x#1");
    assert_string_equal(zk_fixture_sent(&f),
                        "CREATE2 q/a; LIST q | EXISTS q/x#1");
    refused(&f, HF_ZK_THROTTLED);
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a UNSURE");
    zk_fixture_close(&f);
}

ZK_TEST(fn25_a_swallowed_create_is_looked_for)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED ENQUEUE a UNSURE");
    resume(f);
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
    children(f, "x#3 a#4");
    /* Is it of this session, and when was it made? */
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/a#4; DATA q/x#3 w");
    exists(f, 44, f->session);
    data(f, "him", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED a: x#3=him a#4@44");
    ask(f, HF_REQUEST_LIST, "a"); /* known from now on */
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "a#4");
    assert_string_equal(zk_fixture_events(f), "LISTED a: a#4@44");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI q/a#4");
}

/* The link breaks between the two answers. */
ZK_TEST(a_create_cut_from_its_list)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 4, 44);
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED ENQUEUE a UNSURE");
    resume(f);
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "a#4");
    assert_string_equal(zk_fixture_events(f), "LISTED a: a#4@44");
    ask(f, HF_REQUEST_ENQUEUE, "a"); /* asked again: found */
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "a#4");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#4@44");
}

TEST(fn02_another_sessions_ticket_is_not_ours)
{
    static const int64_t owners[] = {ZK_FIXTURE_SESSION + 1, 0, -1};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_LIST, "a");
        done(&f);
        children(&f, "a#4");
        exists(&f, 44, owners[i]);
        /* In the list, under an id that is not ours. */
        assert_string_equal(zk_fixture_events(&f), "LISTED a: ?#4");
        (void)zk_fixture_sent(&f);
        ask(&f, HF_REQUEST_PROVE, "");
        assert_string_equal(zk_fixture_sent(&f), "MULTI /");
        zk_fixture_close(&f);
    }
    zk_fixture_connected(&f); /* nor is one that went meanwhile */
    ask(&f, HF_REQUEST_LIST, "a");
    done(&f);
    children(&f, "a#4 x#5");
    refused(&f, HF_ZK_NO_NODE);
    (void)zk_fixture_sent(&f);
    assert_string_equal(zk_fixture_events(&f), "LISTED a: ?#4");
    zk_fixture_close(&f);
}

ZK_TEST(a_search_needs_its_sync)
{
    ask(f, HF_REQUEST_LIST, "a");
    refused(f, HF_ZK_THROTTLED);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "FAILED LIST a RETRY");
    ask(f, HF_REQUEST_REMOVE, "a");
    refused(f, HF_ZK_THROTTLED);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "FAILED REMOVE a RETRY");
    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    refused(f, HF_ZK_NO_NODE); /* no queue: an empty one */
    assert_string_equal(zk_fixture_events(f), "LISTED a:");
}

/* -------------------------------------------------------- ties and ends -- */

ZK_TEST(equal_numbers_are_asked_for)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 7, 50);
    children(f, "z#9 x#7 a#7 y#7 w#6");
    assert_string_equal(
        zk_fixture_sent(f),
        "CREATE2 q/a; LIST q | EXISTS q/x#7; EXISTS q/y#7; DATA q/w#6");
    exists(f, 60, 1);
    exists(f, 40, 1);
    data(f, "head", 1, 1);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED a: w#6=head y#7@40 a#7@50");
}

/* More than are read at once, and one that is gone. */
ZK_TEST(many_equal_numbers)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 7, 50);
    children(f, "a#7 b#7 c#7 d#7 e#7 f#7 g#7");
    assert_int_equal(f->calls, 4);
    refused(f, HF_ZK_NO_NODE);
    for (int i = 0; i < 3; i++)
        exists(f, 60 + i, 1);
    assert_non_null(strstr(zk_fixture_events(f), "a#7@50"));
}

TEST(fn45_numbers_beyond_the_end_are_taken_back)
{
    static const int32_t beyond[] = {INT32_MAX - (1 << 20) + 1, INT32_MAX,
                                     INT32_MIN, -1};
    char sent[64], list[64];
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        created(&f, beyond[i], 17);
        (void)zk_fixture_sent(&f);
        snprintf(list, sizeof list, "a#%d", beyond[i]);
        children(&f, list);
        snprintf(sent, sizeof sent, "DELETE q/a#%d", beyond[i]);
        assert_string_equal(zk_fixture_sent(&f), sent);
        assert_string_equal(zk_fixture_events(&f), "");
        done(&f);
        assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a FATAL");
        assert_int_equal(f.status, HF_EEXHAUSTED);
        assert_string_equal(
            f.text, "the server has numbered the tickets of this queue up to "
                    "2146435072; let the queue drain and remove its node, so "
                    "that it begins anew");
        ask(&f, HF_REQUEST_PROVE, "");
        assert_string_equal(zk_fixture_sent(&f), "MULTI /");
        zk_fixture_close(&f);
    }
    zk_fixture_connected(&f); /* the last one that is good */
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created(&f, INT32_MAX - (1 << 20), 17);
    children(&f, "a#2146435071");
    assert_string_equal(zk_fixture_events(&f), "ENQUEUED a: a#2146435071@17");
    zk_fixture_close(&f);
}

/* In any way in which such a number is found. */
ZK_TEST(numbers_beyond_the_end_are_found_later)
{
    ask(f, HF_REQUEST_LIST, "a"); /* its create was swallowed */
    done(f);
    children(f, "a#2147483647");
    exists(f, 44, f->session);
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f),
                        "SYNC q; LIST q | EXISTS q/a#2147483647 | "
                        "DELETE q/a#2147483647");
    done(f);
    assert_string_equal(zk_fixture_events(f), "FAILED LIST a FATAL");
    assert_int_equal(f->status, HF_EEXHAUSTED);
    /* Also if it could not be removed: cut off, or not permitted. */
    ask(f, HF_REQUEST_ENQUEUE, "b");
    created(f, -5, 17);
    children(f, "b#-5");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE b UNSURE");
    ask(f, HF_REQUEST_LIST, "b");
    children(f, "b#-5");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f), "SUSPENDED; FAILED LIST b RETRY");
}

/* All of this needs only an id in the name, so it holds in every layout. */

TEST_FILE(zk_unsure)
{
    int failed = 0;

    zk_fixture_layout = HF_ZK_CURATOR;
    failed += RUN_TESTS_NAMED("layout=curator", NULL, NULL);
    zk_fixture_layout = HF_ZK_KAZOO;
    failed += RUN_TESTS_NAMED("layout=kazoo", NULL, NULL);
    zk_fixture_layout = HF_ZK_WRITELOCK;
    failed += RUN_TESTS_NAMED("layout=writelock", NULL, NULL);
    return failed;
}
