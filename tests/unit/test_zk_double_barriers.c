/* SPDX-License-Identifier: Apache-2.0 */
/* Double barriers of the ZooKeeper engine: participants, and their
 * generations. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zk_fixture.h"

static void begin(struct zk_fixture *f)
{
    zk_fixture_connected(f);
    f->kind = HF_TICKET_PARTICIPANT;
    f->limit = 2;
}

/* x has entered in transaction 17 and is alone. */
static void enter(struct zk_fixture *f)
{
    ask(f, HF_REQUEST_ENQUEUE, "x");
    assert_string_equal(zk_fixture_sent(f), "CREATE2 q/x/m; LIST q");
    participant_created(f, 17);
    assert_string_equal(zk_fixture_events(f), "");
    children(f, "x/m");
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/ready");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "ENQUEUED x: x/m@17");
}

/* --------------------------------------------------------------- coming -- */

ZK_TEST_FROM(a_participant_is_one_plain_node, begin(f))
{
    enter(f);
    ask(f, HF_REQUEST_ENQUEUE, "x"); /* there already */
    assert_string_equal(zk_fixture_sent(f), "LIST q");
    children(f, "x/m");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "ENQUEUED x: x/m@17");
    ask(f, HF_REQUEST_REMOVE, "x");
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/ready | DELETE q/x/m");
    done(f);
    assert_string_equal(zk_fixture_events(f), "REMOVED x found");
}

/* In the order in which they entered, not in that of names. */
ZK_TEST_FROM(what_a_list_does_not_report_is_asked_once, begin(f))
{
    enter(f);
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "a/m x/m ready b/m");
    assert_string_equal(zk_fixture_sent(f),
                        "LIST q | EXISTS q/ready; EXISTS q/a/m; EXISTS q/b/m");
    exists(f, 19, 0);
    exists(f, 18, 7);
    exists(f, 12, 7);
    assert_string_equal(zk_fixture_events(f),
                        "LISTED x: b/m@12 x/m@17 a/m@18 ready@19");
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "a/m x/m b/m ready");
    assert_string_equal(zk_fixture_sent(f), "LIST q | EXISTS q/ready");
    exists(f, 23, 0);
    assert_string_equal(zk_fixture_events(f),
                        "LISTED x: b/m@12 x/m@17 a/m@18 ready@23");
}

ZK_TEST_FROM(who_has_gone_since_is_not_shown, begin(f))
{
    enter(f);
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "a/m x/m b/m");
    refused(f, HF_ZK_NO_NODE);
    exists(f, 18, 7);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "LISTED x: x/m@17 a/m@18");
}

/* In several steps of a few calls each. */
ZK_TEST_FROM(many_participants_are_asked_about_in_turns, begin(f))
{
    enter(f);
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "a/m b/m c/m d/m e/m f/m g/m x/m");
    assert_string_equal(zk_fixture_sent(f),
                        "LIST q | EXISTS q/ready; EXISTS q/a/m; EXISTS q/b/m; "
                        "EXISTS q/c/m; EXISTS q/d/m; EXISTS q/e/m");
    refused(f, HF_ZK_NO_NODE);
    for (int i = 1; i <= 5; i++)
        exists(f, i, 7);
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/f/m; EXISTS q/g/m");
    exists(f, 6, 7);
    exists(f, 7, 7);
    assert_string_equal(zk_fixture_events(f),
                        "LISTED x: a/m@1 b/m@2 c/m@3 d/m@4 e/m@5 f/m@6 g/m@7 "
                        "x/m@17");
}

/* A name that is not exactly a UUID. */
ZK_TEST_FROM(what_is_no_participant_does_not_count, begin(f))
{
    enter(f);
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "a#4 b/l#5 x/m strange Ready ready2 "
                "61616161-6161-6161-6161-61616161616 "
                "61616161-6161-6161-6161-616161616161-");
    assert_string_equal(zk_fixture_sent(f), "LIST q | EXISTS q/ready");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "LISTED x: x/m@17");
    f->kind = HF_TICKET_MUTEX; /* nor is a participant a ticket of a lock */
    ask(f, HF_REQUEST_LIST, "z");
    done(f);
    children(f, "a#4 x/m ready");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q | DATA q/a#4");
    data(f, "him", 4, 7);
    assert_string_equal(zk_fixture_events(f), "LISTED z: a#4=him");
}

ZK_TEST_FROM(parents_are_made_when_they_are_missing, begin(f))
{
    ask(f, HF_REQUEST_ENQUEUE, "x");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f),
                        "CREATE2 q/x/m; LIST q | "
                        "CONTAINER q; MULTI ?q +q/x/m; LIST q");
    done(f);
    participant_created(f, 17);
    children(f, "x/m");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "ENQUEUED x: x/m@17");
}

ZK_TEST_FROM(nobody_is_there_where_there_is_no_node, begin(f))
{
    ask(f, HF_REQUEST_LIST, "x");
    done(f);
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "LISTED x:");
}

/* ---------------------------------------------------------- lost answers -- */

/* The create of x got no answer, and the session goes on. */
static void be_unsure(struct zk_fixture *f)
{
    begin(f);
    ask(f, HF_REQUEST_ENQUEUE, "x");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED ENQUEUE x UNSURE");
    resume(f);
}

ZK_TEST_FROM(one_without_an_answer_is_found, be_unsure(f))
{
    ask(f, HF_REQUEST_LIST, "x");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q");
    done(f);
    children(f, "x/m a/m");
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/x/m");
    exists(f, 17, f->session);
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/ready; EXISTS q/a/m");
    refused(f, HF_ZK_NO_NODE);
    exists(f, 3, 7);
    assert_string_equal(zk_fixture_events(f), "LISTED x: a/m@3 x/m@17");
}

/* A participant of another session counts, but is not ours. */
ZK_TEST_FROM(one_of_another_session_is_not_ours, be_unsure(f))
{
    const char *events;

    ask(f, HF_REQUEST_LIST, "x");
    done(f);
    children(f, "x/m");
    exists(f, 17, 7);
    refused(f, HF_ZK_NO_NODE);
    exists(f, 17, 7);
    events = zk_fixture_events(f);
    assert_null(strstr(events, " x/m"));
    assert_non_null(strstr(events, "/m@17"));
}

ZK_TEST_FROM(one_that_never_came_is_not_found, be_unsure(f))
{
    ask(f, HF_REQUEST_LIST, "x");
    done(f);
    children(f, "a/m");
    refused(f, HF_ZK_NO_NODE);
    exists(f, 3, 7);
    assert_string_equal(zk_fixture_events(f), "LISTED x: a/m@3");
}

ZK_TEST_FROM(what_the_questions_may_be_answered, begin(f))
{
    enter(f);
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "x/m a/m");
    refused(f, HF_ZK_NO_AUTH); /* of the generation */
    exists(f, 3, 7);
    assert_string_equal(zk_fixture_events(f), "FAILED LIST x FATAL");
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "x/m b/m");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_AUTH); /* about b */
    assert_string_equal(zk_fixture_events(f), "FAILED LIST x FATAL");
    ask(f, HF_REQUEST_LIST, "x");
    children(f, "x/m b/m");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f), "SUSPENDED; FAILED LIST x RETRY");
}

/* ----------------------------------------------------------- generation -- */

/* x, y and z are there, and make a generation for two; the flag is there
 * since ${flag}. */
static void begin_generation(struct zk_fixture *f, int64_t flag)
{
    (void)zk_fixture_sent(f);
    ask(f, HF_REQUEST_NEW_GENERATION, "x");
    assert_string_equal(zk_fixture_sent(f), "LIST q; EXISTS q/ready");
    children(f, "z/m x/m y/m");
    if (flag > 0)
        exists(f, flag, 0);
    else
        refused(f, HF_ZK_NO_NODE);
}

ZK_TEST_FROM(a_generation_is_one_transaction, begin(f))
{
    enter(f);
    begin_generation(f, 0);
    assert_string_equal(zk_fixture_sent(f), "MULTI q/x/m q/z/m +q/ready");
    assert_string_equal(zk_fixture_events(f), "");
    multi_done(f);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED");
    begin_generation(f, 19);
    assert_string_equal(zk_fixture_sent(f),
                        "MULTI q/x/m q/z/m -q/ready +q/ready");
    multi_done(f);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED found");
}

ZK_TEST_FROM(so_many_are_checked_as_are_waited_for, begin(f))
{
    enter(f);
    f->limit = 1;
    begin_generation(f, 0);
    assert_string_equal(zk_fixture_sent(f), "MULTI q/x/m +q/ready");
    multi_done(f);
    f->limit = 3;
    begin_generation(f, 0);
    assert_string_equal(zk_fixture_sent(f), "MULTI q/x/m q/z/m q/y/m +q/ready");
    multi_done(f);
    (void)zk_fixture_events(f);
    f->limit = 4;
    begin_generation(f, 0);
    assert_string_equal(zk_fixture_sent(f), "");
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x RETRY");
}

ZK_TEST_FROM(a_missing_participant_makes_no_generation, begin(f))
{
    ask(f, HF_REQUEST_NEW_GENERATION, "x");
    children(f, "z/m y/m");
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_sent(f), "LIST q; EXISTS q/ready");
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x RETRY");
    ask(f, HF_REQUEST_NEW_GENERATION, "x");
    refused(f, HF_ZK_NO_NODE);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x RETRY");
}

/* After any of these the core asks again. */
ZK_TEST_FROM(what_may_come_between, begin(f))
{
    static const struct {
        int32_t nth;
        int32_t error;
    } faults[] = {
        {0, HF_ZK_NO_NODE},
        {1, HF_ZK_NO_NODE},
        {2, HF_ZK_NO_NODE},
        {3, HF_ZK_NODE_EXISTS},
    };

    enter(f);
    for (size_t i = 0; i < 4; i++) {
        begin_generation(f, 19);
        multi_failed(f, faults[i].nth, faults[i].error);
        assert_string_equal(zk_fixture_events(f),
                            "FAILED NEW_GENERATION x RETRY");
    }
    begin_generation(f, 0);
    multi_failed(f, 2, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x FATAL");
    assert_int_equal(f->status, HF_EDENIED);
    begin_generation(f, 0);
    answer_with(f, "\0\0\0\1", 4);
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x UNSURE");
}

ZK_TEST_FROM(what_a_generation_may_be_answered, begin(f))
{
    enter(f);
    ask(f, HF_REQUEST_NEW_GENERATION, "x");
    refused(f, HF_ZK_NO_AUTH);
    refused(f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x FATAL");
    ask(f, HF_REQUEST_NEW_GENERATION, "x");
    children(f, "x/m y/m");
    refused(f, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x FATAL");
    ask(f, HF_REQUEST_NEW_GENERATION, "x");
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED NEW_GENERATION x UNSURE");
    resume(f);
    begin_generation(f, 0);
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED NEW_GENERATION x UNSURE");
    ask(f, HF_REQUEST_NEW_GENERATION, "x");
    assert_string_equal(zk_fixture_events(f), "FAILED NEW_GENERATION x RETRY");
}

/* ---------------------------------------------------------------- clear -- */

static void clear(struct zk_fixture *f)
{
    (void)zk_fixture_sent(f);
    f->kind = HF_TICKET_READY;
    ask(f, HF_REQUEST_CLEAR_FLAG, "x");
    assert_string_equal(zk_fixture_sent(f), "MULTI -q/ready -q");
}

/* The parent node of participants is missing, so there are none. */
ZK_TEST_FROM(the_flag_goes_with_the_last, begin(f))
{
    clear(f);
    checked(f);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED found");
    clear(f);
    multi_failed(f, 0, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED");
    clear(f);
    multi_failed(f, 1, HF_ZK_NOT_EMPTY);
    assert_string_equal(zk_fixture_events(f), "FLAG_UPDATED");
    clear(f);
    multi_failed(f, 0, HF_ZK_NO_AUTH);
    assert_string_equal(zk_fixture_events(f), "FAILED CLEAR_FLAG x FATAL");
    clear(f);
    link_down(f, "reset");
    assert_string_equal(zk_fixture_events(f),
                        "SUSPENDED; FAILED CLEAR_FLAG x UNSURE");
}

/* ---------------------------------------------------------- queue watch -- */

static struct hf_request *look(struct zk_fixture *f)
{
    struct hf_request *request;

    (void)zk_fixture_sent(f);
    request = ask(f, HF_REQUEST_WATCH_QUEUE, "z");
    assert_string_equal(zk_fixture_sent(f), "SYNC q; LIST q w");
    return request;
}

ZK_TEST_FROM(a_look_is_at_all_of_it, begin(f))
{
    look(f);
    done(f);
    children(f, "a/m ready");
    assert_string_equal(zk_fixture_events(f), "");
    assert_string_equal(zk_fixture_sent(f), "EXISTS q/ready; EXISTS q/a/m");
    exists(f, 19, 0);
    exists(f, 18, 7);
    assert_string_equal(zk_fixture_events(f), "LISTED z: a/m@18 ready@19");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f), "QUEUE_CHANGED z");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f), "");
}

/* A change while the list is collected is reported after it. */
ZK_TEST_FROM(events_wait_for_the_queue_watch, begin(f))
{
    look(f);
    done(f);
    children(f, "a/m");
    event(f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(f), "");
    exists(f, 19, 0);
    exists(f, 18, 7);
    assert_string_equal(zk_fixture_events(f),
                        "LISTED z: a/m@18 ready@19; QUEUE_CHANGED z");
}

TEST(a_look_can_be_taken_back_at_any_time)
{
    struct hf_request *request;
    struct zk_fixture f;

    for (int answers = 0; answers <= 4; answers++) {
        begin(&f);
        request = look(&f);
        for (int i = 0; i <= 4; i++) {
            if (i == answers)
                forget(&f, request);
            if (i == 0)
                done(&f);
            else if (i == 1)
                children(&f, "a/m");
            else if (i <= 3 && f.first != NULL)
                refused(&f, HF_ZK_NO_NODE);
        }
        event(&f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
        assert_null(strstr(zk_fixture_events(&f), "QUEUE_CHANGED"));
        zk_fixture_close(&f);
    }
}

TEST(what_a_look_may_be_answered)
{
    struct zk_fixture f;

    begin(&f);
    look(&f);
    refused(&f, HF_ZK_OPERATION_TIMEOUT);
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "FAILED WATCH_QUEUE z RETRY");
    look(&f);
    done(&f);
    refused(&f, HF_ZK_NO_NODE);
    while (f.first != NULL)
        refused(&f, HF_ZK_NO_NODE);
    assert_string_equal(zk_fixture_events(&f), "LISTED z:");
    zk_fixture_close(&f);
    begin(&f);
    look(&f);
    done(&f);
    children(&f, "a/m");
    refused(&f, HF_ZK_NO_AUTH);
    exists(&f, 18, 7);
    assert_string_equal(zk_fixture_events(&f), "FAILED WATCH_QUEUE z FATAL");
    event(&f, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
    assert_string_equal(zk_fixture_events(&f), "");
    zk_fixture_close(&f);
    begin(&f);
    look(&f);
    done(&f);
    children(&f, "a/m");
    link_down(&f, "reset");
    assert_string_equal(zk_fixture_events(&f),
                        "SUSPENDED; FAILED WATCH_QUEUE z RETRY");
    zk_fixture_close(&f);
}
