/* SPDX-License-Identifier: Apache-2.0 */
/* Double barriers of a leased client: the events of queue watches, also when
 * notices or links are lost. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/leased/store.h"
#include "leased_fixture.h"

static struct hf_store *a, *b, *c;
static struct hf_request *look; /* of b */

static void ask(struct hf_store *store, enum hf_request_kind kind, char ticket)
{
    (void)model_participant(store, kind, "q", ticket, 2);
    model_run(model, 20);
}

/* Three clients. a and b have a participant each, and b watches the queue. */
static int begin(void **state)
{
    (void)state;
    model = model_new();
    a = model_open(model, NULL);
    b = model_open(model, NULL);
    c = model_open(model, NULL);
    model_run(model, 20);
    ask(a, HF_REQUEST_ENQUEUE, 'a');
    ask(b, HF_REQUEST_ENQUEUE, 'b');
    (void)model_events(a);
    (void)model_events(b);
    (void)model_events(c);
    look = model_participant(b, HF_REQUEST_WATCH_QUEUE, "q", 'l', 0);
    model_run(model, 20);
    return strcmp(model_events(b), "LISTED l: a b") == 0 ? 0 : -1;
}

/* --------------------------------------------------------------- notices -- */

static void enter(void)
{
    ask(c, HF_REQUEST_ENQUEUE, 'c');
}

static void go(void)
{
    ask(a, HF_REQUEST_REMOVE, 'a');
}

static void generation(void)
{
    ask(a, HF_REQUEST_NEW_GENERATION, 'a');
}

static void (*const changes[])(void) = {enter, generation, generation, go,
                                        generation};
#define CHANGES (sizeof changes / sizeof changes[0])
static const char *const listed[] = {"LISTED l: a b c", "LISTED l: a b c !",
                                     "LISTED l: a b c !", "LISTED l: b c !",
                                     "LISTED l: b c !"};

/* Each change but the last, which fails and so is none. */
LEASED_TEST(every_change_is_reported_once)
{
    for (size_t i = 0; i < CHANGES - 1; i++) {
        unsigned lists = model_calls(model, HF_STORE_LIST);

        changes[i]();
        EXPECT_EVENTS(b, "QUEUE_CHANGED l");
        assert_int_equal(model_calls(model, HF_STORE_LIST), lists);
        ask(b, HF_REQUEST_WATCH_QUEUE, 'l');
        EXPECT_EVENTS(b, listed[i]);
    }
    (void)model_events(a);
    changes[CHANGES - 1]();
    EXPECT_EVENTS(
        a, "FAILED NEW_GENERATION a RETRY"); /* it is not there any more */
    EXPECT_EVENTS(b, "");
}

/* a's mutex, which a does not watch just now, is not lost because the list of
 * the participants does not have it. */
LEASED_TEST(a_list_of_participants_says_nothing_of_locks)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'm');
    model_run(model, 20);
    EXPECT_EVENTS(a, "ENQUEUED m: m");
    ask(a, HF_REQUEST_LIST, 'a');
    EXPECT_EVENTS(a, "LISTED a: a b");
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'm');
    model_run(model, 20);
    EXPECT_EVENTS(a, "WATCHING m");
}

/* The same the other way about. */
LEASED_TEST(a_list_of_locks_says_nothing_of_participants)
{
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'm');
    (void)model_ask(a, HF_REQUEST_LIST, "q", 'm');
    model_run(model, 20);
    EXPECT_EVENTS(a, "ENQUEUED m: m; LISTED m: m");
    ask(a, HF_REQUEST_WATCH, 'a');
    EXPECT_EVENTS(a, "WATCHING a");
}

/* A participant that has entered is found as well as one that has left. */
LEASED_TEST(a_lost_notice_is_made_good)
{
    for (size_t i = 0; i < CHANGES - 1; i++) {
        model_lose_notices(model, true);
        changes[i]();
        EXPECT_EVENTS(b, "");
        model_lose_notices(model, false);
        (void)run_until_event(b, "QUEUE_CHANGED l", MODEL_TTL_MS / 2);
        ask(b, HF_REQUEST_WATCH_QUEUE, 'l');
        EXPECT_EVENTS(b, listed[i]);
    }
}

LEASED_TEST(what_stays_as_it_is_is_not_reported)
{
    model_run(model, 5 * MODEL_TTL_MS);
    assert_null(strstr(model_events(b), "QUEUE_CHANGED"));
    enter();
    EXPECT_EVENTS(b, "QUEUE_CHANGED l");
}

LEASED_TEST(a_change_during_an_outage_is_reported)
{
    model_refuse(model, true);
    model_cut(b, false);
    enter();
    generation();
    model_refuse(model, false);
    (void)run_until_event(b, "QUEUE_CHANGED l", MODEL_TTL_MS / 2);
    ask(b, HF_REQUEST_WATCH_QUEUE, 'l');
    EXPECT_EVENTS(b, "LISTED l: a b c !");
}

/* Once its lease has ended, by a client that watches. */
LEASED_TEST(a_participant_that_dies_is_seen_to_go)
{
    uint64_t died_ms = model_now_ms(model);

    model_crash(a);
    assert_true(run_until_event(b, "QUEUE_CHANGED l", 2 * MODEL_TTL_MS) <=
                died_ms + MODEL_TTL_MS + 20);
    ask(b, HF_REQUEST_WATCH_QUEUE, 'l');
    EXPECT_EVENTS(b, "LISTED l: b");
}

/* The answer to the list comes between the call of the queue watch and its
 * answer. */
LEASED_TEST(a_list_of_before_says_nothing_of_a_look)
{
    unsigned lists = model_calls(model, HF_STORE_LIST);
    const char *events;

    while (model_calls(model, HF_STORE_LIST) == lists)
        model_run(model, 1);
    model_lose_notices(model, true);
    (void)model_participant(c, HF_REQUEST_ENQUEUE, "q", 'c', 0);
    hf_leased_forget(model_leased(b), look, model_now_ms(model));
    (void)model_participant(b, HF_REQUEST_WATCH_QUEUE, "q", 'm', 0);
    model_run(model, 20);
    events = model_events(b);
    assert_non_null(strstr(events, "LISTED m: a b c"));
    assert_null(strstr(events, "QUEUE_CHANGED"));
    model_run(model, 2 * MODEL_TTL_MS);
    assert_null(strstr(model_events(b), "QUEUE_CHANGED"));
}

/* ---------------------------------------------------------- generations -- */

LEASED_TEST(too_few_make_no_generation)
{
    (void)model_participant(c, HF_REQUEST_NEW_GENERATION, "q", 'c', 2);
    (void)model_participant(a, HF_REQUEST_NEW_GENERATION, "q", 'a', 3);
    model_run(model, 20);
    EXPECT_EVENTS(c, "FAILED NEW_GENERATION c RETRY");
    EXPECT_EVENTS(a, "FAILED NEW_GENERATION a RETRY");
    EXPECT_EVENTS(b, "");
    generation();
    EXPECT_EVENTS(a, "FLAG_UPDATED a found");
    EXPECT_EVENTS(b, "QUEUE_CHANGED l");
}

/* Its lease has ended by the clock of the server, and no client has asked
 * since. */
LEASED_TEST(who_has_died_does_not_count)
{
    ask(c, HF_REQUEST_ENQUEUE, 'c');
    (void)model_events(c);
    model_crash(b);
    model_crash(a);
    model_run(model, MODEL_TTL_MS + 20);
    assert_true(model_has(model, "q", 'b'));
    ask(c, HF_REQUEST_NEW_GENERATION, 'c');
    assert_non_null(strstr(model_events(c), "FAILED NEW_GENERATION c RETRY"));
    assert_false(model_has(model, "q", 'b'));
}

LEASED_TEST(a_generation_without_an_answer_is_unsure)
{
    (void)model_participant(a, HF_REQUEST_NEW_GENERATION, "q", 'a', 2);
    model_cut(a, true);
    EXPECT_EVENTS(a, "SUSPENDED; FAILED NEW_GENERATION a UNSURE");
    model_run(model, 20);
    EXPECT_EVENTS(b, "QUEUE_CHANGED l");
    ask(b, HF_REQUEST_LIST, 'l');
    EXPECT_EVENTS(b, "LISTED l: a b !");
}

LEASED_TEST(the_flag_goes_with_the_last_participant)
{
    generation();
    (void)model_events(a);
    ask(c, HF_REQUEST_CLEAR_FLAG, 'x');
    EXPECT_EVENTS(c, "FLAG_UPDATED x");
    go();
    ask(b, HF_REQUEST_REMOVE, 'b');
    ask(c, HF_REQUEST_LIST, 'l');
    EXPECT_EVENTS(c, "LISTED l: !");
    ask(c, HF_REQUEST_CLEAR_FLAG, 'x');
    ask(c, HF_REQUEST_LIST, 'l');
    EXPECT_EVENTS(c, "FLAG_UPDATED x found; LISTED l:");
}

/* ----------------------------------------------------------------- apart -- */

/* A mutex of that name is in another queue. */
LEASED_TEST(participants_block_nobody)
{
    (void)model_ask(c, HF_REQUEST_ENQUEUE, "q", 'm');
    model_run(model, 20);
    EXPECT_EVENTS(c, "ENQUEUED m: m");
    ask(c, HF_REQUEST_ENQUEUE, 'c');
    (void)model_ask(a, HF_REQUEST_ENQUEUE, "q", 'n');
    model_run(model, 20);
    EXPECT_EVENTS(c, "ENQUEUED c: a b c");
    EXPECT_EVENTS(a, "ENQUEUED n: m n");
    (void)model_ask(a, HF_REQUEST_WATCH, "q", 'm');
    model_run(model, 20);
    EXPECT_EVENTS(a, "WATCHING m");
    (void)model_ask(c, HF_REQUEST_REMOVE, "q", 'm');
    model_run(model, 2 * MODEL_DELAY_MS);
    EXPECT_EVENTS(
        a,
        "GONE m"); /* participants, by name, with the generation between them */
}

LEASED_TEST(a_participant_learns_of_its_eviction)
{
    (void)model_watch(a, "q", 'a', HF_TICKET_PARTICIPANT);
    ask(c, HF_REQUEST_REMOVE, 'a');
    EXPECT_EVENTS(a, "WATCHING a; GONE a");
    EXPECT_EVENTS(b, "QUEUE_CHANGED l");
}
