/* SPDX-License-Identifier: Apache-2.0 */
/* ENQUEUE: one trip where the queue is there, and what it takes where it is
 * not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engines/zookeeper/unknown_node.h"
#include "zk_stage.h"

/* --------------------------------------------------------------- enqueue -- */

static void an_uncontended_enqueue_is_one_trip(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(stage_sent(&s), "CREATE2 q/a; LIST q");
    created(&s, 0, 17);
    assert_string_equal(stage_told(&s), "");
    children(&s, "a#0");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#0@17");
    assert_string_equal(stage_sent(&s), "");
    stage_close(&s);
}

static void kinds_and_layouts_and_chroots_and_floors(void **state)
{
    static const struct {
        enum hf_zk_dialect layout;
        enum hf_ticket_kind kind;
        const char *sent;
        const char *queue;
        const char *told;
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
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stage_init(&s);
        strcpy(s.config.chroot, "/apps/x");
        s.config.token_floor = 1000;
        s.config.session.private_nodes = true;
        s.config.layout = rows[i].layout;
        s.kind = rows[i].kind;
        assert_true(stage_open(&s));
        link_up(&s);
        accept_session(&s);
        (void)stage_sent(&s);
        (void)stage_told(&s);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        assert_string_equal(stage_sent(&s), rows[i].sent);
        created(&s, 1, 17);
        children(&s, rows[i].queue);
        assert_string_equal(stage_told(&s), rows[i].told);
        stage_close(&s);
    }
}

/* The order of numbers, not that of names; what is no ticket does not count,
 * and is reported once. */
static void fn41_queues_are_in_order(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 30, 17);
    children(&s, "b#12 locks a#30 y/r#7 \xff\xfe c/w#9 x#100 lock-7");
    assert_string_equal(stage_sent(&s), "CREATE2 q/a; LIST q | DATA q/y/r#7");
    data(&s, "reader", 1, 1);
    assert_string_equal(stage_told(&s),
                        "ENQUEUED a: y/r#7=reader c/w#9 b#12 a#30@17");
    assert_int_equal(s.lines, 1);
    assert_string_equal(s.logged_digests,
                        "/q has a child that is no ticket and is "
                        "ignored: \"locks\"; expected only names that "
                        "holdfast, Curator, kazoo, go-zookeeper or "
                        "WriteLock give");
    ask(&s, HF_REQUEST_LIST, "a");
    children(&s, "a#30 \xff\xfe");
    assert_int_equal(s.lines, 1);
    stage_close(&s);
}

/* ------------------------------------------------------- one list for all --
 */

/* A burst asks for one list and one head, however many they are. */
static void one_list_serves_all_who_wait(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    ask(&s, HF_REQUEST_ENQUEUE, "c");
    ask(&s, HF_REQUEST_ENQUEUE, "d");
    assert_string_equal(stage_sent(&s), "CREATE2 q/a; LIST q | CREATE2 q/b | "
                                        "CREATE2 q/c | CREATE2 q/d");
    created(&s, 0, 11);
    children(&s, "a#0");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#0@11");
    assert_string_equal(stage_sent(&s), "LIST q");
    created(&s, 1, 12);
    created(&s, 2, 13);
    created(&s, 3, 14);
    assert_string_equal(stage_told(&s), "");
    children(&s, "d#3 c#2 a#0 b#1");
    assert_string_equal(stage_sent(&s), "DATA q/a#0 w");
    data(&s, "me", 11, 0);
    assert_string_equal(stage_told(&s),
                        "ENQUEUED b: a#0@11=me b#1@12; "
                        "ENQUEUED c: a#0@11=me b#1@12 c#2@13; "
                        "ENQUEUED d: a#0@11=me b#1@12 c#2@13 d#3@14");
    assert_string_equal(stage_sent(&s), "");
    stage_close(&s);
}

/* A list that was sent before does not show what they have sent since. */
static void who_comes_later_waits_for_the_next_list(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    have(&s, "a", 1, 11);
    ask(&s, HF_REQUEST_LIST, "a");
    ask(&s, HF_REQUEST_LIST, "a");
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    assert_string_equal(stage_sent(&s), "LIST q | CREATE2 q/b");
    children(&s, "a#1");
    assert_string_equal(stage_told(&s), "LISTED a: a#1@11");
    assert_string_equal(stage_sent(&s), "LIST q");
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "");
    created(&s, 2, 12);
    children(&s, "a#1 b#2");
    data(&s, "", 11, 0);
    assert_string_equal(stage_told(&s),
                        "LISTED a: a#1@11; ENQUEUED b: a#1@11 b#2@12");
    assert_string_equal(stage_sent(&s), "DATA q/a#1 w; LIST q");
    children(&s, "a#1 b#2");
    assert_string_equal(stage_told(&s), "LISTED a: a#1@11");
    stage_close(&s);
}

static void a_cut_answers_those_who_wait_for_a_list(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    created(&s, 0, 11);
    link_down(&s, "hung up");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED ENQUEUE a UNSURE; "
                                        "FAILED ENQUEUE b UNSURE");
    stage_close(&s);
}

/* Nothing is sent behind it, and they are answered all the same. */
static void a_goodbye_answers_those_who_wait_for_a_list(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    ask(&s, HF_REQUEST_END, "");
    assert_string_equal(stage_sent(&s),
                        "CREATE2 q/a; LIST q | CREATE2 q/b | CLOSE");
    created(&s, 0, 11);
    children(&s, "a#0");
    created(&s, 1, 12);
    assert_string_equal(stage_told(&s),
                        "ENQUEUED a: a#0@11; FAILED ENQUEUE b UNSURE");
    stage_close(&s);
}

/* Of many the first, the nearest and one's own. */
static void a_long_queue_is_answered_in_part(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 9, 17);
    children(&s, "i#8 b#1 c/r#2 d#3 e#4 f#5 g/r#6 h#7 a#9 k#10");
    data(&s, "head", 1, 1);
    assert_string_equal(stage_told(&s),
                        "ENQUEUED a: b#1=head g/r#6 h#7 i#8 a#9@17");
    stage_close(&s);
}

/* Once in the client's life for each path, though nobody here wants anything
 * of the queue in between. */
static void unknown_nodes_are_reported_once_for_each_path(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    for (int i = 0; i < 3; i++) {
        ask(&s, HF_REQUEST_LIST, "a");
        done(&s);
        children(&s, "junk");
        assert_int_equal(s.lines, 1);
    }
    s.queue = "r";
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    children(&s, "junk");
    assert_int_equal(s.lines, 2);
    stage_close(&s);
}

/* What is remembered of that is bounded. */
static void reports_of_many_paths_are_forgotten(void **state)
{
    char name[32];
    struct stage s;

    (void)state;
    stage_connected(&s);
    s.queue = name;
    for (unsigned i = 0; i <= HF_ZK_REPORTS_MAX; i++) {
        snprintf(name, sizeof name, "queue-%u", i % HF_ZK_REPORTS_MAX);
        ask(&s, HF_REQUEST_LIST, "a");
        done(&s);
        children(&s, "junk");
    }
    assert_int_equal(s.lines, HF_ZK_REPORTS_MAX);
    for (unsigned i = HF_ZK_REPORTS_MAX; i <= HF_ZK_REPORTS_MAX + 1; i++) {
        snprintf(name, sizeof name, "queue-%u", i % (HF_ZK_REPORTS_MAX + 1));
        ask(&s, HF_REQUEST_LIST, "a");
        done(&s);
        children(&s, "junk");
    }
    assert_int_equal(s.lines, HF_ZK_REPORTS_MAX + 2);
    stage_close(&s);
}

#define HEX "6f2a6c1e6a0b4e9d9d0e2f5c3a1b7d44"

/* They are waited for, but may not wait for us. */
static void tickets_that_do_not_see_ours_are_reported(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 3, 17);
    children(&s, HEX "__rlock__0000000002 a#3 x-12-0000000004");
    data(&s, "kazoo", 1, 1);
    assert_non_null(strstr(stage_told(&s), "/r#2=kazoo a#3@17"));
    assert_int_equal(s.lines, 1);
    assert_string_equal(s.logged_digests,
                        "/q has tickets in the layout of kazoo, such as \"" HEX
                        "__rlock__0000000002\"; programs that write these do "
                        "not see ours unless they are set up to, and may hold "
                        "the lock beside us: expected one layout for all; put "
                        "layout=kazoo into the URL, here it is layout=curator");
    stage_close(&s);
    stage_init(&s);
    s.config.layout = HF_ZK_KAZOO;
    assert_true(stage_open(&s));
    link_up(&s);
    accept_session(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    children(&s, HEX "__rlock__0000000002 _c_" HEX "-lock-0000000003");
    assert_int_equal(s.lines, 0);
    stage_close(&s);
}

static void writelock_has_no_readers_and_writers(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    s.config.layout = HF_ZK_WRITELOCK;
    assert_true(stage_open(&s));
    link_up(&s);
    accept_session(&s);
    (void)stage_told(&s);
    (void)stage_sent(&s);
    s.kind = HF_TICKET_READ;
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    s.kind = HF_TICKET_WRITE;
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    s.kind = HF_TICKET_ELECTION;
    ask(&s, HF_REQUEST_ENQUEUE, "c");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s),
                        "FAILED ENQUEUE a FATAL; FAILED ENQUEUE b FATAL; "
                        "FAILED ENQUEUE c FATAL");
    assert_int_equal(s.status, HF_EUNSUPPORTED);
    assert_string_equal(s.text, "layout=writelock has no names for readers and "
                                "writers, nor for an election, only for a "
                                "mutex; expected a mutex, or layout=curator "
                                "or layout=kazoo");
    stage_close(&s);
}

static void what_is_not_text_is_quoted(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created(&s, 1, 17);
    children(&s, "a#1 \xff\xfe\x01");
    assert_non_null(strstr(s.logged_digests, "ignored: \"\\xFF\\xFE\\x01\"; "));
    stage_close(&s);
}

/* -------------------------------------------------------------- parents -- */

/* In one write with the ticket, however many they are. */
static void parents_are_made_from_the_top(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    s.queue = "x/y/q";
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(stage_sent(&s), "CREATE2 x/y/q/a; LIST x/y/q");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s),
                        "CONTAINER x; CONTAINER x/y; CONTAINER x/y/q; "
                        "CREATE2 x/y/q/a; LIST x/y/q");
    refused(&s, HF_ZK_NODE_EXISTS); /* it was there, or somebody else did */
    done(&s);
    done(&s);
    created(&s, 0, 17);
    children(&s, "a#0");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#0@17");
    stage_close(&s);
}

/* A parent that is there and in which we may not create is no matter. */
static void only_the_ticket_shows_what_was_wrong(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    s.queue = "x/q";
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_AUTH);
    done(&s);
    created(&s, 0, 17);
    children(&s, "a#0");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#0@17");
    s.queue = "y/q"; /* it is not there, and we may not create it */
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_AUTH);
    for (int i = 0; i < 3; i++)
        refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE b FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    assert_non_null(strstr(s.text, "cannot create /y: no permission"));
    stage_close(&s);
}

/* The write with the parents is cut off: the ticket may be there. */
static void a_cut_among_parents_leaves_the_ticket_open(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    done(&s);
    link_down(&s, "cut");
    assert_non_null(strstr(stage_told(&s), "FAILED ENQUEUE a UNSURE"));
    stage_close(&s);
}

static void servers_without_containers_get_persistent_parents(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_UNIMPLEMENTED);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "CREATE2 q/a; LIST q | "
                                        "CONTAINER q; CREATE2 q/a; LIST q | "
                                        "CREATE q; CREATE2 q/a; LIST q");
    done(&s);
    created(&s, 0, 17);
    children(&s, "a#0");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a#0@17");
    s.queue = "r"; /* and it is known from then on */
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "CREATE2 r/b; LIST r | "
                                        "CREATE r; CREATE2 r/b; LIST r");
    refused(&s, HF_ZK_UNIMPLEMENTED);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE b FATAL");
    assert_int_equal(s.status, HF_EUNSUPPORTED);
    stage_close(&s);
}

/* Such a server refuses them ahead of what it was asked before, and hangs up.
 * Asked so again on the next connection, it would do that for ever. */
static void that_there_are_no_containers_is_heard_out_of_turn(void **state)
{
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a"); /* 1 and 2 */
    ask(&s, HF_REQUEST_PROVE, "");    /* 3 */
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    header(&s, 4, HF_ZK_UNIMPLEMENTED);
    assert_string_equal(stage_told(&s), "");
    link_down(&s, "hung up");
    (void)stage_told(&s);
    (void)stage_sent(&s);
    resume(&s);
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "CREATE2 q/a; LIST q | "
                                        "CREATE q; CREATE2 q/a; LIST q");
    stage_close(&s);
}

/* As the programs that share the path make them, and rely on it. */
static void other_layouts_have_persistent_parents(void **state)
{
    static const enum hf_zk_dialect layouts[] = {HF_ZK_KAZOO, HF_ZK_WRITELOCK};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        stage_init(&s);
        s.config.layout = layouts[i];
        assert_true(stage_open(&s));
        link_up(&s);
        accept_session(&s);
        (void)stage_told(&s);
        (void)stage_sent(&s);
        s.queue = "x/q";
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        refused(&s, HF_ZK_NO_NODE);
        refused(&s, HF_ZK_NO_NODE);
        assert_string_equal(stage_sent(&s),
                            "CREATE2 x/q/a; LIST x/q | CREATE x; CREATE x/q; "
                            "CREATE2 x/q/a; LIST x/q");
        done(&s);
        done(&s);
        created(&s, 0, 17);
        children(&s, "a#0");
        assert_string_equal(stage_told(&s), "ENQUEUED a: a#0@17");
        stage_close(&s);
    }
}

static void a_chroot_is_not_made(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    strcpy(s.config.chroot, "/apps");
    s.queue = "x/q";
    assert_true(stage_open(&s));
    link_up(&s);
    accept_session(&s);
    (void)stage_told(&s);
    (void)stage_sent(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    for (int i = 0; i < 6; i++)
        refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "CREATE2 x/q/a; LIST x/q | "
                                        "CONTAINER x; CONTAINER x/q; "
                                        "CREATE2 x/q/a; LIST x/q");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a FATAL");
    assert_int_equal(s.status, HF_EDIR);
    assert_string_equal(s.text, "the node /apps, which the URL has for a root, "
                                "does not exist; create it, or correct the "
                                "URL");
    stage_close(&s);
}

/* A parent that vanishes again and again is made so often, and no more. */
static void making_parents_ends(void **state)
{
    unsigned rounds = 0;
    struct stage s;

    (void)state;
    stage_connected(&s);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    while (s.answered == 0) {
        rounds++;
        refused(&s, HF_ZK_NO_NODE);
        refused(&s, HF_ZK_NO_NODE);
        if (s.answered == 0)
            done(&s);
    }
    assert_in_range(rounds, 4, 16);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a RETRY");
    assert_string_equal(s.text, "cannot put a ticket below /q: no such node "
                                "(-101)");
    stage_close(&s);
}

static void parents_that_cannot_be_made(void **state)
{
    static const struct {
        int32_t error;
        const char *told;
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
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stage_connected(&s);
        ask(&s, HF_REQUEST_ENQUEUE, "a");
        refused(&s, HF_ZK_NO_NODE);
        refused(&s, HF_ZK_NO_NODE);
        refused(&s, rows[i].error);
        refused(&s, HF_ZK_NO_NODE);
        refused(&s, HF_ZK_NO_NODE);
        assert_string_equal(stage_told(&s), rows[i].told);
        assert_int_equal(s.status, rows[i].status);
        assert_string_equal(s.text, rows[i].text);
        stage_close(&s);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_uncontended_enqueue_is_one_trip),
        cmocka_unit_test(kinds_and_layouts_and_chroots_and_floors),
        cmocka_unit_test(fn41_queues_are_in_order),
        cmocka_unit_test(one_list_serves_all_who_wait),
        cmocka_unit_test(who_comes_later_waits_for_the_next_list),
        cmocka_unit_test(a_cut_answers_those_who_wait_for_a_list),
        cmocka_unit_test(a_goodbye_answers_those_who_wait_for_a_list),
        cmocka_unit_test(a_long_queue_is_answered_in_part),
        cmocka_unit_test(unknown_nodes_are_reported_once_for_each_path),
        cmocka_unit_test(reports_of_many_paths_are_forgotten),
        cmocka_unit_test(tickets_that_do_not_see_ours_are_reported),
        cmocka_unit_test(writelock_has_no_readers_and_writers),
        cmocka_unit_test(what_is_not_text_is_quoted),
        cmocka_unit_test(parents_are_made_from_the_top),
        cmocka_unit_test(only_the_ticket_shows_what_was_wrong),
        cmocka_unit_test(a_cut_among_parents_leaves_the_ticket_open),
        cmocka_unit_test(servers_without_containers_get_persistent_parents),
        cmocka_unit_test(that_there_are_no_containers_is_heard_out_of_turn),
        cmocka_unit_test(other_layouts_have_persistent_parents),
        cmocka_unit_test(a_chroot_is_not_made),
        cmocka_unit_test(making_parents_ends),
        cmocka_unit_test(parents_that_cannot_be_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
