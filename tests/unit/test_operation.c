/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of a user, as a barrier that is set: when its request is
 * made, and how it ends. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "operation_fixture.h"

static void begin(struct operation_fixture *s, enum hf_request_kind kind,
                  uint64_t wait_ms)
{
    operation_fixture_init(s, kind, "q", wait_ms);
    s->operation.ticket.bytes[0] = 7;
}

static void answer(struct operation_fixture *s, struct hf_event event)
{
    assert_non_null(s->request);
    event.as.answer.request = s->request;
    if (event.as.answer.text == NULL)
        event.as.answer.text = "for a reason";
    s->request = NULL;
    operation_fixture_step(s, event);
}

static void failed(struct operation_fixture *s, enum hf_failure failure,
                   hf_status status)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.failure = failure;
    event.as.answer.status = status;
    answer(s, event);
}

/* Advance to the time at which the core wants its next TICK. */
static void wake_at_next(struct operation_fixture *s)
{
    uint64_t at_ms = hf_core_wake_at_ms(&s->core);

    assert_true(at_ms != HF_FOREVER);
    if (at_ms > s->now_ms)
        s->now_ms = at_ms;
    operation_fixture_step(s, (struct hf_event){.kind = HF_EVENT_TICK});
}

/* ---------------------------------------------------------------------- */

TEST(it_is_asked_once_there_is_a_session)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_start(&s);
    assert_null(s.request);
    operation_fixture_connect(&s, false);
    assert_non_null(s.request);
    assert_true(s.request->detailed);
    assert_string_equal(s.request->queue, "q");
    answer(&s, (struct hf_event){.kind = HF_EVENT_LISTED});
    operation_fixture_expect_end(&s, HF_OK);
}

TEST(it_says_what_was_found)
{
    static const struct {
        enum hf_request_kind kind;
        enum hf_event_kind answer;
    } rows[] = {{HF_REQUEST_REMOVE, HF_EVENT_REMOVED},
                {HF_REQUEST_REVOKE, HF_EVENT_REVOKE_SENT}};
    struct operation_fixture s;

    for (size_t i = 0; i < 4; i++) {
        begin(&s, rows[i / 2].kind, HF_FOREVER);
        operation_fixture_connect(&s, false);
        operation_fixture_start(&s);
        assert_int_equal(s.request->ticket.bytes[0], 7);
        assert_false(s.request->detailed);
        answer(&s, (struct hf_event){.kind = rows[i / 2].answer,
                                     .as.answer.found = i % 2 == 0});
        operation_fixture_expect_end(&s, HF_OK);
        assert_int_equal(s.operation.found, i % 2 == 0);
    }
}

/* Any number of times: only the deadline ends it, no retry policy. */
TEST(it_is_asked_again)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_REMOVE, HF_FOREVER);
    operation_fixture_connect(&s, false);
    operation_fixture_start(&s);
    for (unsigned i = 1; i <= 20; i++) {
        assert_int_equal(s.requests, i);
        failed(&s, HF_FAILURE_RETRY, HF_EPROTOCOL);
        assert_null(s.request);
        assert_true(hf_core_wake_at_ms(&s.core) > s.now_ms);
        wake_at_next(&s);
    }
    answer(&s, (struct hf_event){.kind = HF_EVENT_REMOVED});
    operation_fixture_expect_end(&s, HF_OK);
    assert_false(s.operation.found);
}

/* The first request may have removed it. */
TEST(what_may_have_been_found_was_found)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_REMOVE, HF_FOREVER);
    operation_fixture_connect(&s, false);
    operation_fixture_start(&s);
    failed(&s, HF_FAILURE_UNSURE, HF_EUNREACHABLE);
    wake_at_next(&s);
    answer(&s, (struct hf_event){.kind = HF_EVENT_REMOVED});
    operation_fixture_expect_end(&s, HF_OK);
    assert_true(s.operation.found);
}

TEST(what_will_not_happen_ends_it)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_REVOKE, HF_FOREVER);
    operation_fixture_connect(&s, false);
    operation_fixture_start(&s);
    failed(&s, HF_FAILURE_FATAL, HF_EDENIED);
    operation_fixture_expect_end(&s, HF_EDENIED);
    assert_string_equal(s.operation.text, "for a reason");
}

TEST(it_waits_out_a_lost_link_and_a_lost_session)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_connect(&s, false);
    operation_fixture_start(&s);
    failed(&s, HF_FAILURE_RETRY, HF_EUNREACHABLE);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                                                 .as.answer.status = HF_ELOST});
    s.now_ms += 60000;
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_TICK});
    assert_null(s.request);
    operation_fixture_connect(&s, false);
    assert_non_null(s.request);
    answer(&s, (struct hf_event){.kind = HF_EVENT_LISTED});
    operation_fixture_expect_end(&s, HF_OK);
}

TEST(a_deadline_does_not_wait_for_the_engine)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, 500);
    operation_fixture_connect(&s, false);
    operation_fixture_start(&s);
    wake_at_next(&s);
    assert_int_equal(s.now_ms, OPERATION_START_MS + 500);
    assert_int_equal(s.answered, 1);
    assert_int_equal(s.operation.status, HF_ETIMEDOUT);
    assert_int_equal(s.finished, 0); /* the engine has its request still */
    answer(&s, (struct hf_event){.kind = HF_EVENT_LISTED});
    operation_fixture_expect_end(&s, HF_ETIMEDOUT);
}

TEST(without_a_connection_it_ends_as_an_acquire_does)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_start(&s);
    wake_at_next(&s);
    assert_int_equal(s.now_ms, OPERATION_START_MS + OPERATION_CONNECT_MS);
    operation_fixture_expect_end(&s, HF_EUNREACHABLE);
    assert_non_null(strstr(s.operation.text, "sim:here"));
}

TEST(a_wrong_password_ends_it_at_once)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_start(&s);
    operation_fixture_step(
        &s, (struct hf_event){.kind = HF_EVENT_CONNECTION_ERROR,
                              .as.connection_error = {.text = "wrong password",
                                                      .status = HF_EDENIED,
                                                      .final = true}});
    wake_at_next(&s);
    assert_int_equal(s.now_ms, OPERATION_START_MS);
    operation_fixture_expect_end(&s, HF_EDENIED);
    assert_non_null(strstr(s.operation.text, "sim:here: wrong password"));
}

TEST(a_close_ends_it)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_start(&s);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_CLOSE});
    operation_fixture_expect_end(&s, HF_ECLOSED);

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_CLOSE});
    operation_fixture_start(&s);
    operation_fixture_expect_end(&s, HF_ECLOSED);
}

TEST(a_close_leaves_the_engine_its_request)
{
    struct hf_request *asked;
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_connect(&s, false);
    operation_fixture_start(&s);
    asked = s.request;
    s.request = NULL; /* that of the END comes */
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_CLOSE});
    assert_int_equal(s.operation.status, HF_ECLOSED);
    assert_int_equal(s.finished, 0);
    s.request = asked;
    failed(&s, HF_FAILURE_RETRY, HF_EUNREACHABLE);
    operation_fixture_expect_end(&s, HF_ECLOSED);
}

TEST(a_session_that_is_refused_for_good_ends_it)
{
    struct operation_fixture s;

    begin(&s, HF_REQUEST_LIST, HF_FOREVER);
    operation_fixture_start(&s);
    operation_fixture_step(
        &s, (struct hf_event){
                .kind = HF_EVENT_SESSION_LOST,
                .as.answer = {.status = HF_EDENIED, .text = "wrong password"}});
    operation_fixture_expect_end(&s, HF_EDENIED);
    assert_string_equal(s.operation.text, "wrong password");
}

/* ------------------------------------------------ until it has changed -- */

/* A wait until the queue has changed, which is asked. */
static void begin_wait(struct operation_fixture *s, enum hf_ticket_kind kind,
                       uint64_t wait_ms)
{
    begin(s, HF_REQUEST_WATCH_QUEUE, wait_ms);
    s->operation.waits_for = HF_WAIT_CHANGE;
    s->operation.flag_kind = kind;
    operation_fixture_connect(s, false);
    operation_fixture_start(s);
    assert_int_equal(s->request->kind, HF_REQUEST_WATCH_QUEUE);
    assert_int_equal(s->request->ticket_kind, kind);
    assert_int_equal(s->watching, 0);
}

/* The answer; the engine keeps the request, which is a watch now. */
static void watch_set(struct operation_fixture *s)
{
    struct hf_request *watch = s->request;

    answer(s, (struct hf_event){.kind = HF_EVENT_LISTED});
    s->request = watch;
    assert_int_equal(s->watching, 1);
    assert_int_equal(s->answered, 0);
}

TEST(a_change_ends_the_wait_whatever_the_list_has_shown)
{
    static const enum hf_ticket_kind kinds[] = {0, HF_TICKET_PARTICIPANT};

    for (int i = 0; i < 2; i++) {
        struct operation_fixture s;

        begin_wait(&s, kinds[i], HF_FOREVER);
        watch_set(&s);
        assert_int_equal(hf_core_wake_at_ms(&s.core), HF_FOREVER);
        operation_fixture_changed(&s);
        operation_fixture_expect_end(&s, HF_OK);
        assert_int_equal(s.requests, 1);
        assert_int_equal(s.forgets, 0); /* nothing is left to take back */
    }
}

TEST(a_wait_that_is_not_set_yet_is_asked_again)
{
    struct operation_fixture s;

    begin_wait(&s, 0, HF_FOREVER);
    failed(&s, HF_FAILURE_RETRY, HF_EUNREACHABLE);
    wake_at_next(&s);
    failed(&s, HF_FAILURE_RETRY, HF_EUNREACHABLE);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                                                 .as.answer.status = HF_ELOST});
    assert_int_equal(s.answered, 0); /* nobody has listed by it */
    operation_fixture_connect(&s, false);
    wake_at_next(&s);
    watch_set(&s);
    operation_fixture_changed(&s);
    operation_fixture_expect_end(&s, HF_OK);
}

TEST(a_wait_survives_a_lost_link_and_ends_with_the_session)
{
    struct operation_fixture s;

    begin_wait(&s, 0, HF_FOREVER);
    watch_set(&s);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
    operation_fixture_connect(&s, true);
    assert_int_equal(s.answered, 0);
    assert_int_equal(s.requests, 1);
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SUSPENDED});
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                                                 .as.answer.status = HF_ELOST});
    operation_fixture_expect_end(&s, HF_ELOST);
    assert_int_equal(s.forgets, 0); /* the engine has no watch any more */
}

TEST(a_wait_that_is_cancelled_is_taken_back)
{
    struct operation_fixture s;

    begin_wait(&s, 0, HF_FOREVER);
    watch_set(&s);
    operation_fixture_step(&s,
                           (struct hf_event){.kind = HF_EVENT_CANCEL_OPERATION,
                                             .as.operation = &s.operation});
    operation_fixture_expect_end(&s, HF_ECANCELLED);
    assert_int_equal(s.forgets, 1);

    begin_wait(&s, 0, HF_FOREVER); /* before it was answered */
    operation_fixture_step(&s,
                           (struct hf_event){.kind = HF_EVENT_CANCEL_OPERATION,
                                             .as.operation = &s.operation});
    operation_fixture_expect_end(&s, HF_ECANCELLED);
    assert_int_equal(s.watching, 0);
    assert_int_equal(s.forgets, 1);
}

TEST(a_deadline_ends_a_wait)
{
    struct operation_fixture s;

    begin_wait(&s, 0, 500);
    watch_set(&s);
    wake_at_next(&s);
    assert_int_equal(s.now_ms, OPERATION_START_MS + 500);
    operation_fixture_expect_end(&s, HF_ETIMEDOUT);
    assert_string_equal(s.operation.text, "nothing had changed after 500ms");
    assert_int_equal(s.forgets, 1);
}

TEST(a_close_ends_a_wait)
{
    struct operation_fixture s;

    begin_wait(&s, 0, HF_FOREVER);
    watch_set(&s);
    operation_fixture_step_only(&s, (struct hf_event){.kind = HF_EVENT_CLOSE});
    assert_int_equal(s.operation.status, HF_ECLOSED);
}

TEST(what_cannot_be_watched_ends_a_wait)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};
    struct operation_fixture s;

    begin_wait(&s, 0, HF_FOREVER);
    event.as.answer.request = s.request;
    event.as.answer.failure = HF_FAILURE_FATAL;
    event.as.answer.status = HF_EUNSUPPORTED;
    event.as.answer.text = "for a reason";
    operation_fixture_step(&s, event); /* taken back, as that of a barrier */
    operation_fixture_expect_end(&s, HF_EUNSUPPORTED);
    assert_int_equal(s.watching, 0);
}

/* -------------------------------------------------------------- success -- */

static void read_success(struct operation_fixture *s, int64_t age_ms)
{
    struct hf_event event = {.kind = HF_EVENT_SUCCESS_READ};

    assert_int_equal(s->request->kind, HF_REQUEST_READ_SUCCESS);
    event.as.answer.success = (struct hf_success){
        .token = 17, .at_utc_ms = 1000000, .age_ms = age_ms};
    answer(s, event);
}

static void success_written(struct operation_fixture *s, bool written)
{
    struct hf_event event = {.kind = HF_EVENT_SUCCESS_WRITTEN};

    assert_int_equal(s->request->kind, HF_REQUEST_WRITE_SUCCESS);
    event.as.answer.found = written;
    answer(s, event);
}

static void begin_success(struct operation_fixture *s,
                          enum hf_request_kind kind)
{
    begin(s, kind, HF_FOREVER);
    if (kind == HF_REQUEST_WRITE_SUCCESS)
        s->operation.token = 20;
    operation_fixture_connect(s, false);
    operation_fixture_start(s);
    assert_int_equal(s->request->ticket.bytes[0], 7);
}

TEST(a_success_is_read)
{
    struct operation_fixture s;

    begin_success(&s, HF_REQUEST_READ_SUCCESS);
    failed(&s, HF_FAILURE_RETRY, HF_EUNREACHABLE);
    wake_at_next(&s);
    read_success(&s, 5000);
    operation_fixture_expect_end(&s, HF_OK);
    assert_int_equal(s.operation.success.token, 17);
    assert_int_equal(s.operation.success.age_ms, 5000);
}

TEST(a_success_of_the_future_is_written_again)
{
    struct operation_fixture s;

    begin_success(&s, HF_REQUEST_READ_SUCCESS);
    read_success(&s, -5000);
    assert_non_null(s.request);
    assert_int_equal(s.request->success_token, 17); /* not that of the reader */
    failed(&s, HF_FAILURE_UNSURE, HF_EUNREACHABLE);
    wake_at_next(&s);
    success_written(&s, true);
    operation_fixture_expect_end(&s, HF_OK);
    assert_int_equal(s.operation.success.token, 17);
    assert_int_equal(s.operation.success.age_ms, 0);
    assert_int_equal(s.operation.success.at_utc_ms, 1000000 - 5000);
}

/* A reader that holds nothing does not write. */
TEST(people_are_shown_a_success_of_the_future)
{
    struct operation_fixture s;

    operation_fixture_init(&s, HF_REQUEST_READ_SUCCESS, "q", HF_FOREVER);
    operation_fixture_connect(&s, false);
    operation_fixture_start(&s);
    read_success(&s, -5000);
    operation_fixture_expect_end(&s, HF_OK);
    assert_int_equal(s.operation.success.age_ms, -5000);
}

TEST(a_success_is_written_until_that_is_answered)
{
    struct operation_fixture s;

    begin_success(&s, HF_REQUEST_WRITE_SUCCESS);
    assert_int_equal(s.request->success_token, 20);
    failed(&s, HF_FAILURE_UNSURE, HF_EUNREACHABLE);
    wake_at_next(&s);
    assert_int_equal(s.request->success_token, 20);
    success_written(&s, true);
    operation_fixture_expect_end(&s, HF_OK);
}

TEST(without_a_ticket_no_success_was_written)
{
    struct operation_fixture s;

    begin_success(&s, HF_REQUEST_WRITE_SUCCESS);
    success_written(&s, false);
    operation_fixture_expect_end(&s, HF_ELOST);

    begin_success(&s, HF_REQUEST_WRITE_SUCCESS);
    failed(&s, HF_FAILURE_UNSURE, HF_EUNREACHABLE);
    wake_at_next(&s);
    success_written(&s, false);
    operation_fixture_expect_end(&s, HF_EUNSURE); /* the first one may have */

    begin_success(&s, HF_REQUEST_READ_SUCCESS);
    failed(&s, HF_FAILURE_FATAL, HF_ELOST);
    operation_fixture_expect_end(&s, HF_ELOST);
}
