/* SPDX-License-Identifier: Apache-2.0 */
/* The session of the core: safe-until and its proofs, resume, loss and end. */
#include "base/time_math.h"
#include "core/multi_lock.h"
#include "core_fixture.h"

#include <string.h>

#include "cmocka/runner.h"

/* a holds its ticket until the session is to be proven again. */
static void hold_a_until_proof(struct core_fixture *f)
{
    hold_a(f);
    advance_to(f, 3490);
    expect(f, "a WATCH a1; PROVE");
}

static uint64_t safe_until(const struct core_fixture *f)
{
    return hf_core_safe_until_ms(&f->core, &f->a);
}

/* ---------------------------------------------------- connection errors -- */

TEST(a_long_connection_error_is_cut_between_characters)
{
    struct hf_session session = {0};
    char text[sizeof session.connection_error.text + 9];
    const size_t last = sizeof session.connection_error.text - 2;

    memset(text, 'x', sizeof text);
    memcpy(text + last, "\u00e9", 2);
    text[sizeof text - 1] = '\0';
    hf_session_connection_error(&session, HF_EDENIED, false, text);
    assert_int_equal(session.connection_error.status, HF_EDENIED);
    assert_int_equal(strlen(session.connection_error.text), last);
    assert_memory_equal(session.connection_error.text, text, last);
}

/* ----------------------------------------------------------- safe-until -- */

/* Rounded up, and never none. */
TEST(the_margin_covers_the_drift_and_is_two_at_least)
{
    assert_int_equal(hf_margin_ms(10000, 1), 100);
    assert_int_equal(hf_margin_ms(10000, 9), 826);
    assert_int_equal(hf_margin_ms(10900, 9), 900);
    assert_int_equal(hf_margin_ms(10901, 9), 901);
    assert_int_equal(hf_margin_ms(300, 1), 3);
    assert_int_equal(hf_margin_ms(100, 1), 2);
    assert_int_equal(hf_margin_ms(0, 9), 2);
    for (uint64_t ms = 1000; ms < 12000; ms += 7) {
        /* A server at the limit ends the lease no earlier. */
        uint64_t real_ms = ms * 100 / (100 + HF_CLOCK_DRIFT);

        assert_true(ms - hf_margin_ms(ms, HF_CLOCK_DRIFT) <= real_ms);
    }
}

TEST(a_stretched_wait_has_passed_by_a_clock_that_is_fast)
{
    assert_int_equal(hf_stretched_ms(1000, 9), 1090);
    assert_int_equal(hf_stretched_ms(1, 9), 2);
    assert_int_equal(hf_stretched_ms(0, 9), 0);
    assert_true(hf_stretched_ms(HF_FOREVER, 9) == HF_FOREVER);
}

CORE_TEST(the_safe_until_counts_from_the_sending, 0)
{
    set_time(f, 1500); /* the answer came at 1000, and was sent for at 990 */
    hold_a(f);
    assert_int_equal(safe_until(f), CORE_SAFE_MS);
    assert_int_equal(hf_core_wake_at_ms(&f->core), 1505);
}

CORE_TEST(a_proof_moves_the_safe_until_by_its_anchor, 0)
{
    hold_a_until_proof(f);
    set_time(f, 3900);
    proven(f, 3400);
    assert_int_equal(safe_until(f), 3400 + 10000 - 100);
    expect(f, "");
}

CORE_TEST(an_older_anchor_does_not_move_it_back, 0)
{
    hold_a_until_proof(f);
    proven(f, 500);
    assert_int_equal(safe_until(f), CORE_SAFE_MS);
}

/* An engine may see from other answers that the session exists. */
CORE_TEST(a_proof_may_come_unasked, 0)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN, .now_ms = 1000};

    hold_a(f);
    event.as.answer.anchor_ms = 999;
    hf_core_step(&f->core, &event);
    hf_core_check(&f->core);
    assert_int_equal(safe_until(f), 999 + 10000 - 100);
}

TEST(without_a_lease_there_is_nothing_to_prove)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    connected_for(f, HF_FOREVER, 990, false);
    expect(f, "STATE CONNECTED");
    hold_a(f);
    assert_true(safe_until(f) == HF_FOREVER);
    wake(f);
    expect(f, "a WATCH a1");
    assert_true(hf_core_wake_at_ms(&f->core) == HF_FOREVER);
    advance_to(f, UINT64_MAX - 1);
    expect(f, "");
    release(f, &f->a);
    expect(f, "a UNWATCH a1; a REMOVE a1");
}

/* ---------------------------------------------------------------- proofs -- */

CORE_TEST(nobody_holds_and_nothing_is_proven, 0)
{
    assert_true(hf_core_wake_at_ms(&f->core) == HF_FOREVER);
    advance_to(f, 5000);
    expect(f, "");
}

CORE_TEST(a_proof_every_quarter_counted_from_sending, 0)
{
    hold_a(f);
    wake(f); /* its own ticket */
    expect(f, "a WATCH a1");
    wake(f);
    assert_int_equal(f->now_ms, 990 + 2500);
    expect(f, "PROVE");
    advance_to(f, 4490); /* late, and none before its answer */
    proven(f, 3490);
    expect(f, "");
    assert_int_equal(hf_core_wake_at_ms(&f->core), 3490 + 2500);
    advance_to(f, 5990);
    expect(f, "PROVE");
    advance_to(f, 9000);
    expect(f, "");
    proven(f, 5990); /* the next is overdue by now */
    expect(f, "PROVE");
}

CORE_TEST(an_engine_says_how_often_a_session_is_proven, 0)
{
    f->proof_ms = 1000;
    suspended(f);
    connected(f, 990, true);
    expect(f, "STATE CONNECTED");
    hold_a(f);
    wake(f); /* its own ticket */
    expect(f, "a WATCH a1");
    wake(f);
    assert_int_equal(f->now_ms, 990 + 1000);
    expect(f, "PROVE");
    proven(f, 1990);
    wake(f);
    assert_int_equal(f->now_ms, 1990 + 1000);
    expect(f, "PROVE");
}

CORE_TEST(fn15_a_failed_proof_is_repeated_soon, 0)
{
    hold_a_until_proof(f);
    failed(f, "PROVE", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    assert_int_equal(f->now_ms, 3490 + 10000 / 16);
    expect(f, "PROVE");
    assert_int_equal(safe_until(f), CORE_SAFE_MS);
}

/* The connection ended in the same turn of the loop, so the engine has not seen
 * the PROVE and answers nothing. */
CORE_TEST(a_proof_that_was_not_requested_is_requested_later, 0)
{
    hold_a(f);
    wake(f);
    expect(f, "a WATCH a1");
    advance_to(f, 3490);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    connected(f, 3490, true);
    expect(f, "STATE CONNECTED");
    wake(f);
    assert_int_equal(f->now_ms, 3490 + 2500);
    expect(f, "PROVE");
}

/* An answer that proves little leaves half of what it proves for the next. */
CORE_TEST(a_proof_that_leaves_little_is_followed_soon, 0)
{
    advance_to(f, 100000);
    want(f, &f->a);
    expect(f, "PROVE; a ENQUEUE a1");
    advance_to(f, 100400);
    proven(f, 93400); /* 2900 ms are left */
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a GRANTED");
    wake(f); /* its own ticket */
    expect(f, "a WATCH a1");
    wake(f);
    assert_int_equal(f->now_ms, 100400 + 2900 / 2);
    expect(f, "PROVE");
}

CORE_TEST(the_next_in_line_proves_and_those_behind_do_not, 0)
{
    enqueue_a_in(f, "x y a1");
    expect(f, "a WAITING 2; a WATCH y; a WATCH a1");
    advance_to(f, 3490);
    expect(f, "");
    gone(f, "a WATCH y");
    expect(f, "PROVE; a LIST");
    proven(f, 3490);
    listed(f, "a LIST", "x a1");
    expect(f, "a WAITING 1; a WATCH x");
    advance_to(f, 5990);
    expect(f, "PROVE");
}

CORE_TEST(fn49_proofs_end_with_the_need_for_them, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
    advance_to(f, 3490);
    expect(f, "");
    assert_true(hf_core_wake_at_ms(&f->core) == HF_FOREVER);
}

/* One round trip: the proof travels with the enqueue. */
CORE_TEST(a_session_that_was_idle_is_proven_by_the_way, 0)
{
    advance_to(f, 100000);
    want(f, &f->a);
    expect(f, "PROVE; a ENQUEUE a1");
    proven(f, 100000);
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "a GRANTED");
    assert_int_equal(safe_until(f), 100000 + 10000 - 100);
}

CORE_TEST(nobody_enters_on_a_session_that_is_not_proven, HF_ENGINE_GONE_ADMITS)
{
    advance_to(f, 100000);
    want(f, &f->a);
    expect(f, "PROVE; a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a WAITING 0");
    failed(f, "PROVE", HF_FAILURE_RETRY);
    expect(f, "");
    wake(f);
    expect(f, "PROVE");
    proven(f, 80000);            /* true, but of no use */
    expect(f, "PROVE");          /* at once: after a pause it may take two */
    proven(f, f->now_ms - 7400); /* less than a quarter of the lease is left */
    expect(f, "");               /* and not for ever */
    wake(f);
    expect(f, "PROVE");
    proven(f, f->now_ms);
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED");
}

/* It stays first and would get an event if its ticket were removed.  A list
 * might take longer than the proof is valid. */
CORE_TEST(who_is_first_enters_with_the_proof, HF_ENGINE_GONE_ADMITS)
{
    advance_to(f, 100000);
    want(f, &f->a);
    expect(f, "PROVE; a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "x a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
    watching(f, "a WATCH a1");
    gone(f, "a WATCH x");
    expect(f, "a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a WAITING 0");
    proven(f, f->now_ms - 7400); /* less than a quarter of the lease is left */
    expect(f, "PROVE");
    proven(f, f->now_ms);
    expect(f, "a GRANTED");
}

/* ------------------------------------------------------------------ loss -- */

CORE_TEST(a_loss_says_why_no_proof_came, 0)
{
    hold_a_until_proof(f);
    failed_as(f, "PROVE", HF_FAILURE_RETRY, HF_EUNREACHABLE, "corrupt cluster");
    advance_to(f, CORE_SAFE_MS);
    expect(f, "a LOST; a UNWATCH a1; a REMOVE a1");
    assert_string_equal(
        hf_acquisition_text(&f->a),
        "the lease of 10000 ms was not renewed in time, because the engine did "
        "not confirm the session; the session is CONNECTED: corrupt cluster");
}

CORE_TEST(loss_is_reported_when_safe_until_passes, 0)
{
    hold_a_until_proof(f);
    advance_to(f, CORE_SAFE_MS - 1);
    expect(f, "");
    wake(f);
    assert_int_equal(f->now_ms, CORE_SAFE_MS);
    assert_int_equal(safe_until(f), 0);
    expect(f, "a LOST; a UNWATCH a1; a REMOVE a1");
}

/* Any event may come first after safe-until, and late. */
CORE_TEST(fn20_loss_is_reported_before_a_late_event_is_received, 0)
{
    hold_a_until_proof(f);
    set_time(f, 99999999);
    proven(f, 99999999);
    assert_int_equal(safe_until(f), 0);
    expect(f, "a LOST; a UNWATCH a1; a REMOVE a1");
    advance_to(f, 99999999);
    release(f, &f->a);
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST(everyone_is_notified_before_anything_is_done, 0)
{
    f->a.kind = f->b.kind = HF_TICKET_READ;
    hold_a(f);
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
    enqueued(f, "b ENQUEUE b1", "a1 b1");
    expect(f, "b GRANTED");
    set_time(f, CORE_SAFE_MS);
    advance_to(f, CORE_SAFE_MS);
    expect(f, "a LOST; b LOST; a REMOVE a1; b REMOVE b1");
}

CORE_TEST(a_lost_session_is_reported_to_holders_first, 0)
{
    hold_a(f);
    session_lost(f, HF_ELOST);
    assert_int_equal(safe_until(f), 0);
    expect(f, "a LOST; STATE LOST");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

/* ----------------------------------------------- losses while SUSPENDED -- */

/* The ticket still exists, and is removed once that can be asked for. */
CORE_TEST(a_holder_learns_of_a_link_that_is_down, 0)
{
    f->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    hold_a(f);
    suspended(f);
    assert_int_equal(safe_until(f), 0);
    expect(f, "a LOST; STATE SUSPENDED");
    set_time(f, 2000);
    connected(f, 1900, true);
    expect(f, "STATE CONNECTED; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

/* A release while the link is down. */
CORE_TEST(its_release_says_that_it_was_lost, 0)
{
    f->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    hold_a(f);
    suspended(f);
    expect(f, "a LOST; STATE SUSPENDED");
    release(f, &f->a);
    expect(f, "");
    connected(f, 1000, true);
    expect(f, "STATE CONNECTED; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST(a_waiter_keeps_its_position_all_the_same, HF_ENGINE_GONE_ADMITS)
{
    f->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    queue_a_behind_x(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    connected(f, 1000, true);
    expect(f, "STATE CONNECTED; a LIST");
    listed(f, "a LIST", "a1");
    expect(f, "a GRANTED; a UNWATCH x");
}

/* The locks that a wait for several has so far are no grant yet. */
CORE_TEST(a_wait_for_several_keeps_what_it_has, HF_ENGINE_GONE_ADMITS)
{
    struct hf_acquisition whole = {.queue = "q",
                                   .payload = "owner",
                                   .kind = HF_TICKET_MUTEX,
                                   .deadline_at_ms = HF_FOREVER};
    struct hf_multi_lock multi_lock = {.count = 2};

    f->core.session.loss_at = HF_LOSS_AT_SUSPENDED;
    multi_lock.children = &f->a;
    hf_acquisition_use_multi_lock(&whole, &multi_lock);
    want(f, &whole);
    expect(f, "a ENQUEUE a1");
    enqueued(f, "a ENQUEUE a1", "a1");
    expect(f, "b ENQUEUE b1");
    suspended(f);
    assert_int_equal(f->a.state, HF_ACQUISITION_HELD);
    failed(f, "b ENQUEUE b1", HF_FAILURE_RETRY);
    expect(f, "STATE SUSPENDED");
    connected(f, 1000, true);
    assert_true(is_pending(f, "b ENQUEUE b1") ||
                f->a.state == HF_ACQUISITION_HELD);
}

/* --------------------------------------------------------------- resumes -- */

CORE_TEST(an_unanswered_resume_caps_the_safe_until, 0)
{
    hold_a(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    set_time(f, 2000);
    resuming(f, 1900, 4000);
    assert_int_equal(safe_until(f), 1900 + 4000 - 40);
    expect(f, "");
    set_time(f, 2100);
    connected(f, 1900, true);
    assert_int_equal(safe_until(f), 1900 + 10000 - 100);
    expect(f, "STATE CONNECTED; a WATCH a1");
}

CORE_TEST(a_resume_does_not_lengthen_a_safe_until, 0)
{
    hold_a(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    set_time(f, 9000);
    resuming(f, 9000, 10000);
    assert_int_equal(safe_until(f), CORE_SAFE_MS);
    advance_to(f, CORE_SAFE_MS);
    expect(f, "a LOST");
}

CORE_TEST(a_cap_may_have_passed_already, 0)
{
    hold_a(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    set_time(f, 5000);
    resuming(f, 2000, 2000);
    assert_int_equal(safe_until(f), 0);
    expect(f, "a LOST");
}

/* The server may have granted less than before. */
CORE_TEST(a_shorter_timeout_after_a_resume_holds, 0)
{
    hold_a(f);
    suspended(f);
    resuming(f, 2000, 4000);
    set_time(f, 2100);
    connected_for(f, 4000, 2000, true);
    assert_int_equal(safe_until(f), 2000 + 4000 - 40);
    expect(f, "STATE CONNECTED; a WATCH a1");
    advance_to(f, 3000);
    expect(f, "PROVE");
    proven(f, 3000);
    assert_int_equal(safe_until(f), 3000 + 4000 - 40);
}

/* Also if nothing was proven since the resume was sent. */
CORE_TEST(a_resume_that_grants_less_shortens_the_safe_until, 0)
{
    hold_a(f);
    suspended(f);
    resuming(f, 2000, 10000);
    assert_int_equal(safe_until(f), CORE_SAFE_MS);
    set_time(f, 2100);
    connected_for(f, 4000, 1000, true);
    assert_int_equal(safe_until(f), 2000 + 4000 - 40);
    expect(f, "STATE CONNECTED; a WATCH a1; PROVE");
    advance_to(f, 2000 + 4000 - 40);
    expect(f, "a LOST; a UNWATCH a1; a REMOVE a1");
}

/* The proof may have been sent before the resume whose answer is missing. */
CORE_TEST(a_cap_stays_until_something_sent_later_is_proven, 0)
{
    hold_a(f);
    suspended(f);
    resuming(f, 2000, 4000);
    set_time(f, 2100);
    connected(f, 1000, true);
    assert_int_equal(safe_until(f), 2000 + 4000 - 40);
    expect(f, "STATE CONNECTED; a WATCH a1");
    advance_to(f, 3500);
    expect(f, "PROVE");
    proven(f, 1999);
    assert_int_equal(safe_until(f), 2000 + 4000 - 40);
    advance_to(f, 4700);
    expect(f, "PROVE");
    proven(f, 2000);
    assert_int_equal(safe_until(f), 2000 + 10000 - 100);
}

CORE_TEST(a_cap_ends_with_its_session, 0)
{
    suspended(f);
    resuming(f, 1000, 100);
    session_lost(f, HF_ELOST);
    connected(f, 1000, false);
    expect(f, "STATE LOST; STATE CONNECTED");
    hold_a(f);
    assert_int_equal(safe_until(f), 1000 + 10000 - 100);
}

/* --------------------------------------------------------------- readers -- */

static void begin_reading(struct core_fixture *f,
                          struct hf_safe_until_reading *reading)
{
    hf_safe_until_read_word(&f->core.session.published, &f->a.user.valid,
                            reading);
}

static uint64_t end_reading(struct core_fixture *f,
                            struct hf_safe_until_reading *reading)
{
    return hf_safe_until_read_flag(&f->core.session.published, &f->a.user.valid,
                                   reading);
}

/* A reader may be interrupted for as long as a signal handler or a day. */
CORE_TEST(a_reader_that_is_interrupted_takes_no_other_session, 0)
{
    struct hf_safe_until_reading reading;

    hold_a(f);
    begin_reading(f, &reading);
    session_lost(f, HF_ELOST);
    set_time(f, 20000);
    connected(f, 20000, false);
    assert_true(f->core.session.safe_until_ms > CORE_SAFE_MS);
    assert_int_equal(end_reading(f, &reading), 0);
}

CORE_TEST(a_reader_that_began_before_a_proof_may_miss_it, 0)
{
    struct hf_safe_until_reading reading;

    hold_a_until_proof(f);
    begin_reading(f, &reading);
    proven(f, 3400);
    assert_int_equal(end_reading(f, &reading), CORE_SAFE_MS);
    assert_int_equal(safe_until(f), 3400 + 10000 - 100);
}

/* No TICK came: a grant that has ended is lost before the proof counts. */
CORE_TEST(a_proof_brings_no_lost_grant_back, 0)
{
    struct hf_safe_until_reading reading;

    hold_a_until_proof(f);
    begin_reading(f, &reading);
    set_time(f, CORE_SAFE_MS);
    proven(f, 3400);
    assert_true(f->core.session.safe_until_ms > CORE_SAFE_MS);
    assert_int_equal(end_reading(f, &reading), 0);
    assert_int_equal(safe_until(f), 0);
}

CORE_TEST(the_word_is_nothing_between_sessions_and_after_the_last, 0)
{
    const _Atomic uint64_t *word;

    word = &f->core.session.published.ms;
    hold_a(f);
    assert_int_equal(atomic_load(word), CORE_SAFE_MS);
    session_lost(f, HF_ELOST);
    assert_int_equal(atomic_load(word), 0);
    connected(f, 1000, false);
    assert_int_equal(atomic_load(word), 1000 + 10000 - 100);
    closed(f);
    assert_int_equal(atomic_load(word), 0);
}

/* ---------------------------------------------------------------- states -- */

CORE_TEST(another_session_without_a_loss_counts_as_one, 0)
{
    hold_a(f);
    connected(f, 1000, false);
    expect(f, "a LOST; STATE LOST; STATE CONNECTED");
    assert_int_equal(f->core.session.number, 2);
}

/* A resume needs a session. */
TEST(the_first_session_is_never_a_resumed_one)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    connected(f, 1000, true);
    expect(f, "STATE CONNECTED");
    assert_int_equal(f->core.session.number, 1);
}

CORE_TEST(the_last_state_is_reported_and_every_loss, 0)
{
    suspended(f);
    connected(f, 1000, true);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    session_lost(f, HF_ELOST);
    connected(f, 1000, false);
    suspended(f);
    expect(f, "STATE LOST; STATE SUSPENDED");
    session_lost(f, HF_ELOST);
    connected(f, 1000, false);
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST");
}

TEST(what_says_nothing_new_is_not_reported)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    suspended(f);
    session_lost(f, HF_ELOST);
    resuming(f, 900, 100);
    expect(f, "");
    connected(f, 1000, false);
    connected(f, 1000, true);
    expect(f, "STATE CONNECTED");
    suspended(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
}

/* ----------------------------------------------------------------- close -- */

CORE_TEST(closing_reports_to_holders_before_it_closes_the_session, 0)
{
    hold_a(f);
    want(f, &f->b);
    expect(f, "b ENQUEUE b1");
    close_core(f);
    close_core(f);
    expect(f, "a LOST; END; b ENDED HF_ECLOSED");
    enqueued(f, "b ENQUEUE b1", "a1 b1");
    expect(f, "");
    closed(f);
    expect(f, "b DONE; STATE CLOSED");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST(a_release_under_way_ends_with_the_close, 0)
{
    hold_a(f);
    release(f, &f->a);
    expect(f, "a REMOVE a1");
    close_core(f);
    expect(f, "END");
    failed(f, "a REMOVE a1", HF_FAILURE_RETRY);
    expect(f, "");
    closed(f);
    expect(f, "a RELEASED HF_ELOST; a DONE; STATE CLOSED");
}

TEST(a_client_that_never_connected_can_close)
{
    struct core_fixture core_fixture;
    struct core_fixture *f = &core_fixture;

    core_fixture_init(f, 0);
    want(f, &f->a);
    close_core(f);
    expect(f, "END; a ENDED HF_ECLOSED; a DONE");
    assert_true(hf_core_wake_at_ms(&f->core) == HF_FOREVER);
    closed(f);
    expect(f, "STATE CLOSED");
    want(f, &f->b);
    expect(f, "b ENDED HF_ECLOSED; b DONE");
    connected(f, 1000, false);
    expect(f, "");
}

/* The session is lost while it closes, and END is answered all the same. */
CORE_TEST(a_session_may_be_lost_while_it_closes, 0)
{
    hold_a(f);
    close_core(f);
    expect(f, "a LOST; END");
    session_lost(f, HF_ELOST);
    expect(f, "STATE LOST");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
    connected(f, 1000, false);
    expect(f, "STATE CONNECTED");
    closed(f);
    expect(f, "STATE CLOSED");
}

CORE_TEST(a_close_that_fails_closes_all_the_same, 0)
{
    close_core(f);
    expect(f, "END");
    failed(f, "END", HF_FAILURE_UNSURE);
    expect(f, "STATE CLOSED");
}
