/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of the ZooKeeper engine: the node that is the flag, and watches of
 * it. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

static void begin(struct zk_fixture *f)
{
    zk_fixture_connected(f);
    f->kind = HF_TICKET_BARRIER;
}

static struct hf_request *look(struct zk_fixture *f, const char *name)
{
    struct hf_request *request = ask(f, HF_REQUEST_WATCH_QUEUE, name);

    assert_string_equal(zk_fixture_sent(f), "MULTI /; DATA q w");
    return request;
}

/* Watch the barrier q, whose flag was set in transaction 17; the list was
 * reported. */
static struct hf_request *queue_watch_events(struct zk_fixture *f)
{
    struct hf_request *request;

    begin(f);
    request = look(f, "z");
    checked(f);
    assert_string_equal(zk_fixture_events(f), "");
    data(f, "10.0.0.1", 17, 0);
    assert_string_equal(zk_fixture_events(f), "LISTED z: up@17");
    return request;
}

/* ------------------------------------------------------------------ set -- */

static void set_it(struct zk_fixture *f)
{
    ask(f, HF_REQUEST_SET_FLAG, "a");
    assert_string_equal(zk_fixture_sent(f), "CREATE q; EXISTS q");
}

ZK_TEST_FROM(a_flag_is_one_persistent_node, begin(f))
{
    set_it(f);
    done(f);
    assert_string_equal(zk_fixture_events(f), "");
    exists(f, 17, 0);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED");
    set_it(f); /* there already */
    refused(f, HF_ZK_NODE_EXISTS);
    exists(f, 17, 0);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED found");
    set_it(f); /* and cleared in between */
    refused(f, HF_ZK_NODE_EXISTS);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED found");
    ask(f, HF_REQUEST_CLEAR_FLAG, "a");
    assert_string_equal(zk_fixture_sent(f), "DELETE q");
    done(f);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED found");
    ask(f, HF_REQUEST_CLEAR_FLAG, "a");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED");
}

ZK_TEST_FROM(parents_are_made_when_they_are_missing, begin(f))
{
    f->queue = "gates/q";
    ask(f, HF_REQUEST_SET_FLAG, "a");
    assert_string_equal(zk_fixture_sent(f), "CREATE gates/q; EXISTS gates/q");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "CONTAINER gates; CREATE gates/q; EXISTS gates/q");
    done(f);
    done(f);
    exists(f, 17, 0);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED");
}

ZK_TEST_FROM(without_a_root_there_is_no_barrier, begin(f))
{
    set_it(f);
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "FAILED SET_FLAG a FATAL");
    assert_int_equal(f->status, HF_EDIR);
}

/* The node has tickets below it. */
ZK_TEST_FROM(the_node_of_a_lock_is_no_barrier, begin(f))
{
    f->nodes = 1;
    set_it(f);
    refused(f, HF_ZK_NODE_EXISTS);
    exists(f, 17, 0);
    assert_string_equal(zk_fixture_events(f), "FAILED SET_FLAG a FATAL");
    assert_int_equal(f->status, HF_EKIND);
    ask(f, HF_REQUEST_CLEAR_FLAG, "a");
    refused(f, HF_ZK_NOT_EMPTY);
    assert_string_equal(zk_fixture_events(f), "FAILED CLEAR_FLAG a FATAL");
    assert_int_equal(f->status, HF_EKIND);
    ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    checked(f);
    data(f, "", 17, 0);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE z FATAL");
    assert_int_equal(f->status, HF_EKIND);
    event(f, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(zk_fixture_events(f), "");
}

ZK_TEST_FROM(what_setting_may_be_answered, begin(f))
{
    set_it(f);
    refused(f, HF_ZK_NO_AUTH);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED SET_FLAG a FATAL");
    assert_int_equal(f->status, HF_EDENIED);
    ask(f, HF_REQUEST_CLEAR_FLAG, "a");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED CLEAR_FLAG a FATAL");
    ask(f, HF_REQUEST_SET_FLAG, "a");
    ask(f, HF_REQUEST_CLEAR_FLAG, "b");
    link_down(f, "reset");
    assert_string_equal(
        zk_fixture_events(f),
        "SUSPENDED; FAILED SET_FLAG a UNSURE; FAILED CLEAR_FLAG b UNSURE");
    ask(f, HF_REQUEST_SET_FLAG, "a");
    assert_string_equal(zk_fixture_events(f), "FAILED SET_FLAG a RETRY");
}

/* ---------------------------------------------------------- queue watch -- */

ZK_TEST_FROM(what_is_down_is_not_watched, begin(f))
{
    struct hf_request *request;

    request = look(f, "z");
    checked(f);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "LISTED z:");
    resume(f);
    assert_null(strstr(zk_fixture_sent(f), "SETWATCHES"));
    forget(f, request);
}

/* Also an event that is not the end of the flag: the core watches again. */
TEST(whatever_happens_to_it_is_reported_once)
{
    static const int32_t types[] = {HF_ZK_NODE_DELETED,
                                    HF_ZK_NODE_DATA_CHANGED};
    struct zk_fixture f;

    for (size_t i = 0; i < 2; i++) {
        queue_watch_events(&f);
        event(&f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
        event(&f, HF_ZK_NODE_DELETED, "r/");
        assert_string_equal(zk_fixture_events(&f), "");
        event(&f, types[i], "q/");
        assert_string_equal(zk_fixture_events(&f), "QUEUE_CHANGED z");
        event(&f, types[i], "q/");
        assert_string_equal(zk_fixture_events(&f), "");
        assert_string_equal(zk_fixture_sent(&f), "");
        zk_fixture_close(&f);
    }
}

ZK_TEST_FROM(several_may_wait, queue_watch_events(f))
{
    look(f, "w");
    checked(f);
    data(f, "10.0.0.1", 17, 0);
    assert_string_equal(zk_fixture_events(f), "LISTED w: up@17");
    event(f, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(zk_fixture_events(f),
                        "QUEUE_CHANGED w; QUEUE_CHANGED z");
}

/* A server that is behind the others could show the flag as cleared, so a
 * transaction comes first. */
ZK_TEST_FROM(a_look_without_its_transaction_is_none, begin(f))
{
    look(f, "z");
    refused(f, HF_ZK_OPERATION_TIMEOUT);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE z RETRY");
}

/* A check that failed is committed, too: who may not read the root can wait. */
ZK_TEST_FROM(a_look_needs_no_right_to_the_root, begin(f))
{
    look(f, "z");
    multi_failed(f, 0, HF_ZK_NO_AUTH);
    data(f, "10.0.0.1", 17, 0);
    assert_string_equal(zk_fixture_events(f), "LISTED z: up@17");
}

TEST(a_queue_watch_at_a_flag_can_be_taken_back)
{
    struct hf_request *request;
    struct zk_fixture f;

    request = queue_watch_events(&f);
    forget(&f, request);
    request = look(&f, "w"); /* before its answer */
    forget(&f, request);
    checked(&f);
    data(&f, "10.0.0.1", 17, 0);
    event(&f, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(zk_fixture_events(&f), "");
    zk_fixture_close(&f);
}

/* Flags are in the first list of SETWATCHES, watches of children in the
 * third. */
ZK_TEST_FROM(flags_are_watched_on_the_next_connection, queue_watch_events(f))
{
    f->kind = HF_TICKET_MUTEX;
    f->queue = "r";
    ask(f, HF_REQUEST_WATCH_QUEUE, "w");
    children(f, "");
    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    accept_session(f);
    assert_string_equal(zk_fixture_sent(f), "SETWATCHES 0x3 q r/");
    (void)zk_fixture_events(f);
    event(f, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z");
}

ZK_TEST_FROM(what_a_queue_watch_at_a_flag_may_be_answered, begin(f))
{
    look(f, "z");
    checked(f);
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE z FATAL");
    assert_int_equal(f->status, HF_EDENIED);
    look(f, "z");
    checked(f);
    answer_with(f, "\0\0\0\1", 4);
    assert_string_equal(zk_fixture_events(f), "FAILED WATCH_QUEUE z RETRY");
    look(f, "z");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED WATCH_QUEUE z RETRY");
}
