/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores in kazoo's layout. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/zk_queue.h"
#include "zk_fixture.h"

/* ----------------------------------------------------------------- names -- */

TEST(queues_lie_where_kazoo_looks)
{
    static const struct {
        enum hf_zk_engine_dialect layout;
        const char *name, *path;
        bool permits;
    } rows[] = {
        {HF_ZK_KAZOO, "a/b", "/c/a/b", false},
        {HF_ZK_KAZOO, "a/b/locks", "/c/a/b-__lock__", false},
        {HF_ZK_KAZOO, "a/b/leases", "/c/a/b", true},
        {HF_ZK_KAZOO, "leases/b", "/c/leases/b", false},
        {HF_ZK_KAZOO, "releases", "/c/releases", false},
        {HF_ZK_CURATOR, "a/b/locks", "/c/a/b/locks", false},
        {HF_ZK_CURATOR, "a/b/leases", "/c/a/b/leases", false},
        {HF_ZK_WRITELOCK, "a/b/leases", "/c/a/b/leases", false},
    };
    char path[HF_ZK_QUEUE_PATH_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            hf_zk_engine_queue_path(rows[i].layout, "/c", rows[i].name, path),
            rows[i].permits);
        assert_string_equal(path, rows[i].path);
    }
}

TEST(each_permit_says_whose_it_is)
{
    static const struct hf_ticket_id id = {{0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
                                            0x4d, 0xef, 0xa1, 0x23, 0x45, 0x67,
                                            0x89, 0xab, 0xcd, 0xef}};
    char names[HF_WEIGHT_MAX][HF_ZK_NODE_BYTES];
    struct hf_zk_engine_node node;

    for (uint32_t i = 0; i < HF_WEIGHT_MAX; i++) {
        hf_zk_engine_permit_name(&id, i, names[i]);
        assert_true(
            hf_zk_engine_permit_parse(names[i], strlen(names[i]), &node));
        assert_true(hf_ticket_id_equal(&node.id, &id));
        assert_int_equal(node.sequence, i);
        assert_int_equal(node.kind, HF_TICKET_LEASE);
        assert_true(hf_zk_engine_node_is_permit(&node));
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(names[i], names[j]);
    }
    assert_string_equal(names[0], "0123456789ab4defa123456789abcdef");
    assert_string_equal(names[1], "0123456789ab4defe123456789abcdef");
    assert_string_equal(names[2], "0123456789ab5def2123456789abcdef");
}

TEST(what_is_no_permit)
{
    static const char *const names[] = {
        "", "0123456789ab4defa123456789abcde",
        "0123456789ab4defa123456789abcdef0", "0123456789AB4DEFA123456789ABCDEF",
        "0123456789ab4defa123456789abcdef__lock__0000000001"};
    struct hf_zk_engine_node node;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_false(
            hf_zk_engine_permit_parse(names[i], strlen(names[i]), &node));
}

TEST(sizes_are_decimal)
{
    static const struct {
        const char *data;
        uint32_t permits;
    } rows[] = {{"1", 1},     {"007", 7}, {"999999999", 999999999},
                {"", 0},      {"0", 0},   {"1000000000", 0},
                {"three", 0}, {"-3", 0},  {"3 ", 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_jute_piece data = {rows[i].data, strlen(rows[i].data)};

        assert_int_equal(hf_zk_engine_permits_parse(data), rows[i].permits);
    }
    assert_int_equal(
        hf_zk_engine_permits_parse((struct hf_jute_piece){NULL, 0}), 0);
}

/* A lock of such a name would be at another path than that of kazoo. */
TEST(names_that_are_elsewhere)
{
    struct hf_request request = {.queue = "s/locks",
                                 .ticket_kind = HF_TICKET_MUTEX};

    assert_false(hf_zk_engine_name_is_reserved(HF_ZK_KAZOO, &request));
    hf_ticket_id_set_role(&request.ticket, HF_ROLE_LOCK);
    request.ticket.bytes[8] = 0x80;
    assert_true(hf_zk_engine_name_is_reserved(HF_ZK_KAZOO, &request));
    assert_false(hf_zk_engine_name_is_reserved(HF_ZK_CURATOR, &request));
    hf_ticket_id_set_role(&request.ticket, HF_ROLE_ENTRY);
    assert_false(hf_zk_engine_name_is_reserved(HF_ZK_KAZOO, &request));
    request.ticket_kind = HF_TICKET_READ;
    assert_true(hf_zk_engine_name_is_reserved(HF_ZK_KAZOO, &request));
    request.queue = "s/leases";
    assert_true(hf_zk_engine_name_is_reserved(HF_ZK_KAZOO, &request));
    request.ticket_kind = HF_TICKET_LEASE;
    assert_false(hf_zk_engine_name_is_reserved(HF_ZK_KAZOO, &request));
    request.queue = "locks";
    request.ticket_kind = HF_TICKET_READ;
    assert_false(hf_zk_engine_name_is_reserved(HF_ZK_KAZOO, &request));
}

/* ---------------------------------------------------------------- cases -- */

TEST(a_name_that_is_elsewhere_is_refused)
{
    struct zk_fixture f;

    zk_fixture_layout = HF_ZK_KAZOO;
    zk_fixture_connected(&f);
    f.queue = "s/leases";
    f.kind = HF_TICKET_MUTEX;
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a FATAL");
    assert_int_equal(f.status, HF_EUNSUPPORTED);
    assert_non_null(strstr(f.text, "does not end in \"/locks\""));
    f.kind = HF_TICKET_BARRIER;
    ask(&f, HF_REQUEST_SET_FLAG, "a");
    assert_string_equal(zk_fixture_events(&f), "FAILED SET_FLAG a FATAL");
    assert_int_equal(f.status, HF_EUNSUPPORTED);
    assert_string_equal(zk_fixture_sent(&f), "");
    zk_fixture_close(&f);
}

/* A session with "G" at the head of the lock; tickets are leases of ${weight}
 * out of five. */
static void permits_of(struct zk_fixture *f, uint32_t weight)
{
    zk_fixture_layout = HF_ZK_KAZOO;
    zk_fixture_connected(f);
    f->queue = "s/locks";
    ask(f, HF_REQUEST_ENQUEUE, "G");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 s-__lock__/G; LIST s-__lock__");
    created(f, 3, 16);
    children(f, "G#3");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED G: G#3@16");
    f->queue = "s/leases";
    f->kind = HF_TICKET_LEASE;
    f->weight = weight;
    f->limit = 5;
    f->entry_mutex = "G";
    f->zxid = 40;
}

/* The lease "A" has three permits. */
static void have_three(struct zk_fixture *f)
{
    permits_of(f, 3);
    ask(f, HF_REQUEST_ENQUEUE, "A");
    created_all(f, 0);
    children(f, "A/p#0 A/p#1 A/p#2");
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

/* The node has the size from its creation on. */
ZK_TEST_FROM(they_are_made_with_the_check_of_the_entry_mutex, permits_of(f, 2))
{
    ask(f, HF_REQUEST_WATCH_QUEUE, "A");
    assert_string_equal(zk_fixture_sent(f), "DATA s; LIST s w");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "LISTED A:");
    assert_string_equal(zk_fixture_sent(f), "EXISTS s w");
    refused(f, HF_ZK_NO_NODE);
    ask(f, HF_REQUEST_ENQUEUE, "A");
    multi_failed(f, 0, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI +s/A/p#0 +s/A/p#1 s-__lock__/G#3; LIST s | "
                        "CREATE s=5; "
                        "MULTI ?s +s/A/p#0 +s/A/p#1 s-__lock__/G#3; LIST s");
    done(f);
    f->zxid = 50;
    created_all(f, 0);
    children(f, "B/p#0 A/p#1 A/p#0");
    data(f, "b", 1, 1);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED A: B/l#0=b A/l#50*2@50");
}

ZK_TEST_FROM(one_permit_too, permits_of(f, 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "A");
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI +s/A/p#0 s-__lock__/G#3; LIST s");
    created_all(f, 0);
    children(f, "A/p#0");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED A: A/l#40@40");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI s-__lock__/G#3 s/A/p#0");
    checked(f);
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_REMOVE, "A");
    assert_string_equal(zk_fixture_sent(f), "DELETE s/A/p#0");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED A found");
}

/* A ticket behind ours may be ahead of the permits by now. */
TEST(nothing_is_made_without_the_entry_mutex)
{
    struct zk_fixture f;

    for (int trial = 0; trial < 2; trial++) {
        permits_of(&f, 2);
        f.tries_rights = trial != 0;
        ask(&f, HF_REQUEST_ENQUEUE, "A");
        multi_failed(&f, 2, HF_ZK_NO_NODE);
        children(&f, "");
        assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE A RETRY");
        assert_string_equal(
            zk_fixture_sent(&f),
            trial != 0 ? "MULTI ?s +s/A/p#0 +s/A/p#1 s-__lock__/G#3; LIST s"
                       : "MULTI +s/A/p#0 +s/A/p#1 s-__lock__/G#3; LIST s");
        assert_int_equal(f.status, HF_EPROTOCOL);
        zk_fixture_close(&f);
    }
}

/* "H" is behind "G" in the entry mutex, and of the same session. */
static void have_two_entry_tickets(struct zk_fixture *f)
{
    permits_of(f, 1);
    f->queue = "s/locks";
    f->kind = HF_TICKET_MUTEX;
    ask(f, HF_REQUEST_ENQUEUE, "H");
    created(f, 4, 17);
    children(f, "G#3 H#4");
    data(f, "", 16, ZK_FIXTURE_SESSION);
    ask(f, HF_REQUEST_WATCH, "G");
    f->kind = HF_TICKET_LEASE;
    f->queue = "s/leases";
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

/* Each lease has a ticket of its own there. */
ZK_TEST_FROM(the_entry_mutex_is_that_of_the_lease, have_two_entry_tickets(f))
{
    ask(f, HF_REQUEST_ENQUEUE, "A");
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI +s/A/p#0 s-__lock__/G#3; LIST s");
    created_all(f, 0);
    children(f, "A/p#0");
    f->entry_mutex = "H";
    ask(f, HF_REQUEST_ENQUEUE, "B");
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI +s/B/p#0 s-__lock__/H#4; LIST s");
    created_all(f, 0);
    children(f, "B/p#0 A/p#0");
    (void)zk_fixture_events(f);
}

/* The node above the permits is missing.  By the time at which that is known,
 * somebody has evicted the ticket in the entry mutex.  Another ticket of ours
 * there says nothing about who is first. */
ZK_TEST_FROM(nothing_is_made_once_the_entry_mutex_is_gone,
             have_two_entry_tickets(f))
{
    ask(f, HF_REQUEST_ENQUEUE, "A");
    event(f, HF_ZK_NODE_DELETED, "s-__lock__/G#3");
    assert_string_equal(zk_fixture_events(f), "GONE G");
    multi_failed(f, 0, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    data(f, "", 16, 0); /* who has evicted it */
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE A RETRY");
    assert_int_equal(f->status, HF_EPROTOCOL);
    assert_string_equal(
        zk_fixture_sent(f),
        "MULTI +s/A/p#0 s-__lock__/G#3; LIST s | DATA s-__lock__");
    ask(f, HF_REQUEST_ENQUEUE, "A");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE A RETRY");
    assert_string_equal(zk_fixture_sent(f), "");
}

/* The same, and the wait was given up: the create that is repeated comes behind
 * the delete of that ticket. */
ZK_TEST_FROM(nothing_is_made_behind_the_end_of_the_entry_mutex,
             permits_of(f, 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "A");
    f->queue = "s/locks";
    f->kind = HF_TICKET_MUTEX;
    ask(f, HF_REQUEST_REMOVE, "G");
    (void)zk_fixture_sent(f);
    multi_failed(f, 0, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE s=5; MULTI ?s +s/A/p#0 s-__lock__/G#3; LIST s");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED G found");
    done(f);
    multi_failed(f, 1, HF_ZK_NO_NODE);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE A RETRY");
    assert_string_equal(zk_fixture_sent(f), "");
}

ZK_TEST_FROM(another_size_is_refused, permits_of(f, 1))
{
    ask(f, HF_REQUEST_WATCH_QUEUE, "A");
    data(f, "3", 1, 0);
    children(f, "B/p#0");
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE A FATAL");
    assert_int_equal(f->status, HF_EKIND);
    assert_string_equal(
        f->text,
        "the semaphore has 3 permits, says its node /s, and not 5; "
        "give all programs there the same number, or write another one "
        "to the node");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "s/"); /* no queue watch is set */
    assert_string_equal(zk_fixture_events(f), "");
}

/* As kazoo does: the data may be for something else. */
ZK_TEST_FROM(no_size_is_no_other_size, permits_of(f, 1))
{
    static const char *const texts[] = {"5", "", "many", NULL};

    for (size_t i = 0; i < 4; i++) {
        struct hf_request *look = ask(f, HF_REQUEST_WATCH_QUEUE, "A");

        data(f, texts[i], 1, 0);
        children(f, "");
        assert_string_equal(zk_fixture_events(f), "LISTED A:");
        forget(f, look);
    }
    f->limit = 0;
    ask(f, HF_REQUEST_WATCH_QUEUE, "A");
    data(f, "3", 1, 0);
    children(f, "B/p#0");
    data(f, "b", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED A: B/l#0=b");
}

/* No server should list a name twice. */
ZK_TEST_FROM(what_is_listed_twice_counts_once, permits_of(f, 2))
{
    ask(f, HF_REQUEST_WATCH_QUEUE, "A");
    data(f, "5", 1, 0);
    children(f, "B/p#1 B/p#0 B/p#1 B/p#0");
    data(f, "b", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED A: B/l#0*2=b");
}

ZK_TEST_FROM(one_without_an_answer_is_found, permits_of(f, 2))
{
    ask(f, HF_REQUEST_ENQUEUE, "A");
    resume(f);
    ask(f, HF_REQUEST_LIST, "A");
    done(f);
    children(f, "B/p#0 A/p#0 A/p#1");
    exists(f, 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "LISTED A: B/l#0 A/l#17*2@17");
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_REMOVE, "A");
    assert_string_equal(zk_fixture_sent(f), "MULTI -s/A/p#0 -s/A/p#1");
    checked(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED A found");
}

ZK_TEST_FROM(a_part_that_goes_takes_the_ticket, have_three(f))
{
    ask(f, HF_REQUEST_WATCH, "A");
    assert_string_equal(zk_fixture_sent(f),
                        "DATA s/A/p#0 w; DATA s/A/p#1 w; DATA s/A/p#2 w");
    for (int i = 0; i < 3; i++)
        data(f, "me", 40, ZK_FIXTURE_SESSION);
    event(f, HF_ZK_NODE_DELETED, "s/A/p#0");
    assert_string_equal(zk_fixture_events(f), "WATCHING A; GONE A");
    assert_string_equal(zk_fixture_sent(f), "DATA s"); /* who evicted it */
    data(f, "3", 40, 0);
    ask(f, HF_REQUEST_REMOVE, "A"); /* what is left goes */
    done(f);
    children(f, "A/p#1 A/p#2");
    assert_string_equal(zk_fixture_sent(f),
                        "SYNC s; LIST s | MULTI -s/A/p#1 -s/A/p#2");
    checked(f);
    (void)zk_fixture_events(f);
}

/* A lock does not take permits for tickets, and a semaphore takes tickets for
 * what they are. */
ZK_TEST_FROM(a_lock_at_the_same_node, permits_of(f, 1))
{
    f->queue = "s";
    f->kind = HF_TICKET_MUTEX;
    ask(f, HF_REQUEST_LIST, "c");
    done(f);
    children(f, "A/p#0");
    assert_string_equal(zk_fixture_events(f), "LISTED c:");
    assert_non_null(strstr(f->logged_digests, "has a child that is no ticket"));
    f->queue = "s/leases";
    ask(f, HF_REQUEST_WATCH_QUEUE, "A");
    data(f, "5", 1, 0);
    children(f, "c#7 B/p#0");
    data(f, "b", 1, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED A: B/l#0=b c#7");
}
