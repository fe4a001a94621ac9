/* SPDX-License-Identifier: Apache-2.0 */
/* Detailed lists: all that is known of every ticket of a queue. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

/* Ask for a detailed list of the queue q. */
static void begin(struct zk_fixture *f)
{
    zk_fixture_connected(f);
    f->detailed = true;
    ask(f, HF_REQUEST_LIST, "z");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
}

ZK_TEST_FROM(each_ticket_is_asked_about, begin(f))
{
    children(f, "y#2 x#1");
    assert_string_equal(zk_fixture_sent(f), "DATA q/y#2; DATA q/x#1");
    data(f, "her", 18, 1);
    data(f, "him", 17, 1);
    assert_string_equal(zk_fixture_events(f),
                        "LISTED z: x#1@17=him y#2@18=her");
}

/* The first two from a sequence on are read by one call, or each by itself at a
 * server that refuses that call; the next list asks such a server no more. */
ZK_TEST_FROM(only_texts_that_are_wanted_are_read, begin(f))
{
    children(f, "");
    (void)zk_fixture_events(f);
    f->texts = (struct hf_text_range){2, 2};
    for (int i = 0; i < 2; i++) {
        ask(f, HF_REQUEST_LIST, "z");
        (void)zk_fixture_sent(f);
        done(f);
        children(f, "w#4 y#2 x#1 v#3");
        if (i == 0) {
            assert_string_equal(zk_fixture_sent(f), "MULTIREAD 2");
            refused(f, HF_ZK_UNIMPLEMENTED);
        }
        assert_string_equal(zk_fixture_sent(f), "DATA q/y#2; DATA q/v#3");
        data(f, "her", 18, 1);
        data(f, "him", 19, 1);
        assert_string_equal(zk_fixture_events(f),
                            "LISTED z: x#1 y#2@18=her v#3@19=him w#4");
    }
}

ZK_TEST_FROM(who_has_gone_since_is_not_shown, begin(f))
{
    children(f, "x#1 y#2");
    refused(f, HF_ZK_NO_NODE);
    data(f, "her", 18, 1);
    assert_string_equal(zk_fixture_events(f), "LISTED z: y#2@18=her");
}

ZK_TEST_FROM(a_denied_read_says_what_to_check, zk_fixture_init(f))
{
    (void)snprintf(f->config.url.session.auth,
                   sizeof f->config.url.session.auth, "u:p");
    assert_true(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    f->detailed = true;
    ask(f, HF_REQUEST_LIST, "z");
    done(f);
    refused(f, HF_ZK_NO_AUTH);
    assert_non_null(strstr(f->text, "our user and password"));
}

/* Also a ticket that this client may not read. */
TEST(what_it_may_be_answered)
{
    struct zk_fixture f;

    begin(&f);
    refused(&f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(&f), "FAILED LIST z FATAL");
    assert_int_equal(f.status, HF_EDENIED);
    zk_fixture_close(&f);
    begin(&f);
    children(&f, "x#1 y#2");
    refused(&f, HF_ZK_NO_AUTH);
    data(&f, "her", 18, 1);
    assert_string_equal(zk_fixture_events(&f), "FAILED LIST z FATAL");
    zk_fixture_close(&f);
    begin(&f);
    link_down(&f, "reset");
    assert_string_equal(zk_fixture_events(&f),
                        "SUSPENDED; FAILED LIST z RETRY");
    zk_fixture_close(&f);
}

ZK_TEST_FROM(nothing_is_asked_behind_a_close, begin(f))
{
    ask(f, HF_REQUEST_END, "");
    (void)zk_fixture_sent(f);
    children(f, "x#1");
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "FAILED LIST z RETRY");
}

TEST(names_that_are_none)
{
    static const uint8_t one_is_null[] = {0,   0, 0, 2, 255, 255, 255,
                                          255, 0, 0, 0, 1,   'x'};
    static const uint8_t cut_off[] = {0, 0, 0, 2, 0, 0, 0, 9, 'x', 0, 0, 0};
    struct zk_fixture f;

    begin(&f);
    answer_with(&f, one_is_null, sizeof one_is_null);
    assert_string_equal(zk_fixture_events(&f), "LISTED z:");
    zk_fixture_close(&f);
    begin(&f);
    answer_with(&f, cut_off, sizeof cut_off);
    assert_string_equal(zk_fixture_events(&f), "FAILED LIST z RETRY");
    zk_fixture_close(&f);
}
