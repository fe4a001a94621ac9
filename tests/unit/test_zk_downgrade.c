/* SPDX-License-Identifier: Apache-2.0 */
/* DOWNGRADE: what it becomes, and what the server may say or not say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engines/zookeeper/zk_watches.h"
#include "zk_stage.h"

/* a is a write ticket of ours, alone in the queue. */
static void begin(struct stage *s)
{
    stage_connected(s);
    s->kind = HF_TICKET_WRITE;
    have(s, "a", 5, 17);
}

#define CHANGE "MULTI +q/a/r#5 -q/a/w#5 v2"

/* Of a ticket whose text is not known, as nobody has watched it. */
static void downgrade(struct stage *s)
{
    ask(s, HF_REQUEST_DOWNGRADE, "a");
    assert_string_equal(stage_sent(s), "DATA q/a/w#5");
    data(s, "me", 17, STAGE_SESSION);
    assert_string_equal(stage_sent(s), CHANGE);
}

static void one_transaction_for_both(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    downgrade(&s);
    changed(&s);
    assert_string_equal(stage_told(&s), "DOWNGRADED a");
    ask(&s, HF_REQUEST_DOWNGRADE, "a");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "DOWNGRADED a");
    ask(&s, HF_REQUEST_LIST, "a");
    children(&s, "a/r#5");
    assert_string_equal(stage_told(&s), "LISTED a: a/r#5@17");
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "LIST q | MULTI q/a/r#5");
    checked(&s);
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "DELETE q/a/r#5");
    done(&s);
    assert_string_equal(stage_told(&s), "REMOVED a found");
    stage_close(&s);
}

/* The watch on the old name tells of its end before the answer comes. */
static void its_old_name_goes_with_it(void **state)
{
    struct hf_request *watch;
    struct stage s;

    (void)state;
    begin(&s);
    watch = ask(&s, HF_REQUEST_WATCH, "a");
    data(&s, "", 17, STAGE_SESSION);
    forget(&s, watch);
    (void)stage_told(&s);
    (void)stage_sent(&s);
    ask(&s, HF_REQUEST_DOWNGRADE, "a"); /* its text is known */
    assert_string_equal(stage_sent(&s), CHANGE);
    event(&s, HF_ZK_NODE_DELETED, "q/a/w#5");
    assert_string_equal(stage_told(&s), "");
    changed(&s);
    assert_string_equal(stage_told(&s), "DOWNGRADED a");
    s.kind = HF_TICKET_READ;
    ask(&s, HF_REQUEST_WATCH, "a");
    assert_string_equal(stage_sent(&s), "DATA q/a/r#5 w");
    data(&s, "", 18, STAGE_SESSION);
    assert_string_equal(stage_told(&s), "WATCHING a");
    event(&s, HF_ZK_NODE_DELETED, "q/a/r#5");
    assert_string_equal(stage_told(&s), "GONE a");
    stage_close(&s);
}

/* It is of no use for a proof: which name it has nobody knows. */
static void a_proof_does_without_it(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    downgrade(&s);
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI /");
    changed(&s);
    checked(&s);
    (void)stage_told(&s);
    ask(&s, HF_REQUEST_PROVE, "");
    assert_string_equal(stage_sent(&s), "MULTI q/a/r#5");
    checked(&s);
    stage_close(&s);
}

static void cut(struct stage *s)
{
    link_down(s, "reset");
    assert_string_equal(stage_told(s), "SUSPENDED; FAILED DOWNGRADE a UNSURE");
    resume(s);
}

/* Asked again it fails if it had happened, in either part, and a look tells. */
static void without_an_answer_it_is_asked_again(void **state)
{
    static const struct {
        int32_t nth;
        int32_t error;
    } rows[] = {{0, HF_ZK_NODE_EXISTS}, {1, HF_ZK_NO_NODE}};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(&s);
        downgrade(&s);
        cut(&s);
        downgrade(&s);
        part_failed(&s, rows[i].nth, rows[i].error);
        assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
        done(&s);
        children(&s, "a/r#5 x/w#6");
        assert_string_equal(stage_told(&s), "DOWNGRADED a");
        stage_close(&s);
    }
    begin(&s);
    downgrade(&s);
    cut(&s);
    downgrade(&s); /* the first one had not happened */
    changed(&s);
    assert_string_equal(stage_told(&s), "DOWNGRADED a");
    stage_close(&s);
}

/* What it says is written to the read ticket, whose watch will tell of it. */
static void a_request_to_let_go_is_taken_over(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    ask(&s, HF_REQUEST_DOWNGRADE, "a");
    s.payload = HF_ZK_REVOKE; /* what the transaction is to write */
    data(&s, HF_ZK_REVOKE, 17, STAGE_SESSION);
    assert_string_equal(stage_sent(&s), "DATA q/a/w#5 | " CHANGE);
    changed(&s);
    assert_string_equal(stage_told(&s), "DOWNGRADED a");
    stage_close(&s);
}

/* It has been overwritten since it was read: it is read again, but not for
 * ever. */
static void another_version_is_read_first(void **state)
{
    struct stage s;
    int rounds = 0;

    (void)state;
    begin(&s);
    downgrade(&s);
    part_failed(&s, 1, HF_ZK_BAD_VERSION);
    assert_string_equal(stage_sent(&s), "DATA q/a/w#5");
    s.payload = HF_ZK_REVOKE;
    data(&s, HF_ZK_REVOKE, 17, STAGE_SESSION);
    assert_string_equal(stage_sent(&s), CHANGE);
    while (s.first != NULL && rounds++ < 100) {
        part_failed(&s, 1, HF_ZK_BAD_VERSION);
        if (s.first != NULL)
            data(&s, HF_ZK_REVOKE, 17, STAGE_SESSION);
    }
    assert_in_range(rounds, 2, 20);
    assert_string_equal(stage_told(&s), "FAILED DOWNGRADE a RETRY");
    stage_close(&s);
}

/* Withdrawn while its text is read: nothing is made. */
static void a_withdrawal_ends_the_reading(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    ask(&s, HF_REQUEST_DOWNGRADE, "a");
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "DATA q/a/w#5 | DELETE q/a/w#5");
    data(&s, "me", 17, STAGE_SESSION);
    assert_string_equal(stage_sent(&s), "");
    done(&s);
    assert_string_equal(stage_told(&s),
                        "FAILED DOWNGRADE a FATAL; REMOVED a found");
    stage_close(&s);
}

static void a_ticket_that_is_gone_is_lost(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    downgrade(&s);
    part_failed(&s, 1, HF_ZK_NO_NODE);
    done(&s);
    children(&s, "x/w#6");
    assert_string_equal(stage_told(&s), "FAILED DOWNGRADE a FATAL");
    assert_int_equal(s.status, HF_ELOST);
    (void)stage_sent(&s);
    ask(&s, HF_REQUEST_DOWNGRADE, "a");
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "FAILED DOWNGRADE a FATAL");
    assert_int_equal(s.status, HF_ELOST);
    stage_close(&s);
}

/* It was refused for what is there, and nothing of that is to be seen. */
static void a_refusal_without_a_reason_is_asked_again(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    downgrade(&s);
    part_failed(&s, 0, HF_ZK_NODE_EXISTS);
    done(&s);
    children(&s, "a/w#5");
    assert_string_equal(stage_told(&s), "FAILED DOWNGRADE a RETRY");
    (void)stage_sent(&s);
    downgrade(&s);
    changed(&s);
    assert_string_equal(stage_told(&s), "DOWNGRADED a");
    stage_close(&s);
}

static void a_refusal_leaves_a_writer(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    downgrade(&s);
    part_failed(&s, 0, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED DOWNGRADE a FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    ask(&s, HF_REQUEST_REMOVE, "a");
    assert_string_equal(stage_sent(&s), "DELETE q/a/w#5");
    done(&s);
    assert_string_equal(stage_told(&s), "REMOVED a found");
    stage_close(&s);
}

/* Refused now, and perhaps done before: it is one or the other. */
static void a_refusal_after_silence_takes_a_look(void **state)
{
    struct stage s;

    (void)state;
    for (unsigned was_done = 0; was_done < 2; was_done++) {
        begin(&s);
        downgrade(&s);
        cut(&s);
        downgrade(&s);
        part_failed(&s, 0, HF_ZK_NO_AUTH);
        assert_string_equal(stage_sent(&s), "SYNC q; LIST q");
        done(&s);
        children(&s, was_done ? "a/r#5" : "a/w#5");
        assert_string_equal(stage_told(&s), was_done
                                                ? "DOWNGRADED a"
                                                : "FAILED DOWNGRADE a FATAL");
        (void)stage_sent(&s);
        ask(&s, HF_REQUEST_REMOVE, "a");
        assert_string_equal(stage_sent(&s),
                            was_done ? "DELETE q/a/r#5" : "DELETE q/a/w#5");
        done(&s);
        stage_close(&s);
    }
}

/* Both names, in this order: what is still to come needs the first. */
static void without_an_answer_both_names_are_deleted(void **state)
{
    struct stage s;

    (void)state;
    for (int first = 0; first < 2; first++) {
        begin(&s);
        downgrade(&s);
        cut(&s);
        ask(&s, HF_REQUEST_REMOVE, "a");
        assert_string_equal(stage_sent(&s), "DELETE q/a/w#5; DELETE q/a/r#5");
        if (first == 0) {
            done(&s);
            refused(&s, HF_ZK_NO_NODE);
        } else {
            refused(&s, HF_ZK_NO_NODE);
            done(&s);
        }
        assert_non_null(strstr(stage_told(&s), "REMOVED a found"));
        stage_close(&s);
    }
    begin(&s);
    downgrade(&s);
    ask(&s, HF_REQUEST_REMOVE, "a"); /* behind it, on one connection */
    assert_string_equal(stage_sent(&s), "DELETE q/a/w#5; DELETE q/a/r#5");
    changed(&s);
    refused(&s, HF_ZK_NO_NODE);
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "DOWNGRADED a; SUSPENDED; FAILED REMOVE a UNSURE");
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_transaction_for_both),
        cmocka_unit_test(its_old_name_goes_with_it),
        cmocka_unit_test(a_proof_does_without_it),
        cmocka_unit_test(without_an_answer_it_is_asked_again),
        cmocka_unit_test(a_request_to_let_go_is_taken_over),
        cmocka_unit_test(another_version_is_read_first),
        cmocka_unit_test(a_withdrawal_ends_the_reading),
        cmocka_unit_test(a_ticket_that_is_gone_is_lost),
        cmocka_unit_test(a_refusal_without_a_reason_is_asked_again),
        cmocka_unit_test(a_refusal_leaves_a_writer),
        cmocka_unit_test(a_refusal_after_silence_takes_a_look),
        cmocka_unit_test(without_an_answer_both_names_are_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
