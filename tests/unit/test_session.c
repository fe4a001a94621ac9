/* SPDX-License-Identifier: Apache-2.0 */
/* The session: safe-until and its proofs, resumes, loss, and its end. */
#include "core/multi_lock.h"
#include "core/time_math.h"
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* a holds its ticket when the session is to be proven again. */
static void hold_a_until_proof(struct stage *s)
{
    hold_a(s);
    at(s, 3490);
    expect(s, "a WATCH a1; PROVE");
}

static uint64_t promise(const struct stage *s)
{
    return hf_core_safe_until_ms(&s->core, &s->a);
}

/* --------------------------------------------------------------- trouble -- */

static void a_long_trouble_is_cut_between_characters(void **state)
{
    struct hf_session session = {0};
    char text[sizeof session.connection_error + 9];
    const size_t last = sizeof session.connection_error - 2;

    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text + last, "\u00e9", 2);
    text[sizeof text - 1] = '\0';
    hf_session_connection_error(&session, HF_EDENIED, false, text);
    assert_int_equal(session.connection_error_status, HF_EDENIED);
    assert_int_equal(strlen(session.connection_error), last);
    assert_memory_equal(session.connection_error, text, last);
}

/* --------------------------------------------------------------- promise -- */

static void the_margin_is_a_hundredth_and_two_at_least(void **state)
{
    (void)state;
    assert_int_equal(hf_margin_ms(10000), 100);
    assert_int_equal(hf_margin_ms(300), 3);
    assert_int_equal(hf_margin_ms(100), 2);
    assert_int_equal(hf_margin_ms(0), 2);
}

static void the_promise_counts_from_the_sending(void **state)
{
    STAGE(s, 0);
    later(s, 1500); /* the answer came at 1000, and was sent for at 990 */
    hold_a(s);
    assert_int_equal(promise(s), STAGE_SAFE_MS);
    assert_int_equal(hf_core_wake_at_ms(&s->core), 1505);
}

static void a_proof_moves_the_promise_by_its_anchor(void **state)
{
    STAGE(s, 0);
    hold_a_until_proof(s);
    later(s, 3900);
    proven(s, 3400);
    assert_int_equal(promise(s), 3400 + 10000 - 100);
    expect(s, "");
}

static void an_older_anchor_does_not_move_it_back(void **state)
{
    STAGE(s, 0);
    hold_a_until_proof(s);
    proven(s, 500);
    assert_int_equal(promise(s), STAGE_SAFE_MS);
}

/* An engine may learn from other traffic that its session was alive. */
static void a_proof_may_come_unasked(void **state)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN, .now_ms = 1000};

    STAGE(s, 0);
    hold_a(s);
    event.as.answer.anchor_ms = 999;
    hf_core_step(&s->core, &event);
    hf_core_check(&s->core);
    assert_int_equal(promise(s), 999 + 10000 - 100);
}

static void without_a_lease_there_is_nothing_to_prove(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    connected_for(s, HF_FOREVER, 990, false);
    expect(s, "STATE CONNECTED");
    hold_a(s);
    assert_true(promise(s) == HF_FOREVER);
    ring(s);
    expect(s, "a WATCH a1");
    assert_true(hf_core_wake_at_ms(&s->core) == HF_FOREVER);
    at(s, UINT64_MAX - 1);
    expect(s, "");
    release(s, &s->a);
    expect(s, "a UNWATCH a1; a REMOVE a1");
}

/* ---------------------------------------------------------------- proofs -- */

static void nobody_holds_and_nothing_is_proven(void **state)
{
    STAGE(s, 0);
    assert_true(hf_core_wake_at_ms(&s->core) == HF_FOREVER);
    at(s, 5000);
    expect(s, "");
}

static void a_proof_every_quarter_counted_from_sending(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    ring(s); /* its own ticket */
    expect(s, "a WATCH a1");
    ring(s);
    assert_int_equal(s->now_ms, 990 + 2500);
    expect(s, "PROVE");
    at(s, 4490); /* late, and none before its answer */
    proven(s, 3490);
    expect(s, "");
    assert_int_equal(hf_core_wake_at_ms(&s->core), 3490 + 2500);
    at(s, 5990);
    expect(s, "PROVE");
    at(s, 9000);
    expect(s, "");
    proven(s, 5990); /* the next is overdue by now */
    expect(s, "PROVE");
}

static void fn15_a_failed_proof_is_repeated_soon(void **state)
{
    STAGE(s, 0);
    hold_a_until_proof(s);
    failed(s, "PROVE", HF_FAILURE_RETRY);
    expect(s, "");
    ring(s);
    assert_int_equal(s->now_ms, 3490 + 10000 / 16);
    expect(s, "PROVE");
    assert_int_equal(promise(s), STAGE_SAFE_MS);
}

static void the_next_in_line_proves_and_those_behind_do_not(void **state)
{
    STAGE(s, 0);
    enqueue_a_in(s, "x y a1");
    expect(s, "a WAITING 2; a WATCH y; a WATCH a1");
    at(s, 3490);
    expect(s, "");
    gone(s, "a WATCH y");
    expect(s, "PROVE; a LIST");
    proven(s, 3490);
    listed(s, "a LIST", "x a1");
    expect(s, "a WAITING 1; a WATCH x");
    at(s, 5990);
    expect(s, "PROVE");
}

static void fn49_proofs_end_with_the_need_for_them(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_OK; a DONE");
    at(s, 3490);
    expect(s, "");
    assert_true(hf_core_wake_at_ms(&s->core) == HF_FOREVER);
}

/* One round trip even then: the proof travels with the enqueue. */
static void a_session_that_was_idle_is_proven_by_the_way(void **state)
{
    STAGE(s, 0);
    at(s, 100000);
    want(s, &s->a);
    expect(s, "PROVE; a ENQUEUE a1");
    proven(s, 100000);
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "a GRANTED");
    assert_int_equal(promise(s), 100000 + 10000 - 100);
}

static void nobody_enters_on_a_session_that_is_not_proven(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    at(s, 100000);
    want(s, &s->a);
    expect(s, "PROVE; a ENQUEUE a1");
    enqueued(s, "a ENQUEUE a1", "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a WAITING 0");
    failed(s, "PROVE", HF_FAILURE_RETRY);
    expect(s, "");
    ring(s);
    expect(s, "PROVE");
    proven(s, 80000);            /* true, but of no use */
    expect(s, "PROVE");          /* at once: after a pause it may take two */
    proven(s, s->now_ms - 7400); /* less than a quarter of the lease is left */
    expect(s, "");               /* and not for ever */
    ring(s);
    expect(s, "PROVE");
    proven(s, s->now_ms);
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED");
}

/* It is first for good, and would hear if its ticket went: a list might take
 * longer than the proof is good for. */
static void who_is_first_enters_with_the_proof(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    at(s, 100000);
    want(s, &s->a);
    expect(s, "PROVE; a ENQUEUE a1");
    enqueued(s, "a ENQUEUE a1", "x a1");
    expect(s, "a WAITING 1; a WATCH x; a WATCH a1");
    watching(s, "a WATCH a1");
    gone(s, "a WATCH x");
    expect(s, "a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a WAITING 0");
    proven(s, s->now_ms - 7400); /* less than a quarter of the lease is left */
    expect(s, "PROVE");
    proven(s, s->now_ms);
    expect(s, "a GRANTED");
}

/* ------------------------------------------------------------------ loss -- */

static void loss_is_told_when_safe_until_passes(void **state)
{
    STAGE(s, 0);
    hold_a_until_proof(s);
    at(s, STAGE_SAFE_MS - 1);
    expect(s, "");
    ring(s);
    assert_int_equal(s->now_ms, STAGE_SAFE_MS);
    assert_int_equal(promise(s), 0);
    expect(s, "a LOST; a UNWATCH a1; a REMOVE a1");
}

/* Whatever event comes first after it, and however late. */
static void fn20_loss_is_told_before_a_late_event_is_heard(void **state)
{
    STAGE(s, 0);
    hold_a_until_proof(s);
    later(s, 99999999);
    proven(s, 99999999);
    assert_int_equal(promise(s), 0);
    expect(s, "a LOST; a UNWATCH a1; a REMOVE a1");
    at(s, 99999999);
    release(s, &s->a);
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void everyone_is_told_before_anything_is_done(void **state)
{
    STAGE(s, 0);
    s->a.kind = s->b.kind = HF_TICKET_READ;
    hold_a(s);
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
    enqueued(s, "b ENQUEUE b1", "a1 b1");
    expect(s, "b GRANTED");
    later(s, STAGE_SAFE_MS);
    at(s, STAGE_SAFE_MS);
    expect(s, "a LOST; b LOST; a REMOVE a1; b REMOVE b1");
}

static void a_lost_session_is_told_to_holders_first(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    session_lost(s, HF_ELOST);
    assert_int_equal(promise(s), 0);
    expect(s, "a LOST; STATE LOST");
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

/* ------------------------------------------- losses are told at SUSPENDED --
 */

/* The ticket lives on, and is withdrawn when that can be asked for. */
static void a_holder_hears_of_a_link_that_is_down(void **state)
{
    STAGE(s, 0);
    s->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    hold_a(s);
    suspended(s);
    assert_int_equal(promise(s), 0);
    expect(s, "a LOST; STATE SUSPENDED");
    later(s, 2000);
    connected(s, 1900, true);
    expect(s, "STATE CONNECTED; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

/* One that is released while the link is down. */
static void its_release_says_that_it_was_lost(void **state)
{
    STAGE(s, 0);
    s->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    hold_a(s);
    suspended(s);
    expect(s, "a LOST; STATE SUSPENDED");
    release(s, &s->a);
    expect(s, "");
    connected(s, 1000, true);
    expect(s, "STATE CONNECTED; a REMOVE a1");
    withdrawn(s, "a REMOVE a1", true);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void a_waiter_keeps_its_place_all_the_same(void **state)
{
    STAGE(s, HF_ENGINE_GONE_ADMITS);
    s->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    queue_a(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    connected(s, 1000, true);
    expect(s, "STATE CONNECTED; a LIST");
    listed(s, "a LIST", "a1");
    expect(s, "a GRANTED; a UNWATCH x");
}

/* What a wait for several has had so far is of no use to anybody yet. */
static void a_wait_for_several_keeps_what_it_has(void **state)
{
    struct hf_acquisition whole = {.queue = "q",
                                   .payload = "owner",
                                   .kind = HF_TICKET_MUTEX,
                                   .deadline_at_ms = HF_FOREVER};
    struct hf_multi_lock bundle = {.count = 2};
    STAGE(s, HF_ENGINE_GONE_ADMITS);

    s->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    bundle.children = &s->a;
    hf_acquisition_use_multi_lock(&whole, &bundle);
    want(s, &whole);
    expect(s, "a ENQUEUE a1");
    enqueued(s, "a ENQUEUE a1", "a1");
    expect(s, "b ENQUEUE b1");
    suspended(s);
    assert_int_equal(s->a.state, HF_ACQUISITION_HELD);
    failed(s, "b ENQUEUE b1", HF_FAILURE_RETRY);
    expect(s, "STATE SUSPENDED");
    connected(s, 1000, true);
    assert_true(is_pending(s, "b ENQUEUE b1") ||
                s->a.state == HF_ACQUISITION_HELD);
}

/* --------------------------------------------------------------- resumes -- */

static void an_unanswered_resume_caps_the_promise(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    later(s, 2000);
    resuming(s, 1900, 4000);
    assert_int_equal(promise(s), 1900 + 4000 - 40);
    expect(s, "");
    later(s, 2100);
    connected(s, 1900, true);
    assert_int_equal(promise(s), 1900 + 10000 - 100);
    expect(s, "STATE CONNECTED; a WATCH a1");
}

static void a_resume_does_not_lengthen_a_promise(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    later(s, 9000);
    resuming(s, 9000, 10000);
    assert_int_equal(promise(s), STAGE_SAFE_MS);
    at(s, STAGE_SAFE_MS);
    expect(s, "a LOST");
}

static void a_cap_may_have_passed_already(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    later(s, 5000);
    resuming(s, 2000, 2000);
    assert_int_equal(promise(s), 0);
    expect(s, "a LOST");
}

/* The server may have granted less than before. */
static void a_shorter_timeout_after_a_resume_holds(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    resuming(s, 2000, 4000);
    later(s, 2100);
    connected_for(s, 4000, 2000, true);
    assert_int_equal(promise(s), 2000 + 4000 - 40);
    expect(s, "STATE CONNECTED; a WATCH a1");
    at(s, 3000);
    expect(s, "PROVE");
    proven(s, 3000);
    assert_int_equal(promise(s), 3000 + 4000 - 40);
}

/* Also where nothing was proven since the resume was sent. */
static void a_resume_that_grants_less_shortens_the_promise(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    resuming(s, 2000, 10000);
    assert_int_equal(promise(s), STAGE_SAFE_MS);
    later(s, 2100);
    connected_for(s, 4000, 1000, true);
    assert_int_equal(promise(s), 2000 + 4000 - 40);
    expect(s, "STATE CONNECTED; a WATCH a1; PROVE");
    at(s, 2000 + 4000 - 40);
    expect(s, "a LOST; a UNWATCH a1; a REMOVE a1");
}

/* It may have been heard of before what it is answered with. */
static void a_cap_stays_until_something_sent_later_is_proven(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    suspended(s);
    resuming(s, 2000, 4000);
    later(s, 2100);
    connected(s, 1000, true);
    assert_int_equal(promise(s), 2000 + 4000 - 40);
    expect(s, "STATE CONNECTED; a WATCH a1");
    at(s, 3500);
    expect(s, "PROVE");
    proven(s, 1999);
    assert_int_equal(promise(s), 2000 + 4000 - 40);
    at(s, 4700);
    expect(s, "PROVE");
    proven(s, 2000);
    assert_int_equal(promise(s), 2000 + 10000 - 100);
}

static void a_cap_ends_with_its_session(void **state)
{
    STAGE(s, 0);
    suspended(s);
    resuming(s, 1000, 100);
    session_lost(s, HF_ELOST);
    connected(s, 1000, false);
    expect(s, "STATE LOST; STATE CONNECTED");
    hold_a(s);
    assert_int_equal(promise(s), 1000 + 10000 - 100);
}

/* --------------------------------------------------------------- readers -- */

static void begin_reading(struct stage *s,
                          struct hf_safe_until_reading *reading)
{
    hf_safe_until_read_word(&s->core.session.published, &s->a.user.valid,
                            reading);
}

static uint64_t end_reading(struct stage *s,
                            struct hf_safe_until_reading *reading)
{
    return hf_safe_until_read_flag(&s->core.session.published, &s->a.user.valid,
                                   reading);
}

/* A signal handler may be all that interrupts a reader, or a day. */
static void a_reader_that_is_interrupted_takes_no_other_session(void **state)
{
    struct hf_safe_until_reading reading;
    STAGE(s, 0);

    hold_a(s);
    begin_reading(s, &reading);
    session_lost(s, HF_ELOST);
    later(s, 20000);
    connected(s, 20000, false);
    assert_true(s->core.session.safe_until_ms > STAGE_SAFE_MS);
    assert_int_equal(end_reading(s, &reading), 0);
}

static void a_reader_that_began_before_a_proof_may_miss_it(void **state)
{
    struct hf_safe_until_reading reading;
    STAGE(s, 0);

    hold_a_until_proof(s);
    begin_reading(s, &reading);
    proven(s, 3400);
    assert_int_equal(end_reading(s, &reading), STAGE_SAFE_MS);
    assert_int_equal(promise(s), 3400 + 10000 - 100);
}

/* Though no timer came: what is over is let go before the proof is heard. */
static void a_proof_brings_no_lost_grant_back(void **state)
{
    struct hf_safe_until_reading reading;
    STAGE(s, 0);

    hold_a_until_proof(s);
    begin_reading(s, &reading);
    later(s, STAGE_SAFE_MS);
    proven(s, 3400);
    assert_true(s->core.session.safe_until_ms > STAGE_SAFE_MS);
    assert_int_equal(end_reading(s, &reading), 0);
    assert_int_equal(promise(s), 0);
}

static void
the_word_is_nothing_between_sessions_and_after_the_last(void **state)
{
    const _Atomic uint64_t *word;
    STAGE(s, 0);

    word = &s->core.session.published.ms;
    hold_a(s);
    assert_int_equal(atomic_load(word), STAGE_SAFE_MS);
    session_lost(s, HF_ELOST);
    assert_int_equal(atomic_load(word), 0);
    connected(s, 1000, false);
    assert_int_equal(atomic_load(word), 1000 + 10000 - 100);
    closed(s);
    assert_int_equal(atomic_load(word), 0);
}

/* ---------------------------------------------------------------- states -- */

static void another_session_without_a_loss_counts_as_one(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    connected(s, 1000, false);
    expect(s, "a LOST; STATE LOST; STATE CONNECTED");
    assert_int_equal(s->core.session.number, 2);
}

/* Resuming needs a session to resume. */
static void the_first_session_is_never_a_resumed_one(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    connected(s, 1000, true);
    expect(s, "STATE CONNECTED");
    assert_int_equal(s->core.session.number, 1);
}

static void the_last_state_is_told_and_every_loss(void **state)
{
    STAGE(s, 0);
    suspended(s);
    connected(s, 1000, true);
    suspended(s);
    expect(s, "STATE SUSPENDED");
    session_lost(s, HF_ELOST);
    connected(s, 1000, false);
    suspended(s);
    expect(s, "STATE LOST; STATE SUSPENDED");
    session_lost(s, HF_ELOST);
    connected(s, 1000, false);
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST");
}

static void what_says_nothing_new_is_not_told(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    suspended(s);
    session_lost(s, HF_ELOST);
    resuming(s, 900, 100);
    expect(s, "");
    connected(s, 1000, false);
    connected(s, 1000, true);
    expect(s, "STATE CONNECTED");
    suspended(s);
    suspended(s);
    expect(s, "STATE SUSPENDED");
}

/* ----------------------------------------------------------------- close -- */

static void closing_tells_holders_then_says_goodbye(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    want(s, &s->b);
    expect(s, "b ENQUEUE b1");
    close_core(s);
    close_core(s);
    expect(s, "a LOST; END; b ENDED HF_ECLOSED");
    enqueued(s, "b ENQUEUE b1", "a1 b1");
    expect(s, "");
    closed(s);
    expect(s, "b DONE; STATE CLOSED");
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
}

static void a_release_under_way_ends_with_the_goodbye(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    release(s, &s->a);
    expect(s, "a REMOVE a1");
    close_core(s);
    expect(s, "END");
    failed(s, "a REMOVE a1", HF_FAILURE_RETRY);
    expect(s, "");
    closed(s);
    expect(s, "a RELEASED HF_ELOST; a DONE; STATE CLOSED");
}

static void a_client_that_never_connected_can_close(void **state)
{
    struct stage stage;
    struct stage *s = &stage;

    (void)state;
    stage_init(s, 0);
    want(s, &s->a);
    close_core(s);
    expect(s, "END; a ENDED HF_ECLOSED; a DONE");
    assert_true(hf_core_wake_at_ms(&s->core) == HF_FOREVER);
    closed(s);
    expect(s, "STATE CLOSED");
    want(s, &s->b);
    expect(s, "b ENDED HF_ECLOSED; b DONE");
    connected(s, 1000, false);
    expect(s, "");
}

/* Lost while it says goodbye: END is still answered. */
static void a_session_may_be_lost_while_it_closes(void **state)
{
    STAGE(s, 0);
    hold_a(s);
    close_core(s);
    expect(s, "a LOST; END");
    session_lost(s, HF_ELOST);
    expect(s, "STATE LOST");
    release(s, &s->a);
    expect(s, "a RELEASED HF_ELOST; a DONE");
    connected(s, 1000, false);
    expect(s, "STATE CONNECTED");
    closed(s);
    expect(s, "STATE CLOSED");
}

static void a_goodbye_that_fails_is_one_all_the_same(void **state)
{
    STAGE(s, 0);
    close_core(s);
    expect(s, "END");
    failed(s, "END", HF_FAILURE_UNSURE);
    expect(s, "STATE CLOSED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_trouble_is_cut_between_characters),
        cmocka_unit_test(the_margin_is_a_hundredth_and_two_at_least),
        cmocka_unit_test(the_promise_counts_from_the_sending),
        cmocka_unit_test(a_proof_moves_the_promise_by_its_anchor),
        cmocka_unit_test(an_older_anchor_does_not_move_it_back),
        cmocka_unit_test(a_proof_may_come_unasked),
        cmocka_unit_test(without_a_lease_there_is_nothing_to_prove),
        cmocka_unit_test(nobody_holds_and_nothing_is_proven),
        cmocka_unit_test(a_proof_every_quarter_counted_from_sending),
        cmocka_unit_test(fn15_a_failed_proof_is_repeated_soon),
        cmocka_unit_test(the_next_in_line_proves_and_those_behind_do_not),
        cmocka_unit_test(fn49_proofs_end_with_the_need_for_them),
        cmocka_unit_test(a_session_that_was_idle_is_proven_by_the_way),
        cmocka_unit_test(nobody_enters_on_a_session_that_is_not_proven),
        cmocka_unit_test(who_is_first_enters_with_the_proof),
        cmocka_unit_test(loss_is_told_when_safe_until_passes),
        cmocka_unit_test(fn20_loss_is_told_before_a_late_event_is_heard),
        cmocka_unit_test(everyone_is_told_before_anything_is_done),
        cmocka_unit_test(a_lost_session_is_told_to_holders_first),
        cmocka_unit_test(a_holder_hears_of_a_link_that_is_down),
        cmocka_unit_test(its_release_says_that_it_was_lost),
        cmocka_unit_test(a_waiter_keeps_its_place_all_the_same),
        cmocka_unit_test(a_wait_for_several_keeps_what_it_has),
        cmocka_unit_test(an_unanswered_resume_caps_the_promise),
        cmocka_unit_test(a_resume_does_not_lengthen_a_promise),
        cmocka_unit_test(a_cap_may_have_passed_already),
        cmocka_unit_test(a_shorter_timeout_after_a_resume_holds),
        cmocka_unit_test(a_resume_that_grants_less_shortens_the_promise),
        cmocka_unit_test(a_cap_stays_until_something_sent_later_is_proven),
        cmocka_unit_test(a_cap_ends_with_its_session),
        cmocka_unit_test(a_reader_that_is_interrupted_takes_no_other_session),
        cmocka_unit_test(a_reader_that_began_before_a_proof_may_miss_it),
        cmocka_unit_test(a_proof_brings_no_lost_grant_back),
        cmocka_unit_test(
            the_word_is_nothing_between_sessions_and_after_the_last),
        cmocka_unit_test(another_session_without_a_loss_counts_as_one),
        cmocka_unit_test(the_first_session_is_never_a_resumed_one),
        cmocka_unit_test(the_last_state_is_told_and_every_loss),
        cmocka_unit_test(what_says_nothing_new_is_not_told),
        cmocka_unit_test(closing_tells_holders_then_says_goodbye),
        cmocka_unit_test(a_release_under_way_ends_with_the_goodbye),
        cmocka_unit_test(a_client_that_never_connected_can_close),
        cmocka_unit_test(a_session_may_be_lost_while_it_closes),
        cmocka_unit_test(a_goodbye_that_fails_is_one_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
