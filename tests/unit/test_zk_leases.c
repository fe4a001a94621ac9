/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of semaphores: one ticket that has as many nodes as permits. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/node_name.h"
#include "zk_fixture.h"

/* A session; tickets are leases of ${weight}. */
static void leases_of(struct zk_fixture *f, uint32_t weight)
{
    zk_fixture_connected(f);
    f->kind = HF_TICKET_LEASE;
    f->weight = weight;
}

/* The lease "a" has the nodes 5, 6 and 7. */
static void have_three(struct zk_fixture *f)
{
    leases_of(f, 3);
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created_all(f, 5);
    children(f, "a/l#5 a/l#6 a/l#7");
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

ZK_TEST_FROM(one_permit_is_one_node, leases_of(f, 1))
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/a/l; LIST q");
    created(f, 5, 17);
    children(f, "a/l#5");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a/l#5@17");
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a/l#5");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found");
}

/* All nodes or none.  The token is the transaction of the answer. */
ZK_TEST_FROM(several_are_one_multi, leases_of(f, 3))
{
    f->zxid = 40;
    ask(f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI +q/a/l +q/a/l +q/a/l; LIST q");
    created_all(f, 5);
    children(f, "b/l#4 a/l#7 a/l#6 a/l#5 c/l#8 c/l#9");
    data(f, "b", 1, 1);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED a: b/l#4=b a/l#5*3@40 c/l#8*2");
    ask(f, HF_REQUEST_ENQUEUE, "a"); /* once more: it is there */
    assert_string_equal(zk_fixture_sent(f), "DATA q/b/l#4 | LIST q");
    children(f, "a/l#7 a/l#6 a/l#5");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a/l#5*3@40");
}

ZK_TEST_FROM(their_parent_is_made, leases_of(f, 2))
{
    f->queue = "x/leases";
    ask(f, HF_REQUEST_ENQUEUE, "a");
    multi_failed(f, 0, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI +x/leases/a/l +x/leases/a/l; LIST x/leases | "
                        "CONTAINER x; CONTAINER x/leases; "
                        "MULTI ?x/leases +x/leases/a/l +x/leases/a/l; "
                        "LIST x/leases");
    refused(f, HF_ZK_NODE_EXISTS);
    done(f);
    created_all(f, 0);
    children(f, "a/l#0 a/l#1");
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a/l#0*2@5");
}

ZK_TEST_FROM(what_a_multi_may_be_answered, leases_of(f, 2))
{
    static const uint8_t nothing[] = {255, 255, 255, 255, 1,
                                      255, 255, 255, 255};

    ask(f, HF_REQUEST_ENQUEUE, "a");
    multi_failed(f, 1, HF_ZK_NO_AUTH);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a FATAL");
    assert_int_equal(f->status, HF_EDENIED);
    ask(f, HF_REQUEST_ENQUEUE, "a");
    refused(f, HF_ZK_THROTTLED);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a RETRY");
    ask(f, HF_REQUEST_ENQUEUE, "a");
    answer_with(f, nothing, sizeof nothing);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a UNSURE");
}

/* The server gave numbers that are not those of one create. */
ZK_TEST_FROM(numbers_of_permits_that_do_not_follow, leases_of(f, 2))
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created_apart(f, 5, 2);
    children(f, "a/l#5 a/l#7");
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a UNSURE");
    assert_string_equal(zk_fixture_sent(f), "MULTI +q/a/l +q/a/l; LIST q");
}

ZK_TEST_FROM(one_without_an_answer_is_found, leases_of(f, 3))
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    resume(f);
    ask(f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
    children(f, "a/l#5 a/l#6 a/l#7");
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/a/l#5");
    exists(f, 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "LISTED a: a/l#5*3@17");
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    checked(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found");
}

/* Nodes of another session, or only some of ours. */
ZK_TEST_FROM(what_is_found_may_be_none, leases_of(f, 3))
{
    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    children(f, "a/l#5 a/l#6 a/l#7");
    exists(f, 17, 4711);
    assert_string_equal(zk_fixture_events(f), "LISTED a: ?/l#5*3");
    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    children(f, "a/l#5 a/l#6");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "LISTED a: ?/l#5*2=me");
}

ZK_TEST_FROM(a_part_that_goes_takes_the_ticket, have_three(f))
{
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "a/l#5 a/l#7 b/l#8");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "LISTED a: ?/l#5*2=me b/l#8");
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_PROVE, ""); /* it is none of ours */
    assert_string_equal(zk_fixture_sent(f), "MULTI /");
    checked(f);
    ask(f, HF_REQUEST_REMOVE, "a"); /* and what is left goes */
    done(f);
    children(f, "a/l#5 a/l#7 b/l#8");
    assert_string_equal(zk_fixture_sent(f),
                        "SYNC q; LIST q | MULTI -q/a/l#5 -q/a/l#7");
    checked(f);
    (void)zk_fixture_events(f);
}

/* A node is gone before the answer to its create. */
ZK_TEST_FROM(a_part_may_go_at_once, leases_of(f, 2))
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created_all(f, 5);
    children(f, "a/l#6");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: ?/l#6=me");
}

/* Its nodes are removed in one transaction; if some are left, they are
 * listed. */
ZK_TEST_FROM(a_removal_takes_what_is_left, have_three(f))
{
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    check_failed(f, 1);
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
    children(f, "a/l#5 a/l#7");
    assert_string_equal(zk_fixture_sent(f), "MULTI -q/a/l#5 -q/a/l#7");
    check_failed(f, 0);
    done(f);
    children(f, "a/l#7");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q | DELETE q/a/l#7");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "REMOVED a");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI /");
}

ZK_TEST_FROM(a_removal_that_never_ends, have_three(f))
{
    ask(f, HF_REQUEST_REMOVE, "a");
    check_failed(f, 0);
    for (int i = 0; f->first != NULL; i++) {
        assert_true(i < 100);
        done(f);
        children(f, "a/l#5 a/l#6");
        check_failed(f, 0);
    }
    assert_string_equal(zk_fixture_events(f), "FAILED REMOVE a UNSURE");
}

ZK_TEST_FROM(a_removal_without_an_answer, have_three(f))
{
    ask(f, HF_REQUEST_REMOVE, "a");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED REMOVE a UNSURE");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    accept_session(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    check_failed(f, 0); /* the first one did it */
    done(f);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "REMOVED a");
}

ZK_TEST_FROM(each_node_is_watched, have_three(f))
{
    ask(f, HF_REQUEST_WATCH, "a");
    assert_string_equal(zk_fixture_sent(f),
                        "DATA q/a/l#5 w; DATA q/a/l#6 w; DATA q/a/l#7 w");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "WATCHING a");
    event(f, HF_ZK_NODE_DATA_CHANGED, "q/a/l#6");
    assert_string_equal(zk_fixture_sent(f), "DATA q/a/l#6 w");
    data(f, "__REVOKE__", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "REVOKED a");
    ask(f, HF_REQUEST_WATCH, "a"); /* one more, and nothing to ask for */
    assert_string_equal(zk_fixture_events(f), "WATCHING a; REVOKED a");
    event(f, HF_ZK_NODE_DELETED, "q/a/l#7");
    assert_string_equal(zk_fixture_events(f), "GONE a; GONE a");
    event(f, HF_ZK_NODE_DELETED, "q/a/l#5");
    event(f, HF_ZK_NODE_DELETED, "q/a/l#6");
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f), "DATA q"); /* who evicted it */
}

ZK_TEST_FROM(a_node_may_go_while_the_others_are_asked, have_three(f))
{
    ask(f, HF_REQUEST_WATCH, "a");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "GONE a");
    data(f, "me", 17,
         ZK_FIXTURE_SESSION); /* it belongs to no request any more */
    assert_string_equal(zk_fixture_events(f), "");
}

ZK_TEST_FROM(a_watch_of_several_can_be_taken_back, have_three(f))
{
    struct hf_request *watch;

    watch = ask(f, HF_REQUEST_WATCH, "a");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    forget(f, watch);
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    refused(f, HF_ZK_NO_NODE);
    ask(f, HF_REQUEST_WATCH, "a");
    (void)zk_fixture_sent(f);
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED WATCH a RETRY");
}

ZK_TEST_FROM(they_are_set_again, have_three(f))
{
    ask(f, HF_REQUEST_WATCH, "a");
    for (int i = 0; i < 3; i++)
        data(f, "me", 17, ZK_FIXTURE_SESSION);
    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
    f->zxid = 100;
    accept_session(f);
    assert_non_null(strstr(f->sent.text, " q/a/l#5"));
    assert_non_null(strstr(f->sent.text, " q/a/l#6"));
    assert_non_null(strstr(f->sent.text, " q/a/l#7"));
    (void)zk_fixture_events(f);
    event(f, HF_ZK_NODE_DELETED, "q/a/l#6");
    assert_string_equal(zk_fixture_events(f), "GONE a");
}

/* The transaction that proves the session checks every node. */
ZK_TEST_FROM(each_node_is_checked, have_three(f))
{
    f->kind = HF_TICKET_MUTEX;
    have_ticket(f, "b", 8, 18);
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI q/a/l#5 q/a/l#6 q/a/l#7 q/b#8");
    checked(f);
    assert_string_equal(zk_fixture_events(f), "PROVEN 1000");
    ask(f, HF_REQUEST_PROVE, "");
    check_failed(f, 1);
    assert_string_equal(zk_fixture_events(f), "FAILED PROVE RETRY");
}

static size_t checks_of(struct zk_fixture *f)
{
    const char *sent = zk_fixture_sent(f);
    size_t count = 0;

    for (; *sent != '\0'; sent++)
        count += *sent == ' ';
    return count;
}

ZK_TEST_FROM(a_large_one_has_a_check_of_its_own, leases_of(f, HF_WEIGHT_MAX))
{
    char list[HF_WEIGHT_MAX * 16];
    size_t used = 0;

    ask(f, HF_REQUEST_ENQUEUE, "a");
    created_all(f, 0);
    for (int i = 0; i < HF_WEIGHT_MAX; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "a/l#%d ", i);
    children(f, list);
    assert_string_equal(zk_fixture_events(f), "ENQUEUED a: a/l#0*64@1");
    f->kind = HF_TICKET_MUTEX;
    have_ticket(f, "b", 64, 18);
    have_ticket(f, "c", 65, 19);
    ask(f, HF_REQUEST_PROVE, "");
    assert_int_equal(checks_of(f), HF_WEIGHT_MAX);
    checked(f);
    ask(f, HF_REQUEST_PROVE, ""); /* its turn is not now */
    assert_string_equal(zk_fixture_sent(f), "MULTI q/b#64 q/c#65");
    checked(f);
    ask(f, HF_REQUEST_PROVE, "");
    assert_int_equal(checks_of(f), HF_WEIGHT_MAX);
}

/* The last of its numbers decides. */
ZK_TEST_FROM(numbers_beyond_are_taken_back, leases_of(f, 2))
{
    const int32_t first = (int32_t)HF_ZK_SEQUENCE_END - 1;
    char list[64], sent[128];

    ask(f, HF_REQUEST_ENQUEUE, "a");
    created_all(f, first);
    snprintf(list, sizeof list, "a/l#%d a/l#%d", first, first + 1);
    (void)zk_fixture_sent(f);
    children(f, list);
    snprintf(sent, sizeof sent, "MULTI -q/a/l#%d -q/a/l#%d", first, first + 1);
    assert_string_equal(zk_fixture_sent(f), sent);
    checked(f);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a FATAL");
    assert_int_equal(f->status, HF_EEXHAUSTED);
    ask(f, HF_REQUEST_ENQUEUE, "b");
    created_all(f, first - 1);
    snprintf(list, sizeof list, "b/l#%d b/l#%d", first - 1, first);
    children(f, list);
    snprintf(sent, sizeof sent, "ENQUEUED b: b/l#%d*2@4", first - 1);
    assert_string_equal(zk_fixture_events(f), sent);
}

/* Also where the counter overflows, and with nonsense. */
ZK_TEST_FROM(numbers_follow_one_another, leases_of(f, 3))
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created_all(f, INT32_MAX - 1);
    (void)zk_fixture_sent(f);
    children(f, "a/l#2147483646 a/l#2147483647 a/l#-2147483648");
    assert_string_equal(zk_fixture_sent(f), "MULTI -q/a/l#2147483646 "
                                            "-q/a/l#2147483647 "
                                            "-q/a/l#-2147483648");
    checked(f);
    assert_string_equal(zk_fixture_events(f), "FAILED ENQUEUE a FATAL");
}
