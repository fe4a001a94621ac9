/* SPDX-License-Identifier: Apache-2.0 */
/* A writer that becomes a reader: what the core asks for, and whom it tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stage.h"

/* a holds the lock as a writer, and watches its ticket. */
static void hold(struct stage *s)
{
    s->a.kind = HF_TICKET_WRITE;
    hold_a(s);
    ring(s);
    expect(s, "a WATCH a1");
    watching(s, "a WATCH a1");
}

/* And asks to be a reader. */
static void begin_downgrade(struct stage *s)
{
    hold(s);
    downgrade(s, &s->a);
    expect(s, "a UNWATCH a1; a DOWNGRADE a1");
}

static void its_ticket_is_not_watched_meanwhile(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    begin_downgrade(s);
    assert_int_equal(s->a.kind, HF_TICKET_WRITE);
    downgraded(s, "a DOWNGRADE a1");
    expect(s, "a DOWNGRADED HF_OK; a WATCH a1");
    assert_int_equal(s->a.kind, HF_TICKET_READ);
    release(s, &s->a);
    expect(s, "a UNWATCH a1; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_OK; a DONE");
}

static void it_is_asked_again_until_answered(void **state)
{
    static const enum hf_failure failures[] = {HF_FAILURE_RETRY,
                                               HF_FAILURE_UNSURE};

    STAGE(s, HF_ENGINE_GONE_ADMITS);
    begin_downgrade(s);
    for (size_t i = 0; i < 10; i++) {
        failed(s, "a DOWNGRADE a1", failures[i % 2]);
        expect(s, "");
        while (!is_pending(s, "a DOWNGRADE a1")) {
            ring(s);
            stage_drain(s);
            if (is_pending(s, "PROVE"))
                proven(s, s->now_ms);
            stage_drain(s);
        }
    }
    downgraded(s, "a DOWNGRADE a1");
    expect(s, "a DOWNGRADED HF_OK; a WATCH a1");
}

static void a_broken_link_is_waited_for(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    hold(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    downgrade(s, &s->a);
    expect(s, "");
    connected(s, STAGE_START_MS, true);
    expect(s, "STATE CONNECTED; a UNWATCH a1; a DOWNGRADE a1");
    suspended(s);
    failed(s, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    expect(s, "STATE SUSPENDED");
    connected(s, STAGE_START_MS, true);
    expect(s, "STATE CONNECTED; a DOWNGRADE a1");
    downgraded(s, "a DOWNGRADE a1");
    expect(s, "a DOWNGRADED HF_OK; a WATCH a1");
}

/* Until anybody can be asked the ticket is a writer's, and may run out. */
static void a_loss_while_the_link_is_broken_is_told_first(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    hold(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    downgrade(s, &s->a);
    gone(s, "a WATCH a1");
    expect(s, "a LOST; a DOWNGRADED HF_ELOST");
    connected(s, STAGE_START_MS + 1000, true);
    expect(s, "STATE CONNECTED");
}

static void a_ticket_that_is_gone_is_a_loss(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    begin_downgrade(s);
    failed_as(s, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_ELOST, "gone");
    expect(s, "a LOST; a DOWNGRADED HF_ELOST; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", false);
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void what_is_refused_leaves_a_writer(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    begin_downgrade(s);
    failed_as(s, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_EDENIED, "not you");
    expect(s, "a DOWNGRADED HF_EDENIED; a WATCH a1");
    assert_int_equal(s->a.kind, HF_TICKET_WRITE);
    assert_string_equal(hf_acquisition_text(&s->a), "not you");
    downgrade(s, &s->a); /* it may be allowed by now */
    expect(s, "a UNWATCH a1; a DOWNGRADE a1");
    downgraded(s, "a DOWNGRADE a1");
    expect(s, "a DOWNGRADED HF_OK; a WATCH a1");
}

/* The request that is under way ends first; nothing stays behind of either. */
static void a_release_ends_it(void **state)
{
    for (int answer = 0; answer < 3; answer++) {
        STAGE(s, HF_ENGINE_GONE_ADMITS);
        begin_downgrade(s);
        release(s, &s->a);
        expect(s, "a DOWNGRADED HF_ECANCELLED; a REMOVE a1");
        withdrawn(s, "a REMOVE a1", true);
        expect(s, "a RELEASED HF_OK");
        if (answer == 0)
            downgraded(s, "a DOWNGRADE a1");
        else if (answer == 1)
            failed(s, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
        else
            failed_as(s, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_ELOST, "gone");
        expect(s, "a DONE");
    }
}

static void a_release_takes_back_what_was_not_asked(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    hold(s);
    downgrade(s, &s->a);
    release(s, &s->a);
    expect(s, "a UNWATCH a1; a DOWNGRADED HF_ECANCELLED; a REMOVE a1");
    assert_false(is_pending(s, "a DOWNGRADE a1"));
}

static void a_lost_session_ends_it(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    begin_downgrade(s);
    failed(s, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    session_lost(s, HF_ELOST);
    expect(s, "a LOST; STATE LOST; a DOWNGRADED HF_ELOST");
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void a_close_ends_it(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    begin_downgrade(s);
    close_core(s);
    expect(s, "a LOST; END; a DOWNGRADED HF_ELOST");
    failed(s, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    release(s, &s->a);
    closed(s);
    expect(s, "a RELEASED HF_ELOST; a DONE; STATE CLOSED");
}

/* Safe-until passes: the ticket may live, and under either name must not. */
static void the_end_of_the_promise_ends_it(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    begin_downgrade(s);
    later(s, STAGE_SAFE_MS);
    downgraded(s, "a DOWNGRADE a1");
    expect(s, "a LOST; a DOWNGRADED HF_ELOST; a REMOVE a1");
}

/* The owner asks at the instant at which safe-until passes, and could not know
 * yet. */
static void the_promise_may_end_as_it_is_asked_for(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    hold(s);
    later(s, STAGE_SAFE_MS);
    downgrade(s, &s->a);
    expect(s, "a LOST; a UNWATCH a1; a REMOVE a1; a DOWNGRADED HF_ELOST");
    withdrawn(s, "a REMOVE a1", true);
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

/* Of a writer that was listed as a reader since, the end is no end: the watch
 * is another one. */
static void a_reader_is_watched_anew(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    s->a.kind = HF_TICKET_WRITE;
    enqueue_a_in(s, "x/w a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
    watching(s, "a WATCH x");
    suspended(s);
    connected(s, STAGE_START_MS, true);
    expect(s, "STATE CONNECTED; a LIST");
    listed(s, "a LIST", "x/r a1");
    expect(s, "a WAITING 1; a UNWATCH x; a WATCH x");
    watching(s, "a WATCH x");
    gone(s, "a WATCH x"); /* the reader's */
    expect(s, "a GRANTED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_ticket_is_not_watched_meanwhile),
        cmocka_unit_test(it_is_asked_again_until_answered),
        cmocka_unit_test(a_broken_link_is_waited_for),
        cmocka_unit_test(a_loss_while_the_link_is_broken_is_told_first),
        cmocka_unit_test(a_ticket_that_is_gone_is_a_loss),
        cmocka_unit_test(what_is_refused_leaves_a_writer),
        cmocka_unit_test(a_release_ends_it),
        cmocka_unit_test(a_release_takes_back_what_was_not_asked),
        cmocka_unit_test(a_lost_session_ends_it),
        cmocka_unit_test(a_close_ends_it),
        cmocka_unit_test(the_end_of_the_promise_ends_it),
        cmocka_unit_test(the_promise_may_end_as_it_is_asked_for),
        cmocka_unit_test(a_reader_is_watched_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
