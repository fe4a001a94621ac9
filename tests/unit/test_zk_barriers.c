/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: the node that is a barrier, and those who wait for its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zk_stage.h"

static void begin(struct stage *s)
{
    stage_connected(s);
    s->kind = HF_TICKET_BARRIER;
}

static struct hf_request *look(struct stage *s, const char *name)
{
    struct hf_request *request = ask(s, HF_REQUEST_WATCH_QUEUE, name);

    assert_string_equal(stage_sent(s), "SYNC q; DATA q w");
    return request;
}

/* A look at q, which is up since 17, has been told. */
static struct hf_request *look_told(struct stage *s)
{
    struct hf_request *request;

    begin(s);
    request = look(s, "z");
    done(s);
    assert_string_equal(stage_told(s), "");
    data(s, "10.0.0.1", 17, 0);
    assert_string_equal(stage_told(s), "LISTED z: up@17");
    return request;
}

/* ---------------------------------------------------------------- raise -- */

static void raise_it(struct stage *s)
{
    ask(s, HF_REQUEST_SET_FLAG, "a");
    assert_string_equal(stage_sent(s), "CREATE q; EXISTS q");
}

static void a_mark_is_one_persistent_node(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    raise_it(&s);
    done(&s);
    assert_string_equal(stage_told(&s), "");
    exists(&s, 17, 0);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED");
    raise_it(&s); /* there already */
    refused(&s, HF_ZK_NODE_EXISTS);
    exists(&s, 17, 0);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED found");
    raise_it(&s); /* and lowered in between */
    refused(&s, HF_ZK_NODE_EXISTS);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED found");
    ask(&s, HF_REQUEST_CLEAR_FLAG, "a");
    assert_string_equal(stage_sent(&s), "DELETE q");
    done(&s);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED found");
    ask(&s, HF_REQUEST_CLEAR_FLAG, "a");
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED");
    stage_close(&s);
}

static void parents_are_made_when_they_are_missing(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    s.queue = "gates/q";
    ask(&s, HF_REQUEST_SET_FLAG, "a");
    assert_string_equal(stage_sent(&s), "CREATE gates/q; EXISTS gates/q");
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s),
                        "CONTAINER gates; CREATE gates/q; EXISTS gates/q");
    done(&s);
    done(&s);
    exists(&s, 17, 0);
    assert_string_equal(stage_told(&s), "FLAG_UPDATED");
    stage_close(&s);
}

static void without_a_root_there_is_no_barrier(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    raise_it(&s);
    refused(&s, HF_ZK_NO_NODE);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_sent(&s), "");
    assert_string_equal(stage_told(&s), "FAILED SET_FLAG a FATAL");
    assert_int_equal(s.status, HF_EDIR);
    stage_close(&s);
}

/* Tickets stand below it. */
static void the_node_of_a_lock_is_no_barrier(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    s.nodes = 1;
    raise_it(&s);
    refused(&s, HF_ZK_NODE_EXISTS);
    exists(&s, 17, 0);
    assert_string_equal(stage_told(&s), "FAILED SET_FLAG a FATAL");
    assert_int_equal(s.status, HF_EKIND);
    ask(&s, HF_REQUEST_CLEAR_FLAG, "a");
    refused(&s, HF_ZK_NOT_EMPTY);
    assert_string_equal(stage_told(&s), "FAILED CLEAR_FLAG a FATAL");
    assert_int_equal(s.status, HF_EKIND);
    ask(&s, HF_REQUEST_WATCH_QUEUE, "z");
    done(&s);
    data(&s, "", 17, 0);
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z FATAL");
    assert_int_equal(s.status, HF_EKIND);
    event(&s, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
}

static void what_raising_may_be_answered(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    raise_it(&s);
    refused(&s, HF_ZK_NO_AUTH);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED SET_FLAG a FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    ask(&s, HF_REQUEST_CLEAR_FLAG, "a");
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED CLEAR_FLAG a FATAL");
    ask(&s, HF_REQUEST_SET_FLAG, "a");
    ask(&s, HF_REQUEST_CLEAR_FLAG, "b");
    link_down(&s, "reset");
    assert_string_equal(
        stage_told(&s),
        "SUSPENDED; FAILED SET_FLAG a UNSURE; FAILED CLEAR_FLAG b UNSURE");
    ask(&s, HF_REQUEST_SET_FLAG, "a");
    assert_string_equal(stage_told(&s), "FAILED SET_FLAG a RETRY");
    stage_close(&s);
}

/* ----------------------------------------------------------------- look -- */

static void what_is_down_is_not_watched(void **state)
{
    struct hf_request *request;
    struct stage s;

    (void)state;
    begin(&s);
    request = look(&s, "z");
    done(&s);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "LISTED z:");
    resume(&s);
    assert_null(strstr(stage_sent(&s), "SETWATCHES"));
    forget(&s, request);
    stage_close(&s);
}

/* Also what does not end it: the core looks again. */
static void whatever_happens_to_it_is_told_once(void **state)
{
    static const int32_t types[] = {HF_ZK_NODE_DELETED,
                                    HF_ZK_NODE_DATA_CHANGED};
    struct stage s;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        look_told(&s);
        event(&s, HF_ZK_NODE_CHILDREN_CHANGED, "q/");
        event(&s, HF_ZK_NODE_DELETED, "r/");
        assert_string_equal(stage_told(&s), "");
        event(&s, types[i], "q/");
        assert_string_equal(stage_told(&s), "QUEUE_CHANGED z");
        event(&s, types[i], "q/");
        assert_string_equal(stage_told(&s), "");
        assert_string_equal(stage_sent(&s), "");
        stage_close(&s);
    }
}

static void several_may_wait(void **state)
{
    struct stage s;

    (void)state;
    look_told(&s);
    look(&s, "w");
    done(&s);
    data(&s, "10.0.0.1", 17, 0);
    assert_string_equal(stage_told(&s), "LISTED w: up@17");
    event(&s, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED w; QUEUE_CHANGED z");
    stage_close(&s);
}

/* A server that lags behind its leader could say that it is down. */
static void a_look_without_its_sync_is_none(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    look(&s, "z");
    refused(&s, HF_ZK_OPERATION_TIMEOUT);
    refused(&s, HF_ZK_NO_NODE);
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z RETRY");
    stage_close(&s);
}

static void a_look_at_a_mark_can_be_taken_back(void **state)
{
    struct hf_request *request;
    struct stage s;

    (void)state;
    request = look_told(&s);
    forget(&s, request);
    request = look(&s, "w"); /* before its answer */
    forget(&s, request);
    done(&s);
    data(&s, "10.0.0.1", 17, 0);
    event(&s, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(stage_told(&s), "");
    stage_close(&s);
}

/* In the first list, and those of children in the third. */
static void marks_are_watched_on_the_next_connection(void **state)
{
    struct stage s;

    (void)state;
    look_told(&s);
    s.kind = HF_TICKET_MUTEX;
    s.queue = "r";
    ask(&s, HF_REQUEST_WATCH_QUEUE, "w");
    children(&s, "");
    link_down(&s, "reset");
    while (s.server == NULL)
        ring(&s);
    link_up(&s);
    (void)stage_sent(&s);
    accept_session(&s);
    assert_string_equal(stage_sent(&s), "SETWATCHES 0x3 q r/");
    (void)stage_told(&s);
    event(&s, HF_ZK_NODE_DELETED, "q/");
    assert_string_equal(stage_told(&s), "QUEUE_CHANGED z");
    stage_close(&s);
}

static void what_a_look_at_a_mark_may_be_answered(void **state)
{
    struct stage s;

    (void)state;
    begin(&s);
    look(&s, "z");
    done(&s);
    refused(&s, HF_ZK_NO_AUTH);
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z FATAL");
    assert_int_equal(s.status, HF_EDENIED);
    look(&s, "z");
    done(&s);
    answer_with(&s, "\0\0\0\1", 4);
    assert_string_equal(stage_told(&s), "FAILED WATCH_QUEUE z RETRY");
    look(&s, "z");
    link_down(&s, "reset");
    assert_string_equal(stage_told(&s),
                        "SUSPENDED; FAILED WATCH_QUEUE z RETRY");
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_is_one_persistent_node),
        cmocka_unit_test(parents_are_made_when_they_are_missing),
        cmocka_unit_test(without_a_root_there_is_no_barrier),
        cmocka_unit_test(the_node_of_a_lock_is_no_barrier),
        cmocka_unit_test(what_raising_may_be_answered),
        cmocka_unit_test(what_is_down_is_not_watched),
        cmocka_unit_test(whatever_happens_to_it_is_told_once),
        cmocka_unit_test(several_may_wait),
        cmocka_unit_test(a_look_without_its_sync_is_none),
        cmocka_unit_test(a_look_at_a_mark_can_be_taken_back),
        cmocka_unit_test(marks_are_watched_on_the_next_connection),
        cmocka_unit_test(what_a_look_at_a_mark_may_be_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
