/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving a double barrier: what ends the wait, and what does not. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "operation_fixture.h"

#define GENERATION 50

/* Participant 'm' leaves. */
static void begin(struct operation_fixture *s, bool keeps, uint64_t wait_ms)
{
    operation_fixture_init(s, HF_REQUEST_WATCH_QUEUE, "d", wait_ms);
    s->operation.generation = GENERATION;
    s->operation.waits_for = keeps ? HF_WAIT_LEAVE : HF_WAIT_LEFT;
    s->operation.ticket.bytes[0] = 'm';
    s->operation.only_try = wait_ms == 0;
    operation_fixture_connect(s, false);
    operation_fixture_start(s);
    assert_int_equal(s->request->ticket_kind, HF_TICKET_PARTICIPANT);
}

/* Answer with these participants, a letter each: lower-case ones of the
 * generation, upper-case ones later. */
static void seen(struct operation_fixture *s, const char *who)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};
    struct hf_ticket tickets[8];
    size_t count = strlen(who);

    assert_true(count <= 8);
    for (size_t i = 0; i < count; i++) {
        bool since = who[i] < 'a';

        tickets[i] =
            (struct hf_ticket){.kind = HF_TICKET_PARTICIPANT,
                               .token = i + 1 + (since ? GENERATION : 0)};
        tickets[i].id.bytes[0] = (uint8_t)who[i];
    }
    event.as.answer.request = s->request;
    event.as.answer.snapshot = (struct hf_snapshot){tickets, count, 0};
    operation_fixture_step(s, event);
}

static void expect_end(const struct operation_fixture *s, hf_status status)
{
    operation_fixture_expect_end(s, status);
    if (status != HF_OK)
        assert_non_null(strstr(s->operation.text, "others of the round"));
}

TEST(who_is_alone_goes)
{
    struct operation_fixture s;

    begin(&s, true, HF_FOREVER);
    seen(&s, "mAZ");
    expect_end(&s, HF_OK);
}

TEST(fn66_the_lowest_looks_after_each_change)
{
    struct operation_fixture s;

    begin(&s, true, HF_FOREVER);
    seen(&s, "mnz");
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(s.answered, 0);
        assert_int_equal(s.requests, 1 + i);
        operation_fixture_changed(&s);
        seen(&s, "mz");
    }
    operation_fixture_changed(&s);
    seen(&s, "m");
    expect_end(&s, HF_OK);
}

TEST(others_must_yield)
{
    struct operation_fixture s;

    begin(&s, true, HF_FOREVER);
    seen(&s, "lm");
    expect_end(&s, HF_EBUSY);
    begin(&s, false, HF_FOREVER);
    seen(&s, "lm");
    assert_int_equal(s.answered, 0);
    operation_fixture_changed(&s);
    seen(&s, "A");
    expect_end(&s, HF_OK);
}

TEST(it_ends_in_time)
{
    struct operation_fixture s;

    begin(&s, false, 500);
    seen(&s, "l");
    operation_fixture_tick(&s, OPERATION_START_MS + 500);
    expect_end(&s, HF_ETIMEDOUT);
    begin(&s, false, 0);
    seen(&s, "l");
    expect_end(&s, HF_EBUSY);
}

TEST(a_lost_session_is_looked_behind)
{
    struct operation_fixture s;

    begin(&s, false, HF_FOREVER);
    seen(&s, "l");
    operation_fixture_step(&s, (struct hf_event){.kind = HF_EVENT_SESSION_LOST,
                                                 .as.answer.status = HF_ELOST});
    operation_fixture_connect(&s, false);
    assert_int_equal(s.requests, 2);
    seen(&s, "l");
    assert_int_equal(s.answered, 0);
    operation_fixture_changed(&s);
    seen(&s, "");
    expect_end(&s, HF_OK);
}
