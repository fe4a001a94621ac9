/* SPDX-License-Identifier: Apache-2.0 */
/* REMOVE, LIST and PROVE: the calls that they become, and answers to those. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

/* -------------------------------------------------------------- removal -- */

ZK_TEST(known_tickets_are_deleted)
{
    have_ticket(f, "a", 5, 17);
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a#5");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found");
    have_ticket(f, "b", 6, 18);
    ask(f, HF_REQUEST_REMOVE, "b");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "REMOVED b");
}

ZK_TEST(unknown_tickets_are_looked_for)
{
    ask(f, HF_REQUEST_REMOVE, "a");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
    children(f, "x#1 a#2");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a#2");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found");
    ask(f, HF_REQUEST_REMOVE, "a");
    done(f);
    children(f, "x#1");
    assert_string_equal(zk_fixture_events(f), "REMOVED a");
    ask(f, HF_REQUEST_REMOVE, "a");
    done(f);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "REMOVED a");
}

ZK_TEST(a_cut_removal_is_repeated)
{
    have_ticket(f, "a", 5, 17);
    ask(f, HF_REQUEST_REMOVE, "a");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED REMOVE a UNSURE");
    resume(f);
    ask(f, HF_REQUEST_REMOVE, "a"); /* it knows its name still */
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a#5");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "REMOVED a");
    ask(f, HF_REQUEST_REMOVE, "b"); /* at each step of the search */
    link_down(f, "reset");
    resume(f);
    ask(f, HF_REQUEST_REMOVE, "b");
    done(f);
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED REMOVE b UNSURE");
    resume(f);
    ask(f, HF_REQUEST_REMOVE, "b");
    done(f);
    children(f, "b#6");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED REMOVE b UNSURE");
}

TEST(high_numbers_take_the_queue_with_them)
{
    static const struct {
        int32_t sequence;
        const char *sent;
    } rows[] = {
        {(1 << 30) - 1, "DELETE q/a#1073741823"},
        {1 << 30, "DELETE q/a#1073741824; DELETE q"},
        {INT32_MAX - (1 << 20), "DELETE q/a#2146435071; DELETE q"},
    };
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int empty = 0; empty < 2; empty++) {
            zk_fixture_connected(&f);
            have_ticket(&f, "a", rows[i].sequence, 17);
            ask(&f, HF_REQUEST_REMOVE, "a");
            assert_string_equal(zk_fixture_sent(&f), rows[i].sent);
            done(&f);
            if (i > 0 && empty)
                done(&f);
            else if (i > 0)
                refused(&f, HF_ZK_NOT_EMPTY);
            assert_string_equal(zk_fixture_events(&f), "REMOVED a found");
            zk_fixture_close(&f);
        }
    }
}

ZK_TEST(what_errors_say_of_a_delete)
{
    have_ticket(f, "a", 5, 17);
    ask(f, HF_REQUEST_REMOVE, "a");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED REMOVE a FATAL");
    assert_string_equal(f->text, "cannot delete a ticket of /q: no permission "
                                 "(-102); see the node's access list: we have "
                                 "no credentials");
    ask(f, HF_REQUEST_REMOVE, "a");
    refused(f, HF_ZK_SYSTEM_ERROR);
    assert_string_equal(zk_fixture_events(f), "FAILED REMOVE a UNSURE");
}

/* ------------------------------------------------------------------ list -- */

ZK_TEST(a_ticket_that_is_not_listed_is_gone)
{
    have_ticket(f, "a", 5, 17);
    have_ticket(f, "b", 6, 18);
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "b#6");
    data(f, "me", 18, f->session);
    assert_string_equal(zk_fixture_events(f), "LISTED a: b#6@18=me");
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_PROVE, ""); /* its check would fail the other's */
    assert_string_equal(zk_fixture_sent(f), "MULTI q/b#6");
}

/* The data of the first ticket is read once, and watched for the one behind
 * it. */
ZK_TEST(the_head_is_known)
{
    ask(f, HF_REQUEST_ENQUEUE, "a");
    created(f, 5, 17);
    children(f, "x#3 a#5");
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/a; LIST q | DATA q/x#3 w");
    data(f, "host=h pid=1", 3, 9);
    assert_string_equal(zk_fixture_events(f),
                        "ENQUEUED a: x#3=host=h pid=1 a#5@17");
    ask(f, HF_REQUEST_WATCH, "x");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "WATCHING x");
    ask(f, HF_REQUEST_LIST, "a");
    children(f, "x#3 a#5");
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    assert_string_equal(zk_fixture_events(f),
                        "LISTED a: x#3=host=h pid=1 a#5@17");
    ask(f, HF_REQUEST_LIST, "a"); /* another head */
    children(f, "w#2 x#3 a#5");
    assert_string_equal(zk_fixture_sent(f), "LIST q | DATA q/w#2");
    refused(f, HF_ZK_NO_NODE); /* gone already: nothing depends on it */
    assert_string_equal(zk_fixture_events(f),
                        "LISTED a: w#2 x#3=host=h pid=1 a#5@17");
}

TEST(payloads_are_made_fit)
{
    char text[2 * HF_PAYLOAD_BYTES];
    struct zk_fixture f;

    for (int i = 0; i < 4; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        created(&f, 5, 17);
        children(&f, "x#3 a#5");
        memset(text, 'p', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        if (i == 0)
            data(&f, NULL, 3, 9);
        else if (i == 1)
            data(&f, "\xff\xfe", 3, 9);
        else
            data(&f, i == 2 ? text : "", 3, 9);
        if (i == 1)
            assert_string_equal(zk_fixture_events(&f),
                                "ENQUEUED a: x#3=\"\\xFF\\xFE\" a#5@17");
        else if (i != 2)
            assert_string_equal(zk_fixture_events(&f),
                                "ENQUEUED a: x#3 a#5@17");
        else /* cut to what a payload may be */
            assert_int_equal(strlen(zk_fixture_events(&f)),
                             strlen("ENQUEUED a: x#3= a#5@17") +
                                 HF_PAYLOAD_BYTES - 1);
        zk_fixture_close(&f);
    }
}

/* ----------------------------------------------------------------- prove -- */

ZK_TEST(proofs_check_by_turns)
{
    unsigned seen[40] = {0};
    char name[8];
    size_t checks;

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "n%d", i);
        have_ticket(f, name, i, 100 + i);
    }
    for (int iteration = 0; iteration < 5; iteration++) {
        const char *sent;

        ask(f, HF_REQUEST_PROVE, "");
        sent = zk_fixture_sent(f);
        checks = 0;
        for (unsigned i = 0; i < 40; i++) {
            snprintf(name, sizeof name, "n%u#%u", i, i);
            for (const char *at_ = strstr(sent, name); at_ != NULL;
                 at_ = strstr(at_ + 1, name)) {
                if (at_[strlen(name)] != ' ' && at_[strlen(name)] != '\0')
                    continue;
                checks++;
                seen[i]++;
            }
        }
        assert_int_equal(checks, 32);
        checked(f);
        assert_string_equal(zk_fixture_events(f), "PROVEN 1000");
    }
    for (int i = 0; i < 40; i++)
        assert_int_equal(seen[i], 4); /* 5 x 32 / 40 */
}

ZK_TEST(tickets_that_leave_are_not_checked)
{
    have_ticket(f, "a", 1, 11);
    have_ticket(f, "b", 2, 12);
    ask(f, HF_REQUEST_REMOVE, "a");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/a#1 | MULTI q/b#2");
    done(f);
    checked(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED a found; PROVEN 1000");
    ask(f, HF_REQUEST_REMOVE, "b");
    ask(f, HF_REQUEST_PROVE, "");
    assert_string_equal(zk_fixture_sent(f), "DELETE q/b#2 | MULTI /");
}

ZK_TEST(a_failed_check_proves_nothing)
{
    have_ticket(f, "a", 1, 11);
    have_ticket(f, "b", 2, 12);
    have_ticket(f, "c", 3, 13);
    for (int32_t i = 0; i < 3; i++) {
        ask(f, HF_REQUEST_PROVE, "");
        check_failed(f, i);
        assert_string_equal(zk_fixture_events(f), "FAILED PROVE RETRY");
        assert_string_equal(f->text, "a ticket that was to be checked is gone");
    }
    ask(f, HF_REQUEST_PROVE, "");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED PROVE FATAL");
}

/* A MULTI whose answer is none. */
TEST(a_proof_needs_its_whole_answer)
{
    static const char *const bodies[] = {
        "",                                     /* nothing */
        "\0\0\0\x0d\0\0\0\0\0",                 /* no end */
        "\0\0\0\x0d\0\0\0\0\0\0\0\0\x0d\0\0\0", /* cut off */
        "\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0",   /* an error, of no kind */
        "\xff\xff\xff\xff\0\0\0\0\0\0\0\0\7",   /* one that is none */
        "\0\0\0\4\0\0\0\0\0\xff\xff\xff\xff\1\xff\xff\xff\xff", /* other */
    };
    static const size_t counts[] = {0, 9, 16, 13, 13, 18};
    uint8_t frame[64] = {0};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_PROVE, "");
        frame[3] = (uint8_t)(16 + counts[i]);
        frame[7] = (uint8_t)f.first->xid;
        memcpy(frame + 20, bodies[i], counts[i]);
        receive(&f, frame, 20 + counts[i]);
        assert_string_equal(zk_fixture_events(&f), "FAILED PROVE RETRY");
        zk_fixture_close(&f);
    }
}
