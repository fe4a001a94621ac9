/* SPDX-License-Identifier: Apache-2.0 */
/* A renewal of many tickets in several calls, called pieces. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/leased/store.h"
#include "heap/heap.h"
#include "leased_fixture.h"

/* The time from a call to its answer. */
#define ROUND_TRIP_MS (2 * MODEL_DELAY_MS)

static struct hf_store *a;

static const char tickets[] = "abcde";

static const char *queue_of(char ticket)
{
    return ticket <= 'c' ? "q" : "r";
}

/* Three pieces: two tickets of one queue, one of each queue, and the last. */
static int begin(void **state)
{
    (void)state;
    heap_install();
    model = model_new();
    model_renew_in_pieces(model, 2);
    a = model_open(model, NULL);
    model_run(model, 20);
    for (const char *at = tickets; *at != '\0'; at++)
        (void)model_enqueue(a, queue_of(*at), *at, HF_TICKET_READ);
    model_run(model, 80);
    (void)model_events(a);
    return model_now_ms(model) == 1100 ? 0 : -1;
}

static unsigned renewals(void)
{
    return model_calls(model, HF_STORE_RENEW);
}

LEASED_TEST(pieces_follow_one_another)
{
    unsigned before = renewals();

    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, MODEL_DELAY_MS);
    assert_int_equal(renewals(), before + 1);
    model_run(model, ROUND_TRIP_MS);
    assert_int_equal(renewals(), before + 2);
    EXPECT_EVENTS(a, "");
    model_run(model, ROUND_TRIP_MS + MODEL_DELAY_MS);
    assert_int_equal(renewals(), before + 3);
    EXPECT_EVENTS(a, "PROVEN 1100"); /* as of the first */
}

LEASED_TEST(pieces_keep_all_tickets)
{
    model_run(model, 10 * MODEL_TTL_MS);
    assert_int_equal(model_tickets(model, "q"), 3);
    assert_int_equal(model_tickets(model, "r"), 2);
    assert_null(strstr(model_events(a), "LOST"));
}

/* Its ENQUEUE has granted a longer lease than the renewal proves. */
LEASED_TEST(a_ticket_between_two_pieces_waits_for_the_next_renewal)
{
    unsigned before = renewals();

    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, ROUND_TRIP_MS);
    (void)model_enqueue(a, "q", 'f', HF_TICKET_READ);
    (void)model_enqueue(a, "s", 'g', HF_TICKET_READ);
    model_run(model, 2 * ROUND_TRIP_MS);
    assert_non_null(strstr(model_events(a), "PROVEN 1100"));
    assert_int_equal(renewals(), before + 3);
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 20);
    assert_int_equal(renewals(), before + 7);
}

/* The next piece names a ticket that was removed meanwhile; that is no loss. */
LEASED_TEST(a_ticket_that_is_removed_between_two_pieces_is_no_loss)
{
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, ROUND_TRIP_MS);
    for (const char *at = tickets; *at != '\0'; at++)
        (void)model_ask(a, HF_REQUEST_REMOVE, queue_of(*at), *at);
    model_run(model, 20);
    EXPECT_EVENTS(a, "REMOVED a found; REMOVED b found; REMOVED c found; "
                     "REMOVED d found; REMOVED e found; PROVEN 1100");
}

LEASED_TEST(what_a_piece_misses_is_reported_before_the_proof)
{
    for (const char *at = tickets; *at != '\0'; at++)
        (void)model_ask(a, HF_REQUEST_WATCH, queue_of(*at), *at);
    model_run(model, 20);
    (void)model_events(a);
    model_lose_notices(model, true);
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, ROUND_TRIP_MS - 1);
    for (const char *at = tickets; *at != '\0'; at++)
        (void)model_evict(model, queue_of(*at), *at);
    model_run(model, 20);
    assert_non_null(strstr(model_events(a), "; PROVEN 1120"));
}

/* The owner of that ticket has no watch, and the proof fails whatever the
 * other pieces found. */
LEASED_TEST(what_one_piece_misses_unseen_spoils_the_proof)
{
    (void)model_evict(model, "r", 'e'); /* of the first piece */
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 20);
    EXPECT_EVENTS(a, "FAILED PROVE - RETRY");
}

LEASED_TEST(a_piece_that_fails_fails_the_whole)
{
    unsigned before = renewals();

    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, ROUND_TRIP_MS);
    model_fail(model, true, HF_STORE_RENEW, HF_FAILURE_RETRY);
    model_run(model, 20);
    EXPECT_EVENTS(a, "FAILED PROVE - RETRY");
    assert_int_equal(renewals(), before + 2);
    model_fail(model, false, HF_STORE_RENEW, HF_FAILURE_RETRY);
    model_run(model, MODEL_TTL_MS / 16 + 20);
    EXPECT_EVENTS(a, "PROVED 1733"); /* all pieces anew, 625 ms after that */
    assert_int_equal(renewals(), before + 5);
}

LEASED_TEST(a_piece_without_memory_fails_the_whole)
{
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    heap_fail(1, false);
    model_run(model, ROUND_TRIP_MS);
    assert_true(heap_failed());
    EXPECT_EVENTS(a, "FAILED PROVE - RETRY");
    model_run(model, MODEL_TTL_MS / 16 + 20);
    EXPECT_EVENTS(a, "PROVED 1729");
}

LEASED_TEST(a_link_that_ends_between_two_pieces_proves_nothing)
{
    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, ROUND_TRIP_MS);
    model_cut(a, false);
    model_run(model, 1);
    assert_non_null(strstr(model_events(a), "FAILED PROVE"));
    (void)run_until_event(a, "RESUMED", MODEL_TTL_MS);
    assert_int_equal(model_tickets(model, "q"), 3);
}

LEASED_TEST(behind_a_close_no_piece_is_sent)
{
    unsigned before = renewals();

    (void)model_ask(a, HF_REQUEST_PROVE, NULL, '-');
    model_run(model, 1);
    (void)model_ask(a, HF_REQUEST_END, NULL, '-');
    model_run(model, 20);
    assert_int_equal(renewals(), before + 1);
    assert_non_null(strstr(model_events(a), "CLOSED"));
    assert_int_equal(model_tickets(model, "q"), 0);
}
