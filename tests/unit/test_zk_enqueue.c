/* SPDX-License-Identifier: Apache-2.0 */
/* ENQUEUE: one round trip if the queue exists, and what it takes if not. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/zk_queue.h"
#include "zk_fixture.h"

/* --------------------------------------------------------------- enqueue -- */

ZK_TEST(an_uncontended_enqueue_is_one_trip)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/a; LIST q");
    created(f, 0, 17);
    assert_string_equal(zk_fixture_events(f), "");
    children(f, "a#0");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#0@17");
    assert_string_equal(zk_fixture_sent(f), "");
}

TEST(kinds_and_layouts_and_chroots_and_floors)
{
    static const struct {
        enum hf_zk_engine_dialect layout;
        enum hf_ticket_kind kind;
        const char *sent;
        const char *queue;
        const char *events;
    } rows[] = {
        {HF_ZK_CURATOR, HF_TICKET_MUTEX, "CREATE2 q/a; LIST q", "a#1",
         "ENQUEUED a: a#1@1017"},
        {HF_ZK_CURATOR, HF_TICKET_READ, "CREATE2 q/a/r; LIST q", "a/r#1",
         "ENQUEUED a: a/r#1@1017"},
        {HF_ZK_CURATOR, HF_TICKET_WRITE, "CREATE2 q/a/w; LIST q", "a/w#1",
         "ENQUEUED a: a/w#1@1017"},
        {HF_ZK_CURATOR, HF_TICKET_ELECTION, "CREATE2 q/a/e; LIST q", "a/e#1",
         "ENQUEUED a: a/e#1@1017"},
        {HF_ZK_KAZOO, HF_TICKET_ELECTION, "CREATE2 q/a; LIST q", "a#1",
         "ENQUEUED a: a#1@1017"},
        {HF_ZK_KAZOO, HF_TICKET_MUTEX, "CREATE2 q/a; LIST q", "a#1",
         "ENQUEUED a: a#1@1017"},
        {HF_ZK_KAZOO, HF_TICKET_READ, "CREATE2 q/a/r; LIST q", "a/r#1",
         "ENQUEUED a: a/r#1@1017"},
        {HF_ZK_KAZOO, HF_TICKET_WRITE, "CREATE2 q/a; LIST q", "a#1",
         "ENQUEUED a: a#1@1017"},
        {HF_ZK_WRITELOCK, HF_TICKET_MUTEX, "CREATE2 q/a; LIST q", "a#1",
         "ENQUEUED a: a#1@1017"},
    };
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zk_fixture_init(&f);
        strcpy(f.config.url.chroot, "/apps/x");
        f.config.token_floor = 1000;
        f.config.url.session.private_nodes = true;
        f.config.layout = rows[i].layout;
        f.kind = rows[i].kind;
        assert_true(zk_fixture_open(&f));
        link_up(&f);
        accept_session(&f);
        (void)zk_fixture_sent(&f);
        (void)zk_fixture_events(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        assert_string_equal(zk_fixture_sent(&f), rows[i].sent);
        created(&f, 1, 17);
        children(&f, rows[i].queue);
        assert_string_equal(zk_fixture_events(&f), rows[i].events);
        zk_fixture_close(&f);
    }
}

/* The order of numbers, not of names.  A node that is no ticket does not
 * count, and is reported once. */
ZK_TEST(fn41_queues_are_in_order)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 30, 17);
    children(f, "b#12 locks a#30 y/r#7 \xff\xfe c/w#9 x#100 lock-7");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/a; LIST q | DATA q/y/r#7");
    data(f, "reader", 1, 1);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED a: y/r#7=reader c/w#9 b#12 a#30@17");
    assert_int_equal(f->log_lines, 1);
    assert_string_equal(f->logged_digests,
                        "/q has a child that is no ticket and is "
                        "ignored: \"locks\"; expected only names that "
                        "holdfast, Curator, kazoo, go-zookeeper or "
                        "WriteLock give");
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "a#30 \xff\xfe");
    assert_int_equal(f->log_lines, 1);
}

/* ------------------------------------------------------ one list for all -- */

/* Many enqueues at once cause one list and one read of the head. */
ZK_TEST(one_list_serves_all_who_wait)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_ENQUEUE, "c");
    ask(f, HF_REQUEST_ENQUEUE, "d");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/a; LIST q | CREATE2 q/b | "
                        "CREATE2 q/c | CREATE2 q/d");
    created(f, 0, 11);
    children(f, "a#0");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#0@11");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    created(f, 1, 12);
    created(f, 2, 13);
    created(f, 3, 14);
    assert_string_equal(zk_fixture_events(f), "");
    children(f, "d#3 c#2 a#0 b#1");
    assert_string_equal(zk_fixture_sent(f), "DATA q/a#0 w");
    data(f, "me", 11, 0);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED b: a#0@11=me b#1@12; "
                        "ENQUEUED c: a#0@11=me b#1@12 c#2@13; "
                        "ENQUEUED d: a#0@11=me b#1@12 c#2@13 d#3@14");
    assert_string_equal(zk_fixture_sent(f), "");
}

/* A list that was sent before an enqueue does not show its ticket. */
ZK_TEST(who_comes_later_waits_for_the_next_list)
{
    have_ticket(f, "a", 1, 11);
    ask(f, HF_REQUEST_LIST, "a");
    ask(f, HF_REQUEST_LIST, "a");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(zk_fixture_sent(f), "LIST q | CREATE2 q/b");
    children(f, "a#1");
    assert_string_equal(zk_fixture_events(f), "LISTED a: a#1@11");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "");
    created(f, 2, 12);
    children(f, "a#1 b#2");
    data(f, "", 11, 0);
    assert_string_equal(zk_fixture_events(f),
                        "LISTED a: a#1@11; ENQUEUED b: a#1@11 b#2@12");
    assert_string_equal(zk_fixture_sent(f), "DATA q/a#1 w; LIST q");
    children(f, "a#1 b#2");
    assert_string_equal(zk_fixture_events(f), "LISTED a: a#1@11");
}

ZK_TEST(a_cut_answers_those_who_wait_for_a_list)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    created(f, 0, 11);
    link_down(f, "hung up");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED ENQUEUE a UNSURE; "
                        "FAILED ENQUEUE b UNSURE");
}

/* Nothing is sent after it, and the requests are answered all the same. */
ZK_TEST(a_close_answers_requests_that_wait_for_a_list)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    ask(f, HF_REQUEST_END, "");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/a; LIST q | CREATE2 q/b | CLOSE");
    created(f, 0, 11);
    children(f, "a#0");
    created(f, 1, 12);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED a: a#0@11; FAILED ENQUEUE b UNSURE");
}

/* Of many tickets the answer has the first, the nearest and our own. */
ZK_TEST(a_long_queue_is_answered_in_part)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 9, 17);
    children(f, "i#8 b#1 c/r#2 d#3 e#4 f#5 g/r#6 h#7 a#9 k#10");
    data(f, "head", 1, 1);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED a: b#1=head g/r#6 h#7 i#8 a#9@17");
}

/* Once for each path in the life of the client, also if it uses the queue for
 * nothing else. */
ZK_TEST(unknown_nodes_are_reported_once_for_each_path)
{
    for (int i = 0; i < 3; i++) {
        ask(f, HF_REQUEST_LIST, "a");
        done(f);
        children(f, "junk");
        assert_int_equal(f->log_lines, 1);
    }
    f->queue = "r";
    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    children(f, "junk");
    assert_int_equal(f->log_lines, 2);
}

/* The memory for such paths has a bound. */
ZK_TEST(reports_of_many_paths_are_forgotten)
{
    char name[32];

    f->queue = name;
    for (unsigned i = 0; i <= HF_ZK_REPORTS_MAX; i++) {
        snprintf(name, sizeof name, "queue-%u", i % HF_ZK_REPORTS_MAX);
        ask(f, HF_REQUEST_LIST, "a");
        done(f);
        children(f, "junk");
    }
    assert_int_equal(f->log_lines, HF_ZK_REPORTS_MAX);
    for (unsigned i = HF_ZK_REPORTS_MAX; i <= HF_ZK_REPORTS_MAX + 1; i++) {
        snprintf(name, sizeof name, "queue-%u", i % (HF_ZK_REPORTS_MAX + 1));
        ask(f, HF_REQUEST_LIST, "a");
        done(f);
        children(f, "junk");
    }
    assert_int_equal(f->log_lines, HF_ZK_REPORTS_MAX + 2);
}

#define HEX "6f2a6c1e6a0b4e9d9d0e2f5c3a1b7d44"

/* We wait for them, but they may not wait for us. */
TEST(tickets_that_do_not_see_ours_are_reported)
{
    struct zk_fixture f;

    zk_fixture_connected(&f);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created(&f, 3, 17);
    children(&f, HEX "__rlock__0000000002 a#3 x-12-0000000004");
    data(&f, "kazoo", 1, 1);
    assert_non_null(strstr(zk_fixture_events(&f), "/r#2=kazoo a#3@17"));
    assert_int_equal(f.log_lines, 1);
    assert_string_equal(f.logged_digests,
                        "/q has tickets in the layout of kazoo, such as \"" HEX
                        "__rlock__0000000002\"; programs that write these do "
                        "not see ours unless they are set up to, and may hold "
                        "the lock beside us: expected one layout for all; put "
                        "layout=kazoo into the URL, here it is layout=curator");
    zk_fixture_close(&f);
    zk_fixture_init(&f);
    f.config.layout = HF_ZK_KAZOO;
    assert_true(zk_fixture_open(&f));
    link_up(&f);
    accept_session(&f);
    ask(&f, HF_REQUEST_LIST, "a");
    done(&f);
    children(&f, HEX "__rlock__0000000002 _c_" HEX "-lock-0000000003");
    assert_int_equal(f.log_lines, 0);
    zk_fixture_close(&f);
}

ZK_TEST_FROM(writelock_has_no_readers_and_writers, zk_fixture_init(f))
{
    f->config.layout = HF_ZK_WRITELOCK;
    assert_true(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    (void)zk_fixture_events(f);
    (void)zk_fixture_sent(f);
    f->kind = HF_TICKET_READ;
    ask(f, HF_REQUEST_ENQUEUE, "a");
    f->kind = HF_TICKET_WRITE;
    ask(f, HF_REQUEST_ENQUEUE, "b");
    f->kind = HF_TICKET_ELECTION;
    ask(f, HF_REQUEST_ENQUEUE, "c");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f),
                        "FAILED ENQUEUE a FATAL; FAILED ENQUEUE b FATAL; "
                        "FAILED ENQUEUE c FATAL");
    assert_int_equal(f->status, HF_EUNSUPPORTED);
    assert_string_equal(f->text,
                        "layout=writelock has no names for readers and "
                        "writers, nor for an election, only for a "
                        "mutex; expected a mutex, or layout=curator "
                        "or layout=kazoo");
}

ZK_TEST(what_is_not_text_is_quoted)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 1, 17);
    children(f, "a#1 \xff\xfe\x01");
    assert_non_null(
        strstr(f->logged_digests, "ignored: \"\\xFF\\xFE\\x01\"; "));
}

/* -------------------------------------------------------------- parents -- */

/* In one write with the ticket, whatever their number. */
ZK_TEST(parents_are_made_from_the_top)
{
    f->queue = "x/y/q";
    ask(f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 x/y/q/a; LIST x/y/q");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "CONTAINER x; CONTAINER x/y; CONTAINER x/y/q; "
                        "MULTI ?x/y/q +x/y/q/a; LIST x/y/q");
    refused(
        f, HF_ZK_NODE_EXISTS); /* the node existed, or another client made it */
    done(f);
    done(f);
    created(f, 0, 17);
    children(f, "a#0");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#0@17");
}

/* A parent that exists and in which we may not create is no error. */
ZK_TEST(only_the_ticket_shows_what_was_wrong)
{
    f->queue = "x/q";
    ask(f, HF_REQUEST_ENQUEUE, "a");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_AUTH);
    done(f);
    created(f, 0, 17);
    children(f, "a#0");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#0@17");
    f->queue = "y/q"; /* it is not there, and we may not create it */
    ask(f, HF_REQUEST_ENQUEUE, "b");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_AUTH);
    for (int i = 0; i < 3; i++)
        refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE b FATAL");
    assert_int_equal(f->status, HF_EDENIED);
    assert_non_null(strstr(f->text, "cannot create /y: no permission"));
}

/* The write with the parents is cut off, so the ticket may exist. */
ZK_TEST(a_cut_among_parents_leaves_the_ticket_open)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    done(f);
    link_down(f, "cut");
    assert_non_null(strstr(zk_fixture_events(f), "FAILED ENQUEUE a UNSURE"));
}

ZK_TEST(servers_without_containers_get_persistent_parents)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_UNIMPLEMENTED);
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/a; LIST q | "
                        "CONTAINER q; MULTI ?q +q/a; LIST q | "
                        "CREATE q; MULTI ?q +q/a; LIST q");
    done(f);
    created(f, 0, 17);
    children(f, "a#0");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#0@17");
    f->queue = "r"; /* and it is known from then on */
    ask(f, HF_REQUEST_ENQUEUE, "b");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "CREATE2 r/b; LIST r | "
                                            "CREATE r; MULTI ?r +r/b; LIST r");
    refused(f, HF_ZK_UNIMPLEMENTED);
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE b FATAL");
    assert_int_equal(f->status, HF_EUNSUPPORTED);
}

/* Such a server refuses a container before it answers earlier calls, and
 * closes the connection.  The next connection must not use one again. */
ZK_TEST(missing_containers_are_noticed_out_of_turn)
{
    ask(f, HF_REQUEST_ENQUEUE, "a"); /* 1 and 2 */
    ask(f, HF_REQUEST_PROVE, "");    /* 3 */
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    header(f, 4, HF_ZK_UNIMPLEMENTED);
    assert_string_equal(zk_fixture_events(f), "");
    link_down(f, "hung up");
    (void)zk_fixture_events(f);
    (void)zk_fixture_sent(f);
    resume(f);
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_ENQUEUE, "a");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/a; LIST q | "
                                            "CREATE q; MULTI ?q +q/a; LIST q");
}

/* As the other clients of that layout make them and rely on. */
TEST(other_layouts_have_persistent_parents)
{
    static const enum hf_zk_engine_dialect layouts[] = {HF_ZK_KAZOO,
                                                        HF_ZK_WRITELOCK};
    struct zk_fixture f;

    for (size_t i = 0; i < 2; i++) {
        zk_fixture_init(&f);
        f.config.layout = layouts[i];
        assert_true(zk_fixture_open(&f));
        link_up(&f);
        accept_session(&f);
        (void)zk_fixture_events(&f);
        (void)zk_fixture_sent(&f);
        f.queue = "x/q";
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        refused(&f, HF_ZK_NO_NODE);
        refused(&f, HF_ZK_NO_NODE);
        assert_string_equal(zk_fixture_sent(&f),
                            "CREATE2 x/q/a; LIST x/q | CREATE x; CREATE x/q; "
                            "MULTI ?x/q +x/q/a; LIST x/q");
        done(&f);
        done(&f);
        created(&f, 0, 17);
        children(&f, "a#0");
        assert_string_equal(zk_fixture_events(&f), "ENQUEUED a: a#0@17");
        zk_fixture_close(&f);
    }
}

ZK_TEST_FROM(a_chroot_is_not_made, zk_fixture_init(f))
{
    strcpy(f->config.url.chroot, "/apps");
    f->queue = "x/q";
    assert_true(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    (void)zk_fixture_events(f);
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_ENQUEUE, "a");
    for (int i = 0; i < 6; i++)
        refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "CREATE2 x/q/a; LIST x/q | "
                                            "CONTAINER x; CONTAINER x/q; "
                                            "MULTI ?x/q +x/q/a; LIST x/q");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a FATAL");
    assert_int_equal(f->status, HF_EDIR);
    assert_string_equal(
        f->text,
        "the node /apps, which the URL has for a root, "
        "does not exist; create it (holdfast zk create), or correct the URL");
}

/* A parent that vanishes each time is made a bounded number of times. */
ZK_TEST(making_parents_ends)
{
    unsigned iterations = 0;

    ask(f, HF_REQUEST_ENQUEUE, "a");
    while (f->answered == 0) {
        iterations++;
        refused(f, HF_ZK_NO_NODE);
        refused(f, HF_ZK_NO_NODE);
        if (f->answered == 0)
            done(f);
    }
    assert_in_range(iterations, 4, 16);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a RETRY");
    assert_string_equal(f->text, "cannot put a ticket below /q: no such node "
                                 "(-101)");
}

TEST(parents_that_cannot_be_made)
{
    static const struct {
        int32_t error;
        const char *events;
        hf_status status;
        const char *text;
    } rows[] = {
        {HF_ZK_NO_AUTH, "FAILED ENQUEUE a FATAL", HF_EDENIED,
         "cannot create /q: no permission (-102); see the node's access list: "
         "we have no credentials"},
        {HF_ZK_NO_CHILDREN_FOR_EPHEMERALS, "FAILED ENQUEUE a FATAL", HF_EKIND,
         "cannot create /q: the parent is an ephemeral node (-108)"},
        {HF_ZK_QUOTA_EXCEEDED, "FAILED ENQUEUE a FATAL", HF_EFULL,
         "cannot create /q: the quota is used up (-125)"},
        {HF_ZK_INVALID_ACL, "FAILED ENQUEUE a FATAL", HF_EDENIED,
         "cannot create /q: the server does not accept the access list (-114)"
         "; see the node's access list: we have no credentials"},
        {HF_ZK_THROTTLED, "FAILED ENQUEUE a RETRY", HF_EPROTOCOL,
         "cannot create /q: the server has too much to do (-127)"},
    };
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        refused(&f, HF_ZK_NO_NODE);
        refused(&f, HF_ZK_NO_NODE);
        refused(&f, rows[i].error);
        refused(&f, HF_ZK_NO_NODE);
        refused(&f, HF_ZK_NO_NODE);
        assert_string_equal(zk_fixture_events(&f), rows[i].events);
        assert_int_equal(f.status, rows[i].status);
        assert_string_equal(f.text, rows[i].text);
        zk_fixture_close(&f);
    }
}

/* ------------------------------------------------------- right to delete -- */

/* One round trip and one transaction, once for each parent. */
ZK_TEST(the_first_ticket_tries_the_right_to_delete)
{
    f->tries_rights = true;
    ask(f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_sent(f), "MULTI ?q +q/a; LIST q");
    created(f, 1, 17);
    children(f, "a#1");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a#1@17");
    ask(f, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/b; LIST q");
    created(f, 2, 18);
    children(f, "a#1 b#2");
    (void)zk_fixture_sent(f);
    f->queue = "r";
    ask(f, HF_REQUEST_ENQUEUE, "c");
    assert_string_equal(zk_fixture_sent(f), "MULTI ?r +r/c; LIST r");
}

/* No ticket is created, and each try asks anew. */
ZK_TEST(a_parent_without_the_right_to_delete_is_refused)
{
    f->tries_rights = true;
    for (int i = 0; i < 2; i++) {
        ask(f, HF_REQUEST_ENQUEUE, "a");
        assert_string_equal(zk_fixture_sent(f), "MULTI ?q +q/a; LIST q");
        trial_failed(f, 1, HF_ZK_NO_AUTH);
        children(f, "");
        assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a FATAL");
        assert_int_equal(f->status, HF_EDENIED);
        assert_non_null(strstr(f->text, "may create tickets below /q and may "
                                        "not delete them"));
        assert_non_null(strstr(f->text, "we have none"));
    }
    /* The other rights are the same as without a trial. */
    ask(f, HF_REQUEST_ENQUEUE, "a");
    trial_failed(f, 0, HF_ZK_NO_AUTH);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a FATAL");
    assert_string_equal(f->text, "cannot put a ticket below /q: no permission "
                                 "(-102); see the node's access list: we have "
                                 "no credentials");
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_ENQUEUE, "a");
    trial_failed(f, 0, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI ?q +q/a; LIST q | "
                        "CONTAINER q; MULTI ?q +q/a; LIST q");
}

/* A session that may not delete any more must not put another ticket there. */
ZK_TEST(a_delete_that_is_denied_has_the_right_tried_again)
{
    f->tries_rights = true;
    have_ticket(f, "a", 1, 17);
    ask(f, HF_REQUEST_REMOVE, "a");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED REMOVE a FATAL");
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(zk_fixture_sent(f), "MULTI ?q +q/b; LIST q");
}

/* Another session may be another user for the servers. */
ZK_TEST(a_session_that_is_lost_has_the_right_tried_again)
{
    f->tries_rights = true;
    have_ticket(f, "a", 1, 17);
    link_down(f, "cut");
    wake(f);
    link_up(f);
    refuse_session(f);
    link_up(f);
    accept_session_as(f, ZK_FIXTURE_TIMEOUT_MS, ZK_FIXTURE_SESSION + 1);
    (void)zk_fixture_events(f);
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(zk_fixture_sent(f), "MULTI ?q +q/b; LIST q");
}
