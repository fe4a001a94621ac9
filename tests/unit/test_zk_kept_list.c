/* SPDX-License-Identifier: Apache-2.0 */
/* The last list of a queue, without the tickets that were removed since, is
 * used in place of a new one: when that is allowed, and what ends it. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

/* Enqueue ${ticket}; the queue is ${list} then. */
static void enter(struct zk_fixture *f, const char *ticket, int32_t sequence,
                  const char *list)
{
    ask(f, HF_REQUEST_ENQUEUE, ticket);
    created(f, sequence, 10 + sequence);
    children(f, list);
    if (f->first != NULL)
        data(f, "head", 1, 1);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

static struct hf_request *watch(struct zk_fixture *f, const char *ticket)
{
    struct hf_request *request = ask(f, HF_REQUEST_WATCH, ticket);

    if (f->first != NULL)
        data(f, "", 1, 1);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
    return request;
}

ZK_TEST(a_queue_of_ours_is_listed_no_more)
{
    enter(f, "a", 1, "a#1");
    enter(f, "b", 2, "a#1 b#2");
    enter(f, "c", 3, "c#3 a#1 b#2");
    (void)watch(f, "c");
    ask(f, HF_REQUEST_LIST, "c");
    assert_string_equal(zk_fixture_events(f),
                        "LISTED c: a#1@11=head b#2@12 c#3@13");
    assert_string_equal(zk_fixture_sent(f), "");
    /* A ticket that we removed is gone, although no watch has fired. */
    ask(f, HF_REQUEST_REMOVE, "a");
    done(f);
    ask(f, HF_REQUEST_LIST, "c");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a#1 | DATA q/b#2 w");
    data(f, "me", 12, 1);
    assert_string_equal(zk_fixture_events(f),
                        "REMOVED a found; LISTED c: b#2@12=me c#3@13");
    /* A ticket whose delete has no answer may exist. */
    ask(f, HF_REQUEST_REMOVE, "b");
    ask(f, HF_REQUEST_LIST, "c");
    assert_string_equal(zk_fixture_events(f), "LISTED c: b#2@12=me c#3@13");
    event(f, HF_ZK_NODE_DELETED, "q/b#2");
    ask(f, HF_REQUEST_LIST, "c");
    assert_string_equal(zk_fixture_events(f), "LISTED c: c#3@13");
    done(f);
    assert_string_equal(zk_fixture_sent(f), "DELETE q/b#2");
}

/* Also in the middle. */
ZK_TEST(who_leaves_from_the_middle_is_not_in_it)
{
    enter(f, "a", 1, "a#1");
    enter(f, "b", 2, "a#1 b#2");
    enter(f, "c", 3, "a#1 b#2 c#3");
    enter(f, "d", 4, "a#1 b#2 c#3 d#4");
    (void)watch(f, "d");
    ask(f, HF_REQUEST_REMOVE, "b");
    done(f);
    ask(f, HF_REQUEST_LIST, "d");
    assert_string_equal(zk_fixture_events(f),
                        "REMOVED b found; "
                        "LISTED d: a#1@11=head c#3@13 d#4@14");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/b#2");
}

/* A ticket without a watch may be removed unseen. */
ZK_TEST(others_are_waited_by_while_they_are_watched)
{
    enter(f, "a", 9, "x#1 y#2 a#9");
    (void)watch(f, "a");
    (void)watch(f, "y");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "x#1 y#2 a#9");
    (void)zk_fixture_events(f);
    (void)watch(f, "x");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "LISTED a: x#1=head y#2 a#9@19");
    event(f, HF_ZK_NODE_DELETED, "q/y#2");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_events(f),
                        "GONE y; LISTED a: x#1=head a#9@19");
    event(f, HF_ZK_NODE_DELETED, "q/x#1");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_events(f), "GONE x; LISTED a: a#9@19");
    assert_string_equal(zk_fixture_sent(f), "");
}

ZK_TEST(more_others_than_are_needed_are_listed)
{
    enter(f, "a", 9, "u#1 v#2 w#3 x#4 a#9");
    (void)watch(f, "a");
    (void)watch(f, "u");
    (void)watch(f, "v");
    (void)watch(f, "w");
    (void)watch(f, "x");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "a#9");
}

/* A reader may be in its place. */
ZK_TEST(another_writer_that_went_ends_it)
{
    f->kind = HF_TICKET_WRITE;
    enter(f, "a", 9, "x/w#1 a/w#9");
    (void)watch(f, "a");
    (void)watch(f, "x");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "LISTED a: x/w#1=head a/w#9@19");
    event(f, HF_ZK_NODE_DELETED, "q/x/w#1");
    assert_string_equal(zk_fixture_events(f), "GONE x");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "x/r#1 a/w#9");
    assert_string_equal(zk_fixture_events(f), "LISTED a: x/r#1=head a/w#9@19");
}

/* Also one of ours that became a reader. */
ZK_TEST(a_downgrade_ends_it)
{
    f->kind = HF_TICKET_WRITE;
    enter(f, "a", 1, "a/w#1");
    enter(f, "b", 2, "a/w#1 b/w#2");
    (void)watch(f, "b");
    ask(f, HF_REQUEST_DOWNGRADE, "a");
    downgrade_done(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_LIST, "b");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "a/r#1 b/w#2");
    assert_string_equal(zk_fixture_events(f),
                        "LISTED b: a/r#1@11=head b/w#2@12");
}

ZK_TEST(it_ends_with_the_connection)
{
    enter(f, "a", 1, "a#1");
    (void)watch(f, "a");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "LISTED a: a#1@11");
    link_down(f, "hung up");
    resume(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "a#1");
    assert_string_equal(zk_fixture_events(f), "LISTED a: a#1@11");
}

/* Only a list can show whether it exists. */
ZK_TEST(who_is_not_watched_is_listed)
{
    enter(f, "a", 1, "a#1");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "x#0");
    data(f, "", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED a: x#0");
}

/* A ticket ahead of ours that a new list does not have was removed.  Those
 * behind stay, because the next list of ours there has both. */
ZK_TEST(a_new_list_is_compared_with_it)
{
    enter(f, "a", 6, "u#1 v#2 w#3 x#4 y#5 a#6");
    enter(f, "b", 8, "u#1 v#2 w#3 x#4 y#5 a#6 z#7 b#8");
    (void)watch(f, "a");
    (void)watch(f, "b");
    (void)watch(f, "y");
    (void)watch(f, "z");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "b#8 y#5 z#7 a#6");
    data(f, "head", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED a: y#5=head a#6@16");
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_LIST, "b");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f),
                        "LISTED b: y#5=head a#6@16 z#7 b#8@18");
}

/* One in the middle, while the first stays. */
ZK_TEST(a_new_list_shows_who_left_from_the_middle)
{
    enter(f, "a", 6, "u#1 v#2 w#3 x#4 y#5 a#6");
    (void)watch(f, "a");
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "a#6 u#1 y#5");
    assert_string_equal(zk_fixture_events(f), "LISTED a: u#1=head y#5 a#6@16");
    /* Our own ticket is missing, so it is gone, although its watch has not
     * fired. */
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "u#1 y#5");
    assert_string_equal(zk_fixture_events(f), "LISTED a: u#1=head");
}

/* A reader in place of its writer, which the kept list does not have. */
ZK_TEST(who_is_new_ahead_replaces_it)
{
    f->kind = HF_TICKET_WRITE;
    enter(f, "a", 6, "u/w#1 v/w#2 x/w#3 y/w#5 a/w#6");
    (void)watch(f, "a");
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "a/w#6 y/r#5 b/w#9");
    data(f, "head", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED a: y/r#5=head a/w#6@16");
}

/* They are not sorted, but their layout is reported, because they may not
 * wait for us. */
ZK_TEST(who_comes_behind_in_another_layout_is_reported)
{
    enter(f, "a", 6, "u#1 v#2 w#3 x#4 y#5 a#6");
    (void)watch(f, "a");
    ask(f, HF_REQUEST_LIST, "a");
    assert_int_equal(f->log_lines, 0);
    children(f, "a#6 y#5 "
                "00112233445566778899aabbccddeeff__lock__0000000009");
    assert_int_equal(f->log_lines, 1);
    data(f, "head", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED a: y#5=head a#6@16");
}
