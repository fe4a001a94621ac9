/* SPDX-License-Identifier: Apache-2.0 */
/* A writer becomes a reader: the requests of the core, and the effects. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "core_fixture.h"
#include "tracked_heap.h"

/* a holds the lock as a writer, and watches its ticket. */
static void hold(struct core_fixture *f)
{
    f->a.kind = HF_TICKET_WRITE;
    hold_a(f);
    wake(f);
    expect(f, "a WATCH a1");
    watching(f, "a WATCH a1");
}

/* The same, and it asks for a downgrade. */
static void begin_downgrade(struct core_fixture *f)
{
    hold(f);
    downgrade(f, &f->a);
    expect(f, "a UNWATCH a1; a DOWNGRADE a1");
}

CORE_TEST(its_ticket_is_not_watched_meanwhile, HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    assert_int_equal(f->a.kind, HF_TICKET_WRITE);
    downgraded(f, "a DOWNGRADE a1");
    expect(f, "a DOWNGRADED HF_OK; a WATCH a1");
    assert_int_equal(f->a.kind, HF_TICKET_READ);
    release(f, &f->a);
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
}

CORE_TEST(without_memory_it_is_asked_later, HF_ENGINE_GONE_ADMITS)
{
    hold(f);
    tracked_heap_fail(true);
    downgrade(f, &f->a);
    expect(f, "a UNWATCH a1");
    wake(f);
    expect(f, "");
    tracked_heap_fail(false);
    wake(f);
    expect(f, "a DOWNGRADE a1");
    downgraded(f, "a DOWNGRADE a1");
    expect(f, "a DOWNGRADED HF_OK; a WATCH a1");
}

CORE_TEST(it_is_asked_again_until_answered, HF_ENGINE_GONE_ADMITS)
{
    static const enum hf_failure failures[] = {HF_FAILURE_RETRY,
                                               HF_FAILURE_UNSURE};

    begin_downgrade(f);
    for (size_t i = 0; i < 10; i++) {
        failed(f, "a DOWNGRADE a1", failures[i % 2]);
        expect(f, "");
        while (!is_pending(f, "a DOWNGRADE a1")) {
            wake(f);
            core_fixture_drain(f);
            if (is_pending(f, "PROVE"))
                proven(f, f->now_ms);
            core_fixture_drain(f);
        }
    }
    downgraded(f, "a DOWNGRADE a1");
    expect(f, "a DOWNGRADED HF_OK; a WATCH a1");
}

CORE_TEST(a_broken_link_is_waited_for, HF_ENGINE_GONE_ADMITS)
{
    hold(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    downgrade(f, &f->a);
    expect(f, "");
    connected(f, CORE_START_MS, true);
    expect(f, "STATE CONNECTED; a UNWATCH a1; a DOWNGRADE a1");
    suspended(f);
    failed(f, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    expect(f, "STATE SUSPENDED");
    connected(f, CORE_START_MS, true);
    expect(f, "STATE CONNECTED; a DOWNGRADE a1");
    downgraded(f, "a DOWNGRADE a1");
    expect(f, "a DOWNGRADED HF_OK; a WATCH a1");
}

/* Until the downgrade can be asked for, the ticket is that of a writer, and
 * its safe-until may pass. */
CORE_TEST(a_loss_while_the_link_is_broken_is_reported_first,
          HF_ENGINE_GONE_ADMITS)
{
    hold(f);
    suspended(f);
    expect(f, "STATE SUSPENDED");
    downgrade(f, &f->a);
    gone(f, "a WATCH a1");
    expect(f, "a LOST; a DOWNGRADED HF_ELOST");
    connected(f, CORE_START_MS + 1000, true);
    expect(f, "STATE CONNECTED");
}

CORE_TEST(a_ticket_that_is_gone_is_a_loss, HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    failed_as(f, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_ELOST, "gone");
    expect(f, "a LOST; a DOWNGRADED HF_ELOST; a REMOVE a1");
    removed(f, "a REMOVE a1", false);
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST(what_is_refused_leaves_a_writer, HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    failed_as(f, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_EDENIED, "not you");
    expect(f, "a DOWNGRADED HF_EDENIED; a WATCH a1");
    assert_int_equal(f->a.kind, HF_TICKET_WRITE);
    assert_string_equal(hf_acquisition_text(&f->a), "not you");
    downgrade(f, &f->a); /* it may be allowed by now */
    expect(f, "a UNWATCH a1; a DOWNGRADE a1");
    downgraded(f, "a DOWNGRADE a1");
    expect(f, "a DOWNGRADED HF_OK; a WATCH a1");
}

/* An answer was lost, and the next DOWNGRADE is refused: readers may be in, so
 * the owner is no writer any more, and is notified that this is not certain. */
CORE_TEST(what_is_refused_after_a_lost_answer_may_be_a_reader,
          HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    failed(f, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    wake(f);
    expect(f, "a DOWNGRADE a1");
    failed(f, "a DOWNGRADE a1", HF_FAILURE_RETRY);
    wake(f);
    expect(f, "a DOWNGRADE a1");
    failed_as(f, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_EDENIED, "not you");
    expect(f, "a DOWNGRADED HF_EUNSURE; a WATCH a1");
    assert_int_equal(f->a.kind, HF_TICKET_READ);
    assert_string_equal(hf_acquisition_text(&f->a),
                        "an answer was lost, and a further downgrade was "
                        "refused: not you; count as a reader, and release");
    release(f, &f->a);
    expect(f, "a UNWATCH a1; a REMOVE a1");
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_OK; a DONE");
}

/* As what the request that reads ${text} watches a ticket. */
static enum hf_ticket_kind kind_in(const struct core_fixture *f,
                                   const char *text)
{
    size_t i = 0;

    while (i < CORE_PENDING - 1 && strcmp(f->pending[i].text, text) != 0)
        i++;
    assert_string_equal(f->pending[i].text, text);
    return f->pending[i].request->ticket_kind;
}

/* It is watched as the write ticket that it was.  If that is gone it may be a
 * read ticket, which nobody must leave in the queue. */
CORE_TEST(one_of_unknown_kind_is_removed_when_it_is_lost, HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    failed(f, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    wake(f);
    expect(f, "a DOWNGRADE a1");
    failed_as(f, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_EDENIED, "not you");
    expect(f, "a DOWNGRADED HF_EUNSURE; a WATCH a1");
    assert_int_equal(kind_in(f, "a WATCH a1"), HF_TICKET_WRITE);
    gone(f, "a WATCH a1");
    expect(f, "a LOST; a REMOVE a1");
    release(f, &f->a);
    removed(f, "a REMOVE a1", true);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

/* The pending request ends first; no ticket of either name is left. */
TEST(a_release_ends_it)
{
    for (int answer = 0; answer < 3; answer++) {
        struct core_fixture fixture, *f = &fixture;

        core_fixture_connected(f, HF_ENGINE_GONE_ADMITS);
        begin_downgrade(f);
        release(f, &f->a);
        expect(f, "a DOWNGRADED HF_ECANCELLED; a REMOVE a1");
        removed(f, "a REMOVE a1", true);
        expect(f, "a RELEASED HF_OK");
        if (answer == 0)
            downgraded(f, "a DOWNGRADE a1");
        else if (answer == 1)
            failed(f, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
        else
            failed_as(f, "a DOWNGRADE a1", HF_FAILURE_FATAL, HF_ELOST, "gone");
        expect(f, "a DONE");
    }
}

CORE_TEST(a_release_takes_back_what_was_not_asked, HF_ENGINE_GONE_ADMITS)
{
    hold(f);
    downgrade(f, &f->a);
    release(f, &f->a);
    expect(f, "a UNWATCH a1; a DOWNGRADED HF_ECANCELLED; a REMOVE a1");
    assert_false(is_pending(f, "a DOWNGRADE a1"));
}

CORE_TEST(a_lost_session_ends_it, HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    failed(f, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    session_lost(f, HF_ELOST);
    expect(f, "a LOST; STATE LOST; a DOWNGRADED HF_ELOST");
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

CORE_TEST(a_close_ends_it, HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    close_core(f);
    expect(f, "a LOST; END; a DOWNGRADED HF_ELOST");
    failed(f, "a DOWNGRADE a1", HF_FAILURE_UNSURE);
    release(f, &f->a);
    closed(f);
    expect(f, "a RELEASED HF_ELOST; a DONE; STATE CLOSED");
}

/* Safe-until passes: the ticket may exist under either name, and must be
 * removed. */
CORE_TEST(the_end_of_the_safe_until_ends_it, HF_ENGINE_GONE_ADMITS)
{
    begin_downgrade(f);
    set_time(f, CORE_SAFE_MS);
    downgraded(f, "a DOWNGRADE a1");
    expect(f, "a LOST; a DOWNGRADED HF_ELOST; a REMOVE a1");
}

/* The owner asks at the instant at which safe-until passes. */
CORE_TEST(the_safe_until_may_end_as_it_is_asked_for, HF_ENGINE_GONE_ADMITS)
{
    hold(f);
    set_time(f, CORE_SAFE_MS);
    downgrade(f, &f->a);
    expect(f, "a LOST; a UNWATCH a1; a REMOVE a1; a DOWNGRADED HF_ELOST");
    removed(f, "a REMOVE a1", true);
    release(f, &f->a);
    expect(f, "a RELEASED HF_ELOST; a DONE");
}

/* The watch of the writer ends after a list has shown the reader: that is no
 * loss, because another watch is set. */
CORE_TEST(a_reader_is_watched_anew, HF_ENGINE_GONE_ADMITS)
{
    f->a.kind = HF_TICKET_WRITE;
    enqueue_a_in(f, "x/w a1");
    expect(f, "a WAITING 1; a WATCH x; a WATCH a1");
    watching(f, "a WATCH x");
    suspended(f);
    connected(f, CORE_START_MS, true);
    expect(f, "STATE CONNECTED; a LIST");
    listed(f, "a LIST", "x/r a1");
    expect(f, "a WAITING 1; a UNWATCH x; a WATCH x");
    watching(f, "a WATCH x");
    gone(f, "a WATCH x"); /* the reader's */
    expect(f, "a GRANTED");
}
