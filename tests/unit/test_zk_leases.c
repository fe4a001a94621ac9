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

TEST(one_permit_is_one_node)
{
    struct zk_fixture f;

    leases_of(&f, 1);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_sent(&f), "CREATE2 q/a/l; LIST q");
    created(&f, 5, 17);
    children(&f, "a/l#5");
    assert_string_equal(zk_fixture_events(&f), "ENQUEUED a: a/l#5@17");
    ask(&f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(&f), "DELETE q/a/l#5");
    done(&f);
    assert_string_equal(zk_fixture_events(&f), "REMOVED a found");
    zk_fixture_close(&f);
}

/* All nodes or none.  The token is the transaction of the answer. */
TEST(several_are_one_multi)
{
    struct zk_fixture f;

    leases_of(&f, 3);
    f.zxid = 40;
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(zk_fixture_sent(&f),
                        "MULTI +q/a/l +q/a/l +q/a/l; LIST q");
    created_all(&f, 5);
    children(&f, "b/l#4 a/l#7 a/l#6 a/l#5 c/l#8 c/l#9");
    data(&f, "b", 1, 1);
    assert_string_equal(zk_fixture_events(&f),
                        "ENQUEUED a: b/l#4=b a/l#5*3@40 c/l#8*2");
    ask(&f, HF_REQUEST_ENQUEUE, "a"); /* once more: it is there */
    assert_string_equal(zk_fixture_sent(&f), "DATA q/b/l#4 | LIST q");
    children(&f, "a/l#7 a/l#6 a/l#5");
    assert_string_equal(zk_fixture_events(&f), "ENQUEUED a: a/l#5*3@40");
    zk_fixture_close(&f);
}

TEST(their_parent_is_made)
{
    struct zk_fixture f;

    leases_of(&f, 2);
    f.queue = "x/leases";
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    multi_failed(&f, 0, HF_ZK_NO_NODE);
    refused(&f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(&f),
                        "MULTI +x/leases/a/l +x/leases/a/l; LIST x/leases | "
                        "CONTAINER x; CONTAINER x/leases; "
                        "MULTI ?x/leases +x/leases/a/l +x/leases/a/l; "
                        "LIST x/leases");
    refused(&f, HF_ZK_NODE_EXISTS);
    done(&f);
    created_all(&f, 0);
    children(&f, "a/l#0 a/l#1");
    assert_string_equal(zk_fixture_events(&f), "ENQUEUED a: a/l#0*2@5");
    zk_fixture_close(&f);
}

TEST(what_a_multi_may_be_answered)
{
    static const uint8_t nothing[] = {255, 255, 255, 255, 1,
                                      255, 255, 255, 255};
    struct zk_fixture f;

    leases_of(&f, 2);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    multi_failed(&f, 1, HF_ZK_NO_AUTH);
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a FATAL");
    assert_int_equal(f.status, HF_EDENIED);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    refused(&f, HF_ZK_THROTTLED);
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a RETRY");
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    answer_with(&f, nothing, sizeof nothing);
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a UNSURE");
    zk_fixture_close(&f);
}

/* The server gave numbers that are not those of one create. */
TEST(numbers_of_permits_that_do_not_follow)
{
    struct zk_fixture f;

    leases_of(&f, 2);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created_apart(&f, 5, 2);
    children(&f, "a/l#5 a/l#7");
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a UNSURE");
    assert_string_equal(zk_fixture_sent(&f), "MULTI +q/a/l +q/a/l; LIST q");
    zk_fixture_close(&f);
}

TEST(one_without_an_answer_is_found)
{
    struct zk_fixture f;

    leases_of(&f, 3);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    resume(&f);
    ask(&f, HF_REQUEST_LIST, "a");
    assert_string_equal(zk_fixture_sent(&f), "SYNC q; LIST q");
    done(&f);
    children(&f, "a/l#5 a/l#6 a/l#7");
    assert_string_equal(zk_fixture_sent(&f), "EXISTS q/a/l#5");
    exists(&f, 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(&f), "LISTED a: a/l#5*3@17");
    ask(&f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(&f),
                        "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    checked(&f);
    assert_string_equal(zk_fixture_events(&f), "REMOVED a found");
    zk_fixture_close(&f);
}

/* Nodes of another session, or only some of ours. */
TEST(what_is_found_may_be_none)
{
    struct zk_fixture f;

    leases_of(&f, 3);
    ask(&f, HF_REQUEST_LIST, "a");
    done(&f);
    children(&f, "a/l#5 a/l#6 a/l#7");
    exists(&f, 17, 4711);
    assert_string_equal(zk_fixture_events(&f), "LISTED a: ?/l#5*3");
    ask(&f, HF_REQUEST_LIST, "a");
    done(&f);
    children(&f, "a/l#5 a/l#6");
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(&f), "LISTED a: ?/l#5*2=me");
    zk_fixture_close(&f);
}

TEST(a_part_that_goes_takes_the_ticket)
{
    struct zk_fixture f;

    have_three(&f);
    ask(&f, HF_REQUEST_LIST, "a");
    children(&f, "a/l#5 a/l#7 b/l#8");
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(&f), "LISTED a: ?/l#5*2=me b/l#8");
    (void)zk_fixture_sent(&f);
    ask(&f, HF_REQUEST_PROVE, ""); /* it is none of ours */
    assert_string_equal(zk_fixture_sent(&f), "MULTI /");
    checked(&f);
    ask(&f, HF_REQUEST_REMOVE, "a"); /* and what is left goes */
    done(&f);
    children(&f, "a/l#5 a/l#7 b/l#8");
    assert_string_equal(zk_fixture_sent(&f),
                        "SYNC q; LIST q | MULTI -q/a/l#5 -q/a/l#7");
    checked(&f);
    (void)zk_fixture_events(&f);
    zk_fixture_close(&f);
}

/* A node is gone before the answer to its create. */
TEST(a_part_may_go_at_once)
{
    struct zk_fixture f;

    leases_of(&f, 2);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created_all(&f, 5);
    children(&f, "a/l#6");
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(&f), "ENQUEUED a: ?/l#6=me");
    zk_fixture_close(&f);
}

/* Its nodes are removed in one transaction; if some are left, they are
 * listed. */
TEST(a_removal_takes_what_is_left)
{
    struct zk_fixture f;

    have_three(&f);
    ask(&f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(&f),
                        "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    check_failed(&f, 1);
    assert_string_equal(zk_fixture_sent(&f), "SYNC q; LIST q");
    done(&f);
    children(&f, "a/l#5 a/l#7");
    assert_string_equal(zk_fixture_sent(&f), "MULTI -q/a/l#5 -q/a/l#7");
    check_failed(&f, 0);
    done(&f);
    children(&f, "a/l#7");
    assert_string_equal(zk_fixture_sent(&f), "SYNC q; LIST q | DELETE q/a/l#7");
    refused(&f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(&f), "SYNC q; LIST q");
    done(&f);
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "REMOVED a");
    ask(&f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(&f), "MULTI /");
    zk_fixture_close(&f);
}

TEST(a_removal_that_never_ends)
{
    struct zk_fixture f;

    have_three(&f);
    ask(&f, HF_REQUEST_REMOVE, "a");
    check_failed(&f, 0);
    for (int i = 0; f.first != NULL; i++) {
        assert_true(i < 100);
        done(&f);
        children(&f, "a/l#5 a/l#6");
        check_failed(&f, 0);
    }
    assert_string_equal(zk_fixture_events(&f), "FAILED REMOVE a UNSURE");
    zk_fixture_close(&f);
}

TEST(a_removal_without_an_answer)
{
    struct zk_fixture f;

    have_three(&f);
    ask(&f, HF_REQUEST_REMOVE, "a");
    link_down(&f, "reset");
    assert_string_equal(zk_fixture_events(&f),
                        "SUSPENDED; FAILED REMOVE a UNSURE");
    while (f.server == NULL)
        wake(&f);
    link_up(&f);
    accept_session(&f);
    (void)zk_fixture_sent(&f);
    (void)zk_fixture_events(&f);
    ask(&f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(&f),
                        "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    check_failed(&f, 0); /* the first one did it */
    done(&f);
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "REMOVED a");
    zk_fixture_close(&f);
}

TEST(each_node_is_watched)
{
    struct zk_fixture f;

    have_three(&f);
    ask(&f, HF_REQUEST_WATCH, "a");
    assert_string_equal(zk_fixture_sent(&f),
                        "DATA q/a/l#5 w; DATA q/a/l#6 w; DATA q/a/l#7 w");
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(&f), "");
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(&f), "WATCHING a");
    event(&f, HF_ZK_NODE_DATA_CHANGED, "q/a/l#6");
    assert_string_equal(zk_fixture_sent(&f), "DATA q/a/l#6 w");
    data(&f, "__REVOKE__", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(&f), "REVOKED a");
    ask(&f, HF_REQUEST_WATCH, "a"); /* one more, and nothing to ask for */
    assert_string_equal(zk_fixture_events(&f), "WATCHING a; REVOKED a");
    event(&f, HF_ZK_NODE_DELETED, "q/a/l#7");
    assert_string_equal(zk_fixture_events(&f), "GONE a; GONE a");
    event(&f, HF_ZK_NODE_DELETED, "q/a/l#5");
    event(&f, HF_ZK_NODE_DELETED, "q/a/l#6");
    assert_string_equal(zk_fixture_events(&f), "");
    assert_string_equal(zk_fixture_sent(&f), "DATA q"); /* who evicted it */
    zk_fixture_close(&f);
}

TEST(a_node_may_go_while_the_others_are_asked)
{
    struct zk_fixture f;

    have_three(&f);
    ask(&f, HF_REQUEST_WATCH, "a");
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    refused(&f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(&f), "GONE a");
    data(&f, "me", 17,
         ZK_FIXTURE_SESSION); /* it belongs to no request any more */
    assert_string_equal(zk_fixture_events(&f), "");
    zk_fixture_close(&f);
}

TEST(a_watch_of_several_can_be_taken_back)
{
    struct zk_fixture f;
    struct hf_request *watch;

    have_three(&f);
    watch = ask(&f, HF_REQUEST_WATCH, "a");
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    forget(&f, watch);
    data(&f, "me", 17, ZK_FIXTURE_SESSION);
    refused(&f, HF_ZK_NO_NODE);
    ask(&f, HF_REQUEST_WATCH, "a");
    (void)zk_fixture_sent(&f);
    link_down(&f, "reset");
    assert_string_equal(zk_fixture_events(&f),
                        "SUSPENDED; FAILED WATCH a RETRY");
    zk_fixture_close(&f);
}

TEST(they_are_set_again)
{
    struct zk_fixture f;

    have_three(&f);
    ask(&f, HF_REQUEST_WATCH, "a");
    for (int i = 0; i < 3; i++)
        data(&f, "me", 17, ZK_FIXTURE_SESSION);
    link_down(&f, "reset");
    while (f.server == NULL)
        wake(&f);
    link_up(&f);
    (void)zk_fixture_sent(&f);
    (void)zk_fixture_events(&f);
    f.zxid = 100;
    accept_session(&f);
    assert_non_null(strstr(f.sent.text, " q/a/l#5"));
    assert_non_null(strstr(f.sent.text, " q/a/l#6"));
    assert_non_null(strstr(f.sent.text, " q/a/l#7"));
    (void)zk_fixture_events(&f);
    event(&f, HF_ZK_NODE_DELETED, "q/a/l#6");
    assert_string_equal(zk_fixture_events(&f), "GONE a");
    zk_fixture_close(&f);
}

/* The transaction that proves the session checks every node. */
TEST(each_node_is_checked)
{
    struct zk_fixture f;

    have_three(&f);
    f.kind = HF_TICKET_MUTEX;
    have_ticket(&f, "b", 8, 18);
    ask(&f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(&f),
                        "MULTI q/a/l#5 q/a/l#6 q/a/l#7 q/b#8");
    checked(&f);
    assert_string_equal(zk_fixture_events(&f), "PROVEN 1000");
    ask(&f, HF_REQUEST_PROVE, "");
    check_failed(&f, 1);
    assert_string_equal(zk_fixture_events(&f), "FAILED PROVE RETRY");
    zk_fixture_close(&f);
}

static size_t checks_of(struct zk_fixture *f)
{
    const char *sent = zk_fixture_sent(f);
    size_t count = 0;

    for (; *sent != '\0'; sent++)
        count += *sent == ' ';
    return count;
}

TEST(a_large_one_has_a_check_of_its_own)
{
    struct zk_fixture f;
    char list[HF_WEIGHT_MAX * 16];
    size_t used = 0;

    leases_of(&f, HF_WEIGHT_MAX);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created_all(&f, 0);
    for (int i = 0; i < HF_WEIGHT_MAX; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "a/l#%d ", i);
    children(&f, list);
    assert_string_equal(zk_fixture_events(&f), "ENQUEUED a: a/l#0*64@1");
    f.kind = HF_TICKET_MUTEX;
    have_ticket(&f, "b", 64, 18);
    have_ticket(&f, "c", 65, 19);
    ask(&f, HF_REQUEST_PROVE, "");
    assert_int_equal(checks_of(&f), HF_WEIGHT_MAX);
    checked(&f);
    ask(&f, HF_REQUEST_PROVE, ""); /* its turn is not now */
    assert_string_equal(zk_fixture_sent(&f), "MULTI q/b#64 q/c#65");
    checked(&f);
    ask(&f, HF_REQUEST_PROVE, "");
    assert_int_equal(checks_of(&f), HF_WEIGHT_MAX);
    zk_fixture_close(&f);
}

/* The last of its numbers decides. */
TEST(numbers_beyond_are_taken_back)
{
    const int32_t first = (int32_t)HF_ZK_SEQUENCE_END - 1;
    char list[64], sent[128];
    struct zk_fixture f;

    leases_of(&f, 2);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created_all(&f, first);
    snprintf(list, sizeof list, "a/l#%d a/l#%d", first, first + 1);
    (void)zk_fixture_sent(&f);
    children(&f, list);
    snprintf(sent, sizeof sent, "MULTI -q/a/l#%d -q/a/l#%d", first, first + 1);
    assert_string_equal(zk_fixture_sent(&f), sent);
    checked(&f);
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a FATAL");
    assert_int_equal(f.status, HF_EEXHAUSTED);
    ask(&f, HF_REQUEST_ENQUEUE, "b");
    created_all(&f, first - 1);
    snprintf(list, sizeof list, "b/l#%d b/l#%d", first - 1, first);
    children(&f, list);
    snprintf(sent, sizeof sent, "ENQUEUED b: b/l#%d*2@4", first - 1);
    assert_string_equal(zk_fixture_events(&f), sent);
    zk_fixture_close(&f);
}

/* Also where the counter overflows, and with nonsense. */
TEST(numbers_follow_one_another)
{
    struct zk_fixture f;

    leases_of(&f, 3);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    created_all(&f, INT32_MAX - 1);
    (void)zk_fixture_sent(&f);
    children(&f, "a/l#2147483646 a/l#2147483647 a/l#-2147483648");
    assert_string_equal(zk_fixture_sent(&f), "MULTI -q/a/l#2147483646 "
                                             "-q/a/l#2147483647 "
                                             "-q/a/l#-2147483648");
    checked(&f);
    assert_string_equal(zk_fixture_events(&f), "FAILED ENQUEUE a FATAL");
    zk_fixture_close(&f);
}
