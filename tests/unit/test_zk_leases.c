/* SPDX-License-Identifier: Apache-2.0 */
/* Leases: one ticket, as many nodes as it has permits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engines/zookeeper/node_name.h"
#include "zk_stage.h"

/* Connected; tickets are leases of ${weight}. */
static void leases_of(struct stage *s, uint32_t weight)
{
    stage_connected(s);
    s->kind = HF_TICKET_LEASE;
    s->weight = weight;
}

/* "a" has 5, 6 and 7. */
static void have_three(struct stage *s)
{
    leases_of(s, 3);
    ask(s, HF_REQUEST_ENQUEUE, "a");
    created_all(s, 5);
    children(s, "a/l#5 a/l#6 a/l#7");
    (void)stage_sent(s);
    (void)stage_told(s);
}

static void one_permit_is_one_node(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 1);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(stage_sent(&s), "CREATE2 q/a/l; LIST q");
    created(&s, 5, 17);
    children(&s, "a/l#5");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a/l#5@17");
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "DELETE q/a/l#5");
    done(&s);
    assert_string_equal(stage_told(&s), "REMOVED a found");
    stage_close(&s);
}

/* All or none; the token is the transaction of the answer. */
static void several_are_one_multi(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 3);
    s.zxid = 40;
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    assert_string_equal(stage_sent(&s), "MULTI +q/a/l +q/a/l +q/a/l; LIST q");
    created_all(&s, 5);
    children(&s, "b/l#4 a/l#7 a/l#6 a/l#5 c/l#8 c/l#9");
    data(&s, "b", 1, 1);
    assert_string_equal(stage_told(&s),
                        "ENQUEUED a: b/l#4=b a/l#5*3@40 c/l#8*2");
    ask(&s, HF_REQUEST_ENQUEUE, "a"); /* once more: it is there */
    assert_string_equal(stage_sent(&s), "DATA q/b/l#4 | LIST q");
    children(&s, "a/l#7 a/l#6 a/l#5");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a/l#5*3@40");
    stage_close(&s);
}

static void their_parent_is_made(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 2);
    s.queue = "x/leases";
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    part_failed(&s, 0, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s),
                        "MULTI +x/leases/a/l +x/leases/a/l; LIST x/leases | "
                        "CONTAINER x; CONTAINER x/leases; "
                        "MULTI +x/leases/a/l +x/leases/a/l; LIST x/leases");
    refused(&s, HF_ZK_NODE_EXISTS);
    done(&s);
    created_all(&s, 0);
    children(&s, "a/l#0 a/l#1");
    assert_string_equal(stage_told(&s), "ENQUEUED a: a/l#0*2@5");
    stage_close(&s);
}

static void what_a_multi_may_be_answered(void **state)
{
    static const uint8_t nothing[] = {255, 255, 255, 255, 1,
                                      255, 255, 255, 255};
    struct stage s;

    (void)state;
    leases_of(&s, 2);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    part_failed(&s, 1, HF_ZK_NO_AUTH);
    children(&s, "");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    refused(&s, HF_ZK_THROTTLED);
    children(&s, "");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a RETRY");
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    answer_with(&s, nothing, sizeof nothing);
    children(&s, "");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE");
    stage_close(&s);
}

/* A server that takes permits for others than those that were asked for. */
static void numbers_of_permits_that_do_not_follow(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 2);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created_apart(&s, 5, 2);
    children(&s, "a/l#5 a/l#7");
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a UNSURE");
    assert_string_equal(stage_sent(&s), "MULTI +q/a/l +q/a/l; LIST q");
    stage_close(&s);
}

static void one_without_an_answer_is_found(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 3);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    resume(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
    done(&s);
    children(&s, "a/l#5 a/l#6 a/l#7");
    assert_string_equal(stage_sent(&s), "EXISTS q/a/l#5");
    exists(&s, 17, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "LISTED a: a/l#5*3@17");
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    checked(&s);
    assert_string_equal(stage_told(&s), "REMOVED a found");
    stage_close(&s);
}

/* Of another session, or a part of it only: not ours. */
static void what_is_found_may_be_none(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 3);
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    children(&s, "a/l#5 a/l#6 a/l#7");
    exists(&s, 17, 4711);
    assert_string_equal(stage_told(&s), "LISTED a: ?/l#5*3");
    ask(&s, HF_REQUEST_LIST, "a");
    done(&s);
    children(&s, "a/l#5 a/l#6");
    data(&s, "me", 17, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "LISTED a: ?/l#5*2=me");
    stage_close(&s);
}

static void a_part_that_goes_takes_the_ticket(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    ask(&s, HF_REQUEST_LIST, "a");
    children(&s, "a/l#5 a/l#7 b/l#8");
    data(&s, "me", 17, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "LISTED a: ?/l#5*2=me b/l#8");
    (void)stage_sent(&s);
    ask(&s, HF_REQUEST_PROVE, ""); /* it is none of ours */
    assert_string_equal(stage_sent(&s), "MULTI /");
    checked(&s);
    ask(&s, HF_REQUEST_REMOVE, "a"); /* and what is left goes */
    done(&s);
    children(&s, "a/l#5 a/l#7 b/l#8");
    assert_string_equal(stage_sent(&s),
                        "SYNC q; LIST q | MULTI -q/a/l#5 -q/a/l#7");
    checked(&s);
    (void)stage_told(&s);
    stage_close(&s);
}

/* Gone before the answer to its own creation. */
static void a_part_may_go_at_once(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 2);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created_all(&s, 5);
    children(&s, "a/l#6");
    data(&s, "me", 17, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "ENQUEUED a: ?/l#6=me");
    stage_close(&s);
}

/* Its nodes go in one transaction; those that are left are looked for. */
static void a_withdrawal_takes_what_is_left(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    check_failed(&s, 1);
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
    done(&s);
    children(&s, "a/l#5 a/l#7");
    assert_string_equal(stage_sent(&s), "MULTI -q/a/l#5 -q/a/l#7");
    check_failed(&s, 0);
    done(&s);
    children(&s, "a/l#7");
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q | DELETE q/a/l#7");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
    done(&s);
    children(&s, "");
    assert_string_equal(stage_told(&s), "REMOVED a");
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI /");
    stage_close(&s);
}

static void a_withdrawal_that_never_ends(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    ask(&s, HF_REQUEST_REMOVE, "a");
    check_failed(&s, 0);
    for (int i = 0; s.first != NULL; i++) {
        assert_true(i < 100);
        done(&s);
        children(&s, "a/l#5 a/l#6");
        check_failed(&s, 0);
    }
    assert_string_equal(stage_told(&s), "FAILED REMOVE a UNSURE");
    stage_close(&s);
}

static void a_withdrawal_without_an_answer(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    ask(&s, HF_REQUEST_REMOVE, "a");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED REMOVE a UNSURE");
    while (s.server == NULL)
        ring(&s);
    link_up(&s);
    accept_session(&s);
    (void)stage_sent(&s);
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "MULTI -q/a/l#5 -q/a/l#6 -q/a/l#7");
    check_failed(&s, 0); /* the first one did it */
    done(&s);
    children(&s, "");
    assert_string_equal(stage_told(&s), "REMOVED a");
    stage_close(&s);
}

static void each_node_is_watched(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    ask(&s, HF_REQUEST_WATCH, "a");
    assert_string_equal(stage_sent(&s),
                        "DATA q/a/l#5 w; DATA q/a/l#6 w; DATA q/a/l#7 w");
    data(&s, "me", 17, STAGE_SESSION);
    data(&s, "me", 17, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "");
    data(&s, "me", 17, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "WATCHING a");
    event(&s, HF_ZK_NODE_DATA_CHANGED, "q/a/l#6");
    assert_string_equal(stage_sent(&s), "DATA q/a/l#6 w");
    data(&s, "__REVOKE__", 17, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "REVOKED a");
    ask(&s, HF_REQUEST_WATCH, "a"); /* one more, and nothing to ask for */
    assert_string_equal(stage_told(&s), "WATCHING a; REVOKED a");
    event(&s, HF_ZK_NODE_DELETED, "q/a/l#7");
    assert_string_equal(stage_told(&s), "GONE a; GONE a");
    event(&s, HF_ZK_NODE_DELETED, "q/a/l#5");
    event(&s, HF_ZK_NODE_DELETED, "q/a/l#6");
    assert_string_equal(stage_told(&s), "");
    assert_string_equal(stage_sent(&s), "");
    stage_close(&s);
}

static void a_node_may_go_while_the_others_are_asked(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    ask(&s, HF_REQUEST_WATCH, "a");
    data(&s, "me", 17, STAGE_SESSION);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "GONE a");
    data(&s, "me", 17, STAGE_SESSION); /* of nobody any more */
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
}

static void a_watch_of_several_can_be_taken_back(void **state)
{
    struct stage s;
    struct hf_request *watch;

    (void)state;
    have_three(&s);
    watch = ask(&s, HF_REQUEST_WATCH, "a");
    data(&s, "me", 17, STAGE_SESSION);
    forget(&s, watch);
    data(&s, "me", 17, STAGE_SESSION);
    refused(&s, HF_ZK_NO_NODE);
    ask(&s, HF_REQUEST_WATCH, "a");
    (void)stage_sent(&s);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s), "SUSPENDED; FAILED WATCH a RETRY");
    stage_close(&s);
}

static void they_are_set_again(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    ask(&s, HF_REQUEST_WATCH, "a");
    for (int i = 0; i < 3; i++)
        data(&s, "me", 17, STAGE_SESSION);
    link_down(&s, "reset");
    while (s.server == NULL)
        ring(&s);
    link_up(&s);
    (void)stage_sent(&s);
    (void)stage_told(&s);
    s.zxid = 100;
    accept_session(&s);
    assert_non_null(strstr(s.sent.text, " q/a/l#5"));
    assert_non_null(strstr(s.sent.text, " q/a/l#6"));
    assert_non_null(strstr(s.sent.text, " q/a/l#7"));
    (void)stage_told(&s);
    event(&s, HF_ZK_NODE_DELETED, "q/a/l#6");
    assert_string_equal(stage_told(&s), "GONE a");
    stage_close(&s);
}

/* The transaction that proves the session has every node, or none of it. */
static void each_node_is_checked(void **state)
{
    struct stage s;

    (void)state;
    have_three(&s);
    s.kind = HF_TICKET_MUTEX;
    have(&s, "b", 8, 18);
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI q/a/l#5 q/a/l#6 q/a/l#7 q/b#8");
    checked(&s);
    assert_string_equal(stage_told(&s), "PROVEN 1000");
    ask(&s, HF_REQUEST_PROVE, "");
    check_failed(&s, 1);
    assert_string_equal(stage_told(&s), "FAILED PROVE RETRY");
    stage_close(&s);
}

static size_t checks_of(struct stage *s)
{
    const char *sent = stage_sent(s);
    size_t count = 0;

    for (; *sent != '\0'; sent++)
        count += *sent == ' ';
    return count;
}

static void a_large_one_has_a_check_of_its_own(void **state)
{
    struct stage s;
    char list[HF_WEIGHT_MAX * 16];
    size_t used = 0;

    (void)state;
    leases_of(&s, HF_WEIGHT_MAX);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created_all(&s, 0);
    for (int i = 0; i < HF_WEIGHT_MAX; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "a/l#%d ", i);
    children(&s, list);
    assert_string_equal(stage_told(&s), "ENQUEUED a: a/l#0*64@1");
    s.kind = HF_TICKET_MUTEX;
    have(&s, "b", 64, 18);
    have(&s, "c", 65, 19);
    ask(&s, HF_REQUEST_PROVE, "");
    assert_int_equal(checks_of(&s), HF_WEIGHT_MAX);
    checked(&s);
    ask(&s, HF_REQUEST_PROVE, ""); /* its turn is not now */
    assert_string_equal(stage_sent(&s), "MULTI q/b#64 q/c#65");
    checked(&s);
    ask(&s, HF_REQUEST_PROVE, "");
    assert_int_equal(checks_of(&s), HF_WEIGHT_MAX);
    stage_close(&s);
}

/* By the last of its numbers. */
static void numbers_beyond_are_taken_back(void **state)
{
    const int32_t first = (int32_t)HF_ZK_SEQUENCE_END - 1;
    char list[64], sent[128];
    struct stage s;

    (void)state;
    leases_of(&s, 2);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created_all(&s, first);
    snprintf(list, sizeof list, "a/l#%d a/l#%d", first, first + 1);
    (void)stage_sent(&s);
    children(&s, list);
    snprintf(sent, sizeof sent, "MULTI -q/a/l#%d -q/a/l#%d", first, first + 1);
    assert_string_equal(stage_sent(&s), sent);
    checked(&s);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a FATAL");
    assert_int_equal(s.status, HF_EEXHAUSTED);
    ask(&s, HF_REQUEST_ENQUEUE, "b");
    created_all(&s, first - 1);
    snprintf(list, sizeof list, "b/l#%d b/l#%d", first - 1, first);
    children(&s, list);
    snprintf(sent, sizeof sent, "ENQUEUED b: b/l#%d*2@4", first - 1);
    assert_string_equal(stage_told(&s), sent);
    stage_close(&s);
}

/* Where the counter overflows, and where it makes no sense. */
static void numbers_follow_one_another(void **state)
{
    struct stage s;

    (void)state;
    leases_of(&s, 3);
    ask(&s, HF_REQUEST_ENQUEUE, "a");
    created_all(&s, INT32_MAX - 1);
    (void)stage_sent(&s);
    children(&s, "a/l#2147483646 a/l#2147483647 a/l#-2147483648");
    assert_string_equal(stage_sent(&s), "MULTI -q/a/l#2147483646 "
                                        "-q/a/l#2147483647 "
                                        "-q/a/l#-2147483648");
    checked(&s);
    assert_string_equal(stage_told(&s), "FAILED ENQUEUE a FATAL");
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_permit_is_one_node),
        cmocka_unit_test(several_are_one_multi),
        cmocka_unit_test(their_parent_is_made),
        cmocka_unit_test(what_a_multi_may_be_answered),
        cmocka_unit_test(numbers_of_permits_that_do_not_follow),
        cmocka_unit_test(one_without_an_answer_is_found),
        cmocka_unit_test(what_is_found_may_be_none),
        cmocka_unit_test(a_part_that_goes_takes_the_ticket),
        cmocka_unit_test(a_part_may_go_at_once),
        cmocka_unit_test(a_withdrawal_takes_what_is_left),
        cmocka_unit_test(a_withdrawal_that_never_ends),
        cmocka_unit_test(a_withdrawal_without_an_answer),
        cmocka_unit_test(each_node_is_watched),
        cmocka_unit_test(a_node_may_go_while_the_others_are_asked),
        cmocka_unit_test(a_watch_of_several_can_be_taken_back),
        cmocka_unit_test(they_are_set_again),
        cmocka_unit_test(each_node_is_checked),
        cmocka_unit_test(a_large_one_has_a_check_of_its_own),
        cmocka_unit_test(numbers_beyond_are_taken_back),
        cmocka_unit_test(numbers_follow_one_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
