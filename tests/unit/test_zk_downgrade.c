/* SPDX-License-Identifier: Apache-2.0 */
/* DOWNGRADE: the transaction that it becomes, and answers to it, right, wrong
 * and missing. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/zk_watches.h"
#include "zk_fixture.h"

/* a is our writer, alone in the queue. */
static void begin(struct zk_fixture *f)
{
    zk_fixture_connected(f);
    f->kind = HF_TICKET_WRITE;
    have_ticket(f, "a", 5, 17);
}

#define CHANGE "MULTI +q/a/r#5 -q/a/w#5 v2"

/* Of a ticket whose data is not known, because it was not watched. */
static void downgrade(struct zk_fixture *f)
{
    ask(f, HF_REQUEST_DOWNGRADE, "a");
    assert_string_equal(zk_fixture_sent(f), "DATA q/a/w#5");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_sent(f), CHANGE);
}

ZK_TEST_FROM(one_transaction_for_both, begin(f))
{
    downgrade(f);
    downgrade_done(f);
    assert_string_equal(zk_fixture_events(f), "DOWNGRADED a");
    ask(f, HF_REQUEST_DOWNGRADE, "a");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "DOWNGRADED a");
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "a/r#5");
    assert_string_equal(zk_fixture_events(f), "LISTED a: a/r#5@17");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "LIST q | MULTI q/a/r#5");
    checked(f);
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a/r#5");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found");
}

/* The watch of the old name fires before the answer. */
ZK_TEST_FROM(its_old_name_goes_with_it, begin(f))
{
    struct hf_request *watch;

    watch = ask(f, HF_REQUEST_WATCH, "a");
    data(f, "", 17, ZK_FIXTURE_SESSION);
    forget(f, watch);
    (void)zk_fixture_events(f);
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_DOWNGRADE, "a"); /* its text is known */
    assert_string_equal(zk_fixture_sent(f), CHANGE);
    event(f, HF_ZK_NODE_DELETED, "q/a/w#5");
    assert_string_equal(zk_fixture_events(f), "");
    downgrade_done(f);
    assert_string_equal(zk_fixture_events(f), "DOWNGRADED a");
    f->kind = HF_TICKET_READ;
    ask(f, HF_REQUEST_WATCH, "a");
    assert_string_equal(zk_fixture_sent(f), "DATA q/a/r#5 w");
    data(f, "", 18, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_events(f), "WATCHING a");
    event(f, HF_ZK_NODE_DELETED, "q/a/r#5");
    assert_string_equal(zk_fixture_events(f), "GONE a");
}

/* No proof checks this ticket, because its name is not certain. */
ZK_TEST_FROM(a_proof_does_without_it, begin(f))
{
    downgrade(f);
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI /");
    downgrade_done(f);
    checked(f);
    (void)zk_fixture_events(f);
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "MULTI q/a/r#5");
    checked(f);
}

static void cut(struct zk_fixture *f)
{
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED DOWNGRADE a UNSURE");
    resume(f);
}

/* If it took effect, the second one fails at one of its operations, and a
 * list shows that. */
TEST(without_an_answer_it_is_asked_again)
{
    static const struct {
        int32_t nth;
        int32_t error;
    } rows[] = {{0, HF_ZK_NODE_EXISTS}, {1, HF_ZK_NO_NODE}};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(&f);
        downgrade(&f);
        cut(&f);
        downgrade(&f);
        multi_failed(&f, rows[i].nth, rows[i].error);
        assert_string_equal(zk_fixture_sent(&f), "SYNC q; LIST q");
        done(&f);
        children(&f, "a/r#5 x/w#6");
        assert_string_equal(zk_fixture_events(&f), "DOWNGRADED a");
        zk_fixture_close(&f);
    }
    begin(&f);
    downgrade(&f);
    cut(&f);
    downgrade(&f); /* the first one had not happened */
    downgrade_done(&f);
    assert_string_equal(zk_fixture_events(&f), "DOWNGRADED a");
    zk_fixture_close(&f);
}

/* The data of the writer is copied to the reader, whose watch reports it. */
ZK_TEST_FROM(a_request_to_let_go_is_taken_over, begin(f))
{
    ask(f, HF_REQUEST_DOWNGRADE, "a");
    f->payload = HF_ZK_REVOKE; /* what the transaction is to write */
    data(f, HF_ZK_REVOKE, 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_sent(f), "DATA q/a/w#5 | " CHANGE);
    downgrade_done(f);
    assert_string_equal(zk_fixture_events(f), "DOWNGRADED a");
}

/* The data was written since it was read: it is read again, a bounded number
 * of times. */
ZK_TEST_FROM(another_version_is_read_first, begin(f))
{
    int iterations = 0;

    downgrade(f);
    multi_failed(f, 1, HF_ZK_BAD_VERSION);
    assert_string_equal(zk_fixture_sent(f), "DATA q/a/w#5");
    f->payload = HF_ZK_REVOKE;
    data(f, HF_ZK_REVOKE, 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_sent(f), CHANGE);
    while (f->first != NULL && iterations++ < 100) {
        multi_failed(f, 1, HF_ZK_BAD_VERSION);
        if (f->first != NULL)
            data(f, HF_ZK_REVOKE, 17, ZK_FIXTURE_SESSION);
    }
    assert_in_range(iterations, 2, 20);
    assert_string_equal(zk_fixture_events(f), "FAILED DOWNGRADE a RETRY");
}

/* Removed while its data is read: nothing is created. */
ZK_TEST_FROM(a_removal_ends_the_reading, begin(f))
{
    ask(f, HF_REQUEST_DOWNGRADE, "a");
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "DATA q/a/w#5 | DELETE q/a/w#5");
    data(f, "me", 17, ZK_FIXTURE_SESSION);
    assert_string_equal(zk_fixture_sent(f), "");
    done(f);
    assert_string_equal(zk_fixture_events(f),
                        "FAILED DOWNGRADE a FATAL; REMOVED a found");
}

ZK_TEST_FROM(a_ticket_that_is_gone_is_lost, begin(f))
{
    downgrade(f);
    multi_failed(f, 1, HF_ZK_NO_NODE);
    done(f);
    children(f, "x/w#6");
    assert_string_equal(zk_fixture_events(f), "FAILED DOWNGRADE a FATAL");
    assert_int_equal(f->status, HF_ELOST);
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_DOWNGRADE, "a");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "FAILED DOWNGRADE a FATAL");
    assert_int_equal(f->status, HF_ELOST);
}

/* The transaction was refused because of a node that a list does not show. */
ZK_TEST_FROM(a_refusal_without_a_reason_is_asked_again, begin(f))
{
    downgrade(f);
    multi_failed(f, 0, HF_ZK_NODE_EXISTS);
    done(f);
    children(f, "a/w#5");
    assert_string_equal(zk_fixture_events(f), "FAILED DOWNGRADE a RETRY");
    (void)zk_fixture_sent(f);
    downgrade(f);
    downgrade_done(f);
    assert_string_equal(zk_fixture_events(f), "DOWNGRADED a");
}

ZK_TEST_FROM(a_refusal_leaves_a_writer, begin(f))
{
    downgrade(f);
    multi_failed(f, 0, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED DOWNGRADE a FATAL");
    assert_int_equal(f->status, HF_EDENIED);
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a/w#5");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found");
}

/* It is refused now and may have taken effect before: a list shows which. */
TEST(a_refusal_after_silence_takes_a_look)
{
    struct zk_fixture f;

    for (unsigned was_done = 0; was_done < 2; was_done++) {
        begin(&f);
        downgrade(&f);
        cut(&f);
        downgrade(&f);
        multi_failed(&f, 0, HF_ZK_NO_AUTH);
        assert_string_equal(zk_fixture_sent(&f), "SYNC q; LIST q");
        done(&f);
        children(&f, was_done ? "a/r#5" : "a/w#5");
        assert_string_equal(zk_fixture_events(&f),
                            was_done ? "DOWNGRADED a"
                                     : "FAILED DOWNGRADE a FATAL");
        (void)zk_fixture_sent(&f);
        ask(&f, HF_REQUEST_REMOVE, "a");
        assert_string_equal(zk_fixture_sent(&f),
                            was_done ? "DELETE q/a/r#5" : "DELETE q/a/w#5");
        done(&f);
        zk_fixture_close(&f);
    }
}

/* Both names, in this order, because a downgrade that is still on its way
 * needs the first. */
TEST(without_an_answer_both_names_are_deleted)
{
    struct zk_fixture f;

    for (int first = 0; first < 2; first++) {
        begin(&f);
        downgrade(&f);
        cut(&f);
        ask(&f, HF_REQUEST_REMOVE, "a");
        assert_string_equal(zk_fixture_sent(&f),
                            "DELETE q/a/w#5; DELETE q/a/r#5");
        if (first == 0) {
            done(&f);
            refused(&f, HF_ZK_NO_NODE);
        } else {
            refused(&f, HF_ZK_NO_NODE);
            done(&f);
        }
        assert_non_null(strstr(zk_fixture_events(&f), "REMOVED a found"));
        zk_fixture_close(&f);
    }
    begin(&f);
    downgrade(&f);
    ask(&f, HF_REQUEST_REMOVE, "a"); /* behind it, on one connection */
    assert_string_equal(zk_fixture_sent(&f), "DELETE q/a/w#5; DELETE q/a/r#5");
    downgrade_done(&f);
    refused(&f, HF_ZK_NO_NODE);
    link_down(&f, "reset");
    assert_string_equal(zk_fixture_events(&f),
                        "DOWNGRADED a; SUSPENDED; FAILED REMOVE a UNSURE");
    zk_fixture_close(&f);
}
